"""The schedule of a run: who plays which round, what holds when, any number of threads."""

import dataclasses
import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np
import pytest
import torch

from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from train import loop
from train.config import LearnConfig, SelfPlayConfig, StageConfig, TrainConfig
from train.learner import DivergedError
from train.loop import Trainer
from train.progress import Progress
from train.selfplay import Round, RoundPlan, play_round

torch.set_num_threads(1)

TINY = ValueNetConfig(
    contact=NetConfig(width=8, pairs=True, experts="contact-v1", hidden=4),
    race=NetConfig(width=8, pairs=False, experts="none", hidden=0),
)
CONFIG = TrainConfig(
    seed=5,
    net=TINY,
    selfplay=SelfPlayConfig(games_per_round=10),
    learn=LearnConfig(batch=128, average=0.9),
    stage=(StageConfig(games=50, explore=0.05, expected=(0.0, 0.02)),),
)


def new_net(seed: int = 1) -> ValueNet:
    return new_value_net(TINY, np.random.default_rng(seed))


def trainer_of(config: TrainConfig = CONFIG, *, workers: int = 1, **how: Any) -> Trainer:
    return Trainer(config, new_net(), workers=workers, **how)


class Log(list[Progress]):
    """Keeps what is told after each round, and lets the run go on."""

    def __call__(self, progress: Progress) -> bool:
        self.append(progress)
        return True


def same(one: ValueNet, two: ValueNet) -> bool:
    return all(
        (a == b).all()
        for part in ("contact", "race")
        for a, b in zip(getattr(one, part), getattr(two, part), strict=True)
    )


def states_equal(one: Trainer, two: Trainer) -> bool:
    first, second = one.learner.state(), two.learner.state()
    return first.keys() == second.keys() and all((first[n] == second[n]).all() for n in first)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ValueNet, RoundPlan]]:
    """What each round was played with, as it was asked for."""
    seen: list[tuple[ValueNet, RoundPlan]] = []

    def watched(
        net: ValueNet, plan: RoundPlan, executor: Executor, sorter: ValueNet | None
    ) -> Iterator[Round]:
        seen.append((net, plan))
        return play_round(net, plan, executor, sorter)

    monkeypatch.setattr(loop, "play_round", watched)
    return seen


Played = list[tuple[ValueNet, RoundPlan]]

# --- who plays ---


def test_each_round_is_played_by_the_averages_of_two_rounds_before(played: Played) -> None:
    trainer = trainer_of()
    after = [trainer.net()]  # before anything was learned

    def keep(progress: Progress) -> bool:
        after.append(trainer.net())
        return True

    assert trainer.run(keep)
    assert len(played) == len(after) - 1 == 5
    for number, (net, _) in enumerate(played):
        # after[k + 1] are the averages after round k.
        assert same(net, after[max(number - 1, 0)]), number
    for one, two in itertools.pairwise(after):
        assert not same(one, two)
    # The averages play, not the weights.
    twins = trainer.learner.twins
    assert not same(after[-1], ValueNet(TINY, twins["contact"].arrays(), twins["race"].arrays()))


def test_rounds_cover_all_games_once_and_the_last_may_be_short(played: Played) -> None:
    config = dataclasses.replace(CONFIG, stage=(StageConfig(games=27),))
    trainer = trainer_of(config)
    told = Log()
    assert trainer.run(told)
    assert [(plan.first_game, plan.games) for _, plan in played] == [(0, 10), (10, 10), (20, 7)]
    assert {plan.seed for _, plan in played} == {5}
    assert [progress.state.round for progress in told] == [1, 2, 3]
    assert [progress.state.games for progress in told] == [10, 20, 27]
    # What was told stays as it was told.
    assert told[0].state.positions < told[1].state.positions < told[2].state.positions
    assert trainer.state == told[-1].state
    plies = []
    for progress in told:
        assert progress.played is not None
        assert progress.learned is not None
        assert progress.played.games_per_s > 0
        assert progress.learned.loss > 0
        plies.append(progress.played.plies_per_game)
    positions = [told[0].state.positions, told[2].state.positions - told[1].state.positions]
    assert positions == [pytest.approx(10 * plies[0]), pytest.approx(7 * plies[2])]


def test_a_finished_run_has_nothing_to_do(played: Played) -> None:
    trainer = trainer_of(dataclasses.replace(CONFIG, stage=(StageConfig(games=10),)))
    assert not trainer.finished()
    assert trainer.run(Log())
    assert trainer.finished()
    before = trainer.net()
    assert trainer.run(lambda progress: pytest.fail("nothing is left to play"))
    assert same(trainer.net(), before)
    assert len(played) == 1


