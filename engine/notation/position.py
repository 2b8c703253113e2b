"""A position: board, dice, cube, score and the rules a notation can tell, with one perspective."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from engine.board import NUM_CHECKERS, START, Board, Phase, borne_off, flip, has_contact, validate
from engine.dice import check_roll
from engine.errors import PositionError
from engine.long_board import flip_half_turn, has_long_contact, long_board_faults
from engine.rules import GAMES, Game
from engine.turn_context import TurnContext

__all__ = ["Offer", "Position", "Side"]

Side = Literal["mover", "opponent"]
Offer = Literal["double", "beaver", "raccoon"]

_SIDES: Final = ("mover", "opponent")
_OFFERS: Final = ("double", "beaver", "raccoon")
_GAME_STATES: Final = 5
_PLAYING: Final = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Position:
    """What a position identifier tells, seen by the mover.

    The mover is the side on roll (or that has rolled). While a cube offer is pending he is the
    side that doubled first, while a resignation is pending the one that resigned, as GNU
    Backgammon and XG have it; who owes the next decision is `decider`. (Who resigns instead of
    answering a double leaves the board with the doubler: offer and resignation are both pending
    then.) Raises PositionError that names every fault at once.
    """

    board: Board = dataclasses.field(default_factory=START.copy)
    """`(26,)` int8 seen by the mover; kept as a read-only copy."""
    game: Game = "short"
    """Which game the board is one of."""
    context: TurnContext | None = None
    """What the turn depends on beyond the board, in long nardi; None = as the board tells."""
    dice: tuple[int, int] | None = None
    """The two dice in the order given, or None before the roll."""
    cube_value: int = 1
    """Stake shown by the cube; while an offer is pending the value before that offer: with a
    beaver the doubled one, which the opponent owns, with a raccoon twice as much."""
    cube_owner: Side | None = None
    """Who may double next; None = centred cube."""
    decider: Side = "mover"
    """Who owes the next decision."""
    offer: Offer | None = None
    """Pending cube offer; "double" and "raccoon" come from the mover, "beaver" answers him."""
    resignation: int = 0
    """Stakes (1 to 3) that the side which is not the decider offers to lose; 0 = none offered."""
    match_length: int = 0
    """Points of the match; 0 = money play."""
    mover_score: int = 0
    """Points the mover has won so far."""
    opp_score: int = 0
    """Points the opponent has won so far."""
    crawford: bool = False
    """Whether this is the Crawford game."""
    jacoby: bool | None = None
    """Whether Jacoby's rule is in use (money play); None = the notation does not tell."""
    beaver: bool | None = None
    """Whether beavers are allowed (money play); None = the notation does not tell."""
    max_cube: int | None = None
    """Largest value of the cube; None = the notation does not tell."""
    mover_player: Literal[0, 1] = 1
    """Which of the two players the mover is: GNU Backgammon's player 1 is XGID's bottom and OGID's
    White, player 0 is XGID's top and OGID's Black."""
    game_state: int = 1
    """GNU Backgammon's number: 0 no game, 1 playing, 2 over, 3 resigned, 4 dropped."""

    def __post_init__(self) -> None:
        board = START
        faults = [
            f"{name} is '{getattr(self, name)}'; accepted: {accepted}"
            for name, is_good, accepted in _CHECKS
            if not is_good(getattr(self, name))
        ]
        try:
            board = validate(self.board)
            if self.game == "long" and (of_long := long_board_faults(board)):
                faults[:0] = of_long
        except PositionError as error:
            faults.insert(0, str(error))
        try:
            dice = None if self.dice is None else check_roll(self.dice)
        except PositionError as error:
            faults.append(str(error))
        faults = faults or self._contradictions()
        if faults:
            raise PositionError("; ".join(faults))
        board.setflags(write=False)
        object.__setattr__(self, "board", board)
        object.__setattr__(self, "dice", dice)

    def _contradictions(self) -> list[str]:
        """What is wrong with fields that are each good alone."""
        has_cube = (
            self.cube_value > 1
            or self.crawford
            or self.max_cube is not None
            or any((self.cube_owner, self.offer, self.jacoby, self.beaver))
        )
        score = f"{self.mover_score}-{self.opp_score}"
        is_match = self.match_length > 0
        playing = self.game_state == _PLAYING
        found = [
            (
                playing and is_match and min(self.mover_away, self.opp_away) < 1,
                f"the score {score} ends a match to {self.match_length}, but a game is in play",
            ),
            (
                self.game == "long" and has_cube,
                "long nardi is played without a doubling cube, and so without Crawford games",
            ),
            (
                self.game == "short" and self.context is not None,
                "short nardi knows no context of a turn",
            ),
            (self.crawford and not is_match, "money play has no Crawford game"),
            (is_match and self.jacoby is True, "Jacoby's rule is for money play only"),
            (is_match and self.beaver is True, "beavers are for money play only"),
            (
                is_match and self.offer in ("beaver", "raccoon"),
                f"a {self.offer} is for money play only",
            ),
            (
                self.offer is not None and self.dice is not None,
                f"a {self.offer} is pending, which comes before the roll, but the dice are thrown",
            ),
            (
                self.offer == "double" and self.cube_owner == "opponent",
                "the mover doubles, but the opponent owns the cube",
            ),
            (
                playing and self.decider != self._expected_decider(),
                f"the {self.decider} cannot owe the decision with offer"
                f" '{self.offer or 'none'}' and resignation '{self.resignation}'",
            ),
        ]
        return [fault for is_wrong, fault in found if is_wrong]

    def _expected_decider(self) -> Side:
        answers = self.offer in ("double", "raccoon")
        return "opponent" if answers != (self.resignation > 0) else "mover"

    @property
    def opp_board(self) -> Board:
        """The board seen by the opponent, `(26,)` int8."""
        return (flip if self.game == "short" else flip_half_turn)(self.board)

    @property
    def phase(self) -> Phase:
        """ "over" if a side has borne off everything, "contact" if the two can still meet."""
        if NUM_CHECKERS in (borne_off(self.board), borne_off(self.opp_board)):
            return "over"
        meet = (has_contact if self.game == "short" else has_long_contact)(self.board)
        return "contact" if meet else "race"

    @property
    def mover_away(self) -> int:
        """Points the mover still needs; meaningless in money play."""
        return self.match_length - self.mover_score

    @property
    def opp_away(self) -> int:
        """Points the opponent still needs; meaningless in money play."""
        return self.match_length - self.opp_score

    @property
    def one_away(self) -> bool:
        """Whether a side of a match is one point away from winning it."""
        return self.match_length > 0 and 1 in (self.mover_away, self.opp_away)

    @property
    def post_crawford(self) -> bool:
        """Whether a side of a match is one point away and this is not the Crawford game."""
        return not self.crawford and self.match_length > 1 and self.one_away

    def replace(self, **changes: Any) -> "Position":
        """This position with some fields changed. Raises PositionError if they do not fit."""
        return dataclasses.replace(self, **changes)

    def _key(self) -> tuple[object, ...]:
        values = (getattr(self, field.name) for field in dataclasses.fields(self))
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Position) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


