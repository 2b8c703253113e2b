"""Loss per decision: what a bot's plays cost by reference equities, overall and phase by phase.

The loss of a decision is the equity of its best candidate minus that of the one the bot takes, 0
or more; PR is 500 times the mean loss. Reference equities are estimates themselves, and the best of
several such is a little too high: among plays of equal worth a mean loss of zero is out of reach.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot, FloatArray
from engine.board import Board, IntArray
from engine.moves import legal_plays
from engine.notation import format_play
from engine.rules import Rules
from engine.variant import variant_of
from eval.phases import PHASE_NAMES, phase_numbers
from eval.references import DecisionSet, PositionSet, decision_id
from eval.stats import Estimate, Moments
from eval.value_errors import ValueErrors, owner_probabilities, value_errors

__all__ = [
    "PR_UNIT",
    "Loss",
    "Losses",
    "Miss",
    "in_pr",
    "mean_differences",
    "measure_decisions",
    "measure_positions",
    "worst_misses",
]

PR_UNIT: Final = 500
"""PR is the mean loss in points per game times this."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Figures of some decisions."""

    loss: Estimate
    """Mean loss in points per game."""
    best: Estimate
    """Share of decisions in which a best candidate is taken."""

    @property
    def pr(self) -> Estimate:
        """The loss as an error rating."""
        return in_pr(self.loss)


@dataclass(frozen=True, kw_only=True, eq=False)
class Losses:
    """How a bot does on all decisions of a set."""

    bot: str
    """The text that names it."""
    rules: Rules
    """It plays by these."""
    shares: FloatArray
    """`(M,)`: how often it takes each candidate, 0 or 1 unless it plays by chance."""
    losses: FloatArray
    """`(B,)`: loss of each decision, expected if it plays by chance."""
    overall: Loss
    by_phase: dict[str, Loss]
    """Of the phases that occur, in order of priority."""
    values: ValueErrors | None
    """Errors of its equities of the candidates, None if it has no probabilities. They are over
    decisions: candidates of one decision err alike."""


@dataclass(frozen=True, kw_only=True)
class Miss:
    """A decision in which a bot does not take the best candidate."""

    loss: float
    """Points per game."""
    stderr_loss: float
    """Standard error of the reference's own difference; nan if the file does not tell."""
    line: int
    """Line of the file."""
    gnuid: str
    """Position and dice."""
    roll: tuple[int, int]
    phase: str
    play: str | None
    """What the bot plays; None if it plays by chance and takes several of the candidates."""
    best_play: str


def in_pr(loss: Estimate) -> Estimate:
    """The same as an error rating."""
    return Estimate(mean=PR_UNIT * loss.mean, stderr=PR_UNIT * loss.stderr, n=loss.n)


def _mean(values: NDArray[Any]) -> Estimate:
    return Moments.of(values.tolist()).estimate()


def measure_decisions(bot: Bot, decisions: DecisionSet) -> Losses:
    """Let a bot choose among the candidates of all decisions."""
    shares = bot.decision_shares(
        decisions.boards, decisions.rolls, decisions.afterstates, decisions.offsets
    )
    starts = decisions.offsets[:-1]
    of_candidates = _candidate_losses(decisions)
    losses = np.add.reduceat(shares * of_candidates, starts)
    best = np.add.reduceat(shares * (of_candidates == 0), starts)
    return Losses(
        bot=bot.name,
        rules=bot.rules,
        shares=shares,
        losses=losses,
        overall=Loss(loss=_mean(losses), best=_mean(best)),
        by_phase={
            name: Loss(loss=_mean(losses[rows]), best=_mean(best[rows]))
            for name, rows in _rows_by_phase(decisions.boards).items()
        },
        values=_candidate_values(bot, decisions) if bot.has_probabilities else None,
    )


def _candidate_losses(decisions: DecisionSet) -> FloatArray:
    """What each candidate costs against the best one of its decision, `(M,)`, 0 or more."""
    best = np.maximum.reduceat(decisions.equities, decisions.offsets[:-1])
    return np.asarray(np.repeat(best, np.diff(decisions.offsets)) - decisions.equities)


def _rows_by_phase(boards: Board) -> dict[str, IntArray]:
    numbers = phase_numbers(boards)
    rows = {name: np.flatnonzero(numbers == i) for i, name in enumerate(PHASE_NAMES)}
    return {name: found for name, found in rows.items() if len(found)}


def _candidate_values(bot: Bot, decisions: DecisionSet) -> ValueErrors:
    opp_boards = variant_of(bot.rules).flip(decisions.afterstates)
    probs = owner_probabilities(bot, opp_boards, np.ones(len(opp_boards), dtype=np.bool_))
    return value_errors(probs, decisions.equities, decisions.probs, decisions.offsets)


def measure_positions(bot: Bot, positions: PositionSet) -> ValueErrors:
    """Errors of a bot's values. Raises ConfigError if it has no probabilities."""
    probs = owner_probabilities(bot, positions.boards, positions.swapped)
    offsets = np.arange(len(positions.boards) + 1)
    return value_errors(probs, positions.equities, positions.probs, offsets)


def mean_differences(
    a: Losses, b: Losses, decisions: DecisionSet
) -> tuple[Estimate, dict[str, Estimate]]:
    """Mean of a's loss minus b's in points per game, overall and of each phase that occurs.

    Both were measured on these decisions. The errors are those of paired differences, which are
    much smaller than what the errors of a and b would give.
    """
    differences = a.losses - b.losses
    by_phase = {
        name: _mean(differences[rows]) for name, rows in _rows_by_phase(decisions.boards).items()
    }
    return _mean(differences), by_phase


def worst_misses(measured: Losses, decisions: DecisionSet, most: int) -> list[Miss]:
    """The decisions that cost most, at most so many, worst first; equal ones in the file's order.

    What a bot that plays by chance loses is its expected loss.
    """
    worst = np.argsort(-measured.losses, kind="stable")[:most]
    return [_miss(measured, decisions, int(i)) for i in worst if measured.losses[i] > 0]


def _miss(measured: Losses, decisions: DecisionSet, number: int) -> Miss:
    first, end = decisions.offsets[number : number + 2].tolist()
    candidates = np.arange(first, end)
    best = first + int(np.argmax(decisions.equities[first:end]))
    taken = candidates[measured.shares[first:end] > 0]
    is_sure = len(taken) == 1
    stderrs = decisions.stderrs
    die_a, die_b = decisions.rolls[number].tolist()
    board = decisions.boards[number]
    afterstates, plays = legal_plays(board, (die_a, die_b), measured.rules)

    def text(row: int) -> str:
        same = (afterstates == decisions.afterstates[row]).all(axis=1)
        return format_play(plays[int(np.flatnonzero(same)[0])], board)

    return Miss(
        loss=float(measured.losses[number]),
        stderr_loss=math.hypot(stderrs[best], stderrs[taken[0]]) if is_sure else math.nan,
        line=int(decisions.lines[number]),
        gnuid=decision_id(decisions, number),
        roll=(die_a, die_b),
        phase=PHASE_NAMES[int(phase_numbers(board[np.newaxis])[0])],
        play=text(int(taken[0])) if is_sure else None,
        best_play=text(best),
    )
