"""The torch twin: the same numbers as the compiled net, and the right gradients."""

import itertools

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from agent.evaluator import Evaluator
from agent.kernels.value import NetArrays
from agent.net import NetConfig, ValueNet, ValueNetConfig, array_shapes
from engine.board import START, phase
from engine.features import NUM_PAIR_ROWS, NUM_POINT_ROWS, PAIR_BASE, PAIR_STATES, POINT_BASE
from engine.features import expert_inputs as contact_inputs
from engine.scoring import outcome_mask
from tests.reference_features import pair_rows, point_rows
from tests.strategies import mixed_boards
from train import model
from train.kernels.rows import board_kinds
from train.model import Batch, TwinNet, encode_batch

torch.set_num_threads(1)

Arrays = NDArray[np.float32]
SHAPES = {
    "outputs at once": NetConfig(width=8, pairs=False, experts="none", hidden=0),
    "outputs at once, experts": NetConfig(width=5, pairs=True, experts="contact-v1", hidden=0),
    "all inputs": NetConfig(width=8, pairs=True, experts="contact-v1", hidden=8),
    "odd sizes": NetConfig(width=13, pairs=True, experts="none", hidden=11),
    "tails": NetConfig(width=8, pairs=True, experts="contact-v1", hidden=6, tails="back9"),
    "more tails": NetConfig(width=8, pairs=True, experts="none", hidden=6, tails="back25"),
    "tails, outputs at once": NetConfig(width=6, pairs=False, hidden=0, tails="back9"),
}


def random_arrays(config: NetConfig, rng: np.random.Generator) -> NetArrays:
    """Weights of which every one matters."""
    return NetArrays(
        **{
            name: rng.normal(0, 0.3, shape).astype(np.float32)
            for name, shape in array_shapes(config).items()
        }
    )


def boards_of(rng: np.random.Generator, wanted: str, count: int) -> NDArray[np.int8]:
    """Boards of one phase; a race is nearly always one where both sides bear off."""
    found = (board for board, _ in mixed_boards(rng) if phase(board) == wanted)
    return np.array(list(itertools.islice(found, count)), dtype=np.int8)


def go_back(value: torch.Tensor) -> None:
    """Gradients of a number, for all that it depends on."""
    torch.autograd.backward(value)


# --- the net, plain and in float64, from its description and the plain encoders ---


