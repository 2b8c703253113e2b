"""Looking ahead: positions and plays valued by the rolls that may follow.

The value of a position at n plies (as GNU Backgammon counts) is the mean over the 21 rolls of its
value at n - 1 plies after the play that the net takes there without looking further; at 0 plies it
is the net's own. A play is worth what the position after it is worth, so a play at 1 ply has looked
at the opponent's replies to all his rolls.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from agent.candidates import Candidates, find_candidates
from agent.evaluator import Evaluator, FloatArray, checked_boards, swap_sides
from agent.kernels.replies import Nets, Room
from agent.kernels.tree import MAX_DEPTH, means_of_rolls, new_room, roll_values
from agent.move_filter import NORMAL, MoveFilter
from agent.net import ValueNet
from agent.ranking import RankedPlay, check_scoring
from engine.board import NUM_CHECKERS, Board, IntArray, borne_off, opp_borne_off
from engine.dice import check_roll
from engine.errors import ConfigError
from engine.moves import bans, check_batch, check_running, legal_plays
from engine.rules import INTERNATIONAL, Rules
from engine.variant import variant_of

__all__ = ["DEFAULT_CACHE_BYTES", "MAX_DEPTH", "CacheCounts", "Searcher", "check_ply"]

DEFAULT_CACHE_BYTES: Final = 64 << 20
"""Memory of the evaluation caches of all threads of a searcher together."""

_KEEP: Final = 5
_WINDOW: Final = 0.2
_ROLLS_A_TASK: Final = {1: 21, 2: 7}  # 1 from depth 3 on

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
        keep: int = _KEEP,
        window: float = _WINDOW,
    ) -> None:
        """sorter: a small net by which the plays inside the tree are sorted; the evaluator's net
        then values the first `keep` of them, as far as they are at most `window` points behind the
        first. Without one it values them all. cache_bytes: for all threads together."""
        self.evaluator = evaluator
        self.threads = threads
        self._small = sorter or evaluator.net
        self._keep = keep if sorter else 0
        self._window = np.float32(window)
        net, small = evaluator.net, self._small
        cache_bytes //= threads
        self._rooms: list[Room] = [
            new_room(net.contact, net.race, small.contact, small.race, cache_bytes, 5)
            for _ in range(threads)
        ]
        self._generations: dict[Any, int] = {}
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def probabilities(
        self, boards: ArrayLike, ply: int, rules: Rules = INTERNATIONAL
    ) -> FloatArray:
        """`(B, 5)` float32 for `(B, 26)` boards, each for its owner, who is on roll.

        Plays in the tree are legal and chosen by these rules; a kind of win that they do not know
        keeps its probability. Raises as `Evaluator.probabilities`, `check_scoring` and `check_ply`
        do.
        """
        nets = self._nets(rules)
        b = checked_boards(boards)
        with self._lock:
            probs = self.evaluator.probabilities(b)
            if check_ply(ply) > 0:
                over = (borne_off(b) == NUM_CHECKERS) | (opp_borne_off(b) == NUM_CHECKERS)
                running = np.flatnonzero(~over)
                probs[running] = _look(self._run, nets, 0, b[running], ply)
        return probs

    def choose(
        self,
        boards: ArrayLike,
        rolls: ArrayLike,
        ply: int,
        rules: Rules = INTERNATIONAL,
        move_filter: MoveFilter = NORMAL,
    ) -> Board:
        """The best afterstate of each position, `(B, 26)` int8: the first play of `rank`."""
        nets = self._nets(rules)
        b, faces = check_batch(boards, rolls)
        check_ply(ply)
        flip = variant_of(rules).flip
        out = np.empty_like(b)

        def task(i: int) -> Task:
            def choose_one(room: Room) -> None:
                roll = int(faces[i, 0]), int(faces[i, 1])
                rows, opp_probs, _ = _find(nets, room, b[i], roll)
                candidates = Candidates(rows, opp_probs, nets.weights)
                if len(rows) > 1:
                    look = partial(_look, partial(_run_in, room), nets, 1)
                    candidates.look_ahead(flip(rows), ply, move_filter, look, to_choose=True)
                out[i] = rows[candidates.order()[0]]

            return choose_one

        with self._lock:
            self._run([task(i) for i in range(len(b))])
        return out

    def rank(
        self,
        board: ArrayLike,
        roll: Sequence[int],
        ply: int,
        rules: Rules = INTERNATIONAL,
        move_filter: MoveFilter = NORMAL,
    ) -> list[RankedPlay]:
        """All legal plays of a roll: those that were looked at deepest first, then by equity.

        Of equal equity: the one with more checkers off, then in the order of `legal_plays`. Raises
        PositionError for a board or roll that cannot occur and for a finished game, ConfigError as
        `check_scoring` and `check_ply` do.
        """
        nets = self._nets(rules)
        check_ply(ply)
        b = check_running(board)
        faces = check_roll(roll)
        afterstates, plays = legal_plays(b, faces, rules)
        with self._lock:
            _, opp_probs, _ = _find(nets, self._rooms[0], b, faces)
            candidates = Candidates(afterstates, opp_probs, nets.weights)
            look = partial(_look, self._run, nets, 1)
            opp_boards = variant_of(rules).flip(afterstates)
            candidates.look_ahead(opp_boards, ply, move_filter, look, to_choose=False)
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
            )
            for i in candidates.order()
        ]

    def cache_counts(self) -> CacheCounts:
        """How often values were looked up so far, and found, in all caches."""
        caches = [room.cache for room in self._rooms]
        return CacheCounts(
            lookups=sum(int(c.counts[0]) for c in caches),
            hits=sum(int(c.counts[1]) for c in caches),
            n_bytes=sum(a.nbytes for c in caches for a in (c.keys, c.tags, c.values)),
        )

    def evaluations(self) -> int:
        """Positions valued by the net so far, those of the sorter not counted."""
        return self.evaluator.n_evaluated + sum(int(room.cache.counts[2]) for room in self._rooms)

    def fingerprint(self) -> str:
        """Text that is another one for nets or settings by which values would be others."""
        sorter = f"{self._small.checksum()} {self._keep} {self._window}" if self._keep else "none"
        return f"{self.evaluator.net.checksum()} sorter {sorter}"

    def _nets(self, rules: Rules) -> Nets:
        """The nets with what else values depend on."""
        check_scoring(rules)
        net, small = self.evaluator.net, self._small
        weights = np.array([[2, 1, 1, -1, -1, -1]] * 2, dtype=np.float32)
        if rules.scoring == "oin_mars_12":
            weights[:, [2, 4]] = 0
        ban_hide, bear_off_ban = bans(rules)
        kind = (weights.tobytes(), ban_hide, bear_off_ban)
        with self._lock:
            generation = self._generations.setdefault(kind, len(self._generations) + 1)
        return Nets(
            contact=net.contact,
            race=net.race,
            small_contact=small.contact,
            small_race=small.race,
            keep=self._keep,
            window=self._window,
            weights=weights,
            two_sided=0,
            ban_hide=ban_hide,
            bear_off_ban=bear_off_ban,
            generation=generation,
        )

    def _run(self, tasks: Sequence[Task]) -> None:
        """Have the threads do the tasks, each in a room of its own."""
        if self.threads == 1 or len(tasks) < 2:
            _run_in(self._rooms[0], tasks)
            return
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.threads)
        waiting = iter(tasks)
        for done in [self._executor.submit(_run_in, room, waiting) for room in self._rooms]:
            done.result()


def _run_in(room: Room, tasks: Iterable[Task]) -> None:
    for task in tasks:
        task(room)


def _find(
    nets: Nets, room: Room, board: Board, roll: tuple[int, int]
) -> tuple[Board, FloatArray, IntArray]:
    forbidden = nets.ban_hide, nets.bear_off_ban
    scratch = room.tree.scratch
    found = find_candidates(
        nets.contact, nets.race, room.work, scratch, board, roll, forbidden, nets.weights
    )
    room.cache.counts[2] += len(found[0])
    return found


def _look(run: Run, nets: Nets, side: int, boards: Board, depth: int) -> FloatArray:
    """Values at a depth of running games with this side on roll; `run` shares each by its rolls.

    What is added up, and in what order, does not depend on who does which task.
    """
    rows = np.empty((len(boards), 21, 5), dtype=np.float32)
    step = _ROLLS_A_TASK.get(depth, 1)

    def task(row: int, first: int) -> Task:
        last = first + step
        return lambda room: roll_values(
            nets, room, boards[row], side, depth, first, last, rows, row
        )

    run([task(row, first) for row in range(len(boards)) for first in range(0, 21, step)])
    values = np.empty((len(boards), 5), dtype=np.float32)
    means_of_rolls(rows, values)
    return values
