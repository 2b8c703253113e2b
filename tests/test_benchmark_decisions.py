"""`nardi benchmark --decisions` and `--positions`: tables, JSON, bad usage and bad files."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.bot import load_bot
from eval.decisions import (
    mean_differences,
    measure_decisions,
    measure_positions,
    worst_misses,
)
from eval.references import OUTPUTS, DecisionSet, PositionSet, read_decisions, read_positions
from eval.stats import Estimate
from eval.value_errors import rmse_differences
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, run
from tests.decision_files import made_up_decisions, made_up_positions, write_lines
from tests.nets import small_net_file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Decisions, positions and a net."""
    path = tmp_path_factory.mktemp("decisions")
    rng = np.random.default_rng(11)
    write_lines(path / "d.jsonl.gz", made_up_decisions(rng, 60))
    write_lines(path / "p.jsonl", made_up_positions(rng, 30))
    small_net_file(path)
    return path


@pytest.fixture(scope="module")
def decisions(folder: Path) -> DecisionSet:
    return read_decisions(folder / "d.jsonl.gz")


@pytest.fixture(scope="module")
def positions(folder: Path) -> PositionSet:
    return read_positions(folder / "p.jsonl")


def net(folder: Path) -> str:
    return f"net:{folder / 'small.safetensors'}"


def document(capsys: Capture) -> dict[str, Any]:
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    found: dict[str, Any] = json.loads(out)
    return found


def figures(name: str, estimate: Estimate) -> dict[str, float | None]:
    stderr = None if math.isnan(estimate.stderr) else estimate.stderr
    return {name: estimate.mean, f"stderr_{name}": stderr}


def losses(loss: Estimate) -> dict[str, float | None]:
    pr = Estimate(mean=500 * loss.mean, stderr=500 * loss.stderr, n=loss.n)
    return {**figures("loss_ppg", loss), **figures("pr", pr)}


def test_json_of_two_bots(folder: Path, decisions: DecisionSet, capsys: Capture) -> None:
    words = ("benchmark", "pubeval", net(folder), "--decisions", str(folder / "d.jsonl.gz"))
    assert run(*words, "--worst", "3", "--json") == DONE
    whole = document(capsys)
    assert whole["positions"] is None
    found = whole["decisions"]
    assert list(found) == ["file", "count", "candidates", "a", "b", "difference"]
    assert found["file"] == str(folder / "d.jsonl.gz")
    assert (found["count"], found["candidates"]) == (60, len(decisions.afterstates))
    measured = [measure_decisions(load_bot(name), decisions) for name in words[1:3]]
    for key, each in zip("ab", measured, strict=True):
        told = found[key]
        assert told["bot"] == each.bot
        assert told["all"] == {
            "count": 60,
            **losses(each.overall.loss),
            **figures("best_share", each.overall.best),
        }
        assert list(told["phases"]) == list(each.by_phase)
        assert sum(phase["count"] for phase in told["phases"].values()) == 60
        misses = worst_misses(each, decisions, 3)
        assert [miss["loss_ppg"] for miss in told["worst"]] == [miss.loss for miss in misses]
        assert told["worst"][0] == {
            "loss_ppg": misses[0].loss,
            "stderr_loss_ppg": misses[0].stderr_loss,
            "line": misses[0].line,
            "gnuid": misses[0].gnuid,
            "dice": list(misses[0].roll),
            "phase": misses[0].phase,
            "play": misses[0].play,
            "best_play": misses[0].best_play,
        }
    assert found["a"]["values"] is None
    assert measured[1].values is not None
    assert list(found["b"]["values"]) == ["equity", *OUTPUTS]
    fits = measured[1].values.fits
    assert found["b"]["values"]["equity"] == {
        **figures("rmse_ppg", fits["equity"].rmse),
        **figures("bias_ppg", fits["equity"].bias),
    }
    assert found["b"]["values"]["win"] == {
        **figures("rmse", fits["win"].rmse),
        **figures("bias", fits["win"].bias),
    }
    overall, by_phase = mean_differences(*measured, decisions)
    assert found["difference"] == {
        "all": losses(overall),
        "phases": {phase: losses(each) for phase, each in by_phase.items()},
    }


def test_json_of_positions(folder: Path, positions: PositionSet, capsys: Capture) -> None:
    words = ("benchmark", net(folder), net(folder), "--positions", str(folder / "p.jsonl"))
    assert run(*words, "--json") == DONE
    whole = document(capsys)
    assert whole["decisions"] is None
    found = whole["positions"]
    assert list(found) == ["file", "count", "a", "b", "difference"]
    assert found["count"] == 30
    values = measure_positions(load_bot(net(folder)), positions)
    assert found["a"] == found["b"]
    assert found["a"]["bot"] == net(folder)
    assert found["a"]["values"]["lose_bg"] == {
        **figures("rmse", values.fits["lose_bg"].rmse),
        **figures("bias", values.fits["lose_bg"].bias),
    }
    assert found["difference"]["equity"] == {"rmse_ppg": 0, "stderr_rmse_ppg": 0}
    assert found["difference"]["win"] == figures("rmse", rmse_differences(values, values)["win"])


