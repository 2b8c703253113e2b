"""Compiled legal plays of short nardi under the switches that look at a turn's order of steps.

`hit_and_hide = ban` and `hit_then_bear_off` judge what one checker does after it has hit, so plays
are found as ordered sequences of steps and each checker on a point is one of three kinds: plain,
marked (it has hit in this turn) or hiding (marked, and now safe on a point of its own side).
Checkers on one point are interchangeable: of a mixed point the player says which kind moves.

Both bans need a hit. `may_bite` tells cheaply when a turn cannot contain one (or a hit and a
bear-off, where only bear-offs are banned); then the plays are those of `engine.short_moves`.
The kernels trust their input, as there.
"""

import numpy as np

from engine.compiled import inlined_kernel, kernel
from engine.play_codes import LOW_FIRST, SOURCE_BITS, STEPS_SHIFT

__all__ = ["BAN_HITTER", "BAN_HOME_HIT", "find_house_plays", "may_bite"]

BAN_HITTER = 1
"""`hit_then_bear_off`: the hitter is not borne off in the same turn."""
BAN_HOME_HIT = 2
"""`hit_then_bear_off`: no bear-off after a hit on own points 1 to 6 in the same turn."""

_PLAIN = 0
_MARKED = 1
_HIDING = 2


@inlined_kernel
def _rear_point(w):
    """Highest point that holds a checker of the mover (25 = bar); 0 if there is none."""
    point = 25
    while point > 0 and w[point] <= 0:
        point -= 1
    return point


@inlined_kernel
def _may_hide_after(w, target, die):
    """Whether a checker could hit on `target` with a double and then hide: at a point that holds a
    checker already, or that another one may reach with the steps that are left."""
    for k in range(1, 4):
        source = target + k * die
        if source > 25 or w[source] <= 0:
            continue
        for j in range(1, 5 - k):
            point = target - j * die
            if point < 1:
                break
            for i in range(5 - k - j):
                other = point + i * die
                if other <= 25 and w[other] > 0:
                    return True
    return False


@kernel
def may_bite(w, high, low, ban_hide, bear_off_ban):
    """Whether a ban could matter for this board and roll; False is certain, True a possibility.

    w: `(26,)` int64 board seen by the mover; ban_hide: bool; bear_off_ban: 0, BAN_HITTER or
    BAN_HOME_HIT.
    """
    n_steps = 4 if high == low else 2
    if not ban_hide:
        outside = w[25]
        for point in range(7, 25):
            if w[point] > 0:
                outside += w[point]
        # The hit takes a step and the last step bears off, so this many checkers can come home.
        if outside > n_steps - 1:
            return False
    for target in range(1, 25):
        if w[target] != -1:
            continue
        if high == low and bear_off_ban == 0:
            if _may_hide_after(w, target, high):
                return True
        elif high == low:
            for k in range(1, 5):
                source = target + k * high
                if source <= 25 and w[source] > 0:
                    return True
        elif bear_off_ban == 0:
            # The hitter's other step is the only one left, and has to end at a checker of its own.
            for hit_die, die in ((high, low), (low, high)):
                source = target + hit_die
                if source <= 25 and w[source] > 0 and target > die and w[target - die] > 0:
                    return True
        else:
            for distance in (high, low, high + low):
                source = target + distance
                if source <= 25 and w[source] > 0:
                    return True
    return False


@kernel
def _grow(rows, codes):
    more_rows = np.empty((2 * len(rows), 26), dtype=np.int8)
    more_codes = np.empty(2 * len(codes), dtype=np.int64)
    more_rows[: len(rows)] = rows
    more_codes[: len(codes)] = codes
    return more_rows, more_codes


@kernel
def _before(rows, a, b):
    """Whether row a comes before row b in lexicographic order."""
    for slot in range(26):
        if rows[a, slot] != rows[b, slot]:
            return rows[a, slot] < rows[b, slot]
    return False


