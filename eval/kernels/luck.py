"""Compiled luck of rolls: what the roll thrown is worth less the mean over all, by a value net."""

import numpy as np

from agent.kernels.value import boards_probs, children_probs
from engine.compiled import inlined_kernel, kernel
from engine.house_moves import find_house_plays, may_bite
from engine.short_moves import find_codes

__all__ = ["lucks_of_rolls"]


@inlined_kernel
def _mover_equity(probs, row, bg_weight):
    """Equity for the mover, from probabilities of the opponent, who is on roll after the play."""
    gammons = probs[row, 1] - probs[row, 3] + bg_weight * (probs[row, 2] - probs[row, 4])
    return -(2.0 * probs[row, 0] - 1.0 + gammons)


@kernel
def _value_of_board(contact, race, w, flipped, work, bg_weight):
    """Worth of a board to the mover who has just played; finished games exactly."""
    for slot in range(1, 25):
        flipped[0, slot] = -w[25 - slot]
    flipped[0, 0] = w[25]
    flipped[0, 25] = w[0]
    boards_probs(contact, race, flipped, work, work.probs)
    return _mover_equity(work.probs, 0, bg_weight)


@kernel
def _value_of_roll(
    contact, race, w, after, flipped, high, low, bg_weight, ban_hide, bear_off_ban, work, scratch
):
    """Worth of a roll to the mover: that of the play that the net likes best."""
    if (ban_hide or bear_off_ban != 0) and may_bite(w, high, low, ban_hide, bear_off_ban):
        rows, _, n = find_house_plays(w, high, low, ban_hide, bear_off_ban)
        best = -4.0
        for i in range(n):
            for slot in range(26):
                after[slot] = rows[i, slot]
            value = _value_of_board(contact, race, after, flipped, work, bg_weight)
            best = max(best, value)
        if n > 0:
            return best
        return _value_of_board(contact, race, w, flipped, work, bg_weight)
    n = find_codes(w, high, low, scratch)
    if n == 0:
        return _value_of_board(contact, race, w, flipped, work, bg_weight)
    children_probs(contact, race, w, scratch[1], n, high, low, work)
    best = -4.0
    for i in range(n):
        best = max(best, _mover_equity(work.probs, i, bg_weight))
    return best


@kernel
def lucks_of_rolls(
    contact,
    race,
    boards,
    rolls,
    openings,
    bg_weight,
    ban_hide,
    bear_off_ban,
    work,
    scratch,
    lucks,
):
    """Write the luck of each roll, in points of its mover.

    boards: `(B, 26)` int8 before the roll, seen by the mover, games that go on; rolls: `(B, 2)`
    int8; openings: `(B,)` bool, whether the roll is a game's first, which also told who starts: the
    mean over both is 0 by symmetry. bg_weight: 1.0, or 0.0 where a backgammon counts as a gammon.
    ban_hide, bear_off_ban: as in `engine.house_moves`. scratch: of `engine.short_moves`. lucks:
    `(B,)` float64.
    """
    w = np.empty(26, dtype=np.int64)
    after = np.empty(26, dtype=np.int64)
    flipped = np.empty((1, 26), dtype=np.int64)
    for i in range(len(boards)):
        for slot in range(26):
            w[slot] = boards[i, slot]
        die_a = np.int64(rolls[i, 0])
        die_b = np.int64(rolls[i, 1])
        thrown_high = max(die_a, die_b)
        thrown_low = min(die_a, die_b)
        thrown = 0.0
        total = 0.0
        for high in range(1, 7):
            for low in range(1, high + 1):
                is_thrown = high == thrown_high and low == thrown_low
                if openings[i] and not is_thrown:
                    continue
                value = _value_of_roll(
                    contact,
                    race,
                    w,
                    after,
                    flipped,
                    high,
                    low,
                    bg_weight,
                    ban_hide,
                    bear_off_ban,
                    work,
                    scratch,
                )
                total += value if high == low else 2.0 * value
                if is_thrown:
                    thrown = value
        lucks[i] = thrown if openings[i] else thrown - total / 36.0
