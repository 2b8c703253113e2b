"""One game as a state machine: opening throw, turns, cube, resignation, result.

States are immutable: `state.apply(action)` returns the next state, or raises IllegalActionError
and leaves everything as it was. Dice come in with the actions; nothing is drawn here. The two
players are 0 and 1 throughout, whoever is on roll; only boards are seen by a side.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from engine.actions import (
    ALLOWED,
    EXPECTED,
    Accept,
    Action,
    Beaver,
    Decline,
    Offer,
    OpeningThrow,
    Phase,
    Play,
    Player,
    PlayTo,
    Refuse,
    Resign,
    Roll,
    Take,
    Throw,
    other_player,
)
from engine.board import NUM_CHECKERS, Board, borne_off
from engine.dice import check_roll
from engine.errors import ConfigError, IllegalActionError, IllegalPlayError, PositionError
from engine.moves import legal_afterstates, play_steps
from engine.results import GameResult, beaver_declined, drawn, played_out, refused, resigned
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import KINDS, cube_in_use, next_stake
from engine.turn_context import TurnContext
from engine.variant import check_board, starter_throws_again, variant_of

__all__ = ["GameState"]


@dataclass(frozen=True, kw_only=True, eq=False)
class GameState:
    """A game at one moment. Make one with `start` or `at`; the class itself checks nothing."""

    rules: Rules
    board: Board
    """`(26,)` int8, read-only, seen by the player on roll (the opening position, which is the
    same for both, before the opening throw; by the last mover or offerer once the game is over)."""
    on_roll: Player | None = None
    """Whose turn it is; None before the opening throw has decided it."""
    dice: Roll | None = None
    """The thrown dice that are still to be played, in the order thrown."""
    starter: Player | None = None
    """Who had the first turn of the game, if known."""
    turns_played: int = 0
    """Turns since the state was made by `start` or `at`, passes included."""
    cube_value: int = 1
    """The stake of the game (while an offer is pending: before it). Shown even without a cube."""
    cube_owner: Player | None = None
    """Who alone may offer next; None = the cube is in the middle."""
    cube_offered: bool = False
    """Whether a player has offered a double in this game (an automatic double is none)."""
    offer: Literal["double", "beaver"] | None = None
    """Pending offer: a double by the player on roll, or the other one's beaver."""
    resignation: int = 0
    """Factor that the player on roll has offered to resign with; 0 = none."""
    auto_doubles: int = 0
    """Automatic doubles made so far."""
    crawford: bool = False
    """Whether this is the Crawford game of a match: nobody may double."""
    context: TurnContext | None = None
    """What the plays of this turn depend on beyond the board; None where nothing does (short
    nardi), or where it is not known (`at`) and the board has to tell."""
    last_throw: bool = False
    """Whether the other player has finished and the one on roll has his last chance of a draw."""
    result: GameResult | None = None
    """Set once the game is over."""

    @classmethod
    def start(cls, rules: Rules = INTERNATIONAL, *, crawford: bool = False) -> "GameState":
        """A game before its opening throw. Raises ConfigError for a Crawford game of no match."""
        if crawford and rules.match_to is None:
            raise ConfigError("a Crawford game belongs to a match, but match_to is null")
        return cls(rules=rules, board=variant_of(rules).start, crawford=crawford)

    @classmethod
    def at(
        cls,
        board: ArrayLike,
        on_roll: Player,
        rules: Rules = INTERNATIONAL,
        *,
        dice: Sequence[int] | None = None,
        starter: Player | None = None,
        cube_value: int = 1,
        cube_owner: Player | None = None,
        cube_offered: bool | None = None,
        crawford: bool = False,
        context: TurnContext | None = None,
    ) -> "GameState":
        """A game that goes on from any position, before or after the throw.

        board: seen by the player on roll. starter: needed for `end_rule=last_chance_draw` only.
        cube_offered: None = a double was offered if somebody owns the cube. context: of the turn
        in long nardi; None = as the board tells.
        Raises PositionError for a board or dice that cannot occur or a finished game, ConfigError
        for a cube that the rules do not know or a missing starter.
        """
        for name, value in (("on_roll", on_roll), ("starter", starter), ("cube_owner", cube_owner)):
            if value not in ((0, 1) if name == "on_roll" else (0, 1, None)):
                raise ConfigError(f"{name} is '{value}'; the two players are 0 and 1")
        checked = check_board(board, rules)
        if NUM_CHECKERS in (borne_off(checked), borne_off(variant_of(rules).flip(checked))):
            raise PositionError("the game is over: a side has borne off all its checkers")
        if cube_value < 1 or (rules.cube_cap is not None and cube_value > rules.cube_cap):
            raise ConfigError(
                f"cube value '{cube_value}' does not fit; accepted: 1 to"
                f" {'any' if rules.cube_cap is None else rules.cube_cap} (cube_cap)"
            )
        if rules.progression == "geometric" and cube_value.bit_count() != 1:
            raise ConfigError(
                f"cube value '{cube_value}' does not fit; accepted: powers of 2"
                " (progression=geometric)"
            )
        if not cube_in_use(rules) and (cube_owner is not None or cube_value > 1):
            raise ConfigError(f"cube value '{cube_value}' in {_without_cube(rules)}")
        if rules.end_rule == "last_chance_draw" and starter is None:
            raise ConfigError("end_rule=last_chance_draw needs to know who moved first (starter)")
        state = cls.start(rules, crawford=crawford)
        return state._with(
            board=_frozen(checked),
            on_roll=on_roll,
            dice=None if dice is None else check_roll(dice),
            starter=starter,
            cube_value=int(cube_value),
            cube_owner=cube_owner,
            cube_offered=cube_owner is not None if cube_offered is None else cube_offered,
            context=context if variant_of(rules).has_turn_context else None,
        )

    # --- what can be done ---

    @property
    def phase(self) -> Phase:
        """What is to be done next."""
        if self.result is not None:
            return "over"
        if self.on_roll is None:
            return "opening"
        if self.resignation:
            return "resignation"
        if self.offer is not None:
            return self.offer
        return "roll" if self.dice is None else "play"

    @property
    def decider(self) -> Player | None:
        """Who owes the next decision; None before the opening throw and after the end."""
        if self.on_roll is None or self.result is not None:
            return None
        answers = self.offer == "double" or self.resignation > 0
        return other_player(self.on_roll) if answers else self.on_roll

    @property
    def stake_offered(self) -> int | None:
        """The stake that the pending offer (double or beaver) would lead to; None without one."""
        if self.offer is None:
            return None
        doubled = next_stake(self.cube_value, self.rules)
        if self.offer == "double" or doubled is None:
            return doubled
        return next_stake(doubled, self.rules)

    @property
    def can_offer(self) -> bool:
        """Whether the player on roll may offer a double now."""
        return self.phase == "roll" and self._why_no_offer() is None

    @property
    def can_beaver(self) -> bool:
        """Whether the offered double may be beavered."""
        return self.phase == "double" and self._why_no_beaver() is None

    def action_types(self) -> tuple[type[Action], ...]:
        """The classes of all actions that are legal now with suitable contents."""
        illegal: set[type[Action]] = set()
        if self._why_no_offer() is not None:
            illegal.add(Offer)
        if self.phase == "double" and self._why_no_beaver() is not None:
            illegal.add(Beaver)
        return tuple(kind for kind in ALLOWED[self.phase] if kind not in illegal)

    def legal_afterstates(self) -> Board:
        """`(N, 26)` int8 results of all legal plays of the thrown dice, seen by the mover.

        With no legal play it is the one unchanged board. Raises IllegalActionError if no dice are
        waiting to be played.
        """
        if self.phase != "play" or self.dice is None:
            raise IllegalActionError(f"there is nothing to play: {EXPECTED[self.phase]}")
        rows = legal_afterstates(self._playing_board(), self.dice, self.rules, self.context)
        return self._without_lent_checker(rows)

    def apply(self, action: Action) -> "GameState":
        """The state after an action; this one is unchanged.

        Raises IllegalActionError, with the reason in words, if the action is not legal now.
        """
        if not isinstance(action, ALLOWED[self.phase]):
            raise IllegalActionError(self._why_not_now(action))
        match action:
            case OpeningThrow(dice):
                return self._open(_checked_roll(dice))
            case Throw(dice):
                return self._with(dice=_checked_roll(dice))
            case Play(steps):
                return self._end_turn(self._after_steps(steps))
            case PlayTo(afterstate):
                return self._end_turn(self._after_play_to(afterstate))
            case Offer():
                return self._offer()
            case Take():
                return self._raise_stake(other_player(self._mover))
            case Refuse():
                return self._ended(refused(self._mover, self.cube_value))
            case Beaver():
                return self._beaver()
            case Resign(factor):
                return self._resign(factor)
            case Accept() if self.offer == "beaver":
                return self._raise_stake(other_player(self._mover))
            case Accept():
                return self._ended(
                    resigned(
                        self.resignation,
                        other_player(self._mover),
                        self.cube_value,
                        self.rules,
                        cube_offered=self.cube_offered,
                    )
                )
            case Decline() if self.offer == "beaver":
                offered = next_stake(self.cube_value, self.rules)
                assert offered is not None
                return self._ended(beaver_declined(other_player(self._mover), offered))
            case Decline():
                return self._with(resignation=0)

    # --- opening ---

    def _open(self, dice: Roll) -> "GameState":
        if dice[0] == dice[1]:
            return self._tie()
        starter: Player = 0 if dice[0] > dice[1] else 1
        # The starter's own die comes first. As a rule he plays both numbers.
        roll = dice if starter == 0 else (dice[1], dice[0])
        has_context = variant_of(self.rules).has_turn_context
        return self._with(
            on_roll=starter,
            starter=starter,
            dice=None if starter_throws_again(self.rules) else roll,
            context=TurnContext(first_turn=True) if has_context else None,
        )

    def _tie(self) -> "GameState":
        limit = self.rules.auto_doubles
        agreed = cube_in_use(self.rules) and self.rules.match_to is None
        raised = next_stake(self.cube_value, self.rules)
        if not agreed or raised is None or (limit is not None and self.auto_doubles >= limit):
            return self
        return self._with(cube_value=raised, auto_doubles=self.auto_doubles + 1)

    # --- plays ---

    def _after_steps(self, steps: tuple[tuple[int, int], ...]) -> Board:
        assert self.dice is not None
        try:
            order = tuple((int(source), int(target)) for source, target in steps)
        except (TypeError, ValueError):
            raise IllegalActionError(f"'{steps}' is not a sequence of (from, to) pairs") from None
        try:
            after = play_steps(self._playing_board(), self.dice, order, self.rules, self.context)
        except IllegalPlayError as error:
            raise IllegalActionError(str(error)) from error
        return self._without_lent_checker(after)

    def _after_play_to(self, afterstate: Board) -> Board:
        rows = self.legal_afterstates()
        numbers = list(afterstate)
        if numbers not in rows.tolist():
            raise IllegalActionError(
                f"board {[int(n) if isinstance(n, np.integer) else n for n in numbers]} is not the"
                f" result of a legal play of {self.dice} from {self.board.tolist()}; there are"
                f" {len(rows)} of them"
            )
        return np.array(numbers, dtype=np.int8)

    def _playing_board(self) -> Board:
        """The board to look for plays on: in a last throw the other side has no checkers left.

        One of them is then lent to its bar, where it is in nobody's way, since plays exist only
        in a running game; a game without a bar does without.
        """
        if not self.last_throw or not variant_of(self.rules).has_bar:
            return self.board
        board = self.board.copy()
        board[0] = 1
        return board

    def _without_lent_checker(self, boards: Board) -> Board:
        if not self.last_throw:
            return boards
        boards = boards.copy()
        boards[..., 0] = 0
        return boards

    def _end_turn(self, after: Board) -> "GameState":
        turns = self.turns_played + 1
        finished = borne_off(after) == NUM_CHECKERS
        gives_last_throw = (
            self.rules.end_rule == "last_chance_draw" and self.on_roll == self.starter
        )
        if self.last_throw or (finished and not gives_last_throw):
            over = self._with(board=_frozen(after), turns_played=turns)
            if self.last_throw and finished:
                return over._ended(drawn(self.cube_value))
            return over._ended(
                played_out(
                    after,
                    self._mover,
                    self.cube_value,
                    self.rules,
                    cube_offered=self.cube_offered,
                )
            )
        return self._with(
            board=_frozen(variant_of(self.rules).flip(after)),
            on_roll=other_player(self._mover),
            dice=None,
            turns_played=turns,
            last_throw=bool(finished),
            context=self._next_context(),
        )

    def _next_context(self) -> TurnContext | None:
        context = self.context
        if context is None:
            return None
        if context.first_turn and context.player == "first":
            return TurnContext(first_turn=True, player="second", opponent_first_roll=self.dice)
        return TurnContext()

    # --- cube ---

    def _why_no_offer(self) -> str | None:
        rules = self.rules
        if not cube_in_use(rules):
            return f"this is {_without_cube(rules)}"
        if self.crawford:
            return "nobody may double in the Crawford game"
        if self.last_throw:
            return "the game ends with this last throw"
        if self.cube_owner is not None and self.cube_owner != self.on_roll:
            return "the opponent owns the cube"
        if next_stake(self.cube_value, rules) is None:
            return f"the cube stands at {self.cube_value} and cannot go beyond {rules.cube_cap}"
        return None

    def _why_no_beaver(self) -> str | None:
        rules = self.rules
        if rules.match_to is not None:
            return "beavers belong to money play, not to a match"
        if not rules.beaver:
            return "beavers are not agreed (beaver=false)"
        doubled = next_stake(self.cube_value, rules)
        if doubled is None or next_stake(doubled, rules) is None:
            return f"a cube doubled to {doubled} cannot go beyond {rules.cube_cap}"
        return None

    def _offer(self) -> "GameState":
        if (reason := self._why_no_offer()) is not None:
            raise IllegalActionError(f"no double can be offered: {reason}")
        return self._with(offer="double", cube_offered=True)

    def _beaver(self) -> "GameState":
        if (reason := self._why_no_beaver()) is not None:
            raise IllegalActionError(f"no beaver is possible: {reason}")
        return self._with(offer="beaver")

    def _raise_stake(self, owner: Player) -> "GameState":
        raised = self.stake_offered
        assert raised is not None
        return self._with(cube_value=raised, cube_owner=owner, offer=None)

    # --- resignation ---

    def _resign(self, factor: int) -> "GameState":
        kinds = KINDS[self.rules.scoring]
        if isinstance(factor, bool) or factor not in range(1, len(kinds) + 1):
            names = ", ".join(f"{n} {kind.name}" for n, kind in enumerate(kinds, 1))
            raise IllegalActionError(
                f"nobody can resign by '{factor}' when scoring is {self.rules.scoring}; accepted:"
                f" {names}"
            )
        return self._with(resignation=int(factor))

    # --- plumbing ---

    def _ended(self, ended: GameResult) -> "GameState":
        return self._with(dice=None, offer=None, resignation=0, result=ended)

    @property
    def _mover(self) -> Player:
        assert self.on_roll is not None
        return self.on_roll

    def _why_not_now(self, action: object) -> str:
        name = type(action).__name__
        if not isinstance(action, Action):
            return f"'{action}' is not an action"
        return f"{name} is not possible now: {EXPECTED[self.phase]}"

    def _with(self, **changes: Any) -> "GameState":
        return dataclasses.replace(self, **changes)

    def _key(self) -> tuple[object, ...]:
        values = (getattr(self, field.name) for field in dataclasses.fields(self))
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, GameState) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


def _checked_roll(dice: Sequence[int]) -> Roll:
    try:
        return check_roll(dice)
    except PositionError as error:
        raise IllegalActionError(str(error)) from error


def _without_cube(rules: Rules) -> str:
    if not variant_of(rules).has_cube:
        return f"{rules.game} nardi, which is played without a doubling cube"
    return "a game without a cube (cube=false)"


def _frozen(board: Board) -> Board:
    board = board.copy()
    board.setflags(write=False)
    return board
