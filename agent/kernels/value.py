"""The compiled forward pass: whole boards, and all afterstates of a roll from their parent.

A play changes a few slots of the board, so the first layer of an afterstate is its parent's plus
the rows that changed ("efficiently updated", as in the NNUE nets of chess). For every changed
(slot, count) the difference row, with the pairs towards the parent's other slots in it, is computed
once per parent and kept, for all of its rolls; where two changed slots make a pair, the four rows
that correct it are added. What follows are small dense layers.

Perspective: a board is seen by the side on roll, before its roll, and so is its value. The
afterstates of a mover are therefore evaluated as boards of his opponent.

`weights` are `(2, 6)` float32, one row for each of two sides: what the five probabilities of that
side on roll count, and a constant. Their sum is what the side is worth in a game in which plays are
chosen by it. Rows are one another's mirror image where nothing tells the sides apart.
"""

from collections import namedtuple

import numpy as np

from agent.kernels.boards import CONTACT, KNOWN, OPP_OFF, RACE, board_kind, see_board
from agent.kernels.layers import finish
from agent.kernels.parent import play_seen_by_opponent, set_parent
from agent.kernels.simd import add_rows
from engine.bearoff.arrays import BearoffArrays, bearoff_probs, no_tables
from engine.bits import lowest_bit
from engine.compiled import bare_kernel, inlined_kernel
from engine.features import PAIR_BASE, PAIR_CLIP, PAIR_REACH, PAIR_STATES, POINT_BASE, POINT_CLIP

__all__ = [
    "MOVER_SIDE",
    "NetArrays",
    "Work",
    "boards_probs",
    "children_probs",
    "equity_of",
    "evaluate_children",
    "first_layer_rows",
    "first_layers",
    "money_weights",
    "new_work",
]

NetArrays = namedtuple("NetArrays", "points pairs bias w2 b2 w3 b3")
"""Weights of one net, float32. H width, F expert inputs, K second layer, T tails:
points (370, H), pairs (6615, H) or (0, H), bias (H,), w2 (T, H + F, K), b2 (T, K), w3 (T, K, 5),
b3 (T, 5). A net without a second hidden layer has K = 5 and w3 (T, 0, 5). With G groups, each of
H / G units, the F inputs and K / G units behind them, w2 is (T G, H / G + F, K / G) and b2
(T G, K / G), the groups of a tail one after the other. points, pairs and w2 may be uint16, the bits
of 16-bit floats."""

Work = namedtuple(
    "Work",
    "seen boards kinds parent x_contact x_race group_x rows delta stamp state hidden logits probs"
    " equity active tables is_long scheme",
)
"""Scratch of one thread, see `new_work`, the tables of endings that go before the race net,
whether boards are of long nardi, 1 or 0, and what outputs tell (`agent.kernels.boards`)."""

_CHUNK = 64  # boards whose layers are worked out one after the other
_ON_BOARD = 26
_STATES = 32  # counts -15 to 15 of a slot, in the table of difference rows


