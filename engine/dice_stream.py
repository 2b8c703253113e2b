"""Compiled random numbers for games played inside kernels: xoshiro256++, one state per game.

A state is `(4,)` uint64. `game_states` keys it by the run's seed and the game's number, so that any
game can be played again alone, whoever played it first. Algorithm: Blackman and Vigna, "Scrambled
linear pseudorandom number generators" (2021).
"""

import numpy as np
from numpy.typing import NDArray

from engine.compiled import inlined_kernel, kernel

__all__ = ["game_states", "next_below", "next_die", "next_uniform"]


def game_states(seed: int, first_game: int, n_games: int) -> NDArray[np.uint64]:
    """`(n_games, 4)` uint64 states of the games first_game, first_game + 1, ..."""
    states = np.empty((n_games, 4), dtype=np.uint64)
    for i in range(n_games):
        sequence = np.random.SeedSequence(seed, spawn_key=(first_game + i,))
        states[i] = sequence.generate_state(4, np.uint64)
    return states


@inlined_kernel
def _rotate(x, k):
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@kernel
def _next(states, game):
    s0, s1, s2, s3 = states[game, 0], states[game, 1], states[game, 2], states[game, 3]
    result = _rotate(s0 + s3, 23) + s0
    t = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    states[game, 0] = s0
    states[game, 1] = s1
    states[game, 2] = s2
    states[game, 3] = _rotate(s3, 45)
    return result


@kernel
def next_uniform(states, game):
    """A float64 in [0, 1)."""
    return (_next(states, game) >> np.uint64(11)) * (1.0 / (1 << 53))


@kernel
def next_below(states, game, n):
    """A whole number from 0 to n - 1, n < 2^32; its bias, below n / 2^32, cannot be measured."""
    return np.int64(((_next(states, game) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def next_die(states, game):
    """A face from 1 to 6."""
    return next_below(states, game, 6) + 1
