"""Files of decisions and positions with reference equities: read, and checked line by line.

One JSON object a line, gzip or not; blank lines are passed over. Boards are as everywhere here: 26
whole numbers seen by their owner. docs/benchmarks.md has the format.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.bot import FloatArray
from engine.board import Board, IntArray, flip
from engine.dice import check_roll
from engine.errors import PositionError
from engine.moves import check_running, legal_afterstates_batch
from engine.notation import Position, format_position
from engine.rules import INTERNATIONAL, Rules
from eval.cube_references import CubeDecisionSet, is_cube_line, read_cube_lines
from eval.reference_lines import (
    OUTPUTS,
    ReferenceFileError,
    ReferenceLine,
    reference_lines,
    shown,
)

__all__ = [
    "OUTPUTS",
    "DecisionSet",
    "PositionSet",
    "ReferenceFileError",
    "decision_id",
    "read_any_decisions",
    "read_decisions",
    "read_positions",
    "shipped_sets",
]

_DATA: Final = Path(__file__).parent / "data"
_ENDING: Final = ".jsonl.gz"


def shipped_sets() -> dict[str, Path]:
    """Decision sets that come with nardi, by name; docs/benchmarks.md tells how they were made."""
    return {path.name.removesuffix(_ENDING): path for path in sorted(_DATA.glob(f"*{_ENDING}"))}


@dataclass(frozen=True, kw_only=True, eq=False)
class DecisionSet:
    """Decisions, each with some legal plays and what these are worth."""

    name: str
    """Path of the file, or name of a shipped set."""
    lines: IntArray
    """Line of the file of each decision, counted from 1, `(B,)`."""
    boards: Board
    """`(B, 26)`, before the plays, seen by the side on roll."""
    rolls: Board
    """`(B, 2)`, as the file has them."""
    afterstates: Board
    """`(M, 26)`, still seen by the side that played; of each decision in lexicographic order."""
    offsets: IntArray
    """`(B + 1,)`: decision i owns the candidates offsets[i] to offsets[i + 1], at least two."""
    equities: FloatArray
    """`(M,)` cubeless points per game of the side that played."""
    stderrs: FloatArray
    """`(M,)` standard errors of `equities`; nan where the file does not tell."""
    probs: FloatArray | None
    """`(M, 5)` cumulative probabilities for that side; None if some candidate has none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionSet:
    """Positions and what they are worth."""

    name: str
    """Path of the file."""
    boards: Board
    """`(B, 26)`, before the roll, seen by the side on roll: afterstates are flipped."""
    swapped: NDArray[np.bool_]
    """`(B,)`: whether the figures are for the other side, because the file has an afterstate."""
    equities: FloatArray
    """`(B,)` cubeless points per game of the owner of the board that the file has."""
    probs: FloatArray
    """`(B, 5)` cumulative probabilities for that owner."""


def read_decisions(path: Path, rules: Rules = INTERNATIONAL) -> DecisionSet:
    """Read a file of decisions. Raises ReferenceFileError that names file, line and fault.

    path: of a file, or the name of one of `shipped_sets`, which comes first; rules: under which the
    candidates must be legal.
    """
    decisions = _play_decisions(path)
    if not decisions:
        raise ReferenceFileError(f"'{path}' holds no decisions of plays")
    return _decision_set(path, decisions, rules)


def read_any_decisions(
    path: Path, rules: Rules = INTERNATIONAL
) -> tuple[DecisionSet | None, CubeDecisionSet | None]:
    """Both kinds of decisions of a file, of plays and of the cube, None where there are none.

    As `read_decisions`; raises ReferenceFileError if there are neither.
    """
    decisions = _play_decisions(path)
    cube = read_cube_lines(str(path), _lines(path))
    if not decisions and cube is None:
        raise ReferenceFileError(f"'{path}' holds no decisions")
    return (_decision_set(path, decisions, rules) if decisions else None), cube


def _play_decisions(path: Path) -> "list[_Decision]":
    return [_Decision(line) for line in _lines(path) if not is_cube_line(line)]


def _lines(path: Path) -> Iterator[ReferenceLine]:
    return reference_lines(shipped_sets().get(str(path), path))


def _decision_set(path: Path, decisions: "list[_Decision]", rules: Rules) -> DecisionSet:
    _check_legal(decisions, rules)
    candidates = [candidate for decision in decisions for candidate in decision.candidates]
    probs = [candidate.probs for candidate in candidates]
    return DecisionSet(
        name=str(path),
        lines=np.array([decision.line.number for decision in decisions], dtype=np.int64),
        boards=np.stack([decision.board for decision in decisions]),
        rolls=np.array([decision.roll for decision in decisions], dtype=np.int8),
        afterstates=np.stack([candidate.afterstate for candidate in candidates]),
        offsets=np.cumsum([0, *(len(decision.candidates) for decision in decisions)]),
        equities=np.array([candidate.equity for candidate in candidates]),
        stderrs=np.array([candidate.stderr for candidate in candidates]),
        probs=None if any(p is None for p in probs) else np.array(probs, dtype=np.float64),
    )


