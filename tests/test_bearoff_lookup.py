"""What the tables tell of boards: coverage, chances, equities; in Python and in kernels."""

from typing import Any

import numpy as np
import pytest

from engine.bearoff.arrays import (
    NOT_COVERED,
    ONE_SIDED,
    TWO_SIDED,
    bearoff_equities,
    bearoff_probs,
    no_tables,
)
from engine.bearoff.build import RollTable, one_sided, two_sided
from engine.bearoff.lookup import (
    coverage_of,
    covers,
    cubeful,
    cubeless,
    fits_rules,
    roll_chances,
    why_not_covered,
)
from engine.bearoff.ranks import position_counts
from engine.bearoff.tables import load_tables
from engine.bearoff.two_sided import CENTRED, CUBELESS, MINE, THEIRS
from engine.board import NUM_CHECKERS, START, Board, flip, has_contact
from engine.compiled import kernel
from engine.dice import ROLL_WEIGHTS, ROLLS
from engine.errors import PositionError
from engine.moves import legal_afterstates
from engine.rules import ARENA, INTERNATIONAL, Rules


def board(own: dict[int, int], opp: dict[int, int]) -> Board:
    """Checkers on the points of each side, counted by their owner; 25 = bar."""
    b = np.zeros(26, dtype=np.int8)
    for point, count in own.items():
        b[point] += count
    f = np.zeros(26, dtype=np.int8)
    for point, count in opp.items():
        f[point] += count
    result: Board = b + flip(f)
    return result


def random_races(
    rng: np.random.Generator, n: int, points: int, checkers: tuple[int, int] = (1, NUM_CHECKERS)
) -> Board:
    """Boards with some checkers a side on the points nearest to its edge."""
    boards = np.zeros((n, 26), dtype=np.int8)
    for b in boards:
        counts = rng.integers(*checkers, endpoint=True, size=2)
        own, opp = (np.bincount(rng.integers(1, points, count, endpoint=True)) for count in counts)
        b[: len(own)] = own
        b[26 - len(opp) : 26] -= opp[::-1][: len(opp)]
    boards[:, [0, 25]] = 0
    return boards


def mirrored(own: np.ndarray, opp: np.ndarray) -> Board:
    """Boards from both sides' checkers on points 1 to k, `(B, k)` each."""
    k = own.shape[1]
    boards = np.zeros((len(own), 26), dtype=np.int8)
    boards[:, 1 : k + 1] = own
    boards[:, 24 : 24 - k : -1] = -opp
    return boards


# --- coverage ---


@pytest.mark.parametrize(
    ("own", "opp", "known"),
    [
        ({1: 1}, {1: 1}, TWO_SIDED),
        ({6: 6}, {6: 6}, TWO_SIDED),
        ({6: 7}, {1: 1}, ONE_SIDED),
        ({1: 1}, {6: 7}, ONE_SIDED),
        ({7: 1}, {1: 1}, ONE_SIDED),
        ({1: 1}, {7: 1}, ONE_SIDED),
        ({8: 15}, {8: 15}, ONE_SIDED),
        ({9: 1}, {1: 1}, NOT_COVERED),
        ({1: 1}, {9: 1}, NOT_COVERED),
        ({24: 1}, {2: 1}, NOT_COVERED),
        ({1: 14, 25: 1}, {1: 15}, NOT_COVERED),
        ({1: 15}, {1: 14, 25: 1}, NOT_COVERED),
        ({}, {1: 3}, NOT_COVERED),
        ({1: 3}, {}, NOT_COVERED),
        ({}, {}, NOT_COVERED),
    ],
)
def test_coverage(own: dict[int, int], opp: dict[int, int], known: int) -> None:
    b = board(own, opp)
    for seen in (b, flip(b)):
        assert coverage_of(seen[None]).tolist() == [known]
        assert covers(seen[None]).tolist() == [known != NOT_COVERED]
        assert covers(seen[None], exactly=True).tolist() == [known == TWO_SIDED]
        assert (why_not_covered(seen) is None) == (known != NOT_COVERED)
        assert (why_not_covered(seen, exactly=True) is None) == (known == TWO_SIDED)
        assert np.isnan(cubeless(seen[None])).any() == (known == NOT_COVERED)


