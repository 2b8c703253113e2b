"""Numbers for the positions of one side: all ways to put up to n checkers on points 1 to k.

The number (combinatorial number system) is the sum over j = 1 to k of C(s_j + j - 1, j), where s_j
is how many checkers stand on the j furthest of the k points. Positions with fewer checkers come
first, so those with up to m checkers are the first `num_positions(k, m)` whatever the most may be;
number 0 is the side that has borne off everything.
"""

import math
from typing import Final

import numpy as np

from engine.compiled import inlined_kernel, kernel

__all__ = ["num_positions", "opp_rank", "own_rank", "position_counts", "rank_of_counts"]

_MOST_POINTS: Final = 12
_MOST_CHECKERS: Final = 15

CHOOSE: Final = np.array(
    [[math.comb(n, k) for k in range(_MOST_POINTS + 1)] for n in range(_MOST_CHECKERS + 12)],
    dtype=np.int64,
)


def num_positions(n_points: int, n_checkers: int) -> int:
    """How many ways there are to put up to n_checkers on points 1 to n_points."""
    return math.comb(n_points + n_checkers, n_points)


@inlined_kernel
def own_rank(boards, i, n_points):
    """Number of the owner's side of board i, none of whose checkers is further out."""
    total = 0
    rank = 0
    for j in range(n_points):
        total += max(np.int64(boards[i, n_points - j]), 0)
        rank += CHOOSE[total + j, j + 1]
    return rank


@inlined_kernel
def opp_rank(boards, i, n_points):
    """Number of the opponent's side of board i, counted as he counts his points."""
    total = 0
    rank = 0
    for j in range(n_points):
        total += max(-np.int64(boards[i, 25 - n_points + j]), 0)
        rank += CHOOSE[total + j, j + 1]
    return rank


@inlined_kernel
def rank_of_counts(counts, n_points):
    """Number of a position given as checkers on points 1, 2, ..., n_points."""
    total = 0
    rank = 0
    for j in range(n_points):
        total += counts[n_points - 1 - j]
        rank += CHOOSE[total + j, j + 1]
    return rank


@kernel
def position_counts(n_points, n_checkers):
    """All positions in the order of their numbers, `(P, n_points)`: checkers on points 1, 2, ..."""
    n_positions = CHOOSE[n_points + n_checkers, n_points]
    counts = np.zeros((n_positions, n_points), dtype=np.int64)
    for rank in range(n_positions):
        left = rank
        above = -1  # checkers on the j + 1 furthest points
        for j in range(n_points - 1, -1, -1):
            total = 0
            while CHOOSE[total + 1 + j, j + 1] <= left and total < n_checkers:
                total += 1
            left -= CHOOSE[total + j, j + 1]
            if above >= 0:
                counts[rank, n_points - 2 - j] = above - total
            above = total
        counts[rank, n_points - 1] = above
    return counts
