"""Fitting to targets: loss, masks, averages, states, and stopping when numbers run away."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import train.learner as learner_module
from agent.evaluator import Evaluator
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from engine.board import START, flip, has_contact
from engine.scoring import outcome_mask
from tests.strategies import constructed_board
from train.config import LearnConfig
from train.learner import DivergedError, Learner, LearnReport

torch.set_num_threads(1)

TINY = ValueNetConfig(
    contact=NetConfig(width=8, pairs=True, experts="contact-v1", hidden=4),
    race=NetConfig(width=8, pairs=False, experts="none", hidden=0),
)
NO_AVERAGE = LearnConfig(batch=64, average=0.0)

Targets = NDArray[np.float32]


def new_net(seed: int = 1, config: ValueNetConfig = TINY) -> ValueNet:
    return new_value_net(config, np.random.default_rng(seed))


def some_boards(rng: np.random.Generator, count: int) -> NDArray[np.int8]:
    """Distinct boards, half of them races."""
    boards: list[tuple[int, ...]] = []
    for wanted in (True, False):
        while len(boards) < (count // 2 if wanted else count):
            board = constructed_board(rng, "bear_off")
            if has_contact(np.array(board)) == wanted and board not in boards:
                boards.append(board)
    return np.array(boards, dtype=np.int8)


def some_targets(rng: np.random.Generator, boards: NDArray[np.int8]) -> Targets:
    """Cumulative probabilities that respect what the rules exclude."""
    win = rng.random((len(boards), 1))
    shares = np.cumprod(rng.random((len(boards), 4)).reshape(-1, 2, 2), axis=2)
    targets = np.concatenate([win, win * shares[:, 0], (1 - win) * shares[:, 1]], axis=1)
    return (targets * outcome_mask(boards)).astype(np.float32)


def learn(
    learner: Learner, boards: NDArray[np.int8], targets: Targets, steps: int, rate: float = 0.01
) -> list[LearnReport]:
    order = np.arange(len(boards))
    return [learner.learn(boards, targets, order, rate) for _ in range(steps)]


def probabilities(learner: Learner, boards: NDArray[np.int8]) -> NDArray[np.float32]:
    return Evaluator(learner.averaged()).probabilities(boards)


def states_equal(one: dict[str, NDArray[np.generic]], two: dict[str, NDArray[np.generic]]) -> bool:
    return one.keys() == two.keys() and all(
        one[name].dtype == two[name].dtype and np.array_equal(one[name], two[name]) for name in one
    )


# --- learning ---


def test_loss_falls_on_ten_positions_and_the_net_follows(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 10)
    targets = some_targets(rng, boards)
    wider = ValueNetConfig(
        contact=NetConfig(width=32, pairs=True, experts="contact-v1", hidden=16),
        race=NetConfig(width=32, pairs=False, experts="none", hidden=0),
    )
    learner = Learner(new_net(1, wider), NO_AVERAGE)
    before = np.abs(probabilities(learner, boards) - targets).max()
    reports = learn(learner, boards, targets, 150)
    for name in ("loss", "race_loss"):
        losses = [getattr(report, name) for report in reports]
        assert losses[-1] < losses[15] < losses[0]
    after = np.abs(probabilities(learner, boards) - targets).max()
    assert after < 0.02 < 0.2 < before
    assert all(report.positions == 10 for report in reports)


def test_loss_is_the_mean_cross_entropy_over_positions(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 50)
    targets = some_targets(rng, boards)
    net = new_net()
    p = np.clip(Evaluator(net).probabilities(boards).astype(np.float64), 1e-12, 1 - 1e-12)
    terms = -(targets * np.log(p) + (1 - targets) * np.log(1 - p)) * outcome_mask(boards)
    contact = has_contact(boards)
    # A step of nearly nothing, so that later minibatches are measured with the same weights.
    learner = Learner(net, LearnConfig(batch=7))
    report = learner.learn(boards, targets, rng.permutation(len(boards)), 1e-12)
    assert report.positions == 50
    assert report.loss == pytest.approx(terms[contact].sum(axis=1).mean(), rel=1e-3)
    assert report.race_loss == pytest.approx(terms[~contact].sum(axis=1).mean(), rel=1e-3)


def test_positions_count_by_their_weights(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 40)
    targets = some_targets(rng, boards)
    order = np.arange(40)
    weights = rng.random(40).astype(np.float32)
    weights[::4] = 0

    def learned(wanted: Targets, counts: NDArray[np.float32] | None) -> tuple[Learner, LearnReport]:
        learner = Learner(new_net(), NO_AVERAGE)
        return learner, learner.learn(boards, wanted, order, 0.01, weights=counts)

    # Without weights, each counts 1.
    plain, report = learned(targets, None)
    ones, of_ones = learned(targets, np.ones(40, dtype=np.float32))
    assert report == of_ones
    assert states_equal(plain.state(), ones.state())
    # What counts nothing teaches nothing.
    some, of_some = learned(targets, weights)
    other_targets = targets.copy()
    other_targets[::4] = 0.5
    others, of_others = learned(other_targets, weights)
    assert of_some == of_others
    assert states_equal(some.state(), others.state())
    # The loss is the weighted one: linear in the weights.
    each = [learned(targets, np.eye(40, dtype=np.float32)[k])[1] for k in range(40)]
    assert of_some.loss == pytest.approx(
        sum(w * one.loss for w, one in zip(weights, each, strict=True)), rel=1e-4
    )
    assert of_some.race_loss == pytest.approx(
        sum(w * one.race_loss for w, one in zip(weights, each, strict=True)), rel=1e-4
    )
    # Half of a weight moves Adam's first moment by half.
    halved, _ = learned(targets, weights / 2)
    for name in ("contact/exp_avg/w2", "race/exp_avg/points"):
        assert halved.state()[name] == pytest.approx(some.state()[name] / 2, abs=1e-8)


def test_only_positions_of_the_order_are_learned_from(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 12)
    targets = some_targets(rng, boards)
    spoiled = targets.copy()
    spoiled[3] = np.nan
    order = np.array([i for i in range(12) if i != 3])
    learners = [Learner(new_net(), NO_AVERAGE) for _ in range(2)]
    reports = [
        learner.learn(boards, wanted, order, 0.01)
        for learner, wanted in zip(learners, (targets, spoiled), strict=True)
    ]
    assert reports[0] == reports[1]
    assert reports[0].positions == 11
    assert states_equal(learners[0].state(), learners[1].state())


def test_finished_boards_teach_nothing(rng: np.random.Generator) -> None:
    over = np.zeros((2, 26), dtype=np.int8)
    over[0, 6], over[1, 20] = 3, -2
    learner = Learner(new_net(), NO_AVERAGE)
    before = learner.state()
    report = learner.learn(over, np.ones((2, 5), dtype=np.float32), np.arange(2), 0.01)
    assert report == LearnReport(positions=0, loss=0.0, race_loss=0.0)
    assert states_equal(before, learner.state())
    empty = learner.learn(over[:0], np.empty((0, 5), dtype=np.float32), np.arange(0), 0.01)
    assert empty.positions == 0


def test_each_phase_moves_its_own_net_only(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 40)
    targets = some_targets(rng, boards)
    contact = has_contact(boards)
    for chosen, moved, still in ((contact, "contact", "race"), (~contact, "race", "contact")):
        learner = Learner(new_net(), NO_AVERAGE)
        before = learner.state()
        learn(learner, boards[chosen], targets[chosen], 2)
        after = learner.state()
        changed = {name.split("/")[0] for name in before if (before[name] != after[name]).any()}
        assert changed == {moved}
        assert still not in changed


def test_targets_of_excluded_outcomes_have_no_gradient(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 40)
    allowed = outcome_mask(boards)
    assert (~allowed).any(axis=0).tolist() == [False, True, True, True, True]
    targets = some_targets(rng, boards)
    nonsense = np.where(allowed, targets, rng.random(targets.shape) * 9 - 4).astype(np.float32)
    assert (nonsense != targets).any()
    learners = [Learner(new_net(), LearnConfig(batch=16)) for _ in range(2)]
    for learner, wanted in zip(learners, (targets, nonsense), strict=True):
        learn(learner, boards, wanted, 3)
    assert states_equal(learners[0].state(), learners[1].state())


def one_position() -> NDArray[np.int8]:
    """A race with nobody home yet and nothing borne off: backgammons excluded, gammons not."""
    board = np.zeros((1, 26), dtype=np.int8)
    board[0, 8], board[0, 14] = 15, -15
    return board


@pytest.mark.parametrize("board", [START[np.newaxis], one_position()], ids=["contact", "race"])
def test_targets_beyond_0_and_1_pull_as_p_less_target(board: NDArray[np.int8]) -> None:
    """Two targets of one position, one out of range, meet at their mean; clipped ones would not."""
    boards = np.repeat(board, 2, axis=0)
    targets = np.array([[1.3, 0.4, 0.2, 0.6, 0.1], [0.1, -0.2, -0.1, -0.4, 0.1]], dtype=np.float32)
    learner = Learner(new_net(), NO_AVERAGE)
    learn(learner, boards, targets, 1500, 0.003)
    found = probabilities(learner, board)[0]
    allowed = outcome_mask(board)[0]
    assert found[allowed] == pytest.approx(targets.mean(axis=0)[allowed], abs=0.01)
    assert (found[~allowed] == 0).all()


def test_gradient_on_the_output_biases_is_p_less_target(rng: np.random.Generator) -> None:
    """Adam's first mean is a tenth of the gradient: the mean of p - target over the positions."""
    boards = some_boards(rng, 24)[:12]
    assert has_contact(boards).all()
    net = new_net()
    p = Evaluator(net).probabilities(boards).astype(np.float64)
    targets = rng.uniform(-1, 2, (12, 5)).astype(np.float32)
    learner = Learner(net, NO_AVERAGE)
    learn(learner, boards, targets, 1)
    gradient = 10 * learner.state()["contact/exp_avg/b3"].reshape(5)
    allowed = outcome_mask(boards)
    assert gradient == pytest.approx(((p - targets) * allowed).mean(axis=0), abs=2e-3)


