"""GraphMixture: the weighted mean of its graphs in everything that is linear, and what is not."""

import pickle
from itertools import permutations

import numpy as np
import pytest

from shap_asv.errors import BudgetExceededError
from shap_asv.orders import CausalOrder, lattice
from shap_asv.orders import weights as orders_weights
from shap_asv.orders.sampling import drawing_cost
from shap_asv.orders.uncertain import GraphMixture, PartialGraph
from shap_asv.orders.uncertain.mixture import mixture_of_extensions
from shap_asv.orders.weights import weigh_ideals
from tests.oracles.brute_force import topological_orders
from tests.oracles.random_problems import random_edges


def phi_by_definition(n, weighted_edges, nu):
    """Mean over graphs, then over topological orders, of marginal contributions; ``nu`` maps frozensets to numbers."""
    phi = np.zeros(n)
    total = sum(weight for _, weight in weighted_edges)
    for edges, weight in weighted_edges:
        orders = topological_orders(n, edges)
        for order in orders:
            for k, v in enumerate(order):
                gain = nu[frozenset(order[: k + 1])] - nu[frozenset(order[:k])]
                phi[v] += weight / total / len(orders) * gain
    return phi


def random_graphs(seed, n=5, k=4):
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(k):
        name = rng.permutation(n)
        graphs.append([(int(name[a]), int(name[b])) for a, b in random_edges(rng, n, "dag")])
    return rng, graphs


@pytest.mark.parametrize("seed", range(6))
def test_attributions_are_the_weighted_mean(seed):
    rng, graphs = random_graphs(seed)
    shares = rng.random(len(graphs)) * 10.0 ** rng.integers(-3, 3, len(graphs))
    mixture = GraphMixture([CausalOrder.from_edges(g, features=range(5)) for g in graphs], shares)
    weights = weigh_ideals(mixture)
    values = {frozenset(np.flatnonzero(row).tolist()): rng.normal() for row in weights.coalitions}
    nu = np.array([values[frozenset(np.flatnonzero(row).tolist())] for row in weights.coalitions])
    wanted = phi_by_definition(5, list(zip(graphs, shares, strict=True)), values)
    np.testing.assert_allclose(nu @ weights.matrix, wanted, atol=1e-12, rtol=0)
    assert mixture.count_ideals() == len(weights.coalitions)
    sizes = weights.coalitions.sum(axis=1)
    assert (np.diff(sizes) >= 0).all()
    assert sizes[0] == 0
    assert sizes[-1] == 5


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gathered", [5, 1 << 21])
def test_each_graph_by_itself_over_the_union(seed, gathered, monkeypatch):
    monkeypatch.setattr(orders_weights, "GATHERED", gathered)
    monkeypatch.setattr(lattice, "GATHERED", gathered)
    rng, graphs = random_graphs(seed)
    orders = [CausalOrder.from_edges(g, features=range(5)) for g in graphs]
    coalitions, matrix = orders_weights.weigh_each(orders, 1000)
    values = {frozenset(np.flatnonzero(row).tolist()): rng.normal() for row in coalitions}
    nu = np.array([values[frozenset(np.flatnonzero(row).tolist())] for row in coalitions])
    wanted = [phi_by_definition(5, [(graph, 1.0)], values) for graph in graphs]
    np.testing.assert_allclose((nu @ matrix).reshape(len(graphs), 5), wanted, atol=1e-12, rtol=0)
    with pytest.raises(BudgetExceededError, match="ideals"):
        orders_weights.weigh_each(orders, len(coalitions) - 1)


@pytest.mark.parametrize("weights", [[1e-300, 1.0], [1e300, 1e-5], [1e308, 1e308], [5e-324, 5e-324]])
def test_weights_of_any_magnitude(weights):
    forth, back = (CausalOrder.from_edges([edge], features=["a", "b"]) for edge in (("a", "b"), ("b", "a")))
    mixture = GraphMixture([forth, back], weights)
    exact = [weights[0] / max(weights), weights[1] / max(weights)]
    assert sum(mixture.weights) == pytest.approx(1, abs=1e-15)
    assert mixture.weights[0] / mixture.weights[1] == pytest.approx(exact[0] / exact[1], rel=1e-9)
    matrix = weigh_ideals(mixture).matrix.toarray()
    assert np.isfinite(matrix).all()
    assert matrix.sum(axis=1)[-1] == pytest.approx(1)


def test_equal_graphs_are_merged():
    one = CausalOrder.from_edges([("a", "b"), ("b", "c")], features=["a", "b", "c"])
    same = CausalOrder.from_edges([("a", "b"), ("b", "c"), ("a", "c")], features=["c", "b", "a"])
    other = CausalOrder.from_edges([("a", "b")], features=["b", "c", "a"])
    mixture = GraphMixture([one, same, other], [1, 2, 1])
    assert mixture.n_graphs == 2
    assert mixture.features == ("a", "b", "c")
    assert mixture.weights == (0.75, 0.25)
    assert mixture.edge_certainty == {("a", "b"): 1.0, ("b", "c"): 0.75}
    np.testing.assert_allclose(mixture.precedence, [[0, 1, 0.75], [0, 0, 0.75], [0, 0, 0]])
    assert pickle.loads(pickle.dumps(mixture)) == mixture


