"""Any program as a player: `exec:COMMAND` starts it and asks it as docs/protocol.md has it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot, FloatArray, always
from agent.situation import Situation
from engine.board import Board, IntArray
from engine.errors import ConfigError, IllegalPlayError, NardiError
from engine.moves import check_batch, legal_afterstates_batch
from engine.rules import INTERNATIONAL, Rules
from eval.peers.cube_protocol import answered_cube, cube_question_line
from eval.peers.process import LineProcess
from eval.peers.protocol import answered_afterstate, question_line, read_greeting, read_object

__all__ = ["ANSWER_LIMIT_S", "START_LIMIT_S", "ExecBot", "load_exec"]

ANSWER_LIMIT_S: Final = 30.0
"""Seconds for an answer, counted from the answer before it where questions wait."""
START_LIMIT_S: Final = 60.0
"""Seconds until the greeting, or the limit of an answer if that is longer."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_TEXT: Final = re.compile(r"exec(?:\[([^\]]*)\])?:(.*)", re.DOTALL)
_LIMIT: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)s", re.ASCII)


def load_exec(text: str, rules: Rules = INTERNATIONAL) -> "ExecBot":
    """The bot of a text such as `exec:COMMAND` or `exec[60s]:COMMAND`. Raises ConfigError."""
    found = _TEXT.fullmatch(text)
    limit = None if found is None else _LIMIT.fullmatch(found[1] or f"{ANSWER_LIMIT_S:g}s")
    if found is None or limit is None or float(limit[1]) <= 0 or found[1] == "":
        raise ConfigError(
            f"bot '{text}' is not understood; accepted: exec:COMMAND, or with a time limit for each"
            " answer exec[60s]:COMMAND"
        )
    return ExecBot(text, found[2].strip(), float(limit[1]), rules)