# --- step sizes ---


def first_step(config: LearnConfig, rng: np.random.Generator) -> dict[str, float]:
    """Largest change of each array in a first step of size 1e-3; Adam's is the step size."""
    boards = some_boards(np.random.default_rng(5), 40)
    targets = some_targets(rng, boards)
    learner = Learner(new_net(), config)
    before = learner.state()
    learner.learn(boards, targets, np.arange(40), 1e-3)
    after = learner.state()
    return {
        name.replace("/weight/", "/"): float(np.abs(after[name] - before[name]).max())
        for name in before
        if "/weight/" in name and before[name].size
    }


def test_step_sizes_have_the_configured_shares(rng: np.random.Generator) -> None:
    changes = first_step(LearnConfig(batch=64, pair_rate=0.25, race_rate=0.5), rng)
    assert changes["contact/points"] == pytest.approx(1e-3, rel=0.02)
    assert changes["contact/pairs"] == pytest.approx(0.25e-3, rel=0.02)
    assert changes["race/points"] == pytest.approx(0.5e-3, rel=0.02)
    stopped = first_step(LearnConfig(batch=64, pair_rate=0.0, race_rate=0.0), rng)
    assert stopped["contact/points"] == pytest.approx(1e-3, rel=0.02)
    assert stopped["contact/pairs"] == stopped["race/points"] == 0


