"""Files of decisions and positions with reference equities: read, and checked line by line.

One JSON object a line, gzip or not; blank lines are passed over. Boards are as everywhere here: 26
whole numbers seen by their owner. docs/benchmarks.md has the format.
"""

import gzip
import itertools
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from agent.bot import FloatArray
from engine.board import NUM_CHECKERS, NUM_SLOTS, Board, IntArray, flip, validate
from engine.dice import check_roll
from engine.errors import NardiError, PositionError
from engine.moves import check_running, legal_afterstates_batch
from engine.notation import Position, format_position
from engine.rules import INTERNATIONAL, Rules

__all__ = [
    "OUTPUTS",
    "SHIPPED",
    "DecisionSet",
    "PositionSet",
    "ReferenceFileError",
    "decision_id",
    "read_decisions",
    "read_positions",
]

OUTPUTS: Final = ("win", "win_gammon", "win_bg", "lose_gammon", "lose_bg")
"""Names of the five cumulative probabilities, in their order."""

SHIPPED: Final = {"bearoff": Path(__file__).parent / "data" / "bearoff.jsonl.gz"}
"""Decision sets that come with nardi, by name; docs/benchmarks.md tells how they were made."""

_GZIP: Final = b"\x1f\x8b"
_SLACK: Final = 0.1
"""By which a rollout with variance reduction may miss the range of what it estimates."""
_AGREEMENT: Final = 0.05
"""By which an equity may miss that of its probabilities: rounding, or estimates of their own."""


