"""Values of positions at a depth: means over the rolls, down a tree of chance.

The value of a position at depth d is the mean over the 21 rolls, by their weights, of the value at
depth d - 1 of the position after the play that the net takes without looking further, as GNU
Backgammon counts plies. At depth 0 it is the net's, of a finished game its result.

The tree is walked depth first, a level of buffers for each depth. Values stand in rows of five
probabilities of the side on roll, and behind them its values of the S states of the cube, before
it doubles or does not (`agent.kernels.cube`); S is 0 where nothing is asked of the cube.
"""

from collections import namedtuple

import numpy as np

from agent.kernels.cache import DEPTH_BITS, find_value, new_cache, place_of_entry, store_value
from agent.kernels.cube import (
    CENTRED,
    OWNER,
    ROW,
    WIN_1,
    combine,
    cube_efficiency,
    static_values,
)
from agent.kernels.replies import Room, best_replies, new_play_scratch
from agent.kernels.value import NetArrays, new_work
from engine.bearoff.arrays import BearoffArrays, bearoff_equities
from engine.compiled import bare_kernel, inlined_kernel
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.play_codes import MAX_PLAYS, apply_code
from engine.sides import flip_in_place

__all__ = ["MAX_DEPTH", "Tree", "means_of_rolls", "new_room", "roll_values"]

MAX_DEPTH = 6
"""Deepest look ahead; a depth takes about twenty times as long as the one before."""

_CUBE_WORK = 256  # more than any table of states needs

Tree = namedtuple(
    "Tree",
    "scratch boards next places keys codes probs rows cube_work undoubled best exact",
)
"""Buffers of one thread; see `_new_tree`."""


def new_room(
    contact: NetArrays,
    race: NetArrays,
    small_contact: NetArrays,
    small_race: NetArrays,
    tables: BearoffArrays | None,
    cache_bytes: int,
    width: int,
    *,
    scheme: int = 0,
) -> Room:
    """What one thread needs for these nets, values of up to `width` numbers, exact endings.

    scheme: what the nets' outputs tell, see `agent.kernels.boards`.
    """
    return Room(
        _new_tree(width),
        new_cache(cache_bytes, width),
        new_work(contact, race, MAX_PLAYS, tables, scheme=scheme),
        new_work(small_contact, small_race, MAX_PLAYS, tables, scheme=scheme),
    )


def _new_tree(width: int) -> Tree:
    levels = MAX_DEPTH + 1
    return Tree(
        new_play_scratch(),
        np.zeros((levels, 26), dtype=np.int64),
        np.zeros(levels, dtype=np.int64),
        np.zeros(levels, dtype=np.int64),
        np.zeros((levels, 2), dtype=np.int64),
        np.zeros((levels, 21), dtype=np.int64),
        np.zeros((levels, 21, 5), dtype=np.float32),
        np.zeros((levels, 21, width), dtype=np.float32),
        np.zeros(_CUBE_WORK, dtype=np.float64),
        np.zeros((1, width), dtype=np.float64),
        np.zeros((1, width), dtype=np.float64),
        np.zeros((1, 3), dtype=np.float64),
    )


@bare_kernel
def mean_of_rolls(rows, level, value, row):
    """Mean of the 21 rows of a level, each for the other side, to value[row] for this side.

    rows: (L, 21, K) float32, value: (B, K) float32.
    """
    win = 0.0
    win_gammon = 0.0
    win_bg = 0.0
    lose_gammon = 0.0
    lose_bg = 0.0
    for roll in range(21):
        weight = ROLL_WEIGHTS[roll]
        win += weight * np.float64(rows[level, roll, 0])
        lose_gammon += weight * np.float64(rows[level, roll, 1])
        lose_bg += weight * np.float64(rows[level, roll, 2])
        win_gammon += weight * np.float64(rows[level, roll, 3])
        win_bg += weight * np.float64(rows[level, roll, 4])
    value[row, 0] = 1 - win / 36
    value[row, 1] = win_gammon / 36
    value[row, 2] = win_bg / 36
    value[row, 3] = lose_gammon / 36
    value[row, 4] = lose_bg / 36
    # Rounding must not put a gammon above a win.
    value[row, 1] = min(value[row, 1], value[row, 0])
    value[row, 2] = min(value[row, 2], value[row, 1])
    value[row, 3] = min(value[row, 3], 1 - value[row, 0])
    value[row, 4] = min(value[row, 4], value[row, 3])


@inlined_kernel
def _mean_of_state(rows, level, column):
    """Mean of a column of cubeful values of a level, for this side; equal ones give the same."""
    total = 0.0
    for roll in range(21):
        total += ROLL_WEIGHTS[roll] * np.float64(rows[level, roll, column])
    return -total / 36


@inlined_kernel
def _efficiency(boards, level):
    """How live the cube is on the board of a level."""
    in_contact = False
    opponent = boards[level, 0] > 0
    pips = 25 * boards[level, 25]
    for point in range(1, 25):
        n = boards[level, point]
        opponent = opponent or n < 0
        in_contact = in_contact or (n > 0 and opponent)
        pips += max(n, 0) * point
    in_contact = in_contact or (boards[level, 25] > 0 and opponent)
    return cube_efficiency(not in_contact, pips)


