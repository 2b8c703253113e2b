"""The errors nardi raises for a user's mistake: what was wrong, where, and what is accepted."""

__all__ = [
    "AmbiguousPlayError",
    "CheckpointError",
    "ConfigError",
    "IllegalActionError",
    "IllegalPlayError",
    "NardiError",
    "NotationError",
    "PositionError",
]


class NardiError(Exception):
    """Base of every error that is about the input and not about our own code."""


class PositionError(NardiError):
    """A board or a roll that cannot occur, or a game that is over where a running one is needed."""


class NotationError(NardiError):
    """Text that cannot be read as the identifier, board or play it should be."""


class IllegalPlayError(NardiError):
    """A play that can be read but is not legal in the position."""


class AmbiguousPlayError(NardiError):
    """A play that can be read in two ways which lead to different positions."""


class IllegalActionError(NardiError):
    """An action that the state of the game or match does not allow; the state is unchanged."""


class ConfigError(NardiError):
    """A rule switch, setting or option with an unknown name or an unacceptable value."""


class CheckpointError(NardiError):
    """A net file that is missing, damaged, foreign or made for other features."""
