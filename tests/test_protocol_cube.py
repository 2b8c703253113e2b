"""The cube in the protocol of bot programs: questions, answers, our own bots, faults."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from agent.bot import load_bot
from agent.cube_play import BEAVER, PASS, TAKE
from agent.situation import Situation
from engine.board import START
from engine.errors import NardiError
from engine.rules import INTERNATIONAL, Rules
from eval.duel import play_duel
from eval.peers.cube_protocol import (
    answered_cube,
    cube_answer,
    cube_question_line,
    read_cube_question,
)
from eval.peers.protocol import question_line, read_greeting, read_question
from nardi.cli import DONE
from tests.command_line import Capture, documents, feed, run

PYTHON = shlex.quote(sys.executable)
ROOT = Path(__file__).resolve().parent.parent
BEAVERS = INTERNATIONAL.replace(jacoby=True, beaver=True)
SEVEN = INTERNATIONAL.replace(match_to=7)
SITUATIONS = [
    Situation(),
    Situation(rules=BEAVERS, cube_value=4, cube_owner="mover"),
    Situation(rules=BEAVERS, cube_value=2, cube_owner="opponent"),
    Situation(rules=SEVEN, mover_away=2, opp_away=5, cube_value=2, cube_owner="mover"),
    Situation(rules=SEVEN, mover_away=1, opp_away=3, crawford=True),
    Situation(rules=SEVEN, mover_away=3, opp_away=1),
]


@pytest.fixture(autouse=True)
def _checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.parametrize("number", range(len(SITUATIONS)))
def test_situations_go_through_the_lines(number: int) -> None:
    situation = SITUATIONS[number]
    may_double = situation.cube_owner != "opponent"
    for ask in ("double", "take", "beaver") if may_double else ("double",):
        found = json.loads(cube_question_line(3, ask, START, situation))
        question = read_cube_question(found)
        assert (question.id, question.ask) == (3, ask)
        assert question.situation == situation
        assert question.board.tolist() == START.tolist()
        assert found["position"]["offer"] == (None if ask == "double" else "double")
    line = question_line(4, START, (3, 1), situation.rules, situation=situation)
    assert read_question(json.loads(line)).situation == situation
    plain = json.loads(question_line(4, START, (3, 1), situation.rules))
    assert "cube" not in plain
    assert read_question(plain).situation is None


def test_answers() -> None:
    question = read_cube_question(json.loads(cube_question_line(3, "take", START, Situation())))
    for value in (PASS, TAKE, BEAVER):
        assert answered_cube("take", cube_answer(question, value)) == value
    assert answered_cube("double", {"id": 1, "double": False}) == 0
    assert answered_cube("beaver", {"id": 1, "accept": True}) == 1


@pytest.mark.parametrize(
    ("ask", "answer", "says"),
    [
        ("double", {"double": 1}, "has no double of true, false"),
        ("double", {"answer": "take"}, "has no double"),
        ("take", {"answer": "drop"}, '"pass", "take", "beaver"'),
        ("take", {"answer": True}, "has no answer"),
        ("beaver", {"error": "out of ideas"}, "out of ideas"),
    ],
)
def test_bad_answers(ask: str, answer: dict[str, object], says: str) -> None:
    with pytest.raises(NardiError, match=says):
        answered_cube(ask, answer)


def test_a_greeting_may_say_that_the_cube_is_played() -> None:
    line = {"protocol": "nardi-bot", "version": 1, "name": "t"}
    assert not read_greeting(json.dumps(line).encode()).answers_cube
    assert read_greeting(json.dumps(line | {"answers_cube": True}).encode()).answers_cube
    with pytest.raises(NardiError, match="answers_cube is 1; accepted"):
        read_greeting(json.dumps(line | {"answers_cube": 1}).encode())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cube_owner": "me"}, "cube_owner"),
        ({"cube_value": "2"}, "cube_value"),
        ({"cube_value": 0}, "cube value"),
        ({"board": [1]}, "26|numbers|slots"),
        ({"board": "start"}, "board"),
        ({"crawford": 1}, "crawford"),
        ({"mover_score": 7}, "away"),
    ],
)
def test_bad_questions(change: dict[str, object], says: str) -> None:
    found = json.loads(cube_question_line(3, "double", START, SITUATIONS[3]))
    found["position"] |= change
    with pytest.raises(NardiError, match=says):
        read_cube_question(found)


def test_nardi_bot_answers(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    bot = load_bot("net", BEAVERS)
    board = START.copy()
    owned = SITUATIONS[2]
    lines = [
        cube_question_line(n, ask, board, Situation(rules=BEAVERS))
        for n, ask in enumerate(("double", "take", "beaver"))
    ]
    lines.append(question_line(3, board, (3, 1), BEAVERS, situation=owned))
    lines.append('{"id": 4, "ask": "double"}')
    feed(monkeypatch, "\n".join(lines) + "\n")
    assert run("bot", "net") == DONE
    greeting, *answers = documents(capsys.readouterr().out)
    assert greeting["answers_cube"] is True
    centred = [Situation(rules=BEAVERS)]
    boards = board[np.newaxis]
    assert answers[0] == {"id": 0, "double": bool(bot.doubles(boards, centred)[0])}
    assert answers[1] == {"id": 1, "answer": "beaver"}  # a double from the start
    assert answers[2] == {"id": 2, "accept": bool(bot.accepts_beavers(boards, centred)[0])}
    after = bot.choose_at(boards, np.array([[3, 1]], dtype=np.int8), [owned])[0]
    assert answers[3] == {"id": 3, "afterstate": after.tolist()}
    assert "no position" in answers[4]["error"]


@pytest.mark.parametrize("rules", [BEAVERS, INTERNATIONAL.replace(match_to=2)], ids=str)
def test_our_bot_as_a_program_is_our_bot(rules: Rules) -> None:
    program = f"exec:{PYTHON} -m nardi bot net"
    duels = [play_duel(bot, "pubeval", 6, 2, rules, cube=True) for bot in (program, "net")]
    assert duels[0].ppg == duels[1].ppg
    assert duels[0].cube == duels[1].cube
    assert duels[0].cube is not None
    assert duels[0].cube[0].doubles > 0


PLAYS = """\
import json, sys
def say(line):
    print(json.dumps(line), flush=True)
say({"protocol": "nardi-bot", "version": 1, "name": "t", "wants_plays": True, %s})
for line in sys.stdin:
    question = json.loads(line)
    if question["ask"] == "play":
        assert question["cube"] is True
        say({"id": question["id"], "play": question["plays"][0]["play"]})
    else:
        say({"id": question["id"], "answer": "beaver", "double": True})
"""


def test_programs_without_cube_count_pips(tmp_path: Path) -> None:
    path = tmp_path / "bot.py"
    path.write_text(PLAYS % '"answers_cube": False', encoding="utf-8")
    duel = play_duel(f"exec:{PYTHON} {path}", "pip-greedy", 4, 1, cube=True)
    assert duel.cube is not None
    assert duel.cube[0].doubles + duel.cube[1].doubles > 0


def test_a_beaver_against_the_rules_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "bot.py"
    path.write_text(PLAYS % '"answers_cube": true'.replace("true", "True"), encoding="utf-8")
    with pytest.raises(NardiError, match="beavers a double to 4, which the rules"):
        play_duel(f"exec:{PYTHON} {path}", "pip-greedy", 4, 1, cube=True)
