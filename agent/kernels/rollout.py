"""Compiled rollouts: a position played to its end many times over, one trial after the other.

A trial is a game by the net from a position before the roll, with dice of its own, until the game
is over, an exact table knows its value, so many plies are played, or a double is passed. Whatever a
trial comes to is told for side 0, whoever was on roll when it began.

Luck: after a roll r the net's choice, of the plays that a sorter leaves, is worth v(r), and v has a
known mean over the 21 rolls. What is taken off a trial is the sum, over its rolls, of v(r) minus
that mean. Its own mean is 0 whatever the net and the sorter are worth, so that results keep theirs
while most of their spread goes. What is played is chosen among all plays.

The cube is a table of states (`agent.kernels.cube`); without one there is a single state.

What calls the search is inlined into one function: everything below a call is optimized anew in
each compiled function above it, which took a minute.
"""

from collections import namedtuple

import numpy as np

from agent.kernels.boards import RACE, board_kind, see_board
from agent.kernels.cube import (
    BEAVERED,
    CENTRED,
    DOUBLED,
    LEVEL,
    LOSE_1,
    OWNER,
    ROW,
    TURNABLE,
    WIN_1,
    CubeTable,
    combine,
    cube_efficiency,
    new_cube_work,
    static_values,
)
from agent.kernels.parent import set_parent
from agent.kernels.replies import Nets, best_replies, find_plays
from agent.kernels.tree import means_of_rolls, roll_values
from agent.kernels.value import boards_probs, equity_of, evaluate_children
from engine.bearoff.arrays import HOME, TWO_SIDED, coverage
from engine.bearoff.ranks import opp_rank, own_rank
from engine.compiled import bare_kernel, inlined_kernel
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.dice_stream import next_die
from engine.play_codes import MAX_PLAYS, apply_code, code_num_steps, code_source, code_step_die
from engine.sides import flip_in_place

__all__ = ["ENDS", "MAX_PLIES", "Plan", "Scratch", "new_scratch_of_trials", "play_trials"]

ENDS = ("finished", "exact", "truncated", "passed")
"""How a trial ended, by its number: the game was over, an exact table knew its value, it was cut
and valued by the net, a double was passed or a beaver declined."""
# Rolls and row of `roll_values`, for which bare numbers would have it compiled once more.
_FIRST, _LAST = np.int64(0), np.int64(21)
_FINISHED, _EXACT, _TRUNCATED, _PASSED = 0, 1, 2, 3
_SHORT = np.int64(0)  # `is_long` where there is a cube

MAX_PLIES = 5_000
"""Longer trials are cut; random nets alone come so far."""

Plan = namedtuple(
    "Plan",
    "board side state may_double truncate with_luck ply counts windows has_cube exact",
)
"""What is played: board (26,) int8 seen by the side on roll; side int: which one that is, 0 or 1;
state int: of the cube table; may_double bool: whether he may double before the first roll; truncate
int: plies after which a trial is cut, -1 = never; with_luck bool: whether luck is taken off; ply
int: depth at which plays are chosen and cut trials valued; counts, windows: of the move filter;
has_cube bool; exact bool: whether the tables' exact values end a trial."""

Scratch = namedtuple(
    "Scratch",
    "boards after seen codes probs current chosen nd best cube_work luck mean thrown one board"
    " plays equity off passed rows",
)
"""What one thread writes to; see `new_scratch_of_trials`."""


def new_scratch_of_trials(cube: CubeTable) -> Scratch:
    """Scratch of one thread."""
    return Scratch(
        np.zeros((1, 26), dtype=np.int64),
        np.zeros((1, 26), dtype=np.int64),
        np.zeros((1, 28), dtype=np.int64),
        np.zeros((1, 21), dtype=np.int64),
        np.zeros((1, 21, 5), dtype=np.float32),
        np.zeros((1, 5), dtype=np.float32),
        np.zeros((1, 5), dtype=np.float32),
        np.zeros((1, cube.states)),
        np.zeros((1, cube.states)),
        new_cube_work(cube),
        np.zeros(6),
        np.zeros(6),
        np.zeros(6),
        np.zeros(6),
        np.zeros(26, dtype=np.int8),
        np.zeros(MAX_PLAYS, dtype=np.int64),
        np.zeros(MAX_PLAYS, dtype=np.float32),
        np.zeros(MAX_PLAYS, dtype=np.int64),
        np.zeros(MAX_PLAYS, dtype=np.int64),
        np.zeros((1, 21, 5), dtype=np.float32),
    )


@inlined_kernel
def _play_and_flip(boards, after, code, high, low, is_long):
    """The board after a play, seen by the other side; boards and after: (1, 26)."""
    w = after[0]
    for slot in range(26):
        w[slot] = boards[0, slot]
    apply_code(w, code, high, low)
    flip_in_place(w, is_long)


