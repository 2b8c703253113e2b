"""Compiled choice of plays by a value net with the cube: of many positions of one situation."""

import numpy as np

from agent.kernels.cube import combine, cube_efficiency, static_values
from agent.kernels.value import MOVER_SIDE, children_probs, money_weights
from engine.compiled import bare_kernel, inlined_kernel, kernel
from engine.play_codes import apply_code
from engine.short_moves import find_codes, new_scratch

__all__ = ["best_child", "choose_cubeful_plays", "worth_after"]

_TIE = 1e-7  # worths are equal in exact arithmetic, but for rounding


@inlined_kernel
def _is_race(w):
    """Whether the sides of a board, any indexable of 26 slots seen by its owner, have passed."""
    rear = 25
    while rear > 0 and w[rear] <= 0:
        rear -= 1
    front = 0
    if w[0] == 0:
        front = 1
        while front < 25 and w[front] >= 0:
            front += 1
    return rear < front


@inlined_kernel
def _opp_pips(w):
    """Pip count of the opponent of the board's owner."""
    pips = 25 * w[0]
    for slot in range(1, 25):
        if w[slot] < 0:
            pips -= (25 - slot) * w[slot]
    return pips


@bare_kernel
def worth_after(table, probs, row, after, cube_work, values):
    """Worth of an afterstate to side 0, which has moved; the opponent may double before he rolls.

    table: of `agent.kernels.cube`; probs: (M, 5) of the opponent; after: the board, seen by side 0;
    values: (2, S) scratch. In the unit of the table.
    """
    efficiency = cube_efficiency(_is_race(after), _opp_pips(after))
    static_values(table, 1, probs, row, efficiency, cube_work, values, 0)
    combine(table, 1, values, 0, values, 1)
    return -values[1, table.root]


@bare_kernel
def best_child(table, w, after, codes, n, high, low, probs, equity, cube_work, values):
    """Number and worth of the best of n plays that `children_probs` has evaluated.

    Equal ones go by their cubeless equity, then by the order of the list. after: scratch.
    """
    best = 0
    best_worth = -np.inf
    for i in range(n):
        for slot in range(26):
            after[slot] = w[slot]
        apply_code(after, codes[i], high, low)
        worth = worth_after(table, probs, i, after, cube_work, values)
        if worth > best_worth + _TIE or (worth > best_worth - _TIE and equity[i] > equity[best]):
            best = i
            best_worth = max(worth, best_worth)
    return best, best_worth


@kernel
def choose_cubeful_plays(contact, race, boards, rolls, rows, table, cube_work, work, out):
    """Write the best afterstates of the positions `rows`, the unchanged board without a play.

    boards: (B, 26) int8 and rolls: (B, 2) int8, of movers who are side 0 of the table; rows: (N,)
    int64; out: (B, 26) int8. Returns how many afterstates were evaluated; a single play is played
    unseen.
    """
    n_evaluated = 0
    w = np.empty(26, dtype=np.int64)
    after = np.empty(26, dtype=np.int64)
    values = np.empty((2, table.states))
    scratch = new_scratch()
    codes = scratch[1]
    weights = money_weights(1)
    for k in range(len(rows)):
        i = rows[k]
        for slot in range(26):
            w[slot] = boards[i, slot]
        die_a = np.int64(rolls[i, 0])
        die_b = np.int64(rolls[i, 1])
        high, low = (die_a, die_b) if die_a >= die_b else (die_b, die_a)
        n = find_codes(w, high, low, scratch)
        if n > 0:
            best = 0
            if n > 1:
                children_probs(contact, race, w, codes, n, high, low, weights, MOVER_SIDE, work)
                n_evaluated += n
                best, _ = best_child(
                    table, w, after, codes, n, high, low, work.probs, work.equity, cube_work, values
                )
            apply_code(w, codes[best], high, low)
        for slot in range(26):
            out[i, slot] = w[slot]
    return n_evaluated
