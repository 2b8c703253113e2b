"""Rollouts: what a position is worth by playing it out many times, with standard errors.

Dice depend on the seed and the number of the trial alone, so the figures are the same for any
number of threads, and candidates are compared on the same dice. The first two throws of a trial are
stratified: every 36 trials see each first throw once, every 1,296 each pair of first and second
throw once. docs/rollouts.md tells the method.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from agent.cube_judge import exact_equities_hold
from agent.cube_states import NO_CUBE
from agent.cube_table import counts_single, cube_table, may_double
from agent.kernels.cube import TURNABLE
from agent.kernels.replies import Nets
from agent.kernels.rollout import ENDS, Plan, new_scratch_of_trials, play_trials
from agent.kernels.tree import MAX_DEPTH, new_room
from agent.met import MatchEquityTable
from agent.move_filter import NORMAL, MoveFilter
from agent.net import ValueNet
from agent.ranking import check_kinds_told
from agent.search import SORTED_KEPT, SORTED_WINDOW
from agent.situation import Situation
from engine.bearoff.arrays import BearoffArrays
from engine.bearoff.lookup import covers, cubeless, fits_rules
from engine.board import NUM_CHECKERS, Board, borne_off, opp_borne_off
from engine.dice_stream import game_states
from engine.errors import ConfigError
from engine.moves import check_running
from engine.rules import INTERNATIONAL, Rules
from engine.variant import play_switches, variant_of

__all__ = [
    "DEFAULT_TRIALS",
    "Line",
    "Roller",
    "Rollout",
    "RolloutSettings",
    "Start",
    "first_throws",
    "why_no_rollout",
]

FloatArray = NDArray[np.float64]

DEFAULT_TRIALS: Final = 1296
LEAST_TRIALS: Final = 144
"""Trials before which no width is trusted."""

_INTERVAL: Final = 1.96  # of a 95% interval, in standard errors
_ROUND: Final = 36
_TASK: Final = 6  # trials a thread plays before it looks for more
_TURNS: Final = 8  # of the cube in one trial; one that stands higher stays where it is
_CACHE_BYTES: Final = 64 << 20

Settled = Literal["over", "exact", "decided", "valued"]
Ended = Literal["trials", "width", "settled"]

_ALIKE: Final = ("over", "exact", "valued")
"""If one of these holds, no dice are thrown and all trials are the same."""


def why_no_rollout(rules: Rules) -> str | None:
    """Why positions cannot be rolled out by these rules, in words; None if they can."""
    if rules.end_rule != "no_draw":
        return (
            f"end_rule={rules.end_rule}: who has a last throw depends on who began the game, which"
            " no position tells; accepted: end_rule=no_draw"
        )
    return None


@dataclass(frozen=True, kw_only=True)
class RolloutSettings:
    """How much is played, and how. Raises ConfigError for what does not fit."""

    trials: int = DEFAULT_TRIALS
    """Trials of each line, at most."""
    truncate: int | None = None
    """Plies after which a trial is cut and valued by the net; None = played to the end."""
    luck: bool = True
    """Whether the luck of the dice is taken off."""
    ply: int = 0
    """Depth at which plays are chosen, and cut trials valued."""
    until_width: float | None = None
    """Half-width of a 95% interval, in points per game, at which to stop; None = never: of the
    difference between the two best plays, or of the equity where nothing is compared."""
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        self._check("trials", 1, 100_000_000)
        if self.truncate is not None:
            self._check("truncate", 0, 1_000_000)
        self._check("ply", 0, MAX_DEPTH)
        self._check("seed", 0, None)
        self._check("threads", 1, 1_024)
        width = self.until_width
        if width is not None and not 0 < width < np.inf:
            raise ConfigError(f"width '{width}' does not fit; accepted: points above 0")

    def _check(self, name: str, least: int, most: int | None) -> None:
        value = getattr(self, name)
        good = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if not good or (most is not None and value > most):
            accepted = f"{least} up" if most is None else f"{least} to {most:,}"
            raise ConfigError(
                f"{name} '{value}' does not fit; accepted: whole numbers from {accepted}"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Start:
    """What one line of a rollout begins with; made by `Roller`."""

    board: Board
    """`(26,)` int8, seen by the side on roll."""
    side: int
    """0 if that is the side whose figures are told, else 1."""
    state: int
    """Of the cube table."""
    may_double: bool
    """Whether the side on roll may double before its first roll."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """What one start has come to, for side 0."""

    probs: FloatArray
    """`(5,)` cumulative probabilities, kept in order: with luck taken off a rare one may come out
    below 0, which `equity` still counts as it is."""
    stderr_probs: FloatArray
    equity: float
    """Points per game and present stake; at a score the equivalent, as `agent.cube` tells."""
    stderr: float
    """Standard error of `equity`."""
    diff: float
    """Equity less that of the best line, 0 or negative."""
    stderr_diff: float
    """Standard error of `diff`, from the trials' differences on the same dice."""
    ends: dict[str, int]
    """How many trials ended how, see `agent.kernels.rollout.ENDS`; those that occurred."""
    mean_plies: float
    settled: Settled | None
    """Why there can be no spread: the game is over, exactly known, decided, or just valued."""

    @property
    def suspicious(self) -> bool:
        """Whether all trials came to the same value although nothing says they must."""
        return self.stderr == 0 and self.settled is None


