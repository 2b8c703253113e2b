"""Probabilities of big batches with numpy: the sparse layer compiled, the dense ones by BLAS.

The same figures as `agent.evaluator` within 1e-5. BLAS uses all cores where it is set to, and is
the faster way from some thousand boards on if the dense layers are wide; for play, the compiled
path is. On a GPU `train.model.TwinNet` does the same with torch.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.kernels.boards import CONTACT, RACE
from agent.kernels.value import NetArrays, first_layers
from agent.net import NetConfig, ValueNet
from engine.board import BAR, Board
from engine.features import expert_inputs, seen_slots
from engine.rules import INTERNATIONAL, LONG_NARDI
from engine.scoring import FOUR_KINDS, outcome_mask, result_factors
from engine.variant import variant_of

__all__ = ["batch_probabilities"]

FloatArray = NDArray[np.float32]


def batch_probabilities(net: ValueNet, boards: ArrayLike) -> FloatArray:
    """`(B, 5)` float32 for `(B, 26)` boards, each for its owner, who is on roll.

    Finished games give their exact outcome. Boards are taken as valid.
    """
    b = np.ascontiguousarray(boards, dtype=np.int8)
    rules = LONG_NARDI if net.is_long else INTERNATIONAL
    if net.four_kinds:
        rules = rules.replace(scoring=FOUR_KINDS)
    variant = variant_of(rules)
    possible = outcome_mask(b, rules)
    most = np.ones((2, len(b)), dtype=np.float32)  # of the third and fifth output
    if net.four_kinds:
        possible[:, [2, 4]] = possible[:, [1, 3]]
        can_be_caught = [variant.can_be_caught(some) for some in (variant.flip(b), b)]
        most = np.where(can_be_caught, 1, 0.5).astype(np.float32)
    probs = possible.astype(np.float32)
    kinds = np.where(variant.has_contact(b), CONTACT, RACE)
    own_left = (b[:, 1:] > 0).any(axis=1)
    opp_left = (b[:, 0] > 0) | (b[:, 1:BAR] < 0).any(axis=1)
    running = own_left & opp_left
    for kind, config, arrays in (
        (CONTACT, net.config.contact, net.contact),
        (RACE, net.config.race, net.race),
    ):
        rows = np.flatnonzero(running & (kinds == kind))
        if len(rows):
            logits = _logits(config, arrays, b[rows], variant.flip(b[rows]))
            probs[rows] = possible[rows] / (1 + np.exp(-logits))
    if net.four_kinds:
        factors = result_factors(b, rules)
        for side, column in ((1, 2), (-1, 4)):
            probs[~running, column] = np.maximum(side * factors[~running] - 2, 0) / 2
    win = probs[:, 0]
    probs[:, 1] = np.minimum(probs[:, 1], win)
    probs[:, 2] = np.minimum(probs[:, 2], most[0] * probs[:, 1])
    probs[:, 3] = np.minimum(probs[:, 3], 1 - win)
    probs[:, 4] = np.minimum(probs[:, 4], most[1] * probs[:, 3])
    return probs


def _logits(config: NetConfig, arrays: NetArrays, boards: Board, opp_boards: Board) -> FloatArray:
    seen = seen_slots(boards).astype(np.int64)
    width = config.width
    x = np.empty((len(seen), width + config.num_experts), dtype=np.float32)
    scratch = np.zeros((3, 256), dtype=np.int64)
    first_layers(arrays.points, arrays.pairs, arrays.bias, seen, scratch, x)
    np.maximum(x[:, :width], 0, out=x[:, :width])
    x[:, width:] = expert_inputs(config.experts, boards)
    tails = (
        _tails(config.num_tails, boards, opp_boards)
        if config.num_tails > 1
        else np.zeros(len(boards), dtype=np.int64)
    )
    logits = np.empty((len(boards), 5), dtype=np.float32)
    units = np.split(x[:, :width], config.groups, axis=1)
    for tail in np.unique(tails):
        rows = np.flatnonzero(tails == tail)
        layers = range(tail * config.groups, (tail + 1) * config.groups)
        z = np.concatenate(
            [
                np.concatenate([part[rows], x[rows, width:]], axis=1) @ arrays.w2[layer]
                + arrays.b2[layer]
                for part, layer in zip(units, layers, strict=True)
            ],
            axis=1,
        )
        if config.hidden:
            z = np.maximum(z, 0) @ arrays.w3[tail] + arrays.b3[tail]
        logits[rows] = z
    return logits


def _tails(num_tails: int, boards: Board, opp_boards: Board) -> NDArray[np.int64]:
    """Numbers of the tails, as `agent.kernels.boards.num_tail` gives them."""
    own, opponent = (
        some[:, BAR].astype(np.int64) + np.maximum(some[:, 19:25], 0).sum(axis=1)
        for some in (boards, opp_boards)
    )
    if num_tails == 25:
        return np.asarray(5 * np.minimum(own, 4) + np.minimum(opponent, 4))
    return np.asarray(3 * np.clip(own - 1, 0, 2) + np.clip(opponent - 1, 0, 2))
