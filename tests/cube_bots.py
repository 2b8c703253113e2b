"""Bots for tests of games with the cube, and the same games by the state machines of the engine."""

import zlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from agent.baselines import RandomBot
from agent.bot import Bot
from agent.cube_play import BEAVER, PASS, TAKE
from agent.situation import Situation
from engine.actions import Accept, Action, Beaver, Decline, Offer, PlayTo, Refuse, Take
from engine.board import Board
from engine.dice import game_generator
from engine.game import GameState
from engine.match import MatchState, play_game
from engine.rules import Rules
from engine.scoring import next_stake
from eval.cube_dice import match_generator


class WildBot(RandomBot):
    """Plays at random and turns the cube often, by nothing but board and situation."""

    def __init__(self, name: str, rules: Rules, one_in: int = 6) -> None:
        super().__init__(name, rules)
        self._one_in = one_in

    def _numbers(
        self, boards: Board, situations: Sequence[Situation], what: str
    ) -> NDArray[np.int64]:
        def number(board: Board, s: Situation) -> int:
            seen = (s.cube_value, s.cube_owner, s.mover_away, s.opp_away, s.crawford, what)
            return zlib.crc32(repr((self.name, board.tolist(), seen)).encode())

        pairs = zip(boards, situations, strict=True)
        return np.array([number(board, s) for board, s in pairs], dtype=np.int64)

    def doubles(self, boards: Board, situations: Sequence[Situation]) -> NDArray[np.bool_]:
        return self._numbers(boards, situations, "double") % self._one_in == 0

    def answers(self, boards: Board, situations: Sequence[Situation]) -> NDArray[np.int8]:
        numbers = self._numbers(boards, situations, "answer") % 4
        found = np.where(numbers == 0, PASS, TAKE)
        for i, situation in enumerate(situations):
            rules = situation.rules
            raised = next_stake(situation.cube_value, rules)
            can = rules.beaver and rules.match_to is None and raised is not None
            if can and next_stake(raised, rules) is not None and numbers[i] == 1:
                found[i] = BEAVER
        return found.astype(np.int8)

    def accepts_beavers(self, boards: Board, situations: Sequence[Situation]) -> NDArray[np.bool_]:
        return self._numbers(boards, situations, "accept") % 2 == 0


def engine_score(
    bots: Sequence[Bot], seed: int, stream: int, seating: int, rules: Rules
) -> tuple[int, list[GameState]]:
    """Points of bot 0 in a money game, or 1 or -1 for a match, and the finished games."""
    match = MatchState.start(rules)
    games = []
    while True:
        number = match.games_finished
        is_match = rules.match_to is not None
        dice = match_generator(seed, stream, number) if is_match else game_generator(seed, stream)
        draws = dice.spawn(1)[0].random(2000)
        players = (_decider(bots[seating], draws, match), _decider(bots[1 - seating], draws, match))
        match = match.with_game(play_game(match.game, dice, players))
        games.append(match.game)
        assert match.game.result is not None
        if rules.match_to is None:
            winner, points = match.game.result.winner, match.game.result.points
        elif match.over:
            winner, points = match.winner, 1
        else:
            match = match.next_game()
            continue
        sign = 0 if winner is None else 1 if (winner ^ seating) == 0 else -1
        return sign * points, games


def _decider(
    bot: Bot, draws: NDArray[np.float64], match: MatchState
) -> Callable[[GameState], Action | None]:
    def decide(game: GameState) -> Action | None:
        situations = [Situation.of_game(game, match.away)]
        board = game.board[np.newaxis].copy()
        if game.phase == "roll":
            offers = game.can_offer and bool(bot.doubles(board, situations)[0])
            return Offer() if offers else None
        if game.phase == "double":
            answer = int(bot.answers(board, situations)[0])
            return {PASS: Refuse(), TAKE: Take(), BEAVER: Beaver()}[answer]
        if game.phase == "beaver":
            return Accept() if bot.accepts_beavers(board, situations)[0] else Decline()
        assert game.phase == "play"
        assert game.dice is not None
        if game.last_throw:
            board[0, 0] = 1
        roll = np.array([game.dice], dtype=np.int8)
        draw = draws[game.turns_played : game.turns_played + 1]
        after = bot.choose_at(board, roll, situations, draw)[0]
        if game.last_throw:
            after[0] = 0
        return PlayTo(after)

    return decide
