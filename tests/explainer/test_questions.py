"""A question is asked of *this* explainer: its values, link, groups, outputs, order, levels and background."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shap_asv import (
    AsymmetricExplainer,
    CausalOrder,
    GaussianModel,
    GraphMixture,
    PartialGraph,
    StructuralModel,
    compare,
    load_network,
)
from shap_asv.errors import CausalGraphError, MethodNotApplicableError
from tests.reliability.kinds import questions as matrix

CONFOUNDED = CausalOrder.from_levels([["a", "b"], ["c"]], confounded=[0])


def correlated(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = 0.9 * a + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": a + b + 0.3 * rng.normal(size=n)})


def total(X):
    return np.asarray(X["b"], dtype=float) + 2.0 * np.asarray(X["c"], dtype=float)


# --- bootstrap ------------------------------------------------------------------------------------------------------


def test_replicas_of_causal_values_are_causal():
    """Setting a tells nothing of b, which shares a hidden cause with it; knowing a does."""
    table, X = correlated(), pd.DataFrame({"a": [1.5], "b": [0.5], "c": [1.0]})
    explainer = AsymmetricExplainer(total, table, CONFOUNDED, values="causal", seed=0, n_draws=200, silent=True)
    result = explainer.bootstrap(X, n=6, silent=True)
    away = result.replicas.mean(axis=0) - result.explanation.values
    assert (np.abs(away) <= 4 * result.standard_error / np.sqrt(6) + 4 * result.monte_carlo_error).all()
    conditional = AsymmetricExplainer(total, table, CONFOUNDED, values="conditional", seed=0, n_draws=200, silent=True)
    apart = np.abs(conditional(X, silent=True).values - result.explanation.values)
    assert apart.max() > 5 * result.standard_error.max()


@pytest.mark.parametrize("choose", [False, True])
def test_replicas_keep_the_graph_of_a_background_that_was_given(choose):
    table, X = correlated(), pd.DataFrame({"a": [1.5], "b": [0.5], "c": [1.0]})
    ready = StructuralModel.fit(table, [("a", "b"), ("a", "c"), ("b", "c")], "linear", seed=0, silent=True)
    explainer = AsymmetricExplainer(total, ready, seed=0, silent=True)
    result = explainer.bootstrap(X, n=4, data=table, choose=choose, silent=True)
    np.testing.assert_allclose(result.replicas.mean(axis=0), result.explanation.values, atol=0.5)


def test_a_background_that_no_table_makes_again_is_not_resampled():
    names = ["Smoker", "Cancer", "Xray"]
    explainer = AsymmetricExplainer(
        lambda X: 1.0 * (X["Xray"] == "positive"), load_network("cancer"), feature_names=names
    )
    rows = pd.DataFrame([["True", "True", "positive"]] * 40, columns=names)
    with pytest.raises(MethodNotApplicableError, match="fits to a table"):
        explainer.bootstrap(rows[:1], n=2, data=rows)


def test_background_rows_are_resampled_too():
    table = correlated(40)
    explainer = AsymmetricExplainer(total, table, values="marginal", seed=0)
    result = explainer.bootstrap(table[:2], n=30, silent=True)
    # marginal values of a sum: the weight times the distance from the mean of the column
    expected = np.array([0.0, 1.0, 2.0]) * table.std(ddof=1).to_numpy() / np.sqrt(40)
    np.testing.assert_allclose(result.standard_error[0], expected, rtol=0.5)


# --- sensitivity ----------------------------------------------------------------------------------------------------


PAIR = GaussianModel([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], ["a", "b"])


def levels(*names, **more):
    return CausalOrder.from_levels([[name] for name in names], **more)


def test_levels_of_another_graph_say_what_do_does():
    def explain(order):
        return AsymmetricExplainer(linear, PAIR, order, values="causal")

    X = pd.DataFrame({"a": [1.0], "b": [1.0]})
    linear = LinearRegression().fit(X.assign(b=2.0), [0.0])
    linear.coef_, linear.intercept_ = np.array([0.0, 1.0]), 0.0
    explainer = explain(levels("a", "b"))
    back = levels("b", "a")
    result = explainer.sensitivity(X, [levels("a", "b"), back], silent=True)
    each = [explain(order)(X, silent=True).values for order in (levels("a", "b"), back)]
    np.testing.assert_allclose(result.values, each, rtol=0, atol=1e-9)
    assert np.abs(each[0] - each[1]).max() > 0.5
    with pytest.raises(CausalGraphError, match="levels"):
        explainer.sensitivity(X)
    with pytest.raises(MethodNotApplicableError, match="graph 0 cannot be explained"):
        explainer.sensitivity(X, [[("b", "a")]])


def test_a_table_with_another_dag_is_fitted_along_it():
    table = correlated(200)[["a", "b"]]
    X = pd.DataFrame({"a": [1.5], "b": [0.0]})

    def model(X):
        return 2.0 * np.asarray(X["b"], dtype=float)

    def explain(graph):
        told = {"values": "causal", "seed": 0, "n_draws": 64, "silent": True}
        return AsymmetricExplainer(model, table, nx.DiGraph(graph), **told)

    result = explain([("a", "b")]).sensitivity(X, silent=True)
    assert list(result.labels) == ["flip a -> b", "drop a -> b"]
    flipped = explain([("b", "a")])(X, silent=True)
    np.testing.assert_array_equal(result.values[0], flipped.values)
    assert np.abs(result.values[0] - result.reference).max() > 1
    assert "says what do() does" in repr(result)


def test_an_edge_that_leaves_the_order_changes_what_do_does():
    table = correlated(150)
    told = {"values": "causal", "seed": 0, "n_draws": 64, "silent": True}
    chain = [("a", "b"), ("b", "c"), ("a", "c")]
    result = AsymmetricExplainer(total, table, chain, **told).sensitivity(table[:1], silent=True)
    at = list(result.labels).index("drop a -> c")
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    np.testing.assert_array_equal(
        result.values[at], AsymmetricExplainer(total, table, graph, **told)(table[:1], silent=True).values
    )


def test_graphs_keep_the_numbers_that_they_were_handed_over_with():
    X = np.array([[1.0, 1.0]])
    explainer = AsymmetricExplainer(lambda X: X["a"] * X["b"], PAIR, [("a", "b")], seed=0)
    forth, back, none = [("a", "b")], [("b", "a")], nx.Graph([]).to_directed()
    none.add_nodes_from("ab")
    result = explainer.sensitivity(X, [forth, forth, (back), none], silent=True)
    assert result.labels == ("graph 0", "graph 1", "graph 2", "graph 3")
    np.testing.assert_array_equal(result.values[0], result.values[1])
    assert np.abs(result.values[2] - result.values[1]).max() > 0
    assert "graph 1 puts the features into the same order as graph 0" in repr(result)
    weighted = explainer.sensitivity(X, [(forth, 1), (forth, 2), (back, 1)], silent=True)
    np.testing.assert_allclose(weighted.weights, [0.25, 0.5, 0.25])


def test_the_graphs_of_a_partly_directed_one_are_told_apart():
    explainer = AsymmetricExplainer(lambda X: X["a"] * X["b"], PAIR, [("a", "b")], seed=0)
    result = explainer.sensitivity(
        np.array([[1.0, 1.0]]), [[("a", "b")], PartialGraph("ab", undirected=["ab"])], silent=True
    )
    assert result.labels == ("graph 0", "graph 1, DAG 0", "graph 1, DAG 1")
    np.testing.assert_allclose(result.weights, [0.5, 0.25, 0.25])


def test_graphs_that_ask_for_other_coalitions_get_a_background_that_can():
    """All graphs, the given one among them, over one background that is fitted once to the same table."""
    table = correlated(200)
    told = {"seed": 0, "silent": True, "n_draws": 128, "values": "conditional"}
    explainer = AsymmetricExplainer(total, table, [("a", "b"), ("a", "c"), ("b", "c")], **told)
    same = explainer.sensitivity(table[:2], [[("a", "b"), ("b", "c")]], silent=True)
    np.testing.assert_array_equal(same.values[0], same.reference)
    assert same.notes == ()
    result = explainer.sensitivity(table[:2], [[("c", "b"), ("b", "a")], [("a", "b"), ("b", "c")]], silent=True)
    assert "fitted to the same table: graph 0 cannot be explained otherwise" in repr(result)
    np.testing.assert_allclose(result.values[1], result.reference, rtol=0, atol=1e-12)
    # by hand: c alone tells b
    rows = table.to_numpy() - table.mean().to_numpy()
    b_of_c = rows[:, 2] @ rows[:, 1] / (rows[:, 2] @ rows[:, 2])
    np.testing.assert_allclose(result.values[0][:, 2], (b_of_c + 2.0) * rows[:2, 2], atol=0.5)


def test_trees_alone_under_other_graphs():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 3))
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(rows, rows[:, 0] * rows[:, 1] + rows[:, 2])
    graphs = [[(2, 1), (1, 0)], [(0, 1), (1, 2)]]
    counts = {"feature_perturbation": "tree_path_dependent"}
    result = AsymmetricExplainer(model, causal_graph=graphs[1], **counts).sensitivity(rows[:4], graphs, silent=True)
    each = [AsymmetricExplainer(model, causal_graph=graph, **counts)(rows[:4], silent=True).values for graph in graphs]
    np.testing.assert_allclose(result.values, each, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.reference, each[1], rtol=0, atol=1e-12)
    around = AsymmetricExplainer(model, causal_graph=graphs[1], **counts).sensitivity(rows[:4], silent=True)
    assert "flip Feature 0 -> Feature 1" in around.labels


# --- importance -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [[0, 1], [False, True], [0.0, 1.0], ["no", "yes"], [1, 2, 3]])
def test_classes_are_compared_by_value(classes):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    place = (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 1) * (len(classes) == 3)
    y = np.array(classes)[place]
    model = LogisticRegression().fit(rows, y)
    explainer = AsymmetricExplainer(model.predict_proba, rows, output_names=[str(c) for c in model.classes_])
    other = AsymmetricExplainer(model, rows)
    wanted = other.importance(rows, y, silent=True).values
    ways = [y.tolist(), pd.Series(y), y.astype(object)]
    if set(classes) <= {0, 1}:
        ways += [y.astype(bool), y.astype(float), y.astype(int)]
    elif not isinstance(classes[0], str):
        ways += [y.astype(float)]
    for way in ways:
        for each in (explainer, other):
            np.testing.assert_allclose(each.importance(rows, way, silent=True).values, wanted, rtol=0, atol=1e-12)
    with pytest.raises(Exception, match="not a class of the model"):
        other.importance(rows, np.full(60, 7), silent=True)


@pytest.mark.parametrize("ask", ["effects", "sensitivity", "importance"])
def test_a_loss_of_targets_is_refused_where_there_are_no_targets(ask):
    """They answered for what the loss is made of, in silence."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    y = rows["a"] + rows["b"] > 0
    model = LogisticRegression().fit(rows, y)
    explainer = AsymmetricExplainer(
        model, GaussianModel.fit(rows), levels("a", "b"), values="causal", model_output="log_loss", seed=0, n_draws=16
    )
    with pytest.raises(MethodNotApplicableError, match="loss of the target"):
        getattr(explainer, ask)(rows[:2], *([y[:2]] if ask == "importance" else []))
    assert compare(model, rows, rows[:2], y=y[:2], model_output="log_loss").asv.values.shape == (2, 2)


