"""Reports: the page's parts, plots, and what `nardi benchmark --report` writes of decisions."""

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from engine.rules import INTERNATIONAL
from eval.duel import Duel, Side, Standing
from eval.lockstep import Work
from eval.report.duels import share_error
from eval.report.files import ReportFolderError, write_report
from eval.report.leagues import league_lead, league_sections
from eval.report.losses import spread
from eval.report.page import Html, escaped, facts, figure, note, page, section, table
from eval.report.texts import percent, with_error
from eval.stats import Estimate
from eval.stopping import StopRule
from nardi.cli import DONE, FAILED
from nardi.reporting import command_words, net_of_bot, report_facts
from tests.command_line import Capture, run
from tests.decision_files import made_up_decisions, made_up_positions, write_lines
from tests.report_pages import parse


def test_texts_are_escaped_once() -> None:
    assert escaped("a<b> & \"c\" 'd'\x00") == "a&lt;b&gt; &amp; &quot;c&quot; &#x27;d&#x27;\ufffd"
    assert escaped(escaped("a < b")) == "a &lt; b"
    assert escaped(Html("<b>")) == "<b>"


def test_page_is_valid_whatever_the_texts() -> None:
    odd = '</title><script src="//x.y">&amp;</td>'
    text = page(
        odd,
        odd,
        section(odd, table([odd, "n"], [[odd, odd]], caption=odd), note(odd), facts([(odd, odd)])),
        figure(Html("<svg></svg>"), odd),
    )
    safe = text.replace(escaped(odd), "")
    assert "script" not in safe
    # The text itself has what a page must not refer to, so it is looked for as text.
    found = parse(text.replace("//x.y", "xy").replace("&lt;script", "&lt;x"))
    assert found.rows[1][1].startswith("</title>")


def test_numbers_stand_right() -> None:
    text = table(["name", "count", "play"], [["a", "1", "8/5"]], texts=[2])
    assert '<th scope="row">a</th><td class="n">1</td><td>8/5</td>' in text


def test_number_texts() -> None:
    assert with_error(0.5, 0.25, 2, "+") == "+0.50 ± 0.25"
    assert with_error(0.5, float("nan"), 1) == "0.5"
    assert with_error(float("nan"), 0.1, 1) == "–"
    assert percent(0.125, 0.01) == "12.5 ± 1.0 %"


def test_spread() -> None:
    shares = spread(np.array([0.0, 0.01, 0.04, 0.15]))
    found = {share.loss: share for share in shares}
    assert found[0.01].of_decisions == 0.75
    assert found[0.05].of_loss == pytest.approx(0.15 / 0.2)
    assert found[0.2].of_decisions == 0
    assert all(share.of_loss == 0 for share in spread(np.zeros(3)))


def test_files_are_written_or_left_as_they_were(tmp_path: Path) -> None:
    path = write_report(tmp_path / "a" / "b", "page", {"x": 1})
    assert path.read_text() == "page"
    with pytest.raises(ValueError, match="JSON"):
        write_report(tmp_path / "a" / "b", "new", {"x": float("nan")})
    assert path.read_text() == "page"
    (tmp_path / "c" / "report.html").mkdir(parents=True)
    with pytest.raises(ReportFolderError, match="cannot be written"):
        write_report(tmp_path / "c", "page", {})


def test_facts_of_nets() -> None:
    shipped = net_of_bot("net@0")
    assert shipped is not None
    assert shipped["file"] == "nardi.safetensors"
    assert len(shipped["sha256"]) == 64
    path = Path(__file__).parent.parent / "checkpoints" / "nardi.safetensors"
    named = net_of_bot(f"net:{path}@0")
    assert named is not None
    assert named["sha256"] == shipped["sha256"]
    for depth in ("@2", "@0.5s", "@3s"):
        assert net_of_bot(f"net:{path}{depth}") == named
    assert net_of_bot("pubeval") is None


def test_command_can_be_pasted() -> None:
    command = report_facts(["benchmark", "net:a b.safetensors", "x;y"]).command
    assert command == "nardi benchmark 'net:a b.safetensors' 'x;y'"


# --- decisions and positions ---


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(4)
    write_lines(folder / "decisions.jsonl", made_up_decisions(rng, 60))
    write_lines(folder / "positions.jsonl", made_up_positions(rng, 40))
    return folder


