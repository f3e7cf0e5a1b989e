"""Pipelines with steps in front of trees that mix no columns: exact over the columns before them, by cover counts and
over rows.
"""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from shap_asv import AsymmetricExplainer
from shap_asv.errors import NetworkError, RowsError

NAMES = ["a", "q", "b", "r"]
EDGES = [("a", "b"), ("q", "r")]
ENCODERS = {
    "one-hot": lambda: make_column_transformer((OneHotEncoder(), ["q", "r"]), remainder="passthrough"),
    "without the first": lambda: make_column_transformer(
        ("passthrough", ["b", "a"]), (OneHotEncoder(drop="first", sparse_output=False), ["q", "r"])
    ),
    "ordinal": lambda: ColumnTransformer([("codes", OrdinalEncoder(), [3, 1])], remainder="passthrough"),
    "two of them": lambda: make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["r"]), (OrdinalEncoder(), ["q"]), ("passthrough", ["a", "b"])
    ),
    "scaled": lambda: make_column_transformer(
        (make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()), ["q"]),
        (OrdinalEncoder(), ["r"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["b", "a"]),
    ),
    "one after the other": lambda: make_pipeline(
        make_column_transformer((OrdinalEncoder(), ["r", "q"]), remainder="passthrough"),
        MinMaxScaler(),
    ),
}


def table(n=200):
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=n), "q": rng.choice(["x", "y", "z"], n), "b": rng.normal(size=n)}
    return pd.DataFrame({**columns, "r": rng.choice(["u", "v"], n)})


def fitted(kind, model=None):
    X = table()
    y = X["a"] * (X["q"] == "x") + 2 * X["b"] + (X["r"] == "u")
    model = RandomForestRegressor(3, max_depth=4, random_state=0) if model is None else model
    return make_pipeline(ENCODERS[kind](), model).fit(X, y > 0 if hasattr(model, "predict_proba") else y), X


def sources_of(encoder, X):
    """Which column each encoded one varies with: by trying."""
    base = X.iloc[:1]

    def encode(frame):
        made = encoder.transform(frame)
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=float)

    found = np.full(encode(base).shape[1], -1)
    for c, name in enumerate(NAMES):
        for value in X[name].unique():
            found[(encode(base.assign(**{name: [value]})) != encode(base))[0]] = c
    return found, encode


def mean_over(nodes, x, known, sources, node=0):
    """E by cover counts: known columns are followed, others averaged by how many training rows went each way."""
    if nodes.children_left[node] < 0:
        return nodes.value[node].ravel()[0]
    sides = nodes.children_left[node], nodes.children_right[node]
    j = nodes.feature[node]
    if sources[j] in known:
        return mean_over(nodes, x, known, sources, sides[0] if np.float32(x[j]) <= nodes.threshold[node] else sides[1])
    counts = nodes.weighted_n_node_samples
    return sum(counts[s] * mean_over(nodes, x, known, sources, s) for s in sides) / counts[node]


@pytest.mark.parametrize("kind", list(ENCODERS))
def test_cover_counts_against_the_definition(kind):
    model, X = fitted(kind)
    encoder, forest = model
    sources, encode = sources_of(encoder, X)
    explainer = AsymmetricExplainer(model, causal_graph=EDGES, feature_perturbation="tree_path_dependent", silent=True)
    assert explainer.plan(3).backend.name == "paths"
    explanation = explainer(X[:3], silent=True)
    assert explanation.feature_names == NAMES
    orders = [o for o in permutations(range(4)) if o.index(0) < o.index(2) and o.index(1) < o.index(3)]
    for row in range(3):
        x = encode(X.iloc[[row]])[0]

        def nu(known, x=x):
            return np.mean([mean_over(tree.tree_, x, known, sources) for tree in forest.estimators_])

        expected = np.zeros(4)
        for order in orders:
            for place, i in enumerate(order):
                expected[i] += (nu(set(order[: place + 1])) - nu(set(order[:place]))) / len(orders)
        np.testing.assert_allclose(explanation.values[row], expected, atol=1e-9)


def as_the_whole_pipeline(model, X, rows, graph=None):
    """The explainer over rows, which gives what it gives of the Pipeline as a function."""
    explainer = AsymmetricExplainer(model, X[:30], graph, values="marginal", silent=True)
    assert explainer.plan(3).backend.name == "paths"
    answer = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    called = AsymmetricExplainer(lambda rows: answer(rows), X[:30], graph, values="marginal", algorithm="exact")
    assert called.plan(3).backend.name != "paths"
    np.testing.assert_allclose(explainer(X[rows]).values, called(X[rows], silent=True).values, atol=1e-9)
    return explainer


@pytest.mark.parametrize("kind", list(ENCODERS))
@pytest.mark.parametrize(
    "model", [None, RandomForestClassifier(3, max_depth=4, random_state=0)], ids=["forest", "classes"]
)
def test_over_rows_as_the_whole_pipeline_called_as_a_function(kind, model):
    as_the_whole_pipeline(*fitted(kind, model), slice(40, 43), EDGES)


def test_boosted_margins_add_up():
    model, X = fitted("one-hot", GradientBoostingClassifier(n_estimators=5))
    explainer = AsymmetricExplainer(model, causal_graph=EDGES, feature_perturbation="tree_path_dependent", silent=True)
    explanation = explainer(X[:5])
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.decision_function(X[:5]), atol=1e-9)


