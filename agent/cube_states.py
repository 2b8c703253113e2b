"""Values of all states of the cube beside a search: what its kernels are told, what they return."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.cube_judge import exact_equities_hold
from agent.cube_table import state_payoffs
from agent.cube_values import board_efficiency
from agent.kernels.cube import (
    CENTRED,
    OWNER,
    ROW,
    TURNABLE,
    WIN_1,
    CubeTable,
    combine_rows,
    cubeful_rows,
    new_cube_work,
)
from agent.situation import Situation
from engine.bearoff.arrays import BearoffArrays, equities_of_boards
from engine.board import Board

__all__ = ["NO_CUBE", "choice_weights", "doubling_values", "equities", "static_states"]

FloatArray = NDArray[np.float64]

NO_CUBE: Final = CubeTable(
    rows=0,
    levels=0,
    states=0,
    ratio=0.0,
    root=-1,
    root_doubled=-1,
    root_beavered=-1,
    offset=0.0,
    unit=1.0,
    payoff=np.zeros((0, 7)),
    plan=np.zeros((0, 5), dtype=np.int64),
)
"""A table without states, for searches that do not ask for cubeful values."""


def choice_weights(table: CubeTable) -> NDArray[np.float32]:
    """Weights `(2, 6)` of cubeless equity at the present stake, see `agent.kernels.value`.

    Of gammons as they count once the cube is turned: by Jacoby's rule they would count nothing
    before, but plays that win them still are the better ones (docs/cube.md has figures). Where
    nobody can turn it any more they count as they do now.
    """
    weights = np.empty((2, 6))
    can_turn = (table.payoff[[0, table.rows], TURNABLE] > 0).any()
    row = 0 if can_turn else table.plan[table.root, ROW]
    for side, sign in ((0, -1), (1, 1)):
        lose_bg, lose_g, lose, win, win_g, win_bg = table.payoff[side * table.rows + row, :6]
        weights[side] = [
            win - lose,
            win_g - win,
            win_bg - win_g,
            lose_g - lose,
            lose_bg - lose_g,
            lose + sign * table.offset,
        ]
    return np.asarray(weights / table.unit, dtype=np.float32)


def static_states(
    table: CubeTable,
    side: int,
    boards: Board,
    probs: ArrayLike,
    situation: Situation,
    tables: BearoffArrays | None,
) -> FloatArray:
    """Values `(B, S)` for the side on roll without a look ahead and without doubling now.

    boards: `(B, 26)` with `side` on roll, probs: theirs. Exact where the tables are.
    """
    p = np.ascontiguousarray(probs, dtype=np.float64)
    nd = np.empty((len(p), table.states))
    work = new_cube_work(table)  # type: ignore[no-untyped-call]
    cubeful_rows(table, side, p, board_efficiency(boards), work, nd)
    if tables is not None and exact_equities_hold(situation):
        exact = np.zeros((len(p), 3), dtype=np.float32)
        known = np.zeros(len(p), dtype=np.int8)
        equities_of_boards(tables, np.ascontiguousarray(boards), exact, known)
        for s in range(table.states):
            owner = int(table.plan[s, OWNER])
            place = 0 if owner == CENTRED else 1 if owner == side else 2
            stake = state_payoffs(table, s, side)[WIN_1]
            nd[known != 0, s] = stake * exact[known != 0, place]
    return nd


def doubling_values(table: CubeTable, side: int, nd: FloatArray) -> FloatArray:
    """Values `(B, S)` if the side on roll may double first, of those if it does not."""
    best = np.empty_like(nd)
    combine_rows(table, side, nd, best)
    return best


def equities(table: CubeTable, side: int, values: FloatArray) -> FloatArray:
    """Values of the present state, `(B,)` of `(B, S)`, in points per game and present stake.

    At a score their equivalent, as `agent.cube.CubeValues` has it. For the side they belong to.
    """
    offset = -table.offset if side == 0 else table.offset
    return np.asarray((values[:, table.root] + offset) / table.unit)
