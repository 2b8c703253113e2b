"""The compiled forward pass: whole boards, and all afterstates of a roll from their parent.

A play changes a few slots of the board, so the first layer of an afterstate is its parent's plus
the rows that changed ("efficiently updated", as in the NNUE nets of chess). For every changed
(slot, count) the difference row, with the pairs towards the parent's other slots in it, is computed
once per parent and kept; where two changed slots make a pair, the four rows that correct it are
added. What follows are small dense layers.

Perspective: a board is seen by the side on roll, before its roll, and so is its value. The
afterstates of a mover are therefore evaluated as boards of his opponent.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from engine.bits import lowest_bit
from engine.expert_inputs import contact_inputs
from engine.features import PAIR_BASE, PAIR_CLIP, PAIR_REACH, PAIR_STATES, POINT_BASE, POINT_CLIP
from engine.short_moves import code_num_steps, code_source, code_step_die

__all__ = [
    "NetArrays",
    "Work",
    "board_kind",
    "boards_probs",
    "children_probs",
    "equity_of",
    "first_layer_rows",
    "new_work",
    "num_tail",
    "possible_outcomes",
    "see_board",
]

NetArrays = namedtuple("NetArrays", "points pairs bias w2 e2 b2 w3 b3")
"""Weights of one net, float32. H width, K second layer, F expert inputs, T tails:
points (370, H), pairs (6615, H) or (0, H), bias (H,), w2 (T, K, H), e2 (T, K, F), b2 (T, K),
w3 (T, 5, K), b3 (T, 5). A net without a second hidden layer has K = 5 and w3 (T, 5, 0)."""

Work = namedtuple(
    "Work",
    "seen boards kinds parent x_contact x_race delta stamp count experts hidden probs equity",
)
"""Scratch of one thread; see `new_work`."""

_CHUNK = 64  # boards whose layers are worked out one after the other
_ON_BOARD = 26
_OWN_OFF = 26
_OPP_OFF = 27
_STATES = 32  # counts -15 to 15 of a slot, in the table of difference rows
_FINISHED, _CONTACT, _RACE = 0, 1, 2
_FAST = {"reassoc", "contract", "nsz", "arcp"}  # sums in any order; NaN stays NaN


def new_work(contact: NetArrays, race: NetArrays, n_children: int) -> Work:
    """Scratch for a value net and positions of up to `n_children` plays."""
    width = contact.bias.shape[0]
    return Work(
        np.zeros(28, dtype=np.int64),
        np.zeros((_CHUNK, 28), dtype=np.int64),
        np.zeros(_CHUNK, dtype=np.int64),
        np.zeros((1, width), dtype=np.float32),
        np.zeros((_CHUNK, width), dtype=np.float32),
        np.zeros((_CHUNK, race.bias.shape[0]), dtype=np.float32),
        np.zeros((28 * _STATES, width), dtype=np.float32),
        np.zeros(28 * _STATES, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros((1, 64), dtype=np.float32),
        np.zeros((2, 256), dtype=np.float32),
        np.zeros((n_children, 5), dtype=np.float32),
        np.zeros(n_children, dtype=np.float32),
    )


@njit(cache=True, nogil=True, inline="always")
def equity_of(probs, row):
    """Cubeless money equity of one row of probabilities, for the side they belong to."""
    return 2 * probs[row, 0] - 1 + probs[row, 1] + probs[row, 2] - probs[row, 3] - probs[row, 4]


@njit(cache=True, nogil=True, inline="always")
def see_board(boards, i, seen, row):
    """Copy board i, 26 slots, to row `row` of `seen` and add both sides' borne-off checkers."""
    own = 0
    opponent = 0
    for slot in range(1, 25):
        n = np.int64(boards[i, slot])
        seen[row, slot] = n
        own += max(n, 0)
        opponent += max(-n, 0)
    seen[row, 0] = boards[i, 0]
    seen[row, 25] = boards[i, 25]
    seen[row, _OWN_OFF] = 15 - own - boards[i, 25]
    seen[row, _OPP_OFF] = 15 - opponent - boards[i, 0]


