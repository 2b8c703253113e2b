"""Generations: one settled net plays, then it is learned from in a cycle of steps."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.checkpoint import load_net, load_sorter
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from engine.errors import ConfigError
from tests.generation_runs import CONFIG, FRESH, GENERATION, TINY, Seen, new_net, same, trainer_of
from tests.tiny_runs import (
    StopAfter,
    assert_same,
    begin,
    complete,
    go_on,
    made_up_match,
    weights,
)
from train import loop
from train.config import CheckConfig, SelfPlayConfig, StageConfig
from train.config_files import config_from_values, config_text, read_values
from train.loop import Trainer
from train.progress import Progress


def test_one_net_plays_a_whole_generation_and_settles_before_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "_SLICE", 500)
    trainer = trainer_of()
    seen = Seen(trainer, monkeypatch)
    assert trainer.run(seen)
    assert trainer.finished()
    # Rounds of 8, generations of 20, the last one shorter.
    spans = [(plan.first_game, plan.games) for _, plan in seen.played]
    assert spans == [(0, 8), (8, 8), (16, 4), (20, 8), (28, 8), (36, 4), (40, 8), (48, 2)]
    nets = [net for net, _ in seen.played]
    for generation in (nets[:3], nets[3:6], nets[6:]):
        assert all(same(net, generation[0]) for net in generation)
    settled = [
        net
        for net, progress in zip(seen.nets[1:], seen.told, strict=True)
        if progress.cycle is not None and progress.cycle >= 1
    ]
    assert len(settled) == 3
    # The settled net plays from weights of 16 bits; what is learned from is not rounded.
    assert same(nets[0], new_net().in_half())
    assert same(nets[3], settled[0].in_half())
    assert same(nets[6], settled[1].in_half())
    assert not same(settled[0], settled[0].in_half())
    assert same(trainer.net(), settled[2])
    # Nothing is learned while games are played, and nothing is played while it is learned.
    for before, progress, after in zip(seen.nets, seen.told, seen.nets[1:], strict=False):
        assert (progress.played is None) != (progress.learned is None)
        assert same(before, after) == (progress.learned is None)


def test_every_position_is_learned_from_in_each_pass_with_steps_of_a_cycle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "_SLICE", 300)
    trainer = trainer_of(CONFIG.with_games(20))
    seen = Seen(trainer, monkeypatch)
    taken: list[np.ndarray[Any, Any]] = []
    learn = trainer.learner.learn

    def watched(boards: Any, targets: Any, order: Any, rate: float, **how: Any) -> Any:
        taken.append(np.concatenate([boards, targets.view(np.int8).reshape(len(boards), -1)], 1))
        assert (order == np.arange(len(boards))).all()
        return learn(boards, targets, order, rate, **how)

    monkeypatch.setattr(trainer.learner, "learn", watched)
    assert trainer.run(seen)
    positions = trainer.state.positions
    rows = np.concatenate(taken)
    assert len(rows) == 3 * positions
    passes = [sorted(map(bytes, part)) for part in np.split(rows, 3)]
    assert passes[0] == passes[1] == passes[2]
    assert (rows[:positions] != rows[positions : 2 * positions]).any()
    rates = [p.learned.rate for p in seen.told if p.learned is not None]
    done = np.cumsum([0, *map(len, taken)]) / len(rows)
    middle = (done[1:] + done[:-1]) / 2
    expected = 1e-2 * 1e-2**middle * np.minimum(middle / 0.025, 1)
    assert rates == pytest.approx(expected)
    assert [p.cycle for p in seen.told if p.learned is not None] == pytest.approx(done[1:])
    assert max(rates) > 7e-3
    assert rates[-1] < 2e-4


def test_a_stage_has_its_own_minibatches_and_averages() -> None:
    stage = dataclasses.replace(GENERATION, batch=64)
    trainer = trainer_of(dataclasses.replace(CONFIG, stage=(stage,)).with_games(20))
    assert trainer.run(lambda progress: True)
    assert (trainer.learner.config.batch, trainer.learner.config.average) == (64, 0.5)
    whole = trainer_of(CONFIG.with_games(20))
    assert whole.run(lambda progress: True)
    assert whole.learner.config.batch == 128
    assert not same(whole.net(), trainer.net())
    stage = dataclasses.replace(GENERATION, race_batch=16)
    races = trainer_of(dataclasses.replace(CONFIG, stage=(stage,)).with_games(20))
    assert races.run(lambda progress: True)
    assert races.learner.config.race_batch == 16
    assert races.learner.steps["contact"] == whole.learner.steps["contact"]
    assert races.learner.steps["race"] > 4 * whole.learner.steps["race"]


@pytest.mark.parametrize(("replay", "counts"), [(2, [1, 2, 2]), (6, [1, 2, 3, 4, 5, 6, 6])])
def test_older_generations_are_learned_from_again(
    monkeypatch: pytest.MonkeyPatch, replay: int, counts: list[int]
) -> None:
    n_games = 20 * len(counts)
    stage = dataclasses.replace(GENERATION, games=n_games, replay=replay, passes=1)
    trainer = trainer_of(dataclasses.replace(CONFIG, stage=(stage,)))
    sizes: list[int] = []
    kept: list[int] = []
    begin_cycle = trainer._begin_cycle

    def watched() -> None:
        begin_cycle()
        sizes.append(len(trainer.window[-1].boards))
        kept.append(len(trainer.window))

    monkeypatch.setattr(trainer, "_begin_cycle", watched)
    seen = Seen(trainer, monkeypatch)
    assert trainer.run(seen)
    assert kept == counts
    assert len(trainer.window) == replay - 1
    # As many steps as the new positions ask for, whichever they take.
    assert sum(sizes) == trainer.state.positions


def test_rounds_before_and_after_generations(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = (
        StageConfig(games=20),
        dataclasses.replace(GENERATION, games=20),
        StageConfig(games=20),
    )
    trainer = trainer_of(dataclasses.replace(CONFIG, stage=stages))
    seen = Seen(trainer, monkeypatch)
    assert trainer.run(seen)
    spans = [(plan.first_game, plan.games) for _, plan in seen.played]
    assert spans == [(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8), (56, 4)]
    # What the rounds have learned plays the generation, and its settled net the rounds after it.
    nets = [net for net, _ in seen.played]
    assert same(nets[3], seen.nets[3].in_half())
    settled = next(
        net
        for net, p in zip(seen.nets[1:], seen.told, strict=True)
        if p.cycle is not None and p.cycle >= 1
    )
    assert same(nets[spans.index((40, 8))], settled)


@pytest.mark.parametrize("luck_adjusted", [False, True], ids=["sampled", "luck-adjusted"])
def test_any_number_of_workers_gives_the_same_weights(luck_adjusted: bool) -> None:
    config = dataclasses.replace(
        CONFIG,
        selfplay=SelfPlayConfig(games_per_round=8, sorter_games=4, sorter_width=8),
        stage=(dataclasses.replace(GENERATION, luck_adjusted=luck_adjusted),),
    ).with_games(30)
    trainers = [trainer_of(config, workers=workers) for workers in (1, 3)]
    for trainer in trainers:
        assert trainer.run(lambda progress: True)
    assert same(trainers[0].net(), trainers[1].net())


def test_a_stopped_run_goes_on_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is stopped: between rounds of a generation, or between slices."""
    monkeypatch.setattr(loop, "_SLICE", 500)
    stage = dataclasses.replace(GENERATION, games=40, replay=2)
    config = dataclasses.replace(CONFIG, stage=(stage,))
    whole = begin(tmp_path / "whole", config)
    assert complete(whole)
    watch = whole.watch
    assert isinstance(watch, StopAfter)
    for rounds in (1, 2, 4, 7, 12):
        assert rounds < len(watch.seen)
        path = tmp_path / str(rounds)
        assert not complete(begin(path, config), rounds)
        run = go_on(path)
        assert complete(run)
        assert_same(weights(run.trainer.net()), weights(whole.trainer.net()))
        assert run.trainer.state.games == 40


