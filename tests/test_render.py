"""The text board: everything in it can be read back, and it fits a terminal."""

import re
from dataclasses import replace

import numpy as np
import pytest

from engine.board import NUM_SLOTS, START
from engine.notation import Position
from nardi.render import board_text, position_text, situation_text

OPENING = """\
 +13-14-15-16-17-18------19-20-21-22-23-24-+
 | X           O    |   | O              X |  O  167 pips, 0 off
 | X           O    |   | O              X |
 | X           O    |   | O                |
 | X                |   | O                |
 | X                |   | O                |  money game
 |                  |BAR|                  |  cube 1, centred
 | O                |   | X                |
 | O                |   | X                |
 | O           X    |   | X                |
 | O           X    |   | X              O |
 | O           X    |   | X              O |  X  167 pips, 0 off
 +12-11-10--9--8--7-------6--5--4--3--2--1-+"""


def read_back(text: str) -> list[int]:
    """The board that a text board shows, read from its columns alone."""
    lines = text.splitlines()
    board = [0] * NUM_SLOTS
    for half, border in ((lines[1:6], lines[0]), (lines[11:6:-1], lines[12])):
        labels = {match.end() - 1: int(match[0]) for match in re.finditer(r"\d+", border)}
        places = dict.fromkeys(labels, 0) | {22: 0}
        for column in places:
            cells = [line[column - 1 : column + 2].strip() for line in half]
            signs = {cell for cell in cells if cell in ("X", "O")}
            numbers = [int(cell) for cell in cells if cell.isdigit()]
            assert len(signs) <= 1
            count = numbers[0] if numbers else len([cell for cell in cells if cell])
            count = count if signs == {"X"} else -count
            if column == 22:
                board[25 if count > 0 else 0] += abs(count)
            else:
                board[labels[column]] = count
    return board


def board_of(**points: int) -> list[int]:
    """A board from point_6=3 and the like; opp_bar and bar for the bars."""
    board = [0] * NUM_SLOTS
    for name, count in points.items():
        slot = {"bar": 25, "opp_bar": 0}.get(name)
        board[int(name.removeprefix("point_")) if slot is None else slot] = count
    return board


def test_opening() -> None:
    assert board_text(Position()) == OPENING
    assert read_back(OPENING) == START.tolist()


def test_random_boards_can_be_read_back() -> None:
    rng = np.random.default_rng(2026)
    for _ in range(300):
        board = np.zeros(NUM_SLOTS, dtype=np.int64)
        for sign, bar in ((1, 25), (-1, 0)):
            for _ in range(int(rng.integers(1, 16))):
                free = [p for p in range(1, 25) if board[p] * sign >= 0] + [bar]
                slot = int(rng.choice(free))
                board[slot] += 1 if slot in (0, 25) else sign
        text = board_text(Position(board=board.astype(np.int8)))
        assert read_back(text) == board.tolist(), text


@pytest.mark.parametrize("count", [1, 5, 6, 9, 10, 15])
def test_tall_stacks_tell_their_number(count: int) -> None:
    board = board_of(point_3=count, opp_bar=count)
    assert read_back(board_text(Position(board=np.array(board)))) == board


def test_everything_about_a_match_is_there() -> None:
    position = Position(
        board=np.array(board_of(point_6=4, point_19=-3, bar=1)),
        match_length=7,
        mover_score=6,
        opp_score=3,
        crawford=True,
        cube_value=4,
        cube_owner="opponent",
    )
    text = board_text(position)
    for part in (
        "match to 7, Crawford",
        "cube 4, owned by O",
        "O  18 pips, 12 off",
        "X  49 pips, 10 off",
    ):
        assert part in text
    scores = re.findall(r"score (\d+)", text)
    assert scores == ["3", "6"]
    assert "post-Crawford" in board_text(replace(position, crawford=False))


def test_money_rules() -> None:
    assert "money game, jacoby, beaver" in board_text(Position(jacoby=True, beaver=True))
    assert "jacoby" not in board_text(Position(jacoby=False))


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (Position(), "X on roll"),
        (Position(dice=(3, 1)), "X to play 3-1"),
        (Position(offer="double", decider="opponent"), "X doubles to 2; O to answer"),
        (
            Position(offer="beaver", cube_value=2, decider="mover"),
            "O beavers; X to answer",
        ),
        (
            Position(resignation=2, decider="opponent"),
            "X offers to resign a gammon; O to answer",
        ),
        (Position(board=np.array(board_of(point_6=4))), "the game is over"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_situation(position: Position, expected: str) -> None:
    assert situation_text(position) == expected


def test_fits_a_terminal() -> None:
    position = Position(
        board=np.array(board_of(point_24=15, point_1=-15)),
        match_length=2**15 - 1,
        mover_score=32_000,
        opp_score=32_766,
        cube_value=4096,
        cube_owner="mover",
    )
    text = position_text(position)
    assert text.isascii()
    assert max(len(line) for line in text.splitlines()) <= 80


def test_a_notation_that_fails_tells_why() -> None:
    text = position_text(Position(cube_value=3, cube_owner="mover", match_length=0))
    assert len(re.findall(r"^(?:xgid|gnuid|ogid) +cannot express it: \S", text, re.MULTILINE)) == 3
    assert max(len(line) for line in text.splitlines()) <= 80
