"""What tests of generations share: a tiny net, its settings, and what a run tells."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np
import pytest

from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from train import loop
from train.config import LearnConfig, SelfPlayConfig, StageConfig, TrainConfig
from train.loop import Trainer
from train.progress import Progress
from train.selfplay import Round, RoundPlan, play_round

__all__ = ["CONFIG", "FRESH", "GENERATION", "TINY", "Seen", "new_net", "same", "trainer_of"]

TINY = ValueNetConfig(
    contact=NetConfig(width=8, pairs=False, experts="none", hidden=4),
    race=NetConfig(width=4, pairs=False, experts="none", hidden=0),
)
GENERATION = StageConfig(games=50, generation=20, passes=3, rate=(1e-2, 1e-4), average=0.5)
FRESH = dataclasses.replace(GENERATION, games=40, fresh=True)
CONFIG = TrainConfig(
    seed=5,
    net=TINY,
    selfplay=SelfPlayConfig(games_per_round=8),
    learn=LearnConfig(batch=128, average=0.9),
    stage=(GENERATION,),
)


def new_net() -> ValueNet:
    return new_value_net(TINY, np.random.default_rng(1))


def trainer_of(config: TrainConfig = CONFIG, *, workers: int = 1, **how: Any) -> Trainer:
    return Trainer(config, new_net(), workers=workers, **how)


def same(one: ValueNet, two: ValueNet) -> bool:
    return one.checksum() == two.checksum()


class Seen:
    """What was played and told, and the net after each round."""

    def __init__(self, trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trainer = trainer
        self.played: list[tuple[ValueNet, RoundPlan]] = []
        self.told: list[Progress] = []
        self.nets = [trainer.net()]

        def watched(
            net: ValueNet, plan: RoundPlan, executor: Executor, sorter: ValueNet | None
        ) -> Iterator[Round]:
            self.played.append((net, plan))
            return play_round(net, plan, executor, sorter)

        monkeypatch.setattr(loop, "play_round", watched)

    def __call__(self, progress: Progress) -> bool:
        self.told.append(progress)
        self.nets.append(self.trainer.net())
        return True
