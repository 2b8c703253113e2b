"""Match equity tables: the chance to win a match from any score, as data, from files, extended.

Scores are told in points away. All chances are those before a game begins, when nobody has thrown.
"""

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.errors import ConfigError

__all__ = [
    "LONGEST_MATCH",
    "MatchEquityTable",
    "default_met",
    "extended",
    "load_met",
    "met_document",
]

FloatArray = NDArray[np.float64]

LONGEST_MATCH: Final = 200
"""Points away up to which tables are extended."""
_DATA: Final = Path(__file__).with_name("data") / "kazaross_xg2.json"
_STEP: Final = 50
_SYMMETRY: Final = 1e-4  # tables are printed with rounded chances
# What a game is worth where tables end: 1 or 4 points, as often. Of the pairs tried, this one
# continues the first 15 rows of Kazaross-XG2 best: at most 0.0025 wrong up to 25-away.
_FAR_GAMES: Final = ((1, 0.5), (4, 0.5))
_GAMMON_RATE: Final = 0.26  # of the games that a trailer wins with a doubled cube


@dataclass(frozen=True, eq=False)
class MatchEquityTable:
    """Chances of winning a match, by points away.

    Raises ConfigError if the arrays are no such chances.
    """

    name: str
    pre: FloatArray
    """`(N, N)`: chance of the side i+1 away against j+1 away before the Crawford game; its first
    row and column are the Crawford game itself."""
    post: FloatArray
    """`(N,)`: chance of the trailer j+1 away against a leader one away after the Crawford game."""

    def __post_init__(self) -> None:
        size = len(self.post)
        faults = []
        if self.pre.shape != (size, size) or size < 1:
            faults.append(
                f"'pre' has the shape {self.pre.shape} and 'post' {self.post.shape}; accepted:"
                " N x N and N numbers"
            )
        elif not all((np.isfinite(a) & (a >= 0) & (a <= 1)).all() for a in (self.pre, self.post)):
            faults.append("a chance is not between 0 and 1")
        elif np.abs(self.pre + self.pre.T - 1).max() > _SYMMETRY:
            i, j = np.unravel_index(np.abs(self.pre + self.pre.T - 1).argmax(), self.pre.shape)
            faults.append(
                f"the chances at {i + 1}-away/{j + 1}-away, {self.pre[i, j]} and"
                f" {self.pre[j, i]}, do not add up to 1"
            )
        elif abs(self.post[0] - 0.5) > _SYMMETRY:
            faults.append(f"'post' begins with {self.post[0]}; at one away each it is 0.5")
        if faults:
            raise ConfigError(f"match equity table '{self.name}': {faults[0]}")

    @property
    def size(self) -> int:
        """Points away up to which the table's own chances go."""
        return len(self.post)

    def mwc(self, mover_away: int, opp_away: int, *, post_crawford: bool = False) -> float:
        """The mover's chance to win the match before a game at this score, from 0 to 1.

        Sides that need nothing any more have won. post_crawford: whether the Crawford game is
        over; it matters only if a side is one away. Raises ConfigError beyond `LONGEST_MATCH`.
        """
        if mover_away <= 0 or opp_away <= 0:
            if mover_away <= 0 and opp_away <= 0:
                raise ConfigError(f"both sides have won: {mover_away}-away/{opp_away}-away")
            return float(mover_away <= 0)
        longest = max(mover_away, opp_away)
        if longest > LONGEST_MATCH:
            raise ConfigError(
                f"{longest} points away are too many; accepted: up to {LONGEST_MATCH}"
            )
        # In steps, so that few extended tables serve all lengths.
        step = min(-(-longest // _STEP) * _STEP, LONGEST_MATCH)
        table = self if longest <= self.size else extended(self, step)
        if post_crawford and mover_away == 1:
            return 1 - float(table.post[opp_away - 1])
        if post_crawford and opp_away == 1:
            return float(table.post[mover_away - 1])
        # The mean of both entries, so that the two sides' chances always add up to 1.
        own, opp = table.pre[mover_away - 1, opp_away - 1], table.pre[opp_away - 1, mover_away - 1]
        return float(own + 1 - opp) / 2


@lru_cache(maxsize=8)
def extended(table: MatchEquityTable, size: int) -> MatchEquityTable:
    """The table continued to `size` points away (itself if it reaches as far).

    Far from the end a game is taken to be worth 1 or 4 points, as often, for either side; a
    trailer after the Crawford game wins 2 points, or 4 with a gammon; in the Crawford game, 1 or 2.
    Raises ConfigError beyond `LONGEST_MATCH`.
    """
    if size > LONGEST_MATCH:
        raise ConfigError(f"{size} points away are too many; accepted: up to {LONGEST_MATCH}")
    if size <= table.size:
        return table
    known = table.size
    post = np.ones(size + 1)  # post[0]: the trailer has won
    post[1 : known + 1] = table.post
    chance = np.zeros((size + 1, size + 1))
    chance[0, 1:] = 1
    chance[1 : known + 1, 1 : known + 1] = table.pre
    for far in range(known + 1, size + 1):
        post[far] = _half_won(post[max(far - 2, 0)], post[max(far - 4, 0)])
        chance[far, 1] = _half_won(post[far - 1], post[max(far - 2, 0)])
        chance[1, far] = 1 - chance[far, 1]
        for near in range(2, far):
            chance[far, near] = sum(
                share
                * (chance[max(far - points, 0), near] + chance[far, max(near - points, 0)])
                / 2
                for points, share in _FAR_GAMES
            )
            chance[near, far] = 1 - chance[far, near]
        chance[far, far] = 0.5
    return MatchEquityTable(f"{table.name}, extended", chance[1:, 1:], post[1:])


def _half_won(single: float, gammon: float) -> float:
    """Chance of a side that wins half of the games, of these some as gammons."""
    return 0.5 * ((1 - _GAMMON_RATE) * single + _GAMMON_RATE * gammon)


@cache
def default_met() -> MatchEquityTable:
    """Kazaross-XG2, the table that eXtreme Gammon, GNU Backgammon and Sage use."""
    return load_met(_DATA)


def load_met(path: Path | None = None) -> MatchEquityTable:
    """The table of a JSON file (`name`, `pre`, `post` as in the class), or the default one.

    Raises ConfigError if the file cannot be read or holds something else.
    """
    if path is None:
        return default_met()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"match equity table '{path}' cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"match equity table '{path}' is not JSON: {error}") from error
    if not isinstance(found, dict) or not {"pre", "post"} <= set(found):
        raise ConfigError(
            f"match equity table '{path}' is not an object with 'pre' and 'post'; see docs/cube.md"
        )
    return MatchEquityTable(
        str(found.get("name", path.name)),
        _numbers(found["pre"], 2, f"'pre' of '{path}'"),
        _numbers(found["post"], 1, f"'post' of '{path}'"),
    )


def _numbers(value: Any, dimensions: int, what: str) -> FloatArray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"match equity table: {what} is not made of numbers") from error
    if array.ndim != dimensions:
        raise ConfigError(f"match equity table: {what} needs {dimensions} levels of lists")
    return array


def met_document(table: MatchEquityTable) -> dict[str, Any]:
    """The table as its file has it."""
    return {
        "name": table.name,
        "pre": [[round(float(chance), 6) for chance in row] for row in table.pre],
        "post": [round(float(chance), 6) for chance in table.post],
    }
