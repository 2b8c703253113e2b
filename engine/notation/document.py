"""The `position` object that JSON of every kind has: commands' answers and questions to bots."""

from typing import Any

from engine.board import (
    borne_off,
    pip_count,
)
from engine.errors import NardiError
from engine.notation.position import Position
from engine.notation.reader import format_position, notations_of

__all__ = ["identifiers", "position_document"]


def identifiers(position: Position) -> tuple[dict[str, str | None], dict[str, str]]:
    """The position in every notation of its game, None where one cannot express it, and why."""
    texts: dict[str, str | None] = {}
    notes: dict[str, str] = {}
    for notation in notations_of(position):
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
        "game": position.game,
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
        "opp_pips": int(pip_count(position.opp_board)),
        "mover_off": int(borne_off(position.board)),
        "opp_off": int(borne_off(position.opp_board)),
        "phase": position.phase,
        "notes": notes,
    }
