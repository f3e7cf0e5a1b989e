"""The benchmark runs, and both of its sides agree (it refuses to report otherwise)."""

import numpy as np

from benchmarks import inference


def test_small_run():
    comparisons = list(inference.compare("asia", n_queries=300, n_loop=10))
    assert [(c.shape, c.ancestral) for c in comparisons] == [
        ("grid", True),
        ("pairs", True),
        ("grid", False),
        ("pairs", False),
    ]
    for comparison in comparisons:
        assert comparison.loop > 0
        assert comparison.error < 1e-9
        assert f"{comparison.n_queries} queries" in str(comparison)


def test_pairs_leave_something_to_ask():
    evidence = np.array([[0, -1], [1, -1], [0, 0]])
    vectors = [np.array([[1.0, 1.0], [1.0, 0.0]])] * 2
    terms = np.array([[1, 1]])
    assert inference.open_pairs(evidence, vectors, terms, seed=0) == [(0, 0)]
