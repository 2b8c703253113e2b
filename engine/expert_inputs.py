"""Compiled expert inputs of a board: `contact-v1`, 12 numbers for each side.

`engine.features` documents them one by one; `tests/reference_features.py` computes them a second
time from those words. Sets of points are bits of an int64. A side's own coordinates count from its
own bear-off edge, so that its checkers move towards lower bits; the other side's coordinates are
the mirror image, in which they move towards higher bits.
"""

import numpy as np
from numpy.typing import NDArray

from engine.bits import count_bits, highest_bit, mirror_points
from engine.compiled import bare_kernel, inlined_kernel

__all__ = ["NUM_CONTACT_INPUTS", "NUM_SIDE_INPUTS", "contact_inputs"]

NUM_SIDE_INPUTS = 12
NUM_CONTACT_INPUTS = 2 * NUM_SIDE_INPUTS

_POINTS = (1 << 25) - 2  # bits 1 to 24


def _escape_table() -> NDArray[np.float32]:
    """Rolls of 36 that one checker can play whole, by the closed points 1 to 12 pips ahead of it.

    A roll of different dice needs its end open and one of the two stops; of a double only the first
    two steps are looked at.
    """
    table = np.zeros(1 << 12, dtype=np.float32)
    for closed in range(1 << 12):
        rolls = 0
        for a in range(1, 7):
            for b in range(1, a + 1):
                end_open = not closed >> (a + b - 1) & 1
                stop_open = not (closed >> (a - 1) & 1 and closed >> (b - 1) & 1)
                rolls += (1 if a == b else 2) * (end_open and stop_open)
        table[closed] = rolls / 36
    return table


_ESCAPES = _escape_table()


@inlined_kernel
def _escapes(closed, point):
    """Share of rolls that a checker `point` pips into the blocker's coordinates can play whole.

    closed: made points of the blocker in his own coordinates; point: 0 for a checker on the bar.
    """
    return _ESCAPES[(closed >> (point + 1)) & 0xFFF]


@bare_kernel
def _hitting_rolls(hitters, n_bar, blots, landing):
    """Rolls of 36 that hit at least one of the blots. All sets in the hitter's coordinates.

    hitters: his points; n_bar: his checkers on the bar, which enter first; landing: points not
    closed to him.
    """
    rolls = 0
    if n_bar == 0:
        # Without a branch: this is the frequent case.
        for a in range(1, 7):
            by_a = hitters >> a
            stop_a = by_a & landing
            twice = stop_a >> a
            thrice = (twice & landing) >> a
            rolls += ((by_a | twice | thrice | ((thrice & landing) >> a)) & blots) != 0
            for b in range(1, a):
                by_b = hitters >> b
                hit = (by_a | by_b | (stop_a >> b) | ((by_b & landing) >> a)) & blots
                rolls += 2 * (hit != 0)
        return rolls
    bar = 1 << 25
    for a in range(1, 7):
        by_a = bar >> a
        if by_a & landing:
            reach = hitters | by_a
            hit = by_a & blots
            for _ in range(4 - n_bar):
                reach = reach >> a
                hit |= reach & blots
                reach &= landing
            rolls += hit != 0
        for b in range(1, a):
            by_b = bar >> b
            hit = (by_a | by_b) & blots
            if n_bar == 1:
                if by_a & landing:
                    hit |= ((hitters | by_a) >> b) & blots
                if by_b & landing:
                    hit |= ((hitters | by_b) >> a) & blots
            rolls += 2 * (hit != 0)
    return rolls


@inlined_kernel
def _side_inputs(
    out, row, first, own, own_made, opp_made, opp_made_seen, opp_blots_seen, n_bar, rear
):
    """The inputs of one side that follow from sets of points; the caller adds those that count.

    own, own_made, opp_made_seen, opp_blots_seen: in the side's coordinates; opp_made: in the other
    side's; rear: the side's rearmost point (25 = bar, 0 = none left).
    """
    out[row, first] = _escapes(opp_made, 25 - rear) if rear > 0 else np.float32(1)
    tightest = np.float32(1)
    for point in range(10):
        tightest = min(tightest, _escapes(own_made, point))
    out[row, first + 1] = 1 - tightest
    longest = 0
    run = own_made
    while run:
        run &= run >> 1
        longest += 1
    out[row, first + 2] = min(longest, 6) / np.float32(6)
    n_home = count_bits(own_made & 0x7E)
    out[row, first + 3] = n_home * n_home / np.float32(36)
    hits = 0
    if opp_blots_seen:
        hits = _hitting_rolls(own, n_bar, opp_blots_seen, _POINTS & ~opp_made_seen)
    out[row, first + 4] = hits / np.float32(36)
    out[row, first + 6] = rear / np.float32(25)
    out[row, first + 11] = n_bar / np.float32(2)


