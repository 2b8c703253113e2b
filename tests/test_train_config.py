"""Settings of training: presets, files, assignments, and what is refused."""

import dataclasses
import itertools
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from agent.net import NetConfig, ValueNetConfig
from engine.errors import ConfigError
from nardi.commands import train as train_command
from tests.tiny_runs import TINY
from train.config import CheckConfig, StageConfig, TrainConfig
from train.config_files import (
    PRESETS,
    config_from_values,
    config_text,
    load_config,
    load_values,
    read_values,
    set_value,
)


def preset_text(name: str) -> str:
    return files("train").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_load(name: str) -> None:
    config = load_config(name)
    assert config.games == sum(stage.games for stage in config.stage)
    assert config.checks.opponents[-1] == ("heuristic" if name == "long" else "pubeval")
    assert "seed" not in load_values(name)  # one is drawn, or given


def test_presets_grow() -> None:
    smoke, short, strong = (load_config(name) for name in ("smoke", "short", "strong"))
    assert smoke.games < short.games
    assert smoke.net == short.net, "a longer run may begin from a shorter one's net"
    # Games without luck cost ten times as much.
    adjusted = sum(stage.games for stage in strong.stage if stage.luck_adjusted)
    assert strong.games + 9 * adjusted > 4 * short.games
    assert strong.net.contact.width > short.net.contact.width


def test_more_games_go_to_generations_at_the_end_or_to_all_stages() -> None:
    strong, short = load_config("strong"), load_config("short")
    longer = strong.longer(strong.games + 120_000)
    assert longer.stage[:-1] == strong.stage[:-1]
    last = strong.stage[-1]
    assert longer.stage[-1] == dataclasses.replace(last, games=last.games + 120_000)
    assert short.longer(2 * short.games) == short.with_games(2 * short.games)


def test_the_command_knows_the_presets() -> None:
    assert train_command._PRESETS == PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_explained(name: str) -> None:
    """Every value has a comment before it, its own or that of the group it stands in."""
    lines = preset_text(name).splitlines()
    assert lines[0].startswith("# ")
    for before, line in itertools.pairwise(lines):
        if re.match(r"\w+ = ", line):
            assert re.match(r"# |\w+ = ", before), f"'{line}' is not explained"


