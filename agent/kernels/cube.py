"""Cubeful values by Janowski's interpolation, for every state of the cube, at money and any score.

A *state* tells how high the cube stands and who owns it: side 0 (the one on roll at the root of a
search), side 1, or nobody (2). Owners are absolute, so a state keeps its number when the turn
passes; only the `side` that is on roll, and sees the values, changes. Values are zero-sum: what a
state is worth to one side is minus what it is worth to the other.

How a search uses this, for a node with `side` on roll:

    leaf      `static_values`, then `combine`
    inside    nd[s] = mean over the rolls of -best child's value of state s (seen by the other side)
              then `combine`

`nd` is the value if this side does not double now, `combine` gives the one if it may. Call them
from a bare kernel: where arrays are counted, each `table.…` costs more than the arithmetic.
"""

from collections import namedtuple

import numpy as np

from engine.compiled import bare_kernel, inlined_kernel

__all__ = [
    "BEAVERED",
    "CENTRED",
    "DOUBLED",
    "LEVEL",
    "LOSE_1",
    "OWNER",
    "ROW",
    "TURNABLE",
    "WIN_1",
    "CubeTable",
    "combine",
    "combine_rows",
    "cube_efficiency",
    "cubeful_rows",
    "doubled_value",
    "new_cube_work",
    "static_values",
]

CubeTable = namedtuple(
    "CubeTable",
    "rows levels states ratio root root_doubled root_beavered offset unit payoff plan",
)
"""Every state of the cube that can come up. S states, L levels (0 = the cube now, 1 = turned once,
...), R rows of payoffs (one a level, and one more for a centred cube under Jacoby's rule):

rows, levels, states int: R, L, S
ratio float: last level's raise if the cube may be turned for ever; 0 = the last level is dead
root, root_doubled, root_beavered int: the state now; after a double of side 0 (also one that is
    never right, -1 only if it is illegal); after a beaver
offset, unit float: (value - offset) / unit is the equity of side 0 in points per present stake;
    for side 1 it is (value + offset) / unit. At a score values are 2 * match-winning chance - 1.
payoff (2 * R, 7) float64, row side * R + r: worth to `side` of losing 3, 2, 1 and winning 1, 2, 3
    (backgammon, gammon, single), columns LOSE_1 and WIN_1 being also what passing a double costs
    and wins; then TURNABLE: 1 if `side` could gain by turning a cube at level r, else 0
plan (2 * S, 5) int64, row side * S + s: the state's row of payoffs (ROW), its LEVEL, its OWNER, and
    the states that follow if `side` on roll doubles: DOUBLED if it is taken, -1 if `side` may not
    or never should double; BEAVERED, -1 if it cannot be beavered"""

CENTRED = 2
LOSE_1, WIN_1, TURNABLE = 2, 3, 6
ROW, LEVEL, OWNER, DOUBLED, BEAVERED = 0, 1, 2, 3, 4

_EFFICIENCY = 0.68
_SHORT_RACE = 0.6
_SHORT_RACE_PIPS = 40
_RACE_SLOPE = 0.00125
_LONG_RACE = 0.7


def new_cube_work(table):
    """Scratch of one thread, `(2 * R + 2 * L,)` float64."""
    return np.zeros(2 * (table.rows + table.levels))


@inlined_kernel
def cube_efficiency(is_race, pips):
    """How live the cube is, from 0 (dead) to 1; pips: those of the side on roll."""
    efficiency = _EFFICIENCY
    if is_race:
        efficiency = _SHORT_RACE + _RACE_SLOPE * max(pips - _SHORT_RACE_PIPS, 0)
        efficiency = min(efficiency, _LONG_RACE)
    return efficiency


@inlined_kernel
def _see_payoffs(payoff, n_rows, side, probs, row, work):
    """Mean worth of a win (work[r]) and of a loss (work[R + r]) to `side`, for each row r."""
    win = np.float64(probs[row, 0])
    lose = 1.0 - win
    w2, w3 = 0.0, 0.0
    l2, l3 = 0.0, 0.0
    if win > 0.0:
        w2 = min(probs[row, 1] / win, 1.0)
        w3 = min(probs[row, 2] / win, w2)
    if lose > 0.0:
        l2 = min(probs[row, 3] / lose, 1.0)
        l3 = min(probs[row, 4] / lose, l2)
    for r in range(n_rows):
        i = side * n_rows + r
        work[r] = (1.0 - w2) * payoff[i, 3] + (w2 - w3) * payoff[i, 4] + w3 * payoff[i, 5]
        work[n_rows + r] = (1.0 - l2) * payoff[i, 2] + (l2 - l3) * payoff[i, 1] + l3 * payoff[i, 0]


@inlined_kernel
def _take_point(low, passed, high, at):
    """Where the line from `low` at 0 to `high` at `at` reaches the worth of passing."""
    span = high - low
    point = 0.0
    if span > 1e-12:
        point = min(max(at * (passed - low) / span, 0.0), 1.0)
    return point


