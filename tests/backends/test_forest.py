"""The forest algorithm against the definition, against its twins, and at sizes where nothing else is exact."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from shap_asv.backends.forest.backend import prepare_forest
from shap_asv.backends.forest.clock import count_points, make_clock
from shap_asv.backends.forest.layout import forest_obstacle
from shap_asv.models.products import SumOfProducts
from tests.backends.forest_problems import (
    as_network,
    forest_attributions,
    own_order,
    parents_from_edges,
    random_forest_problem,
    random_products,
)
from tests.backends.forest_twins import jump_chain, recursion
from tests.oracles.brute_force import asv, feature_joint, joint_table, model_table
from tests.oracles.random_problems import random_row


def oracle(network, feature_nodes, products, rows, edges):
    p = feature_joint(joint_table(*network), list(feature_nodes))
    table = model_table(products.evaluate, p.shape)
    return np.stack([asv(p, table, row, edges) for row in rows])


def random_codes(rng, cards, count):
    return np.stack([rng.integers(0, c, size=count) for c in cards], axis=1)


@pytest.mark.parametrize("real", [False, True], ids=["indicators", "real functions"])
@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition(seed, real):
    rng = np.random.default_rng(seed)
    network, feature_nodes, edges = random_forest_problem(rng, 6, barren=seed % 2)
    cards = [network[0][v] for v in feature_nodes]
    products = random_products(rng, cards, 8, 2, real)
    rows = random_codes(rng, cards, 5)
    phi = forest_attributions(as_network(*network), feature_nodes, products, rows)
    np.testing.assert_allclose(phi, oracle(network, feature_nodes, products, rows, edges), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_impossible_states_elsewhere(seed):
    rng = np.random.default_rng(seed)
    network, feature_nodes, edges = random_forest_problem(rng, 6, zeros=0.4)
    cards = [network[0][v] for v in feature_nodes]
    products = random_products(rng, cards, 8, 1)
    rows = np.array([random_row(rng, *network) for _ in range(5)])[:, feature_nodes]
    phi = forest_attributions(as_network(*network), feature_nodes, products, rows)
    np.testing.assert_allclose(phi, oracle(network, feature_nodes, products, rows, edges), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_causal_forest_denser_than_the_network(seed):
    """Edges of the causal forest that the network has not."""
    rng = np.random.default_rng(seed)
    n = 6
    above = [int(rng.integers(v)) if v and rng.random() < 0.9 else -1 for v in range(n)]
    edges = [(u, v) for v, u in enumerate(above) if u >= 0]
    cards = rng.integers(2, 4, size=n).tolist()
    parents = [(u,) if u >= 0 and rng.random() < 0.5 else () for u in above]
    tables = []
    for v in range(n):
        table = rng.exponential(size=(cards[v], *(cards[p] for p in parents[v])))
        tables.append(table / table.sum(axis=0))
    products = random_products(rng, cards, 8, 1)
    rows = random_codes(rng, cards, 5)
    order_parents = parents_from_edges(n, edges)
    network = (cards, parents, tables)
    assert forest_obstacle(as_network(*network), tuple(range(n)), order_parents) is None
    phi = forest_attributions(as_network(*network), tuple(range(n)), products, rows, order_parents=order_parents)
    np.testing.assert_allclose(phi, oracle(network, range(n), products, rows, edges), rtol=0, atol=1e-9)


def test_impossible_rows_are_clamped():
    """a -> b, b copies a; the row says otherwise. nu({a}) still uses P(b | a), nu({a, b}) the row's b."""
    copy = as_network([2, 2], [(), (0,)], [np.array([0.3, 0.7]), np.eye(2)])
    products = SumOfProducts(
        (np.ones((1, 2)), np.array([[1.0, 1.0], [0.0, 1.0]])), np.array([[0, 1]]), np.ones((1, 1)), np.zeros(1)
    )
    phi = forest_attributions(copy, (0, 1), products, np.array([[0, 1]]))
    np.testing.assert_allclose(phi[0, :, 0], [0.0 - 0.7, 1.0 - 0.0])


