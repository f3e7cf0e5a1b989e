"""Networks fitted to tables as backgrounds: rows as they are, exact values, f(x) of the model itself.

The oracle enumerates the joint of the fitted tables and all orders.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shap_asv import AsymmetricExplainer, fit_network
from shap_asv.errors import UnknownMethodError, UnknownStateError
from tests.oracles import brute_force

EDGES = [(0, 1), (0, 2), (1, 3), (2, 3)]
NAMES = ["age", "job", "hours", "pay"]
DAG = [(NAMES[a], NAMES[b]) for a, b in EDGES]


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(2, 7, n) * 10
    job = np.array(["field", "office", "school"])[np.minimum(2, (rng.random(n) * 2 + age / 60).astype(int))]
    hours = 5 * np.round(6 + 0.04 * age + rng.normal(0, 1, n))
    pay = 10 * np.round(2 + 0.9 * (job == "office") + 0.03 * hours + rng.normal(0, 1, n))
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
    network = fit_network(table, DAG)
    rows = table.iloc[[0, 5, 17]]
    explainer = AsymmetricExplainer(model, network)
    assert explainer.plan(3).exact
    assert explainer._known_execution().problem.predictor.kind == "tree"
    found, symmetric = explainer(rows), explainer.symmetric()(rows)
    np.testing.assert_allclose(found.values, by_hand(network, model.predict, rows, EDGES), rtol=0, atol=2e-4)
    np.testing.assert_allclose(symmetric.values, by_hand(network, model.predict, rows, []), rtol=0, atol=2e-4)


def test_the_model_sees_the_types_and_the_explanation_shows_the_rows():
    table = people()
    seen = []

    def model(X):
        seen.append(X.dtypes)
        return np.where(X["job"] == "office", 2.0, 1.0) * X["pay"] + X["hours"].fillna(0)

    network = fit_network(table, DAG)
    explanation = AsymmetricExplainer(model, network, feature_names=NAMES)(table.iloc[:6])
    assert all(dtypes.equals(table.dtypes) for dtypes in seen)
    np.testing.assert_array_equal(explanation.data[:, [0, 2, 3]], table[["age", "hours", "pay"]].iloc[:6])
    np.testing.assert_array_equal(explanation.data[:, 1], table["job"].cat.codes[:6])
    assert explanation.display_data[:, 1].tolist() == table["job"].iloc[:6].tolist()
    np.testing.assert_allclose(explanation.values[:2], by_hand(network, model, table.iloc[:2], EDGES), atol=1e-9)


def test_columns_in_another_order_some_latent_and_pipelines():
    table = people()
    some = table[["pay", "job"]]
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"),
        RandomForestRegressor(5, max_depth=3, random_state=0),
    ).fit(some, target(table))
    explainer = AsymmetricExplainer(model, fit_network(table, DAG))
    explanation = explainer(some.iloc[:4])
    problem = explainer._known_execution().problem
    assert explanation.feature_names == ["pay", "job"]
    assert set(problem.background.latent) == {"age", "hours"}
    assert problem.predictor.kind == "tree"
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(some.iloc[:4]), atol=1e-9)


def test_arrays_reach_the_model_as_arrays():
    X = np.random.default_rng(0).normal(size=(200, 3)).round()
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, X[:, 0] * X[:, 1])
    explanation = AsymmetricExplainer(model, fit_network(X, [(0, 1), (1, 2)]))(X[:3])
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), model.predict(X[:3]))
    np.testing.assert_array_equal(explanation.data, X[:3])
    assert explanation.display_data is None


def test_errors_at_the_border():
    table = people()
    model, network = fitted("hist", table), fit_network(table, DAG)
    with pytest.raises(UnknownStateError, match=r"job.*sea"):
        AsymmetricExplainer(model, network)(table.iloc[:1].astype({"job": object}).assign(job="sea"))
    with pytest.raises(UnknownMethodError, match="encoder="):
        AsymmetricExplainer(model, network, encoder={"field": 0})
