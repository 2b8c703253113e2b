"""Counts from which all figures of a duel follow; parts add up exactly, in any order."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.rules import Rules
from engine.scoring import KINDS
from eval.cube_tally import CubeCounts
from eval.lockstep import Played, Work
from eval.luck import LUCK_UNITS
from eval.stats import Estimate, Moments

__all__ = ["Side", "Tally", "adjusted_units"]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One bot's share of the games, as cumulative rates: a backgammon counts as a gammon."""

    bot: str
    """The text that names the bot."""
    win: float
    gammon: float
    backgammon: float
    work: Work = field(default_factory=Work, compare=False)
    """What its decisions have cost; the one figure that is not the same in every run."""


def adjusted_units(played: Played) -> NDArray[np.int64]:
    """Sum over each dice stream's games of a's points, less the luck if it was told.

    `(n_streams,)` in millionths of a point.
    """
    units: NDArray[np.int64] = LUCK_UNITS * played.points.sum(axis=1, dtype=np.int64)
    if played.luck is not None:
        units -= played.luck.sum(axis=1, dtype=np.int64)
    return units


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Of the games of some dice streams; grown with `+`."""

    games_a_stream: int = 2
    has_luck: bool = False
    of_games: Mapping[int, int] = field(default_factory=Counter)
    """Games by a's points, or matches by 1 and -1."""
    of_streams: Mapping[int, int] = field(default_factory=Counter)
    """Dice streams by the sum of a's points in their games."""
    adjusted_sum: int = 0
    """Of `adjusted_units` over all streams."""
    adjusted_sum_sq: int = 0
    n_unfinished: int = 0
    work: tuple[Work, Work] = (Work(), Work())
    cube: tuple[CubeCounts, CubeCounts] | None = None

    def __add__(self, played: Played) -> "Tally":
        points = played.points.astype(np.int64)
        units = adjusted_units(played).tolist()
        cube = self.cube
        if played.cube is not None:
            a, b = cube or (CubeCounts(), CubeCounts())
            cube = a.plus(played.cube[0]), b.plus(played.cube[1])
        return replace(
            self,
            of_games=Counter(self.of_games) + Counter(points.ravel().tolist()),
            of_streams=Counter(self.of_streams) + Counter(points.sum(axis=1).tolist()),
            adjusted_sum=self.adjusted_sum + sum(units),
            adjusted_sum_sq=self.adjusted_sum_sq + sum(unit * unit for unit in units),
            n_unfinished=self.n_unfinished + played.n_unfinished,
            work=(self.work[0].plus(played.work[0]), self.work[1].plus(played.work[1])),
            cube=cube,
        )

    @property
    def n_games(self) -> int:
        """Games, or matches."""
        return sum(self.of_games.values())

    @property
    def n_streams(self) -> int:
        return sum(self.of_streams.values())

    def points(self) -> dict[int, int]:
        """Number of games by a's points, those that occurred, from the lowest up."""
        return dict(sorted(self.of_games.items()))

    def ppg(self) -> Estimate:
        """Points per game of a, as played; in matches the mean of 1 and -1."""
        means = [total / self.games_a_stream for total in self.of_streams]
        return Moments.of(means, self.of_streams.values()).estimate()

    def adjusted(self) -> Estimate | None:
        """The same less the luck of the dice; None if it was not told."""
        if not self.has_luck:
            return None
        n, scale = self.n_streams, LUCK_UNITS * self.games_a_stream
        mean = self.adjusted_sum / n / scale if n else math.nan
        stderr = math.nan
        if n > 1:
            # Whole numbers up to here, so nothing is lost where the squares are large.
            spread = n * self.adjusted_sum_sq - self.adjusted_sum**2
            stderr = math.sqrt(spread / (n * n * (n - 1))) / scale
        return Estimate(mean=mean, stderr=stderr, n=n)

    def side(self, bot: str, number: int, rules: Rules) -> Side:
        """Rates of bot 0, a, or 1, b."""
        if self.cube is not None:
            counts = self.cube[number]
            wins, gammons, backgammons = counts.wins, counts.gammons, counts.backgammons
            n_games = max(counts.games, 1)
        else:
            kinds = KINDS[rules.scoring]
            sign = 1 if number == 0 else -1
            by_kind = [self.of_games.get(sign * factor, 0) for factor in range(1, len(kinds) + 1)]
            wins, gammons = sum(by_kind), sum(by_kind[1:])
            koks = [n for n, kind in zip(by_kind, kinds, strict=True) if kind.name == "koks"]
            backgammons, n_games = sum(koks), max(self.n_games, 1)
        return Side(
            bot=bot,
            win=wins / n_games,
            gammon=gammons / n_games,
            backgammon=backgammons / n_games,
            work=self.work[number],
        )