@inlined_kernel
def _see_cash_points(payoff, n_rows, n_levels, ratio, side, work):
    """The winning chances at which each side cashes with a fully live cube, for each level.

    They go to work[2R + l] for `side` and to work[2R + L + l] for the other, each as a chance of
    the one who doubles; solved from the last level down, since the one who takes owns the next.
    """
    own_cash = 2 * n_rows
    opp_cash = own_cash + n_levels
    last = n_levels - 1
    own, opp = side * n_rows, (1 - side) * n_rows
    at_own, at_opp = 1.0, 1.0  # cash points of the level above
    if ratio > 0.0:  # the same at all higher levels, so that each point fixes the other
        single = payoff[own + last, WIN_1]
        won = ratio * work[last] / single
        lost = -ratio * work[n_rows + last] / single
        opp_take = (won - 1.0) / (ratio + won)
        own_take = (lost - 1.0) / (ratio + lost)
        both = 1.0 - own_take * opp_take
        at_own = 1.0 - opp_take * (1.0 - own_take) / both
        at_opp = 1.0 - own_take * (1.0 - opp_take) / both
    work[own_cash + last] = at_own
    work[opp_cash + last] = at_opp
    for back in range(1, n_levels):
        n = last - back
        own_now, own_next = own + n, own + n + 1
        opp_now, opp_next = opp + n, opp + n + 1
        below_own, below_opp = 1.0, 1.0
        if payoff[own_now, TURNABLE] > 0.0:
            high = -work[n_rows + n + 1]
            if payoff[opp_next, TURNABLE] > 0.0:
                high = payoff[opp_next, WIN_1]
            below_own -= _take_point(-work[n + 1], payoff[opp_now, LOSE_1], high, at_opp)
        if payoff[opp_now, TURNABLE] > 0.0:
            high = work[n + 1]
            if payoff[own_next, TURNABLE] > 0.0:
                high = payoff[own_next, WIN_1]
            below_opp -= _take_point(work[n_rows + n + 1], payoff[own_now, LOSE_1], high, at_own)
        at_own, at_opp = below_own, below_opp
        work[own_cash + n] = at_own
        work[opp_cash + n] = at_opp


@inlined_kernel
def _state_value(payoff, n_rows, n_levels, side, r, n, owner, win, efficiency, work):
    """Value for `side` of a state with row r, level n: between a dead cube and a fully live one."""
    own = side * n_rows
    own_turns = payoff[own + n, TURNABLE] > 0.0
    opp_turns = payoff[(1 - side) * n_rows + n, TURNABLE] > 0.0
    x_low, low = 0.0, work[n_rows + r]
    x_high, high = 1.0, work[r]
    dead = win * high + (1.0 - win) * low
    if owner != side and opp_turns:
        # At a score where the cube as it stands wins the match for `side`, the other has nothing to
        # lose by turning it and will do so at once: his cube is fully live.
        if not own_turns:
            efficiency = 1.0
        cash = 1.0 - work[2 * n_rows + n_levels + n]  # the other doubles us out
        lost = payoff[own + r, LOSE_1]
        if win < cash:
            x_high, high = cash, lost
        else:
            x_low, low = cash, lost
    if owner != 1 - side and own_turns:
        cash = work[2 * n_rows + n]
        won = payoff[own + r, WIN_1]
        if win > cash:
            x_low, low = cash, won
        elif x_high > cash:
            x_high, high = cash, won
    live = (low + high) / 2
    if x_high - x_low > 1e-12:
        live = low + (high - low) * (win - x_low) / (x_high - x_low)
    return dead + efficiency * (live - dead)


@inlined_kernel
def static_values(table, side, probs, row, efficiency, work, out, out_row):
    """Values of all states for `side`, on roll, without a look ahead and without doubling now.

    probs: (B, 5) cumulative, of which `row` is judged; out: (B, S) float64, filled at `out_row`;
    work: of `new_cube_work`. Nothing is checked.
    """
    payoff, plan = table.payoff, table.plan
    n_rows, n_levels = table.rows, table.levels
    _see_payoffs(payoff, n_rows, side, probs, row, work)
    _see_cash_points(payoff, n_rows, n_levels, table.ratio, side, work)
    win = np.float64(probs[row, 0])
    for s in range(table.states):
        r, n, owner = plan[s, ROW], plan[s, LEVEL], plan[s, OWNER]
        out[out_row, s] = _state_value(
            payoff, n_rows, n_levels, side, r, n, owner, win, efficiency, work
        )


@inlined_kernel
def doubled_value(table, side, s, nd, row):
    """What a taken or beavered double by `side` in state s is worth to it; s must be doublable.

    The other side chooses the beaver if that is worse for `side`, which may decline it and lose
    the stake it has offered.
    """
    i = side * table.states + s
    taken, beaver = table.plan[i, DOUBLED], table.plan[i, BEAVERED]
    value = nd[row, taken]
    if beaver >= 0:
        declined = table.payoff[side * table.rows + table.plan[taken, ROW], LOSE_1]
        value = min(value, max(nd[row, beaver], declined))
    return value


@inlined_kernel
def combine(table, side, nd, row, out, out_row):
    """Values of all states for `side` on roll, which doubles where that is best.

    nd: (B, S) values without doubling now, of which `row` is taken; out may not be the same row.
    """
    for s in range(table.states):
        value = nd[row, s]
        if table.plan[side * table.states + s, DOUBLED] >= 0:
            passed = table.payoff[side * table.rows + table.plan[s, ROW], WIN_1]
            value = max(value, min(doubled_value(table, side, s, nd, row), passed))
        out[out_row, s] = value


@bare_kernel
def cubeful_rows(table, side, probs, efficiency, work, out):
    """`static_values` of many rows: probs (B, 5), efficiency (B,) float64, out (B, S)."""
    for i in range(probs.shape[0]):
        static_values(table, side, probs, i, efficiency[i], work, out, i)


@bare_kernel
def combine_rows(table, side, nd, out):
    """`combine` of many rows: nd (B, S) into out (B, S), which must be another array."""
    for i in range(nd.shape[0]):
        combine(table, side, nd, i, out, i)