def random_tree(rng, n, deep):
    """Parents in preorder of a random tree; deep ones attach to a recent node."""
    parent = [-1] + [int(rng.integers(max(0, v - deep), v)) for v in range(1, n)]
    children = [[] for _ in range(n)]
    for v in range(n - 1, 0, -1):
        children[parent[v]].append(v)
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack.extend(children[order[-1]])
    place = {v: i for i, v in enumerate(order)}
    return [place[parent[v]] if parent[v] >= 0 else -1 for v in order]


def one_term(rng, parent, touched):
    """A binary network on a tree, one term on the touched features, one row; and what the twins need."""
    n = len(parent)
    tables = [rng.dirichlet([1.0, 1.0])] + [rng.dirichlet([1.0, 1.0], size=2).T for _ in range(n - 1)]
    network = as_network([2] * n, [(p,) if p >= 0 else () for p in parent], tables)
    vectors = [np.ones((1, 2))] * n
    terms = np.zeros((1, n), dtype=np.int32)
    for v in touched:
        vectors[v] = np.array([[1.0, 1.0], [[0.0, 1.0], [0.7, 0.2]][v % 2]])
        terms[0, v] = 1
    products = SumOfProducts(tuple(vectors), terms, np.ones((1, 1)), np.zeros(1))
    row = rng.integers(0, 2, size=n)
    closure = set()
    for v in touched:
        while v >= 0:
            closure.add(int(v))
            v = parent[v]
    functions = [vectors[v][terms[0, v]] for v in range(n)]
    up = {}
    for v in sorted(closure, reverse=True):
        inside = functions[v] * np.prod([up[c] for c in closure if parent[c] == v], axis=0)
        up[v] = inside @ tables[v]
    own = {v: functions[v][row[v]] for v in closure}
    message = {v: up[v][row[parent[v]]] if parent[v] >= 0 else up[v] for v in closure}
    return network, products, row, (sorted(closure), own, message)


@pytest.mark.parametrize(("n", "deep", "touched"), [(12, 12, 5), (25, 6, 4), (60, 60, 5), (40, 3, 3)])
def test_equals_jump_chain_and_recursion(n, deep, touched):
    rng = np.random.default_rng(n)
    parent = random_tree(rng, n, deep)
    network, products, row, seen = one_term(rng, parent, rng.choice(n, size=touched, replace=False))
    walked, recurred = jump_chain(parent, *seen), recursion(parent, *seen)
    phi = forest_attributions(network, tuple(range(n)), products, row[None])[0, :, 0]
    for v in range(n):
        assert phi[v] == pytest.approx(walked.get(v, 0.0), abs=1e-11)
        assert phi[v] == pytest.approx(recurred.get(v, 0.0), abs=1e-11)


