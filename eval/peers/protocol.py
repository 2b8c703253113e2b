"""The lines that a bot program and nardi exchange; docs/protocol.md is written for its authors.

Each line is one JSON object. The program greets first, then every question gets one answer with the
same id. The position of a question is the object that `nardi best-move --json` has.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from agent.situation import Situation
from engine.board import NUM_SLOTS, Board, validate
from engine.dice import check_roll
from engine.errors import ConfigError, IllegalPlayError, NardiError
from engine.moves import check_running, legal_plays, play_steps
from engine.notation import Position, format_play, parse_play
from engine.notation.document import position_document
from engine.rules import INTERNATIONAL, Rules
from eval.peers.cube_protocol import CUBE_KINDS, position_at, read_situation

__all__ = [
    "PLAY",
    "PROTOCOL",
    "VERSION",
    "Greeting",
    "Question",
    "answered_afterstate",
    "greeting_line",
    "id_of",
    "question_line",
    "read_greeting",
    "read_object",
    "read_question",
]

PROTOCOL: Final = "nardi-bot"
VERSION: Final = 1
PLAY: Final = "play"
"""The question for a play; those of the cube are in `eval.peers.cube_protocol`; `eval` is kept
free for later."""

_SHOWN: Final = 200


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """The first line of a bot program."""

    name: str
    """Of the program, with its version."""
    wants_plays: bool
    """Whether each question shall list the legal plays."""
    answers_cube: bool = False
    """Whether it answers questions of the cube."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """Which play? asked of a bot."""

    id: Any
    board: Board
    """`(26,)` int8, seen by the side on roll."""
    roll: tuple[int, int]
    rules: Rules
    draw: float | None
    """A number from 0 up to 1 for a bot that plays by chance."""
    allowed: Board | None
    """`(n, 26)`: afterstates to choose from, None = all legal plays."""
    situation: Situation | None = None
    """Cube and score, None in games without a cube."""


def read_object(line: bytes) -> dict[str, Any]:
    """The JSON object on a line. Raises NardiError."""
    try:
        found = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        text = line.decode("utf-8", errors="replace")
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise NardiError(f"'{shown}' is not a JSON object on one line")
    return found


# --- the greeting ---


def greeting_line(name: str, *, answers_cube: bool = False) -> str:
    """Greeting of a bot that needs no list of plays."""
    greeting: dict[str, Any] = {"protocol": PROTOCOL, "version": VERSION, "name": name}
    return json.dumps(greeting | ({"answers_cube": True} if answers_cube else {}))


def read_greeting(line: bytes) -> Greeting:
    """Raises ConfigError for a foreign or newer protocol, NardiError for what is no greeting."""
    found = read_object(line)
    if found.get("protocol") != PROTOCOL:
        example = greeting_line("my bot 1.0")
        raise NardiError(f"its first line is {_short(found)}; accepted: a greeting like {example}")
    version = found.get("version")
    if type(version) is not int or version != VERSION:
        raise ConfigError(
            f"it speaks version {_short(version)} of the protocol; accepted: {VERSION}"
        )
    name, wants_plays = found.get("name"), found.get("wants_plays", False)
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"its greeting has the name {_short(name)}; accepted: a text")
    if not isinstance(wants_plays, bool):
        raise ConfigError(f"its wants_plays is {_short(wants_plays)}; accepted: true, false")
    answers_cube = found.get("answers_cube", False)
    if not isinstance(answers_cube, bool):
        raise NardiError(f"its answers_cube is {_short(answers_cube)}; accepted: true, false")
    return Greeting(name=name.strip(), wants_plays=wants_plays, answers_cube=answers_cube)


# --- questions ---


def question_line(
    number: int,
    board: Board,
    roll: tuple[int, int],
    rules: Rules,
    *,
    draw: float | None = None,
    with_plays: bool = False,
    allowed: Board | None = None,
    situation: Situation | None = None,
) -> str:
    """The question for a play. allowed: `(n, 26)` afterstates to choose from, None = all plays.

    situation: cube and score, None in games without a cube.
    """
    if situation is None:
        position = Position(board=board, dice=roll, jacoby=rules.jacoby, beaver=rules.beaver)
    else:
        position = position_at(board, situation, roll)
    question: dict[str, Any] = {
        "id": number,
        "ask": PLAY,
        "position": position_document(position),
        "dice": list(roll),
        "rules": rules.as_dict(),
    }
    if situation is not None:
        question["cube"] = True
    if draw is not None:
        question["draw"] = draw
    if with_plays or allowed is not None:
        afterstates, plays = legal_plays(board, roll, rules)
        wanted = None if allowed is None else {row.tobytes() for row in allowed}
        question["plays"] = [
            {
                "play": format_play(steps, board),
                "steps": [list(step) for step in steps],
                "afterstate": after.tolist(),
            }
            for after, steps in zip(afterstates, plays, strict=True)
            if wanted is None or after.tobytes() in wanted
        ]
    return json.dumps(question)


def id_of(question: dict[str, Any]) -> Any:
    """What the answer has to repeat; None if it has no id."""
    return question.get("id")


def read_question(found: dict[str, Any]) -> Question:
    """The question for a play in an object. Raises NardiError."""
    if found.get("ask") != PLAY:
        kinds = ", ".join(f"'{kind}'" for kind in (PLAY, *CUBE_KINDS))
        raise NardiError(f"question {_short(found.get('ask'))} is not known; accepted: {kinds}")
    position = found.get("position")
    if not isinstance(position, dict) or "board" not in position:
        raise NardiError("the question has no position with a board")
    board = check_running(_board(position["board"], "board"))
    dice = found.get("dice")
    if not isinstance(dice, list) or len(dice) != 2 or any(type(die) is not int for die in dice):
        raise NardiError(f"dice are {_short(dice)}; accepted: two faces such as [3, 1]")
    roll = check_roll(dice)
    switches = found.get("rules", {})
    if not isinstance(switches, dict):
        raise NardiError(f"rules are {_short(switches)}; accepted: an object of rule switches")
    rules = INTERNATIONAL.replace(**switches)
    draw = found.get("draw")
    if draw is not None and not (type(draw) in (int, float) and 0 <= draw < 1):
        raise NardiError(f"draw is {_short(draw)}; accepted: a number from 0 up to 1")
    allowed = None
    if "plays" in found:
        allowed = _allowed(found["plays"], legal_plays(board, roll, rules)[0])
    return Question(
        id=id_of(found),
        board=board,
        roll=roll,
        rules=rules,
        draw=draw,
        allowed=allowed,
        situation=read_situation(found, rules),
    )


def _allowed(plays: Any, legal: Board) -> Board | None:
    """The plays to choose from in the order of our own lists, None if that are all legal ones."""
    if not isinstance(plays, list) or not plays or not all(isinstance(p, dict) for p in plays):
        raise NardiError("plays must be a list of objects with an afterstate each")
    wanted = {_board(play.get("afterstate"), "afterstate").tobytes() for play in plays}
    found = np.array([row.tobytes() in wanted for row in legal])
    if found.sum() < len(wanted):
        raise NardiError("plays has an afterstate that no legal play leads to")
    return None if found.all() else legal[found]


# --- answers ---


def answered_afterstate(
    answer: dict[str, Any],
    board: Board,
    roll: Sequence[int],
    rules: Rules,
    legal: Board,
    restricted: bool,
) -> Board:
    """The afterstate that an answer names, by `afterstate`, `steps` or `play`; all must agree.

    legal: `(n, 26)` the afterstates to choose from; restricted: whether more would be legal. Raises
    NardiError, IllegalPlayError for a play that is not legal.
    """
    if "error" in answer:
        raise NardiError(f"gave up: {_short(answer['error'])}")
    named: dict[str, Board] = {}
    if "afterstate" in answer:
        named["afterstate"] = _board(answer["afterstate"], "afterstate")
    if "steps" in answer:
        named["steps"] = _after_steps(answer["steps"], board, roll, rules)
    if "play" in answer:
        text = answer["play"]
        if not isinstance(text, str):
            raise NardiError(f"its play is {_short(text)}; accepted: a text such as '8/5 6/5'")
        named["play"] = parse_play(text, board, roll, rules).afterstate
    if not named:
        raise NardiError(f"its answer {_short(answer)} has none of play, steps, afterstate")
    after, *others = named.values()
    if any((other != after).any() for other in others):
        raise NardiError(f"its {' and '.join(named)} name different plays: {_short(answer)}")
    if not (legal == after).all(axis=1).any():
        where = "not one of the plays that were listed" if restricted else "no legal play's result"
        raise IllegalPlayError(f"its answer {_short(answer)} is {where}")
    return after


def _after_steps(steps: Any, board: Board, roll: Sequence[int], rules: Rules) -> Board:
    pairs = isinstance(steps, list) and all(
        isinstance(step, list) and [type(place) for place in step] == [int, int] for step in steps
    )
    if not pairs:
        raise NardiError(f"its steps are {_short(steps)}; accepted: such as [[8, 5], [6, 5]]")
    return play_steps(board, roll, steps, rules)


def _board(value: Any, name: str) -> Board:
    """26 whole numbers as a board. Raises NardiError."""
    good = isinstance(value, list) and len(value) == NUM_SLOTS
    if not good or any(type(count) is not int for count in value):
        raise NardiError(f"{name} is {_short(value)}; accepted: {NUM_SLOTS} whole numbers")
    return validate(value)


def _short(value: Any) -> str:
    """A value of JSON as text, cut if it is long."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
