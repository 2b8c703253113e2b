"""Actions of a game: what a player, or the dice, can do to a `engine.game.GameState`.

An action is always that of the state's `decider`; the two throws are the dice's. Cube: the player
on roll may `Offer` before he throws; the other one answers with `Take`, `Refuse` or, where
agreed, `Beaver`, which the offerer answers with `Accept` or `Decline`. A `Resign` is answered with
`Accept` or `Decline` too; if it is declined the game goes on where it stood.
"""

from dataclasses import dataclass
from typing import Final, Literal

from engine.board import Board

__all__ = [
    "ALLOWED",
    "EXPECTED",
    "Accept",
    "Action",
    "Beaver",
    "Decline",
    "Offer",
    "OpeningThrow",
    "Phase",
    "Play",
    "PlayTo",
    "Player",
    "Refuse",
    "Resign",
    "Roll",
    "Take",
    "Throw",
    "other_player",
]

Player = Literal[0, 1]
Roll = tuple[int, int]
Phase = Literal["opening", "roll", "play", "double", "beaver", "resignation", "over"]


def other_player(player: Player) -> Player:
    """The opponent of a player."""
    return 1 if player == 0 else 0


@dataclass(frozen=True)
class OpeningThrow:
    """Both players throw one die each for the first turn."""

    dice: Roll
    """Player 0's die, player 1's die."""


@dataclass(frozen=True)
class Throw:
    """The dice thrown by the player on roll."""

    dice: Roll


@dataclass(frozen=True)
class Play:
    """A whole turn as ordered steps; () is the forced pass."""

    steps: tuple[tuple[int, int], ...]
    """(from, to) of each step, 25 = bar, 0 = off."""


@dataclass(frozen=True, eq=False)
class PlayTo:
    """A whole turn by the board it leads to; the unchanged board is the forced pass."""

    afterstate: Board
    """`(26,)` int8, seen by the mover."""


@dataclass(frozen=True)
class Offer:
    """The player on roll offers to double."""


@dataclass(frozen=True)
class Take:
    """The offered double is taken: the stake is raised and the taker owns the cube."""


@dataclass(frozen=True)
class Refuse:
    """The offered double is refused: the offerer wins the stake that stood before."""


@dataclass(frozen=True)
class Beaver:
    """The offered double is doubled again at once, the cube kept."""


@dataclass(frozen=True)
class Resign:
    """The player on roll offers to lose at once by a kind of win."""

    factor: int
    """1, 2, ...: the kind's factor in the scoring scheme (1 oin, 2 mars, 3 koks)."""


@dataclass(frozen=True)
class Accept:
    """The beaver or the resignation is accepted."""


@dataclass(frozen=True)
class Decline:
    """The beaver is declined, which loses the offered stake; or the resignation is."""


Action = (
    OpeningThrow
    | Throw
    | Play
    | PlayTo
    | Offer
    | Take
    | Refuse
    | Beaver
    | Resign
    | Accept
    | Decline
)

ALLOWED: Final[dict[Phase, tuple[type[Action], ...]]] = {
    "opening": (OpeningThrow,),
    "roll": (Throw, Offer, Resign),
    "play": (Play, PlayTo, Resign),
    "double": (Take, Refuse, Beaver),
    "beaver": (Accept, Decline),
    "resignation": (Accept, Decline),
    "over": (),
}
"""The classes of the actions that a phase knows."""

EXPECTED: Final[dict[Phase, str]] = {
    "opening": "the opening throw comes first",
    "roll": "the player on roll has to throw, to offer a double or to resign",
    "play": "the dice are thrown and have to be played (or the game resigned)",
    "double": "the offered double has to be taken, refused or beavered",
    "beaver": "the beaver has to be accepted or declined",
    "resignation": "the resignation has to be accepted or declined",
    "over": "the game is over",
}
"""What is to be done in a phase, in words."""
