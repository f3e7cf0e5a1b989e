"""The polytree algorithm against the definition, against the ideals, against the forest algorithm, and at size 100."""

import pickle

import numpy as np
import pytest

from shap_asv.backends.polytree import prepared as polytree
from shap_asv.backends.polytree.layout import polytree_applicable
from shap_asv.backends.polytree.prepared import prepare_polytree
from shap_asv.backends.polytree.times import TimeModel, make_cuts
from shap_asv.errors import MethodNotApplicableError
from shap_asv.models.products import SumOfProducts
from tests.backends.forest_problems import (
    as_network,
    forest_attributions,
    own_order,
    parents_from_edges,
    polytree_attributions,
    random_forest_problem,
    random_products,
)
from tests.oracles.brute_force import asv, conditional_expectation, feature_joint, joint_table, model_table
from tests.oracles.random_problems import random_row


def oracle(network, feature_nodes, products, rows, edges):
    p = feature_joint(joint_table(*network), list(feature_nodes))
    table = model_table(products.evaluate, p.shape)
    return np.stack([asv(p, table, row, edges) for row in rows])


def random_codes(rng, cards, count):
    return np.stack([rng.integers(0, c, size=count) for c in cards], axis=1)


@pytest.mark.parametrize("real", [False, True], ids=["indicators", "real functions"])
@pytest.mark.parametrize("seed", range(8))
def test_equals_the_definition(seed, real):
    rng = np.random.default_rng(seed)
    network, feature_nodes, edges = random_forest_problem(rng, 6, kind="polytree", barren=seed % 2)
    cards = [network[0][v] for v in feature_nodes]
    products = random_products(rng, cards, 8, 2, real)
    rows = random_codes(rng, cards, 4)
    phi = polytree_attributions(as_network(*network), feature_nodes, products, rows)
    np.testing.assert_allclose(phi, oracle(network, feature_nodes, products, rows, edges), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_impossible_states_elsewhere(seed):
    rng = np.random.default_rng(seed)
    network, feature_nodes, edges = random_forest_problem(rng, 6, kind="polytree", zeros=0.4)
    cards = [network[0][v] for v in feature_nodes]
    products = random_products(rng, cards, 8, 1)
    rows = np.array([random_row(rng, *network) for _ in range(4)])[:, feature_nodes]
    phi = polytree_attributions(as_network(*network), feature_nodes, products, rows)
    np.testing.assert_allclose(phi, oracle(network, feature_nodes, products, rows, edges), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_causal_edges_without_dependence(seed):
    """A causal polytree with edges that the network does not have."""
    rng = np.random.default_rng(seed)
    network, feature_nodes, edges = random_forest_problem(rng, 6, kind="polytree")
    cards, parents, tables = network
    for v in range(6):
        if parents[v] and rng.random() < 0.6:
            tables[v] = tables[v].take(0, axis=1)
            parents[v] = parents[v][1:]
    feature_cards = [cards[v] for v in feature_nodes]
    products = random_products(rng, feature_cards, 6, 1)
    rows = random_codes(rng, feature_cards, 4)
    order_parents = parents_from_edges(6, edges)
    phi = polytree_attributions(as_network(*network), feature_nodes, products, rows, order_parents=order_parents)
    np.testing.assert_allclose(phi, oracle(network, feature_nodes, products, rows, edges), rtol=0, atol=1e-9)


def test_a_common_effect_that_nobody_looks_at_ties_times_together():
    """a -> w <- b with a -> c: what w does to the order of a and b changes the attributions of a term on b and c."""
    rng = np.random.default_rng(1)
    edges = [(0, 2), (1, 2), (0, 3)]
    tables = [
        rng.dirichlet([1, 1]),
        rng.dirichlet([1, 1]),
        rng.dirichlet([1, 1], size=(2, 2)),
        rng.dirichlet([1, 1], 2),
    ]
    tables = [tables[0], tables[1], np.moveaxis(tables[2], -1, 0), tables[3].T]
    network = ([2] * 4, [(), (), (0, 1), (0,)], tables)
    products = SumOfProducts(
        (np.ones((1, 2)),) + (np.array([[1.0, 1.0], [0.0, 1.0]]),) * 3,
        np.array([[0, 1, 0, 1]]),
        np.ones((1, 1)),
        np.zeros(1),
    )
    rows = np.array([[0, 1, 0, 1], [1, 1, 1, 1], [1, 0, 0, 0]])
    phi = polytree_attributions(as_network(*network), (0, 1, 2, 3), products, rows)
    np.testing.assert_allclose(phi, oracle(network, range(4), products, rows, edges), rtol=0, atol=1e-12)
    without = oracle(
        ([2] * 3, [(), (), (0,)], [tables[0], tables[1], tables[3]]),
        range(3),
        SumOfProducts(
            tuple(products.vectors[i] for i in (0, 1, 3)), np.array([[0, 1, 1]]), np.ones((1, 1)), np.zeros(1)
        ),
        rows[:, [0, 1, 3]],
        [(0, 2)],
    )
    assert np.abs(phi[:, [0, 1, 3]] - without).max() > 1e-3


def asv_from_ideals(p, table, row, parents):
    """phi = sum over ideals of e(S) e(X - S - i) / e(X) * gain: the definition, grouped; for a dozen features."""
    n = len(parents)
    up = {frozenset(): 1}
    levels = [[frozenset()]]
    for _ in range(n):
        following = {}
        for ideal in levels[-1]:
            for v in range(n):
                if v not in ideal and set(parents[v]) <= ideal:
                    following[ideal | {v}] = following.get(ideal | {v}, 0) + up[ideal]
        up.update(following)
        levels.append(list(following))
    down = {frozenset(range(n)): 1}
    for level in reversed(levels[:-1]):
        for ideal in level:
            down[ideal] = sum(down[ideal | {v}] for v in range(n) if v not in ideal and set(parents[v]) <= ideal)
    nu = {ideal: conditional_expectation(p, table, row, ideal) for ideal in up}
    phi = np.zeros((n, table.shape[-1]))
    for ideal in up:
        for v in range(n):
            if v not in ideal and set(parents[v]) <= ideal:
                weight = up[ideal] * down[ideal | {v}] / down[frozenset()]
                phi[v] += weight * (nu[ideal | {v}] - nu[ideal])
    return phi


@pytest.mark.parametrize("shape", ["fence", "random", "in-star"])
def test_equals_the_ideals_at_ten_features(shape):
    rng = np.random.default_rng(4)
    n = 10
    if shape == "fence":  # 0 -> 1 <- 2 -> 3 <- ...
        edges = [(v, v + 1) if v % 2 == 0 else (v + 1, v) for v in range(n - 1)]
    elif shape == "in-star":
        edges = [(v, 6) for v in range(6)] + [(6, 7), (6, 8), (8, 9)]
    else:
        edges = [(u, v) if rng.random() < 0.5 else (v, u) for v in range(1, n) for u in [int(rng.integers(v))]]
    order = topological(n, edges)
    place = {v: i for i, v in enumerate(order)}
    edges = [(place[u], place[v]) for u, v in edges]
    parents = parents_from_edges(n, edges)
    tables = [np.moveaxis(rng.dirichlet([1, 1], size=(2,) * len(ps)), -1, 0) for ps in parents]
    products = random_products(rng, [2] * n, 6, 1, most_touched=6)
    rows = rng.integers(0, 2, size=(2, n))
    p = feature_joint(joint_table([2] * n, parents, tables), list(range(n)))
    table = model_table(products.evaluate, p.shape)
    expected = np.stack([asv_from_ideals(p, table, row, parents) for row in rows])
    phi = polytree_attributions(as_network([2] * n, parents, tables), tuple(range(n)), products, rows)
    np.testing.assert_allclose(phi, expected, rtol=0, atol=1e-9)


def topological(n, edges):
    order, left = [], set(range(n))
    while left:
        ready = sorted(v for v in left if not any(w == v and u in left for u, w in edges))
        order += ready
        left -= set(ready)
    return order


def test_equals_the_forest_algorithm():
    """Forests are polytrees: two algorithms that share nothing."""
    rng = np.random.default_rng(9)
    network, feature_nodes, _ = random_forest_problem(rng, 40)
    cards = [network[0][v] for v in feature_nodes]
    products = random_products(rng, cards, 6, 2, most_touched=6)
    rows = random_codes(rng, cards, 3)
    arguments = (as_network(*network), feature_nodes, products, rows)
    np.testing.assert_allclose(polytree_attributions(*arguments), forest_attributions(*arguments), rtol=0, atol=1e-10)


def random_polytree(rng, n, reach):
    """In-degree at most 2; (network, parents)."""
    edges, in_degree = [], np.zeros(n, dtype=int)
    for v in range(1, n):
        u = int(rng.integers(max(0, v - reach), v))
        cause, effect = (u, v) if rng.random() < 0.5 or in_degree[u] == 2 else (v, u)
        in_degree[effect] += 1
        edges.append((cause, effect))
    order = topological(n, edges)
    place = {v: i for i, v in enumerate(order)}
    parents = parents_from_edges(n, [(place[u], place[v]) for u, v in edges])
    tables = [np.moveaxis(rng.dirichlet([1, 1], size=(2,) * len(ps)), -1, 0) for ps in parents]
    return as_network([2] * n, parents, tables)


@pytest.mark.parametrize("reach", [100, 3])
def test_hundred_features_add_up(reach):
    rng = np.random.default_rng(reach)
    n = 100
    network = random_polytree(rng, n, reach)
    terms = np.zeros((2, n), dtype=np.int32)
    for t in range(2):
        terms[t, rng.choice(n, size=6, replace=False)] = rng.integers(1, 3, size=6)
    products = SumOfProducts((np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]),) * n, terms, np.ones((2, 1)), np.zeros(1))
    rows = rng.integers(0, 2, size=(3, n))
    phi = polytree_attributions(network, tuple(range(n)), products, rows)
    base = products.evaluate(rows) - phi.sum(axis=1)
    draws = np.zeros((100_000, n), dtype=int)
    for v in range(n):
        p = network.tables[v][(1, *(draws[:, u] for u in network.parents[v]))]
        draws[:, v] = rng.random(len(draws)) < p
    sampled = products.evaluate(draws)
    assert np.abs(base - base[0]).max() < 1e-9
    assert abs(base[0, 0] - sampled.mean()) < 5 * sampled.std() / np.sqrt(len(draws))


