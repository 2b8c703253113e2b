"""Compiled plays of one position and of many, with or without bans; checked in `engine.moves`."""

import numpy as np

from engine.compiled import inlined_kernel, kernel
from engine.house_moves import find_house_plays, may_bite
from engine.play_codes import write_afterstates
from engine.short_moves import find_codes, new_scratch

__all__ = ["first_fault", "first_unsound", "plays_of_many", "plays_of_one"]


@kernel
def plays_of_one(board, die_a, die_b, ban_hide, bear_off_ban):
    """Afterstates `(N, 26)` int8 and codes `(N,)` int64 of one position; N = 0 for a pass."""
    w = np.empty(26, dtype=np.int64)
    for slot in range(26):
        w[slot] = board[slot]
    high, low = (die_a, die_b) if die_a >= die_b else (die_b, die_a)
    if (ban_hide or bear_off_ban) and may_bite(w, high, low, ban_hide, bear_off_ban):
        rows, codes, n = find_house_plays(w, high, low, ban_hide, bear_off_ban)
        return rows[:n], codes[:n]
    scratch = new_scratch()
    n = find_codes(w, high, low, scratch)
    codes = scratch[1, :n].copy()
    rows = np.empty((n, 26), dtype=np.int8)
    write_afterstates(board, high, low, codes, n, rows, 0)
    return rows, codes


@inlined_kernel
def _count_checkers(boards, i):
    """Checkers of the owner and of the opponent on board i, and whether all counts can occur."""
    own = 0
    opponent = np.int64(boards[i, 0])
    good = 0 <= boards[i, 0] <= 15 and 0 <= boards[i, 25] <= 15
    for slot in range(1, 26):
        n = np.int64(boards[i, slot])
        good = good and -15 <= n <= 15
        own += max(n, 0)
        opponent += max(-n, 0)
    return own, opponent, good and own <= 15 and opponent <= 15


@kernel
def first_unsound(boards):
    """Number of the first board, finished or not, with counts that cannot occur; -1 if none has.

    boards: `(B, 26)` whole numbers of any kind.
    """
    for i in range(len(boards)):
        if not _count_checkers(boards, i)[2]:
            return i
    return -1


@kernel
def first_fault(boards, rolls):
    """Number of the first row that is not a running game with a roll; -1 if all of them are.

    boards: `(B, 26)`, rolls: `(B, 2)`, whole numbers of any kind.
    """
    for i in range(len(boards)):
        own, opponent, good = _count_checkers(boards, i)
        good = good and own > 0 and opponent > 0
        if boards[i, 0] > 0 and boards[i, 25] > 0:
            both_closed = True  # nobody could ever move again
            for point in range(1, 7):
                both_closed = both_closed and boards[i, point] >= 2 and boards[i, 25 - point] <= -2
            good = good and not both_closed
        good = good and 1 <= rolls[i, 0] <= 6 and 1 <= rolls[i, 1] <= 6
        if not good:
            return i
    return -1


@kernel
def plays_of_many(boards, rolls, ban_hide, bear_off_ban, first_board, out, offsets):
    """Write the afterstates of positions from `first_board` on, as far as they fit into `out`.

    offsets: `(B + 1,)` int64, known up to first_board; filled as far as is written. Returns the
    first position that is not done (B at the end) and the room it needs.
    """
    w = np.empty(26, dtype=np.int64)
    scratch = new_scratch()
    codes = scratch[1]
    has_bans = ban_hide or bear_off_ban != 0
    row = offsets[first_board]
    for i in range(first_board, len(boards)):
        for slot in range(26):
            w[slot] = boards[i, slot]
        die_a = np.int64(rolls[i, 0])
        die_b = np.int64(rolls[i, 1])
        high, low = (die_a, die_b) if die_a >= die_b else (die_b, die_a)
        house = has_bans and may_bite(w, high, low, ban_hide, bear_off_ban)
        if house:
            rows, _, n = find_house_plays(w, high, low, ban_hide, bear_off_ban)
        else:
            rows = out
            n = find_codes(w, high, low, scratch)
        if row + max(n, 1) > len(out):
            return i, max(n, 1)
        if n == 0:
            out[row] = boards[i]
            n = 1
        elif house:
            out[row : row + n] = rows[:n]
        else:
            write_afterstates(boards[i], high, low, codes, n, out, row)
        row += n
        offsets[i + 1] = row
    return len(boards), 0
