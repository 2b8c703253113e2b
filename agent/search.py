"""Looking ahead: positions and plays valued by the rolls that may follow.

The value of a position at n plies (as GNU Backgammon counts) is the mean over the 21 rolls of its
value at n - 1 plies after the play that the net takes there without looking further; at 0 plies it
is the net's own. A play is worth what the position after it is worth, so a play at 1 ply has looked
at the opponent's replies to all his rolls.

With a situation (cube and score) the values of all states of the cube go through the tree beside
the probabilities, and plays are judged by their cubeful equity. Inside the tree plays are chosen by
cubeless equity at the score.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent.candidates import Candidates, find_candidates
from agent.cube_judge import exact_equities_hold
from agent.cube_states import NO_CUBE, choice_weights, doubling_values, equities, static_states
from agent.cube_table import counts_single
from agent.cube_values import table_of
from agent.evaluator import Evaluator, FloatArray, swap_sides
from agent.kernels.cube import CubeTable
from agent.kernels.replies import Nets, Room
from agent.kernels.tree import MAX_DEPTH, means_of_rolls, new_room, roll_values
from agent.met import MatchEquityTable
from agent.move_filter import NORMAL, MoveFilter
from agent.net import ValueNet
from agent.ranking import (
    RankedPlay,
    check_kinds_told,
    plays_like_usual,
    scoring_weights,
)
from agent.situation import Situation
from engine.bearoff.arrays import BearoffArrays
from engine.board import NUM_CHECKERS, Board, IntArray, borne_off, opp_borne_off
from engine.dice import check_roll
from engine.errors import ConfigError
from engine.moves import check_batch, check_boards, check_running, legal_plays
from engine.rules import INTERNATIONAL, LONG_NARDI, Rules
from engine.variant import play_switches, variant_of

__all__ = [
    "DEFAULT_CACHE_BYTES",
    "MAX_DEPTH",
    "SORTED_KEPT",
    "SORTED_WINDOW",
    "CacheCounts",
    "PositionValue",
    "Searcher",
    "check_ply",
]

DEFAULT_CACHE_BYTES: Final = 64 << 20
"""Memory of the evaluation caches of all threads of a searcher together."""

SORTED_KEPT: Final = 12
"""How many of the plays that the sorter has sorted the net values."""
SORTED_WINDOW: Final = 0.5
"""How far behind the first of them, in points by the sorter, they may be."""
_ROLLS_A_TASK: Final = {1: 21, 2: 7}  # 1 from depth 3 on
_GROWTH: Final = 22  # a depth takes so many times as long as the one before, without a cache

Task = Callable[[Room], None]
Run = Callable[[Sequence[Task]], None]


def check_ply(ply: int) -> int:
    """The same number. Raises ConfigError for a depth that cannot be searched."""
    if isinstance(ply, bool) or not isinstance(ply, int) or not 0 <= ply <= MAX_DEPTH:
        raise ConfigError(f"ply '{ply}' does not fit; accepted: 0 to {MAX_DEPTH}")
    return ply


@dataclass(frozen=True, kw_only=True)
class CacheCounts:
    """What became of the evaluation caches of a searcher."""

    lookups: int
    hits: int
    n_bytes: int
    """Memory of the entries, used or not."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionValue:
    """What a position is worth to the side on roll, cube and score considered."""

    probs: FloatArray
    """`(5,)` float32, cumulative."""
    states: NDArray[np.float64]
    """`(S,)` worths of the states of `table` without doubling now: `values` of `cube_decision`."""
    table: CubeTable
    cubeful: float
    """Equity with the right cube actions from now on, in points per game and present stake, at a
    score its equivalent."""
    ply: int


class _OutOfTime(Exception):
    """A look was given up; what is known stays as it was."""


