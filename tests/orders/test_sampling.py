"""Every sampler draws uniformly: chi-square tests against all topological orders, seeded.

A test fails by chance with probability below FALSE_ALARM if the draws are uniform; since the seeds are fixed, it either
always does or never. `test_random_kahn_would_be_caught` shows that the same test sees the usual wrong sampler.
"""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from benchmarks.graphs import balanced_binary_tree, network_graph, pruned_child
from shap_asv.errors import (
    ArgumentError,
    BudgetExceededError,
    MethodNotApplicableError,
    ShapAsvError,
    UnknownMethodError,
)
from shap_asv.orders import CausalOrder
from shap_asv.orders.sampling import METHODS, Options, parts_with_methods
from tests.oracles.brute_force import topological_orders

FALSE_ALARM = 1e-4
N_DRAWS = 12_000

# edges on 0 .. n-1; numbers are not along the edges everywhere, so that an index is not mistaken for a position
GRAPHS = {
    "a -> b, c": ([(0, 1)], 3),  # where random Kahn fails most plainly
    "tree": ([(0, 1), (0, 2), (2, 3), (2, 4)], 5),
    "forest": ([(3, 1), (3, 2), (0, 4)], 5),
    "star": ([(4, 0), (4, 1), (4, 2), (4, 3)], 5),
    "no edges": ([], 4),
    "chain": ([(2, 0), (0, 1)], 3),
    "one feature": ([], 1),
    "in-tree": ([(0, 2), (1, 2), (2, 4), (3, 4)], 5),
    "zigzag": ([(0, 1), (2, 1), (2, 3), (4, 3), (4, 5)], 6),
    "polytree": ([(5, 0), (1, 0), (0, 2), (0, 3), (4, 3)], 6),
    "two polytrees": ([(0, 1), (2, 1), (5, 4), (5, 3), (6, 3)], 7),
    "diamond": ([(0, 1), (0, 2), (1, 3), (2, 3)], 5),
    "crown": ([(0, 3), (0, 4), (1, 4), (1, 5), (2, 5), (2, 3)], 6),
    "bent diamond": ([(4, 1), (4, 2), (1, 3), (2, 3), (2, 0)], 6),
    "levels": ([(a, b) for a in (0, 1, 2) for b in (3, 4)], 5),
}


def order_of(name):
    edges, n = GRAPHS[name]
    return CausalOrder.from_edges(edges, features=range(n))


def p_value(name, draws):
    """Chi-square test that ``draws`` are uniform on the topological orders of a graph, and nothing else."""
    expected = topological_orders(GRAPHS[name][1], GRAPHS[name][0])
    met = Counter(map(tuple, draws.tolist()))
    assert met.keys() <= set(expected)
    if len(expected) == 1:
        return 1.0
    return stats.chisquare([met[order] for order in expected]).pvalue


def applicable():
    for name in GRAPHS:
        for method in METHODS.values():
            if method.refusal(order_of(name), Options(1000)) is None:
                yield name, method.name


def methods_used(order, limit=1_000_000):
    """What "auto" takes for the parts of an order, cheapest first."""
    used = {method.name for _, method in parts_with_methods(order, "auto", Options(limit))}
    return tuple(name for name in METHODS if name in used)


@pytest.mark.parametrize(("name", "method"), [*((name, "auto") for name in GRAPHS), *applicable()])
def test_draws_are_uniform(name, method):
    draws = order_of(name).sample_topological_orders(N_DRAWS, seed=11, method=method)
    assert draws.shape == (N_DRAWS, GRAPHS[name][1])
    assert draws.dtype == np.int64
    assert p_value(name, draws) > FALSE_ALARM


@pytest.mark.parametrize("name", GRAPHS)
def test_orders_of_groups_are_uniform_one_by_one(name):
    """The second order of each group of three: orders of different groups are independent."""
    draws = order_of(name).sample_topological_orders(3 * N_DRAWS, seed=12, n_groups=N_DRAWS)
    assert p_value(name, draws[1::3]) > FALSE_ALARM


@pytest.mark.parametrize(("name", "method"), [("forest", "auto"), ("crown", "auto"), ("forest", "ideals")])
def test_means_over_groups_are_more_accurate(name, method):
    """Positions averaged over a group of ten scatter less than over ten independent orders."""

    def variance(**options):
        draws = order_of(name).sample_topological_orders(10_000, seed=13, method=method, **options)
        means = np.argsort(draws, axis=1).reshape(1000, 10, -1).mean(axis=1)
        return means.var(axis=0).sum()

    assert variance(n_groups=1000) < 0.7 * variance()


@pytest.mark.parametrize(
    ("n_groups", "message"),
    [(11, "n_groups=11 groups cannot be made of n=10 orders"), (0, "n_groups=0"), ("a", "n_groups='a'")],
)
def test_impossible_groups_are_named(n_groups, message):
    with pytest.raises(ArgumentError, match=message):
        order_of("tree").sample_topological_orders(10, seed=0, n_groups=n_groups)


