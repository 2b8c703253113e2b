"""Compiled legal plays of long nardi.

Nobody is hit and one opposing checker closes a point, so the generator of short nardi finds the
steps: on a board on which every opposing checker stands as a made point, and on which the head
holds no more checkers than may leave it in the turn. Its lists are complete and in order then (see
`engine.short_moves`). Two things remain:

* The six-block ban. As a rule the turn cannot fill six points in a row, which a few bit operations
  tell. Otherwise each play is looked at: it stays if its steps can be played in some order
  without a forbidden block on the way (`block_check=step`) or at its end (`turn`). If any play
  stays, those that stay are the answer, since they use as many dice as could be used without the
  ban. If none does, all sequences of steps are played out.
* Bearing off while more checkers wait on the head than the board shows, and blocks of checkers that
  bear off: then the sequences are played out, too. Both hardly ever happen.

The kernels trust their input: a valid board of long nardi, faces from 1 to 6.
"""

import numpy as np

from engine.bits import lowest_bit
from engine.compiled import bare_kernel, inlined_kernel, kernel
from engine.play_codes import (
    LOW_FIRST,
    MAX_PLAYS,
    SOURCE_BITS,
    STEPS_SHIFT,
    apply_code,
    code_num_steps,
    code_source,
    playable_sources,
)
from engine.short_moves import find_codes

__all__ = [
    "BLOCK_ALWAYS",
    "BLOCK_NONE",
    "BLOCK_OPP_AHEAD",
    "HEADS_CLASSIC",
    "HEADS_NONE",
    "HEADS_PRINCIPLE",
    "HEADS_SEED_LIST",
    "find_long_codes",
    "new_long_scratch",
]

HEADS_CLASSIC, HEADS_SEED_LIST, HEADS_PRINCIPLE, HEADS_NONE = range(4)
"""`head_exception` as the kernels take it."""
BLOCK_OPP_AHEAD, BLOCK_ALWAYS, BLOCK_NONE = range(3)
"""`block_rule` as the kernels take it."""

_HEAD = 24
_OPP_HEAD = 12
_HALF = 12
_HALF_POINTS = 0b1111111111110  # own points 1 to 12
_HEAD_BIT = 1 << _HEAD
_ONE_STEP = 1 << STEPS_SHIFT
_TWO_STEPS = 2 << STEPS_SHIFT

# How many checkers may leave the head in a turn.
_ONE = 1
_TWO = 2
_TWO_IF_STOPPED = 3  # a second one if the first cannot play all dice and two can play more

# Contexts of a turn, as `engine.turn_context` numbers them; below 0 it is read off the board.
_LATER, _FIRST, _SECOND, _SECOND_AFTER_LISTED = range(4)


@kernel
def new_long_scratch():
    """Scratch of `find_long_codes`, one for each thread: `(11, MAX_PLAYS)` int64."""
    return np.empty((11, MAX_PLAYS), dtype=np.int64)


# --- six-block ban ---


@inlined_kernel
def _forbidden(own, ban):
    """Whether the points held by the mover have a forbidden block, not 0 if so.

    own: points with a checker of the mover; ban: set of the opponent's points q from which on six
    held points in a row are forbidden.
    """
    path = ((own & _HALF_POINTS) << _HALF) | ((own >> _HALF) & _HALF_POINTS)
    two = path & (path >> 1)
    six = two & (two >> 2) & (two >> 4)
    return six & ban


@inlined_kernel
def _banned_starts(w, block_rule):
    """The set of the opponent's points from which on six held points in a row are forbidden.

    A block is allowed that an opposing checker has passed, or has been borne off before; its points
    hold no opposing checker, so such a one is below all of them or above.
    """
    if block_rule == BLOCK_NONE:
        return np.int64(0)
    if block_rule == BLOCK_ALWAYS:
        return np.int64((1 << 25) - 1)
    front = np.int64(25)
    n_left = np.int64(0)
    for slot in range(1, 25):
        if w[slot] < 0:
            n_left -= w[slot]
            front = min(front, slot + _HALF if slot <= _HALF else slot - _HALF)
    if n_left < 15:
        return np.int64(0)
    return (np.int64(1) << front) - 1


@inlined_kernel
def _meets_block(w, own, first, first_target, second, second_target, ban, at_turn):
    """Whether two steps in this order meet a forbidden block; no bear-offs."""
    held = own | (1 << first_target)
    if w[first] == 1:
        held &= ~(1 << first)
    if not at_turn and _forbidden(held, ban):
        return True
    left = w[second] - (second == first) + (second == first_target)
    if left == 1:
        held &= ~(1 << second)
    held |= 1 << second_target
    return _forbidden(held, ban) != 0


