"""Leaf regions against a walk down each tree, one row and one node at a time."""

import itertools

import numpy as np
import pytest

from shap_asv.models.inputs import TableInputs
from shap_asv.models.regions import FlatTrees, Splits, Thresholds, leaf_regions, merge_terms, threshold_splits


def random_trees(rng, cards, n_trees, depth, k):
    """Binary trees with a random set of states going left at each node."""
    left, right, split, values, roots, features, masks = [], [], [], [], [], [], []

    def grow(level):
        at = len(left)
        left.append(-1), right.append(-1), split.append(0), values.append(rng.normal(size=k))
        if level and rng.random() < 0.85:
            v = int(rng.integers(len(cards)))
            features.append(v)
            masks.append(rng.random(cards[v]) < 0.5)
            split[at] = len(masks) - 1
            left[at] = grow(level - 1)
            right[at] = grow(level - 1)
        return at

    for _ in range(n_trees):
        roots.append(grow(depth))
    flat = FlatTrees(*(np.array(x) for x in (left, right, split, values, roots)))
    return flat, Splits(np.array(features, dtype=np.int64), tuple(masks))


def walk(trees, splits, row):
    total = np.zeros(trees.values.shape[1])
    for at in trees.roots:
        while trees.left[at] >= 0:
            s = trees.split[at]
            at = trees.left[at] if splits.goes_left[s][row[splits.feature[s]]] else trees.right[at]
        total += trees.values[at]
    return total


@pytest.mark.parametrize("seed", range(12))
def test_regions_reproduce_every_state(seed):
    rng = np.random.default_rng(seed)
    cards = tuple(int(c) for c in rng.integers(1, 5, size=rng.integers(1, 5)))
    trees, splits = random_trees(rng, cards, n_trees=int(rng.integers(1, 8)), depth=6, k=int(rng.integers(1, 4)))
    offset = rng.normal(size=trees.values.shape[1])
    products = leaf_regions(trees, splits, cards, offset)
    rows = np.array(list(itertools.product(*map(range, cards))))
    expected = offset + np.array([walk(trees, splits, row) for row in rows])
    np.testing.assert_allclose(products.evaluate(rows), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_regions_are_reachable_distinct_and_use_every_vector(seed):
    rng = np.random.default_rng(seed)
    cards = (2, 3, 4)
    trees, splits = random_trees(rng, cards, n_trees=6, depth=7, k=2)
    products = leaf_regions(trees, splits, cards, np.zeros(2))
    assert len(np.unique(products.terms, axis=0)) == products.n_terms
    assert products.terms.any(axis=1).all()  # what constrains nothing went to the offset
    assert products.coefficients.any(axis=1).all()
    for v, vectors in enumerate(products.vectors):
        assert (vectors[0] == 1).all()
        assert set(np.unique(vectors)) <= {0.0, 1.0}
        assert vectors.any(axis=1).all()  # an empty state set would be a region that nothing reaches
        assert len(np.unique(vectors, axis=0)) == len(vectors)
        assert set(products.terms[:, v]) | {0} == set(range(len(vectors)))


def test_more_than_sixty_four_states():
    splits = Splits(np.array([0]), (np.arange(100) % 3 == 0,))
    trees = FlatTrees(*(np.array(x) for x in ([1, -1, -1], [2, -1, -1], [0, 0, 0], [[0.0], [1.0], [2.0]], [0])))
    products = leaf_regions(trees, splits, (100,), np.zeros(1))
    codes = np.arange(100)[:, None]
    np.testing.assert_array_equal(products.evaluate(codes)[:, 0], np.where(np.arange(100) % 3 == 0, 1.0, 2.0))


def test_a_single_leaf_is_a_constant():
    trees = FlatTrees(*(np.array(x) for x in ([-1], [-1], [0], [[3.0]], [0])))
    products = leaf_regions(trees, Splits(np.zeros(0, dtype=np.int64), ()), (2, 2), np.array([1.0]))
    assert products.n_terms == 0
    assert products.offset.tolist() == [4.0]


def columns_of(*tables):
    return TableInputs(np.arange(len(tables)), tuple(np.array(table, dtype=float) for table in tables))


def test_a_value_on_the_threshold_goes_left_and_nan_where_it_is_told():
    nodes = Thresholds(np.array([0, 0]), np.array([1.0, 1.0]), np.array([True, False]))
    splits, split = threshold_splits(nodes, np.array([True, True]), columns_of([0.5, 1.0, np.nextafter(1, 2), np.nan]))
    assert splits.goes_left[split[0]].tolist() == [True, True, False, True]
    assert splits.goes_left[split[1]].tolist() == [True, True, False, False]


def test_rounding_to_float32_decides_before_the_comparison():
    value = 16777217.0  # rounds to 16777216 in float32
    nodes = Thresholds(np.array([0]), np.array([16777216.0]), np.array([False]))
    for dtype, left in ((np.float32, True), (np.float64, False)):
        splits, split = threshold_splits(nodes, np.array([True]), columns_of([value]), dtype)
        assert splits.goes_left[split[0]].tolist() == [left]


def test_equal_rows_are_added_up_in_order_of_occurrence():
    rng = np.random.default_rng(0)
    terms = rng.integers(3, size=(200, 4))
    coefficients = rng.normal(size=(200, 2))
    merged, sums = merge_terms(terms, coefficients)
    expected = {}
    for row, coefficient in zip(map(tuple, terms), coefficients, strict=True):
        expected[row] = expected.get(row, 0) + coefficient
    assert [tuple(row) for row in merged] == list(expected)
    np.testing.assert_allclose(sums, list(expected.values()), atol=1e-12)
