"""Where one side's steps and rolls lead to when there is no contact, by numbers of positions.

Without contact every die can be played as long as checkers are left, so the plays of a roll are all
ways to play one die and then the other, each a legal step; the larger-die rule never bites.
"""

import numpy as np

from engine.bearoff.ranks import rank_of_counts
from engine.compiled import inlined_kernel, kernel

__all__ = ["all_plays", "find_steps"]


@inlined_kernel
def _may_step(counts, p, point, die, all_home):
    """Whether a checker of point (counted from 0) of position p can be played by a die."""
    if counts[p, point] == 0:
        legal = False
    elif die <= point:
        legal = True
    else:
        legal = all_home
        if die > point + 1:
            for higher in range(point + 1, counts.shape[1]):
                legal = legal and counts[p, higher] == 0
    return legal


@kernel
def find_steps(counts, p, scratch, steps, n_steps):
    """Write the positions that one step with each die leads to, to the row steps[die - 1].

    scratch: `(k,)`; n_steps: `(6,)`, how many there are. Without checkers a step stays there.
    """
    n_points = counts.shape[1]
    all_home = True
    for point in range(6, n_points):
        all_home = all_home and counts[p, point] == 0
    for die in range(1, 7):
        n = 0
        for point in range(n_points - 1, -1, -1):
            if not _may_step(counts, p, point, die, all_home):
                continue
            for k in range(n_points):
                scratch[k] = counts[p, k]
            scratch[point] -= 1
            if point >= die:
                scratch[point - die] += 1
            steps[die - 1, n] = rank_of_counts(scratch, n_points)
            n += 1
        if n == 0:
            steps[die - 1, 0] = p
            n = 1
        n_steps[die - 1] = n


@kernel
def all_plays(counts, plays, offsets):
    """The distinct results of all 21 rolls, in the order of `engine.dice.ROLLS`, of all positions.

    plays: `(N,)` int32 numbers of positions; offsets: `(P, 22)`: roll r of position p owns
    plays[offsets[p, r] : offsets[p, r + 1]]. The finished position leads to itself. Returns how
    many there are, or -1 if `plays` is too short.
    """
    n_positions, n_points = counts.shape
    steps = np.zeros((n_positions, 6, n_points), dtype=np.int64)
    n_steps = np.zeros((n_positions, 6), dtype=np.int64)
    scratch = np.zeros(n_points, dtype=np.int64)
    for p in range(n_positions):
        find_steps(counts, p, scratch, steps[p], n_steps[p])
    dice = np.zeros(4, dtype=np.int64)
    reached = np.zeros((5, n_positions), dtype=np.int32)  # after 0 to 4 steps
    stamp = np.zeros((5, n_positions), dtype=np.int64)
    now = 0
    filled = 0
    for p in range(n_positions):
        roll = 0
        for high in range(1, 7):
            for low in range(1, high + 1):
                offsets[p, roll] = filled
                now += 1
                for order in range(1 if high == low else 2):
                    n_dice = 4 if high == low else 2
                    for k in range(4):
                        dice[k] = high if (k + order) % 2 == 0 else low
                    n_before = 1
                    reached[0, 0] = p
                    for k in range(n_dice):
                        n_after = 0
                        for before in range(n_before):
                            at = reached[k, before]
                            for step in range(n_steps[at, dice[k] - 1]):
                                to = steps[at, dice[k] - 1, step]
                                if stamp[k + 1, to] != 2 * now + order:
                                    stamp[k + 1, to] = 2 * now + order
                                    reached[k + 1, n_after] = to
                                    n_after += 1
                        n_before = n_after
                    for k in range(n_before):
                        to = reached[n_dice, k]
                        # Row 0 of `stamp` is free to tell what either order of the dice reaches.
                        if stamp[0, to] != now:
                            stamp[0, to] = now
                            if filled == len(plays):
                                return -1
                            plays[filled] = to
                            filled += 1
                roll += 1
        offsets[p, roll] = filled
    return filled
