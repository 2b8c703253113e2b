"""The cube decision of a position at a depth: exactly, by the model, or by looking ahead."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.cube import CubeDecision
    from agent.met import MatchEquityTable
    from agent.search import Searcher
    from agent.situation import Situation
    from engine.board import Board

__all__ = ["CubeAnswer", "cube_answer"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CubeAnswer:
    """A cube decision and what it rests on."""

    probs: Any
    """`(5,)` float32, the mover's before the roll."""
    decision: "CubeDecision"
    source: str
    """As `agent.cube_judge.Source` has it."""
    efficiency: float | None
    ply: int

    def document(self, *, answers: bool) -> dict[str, Any]:
        """The part of docs/json.md that all commands with a cube decision share.

        answers: whether a double waits for its answer.
        """
        from nardi.cube_view import decision_document
        from nardi.documents import probs_document

        return {
            "ply": self.ply,
            "source": self.source,
            "efficiency": None if self.efficiency is None else round(self.efficiency, 6),
            "probs": probs_document(self.probs),
            "decision": decision_document(self.decision, answers=answers),
        }


def cube_answer(
    searcher: "Searcher",
    board: "Board",
    situation: "Situation",
    ply: int,
    met: "MatchEquityTable",
) -> CubeAnswer:
    """The cube decision of the side on roll. Raises ConfigError as the search does."""
    from agent.cube import cube_decision
    from agent.cube_judge import judge_cube, knows_exactly
    from agent.cube_values import board_efficiency

    if ply == 0 or knows_exactly(board, situation):
        judged = judge_cube(searcher.evaluator, board, situation, met)
        return CubeAnswer(
            probs=judged.probs,
            decision=judged.decision,
            source=judged.source,
            efficiency=judged.efficiency,
            ply=0,
        )
    value = searcher.evaluate(board, ply, situation, met)
    efficiency = float(board_efficiency(board))
    decision = cube_decision(
        value.probs, situation, efficiency, met, plies=ply, values=value.states
    )
    return CubeAnswer(
        probs=value.probs, decision=decision, source="net", efficiency=efficiency, ply=ply
    )
