"""`nardi benchmark`: table, JSON, progress, interruption, bad usage."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.baselines import PubevalBot
from engine.errors import NardiError
from engine.rules import INTERNATIONAL, parse_rules
from eval import duel, duel_workers, lockstep
from eval.duel import Side, play_duel
from nardi import progress
from nardi.cli import DONE, FAILED, INTERRUPTED, main
from tests.nets import small_net_file

ROOT = Path(__file__).resolve().parent.parent
DUEL = ("benchmark", "pubeval", "pip-greedy", "--games", "40", "--seed", "3")

Capture = pytest.CaptureFixture[str]


def rates_of(side: Side) -> dict[str, object]:
    return {name: getattr(side, name) for name in ("bot", "win", "gammon", "backgammon")}


def run(*words: str) -> int:
    """Exit code of a command line, also where argparse ends it."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED


def test_help_ends_with_a_line_to_paste(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("benchmark", "--help") == DONE
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("try: nardi benchmark ")
    assert run(*lines[-1].removeprefix("try: nardi ").split()) == DONE


def test_table(capsys: Capture) -> None:
    assert run(*DUEL) == DONE
    out, err = capsys.readouterr()
    figures = play_duel("pubeval", "pip-greedy", 40, 3)
    lines = out.splitlines()
    assert lines[0] == "pubeval against pip-greedy: 40 games, seed 3, rules international"
    rates = (figures.a.win, figures.a.gammon, figures.a.backgammon)
    assert lines[3].split()[:4] == ["pubeval", *(f"{rate:.2%}" for rate in rates)]
    assert 0 < float(lines[3].split()[4]) < 10  # CPU ms a decision
    assert lines[3].split()[5] == "-"  # pubeval does not count what it evaluates
    assert lines[4].split()[0] == "pip-greedy"
    score = f"pubeval scores {figures.ppg.mean:+.3f} ± {figures.ppg.stderr:.3f} points per game"
    assert lines[6].startswith(score)
    assert "games/s" in lines[7]
    assert err == "" or "compiling" in err


def test_json(capsys: Capture) -> None:
    assert run(*DUEL, "--json", "--rules", "caucasian") == DONE
    rules = parse_rules("caucasian")
    figures = play_duel("pubeval", "pip-greedy", 40, 3, rules)
    document = json.loads(capsys.readouterr().out)
    assert document.pop("seconds") > 0
    for letter, side in (("a", figures.a), ("b", figures.b)):
        work = document[letter]
        assert work.pop("cpu_seconds") > 0
        assert work.pop("cpu_ms_per_decision") > 0
        assert work.pop("decisions") == side.work.decisions > 500
        assert work.pop("evaluations") is work.pop("evaluations_per_cpu_second") is None
    assert document == {
        "a": rates_of(figures.a),
        "b": rates_of(figures.b),
        "games": 40,
        "ppg": figures.ppg.mean,
        "stderr_ppg": figures.ppg.stderr,
        "adjusted_ppg": None,
        "stderr_adjusted_ppg": None,
        "luck_net": None,
        "points": {str(points): n for points, n in figures.points.items()},
        "matches": None,
        "match_win": None,
        "stderr_match_win": None,
        "adjusted_match_win": None,
        "stderr_adjusted_match_win": None,
        "cube": None,
        "seed": 3,
        "rules": rules.as_dict(),
        "unfinished": 0,
        "from_file": 0,
        "stop": None,
        "ended": "games",
        "interrupted": False,
        "fault": None,
    }
    assert list(document["a"]) == ["bot", "win", "gammon", "backgammon"]
    assert document["a"]["bot"] == "pubeval"
    assert sum(document["points"].values()) == 40


def test_luck_is_taken_out(capsys: Capture, tmp_path: Path) -> None:
    net = small_net_file(tmp_path)
    words = ("benchmark", f"net:{net}", "pubeval", "--games", "10", "--seed", "3")
    assert run(*words, "--luck-net", str(net), "--json") == DONE
    figures = play_duel(f"net:{net}", "pubeval", 10, 3, luck=True, luck_net=net)
    document = json.loads(capsys.readouterr().out)
    assert figures.adjusted is not None
    assert document["adjusted_ppg"] == figures.adjusted.mean != document["ppg"]
    assert document["stderr_adjusted_ppg"] == figures.adjusted.stderr
    assert document["luck_net"] == f"net:{net}"
    assert document["a"]["evaluations"] == figures.a.work.evaluations > 1000
    assert document["a"]["evaluations_per_cpu_second"] > 1000
    assert run(*words, "--luck-net", str(net)) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[6].startswith(f"net:{net} scores {figures.adjusted.mean:+.3f} ± ")
    assert f"luck of the dice taken out by net:{net}; as played {figures.ppg.mean:+.3f}" in lines[7]


@pytest.mark.parametrize(
    ("more", "by_default"),
    [(["pubeval", "pubeval"], True), (["pubeval@0", "random"], False), (["pip-greedy"] * 2, False)],
)
def test_whose_luck_is_taken_out_by_default(
    more: list[str], by_default: bool, capsys: Capture
) -> None:
    words = ("benchmark", *more, "--games", "2", "--seed", "3", "--json")
    for choice, expected in (([], by_default), (["--luck"], True), (["--no-luck"], False)):
        assert run(*words, *choice) == DONE
        luck_net = json.loads(capsys.readouterr().out)["luck_net"]
        assert luck_net == ("net" if expected else None)


def test_no_luck_under_rules_that_a_net_cannot_tell(capsys: Capture) -> None:
    rules = ["--rules", "scoring=mars_homemars_koks_1234"]
    words = ["benchmark", "pubeval", "pubeval", "--games", "2", "--seed", "3", *rules]
    assert run(*words, "--json") == DONE
    out, err = capsys.readouterr()
    assert json.loads(out)["luck_net"] is None
    assert "no luck is taken out: scoring=mars_homemars_koks_1234 has four kinds of win" in err
    assert run(*words, "--luck") == FAILED
    assert "error: scoring=mars_homemars_koks_1234" in capsys.readouterr().err


def test_until_decided(capsys: Capture) -> None:
    words = ("benchmark", "pubeval", "pip-greedy", "--seed", "3", "--until-decided")
    assert run(*words, "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["ended"] == "decided"
    assert document["games"] == 272
    stop = document["stop"]
    assert (stop["until_width_ppg"], stop["until_decided"], stop["confidence"]) == (
        None,
        True,
        0.95,
    )
    assert 0 < stop["lasting_low_ppg"] < document["ppg"] < stop["lasting_high_ppg"]
    assert run(*words) == DONE
    assert "decided: pubeval is better (95% however often looked at: +2." in capsys.readouterr().out


def test_until_width(capsys: Capture) -> None:
    words = ("benchmark", "pubeval", "pip-greedy", "--seed", "3", "--games", "40")
    assert run(*words, "--until-width", "0.001") == DONE
    assert "the width was not reached" in capsys.readouterr().out
    assert run(*words[:-1], "4000", "--until-width", "0.2") == DONE
    assert "stopped: the half-width is 0.2 or less" in capsys.readouterr().out


def test_going_on(capsys: Capture, tmp_path: Path) -> None:
    """The same command, without a seed even: it stands in the file."""
    file = tmp_path / "duel.jsonl"
    words = ("benchmark", "pubeval", "pip-greedy", "--games", "40", "--out", str(file))
    assert run(*words, "--json") == DONE
    first = json.loads(capsys.readouterr().out)
    assert run(*words, "--json") == DONE
    out, err = capsys.readouterr()
    second = json.loads(out)
    assert f"seed {first['seed']}\n" in err
    assert second["from_file"] == 40
    assert {**second, "from_file": 0, "seconds": 0} == {**first, "seconds": 0}
    assert run(*words) == DONE
    assert "no game played; 40 games were in the file" in capsys.readouterr().out


def test_a_bot_that_fails(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, but the figures of the games before are there."""
    left = 6000
    choose = PubevalBot.choose

    def fail(self: PubevalBot, boards: Any, *rest: Any) -> Any:
        nonlocal left
        left -= len(boards)
        if left < 0:
            raise NardiError("bot 'pubeval' has died")
        return choose(self, boards, *rest)

    monkeypatch.setattr(PubevalBot, "choose", fail)
    words = ("benchmark", "pubeval", "random", "--games", "400", "--seed", "3")
    assert run(*words, "--workers", "1", "--json") == FAILED
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["games"], document["ended"]) == (16, "fault")
    assert document["fault"] == "bot 'pubeval' has died"
    assert err.splitlines()[-1] == (
        "nardi benchmark: error: bot 'pubeval' has died; the figures are of the first 16 of 400"
        " games"
    )


def test_one_pair_tells_no_error(capsys: Capture) -> None:
    words = ("benchmark", "pubeval", "random", "--games", "2", "--seed", "1")
    assert run(*words, "--json") == DONE
    assert json.loads(capsys.readouterr().out)["stderr_ppg"] is None
    assert run(*words) == DONE
    out = capsys.readouterr().out
    assert "one pair of games tells no error" in out
    assert "nan" not in out


def test_a_seed_is_drawn_and_told(capsys: Capture) -> None:
    seeds = set()
    for _ in range(2):
        assert run("benchmark", "pubeval", "random", "--games", "4", "--json") == DONE
        out, err = capsys.readouterr()
        seed = json.loads(out)["seed"]
        assert f"seed {seed}\n" in err
        seeds.add(seed)
    assert len(seeds) == 2


def test_games_given_up_are_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "MOST_TURNS", 50)
    assert run(*DUEL, "--json") == DONE
    out, err = capsys.readouterr()
    unfinished = json.loads(out)["unfinished"]
    assert unfinished > 0
    assert f"{unfinished} games were not over after 50 turns" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pubeval", "random", "--games", "7"], "games '7'; accepted: an even number"),
        (["pubeval", "random", "--seed", "-1"], "seed '-1'"),
        (["pubeval", "random", "--workers", "0"], "workers '0'"),
        (["pubeval", "wildbg"], "unknown bot 'wildbg'; known: random, pip-greedy"),
        (["pubeval@2", "random"], "bot 'pubeval@2': pubeval cannot look ahead"),
        (["pubeval", "random", "--rules", "nonsense"], "unknown rules 'nonsense'"),
        (["pubeval", "random", "--until-width", "0"], "width '0.0'; accepted"),
        (["pubeval", "random", "--no-luck", "--luck-net", "x"], "--luck-net does not go with"),
    ],
)
def test_bad_arguments(words: list[str], message: str, capsys: Capture) -> None:
    assert run("benchmark", *words) == FAILED
    out, err = capsys.readouterr()
    assert out == ""
    assert f"nardi benchmark: error: {message}" in err


@pytest.mark.parametrize("words", [[], ["pubeval"], ["pubeval", "random", "--games", "many"]])
def test_wrong_usage(words: list[str], capsys: Capture) -> None:
    assert run("benchmark", *words) == FAILED
    assert "usage: nardi " in capsys.readouterr().err


def test_progress_lines(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel, "PROGRESS_EVERY_S", 0.0)
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.0)
    assert run(*DUEL) == DONE
    lines = [line for line in capsys.readouterr().err.splitlines() if " of 40 games, " in line]
    assert len(lines) > 20
    assert lines[0].startswith("nardi benchmark: 0 of 40 games, 0.00 games/s, time left unknown")
    assert "games/s" in lines[-1]
    assert "s left, +" in lines[-1]
    assert lines[-1].endswith(" ppg")


def test_progress_bar(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal there is a bar, which leaves nothing behind."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Progress("nardi test", 10, "games") as bar:
        bar.update(4, "+0.5 ± 0.1 ppg")
        bar.update(9, "+0.6 ± 0.1 ppg")
    err = capsys.readouterr().err
    assert "0/10" in err
    assert err.split("\r")[-1].strip() == ""


def test_interrupted_before_anything_counts(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(duel_workers, "play_games", stop)
    assert run(*DUEL) == INTERRUPTED
    out, err = capsys.readouterr()
    assert out == ""
    assert "interrupted" in err


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a POSIX signal to the group")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c(workers: str) -> None:
    """As the terminal sends it: to all processes at once. Only the main one speaks."""
    code = "from nardi import progress; progress._LINE_EVERY_S = 0.1; from nardi import cli"
    words = ["benchmark", "pubeval", "random", "--games", "1000000", "--seed", "1", "--json"]
    # Whoever starts the tests in the background has Ctrl-C ignored, by their children too.
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {code}"
    command = f"{code}; raise SystemExit(cli.main({[*words, '--workers', workers]!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        assert child.stderr is not None
        n_over = 0
        while n_over < 500:  # workers, if any, have begun
            line = child.stderr.readline()
            assert line, "no progress"
            found = re.search(r"([\d,]+) of 1,000,000 games", line)
            n_over = int(found[1].replace(",", "")) if found else 0
        os.killpg(child.pid, signal.SIGINT)
        # The workers have these pipes, too: the end of both means that all of them are gone.
        out, err = child.communicate(timeout=30)
    assert child.returncode == INTERRUPTED
    document: dict[str, Any] = json.loads(out)
    assert document["interrupted"] is True
    assert 16 <= document["games"] < 1_000_000
    assert document["rules"] == INTERNATIONAL.as_dict()
    last = err.splitlines()[-1]
    assert last == (
        "nardi benchmark: interrupted; the figures are of the first"
        f" {document['games']:,} of 1,000,000 games"
    )
    assert "Traceback" not in err
    assert all(" of 1,000,000 games" in line for line in err.splitlines())
