"""Real networks with all their edges: exact, by code paths that share little, and sampled against exact."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, sample_rows
from tests.networks import full_network


def fitted(network, target, estimator=None, n=1500):
    table = sample_rows(network, n, seed=0)
    X, y = table.drop(columns=target), table[target]
    categories = [list(network.states[network.names.index(name)]) for name in X.columns]
    if estimator is None:
        estimator = DecisionTreeClassifier(max_depth=6, random_state=0)
    return make_pipeline(OrdinalEncoder(categories=categories), estimator).fit(X, y), X.drop_duplicates()


def check_backends(network, target, backends, n_rows, ideals):
    model, X = fitted(network, target)
    rows = X[:n_rows]
    explanations = []
    for name in backends:
        explainer = AsymmetricExplainer(model, network, algorithm=name)
        plan = explainer.plan(rows)
        assert plan.backend.name == name
        assert plan.chosen.cost.coalitions == ideals
        explanations.append(explainer(rows))
    for explanation in explanations:
        total = explanation.base_values + explanation.values.sum(axis=1)
        np.testing.assert_allclose(total, model.predict_proba(rows), rtol=0, atol=1e-9)
        np.testing.assert_allclose(explanation.values, explanations[0].values, rtol=0, atol=1e-9)
    assert np.abs(explanations[0].values).max() > 0.01


@pytest.mark.parametrize(
    ("target", "backends", "ideals"),
    [
        ("XrayReport", ["ideals x closures", "ideals x terms", "ideals x trees"], 2549),
        ("Disease", ["ideals x terms", "ideals x trees"], 3367),
    ],
    ids=["leaf", "middle"],
)
def test_full_child(target, backends, ideals):
    check_backends(full_network("child"), target, backends, 6, ideals)


@pytest.mark.parametrize(
    ("target", "backends"),
    [("PropCost", ["ideals x closures", "ideals x trees"]), ("Accident", ["ideals x terms", "ideals x trees"])],
    ids=["leaf", "middle"],
)
def test_full_insurance(target, backends):
    ideals = {"PropCost": 6428, "Accident": 6132}[target]
    check_backends(full_network("insurance"), target, backends, 2, ideals)


def test_black_box_on_child_has_exact_orders_and_honest_errors():
    """2e8 joint states cannot be tabulated, so values are Monte Carlo means; they agree with the tree read exactly."""
    network = full_network("child")
    model, X = fitted(network, "XrayReport", DecisionTreeClassifier(max_depth=3, random_state=0))
    rows = X[:1]
    exact = AsymmetricExplainer(model, network, algorithm="exact")(rows)
    explainer = AsymmetricExplainer(
        lambda t: model.predict_proba(t), network, feature_names=list(X.columns), n_draws=300, seed=0
    )
    plan = explainer.plan(rows)
    assert plan.backend.name == "monte_carlo"
    assert not plan.exact
    found = explainer(rows)
    assert found.error_std.max() > 0
    gap = np.abs(found.values - exact.values)
    assert gap.max() < 0.05
    # rare states that no draw meets leave errors too small, hence 90% and not 99%
    assert (gap <= 3 * found.error_std + 1e-9).mean() > 0.9
    np.testing.assert_allclose(found.values.sum(axis=1), model.predict_proba(rows) - found.base_values, atol=1e-9)