@njit(cache=True, nogil=True, inline="always")
def _point_row(slot, n):
    if slot < _ON_BOARD:
        n = min(max(n, -POINT_CLIP), POINT_CLIP)
    return POINT_BASE[slot] + n


@njit(cache=True, nogil=True, inline="always")
def _pair_row(slot, distance, n, m):
    n = min(max(n, -PAIR_CLIP), PAIR_CLIP)
    m = min(max(m, -PAIR_CLIP), PAIR_CLIP)
    return PAIR_BASE[slot, distance] + (n + PAIR_CLIP) * PAIR_STATES + m + PAIR_CLIP


@njit(cache=True, nogil=True, inline="always")
def _add(x, i, rows, row):
    for h in range(x.shape[1]):
        x[i, h] += rows[row, h]


@njit(cache=True, nogil=True, inline="always")
def _subtract(x, i, rows, row):
    for h in range(x.shape[1]):
        x[i, h] -= rows[row, h]


@njit(cache=True, nogil=True)
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
                    pair_rows[n_pairs] = _pair_row(slot, distance, n, m)
                    n_pairs += 1
    return n_points, n_pairs


@njit(cache=True, nogil=True)
def _first_layer(points, pairs, bias, seen, i, x, row):
    """Pre-activations of board i of `seen` from all its rows, to x[row]."""
    for h in range(x.shape[1]):
        x[row, h] = bias[h]
    for slot in range(28):
        if seen[i, slot] != 0:
            _add(x, row, points, _point_row(slot, seen[i, slot]))
    if pairs.shape[0]:
        for slot in range(_ON_BOARD):
            n = seen[i, slot]
            if n == 0:
                continue
            for distance in range(1, min(PAIR_REACH, 25 - slot) + 1):
                m = seen[i, slot + distance]
                if m != 0:
                    _add(x, row, pairs, _pair_row(slot, distance, n, m))


@njit(cache=True, nogil=True)
def _difference(points, pairs, seen, slot, n, delta, place):
    """Difference row: what the first layer gains when `slot` alone changes to count n."""
    old = seen[slot]
    for h in range(delta.shape[1]):
        delta[place, h] = 0
    if n != 0:
        _add(delta, place, points, _point_row(slot, n))
    if old != 0:
        _subtract(delta, place, points, _point_row(slot, old))
    if pairs.shape[0] == 0 or slot >= _ON_BOARD:
        return
    if min(max(n, -PAIR_CLIP), PAIR_CLIP) == min(max(old, -PAIR_CLIP), PAIR_CLIP):
        return
    for other in range(max(slot - PAIR_REACH, 0), min(slot + PAIR_REACH, 25) + 1):
        m = seen[other]
        if other == slot or m == 0:
            continue
        if other > slot:
            if n != 0:
                _add(delta, place, pairs, _pair_row(slot, other - slot, n, m))
            if old != 0:
                _subtract(delta, place, pairs, _pair_row(slot, other - slot, old, m))
        else:
            if n != 0:
                _add(delta, place, pairs, _pair_row(other, slot - other, m, n))
            if old != 0:
                _subtract(delta, place, pairs, _pair_row(other, slot - other, m, old))


@njit(cache=True, nogil=True)
def _update(points, pairs, seen, boards, i, touched, parent, x, delta, stamp, now):
    """Pre-activations of child board i from its parent's, to x[i]; touched: slots played on."""
    for h in range(x.shape[1]):
        x[i, h] = parent[0, h]
    with_pairs = pairs.shape[0] > 0
    changed = 0
    while touched:
        slot = lowest_bit(touched)
        touched &= touched - 1
        m = boards[i, slot]
        old = seen[slot]
        if m == old:
            continue
        place = slot * _STATES + m + 15
        if stamp[place] != now:
            _difference(points, pairs, seen, slot, m, delta, place)
            stamp[place] = now
        _add(x, i, delta, place)
        if with_pairs and slot < _ON_BOARD:
            # Pairs of two changed slots: their cross difference.
            near = changed >> max(slot - PAIR_REACH, 0) << max(slot - PAIR_REACH, 0)
            while near:
                other = lowest_bit(near)
                near &= near - 1
                distance = slot - other
                p = boards[i, other]
                q = seen[other]
                if m != 0 and p != 0:
                    _add(x, i, pairs, _pair_row(other, distance, p, m))
                if m != 0 and q != 0:
                    _subtract(x, i, pairs, _pair_row(other, distance, q, m))
                if old != 0 and p != 0:
                    _subtract(x, i, pairs, _pair_row(other, distance, p, old))
                if old != 0 and q != 0:
                    _add(x, i, pairs, _pair_row(other, distance, q, old))
            changed |= 1 << slot


