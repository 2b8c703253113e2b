"""The lines between nardi and a bot program: what is written, what is accepted, our own bots."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.board import START
from engine.errors import ConfigError, IllegalPlayError, NardiError
from engine.moves import legal_afterstates, legal_plays
from engine.rules import ARENA, CAUCASIAN, INTERNATIONAL
from eval.duel import play_duel
from eval.peers.protocol import (
    answered_afterstate,
    greeting_line,
    question_line,
    read_greeting,
    read_question,
)
from nardi.cli import DONE, FAILED
from tests.command_line import Capture, documents, feed, run

GUIDE = (Path(__file__).parent.parent / "docs" / "protocol.md").read_text(encoding="utf-8")
AFTER = [0, -2, 0, 0, 0, 2, 4, 0, 2, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0]


def blocks(language: str) -> list[str]:
    """Code blocks of the guide."""
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def question(**more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(question_line(7, START, (3, 1), INTERNATIONAL, **more))
    return found


def answered(answer: dict[str, Any]) -> list[int]:
    legal = legal_afterstates(START, (3, 1))
    after: list[int] = answered_afterstate(
        answer, START, (3, 1), INTERNATIONAL, legal, False
    ).tolist()
    return after


# --- the guide ---


def test_example_of_the_guide_plays(tmp_path: Path) -> None:
    [program] = blocks("python")
    assert len(program.strip().splitlines()) <= 15
    path = tmp_path / "mybot.py"
    path.write_text(program, encoding="utf-8")
    duel = play_duel(f"exec:{shlex.quote(sys.executable)} {path}", "pip-greedy", 4, 1)
    assert duel.n_games == 4


def test_lines_of_the_guide_are_as_ours() -> None:
    greeting, asked, answers = blocks("json")
    assert read_greeting(greeting.encode()).wants_plays
    shown = json.loads(asked)
    real = question(draw=0.25)
    assert shown.keys() == real.keys()
    assert {k: real["position"][k] for k in shown["position"]} == shown["position"]
    assert shown["rules"].items() <= real["rules"].items()
    assert read_question(shown).board.tolist() == START.tolist()
    *plays, error = documents(answers)
    assert [answered(answer) for answer in plays] == [AFTER] * 3
    with pytest.raises(NardiError, match=r"gave up.*arena rules are not known"):
        answered(error)


# --- greetings ---


def test_greeting() -> None:
    greeting = read_greeting(greeting_line("my bot 1.0").encode())
    assert (greeting.name, greeting.wants_plays) == ("my bot 1.0", False)


@pytest.mark.parametrize(
    ("line", "message", "kind"),
    [
        ("hello", "'hello' is not a JSON object", NardiError),
        ("[1]", "'[1]' is not a JSON object", NardiError),
        ("[" * 100_000, "is not a JSON object", NardiError),
        ("{}", "accepted: a greeting like", NardiError),
        ('{"protocol": "uci", "version": 1}', "accepted: a greeting like", NardiError),
        ('{"protocol": "nardi-bot", "version": 2, "name": "x"}', "version 2", ConfigError),
        ('{"protocol": "nardi-bot", "version": true, "name": "x"}', "version true", ConfigError),
        ('{"protocol": "nardi-bot", "name": "x"}', "version null", ConfigError),
        ('{"protocol": "nardi-bot", "version": 1}', "the name null", ConfigError),
        ('{"protocol": "nardi-bot", "version": 1, "name": " "}', "accepted: a text", ConfigError),
        (
            '{"protocol": "nardi-bot", "version": 1, "name": "x", "wants_plays": 1}',
            "accepted: true, false",
            ConfigError,
        ),
    ],
    ids=range(11),
)
def test_bad_greetings(line: str, message: str, kind: type[NardiError]) -> None:
    with pytest.raises(kind) as error:
        read_greeting(line.encode())
    assert message in str(error.value)


# --- questions ---


def test_question_tells_all() -> None:
    found = question(draw=0.5, with_plays=True)
    assert (found["id"], found["ask"], found["dice"], found["draw"]) == (7, "play", [3, 1], 0.5)
    assert found["position"]["board"] == START.tolist()
    assert found["position"]["dice"] == [3, 1]
    assert found["rules"] == INTERNATIONAL.as_dict()
    afterstates, plays = legal_plays(START, (3, 1))
    assert [play["afterstate"] for play in found["plays"]] == afterstates.tolist()
    assert found["plays"][0]["steps"] == [list(step) for step in plays[0]]
    assert {"plays", "draw"}.isdisjoint(question())


def test_question_with_some_plays() -> None:
    legal = legal_afterstates(START, (3, 1))
    found = question(allowed=legal[[2, 5]])
    assert [play["afterstate"] for play in found["plays"]] == legal[[2, 5]].tolist()
    allowed = read_question(found).allowed
    assert allowed is not None
    assert allowed.tolist() == legal[[2, 5]].tolist()
    assert read_question(question(with_plays=True)).allowed is None


def test_question_round_trip() -> None:
    line = question_line(1, START, (6, 6), ARENA, draw=0.25)
    asked = read_question(json.loads(line))
    assert (asked.id, asked.roll, asked.rules, asked.draw) == (1, (6, 6), ARENA, 0.25)
    short = {"id": "a", "ask": "play", "position": {"board": START.tolist()}, "dice": [2, 1]}
    assert read_question(short).rules == INTERNATIONAL


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ask": "double"}, "question \"double\" is not known; accepted: 'play'"),
        ({"ask": None}, "question null is not known"),
        ({"position": None}, "no position"),
        ({"position": {}}, "no position"),
        ({"position": {"board": [0] * 25}}, "accepted: 26 whole numbers"),
        ({"position": {"board": [True] * 26}}, "accepted: 26 whole numbers"),
        ({"position": {"board": [10**30] * 26}}, "whole numbers"),
        ({"position": {"board": [0] * 26}}, "game is over"),
        ({"dice": [3]}, "accepted: two faces"),
        ({"dice": [7, 1]}, "7"),
        ({"dice": "31"}, "accepted: two faces"),
        ({"rules": []}, "accepted: an object of rule switches"),
        ({"rules": {"huff": True}}, "unknown rule 'huff'"),
        ({"draw": 1}, "accepted: a number from 0 up to 1"),
        ({"draw": "x"}, "accepted: a number from 0 up to 1"),
        ({"plays": []}, "plays must be a list"),
        ({"plays": [1]}, "plays must be a list"),
        ({"plays": [{}]}, "afterstate is null"),
        ({"plays": [{"afterstate": START.tolist()}]}, "no legal play leads to"),
    ],
    ids=range(19),
)
def test_bad_questions(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(NardiError) as error:
        read_question(question() | changes)
    assert message in str(error.value)


# --- answers ---


@pytest.mark.parametrize(
    "answer",
    [
        {"play": "8/5 6/5"},
        {"play": "6/5 8/5"},
        {"steps": [[6, 5], [8, 5]]},
        {"afterstate": AFTER},
        {"play": "8/5 6/5", "steps": [[8, 5], [6, 5]], "afterstate": AFTER, "equity": 0.16},
    ],
    ids=["play", "other-order", "steps", "afterstate", "all"],
)
def test_answers(answer: dict[str, Any]) -> None:
    assert answered(answer) == AFTER


@pytest.mark.parametrize(
    ("answer", "message", "kind"),
    [
        ({}, "has none of play, steps, afterstate", NardiError),
        ({"play": "8/2"}, "8/2", NardiError),
        ({"play": "8/5"}, "8/5", IllegalPlayError),
        ({"play": 31}, "accepted: a text", NardiError),
        ({"play": "best"}, "best", NardiError),
        ({"steps": [[8, 5]]}, "not complete", IllegalPlayError),
        ({"steps": [8, 5]}, "accepted: such as", NardiError),
        ({"steps": [[8, 5], [6, 2]]}, "6", IllegalPlayError),
        ({"afterstate": START.tolist()}, "no legal play's result", IllegalPlayError),
        ({"afterstate": [16, *[0] * 25]}, "opponent", NardiError),
        ({"afterstate": AFTER[1:]}, "accepted: 26 whole numbers", NardiError),
        ({"play": "24/20", "afterstate": AFTER}, "name different plays", NardiError),
        ({"error": "no idea"}, "gave up", NardiError),
    ],
    ids=range(13),
)
def test_bad_answers(answer: dict[str, Any], message: str, kind: type[NardiError]) -> None:
    with pytest.raises(kind) as error:
        answered(answer)
    assert message in str(error.value)


def test_legal_but_not_listed() -> None:
    legal = legal_afterstates(START, (3, 1))
    others = legal[(legal != np.array(AFTER)).any(axis=1)]
    with pytest.raises(IllegalPlayError, match="not one of the plays that were listed"):
        answered_afterstate({"play": "8/5 6/5"}, START, (3, 1), INTERNATIONAL, others, True)


# --- nardi bot ---


def ask(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, bot: str, *lines: str
) -> list[dict[str, Any]]:
    feed(monkeypatch, "\n".join(lines))
    assert run("bot", bot) == DONE
    greeting, *answers = documents(capsys.readouterr().out)
    assert read_greeting(json.dumps(greeting).encode()).name.startswith(f"{bot}, nardi ")
    return answers


def test_our_bot_answers(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    lines = [
        question_line(1, START, (3, 1), INTERNATIONAL),
        "",
        "nonsense",
        json.dumps({"id": [2], "ask": "guess"}),
        question_line(3, START, (6, 5), CAUCASIAN, draw=0.5),
        question_line(
            4, START, (3, 1), INTERNATIONAL, allowed=legal_afterstates(START, (3, 1))[:2]
        ),
    ]
    first, bad, unknown, third, some = ask(monkeypatch, capsys, "pubeval", *lines)
    assert first == {"id": 1, "afterstate": AFTER}
    assert (bad["id"], unknown["id"]) == (None, [2])
    assert "'nonsense' is not a JSON object" in bad["error"]
    assert "accepted: 'play'" in unknown["error"]
    assert third["afterstate"] in legal_afterstates(START, (6, 5)).tolist()
    assert some["afterstate"] in legal_afterstates(START, (3, 1))[:2].tolist()


def test_bot_by_chance_needs_draws(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    lines = [question_line(n, START, (3, 1), INTERNATIONAL, draw=d) for n, d in ((1, None), (2, 0))]
    without, with_draw = ask(monkeypatch, capsys, "random", *lines)
    assert "needs draws" in without["error"]
    assert with_draw["afterstate"] == legal_afterstates(START, (3, 1))[0].tolist()


def test_nobody_asks(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert ask(monkeypatch, capsys, "pip-greedy") == []


def test_bot_that_is_unknown(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    feed(monkeypatch, "")
    assert run("bot", "wildbg") == FAILED
    assert "unknown bot 'wildbg'; known: random" in capsys.readouterr().err
