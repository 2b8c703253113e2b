"""engine.moves against the reference generator and outside programs on random positions.

Positions come from random games of several styles and from construction (see strategies.py).
A mismatch prints the position as 26 ints, the roll and both differences of the sets.
"""

import importlib.util
import itertools
import multiprocessing
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from engine.errors import IllegalPlayError
from engine.moves import legal_plays, play_steps
from engine.rules import Rules
from tests import reference_rules
from tests.conftest import SEED
from tests.move_checks import board_array, describe, engine_plays, reference_differences
from tests.outside import OUTSIDE
from tests.strategies import (
    CONSTRUCTED_KINDS,
    HOUSE_RULES,
    ORDERED_ROLLS,
    constructed_board,
    mixed_boards,
    random_roll,
    self_play_boards,
)

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]
Position = tuple[BoardTuple, Roll]


def positions_of(games: Iterator[Position], count: int) -> list[Position]:
    return list(itertools.islice(games, count))


def with_contact_at_home(rng: np.random.Generator, count: int) -> list[Position]:
    """Positions in which a hit, hiding and bearing off can meet in one turn, often with doubles."""
    kinds = itertools.cycle(["last_checkers", "last_outside", "blots", "bear_off", "both_bars"])
    positions = []
    for kind in itertools.islice(kinds, count):
        roll = random_roll(rng)
        if rng.random() < 0.5:
            roll = (roll[0], roll[0])
        positions.append((constructed_board(rng, kind), roll))
    return positions


@pytest.fixture(scope="module")
def mixed() -> list[Position]:
    """Two thousand positions, half of them from games."""
    return positions_of(mixed_boards(np.random.default_rng([SEED, 1])), 2000)


# --- the reference ---


def test_international_rules_against_the_reference(mixed: list[Position]) -> None:
    differences = reference_differences(mixed)
    assert not differences, "\n".join(differences[:5])


@pytest.mark.parametrize("rules", HOUSE_RULES[1:], ids=str)
def test_house_rules_against_the_reference(
    rules: Rules, mixed: list[Position], rng: np.random.Generator
) -> None:
    part = HOUSE_RULES.index(rules)
    positions = mixed[200 * part : 200 * part + 200] + with_contact_at_home(rng, 400)
    differences = reference_differences(positions, rules)
    assert not differences, "\n".join(differences[:5])
    plain = engine_plays(positions)
    changed = sum(a != b for a, b in zip(plain, engine_plays(positions, rules), strict=True))
    assert changed >= 10, "too few positions in which the house rule matters"


def step_candidates(board: BoardTuple, die: int) -> list[tuple[int, int]]:
    """Every step of one die from a place that holds an own checker, now or later in the turn."""
    places = {place for place in range(1, 26) if board[place] > 0}
    places |= {place - other for place in places for other in range(1, 7) if place > other}
    return [(place, max(place - die, 0)) for place in sorted(places)]


@pytest.mark.parametrize("rules", HOUSE_RULES, ids=str)
def test_ordered_steps_are_judged_like_the_reference(
    rules: Rules, rng: np.random.Generator
) -> None:
    """Every sequence of none, one or two steps on small boards, both orders of the dice."""
    n_accepted = n_refused = 0
    for kind in ("last_checkers", "blots", "last_outside", "bear_off", "both_bars"):
        board, roll = constructed_board(rng, kind), random_roll(rng)
        while roll[0] == roll[1]:
            roll = random_roll(rng)
        one = step_candidates(board, roll[0]), step_candidates(board, roll[1])
        sequences: set[tuple[tuple[int, int], ...]] = {(), *((step,) for step in one[0] + one[1])}
        sequences |= set(itertools.product(*one)) | set(itertools.product(*one[::-1]))
        for steps in sorted(sequences):
            expected = reference_rules.is_complete_turn(board, roll, steps, rules)
            assert accepts(board, roll, steps, rules) == expected, (board, roll, steps)
            n_accepted += expected
            n_refused += not expected
    assert n_accepted >= 5
    assert n_refused > 100


