"""What the adapters share whose program judges boards: it is asked about our own legal plays.

So it cannot answer with an illegal play, and needs no play text of the other program.
"""

import importlib
import importlib.metadata
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot, FloatArray, always, best_rows
from agent.cube_play import cubeful_worths
from agent.situation import Situation
from engine.board import Board, IntArray
from engine.errors import ConfigError
from engine.moves import check_batch, legal_afterstates_batch
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import result_factors
from engine.variant import variant_of

__all__ = ["DEPTHS", "JudgeBot", "cubeless_equities", "peer_module", "set_results", "swapped"]

Probs = NDArray[np.float32]

DEPTHS: Final = (0, 1, 2)
"""Depths at which other programs can be asked, as gnubg counts them."""

_TIE_BREAK: Final = 1e-9

_PLAY_SWITCHES: Final = ("game", "hit_and_hide", "hit_then_bear_off", "end_rule", "scoring")


def peer_module(bot: str, module: str, distribution: str) -> tuple[Any, str]:
    """A program's Python module and its version. Raises ConfigError if it is not installed."""
    try:
        found = importlib.import_module(module)
        return found, importlib.metadata.version(distribution)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == module
        state = "is not installed" if missing else f"cannot be loaded ({error})"
        raise ConfigError(
            f"bot '{bot}' needs the package {distribution}, which {state}:"
            " pip install 'nardi[peers]'"
        ) from None


def cubeless_equities(probs: FloatArray) -> FloatArray:
    """Points per game of `(..., 5)` cumulative probabilities, cube at 1; float64."""
    win, win_gammon, win_bg, lose_gammon, lose_bg = np.moveaxis(probs, -1, 0)
    return np.asarray(2 * win - 1 + win_gammon + win_bg - lose_gammon - lose_bg)


def swapped(probs: FloatArray) -> FloatArray:
    """Probabilities `(n, 5)` for the other side."""
    return np.stack([1 - probs[:, 0], probs[:, 3], probs[:, 4], probs[:, 1], probs[:, 2]], axis=1)


def set_results(boards: Board, probs: FloatArray) -> NDArray[np.bool_]:
    """Write the results of finished games into their owners' rows; which rows those are, `(B,)`.

    boards: `(B, 26)`; probs: `(B, 5)`. Programs disagree on what a finished game is worth.
    """
    factors = result_factors(boards, INTERNATIONAL)
    done: NDArray[np.bool_] = np.asarray(factors != 0)
    of_done = factors[done]
    for column, points in enumerate((1, 2, 3)):
        probs[done, column] = of_done >= points
    for column, points in ((3, 2), (4, 3)):
        probs[done, column] = of_done <= -points
    return done


