"""Sampled values scatter around the exact ones, and by as much as their standard errors say.

Three statistics over ``N_SEEDS`` seeds of the public explainer, for each way to sample:

- bias: ``t = (mean - exact) / (sd / sqrt(N))`` of each value, the largest of m values against Student's quantile for
  ``FALSE_ALARM / m``;
- calibration: ``mean of error_std^2 / variance over seeds``, pooled over values. Were all values one and the same, it
  would scatter by ``sqrt(2 / N)``; the window is four times that, which a right standard error leaves with probability
  below ``FALSE_ALARM``;
- coverage: the share of a seed's values that lie within 1.96 standard errors. Values of one seed depend on one another,
  seeds do not: Student's t over seeds says whether the mean share is below 93% or above 97%, with probability
  ``FALSE_ALARM`` each when it is not. Samples are larger here (``LARGER``), since a standard error from a dozen orders
  is itself too rough for 1.96.

Seeds are fixed, so a test fails always or never; FALSE_ALARM is the chance that other seeds would fail.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from shap_asv import AsymmetricExplainer
from tests.explainer.test_exact import black_box
from tests.problems import make_problem

FALSE_ALARM = 1e-4
N_SEEDS = 150
WINDOW = 4 * np.sqrt(2 / N_SEEDS)
WAYS = {
    "orders x table": {"n_orders": 12},
    "ideals x monte_carlo": {"n_draws": 60},
    "orders x monte_carlo": {"n_orders": 12, "n_draws": 60},
}
LARGER = {
    "orders x table": {"n_orders": 100},
    "ideals x monte_carlo": {"n_draws": 500},
    "orders x monte_carlo": {"n_orders": 100, "n_draws": 500},
}
LOW, HIGH = 0.93, 0.97


@dataclass
class Runs:
    """Values and standard errors of N seeds, (N, m), and the exact values (m,); only values that vary."""

    values: np.ndarray
    errors: np.ndarray
    exact: np.ndarray

    def smallest_p(self) -> float:
        """Two-sided p-value of the largest t, times the number of values."""
        n, m = self.values.shape
        t = (self.values.mean(axis=0) - self.exact) / (self.values.std(axis=0, ddof=1) / np.sqrt(n))
        return float(min(1.0, 2 * m * stats.t.sf(np.abs(t).max(), n - 1)))

    def calibration(self) -> float:
        return float((self.errors**2).mean() / self.values.var(axis=0, ddof=1).mean())

    def p_of_coverage(self) -> tuple[float, float]:
        """One-sided p-values of a coverage of at least LOW, and of at most HIGH."""
        share = (np.abs(self.values - self.exact) <= 1.96 * self.errors).mean(axis=1)
        n, spread = len(share), max(share.std(ddof=1), 1e-9)
        t = (share.mean() - np.array([LOW, HIGH])) / (spread / np.sqrt(n))
        return float(stats.t.cdf(t[0], n - 1)), float(stats.t.sf(t[1], n - 1))


def run(algorithm: str, ways: dict = WAYS) -> Runs:
    """A network with a latent node and without rare states, which few draws would not meet."""
    problem = make_problem(21, n=5, latent=1, max_states=3)
    problem.tables = [0.6 * table + 0.4 / len(table) for table in problem.tables]
    rows = problem.labels(problem.rows(np.random.default_rng(0), 3))
    network, names = problem.network(), problem.features
    exact = AsymmetricExplainer(black_box, network, [], feature_names=names, algorithm="exact")(rows).values
    values, errors = [], []
    for seed in range(N_SEEDS):
        explainer = AsymmetricExplainer(
            black_box, network, [], feature_names=names, algorithm=algorithm, seed=seed, **ways[algorithm]
        )
        explanation = explainer(rows, silent=True)
        values.append(explanation.values.ravel())
        errors.append(explanation.error_std.ravel())
    found = np.array(values)
    varies = found.std(axis=0) > 1e-9
    assert varies.sum() >= 6
    return Runs(found[:, varies], np.array(errors)[:, varies], exact.ravel()[varies])


@pytest.mark.filterwarnings("ignore:the causal graph does not mention")
@pytest.mark.parametrize("algorithm", WAYS)
def test_sampled_values_are_unbiased_and_their_errors_calibrated(algorithm):
    runs = run(algorithm)
    assert runs.smallest_p() > FALSE_ALARM
    assert runs.calibration() > 1 - WINDOW
    if algorithm != "orders x monte_carlo":  # the two parts are added as if independent: a little wide, never narrow
        assert runs.calibration() < 1 + WINDOW


@pytest.mark.filterwarnings("ignore:the causal graph does not mention")
@pytest.mark.parametrize(
    ("algorithm", "where", "name"),
    [
        ("ideals x monte_carlo", "shap_asv.values.monte_carlo", "sobol_uniforms"),
        ("orders x table", "shap_asv.orders.topological.draws", "spread_uniforms"),
    ],
)
def test_a_small_bias_would_be_seen(algorithm, where, name, monkeypatch):
    """Uniform numbers to the power of 1.2 instead of uniform numbers."""
    import importlib

    module = importlib.import_module(where)
    honest = getattr(module, name)
    if algorithm == "orders x table":  # without edges every power gives the same order: bend one feature only
        bent = lambda *arguments: honest(*arguments) ** np.array([[1.3], [1.0], [1.0], [1.0]])  # noqa: E731
    else:
        bent = lambda *arguments: honest(*arguments) ** 1.2  # noqa: E731
    monkeypatch.setattr(module, name, bent)
    assert run(algorithm).smallest_p() < FALSE_ALARM


@pytest.mark.filterwarnings("ignore:the causal graph does not mention")
@pytest.mark.parametrize("algorithm", LARGER)
def test_intervals_cover(algorithm):
    runs = run(algorithm, LARGER)
    low, high = runs.p_of_coverage()
    assert low > FALSE_ALARM
    assert runs.calibration() > 1 - WINDOW
    if algorithm != "orders x monte_carlo":  # a little wide, see above
        assert high > FALSE_ALARM
        assert runs.calibration() < 1 + WINDOW


def test_a_wrong_error_would_be_seen():
    rng = np.random.default_rng(0)
    runs = Runs(rng.normal(size=(N_SEEDS, 6)), np.full((N_SEEDS, 6), 0.7), np.zeros(6))
    assert runs.calibration() < 1 - WINDOW
    assert runs.p_of_coverage()[0] < FALSE_ALARM
    runs.errors *= 2
    assert runs.p_of_coverage()[1] < FALSE_ALARM
