"""Move filters: which plays of a roll are looked at more deeply."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.kernels.tree import MAX_DEPTH
from engine.errors import ConfigError
from engine.play_codes import MAX_PLAYS

__all__ = ["FILTERS", "NORMAL", "MoveFilter", "move_filter"]


@dataclass(frozen=True, kw_only=True)
class MoveFilter:
    """How many plays pass on from each depth to the next, and how close to the best they must be.

    A roll's plays are all valued at depth 0 and sorted; those that pass are valued at depth 1, and
    so on to the depth asked for.
    """

    name: str
    steps: tuple[tuple[int, float], ...]
    """(count, window) after depth 0, 1, 2, ...: the best play and others up to `count` in all
    pass if they are at most `window` points per game behind it. The last one holds for all deeper
    ones."""

    def step(self, depth: int) -> tuple[int, float]:
        """Count and window after a depth."""
        return self.steps[min(depth, len(self.steps) - 1)]

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Counts and windows after depths 0 to MAX_DEPTH - 1, for kernels."""
        counts, windows = zip(*(self.step(depth) for depth in range(MAX_DEPTH)), strict=True)
        return np.array(counts, dtype=np.int64), np.array(windows, dtype=np.float32)


NORMAL: Final = MoveFilter(name="normal", steps=((8, 0.16), (4, 0.08), (3, 0.04)))

FILTERS: Final[dict[str, MoveFilter]] = {
    f.name: f
    for f in (
        MoveFilter(name="tiny", steps=((3, 0.06), (2, 0.03), (2, 0.02))),
        MoveFilter(name="narrow", steps=((5, 0.1), (3, 0.05), (2, 0.03))),
        NORMAL,
        MoveFilter(name="large", steps=((16, 0.32), (8, 0.16), (5, 0.08))),
        MoveFilter(name="full", steps=((MAX_PLAYS, 100.0),)),
    )
}
"""The filters that `--filter` knows; "full" lets all plays pass."""


def move_filter(name: str) -> MoveFilter:
    """The filter of a name. Raises ConfigError for an unknown one."""
    if name not in FILTERS:
        raise ConfigError(f"unknown filter '{name}'; accepted: {', '.join(FILTERS)}")
    return FILTERS[name]
