"""The games that are played: start, flip, plays and scoring of each; `Rules.game` selects one.

Generic code takes these from the variant object and never assumes the mirror of short nardi.
"""

from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.batch_moves import plays_of_many, plays_of_one
from engine.board import BAR, START, Board, IntArray, board_faults, flip, has_contact
from engine.errors import PositionError
from engine.house_moves import BAN_HITTER, BAN_HOME_HIT
from engine.long_batch import long_plays_of_many, long_plays_of_one
from engine.long_board import (
    LONG_START,
    flip_half_turn,
    has_long_contact,
    is_in_starting_quarter,
    long_board_faults,
)
from engine.long_moves import (
    BLOCK_ALWAYS,
    BLOCK_NONE,
    BLOCK_OPP_AHEAD,
    HEADS_CLASSIC,
    HEADS_NONE,
    HEADS_PRINCIPLE,
    HEADS_SEED_LIST,
)
from engine.rules import SCORINGS, Rules, Scoring
from engine.turn_context import AS_THE_BOARD_TELLS, TurnContext, context_codes

__all__ = [
    "LONG",
    "SHORT",
    "VARIANTS",
    "PlaySwitches",
    "Variant",
    "bans",
    "check_board",
    "play_switches",
    "starter_throws_again",
    "variant_of",
]

_BEAR_OFF_BANS: Final = {"allow": 0, "ban_hitter": BAN_HITTER, "ban_home_hit": BAN_HOME_HIT}
_HEAD_EXCEPTIONS: Final = {
    "classic": HEADS_CLASSIC,
    "seed_list": HEADS_SEED_LIST,
    "principle": HEADS_PRINCIPLE,
    "none": HEADS_NONE,
}
_BLOCK_RULES: Final = {
    "opp_ahead": BLOCK_OPP_AHEAD,
    "always": BLOCK_ALWAYS,
    "none": BLOCK_NONE,
}

PlaySwitches = namedtuple(
    "PlaySwitches", "is_long ban_hide bear_off_ban head_exception block_rule at_turn"
)
"""What of the rules bears on plays, as kernels of both games take it, all int: 1 for long nardi,
else 0; the bans of `engine.house_moves`, 0 in long nardi; the switches of `engine.long_moves`, 0 in
short nardi."""

Contexts = Sequence[TurnContext | None] | None
_PlaysOfOne = Callable[[Board, int, int, Rules, TurnContext | None], tuple[Board, IntArray]]
_PlaysOfMany = Callable[
    [Board, NDArray[np.int8], Rules, Contexts, int, Board, IntArray], tuple[int, int]
]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One game: what differs between short and long nardi."""

    name: str
    """Value of `Rules.game`."""
    start: Board
    """Opening position, `(26,)` int8, the same for both sides; read-only."""
    flip: Callable[[ArrayLike], Board]
    """The position seen by the other side; an involution on `(..., 26)` int8."""
    faults: Callable[[ArrayLike], list[str]]
    """Everything wrong with one board, in words."""
    has_contact: Callable[[ArrayLike], NDArray[np.bool_]]
    """Whether the two sides can still hit or stop each other; `(...)` bool."""
    plays_of_one: _PlaysOfOne
    """Compiled plays of a board and two faces: `(N, 26)` afterstates and `(N,)` codes as in
    `engine.play_codes`; N = 0 for a pass. Nothing is checked."""
    plays_of_many: _PlaysOfMany
    """Compiled plays of many positions from one on: boards, rolls, rules, contexts, first position,
    and the rows and offsets to fill, as `engine.batch_moves.plays_of_many` has them."""
    scorings: tuple[Scoring, ...]
    """Scoring schemes the game is played with, the usual one first."""
    is_caught: Callable[[Board], NDArray[np.bool_]]
    """Whether a loser's checker stands where the four-level scheme counts koks; `(...)` bool."""
    can_be_caught: Callable[[Board], NDArray[np.bool_]]
    """Whether one stands there or may still come there; `(...)` bool."""
    has_bar: bool
    """Whether checkers are hit and come to the bar."""
    has_cube: bool
    """Whether the game is ever played with the doubling cube."""
    starter_throws_again: bool
    """Whether the opening throw only tells who begins, unless the rules say otherwise."""
    has_turn_context: bool
    """Whether plays depend on more than the board, see `engine.turn_context`."""


