"""Identifiers and play texts that other programs wrote, read or refused."""

import contextlib
from typing import Any

import pytest

from engine.board import START, flip
from engine.errors import (
    AmbiguousPlayError,
    IllegalPlayError,
    NotationError,
    PositionError,
)
from engine.moves import play_steps
from engine.notation import (
    Position,
    format_play,
    format_position,
    format_position_id,
    parse_match_id,
    parse_play,
    parse_position,
    parse_position_id,
)
from engine.notation.gnuid import format_match_id
from tests.golden_cases import read_golden

Case = dict[str, Any]
READ_ERRORS = (NotationError, PositionError)


def _cases(kind: str, valid: bool | None) -> list[Any]:
    return [
        pytest.param(case, id=f"{case['id']} {case.get('desc', '')}".strip())
        for case in read_golden("ogid.jsonl" if kind == "ogid" else "formats.jsonl")
        if case["kind"] == kind and case["expected"]["valid"] is valid
    ]


def _sides(board: Any) -> tuple[list[int], list[int]]:
    """The board as the golden file has it: own points 1 to 24 and bar of mover and opponent."""
    mover = [max(int(n), 0) for n in board[1:]]
    return mover, [max(int(n), 0) for n in flip(board)[1:]]


def test_golden_file_has_every_kind() -> None:
    kinds = [case["kind"] for case in read_golden("formats.jsonl")]
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    assert counts == {"positionid": 45, "matchid": 59, "xgid": 74, "move": 86}
    assert len(read_golden("ogid.jsonl")) == 12


@pytest.mark.parametrize("case", _cases("positionid", True))
def test_position_id_is_read_and_written_back(case: Case) -> None:
    text, expected = case["input"]["id"], case["expected"]
    board = parse_position_id(text)
    assert _sides(board) == (expected["player"], expected["opponent"])
    assert format_position_id(board) == text
    position = parse_position(text)
    assert (position.board == board).all()
    assert position == Position(board=board)


@pytest.mark.parametrize("case", _cases("positionid", False))
def test_bad_position_id_is_refused(case: Case) -> None:
    for read in (parse_position_id, parse_position):
        with pytest.raises(READ_ERRORS, match=r"\w+"):
            read(case["input"]["id"])


@pytest.mark.parametrize("case", _cases("matchid", True))
def test_match_id_is_read_and_written_back(case: Case) -> None:
    text, expected = case["input"]["id"], case["expected"]
    fields = parse_match_id(text)
    position_id = case["input"].get("position_id", format_position_id(START))
    position = parse_position(f"{position_id}:{text}")
    assert position == Position(board=parse_position_id(position_id), **fields)
    if "player" in expected:
        assert _sides(position.board) == (expected["player"], expected["opponent"])

    mover = expected["player_on_roll"]
    assert position.mover_player == mover
    assert position.cube_value == expected["cube"]
    owner = expected["cube_owner"]
    assert position.cube_owner == (
        None if owner is None else "mover" if owner == mover else "opponent"
    )
    assert position.decider == ("mover" if expected["turn"] == mover else "opponent")
    assert position.crawford == expected["crawford"]
    assert position.game_state == expected["game_state"]
    assert position.offer == ("double" if expected["double_offered"] else None)
    assert position.resignation == expected["resign_offered"]
    assert position.dice == (tuple(expected["dice"]) if any(expected["dice"]) else None)
    assert position.match_length == expected["match_length"]
    scores = expected["score"]
    assert (position.mover_score, position.opp_score) == (scores[mover], scores[1 - mover])
    assert bool(position.jacoby) == expected["jacoby"]

    assert format_match_id(position) == text
    assert format_position(position, "gnuid") == f"{position_id}:{text}"


@pytest.mark.parametrize("case", _cases("matchid", False))
def test_bad_match_id_is_refused(case: Case) -> None:
    with pytest.raises(READ_ERRORS, match=r"\w+"):
        parse_position(f"4HPwATDgc/ABMA:{case['input']['id']}")


@pytest.mark.parametrize("case", _cases("xgid", True))
def test_xgid_is_read_and_written_back(case: Case) -> None:
    text, expected = case["input"]["xgid"], case["expected"]
    position = parse_position(text)
    assert position.mover_player == (1 if expected["on_roll"] == "bottom" else 0)
    if "player" in expected:
        assert _sides(position.board) == (expected["player"], expected["opponent"])
    assert position.cube_value == expected["cube"]
    owner = {"centered": None, "player": "mover", "opponent": "opponent"}[expected["cube_owner"]]
    assert position.cube_owner == owner
    # The golden file puts the larger die first; a Position keeps the order given.
    dice = None if position.dice is None else sorted(position.dice, reverse=True)
    assert dice == expected["dice"]
    assert (position.offer == "double") == expected["double_offered"]
    assert position.decider == ("opponent" if expected["double_offered"] else "mover")
    assert position.mover_score == expected["player_score"]
    assert position.opp_score == expected["opponent_score"]
    assert position.match_length == expected["match_length"]
    assert position.crawford == expected["crawford"]
    assert position.jacoby == expected.get("jacoby")
    assert position.beaver == expected.get("beavers")
    assert format_position_id(position.board) == expected["position_id"]
    if "match_id_after_putting_player_on_roll_as_player_1" in expected:
        assert (
            format_match_id(position.replace(mover_player=1))
            == expected["match_id_after_putting_player_on_roll_as_player_1"]
        )
    assert format_position(position, "xgid") == f"XGID={text.removeprefix('XGID=')}"


