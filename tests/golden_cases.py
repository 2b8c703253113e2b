"""Reading golden files: JSON lines, and the move cases of the rules file in our own form."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.rules import INTERNATIONAL, Rules
from engine.turn_context import TurnContext

__all__ = [
    "GOLDEN",
    "MoveCase",
    "apply_steps",
    "long_move_cases",
    "read_board",
    "read_context",
    "read_golden",
    "read_play",
    "short_move_cases",
]

GOLDEN = Path(__file__).parent / "golden"

BoardTuple = tuple[int, ...]
Steps = tuple[tuple[int, int], ...]

BAR = 25
OFF = 0


def read_golden(name: str) -> list[dict[str, Any]]:
    """The lines of a golden JSON-lines file, also a gzipped one."""
    path = GOLDEN / name
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.decode("utf-8").splitlines() if line.strip()]


class MoveCase(NamedTuple):
    """One case of kind `moves`; plays are tuples of (from, to)."""

    name: str
    rules: Rules
    board: BoardTuple
    roll: tuple[int, int]
    legal_count: int
    dice_used: int
    legal: list[Steps] | None
    """One play for each position, any order of steps; None where the file gives only the count."""
    legal_includes: list[Steps]
    illegal: list[Steps]
    illegal_sequences: list[Steps]
    context: TurnContext


def read_place(text: str) -> int:
    """A place of the golden notation: a point, "bar" or "off"."""
    return {"bar": BAR, "off": OFF}[text] if text in ("bar", "off") else int(text)


def read_play(step_texts: Sequence[str]) -> Steps:
    """Steps such as "13/8*" as (from, to) pairs."""
    steps = []
    for text in step_texts:
        start, to = text.rstrip("*").split("/")
        steps.append((read_place(start), read_place(to)))
    return tuple(steps)


def read_board(sides: dict[str, dict[str, int]], game: str = "short") -> BoardTuple:
    """The two sides, each in its own numbering, as one board seen by the mover."""
    board = [0] * 26
    for place, count in sides["mover"].items():
        if place != "off":
            board[read_place(place)] = count
    for place, count in sides["opponent"].items():
        if place == "bar":
            board[0] = count
        elif place != "off":
            point = read_place(place)
            if game == "long":
                board[point + 12 if point <= 12 else point - 12] = -count
            else:
                board[25 - point] = -count
    return tuple(board)


def read_context(context: dict[str, Any]) -> TurnContext:
    """What a case tells of the turn."""
    roll = context.get("opponent_first_roll")
    return TurnContext(
        first_turn=context.get("first_turn", False),
        player=context.get("player", "first"),
        opponent_first_roll=None if roll is None else (roll[0], roll[1]),
    )


def apply_steps(board: Sequence[int], steps: Sequence[tuple[int, int]]) -> BoardTuple:
    """The board after moving checkers as told, whether legal or not; hits are carried out."""
    after = list(board)
    for start, to in steps:
        after[start] -= 1
        if to != OFF:
            if after[to] == -1:
                after[to] = 0
                after[0] += 1
            after[to] += 1
    return tuple(after)


def short_move_cases() -> list[MoveCase]:
    """All cases of kind `moves` of short nardi."""
    return _move_cases("short")


def long_move_cases() -> list[MoveCase]:
    """All cases of kind `moves` of long nardi."""
    return _move_cases("long")


def _move_cases(game: str) -> list[MoveCase]:

    def plays(case: dict[str, Any], key: str) -> list[Steps]:
        return [read_play(play) for play in case.get(key, [])]

    return [
        MoveCase(
            name=case["id"],
            rules=INTERNATIONAL.replace(game=game, **case["rules"]),
            board=read_board(case["board"], game),
            roll=(case["dice"][0], case["dice"][1]),
            legal_count=case["legal_count"],
            dice_used=case["dice_used"],
            legal=plays(case, "legal") if "legal" in case else None,
            legal_includes=plays(case, "legal_includes"),
            illegal=plays(case, "illegal"),
            illegal_sequences=plays(case, "illegal_sequences"),
            context=read_context(case["context"]),
        )
        for case in read_golden("rules_cases.jsonl")
        if case["kind"] == "moves" and case["game"] == game
    ]
