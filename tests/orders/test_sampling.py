"""Every sampler draws uniformly: chi-square tests against all topological orders, seeded.

A test fails by chance with probability below FALSE_ALARM if the draws are uniform; since the seeds are fixed, it either
always does or never. `test_random_kahn_would_be_caught` shows that the same test sees the usual wrong sampler.
"""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from benchmarks.graphs import balanced_binary_tree, network_graph, pruned_child
from shap_asv.errors import BudgetExceededError
from shap_asv.orders import CausalOrder
from shap_asv.orders.sampling import draw_by_ideals, draw_forest, draw_perfect, drawing_cost
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


WAYS = {
    "auto": lambda order, n, rng: order.sample_topological_orders(n, rng),
    "clocks": draw_forest,
    "walks": lambda order, n, rng: draw_by_ideals(order, n, rng, 1000),
    "from the past": draw_perfect,
}
PAIRS = [(name, way) for name in GRAPHS for way in WAYS if way != "clocks" or order_of(name).is_forest]


@pytest.mark.parametrize(("name", "way"), PAIRS)
def test_draws_are_uniform(name, way):
    draws = WAYS[way](order_of(name), N_DRAWS, np.random.default_rng(11))
    assert draws.shape == (N_DRAWS, GRAPHS[name][1])
    assert draws.dtype == np.int64
    assert p_value(name, draws) > FALSE_ALARM


@pytest.mark.parametrize("name", GRAPHS)
def test_orders_of_groups_are_uniform_one_by_one(name):
    """The second order of each group of three: orders of different groups are independent."""
    draws = order_of(name).sample_topological_orders(3 * N_DRAWS, seed=12, n_groups=N_DRAWS)
    assert p_value(name, draws[1::3]) > FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "draw"), [("forest", draw_forest), ("forest", draw_by_ideals), ("crown", draw_by_ideals)]
)
def test_means_over_groups_are_more_accurate(name, draw):
    """Positions averaged over a group of ten scatter less than over ten independent orders."""

    def variance(**options):
        limit = {"limit": 1000} if draw is draw_by_ideals else {}
        draws = draw(order_of(name), 10_000, np.random.default_rng(13), **limit, **options)
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
    "order",
    [
        CausalOrder.from_graph(network_graph("child")),
        CausalOrder.from_graph(network_graph("pathfinder")),
        CausalOrder.from_graph(network_graph("andes")),
        CausalOrder.from_graph(balanced_binary_tree(10)),
        CausalOrder.from_edges([((c, k), (c, k + 1)) for c in range(40) for k in range(24)]),
        a_large_polytree(),
    ],
)
def test_large_orders_are_sampled(order):
    draws = order.sample_topological_orders(20, seed=1)
    assert precedence_holds(order, draws)
    assert len(np.unique(draws, axis=0)) == 20


def test_seeds():
    for name, way in PAIRS:
        one, two = (WAYS[way](order_of(name), 20, np.random.default_rng(3)) for _ in range(2))
        assert (one == two).all()
    order = CausalOrder.from_graph(pruned_child())
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for seeds in ((1, 2), (None, None)):
        one, two = (order.sample_topological_orders(5, seed=seed) for seed in seeds)
        assert (one != two).any()
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    rng = np.random.default_rng(1)
    assert (order.sample_topological_orders(5, seed=rng) != order.sample_topological_orders(5, seed=rng)).any()


@pytest.mark.parametrize(
    ("edges", "operations"),
    [
        (GRAPHS["tree"][0], {"order x feature"}),
        (GRAPHS["crown"][0], {"order x feature", "ideal listed"}),
        ([*GRAPHS["crown"][0], (6, 7), (8, 7), (8, 9), (10, 11)], {"order x feature", "ideal listed"}),
        (a_large_polytree().edges, {"order", "update from the past"}),
    ],
)
def test_each_part_is_drawn_in_the_cheapest_way(edges, operations):
    assert set(drawing_cost(CausalOrder.from_edges(edges), 10).operations) == operations


def test_a_lattice_beyond_the_limit_is_not_built():
    order = order_of("crown")
    assert p_value("crown", order.sample_topological_orders(N_DRAWS, seed=0, limit=5)) > FALSE_ALARM
    with pytest.raises(BudgetExceededError, match="more than 5 ideals"):
        draw_by_ideals(order, 1, np.random.default_rng(0), limit=5)