@bare_kernel
def _ordered_pair(w, own, landing, code, high, low, ban, at_turn):
    """The code of a play of two different dice in an order without a forbidden block; -1 = none."""
    low_first = code & LOW_FIRST
    die, other = (low, high) if low_first else (high, low)
    p = code_source(code, 0)
    if code_num_steps(code) == 1:
        held = own | (1 << (p - die))
        if w[p] == 1:
            held &= ~(1 << p)
        return np.int64(-1) if _forbidden(held, ban) else code
    q = code_source(code, 1)
    if not _meets_block(w, own, p, p - die, q, q - other, ban, at_turn):
        return code
    if at_turn:
        return np.int64(-1)
    flag = low_first ^ LOW_FIRST
    if w[q] > 0 and not _meets_block(w, own, q, q - other, p, p - die, ban, at_turn):
        return np.int64(_TWO_STEPS | q | (p << SOURCE_BITS) | flag)
    # One checker with both dice may stop at the other point.
    stop = p - other
    if (
        q == p - die
        and landing >> stop & 1
        and not _meets_block(w, own, p, stop, stop, stop - die, ban, at_turn)
    ):
        return np.int64(_TWO_STEPS | p | (stop << SOURCE_BITS) | flag)
    return np.int64(-1)


@bare_kernel
def _ordered_doublet(w, own, code, die, ban, at_turn, row, picks, owns):
    """The code of a play of a double in an order without a forbidden block; -1 = none.

    row, picks, owns: scratch of at least 26 numbers. No bear-offs.
    """
    n_steps = code_num_steps(code)
    for slot in range(26):
        row[slot] = w[slot]
    if at_turn:
        apply_code(row, code, die, die)
        held = np.int64(0)
        for slot in range(1, 25):
            held |= (row[slot] > 0) << slot
        return np.int64(-1) if _forbidden(held, ban) else code
    level = 0
    used = 0
    picks[0] = -1
    owns[0] = own
    while True:
        pick = picks[level] + 1
        while pick < n_steps:
            source = code_source(code, pick)
            # Of equal steps that are left, the first one is taken.
            again = (
                pick > 0 and code_source(code, pick - 1) == source and not used >> (pick - 1) & 1
            )
            if not used >> pick & 1 and not again and row[source] > 0:
                held = owns[level] | (1 << (source - die))
                if row[source] == 1:
                    held &= ~(1 << source)
                if not _forbidden(held, ban):
                    break
            pick += 1
        if pick < n_steps:
            source = code_source(code, pick)
            picks[level] = pick
            used |= 1 << pick
            row[source] -= 1
            row[source - die] += 1
            level += 1
            owns[level] = held
            picks[level] = -1
            if level < n_steps:
                continue
            ordered = np.int64(n_steps << STEPS_SHIFT)
            for step in range(n_steps):
                ordered |= code_source(code, picks[step]) << (SOURCE_BITS * step)
            return ordered
        if level == 0:
            return np.int64(-1)
        level -= 1
        pick = picks[level]
        used &= ~(1 << pick)
        source = code_source(code, pick)
        row[source] += 1
        row[source - die] -= 1


# --- all sequences of steps ---


@bare_kernel
def _insert(w, high, low, codes, n, code, row, other):
    """Put a code into the sorted list of n, if its board is not there; returns the new number.

    row: its board; other: scratch of 26 numbers.
    """
    start = 0
    end = n
    while start < end:
        middle = (start + end) >> 1
        for slot in range(26):
            other[slot] = w[slot]
        apply_code(other, codes[middle], high, low)
        slot = 1
        while slot < 25 and row[slot] == other[slot]:
            slot += 1
        if slot == 25:
            return n
        if other[slot] < row[slot]:
            start = middle + 1
        else:
            end = middle
    for i in range(n, start, -1):
        codes[i] = codes[i - 1]
    codes[start] = code
    return n + 1


@bare_kernel
def _search(w, own, landing, high, low, n_heads, ban, at_turn, codes, scratch):
    """All plays by playing out every sequence of steps; scratch: `(8, MAX_PLAYS)` int64."""
    row = scratch[0]
    other = scratch[1]
    sources = scratch[2]
    masks = scratch[3]
    owns = scratch[4]
    heads = scratch[5]
    n_dice = 4 if high == low else 2
    n = 0
    longest = 0
    single_order = 0
    for slot in range(26):
        row[slot] = w[slot]
    for order in range(1 if high == low else 2):
        first, second = (high, low) if order == 0 else (low, high)
        flag = 0 if order == 0 else LOW_FIRST
        level = 0
        owns[0] = own
        heads[0] = 0
        masks[0] = playable_sources(own, landing, first)
        if n_heads == 0:
            masks[0] &= ~_HEAD_BIT
        while True:
            mask = masks[level]
            if mask == 0:
                if level == 0:
                    break
                level -= 1
                source = sources[level]
                target = source - (first if level == 0 else second)
                row[source] += 1
                if target > 0:
                    row[target] -= 1
                continue
            source = lowest_bit(mask)
            masks[level] = mask & (mask - 1)
            target = source - (first if level == 0 else second)
            held = owns[level]
            if row[source] == 1:
                held &= ~(np.int64(1) << source)
            if target > 0:
                held |= np.int64(1) << target
            blocked = _forbidden(held, ban) != 0
            if blocked and not at_turn:
                continue
            row[source] -= 1
            if target > 0:
                row[target] += 1
            sources[level] = source
            level += 1
            # A single die is the larger one if that can be played.
            spare = level == 1 and n_dice == 2 and order == 1 and longest == 1 and single_order == 0
            if not blocked and level >= longest and not spare:
                if level > longest:
                    longest = level
                    single_order = order
                    n = 0
                code = np.int64(flag | level << STEPS_SHIFT)
                for step in range(level):
                    code |= sources[step] << (SOURCE_BITS * step)
                n = _insert(w, high, low, codes, n, code, row, other)
            owns[level] = held
            heads[level] = heads[level - 1] + (source == _HEAD)
            mask = np.int64(0)
            if level < n_dice:
                mask = playable_sources(held, landing, second)
                if heads[level] >= n_heads:
                    mask &= ~_HEAD_BIT
            masks[level] = mask
    return n