@pytest.mark.parametrize("n_groups", [None, 50])
def test_sampled_orders_follow_the_mixture(n_groups):
    graphs = [[(0, 1), (1, 2)], [(2, 1)], [(0, 2), (1, 2)]]
    mixture = GraphMixture([CausalOrder.from_edges(g, features=range(3)) for g in graphs], [3, 2, 1])
    draws = mixture.sample_topological_orders(6000, seed=1, n_groups=n_groups)
    wanted = dict.fromkeys(permutations(range(3)), 0.0)
    for graph, weight in zip(graphs, (3, 2, 1), strict=True):
        orders = topological_orders(3, graph)
        for order in orders:
            wanted[tuple(order)] += weight / 6 / len(orders)
    for order, chance in wanted.items():
        share = (draws == order).all(axis=1).mean()
        assert abs(share - chance) <= 5 * np.sqrt(chance * (1 - chance) / 6000), order
    again = mixture.sample_topological_orders(6000, seed=1, n_groups=n_groups)
    assert (again == draws).all()


def test_graphs_are_spread_evenly_in_groups():
    forth, back = (CausalOrder.from_edges([edge], features=["a", "b"]) for edge in (("a", "b"), ("b", "a")))
    draws = GraphMixture([forth, back], [3, 1]).sample_topological_orders(400, seed=0, n_groups=100)
    assert ((draws[:, 0] == 0).reshape(100, 4).sum(axis=1) == 3).all()
    assert len({tuple(group) for group in (draws[:, 0] == 0).reshape(100, 4)}) == 4  # at any place of the group


def test_limits():
    free = CausalOrder.from_edges([], features=range(10))
    chain = CausalOrder.from_edges([(a, a + 1) for a in range(9)])
    back = CausalOrder.from_edges([(a + 1, a) for a in range(9)], features=range(10))
    for mixture, exact in ((GraphMixture([free, chain]), 1024), (GraphMixture([chain, back]), 20)):
        assert mixture.count_ideals() == exact
        for limit in (exact - 1, 5):
            with pytest.raises(BudgetExceededError, match=f"2 graphs on 10 features have more than {limit:,} ideals"):
                mixture.count_ideals(limit)
            with pytest.raises(BudgetExceededError, match="ideals"):
                weigh_ideals(mixture, limit)
        assert mixture.count_ideals(exact) == exact
        assert len(weigh_ideals(mixture, exact).coalitions) == exact


def test_shapes():
    forest, chain = (
        CausalOrder.from_edges(e, features=["a", "b", "c"]) for e in ([("c", "a")], [("c", "b"), ("b", "a")])
    )
    mixture = GraphMixture([forest, chain], [1, 3])
    assert mixture.edges == (("b", "a"), ("c", "b"), ("c", "a"))
    assert mixture.topological_indices == (2, 1, 0)
    for seed in range(10):
        _, graphs = random_graphs(seed, k=3)
        mixture = GraphMixture([CausalOrder.from_edges(g, features=range(5)) for g in graphs])
        place = {v: k for k, v in enumerate(mixture.topological_indices)}
        assert (mixture.ancestor_matrix == (mixture.precedence > 1 - 1e-9)).all()
        for i, j in np.argwhere(mixture.ancestor_matrix):
            assert place[i] < place[j]
            ideals = weigh_ideals(mixture).coalitions
            assert not (ideals[:, j] & ~ideals[:, i]).any()


def test_the_ideals_of_all_graphs_are_listed_to_draw_from_them():
    crown = [("a", "d"), ("b", "d"), ("b", "e"), ("c", "e"), ("c", "f"), ("a", "f")]
    order, other = CausalOrder.from_edges(crown), CausalOrder.from_edges([*crown, ("a", "e")])
    listed = [drawing_cost(each, 10).operations["ideal listed"] for each in (order, GraphMixture([order, other]))]
    assert order.count_ideals() == listed[0] < listed[1] == order.count_ideals() + other.count_ideals()


def test_files_keep_the_weights_to_the_last_bit():
    """Weights that are scaled to sum to one and then scaled again are not always the same numbers."""
    graphs = [CausalOrder.from_edges([tuple(edge)], features=list("abc")) for edge in ("ab", "bc", "ca", "ba")]
    again = 0
    for seed in range(40):
        mixture = GraphMixture(graphs, np.random.default_rng(seed).uniform(0.1, 3.0, 4).tolist())
        assert pickle.loads(pickle.dumps(mixture)).weights == mixture.weights
        again += GraphMixture(mixture.orders, mixture.weights).weights != mixture.weights
    assert again


def test_a_partly_directed_graph_counts_once_however_many_dags_it_stands_for():
    directed = PartialGraph("abc", directed=[("a", "b"), ("b", "c")])
    mixture = mixture_of_extensions([(PartialGraph("abc", undirected=["ab", "bc"]), 1.0), (directed, 1.0)])
    # a - b - c stands for three DAGs, of which one is the other graph
    assert sorted(mixture.weights) == pytest.approx([1 / 6, 1 / 6, 2 / 3])
