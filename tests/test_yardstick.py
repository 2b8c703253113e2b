"""`nardi train --yardstick`: what decisions cost a net is logged at every check."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.bot import load_bot
from agent.checkpoint import load_net
from agent.net import ValueNet
from eval.decisions import measure_decisions
from eval.references import read_decisions
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, run
from tests.decision_files import made_up_decisions, write_lines
from tests.tiny_runs import TINY, assert_same, begin, complete, go_on, made_up_match, weights
from train.config_files import config_text
from train.resume import Check, load_state


def checks(folder: Path) -> list[dict[str, Any]]:
    """Rows of the checks in the metrics."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [row for row in rows if "eval/pubeval_ppg" in row]


@pytest.fixture(scope="module")
def yardstick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = made_up_decisions(np.random.default_rng(3), 40)
    return write_lines(tmp_path_factory.mktemp("yardstick") / "d.jsonl", lines)


@pytest.fixture
def tiny(tmp_path: Path) -> list[str]:
    (tmp_path / "tiny.toml").write_text(config_text(TINY))
    return ["train", "--config", str(tmp_path / "tiny.toml"), "--device", "cpu"]


def test_logged_at_every_check(
    tiny: list[str], tmp_path: Path, yardstick: Path, capsys: Capture
) -> None:
    path = tmp_path / "run"
    assert run(*tiny, "--out", str(path), "--yardstick", str(yardstick)) == DONE
    out, err = capsys.readouterr()
    rows = checks(path)
    assert [row["games"] for row in rows] == [0, 60, 120, 210]
    # The last check is of the last net.
    bot = load_bot(f"net:{path / 'last.safetensors'}")
    pr = measure_decisions(bot, read_decisions(yardstick)).overall.pr
    assert rows[-1]["eval/yardstick_pr"] == pr.mean
    assert rows[-1]["eval/yardstick_stderr_pr"] == pr.stderr
    assert rows[0]["eval/yardstick_pr"] > 0
    told = [line for line in err.splitlines() if "games: random" in line]
    assert len(told) == 4
    assert f" ppg, PR {pr.mean:.2f} ± {pr.stderr:.2f}" in told[-1]
    first = f"{rows[0]['eval/yardstick_pr']:.2f} ± {rows[0]['eval/yardstick_stderr_pr']:.2f}"
    row = next(line for line in out.splitlines() if line.startswith("PR, lower is better"))
    assert " ".join(row.split()[4:]) == f"{first} {pr.mean:.2f} ± {pr.stderr:.2f}"


def test_nothing_is_learned_from_it(
    tiny: list[str], tmp_path: Path, yardstick: Path, capsys: Capture
) -> None:
    with_it, without = tmp_path / "with", tmp_path / "without"
    words = [*tiny, "--json", "--out"]
    assert run(*words, str(with_it), "--yardstick", str(yardstick)) == DONE
    document = json.loads(capsys.readouterr().out)
    assert run(*words, str(without)) == DONE
    other = json.loads(capsys.readouterr().out)
    nets = [weights(load_net(path / "last.safetensors")) for path in (with_it, without)]
    assert_same(*nets)
    assert document["best_games"] == other["best_games"]
    for check, bare in zip(document["checks"], other["checks"], strict=True):
        assert list(check["values"]) == ["yardstick_pr", "yardstick_stderr_pr"]
        assert bare["values"] == {}
        assert check["scores"] == bare["scores"]
    assert not any("yardstick" in key for row in checks(without) for key in row)


def test_a_run_may_go_on_with_or_without(
    tiny: list[str], tmp_path: Path, yardstick: Path, capsys: Capture
) -> None:
    path = str(tmp_path / "run")
    assert run(*tiny, "--out", path) == DONE
    more = ("train", "--resume", path, "--yardstick", str(yardstick))
    assert run(*more, "--games", "270", "--json") == DONE
    found = [
        check["values"] for check in json.loads(capsys.readouterr().out.split("\n")[-2])["checks"]
    ]
    assert found[:4] == [{}] * 4
    assert found[-1]["yardstick_pr"] > 0


@pytest.mark.parametrize("resumed", [False, True])
def test_a_bad_file_is_found_before_work_starts(
    tiny: list[str], tmp_path: Path, capsys: Capture, resumed: bool
) -> None:
    path = tmp_path / "run"
    words = [*tiny, "--out", str(path)]
    if resumed:
        complete(begin(path), 2)
        words = ["train", "--resume", str(path)]
    one = write_lines(tmp_path / "one", made_up_decisions(np.random.default_rng(3), 1))
    (tmp_path / "bad").write_text('{"before": []}\n')
    for name, message in [
        ("none", f"error: '{tmp_path / 'none'}' cannot be read: No such file"),
        ("bad", "line 1: 'before' is 0 elements"),
        ("one", f"error: yardstick '{one}' has one decision; accepted: two or more"),
    ]:
        assert run(*words, "--yardstick", str(tmp_path / name)) == FAILED
        assert message in capsys.readouterr().err
    assert path.exists() == resumed


def test_named_values_of_a_check(tmp_path: Path) -> None:
    """As a library: any figures, kept in the state, also of those before a stop."""
    seen: list[int] = []

    def measure(net: ValueNet) -> dict[str, float]:
        seen.append(net.num_weights())
        return {"answer": 42.0 + len(seen)}

    match = made_up_match([-2.0, 0.5, 0.3, 0.7], [])
    complete(begin(tmp_path, play_match=match, measure=measure), 3)
    complete(go_on(tmp_path, play_match=match, measure=measure))
    record = load_state(tmp_path / "state.safetensors").record
    assert [check.values for check in record.checks] == [{"answer": 43.0 + n} for n in range(4)]
    assert [row["eval/answer"] for row in checks(tmp_path)] == [43.0, 44.0, 45.0, 46.0]
    assert Check(games=0, scores=()).values == {}


def test_states_without_values_are_read(tmp_path: Path) -> None:
    """States written before there were any."""
    from train import resume

    old = {"games": 60, "scores": [{"opponent": "x", "ppg": 0.1, "stderr_ppg": 0.1, "games": 4}]}
    assert resume._check(old).values == {}