def test_nothing_with_contact_is_covered(rng: np.random.Generator) -> None:
    boards = np.stack([START, board({8: 1}, {18: 1}), board({6: 2}, {20: 1, 6: 5})])
    assert has_contact(boards).all()
    assert not covers(boards).any()
    races = random_races(rng, 500, 8)
    assert covers(races).all()
    assert not has_contact(races).any()


@pytest.mark.parametrize(
    ("own", "opp", "exactly", "words"),
    [
        ({24: 2}, {24: 2}, False, "in contact"),
        ({}, {1: 1}, False, "the game is over"),
        ({9: 1}, {1: 1}, False, "the mover has a checker on his point 9"),
        ({9: 1}, {12: 1}, False, "point 9 and the opponent has a checker on his point 12"),
        ({7: 1}, {1: 1}, True, "the mover has a checker on his point 7"),
        ({1: 1}, {1: 9}, True, "the opponent has 9 checkers left"),
    ],
)
def test_why_not(own: dict[int, int], opp: dict[int, int], exactly: bool, words: str) -> None:
    reason = why_not_covered(board(own, opp), exactly=exactly)
    assert reason is not None
    assert words in reason


def test_rules_of_the_tables() -> None:
    assert fits_rules(INTERNATIONAL)
    assert fits_rules(ARENA)
    assert not fits_rules(Rules(end_rule="last_chance_draw"))


@pytest.mark.parametrize("ask", [covers, cubeless, coverage_of])
def test_impossible_boards_are_refused(ask: Any) -> None:
    many = np.zeros((2, 26), dtype=np.int64)
    many[1, 3] = 16
    with pytest.raises(PositionError, match=r"row 1: .*16 checkers"):
        ask(many)
    many[1, 3] = 257  # 1 in 8 bits
    with pytest.raises(PositionError, match="row 1"):
        ask(many)
    for wrong in (START, np.zeros((1, 28), dtype=np.int8), np.zeros((1, 26))):
        with pytest.raises(PositionError, match="26"):
            ask(wrong)


# --- exact values ---


def test_stored_values_are_those_of_the_solver() -> None:
    values = two_sided(6)
    counts = position_counts(6, 6)
    n = len(counts)
    own, opp = np.divmod(np.arange(n * n), n)
    running = (own > 0) & (opp > 0)
    own, opp = own[running], opp[running]
    probs = cubeless(mirrored(counts[own], counts[opp]))
    expected = values[own, opp]
    assert np.abs(probs[:, 0] - (expected[:, CUBELESS] + 1) / 2).max() < 4e-8
    assert (probs[:, 1:] == 0).all()
    assert ((probs[:, 0] >= 0) & (probs[:, 0] <= 1)).all()
    tables = load_tables()
    np.testing.assert_allclose(tables.cubeful[1:, 1:], values[1:, 1:, CENTRED:], rtol=0, atol=4e-8)


def test_each_value_is_the_mean_of_the_best_plays(rng: np.random.Generator) -> None:
    """Bellman's equation through boards, plays and flips: nobody's side is mixed up."""
    for b in random_races(rng, 10, 6, (1, 6)):
        win, centred, mine, theirs = 0.0, 0.0, 0.0, 0.0
        for roll, weight in zip(ROLLS, ROLL_WEIGHTS / 36, strict=True):
            after = legal_afterstates(b, roll)
            if (after[:, 1:25] <= 0).all(axis=1).any():
                best = [1.0, 1.0, 1.0, 1.0]
            else:
                seen = flip(after)
                best = [
                    1 - float(cubeless(seen)[:, 0].min()),
                    -min(cubeful(s).equity for s in seen),
                    -min(cubeful(s, "opponent").equity for s in seen),
                    -min(cubeful(s, "mover").equity for s in seen),
                ]
            win, centred, mine, theirs = (
                total + weight * value
                for total, value in zip((win, centred, mine, theirs), best, strict=True)
            )
        assert cubeless(b[None])[0, 0] == pytest.approx(win, abs=1e-6)
        assert cubeful(b).no_double == pytest.approx(centred, abs=1e-6)
        assert cubeful(b, "mover").no_double == pytest.approx(mine, abs=1e-6)
        assert cubeful(b, "opponent").no_double == pytest.approx(theirs, abs=1e-6)
        assert cubeful(b).double_take == pytest.approx(2 * theirs, abs=2e-6)


