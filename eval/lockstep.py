"""Plays many cubeless games of two bots side by side, each on a dice stream of its own.

Nothing here depends on which games are played together: dice and draws belong to the stream.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot
from engine.board import Board
from engine.dice import game_generator, roll_dice
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import result_factors
from engine.variant import starter_throws_again, variant_of
from eval.cube_tally import CubeCounts

if TYPE_CHECKING:
    from agent.situation import Situation

__all__ = ["MOST_TURNS", "Played", "Turns", "Work", "WorkMeter", "play_games"]

MOST_TURNS = 50_000
"""Turns after which a game is given up: nothing in the rules ends a game, and an untrained net can
go on for ever in practice. Pubeval against itself takes 66 turns (128 at most in 200 games), random
against itself 100 (272)."""

_BLOCK = 64  # turns for which dice are thrown at a time; any number gives the same dice


class Work(NamedTuple):
    """What a bot's decisions have cost; parts add up."""

    decisions: int = 0
    """Rolls that it was asked about, those without a choice included, and questions of the cube."""
    cpu_seconds: float = 0.0
    """CPU time of this process while it was asked, all threads, and of processes of its own."""
    evaluations: int | None = 0
    """Positions evaluated; None if the bot does not count them."""

    def plus(self, other: "Work") -> "Work":
        known = self.evaluations is not None and other.evaluations is not None
        return Work(
            self.decisions + other.decisions,
            self.cpu_seconds + other.cpu_seconds,
            (self.evaluations or 0) + (other.evaluations or 0) if known else None,
        )


class Turns(NamedTuple):
    """One turn of all games that still run, one row each, before it is played."""

    number: int
    """Turn of the games, from 0: the opening throw."""
    boards: Board
    """`(B, 26)` int8 seen by the side on roll. Not to be changed."""
    rolls: NDArray[np.int8]
    """`(B, 2)`."""
    movers: NDArray[np.int8]
    """Number of the bot on roll, `(B,)`, 0 or 1."""
    streams: NDArray[np.int64]
    """Number of the game's dice stream among those that are played, `(B,)`, from 0."""
    seatings: NDArray[np.int8]
    """Column of the game in `Played.points`, `(B,)`."""
    last_throw: NDArray[np.bool_]
    """Whether the other side has finished and this is the throw that can make a draw, `(B,)`."""


class Played(NamedTuple):
    """Some games, all of them over or given up."""

    points: NDArray[np.signedinteger]
    """Of the first bot, `(n_streams, 2)`, or `(n_streams, 1)` unpaired. Column 0 has the first bot
    in seat 0, column 1 the same dice with the seats swapped. Factors of the scoring scheme,
    negative where the second bot won, 0 for a draw by the last throw or a game given up. With the
    cube see `eval.cube_games`."""
    n_unfinished: int
    """Games given up as endless."""
    work: tuple[Work, Work]
    """Of each bot."""
    luck: NDArray[np.int64] | None = None
    """Of the first bot, shape as `points`, in millionths of a point; None if it was not told."""
    cube: tuple[CubeCounts, CubeCounts] | None = None
    """What each bot did with the cube; None in games without one."""


class _Dice:
    """Dice and draws of the games of some streams, turn by turn; all streams go on together.

    The opening throw is the stream's first throw that is no tie; its higher die tells which seat
    starts. The starter plays both numbers, or throws again where the rules say so. Draws come from
    a stream spawned from the dice's, so that the dice are the same whether or not a bot needs
    draws.
    """

    def __init__(
        self, seed: int, first_stream: int, n_streams: int, with_draws: bool, rules: Rules
    ) -> None:
        streams = range(first_stream, first_stream + n_streams)
        self._dice_generators = [game_generator(seed, stream) for stream in streams]
        self._draw_generators = (
            [generator.spawn(1)[0] for generator in self._dice_generators] if with_draws else []
        )
        self._rolls = np.zeros((n_streams, _BLOCK, 2), dtype=np.int8)
        self._draws = np.zeros((n_streams, _BLOCK))
        for stream, generator in enumerate(self._dice_generators):
            opening = roll_dice(generator)[0]
            while opening[0] == opening[1]:
                opening = roll_dice(generator)[0]
            self._rolls[stream, 0] = opening
        self.starting_seats = (self._rolls[:, 0, 1] > self._rolls[:, 0, 0]).astype(np.int8)
        """Seat that starts on each stream, `(n_streams,)` int8."""
        if starter_throws_again(rules):
            for stream, generator in enumerate(self._dice_generators):
                self._rolls[stream, 0] = roll_dice(generator)[0]

    def throw(self, turn: int, streams: NDArray[np.int64]) -> None:
        """Make this turn's dice ready on these streams; to be called for every turn in order."""
        if turn % _BLOCK:
            return
        for stream in np.unique(streams):
            start = 1 if turn == 0 else 0  # the opening throw is there already
            self._rolls[stream, start:] = roll_dice(self._dice_generators[stream], _BLOCK - start)
            if self._draw_generators:
                self._draws[stream] = self._draw_generators[stream].random(_BLOCK)

    def rolls(self, turn: int, streams: NDArray[np.int64]) -> NDArray[np.int8]:
        rolls: NDArray[np.int8] = self._rolls[streams, turn % _BLOCK]
        return rolls

    def draws(self, turn: int, streams: NDArray[np.int64]) -> NDArray[np.float64] | None:
        return self._draws[streams, turn % _BLOCK] if self._draw_generators else None


