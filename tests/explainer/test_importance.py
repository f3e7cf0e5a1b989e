"""Global values against a loop over rows and all orders, written down here."""

import itertools

import numpy as np
import pandas as pd
import pytest
import shap
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel
from shap_asv.errors import ArgumentError, MethodNotApplicableError, ModelError, UnknownMethodError
from tests.oracles import brute_force
from tests.oracles.global_values import global_values
from tests.problems import make_problem, to_codes


def squared(nu, y):
    return (float(nu[0]) - y) ** 2


def network_case(seed, predict, n=4):
    problem = make_problem(seed, n=n)
    rng = np.random.default_rng(seed)
    codes = problem.rows(rng, 12)
    joint, table = problem.joint(), brute_force.model_table(predict, problem.feature_cards)
    orders = brute_force.topological_orders(n, problem.projected_edges())

    def nu(row, members):
        return brute_force.conditional_expectation(joint, table, row, members)

    return problem, codes, pd.DataFrame(problem.labels(codes), columns=problem.features), nu, orders


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["squared", "callable"]))
def test_networks_by_the_definition(seed, kind):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=4)

    def predict(states):
        return np.cos(np.asarray(states, dtype=float) @ weights)

    problem, codes, X, nu, orders = network_case(seed, predict)
    y = rng.normal(size=len(codes))
    explainer = AsymmetricExplainer(
        lambda table: predict(to_codes(table)), problem.network(), feature_names=problem.features
    )
    if kind == "squared":
        found, loss = explainer.importance(X, y, loss="squared"), squared
    else:
        found = explainer.importance(X, y, loss=lambda p, t: np.abs(p - t) ** 1.5)

        def loss(nu_of_row, target):
            return abs(float(nu_of_row[0]) - target) ** 1.5

    wanted = global_values(nu, codes, y, loss, orders)
    np.testing.assert_allclose(found.values, wanted, atol=1e-9)
    ends = [np.mean([loss(nu(row, frozenset(s)), t) for row, t in zip(codes, y, strict=True)]) for s in ((), range(4))]
    np.testing.assert_allclose(found.values.sum(), ends[0] - ends[1], atol=1e-9)
    np.testing.assert_allclose(found.base_values, -ends[0], atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
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


def test_background_rows_and_groups():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(9, 3)), rng.normal(size=9)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(rng.normal(size=(50, 3)), rng.normal(size=50))

    def nu(row, members):
        mixed = rows.copy()
        mixed[:, sorted(members)] = row[sorted(members)]
        return [tree.predict(mixed).mean()]

    explainer = AsymmetricExplainer(tree, rows)
    wanted = global_values(nu, rows, y, squared, list(itertools.permutations(range(3))))
    np.testing.assert_allclose(explainer.importance(rows, y).values, wanted, atol=1e-9)
    named = pd.DataFrame(rows, columns=list("abc"))
    grouped = AsymmetricExplainer(
        lambda X: tree.predict(np.asarray(X)), named, values="marginal", groups={"ac": ["a", "c"]}
    )

    def of_groups(row, members):
        return nu(row, {v for g in members for v in ((0, 2), (1,))[g]})

    pairs = [row[:2] for row in rows]  # two players; only the number of entries counts here
    wanted = global_values(
        lambda pair, members: of_groups(rows[[p is pair for p in pairs].index(True)], members),
        pairs,
        y,
        squared,
        [(0, 1), (1, 0)],
    )
    found = grouped.importance(named, y)
    assert found.feature_names == ["ac", "b"]
    np.testing.assert_allclose(found.values, wanted, atol=1e-9)


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
            model.predict, background, order, algorithm="ideals x monte_carlo", n_draws=64, seed=seed
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