# --- plays ---


@bare_kernel
def _codes_with_heads(w, high, low, n_heads, block_rule, at_turn, scratch):
    """Codes of all plays in which at most n_heads checkers leave the head; returns their number."""
    shown = scratch[10]
    own = np.int64(0)
    landing = np.int64(0)
    outside = np.int64(0)
    shown[0] = 0
    shown[25] = 0
    for slot in range(1, 25):
        n = w[slot]
        own |= (n > 0) << slot
        landing |= (n >= 0) << slot
        shown[slot] = n if n >= 0 else -2
        if slot > 6 and n > 0:
            outside += n
    n_hidden = max(w[_HEAD] - n_heads, 0)
    shown[_HEAD] = min(w[_HEAD], n_heads) if w[_HEAD] > 0 else shown[_HEAD]
    n_dice = 4 if high == low else 2
    ban = _banned_starts(w, block_rule)
    if ban:
        reach = own | (own >> high) | (own >> low) | (own >> (high + low))
        if high == low:
            reach |= (own >> (3 * high)) | (own >> (4 * high))
        if not _forbidden(reach & (landing | own), ban):
            ban = np.int64(0)
    codes = scratch[1]
    near = outside < n_dice
    if (n_hidden and outside - n_hidden < n_dice) or (near and ban):
        return _search(w, own, landing, high, low, n_heads, ban, at_turn, codes, scratch[2:10])
    n = find_codes(shown, high, low, scratch)
    if n == 0 or ban == 0:
        return n
    kept = 0
    for i in range(n):
        if high == low:
            code = _ordered_doublet(
                w, own, codes[i], high, ban, at_turn, scratch[2], scratch[3], scratch[4]
            )
        else:
            code = _ordered_pair(w, own, landing, codes[i], high, low, ban, at_turn)
        if code >= 0:
            codes[kept] = code
            kept += 1
    if kept:
        return kept
    return _search(w, own, landing, high, low, n_heads, ban, at_turn, codes, scratch[2:10])


@inlined_kernel
def _context_of_board(w):
    """The context of a turn as far as the board tells, see `engine.turn_context`."""
    if w[_HEAD] != 15:
        return _LATER
    if w[_OPP_HEAD] == -15:
        return _FIRST
    # After 2-1 the first player's checker stands on his 21, after 5-5 on his 4.
    listed = w[_OPP_HEAD] == -14 and (w[9] == -1 or w[16] == -1)
    return _SECOND_AFTER_LISTED if listed else _SECOND


@inlined_kernel
def _heads_allowed(w, high, low, head_exception, context):
    """_ONE, _TWO or _TWO_IF_STOPPED of this turn."""
    if context < 0:
        context = _context_of_board(w)
    if context == _LATER or head_exception == HEADS_NONE:
        return _ONE
    if head_exception == HEADS_PRINCIPLE:
        return _TWO_IF_STOPPED
    if high == low and (high == 3 or high == 4 or high == 6):
        return _TWO
    listed = (high == 5 and low == 5) or (high == 6 and low == 2)
    if head_exception == HEADS_SEED_LIST and context == _SECOND_AFTER_LISTED and listed:
        return _TWO_IF_STOPPED
    return _ONE


@bare_kernel
def find_long_codes(w, high, low, head_exception, block_rule, at_turn, context, scratch):
    """Codes of all distinct legal plays, in lexicographic order of their afterstates.

    w: `(26,)` int64 board seen by the mover, left as it was; high >= low: the roll;
    head_exception, block_rule: as the constants above; at_turn: whether a block is looked for at
    the end of the turn alone; context: a number of `engine.turn_context`; scratch: from
    `new_long_scratch`. Returns n, the number of plays; the codes are `scratch[1, :n]`. n = 0 is
    a pass.
    """
    allowed = _heads_allowed(w, high, low, head_exception, context)
    if allowed != _TWO_IF_STOPPED:
        return _codes_with_heads(w, high, low, allowed, block_rule, at_turn, scratch)
    n = _codes_with_heads(w, high, low, 1, block_rule, at_turn, scratch)
    n_dice = 4 if high == low else 2
    n_used = code_num_steps(scratch[1, 0]) if n > 0 else 0
    if n_used == n_dice:
        return n
    n = _codes_with_heads(w, high, low, 2, block_rule, at_turn, scratch)
    if n > 0 and code_num_steps(scratch[1, 0]) > n_used:
        return n
    return _codes_with_heads(w, high, low, 1, block_rule, at_turn, scratch)
