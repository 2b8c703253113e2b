"""Legal plays of long nardi, plain and slow: the oracle of its differential tests.

Written from the text of the rules alone, apart from the compiled generator: a turn is every
sequence of single steps, and the obligations are a filter over all of them. A board is a tuple of
26 ints seen by the mover: slots 1 to 24 hold his checkers (> 0) or the opponent's (< 0), slots 0
and 25 are empty. Own point n is the opponent's point n + 12, or n - 12 for n above 12.

The rules, in the order in which they are used:

1. Dice are separate steps; a double is four steps of its number, otherwise both orders exist.
2. A point with an opposing checker is closed. Nobody is hit.
3. Checkers are borne off only while all are on points 1 to 6: by the exact number, or by a larger
   one from the highest occupied point.
4. At most one checker leaves the head (24) in a turn. On a player's first turn a second one may:
   with 6-6, 4-4, 3-3 (`head_exception` classic); with seed_list the second player's 5-5 and 6-2 too
   if the first player's first roll was 2-1, 6-2 or 5-5 and one head checker cannot play all dice
   while two play more; with principle any player and roll of which that is true.
5. A step may not form a forbidden block: six own points or more in a row on the opponent's way
   (24 to 1, not round the corner), unless an opposing checker is on a lower point of that way than
   the whole row, or is borne off (`block_rule` opp_ahead; always: no exception; none: no ban).
   With `block_check` turn only the end of the turn is looked at.
6. As many dice as possible are used; if only one of two different dice can be, the larger one.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.rules import LONG_NARDI, Rules
from engine.turn_context import TurnContext

__all__ = [
    "HEAD",
    "START_BOARD",
    "afterstates",
    "dice_used",
    "forbidden_block",
    "half_turned",
    "is_complete_turn",
    "is_over",
]

HEAD = 24
OFF = 0

Board = tuple[int, ...]
Step = tuple[int, int]

START_BOARD: Board = (*[0] * 12, -15, *[0] * 11, 15, 0)


class State(NamedTuple):
    """A moment within a turn."""

    board: Board
    n_heads: int = 0
    """Checkers that have left the head in this turn."""


class End(NamedTuple):
    """A state in which a turn could stop, and the dice used until then."""

    used: tuple[int, ...]
    state: State


def half_turned(board: Board) -> Board:
    """The board seen by the other side, written out plainly."""
    turned = [0] * 26
    for point in range(1, 25):
        turned[opposite(point)] = -board[point]
    return tuple(turned)


def opposite(point: int) -> int:
    """The number that a point has for the other side."""
    return point + 12 if point <= 12 else point - 12


def is_over(board: Sequence[int]) -> bool:
    """Whether one of the sides has no checkers left."""
    return not any(n > 0 for n in board) or not any(n < 0 for n in board)


@functools.lru_cache(maxsize=4096)
def forbidden_block(board: Board, rules: Rules) -> bool:
    """Whether the mover holds a block that the rules forbid."""
    if rules.block_rule == "none":
        return False
    way = half_turned(board)  # as the opponent goes it
    path = [way[point] < 0 for point in range(1, 25)]  # held by the mover
    opponents = [point for point in range(1, 25) if way[point] > 0]
    n_off = 15 - sum(way[point] for point in opponents)
    point = 1
    while point <= 24:
        if not path[point - 1]:
            point += 1
            continue
        lowest = point
        while point <= 24 and path[point - 1]:
            point += 1
        if point - lowest >= 6:
            if rules.block_rule == "always":
                return True
            if n_off == 0 and not any(other < lowest for other in opponents):
                return True
    return False


def target(board: Board, start: int, die: int) -> int | None:
    """Where the checker on `start` gets with this die; None if it may not go there."""
    to = start - die
    if to >= 1:
        return None if board[to] < 0 else to
    if any(board[point] > 0 for point in range(7, 25)):
        return None
    if to < 0 and any(board[point] > 0 for point in range(start + 1, 7)):
        return None
    return OFF


def one_step(state: State, die: int, rules: Rules, most_heads: int) -> Iterator[tuple[Step, State]]:
    """Every step that this die allows, with the state it leads to."""
    for start in range(1, 25):
        if state.board[start] <= 0:
            continue
        n_heads = state.n_heads + (start == HEAD)
        to = target(state.board, start, die)
        if to is None or n_heads > most_heads:
            continue
        board = list(state.board)
        board[start] -= 1
        if to != OFF:
            board[to] += 1
        after = State(tuple(board), n_heads)
        if rules.block_check == "step" and forbidden_block(after.board, rules):
            continue
        yield (start, to), after


def dice_orders(roll: Sequence[int]) -> list[tuple[int, ...]]:
    """The orders in which the dice of a roll may be used."""
    first, second = roll
    if first == second:
        return [(first,) * 4]
    return [(first, second), (second, first)]


def ends(board: Board, roll: Sequence[int], rules: Rules, most_heads: int) -> list[End]:
    """The ends of all turns that meet the obligations, if so many may leave the head."""
    start = State(board)
    found = {End((), start)}
    for order in dice_orders(roll):
        layer = {start}
        for count, die in enumerate(order, start=1):
            layer = {
                after for state in layer for _, after in one_step(state, die, rules, most_heads)
            }
            found |= {
                End(order[:count], state)
                for state in layer
                if rules.block_check == "step" or not forbidden_block(state.board, rules)
            }
    most = max(len(end.used) for end in found)
    kept = [end for end in found if len(end.used) == most]
    if most == 1:
        larger = max(end.used for end in kept)
        kept = [end for end in kept if end.used == larger]
    return kept


@functools.lru_cache(maxsize=64)  # many questions about one position come in a row
def legal_ends(
    board: Board, roll: Sequence[int], rules: Rules, context: TurnContext
) -> tuple[list[End], int]:
    """The ends of all legal turns, and how many checkers may leave the head."""
    one = ends(board, roll, rules, 1)
    if not context.first_turn or rules.head_exception == "none":
        return one, 1
    high, low = max(roll), min(roll)
    first_roll = context.opponent_first_roll
    classic = (high, low) in ((6, 6), (4, 4), (3, 3))
    listed = (
        rules.head_exception == "seed_list"
        and context.player == "second"
        and first_roll is not None
        and (max(first_roll), min(first_roll)) in ((2, 1), (6, 2), (5, 5))
        and (high, low) in ((5, 5), (6, 2))
    )
    if classic and rules.head_exception in ("classic", "seed_list"):
        return ends(board, roll, rules, 2), 2
    if listed or rules.head_exception == "principle":
        two = ends(board, roll, rules, 2)
        n_dice = 4 if high == low else 2
        if len(one[0].used) < n_dice and len(two[0].used) > len(one[0].used):
            return two, 2
    return one, 1


def hashable(board: Sequence[int], roll: Sequence[int]) -> tuple[Board, tuple[int, int]]:
    """Both as tuples of ints."""
    first, second = roll
    return tuple(map(int, board)), (int(first), int(second))


def afterstates(
    board: Sequence[int],
    roll: Sequence[int],
    rules: Rules = LONG_NARDI,
    context: TurnContext | None = None,
) -> set[Board]:
    """All positions in which a legal turn can end; the unchanged one if nothing can be played."""
    found, _ = legal_ends(*hashable(board, roll), rules, context or TurnContext())
    return {end.state.board for end in found}


def dice_used(
    board: Sequence[int],
    roll: Sequence[int],
    rules: Rules = LONG_NARDI,
    context: TurnContext | None = None,
) -> int:
    """How many dice every legal turn uses."""
    found, _ = legal_ends(*hashable(board, roll), rules, context or TurnContext())
    return len(found[0].used)


def is_complete_turn(
    board: Sequence[int],
    roll: Sequence[int],
    steps: Sequence[Step],
    rules: Rules = LONG_NARDI,
    context: TurnContext | None = None,
) -> bool:
    """Whether these steps, in this order, are one complete legal turn.

    A turn that bears off the last checker is complete though another one may use more dice.
    """
    found, most_heads = legal_ends(*hashable(board, roll), rules, context or TurnContext())
    boards = {end.state.board for end in found}
    most = len(found[0].used)
    for order in dice_orders(roll):
        if len(steps) > len(order):
            continue
        states = {State(tuple(board))}
        for die, wanted in zip(order, steps, strict=False):
            states = {
                after
                for state in states
                for step, after in one_step(state, die, rules, most_heads)
                if step == tuple(wanted)
            }
        for state in states:
            finished = not any(n > 0 for n in state.board)
            if state.board in boards and (len(steps) == most or finished):
                return True
    return False
