"""Polytrees with more ideals than can be listed, through the explainer."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from shap_asv import AsymmetricExplainer
from shap_asv.errors import MethodNotApplicableError
from tests.backends.forest_problems import as_network
from tests.explainer.test_exact import make_model, oracle, predict_codes
from tests.problems import make_problem


def fence(n, depth):
    """0 -> n/2 <- 1 -> n/2 + 1 <- 2 ... of n binary features and a random forest: (explainer, model, draws)."""
    rng, half = np.random.default_rng(n), n // 2
    parents = [()] * half + [(v, v + 1) if v + 1 < half else (v,) for v in range(half)]
    tables = [np.moveaxis(rng.dirichlet([1, 1], size=(2,) * len(causes)), -1, 0) for causes in parents]
    draws = np.zeros((100_000, n), dtype=int)
    for v in range(n):
        draws[:, v] = rng.random(len(draws)) < tables[v][(1, *(draws[:, u] for u in parents[v]))]
    X = draws[:500]
    model = RandomForestRegressor(3, max_depth=depth, random_state=0).fit(X, X @ rng.normal(size=n) + X[:, 1] * X[:, 2])
    return AsymmetricExplainer(model, as_network([2] * n, parents, tables), algorithm="polytree"), model, draws


@pytest.mark.parametrize("kind", ["forest", "boosted", "linear"])
@pytest.mark.parametrize("seed", range(6))
def test_equals_the_definition(kind, seed):
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=6, kind="polytree", max_states=3)
    problem.feature_nodes = list(range(6))
    model, encoder = make_model(kind, problem, rng)
    options = {"feature_names": problem.features, "encoder": encoder, "algorithm": "polytree"}
    explainer = AsymmetricExplainer(model, problem.network(), **options)
    rows = problem.rows(rng, 4)
    expected = oracle(problem, predict_codes(explainer), rows, problem.projected_edges())
    found = explainer(problem.labels(rows)).values.reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_forty_features_add_up():
    """A fence of 40 has 268 million ideals; the mean of the model comes from draws."""
    explainer, model, draws = fence(40, 4)
    predicted, found = model.predict(draws), explainer(draws[:3])
    assert explainer.causal_order.count_ideals() == 267_914_296
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, predicted[:3], rtol=0, atol=1e-9)
    assert abs(found.base_values[0] - predicted.mean()) < 5 * predicted.std() / len(draws) ** 0.5


def test_more_ideals_than_can_be_listed_are_refused():
    explainer, _, draws = fence(60, 30)
    with pytest.raises(MethodNotApplicableError, match="a term looks at features that have more than 16,384 ideals"):
        explainer(draws[:3])
