"""What a run goes on from: the file itself, and that going on gives the very same weights."""

import dataclasses
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from agent.checkpoint import load_net, save_net
from engine.errors import CheckpointError
from tests.tiny_runs import (
    TINY,
    assert_same,
    begin,
    complete,
    go_on,
    made_up_match,
    weights,
)
from train.config import TrainConfig
from train.progress import Positions, RunState
from train.resume import (
    Check,
    RunRecord,
    Score,
    Snapshot,
    load_state,
    save_state,
)
from train.run import first_net

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run that was not stopped."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    assert complete(begin(path))
    return path


def state_arrays(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Everything learned, of the state and of the net."""
    snapshot = load_state(folder / "state.safetensors")
    return {
        **snapshot.learner,
        **{f"previous/{name}": array for name, array in weights(snapshot.previous).items()},
        **{f"last/{name}": a for name, a in weights(load_net(folder / "last.safetensors")).items()},
    }


def assert_same_end(one: Path, other: Path) -> None:
    assert_same(state_arrays(one), state_arrays(other))
    ends = [load_state(path / "state.safetensors").state for path in (one, other)]
    first, second = (dataclasses.replace(end, seconds=0, cpu_seconds=0) for end in ends)
    assert first == second
    losses = [
        [
            json.loads(line).get("train/loss")
            for line in (path / "metrics.jsonl").read_text().splitlines()
        ]
        for path in (one, other)
    ]
    assert losses[0] == losses[1]


# --- the same weights ---


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_same_seed_same_weights_for_any_number_of_workers(
    whole: Path, tmp_path: Path, workers: int
) -> None:
    assert complete(begin(tmp_path / "run", workers=workers))
    assert_same_end(tmp_path / "run", whole)


def test_other_seed_other_weights(whole: Path, tmp_path: Path) -> None:
    complete(begin(tmp_path / "run", dataclasses.replace(TINY, seed=6)))
    one, other = state_arrays(whole), state_arrays(tmp_path / "run")
    assert not np.array_equal(one["last/contact/points"], other["last/contact/points"])


@pytest.mark.parametrize("stops", [[1], [2], [3], [6], [1, 1, 1, 1, 1, 1], [2, 3]], ids=str)
def test_stop_and_resume_gives_the_same_weights(
    whole: Path, tmp_path: Path, stops: list[int]
) -> None:
    """After any round, with another number of workers each time."""
    path = tmp_path / "run"
    run = begin(path, workers=2)
    for number, rounds in enumerate(stops):
        assert not complete(run, rounds)
        run = go_on(path, workers=1 + number % 3)
    assert complete(run)
    assert_same_end(path, whole)
    games = [30 * sum(stops[: n + 1]) for n in range(len(stops))]
    assert load_net(path / "last.safetensors").facts["resumed_at"] == games


def test_resume_from_a_copy_of_any_checkpoint(whole: Path, tmp_path: Path) -> None:
    """A process that is killed loses what came after its last save, and nothing else."""
    path = tmp_path / "run"
    run = begin(path)
    run.save()
    shutil.copytree(path, tmp_path / "killed")
    complete(run, 4)
    # Files of metrics go on beyond the state, as they do when a run is killed.
    for name in ("metrics.jsonl", "events.out.tfevents.nardi"):
        shutil.copy(path / name, tmp_path / "killed" / name)
    assert complete(go_on(tmp_path / "killed"))
    assert_same_end(tmp_path / "killed", whole)


def test_checks_leave_no_trace_in_the_weights(whole: Path, tmp_path: Path) -> None:
    match = made_up_match([0.1 * n for n in range(9)], [])
    assert complete(begin(tmp_path / "run", play_match=match))
    assert_same(state_arrays(tmp_path / "run"), state_arrays(whole))


@pytest.mark.parametrize(
    ("scores", "best"), [([0.5, 0.9, 0.83, 0.76], 2), ([0.5, 0.9, 0.76, 0.83], 3)]
)
def test_the_newest_of_nets_that_score_alike_is_best(
    scores: list[float], best: int, tmp_path: Path
) -> None:
    """Within a standard error, 0.1, of the highest score; not of one that was lower already."""
    assert complete(begin(tmp_path / "run", play_match=made_up_match(scores, [])))
    record = load_state(tmp_path / "run" / "state.safetensors").record
    assert record.best == record.checks[best]
    assert load_net(tmp_path / "run" / "best.safetensors").facts["games"] == [0, 60, 120, 210][best]


def test_global_random_numbers_do_not_matter(whole: Path, tmp_path: Path) -> None:
    import torch

    before = torch.random.get_rng_state()
    torch.manual_seed(123)
    random.seed(123)
    try:
        complete(begin(tmp_path / "run"))
    finally:
        torch.random.set_rng_state(before)
    assert_same_end(tmp_path / "run", whole)


def test_more_games_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run"
    complete(begin(path))
    longer = go_on(path, config=TINY.with_games(300))
    assert not longer.is_over()
    assert complete(longer)
    facts = load_net(path / "last.safetensors").facts
    assert (facts["games"], facts["resumed_at"]) == (300, [210])
    stages = facts["train"]["stage"]
    assert sum(stage["games"] for stage in stages) == 300
    assert load_state(path / "state.safetensors").record.config == TINY.with_games(300)


@pytest.mark.slow
def test_killed_processes_go_on(tmp_path: Path) -> None:
    """kill -9 at three chance moments; the end is that of a run that was left alone."""
    settings = [
        *("--preset", "smoke", "--seed", "3", "--games", "2000", "--json", "--device", "cpu"),
        *("--set", "net.contact.width=16", "--set", "selfplay.games_per_round=100"),
        *("--set", "checks.games=20", "--set", "checks.first_games=500"),
    ]
    command = [sys.executable, "-c", _OFTEN_SAVING, "train"]

    def start(*words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*command, *words],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    alone = start(*settings, "--out", str(tmp_path / "alone"))
    out, err = alone.communicate(timeout=300)
    assert alone.returncode == 0, err
    assert json.loads(out)["games"] == 2000

    path = tmp_path / "killed"
    draws = random.Random(8)
    process = start(*settings, "--out", str(path))
    for _ in range(3):
        _wait_for(path / "state.safetensors", process)
        games = load_state(path / "state.safetensors").state.games
        _wait_until(lambda games=games: _games(path) > games, process)
        time.sleep(draws.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        process = start("--resume", str(path), "--json")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert json.loads(out)["games"] == 2000
    assert_same_end(path, tmp_path / "alone")
    assert not [name for name in os.listdir(path) if name.startswith(".") and name != ".lock"]


_OFTEN_SAVING = """
import sys
import train.run
train.run.SAVE_EVERY_S = 0.2
from nardi.cli import main
sys.exit(main(sys.argv[1:]))
"""


def _games(path: Path) -> int:
    return load_state(path / "state.safetensors").state.games


def _wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    _wait_until(path.exists, process)


def _wait_until(condition: Any, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --- the file ---


@pytest.fixture
def snapshot(rng: np.random.Generator) -> Snapshot:
    score = Score(opponent="pubeval", ppg=0.1, stderr_ppg=0.02, games=400)
    check = Check(games=60, scores=(score,))
    net = first_net(TINY)
    return Snapshot(
        record=RunRecord(
            config=TINY,
            minutes=1.5,
            device="cpu",
            origin={"command": "nardi train", "parent": None, "versions": {"nardi": "0"}},
            resumed_at=(30, 60),
            checks=(check, dataclasses.replace(check, games=120)),
            best=check,
        ),
        state=RunState(round=3, games=90, positions=5000, seconds=1.25),
        learner={"contact/steps": np.array([7]), "contact/weight/b": rng.random(5)},
        previous=net,
        log_lengths={"metrics": 100, "events": 200},
    )


def test_everything_is_read_again(snapshot: Snapshot, tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, snapshot)
    found = load_state(path)
    assert found.record == snapshot.record
    assert found.state == snapshot.state
    assert found.log_lengths == snapshot.log_lengths
    assert_same(found.learner, snapshot.learner)
    assert_same(weights(found.previous), weights(snapshot.previous))
    assert found.learner["contact/weight/b"].flags.writeable


def test_positions_keep_their_weights(
    snapshot: Snapshot, tmp_path: Path, rng: np.random.Generator
) -> None:
    def some(n: int) -> Positions:
        return Positions(
            rng.integers(-5, 6, (n, 26), dtype=np.int8),
            rng.random((n, 5), dtype=np.float32),
            rng.random(n, dtype=np.float32),
        )

    path = tmp_path / "state.safetensors"
    kept = (some(7), some(3))
    save_state(path, dataclasses.replace(snapshot, window=kept))
    found = load_state(path).window
    assert len(found) == 2
    for part, other in zip(found, kept, strict=True):
        assert_same(part._asdict(), other._asdict())
    # States of before there were weights: all count the same.
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for number in range(2):
        del arrays[f"window/{number}/weights"]
    save_file(arrays, path, metadata=metadata)
    for part, other in zip(load_state(path).window, kept, strict=True):
        alike = np.ones(len(other.boards), dtype=np.float32)
        assert_same(part._asdict(), other._replace(weights=alike)._asdict())


def test_no_pickle_in_it(snapshot: Snapshot, tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, snapshot)
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert list(header["__metadata__"]) == ["nardi-run"]
    assert json.loads(header["__metadata__"]["nardi-run"])["state"]["games"] == 90


def _damaged(content: bytes) -> Iterator[bytes]:
    yield b""
    yield b"not a state at all"
    yield content[: len(content) // 2]
    yield content[:-1]


def test_damaged_files_are_refused(snapshot: Snapshot, tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, snapshot)
    for content in _damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"state.safetensors' is not the state of a run"):
            load_state(path)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    with pytest.raises(CheckpointError, match="not the state of a run"):
        load_state(path)
    save_net(path, first_net(TINY))
    with pytest.raises(CheckpointError, match="is a safetensors file, but not the state of a run"):
        load_state(path)
    save_file({"x": np.zeros(1)}, path, metadata={"nardi-run": json.dumps({"format": 99})})
    with pytest.raises(CheckpointError, match="has format '99'; this version reads 1"):
        load_state(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": {"lern": {}}}, "unknown setting 'lern'"),
        ({"state": {"moon": 1}}, "moon"),
        ({"checks": None}, "NoneType"),
        ({"config": dataclasses.replace(TINY, net=TrainConfig().net).as_dict()}, "contact: array"),
    ],
    ids=["config", "state", "checks", "net"],
)
def test_other_versions_are_refused(
    snapshot: Snapshot, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, snapshot)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    facts = {**json.loads(header["__metadata__"]["nardi-run"]), **change}
    header["__metadata__"]["nardi-run"] = json.dumps(facts)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
    with pytest.raises(CheckpointError, match=f"another version: .*{re.escape(message)}"):
        load_state(path)


def test_a_state_of_another_shape_is_refused(whole: Path, tmp_path: Path) -> None:
    """The learner's arrays are checked as well, not the player's only."""
    shutil.copytree(whole, tmp_path / "run")
    path = tmp_path / "run" / "state.safetensors"
    found = load_state(path)
    wrong = {**found.learner, "contact/weight/points": np.zeros((3, 3), dtype=np.float32)}
    save_state(path, dataclasses.replace(found, learner=wrong))
    with pytest.raises(CheckpointError, match="does not fit its net"):
        go_on(tmp_path / "run")
    del wrong["contact/weight/points"]
    save_state(path, dataclasses.replace(found, learner=wrong))
    with pytest.raises(CheckpointError, match="does not fit its net"):
        go_on(tmp_path / "run")


def test_unwritable_place(snapshot: Snapshot, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be written: No such file"):
        save_state(tmp_path / "none" / "state.safetensors", snapshot)
