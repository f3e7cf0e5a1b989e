"""Scores against closed forms."""

import numpy as np
import pytest
from scipy import stats

from shap_asv.backgrounds.structural.scores import crps, log_score

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
