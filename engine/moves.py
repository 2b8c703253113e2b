"""Legal plays under any house rule, of one position or of many at once.

Boards are seen by the mover before and after: afterstates are not flipped. Results are distinct, in
lexicographic order and the same for both orders of the dice. Nothing is capped: some positions have
thousands of distinct plays. With no legal play the only result is the unchanged board.

"Both dice if possible" holds to the end of the game: if any play uses both dice, a play that
finishes with one die is illegal (it can differ only where the longer one hits on the way).
"""

from collections.abc import Sequence
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.batch_moves import first_fault, first_unsound
from engine.board import (
    BAR,
    NUM_CHECKERS,
    NUM_SLOTS,
    OFF,
    Board,
    IntArray,
    borne_off,
    opp_borne_off,
)
from engine.dice import check_roll
from engine.errors import IllegalPlayError, PositionError
from engine.long_board import HEAD
from engine.play_codes import code_num_steps, code_source, code_step_die
from engine.rules import INTERNATIONAL, Rules
from engine.turn import Step, playable_orders, step_fault
from engine.turn_context import TurnContext
from engine.variant import Contexts, check_board, variant_of

__all__ = [
    "Steps",
    "legal_afterstates",
    "legal_afterstates_batch",
    "legal_plays",
    "play_steps",
]

Steps = tuple[Step, ...]
"""Steps of one play in playing order: (from, to), 25 = bar, 0 = off; empty for a forced pass."""

_ROWS_EXPECTED = 24  # afterstates a position to make room for at first; the mean is 19


def check_running(board: ArrayLike, rules: Rules = INTERNATIONAL) -> Board:
    """A checked board of a running game.

    In a game without a bar, where `end_rule=last_chance_draw` gives a last throw, the opponent may
    have borne off everything.
    """
    b = check_board(board, rules)
    for side, off in (("mover", borne_off(b)), ("opponent", opp_borne_off(b))):
        if off == NUM_CHECKERS and not (side == "opponent" and _has_last_throws(rules)):
            raise PositionError(f"the game is over: the {side} has borne off all {NUM_CHECKERS}")
    return b


def _has_last_throws(rules: Rules) -> bool:
    """Whether boards on which the opponent has finished are played; with a bar he is lent a checker
    there (`engine.game`)."""
    return rules.end_rule == "last_chance_draw" and not variant_of(rules).has_bar


def legal_afterstates(
    board: ArrayLike,
    roll: Sequence[int],
    rules: Rules = INTERNATIONAL,
    context: TurnContext | None = None,
) -> Board:
    """Boards after each distinct legal play, `(N, 26)` int8, N >= 1, seen by the mover.

    board: `(26,)` integers seen by the mover; roll: two faces; context: what long nardi needs to
    know of the turn, None = as the board tells. Raises PositionError for a board or roll that
    cannot occur and for a finished game.
    """
    return legal_plays(board, roll, rules, context)[0]


def legal_plays(
    board: ArrayLike,
    roll: Sequence[int],
    rules: Rules = INTERNATIONAL,
    context: TurnContext | None = None,
) -> tuple[Board, list[Steps]]:
    """Afterstates as `legal_afterstates` gives them, and the steps of one play for each.

    The steps stand in a legal playing order, which matters under house rules; a forced pass is ().
    """
    b = check_running(board, rules)
    die_a, die_b = check_roll(roll)
    afterstates, codes = variant_of(rules).plays_of_one(b, die_a, die_b, rules, context)
    if len(afterstates) == 0:
        return b[np.newaxis, :], [()]
    high, low = max(die_a, die_b), min(die_a, die_b)
    return afterstates, [_steps_of_code(int(code), high, low) for code in codes]


def _steps_of_code(code: int, high: int, low: int) -> Steps:
    # The plain functions: their compiled forms are made for compiled callers and kept nowhere.
    steps = []
    for i in range(code_num_steps.py_func(code)):
        source = code_source.py_func(code, i)
        die = code_step_die.py_func(code, i, high, low)
        steps.append((source, max(source - die, 0)))
    return tuple(steps)


