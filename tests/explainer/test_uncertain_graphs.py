"""Graphs that are not certain, through the explainer: means over graphs, and how far they disagree.

The oracle is always the explainer of one plain graph, run once for each DAG; which DAGs a partly directed graph stands
for is found by brute force.
"""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import PDAG

from shap_asv import (
    AsymmetricExplainer,
    CausalOrder,
    GaussianModel,
    GraphMixture,
    PartialGraph,
    Sensitivity,
    StructuralModel,
    errors,
    load_network,
    plots,
    sample_rows,
)
from shap_asv.orders.uncertain import read_causal_graphs
from tests.oracles.partly_directed import consistent_extensions

FEATURES = ["smoke", "lung", "bronc", "xray", "dysp"]
FORTH = [("smoke", "lung"), ("smoke", "bronc"), ("lung", "xray"), ("bronc", "dysp")]
BACK = [("lung", "smoke"), ("bronc", "smoke"), ("lung", "xray"), ("bronc", "dysp")]
CHAIN = [("xray", "lung"), ("lung", "smoke"), ("smoke", "bronc"), ("bronc", "dysp")]


def score(X):
    return 1.0 * (X["xray"] == "yes") + 2.0 * (X["bronc"] == "yes") * (X["dysp"] == "yes") - (X["smoke"] == "no")


@pytest.fixture(scope="module")
def network():
    return load_network("asia")


@pytest.fixture(scope="module")
def X(network):
    return sample_rows(network, 12, seed=3)[FEATURES]


@pytest.fixture(scope="module")
def explain(network, X):
    """The ASV of X under anything that is a causal graph, as an array (rows, features)."""
    known = {}

    def values(edges):
        key = tuple(sorted(edges))
        if key not in known:
            graph = nx.DiGraph(edges)
            graph.add_nodes_from(FEATURES)
            known[key] = AsymmetricExplainer(score, network, graph, feature_names=FEATURES)(X, silent=True).values
        return known[key]

    return values


def over(network, graph, model=score, **options):
    return AsymmetricExplainer(model, network, graph, feature_names=FEATURES, **options)


def dags_of(directed, undirected):
    """Every DAG with this skeleton, these directed edges and no other v-structures, as lists of edges."""
    return [sorted(dag) for dag in consistent_extensions(directed, undirected)]


# --- the mean over graphs -------------------------------------------------------------------------------------------


UNDIRECTED = [("smoke", "lung"), ("smoke", "bronc"), ("lung", "xray")]
DIRECTED = [("bronc", "dysp")]


PARTLY = {
    "pgmpy PDAG": lambda: PDAG(directed_ebunch=DIRECTED, undirected_ebunch=UNDIRECTED),
    "PartialGraph": lambda: PartialGraph(FEATURES, DIRECTED, UNDIRECTED),
    "mixture": lambda: read_causal_graphs(PartialGraph(FEATURES, DIRECTED, UNDIRECTED)),
    "list of one": lambda: [PartialGraph(FEATURES, DIRECTED, UNDIRECTED)],
}


@pytest.mark.parametrize("kind", PARTLY)
def test_undirected_edges_are_the_mean_over_their_dags(network, X, explain, kind):
    dags = dags_of(DIRECTED, UNDIRECTED)
    assert len(dags) > 2
    explainer = over(network, PARTLY[kind]())
    wanted = np.mean([explain(dag) for dag in dags], axis=0)
    np.testing.assert_allclose(explainer(X, silent=True).values, wanted, atol=1e-12, rtol=0)
    plan = explainer.plan(X)
    assert plan.exact
    assert f"mean over {len(dags)} graphs" in str(plan)


def test_mean_over_graphs_is_not_what_they_have_in_common():
    chain = [("a", "b"), ("b", "c")]
    mixture = GraphMixture([CausalOrder.from_edges(e) for e in (chain, [edge[::-1] for edge in chain])])

    def two_of_three(X):
        return 1.0 * (X.sum(axis=1) >= 2)

    def values(order):
        explainer = AsymmetricExplainer(
            two_of_three, np.zeros((1, 3)), order, feature_names=["a", "b", "c"], values="marginal"
        )
        return explainer(np.ones((1, 3)), silent=True).values[0]

    np.testing.assert_allclose(values(mixture), [0, 1, 0], atol=1e-12)
    assert not mixture.ancestor_matrix.any()
    np.testing.assert_allclose(values(CausalOrder.from_edges([], ["a", "b", "c"])), [1 / 3] * 3, atol=1e-12)


