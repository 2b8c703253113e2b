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
from numpy.typing import NDArray

from engine.bits import count_bits, highest_bit, lowest_bit
from engine.compiled import inlined_kernel, kernel

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

_BAR_BIT = 1 << 25
_PLACE_BITS = 15  # MAX_PLAYS fits
_PLACE_MASK = (1 << _PLACE_BITS) - 1
_BEYOND_HOME = 1 << 7  # a set of points below this lies in the home board

_RUN = 48  # plays sorted by comparing all pairs before merging starts; 32 to 64 measured equal


@inlined_kernel
def code_num_steps(code):
    """Number of steps of a play code."""
    return (code >> _STEPS_SHIFT) & 7


@inlined_kernel
def code_source(code, step):
    """Source point of step 0, 1, 2 or 3 of a play code (25 = bar)."""
    return (code >> (_SOURCE_BITS * step)) & _SOURCE_MASK


@inlined_kernel
def code_step_die(code, step, high, low):
    """Die used by a step of a play code; for a double high == low."""
    return low if ((code & _LOW_FIRST) != 0) != (step == 1) else high


@inlined_kernel
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


@kernel
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


@kernel
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


@kernel
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
def _sources(own, landing, die):
    """Points a step by `die` may start from now, as a set.

    own: points with a checker of the mover; landing: points not closed to him.
    """
    if own & _BAR_BIT:
        return _BAR_BIT & (landing << die)
    sources = own & (landing << die)
    if own < _BEYOND_HOME:
        die_bit = 1 << die
        if own & die_bit:
            sources |= die_bit
        elif own != 0 and own < die_bit:
            sources |= 1 << highest_bit(own)
    return sources


@inlined_kernel
def _step_key(w, source, target):
    """Change of the exact key by one step on board w."""
    key = -_WEIGHT[source]
    if target > 0:
        key += _WEIGHT[target]
        if w[target] == -1:
            key += _WEIGHT[target] + _WEIGHT_HIT
    return key


@kernel
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
        high_first = _TWO_STEPS | p | ((p - high) << _SOURCE_BITS)
        low_first = _TWO_STEPS | p | ((p - low) << _SOURCE_BITS) | _LOW_FIRST
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
            codes[n] = code | (q << _SOURCE_BITS)
            n += 1
        while partners:
            q = lowest_bit(partners)
            partners &= partners - 1
            keys[n] = key + low_keys[q]
            codes[n] = code | (q << _SOURCE_BITS)
            n += 1
    if n > 0:
        return n
    die = high if by_high else low
    code = _ONE_STEP if by_high else _ONE_STEP | _LOW_FIRST
    mask = by_high if by_high else by_low
    while mask:
        p = lowest_bit(mask)
        mask &= mask - 1
        keys[n] = _step_key(w, p, p - die)
        codes[n] = code | p
        n += 1
    return n


@kernel
def _any_field(w, own, landing, high, low, keys, codes):
    """Two different dice in any position: both orders, played out; may hold duplicates."""
    n = 0
    longest = 0
    single_order = 0
    for order in range(2):
        first, second = (high, low) if order == 0 else (low, high)
        flag = 0 if order == 0 else _LOW_FIRST
        mask = _sources(own, landing, first)
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
            next_mask = _sources(own_then, landing, second)
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
                codes[n] = _TWO_STEPS | p | (q << _SOURCE_BITS) | flag
                n += 1
            if hit:
                w[target] = -1
    return n


