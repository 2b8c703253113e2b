"""How a bot plays with the cube and at a score, whatever kind of bot it is.

By its probabilities if it has some (docs/cube.md), else by counting pips. Bots that know better
override these methods. All questions are asked for many positions at once, with one situation each.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.board import Board, IntArray
from engine.rules import Rules

if TYPE_CHECKING:
    from agent.situation import Situation

__all__ = ["CubePlayer", "best_cubeful_rows"]

FloatArray = NDArray[np.float64]


class CubePlayer:
    """What `agent.bot.Bot` knows of the cube.

    situations: one for each row, seen by the mover, the cube as it is before any offer; rows that
    share an object are quicker.
    """

    rules: Rules
    has_probabilities: ClassVar[bool]

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        """As in `agent.bot.Bot`."""
        raise NotImplementedError

    def probabilities(self, boards: Board) -> NDArray[np.float32]:
        """As in `agent.bot.Bot`."""
        raise NotImplementedError

    def choose_at(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        situations: "Sequence[Situation]",
        draws: FloatArray | None = None,
    ) -> Board:
        """As `choose`, with the cube and the score: by cubeful equity, or as without if it has no
        probabilities. Of equal plays the one with the higher cubeless equity."""
        if not self.has_probabilities:
            return self.choose(boards, rolls, draws)
        from engine.moves import legal_afterstates_batch
        from engine.variant import variant_of

        afterstates, offsets = legal_afterstates_batch(boards, rolls, self.rules)
        counts = np.diff(offsets)
        rows = offsets[:-1].copy()
        is_choice = np.repeat(counts > 1, counts)  # a forced play needs no judging
        if is_choice.any():
            some = afterstates[is_choice]
            opp_probs = self.probabilities(variant_of(self.rules).flip(some))
            starts = np.concatenate([[0], np.cumsum(counts[counts > 1])])
            of_rows = [situations[i] for i in np.repeat(np.arange(len(counts)), counts)[is_choice]]
            best = best_cubeful_rows(opp_probs, some, starts, of_rows)
            rows[counts > 1] = np.flatnonzero(is_choice)[best]
        chosen: Board = afterstates[rows]
        return chosen

    def cube_values(self, boards: Board, situations: "Sequence[Situation]") -> FloatArray:
        """What each cube action is worth to the mover, `(B, 5)`: see `agent.cube_play`.

        Raises ConfigError if the bot has no probabilities.
        """
        from agent.cube_play import cube_values

        return cube_values(self.probabilities(boards), boards, situations)

    def doubles(self, boards: Board, situations: "Sequence[Situation]") -> NDArray[np.bool_]:
        """Whether the movers, on roll, double now; `(B,)`. False where the rules forbid it."""
        from agent.cube_play import doubles_by, pip_rule_doubles

        if not self.has_probabilities:
            return pip_rule_doubles(boards, situations)
        return doubles_by(self.cube_values(boards, situations), situations)

    def answers(self, boards: Board, situations: "Sequence[Situation]") -> NDArray[np.int8]:
        """PASS, TAKE or BEAVER (of `agent.cube_play`) to doubles of the movers; `(B,)`.

        The bot plays the other side; boards and situations are still seen by the movers.
        """
        from agent.cube_play import answers_by, pip_rule_answers

        if not self.has_probabilities:
            return pip_rule_answers(boards, situations)
        return answers_by(self.cube_values(boards, situations))

    def accepts_beavers(
        self, boards: Board, situations: "Sequence[Situation]"
    ) -> NDArray[np.bool_]:
        """Whether the movers, who have doubled and were beavered, play on; `(B,)`."""
        from agent.cube_play import beavers_accepted_by

        if not self.has_probabilities:
            return np.ones(len(boards), dtype=np.bool_)
        return beavers_accepted_by(self.cube_values(boards, situations))


def best_cubeful_rows(
    opp_probs: NDArray[np.floating],
    afterstates: Board,
    offsets: IntArray,
    situations: "Sequence[Situation]",
) -> IntArray:
    """Row of the best play of each position, `(B,)`, by cubeful equity, then by cubeless.

    opp_probs: `(M, 5)` of the opponents, on roll after the plays; afterstates: `(M, 26)` seen by
    the movers; position i owns rows offsets[i] to offsets[i + 1]; situations: `M`.
    """
    from agent.bot import best_rows
    from agent.cube_play import cubeful_worths
    from agent.evaluator import cubeless_equity

    worths = cubeful_worths(opp_probs, afterstates, situations)
    best = np.maximum.reduceat(worths, offsets[:-1])
    is_best = worths >= np.repeat(best, np.diff(offsets)) - _TIE
    cubeless = -cubeless_equity(opp_probs).astype(np.float64)
    return best_rows(np.where(is_best, cubeless, -np.inf), offsets)


_TIE = 1e-7  # worths are equal in exact arithmetic, but for rounding
