"""The plays of a roll as candidates: found, valued by the net, and passed on to deeper looks."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from agent.kernels.replies import find_plays
from agent.kernels.value import NetArrays, Work, children_probs
from agent.move_filter import MoveFilter
from engine.board import NUM_CHECKERS, NUM_SLOTS, Board, IntArray, borne_off
from engine.play_codes import write_afterstates

__all__ = ["Candidates", "find_candidates"]

FloatArray = NDArray[np.float32]
Look = Callable[[Board, int], FloatArray]


def find_candidates(
    contact: NetArrays,
    race: NetArrays,
    work: Work,
    scratch: IntArray,
    board: Board,
    roll: tuple[int, int],
    bans: tuple[bool, int],
    weights: FloatArray,
) -> tuple[Board, FloatArray, IntArray]:
    """All plays of a roll and the net's values of them.

    board: `(26,)` int8 seen by the mover, a running game; bans: as `find_plays` has them; weights:
    as in `agent.kernels.value`, the mover being side 0. Returns afterstates `(N, 26)` int8 seen by
    the mover in lexicographic order, `(N, 5)` float32 probabilities of the opponent, on roll after
    the play, and `(N,)` int64 play codes, 0 for a pass.
    """
    high, low = max(roll), min(roll)
    w = board.astype(np.int64)
    n = find_plays(w, high, low, *bans, scratch)
    codes = scratch[1]
    children_probs(contact, race, w, codes, n, high, low, weights, 1, work)
    rows = np.empty((n, NUM_SLOTS), dtype=np.int8)
    write_afterstates(board, high, low, codes, n, rows, 0)
    return rows, work.probs[:n].copy(), codes[:n].copy()


class Candidates:
    """The plays of a roll with what they are worth at the depth they were looked at."""

    def __init__(self, afterstates: Board, opp_values: FloatArray, weights: FloatArray) -> None:
        """opp_values: `(N, K)` for the opponent, on roll after the play, at depth 0; changed."""
        self._weights = weights
        self._off = borne_off(afterstates)
        self.opp_values = opp_values
        self.equity = self._equities(opp_values)
        """`(N,)` float32, the mover's."""
        self.depth: IntArray = np.zeros(len(opp_values), dtype=np.int64)

    def _equities(self, opp_values: FloatArray) -> FloatArray:
        # In the order of the kernels' additions, so that what is equal there is equal here.
        total = np.full(len(opp_values), self._weights[1, 5], dtype=np.float32)
        for k in range(5):
            total = total + self._weights[1, k] * opp_values[:, k]
        return -total

    def order(self) -> IntArray:
        """Numbers of all plays: the deepest before all others, then by worth.

        Of equal ones the one with more checkers off comes first, then the lexicographic first.
        """
        return np.asarray(np.lexsort((-self._off, -self.equity, -self.depth)))

    def look_ahead(
        self, opp_boards: Board, ply: int, move_filter: MoveFilter, look: Look, *, to_choose: bool
    ) -> None:
        """Look at the plays depth by depth, those at each that the filter lets pass.

        opp_boards: `(N, 26)` after the plays, seen by the opponent; look: values of some of them,
        running games, at a depth; to_choose: whether a play that alone has passed needs no look.
        """
        counts, windows = move_filter.arrays()
        passed = self.order()
        for depth in range(1, ply + 1):
            near = self.equity[passed] >= self.equity[passed[0]] - windows[depth - 1]
            passed = passed[near][: counts[depth - 1]]
            if to_choose and len(passed) == 1:
                return
            running = passed[self._off[passed] < NUM_CHECKERS]
            if len(running):
                self.opp_values[running] = look(opp_boards[running], depth)
                self.equity[running] = self._equities(self.opp_values[running])
            self.depth[passed] = depth
            passed = self.order()[: len(passed)]
