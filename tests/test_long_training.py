"""Training of long nardi: runs, their nets, what is refused, and commands that ask such nets."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.bot import NetBot, load_bot
from agent.checkpoint import default_net_path, load_net, save_net
from agent.evaluator import Evaluator
from agent.net import NetConfig, ValueNet, ValueNetConfig, new_value_net
from engine.errors import CheckpointError, ConfigError
from engine.rules import LONG_NARDI
from eval.duel import play_duel
from nardi.cli import main
from tests.tiny_runs import TINY, assert_same, begin, complete, go_on, weights
from train.config import StageConfig
from train.config_files import config_from_values, config_text, load_config
from train.loop import Trainer
from train.resume import Score
from train.run import first_net

Capture = pytest.CaptureFixture[str]
SHAPE = ValueNetConfig(
    contact=NetConfig(width=8, pairs=False, experts="none", hidden=4),
    race=NetConfig(width=4, pairs=False, experts="none", hidden=0),
)
LONG_TINY = dataclasses.replace(
    TINY,
    rules="long",
    net=SHAPE,
    selfplay=dataclasses.replace(TINY.selfplay, games_per_round=10),
    stage=(StageConfig(games=40, lambda_=(0.9, 0.7), explore=0.05),),
    checks=dataclasses.replace(TINY.checks, first_games=20, opponents=("random", "heuristic")),
)


def no_match(net: ValueNet, opponent: str) -> Score:
    assert net.game == "long"
    return Score(opponent=opponent, ppg=0.0, stderr_ppg=0.1, games=4)


@pytest.fixture
def net_file(tmp_path: Path) -> Path:
    path = tmp_path / "small-long.safetensors"
    save_net(path, new_value_net(SHAPE, np.random.default_rng(3), "long"))
    return path


def run(capsys: Capture, *words: str | Path) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


# --- runs ---


def test_a_run_that_is_stopped_gives_the_same_net(tmp_path: Path) -> None:
    whole = begin(tmp_path / "whole", LONG_TINY, play_match=no_match)
    assert complete(whole)
    assert not complete(begin(tmp_path / "part", LONG_TINY, play_match=no_match), rounds=2)
    assert complete(go_on(tmp_path / "part", play_match=no_match, workers=2))
    one, other = (
        load_net(tmp_path / name / "last.safetensors", "long") for name in ("whole", "part")
    )
    assert_same(weights(one), weights(other))
    assert (one.game, one.facts["variant"], one.facts["rules"]) == ("long", "long", "long")


@pytest.mark.slow
def test_it_learns_to_beat_random_play() -> None:
    stage = StageConfig(games=3000, lambda_=(0.95, 0.8), rate=(3e-3, 1e-3), explore=0.02)
    shape = ValueNetConfig(
        contact=NetConfig(width=32, pairs=False, experts="none"), race=SHAPE.race
    )
    learn = dataclasses.replace(TINY.learn, average=0.99)
    selfplay = dataclasses.replace(TINY.selfplay, games_per_round=100)
    config = dataclasses.replace(
        LONG_TINY, net=shape, stage=(stage,), learn=learn, selfplay=selfplay
    )
    trainer = Trainer(config, first_net(config), workers=1)
    trainer.run(lambda progress: True)
    bot = NetBot("net", Evaluator(trainer.net()), LONG_NARDI)
    ppg = play_duel(bot, load_bot("random", LONG_NARDI), 200, 1, LONG_NARDI).ppg
    assert ppg.mean > 5 * ppg.stderr


def test_settings() -> None:
    config = load_config("long")
    assert config.play_rules == LONG_NARDI
    assert config_from_values(LONG_TINY.as_dict()) == LONG_TINY
    assert 'rules = "long"' in config_text(LONG_TINY)
    with pytest.raises(ConfigError, match=r"drawn_starts .* of short nardi"):
        load_config("long", None, ["stage.0.drawn_starts=0.1"])
    with pytest.raises(ConfigError, match=r"net.contact.experts is 'contact-v1'.* none fits"):
        load_config("long", None, ["net.contact.experts=contact-v1"])


# --- the command ---


def test_command(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(config_text(LONG_TINY))
    words = ("train", "--game", "long", "--config", file, "--seed", "4", "--device", "cpu")
    code, out, _ = run(
        capsys,
        *words,
        "--rules",
        "head_exception=none",
        "--workers",
        "1",
        "--out",
        tmp_path / "run",
    )
    assert code == 0
    assert "heuristic" in out
    assert "--game long" in out
    net = load_net(tmp_path / "run" / "last.safetensors", "long")
    assert net.facts["rules"] == "long,head_exception=none"
    assert "--game long" in net.facts["command"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--game", "long", "--rules", "caucasian"), "long nardi"),
        (("--game", "short", "--rules", "long"), "--game of short"),
        (("--game", "long", "--preset", "smoke"), "experts"),
        (("--game", "long", "--set", 'checks.opponents=["pubeval"]'), "plays short nardi only"),
        (("--game", "long", "--yardstick", "x.jsonl"), "of short nardi only"),
        (("--game", "long", "--from", "nardi"), "is for short nardi"),
    ],
)
def test_what_is_refused(
    words: tuple[str, ...],
    why: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # no file there goes before the net that ships
    code, _, err = run(capsys, "train", *words, "--out", tmp_path / "run")
    assert code == 2
    assert why in err
    assert not (tmp_path / "run").exists()


# --- nets in files ---


def test_nets_of_the_other_game(net_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(net_file.parent)
    with pytest.raises(CheckpointError, match="for the game 'long', not for short nardi"):
        load_net(net_file)
    with pytest.raises(CheckpointError, match="for the game 'short', not for long nardi"):
        load_net(Path("nardi"), "long")
    with pytest.raises(CheckpointError, match="for the game 'long'"):
        load_bot(f"net:{net_file}")
    bot = load_bot(f"net:{net_file}@1", LONG_NARDI)
    assert bot.has_probabilities
    monkeypatch.setattr("agent.checkpoint.files", lambda package: net_file.parent)
    with pytest.raises(CheckpointError, match=r"no net 'long.safetensors'.*--game long"):
        default_net_path("long")


def test_commands_ask_it(net_file: Path, capsys: Capture) -> None:
    net = ("--net", net_file, "--json")
    code, out, _ = run(capsys, "best-move", "start", "--game", "long", "--dice", "62", *net)
    document: dict[str, Any] = json.loads(out)
    assert (code, document["count"]) == (0, len(document["plays"]))
    assert document["plays"][0]["probs"]["win_bg"] == 0
    code, out, _ = run(capsys, "best-move", "start", "--game", "long", "--ply", "0", *net)
    document = json.loads(out)
    assert "cube" not in document
    assert len(document["rolls"]) == 21
    position = "LONG=-----------o-----------O"
    code, out, _ = run(capsys, "eval", position, "--ply", "1", *net)
    document = json.loads(out)
    assert document["equity"] == pytest.approx(document["equity_cubeless"], abs=2e-6)
    code, out, _ = run(capsys, "eval", position, "--ply", "0", "--net", net_file)
    assert "with the cube" not in out
    code, out, _ = run(
        capsys,
        *("rollout", position, "--dice", "31", "--trials", "36", "--truncate", "4", "--seed", "1"),
        *("--threads", "1", *net),
    )
    assert code == 0
    assert json.loads(out)["trials"] == 36
    code, _, err = run(capsys, "rollout", position, "--cube", "--seed", "1", *net)
    assert code == 2
    assert "without a doubling cube" in err
    code, _, err = run(capsys, "eval", "start", *net)
    assert code == 2
    assert "for the game 'long'" in err
    code, out, err = run(
        capsys,
        *("benchmark", f"net:{net_file}", "random", "--game", "long", "--games", "4"),
        *("--seed", "1", "--workers", "1", "--json"),
    )
    assert code == 0
    assert json.loads(out)["games"] == 4
    assert "warning" not in err
