"""What a turn of long nardi needs to know beyond the board: whether it is a player's first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from engine.board import NUM_CHECKERS, Board
from engine.dice import check_roll
from engine.errors import ConfigError

__all__ = ["AS_THE_BOARD_TELLS", "TurnContext", "context_codes", "context_of_board"]

_HEAD: Final = 24
_OPP_HEAD: Final = 12

AS_THE_BOARD_TELLS: Final = -1
_LATER, _FIRST, _SECOND, _SECOND_AFTER_LISTED = range(4)
_LISTED: Final = frozenset({(2, 1), (6, 2), (5, 5)})
"""First rolls of the first player that `head_exception=seed_list` names."""


@dataclass(frozen=True, kw_only=True)
class TurnContext:
    """What a turn of long nardi needs to know beyond the board; short nardi ignores it.

    Raises ConfigError for a player or a roll that is none.
    """

    first_turn: bool = False
    """Whether this is the mover's first turn of the game."""
    player: Literal["first", "second"] = "first"
    """Whether the mover moves first or second in the game."""
    opponent_first_roll: tuple[int, int] | None = None
    """The first roll of the player who moved first, for the second player's first turn."""

    def __post_init__(self) -> None:
        if self.player not in ("first", "second"):
            raise ConfigError(f"player is '{self.player}'; accepted: first, second")
        if self.opponent_first_roll is not None:
            check_roll(self.opponent_first_roll)

    @property
    def code(self) -> int:
        """The context as the compiled plays of long nardi take it."""
        if not self.first_turn:
            return _LATER
        if self.player == "first":
            return _FIRST
        roll = self.opponent_first_roll
        listed = roll is not None and (max(roll), min(roll)) in _LISTED
        return _SECOND_AFTER_LISTED if listed else _SECOND


def context_codes(contexts: Sequence[TurnContext | None] | None, n_turns: int) -> NDArray[np.int8]:
    """Codes of the contexts of many turns, `(n_turns,)` int8; None = as the board tells.

    Raises ConfigError if there are not as many contexts as turns.
    """
    codes = np.full(n_turns, AS_THE_BOARD_TELLS, dtype=np.int8)
    if contexts is None:
        return codes
    if len(contexts) != n_turns:
        raise ConfigError(f"{len(contexts)} turn contexts for {n_turns} positions")
    for number, context in enumerate(contexts):
        if context is not None:
            codes[number] = context.code
    return codes


def context_of_board(board: Board) -> TurnContext:
    """The context of a turn of long nardi as far as its board tells.

    A player's first turn is the one with all fifteen checkers on the head: nothing can stop him
    from taking one off in it, and none comes back. The first roll of the first player is told by
    a checker of his on 21 (2-1) or 4 (5-5); one on 16 may have come by 6-2, 5-3 or 2-2 and tells
    none. board: `(26,)` int8 seen by the mover.
    """
    if board[_HEAD] != NUM_CHECKERS:
        return TurnContext()
    if board[_OPP_HEAD] == -NUM_CHECKERS:
        return TurnContext(first_turn=True, player="first")
    roll = None
    if board[_OPP_HEAD] == 1 - NUM_CHECKERS:
        roll = (2, 1) if board[9] == -1 else (5, 5) if board[16] == -1 else None
    return TurnContext(first_turn=True, player="second", opponent_first_roll=roll)
