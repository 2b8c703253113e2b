"""The commands: streams, exit codes, JSON, many positions from stdin."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.board import START
from engine.moves import legal_plays, play_steps
from engine.rules import INTERNATIONAL, parse_rules
from nardi import __version__
from nardi.cli import DONE, FAILED, INTERRUPTED, NO_READER, main
from nardi.commands import plays, show

ROOT = Path(__file__).resolve().parent.parent
GNU_START = "4HPwATDgc/ABMA"
XGID_DICE = "XGID=-b----E-C---eE---c-e----B-:0:0:1:52:0:0:3:0:10"
# With 6-2 the checkers on 10 hit on 8 and could go on to 2, but not under the Caucasian rules.
HIT_AND_HIDE = "0 0 2 0 0 0 0 0 -1 0 2 0 0 0 0 0 0 0 0 -2 0 0 0 0 0 0"

Capture = pytest.CaptureFixture[str]


def run(*words: str) -> int:
    """Exit code of a command line, also where argparse ends it."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def documents(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def python(*words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, **more
    )


# Starting


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["plays", "--help"]])
def test_help_starts_in_a_blink(words: Sequence[str]) -> None:
    """Nothing heavy is imported before it is needed."""
    code = (
        "import sys\nfrom nardi.cli import main\n"
        f"try:\n    main({list(words)!r})\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'numpy', 'numba', 'torch', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_version(capsys: Capture) -> None:
    assert run("--version") == DONE
    assert capsys.readouterr().out == f"nardi {__version__}\n"


@pytest.mark.parametrize("command", ["", "show", "plays", "convert", "cube", "met"])
def test_help_ends_with_a_line_to_paste(
    command: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(*command.split(), "--help") == DONE
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines()) <= 80
    last = out.splitlines()[-1]
    assert last.startswith("try: nardi ")
    assert run(*last.removeprefix("try: nardi ").split()) == DONE


def test_no_command_shows_the_help(capsys: Capture) -> None:
    assert run() == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: nardi" in captured.err


@pytest.mark.parametrize(
    "words",
    [
        ["dance"],
        ["show"],
        ["convert", "start"],
        ["convert", "start", "--to", "fibs"],
        ["show", "start", "--nonsense"],
        ["plays", "start", "--dice"],
    ],
)
def test_wrong_usage(words: Sequence[str], capsys: Capture) -> None:
    assert run(*words) == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: nardi" in captured.err


# show


def test_show(capsys: Capture) -> None:
    assert run("show", "start") == DONE
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "X  167 pips, 0 off" in captured.out
    assert "xgid   XGID=-b----E-C---eE---c-e----B-:0:0:1:00:" in captured.out
    assert f"gnuid  {GNU_START}:" in captured.out


def test_show_json(capsys: Capture) -> None:
    assert run("show", XGID_DICE, "--json") == DONE
    position = json.loads(capsys.readouterr().out)["position"]
    assert position["xgid"] == XGID_DICE
    assert position["board"] == START.tolist()
    assert position["dice"] == [5, 2]
    assert position["jacoby"] is True
    assert position["max_cube"] == 1024
    assert (position["mover_pips"], position["opp_pips"], position["phase"]) == (
        167,
        167,
        "contact",
    )
    assert position["notes"] == {}


@pytest.mark.parametrize(
    "text",
    [
        "-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10",
        "---BBBBAAA---Ac-bbccbAA-A-:1:1:-1:63:4:3:0:5:8",
        "  -b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10 ",
        " ".join(map(str, START.tolist())),
    ],
)
def test_positions_may_begin_with_a_dash(text: str, capsys: Capture) -> None:
    assert run("show", text, "--json") == DONE
    assert json.loads(capsys.readouterr().out)["position"]["xgid"]


def test_a_bad_position_with_a_dash_gets_our_error(capsys: Capture) -> None:
    assert run("show", "-b----E-C---eE---c-e----Z-:0:0:1:31:0:0:0:0:10") == FAILED
    err = capsys.readouterr().err
    assert "'Z'" in err
    assert "usage" not in err


# plays


def test_plays(capsys: Capture) -> None:
    assert run("plays", "start", "--dice", "31") == DONE
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert captured.err == "" or "compiling" in captured.err
    assert lines[0].startswith("16 legal plays of 3-1")
    assert len(lines) == 17
    assert "  8/5 6/5" in lines


def test_plays_json(capsys: Capture) -> None:
    assert run("plays", "start", "--dice", "31", "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    afterstates, _ = legal_plays(START, (3, 1))
    assert document["count"] == len(document["plays"]) == 16
    assert document["dice"] == document["position"]["dice"] == [3, 1]
    assert document["rules"] == INTERNATIONAL.as_dict()
    assert [play["afterstate"] for play in document["plays"]] == afterstates.tolist()
    for play in document["plays"]:
        assert play_steps(START, (3, 1), play["steps"]).tolist() == play["afterstate"]
    assert len({play["play"] for play in document["plays"]}) == 16


@pytest.mark.parametrize("dice", ["31", "13", "3-1", "3 1", "1,3"])
def test_dice_can_be_written_in_many_ways(dice: str, capsys: Capture) -> None:
    assert run("plays", "start", "--dice", dice, "--json") == DONE
    assert json.loads(capsys.readouterr().out)["count"] == 16


@pytest.mark.parametrize("dice", ["", "3", "71", "30", "311", "three one", "3--1", "٣١"])
def test_bad_dice(dice: str, capsys: Capture) -> None:
    assert run("plays", "start", f"--dice={dice}") == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"'{dice}'" in captured.err


def test_the_dice_of_the_position_are_played(capsys: Capture) -> None:
    assert run("plays", XGID_DICE, "--json") == DONE
    captured = capsys.readouterr()
    assert json.loads(captured.out)["dice"] == [5, 2]
    assert captured.err == ""


def test_the_flag_wins_and_says_so(capsys: Capture) -> None:
    assert run("plays", XGID_DICE, "--dice", "31", "--json") == DONE
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["dice"] == document["position"]["dice"] == [3, 1]
    assert "--dice 31" in captured.err
    assert "52" in captured.err
    assert run("plays", XGID_DICE, "--dice", "25", "--json") == DONE
    assert capsys.readouterr().err == ""


def test_no_dice_at_all(capsys: Capture) -> None:
    assert run("plays", "start") == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--dice" in captured.err


def test_an_offer_must_be_answered_first(capsys: Capture) -> None:
    assert run("plays", XGID_DICE.replace(":52:", ":D:"), "--dice", "31") == FAILED
    assert "answer" in capsys.readouterr().err


def test_a_finished_game(capsys: Capture) -> None:
    over = "0 0 0 0 0 0 3" + " 0" * 19
    assert run("plays", over, "--dice", "31") == FAILED
    assert "over" in capsys.readouterr().err


def test_forced_pass(capsys: Capture) -> None:
    closed = "0 0 0 0 0 0 5 0 0 0 0 0 0 0 0 0 0 0 0 -2 -2 -2 -2 -2 -2 1"
    assert run("plays", closed, "--dice", "66", "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["count"] == 1
    assert document["plays"][0]["steps"] == []
    assert document["plays"][0]["afterstate"] == document["position"]["board"]


def test_rules(capsys: Capture) -> None:
    counts = {}
    for rules in ("international", "caucasian"):
        assert run("plays", HIT_AND_HIDE, "--dice=26", f"--rules={rules}", "--json") == DONE
        document = json.loads(capsys.readouterr().out)
        assert document["rules"] == parse_rules(rules).as_dict()
        counts[rules] = document["count"]
    assert counts["caucasian"] < counts["international"]


def test_rules_of_the_position_hold_unless_a_flag_says_otherwise(capsys: Capture) -> None:
    assert run("plays", XGID_DICE, "--json") == DONE
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rules"]["jacoby"] is True
    assert captured.err == ""
    assert run("plays", XGID_DICE, "--rules", "caucasian,jacoby=false", "--json") == DONE
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rules"]["jacoby"] is False
    assert "jacoby" in captured.err


@pytest.mark.parametrize("rules", ["nonsense", "jacoby=maybe", "cube_cap=-1", ","])
def test_bad_rules(rules: str, capsys: Capture) -> None:
    assert run("plays", "start", "--dice", "31", "--rules", rules) == FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nardi plays: error:" in captured.err


# convert


@pytest.mark.parametrize("notation", ["xgid", "gnuid", "ogid"])
def test_convert_there_and_back(notation: str, capsys: Capture) -> None:
    assert run("convert", GNU_START, "--to", notation) == DONE
    text = capsys.readouterr().out.strip()
    assert run("convert", text, "--to", "xgid") == DONE
    assert capsys.readouterr().out.startswith("XGID=-b----E-C---eE---c-e----B-:0:0:")


def test_convert_json(capsys: Capture) -> None:
    assert run("convert", "start", "--to", "gnuid", "--json") == DONE
    document = json.loads(capsys.readouterr().out)
    assert document["to"] == "gnuid"
    assert document["text"] == document["position"]["gnuid"]


@pytest.mark.parametrize("text", ["", "rubbish", "4HPwATDgc/ABM", "0 1 2", "XGID=", "\0", "٣" * 26])
def test_unreadable_positions(text: str, capsys: Capture) -> None:
    for command in (["show", text], ["convert", text, "--to", "xgid"]):
        assert run(*command) == FAILED
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"nardi {command[0]}: error: ")
        assert len(captured.err) > 40


# Many positions


def test_many_positions(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    feed(monkeypatch, f"start\r\n\n{XGID_DICE}\n".encode())
    assert run("show", "-") == DONE
    first, second = documents(capsys.readouterr().out)
    assert (first["line"], second["line"]) == (1, 3)
    assert first["position"]["board"] == START.tolist()
    assert second["position"]["xgid"] == XGID_DICE


def test_a_bad_line_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    feed(monkeypatch, b"\xef\xbb\xbfstart\nrubbish\n\xff\xfe\n" + GNU_START.encode())
    assert run("convert", "-", "--to", "xgid") == FAILED
    captured = capsys.readouterr()
    found = documents(captured.out)
    assert [document["line"] for document in found] == [1, 2, 3, 4]
    assert [document["line"] for document in found if "error" in document] == [2, 3]
    assert found[1]["error_type"] == "NotationError"
    assert found[0]["text"].split(":")[0] == found[3]["text"].split(":")[0]
    assert captured.err == ""


def test_notes_tell_their_line(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    feed(monkeypatch, f"start\n{XGID_DICE}\n".encode())
    assert run("plays", "-", "--dice", "31") == DONE
    captured = capsys.readouterr()
    assert [document["count"] for document in documents(captured.out)] == [16, 16]
    assert "line 2: --dice 31" in captured.err


def test_nothing_on_stdin(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    feed(monkeypatch, b"")
    assert run("show", "-") == DONE
    assert capsys.readouterr().out == ""


def test_lines_are_answered_at_once() -> None:
    """Another program can write a line and wait for its answer."""
    with subprocess.Popen(
        [sys.executable, "-m", "nardi", "show", "-"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for _ in range(2):
            child.stdin.write("start\n")
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["position"]["board"] == START.tolist()
        child.stdin.close()
        assert child.wait(20) == DONE


# Ends


def test_reader_goes_away() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "nardi", "show", "-"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.close()
        _, err = child.communicate(b"start\n" * 10, timeout=20)
        assert child.returncode == NO_READER
        assert err == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_disk() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "nardi", "show", "start"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == FAILED
    assert done.stderr.startswith("nardi show: error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("closed", "code"), [("<&-", FAILED), (">&-", DONE)])
def test_closed_streams(closed: str, code: int) -> None:
    command = f'echo start | "{sys.executable}" -m nardi show - {closed}'
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def stop(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "run", stop)
    assert run("show", "start") == INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_a_fault_of_ours_is_told_from_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def fail(_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(plays, "run", fail)
    assert run("plays", "start") == FAILED
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert "fault of nardi" in err


def test_no_folder_for_compiled_code(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fail(_: object) -> int:
        raise RuntimeError("cannot cache function 'f': no locator available for file 'f.py'")

    monkeypatch.setattr(plays, "run", fail)
    assert run("plays", "start") == FAILED
    err = capsys.readouterr().err
    assert "NUMBA_CACHE_DIR" in err
    assert "Traceback" not in err