@pytest.mark.parametrize("case", _cases("xgid", False))
def test_bad_xgid_is_refused(case: Case) -> None:
    with pytest.raises(READ_ERRORS, match=r"\w+"):
        parse_position(case["input"]["xgid"])


@pytest.mark.parametrize(
    "case", [*_cases("positionid", None), *_cases("matchid", None), *_cases("xgid", None)]
)
def test_where_programs_differ_we_accept_or_refuse(case: Case) -> None:
    text = case["input"].get("xgid") or case["input"]["id"]
    text = f"4HPwATDgc/ABMA:{text}" if case["kind"] == "matchid" else text
    with contextlib.suppress(*READ_ERRORS):
        position = parse_position(text)
        notation = "xgid" if case["kind"] == "xgid" else "gnuid"
        assert parse_position(format_position(position, notation)) == position


@pytest.mark.parametrize("case", _cases("ogid", True))
def test_ogid_is_read_and_written_back(case: Case) -> None:
    text, expected = case["input"]["ogid"], case["expected"]
    position = parse_position(text)
    decides = position.mover_player == 1
    if position.decider == "opponent":
        decides = not decides
    assert ("W" if decides else "B") == expected["on_roll"]
    view = position.board if position.decider == "mover" else flip(position.board)
    assert view.tolist() == expected["board_mover_view"]
    assert position.dice == (tuple(expected["dice"]) if expected["dice"] else None)
    assert position.cube_value == expected["cube"]
    owner = {"centered": None, "player": "mover", "opponent": "opponent"}[expected["cube_owner"]]
    assert position.cube_owner == owner
    assert (position.offer == "double") == (expected["state"] == "D")
    white_first = (position.mover_score, position.opp_score)[:: 1 if position.mover_player else -1]
    assert white_first == (expected["score_white"], expected["score_black"])
    assert position.match_length == expected["match_length"]
    assert position.crawford == expected["crawford"]
    assert position.post_crawford == expected["post_crawford"]

    written = format_position(position, "ogid")
    assert parse_position(written) == position
    fields, again = text.split(":"), written.split(":")
    assert again[:4] == fields[:4]
    assert again[6:9] == (fields[6:9] or ["0", "0", "0"])
    # Cube decisions and turns before the roll are one state to us, as is the first turn.
    assert again[5] == {"C": "R"}.get(expected["state"], expected["state"]) or len(fields) == 5


@pytest.mark.parametrize("case", _cases("ogid", False))
def test_bad_ogid_is_refused(case: Case) -> None:
    with pytest.raises(READ_ERRORS, match=r"\w+"):
        parse_position(case["input"]["ogid"])


@pytest.mark.parametrize("case", _cases("move", True))
def test_play_text_is_read_and_written_in_its_canonical_form(case: Case) -> None:
    position = parse_position(case["input"]["xgid"])
    assert format_position_id(position.board) == case["input"]["position_id"]
    roll = case["input"]["dice"]
    play = parse_play(case["input"]["text"], position.board, roll)
    expected = case["expected"]
    assert format_position_id(flip(play.afterstate)) == expected["next_position_id"]
    assert (play_steps(position.board, roll, play.steps) == play.afterstate).all()
    assert bool((play.afterstate[1:] > 0).any()) is not expected["game_over"]
    assert format_play(play, position.board) == expected["canonical"]


@pytest.mark.parametrize("case", _cases("move", False))
def test_unreadable_and_illegal_play_texts_are_told_apart(case: Case) -> None:
    position = parse_position(case["input"]["xgid"])
    parses = case["expected"]["parses"]
    errors = (IllegalPlayError, AmbiguousPlayError) if parses else NotationError
    with pytest.raises(errors, match=r"\w+"):
        parse_play(case["input"]["text"], position.board, case["input"]["dice"])


@pytest.mark.parametrize("case", _cases("move", None))
def test_play_texts_where_programs_differ_we_accept_or_refuse(case: Case) -> None:
    position = parse_position(case["input"]["xgid"])
    roll = case["input"]["dice"]
    with contextlib.suppress(NotationError, IllegalPlayError, AmbiguousPlayError):
        play = parse_play(case["input"]["text"], position.board, roll)
        assert (play_steps(position.board, roll, play.steps) == play.afterstate).all()
