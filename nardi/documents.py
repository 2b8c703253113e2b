"""What nardi tells about a position, as data for JSON."""

import json
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from engine.board import (
    borne_off,
    opp_borne_off,
    opp_pip_count,
    phase,
    pip_count,
)
from engine.errors import NardiError
from engine.notation import NOTATIONS, Position, format_position
from engine.rules import Rules
from engine.scoring import why_factor_is_one

__all__ = ["identifiers", "json_line", "left_out", "number", "position_document", "probs_document"]

_OUTPUTS = ("win", "win_gammon", "win_bg", "lose_gammon", "lose_bg")


def identifiers(position: Position) -> tuple[dict[str, str | None], dict[str, str]]:
    """The position in every notation, None where one cannot express it, and the reasons why."""
    texts: dict[str, str | None] = {}
    notes: dict[str, str] = {}
    for notation in NOTATIONS:
        try:
            texts[notation] = format_position(position, notation)
        except NardiError as error:
            texts[notation] = None
            notes[notation] = str(error)
    return texts, notes


def position_document(position: Position) -> dict[str, Any]:
    """The `position` object that every command's JSON has; documented in docs/json.md."""
    texts, notes = identifiers(position)
    return {
        **texts,
        "board": position.board.tolist(),
        "dice": None if position.dice is None else list(position.dice),
        "cube_value": position.cube_value,
        "cube_owner": position.cube_owner,
        "decider": position.decider,
        "offer": position.offer,
        "resignation": position.resignation,
        "match_length": position.match_length,
        "mover_score": position.mover_score,
        "opp_score": position.opp_score,
        "crawford": position.crawford,
        "jacoby": position.jacoby,
        "beaver": position.beaver,
        "max_cube": position.max_cube,
        "mover_player": position.mover_player,
        "game_state": position.game_state,
        "mover_pips": int(pip_count(position.board)),
        "opp_pips": int(opp_pip_count(position.board)),
        "mover_off": int(borne_off(position.board)),
        "opp_off": int(opp_borne_off(position.board)),
        "phase": phase(position.board),
        "notes": notes,
    }


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