@inlined_kernel
def _is_finished(boards):
    own = np.int64(boards[0, 25])
    opponent = np.int64(boards[0, 0])
    for slot in range(1, 25):
        own += max(boards[0, slot], 0)
        opponent += max(-boards[0, slot], 0)
    return own == 0 or opponent == 0


@inlined_kernel
def _see_for_side_0(probs, row, side, value, seen):
    """Five probabilities and a value of a side, as side 0 sees them, to seen[:6]."""
    if side == 0:
        for k in range(5):
            seen[k] = probs[row, k]
        seen[5] = value
    else:
        seen[0] = 1.0 - np.float64(probs[row, 0])
        seen[1] = probs[row, 3]
        seen[2] = probs[row, 4]
        seen[3] = probs[row, 1]
        seen[4] = probs[row, 2]
        seen[5] = -value


@bare_kernel
def _see_states(cube, has_cube, boards, finished, side, probs, row, seen, cube_work, nd):
    """Values of all states of the cube for `side` on roll, without doubling now, to nd[0]."""
    efficiency = 0.0
    if has_cube and not finished:
        see_board(boards, 0, seen, 0)
        pips = 25 * seen[0, 25]
        for point in range(1, 25):
            pips += point * max(seen[0, point], 0)
        efficiency = cube_efficiency(board_kind(seen, 0, _SHORT) == RACE, pips)
    static_values(cube, side, probs, row, efficiency, cube_work, nd, 0)


@inlined_kernel
def _value_of_states(cube, side, state, may_double, nd, best):
    """Value of a state for `side` on roll, which doubles first where it may and that is best."""
    value = nd[0, state]
    if may_double:
        combine(cube, side, nd, 0, best, 0)
        value = best[0, state]
    return value


@inlined_kernel
def _see_exact_states(cube, tables, boards, side, nd):
    """The tables' values of all states of the cube, as `_see_states` has them."""
    own = own_rank(boards, 0, HOME)
    opponent = opp_rank(boards, 0, HOME)
    for s in range(cube.states):
        owner = cube.plan[s, OWNER]
        column = 1 if owner == side else 2
        if owner == CENTRED:
            column = 0
        stake = cube.payoff[side * cube.rows + cube.plan[s, ROW], WIN_1]
        nd[0, s] = stake * np.float64(tables.cubeful[own, opponent, column])


@inlined_kernel
def _set_weights(cube, state, weights):
    """Choose plays by what wins and losses count at a state of the cube, in units of its stake.

    Gammons as they count once the cube is turned, as in `agent.cube_states.choice_weights`.
    """
    level = cube.plan[state, LEVEL]
    row = level
    if cube.payoff[level, TURNABLE] == 0 and cube.payoff[cube.rows + level, TURNABLE] == 0:
        row = cube.plan[state, ROW]
    for side in range(2):
        i = side * cube.rows + row
        unit = (cube.payoff[i, WIN_1] - cube.payoff[i, LOSE_1]) / 2
        weights[side, 0] = (cube.payoff[i, 3] - cube.payoff[i, 2]) / unit
        weights[side, 1] = (cube.payoff[i, 4] - cube.payoff[i, 3]) / unit
        weights[side, 2] = (cube.payoff[i, 5] - cube.payoff[i, 4]) / unit
        weights[side, 3] = (cube.payoff[i, 1] - cube.payoff[i, 2]) / unit
        weights[side, 4] = (cube.payoff[i, 0] - cube.payoff[i, 1]) / unit
        weights[side, 5] = cube.payoff[i, 2] / unit


@inlined_kernel
def _after_cube_action(cube, side, state, nd):
    """The state after the cube actions of `side`, on roll, and of the other, by the values nd.

    -1 if a double is passed, -2 if a beaver is declined.
    """
    i = side * cube.states + state
    taken = cube.plan[i, DOUBLED]
    after = state
    if taken >= 0:
        passed = cube.payoff[side * cube.rows + cube.plan[state, ROW], WIN_1]
        worth = nd[0, taken]
        reached = taken
        beaver = cube.plan[i, BEAVERED]
        if beaver >= 0:
            declined = cube.payoff[side * cube.rows + cube.plan[taken, ROW], LOSE_1]
            if max(nd[0, beaver], declined) < worth:
                worth = max(nd[0, beaver], declined)
                reached = beaver if nd[0, beaver] >= declined else -2
        if min(worth, passed) >= nd[0, state]:
            after = -1 if worth > passed else reached
    return after


