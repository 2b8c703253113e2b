"""`nardi bearoff`: figures, refusals, JSON, and making the tables."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.bearoff import tables
from engine.bearoff.lookup import cubeful, cubeless, roll_chances
from engine.notation import parse_position
from nardi import exact_endings
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, documents, feed, run

ROOT = Path(__file__).resolve().parent.parent
TWO = "XGID=-BBA----------------a-ab--:0:0:1:00:0:0:0:0:10"
ONE = "XGID=-BBBBBBC---------dcbbbb---:0:0:1:00:0:0:0:0:10"


def ask(capsys: Capture, position: str) -> dict[str, Any]:
    assert run("bearoff", position, "--json") == DONE
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_two_sided_json(capsys: Capture) -> None:
    board = parse_position(TWO).board
    document = ask(capsys, TWO)
    assert document["position"]["board"] == board.tolist()
    assert (document["table"], document["exact"]) == ("two-sided", True)
    win = float(cubeless(board[None])[0, 0])
    assert document["probs"]["win"] == pytest.approx(win, abs=1e-7)
    assert document["equity"] == pytest.approx(2 * win - 1, abs=1e-6)
    assert document["cubeful_missing"] is None
    assert list(document["cubeful"]) == ["centred", "mover", "opponent"]
    for name, owner in (("centred", None), ("mover", "mover"), ("opponent", "opponent")):
        value = cubeful(board, owner)  # type: ignore[arg-type]
        found = document["cubeful"][name]
        assert found["no_double"] == pytest.approx(value.no_double, abs=1e-7)
        assert found["equity"] == pytest.approx(value.equity, abs=1e-7)
        assert (found["double"], found["take"]) == (value.double, value.take)
    for key, rolls in zip(("mover_rolls", "opp_rolls"), roll_chances(board), strict=True):
        assert document[key]["mean"] == pytest.approx(rolls.mean, abs=1e-5)
        assert np.array(document[key]["chances"], np.float32).tolist() == rolls.chances.tolist()
    assert document["mover_rolls_to_first_off"] is None


def test_one_sided_json(capsys: Capture) -> None:
    document = ask(capsys, ONE)
    assert (document["table"], document["exact"]) == ("one-sided", False)
    assert document["cubeful"] is None
    assert "15 checkers left" in document["cubeful_missing"]
    probs = cubeless(parse_position(ONE).board[None])[0]
    assert document["probs"]["win"] == pytest.approx(float(probs[0]), abs=1e-7)
    assert document["equity"] == pytest.approx(
        2 * float(probs[0]) - 1 + float(probs[1]) - float(probs[3]), abs=1e-6
    )
    first_off = roll_chances(parse_position(ONE).board, first_off=True)
    for key, rolls in zip(("mover", "opp"), first_off, strict=True):
        mean = document[f"{key}_rolls_to_first_off"]["mean"]
        assert mean == pytest.approx(rolls.mean, abs=1e-5)
        assert 1 <= mean < document[f"{key}_rolls"]["mean"]
    assert document["mover_rolls"]["chances"][0] == 0
    assert sum(document["mover_rolls"]["chances"]) == pytest.approx(1, abs=1e-5)


def test_two_sided_text(capsys: Capture) -> None:
    document = ask(capsys, TWO)
    assert run("bearoff", TWO) == DONE
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert f"equity {document['equity']:+.4f} without a cube, exact" in out
    rows = {line[:14].strip("* "): line for line in out.splitlines() if line[2:9].strip()}
    centred = rows["centred"]
    assert centred.startswith("*")
    assert centred.endswith("double, take")
    assert [float(word) for word in centred.split()[2:5]] == [
        round(document["cubeful"]["centred"][name], 4)
        for name in ("no_double", "double_take", "double_pass")
    ]
    assert rows["with X"].endswith("no double, take")
    assert rows["with O"].endswith("may not double")
    means = next(line for line in out.splitlines() if "mean" in line)
    assert means.split() == ["mean", "2.711", "2.441"]


def test_one_sided_text(capsys: Capture) -> None:
    assert run("bearoff", ONE) == DONE
    out = capsys.readouterr().out
    assert "without a cube, if both sides play for the fewest rolls" in out
    assert "no equities with the cube: the mover has a checker on his point 7" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_cube_of_the_position_is_marked(capsys: Capture) -> None:
    assert run("bearoff", TWO.replace(":0:0:1:", ":1:1:1:")) == DONE
    marked = [line for line in capsys.readouterr().out.splitlines() if line.startswith("* ")]
    assert len(marked) == 1
    assert marked[0].startswith("* with X")


def test_what_is_not_looked_at_is_told(capsys: Capture) -> None:
    assert run("bearoff", TWO.replace(":00:0:0:0:0:", ":52:1:2:0:5:")) == DONE
    said = capsys.readouterr().err
    assert "before the roll; the 5-2 is not looked at" in said
    assert "the score of the match is not looked at" in said
    assert run("bearoff", TWO.replace(":00:0:0:0:0:", ":D:0:0:0:0:")) == DONE
    assert "a cube offer is waiting for its answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ("start", "the sides are in contact"),
        ("XGID=-AB------A--------------b-:0:0:1:00:0:0:0:0:10", "a checker on his point 9"),
        ("XGID=-AB-----------------------:0:0:1:00:0:0:0:0:10", "the game is over"),
    ],
)
def test_not_covered(position: str, words: str, capsys: Capture) -> None:
    assert run("bearoff", position) == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("nardi bearoff: error: ")
    assert "the tables of endings do not know this position" in captured.err
    assert words in captured.err


def test_many_positions(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, f"{TWO}\nstart\n\n{ONE}\n")
    assert run("bearoff", "-") == FAILED
    found = documents(capsys.readouterr().out)
    assert [document["line"] for document in found] == [1, 2, 4]
    assert found[1]["error_type"] == "PositionError"
    assert found[2]["table"] == "one-sided"


@pytest.mark.parametrize("words", [[], [TWO, "--build"]])
def test_a_position_or_build(words: list[str], capsys: Capture) -> None:
    assert run("bearoff", *words) == FAILED
    assert "either a POSITION or --build" in capsys.readouterr().err


def test_help_ends_with_a_line_to_paste(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("bearoff", "--help") == DONE
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("try: nardi bearoff XGID")
    assert run(*lines[-1].removeprefix("try: nardi ").split()) == DONE
    assert "double, take" in capsys.readouterr().out


def test_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture) -> None:
    arrays = tables.load_tables()
    monkeypatch.setenv("NARDI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tables, "build_arrays", lambda _: arrays)
    monkeypatch.setattr(tables, "_loaded", [])
    assert run("bearoff", "--build", "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    path = tmp_path / "bearoff-1.tables"
    assert document["file"] == str(path)
    assert 0 <= path.stat().st_size - document["bytes"] < 1000
    assert document["seconds"] >= 0
    assert run("bearoff", "--build") == DONE
    assert f"kept in {path}" in capsys.readouterr().out


def test_computing_is_told_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    arrays = tables.load_tables()

    def build(on_progress: Any) -> Any:
        on_progress(0, 924)
        on_progress(924, 924)
        return arrays

    monkeypatch.setenv("NARDI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tables, "build_arrays", build)
    monkeypatch.setattr(tables, "_loaded", [])
    exact_endings.prepare_tables()
    assert capsys.readouterr().err.count("computing exact endings") == 1
    exact_endings.prepare_tables()
    tables._loaded.clear()
    exact_endings.prepare_tables()
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_damaged_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bearoff-1.tables").write_bytes(b"nonsense")
    environment = os.environ | {"NARDI_CACHE_DIR": str(tmp_path)}
    words = ["-m", "nardi", "bearoff", TWO, "--json"]
    for expected in (1, 0):
        result = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert result.returncode == DONE
        assert result.stderr.count("nardi: warning: ") == expected, result.stderr
        assert "Traceback" not in result.stderr
        assert json.loads(result.stdout)["exact"]
