"""Means, standard errors, intervals, and merging."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.stats import Estimate, Moments

values = st.lists(st.floats(-100, 100), min_size=0, max_size=30)


def test_against_numpy(rng: np.random.Generator) -> None:
    xs = rng.normal(0.5, 2.0, size=1000)
    estimate = Moments.of(xs.tolist()).estimate()
    assert estimate.n == 1000
    assert estimate.mean == pytest.approx(xs.mean(), abs=1e-12)
    assert estimate.stderr == pytest.approx(xs.std(ddof=1) / math.sqrt(1000), rel=1e-12)


@given(values, values)
def test_parts_add_up(first: list[float], second: list[float]) -> None:
    whole = Moments.of(first + second)
    parts = Moments.of(first) + Moments.of(second)
    assert parts.n == whole.n
    assert parts.mean == pytest.approx(whole.mean, abs=1e-9)
    assert parts.sum_sq_dev == pytest.approx(whole.sum_sq_dev, abs=1e-6)


@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 5)), max_size=20))
def test_counts_stand_for_repeated_values(table: list[tuple[int, int]]) -> None:
    repeated = [value for value, count in table for _ in range(count)]
    counted, plain = (
        Moments.of(*zip(*table, strict=True)) if table else Moments(),
        Moments.of(repeated),
    )
    assert (counted.n, counted.mean) == (plain.n, plain.mean)
    assert counted.sum_sq_dev == pytest.approx(plain.sum_sq_dev)


@given(st.permutations(range(-5, 12)))
def test_order_changes_nothing(order: list[int]) -> None:
    thirds = [value / 3 for value in order]
    assert Moments.of(thirds) == Moments.of(sorted(thirds))


def test_large_offsets_keep_the_spread() -> None:
    """Sums of squares would lose all digits here."""
    xs = [1e9 + value for value in (4.0, 7.0, 13.0, 16.0)]
    assert Moments.of(xs).variance == pytest.approx(30.0)
    assert (Moments.of(xs[:1]) + Moments.of(xs[1:])).variance == pytest.approx(30.0)


def test_too_few_values_tell_no_error() -> None:
    none, one = Moments().estimate(), Moments.of([2.5]).estimate()
    assert none.n == 0
    assert math.isnan(none.mean)
    assert math.isnan(none.stderr)
    assert (one.mean, one.n) == (2.5, 1)
    assert math.isnan(one.stderr)


def test_interval() -> None:
    estimate = Estimate(mean=0.2, stderr=0.1, n=1000)
    low, high = estimate.interval(0.95)
    assert low == pytest.approx(0.2 - 0.1959964)
    assert high == pytest.approx(0.2 + 0.1959964)
    assert estimate.interval(0.5) == pytest.approx((0.2 - 0.0674490, 0.2 + 0.0674490))


def test_intervals_cover_as_often_as_they_say(rng: np.random.Generator) -> None:
    samples = rng.integers(-3, 4, size=(2000, 200)).tolist()
    intervals = [Moments.of(sample).estimate().interval(0.9) for sample in samples]
    covered = sum(low <= 0 <= high for low, high in intervals)
    assert abs(covered - 1800) < 5 * math.sqrt(2000 * 0.9 * 0.1)
