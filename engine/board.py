"""The board: layout, start position, mirror, validation, pip counts, phase.

Every board is `(26,)` int8 seen by its owner: `b[1..24]` are points counted from the owner's
bear-off edge (> 0 owner's checkers, < 0 opponent's), `b[25]` is the owner's bar and `b[0]` the
opponent's bar (a count, >= 0). Borne-off checkers are derived: 15 minus the rest. All functions
but `validate` take one board or any number of them along leading axes.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import PositionError

__all__ = [
    "BAR",
    "NUM_CHECKERS",
    "NUM_POINTS",
    "NUM_SLOTS",
    "OFF",
    "START",
    "Board",
    "IntArray",
    "Phase",
    "board_faults",
    "borne_off",
    "flip",
    "has_contact",
    "opp_borne_off",
    "opp_pip_count",
    "phase",
    "pip_count",
    "validate",
]

NUM_CHECKERS = 15
NUM_POINTS = 24
NUM_SLOTS = 26  # opponent's bar, 24 points, owner's bar
BAR = 25
OFF = 0  # as the end of a step; as a board index 0 is the opponent's bar

Board = NDArray[np.int8]
IntArray = NDArray[np.int64]
Phase = Literal["contact", "race", "over"]

START: Board = np.zeros(NUM_SLOTS, dtype=np.int8)
"""Opening position of short nardi; read-only."""
START[[24, 13, 8, 6]] = 2, 5, 3, 5
START[[1, 12, 17, 19]] = -2, -5, -3, -5
START.setflags(write=False)

_PIPS = np.arange(NUM_SLOTS, dtype=np.int64)


def flip(board: ArrayLike) -> Board:
    """The same position seen by the other side (mirror of short nardi); an involution.

    board: `(..., 26)` int8. Own point n becomes the opponent's point 25 - n and the bars swap.
    """
    b = np.asarray(board, dtype=np.int8)
    flipped = -b[..., ::-1]
    flipped[..., 0] = b[..., BAR]
    flipped[..., BAR] = b[..., 0]
    return flipped


def pip_count(board: ArrayLike) -> IntArray:
    """Pips the owner still needs to bear off everything; `(...)` int64. A bar checker counts 25."""
    b = np.asarray(board, dtype=np.int64)
    return np.asarray(np.maximum(b[..., 1:], 0) @ _PIPS[1:])


def opp_pip_count(board: ArrayLike) -> IntArray:
    """Pips the opponent still needs in short nardi; `(...)` int64."""
    return pip_count(flip(board))


def borne_off(board: ArrayLike) -> IntArray:
    """Number of checkers the owner has borne off; `(...)` int64."""
    b = np.asarray(board, dtype=np.int64)
    return np.asarray(NUM_CHECKERS - np.maximum(b[..., 1:], 0).sum(axis=-1))


def opp_borne_off(board: ArrayLike) -> IntArray:
    """Number of checkers the opponent has borne off; `(...)` int64."""
    b = np.asarray(board, dtype=np.int64)
    return np.asarray(NUM_CHECKERS - b[..., 0] + np.minimum(b[..., 1:BAR], 0).sum(axis=-1))


def has_contact(board: ArrayLike) -> NDArray[np.bool_]:
    """Whether the rearmost checkers of the two sides have not passed each other; `(...)` bool.

    The owner's rearmost checker stands on his highest point (25 on the bar), the opponent's on
    the owner's lowest point that holds one (0 on the bar). A side without checkers has none.
    """
    b = np.asarray(board, dtype=np.int64)
    own_rear = np.where(b[..., 1:] > 0, _PIPS[1:], -1).max(axis=-1)
    opp_points = np.where(b[..., 1:BAR] < 0, _PIPS[1:BAR], NUM_SLOTS)
    opp_rear = np.where(b[..., 0] > 0, 0, opp_points.min(axis=-1))
    return np.asarray(own_rear > opp_rear)


def phase(board: ArrayLike) -> Phase:
    """Phase of one board: "over" if a side has borne off everything, else "contact" or "race"."""
    if borne_off(board) == NUM_CHECKERS or opp_borne_off(board) == NUM_CHECKERS:
        return "over"
    return "contact" if has_contact(board) else "race"


def board_faults(board: ArrayLike) -> list[str]:
    """Everything that is wrong with a board of short nardi, in words; empty if nothing is."""
    b = np.asarray(board)
    if b.shape != (NUM_SLOTS,):
        return [f"a board has {NUM_SLOTS} numbers, this one has shape {b.shape}"]
    if not np.issubdtype(b.dtype, np.integer):
        return [f"a board holds whole numbers, this one holds {b.dtype}"]
    b = b.astype(np.int64)
    faults = []
    if b[BAR] < 0:
        faults.append(f"slot 25 (mover's bar) is {b[BAR]}; a count from 0 to {NUM_CHECKERS} fits")
    if b[0] < 0:
        faults.append(f"slot 0 (opponent's bar) is {b[0]}; a count from 0 to {NUM_CHECKERS} fits")
    own_points = int(np.maximum(b[1:BAR], 0).sum())
    opp_points = int(-np.minimum(b[1:BAR], 0).sum())
    for side, on_points, on_bar in (
        ("mover", own_points, max(int(b[BAR]), 0)),
        ("opponent", opp_points, max(int(b[0]), 0)),
    ):
        if on_points + on_bar > NUM_CHECKERS:
            faults.append(
                f"{side} has {on_points + on_bar} checkers ({on_points} on points, {on_bar} on the"
                f" bar); at most {NUM_CHECKERS} fit"
            )
    if b[BAR] > 0 and b[0] > 0 and (b[1:7] >= 2).all() and (b[19:BAR] <= -2).all():
        faults.append("both home boards are closed and both sides are on the bar; nobody can move")
    return faults


def validate(board: ArrayLike | Sequence[int]) -> Board:
    """A checked int8 copy of one board. Raises PositionError that names every fault at once.

    A board on which a side has no checkers left (a finished game) is valid, the empty board too.
    """
    try:
        b = np.asarray(board)
    except ValueError as error:
        raise PositionError(f"a board has {NUM_SLOTS} whole numbers: {error}") from None
    faults = board_faults(b)
    if faults:
        raise PositionError("; ".join(faults))
    return b.astype(np.int8)