def test_densities_are_those_of_the_orders():
    """Mean position of every feature of a -> c <- b, c -> d, from all orders: a b c d and b a c d."""
    times = TimeModel(((), (), (0, 1), (2,)), ((2,), (2,), (3,), ()))
    cuts = make_cuts(8, 4)
    for v, position in enumerate((1.5, 1.5, 3, 4)):
        density = times.side(v, -1)(cuts.times)
        # a feature at position i of n has mean time i / (n + 1)
        assert density @ (cuts.weights * cuts.times) / (density @ cuts.weights) == pytest.approx(
            position / 5, abs=1e-14
        )


@pytest.mark.parametrize("unit", [1.0, 1e-2], ids=["large", "small"])
def test_too_few_points_are_noticed(monkeypatch, unit):
    """Whatever the units: a term of eight functions that are small is no less wrong."""
    rng = np.random.default_rng(0)
    n = 30
    network = random_polytree(rng, n, n)
    terms = np.zeros((1, n), dtype=np.int32)
    terms[0, -8:] = 1
    functions = np.array([[1.0, 1.0], [0.2 * unit, unit]])
    products = SumOfProducts((functions,) * n, terms, np.full((1, 1), unit**-8), np.zeros(1))
    rows = rng.integers(0, 2, size=(2, n))
    expected = polytree_attributions(network, tuple(range(n)), products, rows)
    monkeypatch.setattr(polytree, "choose_grid", lambda size: (4, 3))
    monkeypatch.setattr(polytree, "_REFINEMENTS", 1)
    with pytest.raises(MethodNotApplicableError, match="miss their sum"):
        polytree_attributions(network, tuple(range(n)), products, rows)
    monkeypatch.setattr(polytree, "_REFINEMENTS", 12)
    refined = polytree_attributions(network, tuple(range(n)), products, rows)
    np.testing.assert_allclose(refined, expected, rtol=0, atol=1e-9)


