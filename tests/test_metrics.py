"""The course of a run: both files hold the same, and are cut back to what a checkpoint knows."""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.errors import CheckpointError
from train.metrics import Metrics

LOADER = "tensorboard.backend.event_processing.event_file_loader"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def event_rows(path: Path) -> list[dict[str, Any]]:
    """The same read from TensorBoard's file by TensorBoard's own reader."""
    loader = pytest.importorskip(LOADER).LegacyEventFileLoader(str(path))
    events = list(loader.Load())
    assert events[0].file_version == "brain.Event:2"
    assert all(event.wall_time > 1e9 for event in events)
    return [
        {"games": event.step, **{value.tag: value.simple_value for value in event.summary.value}}
        for event in events[1:]
    ]


def opened(folder: Path, lengths: dict[str, int] | None = None) -> Metrics:
    return Metrics(folder / "metrics.jsonl", folder / "events.out.tfevents.x", lengths)


def both(folder: Path) -> list[dict[str, Any]]:
    from_json = rows(folder / "metrics.jsonl")
    from_events = event_rows(folder / "events.out.tfevents.x")
    assert from_events == [pytest.approx(row) for row in from_json]
    return from_json


def test_one_call_writes_both(tmp_path: Path) -> None:
    with opened(tmp_path) as metrics:
        metrics.write(500, {"train/loss": 1.5, "selfplay/games_per_s": 800.25})
        metrics.write(1000, {"eval/pubeval_ppg": -0.25, "eval/pubeval_stderr_ppg": 0.125})
    assert both(tmp_path) == [
        {"games": 500, "train/loss": 1.5, "selfplay/games_per_s": 800.25},
        {"games": 1000, "eval/pubeval_ppg": -0.25, "eval/pubeval_stderr_ppg": 0.125},
    ]


def test_lines_can_be_read_at_once(tmp_path: Path) -> None:
    with opened(tmp_path) as metrics:
        metrics.write(1, {"train/loss": 2.0})
        assert both(tmp_path) == [{"games": 1, "train/loss": 2.0}]


def test_going_on_drops_what_the_checkpoint_does_not_know(tmp_path: Path) -> None:
    with opened(tmp_path) as metrics:
        metrics.write(1, {"train/loss": 2.0})
        lengths = metrics.lengths()
        metrics.write(2, {"train/loss": 99.0})
        metrics.write(3, {"train/loss": 99.0})
    with opened(tmp_path, lengths) as metrics:
        assert metrics.lengths() == lengths
        metrics.write(2, {"train/loss": 1.0})
    assert [row["train/loss"] for row in both(tmp_path)] == [2.0, 1.0]


def test_removed_files_begin_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as metrics:
        metrics.write(1, {"train/loss": 2.0})
        lengths = metrics.lengths()
    for path in tmp_path.iterdir():
        path.unlink()
    with opened(tmp_path, lengths) as metrics:
        metrics.write(2, {"train/loss": 1.0})
    assert [row["games"] for row in both(tmp_path)] == [2]


def test_numbers_that_are_not_finite(tmp_path: Path) -> None:
    with opened(tmp_path) as metrics:
        metrics.write(1, {"eval/random_stderr_ppg": math.nan, "train/loss": math.inf})
    assert rows(tmp_path / "metrics.jsonl") == [
        {"games": 1, "eval/random_stderr_ppg": None, "train/loss": None}
    ]
    (event,) = event_rows(tmp_path / "events.out.tfevents.x")
    assert math.isnan(event["eval/random_stderr_ppg"])


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="metrics cannot be written: No such file"):
        opened(tmp_path / "none")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("full", ["json", "events"])
def test_full_disk(tmp_path: Path, full: str) -> None:
    paths = {"json": tmp_path / "metrics.jsonl", "events": tmp_path / "events"}
    paths[full] = Path("/dev/full")
    metrics = Metrics(paths["json"], paths["events"])
    with pytest.raises(CheckpointError, match="metrics cannot be written: No space left"), metrics:
        metrics.write(1, {"train/loss": 2.0})
    assert sys.exc_info() == (None, None, None)
