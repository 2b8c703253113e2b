"""What a net sees of a board, plain and slow: the oracle of the encoders.

Written from the words of `engine.features` alone, on purpose without numpy, bits or tables. Boards
are tuples of 26 ints seen by their owner: slots 1 to 24 hold his checkers (> 0) or the opponent's
(< 0), slot 25 his bar and slot 0 the opponent's bar (a count, >= 0). Numbers are exact fractions.

"The side" is the one that owns the board; the opponent's inputs are those of the mirrored board.
"""

import itertools
from fractions import Fraction

from tests.strategies import mirrored

__all__ = [
    "NUM_SIDE",
    "RANGES",
    "contact_v1",
    "hits_a_blot",
    "pair_rows",
    "point_rows",
    "seen_counts",
]

Board = tuple[int, ...]

BAR = 25
NUM_CHECKERS = 15
NUM_SIDE = 12
RANGES: list[tuple[float, float]] = [
    (0, 1),
    (0, 1),
    (0, 1),
    (0, 1),
    (0, 1),
    (0, 3.75),
    (0, 1),
    (0, 2.5),
    (0, 2.5),
    (0, 3),
    (0, 2.25),
    (0, 7.5),
]
"""The range of each of a side's inputs, as the table of `engine.features` has it."""


# --- contact-v1 ---


def contact_v1(board: Board) -> list[Fraction]:
    """The 24 inputs: those of the side on roll, then those of its opponent."""
    return _side_inputs(board) + _side_inputs(mirrored(board))


def _side_inputs(board: Board) -> list[Fraction]:
    made = {point for point in range(1, BAR) if board[point] >= 2}
    opp_made = {point for point in range(1, BAR) if board[point] <= -2}
    rear = max((point for point in range(1, BAR + 1) if board[point] > 0), default=0)
    opp_rear = min((point for point in range(BAR) if _opponents(board, point) > 0), default=BAR)
    checkers = [(point, board[point]) for point in range(1, BAR + 1) if board[point] > 0]

    escapes = Fraction(1) if rear == 0 else _playable(rear, -1, opp_made)
    # An enemy walks towards higher points of the side; his bar is the side's point 0.
    worst = min(_playable(spot, +1, made) for spot in range(10))
    runs = [
        length
        for start in range(1, BAR)
        for length in range(1, BAR - start + 1)
        if all(point in made for point in range(start, start + length))
    ]
    home = Fraction(sum(point in made for point in range(1, 7)), 6)
    hits = sum(
        hits_a_blot(board, (first, second)) for first in range(1, 7) for second in range(1, 7)
    )
    exposed = sum(board[point] == 1 and opp_rear < point for point in range(1, BAR))
    to_pass = sum(n * max(point - opp_rear, 0) for point, n in checkers)
    back = sum(n for point, n in checkers if point >= 19)
    from_home = sum(n * (point - 6) for point, n in checkers if 7 <= point <= 18)
    return [
        escapes,
        1 - worst,
        Fraction(min(max(runs, default=0), 6), 6),
        home * home,
        Fraction(hits, 36),
        Fraction(exposed, 4),
        Fraction(rear, 25),
        Fraction(to_pass, 152),
        Fraction(back, 6),
        Fraction(from_home, 60),
        Fraction(sum(n * point for point, n in checkers), 167),
        Fraction(board[BAR], 2),
    ]


def _opponents(board: Board, point: int) -> int:
    """How many checkers the opponent has on a point of the side, its bar at 0 included."""
    return board[0] if point == 0 else max(-board[point], 0)


def _playable(start: int, direction: int, closed: set[int]) -> Fraction:
    """Share of the 36 rolls of which one checker can play both numbers one after the other."""
    good = 0
    for first in range(1, 7):
        for second in range(1, 7):
            end = start + direction * (first + second)
            stops = {start + direction * first, start + direction * second}
            good += end not in closed and not stops <= closed
    return Fraction(good, 36)


def hits_a_blot(board: Board, roll: tuple[int, int]) -> bool:
    """Whether steps with the dice, each legal at its time, can hit a blot of the opponent.

    Checkers on the bar enter first. Whether the turn would be complete is not asked.
    """
    first, second = roll
    orders = [(first,) * 4] if first == second else [(first, second), (second, first)]
    return any(_hits(board, order) for order in orders)


def _hits(board: Board, dice: tuple[int, ...]) -> bool:
    """Whether the dice in this order, or the first of them, can hit."""
    layer = {board}
    for die in dice:
        following = set()
        for state in layer:
            sources = [BAR] if state[BAR] > 0 else [p for p in range(1, BAR) if state[p] > 0]
            for source in sources:
                to = source - die
                if to < 1 or state[to] <= -2:
                    continue
                if state[to] == -1:
                    return True
                after = list(state)
                after[source] -= 1
                after[to] += 1
                following.add(tuple(after))
        layer = following
    return False


# --- rows of the first layer ---


def seen_counts(board: Board) -> list[int]:
    """Counts of the 28 slots: the board's 26, then checkers borne off by owner and opponent."""
    own = sum(n for n in board[1:] if n > 0)
    opponent = board[0] - sum(n for n in board[1:BAR] if n < 0)
    return [*board, NUM_CHECKERS - own, NUM_CHECKERS - opponent]


def _clip(n: int, most: int) -> int:
    return max(-most, min(n, most))


def point_rows(board: Board) -> set[tuple[int, int]]:
    """`raw-v1`: (slot, count) of every slot that is not empty; on the board clipped to -6..6."""
    counts = seen_counts(board)
    return {(slot, _clip(n, 6) if slot < 26 else n) for slot, n in enumerate(counts) if n != 0}


def pair_rows(board: Board) -> set[tuple[int, int, int, int]]:
    """`pairs-v1`: (slot, slot + 1..6, counts clipped to -3..3) where neither is empty."""
    return {
        (low, high, _clip(board[low], 3), _clip(board[high], 3))
        for low, high in itertools.combinations(range(26), 2)
        if high - low <= 6 and board[low] != 0 and board[high] != 0
    }
