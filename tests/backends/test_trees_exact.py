"""Trees without a network: attributions against all orders and the recursive expectation, written down apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shap_asv.backends.trees import cost
from shap_asv.backends.trees.attributor import prepare_trees
from shap_asv.orders import CausalOrder, restricted
from tests.backends.tree_problems import ensemble_of
from tests.oracles import tree_games as oracle
from tests.oracles.brute_force import topological_orders

N = 5
ORDERS = {
    "no edges": [],
    "levels": [(a, b) for a in (3, 1) for b in (0, 2, 4)],
    "chain": [(4, 2), (2, 0), (0, 1), (1, 3)],
    "forest": [(2, 0), (2, 4), (0, 1)],
    "star": [(3, 0), (3, 1), (3, 2), (3, 4)],
    "polytree": [(0, 2), (1, 2), (2, 4)],
    "zigzag": [(0, 1), (2, 1), (2, 3), (4, 3)],
    "diamond beside a feature": [(3, 1), (3, 0), (1, 4), (0, 4)],
    "dag": [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4)],
}


def order_of(edges, n=N):
    return CausalOrder.from_edges(edges, features=range(n))


@pytest.fixture(params=["tables", "long paths", "parts"])
def way(request, monkeypatch):
    """Every leaf by its table, or every leaf without one, or orders taken apart: the same numbers."""
    if request.param == "parts":
        monkeypatch.setattr(restricted, "FEW_IDEALS", 1)
    if request.param == "long paths":
        monkeypatch.setattr(cost, "TABLE_BITS", 0)
        monkeypatch.setattr(cost, "WIDE_TABLE_BITS", 0)
    return request.param


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("background", [False, True], ids=["covers", "rows"])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_all_orders(name, background, seed, way):
    rng = np.random.default_rng([seed, background])
    categorical, k = ((1,), (1,), ())[seed], (1, 2, 1)[seed]
    shape = {"k": k, "categorical": categorical, "zero_cover": seed == 2}
    trees = [oracle.random_tree(rng, N, depth, **shape) for depth in (0, 1, 4, 6)]
    rows = oracle.random_rows(rng, 4, N, categorical)
    ground = oracle.random_rows(rng, 7, N, categorical) if background else None
    ensemble = ensemble_of(trees, N, offset=0.25)
    found = prepare_trees(ensemble, order_of(ORDERS[name]), ground).attribute(rows)
    listed = topological_orders(N, ORDERS[name])
    for row, phi in zip(rows, found.phi, strict=True):
        np.testing.assert_allclose(phi, oracle.brute_force(trees, row, listed, None, ground), rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            found.base + phi.sum(axis=0), 0.25 + sum(oracle.output(tree, row) for tree in trees), rtol=0, atol=1e-12
        )
    np.testing.assert_allclose(found.base, 0.25 + oracle.value(trees, rows[0], (), ground), rtol=0, atol=1e-12)
    assert found.error is None


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(ORDERS)), st.booleans(), st.booleans())
def test_random_ensembles_of_depth_twelve(seed, name, background, long_paths):
    rng = np.random.default_rng(seed)
    trees = [oracle.random_tree(rng, N, 12, grow=0.7, zero_cover=bool(seed % 2), categorical=(seed % 5,))]
    rows = oracle.random_rows(rng, 2, N, (seed % 5,))
    ground = oracle.random_rows(rng, 5, N, (seed % 5,)) if background else None
    with pytest.MonkeyPatch.context() as patch:
        if long_paths:
            patch.setattr(cost, "TABLE_BITS", 2)
            patch.setattr(cost, "WIDE_TABLE_BITS", 2)
        found = prepare_trees(ensemble_of(trees, N), order_of(ORDERS[name]), ground).attribute(rows)
    listed = topological_orders(N, ORDERS[name])
    for row, phi in zip(rows, found.phi, strict=True):
        np.testing.assert_allclose(phi, oracle.brute_force(trees, row, listed, None, ground), rtol=0, atol=1e-12)


@pytest.mark.parametrize("background", [False, True], ids=["covers", "rows"])
def test_given_orders(background, way):
    """These prefixes are not closed under unions: {0} and {4} occur, {0, 4} does not."""
    rng = np.random.default_rng(5)
    trees = [oracle.random_tree(rng, N, 6) for _ in range(3)]
    rows = oracle.random_rows(rng, 5, N)
    ground = oracle.random_rows(rng, 6, N) if background else None
    orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 2, 1, 4, 3]]
    made = prepare_trees(ensemble_of(trees, N), background=ground, orders=np.array(orders))
    found = made.attribute(rows)
    for row, phi in zip(rows, found.phi, strict=True):
        np.testing.assert_allclose(phi, oracle.brute_force(trees, row, orders, None, ground), rtol=0, atol=1e-12)


def comb(n, rng):
    """A tree with one path through all n features (twice through the first) and a leaf at each split."""
    node = {"value": [3.0], "cover": 2.0}
    for j in [0, *range(n - 1, -1, -1)]:
        leaf = {"value": [float(rng.normal())], "cover": float(rng.integers(1, 9))}
        inner = {
            "column": j,
            "threshold": float(rng.normal()),
            "nan_left": True,
            "cover": leaf["cover"] + node["cover"],
        }
        node = {**inner, "left": node, "right": leaf} if rng.random() < 0.5 else {**inner, "left": leaf, "right": node}
    return node


LONG = {
    "levels": [(a, b) for a in range(6) for b in range(6, 14)],
    "forest": [(0, 5), (0, 6), (6, 7), (1, 8), (8, 9), (2, 10), (2, 11), (3, 12), (12, 13)],
    "dag": [(0, 5), (1, 5), (5, 6), (2, 7), (3, 7), (7, 8), (4, 9), (8, 10), (9, 10), (10, 11), (6, 12), (1, 13)],
}


@pytest.mark.parametrize("background", [False, True], ids=["covers", "rows"])
@pytest.mark.parametrize("name", LONG)
def test_paths_through_fourteen_features(name, background):
    n = 14
    rng = np.random.default_rng(7)
    tree = comb(n, rng)
    # rows near the end of the path, so that its long patterns count
    rows = np.array([aim(tree, n, skipped) for skipped in (None, 3, 9)])
    ground = np.array([aim(tree, n, skipped) for skipped in (0, 4, 5, 12)]) if background else None
    found = prepare_trees(ensemble_of([tree], n), order_of(LONG[name], n), ground).attribute(rows)
    parents = [[a for a, b in LONG[name] if b == v] for v in range(n)]
    for row, phi in zip(rows, found.phi[:, :, 0], strict=True):
        known = {}

        def nu(bits, row=row, known=known):
            if bits not in known:
                known[bits] = oracle.value([tree], row, {v for v in range(n) if bits >> v & 1}, ground)[0]
            return known[bits]

        np.testing.assert_allclose(phi, oracle.over_ideals(nu, n, parents), rtol=0, atol=1e-12)


def aim(tree, n, skipped):
    """A row that follows the longest path, except at one feature."""
    row, node = np.zeros(n), tree
    while "column" in node:
        deep_left = "column" in node["left"] or node["left"]["value"] == [3.0]
        j = node["column"]
        if deep_left != (j == skipped):
            row[j] = min(row[j], node["threshold"]) if row[j] else node["threshold"]
        else:
            row[j] = max(row[j], node["threshold"] + 1)
        node = node["left" if deep_left else "right"]
    return row


def renamed(tree, names):
    """The same tree over other columns."""
    if "value" in tree:
        return tree
    sides = {side: renamed(tree[side], names) for side in ("left", "right")}
    return {**tree, "column": names[tree["column"]], **sides}


def test_a_model_without_splits():
    ensemble = ensemble_of([{"value": [2.0, -1.0], "cover": 5.0}], 3)
    for background in (None, np.zeros((4, 3))):
        found = prepare_trees(ensemble, background=background).attribute(np.ones((2, 3)))
        assert found.base.tolist() == [2.0, -1.0]
        assert found.phi.shape == (2, 3, 2)
        assert not found.phi.any()


def test_float32_is_rounded_before_it_is_compared():
    threshold = float(np.float32(0.1))
    leaf = {"value": [0.0], "cover": 1.0}
    tree = {"column": 0, "threshold": threshold, "nan_left": False, "cover": 2.0, "left": leaf}
    tree["right"] = {"value": [1.0], "cover": 1.0}
    above = np.nextafter(threshold, 1)  # the same float32
    for dtype, answer in ((np.float32, -0.5), (np.float64, 0.5)):
        found = prepare_trees(ensemble_of([tree], 1, dtype=dtype)).attribute(np.array([[above]]))
        assert found.phi[0, 0, 0] == answer
