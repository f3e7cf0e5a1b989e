"""Networks fitted to tables as backgrounds: rows as they are, exact values, f(x) of the model itself.

The oracle enumerates the joint of the fitted tables and all orders; the model is called on the values that stand for
states.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import OneHotEncoder

from shap_asv import AsymmetricExplainer, fit_network, score_background
from shap_asv.errors import ShapAsvWarning, UnknownMethodError, UnknownStateError
from tests.oracles import brute_force

EDGES = [(0, 1), (0, 2), (1, 3), (2, 3)]
NAMES = ["age", "job", "hours", "pay"]
DAG = [(NAMES[a], NAMES[b]) for a, b in EDGES]


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 70, n)
    job = np.array(["field", "office", "school"])[np.minimum(2, (rng.random(n) * 2 + age / 60).astype(int))]
    hours = 30 + 0.2 * age + rng.normal(0, 6, n)
    pay = 20 + 9.0 * (job == "office") + 0.3 * hours + rng.normal(0, 4, n)
    hours[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "job": pd.Categorical(job), "hours": hours, "pay": pay})


def target(table):
    return (
        table["pay"] * (1 + (table["job"] == "office"))
        + np.where(table["hours"].isna(), 25.0, 0.7 * table["hours"].fillna(0))
        - 0.4 * np.abs(table["age"] - 40)
    )


def fitted(kind, table):
    y = target(table)
    if kind == "xgboost":
        library = pytest.importorskip("xgboost")
        return library.XGBRegressor(n_estimators=15, max_depth=3, enable_categorical=True, n_jobs=1).fit(table, y)
    if kind == "lightgbm":
        library = pytest.importorskip("lightgbm")
        return library.LGBMRegressor(n_estimators=15, num_leaves=6, verbose=-1, n_jobs=1).fit(table, y)
    return HistGradientBoostingRegressor(max_iter=10, max_leaf_nodes=6, categorical_features="from_dtype").fit(table, y)


def by_hand(network, model, rows, edges):
    """ASV (r, n) of rows from all orders and the whole joint of the fitted tables."""
    background = network.background()
    plain = network.network
    joint = brute_force.joint_table(plain.cardinalities, plain.parents, plain.tables)
    p = brute_force.feature_joint(joint, [plain.names.index(name) for name in background.features])
    table = brute_force.model_table(lambda codes: model(background.inputs(codes)), p.shape)
    codes = background.read(rows)
    return np.array([brute_force.asv(p, table, tuple(row), edges)[:, 0] for row in codes])


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "hist"])
def test_asv_and_shap_equal_the_enumeration(kind):
    table = people()
    model = fitted(kind, table)
    network = fit_network(table, DAG, bins={"age": 3, "hours": 3, "pay": [28, 36]})
    rows = table.iloc[[0, 5, 17]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShapAsvWarning)
        explainer = AsymmetricExplainer(model, network)
        assert explainer.plan(3).exact
        assert explainer._known_execution().problem.predictor.kind == "tree"
        found, symmetric = explainer(rows), explainer.symmetric()(rows)
    np.testing.assert_allclose(found.values, by_hand(network, model.predict, rows, EDGES), rtol=0, atol=2e-4)
    np.testing.assert_allclose(symmetric.values, by_hand(network, model.predict, rows, []), rtol=0, atol=2e-4)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "hist", "forest", "classifier"])
def test_at_the_thresholds_of_a_model_f_of_x_is_its_own(kind):
    """Also for rows that the table does not have, on thresholds and just beside them."""
    table, new = people(), people(200, seed=1)
    if kind in ("forest", "classifier"):
        table, new = (t.drop(columns="job").dropna() for t in (table, new))
        y = table["pay"] - 0.5 * np.abs(table["age"] - 40)
        if kind == "forest":
            model = RandomForestRegressor(8, max_depth=5, random_state=0).fit(table, y)
            predict = model.predict
        else:
            model = RandomForestClassifier(8, max_depth=5, random_state=0).fit(table, pd.cut(y, 3, labels=False))
            predict = model.predict_proba
        dag = [("age", "hours"), ("age", "pay"), ("hours", "pay")]
    else:
        model, dag = fitted(kind, table), DAG
        predict = model.predict
    network = fit_network(table, dag, bins=model, groups=4)
    pay = next(column for column in network.columns if column.name == "pay")
    cuts = pay.cuts.at
    new = new.head(3 * len(cuts)).copy()
    on = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])[: len(new)]
    new.iloc[: len(on), list(new.columns).index("pay")] = on
    assert len(cuts) >= 7
    moved = np.abs(predict(new) - predict(network.representatives(new)))
    assert moved.max() == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ShapAsvWarning)
        explanation = AsymmetricExplainer(model, network)(new.iloc[:4])
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, predict(new.iloc[:4]), rtol=0, atol=1e-4 if kind == "xgboost" else 1e-9)


def test_a_hundred_trees_are_affordable():
    xgboost = pytest.importorskip("xgboost")
    table = people(1500).drop(columns="job")
    model = xgboost.XGBRegressor(n_estimators=100, max_depth=4, n_jobs=1).fit(table, table["pay"] * table["age"])
    network = fit_network(table, [("age", "hours"), ("age", "pay"), ("hours", "pay")], bins=model)
    assert max(column.n_states for column in network.columns) > 150
    assert max(t.size for t in network.network.tables) < 100_000
    explanation = AsymmetricExplainer(model, network)(table.iloc[:3])
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(table.iloc[:3]), rtol=1e-5)


def test_how_far_f_of_x_moved_is_said():
    table = people()
    model = fitted("hist", table)
    network = fit_network(table, DAG, bins=3)
    rows = table.iloc[:20]
    moved = np.abs(model.predict(rows) - model.predict(network.representatives(rows)))
    explainer = AsymmetricExplainer(model, network)
    with pytest.warns(ShapAsvWarning, match=rf"{moved.mean():.3g} on average, at most {moved.max():.3g}.*bins=model"):
        explanation = explainer(rows)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(network.representatives(rows)), atol=1e-9)


def test_the_model_sees_the_types_and_the_explanation_shows_the_rows():
    table = people()
    seen = []

    def model(X):
        seen.append(X.dtypes)
        return np.where(X["job"] == "office", 2.0, 1.0) * X["pay"] + X["hours"].fillna(0)

    network = fit_network(table, DAG, bins=4)
    with pytest.warns(ShapAsvWarning, match="moves by"):
        explanation = AsymmetricExplainer(model, network, feature_names=NAMES)(table.iloc[:6])
    assert all(dtypes.equals(table.dtypes) for dtypes in seen)
    np.testing.assert_array_equal(explanation.data[:, 3], table["pay"].iloc[:6])
    np.testing.assert_array_equal(explanation.data[:, 0], table["age"].iloc[:6])
    assert explanation.display_data[:, 1].tolist() == table["job"].iloc[:6].tolist()
    expected = by_hand(network, model, table.iloc[:2], EDGES)
    np.testing.assert_allclose(explanation.values[:2], expected, atol=1e-9)


def test_columns_in_another_order_some_latent_and_pipelines():
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline

    table = people()
    some = table[["pay", "job"]]
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"),
        RandomForestRegressor(5, max_depth=3, random_state=0),
    ).fit(some, target(table))
    network = fit_network(table, DAG, bins=3)
    explainer = AsymmetricExplainer(model, network)
    with pytest.warns(ShapAsvWarning, match="moves by"):
        explanation = explainer(some.iloc[:4])
    problem = explainer._known_execution().problem
    assert explanation.feature_names == ["pay", "job"]
    assert set(problem.background.latent) == {"age", "hours"}
    assert problem.predictor.kind == "tree"
    total = explanation.base_values + explanation.values.sum(axis=1)
    shown = network.background(["pay", "job"]).inputs(problem.background.read(some.iloc[:4]))
    np.testing.assert_allclose(total, model.predict(shown), atol=1e-9)


def test_arrays_reach_the_model_as_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, X[:, 0] * X[:, 1])
    network = fit_network(X, [(0, 1), (1, 2)], bins=model)
    explanation = AsymmetricExplainer(model, network)(X[:3])
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), model.predict(X[:3]))
    np.testing.assert_array_equal(explanation.data, X[:3])


def test_a_score_is_about_the_model_at_the_rows_themselves():
    """One bin for all: nu is one number for every coalition, and the score its distance from the model's answers."""
    table = people(200)[["age", "pay"]]
    network = fit_network(table, [("age", "pay")], bins={"age": [1000], "pay": [1000]})
    rows = table.iloc[:50]

    def model(X):
        return X["pay"] + X["age"]

    with pytest.warns(ShapAsvWarning, match="moves by"):
        scores = score_background(network, model, rows, n_draws=4096)
    constant = model(network.representatives(rows)).iloc[0]
    assert scores.scores[0] == pytest.approx(((model(rows) - constant) ** 2).mean(), rel=0.2)


def test_errors_at_the_border():
    table = people()
    model = fitted("hist", table)
    network = fit_network(table, DAG, bins=model)
    explainer = AsymmetricExplainer(model, network)
    with pytest.raises(UnknownStateError, match=r"job.*sea"):
        explainer(table.iloc[:1].astype({"job": object}).assign(job="sea"))
    with pytest.raises(UnknownMethodError, match="encoder="):
        AsymmetricExplainer(model, network, encoder={"field": 0})
