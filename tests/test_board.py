"""engine.board: layout, mirror, validation that names every fault, pip counts, phase (case C15)."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import (
    BAR,
    NUM_CHECKERS,
    NUM_SLOTS,
    START,
    board_faults,
    borne_off,
    flip,
    has_contact,
    opp_borne_off,
    opp_pip_count,
    phase,
    pip_count,
    validate,
)
from engine.errors import PositionError
from tests.strategies import START_BOARD, boards, mirrored, self_play_boards

BoardTuple = tuple[int, ...]


def board_of(**places: int) -> list[int]:
    """A board from `p6=2` (own), `o19=3` (opponent's on the owner's 19), `bar`, `opp_bar`."""
    board = [0] * NUM_SLOTS
    for place, count in places.items():
        if place == "bar":
            board[BAR] = count
        elif place == "opp_bar":
            board[0] = count
        else:
            board[int(place[1:])] = count if place[0] == "p" else -count
    return board


# --- start position ---


def test_the_start_is_symmetric_with_167_pips_each() -> None:
    assert START.dtype == np.int8
    assert START.shape == (26,)
    np.testing.assert_array_equal(flip(START), START)
    assert pip_count(START) == opp_pip_count(START) == 167
    assert borne_off(START) == opp_borne_off(START) == 0
    assert phase(START) == "contact"
    assert {n: int(START[n]) for n in range(26) if START[n] > 0} == {24: 2, 13: 5, 8: 3, 6: 5}


def test_the_start_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        START[6] = 4


# --- flip ---


@given(boards())
def test_flip_is_the_mirror_and_an_involution(board: BoardTuple) -> None:
    b = np.array(board, dtype=np.int8)
    flipped = flip(b)
    assert flipped.dtype == np.int8
    assert tuple(flipped.tolist()) == mirrored(board)
    np.testing.assert_array_equal(flip(flipped), b)


def test_flip_exchanges_the_bars_and_leaves_its_argument() -> None:
    b = np.array(board_of(p6=2, o5=3, bar=4, opp_bar=1), dtype=np.int8)
    before = b.copy()
    flipped = flip(b)
    np.testing.assert_array_equal(b, before)
    assert flipped[BAR] == 1
    assert flipped[0] == 4
    assert flipped[19] == -2
    assert flipped[20] == 3


@given(st.lists(boards(), min_size=1, max_size=6))
def test_functions_on_a_batch_equal_those_on_each_board(many: list[BoardTuple]) -> None:
    batch = np.array(many, dtype=np.int8)
    for function in (flip, pip_count, opp_pip_count, borne_off, opp_borne_off, has_contact):
        together = function(batch)
        one_by_one = np.array([function(board) for board in batch])
        np.testing.assert_array_equal(together, one_by_one)
        stacked = function(batch[None])  # any number of leading axes
        np.testing.assert_array_equal(stacked[0], one_by_one)


# --- counts ---


@given(boards())
def test_counts_equal_the_plain_sums(board: BoardTuple) -> None:
    other = mirrored(board)
    for side, pips, off in (
        (board, pip_count(board), borne_off(board)),
        (other, opp_pip_count(board), opp_borne_off(board)),
    ):
        own = [(place, side[place]) for place in range(1, 26) if side[place] > 0]
        assert pips == sum(place * count for place, count in own)
        assert off == NUM_CHECKERS - sum(count for _, count in own)


def test_counts_do_not_overflow_eight_bits() -> None:
    board = board_of(bar=15, opp_bar=15)
    assert pip_count(np.array(board, dtype=np.int8)) == 375
    assert opp_pip_count(np.array(board, dtype=np.int8)) == 375


# --- contact and phase ---


def passed_each_other(board: BoardTuple) -> bool:
    """No own checker is behind an opposing one: by comparing every pair."""
    own = [place for place in range(1, 26) if board[place] > 0]
    opp = [place for place in range(1, 25) if board[place] < 0] + [0] * (board[0] > 0)
    return all(mine < theirs for mine, theirs in itertools.product(own, opp))


@given(boards())
def test_c15_contact_is_that_not_all_have_passed_each_other(board: BoardTuple) -> None:
    assert bool(has_contact(board)) == (not passed_each_other(board))


@given(boards())
def test_c15_contact_is_the_same_for_both_sides(board: BoardTuple) -> None:
    assert bool(has_contact(board)) == bool(has_contact(flip(board)))


def test_c15_random_games_end_in_races(rng: np.random.Generator) -> None:
    """An inverted test for contact found almost no race in 200,000 moves."""
    games = itertools.islice(self_play_boards(rng), 3000)
    races = [board for board, _ in games if phase(board) == "race"]
    assert len(races) > 100
    assert all(passed_each_other(board) for board in races)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ({"p6": 1, "o7": 1}, "race"),
        ({"p7": 1, "o6": 1}, "contact"),
        ({"p6": 2, "opp_bar": 1}, "contact"),
        ({"p6": 2, "opp_bar": 1, "o24": 3}, "contact"),
        ({"bar": 1, "o24": 1}, "contact"),
        ({"bar": 1, "opp_bar": 1}, "contact"),
        ({"p1": 1, "o24": 1}, "race"),
        ({"p3": 5}, "over"),
        ({"o3": 5}, "over"),
        ({"bar": 5}, "over"),
        ({"opp_bar": 5}, "over"),
    ],
)
def test_phase(places: dict[str, int], expected: str) -> None:
    board = board_of(**places)
    assert phase(board) == expected
    assert phase(flip(board)) == expected


# --- validation ---


@given(boards())
def test_good_boards_have_no_faults_and_are_copied(board: BoardTuple) -> None:
    source = np.array(board, dtype=np.int64)
    checked = validate(source)
    assert board_faults(source) == []
    assert checked.dtype == np.int8
    assert tuple(checked.tolist()) == board
    checked[:] = 0
    assert tuple(source.tolist()) == board
    assert tuple(validate(list(board)).tolist()) == board


@pytest.mark.parametrize(
    ("board", "message"),
    [
        ([0] * 25, r"26 numbers.*\(25,\)"),
        ([0] * 27, r"26 numbers.*\(27,\)"),
        ([[0] * 26], r"26 numbers.*\(1, 26\)"),
        ([], "26 numbers"),
        (7, "26 numbers"),
        ([0.0] * 26, "whole numbers.*float64"),
        ([float("nan")] * 26, "whole numbers.*float64"),
        (["0"] * 26, "whole numbers"),
        ([True] * 26, "whole numbers.*bool"),
        ([0] * 25 + [None], "whole numbers.*object"),
        ([[0], [0, 1]], "whole numbers"),
        (board_of(p6=16), "mover has 16 checkers.*16 on points, 0 on the bar.*at most 15"),
        (board_of(p6=14, bar=2), r"mover has 16 checkers \(14 on points, 2 on the bar\)"),
        (board_of(o6=10, o7=4, opp_bar=2, p1=1), "opponent has 16 checkers"),
        (board_of(p6=1, bar=-1), "slot 25.*is -1"),
        (board_of(p6=1, opp_bar=-2), "slot 0.*is -2"),
        (board_of(p6=300), "mover has 300 checkers"),
        (board_of(o6=250), "opponent has 250 checkers"),
        (board_of(bar=260), "mover has 260 checkers"),
        (
            board_of(**{f"p{n}": 2 for n in range(1, 7)}, bar=1)[:19] + [-2] * 6 + [1],
            None,
        ),
    ],
)
def test_faulty_boards_are_refused_with_the_reason(board: object, message: str | None) -> None:
    if message is None:  # nobody can ever move: both home boards closed, both sides on the bar
        assert isinstance(board, list)
        assert board_faults(board) == []
        board[0] = 1
        message = "closed"
    with pytest.raises(PositionError, match=message):
        validate(board)  # type: ignore[arg-type]


def test_every_fault_is_named_at_once() -> None:
    faults = board_faults(board_of(p6=17, o7=20, bar=-1, opp_bar=-3))
    assert len(faults) == 4
    with pytest.raises(PositionError) as caught:
        validate(board_of(p6=17, o7=20, bar=-1, opp_bar=-3))
    for fault in faults:
        assert fault in str(caught.value)
    for word in ("slot 25", "slot 0", "mover has 17", "opponent has 20"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "board",
    [
        START_BOARD,
        tuple(board_of(bar=15, opp_bar=15)),
        tuple(board_of(p1=1)),
        tuple(board_of(o1=1)),
        (0,) * 26,
        # all fifteen home with a closed board against one on the bar is fine
        tuple(board_of(**{f"p{n}": 2 for n in range(1, 7)}, opp_bar=1, bar=3)),
    ],
)
def test_rare_but_possible_boards_are_valid(board: BoardTuple) -> None:
    assert tuple(validate(board).tolist()) == board
