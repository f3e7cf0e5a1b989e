"""Counts and equivalence classes against enumeration by networkx, published figures, and closed forms."""

from collections import Counter
from math import comb, factorial

import numpy as np
import pytest

from benchmarks.graphs import balanced_binary_tree, network_graph, pruned_child
from shap_asv.errors import ArgumentError, BudgetExceededError
from shap_asv.orders import CausalOrder
from shap_asv.orders.counting import decompose, ideals_up_to
from shap_asv.orders.lattice import build_lattice
from tests.orders.enumerated import KINDS, enumerated

# network: ideals, lattice edges, topological orders (exact where the figure is short enough to be written down)
PUBLISHED = {
    "cancer": (8, 9, 4),
    "asia": (21, 34, 58),
    "sachs": (88, 218, 4950),
    "child": (3368, 15452, 125532167040),
    "insurance": (6492, 33306, 491612894886528),
    "water": (10553, 48717, 1.465e21),
    "mildew": (112010, 857131, 8.736e20),
    "alarm": (287424, 2130336, 4.861e26),
}


@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_classes_equal_enumeration(kind):
    for seed in range(30):
        case = enumerated(kind, seed)
        orders = case.topological_orders
        assert case.order.count_topological_orders() == len(orders), case.edges
        assert case.order.count_ideals() == len({frozenset(p[:k]) for p in orders for k in range(len(p) + 1)}), (
            case.edges
        )
        for x in case.order.features:
            classes = Counter(frozenset(p[: p.index(x)]) for p in orders)
            found = case.order.equivalence_classes(x)
            assert dict(found) == classes, (case.edges, x)
            assert len(found) == len(classes)
            assert case.order.count_equivalence_classes(x) == len(classes)
            assert sum(size for _, size in found) == len(orders)


@pytest.mark.parametrize("seed", range(20))
def test_disconnected_and_stacked_orders(seed):
    """Two random parts side by side, and one after the other: the two ways in which orders fall apart."""
    rng = np.random.default_rng(seed)
    parts = [enumerated(str(rng.choice(KINDS)), int(rng.integers(1000)), largest=5).order for _ in range(2)]
    first, second = parts
    shift = first.n_features
    edges = [*first.edges, *((a + shift, b + shift) for a, b in second.edges)]
    features = range(shift + second.n_features)
    e1, e2 = (part.count_topological_orders() for part in parts)
    beside = CausalOrder.from_edges(edges, features)
    assert beside.count_topological_orders() == comb(len(features), shift) * e1 * e2
    assert beside.count_ideals() == first.count_ideals() * second.count_ideals()
    bridge = [(a, b + shift) for a in first.features for b in second.features]
    stacked = CausalOrder.from_edges(edges + bridge, features)
    assert stacked.count_topological_orders() == e1 * e2
    assert stacked.count_ideals() == first.count_ideals() + second.count_ideals() - 1
    assert stacked.count_ideals() == build_lattice(stacked).n_ideals
    assert beside.count_ideals() == build_lattice(beside).n_ideals


@pytest.mark.parametrize("seed", range(8))
def test_ideals_of_polytrees(seed):
    """The closed form against the lattice."""
    rng = np.random.default_rng(seed)
    rank = rng.permutation(14)
    edges = [(int(rng.integers(v)), v) for v in range(1, 14)]
    edges = [(int(rank[a]), int(rank[b])) if rng.random() < 0.5 else (int(rank[b]), int(rank[a])) for a, b in edges]
    order = CausalOrder.from_edges(edges, features=range(14))
    assert order.is_polytree
    assert [block.kind for block in decompose(order)] == ["tree"]
    assert order.count_ideals() == build_lattice(order).n_ideals


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks(name):
    ideals, edges, orders = PUBLISHED[name]
    order = CausalOrder.from_graph(network_graph(name))
    assert order.count_ideals() == ideals
    assert build_lattice(order).n_edges == edges
    counted = order.count_topological_orders()
    assert counted == orders if isinstance(orders, int) else float(f"{counted:.3e}") == orders


