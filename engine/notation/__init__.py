"""Position identifiers and play text: read and write."""

from engine.notation.position import Offer, Position, Side

__all__ = ["Offer", "Position", "Side"]
