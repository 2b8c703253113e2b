"""Identifiers and back: nothing is lost, nobody changes sides, and gnubg_nn writes the same."""

import functools
import importlib.util

import numpy as np
import pytest
from hypothesis import given, settings

from engine.board import START, flip, opp_pip_count, pip_count
from engine.errors import NotationError
from engine.notation import (
    NOTATIONS,
    Notation,
    Position,
    format_position,
    format_position_id,
    parse_position,
    parse_position_id,
)
from tests.golden_cases import read_golden
from tests.notation_strategies import as_array, finished_boards, positions, told_by
from tests.strategies import constructed_board


@functools.cache
def _ten_thousand_boards() -> list[tuple[int, ...]]:
    """Boards after plays of all phases, some with a side's checkers all borne off."""
    lines = read_golden("moves.jsonl.gz")
    every = sorted({tuple(after) for line in lines for after in line["a"]})
    rng = np.random.default_rng(17)
    boards = [every[number] for number in rng.choice(len(every), size=9_000, replace=False)]
    boards += [constructed_board(rng, "both_bars") for _ in range(1_000)]
    boards[::2] = [tuple(flip(board).tolist()) for board in boards[::2]]
    for number in range(0, len(boards), 50):
        boards[number] = tuple(max(n, 0) if slot else 0 for slot, n in enumerate(boards[number]))
    return boards


def test_ten_thousand_boards_come_back() -> None:
    """Each as Position ID and in one of the other notations by turns."""
    boards = _ten_thousand_boards()
    assert sum(board[25] > 0 for board in boards) > 500
    assert sum(board[0] > 0 for board in boards) > 1000
    assert sum(board[0] > 0 and board[25] > 0 for board in boards) > 900
    assert sum(sum(n for n in board[1:] if n > 0) < 15 for board in boards) > 1000
    for number, board in enumerate(boards):
        array = as_array(board)
        position = Position(board=array, mover_player=number // 4 % 2)
        assert (parse_position_id(format_position_id(array)) == array).all()
        if number % 4 == 3:
            raw = parse_position(str(list(board)))
            assert (raw.board == array).all()
            continue
        notation = NOTATIONS[number % 4]
        text = format_position(position, notation)
        read = parse_position(text)
        assert (read.board == array).all(), text
        assert read.mover_player == position.mover_player, text
        assert format_position(read, notation) == text


@pytest.mark.skipif(
    importlib.util.find_spec("gnubg_nn") is None,
    reason="gnubg-nn is not installed: its Position IDs cannot be compared",
)
def test_position_ids_equal_those_of_gnubg_nn() -> None:
    import gnubg_nn

    for board in _ten_thousand_boards():
        opponent = [int(n) if n > 0 else 0 for n in flip(board)[1:]]
        mover = [max(n, 0) for n in board[1:]]
        text = format_position_id(as_array(board))
        assert text == gnubg_nn.position_id([opponent, mover])
        sides = gnubg_nn.board_from_position_id(text)
        assert [list(side) for side in sides] == [opponent, mover]


@settings(max_examples=200, deadline=None)
@given(position=positions("xgid"))
def test_xgid_keeps_every_field(position: Position) -> None:
    text = format_position(position, "xgid")
    assert parse_position(text) == position
    assert format_position(parse_position(text), "xgid") == text


@settings(max_examples=200, deadline=None)
@given(position=positions("gnuid"))
def test_gnubg_id_keeps_every_field(position: Position) -> None:
    text = format_position(position, "gnuid")
    assert len(text) == 14 + 1 + 12
    assert parse_position(text) == position
    assert format_position(parse_position(text), "gnuid") == text


@settings(max_examples=200, deadline=None)
@given(position=positions("ogid"))
def test_ogid_keeps_every_field(position: Position) -> None:
    text = format_position(position, "ogid")
    assert parse_position(text) == position
    assert parse_position(f"OGID={text}") == position


@pytest.mark.parametrize("source", NOTATIONS)
@pytest.mark.parametrize("target", NOTATIONS)
def test_what_another_notation_cannot_hold_is_refused_and_the_rest_kept(
    source: Notation, target: Notation
) -> None:
    converted = 0
    refused = 0

    @settings(max_examples=40, deadline=None)
    @given(position=positions(source))
    def check(position: Position) -> None:
        nonlocal converted, refused
        try:
            text = format_position(position, target)
        except NotationError:
            refused += 1
            return
        converted += 1
        assert parse_position(text) == told_by(target, position)

    check()
    assert converted > 5
    assert (refused == 0) is (source == target) or target != "ogid"


@settings(max_examples=50, deadline=None)
@given(board=finished_boards())
def test_a_finished_board_is_readable(board: tuple[int, ...]) -> None:
    text = format_position_id(as_array(board))
    assert parse_position(text).board.tolist() == list(board)


def test_decisive_asymmetric_position_id() -> None:
    board = parse_position_id("AwAACAAAAAAAAA")
    assert board[1] == 1
    assert board[24] == -2
    assert format_position_id(flip(board)) == "AQAADAAAAAAAAA"


def test_start_has_the_well_known_ids_and_pips() -> None:
    position = parse_position("start")
    assert (position.board == START).all()
    assert format_position(position, "gnuid") == "4HPwATDgc/ABMA:cAkAAAAAAAAE"
    assert (
        format_position(position, "xgid") == "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10"
    )
    assert format_position(position, "ogid") == "11ccccchhhjjjjj:66666888dddddoo:N0N::B:R:0:0:0:0"
    assert pip_count(position.board) == opp_pip_count(position.board) == 167


def test_pip_counts_and_trays_are_not_swapped() -> None:
    """C18 of the public bug reports: X has 156 pips, O has 129."""
    text = "XGID=-----BC-CB--dC--acbe---AA-:0:0:{}:22:0:0:0:0:10"
    bottom, top = parse_position(text.format("1")), parse_position(text.format("-1"))
    assert (pip_count(bottom.board), opp_pip_count(bottom.board)) == (156, 129)
    assert (pip_count(top.board), opp_pip_count(top.board)) == (129, 156)
    assert (top.board == flip(bottom.board)).all()


def test_xgid_board_is_absolute_in_a_genuine_export() -> None:
    """X to play 63, O owns the 2-cube, X 3 - O 4 in a match to 5; the best play is 11/8 11/5."""
    position = parse_position("XGID=---BBBBAAA---Ac-bbccbAA-A-:1:1:-1:63:4:3:0:5:8")
    assert position.mover_player == 0
    assert position.board[11] == 3
    assert (position.cube_owner, position.cube_value) == ("opponent", 2)
    assert (position.mover_score, position.opp_score) == (3, 4)
    assert position.post_crawford
    assert position.max_cube == 256
