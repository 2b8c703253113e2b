"""GNU Backgammon's 306 cube decisions: its probabilities in, its verdicts and equities out.

The rows of matches were made with GNU Backgammon's built-in table, see tests/golden/README.md.
"""

from typing import Any

import pytest

from agent.cube import CubeDecision, cube_decision
from agent.met import default_met, load_met
from tests.cube_rows import MET_OF_ROWS, golden_rows, row_efficiency, row_situation

# GNU Backgammon takes a centred cube at two away each to be dead unless it is turned now.
_TWO_AWAY = "match-5pt-3-3-centre"
# After a double the cube wins the match for the mover, so the other redoubles for nothing, and his
# cube is fully live for us; GNU Backgammon's is live by 0.68, as always.
_FREE_REDOUBLES = ("match-7pt-5-3-centre", "match-7pt-3-2-owned2")
_BY_TABLE = "Bearoff2"  # exact cubeful values of its database instead of the formulas


@pytest.fixture(scope="module")
def decided() -> list[tuple[dict[str, Any], CubeDecision]]:
    met = load_met(MET_OF_ROWS)
    return [
        (row, cube_decision(row["p"], row_situation(row), row_efficiency(row), met))
        for row in golden_rows()
    ]


def test_equities(decided: list[tuple[dict[str, Any], CubeDecision]]) -> None:
    """No double, double / take, double / pass, and the chances to win the match."""
    count = 0
    for row, decision in decided:
        if row["class"] == _BY_TABLE:
            continue
        values = decision.values
        compared = {"nd": values.no_double, "dt": values.double_take, "dp": values.double_pass}
        if row["s"] == _TWO_AWAY:
            del compared["nd"]
        if row["s"] in _FREE_REDOUBLES:
            del compared["dt"]
        for name, value in compared.items():
            count += 1
            assert value == pytest.approx(row[name], abs=1.2e-5), (row["s"], name)
            assert decision.mwc(value) == (
                pytest.approx(row["mwc"][name], abs=5e-6) if "mwc" in row else None
            )
    assert count == 3 * 300 - 18 - 36


@pytest.mark.parametrize(("kind", "at_least"), [("money", 1.0), ("match", 0.97)])
def test_actions(
    kind: str, at_least: float, decided: list[tuple[dict[str, Any], CubeDecision]]
) -> None:
    rows = [(row, decision) for row, decision in decided if row["s"].startswith(kind)]
    different = [
        (row["s"], row["action"], decision.action)
        for row, decision in rows
        if decision.action != row["action"].lower()
    ]
    assert len(rows) == {"money": 108, "match": 198}[kind]
    assert 1 - len(different) / len(rows) >= at_least, different
    assert {score for score, _, _ in different} <= {_TWO_AWAY, *_FREE_REDOUBLES}


def test_other_table_same_verdicts(decided: list[tuple[dict[str, Any], CubeDecision]]) -> None:
    """With Kazaross-XG2 the same rows give the same action in most cases (92 %)."""
    met = default_met()
    rows = [row for row, _ in decided if row["length"]]
    same = sum(
        cube_decision(row["p"], row_situation(row), row_efficiency(row), met).action
        == row["action"].lower()
        for row in rows
    )
    assert same / len(rows) >= 0.92
