"""Compiled plays of one position and of many, with or without bans; `engine.moves` checks for it."""

import numpy as np
from numba import njit

from engine.house_moves import find_house_plays, may_bite
from engine.short_moves import find_codes, new_scratch, write_afterstates

__all__ = ["plays_of_many", "plays_of_one"]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def plays_of_many(boards, rolls, ban_hide, bear_off_ban, rows_expected):
    """Afterstates `(M, 26)` int8 of all positions one after another, offsets `(B + 1,)` int64."""
    n_boards = len(boards)
    out = np.empty((max(n_boards * rows_expected, 1), 26), dtype=np.int8)
    offsets = np.empty(n_boards + 1, dtype=np.int64)
    offsets[0] = 0
    w = np.empty(26, dtype=np.int64)
    scratch = new_scratch()
    codes = scratch[1]
    has_bans = ban_hide or bear_off_ban != 0
    first = 0
    for i in range(n_boards):
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
        if first + max(n, 1) > len(out):
            bigger = np.empty((2 * len(out) + n, 26), dtype=np.int8)
            bigger[:first] = out[:first]
            out = bigger
        if n == 0:
            out[first] = boards[i]
            n = 1
        elif house:
            out[first : first + n] = rows[:n]
        else:
            write_afterstates(boards[i], high, low, codes, n, out, first)
        first += n
        offsets[i + 1] = first
    return out[:first], offsets