# --- the rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["ideals x closures", "ideals x terms", "ideals x trees"])
def test_main_effects_of_causal_values_by_a_named_backend(algorithm):
    network, names = load_network("cancer"), ["Pollution", "Smoker", "Cancer", "Xray"]
    rows = pd.DataFrame([["low", "True", "True", "positive"], ["high", "False", "False", "negative"]], columns=names)
    codes = {name: {value: float(k) for k, value in enumerate(sorted(set(rows[name])))} for name in names}
    train = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (60, 4)), columns=names).astype(float)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(train, train["Xray"] * train["Cancer"])

    def explain(**more):
        return AsymmetricExplainer(model, network, feature_names=names, values="causal", encoder=codes, **more)

    found = explain(algorithm=algorithm)(rows, main_effects=True, silent=True)
    wanted = explain()(rows, main_effects=True, silent=True)
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.main_effects, wanted.main_effects, rtol=0, atol=1e-9)


def test_symmetric_values_that_cannot_be_have_one_reason():
    table = correlated(200)
    model = StructuralModel.fit(table, [("a", "b"), ("a", "c"), ("b", "c")], "linear", seed=0, silent=True)
    explainer = AsymmetricExplainer(total, model, feature_names=list("abc"), seed=0)
    with pytest.raises(MethodNotApplicableError, match="compare") as found:
        explainer.symmetric()
    assert "\n" not in str(found.value)
    assert "'a' does not precede" in str(found.value)


