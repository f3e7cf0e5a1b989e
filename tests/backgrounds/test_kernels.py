"""The compiled numbering against its plain twin."""

import numpy as np
import pytest

from shap_asv.backgrounds.discrete.inference import evidence_kernel


@pytest.mark.parametrize("bound", [7, 5000, 2**62])
def test_numbering_in_the_order_of_first_meeting(bound):
    rng = np.random.default_rng(0)
    keys = np.concatenate([rng.integers(0, bound, 400), rng.integers(0, min(bound, 50), 400)])
    ids, chosen = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
    count = evidence_kernel.number_keys(keys, bound, ids, chosen)
    met = {}
    expected = [met.setdefault(int(key), len(met)) for key in keys]
    assert ids.tolist() == expected
    assert count == len(met)
    assert keys[chosen[:count]].tolist() == list(met)


def test_hashing_survives_collisions():
    """Keys that agree in their high bits after hashing, and a table that is half full."""
    keys = np.arange(0, 2**40, 2**28, dtype=np.int64)
    keys = np.concatenate([keys, keys[::-1]])
    ids, chosen = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
    count = evidence_kernel.number_keys(keys, 2**41, ids, chosen)
    assert count == len(keys) // 2
    np.testing.assert_array_equal(keys[chosen[:count]][ids], keys)


def test_evidence_with_many_children_does_not_overflow():
    """A root with 30 children of thousands of distinct values each: mixed keys would need hundreds of bits."""
    rng = np.random.default_rng(1)
    n_children, n_evidence = 30, 3000
    codes = np.vstack([rng.integers(-1, 30_000, (n_children, n_evidence)), np.zeros((1, n_evidence))]).astype(np.int16)
    codes[:, n_evidence // 2 :] = codes[:, : n_evidence // 2]
    nodes = np.arange(n_children + 1)
    cards = np.array([30_000] * n_children + [2])
    starts = np.array([0] * (n_children + 1) + [n_children])
    ids, chosen, counts = evidence_kernel.number_evidence(codes, nodes, cards, starts, np.arange(n_children))
    assert counts[-1] == len(np.unique(codes, axis=1).T)
    np.testing.assert_array_equal(codes[:, chosen[-1, : counts[-1]]][:, ids[-1]], codes)
