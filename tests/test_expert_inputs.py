"""`contact-v1`: the compiled inputs against the plain ones written from their documentation."""

import functools
import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.board import board_faults, flip
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.features import expert_inputs
from engine.moves import legal_afterstates_batch
from tests.reference_features import NUM_SIDE, RANGES, contact_v1, hits_a_blot
from tests.strategies import START_BOARD, mirrored, mixed_boards, self_play_boards

BoardTuple = tuple[int, ...]

EXACT = 1e-6  # of float32 numbers up to 7.5; the inputs are steps of 1/167 or more apart


@functools.cache
def pool() -> list[BoardTuple]:
    """Boards of random play and constructed ones, made once."""
    return [b for b, _ in itertools.islice(mixed_boards(np.random.default_rng(24)), 1600)]


def inputs_of(boards: list[BoardTuple]) -> NDArray[np.float32]:
    return expert_inputs("contact-v1", np.array(boards, dtype=np.int8))


def structured_boards(rng: np.random.Generator) -> list[BoardTuple]:
    """Primes of one to eight points anywhere, before or behind enemies, on the bar too."""
    boards = []
    for length, first in itertools.product(range(1, 8), range(1, 19)):
        board = [0] * 26
        for point in range(first, first + length):
            board[point] = 2
        rest = 15 - 2 * length
        free = [point for point in range(1, 25) if not board[point]]
        own, opp = rng.choice(free, size=2, replace=False)
        board[own] = min(rest, 2)
        board[25] = int(rng.integers(0, rest - board[own] + 1)) if rng.random() < 0.3 else 0
        n = int(rng.integers(1, 16))
        board[opp] = -n
        more = [point for point in free if point not in (own, opp)][: 15 - n]
        for point in more:
            board[point] = -int(rng.random() < 0.4)
        used = n - sum(board[point] for point in more)
        board[0] = int(rng.integers(0, 15 - used + 1)) if rng.random() < 0.4 else 0
        boards += [tuple(board), mirrored(tuple(board))]
    return [board for board in boards if not board_faults(np.array(board))]


def finished_boards() -> list[BoardTuple]:
    boards = []
    for point, n in ((1, 3), (6, 15), (20, 2), (25, 4)):
        board = [0] * 26
        board[point] = n
        boards += [tuple(board), mirrored(tuple(board))]
    return boards


def assert_as_documented(boards: list[BoardTuple]) -> None:
    found = inputs_of(boards)
    for i, board in enumerate(boards):
        expected = np.array([float(value) for value in contact_v1(board)])
        wrong = np.flatnonzero(np.abs(found[i] - expected) > EXACT)
        assert not len(wrong), (
            f"board {list(board)}: inputs {wrong.tolist()} are {found[i, wrong].tolist()},"
            f" documented {expected[wrong].tolist()}"
        )


def test_inputs_are_as_documented() -> None:
    assert_as_documented([START_BOARD, *pool()[:800]])


def test_inputs_of_primes_closed_boards_and_finished_games(rng: np.random.Generator) -> None:
    boards = structured_boards(rng)
    assert len(boards) > 150
    assert inputs_of(boards)[:, [1, 2, 3]].max(axis=0).tolist() == [1, 1, 1]
    assert inputs_of(boards)[:, 0].min() == 0
    assert_as_documented(boards + finished_boards())


@pytest.mark.slow
def test_inputs_are_as_documented_on_many_boards(rng: np.random.Generator) -> None:
    assert_as_documented([board for board, _ in itertools.islice(mixed_boards(rng), 10_000)])


def test_start_position_by_hand() -> None:
    found = inputs_of([START_BOARD])[0]
    # The rear checkers on 24 have made points 5, 7 and 12 pips ahead. Ends are closed with the sums
    # 5 (4 rolls), 7 (6) and 12 (1), both stops with 5-5: 24 of 36 are left.
    assert found[0] * 36 == pytest.approx(24)
    # Worst for an enemy is point 2, before made points 4, 6 and 11 pips ahead: sums 4 (3 rolls), 6
    # (5) and 11 (2), both stops with 4-4, 6-6 and 6-4 (4).
    assert found[1] * 36 == pytest.approx(14)
    assert found[2] == pytest.approx(1 / 6)
    assert found[3] == pytest.approx(1 / 36)
    assert found[4] == 0
    assert found[5] == 0
    assert found[6] == pytest.approx(24 / 25)
    # 23 pips for two checkers, 12 for five, 7 for three, 5 for five until all are on point 1.
    assert found[7] * 152 == pytest.approx(46 + 60 + 21 + 25)
    assert found[8] * 6 == pytest.approx(2)
    assert found[9] * 60 == pytest.approx(5 * 7 + 3 * 2)
    assert found[10] == pytest.approx(1)
    assert found[11] == 0
    assert (found[:NUM_SIDE] == found[NUM_SIDE:]).all()