@kernel
def _doublet_field(w, own, landing, die, codes, hit_codes, stack):
    """Plays of a double that use all four steps, no bear-off within reach, in order of the boards.

    What is found are multisets of source points, the lowest point first. A step from a point with
    no checker left needs one that arrives there, so it leaves a debt: a step from `die` points
    further back, still to be chosen. Debts are due in the order they are made. Lower source points
    make larger boards, and so does a hit before anything else; that is the order of the loops, and
    of the lists by number of hits that are joined at the end.

    hit_codes: `(4, MAX_PLAYS)` int64 scratch; stack: `(4, MAX_PLAYS)` int64 scratch. w changes and
    is put back. Returns 0 if no play has four steps.
    """
    on_bar = w[25]
    entry = 25 - die
    if on_bar:
        if not landing >> entry & 1:
            return 0
        on_bar = min(on_bar, 4)
    n_steps = 4 - on_bar
    bar_code = 4 << _STEPS_SHIFT
    for step in range(on_bar):
        bar_code |= 25 << (_SOURCE_BITS * step)
    if n_steps == 0:
        codes[0] = bar_code
        return 1
    blots = 0
    for slot in range(1, 25):
        blots |= (w[slot] == -1) << slot
    bar_hit = on_bar != 0 and (blots >> entry & 1) != 0
    at_entry = w[entry]
    if on_bar:
        w[entry] = on_bar + max(at_entry, 0)
        own = (own & ~_BAR_BIT) | 1 << entry
    open_sources = landing << die & _BAR_BIT - 1
    stocked = own & open_sources
    reachable = own
    for _ in range(3):
        reachable |= (reachable & open_sources) >> die
    sources = reachable & open_sources

    lowest = stack[0]  # masks of the sources still to be tried on each level
    chosen = stack[1]
    debts = stack[2]  # points owed, 5 bits each, the first due lowest
    counts = stack[3]  # steps from the point chosen last; number of debts from bit 8 up
    n = 0
    n_by_hits = np.int64(0)  # plays with 1, 2, 3 and 4 hits, _PLACE_BITS each
    level = 0
    lowest[0] = sources
    debts[0] = 0
    counts[0] = 0
    previous = 0
    while True:
        last = level == n_steps - 1
        owed = debts[level]
        n_owed = counts[level] >> 8
        mask = lowest[level]
        if last:
            # Nothing may be owed after this step: it starts where a checker is left.
            mask &= stocked
            if n_owed:
                mask &= 1 << (owed & _SOURCE_MASK)
            if previous and (counts[level] & 255) >= w[previous]:
                mask &= ~(1 << previous)
            code = bar_code
            for step in range(level):
                code |= chosen[step] << (_SOURCE_BITS * (3 - step))
            shift = _SOURCE_BITS * on_bar
            if blots == 0:
                while mask:
                    point = highest_bit(mask)
                    mask ^= 1 << point
                    codes[n] = code | (point << shift)
                    n += 1
            else:
                hit = blots & (1 << entry) if bar_hit else 0
                for step in range(level):
                    hit |= blots & (1 << (chosen[step] - die))
                while mask:
                    point = highest_bit(mask)
                    mask ^= 1 << point
                    n_hits = count_bits(hit | (blots & (1 << (point - die))))
                    if n_hits == 0:
                        codes[n] = code | (point << shift)
                        n += 1
                    else:
                        row = n_hits - 1
                        place = n_by_hits >> (_PLACE_BITS * row) & _PLACE_MASK
                        hit_codes[row, place] = code | (point << shift)
                        n_by_hits += np.int64(1) << (_PLACE_BITS * row)
            mask = 0
        elif mask:
            point = highest_bit(mask)
            lowest[level] = mask ^ (1 << point)
            steps_here = (counts[level] & 255) + 1 if point == previous else 1
            if n_owed and point == owed & _SOURCE_MASK:
                owed >>= _SOURCE_BITS
                n_owed -= 1
            if steps_here > w[point]:
                if point + die > 24 or not sources >> (point + die) & 1:
                    continue
                owed |= (point + die) << (_SOURCE_BITS * n_owed)
                n_owed += 1
            if n_owed > n_steps - level - 1:
                continue
            chosen[level] = point
            level += 1
            debts[level] = owed
            counts[level] = steps_here | n_owed << 8
            mask = sources & -(1 << point)
            if n_owed:
                mask &= (2 << (owed & _SOURCE_MASK)) - 1
            lowest[level] = mask
            previous = point
            continue
        if level == 0:
            break
        level -= 1
        previous = chosen[level - 1] if level else 0
    w[entry] = at_entry
    for row in range(4):
        for i in range(n_by_hits >> (_PLACE_BITS * row) & _PLACE_MASK):
            codes[n] = hit_codes[row, i]
            n += 1
    return n


# Key of a play of a double in any position: hits, slots of the home board, then the ascending
# source points, smaller points first. Plays that tie above the sources, if any, are put in order by
# their boards (`_order_ties`).
_HOME_SHIFT = 4 * _SOURCE_BITS
_HOME_BITS = 5