class Searcher:
    """A net that looks ahead, with threads, scratch and caches of its own.

    May be shared by threads, which then wait for each other. Values do not depend on the number of
    threads, on the size of the cache or on what was asked before.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        sorter: ValueNet | None = None,
        *,
        threads: int = 1,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        keep: int = SORTED_KEPT,
        window: float = SORTED_WINDOW,
    ) -> None:
        """sorter: a small net by which the plays inside the tree are sorted; the evaluator's net
        then values the first `keep` of them, as far as they are at most `window` points behind the
        first. Without one it values them all. cache_bytes: for all threads together."""
        self.evaluator = evaluator
        self.threads = threads
        self._small = sorter or evaluator.net
        self._keep = keep if sorter else 0
        self._window = np.float32(window)
        self._cache_bytes = cache_bytes // threads
        self._rooms: list[Room] = []
        self._tables: BearoffArrays | None = None
        self._width = 0
        self._make_rooms(5, evaluator.tables)
        self._generations: dict[Any, int] = {}
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def _make_rooms(self, width: int, tables: BearoffArrays | None) -> None:
        """Rooms for values of up to `width` numbers; what older ones have cached is forgotten."""
        if width <= self._width and tables is self._tables:
            return
        width = max(width, self._width)
        counts = self.cache_counts()
        valued = self._num_valued()
        net, small = self.evaluator.net, self._small
        self._rooms = [
            new_room(
                net.playing.contact,
                net.playing.race,
                small.playing.contact,
                small.playing.race,
                tables,
                self._cache_bytes,
                width,
                scheme=net.scheme,
            )
            for _ in range(self.threads)
        ]
        self._rooms[0].cache.counts[:] = counts.lookups, counts.hits, valued
        self._width, self._tables = width, tables

    def warm_up(self) -> None:
        """Have everything compiled and ready, so that what follows takes the time it takes."""
        rules = LONG_NARDI if self.evaluator.net.is_long else INTERNATIONAL
        self.rank(variant_of(rules).start, (3, 1), 1, rules)

    def probabilities(
        self, boards: ArrayLike, ply: int, rules: Rules = INTERNATIONAL
    ) -> FloatArray:
        """`(B, 5)` float32 for `(B, 26)` boards, each for its owner, who is on roll.

        Plays in the tree are legal and chosen by these rules; a kind of win that they do not know
        keeps its probability. Raises as `Evaluator.probabilities`, `check_kinds_told`, `check_ply`
        do.
        """
        b = check_boards(boards, rules)
        check_ply(ply)
        with self._lock:
            nets = self._nets(rules)
            probs = self.evaluator.for_rules(rules).probabilities(b)
            if ply > 0:
                running = np.flatnonzero(~_is_over(b))
                probs[running] = _look(self._run, nets, 0, b[running], ply)
        return probs

    def evaluate(
        self,
        board: ArrayLike,
        ply: int,
        situation: Situation,
        met: MatchEquityTable | None = None,
    ) -> PositionValue:
        """What a position is worth to the situation's mover, on roll, before he doubles or not.

        board: `(26,)`; met: None = Kazaross-XG2. Raises PositionError for a board that cannot be,
        ConfigError as `agent.cube_table.cube_table` and `check_ply` do.
        """
        b = check_boards(np.asarray(board)[np.newaxis], situation.rules)
        check_ply(ply)
        with self._lock:
            nets = self._nets(situation.rules, situation, ply, met)
            table = nets.table
            probs = self.evaluator.for_rules(situation.rules).probabilities(b)
            nd = static_states(table, 0, b, probs, situation, self.evaluator.tables)
            if ply > 0 and not _is_over(b)[0]:
                value = _look(self._run, nets, 0, b, ply)
                probs, nd = value[:, :5], value[:, 5:].astype(np.float64)
        best = doubling_values(table, 0, nd)
        return PositionValue(
            probs=probs[0],
            states=nd[0],
            table=table,
            cubeful=float(equities(table, 0, best)[0]),
            ply=ply,
        )

    def choose(
        self,
        boards: ArrayLike,
        rolls: ArrayLike,
        ply: int,
        rules: Rules = INTERNATIONAL,
        move_filter: MoveFilter = NORMAL,
    ) -> Board:
        """The best afterstate of each position, `(B, 26)` int8: the first play of `rank`."""
        b, faces = check_batch(boards, rolls, rules)
        if check_ply(ply) == 0 and plays_like_usual(rules):
            with self._lock:
                return self.evaluator.for_rules(rules).choose(b, faces, rules)
        flip = variant_of(rules).flip
        out = np.empty_like(b)

        def choose_one(nets: Nets, i: int, room: Room) -> None:
            rows, opp_probs, _ = _find(nets, room, b[i], (int(faces[i, 0]), int(faces[i, 1])))
            candidates = Candidates(rows, opp_probs, nets.weights)
            if len(rows) > 1:
                look = partial(_look, partial(_run_in, room), nets, 1)
                candidates.look_ahead(flip(rows), ply, move_filter, look, to_choose=True)
            out[i] = rows[candidates.order()[0]]

        with self._lock:
            nets = self._nets(rules)
            self._run([partial(choose_one, nets, i) for i in range(len(b))])
        return out

    def rank(
        self,
        board: ArrayLike,
        roll: Sequence[int],
        ply: int,
        rules: Rules = INTERNATIONAL,
        move_filter: MoveFilter = NORMAL,
        situation: Situation | None = None,
        seconds: float | None = None,
        met: MatchEquityTable | None = None,
        to_choose: bool = False,
    ) -> list[RankedPlay]:
        """All legal plays of a roll: those that were looked at deepest first, then by equity.

        situation: cube and score, the mover's; its rules hold then. Plays are judged by their
        cubeful equity in it, without one by their cubeless equity. seconds: go on to deeper and
        wider looks, as far as `ply`, while there is time; the result then depends on the machine.
        to_choose: a play that alone passes the filter needs no further look.
        Of equal plays the one of higher cubeless equity is first, then the one with more checkers
        off, then in the order of `legal_plays`. Raises PositionError for a board or roll that
        cannot occur and for a finished game, ConfigError as `check_kinds_told`, `check_ply` do.
        """
        rules = rules if situation is None else situation.rules
        check_ply(ply)
        b = check_running(board, rules)
        faces = check_roll(roll)
        afterstates, plays = legal_plays(b, faces, rules)
        opp_boards = variant_of(rules).flip(afterstates)
        with self._lock:
            nets = self._nets(rules, situation, ply, met)
            _, opp_values, _ = _find(nets, self._rooms[0], b, faces)
            cubeful = None
            if situation is not None:
                tables = self.evaluator.tables
                nd = static_states(nets.table, 1, opp_boards, opp_values, situation, tables)
                opp_values = np.concatenate([opp_values, nd.astype(np.float32)], axis=1)
                cubeful = partial(_cubeful_of_opponent, nets.table)
            candidates = Candidates(afterstates, opp_values, nets.weights, cubeful)
            if seconds is None:
                look = partial(_look, self._run, nets, 1)
                candidates.look_ahead(opp_boards, ply, move_filter, look, to_choose=to_choose)
            else:
                end = time.monotonic() + seconds
                self._look_in_time(
                    candidates, opp_boards, nets, ply, move_filter, end, to_choose=to_choose
                )
        opp_probs = candidates.opp_values[:, :5].copy()
        if rules.scoring == "oin_mars_12":
            opp_probs[:, [2, 4]] = 0
        probs = swap_sides(opp_probs)
        return [
            RankedPlay(
                afterstate=afterstates[i],
                steps=plays[i],
                probs=probs[i],
                equity=candidates.equity[i],
                ply=int(candidates.depth[i]),
                cubeful=None if situation is None else float(candidates.worth[i]),
            )
            for i in candidates.order()
        ]

    def _look_in_time(
        self,
        candidates: Candidates,
        opp_boards: Board,
        nets: Nets,
        ply: int,
        move_filter: MoveFilter,
        end: float,
        *,
        to_choose: bool,
    ) -> None:
        """Look deeper until a time, then at more plays as deep."""

        def tasks_in_time(tasks: Sequence[Task]) -> Iterator[Task]:
            for task in tasks:
                if time.monotonic() > end:
                    raise _OutOfTime
                yield task

        look = partial(_look, lambda tasks: self._run(tasks_in_time(tasks)), nets, 1)
        spent = 0.0  # for each play of the last depth
        try:
            for depth in range(1, ply + 1):
                plays = candidates.passing(depth, move_filter)
                if to_choose and len(plays) == 1:
                    return
                start = time.monotonic()
                if start + _GROWTH * spent * len(plays) > end:
                    break
                candidates.look_at(plays, opp_boards, depth, look)
                spent = (time.monotonic() - start) / len(plays)
            deepest = int(candidates.depth.max())
            for play in candidates.order():
                if deepest > 0 and candidates.depth[play] < deepest:
                    candidates.look_at(np.array([play]), opp_boards, deepest, look)
        except _OutOfTime:
            return

    def cache_counts(self) -> CacheCounts:
        """How often values were looked up so far, and found, in all caches."""
        caches = [room.cache for room in self._rooms]
        return CacheCounts(
            lookups=sum(int(c.counts[0]) for c in caches),
            hits=sum(int(c.counts[1]) for c in caches),
            n_bytes=sum(a.nbytes for c in caches for a in (c.keys, c.tags, c.values)),
        )

    def _num_valued(self) -> int:
        return sum(int(room.cache.counts[2]) for room in self._rooms)

    def evaluations(self) -> int:
        """Positions valued by the net so far, those of the sorter not counted."""
        return self.evaluator.evaluations() + self._num_valued()

    def fingerprint(self) -> str:
        """Text that is another one for nets or settings by which values would be others."""
        sorter = f"{self._small.checksum()} {self._keep} {self._window}" if self._keep else "none"
        return f"{self.evaluator.net.checksum()} sorter {sorter}"

    def _nets(
        self,
        rules: Rules,
        situation: Situation | None = None,
        ply: int = 0,
        met: MatchEquityTable | None = None,
    ) -> Nets:
        """The nets with what else values depend on."""
        net, small = self.evaluator.net, self._small
        table = NO_CUBE
        exact = False
        if situation is None or not counts_single(situation):
            check_kinds_told(net, rules, self.evaluator.name)
        if situation is None:
            weights = scoring_weights(rules)
        else:
            table = table_of(situation, ply, met)
            weights = choice_weights(table)
            exact = self.evaluator.tables is not None and exact_equities_hold(situation)
        self._make_rooms(5 + table.states, self.evaluator.for_rules(rules).tables)
        switches = play_switches(rules)
        kind = (weights.tobytes(), switches, None if situation is None else (situation, ply, met))
        generation = self._generations.setdefault(kind, len(self._generations) + 1)
        return Nets(
            contact=net.playing.contact,
            race=net.playing.race,
            small_contact=small.playing.contact,
            small_race=small.playing.race,
            keep=self._keep,
            window=self._window,
            weights=weights,
            two_sided=0 if situation is None else 1,
            switches=switches,
            generation=generation,
            table=table,
            exact_cube=exact,
        )

    def _run(self, tasks: Iterable[Task]) -> None:
        """Have the threads do the tasks, each in a room of its own."""
        if self.threads == 1:
            _run_in(self._rooms[0], tasks)
            return
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.threads)
        waiting = _Shared(tasks)
        for done in [self._executor.submit(_run_in, room, waiting) for room in self._rooms]:
            done.result()


class _Shared(Iterator[Task]):
    """An iterator from which several threads may take."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)
        self._lock = threading.Lock()

    def __next__(self) -> Task:
        with self._lock:
            return next(self._tasks)