@pytest.mark.parametrize("deep", [16, 2])
def test_large_trees_equal_the_recursion(deep):
    """Fewer points than would be exact: 300 features."""
    rng = np.random.default_rng(deep)
    n = 300
    parent = random_tree(rng, n, deep)
    network, products, row, seen = one_term(rng, parent, rng.choice(np.arange(100, n), size=6, replace=False))
    prepared = prepare_forest(network, tuple(range(n)), products, order_parents=own_order(network, range(n)))
    exact = max(prepared.groups.degree[0] // 2, prepared.groups.largest[0])
    assert len(prepared.clocks[0].points) < exact
    phi = prepared.attributions(row[None])[0, :, 0]
    recurred = recursion(parent, *seen)
    np.testing.assert_allclose(phi, [recurred.get(v, 0.0) for v in range(n)], rtol=0, atol=1e-12)


def star(n_leaves, rng):
    """A root and leaves of two types; the product of a function of every leaf."""
    types = [(Fraction(int(rng.integers(1, 9)), 10), Fraction(int(rng.integers(1, 9)), 10)) for _ in range(2)]
    functions = [(Fraction(1, 2), Fraction(1)), (Fraction(99, 100), Fraction(101, 100))]
    parent = [-1] + [0] * n_leaves
    tables = [np.array([0.4, 0.6])]
    kind = [(i % 2, i % 2) for i in range(n_leaves)]
    for c, _ in kind:
        p = np.array([float(types[c][0]), float(types[c][1])])
        tables.append(np.stack([1 - p, p]))
    network = as_network([2] * (n_leaves + 1), [(p,) if p >= 0 else () for p in parent], tables)
    return network, types, functions, kind


def test_star_with_200_leaves():
    """2^200 classes: given the root, leaves are a product game, whose Shapley values are integrals of polynomials."""
    rng = np.random.default_rng(0)
    n_leaves = 200
    network, types, functions, kind = star(n_leaves, rng)
    vectors = [np.ones((1, 2))] + [np.array([[1.0, 1.0], [float(g) for g in functions[f]]]) for _, f in kind]
    products = SumOfProducts(
        tuple(vectors), np.array([[0] + [1] * n_leaves], dtype=np.int32), np.ones((1, 1)), np.zeros(1)
    )
    row = np.array([1, *rng.integers(0, 2, size=n_leaves)])
    phi = forest_attributions(network, tuple(range(n_leaves + 1)), products, row[None])[0, :, 0]

    def expectation(leaf, root_state):
        c, f = kind[leaf]
        p = types[c][root_state]
        return (1 - p) * functions[f][0] + p * functions[f][1]

    own = [functions[kind[i][1]][row[i + 1]] for i in range(n_leaves)]
    mean = [expectation(i, 1) for i in range(n_leaves)]
    pairs = list(zip(own, mean, strict=True))

    def integral(missing):
        """Exact ∫ over t of the product of (t own + (1 - t) mean) over the other leaves."""
        polynomial, skipped = [Fraction(1)], False
        for o, m in pairs:
            if (o, m) == missing and not skipped:
                skipped = True
                continue
            longer = [Fraction(0)] * (len(polynomial) + 1)
            for k, c in enumerate(polynomial):
                longer[k] += c * m
                longer[k + 1] += c * (o - m)
            polynomial = longer
        return sum(c / (k + 1) for k, c in enumerate(polynomial))

    exact = {pair: float((pair[0] - pair[1]) * integral(pair)) for pair in set(pairs)}
    scale = max(abs(value) for value in exact.values())
    np.testing.assert_allclose(phi[1:], [exact[pair] for pair in pairs], rtol=0, atol=1e-9 * scale)
    at_root = [np.prod([float(expectation(i, s)) for i in range(n_leaves)]) for s in (0, 1)]
    assert phi[0] == pytest.approx(at_root[1] - (0.4 * at_root[0] + 0.6 * at_root[1]), abs=1e-9 * scale)


def balanced(n, rng):
    tables = [np.array([0.5, 0.5])]
    for _ in range(1, n):
        p = rng.uniform(0.05, 0.95, size=2)
        tables.append(np.stack([1 - p, p]))
    return as_network([2] * n, [((v - 1) // 2,) if v else () for v in range(n)], tables)


def large_problem(rng):
    network, feature_nodes, _ = random_forest_problem(rng, 30)
    cards = [network[0][v] for v in feature_nodes]
    products = random_products(rng, cards, 400, 3, most_touched=7)
    return as_network(*network), feature_nodes, products, random_codes(rng, cards, 300)


def test_a_pickle_gives_the_same_bits():
    rng = np.random.default_rng(5)
    network, feature_nodes, products, rows = large_problem(rng)
    prepared = prepare_forest(network, feature_nodes, products, order_parents=own_order(network, feature_nodes))
    one = prepared.attributions(rows)
    assert np.array_equal(one, pickle.loads(pickle.dumps(prepared)).attributions(rows))


def test_rows_do_not_depend_on_their_company():
    """A row gets the same bits alone, with others, twice, and in any order."""
    rng = np.random.default_rng(6)
    network, feature_nodes, products, rows = large_problem(rng)
    prepared = prepare_forest(network, feature_nodes, products, order_parents=own_order(network, feature_nodes))
    together = prepared.attributions(rows)
    assert np.array_equal(prepared.attributions(rows[7:8]), together[7:8])
    assert np.array_equal(prepared.attributions(rows[::-1]), together[::-1])
    assert np.array_equal(prepared.attributions(np.repeat(rows[:3], 2, axis=0)), np.repeat(together[:3], 2, axis=0))


def test_terms_that_see_nothing_and_no_rows():
    network = balanced(3, np.random.default_rng(0))
    constant = SumOfProducts((np.ones((1, 2)),) * 3, np.zeros((1, 3), dtype=np.int32), np.ones((1, 2)), np.zeros(2))
    assert np.array_equal(forest_attributions(network, (0, 1, 2), constant, np.zeros((4, 3), int)), np.zeros((4, 3, 2)))
    assert forest_attributions(network, (0, 1, 2), constant, np.zeros((0, 3), int)).shape == (0, 3, 2)


def test_many_states():
    """More than 256 states of a feature."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(300))
    q = rng.dirichlet(np.ones(2), size=300).T
    network = as_network([300, 2], [(), (0,)], [p, q])
    products = random_products(rng, [300, 2], 5, 1, real=True, most_touched=2)
    rows = np.array([[299, 0], [43, 1], [299, 1], [43, 0]])
    phi = forest_attributions(network, (0, 1), products, rows)
    expected = oracle(([300, 2], [(), (0,)], [p, q]), [0, 1], products, rows, [(0, 1)])
    np.testing.assert_allclose(phi, expected, rtol=0, atol=1e-9)


# --- when it applies ---------------------------------------------------------------------------------------------


def test_two_causes_are_not_a_forest():
    coin, flip = np.array([0.5, 0.5]), np.array([[0.9, 0.2], [0.1, 0.8]])
    chain = as_network([2] * 3, [(), (0,), (1,)], [coin, flip, flip])
    assert forest_obstacle(chain, (0, 1, 2), ((), (0,), (1,))) is None
    assert forest_obstacle(chain, (0, 2), ((), (0,))) is None  # what stands between is the business of conditioning.py
    found = forest_obstacle(chain, (0, 1, 2), ((), (), (0, 1)))
    assert found == "the causal graph is not a forest: x2 has 2 causes (x0, x1)"


def test_network_edges_beside_the_causal_forest():
    """a -> b -> c as causal graph, and a -> c in the network: c depends on more than its causal parent."""
    coin, flip = np.array([0.5, 0.5]), np.array([[0.9, 0.2], [0.1, 0.8]])
    network = as_network([2] * 3, [(), (0,), (0,)], [coin, flip, flip])
    found = forest_obstacle(network, (0, 1, 2), ((), (0,), (1,)))
    assert found == "x0 is a cause of x2 in the network, and not the one in the causal graph"


# --- the clock ---------------------------------------------------------------------------------------------------


def times(y, s, j):
    """K_s y^j = s / (s - j) (y^j - y^s), and -s y^s log(y) at j = s."""
    return s / (s - j) * (y**j - y**s) if j != s else -s * y**s * np.log(y)


@pytest.mark.parametrize("points", [2, 10, 33, 64])
def test_clock_is_exact_on_polynomials(points):
    """All degrees that the points determine."""
    sizes = tuple(s for s in (1, 2, 7, 20, 63) if s < points)
    clock = make_clock(points, sizes)
    y = clock.points
    for matrix, s in zip(clock.arrivals, sizes, strict=True):
        for j in range(points):
            np.testing.assert_allclose(y**j @ matrix, times(y, s, j), atol=2e-14)
    for j in range(1, 2 * points):
        assert np.sum(clock.weights * clock.points**j) == pytest.approx(1 / j, abs=1e-14)


@pytest.mark.parametrize("s", [300, 1500])
def test_few_points_are_enough_for_large_subtrees(s):
    """Bernstein polynomials, which all functions of a subtree are made of: K_s shifts their coefficients by one."""
    from scipy.stats import binom

    clock = make_clock(count_points(s, s), (s,))
    assert len(clock.points) < s
    y = clock.points
    for k in (0, 1, s // 7, s // 2, s - 1):
        found = binom.pmf(k, s - 1, 1 - y) @ clock.arrivals[0]
        np.testing.assert_allclose(found, binom.pmf(k + 1, s, 1 - y), atol=1e-12)
