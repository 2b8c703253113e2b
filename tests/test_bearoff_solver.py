"""Exact endings are right: against golden values, a slow reference, and Bellman's equations."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from engine.bearoff.build import one_sided, two_sided
from engine.bearoff.ranks import num_positions, position_counts
from engine.bearoff.steps import all_plays
from engine.bearoff.two_sided import CENTRED, CUBELESS, MINE, THEIRS
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.moves import legal_afterstates, legal_afterstates_batch
from tests.golden_cases import read_golden

Side = tuple[int, ...]
Values = tuple[Fraction, Fraction, Fraction, Fraction]

ROUNDING = 1e-12


def numbers(counts: np.ndarray) -> dict[Side, int]:
    """Number of each position."""
    return {tuple(row): number for number, row in enumerate(counts.tolist())}


def boards_of(own: np.ndarray) -> np.ndarray:
    """Boards with these own checkers on points 1, 2, ... and one of the opponent, who is home."""
    boards = np.zeros((len(own), 26), dtype=np.int8)
    boards[:, 1 : own.shape[1] + 1] = own
    boards[:, 24] = -1
    return boards


@pytest.fixture(scope="module")
def pairs() -> np.ndarray:
    return two_sided(6)


@pytest.fixture(scope="module")
def six() -> np.ndarray:
    counts: np.ndarray = position_counts(6, 6)
    return counts


# --- numbers of positions ---


@pytest.mark.parametrize(("points", "checkers"), [(1, 3), (2, 15), (6, 6), (8, 5), (12, 3)])
def test_every_position_has_its_number(points: int, checkers: int) -> None:
    counts = position_counts(points, checkers)
    assert len(counts) == num_positions(points, checkers) == len(set(map(tuple, counts.tolist())))
    assert (counts >= 0).all()
    totals = counts.sum(axis=1)
    assert totals[0] == 0
    assert totals[-1] == checkers
    assert (np.diff(totals) >= 0).all()


def test_sizes() -> None:
    assert num_positions(6, 15) == 54264
    assert num_positions(6, 6) == 924


# --- plays ---


def test_plays_are_the_legal_ones(six: np.ndarray) -> None:
    """Of all positions and rolls, against the generator of the game."""
    plays = np.zeros(200_000, dtype=np.int32)
    offsets = np.zeros((len(six), 22), dtype=np.int64)
    filled = all_plays(six, plays, offsets)
    assert filled == offsets[-1, -1] == 69_043
    boards = np.repeat(boards_of(six[1:]), len(ROLLS), axis=0)
    rolls = np.tile(ROLLS, (len(six) - 1, 1))
    afterstates, bounds = legal_afterstates_batch(boards, rolls)
    place = numbers(six)
    for k in range(len(boards)):
        position, roll = divmod(k, len(ROLLS))
        first, last = offsets[position + 1, roll : roll + 2]
        found = plays[first:last].tolist()
        expected = [place[tuple(b[1:7].tolist())] for b in afterstates[bounds[k] : bounds[k + 1]]]
        assert sorted(found) == sorted(expected), (six[position + 1], ROLLS[roll])


# --- one side ---


def test_golden_rolls() -> None:
    table = one_sided(6, 15)
    place = numbers(table.counts)
    cases = [case for case in read_golden("bearoff.jsonl") if case.get("kind") == "one-sided"]
    assert len(cases) == 100
    for case in cases:
        number = place[tuple(case["points"])]
        found = np.zeros(40)
        chances = table.chances(number)
        found[: len(chances)] = chances
        assert table.means[number] == pytest.approx(case["mean_rolls"], abs=1e-8)
        for key, tolerance in (("rolls", 1e-8), ("gnubg_rolls", 4e-5)):
            expected = case[key]
            assert found[1 : len(expected) + 1] == pytest.approx(expected, abs=tolerance)
            assert found[0] == 0
            assert found[len(expected) + 1 :].max() < tolerance


@pytest.mark.parametrize(
    ("points", "checkers", "until"), [(6, 15, 0), (8, 7, 0), (8, 6, 5), (6, 15, 14), (7, 4, 2)]
)
def test_means_are_the_least(
    points: int, checkers: int, until: int, rng: np.random.Generator
) -> None:
    """One roll more than the mean of the best plays' means, by the generator of the game."""
    table = one_sided(points, checkers, until)
    place = numbers(table.counts)
    some = rng.permutation(np.flatnonzero(table.counts.sum(axis=1) > until))[:60]
    for number in some:
        board = boards_of(table.counts[number : number + 1])[0]
        expected = 1.0
        chances = np.zeros(65)
        for roll, weight in zip(ROLLS, ROLL_WEIGHTS, strict=True):
            after = legal_afterstates(board, roll)[:, 1 : points + 1]
            reached = [place[tuple(row)] for row in after.tolist()]
            best = min(table.means[reached])
            expected += weight / 36 * best
            # Of equally good plays the table may have taken any.
            equal = [r for r in reached if table.means[r] < best + 1e-9]
            if len(equal) == 1:
                rolls = table.chances(equal[0])
                chances[1 : len(rolls) + 1] += weight / 36 * rolls
        assert table.means[number] == pytest.approx(expected, abs=1e-9)
        found = table.chances(number)
        assert (found >= chances[: len(found)] - 1e-9).all()
        assert found.sum() == pytest.approx(1, abs=1e-8)
        assert found @ np.arange(len(found)) == pytest.approx(table.means[number], abs=1e-7)
    done = table.counts.sum(axis=1) <= until
    assert (table.means[done] == 0).all()
    assert (table.lengths[done] == 0).all()
    assert (table.means[~done] >= 1).all()


