"""The games that are played: start, mirror, plays and scoring of each; `Rules.game` selects one.

Generic code takes these from the variant object and never assumes the mirror of short nardi.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.batch_moves import plays_of_many, plays_of_one
from engine.board import BAR, START, Board, board_faults, flip, pip_count
from engine.rules import Rules, Scoring

__all__ = ["SHORT", "VARIANTS", "Variant", "variant_of"]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One game: what differs between short and long nardi."""

    name: str
    """Value of `Rules.game`."""
    start: Board
    """Opening position, `(26,)` int8, the same for both sides; read-only."""
    flip: Callable[[ArrayLike], Board]
    """The position seen by the other side; an involution on `(..., 26)` int8."""
    pip_count: Callable[[ArrayLike], NDArray[np.int64]]
    """Pips the owner still needs, `(...)` int64."""
    faults: Callable[[ArrayLike], list[str]]
    """Everything wrong with one board, in words."""
    plays_of_one: Callable[..., tuple[Board, NDArray[np.int64]]]
    """Compiled plays of one position, as `engine.batch_moves.plays_of_one` has them."""
    plays_of_many: Callable[..., tuple[int, int]]
    """Compiled plays of many positions, as `engine.batch_moves.plays_of_many` has them."""
    scorings: tuple[Scoring, ...]
    """Scoring schemes the game is played with, the usual one first."""
    is_caught: Callable[[Board], NDArray[np.bool_]]
    """Whether a loser's checker stands where the four-level scheme counts koks; `(...)` bool."""
    has_bar: bool
    """Whether checkers are hit and come to the bar."""
    has_cube: bool
    """Whether the game is ever played with the doubling cube."""


def _on_bar(boards: Board) -> NDArray[np.bool_]:
    return np.asarray(boards[..., BAR] > 0)


SHORT: Final = Variant(
    name="short",
    start=START,
    flip=flip,
    pip_count=pip_count,
    faults=board_faults,
    plays_of_one=plays_of_one,
    plays_of_many=plays_of_many,
    scorings=("oin_mars_koks_123", "oin_mars_12", "mars_homemars_koks_1234"),
    is_caught=_on_bar,
    has_bar=True,
    has_cube=True,
)
VARIANTS: Final[dict[str, Variant]] = {SHORT.name: SHORT}


def variant_of(rules: Rules) -> Variant:
    """The variant object of the game that these rules are for."""
    return VARIANTS[rules.game]
