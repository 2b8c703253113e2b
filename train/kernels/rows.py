"""Compiled sparse first layer of the learner: encoding, gathering and scattering of rows."""

import numpy as np

from agent.kernels.boards import board_kind, num_tail, possible_outcomes, see_board
from agent.kernels.simd import add_rows
from agent.kernels.value import first_layer_rows
from engine.compiled import kernel
from engine.expert_inputs import contact_inputs

__all__ = ["MAX_PAIR_ROWS", "MAX_POINT_ROWS", "board_kinds", "encode", "gather", "scatter"]

MAX_POINT_ROWS = 32  # 30 of the slots of a board can be occupied at most, by 15 checkers a side
MAX_PAIR_ROWS = 160  # no more pairs of slots exist than 135


@kernel
def board_kinds(boards, is_long, kinds):
    """Phase of each board as the value net takes it: 0 finished, 1 contact, 2 race.

    is_long: 1 for boards of long nardi, else 0.
    """
    seen = np.empty((1, 28), dtype=np.int64)
    for i in range(len(boards)):
        see_board(boards, i, seen, 0)
        kinds[i] = board_kind(seen, 0, is_long)


@kernel
def encode(
    boards,
    order,
    contact,
    with_pairs,
    n_tails,
    scheme,
    points,
    pairs,
    n_points,
    n_pairs,
    experts,
    tails,
    possible,
):
    """Everything the learner takes of boards[order]: rows of the first layer, inputs, tails.

    points: `(B, MAX_POINT_ROWS)` and pairs: `(B, MAX_PAIR_ROWS)` int64 with their counts;
    experts: `(B, F)` float32; tails: `(B,)` int64; possible: `(B, 5)` float32, 1 for outcomes that
    the rules leave open; scheme: of `agent.kernels.boards`.
    """
    seen = np.empty((1, 28), dtype=np.int64)
    for b in range(len(order)):
        see_board(boards, order[b], seen, 0)
        n_points[b], n_pairs[b] = first_layer_rows(seen, 0, with_pairs, points[b], pairs[b])
        if experts.shape[1]:
            contact_inputs(seen, 0, experts, b, 0)
        tails[b] = num_tail(seen, 0, n_tails, scheme & 1)
        possible_outcomes(seen, 0, contact, scheme, possible, b)


@kernel
def gather(weights, rows, n_rows, out):
    """out[b] += sum of the rows that board b lights; weights, out: float32, rows: int64."""
    for b in range(len(n_rows)):
        add_rows(out, b, weights, rows[b], n_rows[b], 0)


@kernel
def scatter(grad_out, rows, n_rows, grad):
    """grad[row] += grad_out[b] for every row that board b lights; arrays as of `gather`.

    Row after row, each from all of its boards in their order, so that a row stays in registers.
    """
    firsts = np.zeros(len(grad) + 1, dtype=np.int64)
    for b in range(len(n_rows)):
        for k in range(n_rows[b]):
            firsts[rows[b, k] + 1] += 1
    for row in range(len(grad)):
        firsts[row + 1] += firsts[row]
    places = firsts[:-1].copy()
    boards = np.empty(firsts[-1], dtype=np.int64)
    for b in range(len(n_rows)):
        for k in range(n_rows[b]):
            row = rows[b, k]
            boards[places[row]] = b
            places[row] += 1
    for row in range(len(grad)):
        n = firsts[row + 1] - firsts[row]
        if n:
            add_rows(grad, row, grad_out, boards[firsts[row] :], n, 0)
