"""What must hold for the legal plays of every position, whatever the rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.board import (
    board_faults,
    borne_off,
    flip,
    opp_borne_off,
    opp_pip_count,
    pip_count,
)
from engine.moves import (
    legal_afterstates,
    legal_afterstates_batch,
    legal_plays,
    play_steps,
)
from engine.rules import INTERNATIONAL, Rules
from tests import reference_rules
from tests.golden_cases import apply_steps
from tests.move_checks import board_array, describe, rows
from tests.strategies import (
    HOUSE_RULES,
    ORDERED_ROLLS,
    START_BOARD,
    boards,
    constructed_board,
    house_rules,
    rolls,
)

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]


@given(boards(), rolls(), house_rules())
def test_engine_and_reference_list_the_same(board: BoardTuple, roll: Roll, rules: Rules) -> None:
    """The differential test in a form that shrinks to the smallest position that differs."""
    found = rows(legal_afterstates(board_array(board), roll, rules))
    expected = sorted(reference_rules.afterstates(board, roll, rules))
    assert found == expected, describe(board, roll, found, expected, rules)


@given(boards(), rolls(), house_rules())
def test_afterstates_are_distinct_and_in_lexicographic_order(
    board: BoardTuple, roll: Roll, rules: Rules
) -> None:
    found = rows(legal_afterstates(board_array(board), roll, rules))
    assert len(found) >= 1
    assert found == sorted(set(found))


@given(boards(), house_rules())
def test_the_order_of_the_dice_is_of_no_effect(board: BoardTuple, rules: Rules) -> None:
    b = board_array(board)
    for first, second in ORDERED_ROLLS:
        if first < second:
            one, plays = legal_plays(b, (first, second), rules)
            other, other_plays = legal_plays(b, (second, first), rules)
            np.testing.assert_array_equal(one, other)
            assert plays == other_plays
    turned = [(second, first) for first, second in ORDERED_ROLLS]
    batch, offsets = legal_afterstates_batch(np.tile(b, (36, 1)), ORDERED_ROLLS, rules)
    other_batch, other_offsets = legal_afterstates_batch(np.tile(b, (36, 1)), turned, rules)
    np.testing.assert_array_equal(offsets, other_offsets)
    np.testing.assert_array_equal(batch, other_batch)


@given(boards(), rolls(), house_rules())
def test_checkers_are_conserved(board: BoardTuple, roll: Roll, rules: Rules) -> None:
    b = board_array(board)
    after = legal_afterstates(b, roll, rules)
    for row in after:
        assert board_faults(row) == [] or reference_rules.is_over(row.tolist())
    assert (opp_borne_off(after) == opp_borne_off(b)).all()
    gained = borne_off(after) - borne_off(b)
    assert (gained >= 0).all()
    assert (gained <= (4 if roll[0] == roll[1] else 2)).all()
    hit = after[:, 0] - b[0]
    assert (hit >= 0).all()
    assert (hit <= (4 if roll[0] == roll[1] else 2)).all()
    on_points = np.minimum(after[:, 1:25], 0).sum(axis=1)
    np.testing.assert_array_equal(on_points, np.minimum(b[1:25], 0).sum() + hit)


@given(boards(), rolls(), house_rules())
def test_c11_steps_shorten_the_movers_way_and_hits_lengthen_the_others(
    board: BoardTuple, roll: Roll, rules: Rules
) -> None:
    """A step of die d takes d pips off the mover's count, or what is left of the way when a
    checker is borne off by a larger die; a hit on point p adds 25 - p to the opponent's."""
    b = board_array(board)
    afterstates, plays = legal_plays(b, roll, rules)
    for after, steps in zip(afterstates, plays, strict=True):
        now = b
        for start, to in steps:
            then = board_array(apply_steps(now.tolist(), [(start, to)]))
            assert start - to in roll or (to == 0 and start < max(roll))
            assert pip_count(now) - pip_count(then) == start - to
            was_hit = to > 0 and now[to] == -1
            assert opp_pip_count(then) - opp_pip_count(now) == (to if was_hit else 0)
            now = then
        np.testing.assert_array_equal(now, after)
        total = int(pip_count(b) - pip_count(after))
        dice = roll if roll[0] != roll[1] else (roll[0],) * 4
        if borne_off(after) == borne_off(b) and len(steps) == len(dice):
            assert total == sum(dice)
        assert total <= sum(dice)


