"""The oracle itself: golden positions and cases, and what its own functions say of each other."""

import itertools

import numpy as np
import pytest

from engine.rules import INTERNATIONAL
from tests import reference_rules
from tests.golden_cases import MoveCase, apply_steps, read_golden, short_move_cases
from tests.strategies import CONSTRUCTED_KINDS, HOUSE_RULES, constructed_board, random_roll


def test_oracle_agrees_with_every_golden_position() -> None:
    lines = read_golden("moves.jsonl.gz")
    assert len(lines) == 2000
    for line in lines:
        found = reference_rules.afterstates(line["b"], line["d"])
        assert sorted(found) == [tuple(after) for after in line["a"]], (line["b"], line["d"])


@pytest.mark.parametrize("case", short_move_cases(), ids=lambda case: case.name)
def test_oracle_agrees_with_every_golden_case(case: MoveCase) -> None:
    position = (case.board, case.roll)
    found = reference_rules.afterstates(*position, case.rules)
    assert len(found) == case.legal_count
    assert reference_rules.dice_used(*position, case.rules) == case.dice_used
    if case.legal is not None:
        assert {apply_steps(case.board, play) for play in case.legal} == found
        assert all(
            reference_rules.is_complete_turn(*position, play, case.rules) for play in case.legal
        )
    for play in case.legal_includes:
        assert reference_rules.is_complete_turn(*position, play, case.rules)
    for play in case.illegal + case.illegal_sequences:
        assert not reference_rules.is_complete_turn(*position, play, case.rules)
    for play in case.illegal_sequences:
        assert apply_steps(case.board, play) in found


def test_a_sequence_is_complete_exactly_if_the_list_of_sequences_has_it(
    rng: np.random.Generator,
) -> None:
    """Two ways of the oracle to ask for the same thing; early finishes are only in one of them."""
    n_complete = 0
    for kind, rules in itertools.product(CONSTRUCTED_KINDS, HOUSE_RULES):
        board, roll = constructed_board(rng, kind), random_roll(rng)
        while roll[0] == roll[1]:
            roll = random_roll(rng)
        listed = reference_rules.legal_sequences(board, roll, rules)
        results = set().union(*listed.values())
        assert results == reference_rules.afterstates(board, roll, rules)
        for steps, ends in listed.items():
            assert ends == {apply_steps(board, steps)}
            assert reference_rules.is_complete_turn(board, roll, steps, rules)
            shorter = steps[:-1]
            if shorter not in listed:
                after = apply_steps(board, shorter)
                allowed = reference_rules.has_finished(after) and after in results
                assert allowed == reference_rules.is_complete_turn(board, roll, shorter, rules)
        n_complete += len(listed)
    assert n_complete > 500


def test_early_finish_is_legal_only_for_a_position_that_both_dice_reach_too() -> None:
    """One checker on 5, roll 6-1: finishing at once is the play 5/4/off unless that one hits."""
    quiet = [0] * 26
    quiet[5], quiet[24] = 1, -2
    blot = list(quiet)
    blot[4] = -1
    roll = (6, 1)
    assert reference_rules.is_complete_turn(quiet, roll, [(5, 0)])
    assert reference_rules.early_finishes(quiet, roll) == set()
    assert not reference_rules.is_complete_turn(blot, roll, [(5, 0)])
    assert reference_rules.is_complete_turn(blot, roll, [(5, 4), (4, 0)])
    assert reference_rules.early_finishes(blot, roll) == {apply_steps(blot, [(5, 0)])}
    banned = INTERNATIONAL.replace(hit_then_bear_off="ban_home_hit")
    assert reference_rules.is_complete_turn(blot, roll, [(5, 0)], banned)
    assert not reference_rules.is_complete_turn(blot, roll, [(5, 4), (4, 0)], banned)
