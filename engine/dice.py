"""Dice: faces, the 21 distinct rolls with their weights, dice streams keyed by game number."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import PositionError

__all__ = ["NUM_FACES", "ROLLS", "ROLL_WEIGHTS", "check_roll", "game_generator", "roll_dice"]

NUM_FACES = 6

ROLLS: NDArray[np.int8] = np.array(
    [(high, low) for high in range(1, NUM_FACES + 1) for low in range(1, high + 1)], dtype=np.int8
)
"""The 21 distinct rolls, `(21, 2)` int8, larger die first; read-only."""
ROLLS.setflags(write=False)

ROLL_WEIGHTS: NDArray[np.int64] = np.where(ROLLS[:, 0] == ROLLS[:, 1], 1, 2).astype(np.int64)
"""How many of the 36 ordered rolls each of `ROLLS` stands for; `(21,)` int64, read-only."""
ROLL_WEIGHTS.setflags(write=False)


def check_roll(roll: Sequence[int] | NDArray[np.integer]) -> tuple[int, int]:
    """The two faces of a roll as ints, order kept. Raises PositionError for anything else."""
    faces = list(roll) if isinstance(roll, Iterable) else [roll]
    good = len(faces) == 2 and all(
        isinstance(face, int | np.integer) and 1 <= face <= NUM_FACES for face in faces
    )
    if not good:
        shown = " ".join(repr(face) if isinstance(face, str) else str(face) for face in faces)
        raise PositionError(f"roll '{shown}' is not two die faces from 1 to {NUM_FACES}")
    return int(faces[0]), int(faces[1])


def game_generator(seed: int, game: int) -> np.random.Generator:
    """The generator that throws all dice of one game, so that any game can be replayed alone.

    seed: root seed of the run; game: number of the game, >= 0. Streams of different (seed, game)
    are independent (`SeedSequence` spawn keys), whatever the number or order of workers.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(game,))))


def roll_dice(generator: np.random.Generator, n_rolls: int = 1) -> NDArray[np.int8]:
    """`(n_rolls, 2)` int8 throws of two dice; the same ones whether asked for at once or singly."""
    # Drawing as int8 would take four faces from one random word and drop the unused ones, so that
    # dice would depend on how the throws are cut into calls.
    faces = generator.integers(1, NUM_FACES + 1, size=(n_rolls, 2))
    return faces.astype(np.int8)