@pytest.mark.parametrize(
    ("own", "opp", "owner", "double", "take"),
    [
        ({1: 1}, {1: 1}, None, "either", "no"),  # won for sure: to double and to play on pay 1
        ({6: 1}, {1: 1}, None, "yes", "either"),  # 27 of 36 win: both answers cost 1
        ({5: 1}, {1: 1}, "mover", "yes", "no"),
        ({6: 1, 5: 1}, {1: 1}, None, "no", "yes"),
        ({4: 2}, {1: 1}, "mover", "no", "yes"),
        ({1: 1}, {1: 1}, "opponent", None, None),
    ],
)
def test_cube_action_of_last_rolls(
    own: dict[int, int], opp: dict[int, int], owner: Any, double: str | None, take: str | None
) -> None:
    value = cubeful(board(own, opp), owner)
    assert value.may_double == (owner != "opponent")
    assert (value.double, value.take) == (double, take)
    assert value.double_pass == (None if owner == "opponent" else 1.0)


def test_cubeful_needs_exact_tables() -> None:
    with pytest.raises(PositionError, match="7 checkers left; up to 6"):
        cubeful(board({1: 7}, {1: 1}))
    with pytest.raises(PositionError, match="contact"):
        cubeful(START)


# --- one-sided values ---


@pytest.fixture(scope="module")
def all_off() -> RollTable:
    return one_sided(8, NUM_CHECKERS)


@pytest.fixture(scope="module")
def first_off() -> RollTable:
    return one_sided(8, NUM_CHECKERS, NUM_CHECKERS - 1)


def test_one_sided_probs_are_sums_over_both_numbers_of_rolls(
    all_off: RollTable, first_off: RollTable, rng: np.random.Generator
) -> None:
    place = {tuple(row): number for number, row in enumerate(all_off.counts.tolist())}
    boards = np.concatenate(
        [random_races(rng, 60, 8), random_races(rng, 60, 8, (15, 15)), random_races(rng, 60, 3)]
    )
    extreme = [
        board({1: 2}, {6: 15}),
        board({6: 15}, {1: 1}),
        board({8: 15}, {1: 3}),
        board({1: 3}, {8: 15}),
    ]
    boards = np.concatenate([boards, np.stack(extreme)])
    boards = boards[~covers(boards, exactly=True)]
    assert len(boards) > 150
    found = cubeless(boards)
    for b, probs in zip(boards, found, strict=True):
        own = place[tuple(b[1:9].tolist())]
        opp = place[tuple((-b[24:16:-1]).tolist())]
        mine, theirs = (np.pad(all_off.chances(side), (0, 40))[:40] for side in (own, opp))
        win = sum(mine[n] * theirs[n:].sum() for n in range(40))
        win_gammon, lose_gammon = 0.0, 0.0
        if all_off.counts[opp].sum() == NUM_CHECKERS:
            late = np.pad(first_off.chances(opp), (0, 40))[:40]
            win_gammon = sum(mine[n] * late[n:].sum() for n in range(40))
        if all_off.counts[own].sum() == NUM_CHECKERS:
            late = np.pad(first_off.chances(own), (0, 40))[:40]
            lose_gammon = sum(theirs[n] * late[n + 1 :].sum() for n in range(40))
        np.testing.assert_allclose(probs, [win, win_gammon, 0, lose_gammon, 0], atol=2e-6)
        assert probs[1] <= probs[0]
        assert probs[3] <= 1 - probs[0]
    assert (found[:, 1] > 0).sum() > 5
    assert (found[:, 3] > 0).sum() > 5


def test_gammons_by_hand() -> None:
    """The opponent is off next time; only rolls that bear off a checker now save the gammon."""
    probs = cubeless(np.stack([board({6: 15}, {1: 1}), board({1: 1}, {6: 15})]))
    # Any 6, 3-3, 2-2, 5-1 and 4-2 do: 17 of 36.
    np.testing.assert_allclose(probs[0], [0, 0, 0, 19 / 36, 0], atol=1e-7)
    np.testing.assert_allclose(probs[1], [1, 1, 0, 0, 0], atol=1e-7)


