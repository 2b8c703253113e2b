"""When a duel may end early without its error rate being wrong, however often one has looked.

A 95% interval leaves the truth out with 5% if it is looked at once. Looking again and again and
stopping the first time that 0 is outside finds a winner among equals far more often. So "decided"
goes by a confidence sequence, whose intervals hold all at once: the normal mixture of Robbins
(1970) with the spread estimated, as in Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
"Time-uniform central limit theory and asymptotic confidence sequences" (2021), theorem 2.2.
Stopping at a width needs no such care: the error hardly depends on the mean, and the plain interval
keeps its level (Chow and Robbins 1965).
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

from engine.errors import ConfigError
from eval.stats import Estimate

__all__ = ["CONFIDENCE", "FIRST_LOOK", "StopRule", "lasting_interval"]

CONFIDENCE: Final = 0.95
"""Of the intervals that stopping goes by."""

FIRST_LOOK: Final = 100
"""Fewest independent values at which a duel may end: both intervals lean on the central limit
theorem and on the estimated spread."""

_TIGHTEST_AT: Final = 1000
"""Number of values at which the lasting intervals are tightest, compared with plain ones: 1.55
times as wide there, below 1.8 times from 150 to 20,000 values."""


def lasting_interval(estimate: Estimate, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Interval of the mean; all those of a growing sample hold at once with this confidence.

    Ends are nan if the error is not known. Asymptotic, see `FIRST_LOOK`.
    """
    alpha = 1 - confidence
    n = estimate.n
    # Nearly the best rho^2 for n = _TIGHTEST_AT (the paper's appendix B.2).
    rho_sq = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / _TIGHTEST_AT
    grown = n * rho_sq + 1
    half = math.nan
    if n:
        half = estimate.stderr * math.sqrt(
            2 * grown / (n * rho_sq) * math.log(math.sqrt(grown) / alpha)
        )
    return estimate.mean - half, estimate.mean + half


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """What ends a duel before all games are played; whatever comes first. The default: nothing.

    Raises ConfigError for a width that is not above 0.
    """

    width: float | None = None
    """Half-width, in points per game, that the plain 95% interval must reach."""
    decided: bool = False
    """Whether to end as soon as the lasting 95% interval leaves 0 out."""

    def __post_init__(self) -> None:
        if self.width is not None and not (0 < self.width < math.inf):
            raise ConfigError(f"width '{self.width}'; accepted: a number of points above 0")

    def __bool__(self) -> bool:
        return self.decided or self.width is not None

    def verdict(self, estimate: Estimate) -> Literal["decided", "width"] | None:
        """Which of the two holds, if any, in one look at the figures so far."""
        if estimate.n < FIRST_LOOK:
            return None
        low, high = lasting_interval(estimate)
        if self.decided and not (low <= 0 <= high):
            return "decided"
        low, high = estimate.interval(CONFIDENCE)
        if self.width is not None and (high - low) / 2 <= self.width:
            return "width"
        return None
