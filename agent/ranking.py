"""The plays of a roll in order of their worth, by a value net and under any house rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.evaluator import Evaluator, FloatArray, cubeless_equity, swap_sides
from agent.net import ValueNet
from engine.board import Board, borne_off
from engine.errors import ConfigError
from engine.moves import Steps, legal_plays
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import FOUR_KINDS, KINDS, has_four_kinds
from engine.variant import variant_of

__all__ = [
    "RankedPlay",
    "check_kinds_told",
    "plays_alike",
    "plays_like_international",
    "plays_like_usual",
    "rank_plays",
    "scored",
    "scoring_weights",
]

_PLAY_SWITCHES: Final = ("game", "hit_and_hide", "hit_then_bear_off", "scoring")
_THIRD_COUNTS: Final = {"oin_mars_12": 0, "oin_mars_koks_123": 1, FOUR_KINDS: 2}
"""Points that the third output counts above a gammon, see `agent.net`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedPlay:
    """One play and what it is worth to the mover, cubeless and in money play."""

    afterstate: Board
    """`(26,)` int8, still seen by the mover."""
    steps: Steps
    """(from, to) pairs in a legal playing order; () for a forced pass."""
    probs: FloatArray
    """`(5,)` float32, the mover's cumulative probabilities after the play."""
    equity: np.float32
    """Points per game, by the scoring of the rules."""
    ply: int = 0
    """How many further rolls were looked at."""
    cubeful: float | None = None
    """Equity with the cube, in points per game and present stake, at a score its equivalent; None
    where the cube was not looked at. The cubeless `equity` is in the same unit then."""


def check_kinds_told(net: ValueNet, rules: Rules, name: str = "net") -> None:
    """Raises ConfigError if a net cannot tell what wins count by the scoring of the rules."""
    if net.four_kinds and not has_four_kinds(rules):
        raise ConfigError(
            f"net '{name}' has learned the four kinds of win of scoring={FOUR_KINDS} and tells no"
            f" others, but scoring={rules.scoring} is asked for; accepted: --rules"
            f" scoring={FOUR_KINDS}"
        )
    if has_four_kinds(rules) and not net.four_kinds:
        others = ", ".join(scoring for scoring in KINDS if scoring != FOUR_KINDS)
        raise ConfigError(
            f"scoring={rules.scoring} has four kinds of win, which net '{name}' has not learned;"
            f" accepted: a net trained by it (nardi train --rules), or {others}"
        )


def scoring_weights(rules: Rules) -> NDArray[np.float32]:
    """Weights `(2, 6)` of `agent.kernels.value` in cubeless play under the scoring of the rules."""
    third = _THIRD_COUNTS[rules.scoring]
    return np.array([[2, 1, third, -1, -third, -1]] * 2, dtype=np.float32)


def plays_alike(one: Rules, other: Rules) -> bool:
    """Whether cubeless plays are the same, and worth the same, under both rules."""
    # What else the rules say bears on the cube and on the match.
    return all(getattr(one, name) == getattr(other, name) for name in _PLAY_SWITCHES)


def plays_like_international(rules: Rules) -> bool:
    """Whether cubeless plays are the same, and worth the same, as under international rules."""
    return plays_alike(rules, INTERNATIONAL)


def plays_like_usual(rules: Rules) -> bool:
    """Whether plays are worth what they usually are in their game, so that kernels choose them."""
    if rules.game == "long":
        return True
    if has_four_kinds(rules):  # which the net has learned, and is asked for
        rules = rules.replace(scoring=INTERNATIONAL.scoring)
    return plays_like_international(rules)


def scored(probs: ArrayLike, rules: Rules) -> tuple[FloatArray, FloatArray]:
    """Probabilities `(..., 5)` under the scoring of the rules, and their cubeless equity `(...)`.

    probs: as a net for this scoring gives them. Where there is no third kind a backgammon counts as
    a gammon and its own probability is 0.
    """
    p = np.array(probs, dtype=np.float32)
    if rules.scoring == "oin_mars_12":
        p[..., [2, 4]] = 0
    return p, cubeless_equity(p, _THIRD_COUNTS[rules.scoring])


def rank_plays(
    evaluator: Evaluator, board: ArrayLike, roll: Sequence[int], rules: Rules = INTERNATIONAL
) -> list[RankedPlay]:
    """All legal plays of a roll by the net, best first.

    Of equal ones first the one with more checkers off, then in the order of `legal_plays`.

    board: `(26,)` integers seen by the mover. Raises PositionError for a board or roll that cannot
    occur and for a finished game, ConfigError as `check_kinds_told` does.
    """
    check_kinds_told(evaluator.net, rules, evaluator.name)
    afterstates, plays = legal_plays(board, roll, rules)
    order: Sequence[int]
    probs: FloatArray
    equity: NDArray[np.float32]
    if plays_like_usual(rules):
        # The figures by which the net chooses when it plays, so that the first is its play.
        numbers = {row.tobytes(): number for number, row in enumerate(afterstates)}
        rows, probs, equity, _ = evaluator.rank(board, roll, rules)
        order = [numbers[row.tobytes()] for row in rows]
    else:
        opp_probs = evaluator.probabilities(variant_of(rules).flip(afterstates))
        opp_probs, opp_equity = scored(opp_probs, rules)
        probs, equity = swap_sides(opp_probs), -opp_equity
        best_first = np.lexsort((-borne_off(afterstates), -equity))
        probs, equity, order = probs[best_first], equity[best_first], best_first.tolist()
    return [
        RankedPlay(
            afterstate=afterstates[number], steps=plays[number], probs=probs[i], equity=equity[i]
        )
        for i, number in enumerate(order)
    ]
