"""`nardi compare`: run folders read back, the table, the JSON, the page, and what is refused."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eval.curves import Curves, RunFolderError, read_curves
from eval.report.runs import best, labels, thinned
from nardi.cli import DONE, FAILED, NO_READER
from tests.command_line import Capture, run
from tests.report_pages import parse

Row = dict[str, Any]


def a_round(games: int, seconds: float, loss: float | None = 1.2, **more: Any) -> Row:
    return {
        "games": games,
        "train/loss": loss,
        "train/race_loss": 0.3,
        "train/seconds": seconds,
        "selfplay/games_per_s": 1.0,
        "selfplay/plies_per_game": 50.0,
        **more,
    }


def a_check(games: int, ppg: float, pr: float | None = None, opponent: str = "pubeval") -> Row:
    row = {"games": games, f"eval/{opponent}_ppg": ppg, f"eval/{opponent}_stderr_ppg": 0.04}
    if pr is not None:
        row |= {"eval/yardstick_pr": pr, "eval/yardstick_stderr_pr": 0.5}
    return row


def a_run(folder: Path, rows: list[Row], settings: str = "seed = 1\n") -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if settings:
        (folder / "config.toml").write_text(settings)
    return folder


COURSE = [
    a_check(0, -2.5, 30.0),
    a_round(100, 10.0, 1.5),
    a_round(300, 20.0, None),
    a_check(300, 0.25, 9.0),
    a_round(500, 60.0, 1.1),
    a_check(500, 0.125, 8.0),
    a_round(600, 90.0, 1.0),
]


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return a_run(tmp_path / "one", COURSE)


def test_moments_and_checks(one: Path) -> None:
    curves = read_curves(one)
    assert [m.games for m in curves.moments] == [100, 300, 500, 600]
    assert [m.positions for m in curves.moments] == [5000, 15000, 25000, 30000]
    assert [check.moment.seconds for check in curves.checks] == [0.0, 20.0, 60.0]
    assert curves.last.games == 600
    assert curves.speeds().tolist() == [10, 20, 5, pytest.approx(100 / 30)]
    assert math.isnan(curves.loss[1])
    assert math.isnan(curves.last.cpu_seconds)
    assert curves.settings == {"seed": "1"}
    score = best(curves.course("pubeval"))
    assert score is not None
    assert (score[0].games, score[1]) == (300, (0.25, 0.04))
    lowest = best(curves.pr_course(), lowest=True)
    assert lowest is not None
    assert lowest[1].mean == 8.0


def test_cpu_time_is_read(tmp_path: Path) -> None:
    rows = [a_round(100, 10.0, **{"train/cpu_seconds": 18.0}), a_check(100, 0.1)]
    curves = read_curves(a_run(tmp_path / "run", rows))
    assert curves.checks[0].moment.on("cpu-minutes") == 0.3


def test_bins_keep_games_and_time(tmp_path: Path) -> None:
    rows = [a_round(10 * (i + 1), float((i + 1) ** 2), 1 + i / 100) for i in range(100)]
    curves = read_curves(a_run(tmp_path / "run", rows))
    bins = thinned(curves, most=7)
    assert len(bins) == 7
    assert bins[-1].moment == curves.last
    seconds = [each.moment.seconds for each in bins]
    games = [each.moment.games for each in bins]
    spans = [end - start for start, end in zip([0, *seconds], seconds, strict=False)]
    played = [speed.games_per_s * span for speed, span in zip(bins, spans, strict=True)]
    steps = [end - start for start, end in zip([0, *games], games, strict=False)]
    assert played == pytest.approx(steps)
    assert bins[0].loss == pytest.approx(1 + sum(range(15)) / 15 / 100)
    assert len(thinned(curves, most=1000)) == 100


def test_line_being_written_is_left_out(one: Path) -> None:
    before = read_curves(one)
    with (one / "metrics.jsonl").open("a") as stream:
        stream.write('{"games": 700, "train/lo')
    assert read_curves(one).last == before.last


def test_labels() -> None:
    assert labels([Path("a/x"), Path("b/y")]) == ["x", "y"]
    assert labels([Path("a/x"), Path("b/x"), Path("b/y")]) == ["a/x", "b/x", "y"]
    assert labels([Path("/")]) == ["/"]
    assert labels([Path("a"), Path("b/../a")]) == ["a", "a"]  # one run, which is told once


def test_a_label_is_the_name_that_was_given(one: Path, tmp_path: Path) -> None:
    link = tmp_path / "newest"
    link.symlink_to(one)
    assert labels([link]) == ["newest"]


def test_table(one: Path, tmp_path: Path, capsys: Capture) -> None:
    other = a_run(tmp_path / "other", [a_round(1000, 60.0, 1.25), a_check(1000, 0.5)])
    assert run("compare", str(one), str(other)) == DONE
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert ["one", "600", "1.5", "30,000", "7", "1.0000"] in lines
    assert ["other", "1,000", "1.0", "50,000", "17", "1.2500"] in lines
    assert ["one", "+0.125", "±", "0.040", "500", "+0.250", "±", "0.040", "300"] in lines
    assert ["one", "8.00", "±", "0.50", "500", "8.00", "±", "0.50", "500"] in lines
    assert "CPU-min" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert err == ""


def test_json(one: Path, capsys: Capture) -> None:
    assert run("compare", str(one), "--json") == DONE
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert (found["name"], found["run"]) == ("one", str(one))
    assert (found["games"], found["positions"], found["seconds"]) == (600, 30000, 90.0)
    assert found["cpu_seconds"] is None
    assert found["loss"] == 1.0
    scores = found["scores"]["pubeval"]
    assert scores["last"] == {"games": 500, "seconds": 60.0, "ppg": 0.125, "stderr_ppg": 0.04}
    assert scores["best"]["games"] == 300
    assert found["pr"]["best"] == {"games": 500, "seconds": 60.0, "pr": 8.0, "stderr_pr": 0.5}
    assert [check["games"] for check in found["checks"]] == [0, 300, 500]
    assert found["checks"][0]["pr"] == {"pr": 30.0, "stderr_pr": 0.5}
    assert [each["loss"] for each in found["rounds"]] == [1.5, None, 1.1, 1.0]


def test_a_run_without_a_measured_net(tmp_path: Path, capsys: Capture) -> None:
    path = a_run(tmp_path / "run", [a_round(100, 10.0)], settings="")
    assert run("compare", str(path)) == DONE
    assert "No net has been measured yet." in capsys.readouterr().out


def test_a_run_before_its_first_round(tmp_path: Path, capsys: Capture) -> None:
    path = a_run(tmp_path / "run", [a_check(0, -2.0)])
    assert run("compare", str(path)) == DONE
    assert ["run", "0", "0.0", "0", "-", "-"] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]


def test_the_same_run_twice_is_one(one: Path, capsys: Capture) -> None:
    assert run("compare", str(one), str(one), "--json") == DONE
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 1


FAULTS: list[tuple[str, bytes, str]] = [
    ("not-json", b"weights\n", "line 1: this is no JSON"),
    ("binary", b"\x89PNG\r\n\x1a\n\x00\xff\n", "line 1: this is no JSON"),
    ("no-object", b"[1, 2]\n", "line 1: this is no JSON object"),
    ("deep", b"[" * 100_000 + b"\n", "line 1: this is no JSON"),
    ("no-games", b'{"step": 3}\n', "line 1: it has no 'games'"),
    ("odd-games", b'{"games": true}\n', "line 1: it has no 'games'"),
    ("huge-games", b'{"games": 1' + b"0" * 400 + b"}\n", "line 1: it has no 'games'"),
    ("backwards", b'{"games": 5, "train/loss": 1, "train/seconds": 2,'
     b' "selfplay/plies_per_game": 3}\n{"games": 4}\n', "line 2: games go back from 5 to 4"),
    ("no-time", b'\n{"games": 5, "train/loss": 1}\n', "line 2: it has no 'train/seconds'"),
    ("word", b'{"games": 0, "eval/x_ppg": "high"}\n', "line 1: 'eval/x_ppg' is no number"),
    ("infinite", b'{"games": 0, "eval/x_ppg": 1e999}\n', "'eval/x_ppg' is out of range"),
    ("nan", b'{"games": 0, "eval/x_ppg": NaN}\n', "line 1: this is no JSON"),
    ("error", b'{"games": 0, "eval/x_ppg": 1, "eval/x_stderr_ppg": -1}\n', "is negative"),
    ("empty", b"", "holds no metrics yet"),
    ("foreign", b'{"games": 3, "accuracy": 0.5}\n', "holds no metrics yet"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "fault"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS]
)
def test_damaged(content: bytes, fault: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(content)
    assert run("compare", str(tmp_path)) == FAILED
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"nardi compare: error: '{tmp_path}/metrics.jsonl'")
    assert fault in err


def test_foreign_folders(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for path, fault in [
        (tmp_path / "none", "does not exist"),
        (tmp_path, "it has no 'metrics.jsonl'"),
        (file, "is no folder"),
    ]:
        assert run("compare", str(path)) == FAILED
        assert fault in capsys.readouterr().err
    a_run(tmp_path / "bad", COURSE, settings="seed = \n")
    with pytest.raises(RunFolderError, match=r"config\.toml' is damaged"):
        read_curves(tmp_path / "bad")


def test_axis_needs_a_report(one: Path, capsys: Capture) -> None:
    assert run("compare", str(one), "--x", "games") == FAILED
    assert "--x goes with --report only" in capsys.readouterr().err


# --- the page ---


def test_page(one: Path, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    odd = a_run(tmp_path / "_<b>&$x$", COURSE[:4], settings='seed = 2\nname = "</table>"\n')
    out = tmp_path / "new" / "report"
    words = ["compare", str(one), str(odd), "--report", str(out), "--x", "games"]
    assert run(*words) == DONE
    assert f"the report is {out}/report.html" in capsys.readouterr().err
    text = (out / "report.html").read_text(encoding="utf-8")
    page = parse(text)
    assert page.texts["title"] == ["Training runs compared"]
    assert ["one", "600", "1.5", "–", "0.03", "7", "1.0000"] in page.rows
    assert ["one", "+0.125 ± 0.040", "500", "1.0", "+0.250 ± 0.040", "300", "0.3"] in page.rows
    assert ["setting", "one", "_<b>&$x$"] in page.rows
    assert ["name", "–", '"</table>"'] in page.rows
    assert len(page.texts["svg"]) == len(page.texts["figcaption"]) == 3
    for drawn in page.texts["svg"]:
        assert "one" in drawn
        assert "_<b>&$x$" in drawn
    captions = " ".join(page.texts["figcaption"])
    assert "95 % intervals" in captions
    document = json.loads((out / "report.json").read_text())
    assert document["command"].startswith(f"nardi compare {one} ")
    assert [each["name"] for each in document["runs"]] == ["one", "_<b>&$x$"]


def test_page_again_is_the_same_and_keeps_other_files(one: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    out = tmp_path / "report"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    (out / "report.html").write_text("old")
    words = ["compare", str(one), "--report", str(out), "--x", "positions"]
    assert run(*words) == DONE
    first = (out / "report.html").read_bytes()
    assert b"positions learned from" in first
    assert b"minutes of training</text>" not in first
    assert run(*words) == DONE
    assert (out / "report.html").read_bytes() == first
    assert sorted(path.name for path in out.iterdir()) == ["mine.txt", "report.html", "report.json"]
    page = parse(first.decode())
    assert page.texts["title"] == ["Training run one"]


def test_page_of_little(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    from eval.report.runs import runs_page

    runs: dict[str, Curves] = {}
    for name, rows in {
        "first check": [a_check(0, -2.0)],
        "one round": [a_round(100, 10.0, None)],
        "lost value": [{"games": 0, "eval/pubeval_ppg": None}, a_round(50, 0.0)],
        "other": [a_round(100, 10.0), a_check(100, 2.0, opponent="random")],
    }.items():
        runs[name] = read_curves(a_run(tmp_path / name, rows, settings=""))
    page = parse(runs_page(runs, ["minutes", "cpu-minutes"], []))
    assert ["lost value", *["–"] * 6] in page.rows


def test_report_folder_that_cannot_be_made(one: Path, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    (tmp_path / "file").write_text("")
    assert run("compare", str(one), "--report", str(tmp_path / "file" / "x")) == FAILED
    assert "cannot be made" in capsys.readouterr().err


def test_without_matplotlib(
    one: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run("compare", str(one), "--report", str(tmp_path / "report")) == FAILED
    out, err = capsys.readouterr()
    assert "pip install 'nardi[report]'" in err
    assert out == ""
    assert not (tmp_path / "report").exists()
    assert run("compare", str(one)) == DONE


def test_a_reader_that_goes_away_does_not_cost_the_page(one: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    reading, writing = os.pipe()
    os.close(reading)
    out = tmp_path / "report"
    words = ["compare", str(one), "--report", str(out), "--x", "games"]
    with os.fdopen(writing, "wb") as nowhere:
        done = subprocess.run(
            [sys.executable, "-m", "nardi", *words],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)},
            stdout=nowhere,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == NO_READER, done.stderr
    assert (out / "report.html").is_file()