def test_every_settled_net_is_checked_and_none_in_between(tmp_path: Path) -> None:
    checks = CheckConfig(first_games=1, growth=100, games=4, opponents=("random", "pubeval"))
    config = dataclasses.replace(CONFIG, checks=checks)
    played: list[int] = []
    run = begin(tmp_path, config, play_match=made_up_match([0.0, 0.1, 0.2, 0.3], played))
    assert complete(run)
    assert [check.games for check in run.record.checks] == [0, 20, 40, 50]


def test_when_time_is_over_a_generation_that_is_played_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = trainer_of(minutes=1.0)
    seen: list[Progress] = []

    def late(progress: Progress) -> bool:
        seen.append(progress)
        if len(seen) == 1:
            trainer.state.seconds = 61.0
        return True

    assert trainer.run(late)
    assert trainer.finished()
    assert trainer.settled
    assert trainer.window == []
    assert len(seen) == 2
    assert same(trainer.net(), new_net())


def test_when_time_is_over_a_cycle_goes_on_to_its_end() -> None:
    trainer = trainer_of(minutes=1.0)
    cycles: list[float] = []

    def late(progress: Progress) -> bool:
        if progress.cycle is not None:
            cycles.append(progress.cycle)
        elif trainer.state.games == 20:
            trainer.state.seconds = 61.0
        return True

    assert trainer.run(late)
    assert cycles[-1] == 1.0
    assert trainer.state.games == 20
    assert not same(trainer.net(), new_net())