class JudgeBot(Bot):
    """Another program's probabilities as a player of the international game.

    With the cube its probabilities go through our model of the cube (`agent.cube_play`), which
    reproduces GNU Backgammon's own figures from the same probabilities (docs/cube.md); an adapter
    whose program can be asked for its own decisions overrides that.
    """

    has_probabilities = True

    def __init__(self, name: str, depth: int, rules: Rules) -> None:
        """depth: further rolls looked at, as gnubg counts. Raises ConfigError for house rules."""
        super().__init__(name, rules)
        self.depth = depth
        self.version = ""
        """Of the program."""
        self._n_judged = 0
        differing = [n for n in _PLAY_SWITCHES if getattr(rules, n) != getattr(INTERNATIONAL, n)]
        if differing:
            known = {n: getattr(INTERNATIONAL, n) for n in differing}
            raise ConfigError(
                f"bot '{name}' is a program that knows only the international game; it cannot play"
                f" by rules '{rules}': accepted:"
                f" {', '.join(f'{switch}={value}' for switch, value in known.items())}"
            )

    @abstractmethod
    def judge(self, afterstates: Board, before: Board | None, depth: int) -> FloatArray:
        """Probabilities `(n, 5)` float64 for the owners, who have just moved in running games.

        afterstates: `(n, 26)`; before: `(n, 26)` the boards before those plays, None = not known.
        """

    @abstractmethod
    def best_of(
        self,
        afterstates: Board,
        before: Board,
        equities: FloatArray,
        situation: Situation | None = None,
    ) -> int:
        """Number of the best of some plays of one decision, found by looking ahead.

        afterstates: `(n, 26)`, two or more, in lexicographic order; before: `(26,)`; equities:
        `(n,)` at depth 0; situation: the mover's, None without a cube.
        """

    def mover_probabilities(
        self, afterstates: Board, before: Board | None, depth: int
    ) -> FloatArray:
        """As `judge`, but games may be finished: those give their exact results."""
        probs = np.zeros((len(afterstates), 5))
        goes_on = ~set_results(afterstates, probs)
        if goes_on.any():
            some = None if before is None else before[goes_on]
            probs[goes_on] = self.judge(afterstates[goes_on], some, depth)
            self._n_judged += int(goes_on.sum())
        return probs

    def equities(
        self,
        afterstates: Board,
        before: Board,
        depth: int,
        situations: Sequence[Situation] | None = None,
    ) -> FloatArray:
        """What plays are worth to the mover; before: `(n, 26)`, or `(26,)` of one decision.

        situations: of each play, the mover's; None without a cube.
        """
        boards_before = np.broadcast_to(before, afterstates.shape)
        probs = self.mover_probabilities(afterstates, boards_before, depth)
        if situations is None:
            return cubeless_equities(probs)
        # Where the cube makes plays equal the cubeless equity decides, by next to nothing.
        return cubeful_worths(
            swapped(probs), afterstates, situations
        ) + _TIE_BREAK * cubeless_equities(probs)

    def evaluations(self) -> int | None:
        # What a search of theirs evaluates on the way is not told.
        return self._n_judged if self.depth == 0 else None

    def fingerprint(self) -> str:
        return self.version

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: FloatArray | None = None
    ) -> Board:
        b, faces = check_batch(boards, rolls)
        afterstates, offsets = legal_afterstates_batch(b, faces, self.rules)
        chosen: Board = afterstates[self._best_rows(b, afterstates, offsets)]
        return chosen

    def choose_at(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        situations: Sequence[Situation],
        draws: FloatArray | None = None,
    ) -> Board:
        b, faces = check_batch(boards, rolls)
        afterstates, offsets = legal_afterstates_batch(b, faces, self.rules)
        chosen: Board = afterstates[self._best_rows(b, afterstates, offsets, situations)]
        return chosen

    def candidate_shares(self, boards: Board, afterstates: Board, offsets: IntArray) -> FloatArray:
        return always(self._best_rows(np.asarray(boards), afterstates, offsets), len(afterstates))

    def _best_rows(
        self,
        boards: Board,
        afterstates: Board,
        offsets: IntArray,
        situations: Sequence[Situation] | None = None,
    ) -> IntArray:
        counts = np.diff(offsets)
        equities = np.zeros(len(afterstates))
        is_choice = np.repeat(counts > 1, counts)  # a forced play needs no judging
        numbers = np.repeat(np.arange(len(counts)), counts)[is_choice]
        of_plays = None if situations is None else [situations[i] for i in numbers.tolist()]
        equities[is_choice] = self.equities(afterstates[is_choice], boards[numbers], 0, of_plays)
        rows = best_rows(equities, offsets)
        if self.depth:
            for i in np.flatnonzero(counts > 1).tolist():
                own = slice(offsets[i], offsets[i + 1])
                situation = None if situations is None else situations[i]
                best = self.best_of(afterstates[own], boards[i], equities[own], situation)
                rows[i] = offsets[i] + best
        return rows

    def probabilities(self, boards: Board) -> Probs:
        # Before the owner rolls, the other side has just moved.
        b = np.asarray(boards, dtype=np.int8)
        opp = self.mover_probabilities(variant_of(self.rules).flip(b), None, self.depth)
        return swapped(opp).astype(np.float32)
