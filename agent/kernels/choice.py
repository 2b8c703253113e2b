"""Compiled choice of plays by a value net: of many positions."""

import numpy as np

from agent.kernels.replies import find_plays
from agent.kernels.value import MOVER_SIDE, children_probs
from engine.compiled import kernel
from engine.play_codes import apply_code

__all__ = ["choose_plays"]


@kernel
def choose_plays(contact, race, boards, rolls, weights, switches, work, scratch, out):
    """Write the best afterstate of each position, the unchanged board where nothing can move.

    weights, switches, scratch: as in `agent.kernels.value` and `agent.kernels.replies`.
    Returns how many afterstates were evaluated; a single play is played unseen.
    """
    n_evaluated = 0
    w = np.empty(26, dtype=np.int64)
    codes = scratch[1]
    for i in range(len(boards)):
        for slot in range(26):
            w[slot] = boards[i, slot]
        die_a = np.int64(rolls[i, 0])
        die_b = np.int64(rolls[i, 1])
        high, low = (die_a, die_b) if die_a >= die_b else (die_b, die_a)
        n = find_plays(w, high, low, switches, scratch)
        best = 0
        if n > 1:
            best = children_probs(contact, race, w, codes, n, high, low, weights, MOVER_SIDE, work)
            n_evaluated += n
        apply_code(w, codes[best], high, low)
        for slot in range(26):
            out[i, slot] = w[slot]
    return n_evaluated