def bans(rules: Rules) -> tuple[bool, int]:
    """The two bans of short nardi as kernels take them: of hit and hide, and of bearing off after
    a hit."""
    return rules.hit_and_hide == "ban", _BEAR_OFF_BANS[rules.hit_then_bear_off]


def _on_bar(boards: Board) -> NDArray[np.bool_]:
    return np.asarray(boards[..., BAR] > 0)


def _on_bar_or_in_contact(boards: Board) -> NDArray[np.bool_]:
    return _on_bar(boards) | has_contact(boards)


def _short_of_one(
    board: Board, die_a: int, die_b: int, rules: Rules, context: TurnContext | None
) -> tuple[Board, IntArray]:
    afterstates, codes = plays_of_one(board, die_a, die_b, *bans(rules))
    return afterstates, codes


def _short_of_many(
    boards: Board,
    rolls: NDArray[np.int8],
    rules: Rules,
    contexts: Contexts,
    first_board: int,
    out: Board,
    offsets: IntArray,
) -> tuple[int, int]:
    done, room = plays_of_many(boards, rolls, *bans(rules), first_board, out, offsets)
    return done, room


def _long_switches(rules: Rules) -> tuple[int, int, bool]:
    return (
        _HEAD_EXCEPTIONS[rules.head_exception],
        _BLOCK_RULES[rules.block_rule],
        rules.block_check == "turn",
    )


def _long_of_one(
    board: Board, die_a: int, die_b: int, rules: Rules, context: TurnContext | None
) -> tuple[Board, IntArray]:
    code = AS_THE_BOARD_TELLS if context is None else context.code
    afterstates, codes = long_plays_of_one(board, die_a, die_b, *_long_switches(rules), code)
    return afterstates, codes


def _long_of_many(
    boards: Board,
    rolls: NDArray[np.int8],
    rules: Rules,
    contexts: Contexts,
    first_board: int,
    out: Board,
    offsets: IntArray,
) -> tuple[int, int]:
    codes = context_codes(contexts, len(boards))
    switches = _long_switches(rules)
    done, room = long_plays_of_many(boards, rolls, *switches, codes, first_board, out, offsets)
    return done, room


SHORT: Final = Variant(
    name="short",
    start=START,
    flip=flip,
    faults=board_faults,
    has_contact=has_contact,
    plays_of_one=_short_of_one,
    plays_of_many=_short_of_many,
    scorings=SCORINGS["short"],
    is_caught=_on_bar,
    can_be_caught=_on_bar_or_in_contact,
    has_bar=True,
    has_cube=True,
    starter_throws_again=False,
    has_turn_context=False,
)
LONG: Final = Variant(
    name="long",
    start=LONG_START,
    flip=flip_half_turn,
    faults=long_board_faults,
    has_contact=has_long_contact,
    plays_of_one=_long_of_one,
    plays_of_many=_long_of_many,
    scorings=SCORINGS["long"],
    is_caught=is_in_starting_quarter,
    can_be_caught=is_in_starting_quarter,
    has_bar=False,
    has_cube=False,
    starter_throws_again=True,
    has_turn_context=True,
)
VARIANTS: Final[dict[str, Variant]] = {SHORT.name: SHORT, LONG.name: LONG}


def variant_of(rules: Rules) -> Variant:
    """The variant object of the game that these rules are for."""
    return VARIANTS[rules.game]


def play_switches(rules: Rules) -> PlaySwitches:
    """The switches of the rules that bear on plays, for kernels of both games."""
    if variant_of(rules) is LONG:
        heads, block, at_turn = _long_switches(rules)
        return PlaySwitches(1, 0, 0, heads, block, int(at_turn))
    ban_hide, bear_off_ban = bans(rules)
    return PlaySwitches(0, int(ban_hide), bear_off_ban, 0, 0, 0)


def starter_throws_again(rules: Rules) -> bool:
    """Whether the opening throw only tells who begins, and he throws anew."""
    return variant_of(rules).starter_throws_again and not rules.opening_dice_played


def check_board(board: ArrayLike | Sequence[int], rules: Rules) -> Board:
    """A checked int8 copy of one board of the rules' game, finished ones too.

    Raises PositionError that names every fault at once.
    """
    try:
        b = np.asarray(board)
    except ValueError as error:
        raise PositionError(f"a board has 26 whole numbers: {error}") from None
    if faults := variant_of(rules).faults(b):
        raise PositionError("; ".join(faults))
    return b.astype(np.int8)
