"""Cubeful equities against Open Sage, which uses Kazaross-XG2 too; its own probabilities go in."""

from typing import Any

import numpy as np
import pytest

from agent.cube import board_efficiency, cube_decision
from agent.situation import Situation
from tests.cube_rows import golden_rows, match, money

# Of scores at which nobody has a free redouble; (0, 0) is money play.
SCORES = [(0, 0), (7, 7), (4, 2), (5, 3), (2, 1), (3, 1), (4, 1), (2, 2), (25, 25), (1, 1)]


@pytest.fixture(scope="module")
def sage() -> Any:
    return pytest.importorskip("bgsage", reason="needs bgsage").create_analyzer("1ply")


def situation_of(away: tuple[int, int], owned: bool) -> Situation:
    cube: dict[str, Any] = {"cube_value": 2, "cube_owner": "mover"} if owned else {}
    return match(*away, **cube) if any(away) else money(**cube)


@pytest.mark.slow
@pytest.mark.parametrize("away", SCORES, ids=lambda away: f"{away[0]}-{away[1]}")
def test_equities(away: tuple[int, int], sage: Any) -> None:
    """The same to 0.005 (efficiencies of races differ), the median to 0.0001."""
    boards = sorted({tuple(row["b"]) for row in golden_rows()})[::10]
    off = []
    for board in boards:
        for owned in (False, True):
            theirs = sage.cube_action(
                list(board),
                2 if owned else 1,
                "player" if owned else "centered",
                away1=away[0],
                away2=away[1],
                jacoby=False,
                beaver=False,
            )
            p = theirs.probs
            probs = (p.win, p.gammon_win, p.backgammon_win, p.gammon_loss, p.backgammon_loss)
            efficiency = float(board_efficiency(np.array(board)))
            values = cube_decision(probs, situation_of(away, owned), efficiency).values
            off.append(abs(values.no_double - theirs.equity_nd))
            if values.double_take is not None and theirs.equity_dt is not None:
                off.append(abs(values.double_take - theirs.equity_dt))
    assert max(off) < 0.005
    assert np.median(off) < 1e-4
