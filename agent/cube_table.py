"""The cube as a table of states, made from a situation: levels, payoffs, who may turn it.

What the rules say of the cube (Jacoby, beavers, largest cube, progression, `mars_with_cube`, the
kinds of win) and the score of a match are told here once; the kernels of `agent.kernels.cube` only
see numbers.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.kernels.cube import CENTRED, ROW, TURNABLE, CubeTable
from agent.met import MatchEquityTable, default_met
from agent.situation import Situation
from engine.errors import ConfigError
from engine.scoring import KINDS, counted_factor, cube_in_use, has_four_kinds, next_stake

__all__ = ["check_kinds", "counts_single", "cube_table", "may_double", "state_payoffs"]

FloatArray = NDArray[np.float64]
State = tuple[int, int]  # level, owner

_MOVER, _OPPONENT = 0, 1
# Levels beyond those a search can reach; at the last one the cube lives for ever. Where stakes
# double each level moves the cash point by a quarter of what the one before does, and few are good
# to 1e-6.
# Where stakes grow by the same the raises get ever smaller, and more levels matter.
_TAIL: Final = {"geometric": 7, "arithmetic": 15}


def check_kinds(situation: Situation) -> None:
    """Raises ConfigError if five outputs of a net cannot tell what the kinds of win are worth.

    Of four kinds they tell the points (`agent.net`), but not how often each comes, on which chances
    to win a match depend.
    """
    if has_four_kinds(situation.rules) and situation.is_match and not counts_single(situation):
        raise ConfigError(
            f"scoring={situation.rules.scoring} has four kinds of win, which the five outputs of a"
            " net do not tell apart as a match needs it; accepted: money play, or"
            f" {', '.join(name for name, kinds in KINDS.items() if len(kinds) <= 3)}"
        )


def counts_single(situation: Situation) -> bool:
    """Whether every win counts single, whatever its kind and whether somebody has doubled."""
    return _factors(situation, offered=True)[-1] == 1


def may_double(situation: Situation) -> bool:
    """Whether the rules let the mover double before this roll."""
    return (
        cube_in_use(situation.rules)
        and not situation.crawford
        and situation.cube_owner != "opponent"
        and next_stake(situation.cube_value, situation.rules) is not None
    )


def cube_table(
    situation: Situation, plies: int = 0, met: MatchEquityTable | None = None
) -> CubeTable:
    """The table of all cube states that a search of so many plies from here can meet.

    Side 0 is the situation's mover. met: None = Kazaross-XG2. Payoffs are points per present stake
    in money play, 2 * match-winning chance - 1 in a match. Raises ConfigError as `check_kinds`
    does, and for a score beyond the longest match.
    """
    check_kinds(situation)
    worth = _worth(situation, met)
    stakes, ratio = _stakes(situation, plies)
    rows = [_payoffs(worth, stake, _factors(situation, offered=True)) for stake in stakes]
    unoffered = _factors(situation, offered=situation.cube_offered)
    jacoby = unoffered != _factors(situation, offered=True)
    if jacoby:
        rows.append(_payoffs(worth, stakes[0], unoffered))
    payoff = np.array(rows)
    turnable = _turnable(situation, stakes, ratio)
    owner = {"mover": _MOVER, "opponent": _OPPONENT, None: CENTRED}[situation.cube_owner]
    root = (0, owner)
    double: State | None = (1, _OPPONENT) if may_double(situation) else None
    beaver: State | None = (2, _OPPONENT) if double and _beavers(situation, stakes, 0) else None
    states = _reachable(
        [s for s in (root, double, beaver) if s], turnable, stakes, situation, plies
    )
    number = {state: i for i, state in enumerate(states)}

    def after(side: int, state: State, levels: int) -> int:
        if not _can_turn(turnable, side, state):
            return -1
        return number.get((state[0] + levels, 1 - side), -1)

    def plan(side: int, state: State) -> list[int]:
        level, owner = state
        row = len(stakes) if jacoby and state == (0, CENTRED) else level
        beavered = after(side, state, 2) if _beavers(situation, stakes, level) else -1
        return [row, level, owner, after(side, state, 1), beavered]

    turns = np.zeros((2, len(rows)))
    turns[:, : len(stakes)] = turnable
    sides = [np.column_stack([payoff, turns[0]]), np.column_stack([-payoff[:, ::-1], turns[1]])]
    return CubeTable(
        rows=len(rows),
        levels=len(stakes),
        states=len(states),
        ratio=ratio,
        root=number[root],
        root_doubled=number[double] if double else -1,
        root_beavered=number[beaver] if beaver else -1,
        offset=float(payoff[0, 3] + payoff[0, 2]) / 2 if situation.is_match else 0.0,
        unit=float(payoff[0, 3] - payoff[0, 2]) / 2 if situation.is_match else 1.0,
        payoff=np.concatenate(sides),
        plan=np.array([plan(side, state) for side in (0, 1) for state in states]),
    )


def state_payoffs(table: CubeTable, state: int, side: int = 0) -> FloatArray:
    """What losing 3, 2, 1 and winning 1, 2, 3 is worth to a side in a state, `(6,)`."""
    row: FloatArray = table.payoff[side * table.rows + table.plan[state, ROW], :TURNABLE]
    return row


def _factors(situation: Situation, *, offered: bool) -> tuple[int, int, int]:
    """What a single win, a gammon and a backgammon count."""
    kinds = len(KINDS[situation.rules.scoring])
    single, gammon, backgammon = (
        counted_factor(factor, situation.rules, cube_offered=offered) for factor in (1, 2, kinds)
    )
    return single, gammon, backgammon


def _worth(situation: Situation, met: MatchEquityTable | None) -> Callable[[int], float]:
    """What so many points are worth to the mover, negative ones being the opponent's."""
    own, opp = situation.mover_away, situation.opp_away
    if own is None or opp is None:
        return lambda points: points / situation.cube_value
    table = met or default_met()
    # Whoever is one away now has had his Crawford game, or has it now.
    post_crawford = not situation.rules.crawford or 1 in (own, opp)

    def chance(points: int) -> float:
        mwc = table.mwc(own - max(points, 0), opp + min(points, 0), post_crawford=post_crawford)
        return 2 * mwc - 1

    return chance