@given(boards(), rolls(), house_rules())
def test_listed_steps_replay_to_the_same_afterstate(
    board: BoardTuple, roll: Roll, rules: Rules
) -> None:
    b = board_array(board)
    afterstates, plays = legal_plays(b, roll, rules)
    np.testing.assert_array_equal(afterstates, legal_afterstates(b, roll, rules))
    assert len(afterstates) == len(plays)
    for after, steps in list(zip(afterstates, plays, strict=True))[:60]:
        np.testing.assert_array_equal(play_steps(b, roll, steps, rules), after)
        assert reference_rules.is_complete_turn(board, roll, steps, rules)
    assert {len(steps) for steps in plays} == {reference_rules.dice_used(board, roll, rules)}


@given(st.lists(st.tuples(boards(), rolls()), max_size=8), house_rules())
def test_a_batch_equals_its_positions_one_by_one(
    positions: list[tuple[BoardTuple, Roll]], rules: Rules
) -> None:
    many = np.array([board for board, _ in positions], dtype=np.int8).reshape(-1, 26)
    faces = np.array([roll for _, roll in positions], dtype=np.int8).reshape(-1, 2)
    afterstates, offsets = legal_afterstates_batch(many, faces, rules)
    assert offsets.shape == (len(positions) + 1,)
    assert offsets[0] == 0
    assert offsets[-1] == len(afterstates)
    for number, (board, roll) in enumerate(positions):
        part = afterstates[offsets[number] : offsets[number + 1]]
        np.testing.assert_array_equal(part, legal_afterstates(board_array(board), roll, rules))


def test_a_large_mixed_batch_equals_its_positions_one_by_one(rng: np.random.Generator) -> None:
    """Passes, races and positions with thousands of plays side by side, with much growth."""
    kinds = ["own_bar", "spread", "bear_off", "scatter", "spread"]
    positions: list[tuple[BoardTuple, Roll]] = []
    for number in range(120):
        board = constructed_board(rng, kinds[number % len(kinds)])
        die = int(rng.integers(1, 7))
        positions.append((board, (die, die if number % 3 else int(rng.integers(1, 7)))))
    many = np.array([board for board, _ in positions], dtype=np.int8)
    faces = np.array([roll for _, roll in positions], dtype=np.int8)
    for rules in HOUSE_RULES:
        afterstates, offsets = legal_afterstates_batch(many, faces, rules)
        one_by_one = [
            legal_afterstates(board_array(board), roll, rules) for board, roll in positions
        ]
        assert np.diff(offsets).tolist() == [len(found) for found in one_by_one]
        np.testing.assert_array_equal(afterstates, np.concatenate(one_by_one))
    assert len(afterstates) > 50 * len(positions)


@given(boards(), rolls())
def test_rules_that_are_not_about_plays_do_not_change_them(board: BoardTuple, roll: Roll) -> None:
    other = INTERNATIONAL.replace(
        scoring="mars_homemars_koks_1234",
        end_rule="last_chance_draw",
        cube=False,
        jacoby=True,
        match_to=7,
        cube_cap=None,
    )
    b = board_array(board)
    expected, plays = legal_plays(b, roll)
    for rules in (other, INTERNATIONAL):
        found, found_plays = legal_plays(b, roll, rules)
        np.testing.assert_array_equal(found, expected)
        assert found_plays == plays
        batch, _ = legal_afterstates_batch(b[None], [roll], rules)
        np.testing.assert_array_equal(batch, expected)


@given(boards(), rolls(), house_rules())
def test_without_a_hit_house_rules_change_nothing(
    board: BoardTuple, roll: Roll, rules: Rules
) -> None:
    """All of these house rules are about what may follow a hit."""
    no_blots = tuple(0 if 0 < n < 25 and count == -1 else count for n, count in enumerate(board))
    if reference_rules.is_over(no_blots):
        return
    b = board_array(no_blots)
    np.testing.assert_array_equal(legal_afterstates(b, roll, rules), legal_afterstates(b, roll))