@njit(cache=True, nogil=True, inline="always")
def num_tail(boards, i, n_tails):
    """Number of the output tail: 0, or of 9 by the checkers each side has back (0-1, 2, 3+)."""
    if n_tails == 1:
        return 0
    own = boards[i, 25]
    opponent = boards[i, 0]
    for point in range(19, 25):
        own += max(boards[i, point], 0)
        opponent += max(-boards[i, 25 - point], 0)
    return 3 * min(max(own - 1, 0), 2) + min(max(opponent - 1, 0), 2)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _dense(x, i, weights, tail, bias, out, n_out):
    """out[0] = weights[tail] @ x[i] + bias[tail], eight rows at a time to keep the adders busy."""
    n = weights.shape[2]
    k = 0
    while k + 8 <= n_out:
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0)
        for h in range(n):
            v = x[i, h]
            s0 += v * weights[tail, k, h]
            s1 += v * weights[tail, k + 1, h]
            s2 += v * weights[tail, k + 2, h]
            s3 += v * weights[tail, k + 3, h]
            s4 += v * weights[tail, k + 4, h]
            s5 += v * weights[tail, k + 5, h]
            s6 += v * weights[tail, k + 6, h]
            s7 += v * weights[tail, k + 7, h]
        out[0, k] = s0 + bias[tail, k]
        out[0, k + 1] = s1 + bias[tail, k + 1]
        out[0, k + 2] = s2 + bias[tail, k + 2]
        out[0, k + 3] = s3 + bias[tail, k + 3]
        out[0, k + 4] = s4 + bias[tail, k + 4]
        out[0, k + 5] = s5 + bias[tail, k + 5]
        out[0, k + 6] = s6 + bias[tail, k + 6]
        out[0, k + 7] = s7 + bias[tail, k + 7]
        k += 8
    if k + 5 <= n_out:
        s0 = s1 = s2 = s3 = s4 = np.float32(0)
        for h in range(n):
            v = x[i, h]
            s0 += v * weights[tail, k, h]
            s1 += v * weights[tail, k + 1, h]
            s2 += v * weights[tail, k + 2, h]
            s3 += v * weights[tail, k + 3, h]
            s4 += v * weights[tail, k + 4, h]
        out[0, k] = s0 + bias[tail, k]
        out[0, k + 1] = s1 + bias[tail, k + 1]
        out[0, k + 2] = s2 + bias[tail, k + 2]
        out[0, k + 3] = s3 + bias[tail, k + 3]
        out[0, k + 4] = s4 + bias[tail, k + 4]
        k += 5
    while k < n_out:
        s0 = np.float32(0)
        for h in range(n):
            s0 += x[i, h] * weights[tail, k, h]
        out[0, k] = s0 + bias[tail, k]
        k += 1


@njit(cache=True, nogil=True, fastmath=_FAST)
def _add_experts(inputs, weights, tail, out, n_out):
    """out[0] += weights[tail] @ inputs[0]."""
    for k in range(n_out):
        s = np.float32(0)
        for f in range(weights.shape[2]):
            s += inputs[0, f] * weights[tail, k, f]
        out[0, k] += s


