"""Global values against a loop over rows and all orders, written down here."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel
from shap_asv.errors import ArgumentError
from tests.oracles import brute_force
from tests.oracles.global_values import global_values
from tests.problems import make_problem


def squared(nu, y):
    return (float(nu[0]) - y) ** 2


@pytest.mark.parametrize("seed", range(2))
def test_classes_by_the_definition(seed):
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=4)
    codes = problem.rows(rng, 40)
    frame = pd.DataFrame(problem.labels(codes), columns=problem.features)
    labels = np.array(["no", "perhaps", "yes"])[rng.integers(0, 3, 40)]
    encoder = OrdinalEncoder(categories=[[f"s{i}" for i in range(c)] for c in problem.feature_cards])
    model = make_pipeline(encoder, RandomForestClassifier(n_estimators=8, max_depth=2, random_state=0)).fit(
        frame, labels
    )
    explainer = AsymmetricExplainer(model, problem.network())
    joint = problem.joint()
    table = brute_force.model_table(
        lambda states: model.predict_proba(pd.DataFrame(problem.labels(states), columns=problem.features)),
        problem.feature_cards,
    )
    orders = brute_force.topological_orders(4, problem.projected_edges())

    def nu(row, members):
        return brute_force.conditional_expectation(joint, table, row, members)

    place = {label: j for j, label in enumerate(model.classes_)}
    few, y = codes[:10], labels[:10]
    wanted = global_values(nu, few, y, lambda p, t: -np.log(p[place[t]]), orders)
    np.testing.assert_allclose(explainer.importance(frame[:10], y).values, wanted, atol=1e-9)
    wanted = global_values(nu, few, y, lambda p, t: -p[place[t]], orders)
    found = explainer.importance(frame[:10], list(y), loss="probability")
    np.testing.assert_allclose(found.values, wanted, atol=1e-9)
    # Frye's global value is the mean of local ones of the true class
    local = explainer(frame[:10]).values[np.arange(10), :, [place[t] for t in y]]
    np.testing.assert_allclose(found.values, local.mean(axis=0), atol=1e-9)


def gaussian_case():
    rng = np.random.default_rng(2)
    factor = rng.normal(size=(3, 3))
    covariance, beta, names = factor @ factor.T, np.array([1.0, -2.0, 0.5]), list("abc")
    X = pd.DataFrame(rng.multivariate_normal(np.zeros(3), covariance, size=60), columns=names)
    y = X.to_numpy() @ beta + rng.normal(size=60)
    return GaussianModel(np.zeros(3), covariance, names), LinearRegression().fit(X, X.to_numpy() @ beta), X, y


def test_draws_are_unbiased_and_know_their_error():
    background, model, X, y = gaussian_case()
    order = CausalOrder.from_edges([("a", "b")], list("abc"))
    exact = AsymmetricExplainer(model, background, order).importance(X, y).values
    off = []
    for seed in range(40):
        explainer = AsymmetricExplainer(
            model.predict, background, order, algorithm="monte_carlo", n_draws=64, seed=seed
        )
        found = explainer.importance(X, y)
        off.append(found.values - exact)
        assert (np.abs(off[-1]) < 5 * found.error_std).all()
    off = np.array(off)
    # the plain loss of a noisy mean would be too large by its variance; pseudo-values are not
    assert (np.abs(off.mean(axis=0)) < 4 * off.std(axis=0, ddof=1) / np.sqrt(len(off))).all()


def test_sampled_orders_and_rows_are_in_the_error():
    background, model, X, y = gaussian_case()
    exact = AsymmetricExplainer(model, background).importance(X, y)
    sampled = AsymmetricExplainer(model, background, algorithm="orders x moments", n_orders=200, seed=0).importance(
        X, y
    )
    assert (np.abs(sampled.values - exact.values) < 4 * sampled.error_std).all()
    # over the same rows: the spread of means of resampled rows, which theory knows
    one = AsymmetricExplainer(model, background)
    each = np.array([one.importance(X[i : i + 1], y[i : i + 1]).values for i in range(len(X))])
    np.testing.assert_allclose(exact.values, each.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(
        one.importance(X, y, n_bootstrap=4000).error_std, each.std(axis=0) / np.sqrt(len(X)), rtol=0.06
    )


def test_a_margin_has_no_usual_loss():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    names = np.array(["no", "yes"])[y]
    model = GradientBoostingClassifier(n_estimators=4, random_state=0).fit(rows, names)
    with pytest.raises(ArgumentError, match=r"margin.*model_output='probability'"):
        AsymmetricExplainer(model, rows[:20]).importance(rows, names)
    found = AsymmetricExplainer(model, rows[:20], model_output="probability").importance(rows, names)
    certain = model.predict_proba(rows)[np.arange(60), y]
    np.testing.assert_allclose(found.values.sum() + found.base_values, np.log(certain).mean(), atol=1e-9)
