"""`nardi best-move`: ranked plays by a net, as text and as JSON, and what it refuses."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent import evaluator as evaluator_module
from agent.checkpoint import save_net
from agent.evaluator import Evaluator, load_evaluator, swap_sides
from agent.net import ValueNet
from agent.ranking import plays_like_international, rank_plays
from engine.board import START, flip
from engine.dice import ROLLS
from engine.moves import legal_afterstates, legal_plays, play_steps
from engine.notation import parse_play, parse_position
from engine.rules import ARENA, CAUCASIAN, INTERNATIONAL, Rules, parse_rules
from engine.scoring import outcome_mask
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, documents, feed, python, run
from tests.nets import SMALL, random_net, small_net_file
from tests.strategies import HOUSE_RULES, mixed_boards

XGID_DICE = "XGID=-b----E-C---eE---c-e----B-:0:0:1:52:0:0:3:0:10"
RESIGNED = "4HPwATDgc/ABMA:cCEAAAAAAAAE"
CLOSED = "0 0 0 0 0 0 5 0 0 0 0 0 0 0 0 0 0 0 0 -2 -2 -2 -2 -2 -2 1"
# With 6-2 the checkers on 10 hit on 8 and could go on to 2, but not under the Caucasian rules.
HIT_AND_HIDE = "0 0 2 0 0 0 0 0 -1 0 2 0 0 0 0 0 0 0 0 -2 0 0 0 0 0 0"
PROBS = ["win", "win_gammon", "win_bg", "lose_gammon", "lose_bg"]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a small random net."""
    facts = {
        "games": 12_000,
        "commit": "0123abc",
        "strength": {"pubeval": {"ppg": -0.25, "stderr_ppg": 0.02, "games": 1000}},
    }
    return str(small_net_file(tmp_path_factory.mktemp("nets"), facts))


def ask(capsys: Capture, *words: str, ply: str = "0") -> dict[str, Any]:
    """The document that `nardi best-move ... --json` prints."""
    assert run("best-move", *words, "--ply", ply, "--json") == DONE
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def equity_of(probs: dict[str, float]) -> float:
    win, win_gammon, win_bg, lose_gammon, lose_bg = probs.values()
    return 2 * win - 1 + win_gammon + win_bg - lose_gammon - lose_bg


# --- JSON ---


