"""A player of long nardi by rules of thumb: what a good club player tells a beginner.

Of all plays it takes the one with the highest score, a sum of these, seen after the play:

* Keep the head moving: every checker that is left on the head costs.
* Build and keep blocks: of every six points in a row on the opponent's way, those held count, five
  much more than four, and the more opposing checkers are still behind them.
* Hold many points: checkers piled on few points cannot play later rolls.
* Run home: a checker far behind the others costs when the opponent blocks the way before it.
* Once the sides cannot meet any more: checkers off first, then home with as little waste as
  possible, and gaps in the home filled, since a number whose point is empty is played badly.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot, FloatArray, always, best_rows
from engine.board import BAR, NUM_POINTS, Board, IntArray
from engine.errors import ConfigError
from engine.long_board import HALF_TURN, has_long_contact
from engine.moves import legal_afterstates_batch
from engine.rules import LONG_NARDI, Rules

__all__ = ["LongHeuristicBot"]

# Weights by hand, then two doubled or halved because that won 600 games (+0.06 ± 0.03 and +0.05 ±
# 0.02 points per game); halving or doubling any other changed nothing that 600 games could tell.
_SPAN: Final = 6
_OF_SPAN: Final = np.array([0.0, 0.0, 0.2, 0.6, 1.8, 4.5, 9.0])
"""Worth of a row of six points of which so many are held, with all opposing checkers behind it."""
_HEAD: Final = 0.8
_POINT_HELD: Final = 0.45
_PILE: Final = 0.5
"""Cost of each checker beyond the third on a point that is not the head."""
_BLOCKED: Final = 0.6
_OFF: Final = 100.0
_OUTSIDE: Final = 3.0
_GAP: Final = 0.5


class LongHeuristicBot(Bot):
    """Rules of thumb for long nardi; looks at nothing but the board after its play."""

    def __init__(self, name: str = "heuristic", rules: Rules = LONG_NARDI) -> None:
        """Raises ConfigError for rules of another game."""
        super().__init__(name, rules)
        if rules.game != "long":
            raise ConfigError(f"bot '{name}' plays long nardi only (game=long)")

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        afterstates, offsets = legal_afterstates_batch(boards, rolls, self.rules)
        chosen: Board = afterstates[best_rows(scores(afterstates), offsets, last=True)]
        return chosen

    def candidate_shares(self, boards: Board, afterstates: Board, offsets: IntArray) -> FloatArray:
        return always(best_rows(scores(afterstates), offsets, last=True), len(afterstates))


def scores(afterstates: Board) -> FloatArray:
    """Score of each board after the mover's play, `(M,)`; boards of one turn are compared only."""
    points = afterstates[:, 1:BAR].astype(np.int64)
    return np.where(has_long_contact(afterstates), _contact(points), _race(points))


def _spans(held: NDArray[np.integer]) -> IntArray:
    """Points held of each six in a row, `(M, 19)`."""
    before = np.concatenate([np.zeros((len(held), 1), np.int64), held.cumsum(axis=1)], axis=1)
    return np.asarray(before[:, _SPAN:] - before[:, :-_SPAN])


def _blocks(blocker: IntArray, runner: IntArray) -> FloatArray:
    """Worth of one side's blocks; both `(M, 24)`, points in the runner's numbering."""
    worth = _OF_SPAN[_spans((blocker > 0).astype(np.int64))]
    # Checkers of the runner behind a row, those on its last points not yet past it.
    behind = runner[:, ::-1].cumsum(axis=1)[:, ::-1]
    share = np.concatenate([behind[:, _SPAN:], np.zeros((len(behind), 1), np.int64)], axis=1) / 15
    return np.asarray((worth * share).sum(axis=1))


def _contact(points: IntArray) -> FloatArray:
    own, opp = np.maximum(points, 0), np.maximum(-points, 0)
    # Half a turn: the opponent's point q is the owner's q + 12 or q - 12.
    own_by_opp, opp_by_opp = np.roll(own, HALF_TURN, axis=1), np.roll(opp, HALF_TURN, axis=1)
    head = own[:, NUM_POINTS - 1]
    score = _blocks(own_by_opp, opp_by_opp) - _BLOCKED * _blocks(opp, own)
    score = score - _HEAD * head
    score += _POINT_HELD * (own[:, _SPAN:] > 0).sum(axis=1)
    piles = np.maximum(own[:, :-1] - 3, 0).sum(axis=1)
    return np.asarray(score - _PILE * piles + _OFF * _off(own))


def _race(points: IntArray) -> FloatArray:
    own = np.maximum(points, 0)
    numbers = np.arange(1, NUM_POINTS + 1)
    outside = (own * np.maximum(numbers - _SPAN, 0)).sum(axis=1)
    gaps = (own[:, :_SPAN] == 0).sum(axis=1)
    pips = (own * numbers).sum(axis=1)
    return np.asarray(_OFF * _off(own) - _OUTSIDE * outside - _GAP * gaps - pips)


def _off(own: IntArray) -> IntArray:
    return np.asarray(15 - own.sum(axis=1))
