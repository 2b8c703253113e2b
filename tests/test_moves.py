"""engine.moves against golden positions and cases, its interface and its errors."""

from typing import Any

import numpy as np
import pytest

from engine.board import START
from engine.errors import IllegalPlayError, NardiError, PositionError
from engine.moves import (
    legal_afterstates,
    legal_afterstates_batch,
    legal_plays,
    play_steps,
)
from engine.rules import INTERNATIONAL, Rules
from engine.turn_context import TurnContext
from tests.golden_cases import MoveCase, apply_steps, read_golden, short_move_cases
from tests.move_checks import rows
from tests.strategies import HOUSE_RULES, START_BOARD

BoardTuple = tuple[int, ...]


# --- golden data ---


def test_every_golden_position() -> None:
    lines = read_golden("moves.jsonl.gz")
    assert len(lines) == 2000
    for line in lines:
        found = legal_afterstates(np.array(line["b"], dtype=np.int8), line["d"])
        assert rows(found) == [tuple(after) for after in line["a"]], (line["b"], line["d"])


def test_every_golden_position_in_one_batch() -> None:
    lines = read_golden("moves.jsonl.gz")
    boards = np.array([line["b"] for line in lines], dtype=np.int8)
    rolls = np.array([line["d"] for line in lines], dtype=np.int8)
    afterstates, offsets = legal_afterstates_batch(boards, rolls)
    assert offsets.tolist() == np.cumsum([0, *(len(line["a"]) for line in lines)]).tolist()
    np.testing.assert_array_equal(
        afterstates, np.array([after for line in lines for after in line["a"]], dtype=np.int8)
    )


@pytest.mark.parametrize("case", short_move_cases(), ids=lambda case: case.name)
def test_every_golden_case(case: MoveCase) -> None:
    board = np.array(case.board, dtype=np.int8)
    afterstates, plays = legal_plays(board, case.roll, case.rules)
    found = rows(afterstates)
    assert len(found) == case.legal_count
    assert {len(steps) for steps in plays} == {case.dice_used}
    if case.legal is not None:
        assert {apply_steps(case.board, play) for play in case.legal} == set(found)
    for play in case.legal_includes:
        after = play_steps(board, case.roll, play, case.rules)
        assert tuple(after.tolist()) == apply_steps(case.board, play)
    for play in case.illegal + case.illegal_sequences:
        with pytest.raises(IllegalPlayError):
            play_steps(board, case.roll, play, case.rules)
    for play in case.illegal_sequences:  # another order reaches the same position
        assert apply_steps(case.board, play) in found


# --- shapes, types, order ---


def test_shapes_and_types_of_one_position() -> None:
    afterstates = legal_afterstates(START, (3, 1))
    assert afterstates.shape == (16, 26)
    assert afterstates.dtype == np.int8
    again, plays = legal_plays(START, (3, 1))
    np.testing.assert_array_equal(again, afterstates)
    assert len(plays) == 16
    assert all(type(place) is int for steps in plays for step in steps for place in step)
    assert all(type(steps) is tuple and type(step) is tuple for steps in plays for step in steps)
    after = play_steps(START, (3, 1), ((8, 5), (6, 5)))
    assert after.shape == (26,)
    assert after.dtype == np.int8


def test_shapes_and_types_of_a_batch() -> None:
    afterstates, offsets = legal_afterstates_batch(np.array([START, START]), [(3, 1), (6, 6)])
    assert afterstates.shape == (16 + 11, 26)
    assert afterstates.dtype == np.int8
    assert offsets.dtype == np.int64
    assert offsets.tolist() == [0, 16, 27]


def test_an_empty_batch_gives_nothing() -> None:
    for rules in HOUSE_RULES:
        afterstates, offsets = legal_afterstates_batch(
            np.zeros((0, 26), dtype=np.int8), np.zeros((0, 2), dtype=np.int8), rules
        )
        assert afterstates.shape == (0, 26)
        assert afterstates.dtype == np.int8
        assert offsets.tolist() == [0]
        assert offsets.dtype == np.int64


@pytest.mark.parametrize("rules", HOUSE_RULES, ids=str)
def test_results_belong_to_the_caller_and_arguments_stay_as_they_are(rules: Rules) -> None:
    board = np.array(START_BOARD, dtype=np.int8)
    first = legal_afterstates(board, (6, 4), rules)
    kept = first.copy()
    second = legal_afterstates(board, (5, 5), rules)
    batch, _ = legal_afterstates_batch(board[None], [(2, 1)], rules)
    np.testing.assert_array_equal(first, kept)
    for result in (first, second, batch):
        result[:] = 0  # writable, and of no effect on anything else
    assert tuple(board.tolist()) == START_BOARD
    np.testing.assert_array_equal(legal_afterstates(board, (6, 4), rules), kept)


