"""Compiled luck of rolls: what the roll thrown is worth less the mean over all, by a value net."""

import numpy as np

from agent.kernels.replies import find_plays
from agent.kernels.value import MOVER_SIDE, children_probs, money_weights
from engine.compiled import inlined_kernel, kernel
from engine.play_codes import MAX_PLAYS, code_num_steps, code_source, code_step_die

__all__ = ["lucks_of_rolls", "pick_likely"]

_TAKEN = -(1 << 62)


@inlined_kernel
def _mover_equity(probs, row, bg_weight):
    """Equity for the mover, from probabilities of the opponent, who is on roll after the play."""
    gammons = probs[row, 1] - probs[row, 3] + bg_weight * (probs[row, 2] - probs[row, 4])
    return -(2.0 * probs[row, 0] - 1.0 + gammons)


@inlined_kernel
def _has_contact(w):
    rear = 25
    while rear > 0 and w[rear] <= 0:
        rear -= 1
    front = 0
    if w[0] == 0:
        front = 1
        while front < 25 and w[front] >= 0:
            front += 1
    return rear > front


@kernel
def pick_likely(w, after, codes, n, high, low, tables, n_likely, likely, scores):
    """Write the `n_likely` plays that look best by a linear evaluation, to `likely`."""
    table = tables[0] if _has_contact(w) else tables[1]
    for i in range(n):
        for slot in range(26):
            after[slot] = w[slot]
        code = codes[i]
        score = 0
        for step in range(code_num_steps(code)):
            source = code_source(code, step)
            target = source - code_step_die(code, step, high, low)
            m = after[source]
            score += table[source, m + 14] - table[source, m + 15]
            after[source] = m - 1
            if target <= 0:
                continue
            m = after[target]
            if m == -1:
                hit = after[0]
                score += table[0, hit + 16] - table[0, hit + 15]
                after[0] = hit + 1
                m = 0
                score += table[target, 15] - table[target, 14]
            score += table[target, m + 16] - table[target, m + 15]
            after[target] = m + 1
        scores[i] = score
    for k in range(n_likely):
        best = 0
        for i in range(1, n):
            if scores[i] > scores[best]:
                best = i
        likely[k] = codes[best]
        scores[best] = _TAKEN


@kernel
def _value_of_roll(
    contact,
    race,
    w,
    after,
    high,
    low,
    bg_weight,
    switches,
    tables,
    n_likely,
    likely,
    scores,
    weights,
    work,
    scratch,
):
    """Worth of a roll to the mover: that of the play that the net likes best of the likely ones."""
    n = find_plays(w, high, low, switches, scratch)
    if n > n_likely and not switches.is_long:
        pick_likely(w, after, scratch[1], n, high, low, tables, n_likely, likely, scores)
        n = n_likely
        children_probs(contact, race, w, likely, n, high, low, weights, MOVER_SIDE, work)
    else:
        children_probs(contact, race, w, scratch[1], n, high, low, weights, MOVER_SIDE, work)
    best = -4.0
    for i in range(n):
        best = max(best, _mover_equity(work.probs, i, bg_weight))
    return best


@kernel
def lucks_of_rolls(
    contact,
    race,
    boards,
    rolls,
    openings,
    bg_weight,
    switches,
    tables,
    n_likely,
    work,
    scratch,
    lucks,
):
    """Write the luck of each roll, in points of its mover.

    boards: `(B, 26)` int8 before the roll, seen by the mover, games that go on; rolls: `(B, 2)`
    int8; openings: `(B,)` bool, whether the roll is a game's first, which also told who starts: the
    mean over both is 0 by symmetry. bg_weight: of `scoring_weights`.
    switches, scratch: as in `agent.kernels.replies`. tables: `(2, 26, 31)` int64, of contact and
    race, of the linear evaluation that picks the `n_likely` plays of short nardi that the net looks
    at; of long nardi it looks at all. lucks: `(B,)` float64.
    """
    w = np.empty(26, dtype=np.int64)
    after = np.empty(26, dtype=np.int64)
    likely = np.empty(n_likely, dtype=np.int64)
    scores = np.empty(MAX_PLAYS, dtype=np.int64)
    weights = money_weights(1)  # which play is best is judged by bg_weight, not by these
    for i in range(len(boards)):
        for slot in range(26):
            w[slot] = boards[i, slot]
        die_a = np.int64(rolls[i, 0])
        die_b = np.int64(rolls[i, 1])
        thrown_high = max(die_a, die_b)
        thrown_low = min(die_a, die_b)
        thrown = 0.0
        total = 0.0
        for high in range(1, 7):
            for low in range(1, high + 1):
                is_thrown = high == thrown_high and low == thrown_low
                if openings[i] and not is_thrown:
                    continue
                value = _value_of_roll(
                    contact,
                    race,
                    w,
                    after,
                    high,
                    low,
                    bg_weight,
                    switches,
                    tables,
                    n_likely,
                    likely,
                    scores,
                    weights,
                    work,
                    scratch,
                )
                total += value if high == low else 2.0 * value
                if is_thrown:
                    thrown = value
        lucks[i] = thrown if openings[i] else thrown - total / 36.0
