"""Compiled legal plays of doubles in short nardi: see `engine.short_moves`, which calls them."""

import numpy as np

from engine.bits import count_bits, highest_bit, lowest_bit
from engine.compiled import bare_kernel
from engine.play_codes import (
    SOURCE_BITS,
    SOURCE_MASK,
    STEPS_SHIFT,
    apply_code,
    playable_sources,
)

__all__ = ["doublet_any", "doublet_field", "order_ties"]

_BAR_BIT = 1 << 25
_PLACE_BITS = 15  # MAX_PLAYS fits
_PLACE_MASK = (1 << _PLACE_BITS) - 1


@bare_kernel
def doublet_field(w, own, landing, die, codes, hit_codes, stack):
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
    bar_code = 4 << STEPS_SHIFT
    for step in range(on_bar):
        bar_code |= 25 << (SOURCE_BITS * step)
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
                mask &= 1 << (owed & SOURCE_MASK)
            if previous and (counts[level] & 255) >= w[previous]:
                mask &= ~(1 << previous)
            code = bar_code
            for step in range(level):
                code |= chosen[step] << (SOURCE_BITS * (3 - step))
            shift = SOURCE_BITS * on_bar
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
            if n_owed and point == owed & SOURCE_MASK:
                owed >>= SOURCE_BITS
                n_owed -= 1
            if steps_here > w[point]:
                if point + die > 24 or not sources >> (point + die) & 1:
                    continue
                owed |= (point + die) << (SOURCE_BITS * n_owed)
                n_owed += 1
            if n_owed > n_steps - level - 1:
                continue
            chosen[level] = point
            level += 1
            debts[level] = owed
            counts[level] = steps_here | n_owed << 8
            mask = sources & -(1 << point)
            if n_owed:
                mask &= (2 << (owed & SOURCE_MASK)) - 1
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
# their boards (`order_ties`).
_HOME_SHIFT = 4 * SOURCE_BITS
_HOME_BITS = 5


@bare_kernel
def doublet_any(w, own, landing, die, keys, codes, stack):
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
    masks[0] = playable_sources(own, landing, die)
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
                mask = playable_sources(own, landing, die) & ((2 << p) - 1)
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
                code = level << STEPS_SHIFT
                for step in range(level):
                    key |= (SOURCE_MASK - sources[step]) << (SOURCE_BITS * step)
                    code |= sources[step] << (SOURCE_BITS * step)
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


@bare_kernel
def order_ties(w, die, keys, codes, row, other):
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
