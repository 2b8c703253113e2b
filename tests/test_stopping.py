"""Stop rules: how wide the lasting intervals are, and how often they err, looked at every time."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import ConfigError
from eval.duel import play_duel
from eval.stats import Estimate, Moments
from eval.stopping import FIRST_LOOK, StopRule, lasting_interval

N_VALUES = 6000
CHUNK = 64


def looks(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and standard errors of all samples `(S, N)` after every chunk, each `(S, looks)`."""
    counts = np.arange(CHUNK, samples.shape[1] + 1, CHUNK)
    sums = np.cumsum(samples, axis=1)[:, counts - 1]
    squares = np.cumsum(samples**2, axis=1)[:, counts - 1]
    means = sums / counts
    variances = (squares - counts * means**2) / (counts - 1)
    return means, np.sqrt(variances / counts)


def share_decided(samples: NDArray[np.float64], rule: StopRule) -> float:
    """Share of samples in which some look ends with "decided"."""
    means, errors = looks(samples)
    decided = 0
    for mean_row, error_row in zip(means.tolist(), errors.tolist(), strict=True):
        decided += any(
            rule.verdict(Estimate(mean=mean, stderr=error, n=CHUNK * (i + 1))) == "decided"
            for i, (mean, error) in enumerate(zip(mean_row, error_row, strict=True))
        )
    return decided / len(samples)


def results_like_games(generator: np.random.Generator, n_samples: int) -> NDArray[np.float64]:
    """Pairs of games of equals: sums of two results, some of them gammons, over 2."""
    points = np.array([-3, -2, -1, 1, 2, 3])
    chances = [0.006, 0.134, 0.36, 0.36, 0.134, 0.006]
    games = generator.choice(points, p=chances, size=(2, n_samples, N_VALUES))
    return np.asarray(games.mean(axis=0))


@pytest.mark.parametrize("kind", ["games", "less luck"])
def test_equals_are_seldom_told_apart(kind: str, rng: np.random.Generator) -> None:
    """94 looks: the stated 5% hold; plain intervals, looked at like that, fail many times more."""
    n = 400
    samples = results_like_games(rng, n)
    if kind == "less luck":
        # Heavy tails: most games have no mistake that differs, a few cost much.
        samples = np.where(rng.random((n, N_VALUES)) < 0.1, samples, 0.0)
    wrong = share_decided(samples, StopRule(decided=True))
    assert wrong <= 0.05
    means, errors = looks(samples)
    naive = (np.abs(means) > 1.96 * errors)[:, 1:].any(axis=1).mean()
    assert naive > 0.2


def test_lasting_intervals_hold_the_truth_at_all_times(rng: np.random.Generator) -> None:
    truth = 0.2
    means, errors = looks(results_like_games(rng, 400) + truth)
    missed = np.zeros(400, dtype=np.bool_)
    for i in range(1, means.shape[1]):
        for s in range(400):
            mean, error = float(means[s, i]), float(errors[s, i])
            low, high = lasting_interval(Estimate(mean=mean, stderr=error, n=CHUNK * (i + 1)))
            missed[s] |= not low <= truth <= high
    assert missed.mean() <= 0.05


def test_clear_differences_are_decided_soon(rng: np.random.Generator) -> None:
    samples = results_like_games(rng, 100) + 0.2
    assert share_decided(samples[:, :1500], StopRule(decided=True)) > 0.9


def test_stopping_at_a_width_keeps_the_level(rng: np.random.Generator) -> None:
    samples = results_like_games(rng, 400) + 0.1
    rule = StopRule(width=0.05)
    means, errors = looks(samples)
    covered = 0
    for mean_row, error_row in zip(means.tolist(), errors.tolist(), strict=True):
        for i, (mean, error) in enumerate(zip(mean_row, error_row, strict=True)):
            estimate = Estimate(mean=mean, stderr=error, n=CHUNK * (i + 1))
            if rule.verdict(estimate) == "width":
                low, high = estimate.interval(0.95)
                assert (high - low) / 2 <= 0.05
                covered += low <= 0.1 <= high
                break
    assert abs(covered - 380) < 4 * math.sqrt(400 * 0.95 * 0.05)


@pytest.mark.parametrize(("n", "factor"), [(150, 1.8), (1000, 1.56), (20_000, 1.8)])
def test_price_of_looking_often(n: int, factor: float) -> None:
    estimate = Estimate(mean=1.0, stderr=0.1, n=n)
    low, high = lasting_interval(estimate)
    assert high - 1 == pytest.approx(1 - low)
    assert 1.5 < (high - 1) / 0.196 < factor


def test_known_half_width() -> None:
    """Theorem 2.2 written out for n = 1000, alpha = 0.05, stderr 1."""
    rho_sq = (5.991464547 + math.log(5.991464547) + 1) / 1000
    grown = 1000 * rho_sq + 1
    half = math.sqrt(1000) * math.sqrt(
        2 * grown / (1000**2 * rho_sq) * math.log(math.sqrt(grown) / 0.05)
    )
    assert lasting_interval(Estimate(mean=0.0, stderr=1.0, n=1000))[1] == pytest.approx(half)


def test_too_few_values_end_nothing() -> None:
    rule = StopRule(width=10.0, decided=True)
    few = Estimate(mean=1.0, stderr=0.001, n=FIRST_LOOK - 1)
    assert rule.verdict(few) is None
    assert rule.verdict(Estimate(mean=1.0, stderr=0.001, n=FIRST_LOOK)) == "decided"
    assert rule.verdict(Moments().estimate()) is None
    assert math.isnan(lasting_interval(Moments().estimate())[0])
    assert not StopRule()
    assert StopRule().verdict(Estimate(mean=1.0, stderr=0.001, n=10_000)) is None


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf])
def test_bad_widths(width: float) -> None:
    with pytest.raises(ConfigError, match="width"):
        StopRule(width=width)


# --- in duels ---


def test_a_duel_ends_when_it_is_decided() -> None:
    """At the first chunk's end at which the rule holds; the figures are those of fewer games."""
    figures = play_duel(
        "pubeval", "pip-greedy", 4000, 5, stop=StopRule(decided=True), chunk_streams=60
    )
    assert figures.ended == "decided"
    assert [standing.n_games for standing in figures.curve] == [16, 136, 256]
    shorter = play_duel("pubeval", "pip-greedy", 256, 5)
    assert figures.ppg == shorter.ppg
    assert shorter.ended == "games"


def test_equals_are_played_to_the_end() -> None:
    figures = play_duel("pubeval", "pubeval", 400, 5, stop=StopRule(decided=True))
    assert (figures.ended, figures.n_games) == ("games", 400)


def test_a_duel_ends_at_a_width() -> None:
    rule = StopRule(width=0.15)
    figures = play_duel("pubeval", "pip-greedy", 4000, 5, stop=rule, chunk_streams=40)
    assert figures.ended == "width"
    half_widths = [1.96 * each.ppg.stderr for each in figures.curve if each.ppg.n >= FIRST_LOOK]
    assert half_widths[-1] <= 0.15
    assert all(half > 0.15 for half in half_widths[:-1])
