"""Players that have learnt nothing: random, pip-greedy and pubeval, the yardsticks of training.

All of them play whole batches at once. "First" among equal plays means first in the lexicographic
order in which `engine.moves` lists them.
"""

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot, FloatArray, always, best_rows
from agent.pubeval import pubeval_table
from engine.board import (
    NUM_CHECKERS,
    NUM_SLOTS,
    Board,
    IntArray,
    has_contact,
)
from engine.errors import ConfigError
from engine.moves import legal_afterstates_batch
from engine.rules import INTERNATIONAL, Rules

__all__ = ["PipGreedyBot", "PubevalBot", "RandomBot", "TableBot"]

_COUNTS = 2 * NUM_CHECKERS + 1  # a slot holds -15 to 15 checkers
_SLOT_STARTS = _COUNTS * np.arange(NUM_SLOTS) + NUM_CHECKERS
_FINISHED = np.iinfo(np.int64).max


class RandomBot(Bot):
    """Takes any legal result with equal probability."""

    uses_draws = True

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        if draws is None:
            raise ConfigError(
                f"bot '{self.name}' plays by chance and needs draws: one number from 0 to 1 for"
                " each decision"
            )
        afterstates, offsets = legal_afterstates_batch(boards, rolls, self.rules)
        counts = np.diff(offsets)
        # A draw just below 1 may round up to the count itself.
        picks = np.minimum((np.asarray(draws) * counts).astype(np.int64), counts - 1)
        chosen: Board = afterstates[offsets[:-1] + picks]
        return chosen

    def candidate_shares(self, boards: Board, afterstates: Board, offsets: IntArray) -> FloatArray:
        counts = np.diff(offsets)
        return np.asarray(np.repeat(1 / counts, counts))


class TableBot(Bot):
    """Takes the play with the highest sum of one table entry for each slot of the afterstate."""

    _takes_last: bool = False
    """Whether of equal plays it takes the last one and not the first."""

    def __init__(self, name: str, rules: Rules, *tables: IntArray) -> None:
        """tables: each `(26, 31)` int64, entry [slot, 15 + count]; `_table_numbers` chooses."""
        super().__init__(name, rules)
        self._entries = np.stack(tables).reshape(-1)

    def _table_numbers(self, boards: Board) -> IntArray:
        """Number of the table to use for each position before the play; `(B,)` int64."""
        return np.zeros(len(boards), dtype=np.int64)

    def scores(self, afterstates: Board, table_numbers: IntArray) -> IntArray:
        """Score of each afterstate by the table with this number; `(M,)` int64."""
        starts = table_numbers[:, np.newaxis] * (NUM_SLOTS * _COUNTS) + _SLOT_STARTS
        scores: IntArray = self._entries[starts + afterstates].sum(axis=1)
        return scores

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        afterstates, offsets = legal_afterstates_batch(boards, rolls, self.rules)
        chosen: Board = afterstates[self._best_rows(np.asarray(boards), afterstates, offsets)]
        return chosen

    def candidate_shares(self, boards: Board, afterstates: Board, offsets: IntArray) -> FloatArray:
        return always(self._best_rows(boards, afterstates, offsets), len(afterstates))

    def _best_rows(self, boards: Board, afterstates: Board, offsets: IntArray) -> IntArray:
        numbers = np.repeat(self._table_numbers(boards), np.diff(offsets))
        return best_rows(self.scores(afterstates, numbers), offsets, last=self._takes_last)


class PipGreedyBot(TableBot):
    """Takes the lowest own pip count, of equals the last play in the order of the boards.

    Plays that use the whole roll differ in own pips only where checkers are borne off. The last of
    the others hits if any hits, and brings its checkers furthest home. In long nardi it takes the
    first of equals, which moves the checkers farthest back: the last one runs home with a few
    checkers and leaves the head standing, which loses even to random play.
    """

    def __init__(self, name: str = "pip-greedy", rules: Rules = INTERNATIONAL) -> None:
        counts = np.arange(-NUM_CHECKERS, NUM_CHECKERS + 1)
        pips = np.arange(NUM_SLOTS)[:, np.newaxis]
        own = np.where(counts > 0, pips * counts, 0)
        own[0] = 0
        super().__init__(name, rules, -own)
        self._takes_last = rules.game == "short"


class PubevalBot(TableBot):
    """Tesauro's public linear evaluator, and the end of the game before everything else.

    Table 0 is for contact, table 1 for races; which one is decided on the position before the play.
    """

    def __init__(self, name: str = "pubeval", rules: Rules = INTERNATIONAL) -> None:
        """Raises ConfigError for rules of another game."""
        if rules.game != "short":
            raise ConfigError(f"bot '{name}' plays short nardi only (game=short)")
        super().__init__(name, rules, pubeval_table(race=False), pubeval_table(race=True))

    def _table_numbers(self, boards: Board) -> IntArray:
        return 1 - has_contact(boards).astype(np.int64)

    def scores(self, afterstates: Board, table_numbers: IntArray) -> IntArray:
        scores = super().scores(afterstates, table_numbers)
        scores[~(afterstates[:, 1:] > 0).any(axis=1)] = _FINISHED
        return scores
