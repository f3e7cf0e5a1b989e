"""Tree ensembles without a network, through the explainer: shap's TreeExplainer where there are no edges, all orders
and trees that are walked by hand where there are some.
"""

import warnings
from itertools import pairwise

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import shap
import xgboost
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder
from shap_asv.errors import CausalGraphError, ModelError, NetworkError, RowsError, UnknownMethodError
from shap_asv.models.trees import catboost_trees
from tests.oracles import tree_games, tree_readers
from tests.oracles.brute_force import topological_orders

pytestmark = pytest.mark.filterwarnings("ignore::shap_asv.errors.CausalGraphWarning")

NAMES = list("abcdef")


@pytest.fixture(scope="module")
def table():
    X, labels = make_classification(240, 6, n_informative=4, n_redundant=0, n_classes=3, random_state=1)
    return pd.DataFrame(X, columns=NAMES), labels


XGB = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
LGB = {"n_estimators": 8, "verbose": -1, "n_jobs": 1}
CAT = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}

# target: "number", "two" or "three" classes; precision of shap itself without rows and with rows (which it keeps in
# float32); None where shap is wrong: it reads the histograms of scikit-learn with the wrong side of a threshold
MODELS = {
    "forest, two": (lambda: RandomForestClassifier(5, max_depth=5, random_state=0), "two", 1e-9, 1e-6),
    "forest, three": (lambda: RandomForestClassifier(5, max_depth=5, random_state=0), "three", 1e-9, 1e-6),
    "extra trees": (lambda: ExtraTreesRegressor(5, max_depth=5, random_state=0), "number", 1e-9, 1e-6),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=8, random_state=0), "two", 1e-9, 1e-6),
    "histograms, two": (lambda: HistGradientBoostingClassifier(max_iter=8), "two", 1e-9, None),
    "histograms, three": (lambda: HistGradientBoostingClassifier(max_iter=4), "three", 1e-9, None),
    "histograms": (lambda: HistGradientBoostingRegressor(max_iter=8), "number", 1e-9, None),
    "XGBoost, two": (lambda: xgboost.XGBClassifier(**XGB), "two", 2e-6, 2e-6),
    "XGBoost, three": (lambda: xgboost.XGBClassifier(**XGB), "three", 2e-6, 2e-6),
    "XGBoost": (lambda: xgboost.XGBRegressor(**XGB), "number", 2e-6, 2e-6),
    "LightGBM, two": (lambda: lightgbm.LGBMClassifier(**LGB), "two", 1e-9, 1e-6),
    "LightGBM, three": (lambda: lightgbm.LGBMClassifier(**LGB), "three", 1e-9, 1e-6),
    "LightGBM": (lambda: lightgbm.LGBMRegressor(**LGB), "number", 1e-9, 1e-6),
    "CatBoost, two": (lambda: catboost.CatBoostClassifier(**CAT), "two", 1e-9, 1e-6),
    "CatBoost": (lambda: catboost.CatBoostRegressor(**CAT), "number", 1e-9, 1e-6),
}


def target(labels, X, kind):
    return {"two": labels > 0, "three": labels, "number": X["a"] * X["b"] + X["c"]}[kind]


def margin(model, X):
    """What TreeExplainer explains, from the model itself."""
    kind = type(model).__name__
    if kind.startswith("XGB"):
        return model.predict(X, output_margin=True)
    if kind.startswith("LGBM"):
        return model.predict(X, raw_score=True)
    if kind.startswith("CatBoost"):
        return model.predict(X, prediction_type="RawFormulaVal")
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.fixture(scope="module", params=MODELS, ids=str)
def case(request, table):
    make, kind, alone, over_rows = MODELS[request.param]
    X, labels = table
    return make().fit(X, target(labels, X, kind)), alone, over_rows


