"""A table as background: what is fitted to it, what is said about it, and that it is fitted once."""

import io
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel, StructuralModel
from shap_asv.backgrounds.choice.mixture import MixtureModel
from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
from shap_asv.backgrounds.gaussian.copula import CopulaModel
from shap_asv.backgrounds.structural.background import StructuralBackground
from shap_asv.errors import (
    CausalGraphWarning,
    MethodNotApplicableError,
    NetworkError,
    TableError,
    UnknownFeatureError,
    UnknownMethodError,
)

CHAIN = [("a", "b"), ("b", "c")]
ANY_SET = (GaussianModel, CopulaModel, ConditionalTable, MixtureModel)


def table(n=400, seed=0):
    """a -> b -> c, linear: b = 2a + noise, c = -b + noise."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = 2 * a + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": -b + 0.5 * rng.normal(size=n)})


def model(X):
    return np.asarray(X["c"], dtype=float) * 3.0


def truth(row):
    """E[3c | a] = -6a, E[3c | a, b] = -3b: by hand."""
    return np.array([-6 * row["a"], -3 * row["b"] + 6 * row["a"], 3 * row["c"] + 3 * row["b"]])


@pytest.fixture(scope="module")
def structural():
    return AsymmetricExplainer(model, table(), CHAIN, values="conditional", seed=0, silent=True)


@pytest.fixture(scope="module")
def levels():
    order = CausalOrder.from_levels([["a"], ["b", "c"]])
    return AsymmetricExplainer(model, table(), order, values="conditional", seed=0, silent=True)


def test_adag_over_all_features_is_a_structural_model(structural):
    row = table(seed=1).iloc[:5]
    explanation = structural(row)
    expected = np.array([truth(one) for _, one in row.iterrows()])
    assert np.abs(explanation.values - expected).mean() < 0.1 * np.abs(expected).mean()
    assert isinstance(structural.masker, StructuralModel)
    assert "structural model of 3 features" in str(structural.plan(1))
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), model(row), atol=1e-9)


def test_marginal_values_are_others(structural):
    """The trap: the model looks at c alone, so marginal values give a and b nothing."""
    row = table(seed=1).iloc[:2]
    marginal = AsymmetricExplainer(model, table(), CHAIN, values="marginal", seed=0)(row).values
    np.testing.assert_allclose(marginal[:, :2], 0.0, atol=1e-12)
    assert (np.abs(structural(row).values[:, 0]) > 0.5).all()


def test_edges_beside_a_longer_way_are_kept():
    fitted = AsymmetricExplainer(
        model, table(60), [*CHAIN, ("a", "c")], values="conditional", seed=0, silent=True
    ).masker
    assert set(nx.DiGraph(fitted.background().graph).edges) == {("a", "b"), ("b", "c"), ("a", "c")}


def test_levels_are_chosen_for_by_score(levels):
    assert isinstance(levels.masker, ANY_SET)
    assert levels.masker.describe() in str(levels.plan(1))
    row = table(seed=1).iloc[:5]
    # b and c enter in both orders: a's share is E[3c | a] in each
    found = levels(row).values[:, 0]
    assert np.abs(found + 6 * row["a"]).mean() < 0.6


@pytest.mark.parametrize(
    "graph",
    [[("a", "c")], nx.DiGraph([("a", "b"), ("hidden", "b"), ("hidden", "c"), ("b", "c")])],
    ids=["few edges", "hidden cause"],
)
def test_graphs_that_do_not_say_it_all(graph):
    with pytest.warns(CausalGraphWarning):
        explainer = AsymmetricExplainer(model, table(80), graph, values="conditional", seed=0, silent=True)
    assert isinstance(explainer.masker, (*ANY_SET, StructuralBackground))
    assert not isinstance(explainer.masker, StructuralModel)


LEVELS = CausalOrder.from_levels([["a", "b", "c"], ["ill"], ["d"]])


def ill_or_not(n=400, seed=0):
    """P(ill | a, b, c) is logistic, and d jumps with it: mechanisms can say that, donors blur it."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n))
    ill = rng.random(n) < 1 / (1 + np.exp(-3 * (a + b - c)))
    d = a - b - c + np.where(ill, 2.0, -2.0) + 0.1 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "ill": np.where(ill, "yes", "no"), "d": d})


def burden(X):
    return np.asarray((X["ill"] == "yes") * X["d"], dtype=float)


@pytest.fixture(scope="module")
def ill_levels():
    return AsymmetricExplainer(burden, ill_or_not(), LEVELS, values="conditional", seed=0, silent=True)


def curved_table(tied, n=500, seed=0):
    """a -> b -> c -> d with a -> c and b -> d, bent and skewed, and e: on its own, or nearly another d."""
    rng = np.random.default_rng(seed)
    a, noise = rng.normal(size=n), rng.exponential(size=(3, n))
    b = a**2 + 0.3 * noise[0]
    c = np.sin(2 * b) * (1 + a) + 0.3 * noise[1]
    d = np.abs(c) * b + 0.3 * noise[2]
    e = rng.normal(size=n) + (3 * d if tied else 0.0)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


