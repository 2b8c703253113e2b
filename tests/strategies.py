"""Boards, rolls and rules for tests: hypothesis strategies and seeded generators.

Positions come from two sources: random play with the reference rules (reachable boards of all
phases, from several styles of play) and construction (legal boards that random play rarely
meets: many checkers on the bar, both bars, back games, spread checkers, last checkers).
Boards are tuples of 26 ints seen by the mover.
"""

import functools
import itertools
from collections.abc import Callable, Iterator

import numpy as np
from hypothesis import strategies as st

from engine.board import BAR, NUM_CHECKERS, NUM_POINTS, NUM_SLOTS, START, board_faults
from engine.rules import INTERNATIONAL, Rules
from tests.reference_rules import afterstates, is_over

__all__ = [
    "CONSTRUCTED_KINDS",
    "HOUSE_RULES",
    "ORDERED_ROLLS",
    "START_BOARD",
    "boards",
    "constructed_board",
    "constructed_boards",
    "house_rules",
    "mirrored",
    "mixed_boards",
    "random_roll",
    "reachable_boards",
    "rolls",
    "self_play_boards",
]

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]

START_BOARD: BoardTuple = tuple(int(n) for n in START)
ORDERED_ROLLS: list[Roll] = [(first, second) for first in range(1, 7) for second in range(1, 7)]

HOUSE_RULES: list[Rules] = [
    INTERNATIONAL.replace(hit_and_hide=hide, hit_then_bear_off=bear_off)
    for hide in ("allow", "ban")
    for bear_off in ("allow", "ban_hitter", "ban_home_hit")
]
"""All six mixtures of the two switches that bear on legal plays; the first is international."""


def mirrored(board: BoardTuple) -> BoardTuple:
    """The board seen by the other side, written out plainly."""
    return (board[BAR], *(-board[NUM_SLOTS - 1 - n] for n in range(1, BAR)), board[0])


def random_roll(rng: np.random.Generator) -> Roll:
    """An ordered roll, all 36 equally likely."""
    first, second = rng.integers(1, 7, size=2).tolist()
    return first, second


# --- reachable boards: random play ---


def _any(board: BoardTuple) -> int:
    return 0


def _hitting(board: BoardTuple) -> int:
    return board[0]


def _staying_back(board: BoardTuple) -> int:
    return sum(point * board[point] for point in range(1, NUM_SLOTS) if board[point] > 0)


def _blocking(board: BoardTuple) -> int:
    return sum(board[point] >= 2 for point in range(1, BAR))


def _leaving_blots(board: BoardTuple) -> int:
    return sum(board[point] == 1 for point in range(1, BAR))


_STYLES: list[Callable[[BoardTuple], int]] = [
    _any,
    _hitting,
    _staying_back,
    _blocking,
    _leaving_blots,
]


def _random_play(
    rng: np.random.Generator, board: BoardTuple, roll: Roll, style: Callable[[BoardTuple], int]
) -> BoardTuple:
    """A random play, mostly one of the best by the style, sometimes any; seen by the mover."""
    plays = sorted(afterstates(board, roll))
    if rng.random() < 0.8:
        best = max(map(style, plays))
        plays = [play for play in plays if style(play) == best]
    return plays[int(rng.integers(len(plays)))]


def self_play_boards(rng: np.random.Generator) -> Iterator[tuple[BoardTuple, Roll]]:
    """Boards and rolls of random games one after another, for ever; both sides' styles vary."""
    while True:
        styles = [_STYLES[int(rng.integers(len(_STYLES)))] for _ in range(2)]
        board = START_BOARD
        for turn in range(400):  # two back games against each other may last very long
            roll = random_roll(rng)
            yield board, roll
            after = _random_play(rng, board, roll, styles[turn % 2])
            if is_over(after):
                break
            board = mirrored(after)


# --- constructed boards ---


def _assemble(own: list[int], opp: list[int], bars: Roll) -> BoardTuple:
    """A board from the checkers' points; an opposing checker on an own point is left out."""
    board = [0] * NUM_SLOTS
    for point in own:
        board[point] += 1
    for point in opp:
        if board[point] <= 0:
            board[point] -= 1
    board[BAR], board[0] = bars
    return tuple(board)


