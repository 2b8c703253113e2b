"""Plays read from text and written as text; what is legal is asked of `engine.moves` alone.

That module is imported where it is asked: it brings numba, which who only reads positions or writes
plays need not wait for.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from engine.board import OFF, Board
from engine.dice import check_roll
from engine.errors import AmbiguousPlayError, IllegalPlayError, NotationError
from engine.notation.fields import shorten
from engine.notation.gnuid import format_position_id
from engine.notation.longid import format_longid
from engine.notation.play_text import Path, format_steps, is_pass, read_paths, split_dice
from engine.notation.position import Position
from engine.rules import INTERNATIONAL, Rules
from engine.turn import Step

if TYPE_CHECKING:
    from engine.turn_context import TurnContext

__all__ = ["Play", "format_play", "parse_play"]

Steps = tuple[Step, ...]

_PLAYS_NAMED = 3  # legal plays that an error message names


@dataclass(frozen=True, kw_only=True, eq=False)
class Play:
    """One complete legal play."""

    afterstate: Board
    """`(26,)` int8 board after the play, still seen by the mover."""
    steps: Steps
    """(from, to) pairs in a legal playing order, 25 = bar, 0 = off; () for a forced pass."""


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """One way to cut a text's paths into steps of single dice."""

    steps: Steps
    hides_hit: bool
    """Whether a checker hits on a point in between that the text does not name."""


def parse_play(
    text: str,
    board: ArrayLike,
    roll: Sequence[int],
    rules: Rules = INTERNATIONAL,
    context: "TurnContext | None" = None,
) -> Play:
    """The legal play that a text names for a board and roll, under any house rules.

    The text describes and does not order: the play is legal if it can be played in some order.
    Hit stars may be missing or too many. A way that is left open ("13/9" with 3-1) is read as one
    without a hit on the way if there is one, as other programs write it, unless a star says that
    something is hit where nothing stands. Raises NotationError for a text that cannot be read,
    IllegalPlayError for one that names no legal play, AmbiguousPlayError for one that names two
    with different results, PositionError for a bad board or roll or a finished game.
    """
    checked = _position(board, rules).board
    faces = check_roll(roll)
    dice, words = split_dice(text)
    if dice is not None and sorted(dice) != sorted(faces):
        raise IllegalPlayError(
            f"'{shorten(text)}' is for dice {dice[0]}-{dice[1]}, the roll is {faces[0]}-{faces[1]}"
        )
    if is_pass(words):
        return _parse_pass(words, checked, faces, rules, context)
    paths = read_paths(words)
    legal: list[tuple[_Reading, Play]] = []
    reason = "no dice fit"
    for reading in _readings(paths, checked, faces):
        play, fault = _play_in_some_order(reading.steps, checked, faces, rules, context)
        if play is None:
            reason = fault
        else:
            legal.append((reading, play))
    if not legal:
        raise _illegal(text, reason, checked, faces, rules, context)
    star_is_wrong = any(
        point == OFF or checked[point] != -1 for path in paths for point in path.starred
    )
    if not star_is_wrong:
        legal = [pair for pair in legal if not pair[0].hides_hit] or legal
    results = {play.afterstate.tobytes(): play for _, play in legal}
    if len(results) > 1:
        names = " or ".join(f"'{format_play(play, checked)}'" for play in results.values())
        raise AmbiguousPlayError(
            f"'{shorten(text)}' can be {names} with {faces[0]}-{faces[1]} from"
            f" {_identifier(checked, rules)}, with different results; write it with the point in"
            " between"
        )
    return legal[0][1]


def format_play(play: Play | Sequence[Sequence[int]], board: ArrayLike) -> str:
    """The canonical text of a play, or of its steps in playing order; `parse_play` reads it back.

    board: `(26,)` before the play, seen by the mover. High to low, one checker's steps joined
    unless it hits on the way, equal moves counted, a star once per point hit: "13/11*/9 6/5(2)".
    A forced pass is "pass".
    """
    steps = play.steps if isinstance(play, Play) else play
    return format_steps(steps, np.asarray(board))


def _position(board: ArrayLike, rules: Rules) -> Position:
    """Raises PositionError for a board that the game does not know."""
    return Position(board=np.asarray(board), game=rules.game)