def _run_in(room: Room, tasks: Iterable[Task]) -> None:
    for task in tasks:
        task(room)


def _is_over(boards: Board) -> NDArray[np.bool_]:
    over = (borne_off(boards) == NUM_CHECKERS) | (opp_borne_off(boards) == NUM_CHECKERS)
    return np.asarray(over)


def _cubeful_of_opponent(table: CubeTable, opp_values: FloatArray) -> NDArray[np.float64]:
    """The mover's cubeful equities of plays, from the opponent's values before he doubles."""
    nd = np.ascontiguousarray(opp_values[:, 5:], dtype=np.float64)
    return -equities(table, 1, doubling_values(table, 1, nd))


def _find(
    nets: Nets, room: Room, board: Board, roll: tuple[int, int]
) -> tuple[Board, FloatArray, IntArray]:
    scratch = room.tree.scratch
    found = find_candidates(
        nets.contact, nets.race, room.work, scratch, board, roll, nets.switches, nets.weights
    )
    room.cache.counts[2] += len(found[0])
    return found


def _look(run: Run, nets: Nets, side: int, boards: Board, depth: int) -> FloatArray:
    """Values `(B, K)` at a depth of running games with this side on roll.

    Behind the probabilities stand the values of the cube's states without doubling now. `run`
    shares each position by its rolls; what is added up, and in what order, does not depend on who
    does which task.
    """
    width = 5 + nets.table.states
    rows = np.empty((len(boards), 21, width), dtype=np.float32)
    step = _ROLLS_A_TASK.get(depth, 1)

    def task(row: int, first: int) -> Task:
        last = first + step
        return lambda room: roll_values(
            nets, room, boards[row], side, depth, first, last, rows, row
        )

    run([task(row, first) for row in range(len(boards)) for first in range(0, 21, step)])
    values = np.empty((len(boards), width), dtype=np.float32)
    means_of_rolls(rows, values)
    return values
