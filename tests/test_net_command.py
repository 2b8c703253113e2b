"""`nardi net`: the facts of a net file, told whole and never trusted."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from agent import checkpoint
from agent.checkpoint import load_net, save_net
from agent.evaluator import Evaluator
from agent.net import ValueNet
from engine.moves import check_boards
from engine.rules import INTERNATIONAL
from nardi.cli import DONE, FAILED
from nardi.net_facts import net_document, net_lines, warn_of_rules
from tests.command_line import Capture, run
from tests.nets import SMALL, all_arrays, random_net, small_net_file
from tests.strategies import mixed_boards

FACTS: dict[str, Any] = {
    "games": 400_000,
    "seed": 12345,
    "parent": None,
    "commit": "0123abc",
    "dirty": True,
    "command": "nardi train --preset short --seed 12345 --out runs/a-long-name --workers 2",
    "versions": {"nardi": "0.1.0", "numpy": "2.3"},
    "strength": {
        "random": {"ppg": 1.5, "stderr_ppg": 0.03, "games": 1000},
        "pubeval": {"ppg": 0.6123, "stderr_ppg": 0.0101, "games": 10_000},
    },
    "train": {"seed": 12345, "learn": {"batch": 1024}},
}


def told(text: str) -> dict[str, str]:
    """Facts by label, with folded lines joined."""
    facts: dict[str, str] = {}
    label = ""
    for line in text.splitlines():
        if not line.startswith(" "):
            label, _, line = line.partition(" ")
        facts[label] = f"{facts.get(label, '')} {line.strip()}".strip()
    return facts


def test_text(tmp_path: Path, capsys: Capture) -> None:
    path = small_net_file(tmp_path, FACTS)
    assert run("net", str(path)) == DONE
    captured = capsys.readouterr()
    assert captured.err == ""
    facts = told(captured.out)
    net = load_net(path)
    n_contact = sum(array.size for array in net.contact)
    n_race = sum(array.size for array in net.race)
    assert facts == {
        "file": f"{path}, {path.stat().st_size:,} bytes",
        "format": "1, short nardi",
        "features": "raw-v1, pairs-v1, contact-v1",
        "contact": f"8 units, pairs, contact-v1 (24), hidden 5, tails one; {n_contact:,} weights",
        "race": f"8 units, no pairs, no experts, no hidden layer, tails one; {n_race:,} weights",
        "games": "400,000",
        "seed": "12345",
        "parent": "none, it began with random weights",
        "commit": "0123abc",
        "dirty": "yes",
        "command": FACTS["command"],
        "versions": '{"nardi": "0.1.0", "numpy": "2.3"}',
        "strength": "+0.612 ± 0.010 ppg against pubeval (10,000 games);"
        " +1.500 ± 0.030 ppg against random (1,000 games)",
        "train": '{"learn": {"batch": 1024}, "seed": 12345}',
    }
    assert max(len(line) for line in captured.out.splitlines() if str(path) not in line) <= 80


def test_json(tmp_path: Path, capsys: Capture) -> None:
    path = small_net_file(tmp_path, FACTS)
    assert run("net", str(path), "--json") == DONE
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    document = json.loads(out)
    sizes = {key: array.size for key, array in all_arrays(load_net(path)).items()}
    contact = sum(size for key, size in sizes.items() if key.startswith("contact/"))
    assert document["file"] == str(path)
    assert document["bytes"] == path.stat().st_size > 4 * sum(sizes.values())
    assert document["weights"] == {
        "contact": contact,
        "race": sum(sizes.values()) - contact,
        "all": sum(sizes.values()),
    }
    assert document["facts"] == load_net(path).facts
    assert document["facts"].items() >= FACTS.items()
    assert document["facts"]["net"] == SMALL.as_dict()


def test_what_is_not_known_is_said(tmp_path: Path, capsys: Capture) -> None:
    assert run("net", str(small_net_file(tmp_path))) == DONE
    facts = told(capsys.readouterr().out)
    keys = ("games", "seed", "parent", "commit", "dirty", "command", "versions", "strength")
    assert {facts[key] for key in keys} == {"not told"}
    parent = {"file": "a.safetensors", "games": 10}
    path = small_net_file(tmp_path, {"commit": None, "parent": parent, "strength": None})
    assert run("net", str(path)) == DONE
    facts = told(capsys.readouterr().out)
    assert facts["commit"] == facts["strength"] == "not known"
    assert json.loads(facts["parent"]) == parent


@pytest.mark.parametrize(
    ("strength", "text"),
    [
        ({"pubeval": {"ppg": 0.5, "stderr_ppg": 0.25}}, "+0.500 ± 0.250 ppg against pubeval"),
        (
            {"pubeval": {"ppg": 0.5, "stderr_ppg": None}},
            '{"pubeval": {"ppg": 0.5, "stderr_ppg": null}}',
        ),
        ({"pubeval": 0.5}, '{"pubeval": 0.5}'),
        ({}, "{}"),
        ([1, 2], "[1, 2]"),
        ("fair", "fair"),
        (0.5, "0.5"),
        (True, "yes"),
    ],
    ids=str,
)
def test_strength_in_any_form_is_shown(
    strength: object, text: str, tmp_path: Path, capsys: Capture
) -> None:
    path = small_net_file(tmp_path, {"strength": strength, "games": "many"})
    assert run("net", str(path)) == DONE
    facts = told(capsys.readouterr().out)
    assert facts["strength"] == text
    assert facts["games"] == "many"
    line = " ".join(net_lines(net_document("net", load_net(path), INTERNATIONAL)))
    expected = text if strength else "strength not told"
    assert line == f"answered by net, many games trained, {expected}"


def test_the_net_that_nardi_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    path = small_net_file(tmp_path, FACTS)
    monkeypatch.setattr(checkpoint, "default_net_path", lambda: path)
    monkeypatch.setenv("COLUMNS", "80")
    assert run("net", "--json") == DONE
    assert json.loads(capsys.readouterr().out)["file"] == str(path)
    assert run("net", "--help") == DONE
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert run(*lines[-1].removeprefix("try: nardi ").split()) == DONE


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "does not exist"), (b"", "not a readable net"), (b"x" * 1000, "not a readable net")],
)
def test_refusals(content: bytes | None, message: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "net.safetensors"
    if content is not None:
        path.write_bytes(content)
    for words in ([], ["--json"]):
        assert run("net", str(path), *words) == FAILED
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("nardi net: error: ")
        assert message in captured.err
        assert str(path) in captured.err


def steps_off(net: ValueNet, again: ValueNet) -> float:
    """Largest difference of a weight, in steps of its row: 1/127 of the row's largest weight."""
    off = 0.0
    for part in ("contact", "race"):
        for name, one in getattr(net, part)._asdict().items():
            two = getattr(again, part)._asdict()[name]
            assert two.dtype == np.float32
            if name in ("bias", "b2", "b3"):
                np.testing.assert_array_equal(one, two)
            elif one.size:
                step = np.abs(one).max(axis=-1, keepdims=True) / 127
                np.testing.assert_array_equal(two[np.broadcast_to(step == 0, two.shape)], 0)
                off = max(off, float((np.abs(one - two) / np.where(step > 0, step, 1)).max()))
    return off