def legal_afterstates_batch(
    boards: ArrayLike,
    rolls: ArrayLike,
    rules: Rules = INTERNATIONAL,
    contexts: Contexts = None,
) -> tuple[Board, IntArray]:
    """Afterstates of many positions: `(M, 26)` int8 and offsets `(B + 1,)` int64.

    boards: `(B, 26)` integers, each seen by its mover; rolls: `(B, 2)` faces; contexts: one for
    each position. Position i owns rows offsets[i] to offsets[i + 1], the same that
    `legal_afterstates` gives for it. Raises PositionError that names the first row at fault.
    """
    many, faces = check_batch(boards, rolls, rules)
    plays_of_many = variant_of(rules).plays_of_many
    # Allocated here and not in compiled code: numpy asks for huge pages, and fresh small ones took
    # a third of the time.
    rows = np.empty((len(many) * _ROWS_EXPECTED, NUM_SLOTS), dtype=np.int8)
    offsets = np.zeros(len(many) + 1, dtype=np.int64)
    done = 0
    while done < len(many):
        done, room = plays_of_many(many, faces, rules, contexts, done, rows, offsets)
        if done < len(many):
            longer = np.empty((len(rows) + len(rows) // 2 + room, NUM_SLOTS), dtype=np.int8)
            longer[: offsets[done]] = rows[: offsets[done]]
            rows = longer
    return rows[: offsets[-1]], offsets


def check_batch(
    boards: ArrayLike, rolls: ArrayLike, rules: Rules = INTERNATIONAL
) -> tuple[Board, NDArray[np.int8]]:
    """Boards of running games and rolls as compiled code takes them."""
    try:
        many = np.asarray(boards)
        faces = np.asarray(rolls)
    except ValueError as error:
        raise PositionError(f"boards and rolls must be whole numbers in rows: {error}") from None
    if many.ndim != 2 or many.shape[1] != NUM_SLOTS or not np.issubdtype(many.dtype, np.integer):
        raise PositionError(
            f"boards must be (B, {NUM_SLOTS}) whole numbers, not {many.shape} {many.dtype}"
        )
    if faces.shape != (len(many), 2) or not np.issubdtype(faces.dtype, np.integer):
        raise PositionError(
            f"rolls must be ({len(many)}, 2) whole numbers, not {faces.shape} {faces.dtype}"
        )
    wrong = first_fault(many, faces)
    if wrong < 0 and not variant_of(rules).has_bar:
        on_bars = many[:, [OFF, BAR]].any(axis=1)
        wrong = int(np.argmax(on_bars)) if on_bars.any() else -1
    if wrong >= 0:
        _check_one_by_one(many, faces, rules)
    # Writable: for read-only arrays numba would compile everything once more.
    return np.require(many, np.int8, ["C", "W"]), np.require(faces, np.int8, ["C", "W"])


def _check_one_by_one(many: NDArray[np.integer], faces: NDArray[np.integer], rules: Rules) -> None:
    """Raise PositionError for the first row at fault; there may be none, see `check_running`."""
    for row in range(len(many)):
        try:
            check_running(many[row], rules)
            check_roll(faces[row])
        except PositionError as error:
            raise PositionError(f"row {row}: {error}") from None


def check_boards(boards: ArrayLike, rules: Rules = INTERNATIONAL) -> Board:
    """`(B, 26)` boards, finished ones too, with counts that can occur, as compiled code takes them.

    Raises PositionError for wrong shapes and for the first row at fault.
    """
    b = np.asarray(boards)
    if b.ndim != 2 or b.shape[1] != NUM_SLOTS or not np.issubdtype(b.dtype, np.integer):
        raise PositionError(
            f"boards must be (B, {NUM_SLOTS}) whole numbers, not {b.shape} {b.dtype}"
        )
    b8 = np.require(b, np.int8, ["C", "W"])
    wrong = first_unsound(b8)
    if b.dtype != np.int8 and (b8 != b).any():
        wrong = int(np.argmax((b8 != b).any(axis=1)))
    if wrong >= 0:
        try:
            check_board(b[wrong], rules)
        except PositionError as error:
            raise PositionError(f"row {wrong}: {error}") from None
    return b8


def _check_steps(steps: Sequence[Sequence[int]]) -> Steps:
    try:
        return tuple((index(source), index(target)) for source, target in steps)
    except (TypeError, ValueError):
        raise IllegalPlayError(
            f"'{steps}' is not a play: steps are pairs (from, to) of whole numbers, 25 = bar,"
            " 0 = off"
        ) from None


def play_steps(
    board: ArrayLike,
    roll: Sequence[int],
    steps: Sequence[Sequence[int]],
    rules: Rules = INTERNATIONAL,
    context: TurnContext | None = None,
) -> Board:
    """The afterstate of ordered steps that make one complete legal turn; `(26,)` int8.

    steps: (from, to) pairs in playing order, 25 = bar, 0 = off; () is a forced pass. Raises
    IllegalPlayError with the reason if a step cannot be played at its place, or the turn is not
    complete.
    """
    b = check_running(board, rules)
    faces = check_roll(roll)
    order = _check_steps(steps)
    afterstates, plays = legal_plays(b, faces, rules, context)
    n_heads = max(1, *(sum(source == HEAD for source, _ in steps) for steps in plays))
    played = playable_orders(b, faces, order, rules, n_heads)
    if not played:
        raise IllegalPlayError(step_fault(b, faces, order, rules, n_heads))
    after = played[0]
    finished = borne_off(after) == NUM_CHECKERS
    n_dice = len(plays[0])
    if len(order) != n_dice and not finished:
        raise IllegalPlayError(
            f"the turn is not complete: {len(order)} of {n_dice} playable dice are used"
        )
    if not (afterstates == after).all(axis=1).any():
        longer = len(order) < n_dice
        raise IllegalPlayError(
            f"the turn is not complete: {n_dice} dice can be played, not just {len(order)}"
            if longer
            else f"of two dice that can each be played alone the larger, {max(faces)}, must be"
        )
    return after
