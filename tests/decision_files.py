"""Small files of decisions and positions, whose reference values are made up."""

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from engine.board import NUM_CHECKERS, Board, borne_off, flip
from engine.moves import legal_afterstates
from tests.strategies import mixed_boards

__all__ = ["made_up_decisions", "made_up_positions", "made_up_probs", "write_lines"]


def made_up_probs(rng: np.random.Generator) -> tuple[float, list[float]]:
    """An equity and probabilities that it follows from."""
    win = float(rng.uniform(0.1, 0.9))
    win_gammon, lose_gammon = win * rng.uniform(0, 1), (1 - win) * rng.uniform(0, 1)
    probs = [win, win_gammon, win_gammon * 0.1, lose_gammon, lose_gammon * 0.1]
    p = [round(float(x), 5) for x in probs]
    return round(2 * p[0] - 1 + p[1] + p[2] - p[3] - p[4], 5), p


def made_up_decisions(rng: np.random.Generator, number: int) -> list[dict[str, Any]]:
    """Decisions of all kinds of positions, each with two to five candidates in any order."""
    decisions: list[dict[str, Any]] = []
    for board, roll in mixed_boards(rng):
        plays = legal_afterstates(board, roll)
        if len(plays) < 2:
            continue
        some = rng.permutation(len(plays))[: int(rng.integers(2, 6))]
        candidates = []
        for i in some:
            equity, probs = made_up_probs(rng)
            candidates.append(
                {
                    "afterstate": plays[i].tolist(),
                    "equity": equity,
                    "se": round(float(rng.uniform(0.001, 0.01)), 5),
                    "probs": probs,
                }
            )
        decisions.append({"before": list(board), "dice": list(roll), "candidates": candidates})
        if len(decisions) == number:
            break
    return decisions


def made_up_positions(rng: np.random.Generator, number: int) -> list[dict[str, Any]]:
    """Positions, every second one as it is before the roll, the others as afterstates."""
    positions = []
    for i, (board, _) in enumerate(itertools.islice(mixed_boards(rng), number)):
        equity, probs = made_up_probs(rng)
        after: Board = flip(board)
        assert int(borne_off(after)) < NUM_CHECKERS
        one = {"board": list(board)} if i % 2 else {"afterstate": after.tolist()}
        positions.append({**one, "equity": equity, "probs": probs})
    return positions


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    """One JSON object a line; compressed if the name ends so."""
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