def test_without_edges_it_is_tree_explainer(case, table):
    model, precision, _ = case
    X = table[0][:15]
    theirs = shap.TreeExplainer(model)(X)
    explainer = AsymmetricExplainer(model)
    ours = explainer(X)
    assert ours.values.shape == theirs.values.shape
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=precision)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, rtol=0, atol=precision)
    np.testing.assert_allclose(np.broadcast_to(explainer.expected_value, ours.base_values.shape), ours.base_values)
    assert ours.feature_names == NAMES
    assert "path-dependent: cover counts of the trees" in str(explainer.plan(X))


def test_without_edges_it_is_tree_explainer_over_rows(case, table):
    model, _, precision = case
    X, rows = table[0][:10], table[0][100:130]
    explainer = AsymmetricExplainer(model, rows)
    assert explainer.plan(X).backend.name == "paths"
    assert "marginal over 30 background rows, as in shap" in str(explainer.plan(X))
    ours = explainer(X)
    if precision is not None:
        theirs = shap.TreeExplainer(model, rows)(X)
    else:
        theirs = shap.ExactExplainer(lambda x: margin(model, pd.DataFrame(x, columns=NAMES)), rows)(X)
        precision = 1e-9
    assert ours.values.shape == theirs.values.shape
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=precision)
    # shap rounds its rows to float32, and adds up to another base where one of them sits on a threshold
    expected = np.broadcast_to(margin(model, rows).mean(axis=0), ours.base_values.shape)
    np.testing.assert_allclose(ours.base_values, expected, rtol=0, atol=precision)


def test_the_rows_are_those_that_shap_takes(table):
    X, labels = table
    model = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, labels)
    for background, n_rows in [(X, 100), (shap.maskers.Independent(X, max_samples=240), 240)]:
        explainer = AsymmetricExplainer(model, background)
        assert f"marginal over {n_rows} background rows" in str(explainer.plan(3))
        theirs = shap.TreeExplainer(model, background)(X[:3])
        np.testing.assert_allclose(explainer(X[:3]).values, theirs.values, rtol=0, atol=1e-6)
        np.testing.assert_allclose(explainer(X[:3]).base_values, theirs.base_values, rtol=0, atol=1e-6)


def test_values_add_up_to_the_models_own_output(case, table):
    model, _, _ = case
    X = table[0][:30]
    # XGBoost adds up in float32
    precision = 1e-5 if type(model).__name__.startswith("XGB") else 1e-9
    levels = CausalOrder.from_levels([["a", "c"], ["b", "d", "e", "f"]])
    for background in (None, X[10:]):
        found = AsymmetricExplainer(model, background, levels, values="auto" if background is None else "marginal")(X)
        total = found.base_values + found.values.sum(axis=1)
        np.testing.assert_allclose(total, margin(model, X), rtol=0, atol=precision)


# --- the definition, by hand ------------------------------------------------------------------------------------


def trees_of(forest):
    return [tree_readers.from_scikit_learn(tree, 1 / len(forest.estimators_)) for tree in forest.estimators_]


GRAPHS = {
    "levels": [(a, b) for a in (1, 2) for b in (0, 3)],
    "forest": [(2, 0), (2, 3)],
    "polytree": [(0, 2), (1, 2)],
    "dag": [(0, 1), (0, 2), (1, 3), (2, 3)],
}


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)).round(1)
    return RandomForestRegressor(3, max_depth=5, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * X[:, 3]), X


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("rows", [0, 7])
def test_orders_against_the_definition(small, graph, rows):
    model, X = small
    ground = X[40 : 40 + rows] if rows else None
    options = {"values": "marginal"} if rows else {}
    found = AsymmetricExplainer(model, ground, GRAPHS[graph], **options)(X[:3])
    orders, trees = topological_orders(4, GRAPHS[graph]), trees_of(model)
    for row, phi in zip(X[:3], found.values, strict=True):
        expected = tree_games.brute_force(trees, row, orders, background=ground)[:, 0]
        np.testing.assert_allclose(phi, expected, rtol=0, atol=1e-9)
    assert found.base_values[0] == pytest.approx(tree_games.value(trees, X[0], (), ground)[0], abs=1e-12)


