"""Positions of long nardi for tests: random games by the reference rules, and constructed ones.

Constructed boards are built around six-blocks (five or six points of a row held, with opposing
checkers before and behind it), heads (many checkers on both, closed points before them), the border
between own 1 and own 24, and bear-offs. Boards are tuples of 26 ints seen by the mover.
"""

from collections.abc import Callable, Iterator

import numpy as np

from engine.board import NUM_CHECKERS, Board, borne_off
from engine.dice import game_generator, roll_dice
from engine.long_board import LONG_START
from engine.moves import legal_afterstates_batch
from engine.rules import LONG_NARDI, Rules
from engine.turn_context import TurnContext
from engine.variant import LONG
from tests.reference_long import START_BOARD, afterstates, half_turned, is_over, opposite

__all__ = [
    "KINDS",
    "LONG_RULES",
    "Turn",
    "boards_of_random_games",
    "constructed_turns",
    "first_turns",
    "game_turns",
]

BoardTuple = tuple[int, ...]
Roll = tuple[int, int]
Turn = tuple[BoardTuple, Roll, TurnContext]

LONG_RULES: list[Rules] = [
    LONG_NARDI,
    LONG_NARDI.replace(block_check="turn"),
    LONG_NARDI.replace(block_rule="always"),
    LONG_NARDI.replace(block_rule="always", block_check="turn", head_exception="principle"),
    LONG_NARDI.replace(block_rule="none", head_exception="none"),
    LONG_NARDI.replace(head_exception="seed_list"),
    LONG_NARDI.replace(head_exception="principle"),
]
"""Mixtures in which every value of every switch of the plays occurs; the first is the default."""

KINDS = ("wall", "wall", "border", "heads", "bear_off", "home_wall", "last")


def _roll(rng: np.random.Generator) -> Roll:
    first, second = rng.integers(1, 7, size=2).tolist()
    return first, second


# --- games ---


def _any(board: BoardTuple) -> int:
    return 0


def _walls(board: BoardTuple) -> int:
    path = half_turned(board)
    held = [path[point] < 0 for point in range(1, 25)]
    return max(sum(held[first : first + 6]) for first in range(19))


def _keeps_head(board: BoardTuple) -> int:
    return board[24]


def _spreads(board: BoardTuple) -> int:
    return sum(n > 0 for n in board)


def _runs(board: BoardTuple) -> int:
    return -min(point for point in range(25) if board[point] > 0 or point == 24)


_STYLES: list[Callable[[BoardTuple], int]] = [_any, _walls, _walls, _keeps_head, _spreads, _runs]


def game_turns(rng: np.random.Generator, rules: Rules = LONG_NARDI) -> Iterator[Turn]:
    """Turns of random games one after another, for ever; both sides' styles vary."""
    while True:
        styles = [_STYLES[int(rng.integers(len(_STYLES)))] for _ in range(2)]
        board, first_roll = START_BOARD, None
        for turn in range(400):
            roll = _roll(rng)
            context = TurnContext()
            if turn == 0:
                context, first_roll = TurnContext(first_turn=True), roll
            elif turn == 1:
                context = TurnContext(
                    first_turn=True, player="second", opponent_first_roll=first_roll
                )
            yield board, roll, context
            plays = sorted(afterstates(board, roll, rules, context))
            if rng.random() < 0.85:
                best = max(map(styles[turn % 2], plays))
                plays = [play for play in plays if styles[turn % 2](play) == best]
            after = plays[int(rng.integers(len(plays)))]
            if is_over(after):
                break
            board = half_turned(after)


def first_turns() -> Iterator[tuple[BoardTuple, Roll, Roll]]:
    """Every board of the second player's first turn, with the first roll and his own."""
    rolls = [(high, low) for high in range(1, 7) for low in range(1, high + 1)]
    for first in rolls:
        for after in sorted(afterstates(START_BOARD, first, context=TurnContext(first_turn=True))):
            for second in rolls:
                yield half_turned(after), first, second


# --- constructed ---


def _put(board: list[int], points: list[int], sign: int) -> None:
    """Checkers on points that the other side does not hold."""
    for point in points:
        if board[point] * sign >= 0:
            board[point] += sign


def _some(rng: np.random.Generator, points: list[int], count: int) -> list[int]:
    return [int(point) for point in rng.choice(points, size=count)] if count > 0 else []


