"""Compiled plays of long nardi, of one position and of many; checked in `engine.moves`."""

import numpy as np

from engine.compiled import kernel
from engine.long_moves import find_long_codes, new_long_scratch
from engine.play_codes import write_afterstates

__all__ = ["long_plays_of_many", "long_plays_of_one"]


@kernel
def long_plays_of_one(board, die_a, die_b, head_exception, block_rule, at_turn, context):
    """Afterstates `(N, 26)` int8 and codes `(N,)` int64 of one position; N = 0 for a pass."""
    w = np.empty(26, dtype=np.int64)
    for slot in range(26):
        w[slot] = board[slot]
    high, low = (die_a, die_b) if die_a >= die_b else (die_b, die_a)
    scratch = new_long_scratch()
    n = find_long_codes(w, high, low, head_exception, block_rule, at_turn, context, scratch)
    codes = scratch[1, :n].copy()
    rows = np.empty((n, 26), dtype=np.int8)
    write_afterstates(board, high, low, codes, n, rows, 0)
    return rows, codes


@kernel
def long_plays_of_many(
    boards, rolls, head_exception, block_rule, at_turn, contexts, first_board, out, offsets
):
    """Write the afterstates of positions from `first_board` on, as far as they fit into `out`.

    contexts: `(B,)` int8; the rest as in `engine.batch_moves.plays_of_many`.
    """
    w = np.empty(26, dtype=np.int64)
    scratch = new_long_scratch()
    codes = scratch[1]
    row = offsets[first_board]
    for i in range(first_board, len(boards)):
        for slot in range(26):
            w[slot] = boards[i, slot]
        die_a = np.int64(rolls[i, 0])
        die_b = np.int64(rolls[i, 1])
        high, low = (die_a, die_b) if die_a >= die_b else (die_b, die_a)
        context = np.int64(contexts[i])
        n = find_long_codes(w, high, low, head_exception, block_rule, at_turn, context, scratch)
        if row + max(n, 1) > len(out):
            return i, max(n, 1)
        if n == 0:
            out[row] = boards[i]
            n = 1
        else:
            write_afterstates(boards[i], high, low, codes, n, out, row)
        row += n
        offsets[i + 1] = row
    return len(boards), 0
