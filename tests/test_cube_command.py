"""`nardi cube` and `nardi met`."""

import json
from pathlib import Path
from typing import Any

import pytest

from nardi.cli import DONE, FAILED
from tests.command_line import Capture, documents, feed, run
from tests.nets import small_net_file

START = "XGID=-b----E-C---eE---c-e----B-"
MONEY = f"{START}:0:0:1:00:0:0:3:0:10"
MATCH = f"{START}:0:0:1:00:3:2:0:7:10"


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_net_file(tmp_path_factory.mktemp("nets"), {"games": 5}))


def ask(capsys: Capture, position: str, net: str, *more: str) -> dict[str, Any]:
    assert run("cube", position, "--net", net, "--json", *more) == DONE
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_json_of_money(net: str, capsys: Capture) -> None:
    document = ask(capsys, MONEY, net)
    decision = document["decision"]
    assert (document["met"], document["ply"], decision["mwc"]) == (None, 2, None)
    assert (decision["kind"], decision["decider"]) == ("double", "mover")
    equities = decision["equities"]
    assert list(equities) == ["no_double", "double_take", "double_pass", "double_beaver"]
    assert equities["double_pass"] == 1
    best = min(value for name, value in equities.items() if name != "no_double")
    assert decision["double"] == (best >= equities["no_double"])
    assert decision["equity"] == pytest.approx(max(best, equities["no_double"]), abs=2e-6)
    assert decision["margin"] == pytest.approx(abs(best - equities["no_double"]), abs=2e-6)
    assert decision["cash_point"] == pytest.approx(1 - decision["take_point"], abs=2e-6)
    assert decision["gammon_value_doubled"] == {"mover": 0.5, "opponent": 0.5}
    assert decision["gammon_value"] == {"mover": 0, "opponent": 0}  # Jacoby's rule
    assert document["rules"]["jacoby"]


def test_json_of_a_match(net: str, capsys: Capture) -> None:
    document = ask(capsys, MATCH, net)
    decision = document["decision"]
    assert document["met"] == "Kazaross-XG2"
    assert decision["mwc"]["double_pass"] == pytest.approx(0.64795)  # 3-away/5-away
    assert decision["mwc"]["double_beaver"] is None
    assert 0 < decision["mwc"]["no_double"] < 1


def test_text(net: str, capsys: Capture) -> None:
    for position in (MONEY, MATCH, f"{START}:1:1:1:00:3:2:0:7:10"):
        document = ask(capsys, position, net)
        assert run("cube", position, "--net", net) == DONE
        lines = capsys.readouterr().out.splitlines()
        assert max(len(line) for line in lines if net not in line) <= 80
        text = "\n".join(lines)
        assert f"X: {document['decision']['action']}, by " in text
        for name in ("no_double", "double_take", "double_pass"):
            assert f"{document['decision']['equities'][name]:+.3f}" in text
        assert ("wins the match" in text) == (document["met"] is not None)


def test_a_pending_double_is_answered(net: str, capsys: Capture) -> None:
    offered = ask(capsys, f"{START}:0:0:1:D:0:0:3:0:10", net)["decision"]
    free = ask(capsys, MONEY, net)["decision"]
    assert (offered["kind"], offered["decider"]) == ("answer", "opponent")
    assert offered["action"] == free["answer"]
    assert offered["equities"] == free["equities"]
    assert run("cube", f"{START}:0:0:1:D:0:0:3:0:10", "--net", net) == DONE
    text = capsys.readouterr().out
    assert f"O: {offered['action']}, by" in text
    assert "no double" not in text


