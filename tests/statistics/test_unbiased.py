"""Sampled values scatter around the exact ones, by as much as their standard errors say, and their intervals cover.

The statistics are those of :mod:`tests.statistics.runs`, for each way to sample and each kind of background that is
drawn from. Standard errors of draws come from few sets and are widened by Student's distribution on purpose
(:mod:`shap_asv.backends.joint`): they are asked to be right from below, and their intervals from both sides.
"""

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer
from shap_asv.backends.joint import JointAttributor
from shap_asv.orders import sampling
from tests.statistics import worlds
from tests.statistics.runs import FALSE_ALARM, Runs, window

#: Seeds of a case; more where errors that are a fifth too large have to be seen.
N_SEEDS = 70
MORE_SEEDS = {"network, orders": 100}
DRAWS = ("monte_carlo", {"n_draws": 256})
#: (world, (algorithm, options)), by the name of the case.
CASES = {
    "Gaussian": (worlds.of_gaussians, DRAWS),
    "donors": (worlds.of_donors, DRAWS),
    "copula": (worlds.of_copulas, DRAWS),
    "mechanisms": (worlds.of_mechanisms, DRAWS),
    "confounded levels": (worlds.of_confounded_levels, DRAWS),
    "network": (worlds.of_network, DRAWS),
    "network, link": (worlds.of_network_behind_a_link, DRAWS),
    "network, orders": (worlds.of_network, ("orders x table", {"n_orders": 100})),
}


def run(case):
    world, (algorithm, options) = CASES[case]
    background, model, exact, X, more = world()
    values, errors = [], []
    for seed in range(MORE_SEEDS.get(case, N_SEEDS)):
        explainer = AsymmetricExplainer(model, background, algorithm=algorithm, seed=seed, **options, **more)
        found = explainer(X, silent=True)
        values.append(found.values.ravel())
        errors.append(found.error_std.ravel())
    found = np.array(values)
    varies = found.std(axis=0) > 1e-9
    assert varies.sum() >= 4
    return Runs(found[:, varies], np.array(errors)[:, varies], exact.ravel()[varies])


@pytest.mark.filterwarnings("ignore:the causal graph does not mention")
@pytest.mark.parametrize("case", CASES)
def test_sampled_values_are_unbiased_and_their_intervals_cover(case):
    runs = run(case)
    low, high = runs.p_of_coverage()
    assert runs.smallest_p() > FALSE_ALARM
    assert runs.calibration() > 1 - window(len(runs.values))
    assert low > FALSE_ALARM
    assert high > FALSE_ALARM
    if case in MORE_SEEDS:
        assert runs.calibration() < 1 + window(len(runs.values))


def test_a_small_bias_would_be_seen(monkeypatch):
    """Uniform numbers to a power a little above one instead of uniform numbers."""
    honest = JointAttributor._drawn

    def bent(*arguments):
        noises, orders = honest(*arguments)
        return noises**1.05, orders

    monkeypatch.setattr(JointAttributor, "_drawn", bent)
    assert run("mechanisms").smallest_p() < FALSE_ALARM


@pytest.mark.filterwarnings("ignore:the causal graph does not mention")
def test_a_small_bias_of_orders_would_be_seen(monkeypatch):
    """Without edges every power gives the same order: one feature only is bent."""
    honest, power = sampling.spread_uniforms, np.array([[1.3], [1.0], [1.0], [1.0]])
    monkeypatch.setattr(sampling, "spread_uniforms", lambda *arguments: honest(*arguments) ** power)
    assert run("network, orders").smallest_p() < FALSE_ALARM


def test_a_wrong_error_would_be_seen():
    rng = np.random.default_rng(0)
    runs = Runs(rng.normal(size=(N_SEEDS, 6)), np.full((N_SEEDS, 6), 0.5), np.zeros(6))
    assert runs.calibration() < 1 - window(N_SEEDS)
    assert runs.p_of_coverage()[0] < FALSE_ALARM
    runs.errors *= 4
    assert runs.p_of_coverage()[1] < FALSE_ALARM
