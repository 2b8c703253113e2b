"""Single fields of position identifiers, read strictly: what is not accepted is told."""

import re
from typing import Any, Final

from engine.errors import NotationError, PositionError
from engine.notation.position import Position

__all__ = ["LARGEST_EXPONENT", "build_position", "count_field", "cube_exponent", "shorten"]

LARGEST_EXPONENT: Final = 30
"""Largest power of two read as a cube; a limit of ours, so that no text asks for a huge number."""

_SHOWN: Final = 100


def shorten(text: str) -> str:
    """The text on one line and short enough for a message."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def count_field(text: str, what: str, most: int = 999_999_999) -> int:
    """A field that holds a whole number from 0 to `most`. Raises NotationError."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) > most:
        raise NotationError(f"{what} is '{shorten(text)}'; accepted: a whole number 0 to {most}")
    return int(text)


def cube_exponent(value: int, what: str, most: int) -> int:
    """log2 of a cube value, for a notation that can hold exponents 0 to `most`.

    Raises NotationError for any other value, such as a stake of 3 in arithmetic progression.
    """
    exponent = value.bit_length() - 1
    if value != 1 << exponent or exponent > most:
        raise NotationError(
            f"{what} cannot hold a cube of {value}; it holds powers of two from 1 to {1 << most}"
        )
    return exponent


def build_position(what: str, text: str, **fields: Any) -> Position:
    """The position with these fields. Raises PositionError that tells the text it comes from."""
    try:
        return Position(**fields)
    except PositionError as error:
        raise PositionError(f"{what} '{shorten(text)}': {error}") from None
