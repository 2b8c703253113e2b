"""How far a bot's equities and probabilities are from reference values: RMSE and bias.

All errors are the bot's value minus the reference. Values come in groups that err alike (the
candidates of one decision), so standard errors are over groups; a lone value is a group of one.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.bot import Bot, FloatArray
from engine.board import Board, IntArray
from eval.references import OUTPUTS
from eval.stats import Estimate

__all__ = ["Fit", "ValueErrors", "owner_probabilities", "rmse_differences", "value_errors"]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How well one quantity is judged."""

    rmse: Estimate
    """Root of the mean squared error; its own error by the delta method."""
    bias: Estimate
    """Mean error: positive if the bot's values are too high."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueErrors:
    """How well some positions are judged."""

    n: int
    """Number of positions."""
    fits: dict[str, Fit]
    """Of `equity` and, where the reference has them, of each of the five probabilities."""
    errors: dict[str, FloatArray]
    """The single errors, `(n,)` each, under the same names."""
    offsets: IntArray
    """Group i owns the errors offsets[i] to offsets[i + 1]."""


def owner_probabilities(bot: Bot, boards: Board, swapped: NDArray[np.bool_]) -> FloatArray:
    """A bot's probabilities of boards before the roll, `(B, 5)`, for the other side where swapped.

    Raises ConfigError if the bot has none.
    """
    from agent.evaluator import swap_sides  # bots without a net do not need its kernels

    probs = bot.probabilities(boards)
    return np.where(swapped[:, np.newaxis], swap_sides(probs), probs).astype(np.float64)


def value_errors(
    probs: FloatArray, equities: FloatArray, reference: FloatArray | None, offsets: IntArray
) -> ValueErrors:
    """Errors of `(n, 5)` probabilities and of the cubeless equities that follow from them.

    equities: `(n,)` of the reference; reference: `(n, 5)` its probabilities, if it has them.
    """
    win, win_gammon, win_bg, lose_gammon, lose_bg = probs.T
    found = 2 * win - 1 + win_gammon + win_bg - lose_gammon - lose_bg
    errors = {"equity": found - equities}
    if reference is not None:
        errors |= dict(zip(OUTPUTS, (probs - reference).T, strict=True))
    return ValueErrors(
        n=len(probs),
        fits={name: _fit(some, offsets) for name, some in errors.items()},
        errors=errors,
        offsets=offsets,
    )


def _mean(values: FloatArray, offsets: IntArray) -> Estimate:
    """Mean of all values with the error of a ratio of sums over groups."""
    n_groups = len(offsets) - 1
    mean = float(values.mean())
    residuals = np.add.reduceat(values - mean, offsets[:-1])
    if n_groups < 2:
        return Estimate(mean=mean, stderr=math.nan, n=n_groups)
    variance = n_groups / (n_groups - 1) * float((residuals**2).sum()) / len(values) ** 2
    return Estimate(mean=mean, stderr=math.sqrt(variance), n=n_groups)


def _fit(errors: FloatArray, offsets: IntArray) -> Fit:
    square = _mean(errors**2, offsets)
    rmse = math.sqrt(square.mean)
    stderr = square.stderr / (2 * rmse) if rmse > 0 else square.stderr
    return Fit(rmse=Estimate(mean=rmse, stderr=stderr, n=square.n), bias=_mean(errors, offsets))


def rmse_differences(a: ValueErrors, b: ValueErrors) -> dict[str, Estimate]:
    """RMSE of a minus that of b on the same positions, with the error of the paired difference."""
    differences = {}
    for name, fit in a.fits.items():
        rmse_a, rmse_b = fit.rmse.mean, b.fits[name].rmse.mean
        # What a single position adds to either: the derivative of the root.
        part_a = a.errors[name] ** 2 / (2 * rmse_a) if rmse_a > 0 else a.errors[name]
        part_b = b.errors[name] ** 2 / (2 * rmse_b) if rmse_b > 0 else b.errors[name]
        paired = _mean(part_a - part_b, a.offsets)
        differences[name] = Estimate(mean=rmse_a - rmse_b, stderr=paired.stderr, n=paired.n)
    return differences