def test_given_orders_and_sampled_orders(small):
    model, X = small
    orders = [[0, 1, 2, 3], [3, 1, 0, 2]]
    graphs = [(list(pairwise(order)), weight) for order, weight in zip(orders, [3.0, 1.0], strict=True)]
    given = AsymmetricExplainer(model, causal_graph=graphs, feature_perturbation="tree_path_dependent")
    found = given(X[:2], main_effects=True)
    assert given.plan(2).exact
    trees = trees_of(model)
    expected = tree_games.brute_force(trees, X[1], orders, [3.0, 1.0])[:, 0]
    np.testing.assert_allclose(found.values[1], expected, rtol=0, atol=1e-9)
    alone = [tree_games.value(trees, X[1], {j})[0] - tree_games.value(trees, X[1], ())[0] for j in range(4)]
    np.testing.assert_allclose(found.main_effects[1], alone, rtol=0, atol=1e-9)
    exact = AsymmetricExplainer(model, None, GRAPHS["dag"])(X[:5])
    sampled = AsymmetricExplainer(model, None, GRAPHS["dag"], algorithm="sampling", seed=0, n_orders=300)(X[:5])
    assert sampled.error_std.max() > 0
    assert (np.abs(sampled.values - exact.values) <= 5 * sampled.error_std + 1e-12).all()


@pytest.mark.parametrize(
    "grown",
    [
        {"grow_policy": "Depthwise"},
        {"grow_policy": "Lossguide"},
        {"monotone_constraints": [1, 0, -1, 0]},
    ],
    ids=["depthwise", "lossguide", "monotone"],
)
def test_catboost_against_the_definition(small, grown, tmp_path):
    """CatBoost's own values of such trees are others."""
    _, X = small
    model = catboost.CatBoostRegressor(**CAT | grown).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    trees, bias = tree_readers.from_catboost(model, tmp_path / "model.json")
    for graph in ([], GRAPHS["dag"]):
        found = AsymmetricExplainer(model, None, graph or None)(X[:3])
        orders = topological_orders(4, graph)
        expected = [tree_games.brute_force(trees, row, orders)[:, 0] for row in X[:3]]
        np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.base_values, bias + tree_games.value(trees, X[0], ())[0], rtol=0, atol=1e-9)
    own = model.get_feature_importance(catboost.Pool(X[:3]), type="ShapValues")
    symmetric = AsymmetricExplainer(model)(X[:3]).values
    assert np.abs(symmetric - own[:, :-1]).max() > 1e-3


