"""Sampled results: efficiency for any set of orders, honest standard errors, tolerance, budgets."""

import numpy as np
import pandas as pd
import pytest
import shap

from shap_asv import AsymmetricExplainer, GaussianModel
from shap_asv.errors import BudgetExceededError


def test_efficiency_is_exact_for_every_sample(asia):
    network, model, X = asia
    for n_orders in (2, 17, 150):
        explanation = AsymmetricExplainer(model, network, algorithm="sampling", n_orders=n_orders, seed=n_orders)(
            X[:20]
        )
        total = explanation.base_values + explanation.values.sum(axis=1)
        np.testing.assert_allclose(total, model.predict_proba(X[:20]), rtol=0, atol=1e-9)
        assert explanation.error_std.shape == explanation.values.shape


def test_tolerance_is_reached(asia_score):
    network, score, X = asia_score
    explainer = AsymmetricExplainer(
        score, network, feature_names=list(X.columns), algorithm="sampling", n_orders=20, tolerance=2e-3, seed=0
    )
    explanation = explainer(X[:50])
    assert explanation.error_std.max() <= 2e-3
    assert explainer(X[:50], tolerance=1.0).error_std.max() > 2e-3


def test_tolerance_past_the_budget_is_an_error(asia_score):
    network, score, X = asia_score
    explainer = AsymmetricExplainer(
        score, network, feature_names=list(X.columns), algorithm="sampling", tolerance=1e-9, budget=1.0, seed=0
    )
    with pytest.raises(BudgetExceededError, match="tolerance=1e-09"):
        explainer(X[:5])


def test_max_evals_sets_the_number_of_orders(asia_score):
    network, score, X = asia_score
    explainer = AsymmetricExplainer(score, network, feature_names=list(X.columns), algorithm="sampling", seed=0)
    assert explainer.plan(1, max_evals=602).n_orders == 100
    with pytest.raises(BudgetExceededError, match="two orders need 14"):
        explainer(X[:1], max_evals=13)


@pytest.mark.parametrize("draws", [20, 100])
def test_max_evals_bounds_the_draws_of_a_background(draws):
    """Each draw of three features in a sampled order passes two coalitions beside the empty and the full one."""

    def model(X):
        return np.where(X["a"] * X["b"] > 1, 20.0, X["c"])

    background = GaussianModel(np.zeros(3), np.eye(3) + 0.5, ["a", "b", "c"])
    explainer = AsymmetricExplainer(model, background, [("a", "b"), ("a", "c")], seed=0)
    row = pd.DataFrame({"a": [1.0], "b": [1.1], "c": [0.0]})
    assert explainer(row, max_evals=2 + 2 * draws, silent=True).error_std.max() > 0
    assert f"{64 if draws == 100 else draws} draws" in str(explainer.plan())


def test_max_evals_stops_an_exact_enumeration(asia_score):
    network, score, X = asia_score
    explainer = AsymmetricExplainer(score, network, feature_names=list(X.columns), algorithm="exact")
    with pytest.raises(BudgetExceededError, match="more than 14 ideals"):
        explainer(X[:1], max_evals=14)


def test_auto_falls_back_on_sampling_and_says_so(asia):
    network, model, X = asia
    explainer = AsymmetricExplainer(model, network, budget=1e-9, n_orders=2, seed=0).symmetric()
    plan = explainer.plan(X)
    assert not plan.exact
    assert "would take about" in plan.why
    assert explainer(X[:3]).error_std is not None


def test_auto_does_not_sample_where_that_saves_nothing(asia):
    """1,000 orders of asia meet all of its 19 ideals: past the budget either way, the exact result costs no more."""
    network, model, X = asia
    plan = AsymmetricExplainer(model, network, budget=1e-9, seed=0).plan(X)
    assert plan.exact
    assert "sampling would not take much less" in plan.why


def likely(X):
    return 1 / (1 + np.exp(-(X["a"] + 2 * X["b"] * X["a"] - 1)))


@pytest.mark.parametrize(
    ("link", "slope"),
    [
        pytest.param(shap.links.logit, lambda p: 1 / (p * (1 - p)), id="logit"),
        pytest.param(np.log, lambda p: 1 / p, id="log"),
        pytest.param(lambda p: -3 * p, lambda p: -3.0 + 0 * p, id="falling"),
    ],
)
def test_errors_go_through_the_slope_of_the_link(link, slope):
    """a before b: phi_b = link(M(x)) - link(nu({a})), so that its error is that of nu({a}) times the slope there."""
    background = GaussianModel([0.2, -0.1], [[1.0, 0.3], [0.3, 2.0]], ["a", "b"])
    rows = pd.DataFrame({"a": [0.5, -1.0], "b": [1.0, 0.3]})

    def explained(**options):
        return AsymmetricExplainer(likely, background, [("a", "b")], seed=3, n_draws=256, **options)(rows)

    # both draw for each coalition once, as a link needs it
    plain, linked = explained(link=lambda p: 1.0 * p), explained(link=link)
    nu_a = plain.base_values + plain.values[:, 0]
    np.testing.assert_allclose(linked.error_std[:, 1], np.abs(slope(nu_a)) * plain.error_std[:, 1], rtol=1e-6)
    np.testing.assert_allclose(linked.values[:, 1], link(likely(rows).to_numpy()) - link(nu_a), rtol=1e-9)
    assert (plain.error_std > 0).all()