def _is_count(least: int) -> Callable[[object], bool]:
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= least


def _is_one_of(*choices: object) -> Callable[[object], bool]:
    return lambda v: any(v is c if c is None or isinstance(c, bool) else v == c for c in choices)


_COUNT: Final = (_is_count(0), "a whole number from 0 up")
_FLAG: Final = (_is_one_of(True, False), "true, false")
_KNOWN_FLAG: Final = (_is_one_of(True, False, None), "true, false, none")
_CHECKS: Final = (
    ("game", _is_one_of(*GAMES), ", ".join(GAMES)),
    ("context", lambda v: v is None or isinstance(v, TurnContext), "none or a TurnContext"),
    ("cube_value", _is_count(1), "a whole number from 1 up"),
    ("cube_owner", _is_one_of(*_SIDES, None), "mover, opponent, none"),
    ("decider", _is_one_of(*_SIDES), "mover, opponent"),
    ("offer", _is_one_of(*_OFFERS, None), "double, beaver, raccoon, none"),
    ("resignation", _is_one_of(0, 1, 2, 3), "0 to 3"),
    ("match_length", *_COUNT),
    ("mover_score", *_COUNT),
    ("opp_score", *_COUNT),
    ("crawford", *_FLAG),
    ("jacoby", *_KNOWN_FLAG),
    ("beaver", *_KNOWN_FLAG),
    ("max_cube", lambda v: v is None or _is_count(1)(v), "none or a whole number from 1 up"),
    ("mover_player", _is_one_of(0, 1), "0, 1"),
    ("game_state", _is_one_of(*range(_GAME_STATES)), f"0 to {_GAME_STATES - 1}"),
)
