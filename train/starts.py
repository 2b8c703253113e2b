"""Boards that games begin with besides the start: plans that good play seldom comes to by itself.

A net that plays well avoids back games, crashed boards and late containment, so it would hardly
learn their values, though opponents and bad dice lead there. Such boards are drawn here by simple
rules for where each side's checkers lie; the games that follow make them natural.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "drawn_board"]

KINDS: Final = (
    "back game",
    "ace-point game",
    "containment",
    "prime against prime",
    "early back game",
)
"""What a board is about, for the side in trouble."""

_CHANCES: Final = (0.25, 0.1, 0.15, 0.2, 0.3)
_CHECKERS: Final = 15
_POINTS: Final = np.arange(1, 25)

Counts = NDArray[np.int64]


def drawn_board(generator: np.random.Generator, kind: int | None = None) -> NDArray[np.int8]:
    """A board `(26,)` seen by the side on roll, who may be either side.

    kind: number of one of `KINDS`; None = drawn. Both sides have checkers that can still meet.
    """
    if kind is None:
        kind = int(generator.choice(len(KINDS), p=_CHANCES))
    # Both counts are seen by their owner: 1-24 points, 25 the bar.
    own, opp = (_back, _ace_point, _contained, _primes, _early_back)[kind](generator)
    board = np.zeros(26, dtype=np.int8)
    board[1:25] = own[1:25] - opp[24:0:-1]
    board[25], board[0] = own[25], opp[25]
    if generator.random() < 0.5:
        board[1:25] = -board[24:0:-1]
        board[25], board[0] = opp[25], own[25]
    return board


def _empty() -> Counts:
    return np.zeros(26, dtype=np.int64)


def _spread(
    generator: np.random.Generator,
    counts: Counts,
    n: int,
    near: float,
    far: float,
    closed: Counts,
    unevenness: float,
) -> None:
    """Add n checkers on points near..far of their owner, those of `closed`, also his, left out.

    unevenness: the smaller, the more checkers lie on few points.
    """
    free = (near <= _POINTS) & (far >= _POINTS) & (closed[1:25] == 0)
    weights = generator.gamma(unevenness, size=24) + 1e-6
    # Fewer checkers on far points, by a slope that is drawn too.
    weights *= np.exp(-generator.uniform(0, 0.2) * _POINTS) * free
    places = generator.choice(24, size=n, p=weights / weights.sum())
    np.add.at(counts, places + 1, 1)


def _seen(counts: Counts) -> Counts:
    """The points of one side as the other side counts them."""
    other = _empty()
    other[1:25] = counts[24:0:-1]
    return other


def _anchors(generator: np.random.Generator, n: int) -> Counts:
    """Points made in the opponent's home, seen by their owner, of two or three checkers each."""
    counts = _empty()
    points = generator.choice(np.arange(19, 25), size=n, replace=False)
    counts[points] = 2 + (generator.random(n) < 0.25)
    return counts


def _back(generator: np.random.Generator) -> tuple[Counts, Counts]:
    """Two anchors or three against a side that comes home."""
    own, opp = _anchors(generator, 2 + (generator.random() < 0.15)), _empty()
    if generator.random() < 0.15:
        own[25] += 1
    home = generator.random()
    _spread(generator, opp, _CHECKERS - _off(generator, 0.15, 5), 1, 6 + 12 * home, _seen(own), 0.6)
    left = _CHECKERS - own.sum()
    # Timing: from checkers all about to a board that has crashed.
    _spread(generator, own, left, 1, generator.choice((6, 12, 18)), _seen(opp), 0.6)
    return own, opp


def _ace_point(generator: np.random.Generator) -> tuple[Counts, Counts]:
    """One anchor, or a few stragglers, against a side that bears in or off."""
    own, opp = _anchors(generator, 1), _empty()
    own[25] += int(generator.random() < 0.2)
    _spread(generator, opp, _CHECKERS - _off(generator, 0.6, 12), 1, 9, _seen(own), 0.8)
    left = _CHECKERS - own.sum()
    _spread(generator, own, left, 1, generator.choice((6, 9, 18)), _seen(opp), 0.7)
    return own, opp


def _contained(generator: np.random.Generator) -> tuple[Counts, Counts]:
    """A side with checkers off has one or two of the last hit or caught behind points."""
    own, opp = _empty(), _empty()
    off = int(generator.integers(1, 14))
    caught = int(generator.integers(1, 1 + min(2, _CHECKERS - off)))
    on_bar = generator.random() < 0.6
    if on_bar:
        own[25] = caught
    else:
        own[generator.choice(np.arange(16, 25), size=caught, replace=False)] = 1
    left = _CHECKERS - off - caught
    if left:
        _spread(generator, own, left, 1, 6, _empty(), 0.6)
    _spread(generator, opp, _CHECKERS, 1, generator.choice((8, 12, 18)), _seen(own), 0.9)
    return own, opp


def _primes(generator: np.random.Generator) -> tuple[Counts, Counts]:
    """Both sides hold checkers back behind points that the other has made."""
    own, opp = _empty(), _empty()
    for mine, other in ((own, opp), (opp, own)):
        n = int(generator.integers(1, 4))
        free = [point for point in range(18, 25) if other[25 - point] == 0]
        np.add.at(mine, generator.choice(free, size=n), 1)
    for mine, other in ((own, opp), (opp, own)):
        blocked = _seen(other)
        first = int(generator.integers(2, 6))
        prime = [p for p in range(first, first + 6) if blocked[p] == 0]
        made = generator.choice(
            prime, size=min(len(prime), int(generator.integers(3, 6))), replace=False
        )
        mine[made] += 2
        _spread(generator, mine, int(_CHECKERS - mine.sum()), 1, 15, blocked, 0.8)
    return own, opp


def _early_back(generator: np.random.Generator) -> tuple[Counts, Counts]:
    """Two anchors or three while all is still open: the other side has not come home, nor got all
    its own checkers past, and hardly a home board is made."""
    own, opp = _anchors(generator, 2 + (generator.random() < 0.15)), _empty()
    blocked = _seen(own)
    free = [point for point in range(13, 25) if blocked[point] == 0]
    behind = generator.choice(5, p=(0.35, 0.25, 0.25, 0.1, 0.05))
    np.add.at(opp, generator.choice(free, size=behind), 1)
    _spread(generator, opp, _CHECKERS - behind, 1, generator.choice((9, 13, 18)), blocked, 0.8)
    if generator.random() < 0.2:
        own[25] += 1 + (generator.random() < 0.2)
    left = int(_CHECKERS - own.sum())
    _spread(generator, own, left, 1, generator.choice((13, 18, 24)), _seen(opp), 0.9)
    return own, opp


def _off(generator: np.random.Generator, chance: float, most: int) -> int:
    """Checkers that were borne off already."""
    return int(generator.integers(1, most + 1)) if generator.random() < chance else 0