def play_games(
    bots: Sequence[Bot],
    seed: int,
    first_stream: int,
    n_streams: int,
    rules: Rules = INTERNATIONAL,
    *,
    paired: bool = True,
    most_turns: int | None = None,
    on_turn: Callable[[int], None] = lambda n_over: None,
    watch: Callable[[Turns], None] = lambda turns: None,
) -> Played:
    """Play the games of the streams first_stream, first_stream + 1, ... to their ends.

    bots: two. most_turns: turns after which a game is given up, None = `MOST_TURNS`. on_turn is
    called after every turn with the number of games that it ended, watch before every turn with
    its rolls; what they raise goes through. The time of neither is counted as a bot's work.
    """
    n_seatings = 2 if paired else 1
    with_draws = any(bot.uses_draws for bot in bots)
    dice = _Dice(seed, first_stream, n_streams, with_draws, rules)
    points = np.zeros((n_streams, n_seatings), dtype=np.int8)
    flip = variant_of(rules).flip
    # State of the games that still run, one row each.
    streams = np.repeat(np.arange(n_streams), n_seatings)
    seatings = np.tile(np.arange(n_seatings, dtype=np.int8), n_streams)
    seats = dice.starting_seats[streams]  # on roll
    boards = np.tile(variant_of(rules).start, (len(streams), 1))
    last_throw = np.zeros(len(streams), dtype=np.bool_)
    meters = [WorkMeter(bot) for bot in bots]
    lends = variant_of(rules).has_bar
    for turn in range(MOST_TURNS if most_turns is None else most_turns):
        dice.throw(turn, streams)
        movers = seats ^ seatings  # number of the bot on roll
        rolls, draws = dice.rolls(turn, streams), dice.draws(turn, streams)
        watch(Turns(turn, boards, rolls, movers, streams, seatings, last_throw))
        after = _chosen(meters, movers, boards, last_throw & lends, rolls, draws)
        finished = ~(after[:, 1:] > 0).any(axis=1)
        goes_on = ~finished & ~last_throw
        gets_last_throw = np.zeros_like(last_throw)
        if rules.end_rule == "last_chance_draw":
            gets_last_throw = finished & ~last_throw & (seats == dice.starting_seats[streams])
            goes_on |= gets_last_throw
        over = ~goes_on
        n_over = int(over.sum())
        if n_over:
            # A second player who finishes as well leaves no checkers at all: factor 0, a draw.
            factors = result_factors(after[over], rules)
            points[streams[over], seatings[over]] = np.where(movers[over] == 0, factors, -factors)
            streams, seatings, seats = streams[goes_on], seatings[goes_on], seats[goes_on]
            after, gets_last_throw = after[goes_on], gets_last_throw[goes_on]
        on_turn(n_over)
        if len(streams) == 0:
            break
        boards, seats, last_throw = flip(after), seats ^ 1, gets_last_throw
    return Played(points, len(streams), (meters[0].work, meters[1].work))


class WorkMeter:
    """A bot, and what its decisions cost."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self.work = Work()

    @property
    def name(self) -> str:
        return self._bot.name

    def choose(
        self, boards: Board, rolls: NDArray[np.int8], draws: NDArray[np.float64] | None
    ) -> Board:
        with self._measured(len(boards)):
            return self._bot.choose(boards, rolls, draws)

    def choose_at(
        self,
        boards: Board,
        rolls: NDArray[np.int8],
        situations: "Sequence[Situation]",
        draws: NDArray[np.float64] | None,
    ) -> Board:
        with self._measured(len(boards)):
            return self._bot.choose_at(boards, rolls, situations, draws)

    def doubles(self, boards: Board, situations: "Sequence[Situation]") -> NDArray[np.bool_]:
        with self._measured(len(boards)):
            return self._bot.doubles(boards, situations)

    def answers(self, boards: Board, situations: "Sequence[Situation]") -> NDArray[np.int8]:
        with self._measured(len(boards)):
            return self._bot.answers(boards, situations)

    def accepts_beavers(
        self, boards: Board, situations: "Sequence[Situation]"
    ) -> NDArray[np.bool_]:
        with self._measured(len(boards)):
            return self._bot.accepts_beavers(boards, situations)

    @contextmanager
    def _measured(self, n_decisions: int) -> Iterator[None]:
        cpu, evaluations = self._cpu_seconds(), self._bot.evaluations()
        yield
        counted = self._bot.evaluations()
        known = counted is not None and evaluations is not None
        part = Work(
            n_decisions,
            self._cpu_seconds() - cpu,
            (counted or 0) - (evaluations or 0) if known else None,
        )
        self.work = self.work.plus(part)

    def _cpu_seconds(self) -> float:
        return time.process_time() + self._bot.cpu_seconds()


def _chosen(
    bots: Sequence[WorkMeter],
    movers: NDArray[np.int8],
    boards: Board,
    last_throw: NDArray[np.bool_],
    rolls: NDArray[np.int8],
    draws: NDArray[np.float64] | None,
) -> Board:
    """Afterstates of all games' turn, each chosen by the bot on roll."""
    # Plays exist only in a running game: for a last throw the side that has finished lends a
    # checker to its bar, where it is in nobody's way (as `engine.game` has it; a game without a bar
    # does without).
    boards[last_throw, 0] = 1
    after = np.empty_like(boards)
    for number, bot in enumerate(bots):
        rows = np.flatnonzero(movers == number)
        if len(rows):
            some = None if draws is None else draws[rows]
            after[rows] = bot.choose(boards[rows], rolls[rows], some)
    after[last_throw, 0] = 0
    return after