def test_table_of_one_bot(folder: Path, decisions: DecisionSet, capsys: Capture) -> None:
    path = str(folder / "d.jsonl.gz")
    assert run("benchmark", "pubeval", "--decisions", path, "--worst", "2") == DONE
    lines = capsys.readouterr().out.splitlines()
    measured = measure_decisions(load_bot("pubeval"), decisions)
    assert lines[:3] == [f"60 decisions of {path}", "A = pubeval", ""]
    assert lines[3].split() == ["decisions", "loss", "PR", "best", "plays"]
    loss, pr, best = measured.overall.loss, measured.overall.pr, measured.overall.best
    assert (
        lines[4].split()
        == (
            f"all 60 {loss.mean:.4f} ± {loss.stderr:.4f} {pr.mean:.2f} ± {pr.stderr:.2f}"
            f" {100 * best.mean:.1f} ± {100 * best.stderr:.1f} %"
        ).split()
    )
    end = 5 + len(measured.by_phase)
    assert [line[:12].strip() for line in lines[5:end]] == list(measured.by_phase)
    assert lines[end : end + 2] == ["", "Worst misses of A:"]
    miss = worst_misses(measured, decisions, 1)[0]
    assert lines[end + 2] == (
        f"{miss.loss:.3f}  {miss.gnuid}  {miss.roll[0]}-{miss.roll[1]}: {miss.play}; best"
        f" {miss.best_play}"
    )
    assert len(lines) == end + 4
    assert max(len(line) for line in lines[2 : end + 2]) <= 80


def test_table_of_two_bots_and_positions(folder: Path, capsys: Capture) -> None:
    files = ("--decisions", str(folder / "d.jsonl.gz"), "--positions", str(folder / "p.jsonl"))
    assert run("benchmark", net(folder), net(folder), *files, "--worst", "0") == DONE
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[1:3] == [f"A = {net(folder)}", f"B = {net(folder)}"]
    assert lines[4].split() == [
        "decisions",
        "PR",
        "of",
        "A",
        "PR",
        "of",
        "B",
        "A",
        "-",
        "B,",
        "paired",
    ]
    assert lines[5].endswith(" +0.00 ± 0.00")
    assert "Worst misses" not in out
    assert "A on the candidates" in out
    assert f"\n\n30 positions of {folder / 'p.jsonl'}\n" in out
    assert out.splitlines()[-7:][0].startswith("RMSE of A - B, paired")
    assert out.count("lose_gammon ") == 5
    assert "nan" not in out


def test_random_misses_by_chance(folder: Path, capsys: Capture) -> None:
    path = str(folder / "d.jsonl.gz")
    assert run("benchmark", "random", "--decisions", path, "--worst", "1") == DONE
    assert ": by chance; best " in capsys.readouterr().out.splitlines()[-1]


def test_one_decision_tells_no_error(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    lines = made_up_decisions(np.random.default_rng(1), 1)
    path = str(write_lines(tmp_path / "one", lines))
    for words in ([], ["--json"]):
        assert run("benchmark", net(folder), "pubeval", "--decisions", path, *words) == DONE
        out = capsys.readouterr().out
        assert "nan" not in out.casefold()


def test_what_it_shows_can_be_asked_about(folder: Path, capsys: Capture) -> None:
    assert run("benchmark", "pubeval", "--decisions", str(folder / "d.jsonl.gz"), "--json") == DONE
    miss = document(capsys)["decisions"]["a"]["worst"][0]
    assert run("plays", miss["gnuid"], "--json") == DONE
    plays = [each["play"] for each in document(capsys)["plays"]]
    assert {miss["play"], miss["best_play"]} <= set(plays)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pubeval", "--decisions", "none"], "'none' cannot be read: No such file"),
        (["pubeval", "--positions", "none"], "'none' cannot be read: No such file"),
        (["nobody", "--decisions", "D"], "unknown bot 'nobody'"),
        (["pubeval", "--decisions", "P"], "line 1: 'before' is missing"),
        (["net:N", "--positions", "D"], "(this is a decision: --decisions)"),
        (["pubeval", "--positions", "P"], "bot 'pubeval' only chooses plays"),
        (["pubeval", "--decisions", "D", "--games", "10"], "--games is about games"),
        (["pubeval", "--decisions", "D", "--seed", "1"], "--seed is about games"),
        (["pubeval", "--decisions", "D", "--workers", "1"], "--workers is about games"),
        (["pubeval", "--decisions", "D", "--rules", "caucasian"], "--rules is about games"),
        (["pubeval", "--decisions", "D", "--worst", "-1"], "worst '-1'; accepted: whole numbers"),
        (["pubeval", "random", "--worst", "3"], "--worst goes with --decisions"),
        (["net:N", "--positions", "P", "--worst", "3"], "--worst goes with --decisions"),
    ],
)
def test_bad_arguments(folder: Path, words: list[str], message: str, capsys: Capture) -> None:
    files = {
        "D": str(folder / "d.jsonl.gz"),
        "P": str(folder / "p.jsonl"),
        "net:N": net(folder),
    }
    assert run("benchmark", *(files.get(word, word) for word in words)) == FAILED
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("nardi benchmark: error: ")
    assert message in err


def test_a_duel_needs_two(capsys: Capture) -> None:
    assert run("benchmark", "pubeval", "--games", "10") == FAILED
    err = capsys.readouterr().err
    assert "usage: nardi benchmark" in err
    assert "a second bot B is needed to play against" in err
