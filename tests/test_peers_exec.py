"""Programs as players: equal to our own bots, and every way in which a program can fail."""

import gc
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import eval.peers.exec_bot as exec_module
from agent.bot import Bot
from engine.board import START
from engine.errors import ConfigError, IllegalPlayError, NardiError
from engine.rules import ARENA, CAUCASIAN, INTERNATIONAL, Rules
from eval.duel import play_duel
from eval.peers.process import MOST_BYTES, LineProcess
from eval.players import load_player
from nardi.cli import FAILED
from tests.command_line import Capture, run
from tests.golden_cases import read_golden

ROOT = Path(__file__).resolve().parent.parent
PYTHON = shlex.quote(sys.executable)
ON_LINUX = sys.platform.startswith("linux")

GREET = """\
import json, os, subprocess, sys, time
def say(line):
    print(json.dumps(line), flush=True)
say({"protocol": "nardi-bot", "version": 1, "name": "tester", "wants_plays": True})
"""
LOOP = """\
for line in sys.stdin:
    question = json.loads(line)
    first = {"id": question["id"], "play": question["plays"][0]["play"]}
"""


@pytest.fixture(autouse=True)
def _checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def program(tmp_path: Path) -> Iterator["Programs"]:
    programs = Programs(tmp_path)
    yield programs
    for bot in programs.bots:
        bot.close()


