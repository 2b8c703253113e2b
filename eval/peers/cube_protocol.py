"""Questions of the cube in the protocol of docs/protocol.md; the cube and score in positions."""

import json
from dataclasses import dataclass
from typing import Any, Final

from agent.cube_play import BEAVER, PASS, TAKE
from agent.situation import Situation
from engine.board import Board, validate
from engine.errors import NardiError
from engine.moves import check_running
from engine.notation import Position
from engine.notation.document import position_document
from engine.rules import INTERNATIONAL, Rules

__all__ = [
    "CUBE_KINDS",
    "CubeQuestion",
    "answered_cube",
    "cube_answer",
    "cube_question_line",
    "position_at",
    "read_cube_question",
    "read_situation",
]

CUBE_KINDS: Final = ("double", "take", "beaver")
"""Will you double? What do you answer to his double? Do you play on after his beaver?"""

_YES_NO: Final[tuple[tuple[bool | str, int], ...]] = ((True, 1), (False, 0))
_ANSWERS: Final[dict[str, tuple[tuple[bool | str, int], ...]]] = {
    "double": _YES_NO,
    "take": (("pass", PASS), ("take", TAKE), ("beaver", BEAVER)),
    "beaver": _YES_NO,
}
_KEYS: Final = {"double": "double", "take": "answer", "beaver": "accept"}


@dataclass(frozen=True, kw_only=True, eq=False)
class CubeQuestion:
    """A question of the cube asked of a bot."""

    id: Any
    ask: str
    """One of CUBE_KINDS."""
    board: Board
    """`(26,)` int8, seen by the one who doubles or may double."""
    situation: Situation
    """His; while an offer is pending the cube is as before it."""


def position_at(
    board: Board,
    situation: Situation,
    dice: tuple[int, int] | None = None,
    *,
    offered: bool = False,
) -> Position:
    """The position with the cube and the score of a situation; offered: a double is pending."""
    rules = situation.rules
    length = rules.match_to or 0
    scores = [length - (away or 0) for away in (situation.mover_away, situation.opp_away)]
    return Position(
        board=board,
        dice=dice,
        cube_value=situation.cube_value,
        cube_owner=situation.cube_owner,
        decider="opponent" if offered else "mover",
        offer="double" if offered else None,
        match_length=length,
        mover_score=scores[0],
        opp_score=scores[1],
        crawford=situation.crawford,
        jacoby=rules.jacoby and not length,
        beaver=rules.beaver and not length,
    )


def cube_question_line(number: int, ask: str, board: Board, situation: Situation) -> str:
    """The line of a question; board and situation as in `CubeQuestion`."""
    position = position_at(board, situation, offered=ask != "double")
    question = {
        "id": number,
        "ask": ask,
        "position": position_document(position),
        "rules": situation.rules.as_dict(),
        "cube": True,
    }
    return json.dumps(question)


def read_situation(found: dict[str, Any], rules: Rules) -> Situation | None:
    """Cube and score of a question; None if it is one of games without. Raises NardiError."""
    if not found.get("cube", False):
        return None
    told = found.get("position")
    assert isinstance(told, dict)
    owner = told.get("cube_owner")
    if owner not in (None, "mover", "opponent"):
        raise NardiError(
            f"cube_owner is {json.dumps(owner)}; accepted: 'mover', 'opponent' or null"
        )
    numbers = {"cube_value": 1, "mover_score": 0, "opp_score": 0}
    for name, default in numbers.items():
        value = told.get(name, default)
        if type(value) is not int:
            raise NardiError(f"{name} is {json.dumps(value)}; accepted: a whole number")
        numbers[name] = value
    crawford = told.get("crawford", False)
    if not isinstance(crawford, bool):
        raise NardiError(f"crawford is {json.dumps(crawford)}; accepted: true, false")
    length = rules.match_to
    return Situation(
        rules=rules,
        cube_value=numbers["cube_value"],
        cube_owner=owner,
        mover_away=None if length is None else length - numbers["mover_score"],
        opp_away=None if length is None else length - numbers["opp_score"],
        crawford=crawford,
        cube_offered=owner is not None,
    )


def read_cube_question(found: dict[str, Any]) -> CubeQuestion:
    """A question of the cube in an object whose `ask` is one of CUBE_KINDS. Raises NardiError."""
    position, switches = found.get("position"), found.get("rules", {})
    if not isinstance(position, dict) or "board" not in position:
        raise NardiError("the question has no position with a board")
    if not isinstance(switches, dict):
        raise NardiError("rules must be an object of rule switches")
    board = position["board"]
    if not isinstance(board, list) or any(type(count) is not int for count in board):
        raise NardiError("board must be a list of whole numbers")
    situation = read_situation({**found, "cube": True}, INTERNATIONAL.replace(**switches))
    assert situation is not None
    return CubeQuestion(
        id=found.get("id"),
        ask=found["ask"],
        board=check_running(validate(board)),
        situation=situation,
    )


def answered_cube(ask: str, answer: dict[str, Any]) -> int:
    """What an answer says: 1 or 0 for yes or no, or PASS, TAKE, BEAVER. Raises NardiError."""
    if "error" in answer:
        raise NardiError(f"gave up: {json.dumps(answer['error'])}")
    key, told = _KEYS[ask], answer.get(_KEYS[ask])
    for word, value in _ANSWERS[ask]:
        if type(told) is type(word) and told == word:
            return value
    raise NardiError(
        f"its answer {json.dumps(answer)} has no {key} of"
        f" {', '.join(json.dumps(word) for word, _ in _ANSWERS[ask])}"
    )


def cube_answer(question: CubeQuestion, value: int) -> dict[str, Any]:
    """The answer that says so."""
    by_value = {number: word for word, number in _ANSWERS[question.ask]}
    return {"id": question.id, _KEYS[question.ask]: by_value[value]}