@bare_kernel
def _add_luck(cube, has_cube, scratch, side, state, roll):
    """Add the luck of a roll, for side 0, to scratch.luck; the plays of all rolls are known."""
    mean = scratch.mean
    thrown = scratch.thrown
    one = scratch.one
    luck = scratch.luck
    other = 1 - side
    for k in range(6):
        mean[k] = 0.0
    for r in range(21):
        finished = False
        if has_cube:
            high = np.int64(ROLLS[r, 0])
            low = np.int64(ROLLS[r, 1])
            _play_and_flip(scratch.boards, scratch.after, scratch.codes[0, r], high, low, _SHORT)
            finished = _is_finished(scratch.after)
        _see_states(
            cube,
            has_cube,
            scratch.after,
            finished,
            other,
            scratch.probs[0],
            r,
            scratch.seen,
            scratch.cube_work,
            scratch.nd,
        )
        may_double = has_cube and not finished
        value = _value_of_states(cube, other, state, may_double, scratch.nd, scratch.best)
        _see_for_side_0(scratch.probs[0], r, other, value, one)
        weight = ROLL_WEIGHTS[r]
        for k in range(6):
            mean[k] += weight * one[k]
        if r == roll:
            for k in range(6):
                thrown[k] = one[k]
    for k in range(6):
        luck[k] += thrown[k] - mean[k] / 36


@inlined_kernel
def _sort_plays(passed, n, equity, off):
    """Order play numbers: the best first, of equals the one with more checkers off, then the
    lower number."""
    for i in range(1, n):
        play = passed[i]
        place = i
        while place > 0:
            other = passed[place - 1]
            before = equity[play] > equity[other]
            if equity[play] == equity[other]:
                before = off[play] > off[other] or (off[play] == off[other] and play < other)
            if not before:
                break
            passed[place] = other
            place -= 1
        passed[place] = play


@inlined_kernel
def _with_generation(nets, generation):
    return Nets(
        nets.contact,
        nets.race,
        nets.small_contact,
        nets.small_race,
        nets.keep,
        nets.window,
        nets.weights,
        nets.two_sided,
        nets.switches,
        generation,
        nets.table,
        nets.exact_cube,
    )


@inlined_kernel
def _choose(nets, room, plan, scratch, side, high, low):
    """Play of the highest equity at the plan's depth, as `agent.search` chooses it; its code.

    The net looks at all plays first, whatever the sorter would leave: what a sorter misses would
    be missed on every ply, and always by the same side.

    The net's probabilities of the position after it, of the other side, go to scratch.chosen.
    """
    w = scratch.boards[0]
    plays = scratch.plays
    equity = scratch.equity
    off = scratch.off
    passed = scratch.passed
    work = room.work
    n = find_plays(w, high, low, nets.switches, room.tree.scratch)
    for i in range(n):
        plays[i] = room.tree.scratch[1, i]
    set_parent(w, work.is_long, work.seen, work.state)
    evaluate_children(nets.contact, nets.race, plays, n, high, low, nets.weights, 1 - side, work)
    for i in range(n):
        equity[i] = work.equity[i]
        off[i] = 0
        for step in range(code_num_steps(plays[i])):
            target = code_source(plays[i], step) - code_step_die(plays[i], step, high, low)
            off[i] += np.int64(target <= 0)
        passed[i] = i
    _sort_plays(passed, n, equity, off)
    n_passed = n
    for depth in range(1, plan.ply + 1):
        least = equity[passed[0]] - plan.windows[depth - 1]
        near = 0
        while near < min(n_passed, plan.counts[depth - 1]) and equity[passed[near]] >= least:
            near += 1
        n_passed = near
        if n_passed == 1:
            break
        for i in range(n_passed):
            play = passed[i]
            _play_and_flip(scratch.boards, scratch.after, plays[play], high, low, work.is_long)
            if _is_finished(scratch.after):
                continue
            for slot in range(26):
                scratch.board[slot] = scratch.after[0, slot]
            roll_values(
                nets, room, scratch.board, 1 - side, depth, _FIRST, _LAST, scratch.rows, _FIRST
            )
            means_of_rolls(scratch.rows, scratch.chosen)
            equity[play] = -equity_of(scratch.chosen, 0, nets.weights, 1 - side)
        _sort_plays(passed, n_passed, equity, off)
    best = passed[0]
    if plan.ply == 0:
        for k in range(5):
            scratch.chosen[0, k] = work.probs[best, k]
    else:
        # Looking ahead has used the scratch that they were in.
        _play_and_flip(scratch.boards, scratch.after, plays[best], high, low, work.is_long)
        boards_probs(nets.contact, nets.race, scratch.after, work, scratch.chosen)
    return plays[best]


