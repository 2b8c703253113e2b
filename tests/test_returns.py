"""Targets: λ-returns by hand and against the plain recursion, exact backups against brute force."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.evaluator import Evaluator, cubeless_equity, swap_sides
from agent.kernels.value import new_work
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from agent.ranking import scoring_weights
from engine.board import flip
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.moves import legal_afterstates_batch
from engine.play_codes import MAX_PLAYS
from engine.rules import INTERNATIONAL
from engine.scoring import result_factors
from engine.short_moves import new_scratch
from engine.variant import play_switches
from tests.strategies import constructed_board, mixed_boards
from train.kernels.returns import lambda_returns
from train.kernels.selfplay import EXPLORED, GREEDY, expected_values

Floats = NDArray[np.float32]
Boards = NDArray[np.int8]

WON_GAMMON = (1.0, 1.0, 0.0, 0.0, 0.0)
LOST_GAMMON = (0.0, 0.0, 0.0, 1.0, 0.0)  # the same game seen by the loser

# Values of the best afterstates of three plies, each for the side on roll after it. Plies 0 and 2
# are A's, who wins a gammon with the last one; ply 1 is B's.
THREE_STEPS = [
    (0.6, 0.2, 0.05, 0.1, 0.02),  # for B
    (0.3, 0.1, 0.0, 0.2, 0.04),  # for A
    LOST_GAMMON,  # for B
]


def returns(
    values: Sequence[Sequence[float]],
    lambda_: float,
    flags: Sequence[int] | None = None,
    ends: Sequence[int] | None = None,
) -> Floats:
    targets = np.full((len(values), 5), np.nan, dtype=np.float32)
    lambda_returns(
        np.array(values, dtype=np.float32).reshape(-1, 5),
        np.array(flags or [GREEDY] * len(values), dtype=np.uint8),
        np.array(ends or [len(values)], dtype=np.int64),
        np.float32(lambda_),
        targets,
    )
    return targets


def assert_rows(found: Floats, expected: Sequence[Sequence[float]]) -> None:
    assert found == pytest.approx(np.array(expected), abs=1e-6)


# --- λ-returns ---


def test_three_steps_by_hand() -> None:
    assert_rows(
        returns(THREE_STEPS, 0.5),
        [
            # A: B's (0.6, 0.2, 0.05, 0.1, 0.02) and (0.35, 0.1, 0.02, 0.55, 0), halved and added,
            # make (0.475, 0.15, 0.035, 0.325, 0.01).
            (0.525, 0.325, 0.01, 0.15, 0.035),
            # B: A's (0.3, 0.1, 0, 0.2, 0.04) and (1, 1, 0, 0, 0) make (0.65, 0.55, 0, 0.1, 0.02).
            (0.35, 0.1, 0.02, 0.55, 0.0),
            # A: the result.
            WON_GAMMON,
        ],
    )


def test_three_steps_with_another_lambda_by_hand() -> None:
    assert_rows(
        returns(THREE_STEPS, 0.8),
        [
            # 0.2 * (0.6, 0.2, 0.05, 0.1, 0.02) + 0.8 * (0.14, 0.04, 0.008, 0.82, 0)
            (0.768, 0.676, 0.004, 0.072, 0.0164),
            # 0.2 * (0.3, 0.1, 0, 0.2, 0.04) + 0.8 * (1, 1, 0, 0, 0) = (0.86, 0.82, 0, 0.04, 0.008)
            (0.14, 0.04, 0.008, 0.82, 0.0),
            WON_GAMMON,
        ],
    )


def test_lambda_0_is_the_next_value_seen_from_the_other_side() -> None:
    assert_rows(
        returns(THREE_STEPS, 0.0),
        [(0.4, 0.1, 0.02, 0.2, 0.05), (0.7, 0.2, 0.04, 0.1, 0.0), WON_GAMMON],
    )


def test_lambda_1_is_the_result_for_each_side() -> None:
    assert_rows(returns(THREE_STEPS, 1.0), [WON_GAMMON, LOST_GAMMON, WON_GAMMON])
    lost_backgammon = (0.0, 0.0, 0.0, 1.0, 1.0)
    won_backgammon = (1.0, 1.0, 1.0, 0.0, 0.0)
    assert_rows(
        returns([*THREE_STEPS[:2], THREE_STEPS[0], lost_backgammon], 1.0),
        [lost_backgammon, won_backgammon] * 2,
    )


def test_an_exploring_play_cuts_the_trace() -> None:
    """What follows an exploring play says nothing of the plies before it."""
    assert_rows(
        returns(THREE_STEPS, 0.5, [GREEDY, EXPLORED, GREEDY]),
        [
            # B's (0.6, 0.2, 0.05, 0.1, 0.02) and (0.7, 0.2, 0.04, 0.1, 0), halved and added, make
            # (0.65, 0.2, 0.045, 0.1, 0.01).
            (0.35, 0.1, 0.01, 0.2, 0.045),
            (0.7, 0.2, 0.04, 0.1, 0.0),  # the best play's value, not the one played
            WON_GAMMON,
        ],
    )
    first = returns(THREE_STEPS, 1.0, [EXPLORED, GREEDY, GREEDY])
    assert_rows(first, [(0.4, 0.1, 0.02, 0.2, 0.05), LOST_GAMMON, WON_GAMMON])
    last = returns(THREE_STEPS, 1.0, [GREEDY, GREEDY, EXPLORED])
    assert_rows(last, [WON_GAMMON, LOST_GAMMON, WON_GAMMON])


def test_a_game_that_was_cut_ends_with_its_last_value() -> None:
    cut = [*THREE_STEPS[:2], (0.25, 0.05, 0.01, 0.3, 0.1)]
    assert_rows(
        returns(cut, 1.0),
        [
            (0.75, 0.3, 0.1, 0.05, 0.01),
            (0.25, 0.05, 0.01, 0.3, 0.1),
            (0.75, 0.3, 0.1, 0.05, 0.01),
        ],
    )


def test_games_do_not_mix_and_may_be_empty() -> None:
    one = returns(THREE_STEPS, 0.5)
    two = returns(THREE_STEPS[1:], 0.5)
    together = returns([*THREE_STEPS, *THREE_STEPS[1:], LOST_GAMMON], 0.5, ends=[0, 3, 3, 5, 6, 6])
    assert (together == np.concatenate([one, two, [WON_GAMMON]])).all()
    assert returns([], 0.5, ends=[0, 0]).shape == (0, 5)


def swapped(row: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([1 - row[0], row[3], row[4], row[1], row[2]])


def swapped_difference(row: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([-row[0], row[3], row[4], row[1], row[2]])


def test_random_games_follow_the_plain_sums(rng: np.random.Generator) -> None:
    """G_t = swap(V_t+1) + Σ λ^k of the later changes of value, sides swapped at every ply."""
    lengths = [1, 2, 60, 7, 0, 133]
    ends = np.cumsum(lengths)
    values = rng.random((ends[-1], 5)).astype(np.float32)
    flags = (rng.random(len(values)) < 0.1) * EXPLORED
    for lambda_ in (0.0, 0.3, 0.9, 1.0):
        found = returns(values.tolist(), lambda_, flags.tolist(), ends.tolist())
        for first, end in itertools.pairwise([0, *ends.tolist()]):
            for t in range(first, end):
                expected = swapped(values[t].astype(np.float64))
                for k in range(t + 1, end):
                    if flags[k - 1] == EXPLORED:
                        break
                    # From V_k of the side on roll to what its own ply says, seen by t's side.
                    change = swapped(values[k].astype(np.float64)) - values[k - 1]
                    for _ in range(k - t):
                        change = swapped_difference(change)
                    expected += lambda_ ** (k - t) * change
                assert found[t] == pytest.approx(expected, abs=1e-5)


# --- exact backups ---


def keen_net(seed: int) -> ValueNet:
    """A net with random weights, pairs included, that tells plays well apart."""
    rng = np.random.default_rng(seed)
    net = new_value_net(
        ValueNetConfig(
            contact=NetConfig(width=8, pairs=True, experts="contact-v1", hidden=4),
            race=NetConfig(width=8, pairs=False, experts="none", hidden=0),
        ),
        rng,
    )
    net.contact.pairs[:] = rng.normal(0, 0.1, net.contact.pairs.shape)
    net.contact.w3[:] *= 4
    net.race.w2[:] *= 4
    return net


def expected_by_kernel(net: ValueNet, boards: Boards, chosen: list[int] | None = None) -> Floats:
    targets = np.full((len(boards), 5), np.nan, dtype=np.float32)
    expected_values(
        net.contact,
        net.race,
        boards,
        np.array(range(len(boards)) if chosen is None else chosen, dtype=np.int64),
        scoring_weights(INTERNATIONAL),
        play_switches(INTERNATIONAL),
        new_work(net.contact, net.race, MAX_PLAYS),
        new_scratch(),
        targets,
    )
    return targets


def expected_by_hand(net: ValueNet, boards: Boards) -> Floats:
    """The mean over 21 rolls of the best afterstate's value, whole boards at a time."""
    evaluator = Evaluator(net)
    total = np.zeros((len(boards), 5))
    for roll, weight in zip(ROLLS, ROLL_WEIGHTS, strict=True):
        after, offsets = legal_afterstates_batch(boards, np.tile(roll, (len(boards), 1)))
        probs = swap_sides(evaluator.probabilities(flip(after)))  # for the mover
        equity = cubeless_equity(probs)
        for i, (low, high) in enumerate(itertools.pairwise(offsets.tolist())):
            total[i] += weight * probs[low + int(np.argmax(equity[low:high]))]
    return (total / 36).astype(np.float32)


