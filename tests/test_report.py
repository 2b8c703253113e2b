"""Reports: the page's parts, plots, and what `nardi benchmark --report` writes of decisions."""

import json
from pathlib import Path

import numpy as np
import pytest

from eval.report.files import ReportFolderError, write_report
from eval.report.losses import spread
from eval.report.page import Html, escaped, facts, figure, note, page, section, table
from eval.report.texts import percent, with_error
from nardi.cli import DONE, FAILED
from nardi.reporting import net_of_bot, report_facts
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
    assert run(*words, "--report", str(tmp_path / "again")) == DONE
    first = (out / "report.html").read_bytes()
    assert (tmp_path / "again" / "report.html").read_bytes() == first


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
