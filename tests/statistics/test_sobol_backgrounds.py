"""Scrambled Sobol groups under every kind of background that is drawn from: unbiased, and never surer than they are.

Each background has values that are known without draws: closed forms of Gaussians, sums over donors, quadrature of a
copula and of mechanisms. The statistics are those of :mod:`tests.statistics.runs`. A floor and Student's distribution
make standard errors of few groups a little long on purpose (:mod:`shap_asv.values.monte_carlo`), so that calibration is
asked for from below.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from shap_asv import AsymmetricExplainer, CausalOrder, CopulaModel, GaussianModel, StructuralModel
from tests.oracles import copulas
from tests.oracles import gaussian_interventions as oracle
from tests.oracles.interventions import over_orders
from tests.statistics.runs import FALSE_ALARM, Runs, window
from tests.statistics.test_tables import COVARIANCE, LEVELS, MEAN, NAMES, ORDERS, ROWS, of_donors, of_gaussians

N_SEEDS = 150
MEANS = np.array([1.0, -0.6, 0.8])


def plain_sum(X):
    return np.asarray(X, dtype=float) @ MEANS


def exactly(nu, orders):
    return np.array([over_orders(lambda members, row=row: nu(row, members), orders)[:, 0] for row in ROWS])


def of_copulas():
    """A sum needs the mean of each feature alone: by quadrature over its quantiles."""
    table = np.exp(np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 80) / 2)
    correlation = copulas.correlation_of(table)

    def nu(row, members):
        return np.array([copulas.means(table, correlation, row, sorted(members)) @ MEANS])

    return CopulaModel(pd.DataFrame(table, columns=NAMES)), plain_sum, exactly(nu, ORDERS), {"causal_graph": LEVELS}


def of_mechanisms():
    """a normal, b = 0.6 a + skewed noise, c = a b + normal noise; b + c^2 is a polynomial, and quadrature exact."""
    z, on_z = np.polynomial.hermite_e.hermegauss(12)
    e, on_e = np.polynomial.laguerre.laggauss(12)
    on_z = on_z / on_z.sum()
    mechanisms = {
        "a": lambda causes, u: 0.3 + ndtri(u),
        "b": lambda causes, u: 0.6 * causes["a"] - np.log1p(-u) - 1.0,
        "c": lambda causes, u: 0.5 * causes["a"] * causes["b"] + 0.7 * ndtri(u),
    }

    def explained(X):
        return np.asarray(X["b"] + X["c"] ** 2, dtype=float)

    def nu(row, members):
        a = row[0] if 0 in members else 0.3 + z[:, None, None]
        b = row[1] if 1 in members else 0.6 * a + e[None, :, None] - 1.0
        c = row[2] if 2 in members else 0.5 * a * b + 0.7 * z[None, None, :]
        values = np.broadcast_to(b + c**2, (len(z), len(e), len(z)))
        return np.array([np.einsum("i,j,k,ijk", on_z, on_e, on_z, values)])

    return StructuralModel([("a", "b"), ("a", "c"), ("b", "c")], mechanisms), explained, exactly(nu, [(0, 1, 2)]), {}


def of_confounded_levels():
    """Causal values of a product under a Gaussian whose second level shares a hidden cause, all orders."""
    levels, confounded = [[0], [1, 2]], [1]

    def product(X):
        x = np.asarray(X, dtype=float)
        return x[:, 1] * x[:, 2] + x[:, 0]

    def nu(row, members):
        fixed = {i: row[i] for i in members}
        mean = oracle.level_means(MEAN, COVARIANCE, levels, confounded, fixed)
        left = oracle.level_covariance(COVARIANCE, levels, confounded, fixed)
        return np.array([mean[1] * mean[2] + left[1, 2] + mean[0]])

    order = CausalOrder.from_levels([["a"], ["b", "c"]], confounded=confounded)
    background = GaussianModel(MEAN, COVARIANCE, NAMES)
    return background, product, exactly(nu, ORDERS), {"causal_graph": order, "values": "causal"}


WORLDS = {
    "Gaussian": lambda: (*of_gaussians(), {"causal_graph": LEVELS}),
    "donors": lambda: (*of_donors(), {"causal_graph": LEVELS}),
    "copula": of_copulas,
    "mechanisms": of_mechanisms,
    "confounded levels": of_confounded_levels,
}


def run(world, n_draws):
    background, model, exact, options = WORLDS[world]()
    X = pd.DataFrame(ROWS, columns=NAMES)
    values, errors = [], []
    for seed in range(N_SEEDS):
        explainer = AsymmetricExplainer(
            model,
            background,
            feature_names=NAMES,
            algorithm="ideals x monte_carlo",
            n_draws=n_draws,
            seed=seed,
            **options,
        )
        found = explainer(X, silent=True)
        values.append(found.values.ravel())
        errors.append(found.error_std.ravel())
    found = np.array(values)
    varies = found.std(axis=0) > 1e-9
    assert varies.sum() >= 4
    return Runs(found[:, varies], np.array(errors)[:, varies], exact.ravel()[varies])


@pytest.mark.parametrize("world", WORLDS)
def test_scrambled_groups_are_unbiased(world):
    runs = run(world, 100)
    assert runs.smallest_p() > FALSE_ALARM
    assert runs.calibration() > 1 - window(N_SEEDS)


@pytest.mark.parametrize("world", ["Gaussian", "mechanisms"])
def test_a_small_bias_would_be_seen(world, monkeypatch):
    """Uniform numbers to the power of 1.05 instead of uniform numbers."""
    from shap_asv.values import monte_carlo

    honest = monte_carlo.sobol_uniforms
    monkeypatch.setattr(monte_carlo, "sobol_uniforms", lambda *arguments: honest(*arguments) ** 1.05)
    assert run(world, 100).smallest_p() < FALSE_ALARM


@pytest.mark.parametrize("world", WORLDS)
def test_intervals_cover_with_a_stated_rate(world):
    low, high = run(world, 500).p_of_coverage()
    assert low > FALSE_ALARM
    assert high > FALSE_ALARM
