"""Scores against closed forms; PIT uniform for a right mechanism and not for a wrong one."""

import numpy as np
import pytest
from scipy import stats

from shap_asv.backgrounds.structural.scores import (
    crps,
    log_score,
    miscalibration,
    pit_of_draws,
    pit_of_probabilities,
)

GRID = (np.arange(2000) + 0.5) / 2000


@pytest.mark.parametrize("y", [-2.0, 0.0, 0.7, 5.0])
def test_crps_of_a_normal_distribution(y):
    """``y (2 Phi(y) - 1) + 2 phi(y) - 1 / sqrt(pi)``."""
    expected = y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / np.sqrt(np.pi)
    assert crps(stats.norm.ppf(GRID)[None], np.array([y]))[0] == pytest.approx(expected, abs=2e-3)


def test_crps_is_smallest_for_the_true_distribution():
    values = np.random.default_rng(0).normal(size=4000)
    grid = stats.norm.ppf((np.arange(40) + 0.5) / 40)

    def mean(shift, scale):
        return crps(np.broadcast_to(shift + scale * grid, (4000, 40)), values).mean()

    assert mean(0, 1) < min(mean(0.2, 1), mean(-0.2, 1), mean(0, 1.25), mean(0, 0.8))


def test_log_score():
    scores = log_score(np.array([[0.25, 0.75], [1.0, 0.0]]), np.array([1, 1]))
    assert scores[0] == pytest.approx(-np.log(0.75))
    assert 20 < scores[1] < 50


def test_pit_of_numbers_and_counts_is_uniform_if_the_mechanism_is_right():
    rng = np.random.default_rng(1)
    middles = (np.arange(40) + 0.5) / 40
    for law in (stats.norm(), stats.poisson(3), stats.uniform()):
        values = law.rvs(size=5000, random_state=rng)
        draws = np.broadcast_to(law.ppf(middles), (5000, 40))
        pit = pit_of_draws(draws.astype(float), values.astype(float), rng)
        assert pit.min() >= 0
        assert pit.max() <= 1
        assert stats.kstest(pit, "uniform").pvalue > 1e-3
        assert miscalibration(pit) == pytest.approx(stats.kstest(pit, "uniform").statistic)
    narrow = np.broadcast_to(0.5 * stats.norm.ppf(middles), (5000, 40))
    assert miscalibration(pit_of_draws(narrow, stats.norm.rvs(size=5000, random_state=rng), rng)) > 0.1


def test_pit_of_categories():
    rng = np.random.default_rng(2)
    shares = rng.dirichlet([1, 1, 1], 5000)
    codes = (rng.random(5000)[:, None] > np.cumsum(shares, axis=1)).sum(axis=1)
    assert stats.kstest(pit_of_probabilities(shares, codes, rng), "uniform").pvalue > 1e-3
    wrong = np.full((5000, 3), [0.8, 0.1, 0.1])
    assert miscalibration(pit_of_probabilities(wrong, codes, rng)) > 0.1
