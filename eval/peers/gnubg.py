"""GNU Backgammon as a player: the nets and search of its binding `gnubg` (PyPI).

With the cube its probabilities before the roll and after each play go through our model of the cube
(`agent.cube_play`), in which they give GNU Backgammon's own figures, money and match, but for two
cases told in docs/cube.md: the binding tells no cube decision (`hint` refuses, `evaluate` returns
cubeless equities even when asked for cubeful ones), and that of `gnubg_nn` refuses money play and
takes cube and score from the process. So `gnubg@N` is gnubg's n-ply probabilities with gnubg's
0-ply handling of the cube, and exact equities near the end of money games, which gnubg has as well.

What is asked is `gnubg.evaluate`, with the nets and bear-off databases that come with it: no cube,
no noise, no pruning nets (gnubg's own default for an evaluation context: every figure is the
exact n-ply one). Traps met there, and why nothing else of it is used:

- Its boards list the side that is *not* on roll first, and each side's points as that side counts.
- `gnubg.findbestmove` and `findbestmoves` cut a play's text at its first checker borne off. The
  list of the latter mixes deep scores with shallow ones of plays that its filter dropped, so that
  such a play can be first, and a play that is left over alone keeps its shallow score.
- `gnubg_nn`, the other binding, answers with no play as an empty tuple, returns boards for the
  next player, and takes its score and cube from the process. At 0-ply both agree within 3e-5.
- A context made by `gnubg.cubeinfo` has Jacoby's rule on. It does not touch cubeless figures; it
  is switched off all the same.
- Evaluations are cached in the process: positions asked again are much faster than new ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from agent.bot import FloatArray
from agent.cube_play import cube_values
from agent.situation import Situation
from engine.bearoff.tables import load_tables
from engine.board import Board, IntArray
from engine.rules import INTERNATIONAL, Rules
from eval.peers.judge import JudgeBot, peer_module, swapped

__all__ = ["GnubgBot", "gnubg_boards"]


def gnubg_boards(afterstates: Board) -> list[list[list[int]]]:
    """Boards as gnubg has them, of the side on roll after the play: the one that moved is first.

    afterstates: `(n, 26)` seen by the side that moved. Each is two lists of 25 counts, one for
    each side: its points 1 to 24 as it counts them, and its bar.
    """
    moved = np.maximum(afterstates[:, 1:], 0)
    on_roll = np.concatenate(
        [np.maximum(-afterstates[:, 24:0:-1], 0), afterstates[:, :1]], axis=1, dtype=np.int8
    )
    boards: list[list[list[int]]] = np.stack([moved, on_roll], axis=1).tolist()
    return boards


class GnubgBot(JudgeBot):
    """gnubg at some depth; candidates are thinned out ply by ply with its own default filters."""

    def __init__(self, depth: int, rules: Rules = INTERNATIONAL) -> None:
        super().__init__(f"gnubg@{depth}", depth, rules)
        self._gnubg, version = peer_module(self.name, "gnubg", "gnubg")
        self.version = f"gnubg {version}"
        self._cube: dict[str, Any] = self._gnubg.cubeinfo() | {"jacoby": 0}
        # Arguments: cubeful, plies, deterministic, prune, noise.
        self._contexts = [self._gnubg.evalcontext(0, n, 1, 0, 0.0) for n in range(depth + 1)]
        self._filters: list[tuple[int, int, float]] = [
            (rule["acceptmoves"], rule["extramoves"], rule["threshold"])
            for rule in self._gnubg.getevalhintfilter()
            if rule["ply"] == depth
        ]

    def judge(self, afterstates: Board, before: Board | None, depth: int) -> FloatArray:
        evaluate, cube, context = self._gnubg.evaluate, self._cube, self._contexts[depth]
        found = [evaluate(board, cube, context)[:5] for board in gnubg_boards(afterstates)]
        return swapped(np.array(found))

    def cube_values(self, boards: Board, situations: Sequence[Situation]) -> FloatArray:
        # In money play gnubg has exact cubeful equities of up to 6 checkers a side; so have we.
        probs = self.probabilities(boards)
        return cube_values(probs, boards, situations, tables=load_tables())

    def best_of(
        self,
        afterstates: Board,
        before: Board,
        equities: FloatArray,
        situation: Situation | None = None,
    ) -> int:
        numbers = np.arange(len(afterstates))
        for depth in range(1, self.depth + 1):
            kept = self._kept(equities, depth - 1)
            numbers = numbers[kept]
            if len(numbers) == 1:
                return int(numbers[0])
            of_plays = None if situation is None else [situation] * len(numbers)
            equities = self.equities(afterstates[numbers], before, depth, of_plays)
        return int(numbers[np.argmax(equities)])

    def _kept(self, equities: FloatArray, depth: int) -> IntArray:
        """Which plays are looked at more deeply, by their equities at a depth, in order."""
        accept, extra, threshold = self._filters[depth]
        best_first = np.argsort(-equities, kind="stable")
        near = equities[best_first] >= equities[best_first[0]] - threshold
        near[accept + extra :] = False
        near[: max(accept, 1)] = True
        return np.sort(best_first[near])
