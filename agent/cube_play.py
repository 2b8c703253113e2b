"""Cube decisions and cubeful plays of many positions at once, from their probabilities.

The model is that of `agent.cube` (docs/cube.md), so a bot decides in a game as `nardi cube` says.
Situations are one a row; rows whose situation is the same object are worked out together.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.cube_states import static_states
from agent.cube_table import may_double, state_payoffs
from agent.cube_values import board_efficiency, table_of, to_equity
from agent.kernels.cube import (
    LOSE_1,
    WIN_1,
    CubeTable,
    combine_rows,
    cubeful_rows,
    new_cube_work,
)
from agent.met import MatchEquityTable
from agent.situation import Situation
from engine.bearoff.arrays import BearoffArrays
from engine.board import Board, IntArray, pip_count
from engine.variant import variant_of

__all__ = [
    "BEAVER",
    "BEAVERED",
    "DECLINED",
    "DOUBLE_PASS",
    "DOUBLE_TAKE",
    "NO_DOUBLE",
    "PASS",
    "TAKE",
    "action_values",
    "answers_by",
    "beavers_accepted_by",
    "cube_values",
    "cubeful_worths",
    "doubles_by",
    "grouped",
    "pip_rule_answers",
    "pip_rule_doubles",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Answers = NDArray[np.int8]

PASS: Final = 0
TAKE: Final = 1
BEAVER: Final = 2

NO_DOUBLE, DOUBLE_TAKE, DOUBLE_PASS, BEAVERED, DECLINED = 0, 1, 2, 3, 4
"""Columns of `cube_values`: the last two are an accepted and a declined beaver."""

_TIE: Final = 1e-7  # as in `agent.cube`
_DOUBLE_LEAD, _REDOUBLE_LEAD, _TAKE_LEAD = 8, 9, 12  # per cent of the doubler's pips


def grouped(situations: Sequence[Situation]) -> Iterator[tuple[Situation, IntArray]]:
    """Each situation with its rows."""
    rows: dict[int, list[int]] = {}
    for row, situation in enumerate(situations):
        rows.setdefault(id(situation), []).append(row)
    for some in rows.values():
        yield situations[some[0]], np.array(some)


# --- by probabilities ---


def cube_values(
    probs: ArrayLike,
    boards: Board,
    situations: Sequence[Situation],
    met: MatchEquityTable | None = None,
    tables: BearoffArrays | None = None,
) -> FloatArray:
    """What each cube action is worth to the mover, `(B, 5)`; nan where it is not possible.

    probs: `(B, 5)` cumulative, the mover's, before he rolls; boards: `(B, 26)`; tables: of exact
    endings. In points per game and present stake, at a score their equivalent, as
    `agent.cube.CubeValues` has them, but for a beaver accepted and declined apart. Raises
    ConfigError as `agent.cube_table.cube_table` does.
    """
    p = np.asarray(probs, dtype=np.float64)
    values = np.full((len(p), 5), np.nan)
    for situation, rows in grouped(situations):
        table = table_of(situation, 0, met)
        nd = static_states(table, 0, boards[rows], p[rows], situation, tables)
        values[rows] = action_values(table, nd, situation)
    return values


def action_values(table: CubeTable, nd: FloatArray, situation: Situation) -> FloatArray:
    """The rows of `cube_values` from values `(B, S)` of all states without doubling now."""
    values = np.full((len(nd), 5), np.nan)
    values[:, NO_DOUBLE] = _equities(nd[:, table.root], table.offset, table.unit)
    if may_double(situation):
        taken = nd[:, table.root_doubled]
        values[:, DOUBLE_TAKE] = _equities(taken, table.offset, table.unit)
        values[:, DOUBLE_PASS] = to_equity(table, state_payoffs(table, table.root)[WIN_1])
        if table.root_beavered >= 0:
            accepted = nd[:, table.root_beavered]
            values[:, BEAVERED] = _equities(accepted, table.offset, table.unit)
            declined = state_payoffs(table, table.root_doubled)[LOSE_1]
            values[:, DECLINED] = to_equity(table, declined)
    return values


def _equities(values: FloatArray, offset: float, unit: float) -> FloatArray:
    return (values - offset) / unit


def cubeful_worths(
    opp_probs: ArrayLike,
    afterstates: Board,
    situations: Sequence[Situation],
    met: MatchEquityTable | None = None,
) -> FloatArray:
    """What afterstates are worth to those who have moved, `(M,)`, the opponent being on roll.

    opp_probs: `(M, 5)` of the opponents, who may double first; afterstates: `(M, 26)` seen by the
    movers, as are the situations. In points per game and present stake, or their equivalent.
    """
    p = np.ascontiguousarray(opp_probs, dtype=np.float64)
    worths = np.empty(len(p))
    for situation, rows in grouped(situations):
        table = table_of(situation, 0, met)
        opp_boards = variant_of(situation.rules).flip(afterstates[rows])
        nd = np.empty((len(rows), table.states))
        best = np.empty_like(nd)
        work = new_cube_work(table)  # type: ignore[no-untyped-call]
        cubeful_rows(table, 1, p[rows], board_efficiency(opp_boards), work, nd)
        combine_rows(table, 1, nd, best)
        worths[rows] = _equities(-best[:, table.root], table.offset, table.unit)
    return worths


def doubles_by(values: FloatArray, situations: Sequence[Situation]) -> BoolArray:
    """Whether the movers double, `(B,)`, by `cube_values`; never where they could not gain."""
    doubled = np.fmin(_taken(values), values[:, DOUBLE_PASS])
    better = doubled >= values[:, NO_DOUBLE] - _TIE  # False for nan
    return np.asarray(better & _has_use(situations))


def answers_by(values: FloatArray) -> Answers:
    """PASS, TAKE or BEAVER of the opponents of those who have doubled, `(B,)`."""
    takes = values[:, DOUBLE_TAKE] <= values[:, DOUBLE_PASS] + _TIE
    beavers = takes & (_beavered(values) < values[:, DOUBLE_TAKE] - _TIE)
    return np.where(beavers, BEAVER, np.where(takes, TAKE, PASS)).astype(np.int8)


def beavers_accepted_by(values: FloatArray) -> BoolArray:
    """Whether those who have doubled and were beavered play on, `(B,)`."""
    return np.asarray(values[:, BEAVERED] >= values[:, DECLINED])


def _beavered(values: FloatArray) -> FloatArray:
    """The better of playing on and of declining; nan where there is no beaver."""
    return np.asarray(np.fmax(values[:, BEAVERED], values[:, DECLINED]))


def _taken(values: FloatArray) -> FloatArray:
    """Worth of a double that is not passed."""
    beavers = answers_by(values) == BEAVER
    return np.where(beavers, _beavered(values), values[:, DOUBLE_TAKE])


def _has_use(situations: Sequence[Situation]) -> BoolArray:
    """Whether the movers may double and could gain by it, `(B,)`."""
    return _of_each(situations, lambda s: may_double(s) and not _is_dead(s))


def _is_dead(situation: Situation) -> bool:
    away = situation.mover_away
    return away is not None and away <= situation.cube_value


def _of_each(
    situations: Sequence[Situation], test: Callable[[Situation], bool]
) -> NDArray[np.bool_]:
    found = np.zeros(len(situations), dtype=np.bool_)
    for situation, rows in grouped(situations):
        found[rows] = test(situation)
    return found


# --- by pips, for bots that know no probabilities ---


def pip_rule_doubles(boards: Board, situations: Sequence[Situation]) -> BoolArray:
    """Whether the movers double, `(B,)`: 8 % ahead in pips, 9 % if they redouble.

    Source: the old rule of thumb for races ("8-9-12"), of the doubler's pips; here it is used with
    contact, too, and at any score, but never for a double that cannot gain.
    """
    own, lead = _pips(boards, situations)
    redoubles = _of_each(situations, lambda s: s.cube_owner == "mover")
    needed = np.where(redoubles, _REDOUBLE_LEAD, _DOUBLE_LEAD)
    return np.asarray((100 * lead >= needed * own) & _has_use(situations))


def pip_rule_answers(boards: Board, situations: Sequence[Situation]) -> Answers:
    """TAKE if the doublers, who see the boards, are at most 12 % ahead in pips, else PASS."""
    own, lead = _pips(boards, situations)
    return np.where(100 * lead <= _TAKE_LEAD * own, TAKE, PASS).astype(np.int8)


def _pips(boards: Board, situations: Sequence[Situation]) -> tuple[IntArray, IntArray]:
    """Pips of the movers, and by how many they are ahead."""
    if len(boards) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    own = np.asarray(pip_count(boards), dtype=np.int64)
    opp = np.asarray(pip_count(variant_of(situations[0].rules).flip(boards)), dtype=np.int64)
    return own, opp - own