def test_ranges_are_kept_and_can_be_reached(rng: np.random.Generator) -> None:
    blots = (1, *(0,) * 8, *(1,) * 15, 0, 0)
    on_bar = (1, *(0,) * 24, 15)
    on_18 = (0, -2, *(0,) * 16, 15, *(0,) * 7)
    extremes = [blots, on_bar, on_18, *map(mirrored, (blots, on_bar, on_18))]
    found = inputs_of([*pool(), *structured_boards(rng), *finished_boards(), *extremes])
    for number, (least, most) in enumerate(RANGES * 2):
        column = found[:, number]
        assert least <= column.min(), number
        assert column.max() <= most, number
        assert column.max() > 0.9 * most, number


def test_halves_swap_when_the_board_is_seen_by_the_other_side() -> None:
    boards = np.array(pool(), dtype=np.int8)
    here = expert_inputs("contact-v1", boards)
    there = expert_inputs("contact-v1", flip(boards))
    assert (here[:, :NUM_SIDE] == there[:, NUM_SIDE:]).all()
    assert (here[:, NUM_SIDE:] == there[:, :NUM_SIDE]).all()
    assert (here[:, :NUM_SIDE] != here[:, NUM_SIDE:]).any()


def test_one_board_or_many_give_the_same() -> None:
    boards = pool()[:50]
    together = inputs_of(boards)
    for i, board in enumerate(boards):
        assert (inputs_of([board])[0] == together[i]).all()


def legal_hits(boards: list[BoardTuple]) -> NDArray[np.bool_]:
    """`(B, 21)`: whether some legal play of each roll hits a blot."""
    array = np.array(boards, dtype=np.int8)
    hits = np.zeros((len(array), len(ROLLS)), dtype=np.bool_)
    for k, roll in enumerate(ROLLS):
        after, offsets = legal_afterstates_batch(array, np.tile(roll, (len(array), 1)))
        on_bar = np.repeat(array[:, 0], np.diff(offsets))
        hits[:, k] = np.logical_or.reduceat(after[:, 0] > on_bar, offsets[:-1])
    return hits


def test_hitting_rolls_are_those_of_legal_plays(rng: np.random.Generator) -> None:
    boards = [board for board, _ in itertools.islice(self_play_boards(rng), 1500)]
    legal = legal_hits(boards)
    counted = np.rint(inputs_of(boards)[:, 4] * 36).astype(np.int64)
    different = np.flatnonzero(counted != legal @ ROLL_WEIGHTS)
    # A hit is counted though the rules demand a play of more dice, and never the other way round.
    assert len(different) < 0.01 * len(boards)
    for i in different:
        for k, roll in enumerate(ROLLS):
            assert legal[i, k] <= hits_a_blot(boards[i], (int(roll[0]), int(roll[1])))
    forbidden = counted.sum() - (legal @ ROLL_WEIGHTS).sum()
    assert 0 <= forbidden < 1e-3 * counted.sum()  # "some 2 of 10,000"


@pytest.mark.parametrize(
    ("bar", "roll", "expected"),
    [
        (1, (5, 5), True),  # enters on 20, then from 13 to the blot on 8
        (2, (5, 5), True),  # two enter, one step is enough
        (4, (5, 5), False),  # all four steps enter
        (5, (5, 5), False),  # more on the bar than a double enters
        (1, (5, 2), True),  # enters with the 2, then 13/8
        (2, (5, 2), False),  # both dice enter
        (1, (6, 5), False),  # 6 is closed: the 5 has to enter
    ],
)
def test_checkers_on_the_bar_enter_before_a_hit(
    bar: int, roll: tuple[int, int], expected: bool
) -> None:
    board = [0] * 26
    board[25], board[13], board[8], board[19] = bar, 1, -1, -2
    boards = [tuple(board)]
    assert hits_a_blot(boards[0], roll) is expected
    k = ROLLS.tolist().index([max(roll), min(roll)])
    assert legal_hits(boards)[0, k] == expected
    counted = round(float(inputs_of(boards)[0, 4]) * 36)
    assert counted == int((legal_hits(boards)[0] * ROLL_WEIGHTS).sum())
