"""`nardi rollout`."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.rollout import Roller, Rollout, Start
from nardi.cli import DONE, FAILED, INTERRUPTED
from tests.command_line import Capture, documents, feed, run
from tests.nets import small_net_file
from tests.test_rollout import board_of

START = "XGID=-b----E-C---eE---c-e----B-"
QUICK = ("--trials", "36", "--truncate", "3", "--seed", "5")


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_net_file(tmp_path_factory.mktemp("nets"), {"games": 5}))


def ask(capsys: Capture, position: str, net: str, *more: str) -> dict[str, Any]:
    assert run("rollout", position, "--net", net, "--json", *QUICK, *more) == DONE
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_plays(net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", net, "--dice", "31", "--plays", "4")
    assert (document["count"], len(document["plays"])) == (16, 4)
    assert document["dice"] == [3, 1]
    assert (document["seed"], document["trials"], document["ended"]) == (5, 36, "trials")
    assert (document["ply"], document["truncate_plies"], document["luck"]) == (0, 3, True)
    equities = [play["equity"] for play in document["plays"]]
    assert equities == sorted(equities, reverse=True)
    for play in document["plays"]:
        assert play["diff"] == pytest.approx(play["equity"] - equities[0], abs=2e-6)
        assert play["stderr_equity"] > 0
        assert (play["stderr_diff"] > 0) == (play["diff"] < 0)
        assert play["ends"] == {"truncated": 36}
        assert list(play["probs"]) == list(play["stderr_probs"])
        assert not play["suspicious"]


def test_named_plays_have_the_same_figures(net: str, capsys: Capture) -> None:
    best = ask(capsys, "start", net, "--dice", "31", "--plays", "3")["plays"]
    words = ("--play", best[2]["play"], "--play", best[0]["play"], "--play", best[2]["play"])
    named = ask(capsys, "start", net, "--dice", "13", *words, "--threads", "3")["plays"]
    assert [play["play"] for play in named] == [best[0]["play"], best[2]["play"]]
    for old, new in zip((best[0], best[2]), named, strict=True):
        assert old["probs"] == new["probs"]
        assert old["equity"] == new["equity"]


def test_a_position_before_the_roll(net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", net)
    assert "plays" not in document
    assert document["double_take"] is None
    assert document["decision"] is None
    # A position of its own dice is not before the roll.
    assert "plays" in ask(capsys, f"{START}:0:0:1:31:0:0:0:0:10", net)


def test_the_cube(net: str, capsys: Capture) -> None:
    money = ask(capsys, f"{START}:0:0:1:00:0:0:3:0:10", net, "--cube")
    assert money["double_take"]["mwc"] is None
    assert money["decision"]["action"].endswith(("take", "pass"))
    gain = min(money["double_take"]["equity"], 1) - money["no_double"]["equity"]
    assert money["decision"]["gain"] == pytest.approx(gain, abs=2e-6)
    match = ask(capsys, f"{START}:0:0:1:00:3:2:0:7:10", net, "--cube")
    assert match["met"] == "Kazaross-XG2"
    assert 0 < match["no_double"]["mwc"] < 1
    crawford = ask(capsys, f"{START}:0:0:1:00:6:2:1:7:10", net, "--cube")
    assert crawford["double_take"] is None
    assert crawford["decision"]["action"] == "no cube decision"
    assert "Crawford" in crawford["decision"]["why_not"]
    plays = ask(capsys, f"{START}:0:0:1:31:3:2:0:7:10", net, "--cube")["plays"]
    assert all(0 < play["mwc"] < 1 for play in plays)


def test_text(net: str, capsys: Capture) -> None:
    for words in (
        ("start", "--dice", "31"),
        ("start",),
        (f"{START}:0:0:1:00:3:2:0:7:10", "--cube"),
    ):
        assert run("rollout", *words, "--net", net, *QUICK) == DONE
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 81
        document = ask(capsys, words[0], net, *words[1:])
        told = "\n".join(lines)
        first = document["plays"][0] if "plays" in document else document["no_double"]
        assert f"{first['equity']:+.3f}" in told or f"{first['equity']:+.4f}" in told
        assert "36 trials each, cut after 3 plies, plays at 0 ply, luck taken off, seed 5" in told
    assert "wins the match" in told
    assert "doubling gains" in told


def text_of(mover: dict[int, int], opponent: dict[int, int]) -> str:
    return " ".join(str(n) for n in board_of(mover, opponent))


def test_without_spread(net: str, capsys: Capture) -> None:
    # Two checkers on the ace point against fifteen at home: a gammon with any dice.
    decided = text_of({1: 2}, {6: 8, 5: 7})
    words = ("--net", net, "--no-luck", "--trials", "2", "--seed", "1")
    assert run("rollout", decided, *words) == DONE
    told = capsys.readouterr().out
    assert "decided: no dice can change the result" in told
    assert "+2.0000 ± 0.0000" in told
    # Fifteen at home against fifteen just outside: two trials alike prove nothing.
    likely = text_of({1: 8, 2: 7}, {8: 15})
    assert run("rollout", likely, *words, "--json") == DONE
    figures = json.loads(capsys.readouterr().out)["no_double"]
    assert figures["stderr_equity"] == 0
    assert figures["suspicious"]
    assert figures["settled"] is None
    assert run("rollout", likely, *words) == DONE
    assert "suspicious, all 2 trials" in capsys.readouterr().out
    exact = text_of({3: 2}, {4: 2})
    assert run("rollout", exact, *words, "--json") == DONE
    assert json.loads(capsys.readouterr().out)["no_double"]["settled"] == "exact"


def test_stopping_at_a_width(net: str, capsys: Capture) -> None:
    words = ("--net", net, "--seed", "5", "--truncate", "2", "--until-width", "0.5", "--json")
    assert run("rollout", "start", *words) == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["ended"] == "width"
    assert document["trials"] == 144


def test_a_seed_is_drawn_and_told(net: str, capsys: Capture) -> None:
    assert (
        run("rollout", "start", "--net", net, "--trials", "2", "--truncate", "2", "--json") == DONE
    )
    output = capsys.readouterr()
    assert f"nardi rollout: seed {json.loads(output.out)['seed']}\n" in output.err


def test_many_from_stdin(net: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, "start\nnonsense\n")
    assert run("rollout", "-", "--net", net, *QUICK) == FAILED
    first, second = documents(capsys.readouterr().out)
    assert first["trials"] == 36
    assert second["error_type"] == "NotationError"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("start", "--plays", "2"), "plays need a roll"),
        (("start", "--dice", "31", "--plays", "0"), "--plays is '0'"),
        (("start", "--dice", "31", "--plays", "2", "--play", "8/5"), "exclude each other"),
        (("start", "--dice", "31", "--play", "8/1"), "cannot be played"),
        (("start", "--trials", "0"), "trials '0'"),
        (("start", "--ply", "9"), "ply '9'"),
        (("start", "--until-width", "0"), "width '0.0'"),
        (("start", "--rules", "end_rule=last_chance_draw"), "last throw"),
        (("start", "--rules", "scoring=mars_homemars_koks_1234"), "four kinds of win"),
        (("XGID=-B------------------------:0:0:1:00:0:0:0:0:10",), "over"),
        ((f"{START}:0:0:1:D:0:0:0:0:10",), "waiting for its answer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals(words: tuple[str, ...], message: str, net: str, capsys: Capture) -> None:
    assert run("rollout", *words, "--net", net, "--seed", "1") == FAILED
    output = capsys.readouterr()
    assert message in output.err
    assert "Traceback" not in output.err
    assert output.out == ""


def test_a_missing_net(tmp_path: Path, capsys: Capture) -> None:
    assert run("rollout", "start", "--net", str(tmp_path / "none"), "--seed", "1") == FAILED
    assert "none" in capsys.readouterr().err


def test_ctrl_c_ends_with_the_figures_so_far(
    net: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = Roller.roll_out

    def stopped(roller: Roller, starts: Sequence[Start]) -> Iterator[Rollout]:
        yield next(played(roller, starts))
        raise KeyboardInterrupt

    monkeypatch.setattr(Roller, "roll_out", stopped)
    words = ("rollout", "start", "--net", net, "--truncate", "3", "--seed", "5", "--json")
    assert run(*words) == INTERRUPTED
    document = json.loads(capsys.readouterr().out)
    assert (document["trials"], document["ended"]) == (36, "interrupted")
    assert document["no_double"] == ask_once(capsys, monkeypatch, played, net)
    feed(monkeypatch, "start\nstart\n")
    monkeypatch.setattr(Roller, "roll_out", stopped)
    assert run("rollout", "-", "--net", net, "--truncate", "3", "--seed", "5") == INTERRUPTED
    assert capsys.readouterr().out == ""


def ask_once(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, played: Any, net: str
) -> dict[str, Any]:
    monkeypatch.setattr(Roller, "roll_out", played)
    figures: dict[str, Any] = ask(capsys, "start", net)["no_double"]
    return figures


def test_live_on_a_terminal(net: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    words = ("--net", net, "--seed", "5", "--truncate", "2", "--trials", "72")
    assert run("rollout", "start", "--dice", "31", *words) == DONE
    output = capsys.readouterr()
    first, second = output.err.split("36 of 72 trials\n")[1].split("72 of 72 trials\n")
    # Three plays with their errors, wiped before they are drawn again and in the end.
    for table in (first, second):
        assert table.count("±") >= 3
        assert table.endswith("\x1b[F\x1b[K" * 4)
    assert "\x1b" not in output.out