class ReferenceFileError(NardiError):
    """A file of decisions or positions that cannot be read, or a line of it that is wrong."""


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

    path: of a file, or the name of one of SHIPPED, which comes first; rules: under which the
    candidates must be legal.
    """
    decisions = [_Decision(line) for line in _lines(SHIPPED.get(str(path), path))]
    if not decisions:
        raise ReferenceFileError(f"'{path}' holds no decisions")
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
    for line in _lines(path):
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


def _lines(path: Path) -> Iterator["_Line"]:
    """The objects of a file, one a line."""
    number = 0
    try:
        with path.open("rb") as file:
            is_gzip = file.peek(2)[:2] == _GZIP
            with gzip.open(file) if is_gzip else file as plain:
                for number, content in enumerate(plain, start=1):
                    if content.strip():
                        yield _Line(path, number, content)
    except EOFError:
        raise ReferenceFileError(
            f"'{path}' is cut off: its gzip data end after line {number}"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ReferenceFileError(
            f"'{path}' is damaged: its gzip data cannot be read after line {number} ({error})"
        ) from None
    except OSError as error:
        raise ReferenceFileError(f"'{path}' cannot be read: {error.strerror or error}") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"'{text}' is not a number of JSON")


class _Line:
    """One line of a file, taken apart; everything raises ReferenceFileError for what is wrong.

    where: the part of the line that is meant, such as "candidate 2: "; "" = the whole.
    """

    def __init__(self, path: Path, number: int, content: bytes) -> None:
        self.path = path
        self.number = number
        try:
            text = content.decode("utf-8-sig" if number == 1 else "utf-8")
            values = json.loads(text, parse_constant=_no_number)
        except UnicodeDecodeError:
            self.fail("", "is not UTF-8 text")
        except (ValueError, RecursionError) as error:
            self.fail("", f"is not JSON: {error}")
        if not isinstance(values, dict):
            self.fail("", f"is not a JSON object but {_shown(values)}")
        self.values: dict[str, Any] = values

    def fail(self, where: str, message: str) -> NoReturn:
        raise ReferenceFileError(f"'{self.path}', line {self.number}: {where}{message}")

    def field(self, values: dict[str, Any], name: str, where: str = "") -> Any:
        if name not in values:
            found = ", ".join(f"'{key}'" for key in list(values)[:8]) or "nothing"
            self.fail(where, f"'{name}' is missing; there is {found}")
        return values[name]

    def board(self, values: dict[str, Any], name: str, where: str = "") -> Board:
        """`(26,)` int8: a board that can occur."""
        value = self.field(values, name, where)
        where = f"{where}'{name}'"
        if not isinstance(value, list) or len(value) != NUM_SLOTS:
            length = f"{len(value)} elements" if isinstance(value, list) else _shown(value)
            self.fail(where, f" is {length}; accepted: a list of {NUM_SLOTS} whole numbers")
        for slot, count in enumerate(value):
            if type(count) is not int or abs(count) > NUM_CHECKERS:
                self.fail(
                    where,
                    f" has {_shown(count)} in slot {slot}; accepted: whole numbers from"
                    f" -{NUM_CHECKERS} to {NUM_CHECKERS}",
                )
        try:
            return validate(value)
        except PositionError as error:
            self.fail(where, f" cannot occur: {error}")

    def _finite(self, value: object, where: str, least: float, most: float) -> float:
        """A finite number within a range, by which it may be missed a little."""
        if type(value) not in (int, float):
            self.fail(where, f" is {_shown(value)}; accepted: a number")
        assert isinstance(value, int | float)
        number = float(value) if abs(value) < 1e300 else math.inf
        if not math.isfinite(number):
            self.fail(where, " is not finite")
        if not least - _SLACK <= number <= most + _SLACK:
            self.fail(where, f" is {number:g}; accepted: {least:g} to {most:g}")
        return number

    def equity(self, values: dict[str, Any], where: str = "") -> float:
        return self._finite(self.field(values, "equity", where), f"{where}'equity'", -3, 3)

    def probs(self, values: dict[str, Any], where: str = "") -> list[float]:
        """Five probabilities that fit the equity."""
        value = self.field(values, "probs", where)
        if not isinstance(value, list) or len(value) != len(OUTPUTS):
            length = f"{len(value)} elements" if isinstance(value, list) else _shown(value)
            self.fail(
                where, f"'probs' is {length}; accepted: a list of 5 numbers, {', '.join(OUTPUTS)}"
            )
        p = [
            self._finite(x, f"{where}'probs' ({name})", 0, 1)
            for name, x in zip(OUTPUTS, value, strict=True)
        ]
        of_probs = 2 * p[0] - 1 + p[1] + p[2] - p[3] - p[4]
        equity = self.equity(values, where)
        if abs(of_probs - equity) > _AGREEMENT:
            self.fail(
                where,
                f"'equity' is {equity:g}, but that of 'probs' is {of_probs:.4f}; accepted: cubeless"
                f" equity and cumulative probabilities ({', '.join(OUTPUTS)}) of the same side",
            )
        return p


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _no_board(line: _Line) -> str:
    kind = " (this is a decision: --decisions)" if "candidates" in line.values else ""
    return f"has neither 'afterstate' nor 'board'{kind}"


# --- decisions ---


class _Candidate:
    def __init__(self, line: _Line, number: int, values: object) -> None:
        where = f"candidate {number}: "
        if not isinstance(values, dict):
            line.fail(where, f"is not a JSON object but {_shown(values)}")
        self.number = number
        self.afterstate = line.board(values, "afterstate", where)
        self.equity = line.equity(values, where)
        self.stderr = math.nan
        if values.get("se") is not None:
            self.stderr = line._finite(values["se"], f"{where}'se'", 0, 3)
            if self.stderr < 0:
                line.fail(where, f"'se' is {self.stderr:g}; accepted: numbers from 0 up")
        self.probs = None if values.get("probs") is None else line.probs(values, where)


class _Decision:
    def __init__(self, line: _Line) -> None:
        self.line = line
        self.board = line.board(line.values, "before")
        roll = line.field(line.values, "dice")
        try:
            if not isinstance(roll, list) or any(type(die) is not int for die in roll):
                raise PositionError("a roll is a list of two whole numbers from 1 to 6")
            self.roll = check_roll(roll)
        except PositionError as error:
            line.fail("", f"'dice' is {_shown(roll)}: {error}")
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
