"""Sensitivity to the graph where players are groups, and where values are sampled; by one explainer for each graph."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel, errors, load_network, plots, sample_rows

FEATURES = ["smoke", "lung", "bronc", "xray", "dysp"]
GROUPS = {"airways": ["lung", "bronc"], "signs": ["xray", "dysp"]}
FORTH = [("smoke", "lung"), ("smoke", "bronc"), ("lung", "xray"), ("bronc", "dysp")]
BACK = [("lung", "smoke"), ("bronc", "smoke"), ("smoke", "dysp"), ("smoke", "xray")]
BETWEEN = [("signs", "airways"), ("smoke", "airways")]


def score(X):
    return 1.0 * (X["xray"] == "yes") + 2.0 * (X["bronc"] == "yes") * (X["dysp"] == "yes") - (X["smoke"] == "no")


@pytest.fixture(scope="module")
def network():
    return load_network("asia")


@pytest.fixture(scope="module")
def X(network):
    return sample_rows(network, 12, seed=3)[FEATURES]


def over(network, graph, **options):
    return AsymmetricExplainer(score, network, graph, feature_names=FEATURES, groups=GROUPS, **options)


@pytest.mark.parametrize("meaning", ["conditional", "causal"])
def test_graphs_between_features_and_between_groups(network, X, meaning):
    graphs = [FORTH, BACK]
    explainer = over(network, FORTH, values=meaning)
    result = explainer.sensitivity(X, graphs, silent=True)
    assert result.feature_names == ("smoke", "airways", "signs")
    each = [over(network, graph, values=meaning)(X, silent=True).values for graph in graphs]
    np.testing.assert_allclose(result.values, each, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.reference, each[0], rtol=0, atol=1e-12)
    between = explainer.sensitivity(X, [BETWEEN], silent=True)
    wanted = over(network, BETWEEN, values=meaning)(X, silent=True).values
    np.testing.assert_allclose(between.values[0], wanted, rtol=0, atol=1e-12)
    assert np.abs(between.values[0] - each[0]).max() > 1e-3
    assert result.error_std is None
    assert "2 graphs, each by itself" in str(explainer.plan(X, graphs=graphs))


@pytest.mark.parametrize("graph", [FORTH, BETWEEN, None], ids=["features", "groups", "own, with a latent node"])
def test_one_edge_between_groups_at_a_time(network, X, graph):
    result = over(network, graph).sensitivity(X, silent=True)
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
                wanted = over(network, order)(X, silent=True).values
                if label in result.labels:
                    seen += 1
                    np.testing.assert_allclose(result.values[result.labels.index(label)], wanted, rtol=0, atol=1e-12)
                else:  # it changes nothing
                    np.testing.assert_allclose(wanted, result.reference, rtol=0, atol=1e-12)
    assert seen >= 2
    assert seen == sum("either" not in label and "tub" not in label for label in result.labels)
    plots.sensitivity(result, row=0)


def test_trees_with_groups_under_several_graphs(network):
    rows = sample_rows(network, 150, seed=0)[FEATURES]
    codes = rows.apply(lambda column: (column == "yes").astype(float))
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(codes, codes["dysp"] - codes["xray"])
    options = {"encoder": {name: {"yes": 1.0, "no": 0.0} for name in FEATURES}, "groups": GROUPS}
    explainer = AsymmetricExplainer(model, network, FORTH, **options)
    back = AsymmetricExplainer(model, network, BACK, **options)(rows[:5], silent=True).values
    empty = nx.DiGraph()
    empty.add_nodes_from(FEATURES)
    found = explainer.sensitivity(rows[:5], [BACK, empty], silent=True)
    np.testing.assert_allclose(found.values[0], back, rtol=0, atol=1e-12)
    shapley = explainer.symmetric()(rows[:5], silent=True).values
    np.testing.assert_allclose(found.values[1], shapley, rtol=0, atol=1e-12)


def test_a_hidden_node_between_members_of_a_group(network, X):
    """lung -> hidden -> bronc would be a cycle of groups; the order of the groups has it no more."""
    edges = [("smoke", "lung"), ("lung", "hidden"), ("hidden", "bronc"), ("bronc", "xray"), ("bronc", "dysp")]
    with pytest.warns(errors.CausalGraphWarning, match="hidden"):
        explainer = over(network, edges)
    assert {"flip smoke -> airways", "drop smoke -> airways"} <= set(explainer.sensitivity(X, silent=True).labels)


def test_standard_errors_of_sampled_values_are_those_of_separate_runs():
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
    np.testing.assert_allclose(found.values, [one.values for one in each], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.error_std, [one.error_std for one in each], rtol=1e-9, atol=1e-12)
    assert (found.error_std > 0).any()
    frame = found.to_frame(row=2)
    np.testing.assert_allclose(frame["error"], found.error_std[:, 2].max(axis=0))
    assert "error" in repr(found)
    axes = plots.sensitivity(found, row=2, show=False)
    (line,) = [artist for artist in axes.collections if artist.get_gid() == "error"]
    lengths = {tuple(segment[:, 0].round(9)) for segment in line.get_segments()}
    wanted = zip(frame["lowest"] - frame["error"], frame["highest"] + frame["error"], strict=True)
    assert lengths == {(round(a, 9), round(b, 9)) for a, b in wanted}