@inlined_kernel
def _value_of_cut(nets, room, plan, scratch, side):
    """Probabilities at the plan's depth of the position that is on the board, to current."""
    if plan.ply > 0:
        for slot in range(26):
            scratch.board[slot] = scratch.boards[0, slot]
        roll_values(nets, room, scratch.board, side, plan.ply, _FIRST, _LAST, scratch.rows, _FIRST)
        means_of_rolls(scratch.rows, scratch.current)


@inlined_kernel
def _play_trial(nets, room, cube, plan, scratch, throws, dice, trial, out, ends, plies):
    tables = room.work.tables
    boards = scratch.boards
    current = scratch.current  # probabilities of the position on the board, for the side on roll
    nd = scratch.nd
    codes = scratch.codes
    has_cube = plan.has_cube
    side = plan.side
    state = plan.state
    for slot in range(26):
        boards[0, slot] = plan.board[slot]
    for k in range(6):
        scratch.luck[k] = 0.0
    _set_weights(cube, state, nets.weights)
    boards_probs(nets.contact, nets.race, boards, room.work, current)
    n = 0
    while True:
        may_double = has_cube and (n > 0 or plan.may_double)
        finished = _is_finished(boards)
        exact = not finished and plan.exact and coverage(boards, 0) == TWO_SIDED
        cut = not finished and not exact and (n == plan.truncate or n >= MAX_PLIES)
        if exact:
            for k in range(5):
                current[0, k] = 0
            current[0, 0] = tables.win[own_rank(boards, 0, HOME), opp_rank(boards, 0, HOME)]
        if cut:
            _value_of_cut(
                _with_generation(nets, nets.generation + state), room, plan, scratch, side
            )
        if exact and has_cube:
            _see_exact_states(cube, tables, boards, side, nd)
        else:
            _see_states(
                cube,
                has_cube,
                boards,
                finished,
                side,
                current,
                0,
                scratch.seen,
                scratch.cube_work,
                nd,
            )
        if finished or exact or cut:
            may_double = may_double and not finished
            value = _value_of_states(cube, side, state, may_double, nd, scratch.best)
            ends[trial] = _FINISHED if finished else _EXACT if exact else _TRUNCATED
            break
        if may_double:
            after = _after_cube_action(cube, side, state, nd)
            if after < 0:
                row = cube.plan[state, ROW]
                value = cube.payoff[side * cube.rows + row, WIN_1]
                if after == -2:
                    row = cube.plan[cube.plan[side * cube.states + state, DOUBLED], ROW]
                    value = cube.payoff[side * cube.rows + row, LOSE_1]
                ends[trial] = _PASSED
                break
            if after != state:
                state = after
                _set_weights(cube, state, nets.weights)
        if n < 2:
            die_a = throws[trial, n] // 6 + 1
            die_b = throws[trial, n] % 6 + 1
        else:
            die_a = next_die(dice, trial)
            die_b = next_die(dice, trial)
        high = max(die_a, die_b)
        low = min(die_a, die_b)
        roll = high * (high - 1) // 2 + low - 1
        all_known = plan.ply == 0 and nets.keep == 0
        if plan.with_luck or all_known:
            from_roll = 0 if plan.with_luck else roll
            to_roll = 21 if plan.with_luck else roll + 1
            best_replies(nets, room, boards, 0, side, from_roll, to_roll, codes, scratch.probs)
        if plan.with_luck:
            _add_luck(cube, has_cube, scratch, side, state, roll)
        if all_known:
            code = codes[0, roll]
            for k in range(5):
                current[0, k] = scratch.probs[0, roll, k]
        else:
            code = _choose(
                _with_generation(nets, nets.generation + state),
                room,
                plan,
                scratch,
                side,
                high,
                low,
            )
            for k in range(5):
                current[0, k] = scratch.chosen[0, k]
        _play_and_flip(boards, scratch.after, code, high, low, nets.switches.is_long)
        for slot in range(26):
            boards[0, slot] = scratch.after[0, slot]
        side = 1 - side
        n += 1
    _see_for_side_0(current, 0, side, value, scratch.one)
    for k in range(6):
        out[trial, k] = scratch.one[k] - scratch.luck[k]
    plies[trial] = n


@bare_kernel
def play_trials(nets, room, cube, plan, scratch, throws, dice, first, last, out, ends, plies):
    """Play trials first to last - 1.

    nets: with weights of this thread's own, which are written; room: of this thread; throws:
    `(N, 2)` int64 first two throws of each trial, 6 * (face - 1) + face - 1; dice: `(N, 4)` streams
    of the later ones, of `engine.dice_stream`. Written are out `(N, 6)` float64, the five
    probabilities and the value in the unit of the cube table, both of side 0; ends `(N,)` int64,
    see `ENDS`; plies `(N,)` int64, how many were played.
    """
    for trial in range(first, last):
        _play_trial(nets, room, cube, plan, scratch, throws, dice, trial, out, ends, plies)