def _payoffs(
    worth: Callable[[int], float], stake: int, factors: tuple[int, int, int]
) -> list[float]:
    lost = [worth(-stake * factor) for factor in reversed(factors)]
    return lost + [worth(stake * factor) for factor in factors]


def _stakes(situation: Situation, plies: int) -> tuple[list[int], float]:
    """Stakes level by level, and the raise of the last if the cube goes on living there, else 0."""
    stakes = [situation.cube_value]
    while True:
        raised = next_stake(stakes[-1], situation.rules) if _has_cube(situation) else None
        # A double that is of no use to either side may still be made at the root.
        if raised is None or (len(stakes) > 1 and not _useful(situation, stakes[-1])):
            return stakes, 0.0
        if len(stakes) > plies + _TAIL[situation.rules.progression]:
            return stakes, 0.0 if situation.is_match else raised / stakes[-1]
        stakes.append(raised)


def _has_cube(situation: Situation) -> bool:
    return cube_in_use(situation.rules) and not situation.crawford


def _useful(situation: Situation, stake: int) -> bool:
    """Whether a side could use more points than this stake brings."""
    away = (situation.mover_away, situation.opp_away)
    return any(a is None or a > stake for a in away)


def _turnable(situation: Situation, stakes: list[int], ratio: float) -> NDArray[np.bool_]:
    """`(2, L)`: whether a side, with access to the cube, could gain by turning it."""
    turnable = np.zeros((2, len(stakes)), dtype=np.bool_)
    if not _has_cube(situation):
        return turnable
    for side, away in enumerate((situation.mover_away, situation.opp_away)):
        for level, stake in enumerate(stakes):
            can_rise = level + 1 < len(stakes) or ratio > 0
            turnable[side, level] = can_rise and (away is None or away > stake)
    return turnable


def _beavers(situation: Situation, stakes: list[int], level: int) -> bool:
    """Whether a double at this level may be beavered."""
    return situation.rules.beaver and not situation.is_match and level + 2 < len(stakes)


def _can_turn(turnable: NDArray[np.bool_], side: int, state: State) -> bool:
    level, owner = state
    return owner in (side, CENTRED) and bool(turnable[side, level])


def _reachable(
    first: list[State],
    turnable: NDArray[np.bool_],
    stakes: list[int],
    situation: Situation,
    plies: int,
) -> list[State]:
    """The states from these on: in each ply the side on roll may double once.

    Both sides' doubles are followed in every ply, so that the table serves a search that starts
    with either side on roll.
    """
    states = list(first)
    for _ in range(plies + 1):
        for state in list(states):
            for side in (_MOVER, _OPPONENT):
                if not _can_turn(turnable, side, state):
                    continue
                level = state[0]
                reached = [(level + 1, 1 - side)]
                if _beavers(situation, stakes, level):
                    reached.append((level + 2, 1 - side))
                states += [s for s in reached if s not in states and s[0] < len(stakes)]
    return states
