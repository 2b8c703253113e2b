"""Cube decisions and cubeful equities from the five probabilities, at money and any score.

The model is Janowski's, in `agent.kernels.cube`; docs/cube.md tells it with its sources. What is
worked out here is one position at a time, or one batch; a search uses the kernels itself.
"""

import dataclasses
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.cube_table import may_double, state_payoffs
from agent.cube_values import (
    CONTACT_EFFICIENCY,
    board_efficiency,
    cubeful_equities,
    cubeful_equity,
    cubeless_equity_at,
    static_root_value,
    static_values_of,
    table_of,
    to_equity,
)
from agent.kernels.cube import LOSE_1, WIN_1, CubeTable
from agent.met import MatchEquityTable
from agent.situation import Situation
from engine.errors import ConfigError
from engine.scoring import cube_in_use, next_stake

__all__ = [
    "CONTACT_EFFICIENCY",
    "Answer",
    "CubeDecision",
    "CubeValues",
    "beaver_decision",
    "board_efficiency",
    "cube_decision",
    "cubeful_equities",
    "cubeful_equity",
    "cubeless_equity_at",
    "decide",
    "table_of",
    "why_no_double",
]

FloatArray = NDArray[np.float64]
Answer = Literal["take", "pass", "beaver"]

CLOSE: Final = 0.02
"""Decisions with a smaller margin, in points per game and present stake, are called close."""
_TIE: Final = 1e-7  # the model's values are equal in exact arithmetic, but for rounding


@dataclass(frozen=True, kw_only=True)
class CubeValues:
    """The worths a cube decision is made of, all to the mover.

    In one unit throughout: points per game and present stake, and at a score their equivalent, in
    which winning a single game at this stake is +1 and losing it -1.
    """

    no_double: float
    double_take: float | None
    """None if the mover may not double."""
    double_pass: float | None
    double_beaver: float | None = None
    """None if no beaver is possible. The better of playing on and of declining the beaver."""


@dataclass(frozen=True, kw_only=True)
class CubeDecision:
    """What to do with the cube, and why.

    Equities are the mover's; `mwc` of one (0 to 1) is its chance to win the match.
    """

    situation: Situation
    values: CubeValues
    doubles: bool
    """Whether the mover should double."""
    answer: Answer | None
    """What the opponent should do if he is doubled; None if the mover may not double."""
    action: str
    """In words, such as "double, take" or "too good to double, pass"."""
    why_not: str | None
    """Why the mover may not double at all, or can have no use of it; else None."""
    take_point: float | None
    """Winning chance from which the opponent takes, with gammons in the present proportions."""
    take_point_dead: float | None
    """The same if nobody could turn the cube once more."""
    take_point_live: float | None
    """The same if the cube were fully live."""
    gammon_value: tuple[float, float]
    """What a gammon adds to a win, in half the difference of a single win and a loss, for the mover
    and for the opponent, at the present stake (0.5 in money play)."""
    gammon_value_doubled: tuple[float, float] | None
    """The same at the stake after a double."""
    half_mwc: float | None
    """Match-winning chance that one point of equity is worth; None in money play."""
    centre_mwc: float | None
    """Match-winning chance at equity 0; None in money play."""

    def mwc(self, equity: float | None) -> float | None:
        """The mover's chance to win the match at an equity; None in money play."""
        if equity is None or self.half_mwc is None or self.centre_mwc is None:
            return None
        return self.centre_mwc + equity * self.half_mwc

    @property
    def equity(self) -> float:
        """Worth of the position to the mover with the right actions of both sides."""
        doubled = self.equity_doubled
        return self.values.no_double if not self.doubles or doubled is None else doubled

    @property
    def equity_doubled(self) -> float | None:
        """Worth of doubling, rightly answered; None if the mover may not double."""
        if self.values.double_take is None or self.values.double_pass is None:
            return None
        return min(
            value
            for value in (
                self.values.double_take,
                self.values.double_pass,
                self.values.double_beaver,
            )
            if value is not None
        )

    @property
    def margin(self) -> float | None:
        """By how much the right one of doubling and not doubling is better; None without choice."""
        doubled = self.equity_doubled
        return None if doubled is None else abs(doubled - self.values.no_double)

    @property
    def answer_margin(self) -> float | None:
        """By how much the opponent's right answer is better than the next best."""
        if self.equity_doubled is None:
            return None
        values = self.values
        taken = [v for v in (values.double_take, values.double_beaver) if v is not None]
        assert values.double_pass is not None
        if self.answer == "beaver":
            return max(taken) - min(taken)
        return abs(min(taken) - values.double_pass)

    @property
    def costs(self) -> dict[str, float]:
        """What each action gives away against the right one of the same side, 0 for that one."""
        doubled, values = self.equity_doubled, self.values
        if doubled is None or values.double_take is None or values.double_pass is None:
            return {}
        costs = {
            "no_double": max(doubled - values.no_double, 0.0) if self.doubles else 0.0,
            "double": 0.0 if self.doubles else max(values.no_double - doubled, 0.0),
            "take": values.double_take - doubled,
            "pass": values.double_pass - doubled,
        }
        if values.double_beaver is not None:
            costs["beaver"] = values.double_beaver - doubled
        return costs

    @property
    def close(self) -> bool:
        """Whether the margin of doubling is below `CLOSE`."""
        return self.margin is not None and self.margin < CLOSE

    @property
    def answer_close(self) -> bool:
        """Whether the margin of the opponent's answer is below `CLOSE`."""
        return self.answer_margin is not None and self.answer_margin < CLOSE

    @property
    def cash_point(self) -> float | None:
        """The mover's winning chance from which the opponent passes."""
        return None if self.take_point is None else 1 - self.take_point