def test_minibatches_have_the_configured_size(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 20)  # ten of each phase
    targets = some_targets(rng, boards)
    for batch, steps in ((3, 4), (5, 2), (10, 1), (64, 1)):
        learner = Learner(new_net(), LearnConfig(batch=batch))
        learn(learner, boards, targets, 1)
        assert learner.steps == {"contact": steps, "race": steps}


# --- averages ---


def test_averages_follow_the_weights_as_documented(rng: np.random.Generator) -> None:
    """The decay of step n is n / (n + 10) until it reaches the configured one."""
    boards = some_boards(rng, 20)
    targets = some_targets(rng, boards)
    learner = Learner(new_net(), LearnConfig(batch=64, average=0.7))
    expected = {
        name: value.astype(np.float64)
        for name, value in learner.state().items()
        if "/weight/" in name
    }
    for step in range(1, 41):
        learn(learner, boards, targets, 1)
        decay = min(0.7, step / (step + 10))
        state = learner.state()
        for name, average in expected.items():
            average += (1 - decay) * (state[name] - average)
            found = state[name.replace("/weight/", "/average/")]
            assert np.abs(found - average).max(initial=0) < 1e-5, (step, name)
    # averaged() is those averages, not the weights.
    net = learner.averaged({"games": 7})
    assert net.facts == {"games": 7}
    for part, arrays in (("contact", net.contact), ("race", net.race)):
        for name, array in arrays._asdict().items():
            assert (array == state[f"{part}/average/{name}"]).all()
    assert (net.contact.points != state["contact/weight/points"]).any()


