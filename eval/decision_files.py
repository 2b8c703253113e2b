"""Writing decision sets of our own, in the format that `eval.references` reads."""

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from agent.bot import FloatArray
from engine.atomic_file import write_atomically
from engine.board import Board

__all__ = ["CubeDecision", "Decision", "write_decisions"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Decision:
    """A position, a roll, and what some plays are worth to the side that plays."""

    before: Board
    """`(26,)`, seen by the side on roll."""
    dice: tuple[int, int]
    afterstates: Board
    """`(N, 26)`, still seen by it; at least two."""
    equities: FloatArray
    """`(N,)` cubeless points per game."""
    stderrs: FloatArray
    """`(N,)` standard errors of `equities`; 0 = exact."""
    probs: NDArray[np.floating]
    """`(N, 5)` cumulative probabilities."""

    def document(self) -> dict[str, Any]:
        """The object of its line."""
        return {
            "before": self.before.tolist(),
            "dice": list(self.dice),
            "candidates": [
                {
                    "afterstate": afterstate.tolist(),
                    "equity": _rounded(equity),
                    "se": _rounded(stderr),
                    "probs": [_rounded(p) for p in probs],
                }
                for afterstate, equity, stderr, probs in zip(
                    self.afterstates, self.equities, self.stderrs, self.probs, strict=True
                )
            ],
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class CubeDecision:
    """A position before the roll in money play with an unlimited cube, and what actions are worth.

    A `cube_cap` of null is written with it.
    """

    before: Board
    """`(26,)`, seen by the side on roll, which may double."""
    owner: Literal["mover"] | None
    """Of the cube; None = centred."""
    equities: tuple[float, float, float]
    """No double, double and take, double and pass, in points per present stake."""

    def document(self) -> dict[str, Any]:
        """The object of its line."""
        names = ("no_double", "double_take", "double_pass")
        return {
            "before": self.before.tolist(),
            "cube": {
                "value": 1 if self.owner is None else 2,
                "owner": self.owner,
                "rules": {"cube_cap": None},
            },
            "equities": {
                name: _rounded(np.float64(equity))
                for name, equity in zip(names, self.equities, strict=True)
            },
        }


def _rounded(value: np.floating) -> float | int:
    """Seven decimals: float32 tells no more."""
    number = round(float(value), 7)
    return int(number) if number == int(number) else number


def write_decisions(path: Path, decisions: Iterable[Decision | CubeDecision]) -> int:
    """Write a file of decisions, gzip if its name ends so; returns its size in bytes.

    The same decisions give the same bytes. Raises OSError.
    """
    lines = [json.dumps(decision.document(), separators=(",", ":")) for decision in decisions]
    content = "".join(f"{line}\n" for line in lines).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_atomically(path, content)
    return len(content)
