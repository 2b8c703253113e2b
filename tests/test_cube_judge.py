"""Cube decisions of boards: by a net, by tables of endings, exactly."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.cube import cube_decision
from agent.cube_judge import judge_cube, knows_exactly
from engine.bearoff.lookup import cubeful, cubeless
from engine.board import START
from engine.rules import Rules
from tests.cube_rows import golden_rows, match, money, row_situation

SOME = (0.6, 0.2, 0.01, 0.1, 0.01)


class Fixed:
    """A net that has one opinion."""

    def probabilities(self, boards: Any) -> NDArray[np.float32]:
        return np.tile(np.array(SOME, dtype=np.float32), (len(boards), 1))


def ending(own: list[int], opp: list[int]) -> NDArray[np.int8]:
    """A race at home: checkers on own points 1, 2, ... of each side."""
    board = np.zeros(26, dtype=np.int8)
    for point, (mine, theirs) in enumerate(zip(own, opp, strict=True), start=1):
        board[point], board[25 - point] = mine, -theirs
    return board


def test_a_net_is_asked_where_no_table_knows() -> None:
    judged = judge_cube(Fixed(), START, money())
    assert (judged.source, judged.efficiency) == ("net", 0.68)
    alone = cube_decision(judged.probs, money(), 0.68)
    assert judged.decision == alone
    assert judged.probs.tolist() == pytest.approx(SOME)


def test_exact_equities_are_used_as_they_are() -> None:
    board = ending([1, 1, 0, 1, 0, 0], [2, 0, 1, 0, 0, 0])
    for owner in ("mover", "opponent", None):
        situation = money(cube_value=1 if owner is None else 2, cube_owner=owner)
        judged = judge_cube(Fixed(), board, situation)
        exact = cubeful(board, owner)
        assert (judged.source, judged.efficiency) == ("exact", None)
        assert judged.decision.values.no_double == pytest.approx(exact.no_double, abs=1e-6)
        assert judged.decision.values.double_take == (
            None if exact.double_take is None else pytest.approx(exact.double_take, abs=1e-6)
        )
        assert judged.decision.take_point is None
        np.testing.assert_array_equal(judged.probs, cubeless(board[None])[0])


def test_golden_endings() -> None:
    """GNU Backgammon's exact endings, which it keeps in 16 bits."""
    rows = [row for row in golden_rows() if row["class"] == "Bearoff2" and not row["length"]]
    assert len(rows) == 2
    for row in rows:
        board = np.array(row["b"], dtype=np.int8)
        judged = judge_cube(Fixed(), board, row_situation(row))
        assert judged.source == "exact"
        assert judged.decision.values.no_double == pytest.approx(row["nd"], abs=1e-4)
        assert judged.decision.values.double_take == pytest.approx(row["dt"], abs=2e-4)
        assert judged.decision.action == row["action"].lower()


def test_exactness_ends_where_cube_or_rules_differ() -> None:
    board = ending([1, 1, 0, 1, 0, 0], [2, 0, 1, 0, 0, 0])
    assert knows_exactly(board, money())
    assert knows_exactly(board, money(cube_cap=16))
    assert knows_exactly(board, money(jacoby=True, beaver=True, mars_with_cube=False))
    assert not knows_exactly(board, money(cube_cap=8))
    assert not knows_exactly(board, money(progression="arithmetic"))
    assert not knows_exactly(board, money(cube=False))
    assert not knows_exactly(board, match(5, 5))
    assert not knows_exactly(ending([0, 5, 3, 0, 0, 2], [2, 0, 1, 0, 0, 0]), money())
    score = judge_cube(Fixed(), board, match(5, 5))
    assert (score.source, score.efficiency) == ("table", 0.6)
    drawn = Rules(end_rule="last_chance_draw")
    assert judge_cube(Fixed(), board, money(**{"end_rule": drawn.end_rule})).source == "net"
