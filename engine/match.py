"""A match or a money session: score, the Crawford game, and drivers that play to the end.

Built on `engine.game`: states are immutable, and players are 0 and 1 throughout.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.actions import Action, OpeningThrow, Player, Throw
from engine.dice import game_generator, roll_dice
from engine.errors import ConfigError, IllegalActionError
from engine.game import GameState
from engine.rules import INTERNATIONAL, Rules
from engine.variant import variant_of

__all__ = ["Decide", "MatchState", "Watch", "play_game", "play_match"]

Decide = Callable[[GameState], Action | None]
"""A player: asked whenever he is the decider. Before his throw, None means that he throws."""

Watch = Callable[[GameState, Action, GameState], None]
"""Told of every action: the state before, the action, the state after."""


@dataclass(frozen=True, kw_only=True)
class MatchState:
    """A match to `rules.match_to` points, or a money session without end, at one moment.

    A finished game stays as `game`, its points in the score, until `next_game` starts another.
    """

    rules: Rules
    game: GameState
    score: tuple[int, int] = (0, 0)
    """Points of player 0 and player 1; the winner's may pass the length of the match."""
    crawford_played: bool = False
    """Whether the Crawford game has been finished, or is not due any more."""
    games_finished: int = 0

    @classmethod
    def start(
        cls,
        rules: Rules = INTERNATIONAL,
        *,
        score: tuple[int, int] = (0, 0),
        crawford_played: bool = False,
    ) -> "MatchState":
        """A match before the opening throw of its first game, or of a later one from `score`.

        Raises ConfigError for a score that is negative or ends the match.
        """
        points_fit = all(isinstance(points, int) and points >= 0 for points in score)
        if not points_fit or (rules.match_to is not None and max(score) >= rules.match_to):
            raise ConfigError(
                f"score '{score[0]}-{score[1]}' does not fit; accepted: whole numbers from 0"
                + ("" if rules.match_to is None else f" to {rules.match_to - 1}")
            )
        crawford = _is_crawford(rules, score, crawford_played)
        return cls(
            rules=rules,
            game=GameState.start(rules, crawford=crawford),
            score=score,
            crawford_played=crawford_played,
        )

    @property
    def winner(self) -> Player | None:
        """Who has won the match; None while it goes on, and always in money play."""
        match_to = self.rules.match_to
        if match_to is None or max(self.score) < match_to:
            return None
        return 0 if self.score[0] > self.score[1] else 1

    @property
    def over(self) -> bool:
        """Whether the match is decided; never in money play."""
        return self.winner is not None

    @property
    def away(self) -> tuple[int, int] | None:
        """Points that player 0 and player 1 still need, at least 0; None in money play."""
        match_to = self.rules.match_to
        if match_to is None:
            return None
        return max(match_to - self.score[0], 0), max(match_to - self.score[1], 0)

    @property
    def post_crawford(self) -> bool:
        """Whether a player is one point away in a match and this is not the Crawford game."""
        if self.away is None or self.over or self.game.crawford:
            return False
        return 1 in self.away

    def apply(self, action: Action) -> "MatchState":
        """The match after an action of the running game; this state is unchanged.

        Raises IllegalActionError, with the reason, if the action is not legal now.
        """
        if self.over:
            raise IllegalActionError(f"the match is over: player {self.winner} has won it")
        return self.with_game(self.game.apply(action))

    def with_game(self, game: GameState) -> "MatchState":
        """The match with its running game in a later state, the points counted if that is over."""
        if game.result is None or self.game.result is not None:
            return dataclasses.replace(self, game=game)
        score = list(self.score)
        if game.result.winner is not None:
            score[game.result.winner] += game.result.points
        return dataclasses.replace(
            self,
            game=game,
            score=(score[0], score[1]),
            crawford_played=self.crawford_played or game.crawford,
            games_finished=self.games_finished + 1,
        )

    def next_game(self) -> "MatchState":
        """The match before the next opening throw.

        Raises IllegalActionError while a game is running or when the match is over.
        """
        if self.over:
            raise IllegalActionError(f"the match is over: player {self.winner} has won it")
        if self.game.result is None:
            raise IllegalActionError("the running game has to end before the next one starts")
        crawford = _is_crawford(self.rules, self.score, self.crawford_played)
        return dataclasses.replace(self, game=GameState.start(self.rules, crawford=crawford))


def _is_crawford(rules: Rules, score: tuple[int, int], crawford_played: bool) -> bool:
    """The first game in which exactly one side is one point away is the Crawford game."""
    if rules.match_to is None or not rules.crawford or crawford_played:
        return False
    if not variant_of(rules).has_cube:
        return False
    one_away = [points == rules.match_to - 1 for points in score]
    return one_away[0] != one_away[1]


def play_game(
    state: GameState,
    dice: np.random.Generator,
    players: tuple[Decide, Decide],
    watch: Watch | None = None,
) -> GameState:
    """The finished game after playing it on from any state; state.result tells how it ended.

    dice: throws all dice, one call of `roll_dice` a throw, so a generator of `game_generator`
    replays the same game. In the opening throw the first die is player 0's.
    Raises IllegalActionError if a player decides for something illegal.
    """
    while state.result is None:
        decider = state.decider
        action = None if decider is None else players[decider](state)
        if action is None:
            first, second = roll_dice(dice)[0].tolist()
            thrown = OpeningThrow if state.phase == "opening" else Throw
            action = thrown((first, second))
        following = state.apply(action)
        if watch is not None:
            watch(state, action, following)
        state = following
    return state


def play_match(
    state: MatchState,
    seed: int,
    players: tuple[Decide, Decide],
    watch: Watch | None = None,
) -> MatchState:
    """The finished match after playing it on from the start of a game.

    seed: game n (from 0, counted by `games_finished`) takes its dice from
    `game_generator(seed, n)`. Raises ConfigError in money play, which has no end.
    """
    if state.rules.match_to is None:
        raise ConfigError("a money session has no end (match_to=null); play its games one by one")
    while not state.over:
        if state.game.result is not None:
            state = state.next_game()
        dice = game_generator(seed, state.games_finished)
        state = state.with_game(play_game(state.game, dice, players, watch))
    return state