@kernel
def _sort_distinct(rows, codes, n):
    """Sorted distinct first n rows and the code of one play of each (the first one found)."""
    order = np.arange(n)
    spare = np.empty(n, dtype=np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            left = start
            right = middle
            for i in range(start, end):
                take_left = left < middle and (
                    right >= end or not _before(rows, order[right], order[left])
                )
                if take_left:
                    spare[i] = order[left]
                    left += 1
                else:
                    spare[i] = order[right]
                    right += 1
        order, spare = spare, order
        width *= 2
    sorted_rows = np.empty((max(n, 16), 26), dtype=np.int8)
    sorted_codes = np.empty(max(n, 16), dtype=np.int64)
    kept = 0
    for i in range(n):
        sorted_rows[kept] = rows[order[i]]
        sorted_codes[kept] = codes[order[i]]
        if kept == 0 or _before(sorted_rows, kept - 1, kept):
            kept += 1
    return sorted_rows, sorted_codes, kept


@kernel
def find_house_plays(w, die_a, die_b, ban_hide, bear_off_ban):
    """All distinct legal afterstates under the bans, in lexicographic order, with their codes.

    w: `(26,)` int64 board seen by the mover, left as it was. Returns `(N, 26)` int8 afterstates
    and `(N,)` int64 codes as in `engine.play_codes`; no rows for a forced pass.
    """
    high, low = (die_a, die_b) if die_a >= die_b else (die_b, die_a)
    n_dice = 4 if high == low else 2
    rows = np.empty((64, 26), dtype=np.int8)
    codes = np.empty(64, dtype=np.int64)
    n = 0
    longest = 0
    single_order = 0
    compact_at = 1 << 14  # duplicates are dropped before they take more room than this
    kinds = np.zeros((26, 3), dtype=np.int64)
    # Per level: the step taken from there, and what it changed.
    point = np.zeros(5, dtype=np.int64)
    kind = np.zeros(5, dtype=np.int64)
    landed = np.zeros(5, dtype=np.int64)
    hit = np.zeros(5, dtype=np.int64)
    for order in range(1 if high == low else 2):
        for slot in range(1, 26):
            kinds[slot, _PLAIN] = max(w[slot], 0)
            kinds[slot, _MARKED] = 0
            kinds[slot, _HIDING] = 0
        n_hiding = 0
        n_home_hits = 0
        level = 0
        point[0] = 25
        kind[0] = _PLAIN
        while True:
            die = high if (level == 0) == (order == 0) else low
            moved = False
            if level < n_dice:
                rear = _rear_point(w)
                while point[level] > 0:
                    p = point[level]
                    k = kind[level]
                    may = kinds[p, k] > 0 and (rear < 25 or p == 25)
                    target = p - die
                    if may and target > 0:
                        may = w[target] >= -1
                    elif may:
                        may = rear <= 6 and (target == 0 or p == rear)
                        if bear_off_ban == BAN_HITTER and k != _PLAIN:
                            may = False
                        if bear_off_ban == BAN_HOME_HIT and n_home_hits > 0:
                            may = False
                    if may:
                        moved = True
                        break
                    if k < _HIDING:
                        kind[level] = k + 1
                    else:
                        kind[level] = _PLAIN
                        point[level] = p - 1
            if moved:
                p = point[level]
                k = kind[level]
                target = p - die
                w[p] -= 1
                kinds[p, k] -= 1
                if k == _HIDING:
                    n_hiding -= 1
                hit[level] = 0
                landed[level] = k
                if target > 0:
                    if w[target] == -1:
                        w[target] = 1
                        w[0] += 1
                        hit[level] = 1
                        landed[level] = _MARKED
                        if target <= 6:
                            n_home_hits += 1
                    else:
                        if k != _PLAIN:
                            landed[level] = _HIDING if ban_hide and w[target] > 0 else _MARKED
                        w[target] += 1
                    kinds[target, landed[level]] += 1
                    if landed[level] == _HIDING:
                        n_hiding += 1
                level += 1
                allowed = n_hiding == 0 and level >= longest
                if allowed and level == 1 and n_dice == 2:
                    # Where the larger die can be played alone, the smaller one alone may not.
                    allowed = longest == 0 or single_order == order
                    if allowed:
                        single_order = order
                if allowed:
                    if level > longest:
                        longest = level
                        n = 0
                    if n == len(rows):
                        if n >= compact_at:
                            rows, codes, n = _sort_distinct(rows, codes, n)
                            compact_at = max(compact_at, 2 * n)
                        if n == len(rows):
                            rows, codes = _grow(rows, codes)
                    code = level << STEPS_SHIFT
                    if order == 1:
                        code |= LOW_FIRST
                    for step in range(level):
                        code |= point[step] << (SOURCE_BITS * step)
                    for slot in range(26):
                        rows[n, slot] = w[slot]
                    codes[n] = code
                    n += 1
                if level < n_dice:
                    point[level] = 25
                    kind[level] = _PLAIN
                    continue
            if not moved and level == 0:
                break
            # Take the last step back and go on with the next choice of its level.
            level -= 1
            die = high if (level == 0) == (order == 0) else low
            p = point[level]
            k = kind[level]
            target = p - die
            if target > 0:
                kinds[target, landed[level]] -= 1
                if landed[level] == _HIDING:
                    n_hiding -= 1
                if hit[level]:
                    w[target] = -1
                    w[0] -= 1
                    if target <= 6:
                        n_home_hits -= 1
                else:
                    w[target] -= 1
            w[p] += 1
            kinds[p, k] += 1
            if k == _HIDING:
                n_hiding += 1
            if k < _HIDING:
                kind[level] = k + 1
            else:
                kind[level] = _PLAIN
                point[level] = p - 1
    return _sort_distinct(rows, codes, n)