def _points(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    """`count` checkers on some of the points from low to high, few or many of them."""
    span = np.arange(low, high + 1)
    chosen = rng.choice(span, size=int(rng.integers(1, len(span) + 1)), replace=False)
    return [int(point) for point in rng.choice(chosen, size=count)]


def _scatter(rng: np.random.Generator) -> BoardTuple:
    own, opp = rng.integers(1, NUM_CHECKERS + 1, size=2).tolist()
    return _assemble(_points(rng, 1, NUM_POINTS, own), _points(rng, 1, NUM_POINTS, opp), (0, 0))


def _own_bar(rng: np.random.Generator) -> BoardTuple:
    bar = int(rng.integers(1, NUM_CHECKERS + 1))
    rest = int(rng.integers(0, NUM_CHECKERS - bar + 1))
    opp = [*_points(rng, 19, 24, 10), *_points(rng, 1, NUM_POINTS, 5)]
    return _assemble(_points(rng, 1, NUM_POINTS, rest) if rest else [], opp, (bar, 0))


def _both_bars(rng: np.random.Generator) -> BoardTuple:
    bars = rng.integers(1, 8, size=2).tolist()
    own, opp = rng.integers(0, 9, size=2).tolist()
    return _assemble(
        _points(rng, 1, NUM_POINTS, own),
        _points(rng, 1, NUM_POINTS, opp),
        (bars[0], bars[1]),
    )


def _bear_off(rng: np.random.Generator) -> BoardTuple:
    own = int(rng.integers(1, NUM_CHECKERS + 1))
    opp = int(rng.integers(1, NUM_CHECKERS))
    low = 1 if rng.random() < 0.6 else 7
    outside = _points(rng, 7, 12, 1) if rng.random() < 0.3 else []
    on_bar = int(rng.integers(0, 2)) if low == 1 else 0
    high = 9 if low == 1 else NUM_POINTS
    return _assemble(
        _points(rng, 1, 6, own - len(outside)) + outside,
        _points(rng, low, high, opp),
        (0, on_bar),
    )


def _back_game(rng: np.random.Generator) -> BoardTuple:
    own = [*_points(rng, 18, 24, 10), *_points(rng, 1, 12, 4)]
    return _assemble(own, _points(rng, 1, 18, NUM_CHECKERS), (int(rng.integers(0, 2)), 0))


def _spread(rng: np.random.Generator) -> BoardTuple:
    order = rng.permutation(np.arange(1, NUM_POINTS + 1)).tolist()
    count = int(rng.integers(10, NUM_CHECKERS + 1))
    return _assemble(order[:count], order[count:], (0, 0))


def _last_checkers(rng: np.random.Generator) -> BoardTuple:
    """One to four checkers against a few blots near them: finishing, with and without a hit."""
    order = rng.permutation(np.arange(1, 8)).tolist()
    own = rng.choice(order[:2], size=int(rng.integers(1, 5))).tolist()
    opp = [point for point in order[2:] for _ in range(int(rng.choice([0, 1, 1, 2])))]
    return _assemble(own, [*opp, 24], (0, int(rng.integers(0, 2))))


def _last_outside(rng: np.random.Generator) -> BoardTuple:
    """Bear-off about to begin: the last checkers outside home stand behind blots."""
    order = rng.permutation(np.arange(1, 14)).tolist()
    outside = [point for point in order if point > 6][: int(rng.integers(1, 3))]
    home = [point for point in order if point <= 6][:3]
    own = outside + rng.choice(home, size=int(rng.integers(1, 7))).tolist()
    opp = [point for point in order if point not in own and rng.random() < 0.5]
    return _assemble(own, [*opp, 24], (0, 0))


def _blots(rng: np.random.Generator) -> BoardTuple:
    """A few own checkers among blots: one may hit several, several may hit and meet."""
    order = rng.permutation(np.arange(1, int(rng.integers(8, 16)))).tolist()
    count = int(rng.integers(2, 5))
    own = order[:count] + rng.choice(order[:count], size=int(rng.integers(0, 4))).tolist()
    opp = [point for point in order[count:] if rng.random() < 0.7]
    return _assemble(own, [*opp, 24], (0, 0))


_BUILDERS: dict[str, Callable[[np.random.Generator], BoardTuple]] = {
    "scatter": _scatter,
    "own_bar": _own_bar,
    "both_bars": _both_bars,
    "bear_off": _bear_off,
    "back_game": _back_game,
    "spread": _spread,
    "last_checkers": _last_checkers,
    "last_outside": _last_outside,
    "blots": _blots,
}
CONSTRUCTED_KINDS: list[str] = list(_BUILDERS)


def _usable(board: BoardTuple) -> bool:
    return not board_faults(board) and not is_over(board)


def constructed_board(rng: np.random.Generator, kind: str) -> BoardTuple:
    """A random legal board of this kind on which the game still runs."""
    while True:
        board = _BUILDERS[kind](rng)
        if _usable(board):
            return board


def mixed_boards(rng: np.random.Generator) -> Iterator[tuple[BoardTuple, Roll]]:
    """Boards and rolls for ever: every other one from self-play, the rest constructed."""
    play = self_play_boards(rng)
    for kind in itertools.cycle(CONSTRUCTED_KINDS):
        yield next(play)
        yield constructed_board(rng, kind), random_roll(rng)


# --- hypothesis ---


def rolls() -> st.SearchStrategy[Roll]:
    """Ordered rolls."""
    return st.sampled_from(ORDERED_ROLLS)


def house_rules() -> st.SearchStrategy[Rules]:
    """All mixtures of the switches that bear on legal plays."""
    return st.sampled_from(HOUSE_RULES)


@st.composite
def constructed_boards(draw: st.DrawFn) -> BoardTuple:
    """Any legal board on which the game still runs: each checker on some point, bar or off."""
    owners = draw(st.lists(st.sampled_from([0, 1, -1]), min_size=NUM_POINTS, max_size=NUM_POINTS))
    board = [0] * NUM_SLOTS
    for side, bar in ((1, BAR), (-1, 0)):
        places = [bar, *(point for point, owner in enumerate(owners, 1) if owner == side)]
        for place in draw(st.lists(st.sampled_from(places), min_size=1, max_size=NUM_CHECKERS)):
            board[place] += 1 if place == bar else side
    return tuple(board)


@functools.cache
def _pool() -> list[BoardTuple]:
    """Boards of some random games, the start position first; made once, when first needed."""
    games = self_play_boards(np.random.default_rng(2026))
    return [board for board, _ in itertools.islice(games, 1000)]


def reachable_boards() -> st.SearchStrategy[BoardTuple]:
    """Boards of random play from the start position; they shrink towards the start of a game."""
    return st.integers(0, 999).map(lambda number: _pool()[number])


def boards() -> st.SearchStrategy[BoardTuple]:
    """Reachable or constructed boards on which the game still runs."""
    return st.one_of(constructed_boards(), reachable_boards()).filter(_usable)