def new_work(
    contact: NetArrays,
    race: NetArrays,
    n_children: int,
    tables: BearoffArrays | None = None,
    *,
    scheme: int = 0,
) -> Work:
    """Scratch for a value net and positions of up to `n_children` plays.

    tables: where they know a race their probabilities are taken; None = the net's everywhere. They
    are of short nardi with three kinds of win. scheme: what the nets' outputs tell, see
    `agent.kernels.boards`.
    """
    width = contact.bias.shape[0]
    return Work(
        np.zeros((1, 28), dtype=np.int64),
        np.zeros((_CHUNK, 28), dtype=np.int64),
        np.zeros(_CHUNK, dtype=np.int64),
        np.zeros((1, width), dtype=np.float32),
        np.zeros((_CHUNK, _num_inputs(contact)), dtype=np.float32),
        np.zeros((_CHUNK, _num_inputs(race)), dtype=np.float32),
        np.zeros((1, max(contact.w2.shape[1], race.w2.shape[1])), dtype=np.float32),
        np.zeros((3, 256), dtype=np.int64),
        np.zeros((28 * _STATES, width), dtype=np.float32),
        np.zeros(28 * _STATES, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros((2, max(_num_second(contact), _num_second(race))), dtype=np.float32),
        np.zeros((_CHUNK, 5), dtype=np.float32),
        np.zeros((n_children, 5), dtype=np.float32),
        np.zeros(n_children, dtype=np.float32),
        np.zeros((4, max(contact.w2.shape[1], race.w2.shape[1]) // 4 + 8), dtype=np.int64),
        tables or no_tables(),
        scheme & 1,
        scheme,
    )


def _num_inputs(net: NetArrays) -> int:
    """Units of the first layer and expert inputs."""
    width: int = net.bias.shape[0]
    groups: int = net.w2.shape[0] // net.b3.shape[0]
    n_inputs: int = net.w2.shape[1]
    return width + n_inputs - width // groups


def _num_second(net: NetArrays) -> int:
    """Units of the second layer."""
    groups: int = net.b2.shape[0] // net.b3.shape[0]
    n_second: int = net.b2.shape[1]
    return groups * n_second


MOVER_SIDE = np.int64(0)
"""The row of weights of whoever is on roll, where both sides have the same."""


@inlined_kernel
def money_weights(third):
    """Weights of cubeless money play, the same for both sides; to be made once, it allocates.

    third: of the third output, 1 where a backgammon is one point more than a gammon.
    """
    weights = np.empty((2, 6), dtype=np.float32)
    for side in range(2):
        weights[side, 0] = 2
        weights[side, 1] = 1
        weights[side, 2] = third
        weights[side, 3] = -1
        weights[side, 4] = -third
        weights[side, 5] = -1
    return weights


@inlined_kernel
def equity_of(probs, row, weights, side):
    """Equity of one row of probabilities of a side, for that side."""
    return (
        weights[side, 5]
        + weights[side, 0] * probs[row, 0]
        + weights[side, 1] * probs[row, 1]
        + weights[side, 2] * probs[row, 2]
        + weights[side, 3] * probs[row, 3]
        + weights[side, 4] * probs[row, 4]
    )


@inlined_kernel
def _point_row(slot, n):
    if slot < _ON_BOARD:
        n = min(max(n, -POINT_CLIP), POINT_CLIP)
    return POINT_BASE[slot] + n


@inlined_kernel
def _clip_pair(n):
    return min(max(n, -PAIR_CLIP), PAIR_CLIP)


@inlined_kernel
def _pair_row(slot, other, n, m):
    """Row of two slots up to PAIR_REACH apart and their counts, in either order."""
    if other < slot:
        slot, other = other, slot
        n, m = m, n
    state = (_clip_pair(n) + PAIR_CLIP) * PAIR_STATES + _clip_pair(m) + PAIR_CLIP
    return PAIR_BASE[slot, other - slot] + state


@bare_kernel
def first_layer_rows(seen, i, with_pairs, point_rows, pair_rows):
    """Write the rows that board i of `seen` lights; returns how many of points and of pairs."""
    n_points = 0
    n_pairs = 0
    for slot in range(28):
        if seen[i, slot] != 0:
            point_rows[n_points] = _point_row(slot, seen[i, slot])
            n_points += 1
    if with_pairs:
        for slot in range(_ON_BOARD):
            n = seen[i, slot]
            if n == 0:
                continue
            for distance in range(1, min(PAIR_REACH, 25 - slot) + 1):
                m = seen[i, slot + distance]
                if m != 0:
                    pair_rows[n_pairs] = _pair_row(slot, slot + distance, n, m)
                    n_pairs += 1
    return n_points, n_pairs


@bare_kernel
def _first_layer(points, pairs, bias, seen, i, x, row, rows):
    """Pre-activations of board i of `seen` from all its rows, to x[row]."""
    for h in range(bias.shape[0]):
        x[row, h] = bias[h]
    with_pairs = pairs.shape[0] > 0
    n_points, n_pairs = first_layer_rows(seen, i, with_pairs, rows[0], rows[1])
    add_rows(x, row, points, rows[0], n_points, 0)
    if with_pairs:
        add_rows(x, row, pairs, rows[1], n_pairs, 0)


@bare_kernel
def first_layers(points, pairs, bias, seen, rows, x):
    """Pre-activations of boards `(B, 28)`, to the first columns of x; rows: of `new_work`."""
    for i in range(len(seen)):
        _first_layer(points, pairs, bias, seen, i, x, i, rows)


@bare_kernel
def _difference(points, pairs, seen, slot, n, delta, place, come, go):
    """Difference row: what the first layer gains when `slot` alone changes to count n."""
    old = seen[0, slot]
    for h in range(delta.shape[1]):
        delta[place, h] = 0
    # The rows that go are written after those that come.
    n_come = 0
    if n != 0:
        come[0] = _point_row(slot, n)
        n_come = 1
    if old != 0:
        come[n_come] = _point_row(slot, old)
    add_rows(delta, place, points, come, n_come, np.int64(old != 0))
    if pairs.shape[0] > 0 and slot < _ON_BOARD and _clip_pair(n) != _clip_pair(old):
        n_come = 0
        n_go = 0
        for other in range(max(slot - PAIR_REACH, 0), min(slot + PAIR_REACH, 25) + 1):
            m = seen[0, other]
            if other == slot or m == 0:
                continue
            if n != 0:
                come[n_come] = _pair_row(slot, other, n, m)
                n_come += 1
            if old != 0:
                go[n_go] = _pair_row(slot, other, old, m)
                n_go += 1
        for k in range(n_go):
            come[n_come + k] = go[k]
        add_rows(delta, place, pairs, come, n_come, n_go)


@inlined_kernel
def _update(
    points, pairs, seen, boards, i, touched, parent, x, delta, stamp, now, places, come, go
):
    """Pre-activations of child board i from its parent's, to x[i]; touched: slots played on."""
    for h in range(parent.shape[1]):
        x[i, h] = parent[0, h]
    with_pairs = pairs.shape[0] > 0
    changed = 0
    n_places = 0
    while touched:
        slot = lowest_bit(touched)
        touched &= touched - 1
        m = boards[i, slot]
        if m == seen[0, slot]:
            continue
        place = slot * _STATES + m + 15
        if stamp[place] != now:
            _difference(points, pairs, seen, slot, m, delta, place, come, go)
            stamp[place] = now
        places[n_places] = place
        n_places += 1
        if slot < _ON_BOARD and _clip_pair(m) != _clip_pair(seen[0, slot]):
            changed |= 1 << slot
    add_rows(x, i, delta, places, n_places, 0)
    if with_pairs:
        # Pairs of two changed slots count their cross difference besides.
        n_come = 0
        n_go = 0
        while changed:
            slot = lowest_bit(changed)
            changed &= changed - 1
            m = boards[i, slot]
            old = seen[0, slot]
            near = changed & ((2 << (slot + PAIR_REACH)) - 1)
            while near:
                other = lowest_bit(near)
                near &= near - 1
                p = boards[i, other]
                q = seen[0, other]
                if m != 0 and p != 0:
                    come[n_come] = _pair_row(slot, other, m, p)
                    n_come += 1
                if old != 0 and q != 0:
                    come[n_come] = _pair_row(slot, other, old, q)
                    n_come += 1
                if m != 0 and q != 0:
                    go[n_go] = _pair_row(slot, other, m, q)
                    n_go += 1
                if old != 0 and p != 0:
                    go[n_go] = _pair_row(slot, other, old, p)
                    n_go += 1
        for k in range(n_go):
            come[n_come + k] = go[k]
        add_rows(x, i, pairs, come, n_come, n_go)


@bare_kernel
def boards_probs(contact, race, boards, work, probs):
    """Probabilities `(B, 5)` of `(B, 26)` boards of any phase, each for its side on roll."""
    seen = work.boards
    kinds = work.kinds
    rows = work.rows
    x_contact = work.x_contact
    x_race = work.x_race
    group_x = work.group_x
    active = work.active
    hidden = work.hidden
    logits = work.logits
    tables = work.tables
    is_long = work.is_long
    scheme = work.scheme
    for first in range(0, len(boards), _CHUNK):
        n = min(_CHUNK, len(boards) - first)
        for i in range(n):
            see_board(boards, first + i, seen, i)
            kinds[i] = board_kind(seen, i, is_long)
            if kinds[i] == CONTACT:
                _first_layer(
                    contact.points, contact.pairs, contact.bias, seen, i, x_contact, i, rows
                )
            elif kinds[i] == RACE and bearoff_probs(tables, seen, i, probs, first + i):
                kinds[i] = KNOWN
            elif kinds[i] == RACE:
                _first_layer(race.points, race.pairs, race.bias, seen, i, x_race, i, rows)
        finish(
            contact,
            race,
            n,
            seen,
            kinds,
            scheme,
            x_contact,
            x_race,
            group_x,
            active,
            hidden,
            logits,
            probs,
            first,
        )


@bare_kernel
def evaluate_children(contact, race, codes, n, high, low, weights, side, work):
    """Evaluate plays of the parent set; returns the number of the best one.

    codes: the mover's first n plays of a roll; side: row of `weights` of his *opponent*, who is on
    roll after them. work.probs[i] are the probabilities of afterstate i for the opponent;
    work.equity[i] is its equity for the *mover*. Of equals the one with more checkers off is best,
    then the first.
    """
    seen = work.seen  # the parent, seen by the opponent
    boards = work.boards
    kinds = work.kinds
    probs = work.probs
    equity = work.equity
    points = contact.points
    pairs = contact.pairs
    parent = work.parent
    x_contact = work.x_contact
    x_race = work.x_race
    delta = work.delta
    stamp = work.stamp
    state = work.state
    group_x = work.group_x
    active = work.active
    hidden = work.hidden
    logits = work.logits
    tables = work.tables
    is_long = work.is_long
    scheme = work.scheme
    rows = work.rows
    places = rows[0]
    come = rows[1]
    go = rows[2]
    now = state[0]
    zero = np.int64(0)
    best = 0
    best_off = 0
    for first in range(0, n, _CHUNK):
        m = min(_CHUNK, n - first)
        for i in range(m):
            for slot in range(28):
                boards[i, slot] = seen[0, slot]
            touched = play_seen_by_opponent(boards, i, codes[first + i], high, low, is_long)
            kinds[i] = board_kind(boards, i, is_long)
            if kinds[i] == CONTACT:
                if not state[1]:
                    _first_layer(points, pairs, contact.bias, seen, zero, parent, zero, rows)
                    state[1] = 1
                _update(
                    points,
                    pairs,
                    seen,
                    boards,
                    i,
                    touched,
                    parent,
                    x_contact,
                    delta,
                    stamp,
                    now,
                    places,
                    come,
                    go,
                )
            elif kinds[i] == RACE and bearoff_probs(tables, boards, i, probs, first + i):
                kinds[i] = KNOWN
            elif kinds[i] == RACE:
                _first_layer(race.points, race.pairs, race.bias, boards, i, x_race, i, rows)
        finish(
            contact,
            race,
            m,
            boards,
            kinds,
            scheme,
            x_contact,
            x_race,
            group_x,
            active,
            hidden,
            logits,
            probs,
            first,
        )
        for i in range(m):
            row = first + i
            equity[row] = -equity_of(probs, row, weights, side)
            if (
                row == 0
                or equity[row] > equity[best]
                or (equity[row] == equity[best] and boards[i, OPP_OFF] > best_off)
            ):
                best = row
                best_off = boards[i, OPP_OFF]
    return best


@bare_kernel
def children_probs(contact, race, w, codes, n, high, low, weights, side, work):
    """Evaluate the n plays of one roll; returns the number of the best, as `evaluate_children`.

    w: `(26,)` int64 board seen by the mover; side: row of `weights` of his opponent.
    """
    set_parent(w, work.is_long, work.seen, work.state)
    return evaluate_children(contact, race, codes, n, high, low, weights, side, work)