def test_json(net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", "--dice", "31", "--net", net, "--top", "99")
    assert document["dice"] == document["position"]["dice"] == [3, 1]
    assert document["rules"] == INTERNATIONAL.as_dict()
    assert document["net"] == {
        "name": f"net:{net}",
        "rules": "international",
        "games": 12_000,
        "commit": "0123abc",
        "strength": {"pubeval": {"ppg": -0.25, "stderr_ppg": 0.02, "games": 1000}},
    }
    assert (document["met"], document["filter"]) == (None, "normal")
    assert document["time_per_move_s"] is None
    plays = document["plays"]
    assert document["count"] == len(plays) == 16
    legal = legal_afterstates(START, (3, 1)).tolist()
    assert sorted(play["afterstate"] for play in plays) == legal
    for play in plays:
        assert list(play["probs"]) == PROBS
        assert play["ply"] == 0
        assert play["equity_cubeless"] == pytest.approx(equity_of(play["probs"]), abs=1e-6)
        assert play["mwc"] is None
        assert play["diff"] == pytest.approx(play["equity"] - plays[0]["equity"], abs=1e-8)
        assert play["diff"] <= 0
        assert play_steps(START, (3, 1), play["steps"]).tolist() == play["afterstate"]
        assert parse_play(play["play"], START, (3, 1)).afterstate.tolist() == play["afterstate"]
    equities = [play["equity"] for play in plays]
    assert equities == sorted(equities, reverse=True)
    assert plays[0]["diff"] == 0


def test_figures_are_those_of_the_net(net: str, capsys: Capture) -> None:
    """The mover's figures after the play are the opponent's before his roll, the other way."""
    one = load_evaluator(Path(net))
    words = ("start", "--dice", "31", "--net", net, "--rules", "cube=false")
    plays = ask(capsys, *words)["plays"]
    assert all(play["equity"] == pytest.approx(play["equity_cubeless"], abs=1e-6) for play in plays)
    rows = np.array([play["afterstate"] for play in plays], dtype=np.int8)
    expected = swap_sides(one.probabilities(flip(rows)))
    found = np.array([list(play["probs"].values()) for play in plays])
    assert np.abs(found - expected).max() < 1e-5
    assert rows[0].tolist() == one.choose(START[np.newaxis], [[3, 1]])[0].tolist()


@pytest.mark.parametrize(("words", "count"), [([], 5), (["--top", "2"], 2), (["--top", "40"], 16)])
def test_top(words: list[str], count: int, net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", "--dice", "31", "--net", net, *words)
    assert document["count"] == 16
    assert len(document["plays"]) == count


def test_the_dice_of_the_position(net: str, capsys: Capture) -> None:
    document = ask(capsys, XGID_DICE, "--net", net)
    assert document["dice"] == [5, 2]
    assert run("best-move", XGID_DICE, "--dice=31", "--net", net, "--ply=0", "--json") == DONE
    captured = capsys.readouterr()
    assert json.loads(captured.out)["dice"] == [3, 1]
    assert "--dice 31 is played, not the position's 52" in captured.err


def test_without_dice_all_rolls(net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", "--net", net)
    assert document["dice"] is None
    assert "plays" not in document
    assert [roll["dice"] for roll in document["rolls"]] == ROLLS.tolist()
    for roll in document["rolls"]:
        single = ask(capsys, "start", "--net", net, "--dice", "{}-{}".format(*roll["dice"]))
        assert roll["plays"] == single["plays"][:1]
        assert roll["count"] == single["count"]
    document = ask(capsys, "start", "--net", net, "--top", "3")
    assert {len(roll["plays"]) for roll in document["rolls"]} == {3}


def test_a_forced_pass(net: str, capsys: Capture) -> None:
    document = ask(capsys, CLOSED, "--dice", "66", "--net", net)
    assert document["count"] == 1
    (play,) = document["plays"]
    assert (play["play"], play["steps"], play["diff"]) == ("pass", [], 0)
    assert play["afterstate"] == document["position"]["board"]
    assert -3 < play["equity"] < 3
    assert {roll["count"] for roll in ask(capsys, CLOSED, "--net", net)["rolls"]} == {1}


def test_a_play_that_wins_is_exact(net: str, capsys: Capture) -> None:
    document = ask(capsys, "0 1" + " 0" * 22 + " -15 0", "--dice", "21", "--net", net)
    assert document["plays"][0]["play"] == "1/off"
    assert list(document["plays"][0]["probs"].values()) == [1, 1, 0, 0, 0]
    assert document["plays"][0]["equity"] == 2


# --- house rules ---


def test_banned_plays_are_left_out(net: str, capsys: Capture) -> None:
    for name in ("international", "caucasian"):
        words = (HIT_AND_HIDE, "--dice", "62", "--net", net, "--rules", name, "--top", "99")
        document = ask(capsys, *words)
        rules = parse_rules(name)
        board = parse_position(HIT_AND_HIDE).board
        legal = legal_afterstates(board, (6, 2), rules)
        assert document["rules"] == rules.as_dict()
        assert sorted(play["afterstate"] for play in document["plays"]) == legal.tolist()
        for play in document["plays"]:
            assert play_steps(board, (6, 2), play["steps"], rules).tolist() == play["afterstate"]


def test_gammons_alone_count_where_there_are_no_backgammons(net: str, capsys: Capture) -> None:
    words = ("start", "--dice", "31", "--net", net, "--top", "99")
    usual = {play["play"]: play for play in ask(capsys, *words)["plays"]}
    document = ask(capsys, *words, "--rules", "scoring=oin_mars_12")
    for play in document["plays"]:
        probs = usual[play["play"]]["probs"] | {"win_bg": 0, "lose_bg": 0}
        assert play["probs"] == pytest.approx(probs, abs=1e-6)
        assert play["equity_cubeless"] == pytest.approx(equity_of(probs), abs=1e-6)
    equities = [play["equity"] for play in document["plays"]]
    assert equities == sorted(equities, reverse=True)


def test_four_kinds_of_win_need_a_net_that_learned_them(net: str, capsys: Capture) -> None:
    scoring = "mars_homemars_koks_1234"
    words = ("best-move", "start", "--dice=31", "--net", net, f"--rules=scoring={scoring}")
    assert run(*words) == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert scoring in captured.err
    assert "has not learned; accepted: a net trained by it" in captured.err
    assert captured.err.rstrip().endswith("or oin_mars_koks_123, oin_mars_12")


@pytest.mark.parametrize(
    ("position", "rules"),
    [
        ("start", "jacoby=true"),
        ("start", "mars_with_cube=false"),
        ("start", "cube=false"),
        ("XGID=-b----E-C---eE---c-e----B-:1:1:1:52:0:0:3:0:10", ""),
        ("XGID=-b----E-C---eE---c-e----B-:0:0:1:52:1:2:0:5:10", ""),
        ("XGID=-b----E-C---eE---c-e----B-:0:0:1:52:4:4:0:5:10", ""),
    ],
)
def test_cube_score_and_rules_are_looked_at(
    position: str, rules: str, net: str, capsys: Capture
) -> None:
    words = ("--dice=52", "--net", net, "--top=1")
    usual = ask(capsys, "start", *words)["plays"][0]
    document = ask(capsys, position, *words, "--rules", rules)
    (play,) = document["plays"]
    assert abs(play["equity"] - usual["equity"]) > 1e-3
    is_match = document["rules"]["match_to"] is not None
    assert (document["met"] is not None) == is_match
    assert (play["mwc"] is not None) == is_match
    if is_match:
        assert 0 < play["mwc"] < 1


# --- depth ---


def test_depth_is_told_and_deeper_plays_come_first(net: str, capsys: Capture) -> None:
    words = ("start", "--dice=21", "--net", net, "--top=99")
    document = ask(capsys, *words, ply="1")
    plies = [play["ply"] for play in document["plays"]]
    assert set(plies) == {0, 1}
    assert plies == sorted(plies, reverse=True)
    everything = ask(capsys, *words, "--filter=full", ply="1")
    assert {play["ply"] for play in everything["plays"]} == {1}
    assert everything["filter"] == "full"
    by_play = {play["play"]: play for play in everything["plays"]}
    for play in document["plays"]:
        if play["ply"] == 1:
            assert play == by_play[play["play"]] | {"diff": play["diff"]}


def test_two_plies_are_the_default(net: str, capsys: Capture) -> None:
    assert run("best-move", "start", "--dice=21", "--net", net, "--json") == DONE
    assert json.loads(capsys.readouterr().out)["plays"][0]["ply"] == 2


def test_time_per_move(net: str, capsys: Capture) -> None:
    words = ("best-move", "start", "--dice=21", "--net", net, "--json", "--filter=tiny")
    assert run(*words, "--time-per-move", "0.2") == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["time_per_move_s"] == 0.2
    assert document["plays"][0]["ply"] >= 1
    # Never deeper than was asked for.
    assert run(*words, "--time-per-move", "5", "--ply=1") == DONE
    assert {p["ply"] for p in json.loads(capsys.readouterr().out)["plays"]} == {1}


def test_without_dice_the_cube_action_is_told(net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", "--net", net, ply="1")
    cube = document["cube"]
    assert (cube["ply"], cube["source"], cube["decision"]["kind"]) == (1, "net", "double")
    assert run("cube", "start", "--net", net, "--ply=1", "--json") == DONE
    same = json.loads(capsys.readouterr().out)
    assert cube == {key: same[key] for key in cube}
    assert run("best-move", "start", "--net", net, "--ply=0") == DONE
    text = capsys.readouterr().out
    assert f"X: {ask(capsys, 'start', '--net', net)['cube']['decision']['action']}" in text
    assert "cube" not in ask(capsys, "start", "--net", net, "--dice=31")


# --- text ---


def test_text(net: str, capsys: Capture) -> None:
    document = ask(capsys, "start", "--dice", "31", "--net", net, "--top", "3")
    words = ("start", "--dice", "31", "--net", net, "--top", "3", "--ply", "0")
    assert run("best-move", *words) == DONE
    captured = capsys.readouterr()
    assert captured.err == "" or "compiling" in captured.err
    lines = captured.out.splitlines()
    assert lines[0].startswith(" +13-14-")
    assert lines[13] == "X to play 3-1: 3 of 16 legal plays, rules international"
    for rank, (line, play) in enumerate(zip(lines[17:], document["plays"], strict=False), start=1):
        diff = [f"{play['diff']:+.3f}"] if rank > 1 else []
        percents = [f"{100 * p:.1f}" for p in play["probs"].values()]
        equities = [f"{play['equity']:+.3f}", *diff, f"{play['equity_cubeless']:+.3f}"]
        expected = [str(rank), *play["play"].split(), "0", *equities, *percents]
        assert line.split() == expected
    assert lines[20] == ""
    assert lines[21].startswith("equity = X's points per game and present stake, with the cube")
    assert lines[22] == "wins count 1, 2, 3"
    told = f"answered by net:{net}, 12,000 games trained, -0.250 ± 0.020 ppg against pubeval (1,000"
    assert " ".join(lines[23:]) == f"{told} games)"
    assert max(len(line) for line in lines if net not in line) <= 80


def test_text_of_all_rolls(net: str, capsys: Capture) -> None:
    assert run("best-move", "start", "--net", net, "--ply=0") == DONE
    lines = capsys.readouterr().out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  1-1 "))
    labels = [line[:5].strip() for line in lines[first : first + 21]]
    assert labels == [f"{high}-{low}" for high, low in ROLLS.tolist()]
    assert max(len(line) for line in lines if net not in line) <= 80


def test_text_tells_the_scoring(net: str, capsys: Capture) -> None:
    assert run("best-move", "start", "--dice=31", "--net", net, "--rules=arena", "--ply=0") == DONE
    out = capsys.readouterr().out
    assert "rules arena" in out
    assert "wins count 1, 2\n" in out


# --- many positions ---


def test_many_positions(net: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    feed(monkeypatch, f"start\nrubbish\n\n{XGID_DICE}\n{CLOSED}\n")
    assert run("best-move", "-", "--net", net, "--ply=0") == FAILED
    first, second, third, fourth = documents(capsys.readouterr().out)
    assert [d["line"] for d in (first, second, third, fourth)] == [1, 2, 4, 5]
    assert len(first["rolls"]) == 21
    assert second["error_type"] == "NotationError"
    assert third["dice"] == [5, 2]
    assert len(fourth["rolls"]) == 21


def test_pending_offers_in_many_positions(
    net: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    feed(monkeypatch, f"{XGID_DICE.replace(':52:', ':D:')}\n{XGID_DICE}\n")
    assert run("best-move", "-", "--net", net, "--ply=0") == FAILED
    first, second = documents(capsys.readouterr().out)
    assert first["error_type"] == "PositionError"
    assert second["count"] > 0


# --- what is refused ---


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([XGID_DICE.replace(":52:", ":D:")], "a cube offer is waiting.*nardi cube"),
        ([XGID_DICE.replace(":52:", ":D:"), "--dice=31"], "its answer: nardi cube"),
        ([RESIGNED], "a resignation is waiting for its answer"),
        (["0 0 0 0 0 0 3" + " 0" * 19, "--dice=31"], "over"),
        (["0 0 0 0 0 0 3" + " 0" * 19], "over"),
        (["start", "--dice=37"], "'37'"),
        (["start", "--top=0"], "--top is '0'"),
        (["start", "--top=-3"], "--top is '-3'"),
        (["start", "--ply=7"], "--ply is '7'; accepted: 0 to 6"),
        (["start", "--ply=-1"], "--ply is '-1'"),
        (["start", "--filter=huge"], "unknown filter 'huge'; accepted: tiny, narrow"),
        (["start", "--time-per-move=0"], "--time-per-move is '0'"),
        (["start", "--time-per-move=nan"], "--time-per-move is 'nan'"),
        (["XGID=-b----E-C---eE---c-e----B-:0:0:1:52:9:2:0:5:10"], "won|over|9"),
        (["start", "--rules=nonsense"], "'nonsense'"),
        (["start", "--net=none.safetensors"], "'none.safetensors' does not exist"),
        (["start", "--net=README.md"], "'README.md' is not a readable net"),
        (["rubbish"], "'rubbish'"),
    ],
)
def test_refusals(words: list[str], message: str, net: str, capsys: Capture) -> None:
    if not any(word.startswith("--net") for word in words):
        words = [*words, "--net", net]
    assert run("best-move", *words) == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("nardi best-move: error: ")
    assert re.search(message, captured.err), captured.err


@pytest.mark.parametrize("words", [["start", "--top=x"], [], ["start", "--dice"]])
def test_wrong_usage(words: list[str], capsys: Capture) -> None:
    assert run("best-move", *words) == FAILED
    assert "usage: nardi best-move" in capsys.readouterr().err


# --- the net that ships ---


def test_the_net_that_nardi_brings_answers_by_default(
    net: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(evaluator_module, "default_net_path", lambda game: Path(net))
    document = ask(capsys, "start", "--dice=31")
    assert document["net"]["name"] == "net"
    assert document["plays"] == ask(capsys, "start", "--dice=31", "--net", net)["plays"]
    assert run("best-move", "--help") == DONE
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("try: nardi best-move")
    assert run(*last.removeprefix("try: nardi ").split()) == DONE


def test_torch_is_not_needed_nor_compiling_twice(net: str, tmp_path: Path) -> None:
    """A second answer starts without delay, also outside the folder of the checkout."""
    code = (
        "import sys\nfrom nardi.cli import main\n"
        f"assert main(['best-move', 'start', '--dice=31', '--json', '--net', {net!r}]) == 0\n"
        "heavy = {'torch', 'tqdm', 'matplotlib', 'train'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for _ in range(2):
        done = python("-c", code, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["count"] == 16
    assert done.stderr == ""


# --- ranking as a library ---


@pytest.mark.parametrize("rules", [*HOUSE_RULES, ARENA], ids=str)
def test_ranking_under_house_rules(rules: Rules, rng: np.random.Generator) -> None:
    """Each play has the worth of its board, whichever way the rules need it to be found."""
    net: ValueNet = random_net(SMALL, np.random.default_rng(8))
    one = Evaluator(net)
    positions = mixed_boards(rng)
    for _ in range(40):
        tuple_board, roll = next(positions)
        board = np.array(tuple_board, dtype=np.int8)
        ranked = rank_plays(one, board, roll, rules)
        afterstates, steps = legal_plays(board, roll, rules)
        opp = one.probabilities(flip(afterstates))
        if rules.scoring == "oin_mars_12":
            opp[:, [2, 4]] = 0
        win, win_gammon, win_bg, lose_gammon, lose_bg = opp.astype(np.float64).T
        equities = 1 - 2 * win - win_gammon - win_bg + lose_gammon + lose_bg
        places = {row.tobytes(): i for i, row in enumerate(afterstates)}
        assert {play.afterstate.tobytes() for play in ranked} == set(places)
        for play in ranked:
            i = places[play.afterstate.tobytes()]
            assert play.steps == steps[i]
            assert play.equity == pytest.approx(equities[i], abs=1e-5)
            assert np.abs(play.probs - swap_sides(opp[i])).max() < 1e-5
        found = [float(play.equity) for play in ranked]
        assert found == sorted(found, reverse=True)
        after = flip(ranked[0].afterstate)
        assert (swap_sides(ranked[0].probs)[~outcome_mask(after, rules)] == 0).all()


def test_equal_plays_keep_their_order(tmp_path: Path) -> None:
    net = random_net(SMALL, np.random.default_rng(8))
    for array in (*net.contact, *net.race):
        array[:] = 0
    save_net(tmp_path / "blind.safetensors", net)
    one = load_evaluator(tmp_path / "blind.safetensors")
    for rules in (INTERNATIONAL, CAUCASIAN):
        ranked = [play.afterstate.tolist() for play in rank_plays(one, START, (3, 1), rules)]
        assert ranked == legal_afterstates(START, (3, 1), rules).tolist()


def test_which_rules_need_a_ranking_of_their_own() -> None:
    assert plays_like_international(INTERNATIONAL.replace(jacoby=True, cube_cap=None, match_to=7))
    assert not plays_like_international(CAUCASIAN)
    assert not plays_like_international(INTERNATIONAL.replace(scoring="oin_mars_12"))