class Programs:
    """Makes bots of programs' texts and closes them in the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bots: list[Bot] = []

    def text(self, source: str, limit: str = "") -> str:
        path = self.folder / "bot.py"
        path.write_text(source, encoding="utf-8")
        return f"exec{limit}:{PYTHON} {shlex.quote(str(path))}"

    def bot(self, source: str, limit: str = "") -> Bot:
        return self.load(self.text(source, limit))

    def load(self, text: str, rules: Rules = INTERNATIONAL) -> Bot:
        bot = load_player(text, rules)
        self.bots.append(bot)
        return bot


def ask(bot: Bot, n: int = 1) -> list[list[int]]:
    boards = np.tile(START, (n, 1))
    chosen = bot.choose(boards, np.tile(np.array([3, 1], dtype=np.int8), (n, 1)))
    return [list(after) for after in chosen.tolist()]


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody waits for is a zombie then."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


# --- equal to the bot inside ---


@pytest.mark.parametrize("text", ["pubeval", "random", pytest.param("net", marks=pytest.mark.slow)])
def test_exec_of_our_bot_is_our_bot(program: Programs, text: str) -> None:
    outside, inside = program.load(f"exec:{PYTHON} -m nardi bot {text}"), load_player(text)
    lines = read_golden("moves.jsonl.gz")[:300]
    boards = np.array([line["b"] for line in lines], dtype=np.int8)
    rolls = np.array([line["d"] for line in lines], dtype=np.int8)
    draws = np.random.default_rng(5).random(len(lines))
    assert (
        outside.choose(boards, rolls, draws).tolist()
        == inside.choose(boards, rolls, draws).tolist()
    )
    assert outside.fingerprint().startswith(f"{text}, nardi ")
    if text == "random":
        return
    # Some of the plays only, as in files of decisions.
    some = [line["a"][: 1 + i % 4] for i, line in enumerate(lines)]
    offsets = np.cumsum([0, *(len(plays) for plays in some)])
    after = np.array([play for plays in some for play in plays], dtype=np.int8)
    shares = outside.decision_shares(boards, rolls, after, offsets)
    assert shares.tolist() == inside.candidate_shares(boards, after, offsets).tolist()


@pytest.mark.parametrize("rules", [CAUCASIAN, ARENA], ids=["caucasian", "arena"])
def test_house_rules_are_told(program: Programs, rules: Rules) -> None:
    outside = program.load(f"exec:{PYTHON} -m nardi bot pubeval", rules)
    a = play_duel(outside, "pip-greedy", 20, 3, rules)
    b = play_duel("pubeval", "pip-greedy", 20, 3, rules)
    assert a.ppg == b.ppg


@pytest.mark.slow
def test_workers_start_programs_of_their_own(program: Programs) -> None:
    text = program.text(GREET + LOOP + "    say(first)\n")
    a = play_duel(text, "pubeval", 60, 1, workers=2, chunk_streams=4)
    b = play_duel(text, "pubeval", 60, 1)
    assert a.ppg == b.ppg


def test_answers_in_any_order(program: Programs) -> None:
    hold = "    held = [*globals().get('held', []), first]\n    if len(held) == 5:\n"
    flush = "        [say(answer) for answer in reversed(held)]\n        held = []\n"
    bot = program.bot(GREET + LOOP + hold + flush)
    assert ask(bot, 5) == ask(program.bot(GREET + LOOP + "    say(first)\n"), 5)


def test_many_questions_wait_without_a_jam(program: Programs) -> None:
    """More than all pipes hold, both ways."""
    padded = "    say(first | {'padding': ' ' * 2000})\n"
    bot = program.bot(GREET + "time.sleep(0.3)\n" + LOOP + padded)
    assert len(ask(bot, 300)) == 300


def test_forced_plays_are_not_asked(program: Programs) -> None:
    bot = program.bot(GREET)  # answers nothing
    board = np.zeros((1, 26), dtype=np.int8)
    board[0, 3], board[0, 20] = 2, -2
    assert bot.choose(board, np.array([[6, 5]])).sum() == -2


# --- programs that fail ---

DONE_WRONG = {
    "dies": (
        LOOP + "    sys.stderr.write('out of beans\\n'); sys.exit(3)\n",
        ["ended with exit code 3", "stderr: out of beans"],
    ),
    "is-killed": (LOOP + "    os.kill(os.getpid(), 9)\n", ["was ended by SIGKILL"]),
    "ends-at-once": ("", ["ended with exit code 0"]),
    "closes-its-output": (LOOP + "    os.close(1); time.sleep(30)\n", ["closed its output"]),
    "hangs": (LOOP + "    time.sleep(60)\n", ["wrote nothing for 0.7 s", "flush"]),
    "does-not-read": ("time.sleep(60)\n", ["wrote nothing for 0.7 s"]),
    "garbage": (LOOP + "    print('8/5 6/5', flush=True)\n", ["'8/5 6/5' is not a JSON object"]),
    "binary": (
        LOOP + "    os.write(1, bytes([255, 0, 10]))\n",
        ["is not a JSON object on one line"],
    ),
    "flood": (LOOP + "    os.write(1, b'x' * 3000000)\n", [f"more than {MOST_BYTES:,} bytes"]),
    "endless-lines": (LOOP + "    while True: print('{}')\n", ["has the id None"]),
    "foreign-id": (LOOP + "    say(first | {'id': 99})\n", ["has the id 99"]),
    "answers-twice": (LOOP + "    say(first); say(first)\n", ["has the id 1"]),
    "no-play": (LOOP + "    say({'id': 1})\n", ["none of play, steps, afterstate"]),
    "gives-up": (LOOP + "    say({'id': 1, 'error': 'no idea'})\n", ['gave up: "no idea"']),
}


@pytest.mark.parametrize(("source", "messages"), list(DONE_WRONG.values()), ids=list(DONE_WRONG))
def test_failing_program(program: Programs, source: str, messages: list[str]) -> None:
    bot = program.bot(GREET + source, "[0.7s]")
    start = time.monotonic()
    with pytest.raises(NardiError) as error:
        ask(bot, 2)
    assert time.monotonic() - start < 15
    text = str(error.value)
    for message in messages:
        assert message in text
    assert "(tester): " in text
    assert 'it was asked: {"id": ' in text
    assert '"gnuid": "4HPwATDgc/ABMA' in text
    with pytest.raises(NardiError, match="was closed before"):
        ask(bot)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("'play': '8/5'", "8/5"),
        ("'steps': [[8, 5], [6, 4]]", "6"),
        ("'afterstate': question['position']['board']", "no legal play's result"),
    ],
    ids=["play", "steps", "afterstate"],
)
def test_illegal_play_is_named(program: Programs, answer: str, message: str) -> None:
    bot = program.bot(GREET + LOOP + f"    say({{'id': question['id'], {answer}}})\n")
    with pytest.raises(IllegalPlayError) as error:
        ask(bot)
    assert message in str(error.value)
    assert '"dice": [3, 1]' in str(error.value)


@pytest.mark.parametrize(
    ("source", "message", "kind"),
    [
        ("import sys; sys.exit('no licence')", "stderr: no licence", NardiError),
        ("print('GNU Backgammon 1.08', flush=True); input()", "not a JSON object", NardiError),
        (GREET.replace('"version": 1', '"version": 2'), "accepted: 1", ConfigError),
        (GREET.replace("nardi-bot", "uci"), "a greeting like", NardiError),
        ("import time; time.sleep(60)", "wrote nothing for 0.5 s", NardiError),
    ],
    ids=["ends", "chatter", "version", "protocol", "silent"],
)
def test_no_greeting(
    program: Programs,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    message: str,
    kind: type[NardiError],
) -> None:
    if "sleep" in source:
        monkeypatch.setattr(exec_module, "START_LIMIT_S", 0.5)
    with pytest.raises(kind) as error:
        program.bot(source, "[0.1s]" if "sleep" in source else "")
    assert "before it greeted (docs/protocol.md tells how)" in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exec:", "the command is empty"),
        ("exec:   ", "the command is empty"),
        ("exec:nosuchprogram --x", "command 'nosuchprogram --x' cannot be started: No such file"),
        ("exec:'half", "cannot be read: No closing quotation"),
        ("exec[]:cat", "accepted: exec:COMMAND"),
        ("exec[0s]:cat", "accepted: exec:COMMAND"),
        ("exec[-1s]:cat", "accepted: exec:COMMAND"),
        ("exec[10]:cat", "exec[60s]:COMMAND"),
        ("exec[10s]cat", "exec[60s]:COMMAND"),
    ],
    ids=range(9),
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_player(text)
    assert message in str(error.value)


def test_fault_on_the_command_line(program: Programs, capsys: Capture) -> None:
    text = program.text(GREET + LOOP + "    sys.exit(1)\n")
    assert run("benchmark", text, "pubeval", "--games", "4", "--seed", "1") == FAILED
    told = capsys.readouterr().err
    assert "ended with exit code 1" in told
    assert "Traceback" not in told


# --- nothing is left behind ---


@pytest.mark.skipif(not ON_LINUX, reason="looks into /proc")
def test_program_and_its_children_end() -> None:
    """Also one that does not end by itself, and what it has started."""
    source = (
        "import subprocess, sys, time; p = subprocess.Popen(['sleep', '60']);"
        "print(p.pid, flush=True); time.sleep(60)"
    )
    process = LineProcess(f"{PYTHON} -c {shlex.quote(source)}")
    child = int(process.receive(20))
    parent = process._process.pid
    assert not is_gone(child)
    process.close()
    process.close()
    assert is_gone(parent)
    deadline = time.monotonic() + 5
    while not is_gone(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_gone(child)


@pytest.mark.skipif(not ON_LINUX, reason="looks into /proc")
def test_forgotten_program_ends() -> None:
    process = LineProcess("cat")
    pid = process._process.pid
    process.send("hello")
    assert process.receive(20) == b"hello"
    del process
    gc.collect()
    assert is_gone(pid)


def test_interrupted_questions_are_not_mixed_up(
    program: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = program.bot(GREET + LOOP + "    say(first)\n")

    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LineProcess, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ask(bot, 3)
    with pytest.raises(NardiError, match="was closed before"):
        ask(bot)


@pytest.mark.skipif(not ON_LINUX, reason="only Linux tells")
def test_cpu_time_of_the_program_is_told(program: Programs) -> None:
    burn = "    end = time.process_time() + 0.2\n    while time.process_time() < end: pass\n"
    bot = program.bot(GREET + LOOP + burn + "    say(first)\n")
    before, own = bot.cpu_seconds(), time.process_time()
    ask(bot)
    used = bot.cpu_seconds() - before
    assert 0.15 < used < 1.5
    assert time.process_time() - own < used
    bot.close()
    assert bot.cpu_seconds() >= before + used


def test_plain_bots_use_no_other_process() -> None:
    bot = load_player("pubeval")
    assert bot.cpu_seconds() == 0
    bot.close()
    assert ask(bot)
