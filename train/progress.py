"""How far a run has come: what is kept of it, and what is told after each round or slice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from train.selfplay import Round

__all__ = ["Learned", "Played", "Positions", "Progress", "RunState"]


@dataclass(kw_only=True)
class RunState:
    """How far a run has come; what it has learned is in the learner."""

    round: int = 0
    """Rounds learned from so far."""
    games: int = 0
    """Games learned from so far."""
    positions: int = 0
    seconds: float = 0.0
    """Seconds of training so far, matches and saving not counted, all sessions together."""
    cpu_seconds: float = 0.0
    """The same in seconds of CPU time, all threads together."""
    generation_end: int = 0
    """Games at which the generation under way is all played; 0 = there is none."""
    generation_stage: int = 0
    """The stage that it belongs to."""
    played_rounds: int = 0
    """Rounds of it at the end of the window, while it is played."""
    learned: int = 0
    """Positions that were learned from in its cycle of steps."""
    fresh_stages: int = 0
    """Stages up to which new weights were taken where the settings ask for them."""
    beside_stages: int = 0
    """Stages up to which nets that learned beside the settled one were made one with it."""
    sorter_games: int = 0
    """Games that the sorter has learned from."""


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What was learned."""

    loss: float
    race_loss: float
    rate: float


@dataclass(frozen=True, kw_only=True)
class Played:
    """What was played."""

    games_per_s: float
    plies_per_game: float
    lambda_: float
    expected: float


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What is told after each round or slice."""

    state: RunState
    learned: Learned | None = None
    """None after a round that was only played."""
    played: Played | None = None
    """None after a slice of a generation that was only learned from."""
    cycle: float | None = None
    """Share of a generation's steps that are done, while it is learned from."""


class Positions(NamedTuple):
    """Positions of one round with what is to be learned of them."""

    boards: NDArray[np.int8]
    """`(N, 26)`, seen by the side on roll."""
    targets: NDArray[np.float32]
    """`(N, 5)`, for the side on roll."""
    weights: NDArray[np.float32]
    """`(N,)`, what each counts in the loss."""

    @classmethod
    def joined(cls, parts: "Sequence[Positions | Round]") -> "Positions":
        """All of some parts, one after the other."""
        return cls(
            np.concatenate([part.boards for part in parts]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )

    def taken(self, rows: NDArray[np.int64]) -> "Positions":
        """Some of them, in the order given."""
        return Positions(self.boards[rows], self.targets[rows], self.weights[rows])