def test_a_pass_does_not_share_memory_with_the_board() -> None:
    board = np.zeros(26, dtype=np.int8)
    board[25], board[19:25] = 1, -2
    after = legal_afterstates(board, (6, 4))
    assert rows(after) == [tuple(board.tolist())]
    played = play_steps(board, (6, 4), ())
    after[:] = 5
    played[:] = 5
    assert board[25] == 1


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8])
def test_any_whole_numbers_are_boards(dtype: type) -> None:
    plain = [0] * 26
    plain[6], plain[3], plain[0] = 3, 2, 4  # no opposing checker on points: fits unsigned too
    board: Any = np.array(plain, dtype=dtype)
    expected = rows(legal_afterstates(np.array(plain, dtype=np.int8), (6, 5)))
    assert rows(legal_afterstates(board, (6, 5))) == expected
    afterstates, _ = legal_afterstates_batch(board[None], np.array([(6, 5)], dtype=dtype))
    assert rows(afterstates) == expected


def test_lists_and_strided_arrays_are_boards_too() -> None:
    expected = rows(legal_afterstates(START, (4, 2)))
    assert rows(legal_afterstates(list(START_BOARD), [4, 2])) == expected
    roll: Any = np.array([2, 4])
    assert rows(legal_afterstates(START_BOARD, roll)) == expected
    wide = np.zeros((4, 52), dtype=np.int8)
    wide[:, ::2] = START
    rolls = np.full((8, 4), 4, dtype=np.int8)
    rolls[:, ::2] = 2
    afterstates, offsets = legal_afterstates_batch(wide[::2, ::2], rolls[::4, 1:3])
    assert len(offsets) == 3
    assert rows(afterstates) == expected * 2
    assert rows(legal_afterstates(wide[0, ::2], (4, 2))) == expected


# --- no play, and the end of a game ---


@pytest.mark.parametrize("rules", HOUSE_RULES, ids=str)
def test_with_no_legal_play_the_result_is_the_unchanged_board(rules: Rules) -> None:
    board = np.zeros(26, dtype=np.int8)
    board[25], board[13], board[19:25] = 1, 14, -2
    for roll in ((6, 4), (3, 3)):
        afterstates, plays = legal_plays(board, roll, rules)
        assert rows(afterstates) == [tuple(board.tolist())]
        assert plays == [()]
        assert tuple(play_steps(board, roll, (), rules).tolist()) == tuple(board.tolist())
        with pytest.raises(IllegalPlayError):
            play_steps(board, roll, ((25, 25 - roll[0]),), rules)
        batch, offsets = legal_afterstates_batch(board[None], [roll], rules)
        assert rows(batch) == [tuple(board.tolist())]
        assert offsets.tolist() == [0, 1]


@pytest.mark.parametrize("rules", HOUSE_RULES, ids=str)
@pytest.mark.parametrize("loser", ["mover", "opponent"])
def test_a_finished_game_has_no_legal_plays(rules: Rules, loser: str) -> None:
    board = np.zeros(26, dtype=np.int8)
    if loser == "mover":
        board[6] = 3
    else:
        board[0] = 2
    for call in (
        lambda: legal_afterstates(board, (2, 1), rules),
        lambda: legal_plays(board, (2, 1), rules),
        lambda: play_steps(board, (2, 1), ((6, 4), (6, 5)), rules),
        lambda: legal_afterstates_batch(np.array([START, board]), [(2, 1), (2, 1)], rules),
    ):
        with pytest.raises(PositionError, match="over"):
            call()


# --- faulty boards and rolls ---


def faulty_boards() -> list[Any]:
    too_many = [0] * 26
    too_many[6], too_many[25], too_many[20] = 14, 2, -1
    negative_bar = [0] * 26
    negative_bar[6], negative_bar[20], negative_bar[25] = 2, -2, -1
    huge = [0] * 26
    huge[6], huge[20] = 257, -1  # 1 in eight bits
    nobody_moves = [0, 2, 2, 2, 2, 2, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1]
    nobody_moves[0] = 1
    return [
        too_many,
        negative_bar,
        huge,
        nobody_moves,
        [*START_BOARD, 0],
        START_BOARD[:-1],
        [],
        [float(n) for n in START_BOARD],
        [bool(n) for n in START_BOARD],
        [str(n) for n in START_BOARD],
        None,
        "start",
    ]


@pytest.mark.parametrize("rules", [HOUSE_RULES[0], HOUSE_RULES[-1]], ids=str)
@pytest.mark.parametrize("board", faulty_boards(), ids=range(12))
def test_faulty_boards_are_refused(board: Any, rules: Rules) -> None:
    for call in (
        lambda: legal_afterstates(board, (2, 1), rules),
        lambda: legal_plays(board, (2, 1), rules),
        lambda: play_steps(board, (2, 1), ((6, 4), (6, 5)), rules),
        lambda: legal_afterstates_batch([board], [(2, 1)], rules),
    ):
        with pytest.raises(PositionError):
            call()


