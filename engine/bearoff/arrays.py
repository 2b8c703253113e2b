"""The tables as flat arrays, and the kernels that look boards up in them.

Boards are rows of integers whose first 26 are those of `engine.board`, seen by the side on roll. A
board is covered if all checkers of both sides are within ONE_SIDED_POINTS points of their edge and
neither side has borne off all: that leaves no contact. With up to TWO_SIDED_CHECKERS a side, all of
them at home, the values are exact. Further out, or with more checkers, the chances of both sides'
rolls are combined as if each side played to need the fewest rolls on average, which is close to
exact (docs/bearoff.md tells how close).
"""

from collections import namedtuple
from typing import Any, Final

import numpy as np

from engine.bearoff.ranks import num_positions, opp_rank, own_rank
from engine.board import NUM_CHECKERS
from engine.compiled import bare_kernel, inlined_kernel, kernel

__all__ = [
    "HOME",
    "NOT_COVERED",
    "NUM_FEWER",
    "ONE_SIDED",
    "ONE_SIDED_POINTS",
    "TWO_SIDED",
    "TWO_SIDED_CHECKERS",
    "BearoffArrays",
    "bearoff_equities",
    "bearoff_probs",
    "coverage",
    "coverages",
    "equities_of_boards",
    "no_tables",
    "probs_of_boards",
    "rolls_of_board",
]

BearoffArrays = namedtuple("BearoffArrays", "win cubeful starts shortest mass")
"""Both tables, of T two-sided and P one-sided positions of a side (`engine.bearoff.ranks`).

win: `(T, T)` float32, chance of the mover (first index) to win without a cube; cubeful:
`(T, T, 3)` float32, equities without a double at this roll, the cube centred, the mover's, the
opponent's. Row p of the one-sided table holds the chances mass[starts[p] : starts[p + 1]]
(float32) of shortest[p], shortest[p] + 1, ... rolls: rows 0 to P - 1 until all checkers are off;
the rows after them, of the positions with 15 checkers, until the first one is off. starts:
`(P + Q + 1,)` int32; shortest: `(P + Q,)` int8. With arrays of length 0 nothing is covered."""

HOME: Final = 6
TWO_SIDED_CHECKERS: Final = 6
ONE_SIDED_POINTS: Final = 8
NOT_COVERED: Final = 0
ONE_SIDED: Final = 1
TWO_SIDED: Final = 2

NUM_FEWER: Final = num_positions(ONE_SIDED_POINTS, NUM_CHECKERS - 1)
"""Positions of one side with fewer than 15 checkers: their numbers come first."""
# Of a position with 15 checkers: from its number to its row of rolls until the first one is off.
_TO_FIRST_OFF: Final = num_positions(ONE_SIDED_POINTS, NUM_CHECKERS) - NUM_FEWER


def no_tables() -> Any:
    """Tables that cover nothing, for kernels that are to do without."""
    return BearoffArrays(
        np.zeros((0, 0), dtype=np.float32),
        np.zeros((0, 0, 3), dtype=np.float32),
        np.zeros(0, dtype=np.int32),
        np.zeros(0, dtype=np.int8),
        np.zeros(0, dtype=np.float32),
    )


@bare_kernel
def coverage(boards, i):
    """Which table knows board i: NOT_COVERED, ONE_SIDED or TWO_SIDED."""
    if boards[i, 0] != 0 or boards[i, 25] != 0:
        return NOT_COVERED
    for point in range(ONE_SIDED_POINTS + 1, 25 - ONE_SIDED_POINTS):
        if boards[i, point] != 0:
            return NOT_COVERED
    own = 0
    opponent = 0
    own_outside = 0
    opp_outside = 0
    for point in range(1, ONE_SIDED_POINTS + 1):
        n = boards[i, point]
        m = -boards[i, 25 - point]
        if n < 0 or m < 0:
            return NOT_COVERED
        own += n
        opponent += m
        if point > HOME:
            own_outside += n
            opp_outside += m
    if own == 0 or opponent == 0:
        return NOT_COVERED
    at_home = own_outside == 0 and opp_outside == 0
    if at_home and own <= TWO_SIDED_CHECKERS and opponent <= TWO_SIDED_CHECKERS:
        return TWO_SIDED
    return ONE_SIDED


