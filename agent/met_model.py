"""A match equity table of our own, worked out from a gammon rate with our own model of the cube.

Zadeh's idea (Management Science 23, 1977): the chance at a score follows from those at the scores
that a game can lead to, if one knows how a game between equals with the doubling cube goes. Here
that is Janowski's interpolation as in `agent.kernels.cube`, at even chances and the centred cube.
"""

from typing import Final

import numpy as np

from agent.cube_table import cube_table
from agent.cube_values import CONTACT_EFFICIENCY, static_root_value
from agent.met import LONGEST_MATCH, MatchEquityTable
from agent.situation import Situation
from engine.errors import ConfigError
from engine.rules import Rules

__all__ = ["FIRST_TURN_EDGE", "computed_met"]

FIRST_TURN_EDGE: Final = 0.024
"""By how much the trailer's winning chance differs from one half, up or down as often, when he can
double for the first time after the Crawford game. What the leader's free drop is worth follows from
it: half of this, at 2-away; Kazaross-XG2 has 0.488 there."""


def computed_met(
    gammon_rate: float, length: int = 25, efficiency: float = CONTACT_EFFICIENCY
) -> MatchEquityTable:
    """The table up to `length` points away if so many of all wins are gammons (none backgammons).

    efficiency: how live the cube is, from 0 (dead) to 1. Raises ConfigError for numbers out of
    range.
    """
    for name, number in (("gammon rate", gammon_rate), ("cube efficiency", efficiency)):
        if not 0 <= number <= 1:
            raise ConfigError(f"{name} '{number}' does not fit; accepted: 0 to 1")
    if not 1 <= length <= LONGEST_MATCH:
        raise ConfigError(f"length '{length}' does not fit; accepted: 1 to {LONGEST_MATCH}")
    pre, post = np.full((length, length), 0.5), np.full(length, 0.5)
    # The arrays are filled while the table is in use: each entry needs those of fewer points only.
    table = MatchEquityTable(f"computed, gammon rate {gammon_rate:g}", pre, post)
    for away in range(2, length + 1):
        post[away - 1] = _post_crawford(table, away, gammon_rate)
        pre[away - 1, 0] = _won(0.5, gammon_rate, table, away, stake=1)
        pre[0, away - 1] = 1 - pre[away - 1, 0]
    half = gammon_rate / 2
    even = np.array([[0.5, half, 0.0, half, 0.0]])
    for far in range(2, length + 1):
        for near in range(2, far):
            situation = Situation(
                rules=Rules(match_to=length, cube_cap=None), mover_away=far, opp_away=near
            )
            value = static_root_value(cube_table(situation, 0, table), even, efficiency)
            pre[far - 1, near - 1] = (1 + value) / 2
            pre[near - 1, far - 1] = (1 - value) / 2
    return table


def _won(p: float, gammon_rate: float, table: MatchEquityTable, away: int, stake: int) -> float:
    """A trailer's chance if the leader, one away, wins the match unless he loses this game."""
    single, gammon = (table.mwc(away - stake * factor, 1, post_crawford=True) for factor in (1, 2))
    return p * ((1 - gammon_rate) * single + gammon_rate * gammon)


def _post_crawford(table: MatchEquityTable, away: int, gammon_rate: float) -> float:
    """The trailer doubles at once; the leader takes or drops, whichever is better for him."""
    passed = table.mwc(away - 1, 1, post_crawford=True)
    chances = [
        min(passed, _won(0.5 + edge, gammon_rate, table, away, stake=2))
        for edge in (-FIRST_TURN_EDGE, FIRST_TURN_EDGE)
    ]
    return sum(chances) / len(chances)