@dataclass(frozen=True, kw_only=True, eq=False)
class Rollout:
    """All lines after so many trials of each."""

    lines: tuple[Line, ...]
    """In the order of the starts."""
    trials: int
    ended: Ended | None
    """Why no more is played; None if it goes on."""

    @property
    def order(self) -> list[int]:
        """Numbers of the lines, the highest equity first."""
        return sorted(range(len(self.lines)), key=lambda i: -self.lines[i].equity)


def first_throws(seed: int, first: int, last: int) -> NDArray[np.int64]:
    """Stratified first two throws of trials first to last - 1, `(N, 2)`: 6 * (face - 1) + face - 1.

    Trials 36 g to 36 g + 35 have every first throw once and every second throw once; trials
    1,296 b to 1,296 b + 1,295 have every pair once, in an order that the seed and b give.
    """
    blocks = []
    for block in range(first // 1296, (last - 1) // 1296 + 1):
        sequence = np.random.SeedSequence(seed, spawn_key=(block, 1))
        generator = np.random.Generator(np.random.PCG64(sequence))
        row, column, face = (generator.permutation(36) for _ in range(3))
        groups = []
        for group in range(36):
            throws = generator.permutation(36)
            second = face[(row[group] + column[throws]) % 36]  # a Latin square, shuffled
            groups.append(np.column_stack([throws, second]))
        blocks.append(np.concatenate(groups))
    start = first // 1296 * 1296
    return np.ascontiguousarray(np.concatenate(blocks)[first - start : last - start])


class Roller:
    """A net, rules and settings that positions and plays are rolled out with.

    Not to be shared by threads; it uses threads of its own.
    """

    def __init__(
        self,
        net: ValueNet,
        settings: RolloutSettings,
        rules: Rules = INTERNATIONAL,
        *,
        situation: Situation | None = None,
        met: MatchEquityTable | None = None,
        tables: BearoffArrays | None = None,
        sorter: ValueNet | None = None,
        move_filter: MoveFilter = NORMAL,
    ) -> None:
        """situation: cube and score of a cubeful rollout, seen by the side whose figures are told;
        None = no cube, money. tables: of endings, which go before the net, and whose exact values
        end trials; None = without.
        sorter: a small net by which the plays of a roll are sorted before the net looks at the
        first of them. Raises ConfigError for rules that `why_no_rollout` refuses, and as
        `check_kinds_told` does.
        """
        if reason := why_no_rollout(rules):
            raise ConfigError(reason)
        if situation is None or not counts_single(situation):
            check_kinds_told(net, rules)
        self.settings = settings
        self.rules = rules
        self.situation = situation
        cubeless_rules = Rules(cube=False, scoring=rules.scoring)
        self.table = cube_table(situation or Situation(rules=cubeless_rules), _TURNS, met)
        self._has_cube = bool((self.table.payoff[:, TURNABLE] > 0).any())
        self._tables = tables if fits_rules(rules) else None
        self._exact = self._tables is not None
        if self._has_cube and situation is not None:
            self._exact = self._exact and exact_equities_hold(situation)
        self._move_filter = move_filter
        nets = _nets(net, sorter, rules, situation)
        small = sorter or net
        cache_bytes = _CACHE_BYTES // settings.threads if settings.ply > 1 else 0
        self._rooms = [
            (
                nets._replace(weights=np.zeros((2, 6), dtype=np.float32)),
                new_room(
                    net.playing.contact,
                    net.playing.race,
                    small.playing.contact,
                    small.playing.race,
                    self._tables,
                    cache_bytes,
                    5,
                    scheme=net.scheme,
                ),
                new_scratch_of_trials(self.table),
            )
            for _ in range(settings.threads)
        ]

    def position(self, board: Board) -> list[Start]:
        """Starts of a position before the roll of its owner, side 0.

        Without a cube, and where he may not double, one. Else two: not doubling at this roll, and
        a double that is taken. Raises PositionError for a finished game.
        """
        b = check_running(board, self.rules)
        starts = [Start(board=b, side=0, state=self.table.root, may_double=False)]
        if self._has_cube and self.situation is not None and may_double(self.situation):
            doubled = self.table.root_doubled
            starts.append(Start(board=b, side=0, state=doubled, may_double=False))
        return starts

    def plays(self, afterstates: Board) -> list[Start]:
        """Starts of the positions after plays of side 0, `(N, 26)` still seen by it."""
        flipped = variant_of(self.rules).flip(np.asarray(afterstates, dtype=np.int8))
        return [Start(board=b, side=1, state=self.table.root, may_double=True) for b in flipped]

    def roll_out(self, starts: Sequence[Start]) -> Iterator[Rollout]:
        """Play; yields how things stand after each round of trials, the last time with `ended`."""
        settings = self.settings
        settled = [self._settled(start) for start in starts]
        played = [_Played.zeros(0) for _ in starts]
        done = 0
        while True:
            last = min(done + max(_ROUND, done // 10 // _ROUND * _ROUND), settings.trials)
            rounds = self._round(starts, done, last)
            played = [old.longer(new) for old, new in zip(played, rounds, strict=True)]
            done = last
            lines = self._lines(played, settled)
            ended: Ended | None = "trials" if done == settings.trials else None
            # The two lines of a position are no choice: a third, that a double is passed, is known.
            compare = starts[0].side == 1
            if ended is None and self._is_narrow(lines, done, compare=compare):
                ended = "width"
            if all(why in _ALIKE for why in settled):
                ended = "settled"
            yield Rollout(lines=lines, trials=done, ended=ended)
            if ended is not None:
                return

    def _round(self, starts: Sequence[Start], first: int, last: int) -> "list[_Played]":
        throws = first_throws(self.settings.seed, first, last)
        dice = game_states(self.settings.seed, first, last - first)
        played = [_Played.zeros(last - first) for _ in starts]
        tasks = [
            (i, begin, min(begin + _TASK, last - first))
            for begin in range(0, last - first, _TASK)
            for i in range(len(starts))
        ]
        plans = [self._plan(start) for start in starts]
        # Streams move on as they are drawn from, and every line has the same ones.
        streams = [dice.copy() for _ in starts]
        waiting = iter(tasks)
        stop = threading.Event()

        def work(room: Any, tasks: Iterable[tuple[int, int, int]]) -> None:
            nets, buffers, scratch = room
            for i, begin, end in tasks:
                if stop.is_set():
                    return
                p = played[i]
                play_trials(
                    nets,
                    buffers,
                    self.table,
                    plans[i],
                    scratch,
                    throws,
                    streams[i],
                    begin,
                    end,
                    p.values,
                    p.ends,
                    p.plies,
                )

        if len(self._rooms) == 1:
            work(self._rooms[0], waiting)
            return played
        with ThreadPoolExecutor(len(self._rooms)) as executor:
            try:
                for future in [executor.submit(work, room, waiting) for room in self._rooms]:
                    future.result()
            finally:
                stop.set()
        return played

    def _plan(self, start: Start) -> Plan:
        counts, windows = self._move_filter.arrays()
        return Plan(
            board=np.array(start.board, dtype=np.int8),
            side=start.side,
            state=start.state,
            may_double=start.may_double,
            truncate=-1 if self.settings.truncate is None else self.settings.truncate,
            with_luck=self.settings.luck,
            ply=self.settings.ply,
            counts=counts,
            windows=windows,
            has_cube=self._has_cube,
            exact=self._exact,
        )

    def _settled(self, start: Start) -> Settled | None:
        board = start.board[np.newaxis]
        if NUM_CHECKERS in (borne_off(board)[0], opp_borne_off(board)[0]):
            return "over"
        if self._exact and covers(board, exactly=True)[0]:
            return "exact"
        settings = self.settings
        if settings.truncate == 0:
            return "valued"
        if settings.truncate == 1 and settings.luck and settings.ply == 0:
            return "valued"  # what is left without the luck of the one roll is the mean over all
        if self._tables is not None and covers(board)[0] and np.isin(cubeless(board), (0, 1)).all():
            return "decided"
        return None

    def _lines(
        self, played: "Sequence[_Played]", settled: Sequence[Settled | None]
    ) -> tuple[Line, ...]:
        unit, offset = self.table.unit, self.table.offset
        equities = [(p.values[:, 5] - offset) / unit for p in played]
        best = int(np.argmax([e.mean() for e in equities]))
        lines = []
        for p, equity, why in zip(played, equities, settled, strict=True):
            probs = p.values[:, :5]
            ends = np.bincount(p.ends, minlength=len(ENDS))
            lines.append(
                Line(
                    probs=_ordered(self._scored(probs.mean(axis=0))),
                    stderr_probs=self._scored(_stderr(probs)),
                    equity=float(equity.mean()),
                    stderr=float(_stderr(equity)),
                    diff=float(equity.mean() - equities[best].mean()),
                    stderr_diff=float(_stderr(equity - equities[best])),
                    ends={name: int(n) for name, n in zip(ENDS, ends, strict=True) if n},
                    mean_plies=float(p.plies.mean()),
                    settled=why,
                )
            )
        return tuple(lines)

    def _scored(self, probs: FloatArray) -> FloatArray:
        if self.rules.scoring == "oin_mars_12":
            probs[[2, 4]] = 0
        return probs

    def _is_narrow(self, lines: Sequence[Line], done: int, *, compare: bool) -> bool:
        width = self.settings.until_width
        if width is None or done < LEAST_TRIALS:
            return False
        if any(line.suspicious for line in lines):
            return False
        if compare and len(lines) > 1:
            second = sorted(lines, key=lambda line: -line.equity)[1]
            return _INTERVAL * second.stderr_diff <= width
        return _INTERVAL * max(line.stderr for line in lines) <= width


@dataclass(eq=False)
class _Played:
    """Trials of one line: `play_trials` tells what the arrays hold."""

    values: FloatArray
    ends: NDArray[np.int64]
    plies: NDArray[np.int64]

    @classmethod
    def zeros(cls, n: int) -> "_Played":
        return cls(np.zeros((n, 6)), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64))

    def longer(self, more: "_Played") -> "_Played":
        return _Played(
            np.concatenate([self.values, more.values]),
            np.concatenate([self.ends, more.ends]),
            np.concatenate([self.plies, more.plies]),
        )


def _ordered(probs: FloatArray) -> FloatArray:
    """The nearest probabilities, one after the other, that can be."""
    win, win_gammon, win_bg, lose_gammon, lose_bg = probs
    win = np.clip(win, 0, 1)
    win_gammon = np.clip(win_gammon, 0, win)
    lose_gammon = np.clip(lose_gammon, 0, 1 - win)
    bgs = np.clip(win_bg, 0, win_gammon), np.clip(lose_bg, 0, lose_gammon)
    return np.array([win, win_gammon, bgs[0], lose_gammon, bgs[1]])


def _stderr(values: FloatArray) -> FloatArray:
    """Standard error of the mean over the first axis; 0 of a single trial.

    Throws that are stratified make the true error a little smaller. Equal values give exactly 0.
    """
    n = len(values)
    if n < 2:
        return np.zeros(values.shape[1:])
    spread = np.asarray(values.std(axis=0, ddof=1) / n**0.5)
    return np.where((values == values[0]).all(axis=0), 0.0, spread)


def _nets(
    net: ValueNet, sorter: ValueNet | None, rules: Rules, situation: Situation | None
) -> Nets:
    small = sorter or net
    return Nets(
        contact=net.playing.contact,
        race=net.playing.race,
        small_contact=small.playing.contact,
        small_race=small.playing.race,
        keep=SORTED_KEPT if sorter else 0,
        window=np.float32(SORTED_WINDOW),
        weights=np.zeros((2, 6), dtype=np.float32),
        two_sided=int(situation is not None and situation.is_match),
        switches=play_switches(rules),
        generation=1,
        table=NO_CUBE,
        exact_cube=False,
    )