def test_levels_of_thirty_features_are_exact():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    model = RandomForestRegressor(3, max_depth=6, random_state=0).fit(X, X[:, 0] * X[:, 31] + X[:, 2] + X[:, 40])
    levels = CausalOrder.from_levels([range(30), range(30, 60)])
    explainer = AsymmetricExplainer(model, None, [(int(a), int(b)) for a, b in levels.edges])
    assert explainer.plan(10).exact
    found = explainer(X[:10])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(X[:10]), rtol=0, atol=1e-9)
    # all of the first level before all of the second: together they add what they add alone
    together = [tree_games.value(trees_of(model), row, set(range(30)))[0] for row in X[:10]]
    np.testing.assert_allclose(found.base_values + found.values[:, :30].sum(axis=1), together, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::shap_asv.errors.CausalGraphWarning")
def test_half_a_graph_is_exact_and_says_so():
    """A few arrows, and features without any on both sides of a level: no lattice of the whole could be listed."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 50))
    model = RandomForestRegressor(3, max_depth=5, random_state=0).fit(X, X[:, 0] * X[:, 31] + X[:, 2] + X[:, 40])
    arrows = [(0, 31), (2, 31), (2, 40), (5, 40)]
    explainer = AsymmetricExplainer(model, None, arrows)
    plan = explainer.plan(10)
    assert plan.exact
    assert plan.backend.name == "paths"
    found = explainer(X[:10])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(X[:10]), rtol=0, atol=1e-9)
    sampled = AsymmetricExplainer(model, None, arrows, algorithm="sampling", n_orders=2000, seed=0)(X[:10])
    assert (np.abs(sampled.values - found.values) <= 5 * sampled.error_std + 1e-12).all()
    zigzag = [(v + v % 2, v + 1 - v % 2) for v in range(40)]
    plan = AsymmetricExplainer(model, None, zigzag).plan(10)
    assert not plan.exact
    assert (
        "41 features (Feature 0, Feature 1, Feature 2, ...) cannot be taken apart and have more than 1,000,000 ideals"
        in plan.table()
    )


# --- what people do with it -------------------------------------------------------------------------------------


def test_columns_by_name_in_any_order(table):
    X, labels = table
    model = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, labels)
    plain = AsymmetricExplainer(model, None, [("a", "b")])(X[:6])
    np.testing.assert_array_equal(
        AsymmetricExplainer(model, None, [("a", "b")])(X[:6][NAMES[::-1]]).values, plain.values
    )
    turned = AsymmetricExplainer(model, None, [("a", "b")], feature_names=NAMES[::-1])(X[:6])
    np.testing.assert_allclose(turned.values[:, ::-1], plain.values, rtol=0, atol=1e-12)
    for background in (X[50:60], X[50:60][NAMES[::-1]]):
        over = AsymmetricExplainer(model, background, [("a", "b")], values="marginal")(X[:6])
        by_name = dict(zip(over.feature_names, over.values.transpose(1, 0, 2), strict=True))
        expected = AsymmetricExplainer(model.predict_proba, X[50:60], [("a", "b")], values="marginal")(X[:6])
        np.testing.assert_allclose([by_name[name] for name in NAMES], expected.values.transpose(1, 0, 2), atol=1e-9)


def test_names_of_the_graph_are_those_of_x_where_the_model_has_none(table):
    X, labels = table
    model = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X.to_numpy(), labels)
    by_name = AsymmetricExplainer(model, causal_graph=[("a", "b"), ("c", "d")])
    by_place = AsymmetricExplainer(model, causal_graph=[(0, 1), (2, 3)])
    np.testing.assert_array_equal(by_name(X[:5]).values, by_place(X[:5].to_numpy()).values)
    assert np.shape(by_place.expected_value) == (3,)


def test_missing_values_go_where_the_model_sends_them(table):
    X, labels = table
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    for model in (
        HistGradientBoostingClassifier(max_iter=8),
        xgboost.XGBClassifier(**XGB),
        lightgbm.LGBMClassifier(**LGB),
    ):
        model.fit(holes, labels > 0)
        rows = holes[:20]
        for background in (None, holes[100:130]):
            found = AsymmetricExplainer(model, background)(rows)
            total = found.base_values + found.values.sum(axis=1)
            np.testing.assert_allclose(total, margin(model, rows), rtol=0, atol=1e-5)
    with pytest.raises(RowsError, match="'a', and GradientBoostingClassifier does not take missing values"):
        AsymmetricExplainer(GradientBoostingClassifier(n_estimators=2).fit(X, labels))(X[:2].assign(a=np.nan))


@pytest.mark.parametrize(
    "make",
    [
        lambda: lightgbm.LGBMRegressor(min_data_per_group=4, cat_smooth=0.1, **LGB),
        lambda: xgboost.XGBRegressor(enable_categorical=True, **XGB),
        lambda: HistGradientBoostingRegressor(max_iter=8, categorical_features="from_dtype"),
    ],
)
def test_categories_gaps_and_truth_values(table, make):
    X, _ = table
    colours = np.array(["red", "green", "blue", None])[np.arange(len(X)) % 4]
    mixed = X[["a", "b"]].assign(colour=pd.Categorical(colours), flag=X["c"] > 0)
    mixed.loc[::7, "a"] = np.nan
    model = make().fit(mixed, (mixed["colour"] == "red") * 2.0 + mixed["flag"] * mixed["a"].fillna(0.0))
    rows, levels = mixed[:40], CausalOrder.from_levels([["colour", "a"], ["b", "flag"]])
    for background in (None, mixed[100:140]):
        found = AsymmetricExplainer(model, background, levels, values="auto" if background is None else "marginal")(
            rows
        )
        np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(rows), atol=1e-5)
    trees = AsymmetricExplainer(model)._known_execution().problem.predictor.trees
    assert len(trees.ensemble.sets) > 0, "no node asks for a category"


CATEGORIES_OF_CATBOOST = {
    "named": ({"one_hot_max_size": 30}, False),
    "statistics": ({"max_ctr_complexity": 1}, False),
    "buckets and counts": ({"max_ctr_complexity": 1, "simple_ctr": ["Buckets", "Counter"]}, False),
    "of three classes": ({"max_ctr_complexity": 1, "loss_function": "MultiClass"}, True),
}


def towns(table):
    X, labels = table
    mixed = X[["a", "b"]].assign(town=[f"town {k}" for k in labels * 7 + np.arange(len(X)) % 7], size=labels * 2)
    return mixed, mixed["a"] * (mixed["size"] == 2) + (mixed["town"] == "town 3"), labels


@pytest.mark.parametrize("case", CATEGORIES_OF_CATBOOST)
def test_categories_of_catboost_are_its_own_values(table, case):
    options, classes = CATEGORIES_OF_CATBOOST[case]
    X, number, labels = towns(table)
    make = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
    model = make(cat_features=["town", "size"], **CAT | {"iterations": 20} | options).fit(
        X, labels if classes else number
    )
    explainer = AsymmetricExplainer(model)
    for rows in (X[:20], X[20:40].assign(town=["Rome", "town 3"] * 10)):
        own = model.get_feature_importance(catboost.Pool(rows, cat_features=["town", "size"]), type="ShapValues")
        own = own.transpose(0, 2, 1) if classes else own
        found = explainer(rows)
        np.testing.assert_allclose(found.values, own[:, :-1], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.base_values, own[:, -1], rtol=0, atol=1e-9)
        assert found.display_data[:, 2].tolist() == rows["town"].tolist()
    assert len(explainer._known_execution().problem.predictor.trees.own.sets) > 1
    over = AsymmetricExplainer(model, X[:30])
    assert over.plan(3).backend.name == "paths"
    called = AsymmetricExplainer(lambda rows: margin(model, rows), X[:30])(X[40:43])
    np.testing.assert_allclose(over(X[40:43]).values, called.values, rtol=0, atol=1e-9)


def test_categories_that_catboost_does_not_take_and_statistics_of_several_columns(table):
    X, number, _ = towns(table)
    model = catboost.CatBoostRegressor(cat_features=["town", "size"], one_hot_max_size=30, **CAT).fit(X, number)
    explainer = AsymmetricExplainer(model)
    for column, words in [([1.5, 2, 3], r"1.5 is no category to CatBoost"), ([None, 1, 2], "no value for 'size'")]:
        with pytest.raises(RowsError, match=words):
            explainer(X[:3].assign(size=pd.Series(column, dtype=object)))
    assert explainer(X[:3]).values.shape == (3, 4)  # what was refused is forgotten
    many = catboost.CatBoostRegressor(cat_features=["town", "size"], **CAT | {"iterations": 300}).fit(X, number)
    with pytest.raises(NetworkError, match=r"statistics of several columns at once.*fit it with max_ctr_complexity=1"):
        AsymmetricExplainer(many)
    called = AsymmetricExplainer(many, X[:9])
    np.testing.assert_allclose(called(X[:3]).values.sum(axis=1) + called(X[:3]).base_values, many.predict(X[:3]))


def test_a_hash_that_is_read_otherwise_is_noticed(table, monkeypatch):
    X, number, _ = towns(table)
    model = catboost.CatBoostRegressor(cat_features=["town", "size"], one_hot_max_size=30, **CAT).fit(X, number)
    monkeypatch.setattr(catboost_trees, "hashes_of", lambda estimator, labels: list(range(len(labels))))
    explainer = AsymmetricExplainer(model)
    for _ in range(2):
        with pytest.raises(ModelError, match="differs from its own output"):
            explainer(X[:3])


def test_float32_single_rows_and_boosters(table):
    X, labels = table
    model = xgboost.XGBClassifier(**XGB).fit(X, labels > 0)
    explainer = AsymmetricExplainer(model.get_booster())
    whole = explainer(X[:4])
    assert whole.feature_names == NAMES
    np.testing.assert_allclose(whole.values, AsymmetricExplainer(model)(X[:4]).values, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(explainer(X[:4].astype(np.float32)).values, whole.values)
    np.testing.assert_array_equal(explainer.shap_values(X.iloc[2], check_additivity=False), whole.values[2])


def test_probabilities_keep_the_black_box_and_the_plan_says_why(table):
    X, labels = table
    model = GradientBoostingClassifier(n_estimators=4).fit(X, labels > 0)
    for explainer in (
        AsymmetricExplainer(model, X[:20], model_output="probability"),
        AsymmetricExplainer(model.predict_proba, X[:20]),
    ):
        assert explainer.plan(5).backend.name == "ideals x marginal"
        assert "are not a sum over trees; the margin" in str(explainer.plan(5))
        found = explainer(X[:3])
        own = model.predict_proba(X[:3])
        own = own[:, 1] if explainer.model_output == "probability" else own  # as in shap: of the second class
        np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), own, atol=1e-9)
    with pytest.raises(NetworkError, match=r"masker cannot be None\. .*not a sum over trees"):
        AsymmetricExplainer(model, model_output="probability")


def test_an_unused_feature_gets_exactly_nothing():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X * [1, 0, 1], X[:, 0])
    for background in (None, X[:10]):
        values = AsymmetricExplainer(model, background)(X[:8] * [1, 0, 1]).values
        assert (values[:, 1] == 0.0).all()
        assert values[:, 0].any()


@pytest.mark.parametrize("background", [False, True])
def test_stumps_and_single_leaves(background):
    X = np.arange(20.0).reshape(10, 2)
    rows = X[:4] if background else None
    leaf = AsymmetricExplainer(DecisionTreeRegressor().fit(X, np.full(10, 2.5)), rows)(X[:3])
    np.testing.assert_array_equal(leaf.values, np.zeros((3, 2)))
    np.testing.assert_array_equal(leaf.base_values, np.full(3, 2.5))
    stump = DecisionTreeRegressor(max_depth=1).fit(X[:, :1], X[:, 0] > 8)
    found = AsymmetricExplainer(stump, None if rows is None else rows[:, :1])(X[:3, :1])
    np.testing.assert_allclose(found.base_values + found.values[:, 0], stump.predict(X[:3, :1]), atol=1e-12)


# --- what does not work, and how it is said ---------------------------------------------------------------------


def test_words_of_tree_explainer(small):
    model, X = small
    # a backend by name: which of two that take a millisecond is planned hangs on a clock, and so do the last bits
    same = AsymmetricExplainer(model, data=X[:9], feature_perturbation="interventional", algorithm="paths")
    ours = AsymmetricExplainer(model, X[:9], algorithm="paths")
    np.testing.assert_array_equal(same(X[:3]).values, ours(X[:3]).values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing to say about what a table is for: shap's words say it
        AsymmetricExplainer(model, data=X[:9], causal_graph=GRAPHS["dag"])
        AsymmetricExplainer(model, X[:9], GRAPHS["dag"], feature_perturbation="interventional")
    alone = AsymmetricExplainer(model, feature_perturbation="tree_path_dependent")
    np.testing.assert_array_equal(alone(X[:3]).values, AsymmetricExplainer(model)(X[:3]).values)
    np.testing.assert_array_equal(same.symmetric()(X[:3]).values, same(X[:3]).values)
    for options, says in [
        ({"masker": X, "data": X}, "not both"),
        ({"feature_perturbation": "observational"}, "unknown feature_perturbation='observational'"),
        ({"values": "conditional"}, "needs a background"),
    ]:
        with pytest.raises(UnknownMethodError, match=says):
            AsymmetricExplainer(model, **options)


def test_a_pipeline_that_mixes_columns_is_a_black_box_over_rows_and_the_plan_says_why(small):
    _, X = small
    model = make_pipeline(PCA(), RandomForestRegressor(3, max_depth=4, random_state=0)).fit(X, X[:, 0])
    said = AsymmetricExplainer(model, X[:20]).plan(3).table()
    assert "These cannot run:\n" in said
    assert (
        "  paths, orders x paths: column 0 of the input of the final estimator depends on more than one feature" in said
    )


def test_models_without_trees(small):
    _, X = small
    mixed = make_pipeline(PCA(), RandomForestRegressor(2)).fit(X, X[:, 0])
    for model, why in [
        (LinearRegression().fit(X, X[:, 0]), "LinearRegression is not a tree ensemble"),
        (lambda x: x.sum(axis=1), "is a callable"),
        (mixed, "depends on more than one feature"),
    ]:
        with pytest.raises(NetworkError, match=rf"^masker cannot be None\. .*{why}.*background rows.*StructuralModel"):
            AsymmetricExplainer(model)


def test_rows_and_graphs_that_do_not_fit(table, small):
    X, labels = table
    model = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, labels)
    explainer = AsymmetricExplainer(model)
    with pytest.raises(RowsError, match="no column 'c'"):
        explainer(X[:3].drop(columns="c"))
    with pytest.raises(RowsError, match="X has 5 columns, the model has 6"):
        explainer(X[:3].to_numpy()[:, :5])
    with pytest.raises(RowsError, match="not numbers"):
        explainer(X[:3].assign(a="high"))
    with pytest.raises(CausalGraphError, match="none of which is a feature"):
        AsymmetricExplainer(model, causal_graph=[("smoking", "cancer")])
    with pytest.raises(ModelError, match="fitted on 4 columns, but the rows have 3"):
        AsymmetricExplainer(small[0], feature_names=["x", "y", "z"])


def test_a_link_keeps_trees_from_being_added_up_and_the_plan_says_so():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    forest = RandomForestRegressor(n_estimators=3, random_state=0).fit(X, 0.2 + 0.5 * y)
    linked = AsymmetricExplainer(forest, X[:10], link=shap.links.logit)
    shown = {candidate.name: candidate.obstacle for candidate in linked.plan(1).candidates}
    assert "without a link the trees are added up" in shown["paths"]


def categories_of_xgboost():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 60, 200), "job": pd.Categorical(rng.choice(["a", "b", "c"], 200))})
    return xgboost.XGBRegressor(n_estimators=10, enable_categorical=True).fit(X, X.age / 20 + (X.job == "b") * 3), X


def test_a_category_that_xgboost_never_saw():
    model, _ = categories_of_xgboost()
    explainer = AsymmetricExplainer(model, causal_graph=[("age", "job")])
    with pytest.raises(RowsError, match="row 0: 'zzz' is not a category of 'job'"):
        explainer(pd.DataFrame({"age": [30], "job": pd.Categorical(["zzz"])}))
    missing = pd.DataFrame({"age": [30], "job": pd.Categorical([None], categories=["a", "b", "c"])})
    found = explainer(missing)
    np.testing.assert_allclose(found.values.sum() + found.base_values, model.predict(missing), rtol=1e-5)


def test_symmetric_keeps_the_types_of_the_columns():
    model, X = categories_of_xgboost()
    explainer = AsymmetricExplainer(model, X[:30], [("age", "job")], values="marginal")
    comparison = explainer.compare(X[:3])
    np.testing.assert_allclose(
        comparison.explanations["SHAP"].values.sum(axis=1), comparison.explanations["ASV"].values.sum(axis=1), atol=1e-5
    )
