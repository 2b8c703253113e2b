"""The notation of long nardi: `LONG=board:dice:turn:score:score:length`.

No other program's notation tells a board of long nardi together with what the head rule needs to
know of the turn, so it has one of its own; docs/long.md describes it.
"""

import re
from typing import Final

from engine.board import NUM_CHECKERS, NUM_POINTS, NUM_SLOTS
from engine.errors import NotationError
from engine.notation.fields import build_position, count_field, shorten
from engine.notation.position import Position
from engine.turn_context import TurnContext

__all__ = ["LABEL", "format_longid", "looks_like_longid", "parse_longid"]

LABEL: Final = "LONG="
_EMPTY: Final = "-"
_MOVER: Final = "ABCDEFGHIJKLMNO"
_OPPONENT: Final = _MOVER.lower()
_NO_DICE: Final = "00"
_FIELDS: Final = 6
_ACCEPTED: Final = "LONG=-----------o-----------O:00:?:0:0:0 (docs/long.md)"


def looks_like_longid(text: str) -> bool:
    """Whether a text is meant to be one."""
    return re.match(r"long\s*=", text, re.IGNORECASE) is not None


def parse_longid(text: str) -> Position:
    """The position that a text tells; fields from the right may be missing.

    Raises NotationError if it cannot be read, PositionError if what it says cannot occur.
    """
    fields = text.partition("=")[2].strip().split(":")
    if len(fields) > _FIELDS:
        raise NotationError(
            f"'{shorten(text)}' has {len(fields)} fields; accepted: 1 to {_FIELDS}, as in"
            f" {_ACCEPTED}"
        )
    board, dice, turn, mover_score, opp_score, length = (
        *fields,
        *(_NO_DICE, "?", "0", "0", "0")[len(fields) - 1 :],
    )
    return build_position(
        "LONG=",
        text,
        game="long",
        board=_read_board(board, text),
        dice=_read_dice(dice, text),
        context=_read_turn(turn, text),
        mover_score=count_field(mover_score, "the mover's score"),
        opp_score=count_field(opp_score, "the opponent's score"),
        match_length=count_field(length, "the length of the match"),
    )


def _read_board(field: str, text: str) -> list[int]:
    board = [0] * NUM_SLOTS
    if len(field) != NUM_POINTS:
        raise NotationError(
            f"'{shorten(text)}': the board has {len(field)} characters; it needs {NUM_POINTS}, one"
            " for each point from the mover's 1 to his 24"
        )
    for point, letter in enumerate(field, start=1):
        if letter in _MOVER:
            board[point] = _MOVER.index(letter) + 1
        elif letter in _OPPONENT:
            board[point] = -_OPPONENT.index(letter) - 1
        elif letter != _EMPTY:
            raise NotationError(
                f"'{shorten(text)}': the board has '{letter}'; accepted: A to O for the mover's"
                f" 1 to {NUM_CHECKERS} checkers, a to o for the opponent's, - for none"
            )
    return board


def _read_dice(field: str, text: str) -> tuple[int, int] | None:
    if field == _NO_DICE:
        return None
    if not re.fullmatch(r"[1-6][1-6]", field, re.ASCII):
        raise NotationError(
            f"'{shorten(text)}': the dice are '{shorten(field)}'; accepted: two faces such as 31,"
            f" {_NO_DICE} before the throw"
        )
    return int(field[0]), int(field[1])


def _read_turn(field: str, text: str) -> TurnContext | None:
    if field == "?":
        return None
    if field == "-":
        return TurnContext()
    if field == "1":
        return TurnContext(first_turn=True, player="first")
    found = re.fullmatch(r"2([1-6])([1-6])|2", field, re.ASCII)
    if found is None:
        raise NotationError(
            f"'{shorten(text)}': the turn is '{shorten(field)}'; accepted: - for a later turn, 1"
            " for the first player's first, 2 for the second player's first, with the first"
            " player's first roll behind it as in 262, ? for what the board tells"
        )
    roll = None if found[1] is None else (int(found[1]), int(found[2]))
    return TurnContext(first_turn=True, player="second", opponent_first_roll=roll)


def format_longid(position: Position) -> str:
    """The position in this notation. Raises NotationError if it cannot hold it."""
    if position.resignation:
        raise NotationError("LONG= cannot hold an offered resignation")
    letters = [
        _MOVER[n - 1] if n > 0 else _OPPONENT[-n - 1] if n < 0 else _EMPTY
        for n in position.board[1 : NUM_POINTS + 1].tolist()
    ]
    dice = _NO_DICE if position.dice is None else "".join(str(die) for die in position.dice)
    fields = [
        "".join(letters),
        dice,
        _turn_text(position.context),
        str(position.mover_score),
        str(position.opp_score),
        str(position.match_length),
    ]
    return LABEL + ":".join(fields)


def _turn_text(context: TurnContext | None) -> str:
    if context is None:
        return "?"
    if not context.first_turn:
        return "-"
    if context.player == "first":
        return "1"
    roll = context.opponent_first_roll
    return "2" if roll is None else f"2{roll[0]}{roll[1]}"
