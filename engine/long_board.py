"""The board of long nardi: start, half turn, faults, and whether the sides can still meet.

Boards are `(26,)` int8 seen by their owner as in `engine.board`, and slots 0 and 25 stay empty:
nobody is ever hit. Own point n is the opponent's point n + 12, or n - 12 above 12: both sides go
round the board in the same direction. The head, on which all checkers start, is own point 24.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.board import BAR, NUM_CHECKERS, NUM_POINTS, NUM_SLOTS, OFF, Board, board_faults
from engine.rules import Rules

__all__ = [
    "HALF_TURN",
    "HEAD",
    "LONG_START",
    "flip_half_turn",
    "forms_block",
    "has_long_contact",
    "is_in_starting_quarter",
    "long_board_faults",
]

HEAD = 24
BLOCK_LENGTH = 6
HALF_TURN = 12
"""Points by which the two sides' numberings are apart."""
_START_OF_STARTING_QUARTER = 19

LONG_START: Board = np.zeros(NUM_SLOTS, dtype=np.int8)
"""Opening position of long nardi; read-only."""
LONG_START[HEAD], LONG_START[HEAD - HALF_TURN] = NUM_CHECKERS, -NUM_CHECKERS
LONG_START.setflags(write=False)

_OPP_SLOTS = np.array(
    [OFF, *((point + HALF_TURN - 1) % NUM_POINTS + 1 for point in range(1, NUM_POINTS + 1)), BAR]
)
"""Slot that each slot is to the other side."""


def flip_half_turn(board: ArrayLike) -> Board:
    """The same position seen by the other side (half a turn of long nardi); an involution.

    board: `(..., 26)` int8. Own point n becomes the opponent's point n + 12 or n - 12.
    """
    b = np.asarray(board, dtype=np.int8)
    flipped: Board = -b[..., _OPP_SLOTS]
    return flipped


def long_board_faults(board: ArrayLike) -> list[str]:
    """Everything that is wrong with a board of long nardi, in words; empty if nothing is."""
    faults = board_faults(board)
    b = np.asarray(board)
    if b.shape == (NUM_SLOTS,) and np.issubdtype(b.dtype, np.integer):
        faults += [
            f"slot {slot} ({name} bar) is {b[slot]}; in long nardi nobody is on the bar"
            for slot, name in ((BAR, "mover's"), (0, "opponent's"))
            if b[slot] != 0
        ]
    return faults


def has_long_contact(board: ArrayLike) -> NDArray[np.bool_]:
    """Whether a checker can still stand in the way of the other side; `(...)` bool.

    It cannot once all checkers of both sides stand on their points 1 to 12, or a side has none.
    """
    b = np.asarray(board, dtype=np.int64)
    points = b[..., 1:BAR]
    both = (points > 0).any(axis=-1) & (points < 0).any(axis=-1)
    # The opponent's points 13 to 24 are the owner's 1 to 12.
    back = (points[..., HALF_TURN:] > 0).any(axis=-1) | (points[..., :HALF_TURN] < 0).any(axis=-1)
    return np.asarray(both & back)


def is_in_starting_quarter(boards: Board) -> NDArray[np.bool_]:
    """Whether the owner has a checker on his points 19 to 24; `(...)` bool."""
    return np.asarray((boards[..., _START_OF_STARTING_QUARTER:BAR] > 0).any(axis=-1))


def forms_block(board: Sequence[int], rules: Rules) -> bool:
    """Whether the owner holds a block that `block_rule` forbids, in plain Python for single boards.

    A block is six points or more in a row on the opponent's way, which ends at his point 1 and
    does not go on at his 24.
    """
    if rules.block_rule == "none":
        return False
    held = [False] * (NUM_POINTS + 2)  # by the opponent's points
    front, n_left = NUM_POINTS + 1, 0
    for slot in range(1, BAR):
        point = int(_OPP_SLOTS[slot])
        held[point] = board[slot] > 0
        if board[slot] < 0:
            front, n_left = min(front, point), n_left - board[slot]
    has_passed = n_left < NUM_CHECKERS
    length = 0
    for point in range(1, NUM_POINTS + 1):
        length = length + 1 if held[point] else 0
        if length == BLOCK_LENGTH:
            first = point - BLOCK_LENGTH + 1
            if rules.block_rule == "always" or not (has_passed or front < first):
                return True
    return False