@given(boards(), rolls(), house_rules())
def test_house_rules_only_take_plays_away_or_leave_shorter_ones(
    board: BoardTuple, roll: Roll, rules: Rules
) -> None:
    b = board_array(board)
    plain, plain_plays = legal_plays(b, roll)
    found, plays = legal_plays(b, roll, rules)
    if len(plays[0]) == len(plain_plays[0]):
        same_length = set(rows(found)) - set(rows(plain))
        # with one die of two, the larger may have lost its play to the ban
        assert not same_length or len(plays[0]) == 1
    else:
        assert len(plays[0]) < len(plain_plays[0])


@given(boards(), rolls(), house_rules())
def test_the_turn_passes_through_flip_alone(board: BoardTuple, roll: Roll, rules: Rules) -> None:
    """Afterstates are seen by the mover; flipped, they are legal boards of the other side."""
    b = board_array(board)
    after = legal_afterstates(b, roll, rules)
    np.testing.assert_array_equal(pip_count(flip(after)), opp_pip_count(after))
    running = [row for row in flip(after) if borne_off(row) < 15 and opp_borne_off(row) < 15]
    for row in running[:3]:
        assert len(legal_afterstates(row, roll, rules)) >= 1


# --- no cap on the number of results ---

MOST_KNOWN: BoardTuple = tuple(
    int(place in (3, 4, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 21, 23, 24, 0)) for place in range(26)
)
"""2,226 distinct results with 1-1, found by hill climbing over fifteen spread checkers."""


def spread_boards() -> dict[str, BoardTuple]:
    """Positions with very many distinct results of a double."""
    far = [0] * 26
    far[10:25] = [1] * 15
    every_second = [0] * 26
    every_second[2:25:2] = [1] * 12
    every_second[23] = 3
    for board in (far, every_second):
        board[1] = -2
    home = (0, *([1] * 15), *([-1] * 9), 0)
    return {
        "home": home,
        "far": tuple(far),
        "every_second": tuple(every_second),
        "most_known": MOST_KNOWN,
    }


@pytest.mark.parametrize("roll", [(1, 1), (2, 2), (3, 3)])
@pytest.mark.parametrize("name", spread_boards())
def test_thousands_of_results_are_all_there(name: str, roll: Roll) -> None:
    board = spread_boards()[name]
    expected = sorted(reference_rules.afterstates(board, roll))
    b = board_array(board)
    afterstates, plays = legal_plays(b, roll)
    assert rows(afterstates) == expected
    assert len(plays) == len(expected)
    batch, offsets = legal_afterstates_batch(np.tile(b, (3, 1)), [roll] * 3)
    assert offsets.tolist() == [0, len(expected), 2 * len(expected), 3 * len(expected)]
    assert rows(batch) == expected * 3


def test_c16_the_largest_lists_outgrow_small_numbers_and_buffers() -> None:
    """More than 127, 256, 1,024 and 2,048 plays: sizes at which other programs stopped."""
    assert len(legal_afterstates(board_array(MOST_KNOWN), (1, 1))) == 2226


def test_many_results_under_house_rules(rng: np.random.Generator) -> None:
    """Blots to hit between spread checkers: many orders, many marks, still all results."""
    board = [0] * 26
    board[4:25:2] = [1] * 11
    board[3:24:3] = [-1 if count == 0 else count for count in board[3:24:3]]
    board[1] = -2
    for rules in HOUSE_RULES:
        for die in (1, 2):
            expected = sorted(reference_rules.afterstates(board, (die, die), rules))
            found = rows(legal_afterstates(board_array(board), (die, die), rules))
            assert found == expected, describe(board, (die, die), found, expected, rules)


# --- whole games ---


@settings(max_examples=30)
@given(st.integers(0, 1 << 32), house_rules())
def test_random_games_end_and_never_pass_a_board_that_cannot_be(seed: int, rules: Rules) -> None:
    rng = np.random.default_rng(seed)
    board: NDArray[np.int8] = board_array(START_BOARD)
    for _turn in range(5000):
        after = legal_afterstates(board, tuple(rng.integers(1, 7, size=2).tolist()), rules)
        board = flip(after[int(rng.integers(len(after)))])
        assert board_faults(board) == []
        if opp_borne_off(board) == 15:
            break
    assert opp_borne_off(board) == 15
    assert borne_off(board) < 15
