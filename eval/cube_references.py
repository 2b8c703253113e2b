"""Decisions of the cube with reference equities, as lines of a decision file.

docs/benchmarks.md has the format.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agent.cube_table import may_double
from agent.situation import Situation
from engine.board import Board
from engine.errors import NardiError, PositionError
from engine.moves import check_running
from engine.rules import INTERNATIONAL
from eval.reference_lines import ReferenceLine, shown

__all__ = ["ACTIONS", "CubeDecisionSet", "is_cube_line", "read_cube_lines"]

FloatArray = NDArray[np.float64]

ACTIONS: Final = ("no_double", "double_take", "double_pass", "double_beaver")
"""What is told of each decision, in the order of the columns of `CubeDecisionSet.equities`."""

_MOST: Final = 1000.0  # of an equity, in points per present stake


@dataclass(frozen=True, kw_only=True, eq=False)
class CubeDecisionSet:
    """Positions before the roll in which the mover may double, and what all actions are worth."""

    name: str
    """Path of the file, or name of a shipped set."""
    lines: NDArray[np.int64]
    """Line of the file of each decision, counted from 1, `(B,)`."""
    boards: Board
    """`(B, 26)`, seen by the side on roll."""
    situations: tuple[Situation, ...]
    """The mover's, `B`; equal ones are the same object."""
    equities: FloatArray
    """`(B, 4)` in points per present stake, or their equivalent at a score, of the mover; columns
    as in ACTIONS, the last one nan where there are no beavers."""


def is_cube_line(line: ReferenceLine) -> bool:
    """Whether a line has a decision of the cube."""
    return "cube" in line.values


def read_cube_lines(name: str, lines: Iterable[ReferenceLine]) -> CubeDecisionSet | None:
    """The decisions of the cube among some lines; None if there are none.

    Raises ReferenceFileError that names file, line and fault.
    """
    found = [_CubeDecision(line) for line in lines if is_cube_line(line)]
    if not found:
        return None
    known: dict[Situation, Situation] = {}
    return CubeDecisionSet(
        name=name,
        lines=np.array([each.line.number for each in found], dtype=np.int64),
        boards=np.stack([each.board for each in found]),
        situations=tuple(known.setdefault(each.situation, each.situation) for each in found),
        equities=np.array([each.equities for each in found]),
    )


class _CubeDecision:
    def __init__(self, line: ReferenceLine) -> None:
        self.line = line
        if "candidates" in line.values:
            line.fail("", "has both 'cube' and 'candidates'; plays are judged without a cube")
        self.board = line.board(line.values, "before")
        try:
            check_running(self.board)
        except PositionError as error:
            line.fail("", f"'before': {error}")
        self.situation = _situation(line)
        self.equities = _equities(line, self.situation)


def _situation(line: ReferenceLine) -> Situation:
    told = line.values["cube"]
    if not isinstance(told, dict):
        line.fail("", f"'cube' is {shown(told)}; accepted: an object")
    owner = told.get("owner")
    if owner not in (None, "mover"):
        line.fail("", f"'cube' (owner) is {shown(owner)}; accepted: null, \"mover\"")
    away = told.get("away")
    if away is not None and not (
        isinstance(away, list) and len(away) == 2 and all(type(n) is int for n in away)
    ):
        line.fail("", f"'cube' (away) is {shown(away)}; accepted: [mover's, opponent's] or null")
    switches = {"match_to": None if away is None else max(away), **_object(line, told, "rules")}
    value, crawford = told.get("value", 1), told.get("crawford", False)
    if type(value) is not int or not isinstance(crawford, bool):
        line.fail("", "'cube' needs a whole number as 'value', true or false as 'crawford'")
    try:
        situation = Situation(
            rules=INTERNATIONAL.replace(**switches),
            cube_value=value,
            cube_owner=owner,
            mover_away=None if away is None else away[0],
            opp_away=None if away is None else away[1],
            crawford=crawford,
            cube_offered=owner is not None,
        )
    except (NardiError, TypeError) as error:
        line.fail("", f"'cube': {error}")
    if not may_double(situation):
        line.fail("", "'cube': the side on roll may not double here, so there is no decision")
    return situation


def _object(line: ReferenceLine, told: dict[str, Any], name: str) -> dict[str, Any]:
    value = told.get(name, {})
    if not isinstance(value, dict):
        line.fail("", f"'{name}' is {shown(value)}; accepted: an object")
    return value


def _equities(line: ReferenceLine, situation: Situation) -> list[float]:
    told = line.field(line.values, "equities")
    if not isinstance(told, dict):
        line.fail("", f"'equities' is {shown(told)}; accepted: an object with {', '.join(ACTIONS)}")
    beavers = situation.rules.beaver and not situation.is_match
    equities = []
    for name in ACTIONS:
        if name == "double_beaver" and name not in told:
            if beavers:
                line.fail("'equities': ", "'double_beaver' is missing, but the rules have beavers")
            equities.append(math.nan)
            continue
        value = line.field(told, name, "'equities': ")
        equities.append(line.finite(value, f"'equities' ({name})", -_MOST, _MOST))
    if not beavers:
        equities[-1] = math.nan
    return equities
