"""The compiled generator of dice: the published algorithm, even faces, streams keyed by game."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.dice_stream import game_states, next_below, next_die, next_uniform

MASK = (1 << 64) - 1


def rotate_left(x: int, k: int) -> int:
    return (x << k | x >> (64 - k)) & MASK


def xoshiro256pp(state: list[int]) -> Iterator[int]:
    """xoshiro256++ 1.0 as Blackman and Vigna publish it; the state is changed in place."""
    while True:
        result = (rotate_left((state[0] + state[3]) & MASK, 23) + state[0]) & MASK
        t = state[1] << 17 & MASK
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= t
        state[3] = rotate_left(state[3], 45)
        yield result


def test_the_plain_generator_gives_the_published_numbers() -> None:
    # The first outputs from the state 1, 2, 3, 4, as other implementations of it test them.
    numbers = xoshiro256pp([1, 2, 3, 4])
    assert [next(numbers) for _ in range(10)] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]


def states_of(*rows: list[int]) -> NDArray[np.uint64]:
    return np.array(rows, dtype=np.uint64)


@pytest.mark.parametrize("start", [[1, 2, 3, 4], [MASK, 0, MASK - 5, 1 << 63]])
def test_compiled_numbers_are_those_of_the_algorithm(start: list[int]) -> None:
    plain_state = list(start)
    plain = xoshiro256pp(plain_state)
    states = states_of([7, 7, 7, 7], start)
    for _ in range(100):
        assert next_uniform(states, 1) == (next(plain) >> 11) / 2**53
        assert next_below(states, 1, 1000) == (next(plain) >> 32) * 1000 >> 32
        assert next_die(states, 1) == ((next(plain) >> 32) * 6 >> 32) + 1
    assert states[1].tolist() == plain_state
    assert states[0].tolist() == [7, 7, 7, 7]  # other games' streams are not touched


def test_ends_of_the_ranges() -> None:
    """With s0 = 0 the output is s3 turned by 23, so any output can be asked for."""
    for output, uniform, below, die in (
        (0, 0.0, 0, 1),
        (MASK, 1 - 2**-53, 9, 6),
        (1 << 63, 0.5, 5, 4),
    ):
        start = [0, 1, 2, rotate_left(output, 64 - 23)]
        assert next(xoshiro256pp(list(start))) == output
        assert next_uniform(states_of(start), 0) == uniform
        assert next_below(states_of(start), 0, 10) == below
        assert next_die(states_of(start), 0) == die


def chi_square(counts: NDArray[np.int64]) -> float:
    expected = counts.sum() / counts.size
    return float(((counts - expected) ** 2).sum() / expected)


def test_pairs_of_faces_are_even_within_a_stream() -> None:
    states = game_states(2026, 731, 1)
    faces = np.array([next_die(states, 0) for _ in range(144_000)]).reshape(-1, 2)
    assert faces.min() == 1
    assert faces.max() == 6
    pairs = np.bincount(6 * (faces[:, 0] - 1) + faces[:, 1] - 1, minlength=36)
    # 35 degrees of freedom: mean 35, standard deviation 8.4; above 67 in one of a thousand.
    assert 12 < chi_square(pairs) < 67
    between = np.bincount(6 * (faces[:-1, 1] - 1) + faces[1:, 0] - 1, minlength=36)
    assert 12 < chi_square(between) < 67


def test_first_rolls_are_even_over_games_and_over_seeds() -> None:
    over_games = game_states(1, 0, 18_000)
    over_seeds = np.concatenate([game_states(seed, 5, 1) for seed in range(18_000)])
    for states in (over_games, over_seeds):
        rolls = [6 * next_die(states, i) + next_die(states, i) - 7 for i in range(len(states))]
        assert 12 < chi_square(np.bincount(rolls, minlength=36)) < 67


def test_uniform_numbers_are_even_and_below_follows_the_bound() -> None:
    states = game_states(3, 0, 1)
    uniforms = np.array([next_uniform(states, 0) for _ in range(50_000)])
    assert 0 <= uniforms.min() < 1e-3
    assert 1 - 1e-3 < uniforms.max() < 1
    assert 40 < chi_square(np.histogram(uniforms, bins=100, range=(0, 1))[0]) < 150
    for n in (1, 2, 7, 20_475):
        drawn = [next_below(states, 0, n) for _ in range(5000)]
        assert min(drawn) >= 0
        assert max(drawn) < n
        assert np.mean(drawn) == pytest.approx((n - 1) / 2, abs=0.03 * n)


def test_a_stream_depends_on_seed_and_game_alone() -> None:
    together = game_states(12, 0, 40)
    assert together.shape == (40, 4)
    assert together.dtype == np.uint64
    for first, count in ((0, 1), (3, 4), (25, 15), (39, 1)):
        assert (game_states(12, first, count) == together[first : first + count]).all()
    assert game_states(12, 7, 0).shape == (0, 4)
    # Far games and large seeds have streams of their own too.
    assert (game_states(12, 10**12, 2)[1] == game_states(12, 10**12 + 1, 1)[0]).all()


def test_streams_of_different_seeds_and_games_differ() -> None:
    states = [
        *game_states(0, 0, 1000),
        *game_states(1, 0, 1000),
        *game_states(2**32, 0, 1000),
        *game_states(1, 2**32, 1000),
        *game_states(2**64 + 1, 0, 1000),
    ]
    assert len({tuple(state.tolist()) for state in states}) == len(states)
    assert all(state.any() for state in states)  # the one state that the generator cannot leave


def test_drawing_from_one_game_leaves_the_others_alone() -> None:
    alone = game_states(5, 2, 1)
    expected = [next_die(alone, 0) for _ in range(50)]
    states = game_states(5, 0, 4)
    found = []
    for i in range(50):
        for other in (0, 1, 3):
            for _ in range(i % 3):
                next_die(states, other)
        found.append(next_die(states, 2))
    assert found == expected
