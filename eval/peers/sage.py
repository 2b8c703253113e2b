"""Open Sage as a player: the nets and search of its Python package `bgsage`, cubeless.

The package's production model with its bear-off database and its default filter of plays, as its
own `BgBotAnalyzer(cubeful=False)` has it, in one thread. Traps met there:

- It counts plies one higher: its 1-ply is the raw net, which is `sage@0` here.
- Which of its nets judges a play is decided on the position *before* the play, so that has to be
  told. Where only a position is known, it stands for itself, as in the package's batch functions.
- A pruned play keeps its shallow equity, which can top the list; the two that lead have to be
  looked at more deeply until they are deep ones.
- The search keeps a cache that goes stale: it is cleared after every decision.
- Where there is no play it lists the unchanged board, and it lists early finishes that the rules
  do not allow. Its list is not used: it judges ours.
"""

from typing import Any, Final

import numpy as np

from agent.bot import FloatArray
from engine.board import Board
from engine.errors import ConfigError
from engine.rules import INTERNATIONAL, Rules
from eval.peers.judge import JudgeBot, peer_module

__all__ = ["SageBot", "sage_name"]

_MOST_DEEP: Final = 5
_WITHIN: Final = 0.08  # points per game; both are the package's defaults


def sage_name(depth: int) -> str:
    """The text of the bot at some depth as gnubg counts, with the package's own count."""
    return f"sage@{depth} (bgsage {depth + 1}-ply)"


class SageBot(JudgeBot):
    """Open Sage at some depth."""

    def __init__(self, depth: int, rules: Rules = INTERNATIONAL) -> None:
        super().__init__(sage_name(depth), depth, rules)
        package, version = peer_module(self.name, "bgsage", "bgsage")
        self.version = f"bgsage {version}"
        compiled, _ = peer_module(self.name, "bgbot_cpp", "bgsage")
        nets = package.default_weights()
        model = (nets.strategy_type, nets.weight_paths_list, nets.hidden_sizes_list)
        database = compiled.BearoffDB()
        path = package.weights.bearoff_db_path()
        if path is None or not database.load(path):
            raise ConfigError(f"bot '{self.name}': {self.version} has no bear-off database")
        self._raw: Any = compiled.BearoffStrategy(compiled.create_strategy(*model), database)
        self._deep: Any = None
        if depth:
            self._deep = compiled.create_multipy(*model, n_plies=depth + 1, parallel_evaluate=False)
            compiled.multipy_set_bearoff_db(self._deep, database)

    def judge(self, afterstates: Board, before: Board | None, depth: int) -> FloatArray:
        evaluate = (self._deep if depth else self._raw).evaluate_board
        boards = afterstates.tolist()
        pre = boards if before is None else before.tolist()
        found = np.array([evaluate(b, p)["probs"] for b, p in zip(boards, pre, strict=True)])
        if depth:
            self._deep.clear_cache()
        return found

    def best_of(self, afterstates: Board, before: Board, equities: FloatArray) -> int:
        equities = equities.copy()
        best_first = np.argsort(-equities, kind="stable")
        near = equities[best_first] > equities[best_first[0]] - _WITHIN
        near[_MOST_DEEP:] = False
        to_do = best_first[near]
        is_deep = np.zeros(len(equities), dtype=np.bool_)
        while len(to_do):
            equities[to_do] = self.equities(afterstates[to_do], before, self.depth)
            is_deep[to_do] = True
            best_first = np.argsort(-equities, kind="stable")
            shallow = best_first[:2][~is_deep[best_first[:2]]]
            to_do = shallow[:1]
        return int(best_first[0])