def test_positions_of_columns():
    rng = np.random.default_rng(0)
    background, rows = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))

    def model(table):
        return table[:, 0] * table[:, 1] + table[:, 2] ** 2 * table[:, 1]

    def values(graph):
        return AsymmetricExplainer(model, background, graph, values="marginal")(rows, silent=True).values

    forth, back = [(0, 1), (1, 2)], [(2, 1), (1, 0)]
    both = (values(forth), values(back))
    assert np.abs(both[0] - both[1]).max() > 0.01
    np.testing.assert_allclose(values([(forth, 3), (back, 1)]), np.average(both, axis=0, weights=[3, 1]), atol=1e-12)
    partly, middle = PartialGraph(range(3), undirected=[(0, 1), (1, 2)]), values([(1, 0), (1, 2)])
    np.testing.assert_allclose(values(partly), np.mean([*both, middle], axis=0), atol=1e-12)
    explainer = AsymmetricExplainer(model, background, forth, values="marginal")
    np.testing.assert_allclose(explainer.sensitivity(rows, [back, forth], silent=True).values, both[::-1], atol=1e-12)
    around = explainer.sensitivity(rows, silent=True)
    np.testing.assert_allclose(around.reference, both[0], atol=1e-12)
    at = around.labels.index("flip Feature 0 -> Feature 1")
    np.testing.assert_allclose(around.values[at], middle, atol=1e-12)


def test_a_class_too_large_to_list_is_drawn_by_the_seed(network, X):
    names = list(load_network("child").nodes())[:8]
    child = load_network("child")
    rows = sample_rows(child, 3, seed=0)[names]

    def first(table):
        return 1.0 * (table[names[0]] == rows[names[0]].iloc[0])

    clique = PartialGraph(names, undirected=[(a, b) for i, a in enumerate(names) for b in names[:i]])
    with pytest.warns(errors.ApproximationWarning, match="40,320 DAGs"):
        one = AsymmetricExplainer(first, child, clique, feature_names=names, seed=7)
    with pytest.warns(errors.ApproximationWarning, match="uniform draws"):
        other = AsymmetricExplainer(first, child, clique, feature_names=names, seed=7)
    assert one.causal_order == other.causal_order


def test_table_with_an_uncertain_graph_is_fitted_without_a_structure():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)) @ [[1, 0.5], [0, 1]], columns=["a", "b"])
    graph = PartialGraph("ab", undirected=["ab"])
    explainer = AsymmetricExplainer(
        lambda X: np.asarray(X)[:, 1], table, graph, values="conditional", seed=0, silent=True
    )
    assert not isinstance(explainer.masker, StructuralModel)
    assert explainer.causal_order.n_graphs == 2
    assert explainer(table[:2], silent=True).values.shape == (2, 2)


# --- names and weights ----------------------------------------------------------------------------------------------


def test_latent_nodes_of_the_network_are_not_foreign(network, X, explain, recwarn):
    through = [("smoke", "lung"), ("lung", "either"), ("either", "xray"), ("smoke", "bronc"), ("bronc", "dysp")]
    found = over(network, [through, BACK])(X, silent=True).values
    np.testing.assert_allclose(found, (explain(FORTH) + explain(BACK)) / 2, atol=1e-12, rtol=0)
    assert not [w for w in recwarn if issubclass(w.category, errors.CausalGraphWarning)]


# --- sensitivity ----------------------------------------------------------------------------------------------------


def changed(edges):
    """Every acyclic change of one edge: label -> edges, written down once more."""
    found = {}
    for edge in edges:
        rest = [other for other in edges if other != edge]
        found[f"flip {edge[0]} -> {edge[1]}"] = [*rest, edge[::-1]]
        found[f"drop {edge[0]} -> {edge[1]}"] = rest
    for a in FEATURES:
        for b in FEATURES:
            if a != b and (a, b) not in edges and (b, a) not in edges:
                found[f"add {a} -> {b}"] = [*edges, (a, b)]
    return {label: new for label, new in found.items() if nx.is_directed_acyclic_graph(nx.DiGraph(new))}


def test_one_edge_at_a_time(network, X, explain):
    result = over(network, FORTH).sensitivity(X, silent=True)
    assert isinstance(result, Sensitivity)
    wanted = changed(FORTH)
    assert set(result.labels) <= set(wanted)
    for label in set(wanted) - set(result.labels):  # left out because it changes nothing
        np.testing.assert_allclose(explain(wanted[label]), explain(FORTH), atol=1e-12, rtol=0)
    each = np.array([explain(wanted[label]) for label in result.labels])
    np.testing.assert_allclose(result.values, each, atol=1e-12, rtol=0)
    np.testing.assert_allclose(result.reference, explain(FORTH), atol=1e-12, rtol=0)
    np.testing.assert_allclose(result.mean, each.mean(axis=0), atol=1e-12, rtol=0)
    np.testing.assert_allclose(result.low, each.min(axis=0), atol=1e-12, rtol=0)
    np.testing.assert_allclose(result.high, each.max(axis=0), atol=1e-12, rtol=0)
    plots.sensitivity(result, row=0)


def test_too_many_ideals_are_an_error(network, X):
    with pytest.raises(errors.BudgetExceededError, match="more than 12 ideals"):
        over(network, FORTH, ideal_limit=12).sensitivity(X)
    with pytest.raises(errors.CausalGraphError, match="'edge' is not known"):
        over(network, FORTH).sensitivity(X, graphs="edge")


