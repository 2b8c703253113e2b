"""Nets that learn beside the settled one and are made one with it."""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.checkpoint import load_net
from agent.evaluator import Evaluator
from agent.net import ValueNet
from engine.board import Board, has_contact
from engine.errors import ConfigError
from engine.moves import check_boards
from tests.generation_runs import CONFIG, FRESH, GENERATION, TINY, Seen, new_net, same, trainer_of
from tests.strategies import mixed_boards
from tests.tiny_runs import StopAfter, assert_same, begin, complete, go_on, weights
from train import loop
from train.config import StageConfig
from train.config_files import config_from_values, config_text, read_values
from train.loop import Trainer
from train.resume import load_state
from train.run import first_net


def random_boards(seed: int, n: int) -> Board:
    found = itertools.islice(mixed_boards(np.random.default_rng(seed)), n)
    return check_boards(np.array([board for board, _ in found]))


def contact_logits(net: ValueNet, boards: Board) -> NDArray[np.float64]:
    """Of the first output, a win, where no rule cuts it."""
    p = Evaluator(net).probabilities(boards[has_contact(boards)])[:, 0].astype(np.float64)
    return np.log(p / (1 - p))


BESIDE = dataclasses.replace(GENERATION, games=20, beside=2)
WITH_BESIDE = dataclasses.replace(
    CONFIG, stage=(BESIDE, dataclasses.replace(GENERATION, games=20), BESIDE)
)


def test_nets_that_learned_beside_the_settled_one_are_made_one_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "_SLICE", 500)
    parts: list[list[ValueNet]] = []
    join = Trainer._join_beside

    def watched(trainer: Trainer) -> None:
        if trainer.beside:
            learners = [trainer.learner, *trainer.beside]
            parts.append([learner.averaged() for learner in learners])
        join(trainer)

    monkeypatch.setattr(Trainer, "_join_beside", watched)
    trainer = trainer_of(WITH_BESIDE)
    seen = Seen(trainer, monkeypatch)
    assert trainer.run(seen)
    shapes = [(net.config.contact.groups, net.config.contact.width) for net in seen.nets]
    assert [shape for shape, _ in itertools.groupby(shapes)] == [(1, 8), (3, 24), (5, 40)]
    # The joined one plays and learns on as one.
    assert [net.config.contact.groups for net, _ in seen.played] == [1] * 3 + [3] * 6
    settled = [
        net
        for net, progress in zip(seen.nets[1:], seen.told, strict=True)
        if progress.cycle is not None and progress.cycle >= 1
    ]
    boards = random_boards(3, 200)
    assert len(parts) == 2
    for (old, *new), joined in zip(parts, (settled[0], settled[2]), strict=True):
        assert len(new) == 2
        assert not same(new[0], new[1])
        # Races are learned by the settled net alone.
        assert all(np.array_equal(a, b) for a, b in zip(joined.race, old.race, strict=True))
        groups = [old] * old.config.contact.groups + new
        expected = np.mean([contact_logits(net, boards) for net in groups], axis=0)
        assert contact_logits(joined, boards) == pytest.approx(expected, abs=1e-4)
    # All three learned the same, beginning with other weights.
    assert all(np.abs(new.contact.w3 - parts[0][0].contact.w3).max() > 1e-3 for new in parts[0][1:])
    assert same(seen.nets[0], new_net())
    assert not np.array_equal(parts[0][0].contact.points, new_net().contact.points)
    # The second ones have other first weights than the first.
    assert not same(parts[0][1], parts[1][1])


def test_nets_beside_the_settled_one_are_the_same_however_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_SLICE", 500)
    whole = begin(tmp_path / "whole", WITH_BESIDE)
    assert complete(whole)
    final = weights(whole.trainer.net())
    assert whole.trainer.net().config.contact.groups == 5
    assert load_net(tmp_path / "whole" / "last.safetensors").config.contact.groups == 5
    threads = Trainer(WITH_BESIDE, first_net(WITH_BESIDE), workers=3)
    assert threads.run(lambda progress: True)
    assert_same(weights(threads.net()), final)
    watch = whole.watch
    assert isinstance(watch, StopAfter)
    for rounds in (2, 4, 5, 8, 11, 14, len(watch.seen) - 2):
        path = tmp_path / str(rounds)
        assert not complete(begin(path, WITH_BESIDE), rounds)
        run = go_on(path)
        assert complete(run)
        assert_same(weights(run.trainer.net()), final)
    assert config_from_values(read_values(config_text(WITH_BESIDE), "text")) == WITH_BESIDE


def test_a_run_that_is_over_goes_on_with_its_last_generations(tmp_path: Path) -> None:
    """Not with sampled games again, which its net has nothing to learn from."""
    sampled = StageConfig(games=40)
    config = dataclasses.replace(CONFIG, stage=(sampled, dataclasses.replace(BESIDE, games=40)))
    path = tmp_path / "run"
    assert complete(begin(path, config))
    assert complete(go_on(path, config=config.longer(120)))
    record = load_state(path / "state.safetensors").record
    assert [stage.games for stage in record.config.stage] == [40, 80]
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    cycles = {row["games"] for row in rows if "train/cycle" in row}
    assert cycles == {60, 80, 100, 120}
    assert load_net(path / "last.safetensors").config.contact.groups == 3
    # Of a run of minutes the last stage gets the time that is added.
    timed = begin(tmp_path / "timed", config, minutes=1.0)
    timed.save()
    timed.close()
    longer = go_on(tmp_path / "timed", minutes=2.0)
    longer.close()
    assert [stage.games for stage in longer.record.config.stage] == [40, 120]


def test_nets_beside_that_could_not_be_made_one_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"stage.0.beside is '2', but stage 1 begins with fresh"):
        dataclasses.replace(CONFIG, stage=(BESIDE, FRESH))
    wide = dataclasses.replace(TINY, contact=dataclasses.replace(TINY.contact, width=400))
    with pytest.raises(ConfigError, match=r"stage.0.beside is '2', which is too many: net config"):
        dataclasses.replace(CONFIG, net=wide, stage=(BESIDE,))