@pytest.mark.parametrize(
    "roll", [(0, 1), (1, 7), (-1, 2), (257, 1), (1,), (1, 2, 3), (), (1.0, 2.0), ("1", "2"), None]
)
def test_faulty_rolls_are_refused(roll: Any) -> None:
    for call in (
        lambda: legal_afterstates(START, roll),
        lambda: legal_plays(START, roll),
        lambda: play_steps(START, roll, ((8, 5), (6, 5))),
        lambda: legal_afterstates_batch([START], [roll]),
    ):
        with pytest.raises(PositionError):
            call()


def test_a_batch_names_the_row_at_fault() -> None:
    boards = np.tile(START, (5, 1))
    rolls = np.full((5, 2), 3, dtype=np.int8)
    broken = boards.copy()
    broken[3, 6] = 9
    with pytest.raises(PositionError, match=r"row 3.*mover has 19 checkers"):
        legal_afterstates_batch(broken, rolls)
    wrong = rolls.copy()
    wrong[4, 1] = 7
    with pytest.raises(PositionError, match=r"row 4.*'3 7'"):
        legal_afterstates_batch(boards, wrong)


@pytest.mark.parametrize(
    ("boards", "rolls"),
    [
        (START, (3, 1)),
        ([START], (3, 1)),
        ([START, START], [(3, 1)]),
        ([START], [(3, 1), (3, 1)]),
        ([START], [(3, 1, 1)]),
        ([START_BOARD, START_BOARD[:-1]], [(3, 1), (3, 1)]),
        ([START], [(3.0, 1.0)]),
        (np.array([START], dtype=np.float32), [(3, 1)]),
        (np.zeros((0, 25), dtype=np.int8), np.zeros((0, 2), dtype=np.int8)),
        (None, None),
    ],
    ids=range(10),
)
def test_batches_of_wrong_shape_or_type_are_refused(boards: Any, rolls: Any) -> None:
    with pytest.raises(PositionError):
        legal_afterstates_batch(boards, rolls)


# --- faulty plays ---


@pytest.mark.parametrize(
    "steps",
    [
        (),
        ((8, 5),),
        ((6, 5),),
        ((8, 5), (6, 5), (6, 5)),
        ((8, 4),),  # one checker by both dice is two steps
        ((8, 5), (6, 4)),
        ((8, 5), (8, 5)),
        ((7, 4), (6, 5)),
        ((12, 9), (6, 5)),  # the opponent's checkers
        ((5, 8), (6, 5)),
        ((25, 22), (6, 5)),
        ((6, 0), (6, 5)),
        ((13, 12), (6, 3)),
        ((0, -3), (6, 5)),
        ((30, 27), (6, 5)),
        ((-1, -4), (6, 5)),
        ((2**40, 5), (6, 5)),
    ],
)
def test_plays_that_are_no_complete_turn_are_refused(steps: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(IllegalPlayError) as caught:
        play_steps(START, (3, 1), steps)
    assert len(str(caught.value)) > 10


@pytest.mark.parametrize(
    "steps",
    [
        ((8,), (6, 5)),
        ((8, 5, 3), (6, 5)),
        (8, 5),
        (("8", "x"), (6, 5)),
        ((8.5, 5.5), (6, 5)),
        ((None, 5), (6, 5)),
        None,
        "8/5 6/5",
        7,
    ],
)
def test_what_is_no_list_of_steps_gives_our_error(steps: Any) -> None:
    with pytest.raises(NardiError):
        play_steps(START, (3, 1), steps)


def test_steps_may_be_lists_or_an_array() -> None:
    expected = apply_steps(START_BOARD, ((8, 5), (6, 5)))
    forms: list[Any] = [[[8, 5], [6, 5]], np.array([[6, 5], [8, 5]]), [(6, 5), (8, 5)]]
    for steps in forms:
        assert tuple(play_steps(START, (3, 1), steps).tolist()) == expected


def test_the_context_of_a_turn_changes_nothing_in_short_nardi() -> None:
    context = TurnContext(first_turn=True, player="second", opponent_first_roll=(6, 2))
    np.testing.assert_array_equal(
        legal_afterstates(START, (5, 5), INTERNATIONAL, context), legal_afterstates(START, (5, 5))
    )
    assert legal_plays(START, (5, 5), context=context)[1] == legal_plays(START, (5, 5))[1]
    after = play_steps(START, (3, 1), ((8, 5), (6, 5)), context=context)
    assert tuple(after.tolist()) == apply_steps(START_BOARD, ((8, 5), (6, 5)))
