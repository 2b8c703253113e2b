"""Position identifiers and play text: read and write."""

from engine.notation.gnuid import format_position_id, parse_match_id, parse_position_id
from engine.notation.plays import Play, format_play, parse_play
from engine.notation.position import Offer, Position, Side
from engine.notation.position_rules import position_rules
from engine.notation.reader import (
    NOTATIONS,
    Notation,
    format_position,
    notations_of,
    parse_position,
)

__all__ = [
    "NOTATIONS",
    "Notation",
    "Offer",
    "Play",
    "Position",
    "Side",
    "format_play",
    "format_position",
    "format_position_id",
    "notations_of",
    "parse_match_id",
    "parse_play",
    "parse_position",
    "parse_position_id",
    "position_rules",
]
