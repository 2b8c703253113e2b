"""Phases: one made-up position for each clause, priority, and sides that do not matter."""

import itertools

import numpy as np
import pytest

from engine.board import START, Board, flip, pip_count, validate
from engine.moves import legal_afterstates
from eval.phases import PHASE_NAMES, PHASES, _own_distances, phase_numbers
from tests.strategies import mixed_boards


def board(own: dict[int, int], opp: dict[int, int]) -> Board:
    """A board from the points of both sides, all as the owner counts them; 25 and 0 are the bars.

    Up to 15 checkers; what is missing is off.
    """
    slots = np.zeros(26, dtype=np.int64)
    for point, count in own.items():
        slots[point] += count
    for point, count in opp.items():
        assert slots[point] == 0
        slots[point] = count if point == 0 else -count
    return validate(slots)


def phase_of(one: Board) -> str:
    return PHASE_NAMES[int(phase_numbers(one[np.newaxis])[0])]


CASES = {
    "passed each other": (board({6: 8, 12: 7}, {13: 7, 19: 8}), "race"),
    "passed each other, bearing off": (board({1: 2, 6: 3}, {20: 1}), "race"),
    "all home against an anchor": (
        board({2: 3, 3: 3, 4: 3, 5: 3, 6: 3}, {1: 2, 19: 5, 20: 5, 21: 3}),
        "bear-off",
    ),
    "some off, all others home, against a checker on the bar": (
        board({4: 3, 5: 3, 6: 3}, {0: 1, 19: 8, 20: 6}),
        "bear-off",
    ),
    "all home but one on the bar, none off": (
        board({2: 3, 3: 3, 4: 3, 5: 3, 6: 2, 25: 1}, {19: 5, 20: 5, 21: 5}),
        "bear-off",  # the other side's, who waits at home
    ),
    "two anchors": (
        board({24: 2, 22: 2, 13: 5, 8: 3, 6: 3}, {1: 2, 12: 5, 17: 3, 19: 5}),
        "back game",
    ),
    "four back, blots and the bar": (
        board({25: 1, 24: 1, 23: 1, 20: 1, 13: 5, 8: 3, 6: 3}, {1: 2, 12: 5, 17: 3, 19: 5}),
        "back game",
    ),
    "three back with one anchor": (
        board({24: 2, 22: 1, 13: 5, 8: 3, 6: 4}, {1: 2, 12: 5, 17: 3, 19: 5}),
        "opening",
    ),
    "an anchor and the other side's fifth point do not count": (
        board({24: 2, 18: 2, 13: 5, 8: 3, 6: 3}, {1: 2, 12: 5, 17: 3, 19: 5}),
        "opening",
    ),
    "a checker that was hit in the bear-off": (
        board({25: 1, 2: 2, 3: 2}, {1: 2, 12: 5, 17: 3, 19: 5}),
        "containment",
    ),
    "on the bar against four points": (
        board({6: 3, 5: 2, 4: 2, 3: 2, 8: 4, 13: 2}, {0: 1, 1: 1, 12: 5, 17: 3, 19: 5}),
        "containment",
    ),
    "on the bar against three points": (
        board({6: 3, 5: 2, 4: 2, 3: 1, 8: 4, 13: 3}, {0: 1, 1: 1, 12: 5, 17: 3, 19: 5}),
        "opening",
    ),
    "five points of six": (
        board({4: 2, 5: 2, 6: 2, 8: 3, 9: 2, 24: 2, 13: 2}, {1: 2, 12: 5, 17: 3, 19: 5}),
        "prime",
    ),
    "five points of seven": (
        board({4: 2, 5: 2, 6: 2, 8: 3, 10: 2, 24: 2, 13: 2}, {1: 2, 12: 5, 17: 3, 19: 5}),
        "opening",
    ),
    "the start": (START.copy(), "opening"),
    "far from the start": (
        board({6: 3, 3: 5, 2: 3, 14: 2, 1: 2}, {5: 2, 12: 5, 17: 3, 19: 5}),
        "contact",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    one, expected = CASES[name]
    assert phase_of(one) == expected
    assert phase_of(flip(one)) == expected, "the other side's"


def test_the_last_pip_of_the_opening() -> None:
    """Twelve rolls of 49/6 pips are 98, which is early, and 99 is not."""
    # 5 checkers from 13 to 3 (50 pips), 3 from 8 to 2 (18), 2 from 24 to 9 (30)
    just = board({9: 2, 6: 5, 3: 5, 2: 3}, {1: 2, 12: 5, 17: 3, 19: 5})
    assert phase_of(just) == "opening"
    one_more = board({9: 1, 8: 1, 6: 5, 3: 5, 2: 3}, {1: 2, 12: 5, 17: 3, 19: 5})
    assert phase_of(one_more) == "contact"


def test_a_hit_brings_nobody_back_to_the_opening() -> None:
    """By pip count this is 75 pips from the start; its checkers are 103 pips from there."""
    hit = board({25: 3, 3: 5, 2: 7}, {1: 2, 12: 1, 15: 4, 17: 3, 19: 5})
    assert 2 * 167 - int(pip_count(hit) + pip_count(flip(hit))) == 75
    assert phase_of(hit) == "contact"


def test_priority_is_the_order_of_the_list() -> None:
    assert PHASE_NAMES == (
        "race",
        "bear-off",
        "back game",
        "containment",
        "prime",
        "opening",
        "contact",
    )
    # A back game, on the bar against four points, with a prime in front: the first counts.
    one = board(
        {25: 1, 24: 2, 22: 2, 13: 5, 8: 2, 6: 3}, {23: 2, 21: 2, 20: 2, 19: 3, 18: 2, 17: 2, 12: 2}
    )
    held = [name for name, holds in PHASES if holds(one[np.newaxis])[0]]
    assert held[:3] == ["back game", "containment", "prime"]
    assert phase_of(one) == "back game"


def test_many_at_once(rng: np.random.Generator) -> None:
    boards = np.array([b for b, _ in itertools.islice(mixed_boards(rng), 600)], dtype=np.int8)
    before = boards.copy()
    numbers = phase_numbers(boards)
    assert (boards == before).all()
    assert numbers.dtype == np.int64
    assert (numbers == phase_numbers(flip(boards))).all()
    assert [PHASE_NAMES[n] for n in numbers] == [phase_of(one) for one in boards]
    assert len(np.unique(numbers)) >= 6
    assert len(phase_numbers(boards[:0])) == 0


@pytest.mark.parametrize("seed", range(3))
def test_distance_from_the_start_is_pips_played(seed: int) -> None:
    """As long as nobody is hit, in plain words: all pips that were rolled and played."""
    rng = np.random.default_rng(seed)
    one, played = START.copy(), 0
    for _ in range(14):
        roll = rng.integers(1, 7, size=2).tolist()
        plays = [after for after in legal_afterstates(one, roll) if after[0] == 0]
        if not plays:
            break
        after = plays[int(rng.integers(len(plays)))]
        played += int(pip_count(one) - pip_count(after))
        one = flip(after)
        boards = one[np.newaxis]
        assert int(_own_distances(boards)[0] + _own_distances(flip(boards))[0]) == played
        if played > 98:
            assert phase_of(one) != "opening"
