"""Duels: cubeless money games of two bots on paired dice, with standard errors over the pairs.

Pair p plays the dice stream (seed, p) twice, the second time with seats swapped, so that part of
the luck of the dice cancels. Streams are played in chunks of a fixed size, in this process or in
several; the figures are sums over all pairs and so the same for any number of workers.
"""

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot
from engine.errors import ConfigError, NardiError
from engine.rules import INTERNATIONAL, Rules
from engine.scoring import KINDS
from engine.variant import variant_of
from eval.lockstep import Played, play_games
from eval.players import load_player
from eval.stats import Estimate, Moments

__all__ = ["CHUNK_STREAMS", "Duel", "Progress", "Side", "play_duel"]

CHUNK_STREAMS: Final = 128
"""Dice streams that are played side by side; fewer at first, to learn how fast the bots are."""

_MOST_POINTS: Final = max(len(kinds) for kinds in KINDS.values())
_PROGRESS_EVERY_S: Final = 0.2
_CHUNKS_AHEAD: Final = 4  # chunks waiting for each worker
_TRIAL_STREAMS: Final = 8
_WORTH_WORKERS_S: Final = 3.0  # starting workers takes a second or two of every one's time

_Chunk = tuple[int, int]  # first stream, number of streams
_Tell = Callable[[int], None]  # takes the number of games that are over
_Chunks = Generator[Played, None, None]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One bot's share of the games, as cumulative rates: a backgammon counts as a gammon."""

    bot: str
    """The text that names the bot."""
    win: float
    gammon: float
    backgammon: float


@dataclass(frozen=True, kw_only=True)
class Duel:
    """The figures of a duel, complete or as far as it got."""

    a: Side
    b: Side
    ppg: Estimate
    """Points per game of `a`; the error is over pairs of games (over games if unpaired)."""
    n_games: int
    """Games played: all of them, or fewer after an interruption."""
    n_unfinished: int
    """Those of them that were given up as endless (`most_turns`); they count 0."""
    seed: int
    rules: Rules
    paired: bool
    seconds: float
    """Wall-clock time, starting the workers included, compiling not."""
    interrupted: bool
    """Whether Ctrl-C ended it. Only whole chunks count, in order: games that are over early are
    not a fair sample of those begun."""


class Progress(NamedTuple):
    """How far a running duel is."""

    n_games: int
    """Games that are over, some of which do not count yet."""
    ppg: Estimate
    """Points per game of `a` in those that count."""


@dataclass(frozen=True)
class _Tally:
    """Counts from which all figures follow; parts add up exactly, in any order."""

    of_games: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(2 * _MOST_POINTS + 1, dtype=np.int64)
    )
    """Games by a's points, from -4 up."""
    of_streams: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(4 * _MOST_POINTS + 1, dtype=np.int64)
    )
    """Dice streams by the sum of a's points in their games, from -8 up."""
    games_a_stream: int = 2
    n_unfinished: int = 0

    def __add__(self, played: Played) -> "_Tally":
        points = played.points
        n_most = _MOST_POINTS
        games = np.bincount((points.ravel() + n_most).astype(np.int64), minlength=2 * n_most + 1)
        sums = points.sum(axis=1, dtype=np.int64) + 2 * n_most
        streams = np.bincount(sums, minlength=4 * n_most + 1)
        return _Tally(
            self.of_games + games,
            self.of_streams + streams,
            self.games_a_stream,
            self.n_unfinished + played.n_unfinished,
        )

    @property
    def n_games(self) -> int:
        return int(self.of_games.sum())

    def ppg(self) -> Estimate:
        sums = np.arange(-2 * _MOST_POINTS, 2 * _MOST_POINTS + 1)
        return Moments.of(sums / self.games_a_stream, self.of_streams).estimate()

    def side(self, bot: str, sign: int, rules: Rules) -> Side:
        """Rates of `a` (sign 1) or `b` (sign -1)."""
        kinds = KINDS[rules.scoring]
        wins = self.of_games[_MOST_POINTS:][1:] if sign > 0 else self.of_games[:_MOST_POINTS][::-1]
        backgammons = [int(n) for n, kind in zip(wins, kinds, strict=False) if kind.name == "koks"]
        n_games = max(self.n_games, 1)
        return Side(
            bot=bot,
            win=int(wins.sum()) / n_games,
            gammon=int(wins[1:].sum()) / n_games,
            backgammon=sum(backgammons) / n_games,
        )


