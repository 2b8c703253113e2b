"""Phases of the game, by which losses are told apart: predicates on boards, in order of priority.

A predicate looks at both sides: where it speaks of "either side" it holds if it holds for the board
as it is or for the flipped one. So a position has the same phase whoever is on roll.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.board import (
    BAR,
    NUM_POINTS,
    START,
    Board,
    IntArray,
    borne_off,
    flip,
    has_contact,
)

__all__ = ["PHASES", "PHASE_NAMES", "phase_numbers"]

BoolArray = NDArray[np.bool_]

_HOME_END: Final = 6  # the owner's home is points 1 to 6, the opponent's is 19 to 24
_START_OF_OPP_HOME: Final = 19
_PRIME_SPAN: Final = 6
_PIPS_OF_OPENING: Final = 98
"""Twelve rolls of 49/6 pips, which is the mean of a roll."""


def _is_race(boards: Board) -> BoolArray:
    return ~has_contact(boards)


def _bears_off(boards: Board) -> BoolArray:
    """Whether all checkers that the owner has left are in his home."""
    return np.asarray(~(boards[:, _HOME_END + 1 :] > 0).any(axis=1))


def _is_far_back(boards: Board) -> BoolArray:
    """Whether the owner has two anchors in the opponent's home, or four checkers there or up."""
    back = np.maximum(boards[:, _START_OF_OPP_HOME:], 0)  # his bar is one of them
    anchors = (back[:, :-1] >= 2).sum(axis=1)
    return np.asarray((anchors >= 2) | (back.sum(axis=1, dtype=np.int64) >= 4))


def _has_to_contain(boards: Board) -> BoolArray:
    """Whether the opponent has checkers off, or on the bar against four home points of the owner's.

    Those who have checkers off and all others home are bearing off, which comes before.
    """
    home_points = (boards[:, 1 : _HOME_END + 1] >= 2).sum(axis=1)
    return np.asarray((borne_off(flip(boards)) > 0) | ((boards[:, 0] > 0) & (home_points >= 4)))


def _has_prime(boards: Board) -> BoolArray:
    """Whether the owner has made five or six of some six points in a row."""
    made = (boards[:, 1:BAR] >= 2).astype(np.int64)
    before = np.concatenate([np.zeros((len(boards), 1), np.int64), made.cumsum(axis=1)], axis=1)
    spans = before[:, _PRIME_SPAN:] - before[:, : NUM_POINTS - _PRIME_SPAN + 1]
    return np.asarray((spans >= _PRIME_SPAN - 1).any(axis=1))


def _own_distances(boards: Board) -> IntArray:
    """Pips by which the owner's checkers would have to move, either way, from the start; `(B,)`."""
    left = np.maximum(boards[:, 1:], 0).astype(np.int64)
    start = np.maximum(START[1:], 0).astype(np.int64)
    # As many checkers have to pass between two slots as there are more or fewer beyond.
    beyond = (left - start)[:, ::-1].cumsum(axis=1)
    return np.asarray(abs(beyond).sum(axis=1))


def _is_early(boards: Board) -> BoolArray:
    distances = _own_distances(boards) + _own_distances(flip(boards))
    return np.asarray(distances <= _PIPS_OF_OPENING)


def _is_any(boards: Board) -> BoolArray:
    return np.ones(len(boards), dtype=np.bool_)


def _either(holds: Callable[[Board], BoolArray]) -> Callable[[Board], BoolArray]:
    return lambda boards: holds(boards) | holds(flip(boards))


PHASES: Final[tuple[tuple[str, Callable[[Board], BoolArray]], ...]] = (
    ("race", _is_race),
    ("bear-off", _either(_bears_off)),
    ("back game", _either(_is_far_back)),
    ("containment", _either(_has_to_contain)),
    ("prime", _either(_has_prime)),
    ("opening", _is_early),
    ("contact", _is_any),
)
"""Name and predicate of each phase, `(B, 26)` int8 to `(B,)` bool; the first that holds counts."""

PHASE_NAMES: Final = tuple(name for name, _ in PHASES)
"""The names alone, in order of priority."""


def phase_numbers(boards: ArrayLike) -> IntArray:
    """Number in `PHASES` of each board's phase, `(B,)` int64.

    boards: `(B, 26)` int8 of running games, as they are before the play; either side may be the
    owner.
    """
    b = np.asarray(boards, dtype=np.int8)
    numbers: IntArray = np.argmax([holds(b) for _, holds in PHASES], axis=0).astype(np.int64)
    return numbers