def assert_same_values(net: ValueNet, boards: Boards) -> None:
    fast = expected_by_kernel(net, boards)
    slow = expected_by_hand(net, boards)
    assert np.abs(cubeless_equity(fast) - cubeless_equity(slow)).max() < 1e-5
    # Where two plays are worth the same within rounding, either one's five numbers may count.
    assert (np.abs(fast - slow).max(axis=1) < 1e-5).mean() > 0.995
    assert np.abs(fast - slow).max() < 0.02


def test_backups_equal_brute_force_on_a_thousand_positions(rng: np.random.Generator) -> None:
    """C44: last checkers, bars, races and back games among them."""
    boards = [board for board, _ in itertools.islice(mixed_boards(rng), 700)]
    boards += [constructed_board(rng, "last_checkers") for _ in range(150)]
    boards += [constructed_board(rng, "bear_off") for _ in range(150)]
    assert_same_values(keen_net(1), np.array(boards, dtype=np.int8))


def closed_out() -> Boards:
    """On the bar against a closed board, where every roll is a pass; and the other side of it."""
    board = np.zeros(26, dtype=np.int8)
    board[25], board[1:4], board[19:25], board[13] = 1, 3, -2, -3
    return np.array([board, flip(board)])


def test_forced_passes_are_worth_the_opponent_s_turn() -> None:
    net = keen_net(2)
    boards = closed_out()
    after = legal_afterstates_batch(np.repeat(boards[:1], 21, axis=0), ROLLS)[0]
    assert (after == boards[0]).all()
    assert_same_values(net, boards)
    turn = swap_sides(Evaluator(net).probabilities(boards[1:]))
    assert expected_by_kernel(net, boards)[0] == pytest.approx(turn[0], abs=1e-6)


