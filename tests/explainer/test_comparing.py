"""SHAP beside ASV where the background cannot condition on the sets that SHAP asks for."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
import shap

from shap_asv import AsymmetricExplainer, GaussianModel, StructuralModel, compare
from shap_asv.explanation import from_base
from tests.independent import IndependentColumns

EDGES = [("a", "b")]


def linear_pair():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    return pd.DataFrame({"a": a, "b": 0.8 * a + 0.6 * rng.normal(size=400)})


def model(X):
    return 2.0 * np.asarray(X["b"], dtype=float)


@pytest.fixture(scope="module")
def structural():
    return StructuralModel.fit(linear_pair(), EDGES, "linear", seed=0, silent=True)


def test_shap_by_a_background_that_conditions_on_any_set(structural):
    """By hand: E[2b | a] = 1.6 a, so ASV gives a 1.6 a and SHAP half of it; b the rest."""
    X = pd.DataFrame({"a": [1.5, -1.0], "b": [0.5, 1.0]})
    result = compare(model, structural, X, seed=0, silent=True)
    np.testing.assert_allclose(result.asv.values[:, 0], [2.4, -1.6], atol=0.35)
    np.testing.assert_allclose(result.shap.values[:, 0], [1.2, -0.8], atol=0.35)
    for explanation in (result.asv, result.shap):
        np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), model(X), atol=1e-9)
    assert "structural model" in result.backgrounds["ASV"]
    assert "structural model" not in result.backgrounds["SHAP"]
    assert result.backgrounds["SHAP"].endswith("on every set; the mean prediction is that of ASV")
    assert f"SHAP over: {result.backgrounds['SHAP']}" in repr(result)


def test_both_sides_start_from_one_mean_prediction(structural):
    """SHAP's distribution is another, but what is to be expected given nothing is known from the explainer's own."""
    X = pd.DataFrame({"a": [1.5, -1.0], "b": [0.5, 1.0]})

    def curved(X):
        b = np.asarray(X["b"], dtype=float)
        return np.column_stack([np.exp(b), b])

    result = compare(curved, structural, X, seed=0, silent=True, n_draws=64)
    np.testing.assert_array_equal(result.shap.base_values, result.asv.base_values)
    for explanation in (result.asv, result.shap):
        np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), curved(X), atol=1e-9)


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(0, 2), (1, 2)]])
def test_another_value_of_the_empty_coalition(edges):
    """Against the definition: the mean over all orders that keep the edges, once with each value of nu({})."""
    rng = np.random.default_rng(0)
    nu = {frozenset(c): rng.normal() for size in range(4) for c in combinations(range(3), size)}
    orders = [each for each in permutations(range(3)) if all(each.index(a) < each.index(b) for a, b in edges)]
    first = np.bincount([order[0] for order in orders], minlength=3) / len(orders)

    def explained(empty, error=None):
        game, phi = {**nu, frozenset(): empty}, np.zeros(3)
        for order in orders:
            for place, i in enumerate(order):
                phi[i] += (game[frozenset(order[: place + 1])] - game[frozenset(order[:place])]) / len(orders)
        main = np.array([[game[frozenset([i])] - empty for i in range(3)]])
        return shap.Explanation(phi[None], base_values=np.array([empty]), main_effects=main, error_std=error)

    moved, expected = from_base(explained(0.5), 0.8, first, True), explained(0.8)
    np.testing.assert_allclose(moved.values, expected.values, atol=1e-12)
    np.testing.assert_allclose(moved.main_effects, expected.main_effects, atol=1e-12)
    np.testing.assert_allclose(moved.base_values, [0.8])
    assert moved.error_std is None
    error = np.full((1, 3), 0.2)
    share = 0.3 * first[None]
    np.testing.assert_allclose(from_base(explained(0.5, error), 0.8, first, True).error_std, np.hypot(error, share))
    np.testing.assert_allclose(from_base(explained(0.5), 0.8, first, False).error_std, share)
    same = explained(0.5)
    assert from_base(same, 0.5 + 1e-15, first, True) is same


def test_a_table_is_explained_as_shap_does_and_in_order_from_the_mean_prediction_of_the_table(structural):
    """By hand: nu({}) is the mean of the model over the table, and only a, the first feature, looks at it."""
    table = linear_pair()

    def curved(X):
        b = np.asarray(X["b"], dtype=float)
        return np.column_stack([np.exp(b), b])

    explainer = AsymmetricExplainer(curved, table, EDGES, seed=0, n_draws=64, silent=True, output_names=["up", "b"])
    own = explainer(table[:3], silent=True)
    result = explainer.compare(table[:3], silent=True)
    assert list(result.explanations) == ["marginal SHAP", "ASV"]
    assert result.pair == ("marginal SHAP", "ASV")
    assert result.conditional == {"ASV"}
    mean = curved(table).mean(axis=0)
    np.testing.assert_allclose(result.asv.base_values, np.broadcast_to(mean, (3, 2)), rtol=1e-12)
    assert abs(own.base_values[0, 0] - mean[0]) > 1e-3  # 64 draws of a structural model: else this shows nothing
    np.testing.assert_allclose(result.asv.values[:, 1], own.values[:, 1], rtol=1e-12)
    np.testing.assert_allclose(result.asv.values[:, 0], own.values[:, 0] + own.base_values - mean, rtol=1e-9)
    one = explainer.compare(table[:3], silent=True, outputs="up")
    np.testing.assert_allclose(one.asv.base_values, np.full(3, mean[0]), rtol=1e-12)
    marginal = AsymmetricExplainer(curved, table, values="marginal", seed=0)(table[:3])
    np.testing.assert_allclose(result.shap.values, marginal.values, atol=1e-12)


def test_an_explainer_of_causal_values_lends_its_mean_prediction_to_conditional_ones(structural):
    """Nothing is set and nothing is known: one mean. That of background rows is another."""
    X = linear_pair()

    def curved(X):
        return np.exp(np.asarray(X["b"], dtype=float))

    methods = ["SHAP", "ASV", "causal SHAP"]
    result = compare(curved, structural, X[:2], methods=methods, values="causal", seed=0, silent=True, n_draws=64)
    for explanation in result.explanations.values():
        np.testing.assert_array_equal(explanation.base_values, result.asv.base_values)
        np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), curved(X[:2]))
    methods = ["conditional SHAP", "marginal SHAP"]
    result = compare(curved, X, X[:2], EDGES, methods=methods, values="marginal", seed=0, silent=True)
    assert result.explanations["marginal SHAP"].base_values[0] == pytest.approx(curved(X).mean(), rel=0.2)
    assert result.backgrounds["conditional SHAP"].endswith("on every set")


@pytest.mark.parametrize("over", ["conditional", "marginal"])
@pytest.mark.parametrize("kind", ["boosted", "two classes", "counts"])
def test_all_methods_explain_one_output(over, kind):
    """Without a word for it, trees over rows give their margin, as in shap; else what they predict."""
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor

    X = linear_pair()
    y = np.digitize(X["b"], [0.0] if kind == "two classes" else [-0.5, 0.5])
    estimators = {
        "boosted": GradientBoostingClassifier(n_estimators=3),
        "two classes": GradientBoostingClassifier(n_estimators=3),
        "counts": HistGradientBoostingRegressor(max_iter=3, loss="poisson"),
    }
    methods = ["conditional ASV", "marginal SHAP", "causal SHAP"]
    fitted = estimators[kind].fit(X, y)
    result = compare(fitted, X, X[:3], EDGES, methods=methods, values=over, seed=0, silent=True, n_draws=16)
    sums = [one.values.sum(axis=1) + one.base_values for one in result.explanations.values()]
    np.testing.assert_allclose(sums[1], sums[0], atol=1e-6)
    np.testing.assert_allclose(sums[2], sums[0], atol=1e-6)


def test_the_same_background_where_it_can():
    background = GaussianModel([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], ["a", "b"])
    result = compare(model, background, pd.DataFrame({"a": [1.0], "b": [0.0]}), EDGES, seed=0)
    assert result.backgrounds["SHAP"] == result.backgrounds["ASV"]
    assert "over:" not in repr(result)
    assert result.conditional == {"SHAP", "ASV"}


@pytest.mark.parametrize("background", [linear_pair, lambda: IndependentColumns(linear_pair())])
def test_hidden_features_that_nothing_is_known_of(background):
    """Background rows and independent columns: credit does not move because causes are known."""
    assert compare(model, background(), linear_pair().iloc[:2], seed=0).conditional == set()


# --- methods by name ----------------------------------------------------------------------------------------------


def test_causal_values_are_named_so():
    from shap_asv import load_network

    names = ["Pollution", "Smoker", "Xray", "Dyspnoea"]
    explainer = AsymmetricExplainer(
        lambda X: 1.0 * (X["Xray"] == "positive"), load_network("cancer"), feature_names=names, values="causal"
    )
    result = explainer.compare([["low", "True", "positive", "True"]])
    assert list(result.explanations) == ["causal SHAP", "causal ASV"]
    assert result.pair == ("causal SHAP", "causal ASV")
    assert "causal ASV - causal SHAP" in repr(result)
    np.testing.assert_array_equal(
        result.shap.values, explainer.symmetric()([["low", "True", "positive", "True"]]).values
    )


def test_a_table_with_a_graph_by_every_method():
    """What is fitted is fitted once for each meaning; marginal SHAP of trees goes through their paths."""
    from sklearn.ensemble import RandomForestRegressor

    table = linear_pair()
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(table, table["a"] + 2 * table["b"])
    rows = table.iloc[:3]
    methods = ["SHAP", "marginal SHAP", "causal SHAP", "ASV"]
    result = compare(forest, table, rows, EDGES, methods=methods, values="conditional", seed=0, silent=True)
    assert list(result.explanations) == methods
    marginal = AsymmetricExplainer(forest, table, values="marginal")
    assert marginal.plan(3).backend.name == "paths"
    np.testing.assert_allclose(
        result.explanations["marginal SHAP"].values, marginal.symmetric()(rows).values, rtol=0, atol=1e-12
    )
    # setting b says nothing of a: the causal values of a are larger than when b explains it away
    assert "structural model" in result.backgrounds["causal SHAP"]
    over_rows = compare(forest, table, rows, EDGES, methods=["causal SHAP", "SHAP"], values="marginal", seed=0)
    assert "structural model" in over_rows.backgrounds["causal SHAP"]
    np.testing.assert_array_equal(over_rows.explanations["SHAP"].values, result.explanations["marginal SHAP"].values)
