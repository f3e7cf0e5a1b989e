"""W from ideals, from orders, and its shadow on a few features: all against the definition."""

import numpy as np
import pytest

from benchmarks.graphs import network_graph
from shap_asv.errors import OrdersError
from shap_asv.orders import CausalOrder
from shap_asv.orders.weights import weigh_ideals, weigh_orders
from tests.orders.enumerated import KINDS, enumerated


def attributions(orders, weights, values):
    """phi by its definition; ``values`` maps a set of features to a number."""
    phi = {}
    for order, weight in zip(orders, weights, strict=True):
        for k, i in enumerate(order):
            gain = values[frozenset(order[: k + 1])] - values[frozenset(order[:k])]
            phi[i] = phi.get(i, 0) + weight * gain
    return phi


class Game(dict):
    """A random number for every set of features that is asked for."""

    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def __missing__(self, members):
        return self.setdefault(members, self.rng.normal())


def sets(coalitions):
    return [frozenset(np.flatnonzero(row).tolist()) for row in coalitions]


def phi_of(weights, game):
    return np.array([game[members] for members in sets(weights.coalitions)]) @ weights.matrix


@pytest.mark.parametrize("kind", KINDS)
def test_exact_weights_give_the_mean_over_all_orders(kind):
    for seed in range(20):
        case = enumerated(kind, seed)
        orders, game = case.topological_orders, Game(seed)
        expected = attributions(orders, np.full(len(orders), 1 / len(orders)), game)
        weights = weigh_ideals(case.order)
        assert weights.matrix.shape == (len(weights.coalitions), case.order.n_features)
        np.testing.assert_allclose(phi_of(weights, game), [expected[i] for i in case.order.features], atol=1e-12)
        assert not weights.coalitions[0].any()
        assert weights.coalitions[-1].all()
        assert weights.paths is None


@pytest.mark.parametrize("seed", range(12))
def test_weights_of_given_orders(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 9)), int(rng.integers(1, 40))
    orders = np.array([rng.permutation(n) for _ in range(k)])
    game = Game(seed)
    expected = attributions(orders.tolist(), np.full(k, 1 / k), game)
    weights = weigh_orders(orders)
    np.testing.assert_allclose(phi_of(weights, game), [expected[i] for i in range(n)], atol=1e-12)
    coalitions = sets(weights.coalitions)
    assert coalitions[0] == frozenset()
    assert coalitions[-1] == frozenset(range(n))
    assert len(set(coalitions)) == len(coalitions)
    for order, path in zip(orders.tolist(), weights.paths, strict=True):
        assert [coalitions[c] for c in path] == [frozenset(order[:j]) for j in range(n + 1)]


def test_efficiency_is_built_in():
    for weights in (
        weigh_ideals(CausalOrder.from_graph(network_graph("child"))),
        weigh_orders(CausalOrder.from_graph(network_graph("hepar2")).sample_topological_orders(3, seed=0)),
    ):
        row_sums = np.asarray(weights.matrix.sum(axis=1)).ravel()
        assert row_sums[0] == pytest.approx(-1, abs=1e-12)
        assert row_sums[-1] == pytest.approx(1, abs=1e-12)
        assert abs(row_sums[1:-1]).max() < 1e-12
        assert abs(np.asarray(weights.matrix.sum(axis=0))).max() < 1e-12


def test_more_than_64_features_in_given_orders():
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(150) for _ in range(40)])
    orders[7] = orders[3]
    orders[8, :100] = orders[3, :100]
    orders[8, 100:] = rng.permutation(orders[3, 100:])
    weights = weigh_orders(orders)
    coalitions = sets(weights.coalitions)
    distinct = {frozenset(order[:k]) for order in orders.tolist() for k in range(151)}
    assert set(coalitions) == distinct
    assert len(coalitions) == len(distinct)
    assert (weights.paths[7] == weights.paths[3]).all()


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        ([[0, 1], [1, 1]], "order 1 is \\[1, 1\\]"),
        ([[0, 2]], "order 0"),
        ([[0.0, 1.0]], "integer array"),
        ([0, 1], "shape \\(2,\\)"),
        (np.zeros((0, 3), dtype=int), "non-empty"),
    ],
)
def test_bad_orders(orders, message):
    with pytest.raises(OrdersError, match=message):
        weigh_orders(orders)
