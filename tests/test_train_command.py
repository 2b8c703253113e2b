"""`nardi train`: options, streams, exit codes, what it shows, and the facts of its nets."""

import io
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.checkpoint import load_net, read_facts, save_net
from agent.kernels.value import NetArrays
from agent.net import ValueNet
from nardi import train_view
from nardi.cli import DONE, FAILED, INTERRUPTED
from nardi.commands import train as train_command
from nardi.origin import version_facts
from nardi.train_view import TrainView
from tests.tiny_runs import TINY, assert_same, run, tiny_words, weights
from train.config_files import load_config
from train.progress import Progress
from train.resume import load_state
from train.run import first_net

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tiny(tmp_path: Path) -> list[str]:
    return tiny_words(tmp_path)


def net_weights(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    return weights(load_net(folder / "last.safetensors"))


def signals_after_a_round(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """Each session gets signals after its first round."""
    before = TrainView.round_done
    told: set[int] = set()

    def round_done(self: TrainView, progress: Progress) -> None:
        before(self, progress)
        if id(self) not in told:
            told.add(id(self))
            for number in numbers:
                os.kill(os.getpid(), number)

    monkeypatch.setattr(TrainView, "round_done", round_done)


# --- a run to its end ---


def test_json(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "run"
    assert run(*tiny, "--out", path, "--seed", "7", "--json", "--workers", "2") == DONE
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert {
        name: document[name] for name in ("run", "net", "best", "finished", "games", "seed")
    } == {
        "run": str(path),
        "net": str(path / "last.safetensors"),
        "best": str(path / "best.safetensors"),
        "finished": True,
        "games": 210,
        "seed": 7,
    }
    assert [check["games"] for check in document["checks"]] == [0, 60, 120, 210]
    for check in document["checks"]:
        assert [score["opponent"] for score in check["scores"]] == ["random", "pubeval"]
        assert all(-3 <= score["ppg"] <= 3 for score in check["scores"])
        assert all(score["stderr_ppg"] >= 0 for score in check["scores"])
    assert document["learned"] in (True, False)
    assert document["best_games"] in (0, 60, 120, 210)
    assert document["positions"] > 210 * 20
    assert document["seconds"] > 0
    assert f"210 games, 2 workers, weights fitted on cpu; folder {path}" in err


def test_text(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "run"
    assert run(*tiny, "--out", path, "--set", "checks.games=40") == DONE
    out, err = capsys.readouterr()
    assert out.startswith("Trained after 210 games and ")
    assert "seed 5." in out  # of the file
    assert re.search(r"points per game against +at the start +after 210 games\n", out)
    assert re.search(r"random +[-+]\d\.\d{3} ± 0\.\d{3} +[-+]\d\.\d{3} ± 0\.\d{3}\n", out)
    assert re.search(r"pubeval +[-+]\d\.\d{3} ± 0\.\d{3} +[-+]\d\.\d{3} ± 0\.\d{3}\n", out)
    assert re.search(r"learned", out)
    assert re.search(r"The net (beats|does not beat) random play", out)
    assert f"nardi train --resume {path} --games 420" in out
    assert f"nardi benchmark net:{path / 'best.safetensors'} pubeval" in out
    # The checks are told as they come, the one before the first game included.
    told = re.findall(r"nardi train: after (\d+) games: random .* ± .*, pubeval .* ppg", err)
    assert told == ["0", "60", "120", "210"]
    assert "nardi train: seed" not in err


def test_what_it_says_can_be_pasted(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    assert run(*tiny, "--out", tmp_path / "run") == DONE
    out = capsys.readouterr().out
    lines = {line.split(":")[0]: line.split("nardi ")[-1].split() for line in out.splitlines()}
    assert run(*lines["use it"]) == DONE
    assert "best.safetensors" in capsys.readouterr().out
    assert run(*lines["measure it"], "--games", "4", "--seed", "1") == DONE
    assert run(*lines["train more"]) == DONE
    assert "after 420 games" in capsys.readouterr().out


def test_a_drawn_seed_is_told_and_recorded(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_command.secrets, "randbits", lambda n: 1234567)
    sets = [f"--set={line}" for line in _assignments()]
    assert run("train", *sets, "--out", tmp_path / "a", "--json") == DONE
    out, err = capsys.readouterr()
    assert "nardi train: seed 1234567\n" in err
    assert json.loads(out)["seed"] == 1234567
    facts = read_facts(tmp_path / "a" / "last.safetensors")
    assert facts["command"].endswith(" --seed 1234567")
    # The recorded command gives the same weights.
    command = shlex.split(facts["command"])
    assert command[:2] == ["nardi", "train"]
    assert run(*command[1:], "--out", tmp_path / "b") == DONE
    assert_same(net_weights(tmp_path / "a"), net_weights(tmp_path / "b"))


def _assignments() -> list[str]:
    return [
        "net.contact.width=8",
        "net.contact.pairs=false",
        "stage=[{games=40},{games=20}]",
        "selfplay.games_per_round=20",
        "checks.games=4",
        "checks.opponents=['pubeval']",
    ]


def test_the_settings_of_a_run_make_another(tiny: list[str], tmp_path: Path) -> None:
    """For any number of workers, with no seed named: it is in the file."""
    assert run(*tiny, "--out", tmp_path / "a", "--set", "learn.batch=100", "--workers", "1") == DONE
    settings = tmp_path / "a" / "config.toml"
    assert run("train", "--config", settings, "--out", tmp_path / "b", "--workers", "2") == DONE
    assert_same(net_weights(tmp_path / "a"), net_weights(tmp_path / "b"))
    assert (tmp_path / "b" / "config.toml").read_text() == settings.read_text()


def test_house_rules_are_learned_and_told(tiny: list[str], tmp_path: Path) -> None:
    seed = ["--seed", "3"]
    assert run(*tiny, *seed, "--out", tmp_path / "a", "--rules", "caucasian") == DONE
    facts = read_facts(tmp_path / "a" / "last.safetensors")
    assert (facts["variant"], facts["rules"]) == ("short", "caucasian")
    assert "--rules caucasian" in facts["command"]
    assert run(*tiny, *seed, "--out", tmp_path / "b") == DONE
    assert read_facts(tmp_path / "b" / "last.safetensors")["rules"] == "international"
    one, two = net_weights(tmp_path / "a"), net_weights(tmp_path / "b")
    assert any((one[name] != two[name]).any() for name in one)


def test_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*tiny, "--games", "30") == DONE
    (folder,) = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d", folder.name)
    assert read_facts(folder / "last.safetensors")["games"] == 30


def test_minutes(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "run"
    assert run(*tiny, "--out", path, "--minutes", "0.002") == DONE
    out, err = capsys.readouterr()
    assert "0.002 minutes (weights depend on the machine's speed" in err
    assert f"nardi train --resume {path} --minutes 0.004" in out
    record = load_state(path / "state.safetensors").record
    assert (record.minutes, record.config) == (0.002, TINY)
    assert run("train", "--resume", path, "--minutes", "0.004") == DONE
    assert load_state(path / "state.safetensors").state.seconds >= 0.24
    assert run("train", "--resume", path, "--games", "500") == FAILED
    assert "is limited to 0.004 minutes; accepted: more --minutes" in capsys.readouterr().err


@pytest.mark.slow
def test_smoke(tmp_path: Path, capsys: Capture) -> None:
    """Beats random play clearly after less than a minute of training."""
    assert run("train", "--preset", "smoke", "--seed", "1", "--out", tmp_path, "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    scores = {score["opponent"]: score for score in document["checks"][-1]["scores"]}
    assert document["learned"] is True
    assert scores["random"]["ppg"] > 1.5
    assert scores["pubeval"]["ppg"] > -0.5
    assert document["games"] == load_config("smoke").games


# --- stopping and going on ---


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_and_go_on(
    tiny: list[str],
    tmp_path: Path,
    capfd: Capture,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    whole, path = tmp_path / "whole", tmp_path / "run"
    assert run(*tiny, "--out", whole) == DONE
    capfd.readouterr()
    with monkeypatch.context() as patch:
        signals_after_a_round(patch, number)
        assert run(*tiny, "--out", path) == INTERRUPTED
        out, err = capfd.readouterr()
        assert out.startswith("Stopped after 30 games")
        assert f"go on:       nardi train --resume {path}\n" in out
        assert "nardi train: stopping after this round" in err
        assert run("train", "--resume", path, "--json", "--workers", "3") == INTERRUPTED
        out, err = capfd.readouterr()
        assert json.loads(out)["games"] == 60
        assert json.loads(out)["finished"] is False
        assert "nardi train: going on after 30 games" in err
    assert run("train", "--resume", path) == DONE
    assert_same(net_weights(path), net_weights(whole))
    facts = [read_facts(p / "last.safetensors") for p in (path, whole)]
    for name in ("command", "strength", "train", "positions", "seed"):
        assert facts[0][name] == facts[1][name], name
    assert facts[0]["resumed_at"] == [30, 60]


def test_stop_at_once(
    tiny: list[str], tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    with monkeypatch.context() as patch:
        signals_after_a_round(patch, signal.SIGINT, signal.SIGINT)
        assert run(*tiny, "--out", path) == INTERRUPTED
    out, err = capfd.readouterr()
    assert out == ""
    assert f"stopped at once; to go on from the last checkpoint: nardi train --resume {path}" in err
    assert run("train", "--resume", path) == DONE
    assert read_facts(path / "last.safetensors")["games"] == 210


def test_stop_in_a_match(
    tiny: list[str], tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The match is given up, and played when the run goes on."""
    path = tmp_path / "run"
    before = TrainView.match_going
    monkeypatch.setattr("eval.duel.PROGRESS_EVERY_S", 0.0)

    def match_going(self: TrainView, opponent: str, done: int, total: int) -> None:
        before(self, opponent, done, total)
        if not stopped:
            stopped.append(opponent)
            os.kill(os.getpid(), signal.SIGTERM)

    stopped: list[str] = []
    monkeypatch.setattr(TrainView, "match_going", match_going)
    assert run(*tiny, "--out", path) == INTERRUPTED
    assert stopped == ["random"]
    assert capfd.readouterr().out.startswith("Stopped after 0 games and 0 s of training, seed 5.")
    assert load_state(path / "state.safetensors").record.checks == ()
    assert run("train", "--resume", path, "--json") == DONE
    checks = json.loads(capfd.readouterr().out)["checks"]
    assert [check["games"] for check in checks] == [0, 60, 120, 210]


def test_more_games(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "run"
    assert run(*tiny, "--out", path) == DONE
    for words, message in [
        ([], "is over, with 210 games; to train more, name more --games than it had"),
        (["--games", "210"], "games '210'; accepted: more than the 210 that the run had"),
        (["--games", "100"], "accepted: more than the 210"),
        (["--minutes", "5"], "the run is limited to 210 games; accepted: more --games"),
    ]:
        assert run("train", "--resume", path, *words) == FAILED
        assert message in capsys.readouterr().err
    assert run("train", "--resume", path, "--games", "270") == DONE
    assert read_facts(path / "last.safetensors")["games"] == 270


@pytest.mark.parametrize(
    "words",
    [
        ["--preset", "smoke"],
        ["--config", "x.toml"],
        ["--set", "learn.batch=5"],
        ["--out", "x"],
        ["--from", "x"],
        ["--rules", "caucasian"],
        ["--seed", "1"],
    ],
    ids=lambda words: str(words[0]),
)
def test_resume_keeps_the_settings(tmp_path: Path, words: Sequence[str], capsys: Capture) -> None:
    assert run("train", "--resume", tmp_path, *words) == FAILED
    message = f"{words[0]} does not go with --resume, which goes on with the run's own settings"
    assert message in capsys.readouterr().err


def test_settings_changed_in_the_folder(
    tiny: list[str], tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    with monkeypatch.context() as patch:
        signals_after_a_round(patch, signal.SIGINT)
        assert run(*tiny, "--out", path) == INTERRUPTED
    settings = path / "config.toml"
    before = settings.read_text()
    settings.write_text(before.replace("batch = 256", "batch = 64"))
    assert run("train", "--resume", path) == FAILED
    assert (
        f"'{settings}' was changed, but a run goes on with the settings" in capfd.readouterr().err
    )
    settings.unlink()
    assert run("train", "--resume", path) == DONE
    assert settings.read_text() == before


def test_nothing_to_resume(tmp_path: Path, capsys: Capture) -> None:
    assert run("train", "--resume", tmp_path / "none") == FAILED
    assert "there is no run to go on with" in capsys.readouterr().err


# --- beginning with a net ---


def test_warm_start(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    parent = tmp_path / "parent.safetensors"
    net = first_net(TINY)
    save_net(parent, ValueNet(net.config, net.contact, net.race, {"games": 77, "seed": 5}))
    words = ["train", "--preset", "smoke", "--from", parent, "--games", "60", "--seed", "3"]
    sets = ["--set", "checks.games=4", "--set", "selfplay.games_per_round=30"]
    assert run(*words, *sets, "--out", tmp_path / "run") == DONE
    trained = load_net(tmp_path / "run" / "last.safetensors")
    assert trained.config == TINY.net  # its shape wins over the preset's
    facts = trained.facts["parent"]
    assert {name: facts[name] for name in ("file", "games", "seed", "commit")} == {
        "file": str(parent),
        "games": 77,
        "seed": 5,
        "commit": None,
    }
    assert re.fullmatch(r"[0-9a-f]{64}", facts["sha256"])
    distance = np.abs(trained.contact.points - net.contact.points).max()
    assert 0 < distance < 0.2  # Adam's steps from there, not other random weights
    assert f"--from {parent}" in trained.facts["command"]

    for setting in ("net.contact.width=128", "net.race.pairs=true"):
        capsys.readouterr()
        assert run(*words, "--set", setting, "--out", tmp_path / "other") == FAILED
        name = setting.partition("=")[0]
        assert f"{name} is set to" in capsys.readouterr().err
        assert not (tmp_path / "other").exists()
    same = ["--set", "net.contact.width=8"]
    assert run(*words, *sets, *same, "--out", tmp_path / "same") == DONE


def test_a_preset_that_goes_on_from_a_net(tmp_path: Path, capsys: Capture) -> None:
    """It takes the net's shape and learns under other rules, which the new net tells."""
    words = ["train", "--preset", "further", "--seed", "3", "--games", "24"]
    assert run(*words, "--out", tmp_path / "run") == FAILED
    assert "'further' goes on from a strong net; name one: --from nardi" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    parent = tmp_path / "parent.safetensors"
    save_net(parent, first_net(TINY))
    sets = ["--set", "checks.games=4", "--set", "selfplay.games_per_round=4"]
    sets += ["--set", "stage.0.generation=12"]
    words += [*sets, "--rules", "caucasian"]
    assert run(*words, "--from", parent, "--out", tmp_path / "run") == DONE
    trained = load_net(tmp_path / "run" / "last.safetensors")
    assert trained.config == TINY.net
    assert trained.facts["rules"] == "caucasian"
    assert trained.facts["games"] == 24
    # A net that comes with nardi goes by its name.
    assert run(*words, "--from", "fast", "--out", tmp_path / "small") == DONE
    assert load_net(tmp_path / "small" / "last.safetensors").facts["parent"]["file"] == "fast"
    words += ["--from", parent, "--set", "selfplay.sorter_width=16"]
    assert run(*words, "--out", tmp_path / "other") == FAILED
    assert "selfplay.sorter_ready: the small net" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_diverging(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    net = first_net(TINY)
    arrays = {name: np.full_like(a, 1e38) for name, a in net.contact._asdict().items()}
    save_net(tmp_path / "huge", ValueNet(net.config, NetArrays(**arrays), net.race))
    assert run(*tiny, "--from", tmp_path / "huge", "--out", tmp_path / "run") == FAILED
    out, err = capsys.readouterr()
    assert out == ""
    assert "the loss of the contact net became nan at step 1; that was in round 0" in err
    assert "The last good checkpoint, of 0 games, is intact" in err
    assert f"--from {tmp_path / 'run' / 'last.safetensors'}" in err


# --- what it shows ---


def test_lines_when_piped(
    tiny: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_view, "_LINE_EVERY_S", 0.0)
    assert train_view._LINE_EVERY_S <= 10
    assert run(*tiny, "--out", tmp_path / "run") == DONE
    err = capsys.readouterr().err
    number = r"[-+]\d\.\d{3} ± \d\.\d{3}"
    line = rf"nardi train: (\d+) of 210 games, [\d,]+ games/s, loss \d\.\d+, pubeval {number}"
    found = re.findall(line + r", \d+ s left\n", err)
    assert found == ["30", "60", "90", "120", "150", "180", "210"]


def test_bar_on_a_terminal(
    tiny: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for number, length in enumerate([[], ["--minutes", "0.01"]]):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        assert run(*tiny, *length, "--out", tmp_path / f"run{number}") == DONE
        shown = screen.getvalue()
        assert "%|" in shown
        assert "loss 1." in shown
        assert "nardi train: after 60 games: random" in shown
    assert "games, loss" in shown


def test_facts_of_the_nets(tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "run"
    assert run(*tiny, "--games", "30", "--out", path) == DONE
    capsys.readouterr()
    assert run("net", path / "last.safetensors") == DONE
    out = capsys.readouterr().out
    assert "ppg against pubeval" in out
    facts = read_facts(path / "last.safetensors")
    assert facts["versions"] == version_facts()
    assert set(facts) >= {"commit", "dirty", "parent", "command", "train", "seconds"}
    assert facts["train"]["stage"][0]["games"] + facts["train"]["stage"][1]["games"] == 30