# --- the same weights ---


def test_any_number_of_workers_gives_the_same_weights() -> None:
    """C36."""
    config = dataclasses.replace(CONFIG, selfplay=SelfPlayConfig(games_per_round=60))
    config = config.with_games(180)
    trainers = [trainer_of(config, workers=workers) for workers in (1, 2, 3)]
    logs = [Log() for _ in trainers]
    for trainer, log in zip(trainers, logs, strict=True):
        assert trainer.run(log)
    for trainer in trainers[1:]:
        assert states_equal(trainer, trainers[0])
        assert same(trainer.net(), trainers[0].net())
    losses = [[progress.learned for progress in log] for log in logs]
    assert None not in losses[0]
    assert losses[0] == losses[1] == losses[2]


def test_the_seed_decides_the_games(played: Played) -> None:
    config = dataclasses.replace(CONFIG, stage=(StageConfig(games=20),))
    one, again = trainer_of(config), trainer_of(config)
    other = trainer_of(dataclasses.replace(config, seed=6))
    for trainer in (one, again, other):
        trainer.run(Log())
    assert states_equal(one, again)
    assert not states_equal(one, other)


def test_the_last_two_averages_are_all_that_a_stopped_run_needs() -> None:
    """Stopped after any round, the same trainer goes on to the same weights."""
    straight = trainer_of()
    assert straight.run(Log())
    for stop in (1, 2, 4):
        trainer = trainer_of()
        assert not trainer.run(lambda progress, at=stop: progress.state.round < at)  # type: ignore[misc]
        assert trainer.state.round == stop
        assert trainer.run(Log())
        assert states_equal(trainer, straight)
        assert same(trainer.net(), straight.net())


def test_a_stop_after_the_last_round_is_an_end() -> None:
    trainer = trainer_of(dataclasses.replace(CONFIG, stage=(StageConfig(games=20),)))
    assert trainer.run(lambda progress: progress.state.games < 20)


# --- schedule ---

STAGES = (
    StageConfig(games=40, lambda_=(0.9, 0.5), rate=(1e-2, 1e-4), explore=0.1, random_plies=3),
    StageConfig(
        games=20, lambda_=(0.4, 0.2), rate=(5e-4, 5e-4), random_openings=0.5, expected=(0.02, 0.1)
    ),
)
STAGED = dataclasses.replace(CONFIG, stage=STAGES)


def test_values_at_the_borders_of_stages(played: Played) -> None:
    trainer = trainer_of(STAGED)
    told = Log()
    assert trainer.run(told)
    plans = [plan for _, plan in played]
    # Each round has the values of its first game.
    assert [plan.lambda_ for plan in plans] == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.4, 0.3])
    assert [plan.expected for plan in plans] == pytest.approx([0, 0, 0, 0, 0.02, 0.06])
    assert [plan.explore for plan in plans] == [0.1] * 4 + [0.0] * 2
    assert [plan.random_openings for plan in plans] == [0.1] * 4 + [0.5] * 2
    assert [plan.random_plies for plan in plans] == [3] * 4 + [8] * 2
    # The step falls by the same factor each quarter: 100^(1/4).
    rates = [p.learned.rate for p in told if p.learned is not None]
    assert rates == pytest.approx([1e-2, 10**-2.5, 1e-3, 10**-3.5, 5e-4, 5e-4])
    shown = [p.played for p in told if p.played is not None]
    assert [part.lambda_ for part in shown] == [plan.lambda_ for plan in plans]
    assert [part.expected for part in shown] == [plan.expected for plan in plans]


def test_stage_of_a_share() -> None:
    trainer = trainer_of(STAGED)
    for share, stage, done in (
        (0.0, 0, 0.0),
        (1 / 3, 0, 0.5),
        (39 / 60, 0, 39 / 40),
        (40 / 60, 1, 0.0),
        (50 / 60, 1, 0.5),
        (1.0, 1, 1.0),
    ):
        found = trainer.stage_at(share)
        assert found[0] is STAGES[stage]
        assert found[1] == pytest.approx(done)


@pytest.mark.parametrize(("border", "games"), [(7500, 11000), (15500, 19500), (29, 100)])
def test_a_stage_begins_with_its_first_game_whatever_rounding_does(border: int, games: int) -> None:
    stages = (StageConfig(games=border), StageConfig(games=games - border))
    trainer = trainer_of(dataclasses.replace(CONFIG, stage=stages))
    assert border / games * games < border
    assert trainer.stage_at(trainer.share_done(border)) == (stages[1], 0.0)
    assert trainer.stage_at(trainer.share_done(border - 1))[0] is stages[0]


