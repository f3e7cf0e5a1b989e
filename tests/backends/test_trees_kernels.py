"""The compiled parts of the tree algorithm against readable twins."""

import numpy as np
import pytest

from shap_asv.backends.trees.leaves import Grounds, code_ensemble, find_leaves
from tests.backends.tree_problems import ensemble_of
from tests.oracles import tree_games as oracle

N = 6


@pytest.mark.parametrize("n_rows", [1, 64, 200])
def test_counts_of_background_rows(n_rows, monkeypatch):
    """F(D - B) of every leaf and every B, several blocks of rows, NaN and categories among them."""
    monkeypatch.setattr("shap_asv.backends.trees.leaves.BLOCK", 90)
    rng = np.random.default_rng(n_rows)
    trees = [oracle.random_tree(rng, N, 6, categorical=(2,)) for _ in range(3)]
    coding = code_ensemble(ensemble_of(trees, N))
    leaves, _ = find_leaves(coding, np.arange(N))
    rows = oracle.random_rows(rng, n_rows, N, (2,), missing=0.2)
    codes = coding.codes(rows)
    grounds = Grounds(codes, coding.nan_code, np.arange(N) == 2)
    lengths = np.diff(leaves.start)
    at = np.concatenate([[0], np.cumsum(1 << lengths)])
    outside = np.empty(at[-1])
    grounds.count_outside(leaves, (0, len(lengths)), at, outside)
    for leaf in range(len(lengths)):
        entries = range(leaves.start[leaf], leaves.start[leaf + 1])
        holds = np.array([satisfies(leaves, e, codes[leaves.feature[e]]) for e in entries])
        for inside in range(1 << lengths[leaf]):
            needed = [j for j in range(lengths[leaf]) if not inside >> j & 1]
            assert outside[at[leaf] + inside] == pytest.approx(holds[needed].all(axis=0).mean(), abs=1e-15)


def satisfies(leaves, entry, codes):
    if leaves.offset[entry] >= 0:
        return leaves.allowed[leaves.offset[entry] + codes]
    inside = (codes >= leaves.low[entry]) & (codes <= leaves.high[entry])
    return inside | (leaves.nan[entry] & (codes == leaves.nan_code[leaves.feature[entry]]))


def test_paths_are_the_ways_through_the_trees():
    """Each row satisfies all conditions of exactly one leaf per tree, the one it reaches."""
    rng = np.random.default_rng(0)
    trees = [oracle.random_tree(rng, N, 8, categorical=(0, 5)) for _ in range(4)]
    coding = code_ensemble(ensemble_of(trees, N))
    leaves, constant = find_leaves(coding, np.arange(N))
    rows = oracle.random_rows(rng, 50, N, (0, 5), missing=0.2)
    codes = coding.codes(rows)
    total = np.zeros(len(rows)) + constant
    reached = np.zeros(len(rows))
    for leaf, value in enumerate(leaves.values[:, 0]):
        entries = range(leaves.start[leaf], leaves.start[leaf + 1])
        inside = np.array([satisfies(leaves, e, codes[leaves.feature[e]]) for e in entries]).all(axis=0)
        total += value * inside
        reached += inside
    np.testing.assert_allclose(total, [sum(oracle.output(tree, row)[0] for tree in trees) for row in rows], atol=1e-12)
    assert (reached <= len(trees)).all()
