"""Counts of positions in the manner of perft, by any generator of plays.

From a root, depth 1 plays all 21 rolls. `plays` sums the distinct afterstates of every roll,
`positions` counts the distinct ones among all of them. Depth 2 does the same from every distinct
position of depth 1 on which the game still runs, seen by the other side.

    python -m tests.counts > tests/golden/perft.json      writes the stored file (half a minute)
"""

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from engine.rules import INTERNATIONAL, Rules
from tests import reference_rules
from tests.strategies import HOUSE_RULES, START_BOARD, mirrored

__all__ = ["ROLLS_21", "ROOTS", "all_counts", "reference_plays"]

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]
Positions = list[tuple[BoardTuple, Roll]]
Plays = Callable[[Positions, Rules], Iterable[list[BoardTuple]]]
"""The distinct afterstates of each position, seen by the mover."""

ROLLS_21: list[Roll] = [(high, low) for high in range(1, 7) for low in range(1, high + 1)]

# A blot hit on each side, two points made in both home boards.
CONTACT: BoardTuple = (
    *(1, -2, 0, 0, 2, -1, 4, 2, 2, 0, 0, -1, -2),
    *(3, 0, 0, 0, -2, 0, -4, -2, 0, 0, 0, 1, 1),
)
# Both sides bear off past each other, with gaps; nine and eight checkers left.
RACE: BoardTuple = (
    *(0, 1, 2, 0, 2, 1, 3, 0, 0, 0, 0, 0, 0),
    *(0, 0, 0, 0, 0, 0, -2, -3, 0, -1, -2, 0, 0),
)
# The mover bears off against a blot in his home and one on the bar.
LAST_CONTACT: BoardTuple = (
    *(1, 0, 2, -1, 2, 1, 2, 0, 0, 0, 0, 0, 0),
    *(0, 0, 0, 0, 0, 0, -2, -2, -2, 0, -1, 0, 0),
)

ROOTS: dict[str, tuple[BoardTuple, Rules]] = {
    "start": (START_BOARD, INTERNATIONAL),
    "contact": (CONTACT, INTERNATIONAL),
    "race": (RACE, INTERNATIONAL),
    "last_contact": (LAST_CONTACT, INTERNATIONAL),
    "contact, hiding banned": (CONTACT, HOUSE_RULES[3]),
    "last_contact, ban_hitter": (LAST_CONTACT, HOUSE_RULES[1]),
    "last_contact, hiding banned and ban_home_hit": (LAST_CONTACT, HOUSE_RULES[5]),
}


def reference_plays(positions: Positions, rules: Rules) -> Iterable[list[BoardTuple]]:
    """By the plain generator."""
    for board, roll in positions:
        yield sorted(reference_rules.afterstates(board, roll, rules))


def one_depth(
    boards: Iterable[BoardTuple], rules: Rules, plays: Plays
) -> tuple[list[int], set[BoardTuple]]:
    """Sums of distinct afterstates for each of the 21 rolls, and all the distinct positions."""
    sums = [0] * len(ROLLS_21)
    reached: set[BoardTuple] = set()
    for board in boards:
        for number, found in enumerate(plays([(board, roll) for roll in ROLLS_21], rules)):
            sums[number] += len(found)
            reached.update(found)
    return sums, reached


def counts(board: BoardTuple, rules: Rules, plays: Plays, depth: int) -> list[dict[str, Any]]:
    """One entry a depth: plays of each roll, their sum, distinct positions."""
    entries = []
    boards = {board}
    for _ in range(depth):
        sums, reached = one_depth(sorted(boards), rules, plays)
        entries.append(
            {"plays_by_roll": sums, "plays": sum(sums), "positions": len(reached)},
        )
        boards = {mirrored(after) for after in reached if not reference_rules.is_over(after)}
    return entries


def all_counts(plays: Plays, depth: int) -> dict[str, list[dict[str, Any]]]:
    """The counts of every root."""
    return {name: counts(board, rules, plays, depth) for name, (board, rules) in ROOTS.items()}


def stored_file() -> dict[str, Any]:
    """What tests/golden/perft.json holds."""
    return {
        "how": (
            "tests/counts.py with the plain generator of tests/reference_rules.py; depth 2 starts"
            " from the distinct unfinished positions of depth 1, seen by the other side. The"
            " compiled generator, and gnubg_nn under international rules, agree."
        ),
        "rolls": [list(roll) for roll in ROLLS_21],
        "roots": {
            name: {
                "board": list(board),
                "hit_and_hide": rules.hit_and_hide,
                "hit_then_bear_off": rules.hit_then_bear_off,
                "depths": counts(board, rules, reference_plays, 2),
            }
            for name, (board, rules) in ROOTS.items()
        },
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(stored_file()) + "\n")
