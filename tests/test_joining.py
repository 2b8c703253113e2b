"""Nets made one: the mean of their outputs before the sigmoid, and what does not fit."""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from agent.batched import batch_probabilities
from agent.checkpoint import load_net, save_net
from agent.evaluator import Evaluator
from agent.joining import join_nets
from agent.net import NetConfig, ValueNet, ValueNetConfig
from engine.board import Board
from engine.errors import ConfigError
from engine.moves import check_boards
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, run
from tests.nets import CONFIGS, SMALL, random_net
from tests.strategies import mixed_boards

JOINABLE = sorted(CONFIGS)


def some_boards(n: int = 200) -> Board:
    found = itertools.islice(mixed_boards(np.random.default_rng(4)), n)
    return check_boards(np.array([board for board, _ in found]))


def nets(name: str, n: int = 2) -> list[ValueNet]:
    return [random_net(CONFIGS[name], np.random.default_rng(seed)) for seed in range(n)]


def logits(probs: np.ndarray) -> np.ndarray:
    p = probs.astype(np.float64)
    return np.log(p / (1 - p))


@pytest.mark.parametrize("name", JOINABLE)
def test_logits_are_the_mean(name: str) -> None:
    boards = some_boards()
    one, other = nets(name)
    joined = join_nets(one, other)
    of_both = [Evaluator(net).probabilities(boards) for net in (one, other)]
    found = Evaluator(joined).probabilities(boards)
    assert np.abs(found - batch_probabilities(joined, boards)).max() < 1e-5
    # Of wins alone: the others may be cut to what is possible, each net's by itself.
    inside = (np.minimum(*of_both)[:, 0] > 1e-4) & (np.maximum(*of_both)[:, 0] < 1 - 1e-4)
    assert inside.sum() > 100
    mean = (logits(of_both[0][inside, 0]) + logits(of_both[1][inside, 0])) / 2
    assert found[inside, 0] == pytest.approx(1 / (1 + np.exp(-mean)), abs=2e-5)


def test_all_three_count_alike() -> None:
    boards = some_boards()
    three = nets("small", 3)
    joined = join_nets(join_nets(three[0], three[1]), three[2])
    assert joined.config.contact.groups == 3
    turned = join_nets(three[2], join_nets(three[0], three[1]))
    contact = Evaluator(joined).probabilities(boards) - Evaluator(turned).probabilities(boards)
    has_contact = Evaluator(three[0]).probabilities(boards)[:, 0] > 0
    assert np.abs(contact[has_contact]).max() < 1e-5


def test_a_part_that_both_have_is_taken_once() -> None:
    one, other = nets("small")
    other = dataclasses.replace(other, race=one.race)
    joined = join_nets(one, other)
    assert joined.config.race == one.config.race
    assert joined.race is one.race
    assert joined.config.contact == NetConfig(width=16, hidden=10, groups=2)


def test_what_cannot_be_joined() -> None:
    rng = np.random.default_rng(1)
    one = random_net(SMALL, rng)
    for change, words in (
        ({"tails": "back9"}, "contact nets differ in tails"),
        ({"experts": "none"}, "contact nets differ in experts"),
        ({"pairs": False}, "contact nets differ in pairs"),
        ({"hidden": 4}, "contact nets differ in units of a group"),
        ({"hidden": 0}, "contact nets differ in units of a group"),
    ):
        shape = dataclasses.replace(SMALL.contact, **change)
        other = random_net(ValueNetConfig(contact=shape, race=SMALL.race), rng)
        with pytest.raises(ConfigError, match=words):
            join_nets(one, other)
    for other in (
        dataclasses.replace(one, four_kinds=True),
        random_net(SMALL, rng, game="long"),
    ):
        with pytest.raises(ConfigError, match="different games or kinds of win"):
            join_nets(one, other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"groups": 0}, "groups is '0'; a whole number from 1 up fits"),
        ({"groups": True}, "groups is 'True'; a whole number"),
        ({"groups": 3}, r"groups is '3'; a divisor of width \(8\) and hidden \(6\) fits"),
        ({"groups": 2, "hidden": 0}, "and without a second layer 1"),
    ],
)
def test_groups_that_do_not_fit(change: dict[str, int], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        NetConfig(**({"width": 8, "hidden": 6} | change))  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    paths = [tmp_path / "one.safetensors", tmp_path / "other.safetensors"]
    for path, net in zip(paths, nets("25 tails"), strict=True):
        facts = {"rules": "international", "games": 77, "seed": 5}
        save_net(path, dataclasses.replace(net, facts=facts))
    out = tmp_path / "joined.safetensors"
    words = ["join", *map(str, paths), "--out", str(out)]
    assert run(*words) == DONE
    told = capsys.readouterr().out
    assert "48 units, pairs, contact-v1 (24), hidden 14, 2 groups, tails back25" in told
    net = load_net(out)
    assert [parent["games"] for parent in net.facts["parents"]] == [77, 77]
    assert net.facts["rules"] == "international"
    boards = some_boards(40)
    expected = Evaluator(join_nets(*map(load_net, paths))).probabilities(boards)
    assert (Evaluator(net).probabilities(boards) == expected).all()
    three = tmp_path / "three.safetensors"
    assert run("join", *map(str, [*paths, paths[0]]), "--out", str(three)) == DONE
    assert "72 units, pairs, contact-v1 (24), hidden 21, 3 groups" in capsys.readouterr().out
    assert len(load_net(three).facts["parents"]) == 3
    assert run("best-move", "start", "--dice", "31", "--net", str(out), "--ply=1", "--json") == DONE
    assert json.loads(capsys.readouterr().out)["plays"]

    trained = ["--from", str(out), "--seed", "1", "--out", str(tmp_path / "run"), "--workers", "1"]
    fast = ["--games", "40", "--set", "selfplay.games_per_round=20", "--set", "checks.games=4"]
    assert run("train", "--preset", "smoke", *trained, *fast) == DONE
    capsys.readouterr()
    learned = load_net(tmp_path / "run" / "last.safetensors")
    assert learned.config == net.config
    assert any((a != b).any() for a, b in zip(learned.contact, net.contact, strict=True))

    assert run(*words) == FAILED
    assert "is there already; accepted: a new file" in capsys.readouterr().err
    save_net(paths[1], dataclasses.replace(load_net(paths[1]), facts={"rules": "caucasian"}))
    other_out = tmp_path / "more.safetensors"
    assert run("join", *map(str, paths), "--out", str(other_out)) == FAILED
    assert "'international' and 'caucasian'; accepted: nets of the same" in capsys.readouterr().err
    assert not other_out.exists()
