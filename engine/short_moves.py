"""Compiled legal plays of short nardi under the international rules.

A play is found as a *code*, one int64: the source points of its steps in a legal playing order and
which die comes first. Boards are written from codes at the end, so that nothing is copied for plays
that turn out to be duplicates, and a value net can update itself from the few points a code names.

Why nothing here needs a hash table, and why no buffer can overflow:

* Doubles. Stepping from non-increasing source points finds every set of steps once, and two sets
  never give the same board (the flow between points d apart can be read off the board). At most
  C(28, 4) = 20,475 multisets of four of the 25 sources exist.
* Other rolls. Without a bar checker and without bear-offs two plays give the same board only when
  one checker makes both steps, so these are listed apart. In the general case the boards are
  compared by an exact key: the change of the board read as a number in base 5, slot 0 the most
  significant digit. With two steps the digits stay within -2..3, and the difference of two plays is
  decided by its first digit, so the key orders as the boards do. Two orders of at most 15 sources
  and then at most 16 make at most 480 plays.

The kernels trust their input: a valid board of a running game, faces from 1 to 6.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "CODE_NO_PLAY",
    "MAX_PLAYS",
    "apply_code",
    "code_num_steps",
    "code_source",
    "code_step_die",
    "find_codes",
    "write_afterstates",
]

MAX_PLAYS = 20_475
"""No position has more distinct plays of one roll; see the first lines of the module."""

Codes = NDArray[np.int64]

# A code: four source points of 5 bits from bit 0 up (first step lowest), number of steps in bits
# 20 to 22, and in bit 23 whether the smaller die is played first.
_SOURCE_BITS = 5
_SOURCE_MASK = 31
_STEPS_SHIFT = 20
_LOW_FIRST = 1 << 23
_ONE_STEP = 1 << _STEPS_SHIFT
_TWO_STEPS = 2 << _STEPS_SHIFT

CODE_NO_PLAY = 0
"""Code of a forced pass."""

# Weight of a slot in the exact key of a play that is not a double; 5^25 and both hits fit in int64.
_WEIGHT = np.array([5 ** (25 - slot) for slot in range(26)], dtype=np.int64)
_WEIGHT_HIT = _WEIGHT[0]

_RUN = 16  # insertion-sorted runs of the merge sort; 12 to 24 measured equal


@njit(cache=True, nogil=True, inline="always")
def code_num_steps(code):
    """Number of steps of a play code."""
    return (code >> _STEPS_SHIFT) & 7


@njit(cache=True, nogil=True, inline="always")
def code_source(code, step):
    """Source point of step 0, 1, 2 or 3 of a play code (25 = bar)."""
    return (code >> (_SOURCE_BITS * step)) & _SOURCE_MASK


@njit(cache=True, nogil=True, inline="always")
def code_step_die(code, step, high, low):
    """Die used by a step of a play code; for a double high == low."""
    return low if ((code & _LOW_FIRST) != 0) != (step == 1) else high


@njit(cache=True, nogil=True, inline="always")
def apply_code(row, code, high, low):
    """Play a code on `row` in place: any indexable of 26 slots seen by the mover."""
    for step in range(code_num_steps(code)):
        source = code_source(code, step)
        target = source - code_step_die(code, step, high, low)
        row[source] -= 1
        if target > 0:
            if row[target] == -1:
                row[target] = 1
                row[0] += 1
            else:
                row[target] += 1


@njit(cache=True, nogil=True)
def _sort(keys, codes, spare_keys, spare_codes, n):
    """Sort the first n keys upwards and their codes with them: insertion runs, then merges."""
    for start in range(0, n, _RUN):
        for i in range(start + 1, min(start + _RUN, n)):
            key = keys[i]
            code = codes[i]
            j = i - 1
            while j >= start and keys[j] > key:
                keys[j + 1] = keys[j]
                codes[j + 1] = codes[j]
                j -= 1
            keys[j + 1] = key
            codes[j + 1] = code
    width = _RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            left = start
            right = middle
            for i in range(start, end):
                if left < middle and (right >= end or keys[left] <= keys[right]):
                    spare_keys[i] = keys[left]
                    spare_codes[i] = codes[left]
                    left += 1
                else:
                    spare_keys[i] = keys[right]
                    spare_codes[i] = codes[right]
                    right += 1
        keys[:n] = spare_keys[:n]
        codes[:n] = spare_codes[:n]
        width *= 2


@njit(cache=True, nogil=True, inline="always")
def _may_step(w, source, die, rear):
    """Whether one step is legal now: w board, rear the highest point (25 = bar) of the mover."""
    if w[source] <= 0 or (rear == 25 and source != 25):
        return False
    target = source - die
    if target > 0:
        return w[target] >= -1
    return rear <= 6 and (target == 0 or source == rear)


@njit(cache=True, nogil=True, inline="always")
def _rear_point(w, start):
    """Highest point from `start` down that holds a checker of the mover; 0 if there is none."""
    point = start
    while point > 0 and w[point] <= 0:
        point -= 1
    return point


@njit(cache=True, nogil=True, inline="always")
def _step_key(w, source, target):
    """Change of the exact key by one step on board w."""
    key = -_WEIGHT[source]
    if target > 0:
        key += _WEIGHT[target]
        if w[target] == -1:
            key += _WEIGHT[target] + _WEIGHT_HIT
    return key


@njit(cache=True, nogil=True)
def _open_field(w, high, low, keys, codes, sources):
    """Two different dice, nobody on the bar, no bear-off within reach of the turn."""
    n = 0
    n_low = 0
    for q in range(low + 1, 25):
        if w[q] > 0 and w[q - low] >= -1:
            sources[n_low] = q
            n_low += 1
    n_high = 0
    for p in range(high + 1, 25):
        if w[p] <= 0:
            continue
        landing = p - high
        at_landing = w[landing]
        # One checker makes both steps.
        target = landing - low
        if target > 0 and w[target] >= -1:
            at_other = w[p - low]
            key = _step_key(w, p, target)
            high_first = _TWO_STEPS | p | (landing << _SOURCE_BITS)
            low_first = _TWO_STEPS | p | ((p - low) << _SOURCE_BITS) | _LOW_FIRST
            if at_landing >= 0 or at_other >= 0:
                keys[n] = key
                codes[n] = high_first if at_landing >= 0 else low_first
                n += 1
            if at_landing == -1:
                keys[n] = key + _WEIGHT[landing] + _WEIGHT_HIT
                codes[n] = high_first
                n += 1
            if at_other == -1:
                keys[n] = key + _WEIGHT[p - low] + _WEIGHT_HIT
                codes[n] = low_first
                n += 1
        # Two checkers make a step each.
        if at_landing < -1:
            continue
        n_high += 1
        key_high = _step_key(w, p, landing)
        for i in range(n_low):
            q = sources[i]
            to = q - low
            # A step from the other's landing point is one checker's double step, listed above.
            if q == landing or to == p or (q == p and w[p] < 2):
                continue
            key = key_high + _WEIGHT[to] - _WEIGHT[q]
            if w[to] == -1 and to != landing:
                key += _WEIGHT[to] + _WEIGHT_HIT
            keys[n] = key
            codes[n] = _TWO_STEPS | p | (q << _SOURCE_BITS)
            n += 1
    if n > 0:
        return n
    die = high if n_high > 0 else low
    order = 0 if n_high > 0 else _LOW_FIRST
    for p in range(die + 1, 25):
        if w[p] > 0 and w[p - die] >= -1:
            keys[n] = _step_key(w, p, p - die)
            codes[n] = _ONE_STEP | p | order
            n += 1
    return n


@njit(cache=True, nogil=True)
def _any_field(w, high, low, keys, codes):
    """Two different dice in any position: both orders, played out; may hold duplicates."""
    n = 0
    longest = 0
    single_order = 0
    first_rear = _rear_point(w, 25)
    for order in range(2):
        first, second = (high, low) if order == 0 else (low, high)
        flag = 0 if order == 0 else _LOW_FIRST
        for p in range(first_rear, 0, -1):
            if not _may_step(w, p, first, first_rear):
                continue
            target = p - first
            key = _step_key(w, p, target)
            hit = target > 0 and w[target] == -1
            w[p] -= 1
            if target > 0:
                w[target] = 1 if hit else w[target] + 1
            rear = _rear_point(w, first_rear)
            for q in range(rear, 0, -1):
                if not _may_step(w, q, second, rear):
                    continue
                if longest < 2:
                    longest = 2
                    n = 0
                keys[n] = key + _step_key(w, q, q - second)
                codes[n] = _TWO_STEPS | p | (q << _SOURCE_BITS) | flag
                n += 1
            # Where the larger die can be played alone, the smaller one alone may not.
            if longest == 0 or (longest == 1 and single_order == order):
                longest = 1
                single_order = order
                keys[n] = key
                codes[n] = _ONE_STEP | p | flag
                n += 1
            w[p] += 1
            if target > 0:
                w[target] = -1 if hit else w[target] - 1
    return n


@njit(cache=True, nogil=True)
def _drop_equal(keys, codes, n):
    """Keep the first of every run of equal sorted keys; returns how many are left."""
    kept = 0
    for i in range(n):
        if kept == 0 or keys[i] != keys[kept - 1]:
            keys[kept] = keys[i]
            codes[kept] = codes[i]
            kept += 1
    return kept


# Key of a play of a double. Without bear-offs the boards order as (number of hits, number of steps
# from point 1, from point 2, ...): that is, as the hits followed by the ascending source points,
# smaller points first. With bear-offs the slots of the home board go before the sources; plays
# that still tie above the sources, if any, are put in order by their boards (`_order_ties`).
_HITS_SHIFT = 4 * _SOURCE_BITS
_HOME_SHIFT = 4 * _SOURCE_BITS
_HOME_BITS = 5


@njit(cache=True, nogil=True)
def _doublet_field(w, die, keys, codes, sources, hits):
    """A double without a bear-off within reach, from non-increasing source points.

    sources, hits: `(5,)` int64 scratch. Leaves w as it was.
    """
    n = 0
    longest = 0
    level = 0
    n_hits = 0
    child = False  # whether the current node has had a child
    top = 25 if w[25] > 0 else 24
    point = top
    while True:
        lowest = 25 if w[25] > 0 else die + 1
        if level == 3:
            # The last step is only written down, not played.
            key_rest = 0
            code_rest = 4 << _STEPS_SHIFT
            for step in range(3):
                code_rest |= sources[step] << (_SOURCE_BITS * step)
                key_rest |= (_SOURCE_MASK - sources[step]) << (_SOURCE_BITS * step)
            for last in range(point, lowest - 1, -1):
                if w[last] > 0 and w[last - die] >= -1:
                    if longest < 4:
                        longest = 4
                        n = 0
                    child = True
                    more = n_hits + (1 if w[last - die] == -1 else 0)
                    keys[n] = (
                        (more << _HITS_SHIFT)
                        | ((_SOURCE_MASK - last) << (3 * _SOURCE_BITS))
                        | key_rest
                    )
                    codes[n] = code_rest | (last << (3 * _SOURCE_BITS))
                    n += 1
        else:
            while point >= lowest and not (w[point] > 0 and w[point - die] >= -1):
                point -= 1
            if point >= lowest:
                target = point - die
                w[point] -= 1
                if w[target] == -1:
                    w[target] = 1
                    hits[level] = 1
                    n_hits += 1
                else:
                    w[target] += 1
                    hits[level] = 0
                sources[level] = point
                level += 1
                child = False
                continue
        if not child and level >= longest and level > 0:
            if level > longest:
                longest = level
                n = 0
            key = n_hits
            code = level << _STEPS_SHIFT
            for step in range(level):
                key = (key << _SOURCE_BITS) | (_SOURCE_MASK - sources[level - 1 - step])
                code |= sources[step] << (_SOURCE_BITS * step)
            keys[n] = key
            codes[n] = code
            n += 1
        if level == 0:
            return n
        level -= 1
        point = sources[level]
        target = point - die
        w[point] += 1
        if hits[level]:
            w[target] = -1
            n_hits -= 1
        else:
            w[target] -= 1
        child = True
        point -= 1


@njit(cache=True, nogil=True)
def _doublet_any(w, die, keys, codes, sources, hits):
    """A double in any position; as `_doublet_field`, with keys that hold the home board."""
    n = 0
    longest = 0
    level = 0
    n_hits = 0
    child = False
    rear = _rear_point(w, 25)
    point = rear
    while True:
        if level < 4:
            if rear == 25 and point < 25:
                point = 0
            while point > 0 and not _may_step(w, point, die, rear):
                point = 0 if rear == 25 else point - 1
            if point > 0:
                target = point - die
                w[point] -= 1
                hits[level] = 0
                if target > 0:
                    if w[target] == -1:
                        w[target] = 1
                        hits[level] = 1
                        n_hits += 1
                    else:
                        w[target] += 1
                sources[level] = point
                level += 1
                child = False
                rear = _rear_point(w, rear)
                continue
        if not child and level >= longest and level > 0:
            if level > longest:
                longest = level
                n = 0
            key = n_hits
            for slot in range(1, 7):
                key = (key << _HOME_BITS) | (w[slot] + 15)
            code = level << _STEPS_SHIFT
            for step in range(4):
                source = sources[level - 1 - step] if step < level else 0
                key = (key << _SOURCE_BITS) | (_SOURCE_MASK - source)
            for step in range(level):
                code |= sources[step] << (_SOURCE_BITS * step)
            keys[n] = key
            codes[n] = code
            n += 1
        if level == 0:
            return n
        level -= 1
        point = sources[level]
        target = point - die
        w[point] += 1
        if target > 0:
            if hits[level]:
                w[target] = -1
                n_hits -= 1
            else:
                w[target] -= 1
        child = True
        rear = max(rear, point)
        point -= 1


@njit(cache=True, nogil=True)
def _order_ties(w, die, keys, codes, row, other):
    """Order by board the runs of sorted plays of a double that agree in hits and home board.

    row, other: `(26,)` scratch of w's kind.
    """
    for i in range(1, len(keys)):
        j = i
        while j > 0 and keys[j] >> _HOME_SHIFT == keys[j - 1] >> _HOME_SHIFT:
            row[:] = w
            other[:] = w
            apply_code(row, codes[j - 1], die, die)
            apply_code(other, codes[j], die, die)
            slot = 7
            while slot < 25 and row[slot] == other[slot]:
                slot += 1
            if row[slot] <= other[slot]:
                break
            keys[j], keys[j - 1] = keys[j - 1], keys[j]
            codes[j], codes[j - 1] = codes[j - 1], codes[j]
            j -= 1


@njit(cache=True, nogil=True)
def new_scratch():
    """Scratch of `find_codes`, one for each thread: `(4, MAX_PLAYS + 128)` int64."""
    return np.empty((4, MAX_PLAYS + 128), dtype=np.int64)


@njit(cache=True, nogil=True)
def find_codes(w, high, low, scratch):
    """Codes of all distinct legal plays, in lexicographic order of their afterstates.

    w: `(26,)` int64 board seen by the mover, left as it was; high >= low: the roll; scratch: from
    `new_scratch`.
    Returns n, the number of plays; the codes are `scratch[1, :n]`. n = 0 is a forced pass.
    """
    keys = scratch[0]
    codes = scratch[1]
    sources = scratch[2, MAX_PLAYS : MAX_PLAYS + 32]
    hits = scratch[3, MAX_PLAYS : MAX_PLAYS + 32]
    outside = w[25]
    for point in range(7, 25):
        if w[point] > 0:
            outside += w[point]
    if high == low:
        bears_off = outside < 4
        if bears_off:
            n = _doublet_any(w, high, keys, codes, sources, hits)
        else:
            n = _doublet_field(w, high, keys, codes, sources, hits)
        _sort(keys, codes, scratch[2], scratch[3], n)
        if bears_off:
            _order_ties(
                w,
                high,
                keys[:n],
                codes[:n],
                scratch[2, MAX_PLAYS + 32 : MAX_PLAYS + 58],
                scratch[3, MAX_PLAYS + 32 : MAX_PLAYS + 58],
            )
        return n
    if w[25] == 0 and outside >= 2:
        n = _open_field(w, high, low, keys, codes, sources)
        _sort(keys, codes, scratch[2], scratch[3], n)
        return n
    n = _any_field(w, high, low, keys, codes)
    _sort(keys, codes, scratch[2], scratch[3], n)
    return _drop_equal(keys, codes, n)


@njit(cache=True, nogil=True)
def write_afterstates(board, high, low, codes, n, out, first):
    """Write the afterstates of the first n codes to `out[first:]`; out is `(M, 26)` int8."""
    for i in range(n):
        row = first + i
        for slot in range(26):
            out[row, slot] = board[slot]
        code = codes[i]
        for step in range(code_num_steps(code)):
            source = code_source(code, step)
            target = source - code_step_die(code, step, high, low)
            out[row, source] -= 1
            if target > 0:
                if out[row, target] == -1:
                    out[row, target] = 1
                    out[row, 0] += 1
                else:
                    out[row, target] += 1
