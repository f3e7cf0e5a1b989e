"""Sampled values scatter around the exact ones, and by as much as their standard errors say.

The statistics are those of :mod:`tests.statistics.runs`, for each way to sample. Samples are larger for coverage
(``LARGER``), since a standard error from a dozen orders is itself too rough for 1.96.
"""

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer
from tests.explainer.test_exact import black_box
from tests.problems import make_problem
from tests.statistics.runs import FALSE_ALARM, Runs, window

N_SEEDS = 150
WINDOW = window(N_SEEDS)
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
