"""Cubeful values of positions from their five probabilities, one or a batch at a time.

The model is Janowski's, in `agent.kernels.cube`; docs/cube.md tells it with its sources. A search
uses the kernels itself.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.cube_table import cube_table, state_payoffs
from agent.kernels.cube import (
    CubeTable,
    combine_rows,
    cube_efficiency,
    cubeful_rows,
    new_cube_work,
)
from agent.met import MatchEquityTable
from agent.situation import Situation
from engine.board import has_contact, pip_count

__all__ = [
    "CONTACT_EFFICIENCY",
    "board_efficiency",
    "cubeful_equities",
    "cubeful_equity",
    "cubeless_equity_at",
    "mwc_of",
    "static_root_value",
    "static_values_of",
    "table_of",
    "to_equity",
]

FloatArray = NDArray[np.float64]

CONTACT_EFFICIENCY: Final = 0.68


def board_efficiency(boards: ArrayLike) -> FloatArray:
    """How live the cube is on each board, `(...)` float64 for `(..., 26)`, seen by side on roll.

    0.68 with contact; in races 0.6 up to 40 pips of the side on roll, 0.00125 more for each pip
    beyond, at most 0.7. Source: the values that reproduce GNU Backgammon's figures.
    """
    own = np.asarray(boards, dtype=np.int8)
    race = ~np.asarray(has_contact(own))
    pips = np.asarray(pip_count(own))
    flat = [
        cube_efficiency.py_func(bool(is_race), int(n))
        for is_race, n in zip(race.reshape(-1), pips.reshape(-1), strict=True)
    ]
    return np.array(flat, dtype=np.float64).reshape(race.shape)


@lru_cache(maxsize=256)
def table_of(
    situation: Situation, plies: int = 0, met: MatchEquityTable | None = None
) -> CubeTable:
    """`agent.cube_table.cube_table`, kept for the situations asked for last."""
    return cube_table(situation, plies, met)


def cubeful_equities(
    probs: ArrayLike,
    situation: Situation,
    efficiency: ArrayLike = CONTACT_EFFICIENCY,
    met: MatchEquityTable | None = None,
) -> FloatArray:
    """Worth of each row to the side on roll, who may double first if the rules let him; `(B,)`.

    probs: `(B, 5)` cumulative, of the situation's mover, who is on roll; efficiency: `(B,)` or one
    for all. In points per game and present stake; at a score the equivalent, as `CubeDecision`
    tells. The worth of a play is minus that of its afterstate to the opponent, so its argument is
    `situation.flipped()`. Raises ConfigError as `cube_table` does.
    """
    table = table_of(situation, 0, met)
    nd = static_values_of(table, probs, efficiency)
    best = np.empty_like(nd)
    combine_rows(table, 0, nd, best)
    return np.asarray((best[:, table.root] - table.offset) / table.unit)


def cubeful_equity(
    probs: ArrayLike,
    situation: Situation,
    efficiency: float = CONTACT_EFFICIENCY,
    met: MatchEquityTable | None = None,
) -> float:
    """`cubeful_equities` of one position, probs `(5,)`."""
    return float(cubeful_equities(np.asarray(probs)[None], situation, efficiency, met)[0])


def cubeless_equity_at(
    probs: ArrayLike, situation: Situation, met: MatchEquityTable | None = None
) -> float:
    """Worth of `(5,)` probabilities if nobody turned the cube any more, in the same unit."""
    table = table_of(situation, 0, met)
    win, win_g, win_bg, lose_g, lose_bg = (float(p) for p in np.asarray(probs))
    shares = (lose_bg, lose_g - lose_bg, 1 - win - lose_g, win - win_g, win_g - win_bg, win_bg)
    row = state_payoffs(table, table.root)
    value = sum(share * float(worth) for share, worth in zip(shares, row, strict=True))
    return to_equity(table, value)


def static_values_of(table: CubeTable, probs: ArrayLike, efficiency: ArrayLike) -> FloatArray:
    """Values of all states for side 0 on roll, without doubling now, `(B, S)`."""
    p = np.ascontiguousarray(probs, dtype=np.float64)
    x = np.array(np.broadcast_to(np.asarray(efficiency, dtype=np.float64), len(p)))
    nd = np.empty((len(p), table.states))
    work = new_cube_work(table)  # type: ignore[no-untyped-call]
    cubeful_rows(table, 0, p, x, work, nd)
    return nd


def static_root_value(table: CubeTable, probs: ArrayLike, efficiency: float) -> float:
    """What the table's present state is worth to side 0 on roll, without doubling now.

    probs: `(1, 5)`. In the table's own unit: points, or 2 * match-winning chance - 1.
    """
    return float(static_values_of(table, probs, efficiency)[0, table.root])


def to_equity(table: CubeTable, value: float) -> float:
    """A value of side 0 in points per game and present stake, or their equivalent at a score."""
    return float((value - table.offset) / table.unit)


def mwc_of(table: CubeTable, equity: float) -> float:
    """The mover's chance to win the match at an equity, of the table of a match."""
    return float(table.offset + 1 + equity * table.unit) / 2
