"""The benchmark runs, and both of its sides agree (it refuses to report otherwise)."""

from benchmarks import inference


def test_small_run(capsys):
    assert inference.compare("asia", n_queries=300, n_loop=10) > 0
    printed = capsys.readouterr().out
    assert printed.count("asia") == 2
    assert "ancestral evidence" in printed
    assert "arbitrary evidence" in printed