def test_processes_equal_rows_and_repetition():
    background, model, X, y = gaussian_case()
    twice = pd.concat([X, X])
    one = AsymmetricExplainer(model.predict, background, seed=0, n_draws=32).importance(X, y)
    two = AsymmetricExplainer(model.predict, background, seed=0, n_draws=32, n_jobs=2).importance(
        twice, np.concatenate([y, y])
    )
    np.testing.assert_allclose(one.values, two.values, rtol=1e-12)
    again = AsymmetricExplainer(model.predict, background, seed=0, n_draws=32).importance(X, y)
    assert (again.values == one.values).all()
    assert (again.error_std == one.error_std).all()


def test_the_bar_plot_takes_it():
    import matplotlib.pyplot as plt

    background, model, X, y = gaussian_case()
    shap.plots.bar(AsymmetricExplainer(model, background).importance(X, y), show=False)
    assert [label.get_text() for label in plt.gca().get_yticklabels()][:3]
    plt.close("all")


def test_a_named_backend_stands_for_its_family():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3))
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(rows, rows[:, 0])
    named = AsymmetricExplainer(tree, rows, algorithm="paths").importance(rows, rows[:, 0])
    free = AsymmetricExplainer(tree, rows).importance(rows, rows[:, 0])
    np.testing.assert_allclose(named.values, free.values, atol=1e-12)


@pytest.mark.parametrize(
    ("y", "loss", "error", "message"),
    [
        ([1.0, 2.0], "squared", ArgumentError, r"shape \(2,\) and X has 4 rows"),
        ([1.0, np.nan, 2.0, 3.0], "squared", ArgumentError, "missing in row 1"),
        (["a", None, "b", "c"], "log", ArgumentError, "missing in row 1"),
        (["a", "b", "c", "d"], "squared", ArgumentError, "needs numbers in y"),
        ([1.0, 2.0, 3.0, 4.0], "log", ArgumentError, "2.0, and a model with one output"),
        ([1, 0, 1, 0], "log", ModelError, "need probabilities"),
        ([1.0, 2.0, 3.0, 4.0], "huber", UnknownMethodError, "unknown loss='huber'"),
        ([1.0, 2.0, 3.0, 4.0], lambda p, t: p * np.nan, ArgumentError, "returned nan for the prediction"),
        ([1.0, 2.0, 3.0, 4.0], lambda p, t: 0.0, ArgumentError, r"shape \(\) for"),
        ([1.0, 2.0, 3.0, 4.0], lambda p, t: "much", ArgumentError, "returned a str"),
    ],
)
def test_bad_targets_and_losses(y, loss, error, message):
    rows = np.arange(8.0).reshape(4, 2)
    with pytest.raises(error, match=message):
        AsymmetricExplainer(lambda X: X[:, 0] * 3, rows).importance(rows, y, loss=loss)


def test_bad_settings():
    rows = np.arange(8.0).reshape(4, 2)
    explainer = AsymmetricExplainer(lambda X: X[:, 0] * 3, rows)
    with pytest.raises(ArgumentError, match="n_bootstrap=1"):
        explainer.importance(rows, rows[:, 0], n_bootstrap=1)
    linked = AsymmetricExplainer(lambda X: 0.1 + 0.1 * X[:, 0], rows, link=shap.links.logit)
    with pytest.raises(MethodNotApplicableError, match="without link="):
        linked.importance(rows, rows[:, 0])
    tree = DecisionTreeRegressor().fit(rows, rows[:, 0])
    with pytest.raises(MethodNotApplicableError, match=r"cover counts.*background rows"):
        AsymmetricExplainer(tree).importance(rows, rows[:, 0])
    classes = DecisionTreeClassifier(max_depth=1, random_state=0).fit(rows, ["a", "a", "b", "c"])
    probabilities = AsymmetricExplainer(classes.predict_proba, rows)
    with pytest.raises(ArgumentError, match="'d', which is not a class of the model: a, b, c"):
        probabilities.importance(rows, ["a", "b", "c", "d"], loss="log")
    with pytest.raises(ArgumentError, match="3 outputs"):
        probabilities.importance(rows, [1, 2, 3, 4], loss="squared")
    with pytest.raises(ModelError, match="probability 0"):
        probabilities.importance(rows, ["b", "b", "c", "c"])


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