def why_no_double(situation: Situation) -> str | None:
    """Why the mover may not double, or could never gain by it; None if there is a choice."""
    rules = situation.rules
    if not cube_in_use(rules):
        return "the game is played without a cube (cube=false)"
    if situation.crawford:
        return "nobody may double in the Crawford game"
    if situation.cube_owner == "opponent":
        return "the opponent owns the cube"
    if next_stake(situation.cube_value, rules) is None:
        return f"the cube stands at {situation.cube_value} and cannot go beyond {rules.cube_cap}"
    if situation.mover_away is not None and situation.mover_away <= situation.cube_value:
        return "winning at the present stake already wins the match: the cube is dead"
    return None


def decide(values: CubeValues, redouble: bool = False) -> tuple[bool, Answer | None, str]:
    """Whether to double, the right answer to a double, and both in words."""
    nd, dt, dp = values.no_double, values.double_take, values.double_pass
    if dt is None or dp is None:
        return False, None, "no cube decision"
    answer: Answer = "take" if dt <= dp + _TIE else "pass"
    taken = dt
    if answer == "take" and values.double_beaver is not None and values.double_beaver < dt - _TIE:
        answer, taken = "beaver", values.double_beaver
    again = "re" if redouble else ""
    if min(taken, dp) >= nd - _TIE:
        return True, answer, f"{again}double, {answer}"
    if nd > dp + _TIE:
        return False, answer, f"too good to {again}double, {answer}"
    return False, answer, f"no {again}double, {answer}"


def beaver_decision(
    probs: ArrayLike,
    situation: Situation,
    efficiency: float = CONTACT_EFFICIENCY,
    met: MatchEquityTable | None = None,
) -> tuple[float, float]:
    """Worth to the mover of accepting and of declining a beaver of his double.

    situation: as a beavered position tells it, the cube at the doubled stake and the opponent's.
    Both in points per that stake. Raises ConfigError if the cube cannot go so high.
    """
    raised = next_stake(situation.cube_value, situation.rules)
    if raised is None:
        raise ConfigError(
            f"a cube at {situation.cube_value} cannot be beavered: it cannot go beyond"
            f" {situation.rules.cube_cap}"
        )
    accepted = dataclasses.replace(situation, cube_value=raised, cube_owner="opponent")
    value = static_root_value(table_of(accepted, 0, met), np.asarray(probs)[None], efficiency)
    return value * raised / situation.cube_value, -1.0