@pytest.mark.filterwarnings("ignore:the causal graph does not mention")
@pytest.mark.parametrize("tied", [False, True])
def test_a_dag_that_leaves_a_column_out_is_tried_as_one(tied):
    """The column stands alone in the structural model; where it does not, the score takes something else as well."""
    data = curved_table(tied)
    causes = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("b", "d")]
    with pytest.warns(CausalGraphWarning, match="does not mention 'e'"):
        explainer = AsymmetricExplainer(
            lambda X: (X["d"] * (X["e"] > 1) + X["c"]).to_numpy(),
            data,
            causes,
            values="conditional",
            seed=0,
            silent=True,
        )
    fitted = explainer.masker
    parts = zip(getattr(fitted, "components", [fitted]), getattr(fitted, "shares", [1.0]), strict=True)
    share = sum(float(share) for part, share in parts if isinstance(part, StructuralBackground))
    assert share < 0.5 if tied else share > 0.5
    row = data.iloc[:2]
    explanation = explainer(row)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, row["d"] * (row["e"] > 1) + row["c"], atol=1e-9)


def test_levels_may_need_a_structural_model(ill_levels):
    parts = getattr(ill_levels.masker, "components", (ill_levels.masker,))
    (structural,) = [part for part in parts if isinstance(part, StructuralBackground)]
    assert set(structural.graph.edges) >= {("a", "ill"), ("c", "d"), ("ill", "d")}
    assert "ill <- a, b, c: " in str(structural)
    assert "structural model of 5 features" in str(ill_levels.plan(1))
    row = ill_or_not(40, seed=1)
    explanation = ill_levels(row)
    first = explanation.base_values + explanation.values[:, :3].sum(axis=1)
    a, b, c = row[["a", "b", "c"]].to_numpy().T
    expected = (a - b - c + 2) / (1 + np.exp(-3 * (a + b - c)))  # E[burden | a, b, c], by hand
    assert np.abs(first - expected).mean() < 0.2 * np.abs(expected).mean()
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), burden(row), atol=1e-9)


def test_all_rows_are_fitted_not_shaps_sample(structural):
    assert "empirical (400 values)" in str(structural.masker)


@pytest.mark.parametrize("name", ["structural", "levels"])
def test_stored_fitted(name, request, monkeypatch):
    explainer = request.getfixturevalue(name)
    stream = io.BytesIO()
    explainer.save(stream)

    def refuse(*args, **kwargs):
        raise AssertionError("fitted again")

    monkeypatch.setattr("shap_asv.explainer.fitting._fit", refuse)
    stream.seek(0)
    loaded = AsymmetricExplainer.load(stream)
    row = table(seed=1).iloc[:2]
    assert loaded.values == "conditional"
    assert (loaded(row).values == explainer(row).values).all()


def test_the_target_column_is_left_out():
    data = table(80).assign(target=lambda t: t["a"] + t["c"])
    fitted = LinearRegression().fit(data[["a", "b", "c"]], data["target"])
    explainer = AsymmetricExplainer(fitted, data, CHAIN, values="conditional", seed=0, silent=True)
    assert explainer.masker.nodes == ("a", "b", "c")
    row = data[["a", "b", "c"]].iloc[:1]
    explanation = explainer(row)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), fitted.predict(row))


def test_arrays_and_positions():
    data = table(120).to_numpy()
    explainer = AsymmetricExplainer(
        lambda X: 3.0 * X[:, 2], data, [(0, 1), (1, 2)], values="conditional", seed=0, silent=True
    )
    assert isinstance(explainer.masker, StructuralModel)
    row = data[:2]
    explanation = explainer(row)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), 3.0 * row[:, 2], atol=1e-9)


@pytest.mark.parametrize("graph", [CHAIN, [(0, 1), (1, 2)], CausalOrder.from_levels([["a"], ["b", "c"]]), None])
def test_arrays_with_names(graph):
    """Names in the graph and in the explanation; the model takes arrays, also on SHAP's side and after a file."""
    data = table(120).to_numpy()
    fitted = LinearRegression().fit(data, data[:, 2] ** 2)
    names = list("abc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "X has feature names, but LinearRegression was fitted without"
        explainer = AsymmetricExplainer(
            fitted, data, graph, values="conditional", feature_names=names, seed=0, silent=True, n_draws=16
        )
        explanation = explainer(data[:2], silent=True)
        explainer.compare(data[:2], silent=True)
    assert explanation.feature_names == names
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), fitted.predict(data[:2]))
    stream = io.BytesIO()
    explainer.save(stream)
    stream.seek(0)
    again = AsymmetricExplainer.load(stream)
    np.testing.assert_array_equal(again(data[:2], silent=True).values, explanation.values)
    by_name = explainer(pd.DataFrame(data[:2], columns=names)[["c", "a", "b"]], silent=True)
    np.testing.assert_array_equal(by_name.values, explanation.values)