def test_what_mixes_columns_or_is_not_known_says_so():
    X = table()
    mixed = make_pipeline(PCA(), RandomForestRegressor(2, random_state=0)).fit(X[["a", "b"]], X["a"])
    with pytest.raises(NetworkError, match=r"depends on more than one feature.*on transformed rows instead"):
        AsymmetricExplainer(mixed, feature_perturbation="tree_path_dependent")
    model, X = fitted("one-hot")
    explainer = AsymmetricExplainer(model, feature_perturbation="tree_path_dependent", silent=True)
    with pytest.raises(RowsError, match="'w' is not a category of 'q'"):
        explainer(X[:1].assign(q=["w"]))


@pytest.mark.parametrize(
    "columns", [[-3, -1], [False, True, False, True], np.array([False, True, False, True]), slice(1, 4, 2)]
)
def test_columns_as_numpy_indexes_them(columns):
    X = table()
    encoder = ColumnTransformer([("codes", OneHotEncoder(), columns)], remainder="passthrough")
    model = make_pipeline(encoder, RandomForestRegressor(3, random_state=0)).fit(X, X["a"] + (X["q"] == "x"))
    explainer = AsymmetricExplainer(model, feature_perturbation="tree_path_dependent", silent=True)
    assert explainer.plan(3).backend.name == "paths"
    explanation = explainer(X[:3])
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), model.predict(X[:3]))


@pytest.mark.parametrize(
    "encoder", [OneHotEncoder(), OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder(encoded_missing_value=-1)]
)
def test_a_gap_that_the_encoder_has_met_is_a_category_of_its_own(encoder):
    X = table().drop(columns="r")
    X["q"] = X["q"].astype(object)
    X.loc[::4, "q"] = np.nan
    y = X["a"] + 3 * X["q"].isna() + (X["q"] == "x")
    columns = make_column_transformer((encoder, ["q"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestRegressor(3, max_depth=4, random_state=0)).fit(X, y)
    as_the_whole_pipeline(model, X, slice(38, 41))


def test_gaps_are_taken_in_the_columns_that_had_some():
    """One encoder for two columns: it takes a gap where it has met one, and refuses it in the other column."""
    X = table()[["q", "r"]].astype(object)
    X.loc[::4, "q"] = np.nan
    y = 3.0 * X["q"].isna() + (X["r"] == X["r"].iloc[0])
    columns = make_column_transformer((OneHotEncoder(), ["q", "r"]))
    model = make_pipeline(columns, RandomForestRegressor(3, max_depth=4, random_state=0)).fit(X, y)
    explainer = as_the_whole_pipeline(model, X, slice(38, 42))
    with pytest.raises(RowsError, match="a row has no value for 'r'"):
        explainer(X[38:42].assign(r=np.nan))


@pytest.mark.parametrize(
    ("encoder", "read"),
    [
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), True),
        (FunctionTransformer(lambda q: np.asarray(2.0 * (q == "x") + (q == "y"))), False),  # nobody knows the labels
        (FunctionTransformer(lambda q: np.asarray(2.0 * (q == 3) + (q == 5))), False),
    ],
    ids=["imputed first", "a function of texts", "a function of names that are numbers"],
)
def test_names_are_never_taken_for_numbers(encoder, read, request):
    X = table()
    if "numbers" in request.node.callspec.id:
        X["q"] = X["q"].map({"x": 3, "y": 5, "z": 6})
    columns = make_column_transformer(
        (encoder, ["q"]), (StandardScaler(), ["a"]), (OrdinalEncoder(), ["r"]), ("drop", ["b"])
    )
    model = make_pipeline(columns, RandomForestRegressor(3, random_state=0)).fit(X, X["a"] + 3 * X["q"].isin(["x", 3]))
    explainer = AsymmetricExplainer(model, X[:30], values="marginal", silent=True)
    assert (explainer.plan(3).backend.name == "paths") == read
    called = AsymmetricExplainer(lambda rows: model.predict(rows), X[:30], values="marginal", algorithm="exact")
    np.testing.assert_allclose(explainer(X[30:33]).values, called(X[30:33], silent=True).values, atol=1e-9)
    if not read:
        with pytest.raises(NetworkError, match="make nothing of numbers in column 1"):
            AsymmetricExplainer(model, feature_perturbation="tree_path_dependent")


def test_texts_that_are_dropped():
    X = table()
    model = make_pipeline(
        make_column_transformer(("passthrough", ["a", "b"])), RandomForestRegressor(3, random_state=0)
    )
    explainer = AsymmetricExplainer(model.fit(X, X["a"]), X[:30], values="marginal", silent=True)
    assert "could not convert string to float" in str(explainer.plan(3).table())
    total = explainer(X[30:33])
    np.testing.assert_allclose(total.base_values + total.values.sum(axis=1), model.predict(X[30:33]), atol=1e-9)


def test_a_column_that_tells_of_gaps():
    X = table()[["a", "b"]]
    X.loc[::3, "b"] = np.nan
    y = X["a"] + 3.0 * X["b"].isna() * (X["a"] > 0) + X["b"].fillna(0.0)
    model = make_pipeline(SimpleImputer(add_indicator=True), RandomForestRegressor(4, random_state=0)).fit(X, y)
    as_the_whole_pipeline(model, X, slice(28, 34))
