"""A decision set with exact equities: plays near the end of races, as games bring them about.

Each decision is of another race: both sides start with 15 checkers at random on points 3 to 8 and
play as the tables of endings say best. Of the turns in which the two-sided table knows every play,
and in which it matters which one is taken, one is picked. Nothing is estimated, so a bot that plays
these endings perfectly has a loss of exactly 0.
"""

from collections.abc import Callable, Iterator
from typing import Final, Literal

import numpy as np

from agent.evaluator import FloatArray, cubeless_equity, swap_sides
from engine.bearoff.lookup import covers, cubeful, cubeless
from engine.board import NUM_CHECKERS, NUM_SLOTS, Board, borne_off, flip
from engine.dice import game_generator, roll_dice
from engine.errors import ConfigError
from engine.moves import legal_afterstates
from eval.decision_files import CubeDecision, Decision

__all__ = ["LEAST_SPREAD", "bearoff_cube_decisions", "bearoff_decisions"]

LEAST_SPREAD: Final = 0.01
"""Points per game between the best and the worst play of a decision, at least."""

MOST_CUBE_SPREAD: Final = 0.4
"""Points per present stake between taking and passing where doubling is right, at most."""

_START_POINTS: Final = (3, 8)


def bearoff_decisions(
    count: int, seed: int, on_progress: Callable[[int], None] | None = None
) -> list[Decision]:
    """So many different decisions of as many races, the same ones for the same seed.

    The first ones of a longer set are those of a shorter set. on_progress: told how many there
    are. Raises ConfigError for a count below 1 or a negative seed.
    """
    _check(count, seed)
    found: dict[bytes, Decision] = {}
    race = 0
    while len(found) < count:
        generator = game_generator(seed, race)
        race += 1
        decisions = list(_race(generator))
        if not decisions:
            continue
        decision = decisions[generator.integers(len(decisions))]
        key = decision.before.tobytes() + bytes(sorted(decision.dice))
        found.setdefault(key, decision)
        if on_progress is not None:
            on_progress(len(found))
    return list(found.values())


def bearoff_cube_decisions(
    count: int, seed: int, on_progress: Callable[[int], None] | None = None
) -> list[CubeDecision]:
    """So many different decisions of the cube of as many races, for money with an unlimited cube.

    Of the turns of a race in which the mover may double, the cube centred or his (drawn), and in
    which it makes a difference of `LEAST_SPREAD` or more whether he does, one is picked that is not
    too clear: either doubling is right and take and pass differ by `MOST_CUBE_SPREAD` at most, or
    it is wrong and costs half of that at most; which of the two kinds is drawn, where there are
    both. Arguments and errors as in `bearoff_decisions`.
    """
    _check(count, seed)
    found: dict[bytes, CubeDecision] = {}
    race = 0
    while len(found) < count:
        generator = game_generator(seed, race)
        race += 1
        owner: Literal["mover"] | None = "mover" if generator.integers(2) else None
        kinds: tuple[list[CubeDecision], list[CubeDecision]] = ([], [])
        for turn in _race(generator):
            worth = cubeful(turn.before, owner)
            assert worth.double_take is not None
            gain = min(worth.double_take, 1.0) - worth.no_double
            span = abs(worth.double_take - 1.0) if gain > 0 else -2 * gain
            if abs(gain) < LEAST_SPREAD or span > MOST_CUBE_SPREAD:
                continue
            equities = (worth.no_double, worth.double_take, 1.0)
            decision = CubeDecision(before=turn.before, owner=owner, equities=equities)
            kinds[int(gain > 0)].append(decision)
        first = int(generator.integers(2))
        decisions = kinds[first] or kinds[1 - first]
        if not decisions:
            continue
        decision = decisions[generator.integers(len(decisions))]
        found.setdefault(decision.before.tobytes() + str(owner).encode(), decision)
        if on_progress is not None:
            on_progress(len(found))
    return list(found.values())


def _check(count: int, seed: int) -> None:
    if count < 1:
        raise ConfigError(f"count '{count}' of decisions; accepted: whole numbers from 1 up")
    if seed < 0:
        raise ConfigError(f"seed '{seed}'; accepted: whole numbers from 0 up")


def _race(generator: np.random.Generator) -> Iterator[Decision]:
    """The decisions that matter of one race, in the order of play."""
    low, high = _START_POINTS
    sides = [
        np.bincount(
            generator.integers(low, high, NUM_CHECKERS, endpoint=True), minlength=NUM_SLOTS
        ).astype(np.int8)
        for _ in range(2)
    ]
    board: Board = sides[0] + flip(sides[1])
    while True:
        die_a, die_b = roll_dice(generator)[0].tolist()
        afterstates = legal_afterstates(board, (die_a, die_b))
        probs = _probs_after(afterstates)
        equities = cubeless_equity(probs).astype(np.float64)
        exact = covers(board[np.newaxis], exactly=True)[0]
        if exact and equities.max() - equities.min() >= LEAST_SPREAD:
            yield Decision(
                before=board,
                dice=(die_a, die_b),
                afterstates=afterstates,
                equities=equities,
                stderrs=np.zeros(len(equities)),
                probs=probs,
            )
        best = afterstates[int(np.argmax(equities))]
        if borne_off(best) == NUM_CHECKERS:
            return
        board = flip(best)


def _probs_after(afterstates: Board) -> FloatArray:
    """The mover's probabilities `(N, 5)` after his plays, as the tables tell them."""
    probs = swap_sides(cubeless(flip(afterstates)))
    finished = borne_off(afterstates) == NUM_CHECKERS
    probs[finished] = 0
    probs[finished, 0] = 1
    return probs
