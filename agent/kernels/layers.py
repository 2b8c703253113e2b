"""The layers behind the first, of many boards one after the other, up to their probabilities."""

import numpy as np

from agent.kernels.boards import (
    CONTACT,
    FINISHED,
    KNOWN,
    RACE,
    finished_probs,
    mask_probs,
    num_tail,
)
from agent.kernels.simd import active_matrix_vector, list_active, matrix_vector, sigmoids
from engine.compiled import bare_kernel, inlined_kernel
from engine.expert_inputs import contact_inputs

__all__ = ["finish"]


@bare_kernel
def _layers(
    w2, b2, w3, b3, boards, kinds, kind, n, width, scheme, x, group_x, active, hidden, logits
):
    """Activation and dense layers of the boards of one kind among the first n, to logits.

    x: their pre-activations, `width` of them; expert inputs are written behind them. scheme: of
    `agent.kernels.boards`. group_x: scratch for the inputs of one group of units.
    """
    groups = w2.shape[0] // b3.shape[0]
    n_units = width // groups
    n_inputs = w2.shape[1]
    n_second = w2.shape[2]
    for i in range(n):
        if kinds[i] != kind:
            continue
        for h in range(width):
            x[i, h] = max(x[i, h], np.float32(0))
        if n_inputs > n_units:
            contact_inputs(boards, i, x, i, width)
        tail = num_tail(boards, i, b3.shape[0], scheme & 1)
        if w3.shape[1] == 0:
            for k in range(5):
                logits[i, k] = b2[tail, k]
            matrix_vector(logits, i, w2, tail, x, i, n_inputs)
        else:
            for group in range(groups):
                layer = tail * groups + group
                for k in range(n_second):
                    hidden[1, k] = b2[layer, k]
                if groups == 1:
                    list_active(x, i, n_inputs, active)
                    active_matrix_vector(hidden, 1, w2, layer, x, i, active)
                else:
                    for k in range(n_units):
                        group_x[0, k] = x[i, group * n_units + k]
                    for k in range(n_inputs - n_units):
                        group_x[0, n_units + k] = x[i, width + k]
                    list_active(group_x, 0, n_inputs, active)
                    active_matrix_vector(hidden, 1, w2, layer, group_x, 0, active)
                for k in range(n_second):
                    hidden[0, group * n_second + k] = max(hidden[1, k], np.float32(0))
            for k in range(5):
                logits[i, k] = b3[tail, k]
            matrix_vector(logits, i, w3, tail, hidden, 0, groups * n_second)


@inlined_kernel
def finish(
    contact,
    race,
    n,
    boards,
    kinds,
    scheme,
    x_contact,
    x_race,
    group_x,
    active,
    hidden,
    logits,
    probs,
    first,
):
    """From pre-activations of n boards to their probabilities, in probs[first:]."""
    c = contact
    width = c.bias.shape[0]
    _layers(
        c.w2,
        c.b2,
        c.w3,
        c.b3,
        boards,
        kinds,
        CONTACT,
        n,
        width,
        scheme,
        x_contact,
        group_x,
        active,
        hidden,
        logits,
    )
    r = race
    width = r.bias.shape[0]
    _layers(
        r.w2,
        r.b2,
        r.w3,
        r.b3,
        boards,
        kinds,
        RACE,
        n,
        width,
        scheme,
        x_race,
        group_x,
        active,
        hidden,
        logits,
    )
    sigmoids(logits, 5 * n)
    for i in range(n):
        if kinds[i] == FINISHED:
            finished_probs(boards, i, scheme, probs, first + i)
        elif kinds[i] != KNOWN:
            for k in range(5):
                probs[first + i, k] = logits[i, k]
            mask_probs(boards, i, kinds[i] == CONTACT, scheme, probs, first + i)
