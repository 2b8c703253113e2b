"""Counts from which all figures of a duel follow; parts add up exactly, in any order."""

import math
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.rules import Rules
from engine.scoring import KINDS
from eval.lockstep import Played, Work
from eval.luck import LUCK_UNITS
from eval.stats import Estimate, Moments

__all__ = ["Side", "Tally", "adjusted_units"]

_MOST_POINTS: Final = max(len(kinds) for kinds in KINDS.values())


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
    of_games: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(2 * _MOST_POINTS + 1, dtype=np.int64)
    )
    """Games by a's points, from -4 up."""
    of_streams: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(4 * _MOST_POINTS + 1, dtype=np.int64)
    )
    """Dice streams by the sum of a's points in their games, from -8 up."""
    adjusted_sum: int = 0
    """Of `adjusted_units` over all streams."""
    adjusted_sum_sq: int = 0
    n_unfinished: int = 0
    work: tuple[Work, Work] = (Work(), Work())

    def __add__(self, played: Played) -> "Tally":
        points = played.points
        n_most = _MOST_POINTS
        games = np.bincount((points.ravel() + n_most).astype(np.int64), minlength=2 * n_most + 1)
        sums = points.sum(axis=1, dtype=np.int64) + 2 * n_most
        streams = np.bincount(sums, minlength=4 * n_most + 1)
        units = adjusted_units(played).tolist()
        return replace(
            self,
            of_games=self.of_games + games,
            of_streams=self.of_streams + streams,
            adjusted_sum=self.adjusted_sum + sum(units),
            adjusted_sum_sq=self.adjusted_sum_sq + sum(unit * unit for unit in units),
            n_unfinished=self.n_unfinished + played.n_unfinished,
            work=(self.work[0].plus(played.work[0]), self.work[1].plus(played.work[1])),
        )

    @property
    def n_games(self) -> int:
        return int(self.of_games.sum())

    @property
    def n_streams(self) -> int:
        return int(self.of_streams.sum())

    def points(self) -> dict[int, int]:
        """Number of games by a's points, those that occurred, from the lowest up."""
        numbers = range(-_MOST_POINTS, _MOST_POINTS + 1)
        return {p: int(n) for p, n in zip(numbers, self.of_games, strict=True) if n}

    def ppg(self) -> Estimate:
        """Points per game of a, as played."""
        sums = np.arange(-2 * _MOST_POINTS, 2 * _MOST_POINTS + 1)
        return Moments.of(sums / self.games_a_stream, self.of_streams).estimate()

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
        kinds = KINDS[rules.scoring]
        wins = self.of_games[_MOST_POINTS:][1:] if number == 0 else self.of_games[:_MOST_POINTS]
        if number == 1:
            wins = wins[::-1]
        backgammons = [int(n) for n, kind in zip(wins, kinds, strict=False) if kind.name == "koks"]
        n_games = max(self.n_games, 1)
        return Side(
            bot=bot,
            win=int(wins.sum()) / n_games,
            gammon=int(wins[1:].sum()) / n_games,
            backgammon=sum(backgammons) / n_games,
            work=self.work[number],
        )
