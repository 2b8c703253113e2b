"""Duels of two bots on paired dice, with standard errors over the pairs.

Cubeless money games, or games and matches with the cube (`eval.cube_games`). A match counts 1 or
-1 to the first bot wherever games count points; `match_win` makes a share of matches won of that.

Pair p plays the dice stream (seed, p) twice, the second time with seats swapped, so that part of
the luck of the dice cancels; of the rest most can be taken out (`eval.luck`). Streams are played in
chunks of a fixed size (`eval.duel_workers`); the figures are exact sums over all pairs and so the
same for any number of workers, and for duels that were stopped and gone on with (`eval.duel_file`).

For reports: `Duel.curve` has the figures after every chunk, `Duel.points` the games by result.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from agent.bot import Bot
from engine.errors import ConfigError, NardiError
from engine.rules import INTERNATIONAL, Rules
from eval.cube_tally import CubeCounts
from eval.duel_file import DuelFile, opened
from eval.duel_workers import PROGRESS_EVERY_S, Chunk, Games, Plan, cut, play_chunks
from eval.lockstep import Played
from eval.players import load_player
from eval.stats import Estimate
from eval.stopping import StopRule
from eval.tally import Side, Tally

__all__ = ["CHUNK_STREAMS", "Duel", "Progress", "Side", "Standing", "match_win", "play_duel"]

CHUNK_STREAMS: Final = 128
"""Dice streams that are played side by side; fewer at first, to learn how fast the bots are."""

Ended = Literal["games", "decided", "width", "interrupted", "fault"]


class Standing(NamedTuple):
    """The figures of a duel after one of its chunks, all games so far."""

    n_games: int
    """Games, or matches."""
    ppg: Estimate
    """Points per game of `a`, as played; the mean of 1 and -1 in matches."""
    adjusted: Estimate | None
    """The same less the luck of the dice; None if that is not told."""

    @property
    def best(self) -> Estimate:
        """The more precise of the two: the adjusted one if there is one."""
        return self.ppg if self.adjusted is None else self.adjusted


@dataclass(frozen=True, kw_only=True)
class Duel:
    """The figures of a duel, complete or as far as it got."""

    a: Side
    b: Side
    ppg: Estimate
    """Points per game of `a`, as played; the error is over pairs of games (over games if
    unpaired)."""
    adjusted: Estimate | None
    """The same less the luck of the dice: equal mean, smaller error; None if that was not told."""
    luck_net: str | None
    """Name of the net that told the luck, "net" or "net:FILE"; None if none did."""
    n_games: int
    """Games played, or matches: all of them, or fewer if it ended early."""
    n_unfinished: int
    """Those of them that were given up as endless (`most_turns`); they count 0."""
    points: dict[int, int]
    """Number of games by a's points, from the lowest up; those that occurred."""
    curve: tuple[Standing, ...]
    """The figures so far after every chunk, in order; the last has those of the whole duel."""
    cube: tuple[CubeCounts, CubeCounts] | None = None
    """What `a` and `b` did with the cube; None in games without one."""
    seed: int
    rules: Rules
    paired: bool
    stop: StopRule
    """In matches its width is that of the mean of 1 and -1."""
    ended: Ended
    """Why no more games were played: all are there, the stop rule holds, Ctrl-C, or a bot's fault.
    Only whole chunks count, in order: games that are over early are not a fair sample of those
    begun."""
    fault: str | None
    """What went wrong, in words, where `ended` is "fault"."""
    n_from_file: int = field(compare=False)
    """Games that were played before and read from the duel's file."""
    seconds: float = field(compare=False)
    """Wall-clock time of the others, starting the workers included, compiling not."""

    @property
    def is_match(self) -> bool:
        """Whether matches were played."""
        return self.cube is not None and self.rules.match_to is not None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.ended == "interrupted"

    @property
    def best(self) -> Estimate:
        """The more precise score: the adjusted one if there is one."""
        return self.ppg if self.adjusted is None else self.adjusted