def test_no_averaging_keeps_the_weights_themselves(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 20)
    learner = Learner(new_net(), NO_AVERAGE)
    learn(learner, boards, some_targets(rng, boards), 3)
    state = learner.state()
    for name in state:
        if "/weight/" in name:
            assert (state[name] == state[name.replace("/weight/", "/average/")]).all()


def test_averaged_nets_are_copies_and_the_net_given_is_not_touched(
    rng: np.random.Generator,
) -> None:
    boards = some_boards(rng, 20)
    net = new_net()
    original = net.contact.points.copy()
    learner = Learner(net, NO_AVERAGE)
    taken = learner.averaged()
    assert (taken.contact.points == original).all()
    learn(learner, boards, some_targets(rng, boards), 3)
    assert (net.contact.points == original).all()
    assert (taken.contact.points == original).all()
    assert (learner.averaged().contact.points != original).any()
    assert learner.averaged().config == net.config


# --- states ---


@pytest.mark.parametrize("average", [0.0, 0.999])
def test_a_state_goes_on_bit_for_bit(average: float, rng: np.random.Generator) -> None:
    boards = some_boards(rng, 60)
    targets = some_targets(rng, boards)
    config = LearnConfig(batch=8, average=average)

    def rounds(learner: Learner, first: int, last: int) -> None:
        for number in range(first, last):
            order = np.random.default_rng(number).permutation(len(boards))
            learner.learn(boards, targets, order, 0.01 / (1 + number))

    straight = Learner(new_net(), config)
    rounds(straight, 0, 3)
    state = straight.state()
    kept = {name: value.copy() for name, value in state.items()}
    rounds(straight, 3, 6)
    assert states_equal(state, kept)  # a state is a copy
    # Into a fresh learner of other weights, and into one that has been used.
    fresh = Learner(new_net(2), config)
    used = Learner(new_net(3), config)
    rounds(used, 0, 4)
    for other in (fresh, used):
        other.load_state(state)
        assert states_equal(other.state(), kept)
        rounds(other, 3, 6)
        assert states_equal(other.state(), straight.state())
    assert states_equal(state, kept)


def test_a_state_from_before_the_first_step_clears_a_used_learner(
    rng: np.random.Generator,
) -> None:
    boards = some_boards(rng, 20)
    targets = some_targets(rng, boards)
    fresh = Learner(new_net(), NO_AVERAGE)
    used = Learner(new_net(2), NO_AVERAGE)
    learn(used, boards, targets, 3)
    used.load_state(fresh.state())
    learn(used, boards, targets, 2)
    learn(fresh, boards, targets, 2)
    assert states_equal(used.state(), fresh.state())


def test_states_hold_plain_arrays_by_name(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 20)
    learner = Learner(new_net(), LearnConfig(batch=64))
    learn(learner, boards, some_targets(rng, boards), 2)
    state = learner.state()
    assert state["contact/steps"].tolist() == [2]
    assert state["race/steps"].tolist() == [2]
    for kind in ("weight", "average", "exp_avg", "exp_avg_sq"):
        assert state[f"contact/{kind}/points"].shape == (370, 8)
        assert state[f"contact/{kind}/points"].dtype == np.float32
    assert all(isinstance(value, np.ndarray) for value in state.values())


def test_a_state_of_another_net_is_refused(rng: np.random.Generator) -> None:
    wider = dataclasses.replace(TINY, contact=NetConfig(width=16, pairs=True, hidden=4))
    state = Learner(new_net(1, wider), NO_AVERAGE).state()
    with pytest.raises(ValueError, match=r"contact/weight/points.*\(370, 16\).*\(370, 8\)"):
        Learner(new_net(), NO_AVERAGE).load_state(state)
    with pytest.raises(KeyError):
        Learner(new_net(), NO_AVERAGE).load_state({})


# --- the same on every machine and run; running away ---


