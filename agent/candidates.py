"""The plays of a roll as candidates: found, valued by the net, and passed on to deeper looks."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from agent.kernels.replies import find_plays
from agent.kernels.value import NetArrays, Work, children_probs
from agent.move_filter import MoveFilter
from engine.board import NUM_CHECKERS, NUM_SLOTS, Board, IntArray, borne_off
from engine.play_codes import write_afterstates
from engine.variant import PlaySwitches

__all__ = ["Candidates", "find_candidates"]

FloatArray = NDArray[np.float32]
Look = Callable[[Board, int], FloatArray]
Cubeful = Callable[[FloatArray], NDArray[np.float64]]


def find_candidates(
    contact: NetArrays,
    race: NetArrays,
    work: Work,
    scratch: IntArray,
    board: Board,
    roll: tuple[int, int],
    switches: PlaySwitches,
    weights: FloatArray,
) -> tuple[Board, FloatArray, IntArray]:
    """All plays of a roll and the net's values of them.

    board: `(26,)` int8 seen by the mover, a running game; switches: as `find_plays` has them;
    weights: as in `agent.kernels.value`, the mover being side 0. Returns afterstates `(N, 26)` int8
    seen by the mover in lexicographic order, `(N, 5)` float32 probabilities of the opponent, on
    roll after the play, and `(N,)` int64 play codes, 0 for a pass.
    """
    high, low = max(roll), min(roll)
    w = board.astype(np.int64)
    n = find_plays(w, high, low, switches, scratch)
    codes = scratch[1]
    children_probs(contact, race, w, codes, n, high, low, weights, 1, work)
    rows = np.empty((n, NUM_SLOTS), dtype=np.int8)
    write_afterstates(board, high, low, codes, n, rows, 0)
    return rows, work.probs[:n].copy(), codes[:n].copy()


class Candidates:
    """The plays of a roll with what they are worth at the depth they were looked at."""

    def __init__(
        self,
        afterstates: Board,
        opp_values: FloatArray,
        weights: FloatArray,
        cubeful: Cubeful | None = None,
    ) -> None:
        """opp_values: `(N, K)` for the opponent, on roll after the play, at depth 0; changed.

        cubeful: the mover's cubeful equities of such rows; without it plays are judged by their
        cubeless equity.
        """
        self._weights = weights
        self._off = borne_off(afterstates)
        self._cubeful = cubeful
        self.opp_values = opp_values
        self.depth: IntArray = np.zeros(len(opp_values), dtype=np.int64)
        self.equity = np.empty(len(opp_values), dtype=np.float32)
        """`(N,)` the mover's, cubeless."""
        self.worth = np.empty(len(opp_values))
        """`(N,)` what plays are judged by: the cubeful equity, or else the same as `equity`."""
        self._take(np.arange(len(opp_values)), opp_values)

    def _take(self, plays: IntArray, opp_values: FloatArray) -> None:
        self.opp_values[plays] = opp_values
        # In the order of the kernels' additions, so that what is equal there is equal here.
        total = np.full(len(opp_values), self._weights[1, 5], dtype=np.float32)
        for k in range(5):
            total = total + self._weights[1, k] * opp_values[:, k]
        self.equity[plays] = -total
        self.worth[plays] = -total if self._cubeful is None else self._cubeful(opp_values)

    def order(self) -> IntArray:
        """Numbers of all plays: the deepest before all others, then by worth.

        Of equal ones the one of higher cubeless equity comes first, then the one with more checkers
        off, then the lexicographic first.
        """
        return np.asarray(np.lexsort((-self._off, -self.equity, -self.worth, -self.depth)))

    def look_ahead(
        self, opp_boards: Board, ply: int, move_filter: MoveFilter, look: Look, *, to_choose: bool
    ) -> None:
        """Look at the plays depth by depth, those at each that the filter lets pass.

        opp_boards: `(N, 26)` after the plays, seen by the opponent; look: values of some of them,
        running games, at a depth; to_choose: whether a play that alone has passed needs no look.
        """
        for depth in range(1, ply + 1):
            passed = self.passing(depth, move_filter)
            if to_choose and len(passed) == 1:
                return
            self.look_at(passed, opp_boards, depth, look)

    def passing(self, depth: int, move_filter: MoveFilter) -> IntArray:
        """The plays that the filter lets pass to a depth from the one before."""
        count, window = move_filter.step(depth - 1)
        order = self.order()
        looked_at = order[self.depth[order] == depth - 1]
        near = self.worth[looked_at] >= self.worth[looked_at[0]] - window
        passed: IntArray = looked_at[near][:count]
        return passed

    def look_at(self, plays: IntArray, opp_boards: Board, depth: int, look: Look) -> None:
        """Look at some plays at a depth; a finished game stays what it is."""
        running = plays[self._off[plays] < NUM_CHECKERS]
        if len(running):
            self._take(running, look(opp_boards[running], depth))
        self.depth[plays] = depth