def match_win(score: Estimate) -> Estimate:
    """Share of matches won, from the mean of 1 and -1; a match given up counts half."""
    return Estimate(mean=(1 + score.mean) / 2, stderr=score.stderr / 2, n=score.n)


class Progress(NamedTuple):
    """How far a running duel is."""

    n_games: int
    """Games that are over, some of which do not count yet."""
    ppg: Estimate
    """Points per game of `a` in those that count, less the luck if that is told."""


def play_duel(
    a: str | Bot,
    b: str | Bot,
    n_games: int,
    seed: int,
    rules: Rules = INTERNATIONAL,
    *,
    cube: bool = False,
    workers: int = 1,
    paired: bool = True,
    chunk_streams: int = CHUNK_STREAMS,
    most_turns: int | None = None,
    luck: bool = False,
    luck_net: Path | None = None,
    stop: StopRule | None = None,
    file: Path | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_chunk: Callable[[Played], None] = lambda played: None,
) -> Duel:
    """Play a duel and return its figures, those so far after an interruption or a bot's fault.

    a, b: texts that `eval.players.load_player` knows, or bots, which must play by the same rules;
    a bot made otherwise can play with one worker only. n_games: at most so many; even if paired.
    cube: whether to play by all of the rules, with the cube for money or, with `match_to`, matches,
    of which n_games are played then. Without, the stake is always 1: of the rules the plays, the
    scoring scheme and the end of the game count, Jacoby's rule and `mars_with_cube` do not.
    Unpaired games have streams of their own with `a` in seat 0, for null tests. most_turns: turns
    after which a game is given up and counts 0, None = `eval.lockstep.MOST_TURNS`. luck: whether to
    take the luck of the dice out, by the net that ships or that of the file luck_net. stop: what
    ends it early, looked at after every chunk. file: where games are kept, and read from if some
    were played before. on_progress
    is called a few times a second, on_chunk with the games of every chunk, in order.

    Raises ConfigError for bad arguments and files, NardiError for a bot's fault or a worker that
    died before anything counts, KeyboardInterrupt likewise.
    """
    if n_games < 1 or (paired and n_games % 2):
        kind = "an even number from 2 up (each dice stream is played from both seats)"
        raise ConfigError(f"games '{n_games}'; accepted: {kind if paired else 'a number from 1'}")
    if seed < 0:
        raise ConfigError(f"seed '{seed}'; accepted: whole numbers from 0 up")
    for name, value in (("workers", workers), ("chunk_streams", chunk_streams)):
        if value < 1:
            raise ConfigError(f"{name} '{value}'; accepted: whole numbers from 1 up")
    if most_turns is not None and most_turns < 1:
        raise ConfigError(f"most_turns '{most_turns}'; accepted: whole numbers from 1 up")
    if luck_net is not None and not luck:
        raise ConfigError("a net to tell the luck by is given, but the luck is not told")
    if workers > 1 and not (isinstance(a, str) and isinstance(b, str)):
        raise ConfigError("several workers need bots that are named by texts; accepted: workers=1")
    plan = Plan(
        seed=seed,
        rules=rules,
        paired=paired,
        most_turns=most_turns,
        luck=luck,
        luck_net=luck_net,
        cube=cube,
    )
    with contextlib.ExitStack() as stack:
        games = Games(plan, (_loaded(a, rules, stack), _loaded(b, rules, stack)))
        kept = None if file is None else stack.enter_context(opened(file, _head(games)))
        games.warm_up()
        match = _Match(
            games, stop or StopRule(), cut(n_games // (2 if paired else 1), chunk_streams)
        )
        match.play(kept, workers, on_progress, on_chunk)
        return match.duel()


def _loaded(bot: str | Bot, rules: Rules, stack: contextlib.ExitStack) -> Bot:
    if isinstance(bot, str):
        loaded = load_player(bot, rules)
        stack.callback(loaded.close)
        return loaded
    if bot.rules != rules:
        raise ConfigError(f"bot '{bot.name}' plays by the rules {bot.rules}, the duel by {rules}")
    return bot


def _head(games: Games) -> dict[str, Any]:
    """What tells a duel from others: games of two with the same may stand in one file."""
    plan, meter = games.plan, games.meter
    return {
        "a": games.bots[0].name,
        "b": games.bots[1].name,
        "a_fingerprint": games.bots[0].fingerprint(),
        "b_fingerprint": games.bots[1].fingerprint(),
        "seed": plan.seed,
        "rules": plan.rules.as_dict(),
        "cube": plan.cube,
        "paired": plan.paired,
        "most_turns": plan.most_turns,
        "luck": None if meter is None else meter.fingerprint(),
    }


class _Match:
    """A duel while it is played."""

    def __init__(self, games: Games, stop: StopRule, chunks: Sequence[Chunk]) -> None:
        self._games = games
        self._stop = stop
        self._chunks = chunks
        self._tally = Tally(
            games_a_stream=2 if games.plan.paired else 1, has_luck=games.meter is not None
        )
        self._curve: list[Standing] = []
        self._ended: Ended | None = None
        self._fault: str | None = None
        self._n_from_file = 0
        self._start = time.perf_counter()
        # Looks happen at the ends of the chunks as they were cut, wherever a file's chunks end.
        self._looks = {sum(chunk) for chunk in chunks}

    def play(
        self,
        kept: DuelFile | None,
        workers: int,
        on_progress: Callable[[Progress], None],
        on_chunk: Callable[[Played], None],
    ) -> None:
        n_streams = sum(self._chunks[-1])
        for (first, n), played in kept.chunks if kept is not None else []:
            if first + n > n_streams or self._is_over():
                break
            self._count(played, on_chunk)
        done = self._tally.n_streams
        self._n_from_file = self._tally.n_games
        to_do = [
            (max(first, done), first + n - max(first, done))
            for first, n in self._chunks
            if first + n > done
        ]
        last_told = self._start = time.perf_counter()

        def tell(n_over: int) -> None:
            nonlocal last_told
            if (now := time.perf_counter()) - last_told >= PROGRESS_EVERY_S:
                last_told = now
                on_progress(Progress(self._n_from_file + n_over, self._standing().best))

        if self._is_over():
            return
        finished = play_chunks(self._games, to_do, workers, tell)
        try:
            with contextlib.closing(finished):
                for chunk, played in finished:
                    if kept is not None:
                        kept.append(chunk, played)
                    self._count(played, on_chunk)
                    if self._is_over():
                        break
        except KeyboardInterrupt:
            if self._tally.n_games == 0:
                raise
            self._ended = "interrupted"
        except NardiError as error:
            if self._tally.n_games == 0:
                raise
            self._ended, self._fault = "fault", str(error)

    def _is_over(self) -> bool:
        return self._ended is not None

    def _standing(self) -> Standing:
        tally = self._tally
        return Standing(tally.n_games, tally.ppg(), tally.adjusted())

    def _count(self, played: Played, on_chunk: Callable[[Played], None]) -> None:
        self._tally += played
        self._curve.append(self._standing())
        on_chunk(played)
        if self._stop and self._tally.n_streams in self._looks:
            self._ended = self._stop.verdict(self._curve[-1].best)

    def duel(self) -> Duel:
        games, tally = self._games, self._tally
        plan, meter = games.plan, games.meter
        return Duel(
            a=tally.side(games.bots[0].name, 0, plan.rules),
            b=tally.side(games.bots[1].name, 1, plan.rules),
            ppg=tally.ppg(),
            adjusted=tally.adjusted(),
            luck_net=None if meter is None else meter.name,
            n_games=tally.n_games,
            n_unfinished=tally.n_unfinished,
            points=tally.points(),
            cube=tally.cube,
            curve=tuple(self._curve),
            seed=plan.seed,
            rules=plan.rules,
            paired=plan.paired,
            stop=self._stop,
            ended=self._ended or "games",
            fault=self._fault,
            n_from_file=self._n_from_file,
            seconds=time.perf_counter() - self._start,
        )
