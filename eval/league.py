"""Round robins: every bot against every other on the same dice, and ratings from all duels.

Ratings are the least-squares fit of "points per game of i against k = rating i - rating k" with the
mean rating 0. Where all pairs have played the same number of games it is simply the mean of a bot's
scores against all, itself (0) included. It is worked out for each dice stream first and then
averaged, so its standard error takes into account that all duels share their dice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from engine.errors import ConfigError, NardiError
from engine.rules import INTERNATIONAL, Rules
from eval.duel import Duel, Progress, play_duel
from eval.lockstep import Played
from eval.luck import LUCK_UNITS
from eval.players import load_player
from eval.stats import Estimate, Moments
from eval.tally import adjusted_units

__all__ = ["League", "play_league"]

_GAMES_A_STREAM: Final = 2


@dataclass(frozen=True, kw_only=True)
class League:
    """The figures of a round robin, complete or as far as it got."""

    bots: tuple[str, ...]
    """Texts that name them, in the order in which they were given."""
    duels: dict[tuple[int, int], Duel]
    """Of bots i and k, i < k, in the order in which they were played; missing if not yet begun."""
    ratings: tuple[Estimate, ...] | None
    """Of each bot in points per game, mean 0; over the dice streams that all pairs have played.
    None if some pair has played none."""
    n_games: int
    """That every pair was to play."""
    seed: int
    rules: Rules
    ended: Literal["games", "interrupted", "fault"]
    fault: str | None
    """What went wrong, in words, where `ended` is "fault"."""
    seconds: float = field(compare=False)
    """Wall-clock time of all duels."""

    def score(self, i: int, k: int) -> Estimate | None:
        """Points per game of bot i against bot k, less the luck where it was told."""
        if (i, k) in self.duels:
            return self.duels[i, k].best
        if (k, i) not in self.duels:
            return None
        score = self.duels[k, i].best
        return Estimate(mean=-score.mean, stderr=score.stderr, n=score.n)


def play_league(
    bots: Sequence[str],
    n_games: int,
    seed: int,
    rules: Rules = INTERNATIONAL,
    *,
    cube: bool = False,
    workers: int = 1,
    luck: Callable[[str, str], bool] = lambda a, b: False,
    luck_net: Path | None = None,
    folder: Path | None = None,
    on_progress: Callable[[int, Progress], None] = lambda n_before, progress: None,
) -> League:
    """Play all pairs, n_games each, and return the figures, as far as they are there.

    luck: tells for two bots whether the luck is taken out of their duel. folder: for a file of each
    duel, "1-2.jsonl" and so on; made if it is not there. on_progress also gets the number of games
    of the duels before. Other arguments and what is raised: as `eval.duel.play_duel` has it.
    """
    if len(bots) < 2:
        raise ConfigError(f"{len(bots)} bots; a round robin needs two or more")
    for bot in dict.fromkeys(bots):  # before the first game, lest the last one be misspelt
        load_player(bot, rules).close()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    duels: dict[tuple[int, int], Duel] = {}
    units: dict[tuple[int, int], list[NDArray[np.int64]]] = {}
    ended: Literal["games", "interrupted", "fault"] = "games"
    fault = None
    for i, k in combinations(range(len(bots)), 2):
        pair = units.setdefault((i, k), [])

        def keep(played: Played, pair: list[NDArray[np.int64]] = pair) -> None:
            pair.append(adjusted_units(played))

        def tell(progress: Progress, n_before: int = len(duels) * n_games) -> None:
            on_progress(n_before, progress)

        with_luck = luck(bots[i], bots[k])
        try:
            duel = play_duel(
                bots[i],
                bots[k],
                n_games,
                seed,
                rules,
                cube=cube,
                workers=workers,
                luck=with_luck,
                luck_net=luck_net if with_luck else None,
                file=None if folder is None else folder / f"{i + 1}-{k + 1}.jsonl",
                on_progress=tell,
                on_chunk=keep,
            )
        except KeyboardInterrupt:
            if not duels:
                raise
            ended = "interrupted"
            break
        except NardiError as error:
            if not duels:
                raise
            ended, fault = "fault", str(error)
            break
        duels[i, k] = duel
        if duel.ended == "interrupted" or duel.ended == "fault":
            ended, fault = duel.ended, duel.fault
            break
    return League(
        bots=tuple(bots),
        duels=duels,
        ratings=_ratings(len(bots), units),
        n_games=n_games,
        seed=seed,
        rules=rules,
        ended=ended,
        fault=fault,
        seconds=sum(duel.seconds for duel in duels.values()),
    )


def _ratings(
    n_bots: int, units: dict[tuple[int, int], list[NDArray[np.int64]]]
) -> tuple[Estimate, ...] | None:
    """Ratings over the dice streams that all pairs have played. units: see `adjusted_units`."""
    of_pairs = {pair: np.concatenate(parts) for pair, parts in units.items() if parts}
    if len(of_pairs) < n_bots * (n_bots - 1) // 2:
        return None
    n_streams = min(len(scores) for scores in of_pairs.values())
    sums = np.zeros((n_bots, n_streams), dtype=np.int64)
    for (i, k), scores in of_pairs.items():
        sums[i] += scores[:n_streams]
        sums[k] -= scores[:n_streams]
    scale = LUCK_UNITS * _GAMES_A_STREAM * n_bots
    return tuple(Moments.of((row / scale).tolist()).estimate() for row in sums)
