"""Computes the tables: seconds on one thread, the same numbers every time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.bearoff.arrays import (
    HOME,
    NUM_FEWER,
    ONE_SIDED_POINTS,
    TWO_SIDED_CHECKERS,
    BearoffArrays,
)
from engine.bearoff.one_sided import plan_rolls, trim_rolls
from engine.bearoff.ranks import position_counts
from engine.bearoff.steps import all_plays
from engine.bearoff.two_sided import CENTRED, CUBELESS, solve_pairs
from engine.board import NUM_CHECKERS, IntArray

__all__ = ["OnProgress", "RollTable", "build_arrays", "one_sided", "two_sided"]

OnProgress = Callable[[int, int], None]
"""Told how many of how many positions of a side are done."""

_LEAST_KEPT: Final = 1e-7  # chances below it at both ends are not stored: float32 tells no more
_PARTS: Final = 24


@dataclass(frozen=True, kw_only=True, eq=False)
class RollTable:
    """How many rolls every position of one side needs by itself, in the order of the numbers."""

    counts: IntArray
    """`(P, k)`: checkers on points 1, 2, ..., k."""
    means: NDArray[np.float64]
    """`(P,)`: mean number of rolls; 0 where none is needed."""
    starts: IntArray
    lengths: IntArray
    shortest: IntArray
    """Position p needs shortest[p] + i rolls with the chance mass[starts[p] + i], i < lengths[p].
    All `(P,)`; lengths is 0 where no roll is needed."""
    mass: NDArray[np.float64]

    def chances(self, position: int) -> NDArray[np.float64]:
        """Chances of needing exactly 0, 1, 2, ... rolls."""
        if self.means[position] == 0:
            return np.ones(1)
        start, length = int(self.starts[position]), int(self.lengths[position])
        return np.concatenate(
            [np.zeros(int(self.shortest[position])), self.mass[start : start + length]]
        )


def one_sided(n_points: int, n_checkers: int, until: int = 0) -> RollTable:
    """Rolls until at most `until` checkers are left, by the plays that minimise their mean.

    All positions of up to n_checkers on points 1 to n_points, of which n_points may be 1 to 12.
    """
    counts = position_counts(n_points, n_checkers)
    n_positions = len(counts)
    means = np.zeros(n_positions)
    starts, lengths, shortest = (np.zeros(n_positions, dtype=np.int64) for _ in range(3))
    mass = np.empty(20 * n_positions + 64)
    filled = plan_rolls(counts, _by_pips(counts), until + 1, means, starts, lengths, shortest, mass)
    assert filled >= 0, "distributions are longer than expected"
    return RollTable(
        counts=counts,
        means=means,
        starts=starts,
        lengths=lengths,
        shortest=shortest,
        mass=mass[:filled],
    )


def two_sided(n_checkers: int, on_progress: OnProgress | None = None) -> NDArray[np.float64]:
    """Values of all pairs of positions of up to n_checkers at home, `(P, P, 4)`.

    values[mover, opponent] has the columns CUBELESS, CENTRED, MINE and THEIRS of `two_sided`:
    equities of the side on roll if it does not double at this roll. Rows of the finished position
    as the mover are 0.
    """
    counts = position_counts(HOME, n_checkers)
    n_positions = len(counts)
    offsets = np.zeros((n_positions, 22), dtype=np.int64)
    plays = np.empty(64 * n_positions, dtype=np.int32)
    while (filled := all_plays(counts, plays, offsets)) < 0:
        plays = np.empty(2 * len(plays), dtype=np.int32)
    order = _by_pips(counts)
    values = np.zeros((n_positions, n_positions, 4))
    done = 0
    if on_progress is not None:
        on_progress(0, n_positions)
    for part in range(_PARTS):
        # The k-th position brings 2 k pairs.
        last = (
            n_positions if part == _PARTS - 1 else int(n_positions * ((part + 1) / _PARTS) ** 0.5)
        )
        solve_pairs(plays[:filled], offsets, order, done, last, values)
        done = last
        if on_progress is not None:
            on_progress(done, n_positions)
    return values


def build_arrays(on_progress: OnProgress | None = None) -> Any:
    """Both tables as `BearoffArrays`."""
    values = two_sided(TWO_SIDED_CHECKERS, on_progress)
    parts = [
        _stored(one_sided(ONE_SIDED_POINTS, NUM_CHECKERS), 0),
        _stored(one_sided(ONE_SIDED_POINTS, NUM_CHECKERS, NUM_CHECKERS - 1), NUM_FEWER),
    ]
    lengths, shortest, mass = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return BearoffArrays(
        ((values[..., CUBELESS] + 1) / 2).astype(np.float32),
        values[..., CENTRED:].astype(np.float32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        shortest.astype(np.int8),
        mass.astype(np.float32),
    )


def _stored(table: RollTable, first: int) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Lengths, shortest and chances of the positions from `first` on, without negligible ones."""
    lengths = table.lengths[first:].copy()
    shortest = table.shortest[first:].copy()
    mass = np.empty_like(table.mass)
    filled = trim_rolls(table.starts[first:], lengths, shortest, table.mass, _LEAST_KEPT, mass)
    return lengths, shortest, mass[:filled]


def _by_pips(counts: IntArray) -> IntArray:
    """Numbers of the positions by ascending pips, number 0 (no checkers) first."""
    pips = counts @ np.arange(1, counts.shape[1] + 1)
    return np.argsort(pips, kind="stable")
