"""Results: kinds of win in every scoring scheme, what counts, stakes, and what can still happen.

Boards are `(26,)` int8 as in `engine.board`; the functions on many boards take `(..., 26)`. A
finished board is one on which exactly one side has no checkers left, seen by either side.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.board import BAR, NUM_CHECKERS, Board, IntArray, borne_off
from engine.errors import PositionError
from engine.rules import INTERNATIONAL, Rules
from engine.variant import check_board, variant_of

__all__ = [
    "FOUR_KINDS",
    "KINDS",
    "WinKind",
    "WinResult",
    "can_lose_backgammon",
    "can_lose_gammon",
    "counted_factor",
    "cube_in_use",
    "has_four_kinds",
    "next_stake",
    "outcome_mask",
    "result",
    "result_factors",
    "stake_after",
    "why_factor_is_one",
]

BoolArray = NDArray[np.bool_]

_HOME_END = 6  # own points 1 to 6
_START_OF_OPP_HOME = 19  # own points 19 to 24


@dataclass(frozen=True)
class WinKind:
    """One kind of win of a scoring scheme; its factor is its place in the scheme, from 1."""

    name: str
    """Name in the scheme: oin, mars, home_mars or koks."""
    english: str
    """single, gammon, home gammon or backgammon."""
    why: str
    """What the loser's checkers must look like, in words."""


_OIN = WinKind("oin", "single", "the loser has borne off a checker")
_MARS = WinKind(
    "mars",
    "gammon",
    "the loser has borne off no checker, and none is on the bar or in the winner's home",
)
_MARS_OF_TWO = WinKind("mars", "gammon", "the loser has borne off no checker")
_MARS_OF_FOUR = WinKind(
    "mars", "gammon", "the loser has borne off no checker and has not brought all of them home"
)
_HOME_MARS = WinKind(
    "home_mars", "home gammon", "the loser has borne off no checker, but all of them are home"
)
_KOKS = WinKind(
    "koks",
    "backgammon",
    "the loser has borne off no checker and has one on the bar or in the winner's home",
)
_KOKS_OF_FOUR = WinKind(
    "koks", "backgammon", "the loser has borne off no checker and has one on the bar"
)
_KOKS_OF_LONG = WinKind(
    "koks",
    "backgammon",
    "the loser has borne off no checker and has one in his starting quarter",
)

FOUR_KINDS: Final = "mars_homemars_koks_1234"
"""The scoring scheme with four kinds of win, which nets tell otherwise than three or two."""

KINDS: Final[dict[str, tuple[WinKind, ...]]] = {
    "oin_mars_koks_123": (_OIN, _MARS, _KOKS),
    "oin_mars_12": (_OIN, _MARS_OF_TWO),
    FOUR_KINDS: (_OIN, _MARS_OF_FOUR, _HOME_MARS, _KOKS_OF_FOUR),
}
"""The kinds of win of each scoring scheme in the order of their factors 1, 2, ..."""


def has_four_kinds(rules: Rules) -> bool:
    """Whether wins have four kinds."""
    return rules.scoring == FOUR_KINDS


@dataclass(frozen=True)
class WinResult:
    """Who has won a finished board, how, and by which factor of the stake."""

    winner: Literal["mover", "opponent"]
    kind: WinKind
    factor: int
    """Factor in the scoring scheme, before Jacoby's rule and `mars_with_cube` (see
    `counted_factor`)."""


def _kind(factor: int, rules: Rules) -> WinKind:
    kind = KINDS[rules.scoring][factor - 1]
    return _KOKS_OF_LONG if kind is _KOKS_OF_FOUR and rules.game == "long" else kind


# --- finished boards ---


def result(board: ArrayLike, rules: Rules = INTERNATIONAL) -> WinResult:
    """Winner, kind of win and factor of one finished board, by the scoring scheme of the rules.

    Raises PositionError if the board is not valid or the game is not over.
    """
    checked = check_board(board, rules)
    factor = int(result_factors(checked, rules))
    if factor == 0:
        raise PositionError(
            f"the game is not over: the mover has borne off {borne_off(checked)} checkers, the"
            f" opponent {borne_off(variant_of(rules).flip(checked))}; a finished game has"
            f" {NUM_CHECKERS} of one side off"
        )
    return WinResult(
        winner="mover" if factor > 0 else "opponent",
        kind=_kind(abs(factor), rules),
        factor=abs(factor),
    )


def result_factors(boards: ArrayLike, rules: Rules = INTERNATIONAL) -> IntArray:
    """Factor of the scoring scheme on each board, > 0 for the mover's win; `(...)` int64.

    boards: `(..., 26)` int8, not checked. 0 where the game is not over (or nobody has checkers).
    """
    own = np.asarray(boards, dtype=np.int8)
    opp = variant_of(rules).flip(own)
    own_done, opp_done = _finished(own), _finished(opp)
    factors = np.where(own_done, _loss_factors(opp, rules), -_loss_factors(own, rules))
    return np.where(own_done != opp_done, factors, 0)


