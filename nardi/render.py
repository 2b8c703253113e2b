"""A position as a text board for a terminal: ASCII, at most 80 columns, seen by the mover."""

import textwrap
from typing import Final

from engine.board import BAR, borne_off, opp_borne_off, opp_pip_count, phase, pip_count
from engine.notation import NOTATIONS, Position
from nardi.documents import identifiers

__all__ = ["board_text", "position_text", "situation_text"]

MOVER: Final = "X"
OPPONENT: Final = "O"

_ROWS: Final = 5  # checkers drawn on a point; more are told by a number
_RESIGNATIONS: Final = ("", "a single game", "a gammon", "a backgammon")


def position_text(position: Position) -> str:
    """Board, whose turn it is, and the identifiers."""
    lines = [board_text(position), situation_text(position)]
    texts, notes = identifiers(position)
    for name in NOTATIONS:
        text = texts[name] or f"cannot express it: {notes[name]}"
        lines += textwrap.wrap(f"{name:<6} {text}", 80, subsequent_indent=" " * 7)
    return "\n".join(lines)


def board_text(position: Position) -> str:
    """The board: X is the mover, at the bottom, with point numbers as he counts them."""
    upper = [_rows(position, point) for point in range(13, 25)]
    lower = [_rows(position, point) for point in range(12, 0, -1)]
    bar = int(position.board[BAR])
    opp_bar = int(position.board[0])
    # As GNU Backgammon draws it: who is on the bar stands on the side where he will enter.
    upper.insert(6, _column(MOVER, bar))
    lower.insert(6, _column(OPPONENT, opp_bar))
    lines = [_border(range(13, 25))]
    lines += [_line([column[row] for column in upper]) for row in range(_ROWS)]
    lines += [" |                  |BAR|                  |"]
    lines += [_line([column[row] for column in lower]) for row in reversed(range(_ROWS))]
    lines += [_border(range(12, 0, -1))]
    for row, text in _facts(position).items():
        lines[row] += "  " + text
    return "\n".join(lines)


def _rows(position: Position, point: int) -> list[str]:
    count = int(position.board[point])
    return _column(MOVER if count > 0 else OPPONENT, abs(count))


def _column(checker: str, count: int) -> list[str]:
    """Cells of a stack from the edge of the board inwards; the last one tells a larger count."""
    column = [checker if row < count else " " for row in range(_ROWS)]
    if count > _ROWS:
        column[-1] = str(count)
    return column


def _border(points: range) -> str:
    labels = "".join(f"-{point}-"[-3:] for point in points)
    return " +" + labels[:18] + "-----" + labels[18:] + "+"


def _line(cells: list[str]) -> str:
    drawn = [f"{cell:^3}" if len(cell) < 2 else f"{cell:>3}" for cell in cells]
    return " |" + "".join(drawn[:6]) + "|" + drawn[6] + "|" + "".join(drawn[7:]) + "|"


def _facts(position: Position) -> dict[int, str]:
    """What stands right of the board, by line."""
    board = position.board
    in_match = position.match_length > 0
    opp = f"{OPPONENT}  {int(opp_pip_count(board))} pips, {int(opp_borne_off(board))} off"
    mover = f"{MOVER}  {int(pip_count(board))} pips, {int(borne_off(board))} off"
    facts = {1: opp, 5: _game(position), 6: _cube(position), 11: mover}
    if in_match:
        facts[2] = f"   score {position.opp_score}"
        facts[10] = f"   score {position.mover_score}"
    return facts


def _game(position: Position) -> str:
    if position.match_length == 0:
        rules = [name for name in ("jacoby", "beaver") if getattr(position, name)]
        return ", ".join(["money game", *rules])
    special = ", Crawford" if position.crawford else ""
    special = ", post-Crawford" if position.post_crawford else special
    return f"match to {position.match_length}{special}"


def _cube(position: Position) -> str:
    owners = {"mover": MOVER, "opponent": OPPONENT, None: "nobody"}
    owner = "centred" if position.cube_owner is None else f"owned by {owners[position.cube_owner]}"
    return f"cube {position.cube_value}, {owner}"


def situation_text(position: Position) -> str:
    """What has just happened and who must do what, in one line."""
    decider = MOVER if position.decider == "mover" else OPPONENT
    if position.offer is not None:
        offers = {
            "double": f"{MOVER} doubles to {2 * position.cube_value}",
            "beaver": f"{OPPONENT} beavers",
            "raccoon": f"{MOVER} raccoons",
        }
        return f"{offers[position.offer]}; {decider} to answer"
    if position.resignation:
        return (
            f"{MOVER} offers to resign {_RESIGNATIONS[position.resignation]}; {decider} to answer"
        )
    if phase(position.board) == "over":
        return "the game is over"
    if position.dice is not None:
        return f"{MOVER} to play {position.dice[0]}-{position.dice[1]}"
    return f"{MOVER} on roll"
