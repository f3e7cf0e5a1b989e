"""The benchmark runs, and both of its sides agree (it refuses to report otherwise)."""

from benchmarks import inference


def test_small_run():
    comparisons = list(inference.compare("asia", n_queries=300, n_loop=10))
    assert [comparison.ancestral for comparison in comparisons] == [True, False]
    for comparison in comparisons:
        assert comparison.loop > 0
        assert comparison.error < 1e-9
        assert f"{comparison.n_queries} queries" in str(comparison)