def test_a_quarter_of_the_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, small = tmp_path / "net.safetensors", tmp_path / "small.safetensors"
    net = random_net(SMALL, np.random.default_rng(1), {"games": 7})
    net.contact.points[3] = 0
    net.contact.points[4] *= 1e3  # a row of its own scale
    save_net(path, net)
    assert run("net", str(path), "--out", str(small)) == DONE
    told = capsys.readouterr().out
    assert str(small) in told
    assert "2, short nardi" in told
    assert small.stat().st_size < 0.5 * path.stat().st_size
    again = load_net(small)
    assert (again.facts["games"], again.config) == (7, net.config)
    assert 0.4 < steps_off(net, again) < 0.5 * 9 / 8
    found = itertools.islice(mixed_boards(np.random.default_rng(4)), 200)
    boards = check_boards(np.array([board for board, _ in found]))
    far = Evaluator(net).probabilities(boards) - Evaluator(again).probabilities(boards)
    assert 0 < np.abs(far).max() < 0.02
    # What is written once more is not rounded any further.
    save_net(tmp_path / "once more.safetensors", again, bits=8)
    assert load_net(tmp_path / "once more.safetensors").checksum() == again.checksum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("contact/points.scale"), "'points' is of 8 bits, but has no"),
        (
            lambda arrays: arrays.update({"contact/w2.scale": np.ones(3, dtype=np.float32)}),
            "'w2' is (32, 5) of 8 bits, but has 3 scales, float32; accepted: one for each row",
        ),
        (
            lambda arrays: arrays["contact/points.scale"].fill(np.nan),
            "'points' holds numbers that are not finite",
        ),
        (
            lambda arrays: arrays.update(
                {"contact/points.scale": arrays["contact/points.scale"][np.newaxis]}
            ),
            "'points' is (1, 370, 8) float32, its config asks for (370, 8) float32",
        ),
    ],
)
def test_scales_that_do_not_fit_are_refused(
    change: Callable[[dict[str, Any]], object],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, random_net(SMALL, np.random.default_rng(1)), bits=8)
    with safe_open(path, framework="numpy") as file:
        arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    change(arrays)
    save_file(arrays, path, metadata=metadata)
    assert run("net", str(path)) == FAILED
    assert message in capsys.readouterr().err


