"""Both sides exactly: the value of every pair of positions, without and with the doubling cube.

Values are those of the side on roll before its roll, per unit of the cube, in money play. Nobody
can lose a gammon here, so every value is the chance to win minus the chance to lose; with the cube,
`v` of a position whose cube stands in the middle, is owned by the mover or by the opponent is

    v_theirs = n_theirs                            the mover may not double
    v        = max(n, min(2 n_theirs, 1))          no double; double and take; double and pass

where n is the value if the mover does not double: the mean over the rolls of the best play, which
is worth 1 if it bears off the last checker and else minus the opponent's v, whose cube is the
mover's seen from the other side. 2 n_theirs is the value after a double that is taken: the stake is
twice as high and the opponent owns the cube.
"""

from engine.compiled import inlined_kernel, kernel

__all__ = ["CENTRED", "CUBELESS", "MINE", "THEIRS", "solve_pairs", "with_double"]

CUBELESS, CENTRED, MINE, THEIRS = 0, 1, 2, 3
"""Columns of the values, each without a double now: the mover's roll comes first."""


@inlined_kernel
def with_double(not_doubled, theirs):
    """Value of a position whose mover may double, from those without a double at this roll."""
    return max(not_doubled, min(2 * theirs, 1.0))


@kernel
def solve_pairs(plays, offsets, order, first, last, values):
    """Fill in the values `(P, P, 4)` float64 of all pairs up to `last` in the order of pips.

    values[mover, opponent]: see the columns above. plays, offsets: of `steps.all_plays`; order: the
    positions by ascending pips, number 0 first; pairs up to `first` are there already, so that a
    caller can do it in parts. The finished position has no values as the mover's; as the
    opponent's it is lost for the mover.
    """
    for number in range(max(first, 1), last):
        k = order[number]
        for column in range(4):
            values[k, 0, column] = -1
        for number_j in range(1, number + 1):
            j = order[number_j]
            # The opponent of k after a play of k has fewer pips opposite him, and is known.
            _solve_pair(plays, offsets, k, j, values)
            if j != k:
                _solve_pair(plays, offsets, j, k, values)


@kernel
def _solve_pair(plays, offsets, mover, opponent, values):
    cubeless = 0.0
    centred = 0.0
    mine = 0.0
    theirs = 0.0
    roll = 0
    for high in range(6):
        for low in range(high + 1):
            best_cubeless = -1.0
            best_centred = -1.0
            best_mine = -1.0
            best_theirs = -1.0
            for play in range(offsets[mover, roll], offsets[mover, roll + 1]):
                after = plays[play]
                if after == 0:
                    best_cubeless = 1.0
                    best_centred = 1.0
                    best_mine = 1.0
                    best_theirs = 1.0
                    break
                # The opponent's cube if it is mine; after his double it is mine.
                opp_theirs = values[opponent, after, THEIRS]
                best_cubeless = max(best_cubeless, -values[opponent, after, CUBELESS])
                best_centred = max(
                    best_centred, -with_double(values[opponent, after, CENTRED], opp_theirs)
                )
                best_mine = max(best_mine, -opp_theirs)
                best_theirs = max(
                    best_theirs, -with_double(values[opponent, after, MINE], opp_theirs)
                )
            weight = 1 if high == low else 2
            cubeless += weight * best_cubeless
            centred += weight * best_centred
            mine += weight * best_mine
            theirs += weight * best_theirs
            roll += 1
    values[mover, opponent, CUBELESS] = cubeless / 36
    values[mover, opponent, CENTRED] = centred / 36
    values[mover, opponent, MINE] = mine / 36
    values[mover, opponent, THEIRS] = theirs / 36
