"""Means with their uncertainty: standard errors, intervals, and accumulators that can be merged."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

__all__ = ["Estimate", "Moments"]

_NORMAL: Final = NormalDist()


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean and how sure it is."""

    mean: float
    """nan if there are no values."""
    stderr: float
    """Standard error of the mean; nan if there are fewer than two values."""
    n: int
    """Number of independent values."""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Ends of the normal confidence interval of the mean; nan if the error is not known.

        confidence: between 0 and 1, both excluded. The normal distribution stands for Student's:
        with fewer than about 30 values the interval is too narrow.
        """
        half = _NORMAL.inv_cdf(0.5 + confidence / 2) * self.stderr
        return self.mean - half, self.mean + half


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Number, mean and spread of values, small whatever their number; parts add up.

    Made with `of`, grown with `+`. Parts added in another order differ by rounding only.
    """

    n: int = 0
    mean: float = 0.0
    sum_sq_dev: float = 0.0
    """Sum of the squared deviations from the mean (Welford's M2)."""

    @classmethod
    def of(cls, values: Iterable[float], counts: Iterable[int] | None = None) -> "Moments":
        """Moments of some values, the sums correctly rounded and so independent of their order.

        counts: how often each value occurred; None = once.
        """
        xs = [float(value) for value in values]
        ns = [1] * len(xs) if counts is None else [int(count) for count in counts]
        n = sum(ns)
        if n == 0:
            return cls()
        mean = math.fsum(x * k for x, k in zip(xs, ns, strict=True)) / n
        sum_sq_dev = math.fsum((x - mean) ** 2 * k for x, k in zip(xs, ns, strict=True))
        return cls(n=n, mean=mean, sum_sq_dev=sum_sq_dev)

    def __add__(self, other: "Moments") -> "Moments":
        """Moments of both parts together (Chan, Golub and LeVeque 1979)."""
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        n = self.n + other.n
        delta = other.mean - self.mean
        return Moments(
            n=n,
            mean=self.mean + delta * other.n / n,
            sum_sq_dev=self.sum_sq_dev + other.sum_sq_dev + delta**2 * self.n * other.n / n,
        )

    @property
    def variance(self) -> float:
        """Unbiased estimate of the variance of the values; nan if there are fewer than two."""
        return self.sum_sq_dev / (self.n - 1) if self.n > 1 else math.nan

    def estimate(self) -> Estimate:
        """The mean with its standard error."""
        return Estimate(
            mean=self.mean if self.n else math.nan,
            stderr=math.sqrt(self.variance / self.n) if self.n else math.nan,
            n=self.n,
        )
