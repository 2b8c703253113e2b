"""Dice of games and matches that are played in lockstep but are not at the same turn."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.dice import game_generator, roll_dice

__all__ = ["OpeningThrow", "RowDice", "match_generator"]

_BLOCK: Final = 64  # turns for which dice are thrown at a time; any number gives the same dice

OpeningThrow = tuple[int, int, int]
"""Ties before it, die of seat 0, die of seat 1."""


def match_generator(seed: int, match: int, game: int) -> np.random.Generator:
    """The generator that throws all dice of one game of a match."""
    key = np.random.SeedSequence(seed, spawn_key=(match, game))
    return np.random.Generator(np.random.PCG64(key))


class RowDice:
    """Dice and draws of one running game a row.

    Draws come from a stream spawned from the dice's, so that the dice are the same whether or not a
    bot needs draws.
    """

    def __init__(
        self,
        seed: int,
        n_rows: int,
        *,
        is_match: bool,
        with_draws: bool,
        throws_again: bool = False,
    ) -> None:
        """throws_again: whether the dice of the first turn are not those of the opening throw."""
        self._seed = seed
        self._is_match = is_match
        self._with_draws = with_draws
        self._throws_again = throws_again
        self._generators: list[np.random.Generator | None] = [None] * n_rows
        self._draw_generators: list[np.random.Generator | None] = [None] * n_rows
        self._rolls = np.zeros((n_rows, _BLOCK, 2), dtype=np.int8)
        self._draws = np.zeros((n_rows, _BLOCK))
        self._turns = np.zeros(n_rows, dtype=np.int64)

    def start(self, row: int, stream: int, game: int) -> OpeningThrow:
        """The opening throw of a new game in a row; as a rule its dice are those of the first turn.

        game: number of the game in its match, 0 in money play.
        """
        if self._is_match:
            generator = match_generator(self._seed, stream, game)
        else:
            generator = game_generator(self._seed, stream)
        self._generators[row] = generator
        if self._with_draws:
            self._draw_generators[row] = generator.spawn(1)[0]
        ties = 0
        opening = roll_dice(generator)[0]
        while opening[0] == opening[1]:
            ties += 1
            opening = roll_dice(generator)[0]
        self._turns[row] = 0
        self._fill(row, 0 if self._throws_again else 1)
        if not self._throws_again:
            self._rolls[row, 0] = opening
        return ties, int(opening[0]), int(opening[1])

    def throw(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.float64] | None]:
        """Dice of the next turn of these rows, `(N, 2)`, and draws, `(N,)`, if there are any."""
        places = self._turns[rows] % _BLOCK
        for row in rows[(places == 0) & (self._turns[rows] > 0)]:
            self._fill(int(row), 0)
        self._turns[rows] += 1
        draws = self._draws[rows, places] if self._with_draws else None
        return self._rolls[rows, places], draws

    def _fill(self, row: int, first: int) -> None:
        generator = self._generators[row]
        assert generator is not None
        self._rolls[row, first:] = roll_dice(generator, _BLOCK - first)
        if (draws := self._draw_generators[row]) is not None:
            self._draws[row] = draws.random(_BLOCK)