def test_the_same_positions_give_the_same_weights(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 40)
    targets = some_targets(rng, boards)
    learners = [Learner(new_net(), LearnConfig(batch=16)) for _ in range(2)]
    for learner in learners:
        learn(learner, boards, targets, 3)
    assert states_equal(learners[0].state(), learners[1].state())
    turned = Learner(new_net(), LearnConfig(batch=16))
    turned.learn(boards, targets, np.arange(len(boards))[::-1], 0.01)
    other = Learner(new_net(), LearnConfig(batch=16))
    other.learn(boards, targets, np.arange(len(boards)), 0.01)
    assert not states_equal(turned.state(), other.state())


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_learns_the_same(
    threads: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    # Many pieces of a minibatch, and blocks that end within arrays and hold parts of several.
    monkeypatch.setattr(learner_module, "_PIECE", 10)
    monkeypatch.setattr(learner_module, "_BLOCK", 3_000)
    boards = some_boards(rng, 100)
    targets = some_targets(rng, boards)
    order = rng.permutation(len(boards))
    config = LearnConfig(batch=48, average=0.9)
    alone = Learner(new_net(), config)
    reports = [alone.learn(boards, targets, order, 0.01) for _ in range(3)]
    with ThreadPoolExecutor(threads) as executor:
        shared = Learner(new_net(), config)
        again = [shared.learn(boards, targets, order, 0.01, executor=executor) for _ in range(3)]
    assert again == reports
    assert states_equal(shared.state(), alone.state())


def test_pieces_of_a_minibatch_make_one_step(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    boards = some_boards(rng, 100)
    targets = some_targets(rng, boards)
    whole = Learner(new_net(), LearnConfig(batch=64, average=0.5))
    learn(whole, boards, targets, 1)
    monkeypatch.setattr(learner_module, "_PIECE", 7)
    monkeypatch.setattr(learner_module, "_BLOCK", 100)
    pieces = Learner(new_net(), LearnConfig(batch=64, average=0.5))
    learn(pieces, boards, targets, 1)
    assert pieces.steps == whole.steps
    states = whole.state(), pieces.state()
    assert states[0].keys() == states[1].keys()
    for name, values in states[0].items():
        assert states[1][name] == pytest.approx(values, rel=1e-3, abs=1e-5), name


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["contact", "race"])
def test_a_target_that_is_not_finite_stops_learning(
    value: float, part: str, rng: np.random.Generator
) -> None:
    boards = some_boards(rng, 40)
    targets = some_targets(rng, boards)
    row = np.flatnonzero(has_contact(boards) == (part == "contact"))[9]
    targets[row, 0] = value
    learner = Learner(new_net(), LearnConfig(batch=8))
    with pytest.raises(DivergedError, match=rf"{part} net .*step 2"):
        learner.learn(boards, targets, np.arange(len(boards)), 0.01)


def test_weights_that_are_not_finite_are_found(rng: np.random.Generator) -> None:
    learner = Learner(new_net(), NO_AVERAGE)
    learner.check_finite()
    for kind in ("weight", "average"):
        state = learner.state()
        state[f"race/{kind}/bias"][3] = np.inf
        spoiled = Learner(new_net(), NO_AVERAGE)
        spoiled.load_state(state)
        with pytest.raises(DivergedError, match="race/bias"):
            spoiled.check_finite()


def test_sides_are_told_apart() -> None:
    """C42: near the end, positions and their mirror images get opposite values."""
    rng = np.random.default_rng(42)
    boards = np.array([constructed_board(rng, "bear_off") for _ in range(200)], dtype=np.int8)
    boards = boards[~has_contact(boards)]
    both = np.concatenate([boards, flip(boards)])
    pips = np.maximum(boards[:, 1:], 0) @ np.arange(1, 26)
    opp_pips = np.maximum(flip(boards)[:, 1:], 0) @ np.arange(1, 26)
    win = 1 / (1 + np.exp((pips - 4 - opp_pips) / 8.0))
    win = np.concatenate([win, 1 - win])
    targets = np.zeros((len(both), 5), dtype=np.float32)
    targets[:, 0] = win
    learner = Learner(new_net(), NO_AVERAGE)
    learn(learner, both, targets, 150, 0.01)
    found = probabilities(learner, both)[:, 0]
    assert np.corrcoef(found, win)[0, 1] > 0.95
    assert np.abs(found[: len(boards)] + found[len(boards) :] - 1).mean() < 0.1