SMALLER = ValueNetConfig(
    contact=NetConfig(width=6, pairs=False, experts="none", hidden=3),
    race=NetConfig(width=3, pairs=False, experts="none", hidden=0),
)


def test_fresh_weights_learn_the_first_generation_of_a_stage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[ValueNet] = []
    made = Trainer._new_net

    def watched(trainer: Trainer, shape: ValueNetConfig, *key: int) -> ValueNet:
        net = made(trainer, shape, *key)
        if shape == TINY:
            begun.append(net)
        return net

    monkeypatch.setattr(Trainer, "_new_net", watched)
    nets = []
    for stage, start in ((FRESH, 1), (FRESH, 2), (dataclasses.replace(FRESH, fresh=False), 2)):
        config = dataclasses.replace(CONFIG, stage=(stage,))
        trainer = Trainer(config, new_value_net(TINY, np.random.default_rng(start)), workers=1)
        assert trainer.run(lambda progress: True)
        nets.append(trainer.net())
    # The same new weights whatever played; the second generation goes on with what was learned.
    assert len(begun) == 2
    assert same(begun[0], begun[1])
    assert not same(begun[0], new_net())
    assert not same(nets[0], nets[1])
    assert not same(nets[1], nets[2])


def test_fresh_weights_keep_what_is_known_of_races(monkeypatch: pytest.MonkeyPatch) -> None:
    """The race net goes on if its shape is to stay; so does a sorter that has learned something."""
    begun: list[ValueNet] = []
    sorted_by: list[ValueNet | None] = []
    begin_cycle = Trainer._begin_cycle

    def watched(trainer: Trainer) -> None:
        before = trainer.learner.averaged(), trainer._sorter_net()
        begin_cycle(trainer)
        begun.extend((before[0], trainer.learner.averaged()))
        sorted_by.extend((before[1], trainer._sorter_net()))

    monkeypatch.setattr(Trainer, "_begin_cycle", watched)
    other_race = dataclasses.replace(TINY, race=dataclasses.replace(TINY.race, width=3))
    fresh = dataclasses.replace(FRESH, games=20, luck_adjusted=True)
    for first, keeps in ((TINY, True), (other_race, False)):
        begun.clear()
        sorted_by.clear()
        config = dataclasses.replace(
            CONFIG,
            selfplay=SelfPlayConfig(games_per_round=10, sorter_games=4, sorter_width=8),
            first_net=first,
            stage=(fresh, dataclasses.replace(fresh)),
        )
        trainer = Trainer(config, new_value_net(first, np.random.default_rng(1)), workers=1)
        assert trainer.run(lambda progress: True)
        for number, kept in ((0, keeps), (2, True)):
            old, new = begun[number : number + 2]
            assert not np.array_equal(old.contact.points, new.contact.points)
            assert np.array_equal(old.race.points, new.race.points) == kept
        # Nothing had been learned by the first sorter, something by the next.
        assert sorted_by[0] is not None
        assert sorted_by[1] is not None
        assert not same(sorted_by[0], sorted_by[1])
        assert sorted_by[2] is not None
        assert sorted_by[3] is not None
        assert same(sorted_by[2], sorted_by[3])


