"""Rounds of self-play: legal games with the right results, the same however they are cut up."""

import dataclasses
import functools
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.evaluator import Evaluator, cubeless_equity, swap_sides
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from agent.ranking import scored
from engine.board import START, flip, opp_pip_count, pip_count
from engine.dice import ROLLS
from engine.moves import legal_afterstates, legal_afterstates_batch
from engine.rules import CAUCASIAN, Rules
from engine.scoring import result, result_factors
from train.kernels.selfplay import MAX_PLIES, explored_play
from train.selfplay import Round, RoundPlan, play_round

Boards = NDArray[np.int8]
Floats = NDArray[np.float32]

PLAN = RoundPlan(
    seed=11,
    first_game=0,
    games=40,
    games_per_call=1,
    lambda_=1.0,
    explore=0.0,
    random_openings=0.0,
    random_plies=8,
    expected=0.0,
)
DOUBLES = ROLLS[:, 0] == ROLLS[:, 1]


class HereAndNow(Executor):
    """Runs what it is given at once, in the caller's thread."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@functools.cache
def keen_net(seed: int = 1) -> ValueNet:
    """A net with random weights, pairs included."""
    rng = np.random.default_rng(seed)
    net = new_value_net(
        ValueNetConfig(
            contact=NetConfig(width=8, pairs=True, experts="contact-v1", hidden=8),
            race=NetConfig(width=8, pairs=False, experts="none", hidden=0),
        ),
        rng,
    )
    net.contact.pairs[:] = rng.normal(0, 0.02, net.contact.pairs.shape)
    return net


def rounds(net: ValueNet, **changes: Any) -> list[Round]:
    return list(play_round(net, dataclasses.replace(PLAN, **changes), HereAndNow()))


@functools.cache
def greedy_games() -> list[Round]:
    """Forty games without chance but the dice, one a round."""
    return rounds(keen_net())


def transitions(games: list[Round]) -> tuple[Boards, Boards]:
    """All boards that another one of the same game follows, and those that follow."""
    before = np.concatenate([game.boards[:-1] for game in games])
    return before, np.concatenate([game.boards[1:] for game in games])


def can_follow(before: Boards, after: Boards) -> NDArray[np.bool_]:
    """`(B, 21)`: whether some legal play of each roll leads from one board to the next."""
    found = np.zeros((len(before), len(ROLLS)), dtype=np.bool_)
    for k, roll in enumerate(ROLLS):
        plays, offsets = legal_afterstates_batch(before, np.tile(roll, (len(before), 1)))
        wanted = np.repeat(flip(after), np.diff(offsets), axis=0)
        found[:, k] = np.logical_or.reduceat((plays == wanted).all(axis=1), offsets[:-1])
    return found


def best_follows(net: ValueNet, before: Boards, after: Boards) -> NDArray[np.bool_]:
    """`(B, 21)`: whether the best play of each roll leads from one board to the next."""
    evaluator = Evaluator(net)
    return np.stack(
        [
            (evaluator.choose(before, np.tile(roll, (len(before), 1))) == flip(after)).all(axis=1)
            for roll in ROLLS
        ],
        axis=1,
    )


# --- legal games ---


def test_every_recorded_ply_follows_by_a_legal_play() -> None:
    before, after = transitions(greedy_games())
    assert len(before) > 1000
    assert can_follow(before, after).any(axis=1).all()


def test_exploring_games_are_legal_too() -> None:
    games = rounds(keen_net(), explore=0.3, random_openings=0.5, games=25)
    before, after = transitions(games)
    assert can_follow(before, after).any(axis=1).all()


def test_both_sides_move_their_own_way() -> None:
    """C11: no play but a hit adds pips, and a hit adds them to the other side alone."""
    before, after = transitions(greedy_games())
    played = pip_count(before) - opp_pip_count(after)
    assert (played >= 0).all()
    assert (played <= 24).all()
    gained = pip_count(after) - opp_pip_count(before)
    hit = after[:, 25] > before[:, 0]
    assert hit.any()
    assert (gained[~hit] == 0).all()
    assert (gained[hit] > 0).all()


def test_games_begin_at_the_start_and_never_with_a_double() -> None:
    games = rounds(keen_net(), games=300)
    assert all((game.boards[0] == START).all() for game in games)
    second = np.array([game.boards[1] for game in games])
    rolls = best_follows(keen_net(), np.tile(START, (len(games), 1)), second)
    assert rolls[:, ~DOUBLES].any(axis=1).all()
    assert rolls[:, ~DOUBLES].any(axis=0).all()  # each of the 15 other rolls opens some game
    double_only = rolls[:, DOUBLES].any(axis=1) & ~rolls[:, ~DOUBLES].any(axis=1)
    assert not double_only.any()


def test_doubles_are_thrown_as_often_as_they_should_after_the_first_ply() -> None:
    before, after = transitions(greedy_games())
    rolls = best_follows(keen_net(), before[1:], after[1:])
    clear = rolls.sum(axis=1) == 1  # only one roll explains the play
    share = (rolls[clear] & DOUBLES).sum() / clear.sum()
    assert clear.sum() > 1000
    assert 0.1 < share < 0.3  # a sixth, and a bit more since doubles are told apart more easily


# --- results ---


def finishing_factors(board: Boards) -> set[int]:
    """Factors of all ways to end the game from here in one play."""
    found: set[int] = set()
    for roll in ROLLS:
        factors = result_factors(legal_afterstates(board, roll.tolist()))
        found |= set(factors[factors != 0].tolist())
    return found


def test_results_are_those_of_the_rules() -> None:
    """With λ = 1 every target of a game is its result, seen by the side on roll."""
    kinds = set()
    for game in greedy_games():
        last = game.targets[-1]
        factor = int(cubeless_equity(last))
        assert last.tolist() == [1, factor >= 2, factor >= 3, 0, 0]
        assert factor in finishing_factors(game.boards[-1])
        for before, after in zip(game.targets[:-1], game.targets[1:], strict=True):
            assert (before == swap_sides(after)).all()
        kinds.add(factor)
    assert len(kinds) > 1


def test_a_known_last_play_has_the_result_of_engine_scoring() -> None:
    """Where only one factor can come out, it has."""
    checked = 0
    for game in rounds(keen_net(), games=120):
        factors = finishing_factors(game.boards[-1])
        if len(factors) != 1:
            continue
        checked += 1
        finals = [
            after
            for roll in ROLLS
            for after in legal_afterstates(game.boards[-1], roll.tolist())
            if result_factors(after)
        ]
        results = {result(after).factor for after in finals}
        assert {int(cubeless_equity(game.targets[-1]))} == results
        assert {result(after).winner for after in finals} == {"mover"}
    assert checked > 100


# --- values and exploration ---


def test_greedy_plays_are_those_of_the_evaluator() -> None:
    before, after = transitions(greedy_games())
    assert best_follows(keen_net(), before, after).any(axis=1).all()


def test_targets_of_lambda_0_are_the_values_of_the_best_plays() -> None:
    evaluator = Evaluator(keen_net())
    for game in rounds(keen_net(), lambda_=0.0, games=10):
        following = evaluator.probabilities(game.boards[1:])
        assert np.abs(game.targets[:-1] - swap_sides(following)).max() < 1e-5
        assert game.targets[-1][0] == 1


def test_exploring_plays_are_random_and_cut_the_trace() -> None:
    net = keen_net()
    games = rounds(net, explore=0.25, games=30)
    cut = 0
    for game in games:
        targets = game.targets
        strayed = ~best_follows(net, game.boards[:-1], game.boards[1:]).any(axis=1)
        handed_on = (targets[:-1] == swap_sides(targets[1:])).all(axis=1)
        assert not (strayed & handed_on).any()
        assert handed_on[~strayed].mean() > 0.7
        cut += int(strayed.sum())
    # A random play is another roll's best one now and then.
    assert 0.1 < cut / sum(len(game.boards) for game in games) < 0.25
    # Without the cut, λ = 1 hands the result on to the first ply of every game.
    assert all((game.targets[0][0] in (0, 1)) for game in greedy_games())
    assert any(0 < game.targets[0][0] < 1 for game in games)


def test_always_exploring_plays_every_opening_play() -> None:
    games = rounds(keen_net(), explore=1.0, games=300)
    replies = {tuple(game.boards[1].tolist()) for game in games}
    legal = {
        tuple(flip(after).tolist())
        for roll in ROLLS[~DOUBLES]
        for after in legal_afterstates(START, roll.tolist())
    }
    assert replies <= legal
    assert len(replies) > 0.6 * len(legal)


def test_explored_plays_are_drawn_by_what_they_lose() -> None:
    equity = np.array([0.1, 0.3, -0.1, 0.25], dtype=np.float32)
    draws = (np.arange(10_000) + 0.5) / 10_000

    def shares(loss_scale: float) -> list[float]:
        chosen = [explored_play(equity, 4, 1, loss_scale, draw) for draw in draws]
        return [chosen.count(i) / len(draws) for i in range(4)]

    assert shares(np.inf) == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3], abs=1e-3)
    weights = np.exp((equity.astype(float) - 0.3) / 0.1)
    weights[1] = 0
    assert shares(0.1) == pytest.approx(list(weights / weights.sum()), abs=1e-3)
    # Of two plays there is only one other, whatever it loses.
    assert explored_play(np.array([2.0, -2.0], dtype=np.float32), 2, 0, 1e-3, 0.7) == 1


def test_exploring_by_loss_takes_better_plays_than_at_random() -> None:
    net = keen_net()
    evaluator = Evaluator(net)

    def mean_loss(explore_loss: float) -> float:
        losses = []
        for game in rounds(net, explore=1.0, loss_scale=explore_loss, games=20):
            # The target of an exploring ply is what the best play is worth, at any λ.
            best = cubeless_equity(game.targets[:-1])
            taken = -cubeless_equity(evaluator.probabilities(game.boards[1:]))
            losses.append(float(np.mean(best - taken)))
        return float(np.mean(losses))

    assert 0 < mean_loss(0.02) < 0.7 * mean_loss(np.inf)


# --- house rules ---


def follow_under(rules: Rules, game: Round) -> NDArray[np.bool_]:
    """Whether some legal play under the rules leads from each board to the next."""
    before, after = game.boards[:-1], flip(game.boards[1:])
    found = np.zeros(len(before), dtype=np.bool_)
    for roll in ROLLS:
        plays, offsets = legal_afterstates_batch(before, np.tile(roll, (len(before), 1)), rules)
        wanted = np.repeat(after, np.diff(offsets), axis=0)
        found |= np.logical_or.reduceat((plays == wanted).all(axis=1), offsets[:-1])
    return found


@pytest.mark.parametrize("luck_adjusted", [False, True], ids=["sampled", "luck-adjusted"])
def test_games_keep_to_the_bans_of_the_rules(luck_adjusted: bool) -> None:
    changes: dict[str, Any] = {"luck_adjusted": luck_adjusted, "explore": 0.2, "games": 25}
    broken = 0
    for game in rounds(keen_net(), **changes):
        broken += int((~follow_under(CAUCASIAN, game)).sum())
    assert broken > 0  # under other rules
    for game in rounds(keen_net(), **changes, rules=CAUCASIAN):
        assert follow_under(CAUCASIAN, game).all()


def test_plays_are_chosen_by_what_wins_count() -> None:
    net = keen_net(9)  # this test's alone
    net.contact.b3[:, 2] += 3  # backgammons all over
    short = rounds(net, games=20, rules=Rules(scoring="oin_mars_12"))
    evaluator = Evaluator(net)
    differ = 0
    for game in short:
        for board, following in zip(game.boards[:-1][::10], game.boards[1:][::10], strict=True):
            worth = []
            for roll in ROLLS:
                plays = legal_afterstates(board, roll.tolist())
                probs = evaluator.probabilities(flip(plays))
                equity = -scored(probs, Rules(scoring="oin_mars_12"))[1]
                taken = (plays == flip(following)).all(axis=1)
                if taken.any():
                    worth.append(equity[taken].max() >= equity.max() - 1e-5)
                    differ += int(cubeless_equity(probs).argmin() != equity.argmax())
            assert any(worth)
    assert differ > 0


# --- random openings ---


def test_random_openings_are_played_but_not_recorded() -> None:
    """One random ply: the first board recorded is what a legal opening play leaves."""
    games = rounds(keen_net(), random_openings=1.0, random_plies=1, games=300)
    first = np.array([game.boards[0] for game in games])
    start = np.tile(START, (len(games), 1))
    rolls = can_follow(start, first)
    assert rolls[:, ~DOUBLES].any(axis=1).all()
    bests = best_follows(keen_net(), start, first).any(axis=1)
    assert 0 < bests.mean() < 0.6  # the net would have played most of these otherwise
    assert len({board.tobytes() for board in first}) > 100
    # After the opening, play is the net's, and every play that it made is recorded.
    before, after = transitions(games[:25])
    assert best_follows(keen_net(), before, after).any(axis=1).all()


def test_random_openings_have_up_to_the_plies_asked_for() -> None:
    games = rounds(keen_net(), random_openings=1.0, random_plies=4, games=200)
    first = np.array([game.boards[0] for game in games])
    assert not (first == START).all(axis=1).any()
    one_ply = can_follow(np.tile(START, (len(games), 1)), first).any(axis=1)
    assert 0.15 < one_ply.mean() < 0.4  # a quarter, and some that took more


def test_random_openings_have_their_share() -> None:
    games = rounds(keen_net(), random_openings=0.3, games=400)
    plain = np.array([(game.boards[0] == START).all() for game in games])
    assert plain.mean() == pytest.approx(0.7, abs=0.08)
    assert rounds(keen_net(), random_openings=0.0, games=3)[0].boards[0].tolist() == START.tolist()


# --- long games ---


@functools.cache
def dawdler() -> ValueNet:
    """A net that wants its checkers far back and its blots hit: games without an end."""
    config = NetConfig(width=1, pairs=False, experts="none", hidden=0)
    net = new_value_net(ValueNetConfig(contact=config, race=config), np.random.default_rng(1))
    for arrays in (net.contact, net.race):
        arrays.points[:] = 0
        for slot in range(1, 25):
            for n in range(1, 7):  # the other side's checkers, seen by the side on roll
                row = slot * 13 + 6 - n
                arrays.points[row] = -0.02 * n * (25 - slot) - (1.0 if n == 1 else 0.0)
        for n in range(1, 7):
            arrays.points[25 * 13 + 6 + n] = -2.0 * n  # own checkers on the bar
            arrays.points[0 * 13 + 6 + n] = -1.0 * n  # the other side's
        arrays.bias[:] = 40
        arrays.w2[:] = 0
        arrays.w2[:, 0, 0] = 0.3
        arrays.b2[:] = (-9, -2, -4, -2, -4)
    return net


def test_endless_games_are_cut_and_valued_by_the_net() -> None:
    net = dawdler()
    games = rounds(net, games=6)
    cut = [game for game in games if len(game.boards) == MAX_PLIES]
    assert cut
    assert all(len(game.boards) <= MAX_PLIES for game in games)
    evaluator = Evaluator(net)
    for game in cut:
        last = game.boards[-1:]
        assert 0 < game.targets[-1, 0] < 1
        nexts = np.concatenate([evaluator.choose(last, roll[np.newaxis]) for roll in ROLLS])
        values = swap_sides(evaluator.probabilities(flip(nexts)))
        assert np.abs(values - game.targets[-1]).max(axis=1).min() < 1e-6
    before, after = transitions(games)
    assert can_follow(before, after).any(axis=1).all()


def test_games_longer_than_expected_are_kept_whole() -> None:
    """More plies than a round makes room for at first: the same games as one by one."""
    net = dawdler()
    one_by_one = rounds(net, games=5)
    together = rounds(net, games=5, games_per_call=5)
    assert len(together) == 1
    assert len(together[0].boards) > 5 * 80 + MAX_PLIES
    assert (together[0].boards == np.concatenate([game.boards for game in one_by_one])).all()
    assert (together[0].targets == np.concatenate([game.targets for game in one_by_one])).all()


# --- the same however it is cut up ---

CHANCES: dict[str, Any] = {"explore": 0.1, "random_openings": 0.3, "lambda_": 0.7, "games": 30}


def joined(parts: list[Round]) -> tuple[Boards, Floats]:
    return (
        np.concatenate([part.boards for part in parts]),
        np.concatenate([part.targets for part in parts]),
    )


def test_games_are_the_same_for_any_chunks() -> None:
    net = keen_net()
    boards, targets = joined(rounds(net, **CHANCES))
    for games_per_call in (4, 25, 30, 1000):
        parts = rounds(net, **CHANCES, games_per_call=games_per_call)
        assert [part.games for part in parts] == [
            min(games_per_call, 30 - first) for first in range(0, 30, games_per_call)
        ]
        found = joined(parts)
        assert (found[0] == boards).all()
        assert (found[1] == targets).all()


def test_games_are_keyed_by_their_number_and_the_seed() -> None:
    net = keen_net()
    all_games = rounds(net, **CHANCES)
    later = rounds(net, **(CHANCES | {"games": 5}), first_game=17)
    for one, two in zip(all_games[17:22], later, strict=True):
        assert (one.boards == two.boards).all()
        assert (one.targets == two.targets).all()
    other = rounds(net, **(CHANCES | {"games": 5}), seed=12)
    assert all(
        one.boards.tobytes() != two.boards.tobytes()
        for one, two in zip(all_games[:5], other, strict=True)
    )


@pytest.mark.parametrize("expected", [0.0, 0.2])
def test_games_are_the_same_for_any_number_of_threads(expected: float) -> None:
    """C36. With exact targets too, which draw their positions by chunk."""
    plan = dataclasses.replace(PLAN, **CHANCES, games_per_call=7, expected=expected)
    found = []
    for workers in (1, 2, 5):
        with ThreadPoolExecutor(workers) as executor:
            found.append(joined(list(play_round(keen_net(), plan, executor))))
    for boards, targets in found[1:]:
        assert (boards == found[0][0]).all()
        assert (targets == found[0][1]).all()


def test_a_round_starts_before_it_is_asked_for() -> None:
    """Games of the next round are played while this one is learned from."""
    started = []

    class Watching(HereAndNow):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            started.append(fn)
            return super().submit(fn, *args, **kwargs)

    chunks = play_round(keen_net(), dataclasses.replace(PLAN, games=3), Watching())
    assert len(started) == 3
    assert len(list(chunks)) == 3


# --- exact targets ---


def expected_by_hand(net: ValueNet, boards: Boards) -> Floats:
    evaluator = Evaluator(net)
    total = np.zeros((len(boards), 5))
    for roll in ROLLS:
        after = evaluator.choose(boards, np.tile(roll, (len(boards), 1)))
        weight = 1 if roll[0] == roll[1] else 2
        total += weight * swap_sides(evaluator.probabilities(flip(after)))
    return (total / 36).astype(np.float32)


def test_exact_targets_replace_the_share_asked_for() -> None:
    net = keen_net()
    sampled, plain = joined(rounds(net, games=20, lambda_=0.7))
    exact = expected_by_hand(net, sampled)
    for share in (0.2, 1.0):
        boards, targets = joined(rounds(net, games=20, lambda_=0.7, expected=share))
        assert (boards == sampled).all()  # the games stay the same
        is_plain = (targets == plain).all(axis=1)
        is_exact = np.abs(targets - exact).max(axis=1) < 1e-5
        assert (is_plain | is_exact).all()
        assert is_exact.mean() == pytest.approx(share, abs=0.05)
        assert (~is_plain).mean() == pytest.approx(share, abs=0.05)