@bare_kernel
def contact_inputs(boards, i, out, row, first):
    """Write the 24 inputs of `contact-v1` of board i to out[row, first:]; its owner is on roll.

    boards: `(B, 26)` or wider integers, each seen by its owner; out: float32, wide enough.
    """
    n_bar = np.int64(boards[i, 25])
    opp_n_bar = np.int64(boards[i, 0])
    own = np.int64(0)  # a bare 0 has a type of its own, for which callees are compiled as well
    own_made = np.int64(0)
    opp_seen = np.int64(0)  # the opponent's sets in the owner's coordinates
    opp_made_seen = np.int64(0)
    pips = 25 * n_bar
    opp_pips = 25 * opp_n_bar
    for point in range(1, 25):
        n = np.int64(boards[i, point])
        own |= (n > 0) << point
        own_made |= (n > 1) << point
        opp_seen |= (n < 0) << point
        opp_made_seen |= (n < -1) << point
        pips += max(n, 0) * point
        opp_pips += max(-n, 0) * (25 - point)
    own_seen = mirror_points(own)
    own_made_seen = mirror_points(own_made)
    opp = mirror_points(opp_seen)
    opp_made = mirror_points(opp_made_seen)
    own_blots = own & ~own_made
    opp_blots = opp & ~opp_made
    own_rear = 25 if n_bar else (highest_bit(own) if own else 0)
    opp_own_rear = 25 if opp_n_bar else (highest_bit(opp) if opp else 0)

    back = n_bar
    opp_back = opp_n_bar
    for point in range(19, 25):
        back += max(np.int64(boards[i, point]), 0)
        opp_back += max(-np.int64(boards[i, 25 - point]), 0)
    middle = 0
    opp_middle = 0
    for point in range(7, 19):
        n = np.int64(boards[i, point])
        middle += max(n, 0) * (point - 6)
        opp_middle += max(-n, 0) * (19 - point)
    # Pips to move until nobody can be hit any more, and blots with an enemy behind them.
    own_break = 0
    opp_break = 0
    own_exposed = 0
    opp_exposed = 0
    opp_front = 25 - opp_own_rear
    own_front = 25 - own_rear
    if own_rear > opp_front:
        own_break = n_bar * (25 - opp_front)
        opp_break = opp_n_bar * (25 - own_front)
        for point in range(1, 25):
            n = np.int64(boards[i, point])
            own_break += max(n, 0) * max(point - opp_front, 0)
            opp_break += max(-n, 0) * max(25 - point - own_front, 0)
        own_exposed = count_bits(own_blots >> opp_front >> 1)
        opp_exposed = count_bits(opp_blots >> own_front >> 1)
    _side_inputs(
        out,
        row,
        first,
        own,
        own_made,
        opp_made,
        opp_made_seen,
        opp_seen & ~opp_made_seen,
        n_bar,
        own_rear,
    )
    _side_inputs(
        out,
        row,
        first + NUM_SIDE_INPUTS,
        opp,
        opp_made,
        own_made,
        own_made_seen,
        own_seen & ~own_made_seen,
        opp_n_bar,
        opp_own_rear,
    )
    out[row, first + 5] = own_exposed / np.float32(4)
    out[row, first + 7] = own_break / np.float32(152)
    out[row, first + 8] = back / np.float32(6)
    out[row, first + 9] = middle / np.float32(60)
    out[row, first + 10] = pips / np.float32(167)
    out[row, first + NUM_SIDE_INPUTS + 5] = opp_exposed / np.float32(4)
    out[row, first + NUM_SIDE_INPUTS + 7] = opp_break / np.float32(152)
    out[row, first + NUM_SIDE_INPUTS + 8] = opp_back / np.float32(6)
    out[row, first + NUM_SIDE_INPUTS + 9] = opp_middle / np.float32(60)
    out[row, first + NUM_SIDE_INPUTS + 10] = opp_pips / np.float32(167)