def test_a_net_of_another_shape_plays_for_the_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_SLICE", 500)
    stages = (StageConfig(games=16), FRESH)
    config = dataclasses.replace(CONFIG, first_net=SMALLER, stage=stages)
    whole = begin(tmp_path / "whole", config)
    assert whole.trainer.net().config == SMALLER
    assert complete(whole)
    assert whole.trainer.net().config == TINY
    assert load_net(tmp_path / "whole" / "last.safetensors").config == TINY
    watch = whole.watch
    assert isinstance(watch, StopAfter)
    for rounds in (1, 3, 5, 6, 8):  # before, while and after the fresh weights begin
        assert rounds < len(watch.seen)
        path = tmp_path / str(rounds)
        assert not complete(begin(path, config), rounds)
        run = go_on(path)
        assert complete(run)
        assert_same(weights(run.trainer.net()), weights(whole.trainer.net()))
    text = config_text(config)
    assert config_from_values(read_values(text, "text")) == config
    with pytest.raises(ConfigError, match="first_net needs a stage with fresh weights"):
        dataclasses.replace(config, stage=stages[:1])


def test_generations_are_sorted_once_the_sorter_has_learned_from_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    adjusted = dataclasses.replace(GENERATION, games=40, luck_adjusted=True)
    for sorter_games, kept in ((15, [0, 0, 0, 5, 5, 5]), (25, [0] * 6)):
        selfplay = SelfPlayConfig(games_per_round=8, sorter_games=sorter_games, sorter_width=8)
        stages = (StageConfig(games=16), adjusted)
        trainer = trainer_of(dataclasses.replace(CONFIG, selfplay=selfplay, stage=stages))
        seen = Seen(trainer, monkeypatch)
        assert trainer.run(seen)
        assert [plan.sorter_keep for _, plan in seen.played] == [0, 0, *kept]


def test_a_ready_sorter_sorts_from_the_first_game(monkeypatch: pytest.MonkeyPatch) -> None:
    adjusted = dataclasses.replace(GENERATION, games=16, generation=8, luck_adjusted=True)
    selfplay = SelfPlayConfig(games_per_round=8, sorter_ready=True)
    trainer = trainer_of(dataclasses.replace(CONFIG, selfplay=selfplay, stage=(adjusted,)))
    small = load_sorter()
    assert small is not None
    assert trainer.sorter is not None
    assert same(trainer.sorter.averaged(), small)
    seen = Seen(trainer, monkeypatch)
    assert trainer.run(seen)
    assert [plan.sorter_keep for _, plan in seen.played] == [5, 5]
    assert not same(trainer.sorter.averaged(), small)  # it learns as well
    narrow = dataclasses.replace(selfplay, sorter_width=16)
    with pytest.raises(ConfigError, match="sorter_ready: the small net"):
        trainer_of(dataclasses.replace(CONFIG, selfplay=narrow, stage=(adjusted,)))


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"generation": -1}, "generation is '-1'; a whole number from 0 up fits"),
        ({"passes": 2}, "passes are of a generation's positions; without generation 1 fits"),
        ({"generation": 5, "passes": 0}, "passes is '0'; a whole number from 1 up fits"),
        ({"fresh": True}, "fresh weights learn from a generation; without generation false fits"),
        ({"generation": 5, "fresh": 1}, "fresh is '1'; true or false fits"),
        ({"beside": 1}, "nets learn beside another from a generation; without generation 0 fits"),
        ({"generation": 5, "beside": -1}, "beside is '-1'; a whole number from 0 up fits"),
        ({"batch": 0}, "batch is '0'; a whole number from 1 up fits"),
        ({"average": 1.0}, "average is '1.0'; a number from 0 to 0.999999 fits"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        StageConfig(games=10, **settings)


def test_rates_fall_within_each_generation() -> None:
    trainer = trainer_of()
    rates: list[list[float]] = [[]]

    def keep(progress: Progress) -> bool:
        if progress.learned is None:
            if rates[-1]:
                rates.append([])
        else:
            rates[-1].append(progress.learned.rate)
        return True

    assert trainer.run(keep)
    assert len(rates) == 3
    for cycle in rates:
        assert all(a > b for a, b in itertools.pairwise(cycle))
