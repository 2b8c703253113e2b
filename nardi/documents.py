"""What nardi tells about a position, as data for JSON."""

import json
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from engine.notation import Position
from engine.notation.document import identifiers, position_document
from engine.rules import Rules
from engine.scoring import why_factor_is_one

__all__ = ["identifiers", "json_line", "left_out", "number", "position_document", "probs_document"]

_OUTPUTS = ("win", "win_gammon", "win_bg", "lose_gammon", "lose_bg")


def left_out(position: Position, rules: Rules) -> str | None:
    """What of the rules a cubeless equity does not look at in this position, if anything."""
    if rules.match_to is not None:
        return "the score of the match"
    cube_offered = position.cube_value > 1 or position.cube_owner is not None
    return why_factor_is_one(rules, cube_offered=cube_offered)


def number(value: SupportsFloat) -> float:
    """A float32 as the float with the fewest digits that tells it apart from all other float32."""
    return float(str(np.float32(value)))


def probs_document(probs: NDArray[np.float32]) -> dict[str, float]:
    """The `probs` object of `(5,)` cumulative probabilities, names as in docs/json.md."""
    return {name: number(p) for name, p in zip(_OUTPUTS, probs, strict=True)}


def json_line(document: dict[str, Any]) -> str:
    """One JSON document on one line, ASCII only."""
    return json.dumps(document, allow_nan=False)
