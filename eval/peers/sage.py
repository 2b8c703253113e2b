"""Open Sage as a player: the nets and search of its Python package `bgsage`.

The package's production model with its bear-off database and its default filter of plays, as its
own `BgBotAnalyzer(cubeful=False)` has it, in one thread. Traps met there:

- It counts plies one higher: its 1-ply is the raw net, which is `sage@0` here.
- Which of its nets judges a play is decided on the position *before* the play, so that has to be
  told. Where only a position is known, it stands for itself, as in the package's batch functions.
- A pruned play keeps its shallow equity, which can top the list; the two that lead have to be
  looked at more deeply until they are deep ones.
- The search keeps a cache that goes stale: it is cleared after every decision.
- Its cube decisions are its own, with the table of match equities and the cube's limit that it
  has: at depth 0 what `cube_decision_1ply` makes of its probabilities, deeper `cube_decision_nply`,
  which reads all nets anew for every question. Plays are ranked by our model of the cube on its
  probabilities, which is the same interpolation. Rules of the cube that it does not know
  (`progression`, `mars_with_cube`) go by our model as well.
- Where there is no play it lists the unchanged board, and it lists early finishes that the rules
  do not allow. Its list is not used: it judges ours.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agent.bot import FloatArray
from agent.cube_play import DOUBLE_PASS, DOUBLE_TAKE
from agent.situation import Situation
from engine.board import Board, flip, has_contact, pip_count
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
        self._model, self._database, self._compiled = model, database, compiled
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

    def best_of(
        self,
        afterstates: Board,
        before: Board,
        equities: FloatArray,
        situation: Situation | None = None,
    ) -> int:
        equities = equities.copy()
        best_first = np.argsort(-equities, kind="stable")
        near = equities[best_first] > equities[best_first[0]] - _WITHIN
        near[_MOST_DEEP:] = False
        to_do = best_first[near]
        is_deep = np.zeros(len(equities), dtype=np.bool_)
        while len(to_do):
            of_plays = None if situation is None else [situation] * len(to_do)
            some = afterstates[to_do]
            equities[to_do] = self.equities(some, before, self.depth, of_plays)
            is_deep[to_do] = True
            best_first = np.argsort(-equities, kind="stable")
            shallow = best_first[:2][~is_deep[best_first[:2]]]
            to_do = shallow[:1]
        return int(best_first[0])

    def cube_values(self, boards: Board, situations: Sequence[Situation]) -> FloatArray:
        values = super().cube_values(boards, situations)
        probs = self.probabilities(boards) if self.depth == 0 else None
        for i, (board, situation) in enumerate(zip(boards, situations, strict=True)):
            rules = situation.rules
            known = rules.progression == "geometric" and rules.mars_with_cube
            if np.isnan(values[i, DOUBLE_TAKE]) or not known:
                continue
            if probs is None:
                told = self._deep_cube(board, situation)
            else:
                told = self._raw_cube(probs[i], board, situation)
            values[i, : DOUBLE_PASS + 1] = told
        return values

    def _raw_cube(
        self, probs: NDArray[np.float32], board: Board, situation: Situation
    ) -> tuple[float, float, float]:
        race = not bool(has_contact(board))
        own, opp = int(pip_count(board)), int(pip_count(flip(board)))
        p = [float(x) for x in probs]
        efficiency = self._compiled.cube_efficiency(p, race, own, opp)
        found = self._compiled.cube_decision_1ply(
            p,
            cube_x=efficiency,
            **self._cube_of(situation),
            jacoby=situation.rules.jacoby,
        )
        return found.equity_nd, found.equity_dt, found.equity_dp

    def _deep_cube(self, board: Board, situation: Situation) -> tuple[float, float, float]:
        cube = self._cube_of(situation)
        found = self._compiled.cube_decision_nply_unified(
            board.tolist(),
            cube.pop("cube_value"),
            cube.pop("owner"),
            self.depth + 1,
            *self._model,
            n_threads=1,
            **cube,
            jacoby=situation.rules.jacoby,
            beaver=False,
            max_cube_value=situation.rules.cube_cap or 0,
            bearoff_db=self._database,
        )
        return found["equity_nd"], found["equity_dt"], found["equity_dp"]

    def _cube_of(self, situation: Situation) -> dict[str, Any]:
        owners = self._compiled.CubeOwner
        owner = {None: owners.CENTERED, "mover": owners.PLAYER, "opponent": owners.OPPONENT}
        return {
            "cube_value": situation.cube_value,
            "owner": owner[situation.cube_owner],
            "away1": situation.mover_away or 0,
            "away2": situation.opp_away or 0,
            "is_crawford": situation.crawford,
        }