def play_duel(
    a: str | Bot,
    b: str | Bot,
    n_games: int,
    seed: int,
    rules: Rules = INTERNATIONAL,
    *,
    workers: int = 1,
    paired: bool = True,
    chunk_streams: int = CHUNK_STREAMS,
    most_turns: int | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Duel:
    """Play a duel and return its figures, those so far after an interruption.

    a, b: texts that `eval.players.load_player` knows, or bots, which must play by the same rules;
    a bot made otherwise can play with one worker only. n_games: even if paired. The stake is
    always 1 and there is no cube: of the rules the plays, the scoring scheme and the end of the
    game count, Jacoby's rule and `mars_with_cube` do not. Unpaired games have streams of their own
    with `a` in seat 0, for null tests. most_turns: turns after which a game is given up and counts
    0, None = `eval.lockstep.MOST_TURNS`. on_progress is called a few times a second.

    Raises ConfigError for bad arguments, NardiError for a worker that died, KeyboardInterrupt if it
    comes before anything counts.
    """
    if n_games < 1 or (paired and n_games % 2):
        kind = "an even number from 2 up (each dice stream is played from both seats)"
        raise ConfigError(f"games '{n_games}'; accepted: {kind if paired else 'a number from 1'}")
    if seed < 0:
        raise ConfigError(f"seed '{seed}'; accepted: whole numbers from 0 up")
    if workers < 1:
        raise ConfigError(f"workers '{workers}'; accepted: whole numbers from 1 up")
    if chunk_streams < 1:
        raise ConfigError(f"chunk_streams '{chunk_streams}'; accepted: whole numbers from 1 up")
    bots = _loaded(a, rules), _loaded(b, rules)
    games_a_stream = 2 if paired else 1
    n_streams = n_games // games_a_stream
    chunks = _chunks(n_streams, chunk_streams)
    if most_turns is not None and most_turns < 1:
        raise ConfigError(f"most_turns '{most_turns}'; accepted: whole numbers from 1 up")
    if workers > 1 and not (isinstance(a, str) and isinstance(b, str)):
        raise ConfigError("several workers need bots that are named by texts; accepted: workers=1")
    _compile(bots, rules)

    start = time.perf_counter()
    tally = _Tally(games_a_stream=games_a_stream)
    interrupted = False
    last_told = start

    def tell(n_over: int) -> None:
        nonlocal last_told
        if (now := time.perf_counter()) - last_told >= _PROGRESS_EVERY_S:
            last_told = now
            on_progress(Progress(n_over, tally.ppg()))

    games = _Games(bots=bots, seed=seed, rules=rules, paired=paired, most_turns=most_turns)
    finished = _play(games, chunks, workers, tell)
    try:
        with contextlib.closing(finished):
            for played in finished:
                tally += played
    except KeyboardInterrupt:
        if tally.n_games == 0:
            raise
        interrupted = True
    return Duel(
        a=tally.side(bots[0].name, 1, rules),
        b=tally.side(bots[1].name, -1, rules),
        ppg=tally.ppg(),
        n_games=tally.n_games,
        n_unfinished=tally.n_unfinished,
        seed=seed,
        rules=rules,
        paired=paired,
        seconds=time.perf_counter() - start,
        interrupted=interrupted,
    )


def _loaded(bot: str | Bot, rules: Rules) -> Bot:
    if isinstance(bot, str):
        return load_player(bot, rules)
    if bot.rules != rules:
        raise ConfigError(f"bot '{bot.name}' plays by the rules {bot.rules}, the duel by {rules}")
    return bot


def _compile(bots: tuple[Bot, Bot], rules: Rules) -> None:
    """One decision of each bot, so that compiling is over (and kept for the workers to come)."""
    board = variant_of(rules).start[np.newaxis]
    for bot in bots:
        bot.choose(board, np.array([[3, 1]], dtype=np.int8), np.zeros(1))


# --- where the games are played ---


@dataclass(frozen=True, kw_only=True)
class _Games:
    """All that tells how the games of a dice stream go."""

    bots: tuple[Bot, Bot]
    seed: int
    rules: Rules
    paired: bool
    most_turns: int | None

    def play(self, chunk: _Chunk, on_turn: Callable[[int], None]) -> Played:
        return play_games(
            self.bots,
            self.seed,
            *chunk,
            self.rules,
            paired=self.paired,
            most_turns=self.most_turns,
            on_turn=on_turn,
        )


def _chunks(n_streams: int, chunk_streams: int) -> list[_Chunk]:
    """All streams, cut in the same way whoever plays them."""
    n_trial = min(_TRIAL_STREAMS, chunk_streams, n_streams)
    rest = range(n_trial, n_streams, chunk_streams)
    return [(0, n_trial), *((first, min(chunk_streams, n_streams - first)) for first in rest)]


def _play(games: _Games, chunks: list[_Chunk], workers: int, tell: _Tell) -> _Chunks:
    """The games of each chunk, in order; played here until it shows that workers pay."""
    n_over = 0

    def on_turn(n_games: int) -> None:
        nonlocal n_over
        n_over += n_games
        tell(n_over)

    most_streams = max(n_streams for _, n_streams in chunks)
    n_left = sum(n_streams for _, n_streams in chunks)
    for number, chunk in enumerate(chunks, 1):
        start = time.perf_counter()
        yield games.play(chunk, on_turn)
        n_left -= chunk[1]
        # A full chunk takes as long as this one at least, so the rest takes this at least.
        seconds = (time.perf_counter() - start) * n_left / most_streams
        n_chunks = len(chunks) - number
        if workers > 1 and n_chunks > 1 and seconds > _WORTH_WORKERS_S:
            yield from _play_there(games, chunks[number:], min(workers, n_chunks), n_over, tell)
            return


def _play_there(
    games: _Games, chunks: list[_Chunk], workers: int, n_before: int, tell: _Tell
) -> _Chunks:
    """The games of each chunk, in order, played in processes of their own.

    n_before: number of games that were over before.
    """
    context = multiprocessing.get_context("spawn")
    stop, n_over = context.Event(), context.Value("q", 0)
    names = games.bots[0].name, games.bots[1].name
    waiting: deque[tuple[_Chunk, Future[Played]]] = deque()
    to_do = iter(chunks)
    with ProcessPoolExecutor(
        workers,
        context,
        initializer=_start_worker,
        initargs=(
            *names,
            games.seed,
            games.rules,
            games.paired,
            games.most_turns,
            stop,
            n_over,
        ),
    ) as pool:
        try:
            for _ in chunks:
                for chunk in itertools.islice(to_do, workers * _CHUNKS_AHEAD - len(waiting)):
                    with _interrupts_wait():
                        waiting.append((chunk, pool.submit(_play_in_worker, chunk)))
                chunk, future = waiting.popleft()
                while not future.done():
                    concurrent.futures.wait([future], timeout=_PROGRESS_EVERY_S)
                    tell(n_before + n_over.value)
                yield future.result()
        except BrokenProcessPool:
            raise NardiError(
                f"a worker of {names[0]} against {names[1]} ended without a word while games from"
                f" dice stream {chunk[0]} on were played, seed {games.seed}; if memory is short,"
                " use fewer workers"
            ) from None
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Hold Ctrl-C back while a worker may be started: it inherits that, and so never gets one.

    The terminal sends Ctrl-C to all processes; only the main one is to answer.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- inside a worker process ---


class _Worker(NamedTuple):
    games: _Games
    stop: Any
    """Event: the duel is over."""
    n_over: Any
    """Shared number of games that are over."""

    def on_turn(self, n_games: int) -> None:
        if self.stop.is_set():
            raise _StoppedError
        if n_games:
            with self.n_over.get_lock():
                self.n_over.value += n_games


class _StoppedError(Exception):
    """The main process wants no more games."""


_worker: _Worker  # of this process; set by `_start_worker`


def _start_worker(
    a: str,
    b: str,
    seed: int,
    rules: Rules,
    paired: bool,
    most_turns: int | None,
    stop: Any,
    n_over: Any,
) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    bots = load_player(a, rules), load_player(b, rules)
    games = _Games(bots=bots, seed=seed, rules=rules, paired=paired, most_turns=most_turns)
    _worker = _Worker(games, stop, n_over)


def _end_with_parent() -> None:
    """End this worker when the main process is gone, which may not have had time to say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _play_in_worker(chunk: _Chunk) -> Played:
    return _worker.games.play(chunk, _worker.on_turn)