def random_kahn(order, n, rng):
    """The sampler that comes to mind first, and is wrong: the next feature uniformly among those available."""
    draws = []
    for _ in range(n):
        done = []
        while len(done) < order.n_features:
            ready = [v for v in range(order.n_features) if v not in done and set(order.parents[v]) <= set(done)]
            done.append(int(rng.choice(ready)))
        draws.append(done)
    return np.array(draws)


@pytest.mark.parametrize("name", ["a -> b, c", "zigzag"])
def test_random_kahn_would_be_caught(name):
    assert p_value(name, random_kahn(order_of(name), 3000, np.random.default_rng(0))) < FALSE_ALARM


def test_every_method_is_exercised():
    tested = {method for _, method in applicable()}
    assert tested == set(METHODS)


@pytest.mark.parametrize("name", GRAPHS)
def test_positions_agree_between_methods(name):
    """The mean position of each feature, from all methods together, within 5 standard errors of the enumerated one."""
    order = order_of(name)
    all_orders = np.array(topological_orders(GRAPHS[name][1], GRAPHS[name][0]))
    position = np.argsort(all_orders, axis=1)
    for method in METHODS.values():
        if method.refusal(order, Options(1000)) is not None:
            continue
        drawn = np.argsort(order.sample_topological_orders(4000, seed=5, method=method.name), axis=1)
        error = position.std(axis=0) / np.sqrt(len(drawn))
        assert (abs(drawn.mean(axis=0) - position.mean(axis=0)) <= 5 * error + 1e-12).all(), method.name


def precedence_holds(order, draws):
    position = np.argsort(draws, axis=1)
    assert (np.sort(draws, axis=1) == np.arange(order.n_features)).all()
    return all((position[:, p] < position[:, v]).all() for v, parents in enumerate(order.parents) for p in parents)


@pytest.mark.parametrize("name", ["cancer", "child", "alarm", "hailfinder", "pathfinder"])
def test_networks_are_sampled(name):
    order = CausalOrder.from_graph(network_graph(name))
    draws = order.sample_topological_orders(50, seed=0)
    assert precedence_holds(order, draws)
    assert len(np.unique(draws, axis=0)) > (3 if name == "cancer" else 45)


def test_andes_is_sampled():
    order = CausalOrder.from_graph(network_graph("andes"))
    assert methods_used(order) == ("perfect",)
    assert precedence_holds(order, order.sample_topological_orders(20, seed=0))


def test_large_orders_are_sampled():
    tree = CausalOrder.from_graph(balanced_binary_tree(10))
    chains = CausalOrder.from_edges([((c, k), (c, k + 1)) for c in range(40) for k in range(24)])
    rng = np.random.default_rng(3)
    edges = [(int(rng.integers(max(0, v - 30), v)), v) for v in range(1, 300)]
    polytree = CausalOrder.from_edges([edge if rng.random() < 0.5 else edge[::-1] for edge in edges])
    assert methods_used(tree) == methods_used(chains) == ("forest",)
    assert methods_used(polytree) == ("polytree",)
    for order in (tree, chains, polytree):
        assert precedence_holds(order, order.sample_topological_orders(200, seed=1))


def test_a_large_polytree_is_drawn_by_its_counts():
    """A zigzag of 60: mean positions within 5 standard errors of their mirror image, and of the perfect sampler's."""
    n = 60
    order = CausalOrder.from_edges([(v, v + 1) if v % 2 == 0 else (v + 1, v) for v in range(n - 1)])
    draws = order.sample_topological_orders(4000, seed=2)
    position = np.argsort(draws, axis=1)
    # turning an order upside down and the zigzag with it maps feature v to n - 1 - v
    mirrored = n - 1 - position[:, ::-1]
    spread = np.sqrt((position.var(axis=0) + mirrored.var(axis=0)) / len(draws))
    assert (abs(position.mean(axis=0) - mirrored.mean(axis=0)) < 5 * spread).all()
    perfect = np.argsort(order.sample_topological_orders(1000, seed=4, method="perfect"), axis=1)
    spread = np.sqrt(position.var(axis=0) / len(draws) + perfect.var(axis=0) / len(perfect))
    assert (abs(position.mean(axis=0) - perfect.mean(axis=0)) < 5 * spread).all()