@njit(cache=True, nogil=True)
def _layers(w2, e2, b2, w3, b3, boards, kinds, kind, n, x, experts, hidden, probs, first):
    """Activation, dense layers and sigmoids of the boards of one kind among the first n."""
    n_second = w2.shape[1]
    for i in range(n):
        if kinds[i] != kind:
            continue
        for h in range(x.shape[1]):
            x[i, h] = max(x[i, h], np.float32(0))
        tail = num_tail(boards, i, b2.shape[0])
        _dense(x, i, w2, tail, b2, hidden, n_second)
        if e2.shape[2]:
            contact_inputs(boards, i, experts, 0)
            _add_experts(experts, e2, tail, hidden, n_second)
        if w3.shape[2]:
            for k in range(n_second):
                hidden[1, k] = max(hidden[0, k], np.float32(0))
            _dense(hidden, 1, w3, tail, b3, hidden, 5)
        for k in range(5):
            probs[first + i, k] = np.float32(1) / (np.float32(1) + np.exp(-hidden[0, k]))
        _mask(boards, i, kind == _CONTACT, probs, first + i)


@njit(cache=True, nogil=True, inline="always")
def _in_contact(boards, i):
    rear = 25
    while rear > 0 and boards[i, rear] <= 0:
        rear -= 1
    front = 0
    if boards[i, 0] == 0:
        front = 1
        while front < 25 and boards[i, front] >= 0:
            front += 1
    return rear > front


@njit(cache=True, nogil=True, inline="always")
def _far_back(boards, i, own):
    """Whether a side has a checker on the bar or in the other's home board."""
    if own:
        found = boards[i, 25] > 0
        for point in range(19, 25):
            found = found or boards[i, point] > 0
    else:
        found = boards[i, 0] > 0
        for point in range(1, 7):
            found = found or boards[i, point] < 0
    return found


@njit(cache=True, nogil=True, inline="always")
def board_kind(boards, i):
    """Phase of board i: 0 finished, 1 contact, 2 race."""
    if boards[i, _OPP_OFF] == 15 or boards[i, _OWN_OFF] == 15:
        return _FINISHED
    return _CONTACT if _in_contact(boards, i) else _RACE


@njit(cache=True, nogil=True)
def _outcome(boards, i, probs, row):
    """Write the exact outcome of a finished board to probs[row], for the side on roll."""
    won = boards[i, _OWN_OFF] == 15
    gammon = boards[i, _OPP_OFF if won else _OWN_OFF] == 0
    backgammon = gammon and _far_back(boards, i, not won)
    probs[row, 0] = won
    probs[row, 1] = won and gammon
    probs[row, 2] = won and backgammon
    probs[row, 3] = not won and gammon
    probs[row, 4] = not won and backgammon


@njit(cache=True, nogil=True, inline="always")
def possible_outcomes(boards, i, contact, possible, row):
    """Write 1 for each of the five outcomes that a running game still allows, 0 for the others."""
    gammon = boards[i, _OPP_OFF] == 0
    opp_gammon = boards[i, _OWN_OFF] == 0
    possible[row, 0] = 1
    possible[row, 1] = gammon
    possible[row, 2] = gammon and (contact or _far_back(boards, i, False))
    possible[row, 3] = opp_gammon
    possible[row, 4] = opp_gammon and (contact or _far_back(boards, i, True))


@njit(cache=True, nogil=True, inline="always")
def _mask(boards, i, contact, probs, row):
    """Set what the rules exclude to exactly 0 and keep the probabilities cumulative."""
    if boards[i, _OPP_OFF] > 0:
        probs[row, 1] = 0
        probs[row, 2] = 0
    elif not contact and not _far_back(boards, i, False):
        probs[row, 2] = 0
    if boards[i, _OWN_OFF] > 0:
        probs[row, 3] = 0
        probs[row, 4] = 0
    elif not contact and not _far_back(boards, i, True):
        probs[row, 4] = 0
    win = probs[row, 0]
    probs[row, 1] = min(probs[row, 1], win)
    probs[row, 2] = min(probs[row, 2], probs[row, 1])
    probs[row, 3] = min(probs[row, 3], 1 - win)
    probs[row, 4] = min(probs[row, 4], probs[row, 3])