def constructed_board(rng: np.random.Generator, kind: str) -> BoardTuple:
    """A board of one kind; both sides have checkers, at most 15."""
    while True:
        board = _construct(rng, kind)
        if not is_over(board):
            return board


def _construct(rng: np.random.Generator, kind: str) -> BoardTuple:
    board = [0] * 26
    own_left, opp_left = 15, 15 if rng.random() < 0.7 else int(rng.integers(1, 15))
    if kind in ("wall", "border", "home_wall"):
        # A row of six on the opponent's way, with none to two gaps.
        if kind == "border":
            first = int(rng.integers(8, 14))  # his points that lie on both sides of own 24 and 1
        elif kind == "home_wall":
            first = 13
        else:
            first = int(rng.integers(1, 20))
        row = [opposite(point) for point in range(first, first + 6)]
        n_gaps = int(rng.integers(0, 3))
        row = [int(point) for point in rng.permutation(row)[n_gaps:]]
        for point in row:
            count = min(int(rng.integers(1, 4)), own_left)
            board[point] += count
            own_left -= count
        behind = [point for point in range(first + 6, 25) if board[opposite(point)] == 0]
        ahead = [point for point in range(1, first) if board[opposite(point)] == 0]
        if rng.random() < 0.8:
            opp_left = 15
        if ahead and rng.random() < 0.4:
            count = int(rng.integers(1, 4))
            _put(board, [opposite(point) for point in _some(rng, ahead, count)], -1)
            opp_left -= count
        if behind:
            some = _some(rng, behind, int(rng.integers(1, len(behind) + 1)))
            _put(board, [opposite(point) for point in _some(rng, some, opp_left)], -1)
        # The others stand close enough to fill the gaps, or far back.
        near = sorted({min(point + int(rng.integers(1, 13)), 24) for point in row})
        if kind == "home_wall":
            near = list(range(1, 9))
        _put(board, _some(rng, near, own_left), 1)
    elif kind == "heads":
        own_head, opp_head = int(rng.integers(0, 15)), int(rng.integers(0, 15))
        board[24], board[12] = own_head, -opp_head
        _put(
            board,
            [int(p) for p in rng.integers(1, 25, size=int(rng.integers(0, 15 - own_head + 1)))],
            1,
        )
        _put(
            board,
            [int(p) for p in rng.integers(1, 25, size=int(rng.integers(0, 15 - opp_head + 1)))],
            -1,
        )
    else:
        n_outside = int(rng.integers(0, 4)) if kind == "bear_off" else int(rng.integers(0, 2))
        own_left = int(rng.integers(1, 16)) if kind == "bear_off" else int(rng.integers(1, 4))
        n_outside = min(n_outside, own_left)
        _put(board, [int(p) for p in rng.integers(1, 7, size=own_left - n_outside)], 1)
        _put(board, [int(p) for p in rng.integers(7, 25, size=n_outside)], 1)
        _put(board, [int(p) for p in rng.integers(1, 25, size=int(rng.integers(1, 16)))], -1)
    return tuple(board)


def constructed_turns(rng: np.random.Generator, count: int) -> list[Turn]:
    """Turns on constructed boards of all kinds; a third of the rolls are doubles."""
    turns = []
    for number in range(count):
        roll = _roll(rng)
        if rng.random() < 0.2:
            roll = (roll[0], roll[0])
        board = constructed_board(rng, KINDS[number % len(KINDS)])
        turns.append((board, roll, TurnContext()))
    return turns


def boards_of_random_games(seed: int, n_games: int, n_turns: int) -> Board:
    """Boards of random games side by side, finished ones included, for the side on roll.

    By the compiled plays, for tests of what comes after them; a finished game begins anew.
    """
    generator = game_generator(seed, 0)
    boards = np.tile(LONG_START, (n_games, 1))
    found = []
    for _ in range(n_turns):
        rolls = roll_dice(generator, len(boards))
        afterstates, offsets = legal_afterstates_batch(boards, rolls, LONG_NARDI)
        picks = offsets[:-1] + (generator.random(len(boards)) * np.diff(offsets)).astype(np.int64)
        found.append(LONG.flip(afterstates[picks]))
        over = borne_off(afterstates[picks]) == NUM_CHECKERS
        boards = np.where(over[:, None], LONG_START, found[-1])
    return np.concatenate(found)