def test_one_sided_is_close_to_exact(rng: np.random.Generator) -> None:
    """The measured error that docs/bearoff.md tells, on endings that both tables know."""
    counts = position_counts(6, 6)
    own, opp = rng.integers(1, len(counts), (2, 4000))
    boards = mirrored(counts[own], counts[opp])
    exact = cubeless(boards)[:, 0]
    table = one_sided(6, 6)
    chances = np.array([np.pad(table.chances(p), (0, 20))[:20] for p in range(len(counts))])
    at_least = chances[:, ::-1].cumsum(axis=1)[:, ::-1]
    close = (chances[own] * at_least[opp]).sum(axis=1)
    error = close - exact
    assert np.abs(error).max() < 0.015
    assert np.sqrt((error**2).mean()) < 0.002


def test_roll_chances(rng: np.random.Generator, all_off: RollTable, first_off: RollTable) -> None:
    place = {tuple(row): number for number, row in enumerate(all_off.counts.tolist())}
    for b in random_races(rng, 20, 8, (13, 15)):
        for first, table in ((False, all_off), (True, first_off)):
            for rolls, seen in zip(roll_chances(b, first_off=first), (b, flip(b)), strict=True):
                number = place[tuple(seen[1:9].tolist())]
                expected = table.chances(number)
                assert rolls.mean == pytest.approx(table.means[number], abs=1e-5)
                padded = np.pad(rolls.chances, (0, len(expected)))[: len(expected)]
                np.testing.assert_allclose(padded, expected, atol=2e-7)
    with pytest.raises(PositionError, match="contact"):
        roll_chances(START)


# --- kernels ---


@kernel
def _ask(tables, boards, probs, equities, known):  # type: ignore[no-untyped-def]
    for i in range(len(boards)):
        known[i, 0] = bearoff_probs(tables, boards, i, probs, i)
        known[i, 1] = bearoff_equities(tables, boards, i, equities, i)


@pytest.mark.parametrize("width", [26, 28])
def test_kernels(width: int, rng: np.random.Generator) -> None:
    """Rows of 28 numbers, as the nets use them, too; what no table knows is left as it is."""
    boards = np.concatenate([random_races(rng, 50, 8), random_races(rng, 50, 6, (1, 6)), [START]])
    wide = np.zeros((len(boards), width), dtype=np.int64)
    wide[:, :26] = boards
    probs = np.full((len(boards), 5), 7, dtype=np.float32)
    equities = np.full((len(boards), 3), 7, dtype=np.float32)
    known = np.zeros((len(boards), 2), dtype=np.int64)
    _ask(load_tables(), wide, probs, equities, known)
    np.testing.assert_array_equal(known[:, 0], coverage_of(boards))
    np.testing.assert_array_equal(known[:, 1], covers(boards, exactly=True))
    np.testing.assert_array_equal(probs[:-1], cubeless(boards[:-1]))
    assert (probs[-1] == 7).all()
    for k in range(50, 100):
        owners = [cubeful(boards[k], owner).no_double for owner in (None, "mover", "opponent")]
        assert equities[k].tolist() == owners
    assert (equities[known[:, 1] == 0] == 7).all()

    probs[:] = 7
    _ask(no_tables(), wide, probs, equities, known)
    assert (known == 0).all()
    assert (probs == 7).all()


def test_no_tables_has_the_form_of_tables() -> None:
    for empty, full in zip(no_tables(), load_tables(), strict=True):
        assert (empty.dtype, empty.ndim) == (full.dtype, full.ndim)
        assert full.flags.writeable  # or numba would compile every kernel once more
        assert full.flags.c_contiguous
        assert empty.size == 0


def test_mine_and_theirs_are_not_swapped() -> None:
    b = board({6: 2, 5: 1}, {5: 3})
    assert cubeful(b, "mover").no_double > cubeful(b, "opponent").no_double + 0.1
    values = two_sided(3)
    counts = [tuple(row) for row in position_counts(6, 3).tolist()]
    row = values[counts.index((0, 0, 0, 0, 1, 2)), counts.index((0, 0, 0, 0, 3, 0))]
    assert cubeful(b, "mover").no_double == pytest.approx(row[MINE], abs=1e-7)
    assert cubeful(b, "opponent").no_double == pytest.approx(row[THEIRS], abs=1e-7)