def dense_rows(boards: NDArray[np.int8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Which rows each board lights, as ones: `(B, 370)` and `(B, 6615)`."""
    points = np.zeros((len(boards), NUM_POINT_ROWS))
    pairs = np.zeros((len(boards), NUM_PAIR_ROWS))
    for i, board in enumerate(map(tuple, boards.tolist())):
        for slot, count in point_rows(board):
            points[i, POINT_BASE[slot] + count] = 1
        for low, high, n, m in pair_rows(board):
            pairs[i, PAIR_BASE[low, high - low] + (n + 3) * PAIR_STATES + m + 3] = 1
    return points, pairs


def plain_tail(board: tuple[int, ...], tails: str) -> int:
    """Number of the output tail by each side's checkers back."""
    own = board[25] + sum(n for n in board[19:25] if n > 0)
    opponent = board[0] - sum(n for n in board[1:7] if n < 0)
    if tails == "back25":
        return min(own, 4) * 5 + min(opponent, 4)
    groups = [0, 0, 1] + 13 * [2]
    return 3 * groups[own] + groups[opponent] if tails == "back9" else 0


def plain_logits(
    config: NetConfig, weights: dict[str, torch.Tensor], boards: NDArray[np.int8]
) -> torch.Tensor:
    """Logits `(B, 5)` float64, by dense matrices; weights may ask for gradients."""
    points, pairs = (torch.from_numpy(ones) for ones in dense_rows(boards))
    x = points @ weights["points"] + weights["bias"]
    if config.pairs:
        x = x + pairs @ weights["pairs"]
    x = torch.relu(x)
    experts = torch.from_numpy(contact_inputs(config.experts, boards).astype(np.float64))
    rows = []
    for i, board in enumerate(map(tuple, boards.tolist())):
        tail = plain_tail(board, config.tails)
        z = torch.cat([x[i], experts[i]]) @ weights["w2"][tail] + weights["b2"][tail]
        if config.hidden:
            z = torch.relu(z) @ weights["w3"][tail] + weights["b3"][tail]
        rows.append(z)
    return torch.stack(rows)


def float64(arrays: NetArrays) -> dict[str, torch.Tensor]:
    return {
        name: torch.from_numpy(array.astype(np.float64)).requires_grad_()
        for name, array in arrays._asdict().items()
    }


def masked(logits: NDArray[np.floating], boards: NDArray[np.int8]) -> NDArray[np.floating]:
    """Probabilities with what the rules exclude at 0, and cumulative."""
    p: NDArray[np.floating] = 1 / (1 + np.exp(-logits)) * outcome_mask(boards)
    p[:, 1] = np.minimum(p[:, 1], p[:, 0])
    p[:, 2] = np.minimum(p[:, 2], p[:, 1])
    p[:, 3] = np.minimum(p[:, 3], 1 - p[:, 0])
    p[:, 4] = np.minimum(p[:, 4], p[:, 3])
    return p


def batch_of(config: NetConfig, boards: NDArray[np.int8], part: str) -> Batch:
    return encode_batch(boards, np.arange(len(boards)), config, contact=part == "contact")


def assert_all_alike(twin: TwinNet, part: str, boards: NDArray[np.int8]) -> None:
    """Twin, compiled net and plain net give the same probabilities within 1e-5."""
    arrays = twin.arrays()
    other = NetConfig(width=8, pairs=False, experts="none", hidden=0)
    others = random_arrays(other, np.random.default_rng(1))
    if part == "contact":
        net = ValueNet(ValueNetConfig(contact=twin.config, race=other), arrays, others)
    else:
        net = ValueNet(ValueNetConfig(contact=other, race=twin.config), others, arrays)
    compiled = Evaluator(net).probabilities(boards)
    with torch.no_grad():
        logits = twin(batch_of(twin.config, boards, part)).numpy()
        plain = plain_logits(twin.config, float64(arrays), boards).numpy()
    assert logits.dtype == np.float32
    assert logits.shape == (len(boards), 5)
    assert np.abs(logits - plain).max() < 1e-4
    assert np.abs(masked(logits, boards) - masked(plain, boards)).max() < 1e-5
    assert np.abs(compiled - masked(plain, boards)).max() < 1e-5
    assert np.abs(compiled - masked(logits, boards)).max() < 1e-5
    assert np.ptp(compiled[:, 0]) > 0.1  # the net tells boards apart


@pytest.mark.parametrize("part", ["contact", "race"])
@pytest.mark.parametrize("shape", SHAPES)
def test_twin_equals_the_compiled_net_before_and_after_an_update(
    shape: str, part: str, rng: np.random.Generator
) -> None:
    config = SHAPES[shape]
    twin = TwinNet(config, random_arrays(config, rng))
    boards = boards_of(rng, part, 80)
    assert_all_alike(twin, part, boards)

    before = twin.arrays()
    optimizer = torch.optim.Adam(twin.parameters(), lr=0.02)
    batch = batch_of(config, boards, part)
    wanted = torch.from_numpy(rng.random((len(boards), 5), dtype=np.float32))
    for _ in range(3):
        optimizer.zero_grad()
        go_back(torch.nn.functional.binary_cross_entropy_with_logits(twin(batch), wanted))
        optimizer.step()
    for name, array in twin.arrays()._asdict().items():
        used = array.size > 0 and (config.hidden > 0 or name != "b3")
        assert (array != getattr(before, name)).any() == used, name
    assert_all_alike(twin, part, boards)


# --- gradients ---


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_dense_matrices(shape: str, rng: np.random.Generator) -> None:
    config = SHAPES[shape]
    arrays = random_arrays(config, rng)
    boards = boards_of(rng, "contact", 60)
    weight = rng.normal(0, 1, (len(boards), 5))
    twin = TwinNet(config, arrays)
    logits = twin(batch_of(config, boards, "contact"))
    go_back((logits * torch.from_numpy(weight).float()).sum())
    dense = float64(arrays)
    go_back((plain_logits(config, dense, boards) * torch.from_numpy(weight)).sum())
    for name, parameter in twin.named_parameters():
        expected = dense[name].grad
        if expected is None:  # the plain net of this shape has no use for it
            assert parameter.grad is None or not parameter.grad.any(), name
            continue
        assert parameter.grad is not None, name
        assert torch.allclose(parameter.grad.double(), expected, rtol=1e-3, atol=2e-4), name
        assert expected.abs().max() > 0.01, name
    for name, lit in zip(("points", "pairs"), dense_rows(boards), strict=True):
        dark = torch.from_numpy(lit.sum(axis=0) == 0)
        grad = twin.get_parameter(name).grad
        assert grad is not None
        if len(grad):
            assert (grad[dark] == 0).all()


def test_gradient_of_the_first_layer_is_what_a_small_step_does(rng: np.random.Generator) -> None:
    """Central differences along random directions of all weights at once."""
    config = SHAPES["all inputs"]
    twin = TwinNet(config, random_arrays(config, rng))
    batch = batch_of(config, boards_of(rng, "contact", 40), "contact")

    def value() -> torch.Tensor:
        return torch.nn.functional.softplus(twin(batch)).sum(dtype=torch.float64)

    go_back(value())
    for name in ("points", "pairs", "bias"):
        parameter = twin.get_parameter(name)
        assert parameter.grad is not None
        start = parameter.detach().clone()
        direction = torch.from_numpy(rng.normal(0, 1, start.shape).astype(np.float32))
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter.copy_(start + sign * 1e-3 * direction)
                ends.append(float(value()))
                parameter.copy_(start)
        slope = (ends[0] - ends[1]) / 2e-3
        expected = float((parameter.grad.double() * direction.double()).sum())
        assert slope == pytest.approx(expected, rel=0.02, abs=0.05), name


def test_a_board_met_twice_counts_twice(rng: np.random.Generator) -> None:
    config = SHAPES["all inputs"]
    twin = TwinNet(config, random_arrays(config, rng))
    boards = boards_of(rng, "contact", 5)
    grads = []
    for order in ([3], [3, 3]):
        twin.zero_grad()
        batch = encode_batch(boards, np.array(order), config, contact=True)
        go_back(twin(batch).sum())
        grads.append({n: p.grad.clone() for n, p in twin.named_parameters() if p.grad is not None})
    for name, grad in grads[0].items():
        assert torch.allclose(2 * grad, grads[1][name], rtol=1e-5), name


def test_embedding_bags_equal_the_compiled_layer(rng: np.random.Generator) -> None:
    """The path for other devices, on the CPU."""
    boards = boards_of(rng, "contact", 60)
    config = NetConfig(width=8, pairs=True, experts="none", hidden=0)
    batch = batch_of(config, boards, "contact")
    for name, rows, n_rows, lit in zip(
        ("points", "pairs"),
        (batch.points, batch.pairs),
        (batch.n_points, batch.n_pairs),
        dense_rows(boards),
        strict=True,
    ):
        shape = array_shapes(config)[name]
        weights = torch.from_numpy(rng.normal(0, 1, shape).astype(np.float32)).requires_grad_()
        found = model._bag(weights, rows, n_rows)
        ones = torch.from_numpy(lit).float()
        assert torch.allclose(found, ones @ weights.detach(), atol=1e-4), name
        grad_out = torch.from_numpy(rng.normal(0, 1, found.shape).astype(np.float32))
        go_back((found * grad_out).sum())
        assert weights.grad is not None
        assert torch.allclose(weights.grad, ones.T @ grad_out, atol=1e-4), name


def test_embedding_bags_take_boards_without_any_pair() -> None:
    lonely = np.zeros((3, 26), dtype=np.int8)
    lonely[:, 24], lonely[:, 1] = 1, -1
    lonely[1] = START
    config = NetConfig(width=4, pairs=True, experts="none", hidden=0)
    batch = batch_of(config, lonely, "contact")
    assert batch.n_pairs.tolist() == [0, 11, 0]
    weights = torch.arange(NUM_PAIR_ROWS * 4, dtype=torch.float32).reshape(-1, 4)
    found = model._bag(weights, batch.pairs, batch.n_pairs)
    assert found[0].tolist() == found[2].tolist() == [0, 0, 0, 0]
    assert found[1].tolist() == weights[batch.pairs[1, :11].tolist()].sum(0).tolist()


# --- encoding of batches ---


def test_phases_and_possible_outcomes_are_the_engine_s(rng: np.random.Generator) -> None:
    boards = np.array([b for b, _ in itertools.islice(mixed_boards(rng), 1500)], dtype=np.int8)
    finished = boards[:2].copy()
    finished[0, 1:26] = np.minimum(finished[0, 1:26], 0)
    finished[1, 0] = 0
    finished[1, 1:25] = np.maximum(finished[1, 1:25], 0)
    boards = np.concatenate([finished, boards])
    kinds = np.empty(len(boards), dtype=np.int64)
    board_kinds(boards, 0, kinds)
    names = ["over", "contact", "race"]
    assert [names[kind] for kind in kinds] == [phase(board) for board in boards]
    assert (np.bincount(kinds) > 1).all()
    expected = outcome_mask(boards)
    for part in ("contact", "race"):
        order = np.flatnonzero(kinds == names.index(part))
        config = SHAPES["all inputs"]
        batch = encode_batch(boards, order, config, contact=part == "contact")
        assert (batch.possible.numpy() == expected[order]).all()


def test_batches_hold_the_boards_asked_for_in_their_order(rng: np.random.Generator) -> None:
    boards = boards_of(rng, "contact", 30)
    order = rng.permutation(30)[:20]
    for config in SHAPES.values():
        batch = encode_batch(boards, order, config, contact=True)
        assert len(batch.n_points) == 20
        assert batch.experts.shape == (20, config.num_experts)
        assert (batch.experts.numpy() == contact_inputs(config.experts, boards[order])).all()
        tails = [plain_tail(tuple(board), config.tails) for board in boards[order].tolist()]
        assert batch.tails.tolist() == tails
        for i, board in enumerate(boards[order].tolist()):
            assert batch.n_points[i] == len(point_rows(tuple(board)))
            assert batch.n_pairs[i] == (len(pair_rows(tuple(board))) if config.pairs else 0)


@pytest.mark.parametrize("shape", ["tails", "more tails"])
def test_all_tails_are_met(rng: np.random.Generator, shape: str) -> None:
    boards = boards_of(rng, "contact", 600)
    batch = batch_of(SHAPES[shape], boards, "contact")
    assert set(batch.tails.tolist()) == set(range(SHAPES[shape].num_tails))


def test_arrays_are_copies_and_give_the_twin_back(rng: np.random.Generator) -> None:
    config = SHAPES["tails"]
    arrays = random_arrays(config, rng)
    twin = TwinNet(config, arrays)
    again = twin.arrays()
    for name, array in arrays._asdict().items():
        assert (getattr(again, name) == array).all(), name
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(1)
    assert (again.bias == arrays.bias).all()
    assert (twin.arrays().bias == arrays.bias + 1).all()
