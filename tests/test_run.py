"""A run in its folder: what lies there, checks, stopping, failures, bounded memory."""

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent import checkpoint
from agent.bot import load_bot
from agent.checkpoint import load_net, read_facts
from agent.kernels.value import NetArrays
from agent.net import ValueNet
from engine.board import START
from engine.errors import CheckpointError, ConfigError
from tests.tiny_runs import (
    TINY,
    assert_same,
    begin,
    complete,
    go_on,
    made_up_match,
    weights,
    with_stages,
)
from train import resume, run
from train.config_files import config_from_values, read_values
from train.folder import RunFolder
from train.learner import DivergedError
from train.progress import Progress
from train.resume import Check, Score, load_state
from train.run import Watch, first_net, warm_up
from train.stopping import StoppedError, StopSignals

ROOT = Path(__file__).resolve().parent.parent


def metrics(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


# --- the folder ---


def test_folder_is_made(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "a" / "b")
    folder.close()
    assert folder.path.is_dir()


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    RunFolder.create(tmp_path).close()
    RunFolder.create(tmp_path).close()  # the lock's file alone is nothing


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"is not empty; name a new or an empty one"):
        RunFolder.create(tmp_path)
    run_path = tmp_path / "run"
    complete(begin(run_path), 1)
    with pytest.raises(ConfigError, match=r"holds a run already; go on with it by --resume .*run"):
        RunFolder.create(run_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be used"):
        RunFolder.create(tmp_path / "file")
    with pytest.raises(ConfigError, match="cannot be used: Not a directory"):
        RunFolder.create(tmp_path / "file" / "run")
    with pytest.raises(ConfigError, match="cannot be made: Not a directory"):
        RunFolder.create_by_time(tmp_path / "file", datetime(2026, 1, 31))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder nobody can write")
def test_an_unwritable_folder_is_refused() -> None:
    """Also for root, who may write wherever the file system lets anyone."""
    with pytest.raises(ConfigError, match=r"'/proc/self/net/run' cannot be used"):
        RunFolder.create(Path("/proc/self/net/run"))


def test_folders_by_time(tmp_path: Path) -> None:
    now = datetime(2026, 1, 31, 20, 5, 9)
    folders = [RunFolder.create_by_time(tmp_path / "runs", now) for _ in range(3)]
    names = [folder.path.name for folder in folders]
    assert names == [
        "2026-01-31T20-05-09",
        "2026-01-31T20-05-09-2",
        "2026-01-31T20-05-09-3",
    ]
    for folder in folders:
        folder.discard()
    assert os.listdir(tmp_path / "runs") == []


def test_one_process_at_a_time(tmp_path: Path) -> None:
    first = begin(tmp_path / "run")
    first.save()
    with pytest.raises(ConfigError, match="another process is training in folder"):
        RunFolder.open(tmp_path / "run")
    first.close()
    RunFolder.open(tmp_path / "run").close()


def test_nothing_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no run to go on with: .* does not exist"):
        RunFolder.open(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"there is no run .* has no 'state.safetensors'"):
        RunFolder.open(tmp_path)


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    complete(begin(tmp_path), 1)
    leftover = tmp_path / ".state.safetensors.abc123"
    leftover.write_bytes(b"half a file")
    RunFolder.open(tmp_path).close()
    assert not leftover.exists()
    assert (tmp_path / "state.safetensors").exists()


def test_discard_keeps_what_was_written(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    (folder.path / "state.safetensors").write_text("x")
    folder.discard()
    assert (folder.path / "state.safetensors").exists()


# --- what a run leaves ---


def test_files_of_a_run(tmp_path: Path) -> None:
    match = made_up_match([-2.0, 0.5, 0.3, 0.1], [])
    assert complete(begin(tmp_path, play_match=match))
    assert sorted(os.listdir(tmp_path)) == [
        ".lock",
        "best.safetensors",
        "config.toml",
        "events.out.tfevents.nardi",
        "last.safetensors",
        "metrics.jsonl",
        "state.safetensors",
    ]
    text = (tmp_path / "config.toml").read_text()
    assert config_from_values(read_values(text, "config.toml")) == TINY
    rounds = [row for row in metrics(tmp_path) if "train/loss" in row]
    assert [row["games"] for row in rounds] == [30, 60, 90, 120, 150, 180, 210]
    assert set(rounds[0]) >= {"train/loss", "selfplay/games_per_s", "train/rate", "train/lambda"}
    assert all(row["selfplay/games_per_s"] > 0 for row in rounds)
    bot = load_bot(f"net:{tmp_path / 'last.safetensors'}")
    assert bot.best_play(START, (3, 1)).text


def test_facts_of_a_net(tmp_path: Path) -> None:
    match = made_up_match([-2.0, 0.5, 0.3, 0.1], [])
    complete(begin(tmp_path, play_match=match))
    facts = read_facts(tmp_path / "last.safetensors")
    assert facts["command"] == "test"
    assert facts["games"] == 210
    assert facts["positions"] > 210 * 20
    assert facts["seconds"] > 0
    assert facts["seed"] == TINY.seed
    assert config_from_values(facts["train"]) == TINY
    assert facts["strength"] == {
        "random": {"ppg": 0.5, "stderr_ppg": 0.1, "games": 4, "after_games": 210},
        "pubeval": {"ppg": 0.1, "stderr_ppg": 0.1, "games": 4, "after_games": 210},
    }
    best = read_facts(tmp_path / "best.safetensors")
    assert best["games"] == 60
    assert best["strength"]["pubeval"]["ppg"] == 0.5
    assert "minutes" not in facts
    assert "resumed_at" not in facts


def test_the_best_net_is_the_one_of_its_check(tmp_path: Path) -> None:
    """Not an older or newer one: a run to that moment ends with the same weights."""
    complete(begin(tmp_path / "whole", play_match=made_up_match([-2.0, 0.5, 0.3, 0.1], [])))
    complete(begin(tmp_path / "part"), 2)
    best, last = (
        load_net(tmp_path / name) for name in ("whole/best.safetensors", "part/last.safetensors")
    )
    assert_same(weights(best), weights(last))


def test_warm_up_leaves_nothing() -> None:
    import torch

    before = torch.random.get_rng_state()
    warm_up()
    assert torch.equal(before, torch.random.get_rng_state())


def test_begins_with_a_given_net(tmp_path: Path) -> None:
    parent = first_net(dataclasses.replace(TINY, seed=99))
    work = begin(tmp_path, net=parent)
    work.save()
    work.close()
    assert_same(weights(load_net(tmp_path / "last.safetensors")), weights(parent))


# --- checks ---


class Seen(Watch):
    def __init__(self) -> None:
        self.checks: list[tuple[int, bool]] = []

    def check_done(self, check: Check, is_best: bool) -> None:
        self.checks.append((check.games, is_best))


def test_schedule_of_checks(tmp_path: Path) -> None:
    """At the start, after 60 games, after twice as many each time, and at the end."""
    played: list[int] = []
    seen = Seen()
    work = begin(tmp_path, play_match=made_up_match([-2, 0.5, 0.3, 0.7], played), watch=seen)
    assert work.run()
    work.close()
    assert seen.checks == [(0, True), (60, True), (120, False), (210, True)]
    assert len(played) == 2 * 4
    rows = [row for row in metrics(tmp_path) if "eval/pubeval_ppg" in row]
    assert [(row["games"], row["eval/pubeval_ppg"]) for row in rows] == [
        (0, -2),
        (60, 0.5),
        (120, 0.3),
        (210, 0.7),
    ]
    assert rows[0] == {
        "games": 0,
        "eval/random_ppg": 0.5,
        "eval/random_stderr_ppg": 0.1,
        "eval/pubeval_ppg": -2,
        "eval/pubeval_stderr_ppg": 0.1,
    }


def test_checks_go_on_after_a_stop(tmp_path: Path) -> None:
    scores = [-2.0, 0.5, 0.3, 0.7]
    played: list[int] = []
    match = made_up_match(scores, played)
    complete(begin(tmp_path, play_match=match), 3)
    assert len(played) == 2 * 2
    complete(go_on(tmp_path, play_match=match))
    record = load_state(tmp_path / "state.safetensors").record
    assert [check.games for check in record.checks] == [0, 60, 120, 210]
    assert [check.scores[-1].ppg for check in record.checks] == scores
    assert record.best == record.checks[-1]
    assert len([row for row in metrics(tmp_path) if "eval/pubeval_ppg" in row]) == 4


def test_a_check_that_was_stopped_comes_again(tmp_path: Path) -> None:
    def stopped(net: ValueNet, opponent: str) -> Score:
        raise StoppedError

    work = begin(tmp_path, play_match=stopped)
    assert not complete(work)
    assert load_state(tmp_path / "state.safetensors").state.games == 0
    played: list[int] = []
    work = go_on(tmp_path, play_match=made_up_match([-2, 0.5, 0.3, 0.7], played))
    assert complete(work)
    assert len(played) == 2 * 4


def test_only_the_last_check_is_missing(tmp_path: Path) -> None:
    complete(begin(tmp_path))
    played: list[int] = []
    work = go_on(tmp_path, play_match=made_up_match([0.7], played))
    assert not work.is_over()
    assert complete(work)
    assert len(played) == 2
    assert load_state(tmp_path / "state.safetensors").record.checks[0].games == 210


# --- stopping ---


class Signals(Watch):
    """Sends this process a signal after the first round, as Ctrl-C would."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def round_done(self, progress: Progress) -> None:
        if progress.state.round == 1:
            for number in self.numbers:
                os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_round(
    tmp_path: Path, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with StopSignals("stopping") as stop:
        work = begin(tmp_path, watch=Signals(number), should_stop=lambda: stop.wanted)
        assert not work.run()
        work.close()
    assert capfd.readouterr().err == "stopping\n"
    assert load_state(tmp_path / "state.safetensors").state.games == 30
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    threads = threading.active_count()
    with StopSignals("stopping") as stop:
        numbers = (signal.SIGTERM, signal.SIGINT)
        work = begin(tmp_path, watch=Signals(*numbers), should_stop=lambda: stop.wanted)
        with pytest.raises(KeyboardInterrupt):
            work.run()
        work.close()
    assert load_state(tmp_path / "state.safetensors").state.games == 0
    assert threading.active_count() == threads, "threads that play are left"
    assert complete(go_on(tmp_path))


def test_no_signals_outside_the_main_thread() -> None:
    seen: list[bool] = []

    def work() -> None:
        with StopSignals("stopping") as stop:
            seen.append(stop.wanted)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


# --- failures ---


def full_disk(*arguments: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("module", [checkpoint, resume], ids=["net", "state"])
def test_a_full_disk_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any
) -> None:
    complete(begin(tmp_path / "whole"))
    path = tmp_path / "run"
    complete(begin(path), 2)
    before = {name: (path / name).read_bytes() for name in ("state.safetensors", "config.toml")}
    work = go_on(path)
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_atomically", full_disk)
        with pytest.raises(CheckpointError, match="No space left on device") as caught:
            work.run()
        work.close()
    assert "The last good checkpoint, of 60 games," in str(caught.value)
    assert f"--resume {path}" in str(caught.value)
    assert {name: (path / name).read_bytes() for name in before} == before
    complete(go_on(path))
    last = [load_net(tmp_path / name / "last.safetensors") for name in ("run", "whole")]
    assert_same(*(weights(net) for net in last))


def test_a_full_disk_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "write_atomically", full_disk)
    work = begin(tmp_path)
    with pytest.raises(CheckpointError, match=r"config.toml.*No space left.*Nothing was saved"):
        work.run()
    work.close()


def test_the_run_is_saved_every_so_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Look(Watch):
        def round_done(self, progress: Progress) -> None:
            saved.append(load_state(tmp_path / "state.safetensors").state.games)

    assert run.SAVE_EVERY_S <= 60
    saved: list[int] = []
    monkeypatch.setattr(run, "SAVE_EVERY_S", 0.0)
    monkeypatch.setattr(run, "SAVE_SHARE", 1e9)
    work = begin(tmp_path, watch=Look())
    work.run()
    work.close()
    assert saved == [0, 30, 60, 90, 120, 150, 180]


def huge(net: ValueNet) -> ValueNet:
    """Finite weights with which no loss is finite."""
    arrays = {name: np.full_like(array, 1e38) for name, array in net.contact._asdict().items()}
    return ValueNet(net.config, NetArrays(**arrays), net.race)


def test_divergence_is_told_at_once(tmp_path: Path) -> None:
    work = begin(tmp_path, net=huge(first_net(TINY)))
    with pytest.raises(DivergedError) as caught:
        work.run()
    work.close()
    message = str(caught.value)
    assert "the loss of the contact net became nan at step 1" in message
    assert (
        "in round 0 after 0 games (seed 5; minibatch steps: contact net 1, race net 0)" in message
    )
    assert "The last good checkpoint, of 0 games, is intact" in message
    assert f"--from {tmp_path / 'last.safetensors'} with a lower stage.0.rate" in message


def test_divergence_leaves_a_good_checkpoint(tmp_path: Path) -> None:
    """Steps that are far too large in the second stage only."""
    wild = dataclasses.replace(TINY.stage[1], rate=(1.0, 1.0))
    spoiled = dataclasses.replace(TINY, stage=(TINY.stage[0], wild))
    work = begin(tmp_path, spoiled)

    class Poison(Watch):
        def round_done(self, progress: Progress) -> None:
            if progress.state.round == 4:
                work.save()
                with_nan = work.trainer.learner.twins["race"].get_parameter("bias")
                with_nan.data[0] = float("nan")

    work.watch = Poison()
    with pytest.raises(DivergedError, match=r"in round 4 after 120 games .*checkpoint, of 120 g"):
        work.run()
    work.close()
    for part in weights(load_net(tmp_path / "last.safetensors")).values():
        assert np.isfinite(part).all()
    assert load_state(tmp_path / "state.safetensors").state.games == 120


# --- limits ---


def test_minutes_end_a_run(tmp_path: Path) -> None:
    class Clock(Watch):
        """A round takes 20 seconds."""

        def round_done(self, progress: Progress) -> None:
            work.trainer.state.seconds = 20.0 * progress.state.round

    work = begin(tmp_path, minutes=1.5, watch=Clock())
    assert work.run()
    work.close()
    assert work.trainer.state.round == 5
    assert read_facts(tmp_path / "last.safetensors")["minutes"] == 1.5
    record = load_state(tmp_path / "state.safetensors").record
    assert (record.minutes, record.config) == (1.5, TINY)
    longer = go_on(tmp_path, minutes=2.0)
    assert not longer.is_over()
    longer.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_is_bounded() -> None:
    """300 rounds after the first 100 take no more than a little."""
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    early, late = (float(word) for word in done.stdout.split())
    assert late - early < 12, f"{early} MB after 100 rounds, {late} MB after 400"


_MEMORY = """
import dataclasses, os, tempfile
from pathlib import Path
from tests.tiny_runs import TINY, begin, made_up_match
from train import run
run.SAVE_EVERY_S = 1.0
config = dataclasses.replace(
    TINY.with_games(400 * 30), checks=dataclasses.replace(TINY.checks, growth=1.1)
)
class Look(run.Watch):
    def round_done(self, progress):
        if progress.state.round in (100, 400):
            pages = int(open("/proc/self/statm").read().split()[1])
            print(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
with tempfile.TemporaryDirectory() as name:
    match = made_up_match([0.1 * n for n in range(100)], [])
    work = begin(Path(name), config, workers=2, play_match=match, watch=Look())
    assert work.run()
    work.close()
"""


def test_stages_of_a_tiny_run_differ() -> None:
    """The runs above go through more than one kind of stage."""
    assert with_stages(TINY, games=1).games == 2
    assert TINY.stage[0].expected != TINY.stage[1].expected