def test_a_pickle_gives_the_same_bits():
    rng = np.random.default_rng(5)
    network, feature_nodes, _ = random_forest_problem(rng, 12, kind="polytree")
    cards = [network[0][v] for v in feature_nodes]
    products, order = random_products(rng, cards, 20, 2), own_order(as_network(*network), feature_nodes)
    prepared = prepare_polytree(as_network(*network), feature_nodes, products, order_parents=order)
    rows = random_codes(rng, cards, 10)
    expected = prepared.attributions(rows)
    assert np.array_equal(expected, pickle.loads(pickle.dumps(prepared)).attributions(rows))


def test_terms_that_see_nothing_and_no_rows():
    network = random_polytree(np.random.default_rng(0), 3, 3)
    constant = SumOfProducts((np.ones((1, 2)),) * 3, np.zeros((1, 3), dtype=np.int32), np.ones((1, 2)), np.zeros(2))
    assert np.array_equal(
        polytree_attributions(network, (0, 1, 2), constant, np.zeros((4, 3), int)), np.zeros((4, 3, 2))
    )
    assert polytree_attributions(network, (0, 1, 2), constant, np.zeros((0, 3), int)).shape == (0, 3, 2)


# --- when it applies ---------------------------------------------------------------------------------------------


def collider():
    coin, either = np.array([0.5, 0.5]), np.full((2, 2, 2), 0.5)
    return as_network([2] * 3, [(), (), (0, 1)], [coin, coin, either])


@pytest.mark.parametrize(
    ("feature_nodes", "order_parents", "reason"),
    [
        ((0, 1, 2), ((), (), (0, 1)), None),
        ((0, 1), ((), ()), None),
        ((0, 2), ((), (0,)), "the network node x1 is not a feature but a cause of the feature x2"),
        ((0, 1, 2), ((), (), (0,)), "x1 is a parent of x2 in the network but none of its direct causes"),
        (
            (0, 1, 2),
            ((), (0,), (0, 1)),
            "the causal graph is not a polytree: there are two undirected paths between x1 and x2",
        ),
    ],
)
def test_applicable(feature_nodes, order_parents, reason):
    assert polytree_applicable(collider(), feature_nodes, order_parents) == reason


def test_tables_that_are_too_large():
    n = 13
    tables = [np.array([0.5, 0.5])] * (n - 1) + [np.full((2,) * n, 0.5)]
    network = as_network([2] * n, [()] * (n - 1) + [tuple(range(n - 1))], tables)
    order_parents = ((),) * (n - 1) + (tuple(range(n - 1)),)
    expected = "x12 has 12 causes: a table of 8,192 entries (at most 4,096)"
    assert polytree_applicable(network, tuple(range(n)), order_parents) == expected
    products = random_products(np.random.default_rng(0), [2] * n, 2, 1)
    with pytest.raises(MethodNotApplicableError, match="12 causes"):
        polytree_attributions(network, tuple(range(n)), products, np.zeros((1, n), int))
