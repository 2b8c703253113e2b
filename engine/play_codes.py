"""Codes of plays: what the compiled generators find, and boards are written from.

A code is one int64: the source points of a play's steps in a legal playing order, four of 5 bits
from bit 0 up (first step lowest), the number of steps in bits 20 to 22, and in bit 23 whether the
smaller die is played first. Boards are written from codes at the end, so that nothing is copied for
plays that turn out to be duplicates, and a value net can update itself from the few points a code
names.
"""

from engine.bits import highest_bit
from engine.compiled import bare_kernel, inlined_kernel

__all__ = [
    "LOW_FIRST",
    "MAX_PLAYS",
    "SOURCE_BITS",
    "SOURCE_MASK",
    "STEPS_SHIFT",
    "apply_code",
    "code_num_steps",
    "code_source",
    "code_step_die",
    "playable_sources",
    "write_afterstates",
]

MAX_PLAYS = 20_475
"""No position has more distinct plays of one roll; `engine.short_moves` tells why."""

SOURCE_BITS = 5
SOURCE_MASK = 31
STEPS_SHIFT = 20
LOW_FIRST = 1 << 23

_BAR_BIT = 1 << 25
_BEYOND_HOME = 1 << 7  # a set of points below this lies in the home board


@inlined_kernel
def code_num_steps(code):
    """Number of steps of a play code."""
    return (code >> STEPS_SHIFT) & 7


@inlined_kernel
def code_source(code, step):
    """Source point of step 0, 1, 2 or 3 of a play code (25 = bar)."""
    return (code >> (SOURCE_BITS * step)) & SOURCE_MASK


@inlined_kernel
def code_step_die(code, step, high, low):
    """Die used by a step of a play code; for a double high == low."""
    return low if ((code & LOW_FIRST) != 0) != (step == 1) else high


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


@inlined_kernel
def playable_sources(own, landing, die):
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


@bare_kernel
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
