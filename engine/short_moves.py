"""Compiled legal plays of short nardi under the international rules.

Plays are found as codes, see `engine.play_codes`.

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

from engine.bits import lowest_bit
from engine.compiled import bare_kernel, inlined_kernel, kernel
from engine.doublets import doublet_any, doublet_field, order_ties
from engine.play_codes import LOW_FIRST, MAX_PLAYS, SOURCE_BITS, STEPS_SHIFT, playable_sources

__all__ = ["find_codes", "new_scratch"]

_ONE_STEP = 1 << STEPS_SHIFT
_TWO_STEPS = 2 << STEPS_SHIFT

# Weight of a slot in the exact key of a play that is not a double; 5^25 and both hits fit in int64.
_WEIGHT = np.array([5 ** (25 - slot) for slot in range(26)], dtype=np.int64)
_WEIGHT_HIT = _WEIGHT[0]

_RUN = 48  # plays sorted by comparing all pairs before merging starts; 32 to 64 measured equal


@bare_kernel
def _sort_run(keys, codes, spare_keys, spare_codes, n):
    """Sort a short list: each key goes to the place that the number of smaller keys tells.

    Comparing all pairs is what the compiler turns into a few vector instructions, as long as the
    loop runs from 0 to n.
    """
    for i in range(n):
        key = keys[i]
        rank = 0
        for j in range(n):
            rank += keys[j] < key
        spare_keys[rank] = key
        spare_codes[rank] = codes[i]
    for i in range(n):
        keys[i] = spare_keys[i]
        codes[i] = spare_codes[i]


@bare_kernel
def _sort(keys, codes, spare_keys, spare_codes, n):
    """Sort the first n distinct keys upwards and their codes with them: short runs, then merges."""
    if n <= _RUN:
        _sort_run(keys, codes, spare_keys, spare_codes, n)
        return
    for start in range(0, n, _RUN):
        length = min(_RUN, n - start)
        _sort_run(keys[start:], codes[start:], spare_keys, spare_codes, length)
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
        for i in range(n):
            keys[i] = spare_keys[i]
            codes[i] = spare_codes[i]
        width *= 2


@bare_kernel
def _sort_and_drop_equal(keys, codes, n):
    """Sort a short list, keep one play of each run of equal keys; returns how many are kept.

    By insertion: the lists of `_any_field`, bar and bear-off plays, have six entries on average.
    """
    kept = 0
    for i in range(n):
        key = keys[i]
        code = codes[i]
        j = kept
        while j > 0 and keys[j - 1] > key:
            j -= 1
        if j > 0 and keys[j - 1] == key:
            continue
        for k in range(kept, j, -1):
            keys[k] = keys[k - 1]
            codes[k] = codes[k - 1]
        keys[j] = key
        codes[j] = code
        kept += 1
    return kept


@inlined_kernel
def _step_key(w, source, target):
    """Change of the exact key by one step on board w."""
    key = -_WEIGHT[source]
    if target > 0:
        key += _WEIGHT[target]
        if w[target] == -1:
            key += _WEIGHT[target] + _WEIGHT_HIT
    return key


@bare_kernel
def _open_field(w, own, landing, high, low, keys, codes, low_keys):
    """Two different dice, nobody on the bar, no bear-off within reach of the turn.

    low_keys: `(26,)` int64 scratch.
    """
    n = 0
    by_high = own & (landing << high)
    by_low = own & (landing << low)
    mask = by_low
    while mask:
        q = lowest_bit(mask)
        mask &= mask - 1
        low_keys[q] = _step_key(w, q, q - low)
    # One checker makes both steps.
    mask = (by_high | by_low) & (landing << (high + low))
    while mask:
        p = lowest_bit(mask)
        mask &= mask - 1
        at_high = w[p - high]
        at_low = w[p - low]
        key = _step_key(w, p, p - high - low)
        high_first = _TWO_STEPS | p | ((p - high) << SOURCE_BITS)
        low_first = _TWO_STEPS | p | ((p - low) << SOURCE_BITS) | LOW_FIRST
        if at_high >= 0 or at_low >= 0:
            keys[n] = key
            codes[n] = high_first if at_high >= 0 else low_first
            n += 1
        if at_high == -1:
            keys[n] = key + _WEIGHT[p - high] + _WEIGHT_HIT
            codes[n] = high_first
            n += 1
        if at_low == -1:
            keys[n] = key + _WEIGHT[p - low] + _WEIGHT_HIT
            codes[n] = low_first
            n += 1
    # Two checkers make a step each; a step from the other's landing point is listed above.
    mask = by_high
    while mask:
        p = lowest_bit(mask)
        mask &= mask - 1
        target = p - high
        key = _step_key(w, p, target)
        code = _TWO_STEPS | p
        partners = by_low & ~(1 << target) & ~(1 << (p + low))
        if w[p] == 1:
            partners &= ~(1 << p)
        if w[target] == -1 and partners & (1 << (target + low)):
            # Both land on the blot; it is hit once.
            q = target + low
            partners &= ~(1 << q)
            keys[n] = key + _WEIGHT[target] - _WEIGHT[q]
            codes[n] = code | (q << SOURCE_BITS)
            n += 1
        while partners:
            q = lowest_bit(partners)
            partners &= partners - 1
            keys[n] = key + low_keys[q]
            codes[n] = code | (q << SOURCE_BITS)
            n += 1
    if n > 0:
        return n
    die = high if by_high else low
    code = _ONE_STEP if by_high else _ONE_STEP | LOW_FIRST
    mask = by_high if by_high else by_low
    while mask:
        p = lowest_bit(mask)
        mask &= mask - 1
        keys[n] = _step_key(w, p, p - die)
        codes[n] = code | p
        n += 1
    return n


@bare_kernel
def _any_field(w, own, landing, high, low, keys, codes):
    """Two different dice in any position: both orders, played out; may hold duplicates."""
    n = 0
    longest = 0
    single_order = 0
    for order in range(2):
        first, second = (high, low) if order == 0 else (low, high)
        flag = 0 if order == 0 else LOW_FIRST
        mask = playable_sources(own, landing, first)
        while mask:
            p = lowest_bit(mask)
            mask &= mask - 1
            target = p - first
            key = _step_key(w, p, target)
            own_then = own if w[p] > 1 else own & ~(1 << p)
            hit = target > 0 and w[target] == -1
            if target > 0:
                own_then |= 1 << target
            if hit:
                w[target] = 1
            next_mask = playable_sources(own_then, landing, second)
            if next_mask:
                if longest < 2:
                    longest = 2
                    n = 0
            # Where the larger die can be played alone, the smaller one alone may not.
            elif longest == 0 or (longest == 1 and single_order == order):
                longest = 1
                single_order = order
                keys[n] = key
                codes[n] = _ONE_STEP | p | flag
                n += 1
            while next_mask:
                q = lowest_bit(next_mask)
                next_mask &= next_mask - 1
                keys[n] = key + _step_key(w, q, q - second)
                codes[n] = _TWO_STEPS | p | (q << SOURCE_BITS) | flag
                n += 1
            if hit:
                w[target] = -1
    return n


@kernel
def new_scratch():
    """Scratch of `find_codes`, one for each thread: `(10, MAX_PLAYS)` int64."""
    return np.empty((10, MAX_PLAYS), dtype=np.int64)


@bare_kernel
def find_codes(w, high, low, scratch):
    """Codes of all distinct legal plays, in lexicographic order of their afterstates.

    w: `(26,)` int64 board seen by the mover, left as it was; high >= low: the roll; scratch: from
    `new_scratch`. Returns n, the number of plays; the codes are `scratch[1, :n]`. n = 0 is a pass.
    """
    keys = scratch[0]
    codes = scratch[1]
    own = np.int64(0)  # a bare 0 has a type of its own, for which all callees are compiled as well
    landing = np.int64(0)
    outside = w[25]
    for slot in range(1, 25):
        own |= (w[slot] > 0) << slot
        landing |= (w[slot] >= -1) << slot
    for slot in range(7, 25):
        outside += max(w[slot], 0)
    own |= (w[25] > 0) << 25
    if high == low:
        if outside >= 4:
            n = doublet_field(w, own, landing, high, codes, scratch[2:6], scratch[6:10])
            if n > 0:
                return n
        n = doublet_any(w, own, landing, high, keys, codes, scratch[6:10])
        _sort(keys, codes, scratch[2], scratch[3], n)
        order_ties(w, high, keys[:n], codes[:n], scratch[2], scratch[3])
        return n
    if w[25] == 0 and outside >= 2:
        n = _open_field(w, own, landing, high, low, keys, codes, scratch[2])
        _sort(keys, codes, scratch[2], scratch[3], n)
        return n
    n = _any_field(w, own, landing, high, low, keys, codes)
    return _sort_and_drop_equal(keys, codes, n)
