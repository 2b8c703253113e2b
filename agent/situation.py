"""Cube and score: everything beside the board that a decision depends on."""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import ConfigError
from engine.notation import Position, Side
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import cube_in_use

if TYPE_CHECKING:
    from engine.actions import Player
    from engine.game import GameState
    from engine.match import MatchState

__all__ = ["Situation"]

_SIDES: dict[Side | None, Side | None] = {
    "mover": "opponent",
    "opponent": "mover",
    None: None,
}


@dataclass(frozen=True, kw_only=True)
class Situation:
    """The cube, the score and the rules, seen by the mover (the side on roll).

    While a double is offered the cube is as it was before the offer, and the mover the one who
    offered. Raises ConfigError if the fields contradict each other.
    """

    rules: Rules = INTERNATIONAL
    cube_value: int = 1
    """The stake now."""
    cube_owner: Side | None = None
    """Who alone may double next; None = centred."""
    mover_away: int | None = None
    """Points that the mover still needs; None in money play."""
    opp_away: int | None = None
    """Points that the opponent still needs; None in money play."""
    crawford: bool = False
    """Whether this is the Crawford game."""
    cube_offered: bool = False
    """Whether a player has offered a double in this game (for Jacoby's rule); always so if one owns
    the cube."""

    def __post_init__(self) -> None:
        if self.cube_owner is not None:
            object.__setattr__(self, "cube_offered", True)
        away = (self.mover_away, self.opp_away)
        if (self.rules.match_to is None) != (away == (None, None)):
            raise ConfigError(
                f"{away[0]}-away/{away[1]}-away does not fit match_to={self.rules.match_to}"
            )
        if self.is_match and not all(isinstance(a, int) and a >= 1 for a in away):
            raise ConfigError(
                f"{away[0]}-away/{away[1]}-away: both sides of a match need a point or more"
            )
        if self.crawford and 1 not in away:
            raise ConfigError("in the Crawford game one side is one point away")
        if self.cube_value < 1:
            raise ConfigError(f"cube value '{self.cube_value}' does not fit; accepted: 1 or more")
        if not cube_in_use(self.rules) and self.cube_owner is not None:
            raise ConfigError("somebody owns the cube in a game without one (cube=false)")

    @property
    def is_match(self) -> bool:
        """Whether a match is played, not for money."""
        return self.rules.match_to is not None

    @property
    def is_dmp(self) -> bool:
        """Whether both sides of a match are one point away (double match point)."""
        return self.mover_away == self.opp_away == 1

    @property
    def post_crawford(self) -> bool:
        """Whether one side of a match is one away and this is not the Crawford game."""
        return 1 in (self.mover_away, self.opp_away) and not self.crawford

    def flipped(self) -> "Situation":
        """The same, seen by the other side."""
        return dataclasses.replace(
            self,
            cube_owner=_SIDES[self.cube_owner],
            mover_away=self.opp_away,
            opp_away=self.mover_away,
        )

    @classmethod
    def of_position(cls, position: Position, rules: Rules) -> "Situation":
        """Of a position and the rules that hold for it (`engine.notation.position_rules`).

        Raises ConfigError for a match that is over or that the rules do not know.
        """
        is_match = rules.match_to is not None
        if is_match and position.match_length not in (0, rules.match_to):
            # A switch of the user's changed the length; the points won so far stand.
            position = position.replace(match_length=rules.match_to)
        length = rules.match_to or 0
        return cls(
            rules=rules,
            cube_value=position.cube_value,
            cube_owner=position.cube_owner,
            mover_away=length - position.mover_score if is_match else None,
            opp_away=length - position.opp_score if is_match else None,
            crawford=position.crawford and is_match,
            cube_offered=position.cube_owner is not None,
        )

    @classmethod
    def of_game(cls, game: "GameState", away: tuple[int, int] | None = None) -> "Situation":
        """Of a running game, seen by the player on roll.

        away: points that player 0 and 1 still need, in a match only. Raises ConfigError before the
        opening throw or if `away` does not fit the rules.
        """
        from engine.actions import other_player

        mover = game.on_roll
        if mover is None:
            raise ConfigError("before the opening throw nobody is on roll")
        owners: dict[Player | None, Side | None] = {
            None: None,
            mover: "mover",
            other_player(mover): "opponent",
        }
        return cls(
            rules=game.rules,
            cube_value=game.cube_value,
            cube_owner=owners[game.cube_owner],
            mover_away=None if away is None else away[mover],
            opp_away=None if away is None else away[other_player(mover)],
            crawford=game.crawford,
            # The pending offer is what is to be judged: without it Jacoby's rule would still hold.
            cube_offered=game.cube_owner is not None,
        )

    @classmethod
    def of_match(cls, match: "MatchState") -> "Situation":
        """Of the running game of a match or money session, seen by the player on roll.

        Raises ConfigError before the opening throw and after the end of the match.
        """
        return cls.of_game(match.game, match.away)
