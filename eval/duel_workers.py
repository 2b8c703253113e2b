"""Where the games of a duel are played: chunk by chunk in this process, or in several.

Chunks come back in order whoever plays them, so what is made of them does not depend on it.
"""

import atexit
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
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from agent.bot import Bot
from engine.errors import NardiError
from engine.rules import Rules
from engine.variant import variant_of
from eval.lockstep import Played, play_games
from eval.luck import GameLuck, LuckMeter, load_luck_meter
from eval.players import load_player

if TYPE_CHECKING:
    from eval.cube_luck import CubeLuckMeter

__all__ = ["Chunk", "Games", "Plan", "cut", "play_chunks"]

PROGRESS_EVERY_S: Final = 0.2
_CHUNKS_AHEAD: Final = 4  # chunks waiting for each worker
_TRIAL_STREAMS: Final = 8
_WORTH_WORKERS_S: Final = 3.0  # starting workers takes a second or two of every one's time

Chunk = tuple[int, int]
"""First dice stream, number of streams."""

Chunks = Generator[tuple[Chunk, Played], None, None]
_Tell = Callable[[int], None]  # takes the number of games that are over


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that tells how the games of a dice stream go, but for the bots."""

    seed: int
    rules: Rules
    paired: bool
    most_turns: int | None
    luck: bool
    """Whether the luck of the dice is told."""
    luck_net: Path | None
    """The net to tell it by; None = the one that ships."""
    cube: bool = False
    """Whether the cube is played with, and matches if the rules have a length."""


class Games:
    """The games of a plan and two bots, ready to be played."""

    def __init__(self, plan: Plan, bots: tuple[Bot, Bot]) -> None:
        """Raises what loading the net for the luck raises."""
        self.plan = plan
        self.bots = bots
        self.meter: LuckMeter | CubeLuckMeter | None = None
        if plan.luck and plan.cube:
            from eval.cube_luck import load_cube_luck_meter

            self.meter = load_cube_luck_meter(plan.luck_net, plan.rules)
        elif plan.luck:
            self.meter = load_luck_meter(plan.luck_net, plan.rules)

    def warm_up(self) -> None:
        """One decision of each bot, so that compiling is over, and kept for the workers to come."""
        if self.plan.cube:
            self._play_cube((0, 1), lambda n_over: None, most_turns=2)
            return
        board = variant_of(self.plan.rules).start[np.newaxis]
        roll = np.array([[3, 1]], dtype=np.int8)
        for bot in self.bots:
            bot.choose(board, roll, np.zeros(1))
        if isinstance(self.meter, LuckMeter):
            self.meter.lucks(board, roll, np.ones(1, dtype=np.bool_))

    def play(self, chunk: Chunk, on_turn: Callable[[int], None]) -> Played:
        """The games of some streams; what on_turn raises goes through."""
        plan = self.plan
        if plan.cube:
            return self._play_cube(chunk, on_turn, plan.most_turns)
        luck = None
        if isinstance(self.meter, LuckMeter):
            luck = GameLuck(self.meter, chunk[1], 2 if plan.paired else 1)
        played = play_games(
            self.bots,
            plan.seed,
            *chunk,
            plan.rules,
            paired=plan.paired,
            most_turns=plan.most_turns,
            on_turn=on_turn,
            watch=luck.watch if luck is not None else lambda turns: None,
        )
        return played if luck is None else played._replace(luck=luck.units())

    def _play_cube(
        self, chunk: Chunk, on_turn: Callable[[int], None], most_turns: int | None
    ) -> Played:
        from eval.cube_games import play_cube_games
        from eval.cube_luck import CubeLuck, CubeLuckMeter

        plan = self.plan
        luck = None
        if isinstance(self.meter, CubeLuckMeter):
            luck = CubeLuck(self.meter, chunk[1], 2 if plan.paired else 1)
        played = play_cube_games(
            self.bots,
            plan.seed,
            *chunk,
            plan.rules,
            paired=plan.paired,
            most_turns=most_turns,
            on_turn=on_turn,
            watch=luck.watch if luck is not None else lambda turns: None,
        )
        return played if luck is None else played._replace(luck=luck.units())


def cut(n_streams: int, chunk_streams: int) -> list[Chunk]:
    """All streams, cut in the same way whoever plays them; the first chunk is a small trial."""
    n_trial = min(_TRIAL_STREAMS, chunk_streams, n_streams)
    rest = range(n_trial, n_streams, chunk_streams)
    return [(0, n_trial), *((first, min(chunk_streams, n_streams - first)) for first in rest)]


def play_chunks(games: Games, chunks: Sequence[Chunk], workers: int, tell: _Tell) -> Chunks:
    """Each chunk with its games, in order; played here until it shows that workers pay.

    Raises what the bots raise, and NardiError for a worker that died.
    """
    n_over = 0

    def on_turn(n_games: int) -> None:
        nonlocal n_over
        n_over += n_games
        tell(n_over)

    most_streams = max((n_streams for _, n_streams in chunks), default=0)
    n_left = sum(n_streams for _, n_streams in chunks)
    for number, chunk in enumerate(chunks, 1):
        start = time.perf_counter()
        yield chunk, games.play(chunk, on_turn)
        n_left -= chunk[1]
        # A full chunk takes as long as this one at least, so the rest takes this at least.
        seconds = (time.perf_counter() - start) * n_left / most_streams
        n_chunks = len(chunks) - number
        if workers > 1 and n_chunks > 1 and seconds > _WORTH_WORKERS_S:
            yield from _play_there(games, chunks[number:], min(workers, n_chunks), n_over, tell)
            return


def _play_there(
    games: Games, chunks: Sequence[Chunk], workers: int, n_before: int, tell: _Tell
) -> Chunks:
    """Each chunk with its games, in order, played in processes of their own.

    n_before: number of games that were over before.
    """
    context = multiprocessing.get_context("spawn")
    stop, n_over = context.Event(), context.Value("q", 0)
    names = games.bots[0].name, games.bots[1].name
    waiting: deque[tuple[Chunk, Future[Played]]] = deque()
    to_do = iter(chunks)
    with ProcessPoolExecutor(
        workers,
        context,
        initializer=_start_worker,
        initargs=(games.plan, names, stop, n_over),
    ) as pool:
        try:
            for _ in chunks:
                for chunk in itertools.islice(to_do, workers * _CHUNKS_AHEAD - len(waiting)):
                    with _interrupts_wait():
                        waiting.append((chunk, pool.submit(_play_in_worker, chunk)))
                chunk, future = waiting.popleft()
                while not future.done():
                    concurrent.futures.wait([future], timeout=PROGRESS_EVERY_S)
                    tell(n_before + n_over.value)
                yield chunk, future.result()
        except BrokenProcessPool:
            raise NardiError(
                f"a worker of {names[0]} against {names[1]} ended without a word while games from"
                f" dice stream {chunk[0]} on were played, seed {games.plan.seed}; if memory is"
                " short, use fewer workers"
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
    games: Games
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


def _start_worker(plan: Plan, names: tuple[str, str], stop: Any, n_over: Any) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    bots = load_player(names[0], plan.rules), load_player(names[1], plan.rules)
    for bot in bots:
        atexit.register(bot.close)
    _worker = _Worker(Games(plan, bots), stop, n_over)


def _end_with_parent() -> None:
    """End this worker when the main process is gone, which may not have had time to say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _play_in_worker(chunk: Chunk) -> Played:
    return _worker.games.play(chunk, _worker.on_turn)