def test_levels_in_a_list():
    """A list of one graph is that graph; several that say the same of do() are their mean, others are refused."""
    table, X = correlated(), pd.DataFrame({"a": [1.0], "b": [1.0], "c": [0.5]})
    background, model = GaussianModel.fit(table), LinearRegression().fit(table, total(table))

    def explain(graph):
        return AsymmetricExplainer(model, background, graph, values="causal")

    wanted = explain(CONFOUNDED)(X, silent=True).values
    for graph in ([CONFOUNDED], [(CONFOUNDED, 2)], [CONFOUNDED, CONFOUNDED], GraphMixture([CONFOUNDED])):
        np.testing.assert_allclose(explain(graph)(X, silent=True).values, wanted, rtol=0, atol=1e-12)
    one, other = (explain(graph).symmetric()(X, silent=True).values for graph in ([CONFOUNDED], CONFOUNDED))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    plain = CausalOrder.from_levels([["a", "b"], ["c"]])
    for several in ([CONFOUNDED, plain], GraphMixture([CONFOUNDED, plain])):
        with pytest.raises(CausalGraphError, match="not the same"):
            explain(several)


# --- the matrix of all questions ------------------------------------------------------------------------------------


def test_every_question_has_a_definition():
    """A method that is new on the explainer is a question until it is said what it answers."""
    assert set(matrix.CHOICES["ask"]) == set(matrix.QUESTIONS)


def test_the_matrix_tells_meanings_and_orders_apart():
    words = {"seed": 0, "background": "discrete network", "groups": False, "link": None}
    words |= {"ask": "__call__", "values": "causal"}
    cell = matrix.Cell(SimpleNamespace(**words, order="two graphs"))
    explainer = cell.explainer()
    found = explainer(cell.table, silent=True)
    game, orders = cell.game(explainer), cell.orders(explainer)
    cell.agree(found.values, game, orders, found.error_std)
    for other in ((cell.game(explainer, "conditional"), orders), (game, cell.every_order())):
        with pytest.raises(AssertionError, match="off by"):
            cell.agree(found.values, *other, found.error_std)


def test_cells_are_answered():
    """Refusals have their reasons, and are not the rule where there is a definition."""
    words = {"seed": 0, "groups": False, "link": None, "values": "conditional", "order": "own", "ask": "__call__"}
    answers = {name: matrix.outcome(SimpleNamespace(**words, background=name)) for name in matrix.BY_NAME}
    assert [name for name, answer in answers.items() if answer != "holds"] == ["no background"]