def test_the_papers_pruned_child():
    order = CausalOrder.from_graph(pruned_child())
    assert order.is_forest
    assert order.count_topological_orders() == 741_015_475_200
    counts = [order.count_equivalence_classes(x) for x in order.features]
    assert round(np.mean(counts), 1) == 2003.3
    for x in ("BirthAsphyxia", "Sick", "XrayReport"):
        classes = order.equivalence_classes(x)
        assert len(classes) == order.count_equivalence_classes(x)
        assert sum(size for _, size in classes) == 741_015_475_200


def test_large_orders_are_counted_exactly():
    tree = CausalOrder.from_graph(balanced_binary_tree(10))
    assert tree.n_features == 1023
    hooks = 1
    for depth in range(10):
        hooks *= (2 ** (10 - depth) - 1) ** (2**depth)
    assert tree.count_topological_orders() == factorial(1023) // hooks
    chains = CausalOrder.from_edges([((c, k), (c, k + 1)) for c in range(40) for k in range(24)])
    assert chains.n_features == 1000
    assert chains.count_topological_orders() == factorial(1000) // factorial(25) ** 40
    assert chains.count_ideals() == 26**40
    assert chains.count_equivalence_classes((0, 3)) == 26**39
    pathfinder = CausalOrder.from_graph(network_graph("pathfinder"))  # part by part
    assert f"{pathfinder.count_topological_orders():.3e}" == "7.572e+156"
    assert pathfinder.count_ideals() > 10**26


def test_ideals_of_a_polytree_of_300_features():
    """A zigzag 0 < 1 > 2 < 3 > ...: its ideals are counted by the Fibonacci numbers."""
    n = 300
    order = CausalOrder.from_edges([(v, v + 1) if v % 2 == 0 else (v + 1, v) for v in range(n - 1)])
    assert not order.is_forest
    fibonacci = [1, 2]
    while len(fibonacci) <= n:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert order.count_ideals() == fibonacci[n]
    with pytest.raises(BudgetExceededError, match="300 features has more than 1,000,000 ideals"):
        order.count_topological_orders()


def test_deeply_nested_orders_do_not_exhaust_the_stack():
    """Two features below all that came before, again and again: 600 levels of series and parallel blocks."""
    edges, last = [], [0]
    for k in range(600):
        low, high, side = 3 * k + 1, 3 * k + 2, 3 * k + 3
        edges += [(v, low) for v in last] + [(v, side) for v in last] + [(low, high), (side, high)]
        last = [high]
    order = CausalOrder.from_edges(edges)
    assert order.count_topological_orders() == 2**600
    assert order.count_ideals() == 1 + 1 + 600 * 4


def test_limits():
    order = CausalOrder.from_graph(network_graph("child"))
    assert order.count_ideals(limit=3368) == 3368
    assert ideals_up_to(order, 3368) == 3368
    assert ideals_up_to(order, 3367) is None
    with pytest.raises(BudgetExceededError, match="20 features has more than 3,367 ideals; raise limit="):
        order.count_ideals(limit=3367)
    with pytest.raises(BudgetExceededError):
        order.count_topological_orders(limit=100)
    with pytest.raises(BudgetExceededError):
        order.equivalence_classes("Sick", limit=10)
    with pytest.raises(BudgetExceededError):
        CausalOrder.from_edges([], features=range(10)).count_ideals(limit=1023)
    assert CausalOrder.from_edges([], features=range(10)).count_ideals(limit=1024) == 1024
    for limit in (0, -1, 1.5, "many", True):
        with pytest.raises(ArgumentError, match="limit="):
            order.count_ideals(limit=limit)
        with pytest.raises(ArgumentError, match="limit="):
            order.count_equivalence_classes("Sick", limit=limit)


def test_networks_beyond_the_budget_say_so():
    order = CausalOrder.from_graph(network_graph("hailfinder"))
    for count in (order.count_ideals, order.count_topological_orders):
        with pytest.raises(BudgetExceededError, match="1,000,000"):
            count()
