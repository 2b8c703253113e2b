"""Legal plays of short nardi, plain and slow: the oracle of the differential tests.

Written from the text of the rules alone and on purpose without numpy, kernels or clever pruning:
a turn is every sequence of single steps, and the obligations are a filter over all of them. A
board is a tuple of 26 ints seen by the mover: slots 1 to 24 hold his checkers (> 0) or the
opponent's (< 0), slot 25 his bar and slot 0 the opponent's bar (a count, >= 0).

The rules, in the order in which they are used:

1. Dice are separate steps; a double is four steps of its number, otherwise both orders exist.
2. With checkers on the bar only they may move; die n enters on point 25 - n.
3. A point with two or more opposing checkers is closed. Landing on a single one hits it.
4. Checkers are borne off only while all are on points 1 to 6: by the exact number, or by a larger
   one from the highest occupied point.
5. House rule `hit_then_bear_off`: a checker that has hit in this turn is not borne off
   ("ban_hitter"), or none is once the mover has hit on his points 1 to 6 ("ban_home_hit").
6. House rule `hit_and_hide` = "ban": a checker that hit is marked; a later step of it, without a
   hit, on to a point with another own checker makes it hide; a step to a point without one ends
   the hiding. A turn may not end with a hiding checker; such turns are removed before 7.
   Checkers on one point are alike: the mover says which of them moves.
7. As many dice as possible are used; if only one of two different dice can be, the larger one.
8. The turn is over when the last checker is off. Rule 7 holds to the end: if some turn uses both
   dice, one that finishes with a single die leads to a legal position only if the other one
   reaches the same position.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

__all__ = [
    "BAR",
    "INTERNATIONAL",
    "OFF",
    "HouseRules",
    "afterstates",
    "dice_used",
    "early_finishes",
    "is_complete_turn",
    "is_over",
    "legal_sequences",
]

BAR = 25
OFF = 0

Board = tuple[int, ...]
Step = tuple[int, int]
Mark = tuple[int, bool]


class State(NamedTuple):
    """A moment within a turn."""

    board: Board
    marks: tuple[Mark, ...] = ()
    """Checkers that have hit in this turn, as sorted (point, hiding) pairs."""
    home_hit: bool = False
    """Whether the mover has hit on his points 1 to 6 in this turn."""


class End(NamedTuple):
    """A state in which a turn could stop, and the dice used until then."""

    used: tuple[int, ...]
    state: State


class Switches(Protocol):
    """The two house rules that bear on legal plays; `engine.rules.Rules` has them too."""

    @property
    def hit_and_hide(self) -> str: ...

    @property
    def hit_then_bear_off(self) -> str: ...


class HouseRules(NamedTuple):
    """The two switches alone."""

    hit_and_hide: str = "allow"
    hit_then_bear_off: str = "allow"


INTERNATIONAL = HouseRules()


def is_over(board: Sequence[int]) -> bool:
    """Whether one of the sides has no checkers left."""
    mover = sum(count for count in board[1:] if count > 0)
    opponent = board[0] - sum(count for count in board[1:] if count < 0)
    return mover == 0 or opponent == 0


def has_finished(board: Sequence[int]) -> bool:
    """Whether the mover has borne off everything."""
    return not any(count > 0 for count in board[1:])


def sources(board: Board) -> list[int]:
    """Where a checker may be taken from: the bar if one is there, else every own point."""
    if board[BAR] > 0:
        return [BAR]
    return [point for point in range(1, BAR) if board[point] > 0]


def target(board: Board, start: int, die: int) -> int | None:
    """Where the checker on `start` gets with this die; None if it may not go there."""
    to = start - die
    if to >= 1:
        return None if board[to] <= -2 else to
    if any(board[point] > 0 for point in range(7, BAR + 1)):
        return None
    if to < 0 and any(board[point] > 0 for point in range(start + 1, 7)):
        return None
    return OFF


def after_step(state: State, start: int, to: int, rules: Switches) -> Iterator[State]:
    """The states after moving one checker, one for each kind of checker that may be meant."""
    bearing_off = to == OFF
    if bearing_off and rules.hit_then_bear_off == "ban_home_hit" and state.home_hit:
        return
    board = list(state.board)
    hit = not bearing_off and board[to] == -1
    board[start] -= 1
    joins = not bearing_off and board[to] > 0
    if hit:
        board[to] = 0
        board[0] += 1
    if not bearing_off:
        board[to] += 1
    home_hit = state.home_hit or (hit and 1 <= to <= 6)

    marked_here = [mark for mark in state.marks if mark[0] == start]
    kinds: list[Mark | None] = [*sorted(set(marked_here))]
    if state.board[start] > len(marked_here):
        kinds.append(None)  # a checker that has not hit in this turn
    for kind in kinds:
        if bearing_off and kind is not None and rules.hit_then_bear_off == "ban_hitter":
            continue
        marks = list(state.marks)
        if kind is not None:
            marks.remove(kind)
        if not bearing_off and (kind is not None or hit):
            marks.append((to, joins))
        yield State(tuple(board), tuple(sorted(marks)), home_hit)


def normal(state: State, rules: Switches) -> State:
    """The state without what these rules never ask about, so that equal ones merge."""
    keep_marks = rules.hit_and_hide == "ban" or rules.hit_then_bear_off == "ban_hitter"
    keep_home_hit = rules.hit_then_bear_off == "ban_home_hit"
    return State(
        state.board, state.marks if keep_marks else (), state.home_hit if keep_home_hit else False
    )


def one_step(state: State, die: int, rules: Switches) -> Iterator[tuple[Step, State]]:
    """Every step that this die allows, with the states it leads to."""
    for start in sources(state.board):
        to = target(state.board, start, die)
        if to is not None:
            for after in after_step(state, start, to, rules):
                yield (start, to), normal(after, rules)


def dice_orders(roll: Sequence[int]) -> list[tuple[int, ...]]:
    """The orders in which the dice of a roll may be used."""
    first, second = roll
    if first == second:
        return [(first,) * 4]
    return [(first, second), (second, first)]


def may_end(state: State, rules: Switches) -> bool:
    """Whether no checker hides; asked only where hiding is banned."""
    return rules.hit_and_hide != "ban" or not any(hiding for _, hiding in state.marks)


def legal_ends(board: Sequence[int], roll: Sequence[int], rules: Switches) -> frozenset[End]:
    """The ends of all turns that keep every rule: no hiding checker, the obligations met."""
    return _ends(*_hashable(board, roll, rules))[1]


def possible_ends(board: Sequence[int], roll: Sequence[int], rules: Switches) -> frozenset[End]:
    """The ends of all turns of any length, before the obligations are asked for."""
    return _ends(*_hashable(board, roll, rules))[0]


def _hashable(
    board: Sequence[int], roll: Sequence[int], rules: Switches
) -> tuple[Board, tuple[int, int], HouseRules]:
    first, second = roll
    switches = HouseRules(rules.hit_and_hide, rules.hit_then_bear_off)
    return tuple(map(int, board)), (int(first), int(second)), switches


@functools.lru_cache(maxsize=64)  # many questions about one position come in a row
def _ends(
    board: Board, roll: tuple[int, int], rules: HouseRules
) -> tuple[frozenset[End], frozenset[End]]:
    """Possible and legal ends."""
    start = State(board)
    ends = {End((), start)}
    for order in dice_orders(roll):
        layer = {start}
        for count, die in enumerate(order, start=1):
            layer = {after for state in layer for _, after in one_step(state, die, rules)}
            ends |= {End(order[:count], state) for state in layer if may_end(state, rules)}
    return frozenset(ends), obey_obligations(ends)


def obey_obligations(ends: Iterable[End]) -> frozenset[End]:
    """Those that use as many dice as possible and, with one of two dice, the larger."""
    ends = list(ends)
    most = max(len(end.used) for end in ends)
    ends = [end for end in ends if len(end.used) == most]
    if most == 1:
        larger = max(end.used for end in ends)
        ends = [end for end in ends if end.used == larger]
    return frozenset(ends)


def afterstates(
    board: Sequence[int], roll: Sequence[int], rules: Switches = INTERNATIONAL
) -> set[Board]:
    """All positions in which a legal turn can end; the unchanged one if nothing can be played."""
    ends = legal_ends(board, roll, rules)
    return {end.state.board for end in ends}


def dice_used(board: Sequence[int], roll: Sequence[int], rules: Switches = INTERNATIONAL) -> int:
    """How many dice every legal turn uses."""
    return max(len(end.used) for end in legal_ends(board, roll, rules))


def early_finishes(
    board: Sequence[int], roll: Sequence[int], rules: Switches = INTERNATIONAL
) -> set[Board]:
    """Positions with all checkers off that are reached only with fewer dice than could be used.

    They are illegal by rule 8; one outside program allows them.
    """
    ends = possible_ends(board, roll, rules)
    finished = {end.state.board for end in ends if has_finished(end.state.board)}
    return finished - afterstates(board, roll, rules)


def is_complete_turn(
    board: Sequence[int],
    roll: Sequence[int],
    steps: Sequence[Step],
    rules: Switches = INTERNATIONAL,
) -> bool:
    """Whether these steps, in this order, are one complete legal turn.

    Which die and which of several like checkers a step uses is open; one way that works is enough.
    A turn that bears off the last checker is complete even if another one uses more dice for
    the same position; a turn that leaves checkers has to use all that can be used.
    """
    ends = legal_ends(board, roll, rules)
    for order in dice_orders(roll):
        if len(steps) > len(order):
            continue
        states = {State(tuple(board))}
        for die, wanted in zip(order, steps, strict=False):
            states = {
                after
                for state in states
                for step, after in one_step(state, die, rules)
                if step == tuple(wanted)
            }
        for state in states:
            if End(order[: len(steps)], state) in ends:
                return True
            if (
                has_finished(state.board)
                and may_end(state, rules)
                and any(end.state.board == state.board for end in ends)
            ):
                return True
    return False


def legal_sequences(
    board: Sequence[int], roll: Sequence[int], rules: Switches = INTERNATIONAL
) -> dict[tuple[Step, ...], set[Board]]:
    """Every ordered sequence of steps that is a legal turn using all dice it can, with its results.

    Much larger than the set of positions; for small positions only.
    """
    ends = legal_ends(board, roll, rules)
    sequences: dict[tuple[Step, ...], set[Board]] = {}

    def walk(order: tuple[int, ...], steps: tuple[Step, ...], state: State) -> None:
        if End(order[: len(steps)], state) in ends:
            sequences.setdefault(steps, set()).add(state.board)
        if len(steps) < len(order):
            for step, after in one_step(state, order[len(steps)], rules):
                walk(order, (*steps, step), after)

    for order in dice_orders(roll):
        walk(order, (), State(tuple(board)))
    return sequences