def last_checker(own: int, opponent: int, opp_off: int) -> Boards:
    """The owner has one checker left; the opponent stands on one point, 0 = bar."""
    board = np.zeros((1, 26), dtype=np.int8)
    board[0, own] = 1
    board[0, opponent] = (15 - opp_off) * (1 if opponent == 0 else -1)
    return board


@pytest.mark.parametrize(
    ("opponent", "opp_off", "prize"),
    [
        (19, 1, (1, 0, 0, 0, 0)),  # one borne off: single
        (13, 0, (1, 1, 0, 0, 0)),  # not home, nothing off: gammon
        (0, 0, (1, 1, 1, 0, 0)),  # on the bar: backgammon
    ],
)
def test_last_checker_wins_by_exact_chances(
    opponent: int, opp_off: int, prize: tuple[int, ...]
) -> None:
    """A checker on 1 leaves with every roll; one on 6 stays with 9 of 36."""
    net = keen_net(3)
    sure = last_checker(1, opponent, opp_off)
    assert expected_by_kernel(net, sure)[0].tolist() == list(prize)
    likely = last_checker(6, opponent, opp_off)
    found = expected_by_kernel(net, likely)[0]
    left = [(1, 1), (2, 1), (3, 1), (4, 1), (3, 2)]  # all but the double count twice
    evaluator = Evaluator(net)
    total = 27 * np.array(prize, dtype=np.float64)
    for high, low in left:
        after = likely.copy()
        after[0, 6] = 0
        after[0, 6 - (high + low if high != low else 4 * low)] = 1
        weight = 1 if high == low else 2
        total += weight * swap_sides(evaluator.probabilities(flip(after)))[0]
    assert found == pytest.approx(total / 36, abs=1e-6)


def test_only_chosen_rows_are_written(rng: np.random.Generator) -> None:
    net = keen_net(4)
    boards = np.array([b for b, _ in itertools.islice(mixed_boards(rng), 12)], dtype=np.int8)
    whole = expected_by_kernel(net, boards)
    some = expected_by_kernel(net, boards, [7, 2])
    assert (some[[2, 7]] == whole[[2, 7]]).all()
    assert np.isnan(np.delete(some, [2, 7], axis=0)).all()


# --- finished games (C42) ---


def test_finished_boards_have_their_result_for_either_side() -> None:
    net = keen_net(5)
    evaluator = Evaluator(net)
    boards = []
    for left in (1, 9, 15):
        for point in range(26):
            board = np.zeros(26, dtype=np.int8)
            board[point] = -left if 0 < point < 25 else left
            boards.append(board)
    both = np.array([*boards, *flip(np.array(boards))], dtype=np.int8)
    factors = result_factors(both)
    assert set(factors.tolist()) == {-3, -2, -1, 1, 2, 3}
    probs = evaluator.probabilities(both)
    assert (probs[:, 0] == (factors > 0)).all()
    assert (probs[:, 1] == (factors >= 2)).all()
    assert (probs[:, 2] == (factors == 3)).all()
    assert (probs[:, 3] == (factors <= -2)).all()
    assert (probs[:, 4] == (factors == -3)).all()
    assert (cubeless_equity(probs) == factors).all()
    assert (swap_sides(probs) == evaluator.probabilities(flip(both))).all()
