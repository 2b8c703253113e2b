"""What happened with the cube in the games of a duel, as counts that add up."""

from typing import NamedTuple

__all__ = ["CubeCounts"]


class CubeCounts(NamedTuple):
    """Of one of two bots; of the games, also those within matches."""

    games: int = 0
    """Games that are over."""
    stakes: int = 0
    """Sum of the stakes with which they ended; that before a double that was passed."""
    wins: int = 0
    """Games won, also by a pass."""
    gammons: int = 0
    """Of these with a gammon or more, whether or not it counted."""
    backgammons: int = 0
    doubles: int = 0
    """Doubles and redoubles that it offered."""
    takes: int = 0
    """Doubles of the other that it took."""
    passes: int = 0
    beavers: int = 0
    """Doubles of the other that it beavered; no takes."""
    declined: int = 0
    """Beavers of the other that it declined."""

    def plus(self, other: "CubeCounts") -> "CubeCounts":
        return CubeCounts(*(a + b for a, b in zip(self, other, strict=True)))
