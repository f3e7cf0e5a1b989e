"""Leaf regions against a walk down each tree, one row and one node at a time."""

import itertools

import numpy as np
import pytest

from shap_asv.models.inputs import TableInputs
from shap_asv.models.trees.ensembles import FloatEnsemble, Splits, leaf_regions, state_regions


def ensemble_of(left, right, values, roots, offset, threshold=0.0, nan_left=False, dtype=np.float64):
    """Trees over one column; where regions are told the splits, nobody looks at thresholds."""
    n = len(left)
    column, cover = np.where(np.array(left) >= 0, 0, -1), np.ones(n)
    thresholds, nan = np.full(n, float(threshold)), np.full(n, nan_left)
    arrays = [np.array(x) for x in (values, roots, offset)]
    return FloatEnsemble(np.array(left), np.array(right), column, thresholds, nan, cover, *arrays, 1, dtype)


def random_trees(rng, cards, n_trees, depth, k, offset=0.0):
    """Binary trees with a random set of states going left at each node, the splits, and which node makes which."""
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
    trees = ensemble_of(left, right, values, roots, np.full(k, offset))
    return trees, Splits(np.array(features, dtype=np.int64), tuple(masks)), np.array(split)


def walk(trees, splits, split, row):
    total = trees.offset.copy()
    for at in trees.roots:
        while trees.left[at] >= 0:
            s = split[at]
            at = trees.left[at] if splits.goes_left[s][row[splits.feature[s]]] else trees.right[at]
        total += trees.values[at]
    return total


@pytest.mark.parametrize("seed", range(12))
def test_regions_reproduce_every_state(seed):
    rng = np.random.default_rng(seed)
    cards = tuple(int(c) for c in rng.integers(1, 5, size=rng.integers(1, 5)))
    n_trees, k, offset = int(rng.integers(1, 8)), int(rng.integers(1, 4)), float(rng.normal())
    trees, splits, split = random_trees(rng, cards, n_trees, depth=6, k=k, offset=offset)
    products = leaf_regions(trees, splits, split, cards)
    rows = np.array(list(itertools.product(*map(range, cards))))
    expected = np.array([walk(trees, splits, split, row) for row in rows])
    np.testing.assert_allclose(products.evaluate(rows), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_regions_are_reachable_distinct_and_use_every_vector(seed):
    rng = np.random.default_rng(seed)
    cards = (2, 3, 4)
    products = leaf_regions(*random_trees(rng, cards, n_trees=6, depth=7, k=2), cards)
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
    trees = ensemble_of([1, -1, -1], [2, -1, -1], [[0.0], [1.0], [2.0]], [0], [0.0])
    products = leaf_regions(trees, splits, np.zeros(3, dtype=int), (100,))
    codes = np.arange(100)[:, None]
    np.testing.assert_array_equal(products.evaluate(codes)[:, 0], np.where(np.arange(100) % 3 == 0, 1.0, 2.0))


def test_a_single_leaf_is_a_constant():
    trees = ensemble_of([-1], [-1], [[3.0]], [0], [1.0])
    products = leaf_regions(trees, Splits(np.zeros(0, dtype=np.int64), ()), np.zeros(1, dtype=int), (2, 2))
    assert products.n_terms == 0
    assert products.offset.tolist() == [4.0]


def states_left(table, **split):
    """Which states of a column go left at a single split."""
    stump = ensemble_of([1, -1, -1], [2, -1, -1], [[0.0], [1.0], [0.0]], [0], [0.0], **split)
    products = state_regions(stump, TableInputs(np.array([0]), (np.array(table),)), (len(table),), "a stump")
    return products.evaluate(np.arange(len(table))[:, None]).ravel().tolist()


def test_a_value_on_the_threshold_goes_left_and_nan_where_it_is_told():
    table = [0.5, 1.0, np.nextafter(1, 2), np.nan]
    assert states_left(table, threshold=1.0, nan_left=True) == [1, 1, 0, 1]
    assert states_left(table, threshold=1.0, nan_left=False) == [1, 1, 0, 0]


def test_rounding_to_float32_decides_before_the_comparison():
    table = [0.0, 16777217.0, 3e7]  # the second one rounds to 16777216 in float32
    assert states_left(table, threshold=16777216.0, dtype=np.float32) == [1, 1, 0]
    assert states_left(table, threshold=16777216.0, dtype=np.float64) == [1, 0, 0]
