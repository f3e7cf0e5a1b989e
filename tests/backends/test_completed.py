"""Coalitions that lack causes of their members, against the definition and against a readable twin."""

import itertools

import networkx as nx
import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, CausalOrder, GraphMixture, errors, load_network
from shap_asv.backends.ancestral import closures, completed, completed_backend, completed_values
from shap_asv.backends.ancestral.completed import complete, family_masks
from tests.explainer.test_exact import make_model, oracle, predict_codes
from tests.problems import make_problem


def random_order(rng, n, share=0.5):
    rank = rng.permutation(n)
    return [(a, b) for a in range(n) for b in range(n) if rank[a] < rank[b] and rng.random() < share]


def over(problem, model, encoder, graph, **options):
    return AsymmetricExplainer(
        model, problem.network(), graph, feature_names=problem.features, encoder=encoder, **options
    )


def named(problem, edges):
    return CausalOrder.from_edges([(problem.features[a], problem.features[b]) for a, b in edges], problem.features)


@pytest.mark.parametrize("kind", ["forest", "boosted", "linear"])
@pytest.mark.parametrize("latent", [0, 1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_orders_that_contradict_the_network(kind, latent, seed):
    rng = np.random.default_rng(100 * seed + latent)
    problem = make_problem(seed, n=5 + latent, latent=latent, zeros=0.1)
    edges = random_order(rng, 5)
    model, encoder = make_model(kind, problem, rng)
    explainer = over(problem, model, encoder, named(problem, edges), algorithm="ideals x closures")
    rows = problem.rows(rng, 4)
    found = explainer(problem.labels(rows), silent=True)
    expected = oracle(problem, predict_codes(explainer), rows, edges)
    np.testing.assert_allclose(found.values.reshape(expected.shape), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        found.base_values.reshape(4, -1) + found.values.reshape(expected.shape).sum(axis=1),
        predict_codes(explainer)(rows),
        atol=1e-9,
    )


@pytest.mark.parametrize("seed", range(4))
def test_mixtures(seed):
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=6, latent=1)
    model, encoder = make_model("forest", problem, rng)
    graphs = [random_order(rng, 5, 0.4) for _ in range(4)]
    weights = rng.uniform(0.2, 1, size=4)
    mixture = GraphMixture([named(problem, edges) for edges in graphs], weights)
    rows = problem.rows(rng, 4)
    explainer = over(problem, model, encoder, mixture, algorithm="ideals x closures")
    found = explainer(problem.labels(rows), silent=True).values
    each = [oracle(problem, predict_codes(explainer), rows, edges) for edges in graphs]
    np.testing.assert_allclose(found, np.average(each, axis=0, weights=weights), rtol=0, atol=1e-9)


def test_sampled_orders_have_the_values_of_other_backends():
    rng = np.random.default_rng(5)
    problem = make_problem(5, n=6)
    model, encoder = make_model("forest", problem, rng)
    labels = problem.labels(problem.rows(rng, 4))
    order = named(problem, random_order(rng, 6, 0.3))
    found = [
        over(problem, model, encoder, order, algorithm=name, seed=1, n_orders=300)(labels, silent=True)
        for name in ("orders x closures", "orders x trees")
    ]
    np.testing.assert_allclose(found[0].values, found[1].values, atol=1e-12, rtol=0)
    np.testing.assert_allclose(found[0].error_std, found[1].error_std, atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", ["forest", "linear"])
def test_a_row_has_the_same_bits_whatever_rows_come_with_it(kind):
    """Rows are passed 64 at a time: the last word is a part, whole, or not there."""
    rng = np.random.default_rng(8)
    problem = make_problem(8, n=7, latent=1, zeros=0.1)
    model, encoder = make_model(kind, problem, rng)
    explainer = over(problem, model, encoder, named(problem, random_order(rng, 6, 0.3)), algorithm="ideals x closures")
    rows = problem.rows(rng, 131)
    explainer(problem.labels(rows), silent=True)
    attributor = explainer._known_execution()._ready[1]
    assert attributor.rowwise
    whole = attributor.attribute(rows).phi
    for cut in (1, 63, 64, 65, 128):
        parts = [attributor.attribute(rows[:cut]).phi, attributor.attribute(rows[cut:]).phi]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize(
    ("where", "name", "limit"),
    [
        (closures, "ENTRY_LIMIT", 4),
        (completed_backend, "STATE_LIMIT", 2),
        (completed_backend, "NU_LIMIT", 1),
        (completed_values, "_TABLES_AT_ONCE", 1),
        (completed, "FEW_TERMS", 0),
        (completed_values, "_FIRST_PIECE", 1),
    ],
)
def test_limits_do_not_show_in_the_numbers(monkeypatch, where, name, limit):
    rng = np.random.default_rng(3)
    problem = make_problem(3, n=7, latent=1)
    model, encoder = make_model("forest", problem, rng)
    labels = problem.labels(problem.rows(rng, 5))
    order = named(problem, random_order(rng, 6, 0.3))

    def values():
        explanation = over(problem, model, encoder, order, algorithm="ideals x closures")(labels, silent=True)
        return explanation.values, explanation.base_values

    whole = values()
    monkeypatch.setattr(where, name, limit)
    for found, expected in zip(values(), whole, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


def test_impossible_rows_raise_or_are_relaxed():
    """x1 copies x0; a row in which they differ has probability 0."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from sklearn.tree import DecisionTreeRegressor

    network = DiscreteBayesianNetwork([("x0", "x1"), ("x1", "x2")])
    network.add_cpds(
        TabularCPD("x0", 2, [[0.4], [0.6]]),
        TabularCPD("x1", 2, [[1, 0], [0, 1]], ["x0"], [2]),
        TabularCPD("x2", 2, [[0.3, 0.8], [0.7, 0.2]], ["x1"], [2]),
    )
    grid = np.array(list(itertools.product(range(2), repeat=3)))
    tree = DecisionTreeRegressor(random_state=0).fit(grid, np.arange(8.0) ** 1.5)
    rows = np.array([[0, 0, 1], [0, 1, 1]])
    options = {"feature_names": ["x0", "x1", "x2"]}
    graph = [("x2", "x1"), ("x1", "x0")]
    with pytest.raises(errors.ImpossibleEvidenceError, match="x0"):
        AsymmetricExplainer(tree, network, graph, algorithm="ideals x closures", **options)(rows, silent=True)
    found = [
        AsymmetricExplainer(tree, network, graph, algorithm=name, impossible="relax", **options)(rows, silent=True)
        for name in ("ideals x closures", "ideals x trees")
    ]
    np.testing.assert_allclose(found[0].values, found[1].values, atol=1e-12, rtol=0)


def test_large_networks_are_refused_in_words():
    network = load_network("alarm")
    assert len(network.nodes()) < completed.LARGEST_NETWORK
    problem = make_problem(0, n=63, max_states=2)
    order = CausalOrder.from_edges(itertools.pairwise(problem.features), problem.features)

    from sklearn.linear_model import LinearRegression

    codes = problem.rows(np.random.default_rng(0), 80)
    model = LinearRegression().fit(codes, codes.sum(axis=1))
    encoder = {name: {f"s{i}": i for i in range(card)} for name, card in zip(
        problem.features, problem.feature_cards, strict=True
    )}  # fmt: skip
    explainer = over(problem, model, encoder, order)
    named_rows = {candidate.name: candidate for candidate in explainer.plan(3).candidates}
    assert "63 nodes" in named_rows["ideals x closures"].obstacle


# --- what is missing ------------------------------------------------------------------------------------------------


def groups_by_definition(parents, held):
    """The closure of a set, its missing nodes in connected groups, and what each depends on. Nothing of ours."""
    graph = nx.DiGraph([(p, v) for v, above in enumerate(parents) for p in above])
    graph.add_nodes_from(range(len(parents)))
    closed = set(held) | {u for v in held for u in nx.ancestors(graph, v)}
    missing = closed - set(held)
    families = [{v, *parents[v]} for v in closed]
    linked = nx.Graph()
    linked.add_nodes_from(missing)
    for family in families:
        linked.add_edges_from(itertools.combinations(family & missing, 2))
    found = set()
    for group in nx.connected_components(linked):
        around = set().union(*(family for family in families if family & group))
        found.add((frozenset(group), frozenset(around - group)))
    return closed, found


@pytest.mark.parametrize("seed", range(6))
def test_groups_of_missing_causes(seed):
    problem = make_problem(seed, n=7)
    network = problem.network()
    coalitions = np.array(list(itertools.product((False, True), repeat=7)))
    nodes = np.array(problem.feature_nodes)
    made = complete(network, nodes, coalitions)

    def members(mask):
        return frozenset(v for v in range(7) if int(mask) >> v & 1)

    for s, coalition in enumerate(coalitions):
        closed, groups = groups_by_definition(network.parents, nodes[coalition].tolist())
        assert members(made.closed[s]) == closed
        own = made.groups[made.starts[s] : made.starts[s + 1]]
        assert {(members(made.missing[g]), members(made.seen[g])) for g in own} == groups
    assert [members(mask) for mask in family_masks(network)] == [
        frozenset((v, *above)) for v, above in enumerate(network.parents)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_coalitions_that_look_the_same_from_inside_are_one_class(seed):
    from shap_asv.backends.ancestral.completion_kernel import classify

    problem = make_problem(seed, n=7)
    coalitions = np.array(list(itertools.product((False, True), repeat=7)))
    made = complete(problem.network(), np.array(problem.feature_nodes), coalitions)
    some = np.random.default_rng(seed).permutation(len(coalitions))
    for inside in (0b1, 0b1010010, 0b1111111):
        looks = []
        for s in some:
            own = [g for g in made.groups[made.starts[s] : made.starts[s + 1]] if made.missing[g] & inside]
            missing, seen = (np.bitwise_or.reduce(masks[own], initial=0) for masks in (made.missing, made.seen))
            looks.append((int(made.held[s] & inside), int(missing), int(seen)))
        classes, chosen, keys = classify(made, some, inside)
        assert [tuple(keys[c]) for c in classes] == looks
        assert [looks[i] for i in chosen] == list(map(tuple, keys.tolist()))
        assert len(keys) == len(set(looks))