@pytest.mark.parametrize("method", ["ideals", "perfect"])
def test_child_is_drawn_with_the_weights_of_its_lattice(method):
    """The feature at each position against exact probabilities from the lattice; too many orders to enumerate."""
    from shap_asv.orders.lattice import build_lattice

    order = CausalOrder.from_graph(network_graph("child"))
    lattice = build_lattice(order)
    n = 4000 if method == "ideals" else 1500
    draws = order.sample_topological_orders(n, seed=8, method=method)
    for k, (_, edges) in enumerate(lattice.by_size()):
        chance = np.bincount(lattice.edge_feature[edges], weights=lattice.edge_weights[edges], minlength=20)
        met = np.bincount(draws[:, k], minlength=20)
        assert met[chance == 0].sum() == 0
        common = chance * n >= 5
        counts = np.append(met[common], met[~common].sum())
        expected = np.append(chance[common], chance[~common].sum()) * n
        keep = expected > 0
        if keep.sum() > 1:
            assert (
                stats.chisquare(counts[keep], expected[keep] * counts[keep].sum() / expected[keep].sum()).pvalue > 1e-5
            )


def test_seeds():
    for name, method in applicable():
        order = order_of(name)
        one, two = (order.sample_topological_orders(20, seed=3, method=method) for _ in range(2))
        assert (one == two).all()
    order = CausalOrder.from_graph(pruned_child())
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for method in METHODS:
        one, two = (order.sample_topological_orders(5, seed=s, method=method) for s in (1, 2))
        assert (one != two).any()
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    rng = np.random.default_rng(1)
    assert (order.sample_topological_orders(5, seed=rng) != order.sample_topological_orders(5, seed=rng)).any()
    assert (order.sample_topological_orders(5) != order.sample_topological_orders(5)).any()


def test_auto_takes_the_cheapest_exact_method():
    assert methods_used(order_of("tree")) == ("forest",)
    assert methods_used(order_of("polytree")) == ("polytree",)
    assert methods_used(order_of("crown")) == ("ideals",)
    assert methods_used(order_of("crown"), limit=5) == ("perfect",)
    assert methods_used(CausalOrder.from_graph(network_graph("alarm"))) == ("ideals",)
    assert methods_used(CausalOrder.from_graph(network_graph("alarm")), limit=1000) == ("perfect",)
    beside = [*GRAPHS["crown"][0], (6, 7), (8, 7), (8, 9), (10, 11)]
    assert methods_used(CausalOrder.from_edges(beside)) == ("forest", "polytree", "ideals")


@pytest.mark.parametrize(
    ("name", "method", "message"),
    [
        ("diamond", "forest", "3 has 1 and 2; use method='auto'"),
        ("in-tree", "forest", "at most one parent"),
        ("levels", "forest", "at most one parent"),
        ("diamond", "polytree", "without undirected cycles"),
        ("levels", "polytree", "without undirected cycles"),
        ("crown", "polytree", "without undirected cycles"),
    ],
)
def test_a_method_that_does_not_apply_raises(name, method, message):
    with pytest.raises(MethodNotApplicableError, match=message):
        order_of(name).sample_topological_orders(1, method=method)


def test_a_lattice_beyond_the_limit_raises():
    with pytest.raises(BudgetExceededError, match="more than 5 ideals"):
        order_of("crown").sample_topological_orders(1, method="ideals", limit=5)
    # components are drawn apart, so their ideals do not multiply
    chains = CausalOrder.from_edges([((c, k), (c, k + 1)) for c in range(40) for k in range(24)])
    assert chains.sample_topological_orders(1, method="ideals", limit=26).shape == (1, 1000)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": 0}, ArgumentError, "n=0 is not a positive integer"),
        ({"n": -3}, ArgumentError, "n=-3"),
        ({"n": 2.0}, ArgumentError, "n=2.0"),
        ({"n": True}, ArgumentError, "n=True"),
        ({"n": 5, "method": "kahn"}, UnknownMethodError, "'kahn' is unknown; choose from auto, forest"),
        ({"n": 5, "method": None}, UnknownMethodError, "choose from"),
        ({"n": 5, "method": ["forest"]}, UnknownMethodError, "choose from"),
        ({"n": 5, "method": "mcmc"}, UnknownMethodError, "'mcmc' is unknown; choose from auto, forest"),
        ({"n": 5, "limit": 0}, ArgumentError, "limit=0"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        order_of("tree").sample_topological_orders(**arguments)
    assert isinstance(caught.value, ShapAsvError)


def test_numpy_integers_are_counts():
    assert order_of("tree").sample_topological_orders(np.int32(3), seed=np.int64(1)).shape == (3, 5)


def test_interleaving_components_is_uniform():
    """A component of two and one of three: each of the ten interleavings equally often."""
    order = CausalOrder.from_graph(nx.DiGraph([("a", "b"), ("c", "e"), ("d", "e")]))
    draws = order.sample_topological_orders(N_DRAWS, seed=6)
    first = np.isin(draws, [order.index("a"), order.index("b")])
    met = Counter(map(bytes, first))
    assert len(met) == 10
    assert stats.chisquare(list(met.values())).pvalue > FALSE_ALARM
