"""Every sampler draws uniformly: chi-square tests against all topological orders, seeded.

A test fails by chance with probability below FALSE_ALARM if the draws are uniform; since the seeds are fixed, it either
always does or never. `test_random_kahn_would_be_caught` shows that the same test sees the usual wrong sampler.
"""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from benchmarks.graphs import balanced_binary_tree, network_graph, pruned_child
from shap_asv.errors import (
    BudgetExceededError,
    MethodNotApplicableError,
)
from shap_asv.orders import CausalOrder
from shap_asv.orders.sampling import METHODS, parts_with_methods
from tests.oracles.brute_force import topological_orders

FALSE_ALARM = 1e-4
N_DRAWS = 6000

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
            if method.refusal(order_of(name), 1000) is None:
                yield name, method.name


def methods_used(order, limit=1_000_000):
    """What "auto" takes for the parts of an order, cheapest first."""
    used = {method.name for _, method in parts_with_methods(order, "auto", limit)}
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


def precedence_holds(order, draws):
    position = np.argsort(draws, axis=1)
    assert (np.sort(draws, axis=1) == np.arange(order.n_features)).all()
    return all((position[:, p] < position[:, v]).all() for v, parents in enumerate(order.parents) for p in parents)


def a_large_polytree(n=300):
    rng = np.random.default_rng(3)
    edges = [(int(rng.integers(max(0, v - 30), v)), v) for v in range(1, n)]
    return CausalOrder.from_edges([edge if rng.random() < 0.5 else edge[::-1] for edge in edges])


@pytest.mark.parametrize(
    ("order", "methods"),
    [
        (CausalOrder.from_graph(network_graph("child")), ("forest", "ideals")),
        (CausalOrder.from_graph(network_graph("pathfinder")), ("forest", "ideals")),
        (CausalOrder.from_graph(network_graph("andes")), ("perfect",)),
        (CausalOrder.from_graph(balanced_binary_tree(10)), ("forest",)),
        (CausalOrder.from_edges([((c, k), (c, k + 1)) for c in range(40) for k in range(24)]), ("forest",)),
        (a_large_polytree(), ("perfect",)),
    ],
)
def test_large_orders_are_sampled(order, methods):
    draws = order.sample_topological_orders(20, seed=1)
    assert methods_used(order) == methods
    assert precedence_holds(order, draws)
    assert len(np.unique(draws, axis=0)) == 20


def test_seeds():
    for name, method in applicable():
        order = order_of(name)
        one, two = (order.sample_topological_orders(20, seed=3, method=method) for _ in range(2))
        assert (one == two).all()
    order = CausalOrder.from_graph(pruned_child())
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for seeds in *((1, 2, method) for method in METHODS), (None, None, "auto"):
        one, two = (order.sample_topological_orders(5, seed=seed, method=seeds[2]) for seed in seeds[:2])
        assert (one != two).any()
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    rng = np.random.default_rng(1)
    assert (order.sample_topological_orders(5, seed=rng) != order.sample_topological_orders(5, seed=rng)).any()


def test_auto_takes_the_cheapest_method():
    assert methods_used(order_of("tree")) == ("forest",)
    assert methods_used(order_of("crown")) == ("ideals",)
    assert methods_used(order_of("crown"), limit=5) == ("perfect",)
    beside = [*GRAPHS["crown"][0], (6, 7), (8, 7), (8, 9), (10, 11)]
    assert methods_used(CausalOrder.from_edges(beside)) == ("forest", "ideals")


@pytest.mark.parametrize(("name", "message"), [("diamond", "3 has 1 and 2; use method='auto'"), ("levels", "most one")])
def test_a_method_that_does_not_apply_raises(name, message):
    with pytest.raises(MethodNotApplicableError, match=message):
        order_of(name).sample_topological_orders(1, method="forest")


def test_a_lattice_beyond_the_limit_raises():
    with pytest.raises(BudgetExceededError, match="more than 5 ideals"):
        order_of("crown").sample_topological_orders(1, method="ideals", limit=5)
    # components are drawn apart, so their ideals do not multiply
    chains = CausalOrder.from_edges([((c, k), (c, k + 1)) for c in range(40) for k in range(24)])
    assert chains.sample_topological_orders(1, method="ideals", limit=26).shape == (1, 1000)