def _identifier(board: Board, rules: Rules) -> str:
    if rules.game == "long":
        return format_longid(_position(board, rules)).partition(":")[0]
    return format_position_id(board)


def _parse_pass(
    words: str, board: Board, roll: tuple[int, int], rules: Rules, context: "TurnContext | None"
) -> Play:
    from engine.moves import legal_plays

    afterstates, plays = legal_plays(board, roll, rules, context)
    if plays == [()]:
        return Play(afterstate=afterstates[0], steps=())
    if not words.strip():
        raise NotationError(
            f"the text names no play; an empty one is a pass, but {_count(len(plays))} legal with"
            f" {roll[0]}-{roll[1]} from {_identifier(board, rules)}: {_names(plays, board)}"
        )
    raise _illegal(words, "there are legal plays", board, roll, rules, context)


def _illegal(
    text: str,
    reason: str,
    board: Board,
    roll: tuple[int, int],
    rules: Rules,
    context: "TurnContext | None",
) -> IllegalPlayError:
    from engine.moves import legal_plays

    plays = legal_plays(board, roll, rules, context)[1]
    return IllegalPlayError(
        f"'{shorten(text)}' cannot be played with {roll[0]}-{roll[1]} from"
        f" {_identifier(board, rules)} ({reason}); legal: {_names(plays, board)}"
    )


def _names(plays: Sequence[Steps], board: Board) -> str:
    named = ", ".join(f"'{format_steps(steps, board)}'" for steps in plays[:_PLAYS_NAMED])
    more = len(plays) - _PLAYS_NAMED
    return f"{named}, … ({more} more)" if more > 0 else named


def _count(number: int) -> str:
    return "1 play is" if number == 1 else f"{number} plays are"


def _readings(paths: Sequence[Path], board: Board, roll: tuple[int, int]) -> list[_Reading]:
    """Every way to cut the paths into single steps that the number of dice allows."""
    n_dice = 4 if roll[0] == roll[1] else 2
    readings = [_Reading(steps=(), hides_hit=False)]
    for path in paths:
        for source, target in itertools.pairwise(path.points):
            cuts = _cuts(source, target, roll)
            readings = [
                _Reading(
                    steps=reading.steps + cut * path.count,
                    hides_hit=reading.hides_hit or any(board[to] == -1 for _, to in cut[:-1]),
                )
                for reading in readings
                for cut in cuts
                if len(reading.steps) + len(cut) * path.count <= n_dice
            ]
    return readings


def _cuts(source: int, target: int, roll: tuple[int, int]) -> list[Steps]:
    """The ways from one point to another in steps of the dice, whatever stands in between."""
    orders = [(roll[0],) * n for n in range(1, 5)]
    if roll[0] != roll[1]:
        orders = [(roll[0],), (roll[1],), (roll[0], roll[1]), (roll[1], roll[0])]
    cuts = []
    for order in orders:
        point = source
        cut = []
        for die in order:
            if point <= target:
                break
            cut.append((point, max(point - die, OFF)))
            point = cut[-1][1]
        if point == target and len(cut) == len(order):
            cuts.append(tuple(cut))
    return sorted(set(cuts))


def _play_in_some_order(
    steps: Steps,
    board: Board,
    roll: tuple[int, int],
    rules: Rules,
    context: "TurnContext | None",
) -> tuple[Play | None, str]:
    """The steps played in a legal order, or None and why the likeliest order fails."""
    from engine.moves import play_steps

    reason = ""
    for order in _orders(steps):
        try:
            afterstate = play_steps(board, roll, order, rules, context)
        except IllegalPlayError as error:
            reason = reason or str(error)
        else:
            return Play(afterstate=afterstate, steps=order), ""
    return None, reason


def _orders(steps: Steps) -> Iterator[Steps]:
    """The distinct orders of the steps, first the one from high to low.

    That one is legal without house rules if any is: it enters from the bar first, brings home
    before it bears off, and keeps each checker's steps in their order.
    """
    seen = set()
    for order in itertools.permutations(sorted(steps, reverse=True)):
        if order not in seen:
            seen.add(order)
            yield order