def test_edges_of_the_graph_as_given_not_of_its_reduction(network, X):
    shortcut = [*FORTH, ("smoke", "xray")]
    result = over(network, shortcut).sensitivity(X, silent=True)
    assert "flip lung -> xray" in result.labels
    # smoke -> xray stays when lung -> xray goes, which an order of the features alone would not know
    dropped = over(network, [edge for edge in shortcut if edge != ("lung", "xray")])(X, silent=True).values
    at = result.labels.index("drop lung -> xray")
    np.testing.assert_allclose(result.values[at], dropped, atol=1e-12, rtol=0)


def test_own_graph_of_the_network(network, X):
    result = AsymmetricExplainer(score, network, feature_names=FEATURES).sensitivity(X, silent=True)
    graph = nx.DiGraph(network.edges())
    graph.remove_edge("either", "xray")
    at = result.labels.index("drop either -> xray")  # either is latent
    wanted = over(network, graph)(X, silent=True).values
    np.testing.assert_allclose(result.values[at], wanted, atol=1e-12, rtol=0)


# --- sensitivity where players are groups, and where values are sampled ---------------------------------------------

GROUPS = {"airways": ["lung", "bronc"], "signs": ["xray", "dysp"]}
BETWEEN = [("signs", "airways"), ("smoke", "airways")]


def of_groups(network, graph):
    return over(network, graph, groups=GROUPS)


@pytest.mark.parametrize("graph", [FORTH, BETWEEN, None], ids=["features", "groups", "own, with a latent node"])
def test_one_edge_between_groups_at_a_time(network, X, graph):
    result = of_groups(network, graph).sensitivity(X, silent=True)
    start = {
        "features": {("smoke", "airways"), ("airways", "signs")},
        "groups": set(BETWEEN),
        "own": {("asia", "tub"), ("smoke", "airways"), ("airways", "signs"), ("airways", "either"), ("tub", "either"),
                ("either", "signs")},
    }["own" if graph is None else "features" if graph is FORTH else "groups"]  # fmt: skip
    players, seen = ["smoke", "airways", "signs"], 0
    for a in players:
        for b in players:
            for label, edges in (
                (f"flip {a} -> {b}", start - {(a, b)} | {(b, a)} if (a, b) in start else None),
                (f"drop {a} -> {b}", start - {(a, b)} if (a, b) in start else None),
                (f"add {a} -> {b}", start | {(a, b)} if not start & {(a, b), (b, a)} and a != b else None),
            ):
                if edges is None or not nx.is_directed_acyclic_graph(nx.DiGraph(list(edges))):
                    continue
                changed = nx.DiGraph(list(edges))
                changed.add_nodes_from(players)
                order = CausalOrder.from_graph(changed, features=players)
                wanted = of_groups(network, order)(X, silent=True).values
                if label in result.labels:
                    seen += 1
                    np.testing.assert_allclose(result.values[result.labels.index(label)], wanted, rtol=0, atol=1e-12)
                else:  # it changes nothing
                    np.testing.assert_allclose(wanted, result.reference, rtol=0, atol=1e-12)
    assert seen >= 2
    assert seen == sum("either" not in label and "tub" not in label for label in result.labels)
    plots.sensitivity(result, row=0)


def test_a_hidden_node_between_members_of_a_group(network, X):
    """lung -> hidden -> bronc would be a cycle of groups; the order of the groups has it no more."""
    edges = [("smoke", "lung"), ("lung", "hidden"), ("hidden", "bronc"), ("bronc", "xray"), ("bronc", "dysp")]
    with pytest.warns(errors.CausalGraphWarning, match="hidden"):
        explainer = of_groups(network, edges)
    assert {"flip smoke -> airways", "drop smoke -> airways"} <= set(explainer.sensitivity(X, silent=True).labels)


def test_sampled_values_agree_with_separate_runs():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3)), columns=list("abc"))
    background = GaussianModel.fit(table)

    def model(X):
        return X["a"] * X["b"] + np.abs(X["c"])

    def explainer(graph):
        return AsymmetricExplainer(model, background, graph, seed=4, n_draws=256)

    graphs = [[("a", "b"), ("b", "c")], [("c", "b"), ("b", "a")]]
    found = explainer(graphs[0]).sensitivity(table[:6], graphs, silent=True)
    each = [explainer(graph)(table[:6], error_bounds=True, silent=True) for graph in graphs]
    errors = np.hypot(found.error_std, [one.error_std for one in each])
    assert (np.abs(found.values - [one.values for one in each]) <= 5 * errors + 1e-12).all()
    # a after b and c is M(x) - nu(b, c), which varies far less than nu(a) - nu()
    assert 0 < found.error_std[1][:, 0].mean() < found.error_std[0][:, 0].mean() / 2
    frame = found.to_frame(row=2)
    np.testing.assert_allclose(frame["error"], found.error_std[:, 2].max(axis=0))
    assert "error" in repr(found)
    axes = plots.sensitivity(found, row=2, show=False)
    (line,) = [artist for artist in axes.collections if artist.get_gid() == "error"]
    lengths = {tuple(segment[:, 0].round(9)) for segment in line.get_segments()}
    wanted = zip(frame["lowest"] - frame["error"], frame["highest"] + frame["error"], strict=True)
    assert lengths == {(round(a, 9), round(b, 9)) for a, b in wanted}
