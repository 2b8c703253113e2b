"""The cube decision of a board: probabilities by a net, or exactly where the endings are known.

Where a table of `engine.bearoff` knows the board its probabilities go before the net's. Where it
has exact money equities with the cube, these are the values, and nothing is interpolated.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from agent.cube import CubeDecision, cube_decision
from agent.cube_table import state_payoffs
from agent.cube_values import board_efficiency, table_of
from agent.kernels.cube import CENTRED, OWNER, WIN_1, CubeTable
from agent.met import MatchEquityTable
from agent.situation import Situation
from engine.bearoff.arrays import equities_of_boards
from engine.bearoff.lookup import covers, cubeless, fits_rules
from engine.bearoff.tables import load_tables
from engine.board import Board

__all__ = [
    "Judged",
    "Source",
    "exact_equities_hold",
    "exact_values",
    "judge_cube",
    "judged_probs",
    "knows_exactly",
]

Source = Literal["net", "table", "exact"]

# The tables' cube has no upper limit. One that can still be turned so often is as good as that: the
# games they know are over by then.
_TURNS_LEFT: Final = 16


class Net(Protocol):
    """What is asked for probabilities, such as `agent.evaluator.Evaluator`."""

    def probabilities(self, boards: Any) -> NDArray[np.float32]:
        """`(B, 5)` of `(B, 26)` boards, each for its owner, who is on roll."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """A board's probabilities, its cube decision, and where they come from."""

    probs: NDArray[np.float32]
    """`(5,)`, cumulative, the mover's before he rolls."""
    source: Source
    """"net"; "table": probabilities of a table of endings, interpolated; "exact": the equities,
    too."""
    efficiency: float | None
    """How live the cube was taken to be; None where the equities are exact."""
    decision: CubeDecision


def judged_probs(net: Net, board: Board, situation: Situation) -> tuple[NDArray[np.float32], bool]:
    """The `(5,)` probabilities of a board, and whether a table of endings told them."""
    if fits_rules(situation.rules) and bool(covers(board[None])[0]):
        return cubeless(board[None])[0], True
    return net.probabilities(board[None])[0], False


def exact_equities_hold(situation: Situation) -> bool:
    """Whether the exact money equities of the tables hold for this cube and these rules."""
    rules = situation.rules
    return (
        not situation.is_match
        and rules.cube
        and rules.progression == "geometric"
        and (rules.cube_cap is None or rules.cube_cap >= _TURNS_LEFT * situation.cube_value)
        and fits_rules(rules)
    )


def knows_exactly(board: Board, situation: Situation) -> bool:
    """Whether the exact money equities of the tables hold for this board, cube and rules."""
    return exact_equities_hold(situation) and bool(covers(board[None], exactly=True)[0])


def exact_values(board: Board, table: CubeTable) -> NDArray[np.float64]:
    """Values `(S,)` of the table's states for side 0 on roll, without doubling now.

    The board must be one of `knows_exactly`.
    """
    equities = np.zeros((1, 3), dtype=np.float32)
    equities_of_boards(load_tables(), board[None].copy(), equities, np.zeros(1, dtype=np.int8))
    centred, mine, theirs = (float(equity) for equity in equities[0])
    by_owner = {CENTRED: centred, 0: mine, 1: theirs}
    return np.array(
        [
            state_payoffs(table, s)[WIN_1] * by_owner[int(table.plan[s, OWNER])]
            for s in range(table.states)
        ]
    )


def judge_cube(
    net: Net, board: Board, situation: Situation, met: MatchEquityTable | None = None
) -> Judged:
    """The cube decision of the side on roll, by exact tables where they apply.

    board: `(26,)` int8 of a running game, seen by the mover. Raises ConfigError as
    `agent.cube_table.cube_table` does.
    """
    probs, known = judged_probs(net, board, situation)
    efficiency = float(board_efficiency(board))
    values = None
    if knows_exactly(board, situation):
        values = exact_values(board, table_of(situation, 0, met))
    decision = cube_decision(probs, situation, efficiency, met, values=values)
    if values is None:
        source: Source = "table" if known else "net"
        return Judged(probs=probs, source=source, efficiency=efficiency, decision=decision)
    # Points of the interpolation have no meaning for values that were not interpolated.
    decision = dataclasses.replace(
        decision, take_point=None, take_point_dead=None, take_point_live=None
    )
    return Judged(probs=probs, source="exact", efficiency=None, decision=decision)