def test_a_single_checker_by_hand() -> None:
    """Known chances: point 1 to 3 all rolls (but 1-1 or 2-1 for some), 36, 36 and 34 of 36, ..."""
    table = one_sided(6, 1)
    place = numbers(table.counts)
    for point, good in ((1, 36), (2, 36), (3, 36), (4, 34), (5, 31), (6, 27)):
        side = tuple(int(point == p) for p in range(1, 7))
        assert table.chances(place[side])[1] == pytest.approx(good / 36, abs=1e-12)


# --- two sides ---


@cache
def side_plays(own: Side, roll: int) -> tuple[Side, ...]:
    board = boards_of(np.array([own]))[0]
    after = legal_afterstates(board, ROLLS[roll])
    return tuple(tuple(row) for row in after[:, 1:7].tolist())


@cache
def reference(own: Side, other: Side) -> Values:
    """Cubeless, centred, mine, theirs without a double at this roll, straight from the rules."""
    totals = [Fraction(0)] * 4
    for roll, weight in enumerate(ROLL_WEIGHTS.tolist()):
        best = [Fraction(-1)] * 4
        for after in side_plays(own, roll):
            if not any(after):
                worth = [Fraction(1)] * 4
            else:
                cubeless, centred, mine, theirs = reference(other, after)
                offered = min(2 * theirs, Fraction(1))
                worth = [-cubeless, -max(centred, offered), -theirs, -max(mine, offered)]
            best = [max(pair) for pair in zip(best, worth, strict=True)]
        totals = [total + weight * value for total, value in zip(totals, best, strict=True)]
    cubeless, centred, mine, theirs = (total / 36 for total in totals)
    return cubeless, centred, mine, theirs


def test_every_tiny_ending_against_the_reference(pairs: np.ndarray, six: np.ndarray) -> None:
    """Up to 2 checkers a side, all pairs, in exact fractions."""
    tiny = [tuple(row) for row in six[1 : num_positions(6, 2)].tolist()]
    place = numbers(six)
    assert len(tiny) == 27
    for own in tiny:
        for other in tiny:
            expected = [float(value) for value in reference(own, other)]
            found = pairs[place[own], place[other]]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_golden_equities(pairs: np.ndarray, six: np.ndarray) -> None:
    place = numbers(six)
    cases = [case for case in read_golden("bearoff.jsonl") if case.get("kind") == "two-sided"]
    assert len(cases) == 110
    exact = 0
    for case in cases:
        board = np.array(case["b"])
        cubeless, centred, mine, theirs = pairs[
            place[tuple(board[1:7].tolist())], place[tuple((-board[24:18:-1]).tolist())]
        ]
        tolerance = 1e-9 if case["exact"] else 4e-5
        exact += case["exact"]
        assert (cubeless + 1) / 2 == pytest.approx(case["win"], abs=tolerance)
        assert (cubeless + 1) / 2 == pytest.approx(case["gnubg_win"], abs=4e-5)
        for key, value in (("centre", centred), ("owned2", mine)):
            assert value == pytest.approx(case[key]["nd"], abs=8e-5)
            assert 2 * theirs == pytest.approx(case[key]["dt"], abs=2e-4)
            assert case[key]["dp"] == 1
    assert exact >= 40


def test_order_of_cube_owners(pairs: np.ndarray) -> None:
    """It is never worse to own the cube than to share it, nor to share than to face it."""
    v = pairs[1:, 1:]
    doubled = np.minimum(2 * v[..., THEIRS], 1)
    mine = np.maximum(v[..., MINE], doubled)
    centred = np.maximum(v[..., CENTRED], doubled)
    assert (mine >= centred - ROUNDING).all()
    assert (centred >= v[..., THEIRS] - ROUNDING).all()
    assert (v[..., MINE] >= v[..., CENTRED] - ROUNDING).all()
    assert (v[..., MINE] >= v[..., CUBELESS] - ROUNDING).all()
    assert (v[..., CUBELESS] >= v[..., THEIRS] - ROUNDING).all()
    assert (np.abs(v) <= 1 + ROUNDING).all()


def test_no_double_is_right_that_could_be_beavered(pairs: np.ndarray) -> None:
    """So beavers change no value: where the taker is the favourite after a double, none is due."""
    v = pairs[1:, 1:]
    beavered = v[..., THEIRS] < -ROUNDING
    for owner in (CENTRED, MINE):
        assert (v[..., owner][beavered] >= 2 * v[..., THEIRS][beavered] - ROUNDING).all()
    assert beavered.mean() > 0.2


def test_side_to_roll_is_ahead_of_the_other(pairs: np.ndarray) -> None:
    """Both sides alike: the one on roll has the advantage, and all the more with less to do."""
    same = np.einsum("iik->ik", pairs)[1:]
    assert (same[:, CUBELESS] > 0).all()
    assert same[0, CUBELESS] == 1


def test_fewer_checkers_allowed_give_the_same_values(pairs: np.ndarray) -> None:
    few = two_sided(3)
    n = len(few)
    assert n == 84
    np.testing.assert_array_equal(few, pairs[:n, :n])


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    two_sided(2, lambda done, total: told.append((done, total)))
    assert told[0] == (0, 28)
    assert told[-1] == (28, 28)
    assert sorted(told) == told
