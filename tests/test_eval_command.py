"""`nardi eval`: probabilities and equity before the roll, exact once the game is over."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent import evaluator as evaluator_module
from agent.evaluator import load_evaluator
from engine.board import START, flip
from engine.notation import parse_position
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, documents, feed, run
from tests.nets import small_net_file

XGID_DICE = "XGID=-b----E-C---eE---c-e----B-:0:0:1:52:0:0:0:0:10"
PROBS = ["win", "win_gammon", "win_bg", "lose_gammon", "lose_bg"]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_net_file(tmp_path_factory.mktemp("nets"), {"games": 5}))


def ask(capsys: Capture, position: str, net: str) -> dict[str, Any]:
    assert run("eval", position, "--net", net, "--ply=0", "--json") == DONE
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_json(net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", net)
    assert document["position"]["board"] == START.tolist()
    assert document["net"] == {
        "name": f"net:{net}",
        "rules": "international",
        "games": 5,
        "commit": None,
        "strength": None,
    }
    assert document["ply"] == 0
    assert (document["met"], document["mwc"]) == (None, None)
    probs = document["probs"]
    assert list(probs) == PROBS
    expected = load_evaluator(Path(net)).probabilities(START[np.newaxis])[0]
    assert np.array(list(probs.values()), dtype=np.float32).tolist() == expected.tolist()
    win, win_gammon, win_bg, lose_gammon, lose_bg = probs.values()
    equity = 2 * win - 1 + win_gammon + win_bg - lose_gammon - lose_bg
    assert document["equity_cubeless"] == pytest.approx(equity, abs=1e-6)
    assert document["equity"] != document["equity_cubeless"]
    assert run("cube", "start", "--net", net, "--ply=0", "--json") == DONE
    cube = json.loads(capsys.readouterr().out)
    assert document["equity"] == pytest.approx(cube["decision"]["equity"], abs=1e-6)


@pytest.mark.parametrize("ply", [1, 2])
def test_depth(ply: int, net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", net)
    words = ["eval", "start", "--net", net, "--json"] + (["--ply=1"] if ply == 1 else [])
    assert run(*words) == DONE
    deeper = json.loads(capsys.readouterr().out)
    assert deeper["ply"] == ply  # 2 is the default
    assert deeper["probs"] != document["probs"]
    assert run("cube", "start", "--net", net, f"--ply={ply}", "--json") == DONE
    cube = json.loads(capsys.readouterr().out)
    assert deeper["probs"] == cube["probs"]
    assert deeper["equity"] == pytest.approx(cube["decision"]["equity"], abs=1e-6)


def test_text(net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", net)
    assert run("eval", "start", "--net", net, "--ply=0") == DONE
    captured = capsys.readouterr()
    assert captured.err == "" or "compiling" in captured.err
    lines = captured.out.splitlines()
    assert lines[0].startswith(" +13-14-")
    assert lines[13] == "X on roll"
    win, win_gammon, win_bg, lose_gammon, lose_bg = document["probs"].values()
    for line, side, *rates in (
        (lines[16], "X", win, win_gammon, win_bg),
        (lines[17], "O", 1 - win, lose_gammon, lose_bg),
    ):
        assert line.split() == [side, *(f"{rate:.2%}" for rate in rates)]
    with_cube, without = document["equity"], document["equity_cubeless"]
    assert lines[19] == f"equity {with_cube:+.3f} with the cube; without {without:+.3f}; 0-ply"
    assert lines[20].startswith("equity = X's points per game and present stake")
    assert "5 games trained, strength not told" in " ".join(lines[21:])
    assert max(len(line) for line in lines if net not in line) <= 80


@pytest.mark.parametrize(
    ("opp", "equity"),
    [({5: -3}, 1), ({18: -15}, 2), ({6: -1, 20: -14}, 3), ({0: 1, 20: -14}, 3)],
)
def test_finished_games_are_exact(
    opp: dict[int, int], equity: int, net: str, capsys: Capture
) -> None:
    won = np.zeros(26, dtype=np.int8)
    won[list(opp)] = list(opp.values())
    for board, sign in ((won, 1), (flip(won), -1)):
        document = ask(capsys, " ".join(map(str, board.tolist())), net)
        assert document["equity"] == sign * equity
        assert document["probs"]["win"] == (sign > 0)
        assert sum(document["probs"].values()) == (equity if sign > 0 else equity - 1)
        assert run("eval", " ".join(map(str, board.tolist())), "--net", net) == DONE
        out = capsys.readouterr().out
        assert f"equity {sign * equity:+.3f}, the result of the game\n" in out
        assert "answered by" not in out


def test_an_empty_board_has_no_result(net: str, capsys: Capture) -> None:
    assert run("eval", " ".join(["0"] * 26), "--net", net) == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "the board is empty" in captured.err


def test_dice_come_after_the_evaluation(net: str, capsys: Capture) -> None:
    assert run("eval", XGID_DICE, "--net", net, "--ply=0", "--json") == DONE
    captured = capsys.readouterr()
    assert "from before the roll" in captured.err
    assert "5-2" in captured.err
    document = json.loads(captured.out)
    assert document["probs"] == ask(capsys, "start", net)["probs"]


@pytest.mark.parametrize(
    ("position", "what"),
    [
        (XGID_DICE.replace(":52:", ":D:"), "a cube offer"),
        ("4HPwATDgc/ABMA:cCEAAAAAAAAE", "a resignation"),
    ],
)
def test_pending_offers_are_told(position: str, what: str, net: str, capsys: Capture) -> None:
    assert parse_position(position).decider == "opponent"
    assert run("eval", position, "--net", net, "--ply=0", "--json") == DONE
    captured = capsys.readouterr()
    assert f"{what} is waiting for its answer" in captured.err
    assert json.loads(captured.out)["probs"] == ask(capsys, "start", net)["probs"]


def test_the_score_is_looked_at(net: str, capsys: Capture) -> None:
    position = XGID_DICE.replace(":52:0:0:0:0:", ":00:1:2:0:5:")
    document = ask(capsys, position, net)
    assert document["met"] == "Kazaross-XG2"
    assert 0 < document["mwc"] < 0.5  # 4-away against 3-away with a net that knows nothing
    assert run("eval", position, "--net", net) == DONE
    assert "with the cube, wins the match " in capsys.readouterr().out


def test_many_positions(net: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    feed(monkeypatch, f"start\nnonsense\n{XGID_DICE}\n")
    assert run("eval", "-", "--net", net) == FAILED
    captured = capsys.readouterr()
    first, second, third = documents(captured.out)
    assert (first["line"], second["line"], third["line"]) == (1, 2, 3)
    assert first["probs"] == third["probs"]
    assert second["error_type"] == "NotationError"
    assert "line 3: the figures are from before the roll" in captured.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["start", "--net", "none.safetensors"], "does not exist"),
        (["rubbish"], "'rubbish'"),
        (["16" + " 0" * 25], "16 checkers"),
    ],
)
def test_refusals(words: list[str], message: str, net: str, capsys: Capture) -> None:
    words = words if "--net" in words else [*words, "--net", net]
    assert run("eval", *words) == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("nardi eval: error: ")
    assert message in captured.err


def test_help_ends_with_a_line_to_paste(
    net: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(evaluator_module, "default_net_path", lambda game: Path(net))
    monkeypatch.setenv("COLUMNS", "80")
    assert run("eval", "--help") == DONE
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("try: nardi eval")
    assert run(*lines[-1].removeprefix("try: nardi ").split()) == DONE
    assert "answered by net, 5 games trained" in capsys.readouterr().out