def _finished(boards: Board) -> BoolArray:
    return np.asarray(borne_off(boards) == NUM_CHECKERS)


def _loss_factors(boards: Board, rules: Rules) -> IntArray:
    """Factor by which the owner of each board loses if the other side has finished."""
    single = borne_off(boards) > 0
    on_bar = boards[..., BAR] > 0
    if rules.scoring == "oin_mars_12":
        factors = np.full(single.shape, 2)
    elif rules.scoring == "oin_mars_koks_123":
        factors = np.where(on_bar | _in_opp_home(boards), 3, 2)
    else:
        all_home = ~(boards[..., _HOME_END + 1 :] > 0).any(axis=-1)
        caught = variant_of(rules).is_caught(boards)
        factors = np.where(caught, 4, np.where(all_home, 3, 2))
    return np.where(single, 1, factors).astype(np.int64)


def _in_opp_home(boards: Board) -> BoolArray:
    """Whether the owner has a checker on his points 19 to 24."""
    return np.asarray((boards[..., _START_OF_OPP_HOME:BAR] > 0).any(axis=-1))


# --- what can still happen ---


def can_lose_gammon(boards: ArrayLike) -> BoolArray:
    """Whether the owner has borne off nothing, so that he may lose a mars or more; `(...)` bool.

    On a finished board that he has lost it says whether he did; on one he has won it is False.
    """
    return np.asarray(borne_off(boards) == 0)


def can_lose_backgammon(boards: ArrayLike, rules: Rules = INTERNATIONAL) -> BoolArray:
    """Whether the owner may lose the highest kind of win, koks; `(...)` bool.

    He may while nothing is borne off and a checker of his can be caught behind: one stands where
    koks is counted, or in short nardi the sides have not passed each other, so that one can still
    be hit. False throughout in a scoring scheme without koks. On a finished board that he has lost
    it says whether he did; on one he has won it is False.
    """
    own = np.asarray(boards, dtype=np.int8)
    if rules.scoring == "oin_mars_12":
        return np.zeros(own.shape[:-1], dtype=np.bool_)
    caught = variant_of(rules).can_be_caught(own)
    if rules.scoring == "oin_mars_koks_123":
        caught |= _in_opp_home(own)
    return can_lose_gammon(own) & caught


def outcome_mask(boards: ArrayLike, rules: Rules = INTERNATIONAL) -> BoolArray:
    """Which of the five cumulative outcomes each board still allows; `(..., 5)` bool.

    Order win, win gammon, win backgammon, lose gammon, lose backgammon, for the mover. False
    means a probability of exactly 0, whoever is on roll. On a finished board it is the result.
    """
    own = np.asarray(boards, dtype=np.int8)
    opp = variant_of(rules).flip(own)
    can_win, can_lose = ~_finished(opp), ~_finished(own)
    return np.stack(
        [
            can_win,
            can_win & can_lose_gammon(opp),
            can_win & can_lose_backgammon(opp, rules),
            can_lose & can_lose_gammon(own),
            can_lose & can_lose_backgammon(own, rules),
        ],
        axis=-1,
    )


# --- stakes and what counts ---


def cube_in_use(rules: Rules) -> bool:
    """Whether the game is played with a cube at all."""
    return rules.cube and variant_of(rules).has_cube


def stake_after(n_offers: int, rules: Rules = INTERNATIONAL) -> int:
    """Stake after so many accepted offers: 2^k or 1 + k, without regard to the cube's limit."""
    return 1 << n_offers if rules.progression == "geometric" else 1 + n_offers


def next_stake(stake: int, rules: Rules = INTERNATIONAL) -> int | None:
    """The stake one turn of the cube further; None if the cube cannot show it."""
    raised = 2 * stake if rules.progression == "geometric" else stake + 1
    return None if rules.cube_cap is not None and raised > rules.cube_cap else raised


def counted_factor(factor: int, rules: Rules, *, cube_offered: bool) -> int:
    """The factor that is paid: the scheme's, or 1 where the rules count every win single.

    cube_offered: whether a player has offered a double in the game (an automatic double is none).
    """
    return 1 if why_factor_is_one(rules, cube_offered=cube_offered) else factor


def why_factor_is_one(rules: Rules, *, cube_offered: bool) -> str | None:
    """Why every win of the game counts single, in words; None if it does not."""
    if cube_in_use(rules) and not rules.mars_with_cube:
        return "with the cube in use every win counts single (mars_with_cube=false)"
    if rules.jacoby and rules.match_to is None and not cube_offered:
        return "nobody has offered a double, so every win counts single (Jacoby's rule)"
    return None
