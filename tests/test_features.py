"""Rows of the first layer and their numbers: `raw-v1`, `pairs-v1`, named sets of expert inputs."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.net import NetConfig
from engine.errors import ConfigError
from engine.features import (
    EXPERT_INPUTS,
    NUM_PAIR_ROWS,
    NUM_POINT_ROWS,
    NUM_SLOTS_SEEN,
    PAIR_BASE,
    PAIR_REACH,
    PAIR_STATES,
    POINT_BASE,
    expert_inputs,
    num_expert_inputs,
    seen_slots,
)
from tests.reference_features import pair_rows, point_rows, seen_counts
from tests.strategies import START_BOARD, mirrored, mixed_boards
from train.model import encode_batch

BoardTuple = tuple[int, ...]

FULLEST: BoardTuple = (*(1,), *(1, -1) * 6, *(1, -1) * 6, *(1,))
"""Twelve blots and a checker on the bar for each side, two borne off: all 28 slots in use."""
LAST_PLAY: BoardTuple = (0, 1, *(0,) * 22, -1, 0)


def some_boards(rng: np.random.Generator, count: int) -> list[BoardTuple]:
    boards = [board for board, _ in itertools.islice(mixed_boards(rng), count - 3)]
    return [START_BOARD, FULLEST, LAST_PLAY, *boards]


def lit_rows(boards: list[BoardTuple]) -> list[tuple[list[int], list[int]]]:
    """The numbers of the rows that each board lights: of single slots and of pairs."""
    array = np.array(boards, dtype=np.int8)
    config = NetConfig(width=8, pairs=True, experts="none")
    batch = encode_batch(array, np.arange(len(array)), config, contact=True)

    def listed(rows: NDArray[np.int32], counts: NDArray[np.int64], i: int) -> list[int]:
        return [int(row) for row in rows[i, : counts[i]]]

    return [
        (listed(batch.points, batch.n_points, i), listed(batch.pairs, batch.n_pairs, i))
        for i in range(len(boards))
    ]


# Names of the rows, by the documented bases alone.
POINT_NAMES = {
    int(POINT_BASE[slot]) + count: (slot, count)
    for slot in range(NUM_SLOTS_SEEN)
    for count in (range(-6, 7) if slot < 26 else range(16))
}
PAIR_NAMES = {
    int(PAIR_BASE[slot, distance]) + (low + 3) * PAIR_STATES + high + 3: (
        slot,
        slot + distance,
        low,
        high,
    )
    for slot in range(26)
    for distance in range(1, PAIR_REACH + 1)
    if slot + distance < 26
    for low in range(-3, 4)
    for high in range(-3, 4)
}


def test_rows_are_numbered_without_gaps_or_clashes() -> None:
    assert sorted(POINT_NAMES) == list(range(NUM_POINT_ROWS))
    assert sorted(PAIR_NAMES) == list(range(NUM_PAIR_ROWS))
    assert (NUM_POINT_ROWS, NUM_PAIR_ROWS) == (370, 6615)
    assert (PAIR_BASE >= 0).sum() == 135
    assert (PAIR_BASE[:, 0] == -1).all()


def test_every_board_lights_the_rows_of_its_slots_and_pairs(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 1500)
    for board, (points, pairs) in zip(boards, lit_rows(boards), strict=True):
        assert len(set(points)) == len(points), board
        assert len(set(pairs)) == len(pairs), board
        assert {POINT_NAMES[row] for row in points} == point_rows(board), board
        assert {PAIR_NAMES[row] for row in pairs} == pair_rows(board), board


def test_the_fullest_board_lights_28_rows_and_all_pairs() -> None:
    points, pairs = lit_rows([FULLEST])[0]
    assert (len(points), len(pairs)) == (28, 135)


def test_start_position_by_hand() -> None:
    points, pairs = lit_rows([START_BOARD])[0]
    assert {POINT_NAMES[row] for row in points} == {
        (1, -2),
        (6, 5),
        (8, 3),
        (12, -5),
        (13, 5),
        (17, -3),
        (19, -5),
        (24, 2),
    }
    assert {PAIR_NAMES[row] for row in pairs} == {
        (1, 6, -2, 3),
        (6, 8, 3, 3),
        (6, 12, 3, -3),
        (8, 12, 3, -3),
        (8, 13, 3, 3),
        (12, 13, -3, 3),
        (12, 17, -3, -3),
        (13, 17, 3, -3),
        (13, 19, 3, -3),
        (17, 19, -3, -3),
        (19, 24, -3, 2),
    }


def test_seen_slots_adds_the_checkers_borne_off(rng: np.random.Generator) -> None:
    boards = some_boards(rng, 500)
    seen = seen_slots(np.array(boards, dtype=np.int8))
    assert seen.dtype == np.int8
    assert seen.tolist() == [seen_counts(board) for board in boards]
    flipped = seen_slots(np.array([mirrored(board) for board in boards], dtype=np.int8))
    assert (flipped[:, 26] == seen[:, 27]).all()
    assert (flipped[:, 27] == seen[:, 26]).all()


def test_named_sets_of_expert_inputs() -> None:
    boards = np.array([START_BOARD, FULLEST], dtype=np.int8)
    assert {name: num_expert_inputs(name) for name in EXPERT_INPUTS} == {
        "none": 0,
        "contact-v1": 24,
    }
    for name, width in EXPERT_INPUTS.items():
        inputs = expert_inputs(name, boards)
        assert inputs.shape == (2, width)
        assert inputs.dtype == np.float32
    assert expert_inputs("contact-v1", boards[:0]).shape == (0, 24)
    for ask in (num_expert_inputs, lambda name: expert_inputs(name, boards)):
        with pytest.raises(ConfigError, match=r"unknown expert inputs 'race-v3'.*'contact-v1'"):
            ask("race-v3")
