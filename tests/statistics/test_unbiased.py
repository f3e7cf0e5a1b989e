"""Sampled values scatter around the exact ones, by as much as their standard errors say, and their intervals cover.

The statistics are those of :mod:`tests.statistics.runs`, for each way to sample and each kind of background that is
drawn from. Standard errors of few groups are a little long on purpose (:mod:`shap_asv.values.monte_carlo`), and
where orders and values are both sampled the two parts are added as if independent: there calibration is asked for from
below.
"""

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer
from shap_asv.orders import sampling
from shap_asv.values import monte_carlo
from tests.statistics import worlds
from tests.statistics.runs import FALSE_ALARM, Runs, window

#: Seeds of a case; more where errors that are a fifth too large have to be seen.
N_SEEDS = 70
MORE_SEEDS = {"network": 100, "network, orders": 100}
DRAWS = ("monte_carlo", {"n_draws": 256})
#: (world, (algorithm, options)), by the name of the case.
CASES = {
    "Gaussian": (worlds.of_gaussians, DRAWS),
    "donors": (worlds.of_donors, DRAWS),
    "copula": (worlds.of_copulas, DRAWS),
    "mechanisms": (worlds.of_mechanisms, DRAWS),
    "confounded levels": (worlds.of_confounded_levels, DRAWS),
    "network": (worlds.of_network, DRAWS),
    "network, orders": (worlds.of_network, ("orders x table", {"n_orders": 100})),
    "network, both": (worlds.of_network, ("monte_carlo", {"n_orders": 100, "n_draws": 256})),
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
    if case != "network, both":
        assert high > FALSE_ALARM
    if case in MORE_SEEDS:
        assert runs.calibration() < 1 + window(len(runs.values))


@pytest.mark.filterwarnings("ignore:the causal graph does not mention")
@pytest.mark.parametrize(
    ("case", "module", "name", "power"),
    [
        ("mechanisms", monte_carlo, "sobol_uniforms", 1.05),
        # without edges every power gives the same order: one feature only is bent
        ("network, orders", sampling, "spread_uniforms", np.array([[1.3], [1.0], [1.0], [1.0]])),
    ],
)
def test_a_small_bias_would_be_seen(case, module, name, power, monkeypatch):
    """Uniform numbers to a power a little above one instead of uniform numbers."""
    honest = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *arguments: honest(*arguments) ** power)
    assert run(case).smallest_p() < FALSE_ALARM


def test_a_wrong_error_would_be_seen():
    rng = np.random.default_rng(0)
    runs = Runs(rng.normal(size=(N_SEEDS, 6)), np.full((N_SEEDS, 6), 0.6), np.zeros(6))
    assert runs.calibration() < 1 - window(N_SEEDS)
    assert runs.p_of_coverage()[0] < FALSE_ALARM
    runs.errors *= 3
    assert runs.p_of_coverage()[1] < FALSE_ALARM