@inlined_kernel
def _first_of_two(starts, shortest, mass, row, other, lead):
    """Chance that the side of `row` needs at most as many rolls as the other plus `lead`.

    lead 0: it rolls first, and wins if both need as many; -1: it rolls second.
    """
    end = starts[row + 1]
    other_end = starts[other + 1]
    place = starts[other]
    rolls = shortest[row]
    other_rolls = shortest[other]
    still = 1.0  # chance that the other needs more rolls than all that were passed
    chance = 0.0
    for k in range(starts[row], end):
        while place < other_end and other_rolls < rolls - lead:
            still -= mass[place]
            place += 1
            other_rolls += 1
        chance += mass[k] * max(still, 0.0)
        rolls += 1
    return chance


@bare_kernel
def _one_sided_probs(starts, shortest, mass, boards, i, probs, row):
    own = own_rank(boards, i, ONE_SIDED_POINTS)
    opponent = opp_rank(boards, i, ONE_SIDED_POINTS)
    win = _first_of_two(starts, shortest, mass, own, opponent, 0)
    win = min(win, 1.0)
    probs[row, 0] = win
    for k in range(1, 5):
        probs[row, k] = 0
    # A gammon: the other side has not borne off a checker by the time the winner is done.
    if opponent >= NUM_FEWER:
        first_off = opponent + _TO_FIRST_OFF
        gammon = _first_of_two(starts, shortest, mass, own, first_off, 0)
        probs[row, 1] = min(gammon, win)
    if own >= NUM_FEWER:
        first_off = own + _TO_FIRST_OFF
        gammon = _first_of_two(starts, shortest, mass, opponent, first_off, -1)
        probs[row, 3] = min(gammon, 1.0 - win)


@inlined_kernel
def bearoff_probs(tables, boards, i, probs, row):
    """Write the five probabilities of board i to probs[row] if a table knows it.

    Returns which one: NOT_COVERED (0, nothing is written), ONE_SIDED or TWO_SIDED.
    """
    known = NOT_COVERED
    if len(tables.starts) > 0:
        known = coverage(boards, i)
        if known == TWO_SIDED:
            for k in range(1, 5):
                probs[row, k] = 0
            probs[row, 0] = tables.win[own_rank(boards, i, HOME), opp_rank(boards, i, HOME)]
        elif known == ONE_SIDED:
            _one_sided_probs(tables.starts, tables.shortest, tables.mass, boards, i, probs, row)
    return known


@inlined_kernel
def bearoff_equities(tables, boards, i, equities, row):
    """Write the exact cubeful money equities of board i, if it is TWO_SIDED, to equities[row].

    Three, per unit of the cube, without a double at this roll: cube centred, the mover's, the
    opponent's (`two_sided.with_double` makes values before the cube action of them). Returns
    whether they were written.
    """
    known = False
    if len(tables.starts) > 0 and coverage(boards, i) == TWO_SIDED:
        own = own_rank(boards, i, HOME)
        opponent = opp_rank(boards, i, HOME)
        for k in range(3):
            equities[row, k] = tables.cubeful[own, opponent, k]
        known = True
    return known


@kernel
def coverages(boards, known):
    """Write which table knows each of the `(B, 26)` boards to `(B,)` known."""
    for i in range(len(boards)):
        known[i] = coverage(boards, i)


@kernel
def probs_of_boards(tables, boards, probs, known):
    """`bearoff_probs` of `(B, 26)` boards, to `(B, 5)` probs and `(B,)` known."""
    for i in range(len(boards)):
        known[i] = bearoff_probs(tables, boards, i, probs, i)


@kernel
def equities_of_boards(tables, boards, equities, known):
    """`bearoff_equities` of `(B, 26)` boards, to `(B, 3)` equities and `(B,)` known."""
    for i in range(len(boards)):
        known[i] = bearoff_equities(tables, boards, i, equities, i)


@kernel
def rolls_of_board(tables, boards, i, first_off, chances):
    """Chances that the owner of board i, which is covered, needs exactly 0, 1, 2, ... rolls.

    first_off: until his first checker is off, else until all are. chances: `(64,)`, zeros. Returns
    how many of them are filled.
    """
    row = own_rank(boards, i, ONE_SIDED_POINTS)
    if first_off:
        if row < NUM_FEWER:
            chances[0] = 1
            return 1
        row += _TO_FIRST_OFF
    starts = tables.starts
    length = tables.shortest[row] + 0
    for k in range(starts[row], starts[row + 1]):
        chances[length] = tables.mass[k]
        length += 1
    return length