def test_no_decision_is_told(net: str, capsys: Capture) -> None:
    """The cube belongs to the other, the Crawford game, the largest cube: told, with the value."""
    for cube, reason in (
        ("1:-1:1:00:0:0:0:0:10", "the opponent owns the cube"),
        ("0:0:1:00:4:0:1:5:10", "nobody may double in the Crawford game"),
        ("10:1:1:00:0:0:0:0:10", "cannot go beyond 1024"),
    ):
        decision = ask(capsys, f"{START}:{cube}", net)["decision"]
        assert decision["action"] == "no cube decision"
        assert reason in decision["why_not"]
        assert decision["equities"]["double_take"] is None
        assert run("cube", f"{START}:{cube}", "--net", net) == DONE
        assert f"X: no cube decision: {decision['why_not']}" in capsys.readouterr().out
    decision = ask(capsys, f"{START}:0:0:1:00:4:2:0:5:10", net)["decision"]
    assert "the cube is dead" in decision["why_not"]
    assert decision["action"].startswith("no double, ")


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (f"{START}:0:0:1:31:0:0:0:0:10", "the 3-1 is thrown, and doubling comes before the roll"),
        ("XGID=--------------------------:0:0:1:00:0:0:0:0:10", "the game is over"),
        (f"{START}:0:0:1:00:0:5:1:0:10", ""),
    ],
    ids=["dice", "over", "score"],
)
def test_what_is_no_time_to_double(position: str, message: str, net: str, capsys: Capture) -> None:
    code = run("cube", position, "--net", net)
    captured = capsys.readouterr()
    assert code == (FAILED if message else DONE)
    assert message in captured.err


def test_rules_and_tables(net: str, capsys: Capture, tmp_path: Path) -> None:
    plain = ask(capsys, MONEY, net)["decision"]["equities"]
    single = ask(capsys, MONEY, net, "--rules", "mars_with_cube=false")["decision"]["equities"]
    assert single != plain
    assert run("met", "--length", "9", "--gammon-rate", "0.1", "--json") == DONE
    path = tmp_path / "met.json"
    path.write_text(capsys.readouterr().out)
    other = ask(capsys, MATCH, net, "--met", str(path))
    assert other["met"] == "computed, gammon rate 0.1"
    assert other["decision"]["mwc"] != ask(capsys, MATCH, net)["decision"]["mwc"]
    assert run("cube", MATCH, "--net", net, "--met", str(tmp_path / "none.json")) == FAILED
    assert "cannot be read" in capsys.readouterr().err


def test_many_positions(net: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, f"{MONEY}\n{START}:0:0:1:31:0:0:0:0:10\n{MATCH}\n{MONEY}\n")
    assert run("cube", "-", "--net", net) == FAILED
    first, refused, score, last = documents(capsys.readouterr().out)
    assert first["decision"] == last["decision"] != score["decision"]
    assert refused["error_type"] == "PositionError"


def test_beavers_are_answered(net: str, capsys: Capture) -> None:
    decision = ask(capsys, f"{START}:1:-1:1:B:0:0:3:0:10", net)["decision"]
    assert decision["kind"] == "beaver"
    accept, decline = decision["equities"]["accept"], decision["equities"]["decline"]
    assert decline == -1
    assert decision["action"].startswith("accept" if accept >= decline else "decline")
    assert run("cube", f"{START}:1:-1:1:R:0:0:3:0:10", "--net", net) == FAILED
    assert "raccoons" in capsys.readouterr().err


def test_met_shows_the_table(capsys: Capture) -> None:
    assert run("met") == DONE
    text = capsys.readouterr().out
    assert text.startswith("Kazaross-XG2: percent")
    assert "  50.0 67.7 75.1 81.4" in text
    assert "post  50.0 48.8 32.3 31.0" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert run("met", "--length", "32", "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["name"] == "Kazaross-XG2, extended"
    assert len(document["pre"]) == len(document["post"]) == 32
    assert document["difference"] is None


def test_met_computes_a_table(capsys: Capture) -> None:
    assert run("met", "--length", "5", "--gammon-rate", "0.26", "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["pre"][1][0] == pytest.approx(0.315)
    assert document["difference"]["from"] == "Kazaross-XG2"
    assert 0 < document["difference"]["rms_percent"] < document["difference"]["max_percent"] < 2
    assert run("met", "--length", "5", "--gammon-rate", "0.26") == DONE
    assert "from Kazaross-XG2: at most" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--length", "0"], "accepted: 1 to 200"),
        (["--gammon-rate", "2"], "gammon rate '2.0' does not fit; accepted: 0 to 1"),
        (["--gammon-rate", "0.2", "--met", "x"], "exclude each other"),
    ],
    ids=["length", "rate", "both"],
)
def test_met_refuses(words: list[str], message: str, capsys: Capture) -> None:
    assert run("met", *words) == FAILED
    assert message in capsys.readouterr().err
