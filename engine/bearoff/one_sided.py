"""One side alone: how many rolls it needs, if every play minimises their mean.

Without contact every die can be played as long as checkers are left, so a roll's plays are all ways
to play one die and then the other, each a legal step. The best result of such a chain is found step
by step: the best that two dice can reach from a position is the best over the first step of what
the second die can reach from there.
"""

from typing import Final

import numpy as np

from engine.bearoff.steps import find_steps
from engine.compiled import kernel

__all__ = ["NEGLIGIBLE", "plan_rolls", "trim_rolls"]

NEGLIGIBLE: Final = 1e-10
"""Chances of a number of rolls below this are left out at both ends of a distribution."""

_TIE: Final = 1e-11  # means closer than this are equal but for rounding; the first play counts
_MOST_ROLLS: Final = 64


@kernel
def plan_rolls(counts, order, least_checkers, means, starts, lengths, shortest, mass):
    """Mean and distribution of the rolls until fewer than `least_checkers` are left.

    counts: `(P, k)` all positions; order: their numbers by ascending pips. Written are means `(P,)`
    (0 where it is so already) and for every other position the chances `mass[starts : starts +
    lengths]` of `shortest`, `shortest + 1`, ... rolls. Returns how much of `mass` is filled, or -1
    if it is too short.
    """
    n_positions, n_points = counts.shape
    # best[die - 1, j - 1, p]: where j steps with a die lead to from p in the best case.
    best = np.zeros((6, 4, n_positions), dtype=np.int32)
    steps = np.zeros((6, n_points), dtype=np.int64)
    n_steps = np.zeros(6, dtype=np.int64)
    scratch = np.zeros(n_points, dtype=np.int64)
    dense = np.zeros(_MOST_ROLLS + 1)
    filled = 0
    for number in range(n_positions):
        p = order[number]
        checkers = 0
        for point in range(n_points):
            checkers += counts[p, point]
        if checkers < least_checkers:
            means[p] = 0
            for die in range(6):
                for j in range(4):
                    best[die, j, p] = p
            continue
        find_steps(counts, p, scratch, steps, n_steps)
        for die in range(6):
            for j in range(4):
                place = steps[die, 0] if j == 0 else best[die, j - 1, steps[die, 0]]
                for k in range(1, n_steps[die]):
                    other = steps[die, k] if j == 0 else best[die, j - 1, steps[die, k]]
                    if means[other] < means[place] - _TIE:
                        place = other
                best[die, j, p] = place
        dense[:] = 0
        total = 0.0  # of weights times means
        low = _MOST_ROLLS
        high = 0
        for high_die in range(6):
            for low_die in range(high_die + 1):
                if high_die == low_die:
                    place = best[high_die, 3, p]
                    weight = 1
                else:
                    place = best[low_die, 0, steps[high_die, 0]]
                    for k in range(1, n_steps[high_die]):
                        other = best[low_die, 0, steps[high_die, k]]
                        if means[other] < means[place] - _TIE:
                            place = other
                    for k in range(n_steps[low_die]):
                        other = best[high_die, 0, steps[low_die, k]]
                        if means[other] < means[place] - _TIE:
                            place = other
                    weight = 2
                total += weight * means[place]
                if means[place] == 0:
                    dense[1] += weight
                    low = 1
                    high = max(high, 1)
                else:
                    first = shortest[place] + 1
                    for k in range(lengths[place]):
                        dense[first + k] += weight * mass[starts[place] + k]
                    low = min(low, first)
                    high = max(high, first + lengths[place] - 1)
        means[p] = 1 + total / 36
        for k in range(low, high + 1):
            dense[k] /= 36
        while dense[low] < NEGLIGIBLE:
            low += 1
        while dense[high] < NEGLIGIBLE:
            high -= 1
        starts[p] = filled
        shortest[p] = low
        lengths[p] = high - low + 1
        if filled + lengths[p] > len(mass) or high >= _MOST_ROLLS - 1:
            return -1
        for k in range(lengths[p]):
            mass[filled + k] = dense[low + k]
        filled += lengths[p]
    return filled


@kernel
def trim_rolls(starts, lengths, shortest, mass, least, trimmed):
    """Leave out chances below `least` at both ends of every distribution.

    Of row p, mass[starts[p] : starts[p] + lengths[p]], the rest goes to `trimmed`, one row after
    the other; lengths and shortest are made to fit. Returns how much of `trimmed` is filled.
    """
    filled = 0
    for p in range(len(starts)):
        first = starts[p]
        last = starts[p] + lengths[p]
        while first < last and mass[first] < least:
            first += 1
            shortest[p] += 1
        while first < last and mass[last - 1] < least:
            last -= 1
        lengths[p] = last - first
        for k in range(first, last):
            trimmed[filled] = mass[k]
            filled += 1
    return filled