@pytest.mark.parametrize("rules", HOUSE_RULES, ids=str)
def test_ordered_steps_of_doubles_are_judged_like_the_reference(
    rules: Rules, rng: np.random.Generator
) -> None:
    """Legal turns, the same steps in other orders, cut short, and with a step exchanged."""
    n_accepted = n_refused = 0
    for kind in ("last_checkers", "blots", "last_outside", "bear_off"):
        board, die = constructed_board(rng, kind), int(rng.integers(1, 4))
        roll = (die, die)
        _, legal = legal_plays(board_array(board), roll, rules)
        tried: set[tuple[tuple[int, int], ...]] = set()
        for number in rng.choice(len(legal), size=min(6, len(legal)), replace=False):
            steps = legal[int(number)]
            tried |= {steps, steps[:-1], steps[1:], *itertools.permutations(steps)}
            for place, step in itertools.product(range(len(steps)), step_candidates(board, die)):
                tried.add((*steps[:place], step, *steps[place + 1 :]))
        for steps in sorted(tried):
            expected = reference_rules.is_complete_turn(board, roll, steps, rules)
            assert accepts(board, roll, steps, rules) == expected, (board, roll, steps)
            n_accepted += expected
            n_refused += not expected
    assert n_accepted >= 4
    assert n_refused > 50


def accepts(board: BoardTuple, roll: Roll, steps: Sequence[tuple[int, int]], rules: Rules) -> bool:
    try:
        play_steps(board_array(board), roll, steps, rules)
    except IllegalPlayError:
        return False
    return True


# --- outside programs ---


def outside_differences(name: str, positions: Sequence[Position]) -> list[str]:
    differences = []
    for (board, roll), found in zip(positions, engine_plays(positions), strict=True):
        expected = OUTSIDE[name](board, roll)
        if set(found) != expected:
            differences.append(describe(board, roll, found, expected, source=name))
    return differences


@pytest.mark.parametrize("name", OUTSIDE)
def test_international_rules_against_outside_programs(name: str, rng: np.random.Generator) -> None:
    pytest.importorskip(name, reason=f"{name} is not installed")
    positions = positions_of(mixed_boards(rng), 1000)
    differences = outside_differences(name, positions)
    assert not differences, "\n".join(differences[:5])


def test_early_finish_is_the_only_thing_bgsage_sees_otherwise(rng: np.random.Generator) -> None:
    """The exception is not empty, and it is about turns that end the game with one die."""
    bgsage = pytest.importorskip("bgsage", reason="bgsage is not installed")
    n_exceptions = 0
    for _ in range(1500):
        board, roll = constructed_board(rng, "last_checkers"), random_roll(rng)
        raw = {tuple(after) for after in bgsage.possible_moves(list(board), *roll)}
        [ours] = engine_plays([(board, roll)])
        extra = raw - set(ours)
        assert extra <= reference_rules.early_finishes(board, roll)
        assert set(ours) <= raw
        n_exceptions += bool(extra)
        for after in extra:
            assert reference_rules.has_finished(after)
            assert not all(reference_rules.has_finished(legal) for legal in ours) or any(
                legal[0] > after[0] for legal in ours
            )
    assert n_exceptions > 0


# --- the large one ---


def compare_one_share(job: tuple[int, int, tuple[str, ...]]) -> list[str]:
    """All comparisons of one share of the positions, in a process of its own."""
    share, n_rounds, outside = job
    rng = np.random.default_rng([SEED, 2, share])
    games = self_play_boards(rng)
    kinds = itertools.cycle(CONSTRUCTED_KINDS)
    differences = []
    for _ in range(n_rounds):
        positions = positions_of(games, 1000)
        positions += [(constructed_board(rng, next(kinds)), random_roll(rng)) for _ in range(250)]
        differences += reference_differences(positions)
        for name in outside:
            differences += outside_differences(name, positions)
        rules = HOUSE_RULES[1 + share % 5]
        positions = positions[950:1050] + with_contact_at_home(rng, 100)
        differences += reference_differences(positions, rules)
    return differences


@pytest.mark.slow
def test_100_000_positions_of_games_against_the_reference_and_outside_programs() -> None:
    """100,000 positions of games and 25,000 constructed ones, 20,000 under house rules too."""
    installed = tuple(name for name in OUTSIDE if importlib.util.find_spec(name))
    jobs = [(share, 10, installed) for share in range(10)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        differences = [line for found in pool.map(compare_one_share, jobs, 1) for line in found]
    assert not differences, "\n".join(differences[:5])
    missing = [name for name in OUTSIDE if name not in installed]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed; the reference and the others agree")


@pytest.mark.slow
def test_every_roll_of_some_hundred_positions_under_every_mixture(
    rng: np.random.Generator,
) -> None:
    boards = [board for board, _ in positions_of(mixed_boards(rng), 120)]
    positions = [(board, roll) for board in boards for roll in ORDERED_ROLLS]
    for rules in HOUSE_RULES:
        differences = reference_differences(positions, rules)
        assert not differences, "\n".join(differences[:5])
