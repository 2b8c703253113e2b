"""Counts of positions of long nardi in the manner of perft, by any generator of plays.

From a root, depth 1 plays all 21 rolls. `plays` sums the distinct afterstates of every roll,
`positions` counts the distinct ones among all of them. The next depth does the same from every
distinct position on which the game still runs, seen by the other side. A first turn is one with
all checkers on the head.

    python -m tests.long_counts > tests/golden/perft_long.json      writes the stored file
"""

import itertools
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from engine.moves import legal_afterstates_batch
from engine.rules import LONG_NARDI, Rules
from engine.turn_context import context_of_board
from tests import reference_long
from tests.reference_long import START_BOARD, half_turned

__all__ = ["ROLLS_21", "ROOTS", "all_counts", "engine_plays", "reference_plays"]

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]
Positions = list[tuple[BoardTuple, Roll]]
Plays = Callable[[Positions, Rules], Iterable[list[BoardTuple]]]
"""The distinct afterstates of each position, seen by the mover."""

ROLLS_21: list[Roll] = [(high, low) for high in range(1, 7) for low in range(1, high + 1)]

# The mover holds five points before all opposing checkers, and may not make the sixth.
WALL: BoardTuple = (
    *(0, 0, 0, 1, 0, 0, 0, 2, 2, 2, 2, 2, -9, 0),
    *(-2, -2, 0, -2, 1, 0, 0, 0, 0, 0, 3, 0),
)
# Both sides are coming home past each other, the opponent's last checkers ahead.
HOME: BoardTuple = (
    *(0, 2, 3, 2, 2, 3, 1, 1, 1, -2, 0, -1, 0, 0),
    *(-3, -3, -2, -1, -3, 0, 0, 0, 0, 0, 0, 0),
)

# 20/18/17 would close six points for a moment.
MOMENT: BoardTuple = (
    *(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -14, 2),
    *(2, 2, 2, 2, 0, -1, 1, 0, 0, 0, 4, 0),
)

ROOTS: dict[str, tuple[BoardTuple, Rules, int]] = {
    "start": (START_BOARD, LONG_NARDI, 3),
    "wall": (WALL, LONG_NARDI, 2),
    "home": (HOME, LONG_NARDI, 2),
    "start, principle": (START_BOARD, LONG_NARDI.replace(head_exception="principle"), 3),
    "moment": (MOMENT, LONG_NARDI, 2),
    "moment, at the end of the turn": (MOMENT, LONG_NARDI.replace(block_check="turn"), 2),
    "wall, always": (WALL, LONG_NARDI.replace(block_rule="always"), 2),
}
"""Board, rules and depth."""


def reference_plays(positions: Positions, rules: Rules) -> Iterable[list[BoardTuple]]:
    """By the plain generator."""
    for board, roll in positions:
        context = context_of_board(np.array(board, dtype=np.int8))
        yield sorted(reference_long.afterstates(board, roll, rules, context))


def engine_plays(positions: Positions, rules: Rules) -> Iterable[list[BoardTuple]]:
    """By the compiled one, which reads the context off the board."""
    boards = np.array([board for board, _ in positions], dtype=np.int8)
    rolls = np.array([roll for _, roll in positions], dtype=np.int8)
    afterstates, offsets = legal_afterstates_batch(boards, rolls, rules)
    listed = [tuple(row) for row in afterstates.tolist()]
    return [listed[low:high] for low, high in itertools.pairwise(offsets.tolist())]


def counts(board: BoardTuple, rules: Rules, plays: Plays, depth: int) -> list[dict[str, Any]]:
    """One entry a depth: plays of each roll, their sum, distinct positions."""
    entries = []
    boards = {board}
    for _ in range(depth):
        sums = [0] * len(ROLLS_21)
        reached: set[BoardTuple] = set()
        positions = [(each, roll) for each in sorted(boards) for roll in ROLLS_21]
        for number, found in enumerate(plays(positions, rules)):
            sums[number % len(ROLLS_21)] += len(found)
            reached.update(found)
        entries.append(
            {"plays_by_roll": sums, "plays": sum(sums), "positions": len(reached)},
        )
        boards = {half_turned(after) for after in reached if not reference_long.is_over(after)}
    return entries


def all_counts(plays: Plays, depth: int) -> dict[str, list[dict[str, Any]]]:
    """The counts of every root, to this depth at most."""
    return {
        name: counts(board, rules, plays, min(depth, most))
        for name, (board, rules, most) in ROOTS.items()
    }


def stored_file() -> dict[str, Any]:
    """What tests/golden/perft_long.json holds."""
    return {
        "how": (
            "tests/long_counts.py with the compiled generator; the plain one of"
            " tests/reference_long.py agrees to depth 2. Each depth starts from the distinct"
            " unfinished positions of the one before, seen by the other side."
        ),
        "rolls": [list(roll) for roll in ROLLS_21],
        "roots": {
            name: {
                "board": list(board),
                "rules": str(rules),
                "depths": counts(board, rules, engine_plays, depth),
            }
            for name, (board, rules, depth) in ROOTS.items()
        },
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(stored_file()) + "\n")