def test_share_done_is_by_games() -> None:
    trainer = trainer_of(STAGED)
    assert [trainer.share_done(games) for games in (0, 15, 60, 70)] == [0, 0.25, 1, 1]
    trainer.state.seconds = 1e6
    assert not trainer.finished()


@pytest.mark.parametrize("games", [2, 3, 7, 60, 61, 12_345])
@pytest.mark.parametrize("shares", [(40, 20), (1, 1000), (1000, 1), (3, 3)])
def test_another_number_of_games_keeps_the_shares(games: int, shares: tuple[int, int]) -> None:
    stages = tuple(dataclasses.replace(s, games=n) for s, n in zip(STAGES, shares, strict=True))
    changed = dataclasses.replace(STAGED, stage=stages).with_games(games)
    assert changed.games == games
    assert all(stage.games >= 1 for stage in changed.stage)
    wanted = games * shares[0] / sum(shares)
    assert changed.stage[0].games == pytest.approx(wanted, abs=1)
    assert changed.stage[0].lambda_ == STAGES[0].lambda_
    assert changed.stage[1].expected == STAGES[1].expected


# --- minutes ---


def test_a_limit_in_minutes_ends_the_run_and_spreads_the_stages() -> None:
    minutes = 0.015
    trainer = trainer_of(STAGED, minutes=minutes)
    told = Log()
    started = time.perf_counter()
    assert trainer.run(told)
    took = time.perf_counter() - started
    assert trainer.finished()
    assert trainer.share_done(0) == 1
    assert trainer.state.seconds >= 60 * minutes
    assert all(progress.state.seconds < 60 * minutes for progress in told[:-1])
    assert took < 60 * minutes + 10
    # As many games as fit, numbered on; the stages by the clock.
    assert [progress.state.games for progress in told] == [
        10 * (number + 1) for number in range(len(told))
    ]
    lambdas = [progress.played.lambda_ for progress in told if progress.played is not None]
    assert lambdas[0] == 0.9
    assert lambdas == sorted(lambdas, reverse=True)
    if len(told) > 20:
        assert lambdas[-1] < 0.4


def test_a_clock_that_has_run_out_ends_at_once() -> None:
    trainer = trainer_of(CONFIG, minutes=1)
    trainer.state.seconds = 61
    assert trainer.run(lambda progress: pytest.fail("no time is left"))


def test_time_between_rounds_does_not_count() -> None:
    """Matches and saving are not training."""
    trainer = trainer_of(dataclasses.replace(CONFIG, stage=(StageConfig(games=30),)))

    def slow(progress: Progress) -> bool:
        time.sleep(0.3)
        return True

    started = time.perf_counter()
    assert trainer.run(slow)
    took = time.perf_counter() - started
    assert 0 < trainer.state.seconds < took - 0.85


# --- going wrong ---


def test_weights_that_are_not_finite_stop_the_run() -> None:
    """C46."""
    net = new_net()
    net.contact.bias[0] = np.nan
    trainer = Trainer(CONFIG, net, workers=1)
    with pytest.raises(DivergedError, match="contact net"):
        trainer.run(lambda progress: pytest.fail("no round was good"))
    assert trainer.state.round == 0
    assert trainer.state.games == 0


def test_a_round_with_a_target_that_is_not_finite_is_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def spoiled(
        net: ValueNet, plan: RoundPlan, executor: Executor, sorter: ValueNet | None
    ) -> Iterator[Round]:
        for part in play_round(net, plan, executor, sorter):
            if plan.first_game == 20:
                part.targets[3] = np.nan
            yield part

    monkeypatch.setattr(loop, "play_round", spoiled)
    trainer = trainer_of()
    told = Log()
    with pytest.raises(DivergedError, match="loss of the contact net became nan"):
        trainer.run(told)
    assert len(told) == trainer.state.round == 2
    assert all(progress.learned is not None for progress in told)
    assert all(np.isfinite(p.learned.loss) for p in told if p.learned is not None)


def test_what_the_caller_raises_comes_out_and_ends_the_threads() -> None:
    trainer = trainer_of(workers=2)

    class OwnError(Exception):
        pass

    def fail(progress: Progress) -> bool:
        raise OwnError

    threads = threading.active_count()
    with pytest.raises(OwnError):
        trainer.run(fail)
    assert threading.active_count() == threads
    assert trainer.state.round == 1


def test_devices_other_than_the_cpu_are_asked_of_torch() -> None:
    with pytest.raises(RuntimeError, match="nonsense"):
        trainer_of(device="nonsense")