@inlined_kernel
def _exact_states(nets, room, boards, level, side):
    """Exact values of all states on the board of a level, if the tables have them, to undoubled."""
    known = False
    if nets.exact_cube:
        exact = room.tree.exact
        known = bearoff_equities(room.work.tables, boards, level, exact, 0)
        if known:
            table = nets.table
            for s in range(table.states):
                owner = table.plan[s, OWNER]
                place = 0
                if owner != CENTRED:
                    place = 1 if owner == side else 2
                stake = table.payoff[side * table.rows + table.plan[s, ROW], WIN_1]
                room.tree.undoubled[0, s] = stake * exact[0, place]
    return known


@bare_kernel
def means_of_rolls(rows, values):
    """Means of many positions: rows (B, 21, K) to values (B, K), each for the side on roll then.

    Cubeful ones are of not doubling now.
    """
    for i in range(len(rows)):
        mean_of_rolls(rows, i, values, i)
        for k in range(5, values.shape[1]):
            values[i, k] = _mean_of_state(rows, i, k)


@inlined_kernel
def _play_and_flip(boards, level, code, high, low, is_long):
    """Board of the next level: after a play of this one, seen by the other side."""
    w = boards[level + 1]
    for slot in range(26):
        w[slot] = boards[level, slot]
    apply_code(w, code, high, low)
    flip_in_place(w, is_long)


@inlined_kernel
def _is_finished(boards, level):
    own = np.int64(boards[level, 25])
    opponent = np.int64(boards[level, 0])
    for slot in range(1, 25):
        own += max(boards[level, slot], 0)
        opponent += max(-boards[level, slot], 0)
    return own == 0 or opponent == 0


@inlined_kernel
def _tag(nets, side, level, depth):
    """What a value at a level depends on besides the position: the search, side and depth."""
    side_there = (side ^ (level & 1)) * nets.two_sided
    return ((nets.generation << 1 | side_there) << DEPTH_BITS) | (depth - level)


@bare_kernel
def roll_values(nets, room, board, side, depth, first, last, out, row):
    """Values of a position after rolls first to last - 1 and the plays chosen there.

    board: `(26,)` int8, a running game with `side`, 0 or 1, on roll; depth: of its value, from 1 to
    MAX_DEPTH. Written are out[row, first:last], for the other side, on roll then; out: `(B, 21, K)`
    float32. `means_of_rolls` gives the value.
    """
    tree = room.tree
    cache = room.cache
    boards = tree.boards
    next_roll = tree.next
    codes = tree.codes
    probs = tree.probs
    rows = tree.rows
    keys = tree.keys
    n_states = nets.table.states
    is_long = nets.switches.is_long
    undoubled = tree.undoubled
    best = tree.best
    width = 5 + n_states
    for slot in range(26):
        boards[0, slot] = board[slot]
    level = 0
    next_roll[0] = first
    entered = True
    while True:
        end = last if level == 0 else 21
        if entered:
            start = next_roll[level]
            best_replies(nets, room, boards, level, side ^ (level & 1), start, end, codes, probs)
            entered = False
        roll = next_roll[level]
        returned = roll == end
        if returned:
            if level == 0:
                break
            level -= 1
            roll = next_roll[level]
            mean_of_rolls(rows, level + 1, rows[level], roll)
            for s in range(n_states):
                undoubled[0, s] = _mean_of_state(rows, level + 1, 5 + s)
        else:
            is_leaf = level + 1 == depth
            finished = False
            if n_states > 0 or not is_leaf:
                high = np.int64(ROLLS[roll, 0])
                low = np.int64(ROLLS[roll, 1])
                _play_and_flip(boards, level, codes[level, roll], high, low, is_long)
                finished = _is_finished(boards, level + 1)
            if not is_leaf and not finished:
                key = keys[level + 1]
                place = place_of_entry(cache.keys, boards, level + 1, key)
                tag = _tag(nets, side, level + 1, depth)
                where = find_value(cache.keys, cache.tags, cache.counts, place, key, tag)
                if where >= 0:
                    for k in range(width):
                        rows[level, roll, k] = cache.values[where, k]
                    next_roll[level] = roll + 1
                    continue
                tree.places[level + 1] = place
                level += 1
                next_roll[level] = 0
                entered = True
                continue
            for k in range(5):
                rows[level, roll, k] = probs[level, roll, k]
            if n_states > 0:
                there = side ^ ((level + 1) & 1)
                if not _exact_states(nets, room, boards, level + 1, there):
                    static_values(
                        nets.table,
                        there,
                        rows[level],
                        roll,
                        _efficiency(boards, level + 1),
                        tree.cube_work,
                        undoubled,
                        0,
                    )
        if n_states > 0:
            there = side ^ ((level + 1) & 1)
            combine(nets.table, there, undoubled, 0, best, 0)
            for s in range(n_states):
                rows[level, roll, 5 + s] = best[0, s]
        if returned:
            store_value(
                cache.keys,
                cache.tags,
                cache.values,
                tree.places[level + 1],
                keys[level + 1],
                _tag(nets, side, level + 1, depth),
                rows[level],
                roll,
                width,
            )
        next_roll[level] = roll + 1
    for roll in range(first, last):
        for k in range(width):
            out[row, roll, k] = rows[0, roll, k]