def test_order_of_sources(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("seed = 3\n[learn]\nbatch = 64\naverage = 0.5\n")
    config = load_config("smoke", file, ["learn.batch=128", "stage.0.rate=[1e-3, 1e-5]"])
    smoke = load_config("smoke")
    assert config.seed == 3
    assert config.learn == dataclasses.replace(smoke.learn, batch=128, average=0.5)
    assert config.stage[0] == dataclasses.replace(smoke.stage[0], rate=(1e-3, 1e-5))
    assert config.checks == smoke.checks


def test_a_given_net_takes_the_place_of_the_presets() -> None:
    net = ValueNetConfig(contact=NetConfig(width=16))
    values = load_values("smoke", None, ["net.contact.hidden=8"], net=net)
    wanted = NetConfig(width=16, hidden=8)
    assert config_from_values(values).net == dataclasses.replace(net, contact=wanted)


@pytest.mark.parametrize(
    "config",
    [TrainConfig(), TINY, TrainConfig(checks=CheckConfig(opponents=('net:a "b"\\é.safetensors',)))],
    ids=["default", "tiny", "odd text"],
)
def test_text_is_read_again(config: TrainConfig) -> None:
    text = config_text(config)
    assert config_from_values(read_values(text, "text")) == config
    assert tomllib.loads(text) == config.as_dict()


def test_text_of_presets_is_read_again() -> None:
    for name in PRESETS:
        config = load_config(name)
        assert config_from_values(read_values(config_text(config), name)) == config


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        (
            "lern.batch=5",
            "unknown setting 'lern'; known: seed, rules, net, first_net, selfplay, learn, stage",
        ),
        ("learn.bach=5", "unknown setting 'learn.bach'; known: batch, race_batch, pair_rate"),
        ("net.contact.units=5", "unknown setting 'net.contact.units'; known: width"),
        ("stage.0.lambda_=[1,1]", "unknown setting 'stage.0.lambda_'; known: games, lambda, rate"),
        ("stage.7.rate=[1,1]", "unknown setting 'stage.7.rate': there is no '7'"),
        ("stage.first.rate=[1,1]", "there is no 'first'"),
        ("learn.batch.size=5", "unknown setting 'learn.batch.size': there is no 'size'"),
        ("learn", "'learn' is not a setting; write NAME=VALUE"),
        ("=5", "'=5' is not a setting"),
        ("learn=5", "learn: a table of settings is needed, not '5'"),
        ("stage=5", "stage: a list is needed, not '5'"),
        ("stage=[]", "there is no stage"),
        ("rules=checkers", "unknown rules 'checkers'; accepted: international, caucasian, arena"),
        ("rules=end_rule=last_chance_draw", "games with end_rule=last_chance_draw are not learned"),
        ("learn.batch=0", "learn: batch is '0'; a whole number from 1 up fits"),
        ("learn.batch=true", "batch is 'True'; a whole number"),
        ("learn.batch=many", "batch is 'many'; a whole number"),
        ("learn.average=1", "average is '1'; a number from 0 to 0.999999 fits"),
        ("learn.average=nan", "average is 'nan'; a number"),
        ("seed=-1", "seed is '-1'; a whole number from 0 up fits"),
        ("net.contact.width=0", "width is '0'; a whole number from 1 to 1024 fits"),
        ("stage.0.rate=0.1", "stage.0.rate: a list is needed, not '0.1'"),
        ("stage.0.rate=[0.1]", "rate is '(0.1,)'; two numbers"),
        ("stage.0.rate=[0, 1]", "rate is '0'; a number from 1e-08 to 1 fits"),
        ("stage.0.lambda=[0, 1.5]", "lambda is '1.5'; a number from 0 to 1 fits"),
        ("stage.0.explore=2", "explore is '2'; a number from 0 to 1 fits"),
        ("stage.0.games=0", "games is '0'; a whole number from 1 up fits"),
        ("checks.games=3", "games is '3'; an even number fits"),
        ("checks.growth=1", "growth is '1'; a number from 1.01 to 100 fits"),
        ("checks.opponents=[]", "opponents is empty"),
        ("checks.opponents=[1]", "texts that name bots fit"),
        ("selfplay.games_per_round=0", "games_per_round is '0'"),
    ],
)
def test_refused(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_config("smoke", None, [assignment])


def test_unknown_preset() -> None:
    with pytest.raises(ConfigError, match="unknown preset 'quick'; known: smoke, short, strong"):
        load_config("quick")


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config file '.*none.toml' cannot be read"):
        load_config("smoke", tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("learn = [")
    with pytest.raises(ConfigError, match=r"config file '.*broken.toml': Invalid value"):
        load_config("smoke", broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config("smoke", broken)


def test_values_of_assignments() -> None:
    values: dict[str, Any] = {"stage": [{}]}
    for assignment in ("a.b = [1, 2.5]", 'c="text"', "d=text", "stage.0.x=true", "a.e=1e-4"):
        set_value(values, assignment)
    assert values == {
        "stage": [{"x": True}],
        "a": {"b": [1, 2.5], "e": 1e-4},
        "c": "text",
        "d": "text",
    }


@pytest.mark.parametrize("games", [2, 3, 7, 90, 91, 210, 1000, 999_999])
def test_stages_keep_their_shares(games: int) -> None:
    config = TINY.with_games(games)
    assert config.games == games
    assert abs(config.stage[0].games - games * 90 / 210) < 1
    assert config.stage[1] == dataclasses.replace(TINY.stage[1], games=config.stage[1].games)


def test_too_few_games_for_the_stages() -> None:
    with pytest.raises(ConfigError, match="games is '1'; a whole number from 2 up fits"):
        TINY.with_games(1)
    config = TrainConfig(stage=(StageConfig(games=1000), StageConfig(games=1)))
    assert [stage.games for stage in config.with_games(3).stage] == [2, 1]
