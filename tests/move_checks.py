"""Comparing legal plays of engine.moves with another source, and saying where they differ."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.moves import legal_afterstates_batch
from engine.rules import INTERNATIONAL, Rules
from tests import reference_rules

__all__ = ["board_array", "describe", "engine_plays", "reference_differences", "rows"]

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]


def rows(array: NDArray[np.int8]) -> list[BoardTuple]:
    """The rows as tuples of ints, in their order."""
    return [tuple(row) for row in array.tolist()]


def board_array(board: Sequence[int]) -> NDArray[np.int8]:
    """A board as the engine wants it."""
    return np.array(board, dtype=np.int8)


def engine_plays(
    positions: Sequence[tuple[BoardTuple, Roll]], rules: Rules = INTERNATIONAL
) -> list[list[BoardTuple]]:
    """The afterstates of many positions by the batch generator, in its order."""
    boards = np.array([board for board, _ in positions], dtype=np.int8)
    rolls = np.array([roll for _, roll in positions], dtype=np.int8)
    afterstates, offsets = legal_afterstates_batch(boards, rolls, rules)
    listed = rows(afterstates)
    bounds = offsets.tolist()
    return [listed[low:high] for low, high in itertools.pairwise(bounds)]


def describe(
    board: Sequence[int],
    roll: Sequence[int],
    found: Iterable[BoardTuple],
    expected: Iterable[BoardTuple],
    rules: Rules = INTERNATIONAL,
    source: str = "the reference",
) -> str:
    """A mismatch in full: the position as 26 ints, the roll, the rules and both differences."""
    found, expected = set(found), set(expected)
    lines = [f"board {list(board)} roll {roll[0]}-{roll[1]} rules {rules}: unlike {source}"]
    for title, boards in (
        ("only in engine.moves", found - expected),
        (f"only in {source}", expected - found),
    ):
        lines.append(f"  {title}: {len(boards)}")
        lines.extend(f"    {list(after)}" for after in sorted(boards)[:20])
    return "\n".join(lines)


def reference_differences(
    positions: Sequence[tuple[BoardTuple, Roll]], rules: Rules = INTERNATIONAL
) -> list[str]:
    """What engine.moves and the reference disagree on; empty if nothing.

    The order is compared too: afterstates have to come in lexicographic order, each once.
    """
    differences = []
    for (board, roll), found in zip(positions, engine_plays(positions, rules), strict=True):
        expected = sorted(reference_rules.afterstates(board, roll, rules))
        if found != expected:
            differences.append(describe(board, roll, found, expected, rules))
    return differences