def read_positions(path: Path) -> PositionSet:
    """Read a file of positions. Raises ReferenceFileError that names file, line and fault."""
    boards, swapped, equities, probs = [], [], [], []
    for line in reference_lines(path):
        is_after = "afterstate" in line.values
        if is_after == ("board" in line.values):
            line.fail("", "has both 'afterstate' and 'board'" if is_after else _no_board(line))
        board = line.board(line.values, "afterstate" if is_after else "board")
        boards.append(flip(board) if is_after else board)
        swapped.append(is_after)
        equities.append(line.equity(line.values))
        probs.append(line.probs(line.values))
    if not boards:
        raise ReferenceFileError(f"'{path}' holds no positions")
    return PositionSet(
        name=str(path),
        boards=np.stack(boards),
        swapped=np.array(swapped),
        equities=np.array(equities),
        probs=np.array(probs),
    )


def decision_id(decisions: DecisionSet, number: int) -> str:
    """GNU ID of a decision with its dice, which `nardi best-move` can be asked about."""
    die_a, die_b = decisions.rolls[number].tolist()
    position = Position(board=decisions.boards[number], dice=(die_a, die_b))
    return format_position(position, "gnuid")


# --- lines ---


def _no_board(line: ReferenceLine) -> str:
    kind = " (this is a decision: --decisions)" if "candidates" in line.values else ""
    return f"has neither 'afterstate' nor 'board'{kind}"


# --- decisions ---


class _Candidate:
    def __init__(self, line: ReferenceLine, number: int, values: object) -> None:
        where = f"candidate {number}: "
        if not isinstance(values, dict):
            line.fail(where, f"is not a JSON object but {shown(values)}")
        self.number = number
        self.afterstate = line.board(values, "afterstate", where)
        self.equity = line.equity(values, where)
        self.stderr = math.nan
        if values.get("se") is not None:
            self.stderr = line.finite(values["se"], f"{where}'se'", 0, 3)
            if self.stderr < 0:
                line.fail(where, f"'se' is {self.stderr:g}; accepted: numbers from 0 up")
        self.probs = None if values.get("probs") is None else line.probs(values, where)


class _Decision:
    def __init__(self, line: ReferenceLine) -> None:
        self.line = line
        self.board = line.board(line.values, "before")
        roll = line.field(line.values, "dice")
        try:
            if not isinstance(roll, list) or any(type(die) is not int for die in roll):
                raise PositionError("a roll is a list of two whole numbers from 1 to 6")
            self.roll = check_roll(roll)
        except PositionError as error:
            line.fail("", f"'dice' is {shown(roll)}: {error}")
        try:
            check_running(self.board)
        except PositionError as error:
            line.fail("", f"'before': {error}")
        found = line.field(line.values, "candidates")
        if not isinstance(found, list) or len(found) < 2:
            length = f"has {len(found)} elements" if isinstance(found, list) else "is no list"
            line.fail("", f"'candidates' {length}; accepted: two plays or more")
        candidates = [_Candidate(line, number, values) for number, values in enumerate(found, 1)]
        self.candidates = sorted(candidates, key=lambda each: tuple(each.afterstate))
        for one, other in itertools.pairwise(self.candidates):
            if (one.afterstate == other.afterstate).all():
                line.fail("", f"candidates {one.number} and {other.number} are the same board")


def _check_legal(decisions: list[_Decision], rules: Rules) -> None:
    """All candidates must be what a legal play makes of their position."""
    boards = np.stack([decision.board for decision in decisions])
    rolls = np.array([decision.roll for decision in decisions], dtype=np.int8)
    rows, offsets = legal_afterstates_batch(boards, rolls, rules)
    for i, decision in enumerate(decisions):
        legal = {row.tobytes() for row in rows[offsets[i] : offsets[i + 1]]}
        for candidate in sorted(decision.candidates, key=lambda each: each.number):
            if candidate.afterstate.tobytes() in legal:
                continue
            decision.line.fail(
                f"candidate {candidate.number}: ",
                f"no legal play of {decision.roll[0]}-{decision.roll[1]} gives this 'afterstate'"
                f" ({len(legal)} others are legal){_hint(decision, candidate, legal, rules)}",
            )


def _hint(decision: _Decision, candidate: _Candidate, legal: set[bytes], rules: Rules) -> str:
    """What was probably meant."""
    if flip(candidate.afterstate).tobytes() in legal:
        return "; it would be legal if it were seen by the side that played, not by the other"
    opp_rows, _ = legal_afterstates_batch(
        flip(decision.board)[np.newaxis], np.array([decision.roll], dtype=np.int8), rules
    )
    if any((row == candidate.afterstate).all() for row in opp_rows):
        return "; it would be legal if 'before' were seen by the side on roll, not by the other"
    return ""
