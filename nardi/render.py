"""Positions, plays and probabilities as text for a terminal, as a rule at most 80 columns wide."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from engine.board import BAR, borne_off, pip_count
from engine.notation import Position, notations_of
from engine.scoring import KINDS, has_four_kinds
from engine.variant import variant_of
from nardi.documents import identifiers

if TYPE_CHECKING:
    from agent.situation import Situation

__all__ = [
    "FOUR_KINDS_NOTE",
    "board_text",
    "equity_lines",
    "plays_table",
    "position_text",
    "probs_table",
    "situation_text",
]

MOVER: Final = "X"
OPPONENT: Final = "O"

_ROWS: Final = 5  # checkers drawn on a point; more are told by a number
_RESIGNATIONS: Final = ("", "a single game", "a gammon", "a backgammon")


def position_text(position: Position) -> str:
    """Board, whose turn it is, and the identifiers."""
    lines = [board_text(position), situation_text(position)]
    texts, notes = identifiers(position)
    for name in notations_of(position):
        text = texts[name] or f"cannot express it: {notes[name]}"
        lines += textwrap.wrap(f"{name:<6} {text}", 80, subsequent_indent=" " * 7)
    return "\n".join(lines)


def board_text(position: Position) -> str:
    """The board: X is the mover, with point numbers as he counts them.

    In short nardi he sits at the bottom, and the sides come towards each other; in long nardi both
    go from 24 to 1, the opponent from X's 12 by way of 1 and 24 to 13.
    """
    upper = [_rows(position, point) for point in range(13, 25)]
    lower = [_rows(position, point) for point in range(12, 0, -1)]
    bar = int(position.board[BAR])
    opp_bar = int(position.board[0])
    # As GNU Backgammon draws it: who is on the bar stands on the side where he will enter.
    upper.insert(6, _column(MOVER, bar))
    lower.insert(6, _column(OPPONENT, opp_bar))
    lines = [_border(range(13, 25))]
    lines += [_line([column[row] for column in upper]) for row in range(_ROWS)]
    middle = "BAR" if position.game == "short" else "   "
    lines += [f" |                  |{middle}|                  |"]
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
    opp_board = position.opp_board
    opp = f"{OPPONENT}  {int(pip_count(opp_board))} pips, {int(borne_off(opp_board))} off"
    mover = f"{MOVER}  {int(pip_count(board))} pips, {int(borne_off(board))} off"
    facts = {1: opp, 5: _game(position), 11: mover}
    if position.game == "short":
        facts[6] = _cube(position)
    if in_match:
        facts[2] = f"   score {position.opp_score}"
        facts[10] = f"   score {position.mover_score}"
    return facts


def _game(position: Position) -> str:
    name = "long nardi, " if position.game == "long" else ""
    if position.game == "long" and position.match_length == 0:
        return f"{name}single game"
    if position.match_length == 0:
        rules = [name for name in ("jacoby", "beaver") if getattr(position, name)]
        return ", ".join(["money game", *rules])
    special = ", Crawford" if position.crawford else ""
    special = ", post-Crawford" if position.post_crawford else special
    return f"{name}match to {position.match_length}{special}"


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
    if position.phase == "over":
        return "the game is over"
    turn = _turn(position)
    if position.dice is not None:
        return f"{MOVER} to play {position.dice[0]}-{position.dice[1]}{turn}"
    return f"{MOVER} on roll{turn}"


def _turn(position: Position) -> str:
    """Which turn it is, where that is told and matters."""
    context = position.context
    if context is None or not context.first_turn:
        return ""
    roll = context.opponent_first_roll
    after = "" if roll is None else f", after {roll[0]}-{roll[1]}"
    return f", first turn of the {context.player} player{after}"


def plays_table(plays: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Labelled plays with depth, equities, difference to the best and the five probabilities.

    plays: a label, such as the rank, and a play as docs/json.md has it.
    """
    width = max(5, *(len(play["play"]) for _, play in plays))
    lines = [
        f"{'':5} {'':{width}} ply  equity    diff    no    win   win  win  lose  lose",
        f"{'':5} {'':{width}}                     cube           g    bg     g    bg",
    ]
    for label, play in plays:
        diff = f"{play['diff']:+8.3f}" if play["diff"] else f"{'':8}"
        probs = "".join(f"{100 * p:6.1f}" for p in play["probs"].values())
        lines.append(
            f"{label:>5} {play['play']:<{width}}{play['ply']:3}{play['equity']:+9.3f}{diff}"
            f"{play['equity_cubeless']:+7.3f}{probs[1:]}"
        )
    return "\n".join(lines)


def probs_table(probs: Mapping[str, float]) -> str:
    """Who wins how often, gammons and backgammons with it, of the five probabilities by name."""
    rows = [
        (MOVER, probs["win"], probs["win_gammon"], probs["win_bg"]),
        (OPPONENT, 1 - probs["win"], probs["lose_gammon"], probs["lose_bg"]),
    ]
    lines = ["            win   gammon or more   backgammon"]
    for side, win, gammon, backgammon in rows:
        lines.append(f"  {side}  {win:10.2%}{gammon:17.2%}{backgammon:13.2%}")
    return "\n".join(lines)


FOUR_KINDS_NOTE: Final = "a home gammon counts half in the columns of backgammons"
"""What figures of a net of four kinds of win mean, see `agent.net`."""


def equity_lines(situation: "Situation", met: str | None) -> list[str]:
    """What an equity means: whose it is, in what unit, what wins count."""
    if met is None:
        factors = ", ".join(str(n + 1) for n in range(len(KINDS[situation.rules.scoring])))
        told = [FOUR_KINDS_NOTE] if has_four_kinds(situation.rules) else []
        if not variant_of(situation.rules).has_cube:
            return [f"equity = {MOVER}'s points per game; wins count {factors}", *told]
        return [
            f"equity = {MOVER}'s points per game and present stake, with the cube and without;",
            f"wins count {factors}",
            *told,
        ]
    return [
        f"equity: +1 is to win a single game at this stake, -1 to lose it, {MOVER}'s, with",
        f"the cube and without; by the match equity table {met}",
    ]