@kernel
def _doublet_any(w, own, landing, die, keys, codes, stack):
    """A double in any position, played out from non-increasing source points.

    stack: `(4, MAX_PLAYS)` int64 scratch. Leaves w as it was.
    """
    sources = stack[0]
    targets = stack[1]  # 0 where the step bore off, the point where it hit made negative
    masks = stack[2]
    owns = stack[3]
    n = 0
    longest = 0
    level = 0
    n_hits = 0
    masks[0] = _sources(own, landing, die)
    while True:
        mask = masks[level]
        if mask:
            p = lowest_bit(mask)
            masks[level] = mask & (mask - 1)
            target = max(p - die, 0)
            owns[level] = own
            sources[level] = p
            w[p] -= 1
            if w[p] == 0:
                own &= ~(1 << p)
            targets[level] = target
            if target:
                own |= 1 << target
                if w[target] == -1:
                    w[target] = 1
                    targets[level] = -target
                    n_hits += 1
                else:
                    w[target] += 1
            level += 1
            if level < 4:
                mask = _sources(own, landing, die) & ((2 << p) - 1)
                if mask:
                    masks[level] = mask
                    continue
            if level > longest:
                longest = level
                n = 0
            if level == longest:
                key = n_hits
                for slot in range(1, 7):
                    key = (key << _HOME_BITS) | (w[slot] + 15)
                key <<= _HOME_SHIFT
                code = level << _STEPS_SHIFT
                for step in range(level):
                    key |= (_SOURCE_MASK - sources[step]) << (_SOURCE_BITS * step)
                    code |= sources[step] << (_SOURCE_BITS * step)
                keys[n] = key
                codes[n] = code
                n += 1
        elif level == 0:
            return n
        level -= 1
        p = sources[level]
        target = targets[level]
        w[p] += 1
        if target < 0:
            w[-target] = -1
            n_hits -= 1
        elif target > 0:
            w[target] -= 1
        own = owns[level]


@kernel
def _order_ties(w, die, keys, codes, row, other):
    """Order by board the runs of sorted plays of a double that agree in hits and home board.

    row, other: scratch of w's kind, at least `(26,)`.
    """
    for i in range(1, len(keys)):
        j = i
        while j > 0 and keys[j] >> _HOME_SHIFT == keys[j - 1] >> _HOME_SHIFT:
            for slot in range(26):
                row[slot] = w[slot]
                other[slot] = w[slot]
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


@kernel
def new_scratch():
    """Scratch of `find_codes`, one for each thread: `(10, MAX_PLAYS)` int64."""
    return np.empty((10, MAX_PLAYS), dtype=np.int64)


@kernel
def find_codes(w, high, low, scratch):
    """Codes of all distinct legal plays, in lexicographic order of their afterstates.

    w: `(26,)` int64 board seen by the mover, left as it was; high >= low: the roll; scratch: from
    `new_scratch`. Returns n, the number of plays; the codes are `scratch[1, :n]`. n = 0 is a pass.
    """
    keys = scratch[0]
    codes = scratch[1]
    own = 0
    landing = 0
    outside = w[25]
    for slot in range(1, 25):
        own |= (w[slot] > 0) << slot
        landing |= (w[slot] >= -1) << slot
    for slot in range(7, 25):
        outside += max(w[slot], 0)
    own |= (w[25] > 0) << 25
    if high == low:
        if outside >= 4:
            n = _doublet_field(w, own, landing, high, codes, scratch[2:6], scratch[6:10])
            if n > 0:
                return n
        n = _doublet_any(w, own, landing, high, keys, codes, scratch[6:10])
        _sort(keys, codes, scratch[2], scratch[3], n)
        _order_ties(w, high, keys[:n], codes[:n], scratch[2], scratch[3])
        return n
    if w[25] == 0 and outside >= 2:
        n = _open_field(w, own, landing, high, low, keys, codes, scratch[2])
        _sort(keys, codes, scratch[2], scratch[3], n)
        return n
    n = _any_field(w, own, landing, high, low, keys, codes)
    return _sort_and_drop_equal(keys, codes, n)


@kernel
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