@njit(cache=True, nogil=True)
def boards_probs(contact, race, boards, work, probs):
    """Probabilities `(B, 5)` of `(B, 26)` boards of any phase, each for its side on roll."""
    seen = work.boards
    kinds = work.kinds
    for first in range(0, len(boards), _CHUNK):
        n = min(_CHUNK, len(boards) - first)
        for i in range(n):
            see_board(boards, first + i, seen, i)
            kinds[i] = board_kind(seen, i)
            if kinds[i] == _CONTACT:
                _first_layer(
                    contact.points, contact.pairs, contact.bias, seen, i, work.x_contact, i
                )
            elif kinds[i] == _RACE:
                _first_layer(race.points, race.pairs, race.bias, seen, i, work.x_race, i)
            else:
                _outcome(seen, i, probs, first + i)
        _layers_of_both(contact, race, n, work, probs, first)


@njit(cache=True, nogil=True)
def _layers_of_both(contact, race, n, work, probs, first):
    for kind, net, x in ((_CONTACT, contact, work.x_contact), (_RACE, race, work.x_race)):
        _layers(
            net.w2,
            net.e2,
            net.b2,
            net.w3,
            net.b3,
            work.boards,
            work.kinds,
            kind,
            n,
            x,
            work.experts,
            work.hidden,
            probs,
            first,
        )


@njit(cache=True, nogil=True, inline="always")
def _play_seen_by_opponent(boards, i, code, high, low):
    """Play a mover's code on a board seen by his opponent; returns the slots it touched."""
    touched = 0
    for step in range(code_num_steps(code)):
        source = code_source(code, step)
        target = source - code_step_die(code, step, high, low)
        if source == 25:
            boards[i, 0] -= 1
            touched |= 1
        else:
            boards[i, 25 - source] += 1
            touched |= 1 << (25 - source)
        if target <= 0:
            boards[i, _OPP_OFF] += 1
            touched |= 1 << _OPP_OFF
            continue
        slot = 25 - target
        touched |= 1 << slot
        if boards[i, slot] == 1:
            boards[i, slot] = -1
            boards[i, 25] += 1
            touched |= 1 << 25
        else:
            boards[i, slot] -= 1
    return touched


@njit(cache=True, nogil=True)
def children_probs(contact, race, w, codes, n, high, low, work):
    """Evaluate the afterstates of a mover; returns the number of his best one, the first of equals.

    w: `(26,)` int64 board seen by the mover; codes: his n plays. work.probs[i] are the
    probabilities of afterstate i for the *opponent*, who is on roll there; work.equity[i] is its
    equity for the *mover*.
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
    own = 0
    opponent = 0
    for slot in range(1, 25):
        m = -w[25 - slot]
        seen[slot] = m
        own += max(m, 0)
        opponent += max(-m, 0)
    seen[0] = w[25]
    seen[25] = w[0]
    seen[_OWN_OFF] = 15 - own - w[0]
    seen[_OPP_OFF] = 15 - opponent - w[25]
    work.count[0] += 1
    now = work.count[0]
    parent_known = False
    best = 0
    for first in range(0, n, _CHUNK):
        m = min(_CHUNK, n - first)
        for i in range(m):
            for slot in range(28):
                boards[i, slot] = seen[slot]
            touched = _play_seen_by_opponent(boards, i, codes[first + i], high, low)
            kinds[i] = board_kind(boards, i)
            if kinds[i] == _CONTACT:
                if not parent_known:
                    _first_layer(points, pairs, contact.bias, seen.reshape(1, 28), 0, parent, 0)
                    parent_known = True
                _update(
                    points, pairs, seen, boards, i, touched, parent, x_contact, delta, stamp, now
                )
            elif kinds[i] == _RACE:
                _first_layer(race.points, race.pairs, race.bias, boards, i, x_race, i)
            else:
                _outcome(boards, i, probs, first + i)
        _layers_of_both(contact, race, m, work, probs, first)
        for i in range(first, first + m):
            equity[i] = -equity_of(probs, i)
            if equity[i] > equity[best]:
                best = i
    return best