def test_half_the_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, small = tmp_path / "net.safetensors", tmp_path / "half.safetensors"
    net = random_net(SMALL, np.random.default_rng(1), {"games": 7})
    save_net(path, net)
    assert run("net", str(path), "--out", str(small), "--bits", "16") == DONE
    assert str(small) in capsys.readouterr().out
    assert small.stat().st_size < 0.6 * path.stat().st_size
    again = load_net(small)
    assert (again.facts["games"], again.config) == (7, net.config)
    for part in ("contact", "race"):
        for one, two in zip(getattr(net, part), getattr(again, part), strict=True):
            assert two.dtype == np.float32
            np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-6)
    assert run("net", str(path), "--out", str(small)) == FAILED
    assert "is there already; accepted: a new file" in capsys.readouterr().err
    assert run("net", str(path), "--bits", "16") == FAILED
    assert "--bits is of the file that --out names" in capsys.readouterr().err
    net.contact.bias[0] = 1e5
    save_net(path, net)
    assert run("net", str(path), "--out", str(tmp_path / "x"), "--bits", "16") == FAILED
    assert "too large for 16 bits" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    # A row has a scale of its own, which is a float of 32 bits.
    assert run("net", str(path), "--out", str(tmp_path / "x")) == DONE
    assert load_net(tmp_path / "x").contact.bias[0] == 1e5


def test_one_warning_where_a_net_has_learned_under_other_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_rules.cache_clear()
    path = tmp_path / "own.safetensors"
    save_net(path, random_net(SMALL, np.random.default_rng(1), {"rules": "caucasian"}))
    ask = ["best-move", "--dice", "31", "--net", str(path)]
    duel = ["benchmark", f"net:{path}", "random", "--games", "4", "--seed", "1"]
    for words in (
        [*ask, "start", "--rules", "caucasian"],
        # What bears on the cube alone is not learned.
        [*ask, "start", "--rules", "caucasian,jacoby=true"],
        [*duel, "--rules", "caucasian"],
    ):
        assert run(*words) == 0
        assert "warning" not in capsys.readouterr().err
    for words in ([*ask, "start"], [*ask, "start", "--rules", "arena"], duel):
        warn_of_rules.cache_clear()
        assert run(*words) == 0
        err = capsys.readouterr().err
        assert err.count("has learned under the rules 'caucasian'; under '") == 1
    assert run(*ask, "start") == 0  # told once is enough
    assert "warning" not in capsys.readouterr().err
    assert run(*ask, "start", "--json") == 0
    assert json.loads(capsys.readouterr().out)["net"]["rules"] == "caucasian"
