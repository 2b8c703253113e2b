"""engine.dice: faces, the 21 rolls and their weights, streams keyed by game number."""

import itertools

import numpy as np
import pytest

from engine.dice import NUM_FACES, ROLL_WEIGHTS, ROLLS, check_roll, game_generator, roll_dice
from engine.errors import PositionError

FIRST_DICE_OF_SEED_1 = [[1, 5], [5, 2], [5, 4], [4, 2], [3, 1], [3, 5]]


def test_the_21_rolls_stand_for_all_36() -> None:
    assert ROLLS.shape == (21, 2)
    assert ROLLS.dtype == np.int8
    assert ROLL_WEIGHTS.sum() == 36
    counted = {
        (high, low): int(weight)
        for (high, low), weight in zip(ROLLS.tolist(), ROLL_WEIGHTS, strict=True)
    }
    expected: dict[tuple[int, int], int] = {}
    for first, second in itertools.product(range(1, NUM_FACES + 1), repeat=2):
        key = (max(first, second), min(first, second))
        expected[key] = expected.get(key, 0) + 1
    assert counted == expected


def test_the_tables_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ROLLS[0, 0] = 6
    with pytest.raises(ValueError, match="read-only"):
        ROLL_WEIGHTS[0] = 2


def test_every_ordered_roll_is_accepted_and_keeps_its_order() -> None:
    for roll in itertools.product(range(1, 7), repeat=2):
        assert check_roll(roll) == roll
        assert check_roll(list(roll)) == roll
        assert check_roll(np.array(roll, dtype=np.int8)) == roll
    kept = check_roll(np.array([3, 1], dtype=np.int8))
    assert all(type(face) is int for face in kept)


@pytest.mark.parametrize(
    ("roll", "shown"),
    [
        ((0, 1), "0 1"),
        ((1, 7), "1 7"),
        ((3, 8), "3 8"),
        ((-1, 2), "-1 2"),
        ((), ""),
        ((1,), "1"),
        ((1, 2, 3), "1 2 3"),
        ((1.0, 2.0), "1.0 2.0"),
        (("3", 1), "'3' 1"),
        ("31", "'3' '1'"),
        ((None, 1), "None 1"),
        (np.array([[1, 2]]), r"[1 2]"),
        (np.array([1.0, 2.0]), "1.0 2.0"),
        (31, "31"),
        (None, "None"),
    ],
)
def test_what_is_not_two_faces_is_refused_by_name(roll: object, shown: str) -> None:
    with pytest.raises(PositionError) as caught:
        check_roll(roll)  # type: ignore[arg-type]
    assert f"'{shown}'" in str(caught.value)
    assert "1 to 6" in str(caught.value)


def test_the_same_seed_and_game_give_the_same_dice() -> None:
    first = roll_dice(game_generator(7, 3), 200)
    again = roll_dice(game_generator(7, 3), 200)
    np.testing.assert_array_equal(first, again)


def test_dice_do_not_depend_on_how_many_are_thrown_at_a_time() -> None:
    first = roll_dice(game_generator(7, 3), 200)
    one_by_one = game_generator(7, 3)
    np.testing.assert_array_equal(
        first[:20], np.concatenate([roll_dice(one_by_one) for _ in range(20)])
    )


def test_dice_of_a_seed_never_change() -> None:
    """A stored game is replayed from its seed and number: no version may change its dice."""
    assert roll_dice(game_generator(1, 0), 6).tolist() == FIRST_DICE_OF_SEED_1
    assert roll_dice(game_generator(1, 1), 6).tolist() != FIRST_DICE_OF_SEED_1


def test_streams_of_other_games_and_seeds_differ() -> None:
    streams = {
        tuple(roll_dice(game_generator(seed, game), 30).ravel().tolist())
        for seed in range(10)
        for game in range(10)
    }
    assert len(streams) == 100


def test_dice_are_fair_and_independent() -> None:
    n_rolls = 72_000
    thrown = roll_dice(game_generator(11, 0), n_rolls)
    assert thrown.shape == (n_rolls, 2)
    assert thrown.dtype == np.int8
    counts = np.zeros((6, 6), dtype=np.int64)
    np.add.at(counts, (thrown[:, 0] - 1, thrown[:, 1] - 1), 1)
    expected = n_rolls / 36
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert counts.sum() == n_rolls
    assert chi_square < 73.4  # 35 degrees of freedom, one in ten thousand by chance
