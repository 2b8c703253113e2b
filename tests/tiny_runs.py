"""Runs that take a moment: a tiny net, few games, matches that are made up."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from agent.net import NetConfig, ValueNet, ValueNetConfig
from nardi.cli import FAILED, main
from train.config import CheckConfig, LearnConfig, SelfPlayConfig, StageConfig, TrainConfig
from train.config_files import config_text
from train.folder import RunFolder
from train.progress import Progress
from train.resume import RunRecord, Score, load_state
from train.run import Run, Watch, first_net

TINY = TrainConfig(
    seed=5,
    net=ValueNetConfig(
        contact=NetConfig(width=8, pairs=False, hidden=4),
        race=NetConfig(width=4, pairs=False, experts="none", hidden=0),
    ),
    selfplay=SelfPlayConfig(games_per_round=30),
    learn=LearnConfig(batch=256, average=0.9),
    stage=(
        StageConfig(games=90, lambda_=(0.9, 0.7), explore=0.05),
        StageConfig(games=120, expected=(0.0, 0.1)),
    ),
    checks=CheckConfig(first_games=60, growth=2.0, games=4, opponents=("random", "pubeval")),
)
"""Seven rounds of 30 games, in two stages, with everything that a round may need."""


class StopAfter(Watch):
    """Asks a run to stop after some rounds."""

    def __init__(self, rounds: int | None) -> None:
        self.rounds = rounds
        self.seen: list[float] = []

    def round_done(self, progress: Progress) -> None:
        self.seen.append(math.nan if progress.learned is None else progress.learned.loss)

    def wanted(self) -> bool:
        return len(self.seen) == self.rounds


def begin(
    path: Path,
    config: TrainConfig = TINY,
    *,
    workers: int = 1,
    net: ValueNet | None = None,
    **how: Any,
) -> Run:
    minutes = how.pop("minutes", None)
    record = RunRecord(config=config, minutes=minutes, device="cpu", origin={"command": "test"})
    return Run(RunFolder.create(path), record, net or first_net(config), workers=workers, **how)


def go_on(path: Path, *, workers: int = 1, **how: Any) -> Run:
    folder = RunFolder.open(path)
    try:
        return Run.resume(folder, load_state(folder.state), workers=workers, **how)
    except BaseException:
        folder.close()
        raise


def complete(run: Run, rounds: int | None = None) -> bool:
    """Go on for some rounds or to the end; whether the end was reached."""
    stop = StopAfter(rounds)
    run.watch = stop
    run._should_stop = stop.wanted
    try:
        return run.run()
    finally:
        run.close()


def made_up_match(scores: list[float], played: list[int]) -> Callable[[ValueNet, str], Score]:
    """Matches whose scores against the last opponent are given, one for each check."""

    def play(net: ValueNet, opponent: str) -> Score:
        played.append(net.num_weights())
        ppg = scores[(len(played) - 1) // 2] if opponent == "pubeval" else 0.5
        return Score(opponent=opponent, ppg=ppg, stderr_ppg=0.1, games=4)

    return play


def weights(net: ValueNet) -> dict[str, np.ndarray[Any, Any]]:
    return {
        f"{part}/{name}": array
        for part in ("contact", "race")
        for name, array in getattr(net, part)._asdict().items()
    }


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """All arrays are equal bit for bit."""
    assert one.keys() == other.keys()
    different = [name for name in one if one[name].tobytes() != other[name].tobytes()]
    assert not different


def with_stages(config: TrainConfig, **changes: Any) -> TrainConfig:
    stages = tuple(dataclasses.replace(stage, **changes) for stage in config.stage)
    return dataclasses.replace(config, stage=stages)


def tiny_words(folder: Path) -> list[str]:
    """Words of a command line that trains for a moment, to which a folder is added."""
    (folder / "tiny.toml").write_text(config_text(TINY))
    return ["train", "--config", str(folder / "tiny.toml"), "--device", "cpu"]


def run(*words: str | Path) -> int:
    """Exit code of a command line, also where argparse ends it."""
    try:
        return main([str(word) for word in words])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