def test_an_array_needs_as_many_names_as_columns():
    with pytest.raises(TableError, match=r"3 columns need as many names, not 2: 'a', 'b'"):
        AsymmetricExplainer(
            lambda X: X[:, 2], table(30).to_numpy(), CHAIN, feature_names=["a", "b"], values="conditional"
        )


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_table_with_a_graph_is_conditioned_on(as_frame, capsys):
    """One line says so; a DAG of the columns of a DataFrame, levels of those of an array."""
    if as_frame:
        data, function, graph, names = table(100), model, CHAIN, None
    else:
        data, function, names = table(60).to_numpy(), lambda X: 3.0 * X[:, 2], ["a", "b", "c"]
        graph = CausalOrder.from_levels([["a"], ["b", "c"]])
    found = AsymmetricExplainer(function, data, graph, feature_names=names, seed=0)
    assert found.values == "conditional"
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "values=" in line]
    assert "values='conditional'; values='marginal' takes its rows as they are" in line
    asked = AsymmetricExplainer(function, data, graph, feature_names=names, seed=0, values="conditional")
    row = table(1, seed=1)
    np.testing.assert_array_equal(found(row, silent=True).values, asked(row, silent=True).values)
    assert "values=" not in capsys.readouterr().err


def test_a_table_is_marginal_where_it_is_in_shap(capsys):
    """Without a graph, under one without edges, in the words of TreeExplainer, and as one of shap's maskers."""
    import shap

    nothing = nx.DiGraph()
    nothing.add_nodes_from("abc")
    masker = shap.maskers.Independent(table(30))
    for background, more in [
        (table(30), {}),
        (table(30), {"causal_graph": nothing}),
        (table(30), {"causal_graph": CHAIN, "values": "marginal"}),
        (table(30), {"causal_graph": CHAIN, "feature_perturbation": "interventional"}),
        (None, {"causal_graph": CHAIN, "data": table(30)}),
        (masker, {"causal_graph": CHAIN}),
    ]:
        assert AsymmetricExplainer(model, background, **more).values == "marginal"
    assert capsys.readouterr().err == ""


def test_a_table_that_nothing_can_be_fitted_to_says_how_to_take_its_rows():
    data = table(30).assign(b=pd.Timestamp("2020-01-01"))
    with pytest.raises(TableError, match=r"'b'.*values='marginal'\)$"):
        AsymmetricExplainer(model, data, CHAIN, silent=True)


def test_trees_with_a_graph_and_no_table_are_told_once_what_cover_counts_ignore():
    data = table(60)
    trees = DecisionTreeRegressor(max_depth=3).fit(data, data["c"])
    with pytest.warns(CausalGraphWarning, match=r"ignore how the features depend.*as masker=.*tree_path_dependent"):
        explainer = AsymmetricExplainer(trees, causal_graph=CHAIN)
    found = explainer(data[:2])
    explainer.symmetric()
    explainer.compare(data[:2])
    explainer.sensitivity(data[:2], [CHAIN, [("c", "b"), ("b", "a")]])
    AsymmetricExplainer(trees)
    with pytest.raises(NetworkError, match="masker cannot be None"):
        AsymmetricExplainer(model, causal_graph=CHAIN)
    meant = AsymmetricExplainer(trees, causal_graph=CHAIN, feature_perturbation="tree_path_dependent")
    np.testing.assert_array_equal(meant(data[:2]).values, found.values)
    stream = io.BytesIO()
    meant.save(stream)
    stream.seek(0)
    AsymmetricExplainer.load(stream)


@pytest.mark.parametrize("word", ["observational", None, 3])
def test_unknown_words(word):
    with pytest.raises(UnknownMethodError, match=r"values='conditional'.*values='causal'.*values='marginal'"):
        AsymmetricExplainer(model, table(30), CHAIN, values=word)


def test_interventional_means_two_things():
    with pytest.raises(UnknownMethodError, match=r"in shap .* values='marginal' here.*do\(X_S\).*values='causal'"):
        AsymmetricExplainer(model, table(30), CHAIN, values="interventional")


def test_words_that_contradict_the_background():
    import shap

    structural = StructuralModel([("a", "b")], {"a": lambda causes, u: u, "b": lambda causes, u: causes["a"] + u})
    with pytest.raises(MethodNotApplicableError, match="values='marginal' needs background rows"):
        AsymmetricExplainer(lambda X: X["a"], structural, feature_names=["a", "b"], values="marginal")
    for values in ("conditional", "causal"):
        with pytest.raises(UnknownMethodError, match=f"values='{values}' needs the table itself"):
            AsymmetricExplainer(model, shap.maskers.Independent(table(30)), values=values)
    with pytest.raises(UnknownFeatureError, match="'d' is not a column"):
        AsymmetricExplainer(model, table(30), feature_names=["a", "d"], values="conditional")
