"""Counts in the manner of perft against tests/golden/perft.json, by three generators."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from engine.rules import INTERNATIONAL, Rules
from tests import counts
from tests.golden_cases import GOLDEN
from tests.move_checks import engine_plays
from tests.outside import gnubg_positions


def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / "perft.json").read_text(encoding="utf-8"))
    return found


def stored_counts(depth: int) -> dict[str, list[dict[str, Any]]]:
    return {name: root["depths"][:depth] for name, root in stored()["roots"].items()}


def gnubg_plays(positions: counts.Positions, rules: Rules) -> Iterable[list[counts.BoardTuple]]:
    assert rules == INTERNATIONAL
    for board, roll in positions:
        yield sorted(gnubg_positions(board, roll))


def test_the_file_is_about_the_same_roots() -> None:
    data = stored()
    assert [tuple(roll) for roll in data["rolls"]] == counts.ROLLS_21
    assert {name: tuple(root["board"]) for name, root in data["roots"].items()} == {
        name: board for name, (board, _) in counts.ROOTS.items()
    }
    for name, (_, rules) in counts.ROOTS.items():
        root = data["roots"][name]
        assert root["hit_and_hide"] == rules.hit_and_hide
        assert root["hit_then_bear_off"] == rules.hit_then_bear_off
        for depth in root["depths"]:
            assert depth["plays"] == sum(depth["plays_by_roll"])


def test_counts_of_the_start() -> None:
    """Written out here too, for people who compare programs by hand."""
    [first, second] = stored_counts(2)["start"]
    assert (first["plays"], first["positions"]) == (447, 406)
    assert (second["plays"], second["positions"]) == (183_632, 163_706)


def test_the_engine_has_the_counts_to_depth_2() -> None:
    assert counts.all_counts(engine_plays, 2) == stored_counts(2)


def test_the_reference_has_the_counts_at_depth_1() -> None:
    assert counts.all_counts(counts.reference_plays, 1) == stored_counts(1)


@pytest.mark.slow
def test_the_reference_has_the_counts_to_depth_2() -> None:
    assert counts.all_counts(counts.reference_plays, 2) == stored_counts(2)


@pytest.mark.slow
def test_gnubg_has_the_counts_to_depth_2() -> None:
    pytest.importorskip("gnubg_nn", reason="gnubg_nn is not installed")
    international = [name for name, (_, rules) in counts.ROOTS.items() if rules == INTERNATIONAL]
    assert len(international) >= 3
    for name in international:
        board, rules = counts.ROOTS[name]
        assert counts.counts(board, rules, gnubg_plays, 2) == stored_counts(2)[name]