def test_measures(data: Path, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    words = ["benchmark", "net", "--decisions", str(data / "decisions.jsonl")]
    words += ["--positions", str(data / "positions.jsonl"), "--worst", "3"]
    out = tmp_path / "report"
    assert run(*words, "--report", str(out), "--json") == DONE
    stdout, err = capsys.readouterr()
    assert f"the report is {out}/report.html" in err
    printed = json.loads(stdout)
    document = json.loads((out / "report.json").read_text())
    assert document["command"] == "nardi " + " ".join(words)
    assert {key: document[key] for key in printed} == printed
    assert document["nets"]["net"]["file"] == "nardi.safetensors"
    assert len(document["loss_distribution"]["a"]) == 9

    page = parse((out / "report.html").read_text(encoding="utf-8"))
    figures = printed["decisions"]["a"]["all"]
    share = percent(figures["best_share"], figures["stderr_best_share"])
    loss = with_error(figures["loss_ppg"], figures["stderr_loss_ppg"], 4)
    pr = with_error(figures["pr"], figures["stderr_pr"], 2)
    assert ["all", "60", loss, pr, share] in page.rows
    values = printed["positions"]["a"]["values"]["win"]
    rmse = with_error(values["rmse"], values["stderr_rmse"], 4)
    bias = with_error(values["bias"], values["stderr_bias"], 4, "+")
    assert ["win", rmse, bias] in page.rows
    assert len(page.texts["pre"]) == 3
    for drawn, miss in zip(page.texts["pre"], printed["decisions"]["a"]["worst"], strict=True):
        assert miss["gnuid"] in drawn
        assert miss["best_play"] in drawn
        assert "+13-14-15-16-17-18" in drawn
    assert len(page.texts["svg"]) == len(page.texts["figcaption"]) == 4
    drawn_phases = page.texts["svg"][0]
    for phase, loss_of in printed["decisions"]["a"]["phases"].items():
        assert f"{phase} ({loss_of['count']})" in drawn_phases


@pytest.mark.parametrize("bots", [("pip-greedy",), ("pip-greedy", "pubeval")])
def test_decisions_of_the_cube(bots: tuple[str, ...], tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    out = tmp_path / "report"
    words = ["benchmark", *bots, "--decisions", "bearoff-cube", "--worst", "2"]
    assert run(*words, "--report", str(out), "--json") == DONE
    printed = json.loads(capsys.readouterr().out)["cube_decisions"]
    document = json.loads((out / "report.json").read_text())
    assert document["cube_decisions"] == printed
    assert document["loss_distribution"] is None
    page = parse((out / "report.html").read_text(encoding="utf-8"))
    for key, bot in zip("ab", bots, strict=False):
        for kind, name in (("double", "doubling"), ("answer", "answers")):
            figures = printed[key][kind]
            share = percent(figures["best_share"], figures["stderr_best_share"])
            loss = with_error(figures["loss_ppg"], figures["stderr_loss_ppg"], 4)
            pr = with_error(figures["pr"], figures["stderr_pr"], 2)
            assert [bot, name, loss, pr, share] in page.rows
            assert f"{bot} has a PR of {pr} in {name}" in page.texts["p"][0]
    misses = [miss for key in "ab"[: len(bots)] for miss in printed[key]["worst"]]
    assert len(misses) == 2 * len(bots)
    for drawn, miss in zip(page.texts["pre"], misses, strict=True):
        assert miss["gnuid"] in drawn
        assert f"it says {miss['action']}; best is {miss['best_action']}" in drawn
    paired = [row for row in page.rows if row[0] == "difference"]
    assert len(paired) == (2 if len(bots) == 2 else 0)


def test_two_bots_of_one_name(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    out = tmp_path / "report"
    words = ["benchmark", "pubeval", "pubeval", "--decisions", str(data / "decisions.jsonl")]
    assert run(*words, "--report", str(out)) == DONE
    page = parse((out / "report.html").read_text(encoding="utf-8"))
    assert page.texts["h1"] == ["A: pubeval and B: pubeval compared"]
    (row,) = [row for row in page.rows if row[0] == "all"]
    assert row[2] == row[3]
    assert row[4] == "+0.00 ± 0.00"


def test_folder_is_tried_before_anything_is_measured(
    data: Path, tmp_path: Path, capsys: Capture
) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    (tmp_path / "file").write_text("")
    words = ["benchmark", "pubeval", "--decisions", str(data / "decisions.jsonl")]
    assert run(*words, "--report", str(tmp_path / "file")) == FAILED
    out, err = capsys.readouterr()
    assert out == ""
    assert "cannot be made" in err


# --- duels ---


@pytest.fixture
def duel() -> Duel:
    """A made-up duel, with luck."""
    curve = [
        Standing(
            n,
            Estimate(mean=m, stderr=2 / n**0.5, n=n // 2),
            Estimate(mean=m + 0.01, stderr=s, n=n),
        )
        for n, m, s in [(16, 1.5, 0.2), (100, 0.3, 0.09), (400, 0.25, 0.04)]
    ]
    return Duel(
        a=Side(bot="<a>", win=0.6, gammon=0.25, backgammon=0.0, work=Work(1000, 0.5, 20_000)),
        b=Side(bot="b", win=0.4, gammon=0.1, backgammon=0.01, work=Work(900, 0.1, None)),
        ppg=curve[-1].ppg,
        adjusted=curve[-1].adjusted,
        luck_net="net",
        n_games=400,
        n_unfinished=2,
        points={-3: 4, -2: 36, -1: 120, 1: 140, 2: 100},
        curve=tuple(curve),
        seed=5,
        rules=INTERNATIONAL,
        paired=True,
        stop=StopRule(),
        ended="width",
        fault=None,
        n_from_file=0,
        seconds=2.0,
    )


def test_duel_page(duel: Duel) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    from eval.report.duels import duel_lead, duel_sections

    found = parse(page("t", duel_lead(duel), *duel_sections(duel)))
    assert found.texts["p"][0] == (
        "<a> scores +0.260 ± 0.040 points per game against b, less the luck of the dice, in 400"
        " games."
    )
    assert ["as played", "+0.2500 ± 0.1000", "+0.054 to +0.446"] in found.rows
    assert ["less the luck", "+0.2600 ± 0.0400", "+0.182 to +0.338"] in found.rows
    wins = ["60.0 ± 2.4 %", "25.0 ± 2.2 %", "0.0 ± 0.0 %"]
    assert ["<a>", *wins, "1,000", "500", "40,000"] in found.rows
    notes = " ".join(found.texts["p"])
    assert "2.5 times smaller here, which is worth 6 times the games" in notes
    assert "2 games were given up" in notes
    assert "interval was narrow enough" in notes
    course, results = found.texts["svg"]
    assert "less the luck" in course
    shares = ["1.0", "9.0", "30.0", "35.0", "25.0"]
    assert [word for word in results.split() if word in shares] == shares
    assert "−3" in results
    again = parse(page("t", duel_lead(duel), *duel_sections(duel)))
    assert again.texts == found.texts


def test_share_error() -> None:
    assert share_error(50, 100) == pytest.approx(0.05)
    assert share_error(0, 100) == 0


def test_duel_command(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    out = tmp_path / "report"
    words = ["benchmark", "pubeval", "pip-greedy", "--games", "40", "--seed", "3"]
    assert run(*words, "--report", str(out), "--json", "--workers", "1") == DONE
    printed = json.loads(capsys.readouterr().out)
    document = json.loads((out / "report.json").read_text())
    assert document["command"] == "nardi " + " ".join(words)
    assert {key: document[key] for key in printed} == printed
    assert document["nets"] == {}
    assert document["curve"][-1]["ppg"] == printed["ppg"]
    page = parse((out / "report.html").read_text(encoding="utf-8"))
    assert page.texts["h1"] == ["pubeval against pip-greedy"]
    assert ["seed", "3"] in page.rows


def test_command_words() -> None:
    args = argparse.Namespace(
        command="benchmark",
        a="x",
        b=None,
        games=None,
        worst=0,
        decided=True,
        luck_net=Path("f"),
        x=["p", "q"],
        json=True,
        workers=3,
        seed=None,
    )
    words = command_words(args, ["a", "b"], seed=7)
    assert words[:2] == ["benchmark", "x"]
    given = "--worst 0 --decided --luck-net f --x p --x q --seed 7"
    assert words[2:] == given.split()


# --- round robins ---


def test_league() -> None:
    pytest.importorskip("matplotlib", reason="reports need matplotlib")

    def known(mean: float, stderr: float) -> Estimate:
        return Estimate(mean=mean, stderr=stderr, n=10)

    bots = ["weak", "<strong>", "middle"]
    ratings = [known(-0.5, 0.02), known(0.4, 0.03), known(0.1, 0.01)]
    scores = {(0, 1): known(-0.875, 0.05), (1, 2): known(0.25, 0.04)}
    text = page("t", league_lead(bots, ratings), *league_sections(bots, ratings, scores))
    found = parse(text)
    assert found.texts["p"][0].startswith("<strong> is first of 3 with a rating of +0.400 ± 0.030")
    assert found.rows[1:4] == [
        ["1. <strong>", "+0.4000 ± 0.0300"],
        ["2. middle", "+0.1000 ± 0.0100"],
        ["3. weak", "-0.5000 ± 0.0200"],
    ]
    assert found.rows[5:] == [
        ["1. <strong>", "–", "+0.250 ± 0.040", "+0.875 ± 0.050"],
        ["2. middle", "-0.250 ± 0.040", "–", "–"],
        ["3. weak", "-0.875 ± 0.050", "–", "–"],
    ]
    drawn = found.texts["svg"][0].split()
    assert drawn.index("<strong>") < drawn.index("middle") < drawn.index("weak")