class ExecBot(Bot):
    """A program that was started and has greeted. It is asked only where there is a choice."""

    uses_draws = True  # it may: the draw is passed on

    def __init__(
        self, name: str, command: str, limit_s: float, rules: Rules = INTERNATIONAL
    ) -> None:
        super().__init__(name, rules)
        self._limit_s = limit_s
        self._number = 0
        self._waiting: dict[int, str] = {}  # questions without an answer, oldest first
        try:
            self._process = LineProcess(command)
        except ConfigError as error:
            raise ConfigError(f"bot '{name}': {error}") from None
        start_limit_s = max(START_LIMIT_S, limit_s)
        try:
            self._greeting = read_greeting(self._process.receive(start_limit_s))
        except NardiError as error:
            self._fail(error, "before it greeted (docs/protocol.md tells how): ")
        except BaseException:
            self._process.close()
            raise

    @property
    def program(self) -> str:
        """Name of the program, as it says itself."""
        return self._greeting.name

    def fingerprint(self) -> str:
        return self.program

    def cpu_seconds(self) -> float:
        return self._process.cpu_seconds()

    def close(self) -> None:
        self._process.close()

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        return self._chosen(boards, rolls, None, draws)

    def choose_at(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        situations: Sequence[Situation],
        draws: FloatArray | None = None,
    ) -> Board:
        return self._chosen(boards, rolls, situations, draws)

    def _chosen(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        situations: Sequence[Situation] | None,
        draws: FloatArray | None,
    ) -> Board:
        b, faces = check_batch(boards, rolls)
        legal, offsets = legal_afterstates_batch(b, faces, self.rules)
        rows = np.flatnonzero(np.diff(offsets) > 1).tolist()
        asked = [
            _Asked(
                board=b[i],
                roll=(int(faces[i, 0]), int(faces[i, 1])),
                plays=legal[offsets[i] : offsets[i + 1]],
                restricted=False,
                draw=None if draws is None else float(draws[i]),
                situation=None if situations is None else situations[i],
            )
            for i in rows
        ]
        chosen = legal[offsets[:-1]].copy()
        for i, after in zip(rows, self._ask(asked), strict=True):
            chosen[i] = after
        return chosen

    def doubles(self, boards: Board, situations: Sequence[Situation]) -> NDArray[np.bool_]:
        if not self._greeting.answers_cube:
            return super().doubles(boards, situations)
        return self._ask_cube("double", boards, situations).astype(np.bool_)

    def answers(self, boards: Board, situations: Sequence[Situation]) -> NDArray[np.int8]:
        if not self._greeting.answers_cube:
            return super().answers(boards, situations)
        return self._ask_cube("take", boards, situations)

    def accepts_beavers(self, boards: Board, situations: Sequence[Situation]) -> NDArray[np.bool_]:
        if not self._greeting.answers_cube:
            return super().accepts_beavers(boards, situations)
        return self._ask_cube("beaver", boards, situations).astype(np.bool_)

    def _ask_cube(
        self, ask: str, boards: Board, situations: Sequence[Situation]
    ) -> NDArray[np.int8]:
        asked = [
            _AskedCube(ask=ask, board=board, situation=situation)
            for board, situation in zip(boards, situations, strict=True)
        ]
        return np.array(self._ask(asked), dtype=np.int8)

    def decision_shares(
        self, boards: Board, rolls: NDArray[np.int8], afterstates: Board, offsets: IntArray
    ) -> FloatArray:
        rows = offsets[:-1].copy()
        choices = np.flatnonzero(np.diff(offsets) > 1)
        asked = [
            _Asked(
                board=boards[i],
                roll=(int(rolls[i, 0]), int(rolls[i, 1])),
                plays=afterstates[offsets[i] : offsets[i + 1]],
                restricted=True,
                draw=None,
            )
            for i in choices
        ]
        for i, question, after in zip(choices, asked, self._ask(asked), strict=True):
            rows[i] += int(np.argmax((question.plays == after).all(axis=1)))
        return always(rows, len(afterstates))

    def _ask(self, asked: "Sequence[_Question[T]]") -> list[T]:
        """What is answered. All questions are on their way before the first answer is read.

        Raises NardiError that tells the question which was not answered, or badly; the program is
        ended then.
        """
        try:
            return self._answers({self._send(question): question for question in asked})
        except BaseException:  # such as Ctrl-C: answers that come late would be taken for others
            self._process.close()
            raise

    def _answers(self, by_number: "dict[int, _Question[T]]") -> list[T]:
        chosen: dict[int, T] = {}
        while self._waiting:
            oldest = next(iter(self._waiting))
            try:
                answer = read_object(self._process.receive(self._limit_s))
            except NardiError as error:
                self._fail(error, about=self._waiting[oldest])
            number = answer.get("id")
            if type(number) is not int or number not in self._waiting:
                fault = NardiError(f"its answer has the id {number!r}, which no open question has")
                self._fail(fault, about=self._waiting[oldest])
            question = by_number[number]
            try:
                chosen[number] = question.answered(answer, self.rules)
            except NardiError as error:
                self._fail(error, about=self._waiting[number])
            del self._waiting[number]
        return [chosen[number] for number in by_number]

    def _send(self, question: "_Question[Any]") -> int:
        self._number += 1
        line = question.line(self._number, self.rules, with_plays=self._greeting.wants_plays)
        self._waiting[self._number] = line
        self._process.send(line)
        return self._number

    def _fail(self, error: NardiError, when: str = "", about: str | None = None) -> NoReturn:
        """End the program and raise an error of the same kind that tells all that is known."""
        self._process.close()
        program = f" ({self.program})" if about is not None else ""
        parts = [f"bot '{self.name}'{program}: {when}{error}"]
        if about is not None:
            parts.append(f"it was asked: {about}")
        if tail := self._process.stderr_tail():
            parts.append(f"the last it wrote to stderr: {tail}")
        kind = type(error) if isinstance(error, ConfigError | IllegalPlayError) else NardiError
        self._waiting.clear()
        raise kind("\n  ".join(parts)) from None


class _Question(Protocol[T_co]):
    """Something that the program is asked for."""

    def line(self, number: int, rules: Rules, *, with_plays: bool) -> str:
        """The line that is sent."""

    def answered(self, answer: dict[str, Any], rules: Rules) -> T_co:
        """What the answer says. Raises NardiError."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _AskedCube:
    """A question of the cube."""

    ask: str
    board: Board
    situation: Situation

    def line(self, number: int, rules: Rules, *, with_plays: bool) -> str:
        return cube_question_line(number, self.ask, self.board, self.situation)

    def answered(self, answer: dict[str, Any], rules: Rules) -> int:
        return answered_cube(self.ask, answer)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Asked:
    """A decision that the program is asked for."""

    board: Board
    roll: tuple[int, int]
    plays: Board
    """`(n, 26)`: afterstates to choose from."""
    restricted: bool
    """Whether these are not all legal ones."""
    draw: float | None
    situation: Situation | None = None
    """Cube and score; None without."""

    def line(self, number: int, rules: Rules, *, with_plays: bool) -> str:
        return question_line(
            number,
            self.board,
            self.roll,
            rules,
            draw=self.draw,
            with_plays=with_plays,
            allowed=self.plays if self.restricted else None,
            situation=self.situation,
        )

    def answered(self, answer: dict[str, Any], rules: Rules) -> Board:
        """The afterstate that the answer names. Raises NardiError."""
        return answered_afterstate(
            answer, self.board, self.roll, rules, self.plays, self.restricted
        )
