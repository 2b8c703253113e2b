"""Janowski's cubeful values once more: plain, slow, written from the formulas, by recursion.

Knows nothing of levels, states and tables: it asks what a stake may become, and what points are
worth. A cube that may rise for ever is followed `DEPTH` turns.
"""

import itertools
from dataclasses import dataclass

from agent.met import MatchEquityTable, default_met
from agent.situation import Situation
from engine.scoring import counted_factor, next_stake

DEPTH = 40


@dataclass(frozen=True)
class Shares:
    """Winning chance, and how gammons and backgammons share the wins and losses."""

    win: float
    won: tuple[float, float, float]
    lost: tuple[float, float, float]


def shares(probs: tuple[float, float, float, float, float]) -> Shares:
    win, win_g, win_bg, lose_g, lose_bg = probs
    return Shares(
        win, (win - win_g, win_g - win_bg, win_bg), (1 - win - lose_g, lose_g - lose_bg, lose_bg)
    )


def flipped(s: Shares) -> Shares:
    return Shares(1 - s.win, s.lost, s.won)


def worth(situation: Situation, points: int, met: MatchEquityTable) -> float:
    """What points are worth to the mover: points, or twice the match-winning chance minus 1."""
    own, opp = situation.mover_away, situation.opp_away
    if own is None or opp is None:
        return float(points)
    post = not situation.rules.crawford or 1 in (own, opp)
    chance = met.mwc(own - max(points, 0), opp + min(points, 0), post_crawford=post)
    return 2 * chance - 1


def mean_win(
    situation: Situation, s: Shares, stake: int, offered: bool, met: MatchEquityTable
) -> float:
    """Mean worth of a won game to the mover."""
    total = sum(s.won)
    parts = s.won if total > 0 else (1.0, 0.0, 0.0)
    kinds = 2 if situation.rules.scoring == "oin_mars_12" else 3
    return sum(
        part
        / sum(parts)
        * worth(
            situation,
            stake * counted_factor(min(factor, kinds), situation.rules, cube_offered=offered),
            met,
        )
        for part, factor in zip(parts, (1, 2, 3), strict=True)
    )


def mean_loss(
    situation: Situation, s: Shares, stake: int, offered: bool, met: MatchEquityTable
) -> float:
    return -mean_win(situation.flipped(), flipped(s), stake, offered, met)


def can_turn(situation: Situation, stake: int, depth: int) -> bool:
    """Whether the mover, having the cube, could gain by turning it from this stake."""
    rules = situation.rules
    if not rules.cube or situation.crawford or depth == 0 or next_stake(stake, rules) is None:
        return False
    return situation.mover_away is None or situation.mover_away > stake


def cash_point(
    situation: Situation, s: Shares, stake: int, met: MatchEquityTable, depth: int = DEPTH
) -> float:
    """The mover's winning chance at which the other passes, the cube being live for ever after."""
    doubled = next_stake(stake, situation.rules)
    assert doubled is not None
    taker, taker_shares = situation.flipped(), flipped(s)
    low = mean_loss(taker, taker_shares, doubled, True, met)
    if can_turn(taker, doubled, depth - 1):
        at = cash_point(taker, taker_shares, doubled, met, depth - 1)
        high = worth(taker, doubled, met)
    else:
        at, high = 1.0, mean_win(taker, taker_shares, doubled, True, met)
    passed = worth(taker, -stake, met)
    return 1 - min(max(at * (passed - low) / (high - low), 0), 1)


def no_double_value(
    situation: Situation,
    probs: tuple[float, float, float, float, float],
    efficiency: float,
    met: MatchEquityTable | None = None,
) -> float:
    """Worth to the mover on roll, in points of an initial stake of 1 or 2 * chance - 1."""
    met = met or default_met()
    s = shares(probs)
    stake, owner = situation.cube_value, situation.cube_owner
    offered = situation.cube_offered
    won = mean_win(situation, s, stake, offered, met)
    lost = mean_loss(situation, s, stake, offered, met)
    dead = s.win * won + (1 - s.win) * lost
    corners = [(0.0, lost), (1.0, won)]
    own_turns = owner != "opponent" and can_turn(situation, stake, DEPTH)
    opp = situation.flipped()
    opp_turns = owner != "mover" and can_turn(opp, stake, DEPTH)
    if opp_turns:
        point = 1 - cash_point(opp, flipped(s), stake, met)
        corners.insert(1, (point, worth(situation, -stake, met)))
    if own_turns:
        point = cash_point(situation, s, stake, met)
        corners.insert(-1, (point, worth(situation, stake, met)))
    live = interpolated(corners, s.win)
    if opp_turns and not can_turn(situation, stake, DEPTH):
        efficiency = 1.0
    return (1 - efficiency) * dead + efficiency * live


def interpolated(corners: list[tuple[float, float]], x: float) -> float:
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        if x <= x1 and x1 > x0:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return corners[-1][1]
