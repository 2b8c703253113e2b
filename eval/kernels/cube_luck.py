"""Compiled luck of rolls with the cube: as `eval.kernels.luck`, by cubeful worth."""

import numpy as np

from agent.kernels.cube_choice import best_child, worth_after
from agent.kernels.value import MOVER_SIDE, boards_probs, children_probs, money_weights
from engine.compiled import kernel
from engine.house_moves import find_house_plays, may_bite
from engine.play_codes import MAX_PLAYS
from engine.short_moves import find_codes
from eval.kernels.luck import pick_likely

__all__ = ["cubeful_lucks"]


@kernel
def _worth_of_board(contact, race, board, flipped, table, cube_work, values, work):
    """Worth of a board to side 0, which has just moved; finished games exactly."""
    for slot in range(1, 25):
        flipped[0, slot] = -board[25 - slot]
    flipped[0, 0] = board[25]
    flipped[0, 25] = board[0]
    boards_probs(contact, race, flipped, work, work.probs)
    return worth_after(table, work.probs, 0, board, cube_work, values)


@kernel
def _worth_of_roll(
    contact,
    race,
    w,
    after,
    flipped,
    high,
    low,
    table,
    cube_work,
    values,
    weights,
    ban_hide,
    bear_off_ban,
    tables,
    n_likely,
    likely,
    scores,
    work,
    scratch,
):
    """Worth of a roll to side 0: that of the best play of the likely ones."""
    n = 0
    if (ban_hide or bear_off_ban != 0) and may_bite(w, high, low, ban_hide, bear_off_ban):
        rows, _, n = find_house_plays(w, high, low, ban_hide, bear_off_ban)
        best = -np.inf
        for i in range(n):
            for slot in range(26):
                after[slot] = rows[i, slot]
            worth = _worth_of_board(contact, race, after, flipped, table, cube_work, values, work)
            best = max(best, worth)
        if n > 0:
            return best
    else:
        n = find_codes(w, high, low, scratch)
    if n == 0:
        return _worth_of_board(contact, race, w, flipped, table, cube_work, values, work)
    codes = scratch[1]
    if n > n_likely:
        pick_likely(w, after, codes, n, high, low, tables, n_likely, likely, scores)
        n = n_likely
    else:
        for i in range(n):
            likely[i] = codes[i]
    children_probs(contact, race, w, likely, n, high, low, weights, MOVER_SIDE, work)
    _, worth = best_child(
        table, w, after, likely, n, high, low, work.probs, work.equity, cube_work, values
    )
    return worth


@kernel
def cubeful_lucks(
    contact,
    race,
    boards,
    rolls,
    rows,
    opening,
    table,
    cube_work,
    ban_hide,
    bear_off_ban,
    tables,
    n_likely,
    work,
    scratch,
    lucks,
):
    """Write the luck of the rolls `rows`, in the unit of the table, of its mover, who is side 0.

    boards, rolls, ban_hide, bear_off_ban, tables, n_likely, scratch, lucks: as in
    `eval.kernels.luck`; rows: (N,) int64; opening: whether these are opening throws, of which the
    worth alone is written; table: of `agent.kernels.cube`. Returns the mean worth of the 15
    openings on the last board, 0 if these are none.
    """
    w = np.empty(26, dtype=np.int64)
    after = np.empty(26, dtype=np.int64)
    flipped = np.empty((1, 26), dtype=np.int64)
    likely = np.empty(n_likely, dtype=np.int64)
    scores = np.empty(MAX_PLAYS, dtype=np.int64)
    values = np.empty((2, table.states))
    weights = money_weights(1)
    mean = 0.0
    for k in range(len(rows)):
        row = rows[k]
        for slot in range(26):
            w[slot] = boards[row, slot]
        die_a = np.int64(rolls[row, 0])
        die_b = np.int64(rolls[row, 1])
        thrown_high = max(die_a, die_b)
        thrown_low = min(die_a, die_b)
        thrown = 0.0
        total = 0.0
        for high in range(1, 7):
            for low in range(1, high + 1):
                if opening and high == low:
                    continue
                worth = _worth_of_roll(
                    contact,
                    race,
                    w,
                    after,
                    flipped,
                    high,
                    low,
                    table,
                    cube_work,
                    values,
                    weights,
                    ban_hide,
                    bear_off_ban,
                    tables,
                    n_likely,
                    likely,
                    scores,
                    work,
                    scratch,
                )
                total += worth if high == low else 2.0 * worth
                if high == thrown_high and low == thrown_low:
                    thrown = worth
        if opening:
            mean = total / 30.0
            lucks[row] = thrown
        else:
            lucks[row] = thrown - total / 36.0
    return mean
