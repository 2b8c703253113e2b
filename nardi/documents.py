"""What nardi tells about a position, as data for JSON."""

import json
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from engine.notation.document import identifiers, position_document

__all__ = ["identifiers", "json_line", "number", "position_document", "probs_document"]

_OUTPUTS = ("win", "win_gammon", "win_bg", "lose_gammon", "lose_bg")


def number(value: SupportsFloat) -> float:
    """A float32 as the float with the fewest digits that tells it apart from all other float32."""
    return float(str(np.float32(value)))


def probs_document(probs: NDArray[np.float32]) -> dict[str, float]:
    """The `probs` object of `(5,)` cumulative probabilities, names as in docs/json.md."""
    return {name: number(p) for name, p in zip(_OUTPUTS, probs, strict=True)}


def json_line(document: dict[str, Any]) -> str:
    """One JSON document on one line, ASCII only."""
    return json.dumps(document, allow_nan=False)
