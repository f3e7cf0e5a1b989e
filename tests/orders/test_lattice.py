"""The lattice of ideals and its weights: against enumeration, exact rationals, and a budget."""

import tracemalloc
from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from benchmarks.graphs import network_graph
from benchmarks.orders import plain_weights
from shap_asv.errors import BudgetExceededError
from shap_asv.orders import CausalOrder
from shap_asv.orders.lattice import build_lattice, exact_down, exact_up
from shap_asv.orders.weights import weigh_ideals
from tests.orders.enumerated import KINDS, enumerated


@pytest.mark.parametrize("kind", KINDS)
def test_edges_and_weights_equal_enumeration(kind):
    for seed in range(40):
        case = enumerated(kind, seed)
        orders = case.topological_orders
        steps = Counter((frozenset(p[:k]), p[k]) for p in orders for k in range(len(p)))
        lattice = build_lattice(case.order)
        ideals = [frozenset(np.flatnonzero(row).tolist()) for row in lattice.members()]
        assert len(set(ideals)) == len(ideals)
        assert [len(ideal) for ideal in ideals] == sorted(len(ideal) for ideal in ideals)
        found = {}
        for s, t, v, w in zip(
            lattice.edge_source, lattice.edge_target, lattice.edge_feature, lattice.edge_weights, strict=True
        ):
            assert ideals[t] == ideals[s] | {int(v)}
            assert v not in ideals[s]
            found[ideals[s], int(v)] = w
        assert found.keys() == steps.keys()
        assert all(abs(w - steps[step] / len(orders)) < 1e-14 for step, w in found.items())
        assert len(lattice.edge_target) == lattice.n_edges == len(steps)
        assert exact_up(lattice)[-1] == exact_down(lattice)[0] == len(orders)


@pytest.mark.parametrize("name", ["child", "water"])
def test_weights_of_networks_equal_the_plain_loop(name):
    order = CausalOrder.from_graph(network_graph(name))
    plain = plain_weights(order)
    lattice = build_lattice(order)
    assert lattice.n_edges == len(plain)
    ideals = [sum(1 << v for v in np.flatnonzero(row).tolist()) for row in lattice.members()]
    keys = zip(lattice.edge_source.tolist(), lattice.edge_feature.tolist(), strict=True)
    expected = np.array([plain[ideals[s], v] for s, v in keys])
    np.testing.assert_allclose(lattice.edge_weights, expected, rtol=1e-12, atol=0)


def test_two_long_chains_against_binomials():
    """Weights down to 1e-118, and no limit of 64 features."""
    n = 200
    order = CausalOrder.from_edges(
        [(("a", k), ("a", k + 1)) for k in range(n - 1)] + [(("b", k), ("b", k + 1)) for k in range(n - 1)]
    )
    lattice = build_lattice(order)
    assert lattice.words.shape == ((n + 1) ** 2, 7)
    in_a = np.array([name[0] == "a" for name in order.features])
    members = lattice.members()
    a, b = members[:, in_a].sum(axis=1), members[:, ~in_a].sum(axis=1)
    rng = np.random.default_rng(1)
    for e in rng.choice(lattice.n_edges, size=2000, replace=False):
        s, t = lattice.edge_source[e], lattice.edge_target[e]
        ways = comb(int(a[s] + b[s]), int(a[s])) * comb(int(2 * n - a[t] - b[t]), int(n - a[t]))
        exact = Fraction(ways, comb(2 * n, n))
        assert abs(lattice.edge_weights[e] / exact - 1) < 1e-12


def test_the_budget_stops_the_search_before_memory_is_eaten():
    order = CausalOrder.from_edges([(0, 1)], features=range(500))
    tracemalloc.start()
    with pytest.raises(BudgetExceededError, match="500 features has more than 1,000,000 ideals"):
        build_lattice(order)
    with pytest.raises(BudgetExceededError):
        weigh_ideals(order, limit=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400 * 2**20
