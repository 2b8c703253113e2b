"""Compiled choice of plays by a value net: of one position with all figures, or of many."""

import numpy as np

from agent.kernels.value import boards_probs, children_probs, equity_of
from engine.compiled import kernel
from engine.play_codes import apply_code, write_afterstates
from engine.short_moves import find_codes, new_scratch

__all__ = ["choose_plays", "rank_plays"]


@kernel
def choose_plays(contact, race, boards, rolls, work, out):
    """Write the best afterstate of each position, the unchanged board where nothing can move.

    Returns how many afterstates were evaluated; a single play is played unseen.
    """
    n_evaluated = 0
    w = np.empty(26, dtype=np.int64)
    scratch = new_scratch()
    for i in range(len(boards)):
        for slot in range(26):
            w[slot] = boards[i, slot]
        die_a = np.int64(rolls[i, 0])
        die_b = np.int64(rolls[i, 1])
        high, low = (die_a, die_b) if die_a >= die_b else (die_b, die_a)
        n = find_codes(w, high, low, scratch)
        if n > 0:
            best = 0
            if n > 1:
                best = children_probs(contact, race, w, scratch[1], n, high, low, work)
                n_evaluated += n
            apply_code(w, scratch[1, best], high, low)
        for slot in range(26):
            out[i, slot] = w[slot]
    return n_evaluated


@kernel
def rank_plays(contact, race, board, high, low, work):
    """Afterstates, their probabilities for the opponent, equities for the mover, and codes."""
    w = np.empty(26, dtype=np.int64)
    for slot in range(26):
        w[slot] = board[slot]
    scratch = new_scratch()
    n = find_codes(w, high, low, scratch)
    codes = scratch[1, :n].copy()
    rows = np.empty((max(n, 1), 26), dtype=np.int8)
    if n == 0:
        for slot in range(26):
            rows[0, slot] = board[slot]
        flipped = np.empty((1, 26), dtype=np.int8)  # as all other boards are
        for slot in range(1, 25):
            flipped[0, slot] = -w[25 - slot]
        flipped[0, 0] = w[25]
        flipped[0, 25] = w[0]
        boards_probs(contact, race, flipped, work, work.probs)
        work.equity[0] = -equity_of(work.probs, 0)
        n = 1
    else:
        write_afterstates(board, high, low, codes, n, rows, 0)
        children_probs(contact, race, w, codes, n, high, low, work)
    return rows, work.probs[:n].copy(), work.equity[:n].copy(), codes