def cube_decision(
    probs: ArrayLike,
    situation: Situation,
    efficiency: float = CONTACT_EFFICIENCY,
    met: MatchEquityTable | None = None,
    plies: int = 0,
    values: FloatArray | None = None,
) -> CubeDecision:
    """The cube decision of the mover, who is on roll, and of the opponent if he is doubled.

    probs: `(5,)` cumulative, the mover's, before the roll; efficiency: of `board_efficiency`;
    values: `(S,)` values without doubling now of the states of `table_of(situation, plies, met)`
    for side 0, as a search of so many plies finds them; None = the model's own.
    Raises ConfigError as `cube_table` does.
    """
    table = table_of(situation, plies, met)
    nd = (
        static_values_of(table, np.asarray(probs)[None], efficiency)[0]
        if values is None
        else values
    )
    worth = CubeValues(
        no_double=to_equity(table, nd[table.root]),
        double_take=None,
        double_pass=None,
    )
    points: tuple[float | None, float | None, float | None] = (None, None, None)
    if may_double(situation):
        beaver = None
        if table.root_beavered >= 0:
            declined = state_payoffs(table, table.root_doubled)[LOSE_1]
            beaver = to_equity(table, max(nd[table.root_beavered], declined))
        worth = CubeValues(
            no_double=worth.no_double,
            double_take=to_equity(table, nd[table.root_doubled]),
            double_pass=to_equity(table, state_payoffs(table, table.root)[WIN_1]),
            double_beaver=beaver,
        )
        points = (
            _take_point(table, probs, efficiency),
            _dead_take_point(table, probs),
            _take_point(table, probs, 1.0),
        )
    doubles, answer, action = decide(worth, situation.cube_owner == "mover")
    why_not = why_no_double(situation)
    if doubles and why_not is not None:
        # The model's values of a dead cube may be equal; nobody gains by turning it.
        doubles = False
    if answer is not None and why_not is not None:
        again = "re" if situation.cube_owner == "mover" else ""
        action = f"no {again}double, {answer}"
    return CubeDecision(
        situation=situation,
        values=worth,
        doubles=doubles,
        answer=answer,
        action=action,
        why_not=why_not,
        take_point=points[0],
        take_point_dead=points[1],
        take_point_live=points[2],
        gammon_value=_gammon_values(table, table.root),
        gammon_value_doubled=(
            _gammon_values(table, table.root_doubled) if table.root_doubled >= 0 else None
        ),
        half_mwc=table.unit / 2 if situation.is_match else None,
        centre_mwc=(table.offset + 1) / 2 if situation.is_match else None,
    )


def _gammon_values(table: CubeTable, state: int) -> tuple[float, float]:
    row = state_payoffs(table, state)
    single = row[3] - row[2]
    return float((row[4] - row[3]) / single), float((row[2] - row[1]) / single)


def _take_point(table: CubeTable, probs: ArrayLike, efficiency: float) -> float:
    """The opponent's winning chance at which taking is worth as much as passing."""
    won, lost = _gammon_shares(probs)
    passed = state_payoffs(table, table.root)[WIN_1]
    low, high = 0.0, 1.0  # the mover's winning chance
    for _ in range(50):
        p = (low + high) / 2
        row = [[p, p * won[0], p * won[1], (1 - p) * lost[0], (1 - p) * lost[1]]]
        if static_values_of(table, row, efficiency)[0, table.root_doubled] <= passed:
            low = p
        else:
            high = p
    return 1 - (low + high) / 2


def _dead_take_point(table: CubeTable, probs: ArrayLike) -> float:
    """The same if nobody could turn the cube once more."""
    won, lost = _gammon_shares(probs)
    row = state_payoffs(table, table.root_doubled)
    win = (1 - won[0]) * row[3] + (won[0] - won[1]) * row[4] + won[1] * row[5]
    lose = (1 - lost[0]) * row[2] + (lost[0] - lost[1]) * row[1] + lost[1] * row[0]
    passed = state_payoffs(table, table.root)[WIN_1]
    return float(min(max((win - passed) / (win - lose), 0), 1))


def _gammon_shares(probs: ArrayLike) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of the wins and of the losses, the shares that are gammons and backgammons."""
    win, win_g, win_bg, lose_g, lose_bg = (float(p) for p in np.asarray(probs))
    won = (win_g / win, win_bg / win) if win > 0 else (0.0, 0.0)
    lost = (lose_g / (1 - win), lose_bg / (1 - win)) if win < 1 else (0.0, 0.0)
    return won, lost
