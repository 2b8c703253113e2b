"""Exact endings for callers in Python: what is covered, chances, equities, numbers of rolls.

Boards are those of short nardi, seen by the side on roll before it rolls. For compiled callers the
kernels of `engine.bearoff.arrays` do the same with the arrays of `engine.bearoff.tables`.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.bearoff.arrays import (
    HOME,
    NOT_COVERED,
    ONE_SIDED_POINTS,
    TWO_SIDED,
    TWO_SIDED_CHECKERS,
    coverages,
    equities_of_boards,
    probs_of_boards,
    rolls_of_board,
)
from engine.bearoff.tables import load_tables
from engine.bearoff.two_sided import with_double
from engine.board import flip, has_contact, phase, validate
from engine.errors import PositionError
from engine.moves import check_boards
from engine.rules import Rules
from engine.scoring import has_four_kinds

__all__ = [
    "Cubeful",
    "Rolls",
    "coverage_of",
    "covers",
    "cubeful",
    "cubeless",
    "fits_rules",
    "roll_chances",
    "why_not_covered",
]

_TIE: Final = 1e-6  # values are float32


def fits_rules(rules: Rules) -> bool:
    """Whether the tables hold under these rules: short nardi, in which the first side off wins.

    They do not know a home mars, which scoring with four kinds of win tells from a mars.
    """
    has_draws = rules.end_rule != "no_draw"
    return rules.game == "short" and not has_draws and not has_four_kinds(rules)


def coverage_of(boards: ArrayLike) -> NDArray[np.int8]:
    """Which table knows each of the `(B, 26)` boards, `(B,)`.

    NOT_COVERED, ONE_SIDED or TWO_SIDED of `engine.bearoff.arrays`; needs no tables. Raises
    PositionError for boards that cannot occur.
    """
    b = check_boards(boards)
    known = np.zeros(len(b), dtype=np.int8)
    coverages(b, known)
    return known


def covers(boards: ArrayLike, *, exactly: bool = False) -> NDArray[np.bool_]:
    """Whether a table knows each of the boards, `(B,)`; exactly: whether with exact values."""
    known = coverage_of(boards)
    return np.asarray(known == TWO_SIDED if exactly else known != NOT_COVERED)


def cubeless(boards: ArrayLike) -> NDArray[np.float32]:
    """Probabilities `(B, 5)` of `(B, 26)` boards without a cube; nan where no table knows one.

    Cumulative: win, win gammon, win backgammon, lose gammon, lose backgammon. Exact to float32
    where `covers(boards, exactly=True)`, else close: each side plays to need the fewest rolls on
    average. A backgammon cannot happen here. Raises PositionError for boards that cannot occur.
    """
    b = check_boards(boards)
    probs = np.full((len(b), 5), np.nan, dtype=np.float32)
    known = np.zeros(len(b), dtype=np.int8)
    probs_of_boards(load_tables(), b, probs, known)
    return probs


@dataclass(frozen=True, kw_only=True)
class Cubeful:
    """Exact money equities of one position with the cube, per unit of the cube, for the mover.

    Nobody can lose a gammon, so Jacoby's rule changes nothing; nor do beavers, since a double that
    could be beavered is a mistake anyway. The cube has no upper limit.
    """

    no_double: float
    double_take: float | None
    """None if the mover may not double, as are the others that begin so."""
    double_pass: float | None

    @property
    def may_double(self) -> bool:
        return self.double_take is not None

    @property
    def equity(self) -> float:
        """Value of the position if both sides do the right thing."""
        if self.double_take is None:
            return self.no_double
        return float(with_double.py_func(self.no_double, self.double_take / 2))

    @property
    def double(self) -> Literal["yes", "no", "either"] | None:
        """Whether to double now; "either" where it makes no difference."""
        if self.double_take is None:
            return None
        gain = min(self.double_take, 1.0) - self.no_double
        return "either" if abs(gain) <= _TIE else "yes" if gain > 0 else "no"

    @property
    def take(self) -> Literal["yes", "no", "either"] | None:
        """Whether the opponent should take if the mover doubles now."""
        if self.double_take is None:
            return None
        gain = 1.0 - self.double_take
        return "either" if abs(gain) <= _TIE else "yes" if gain > 0 else "no"


def cubeful(board: ArrayLike, cube_owner: Literal["mover", "opponent"] | None = None) -> Cubeful:
    """Exact cubeful equities of a `(26,)` board; cube_owner: None = centred.

    Raises PositionError where `covers(..., exactly=True)` is false, with the reason.
    """
    b = validate(board)
    if reason := why_not_covered(b, exactly=True):
        raise PositionError(reason)
    equities = np.zeros((1, 3), dtype=np.float32)
    equities_of_boards(load_tables(), b[np.newaxis], equities, np.zeros(1, dtype=np.int8))
    centred, mine, theirs = (float(equity) for equity in equities[0])
    if cube_owner == "opponent":
        return Cubeful(no_double=theirs, double_take=None, double_pass=None)
    no_double = centred if cube_owner is None else mine
    return Cubeful(no_double=no_double, double_take=2 * theirs, double_pass=1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rolls:
    """How many rolls one side needs, without the other's interference."""

    chances: NDArray[np.float32]
    """Chances of needing exactly 0, 1, 2, ... rolls."""

    @property
    def mean(self) -> float:
        """Mean number of rolls."""
        chances = self.chances.astype(np.float64)
        return float(chances @ np.arange(len(chances)) / chances.sum())


def roll_chances(board: ArrayLike, *, first_off: bool = False) -> tuple[Rolls, Rolls]:
    """Rolls that the mover and the opponent need to bear off everything, or the first checker.

    Each by the plays that minimise the mean. first_off: of a side that has borne off one already 0.
    Raises PositionError where `covers` is false, with the reason.
    """
    b = validate(board)
    if reason := why_not_covered(b):
        raise PositionError(reason)
    sides = []
    for seen in (b, flip(b)):
        chances = np.zeros(64, dtype=np.float32)
        length = rolls_of_board(load_tables(), seen[np.newaxis], 0, first_off, chances)
        sides.append(Rolls(chances=chances[:length].copy()))
    return sides[0], sides[1]


def why_not_covered(board: ArrayLike, *, exactly: bool = False) -> str | None:
    """Why no table knows a `(26,)` board, or none exactly, in words; None if one does."""
    b = validate(board)
    known = coverage_of(b[np.newaxis])[0]
    if known == TWO_SIDED or (known != NOT_COVERED and not exactly):
        return None
    if phase(b) == "over":
        return "the game is over"
    if has_contact(b):
        return "the sides are in contact; the tables know races alone"
    reasons = []
    for side, seen in (("mover", b), ("opponent", flip(b))):
        rear = int(np.flatnonzero(seen[1:] > 0)[-1]) + 1
        checkers = int(np.maximum(seen[1:], 0).sum())
        limit = HOME if exactly else ONE_SIDED_POINTS
        if rear > limit:
            reasons.append(f"the {side} has a checker on his point {rear}")
        if exactly and checkers > TWO_SIDED_CHECKERS:
            reasons.append(f"the {side} has {checkers} checkers left")
    known_are = (
        f"up to {TWO_SIDED_CHECKERS} checkers a side, all on points 1 to {HOME}, are known exactly"
        if exactly
        else f"races with all checkers on points 1 to {ONE_SIDED_POINTS} are known"
    )
    return f"{' and '.join(reasons)}; {known_are}"
