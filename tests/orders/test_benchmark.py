"""The benchmark of orders runs, at its smallest size."""

from benchmarks import orders


def test_quick_run(capsys):
    orders.main(["--quick"])
    shown = capsys.readouterr().out
    assert "child  3,368  15,452" in shown
    assert "asia  8  perfect" in shown
    assert "asia  8  mcmc" in shown
    assert "drawing 1,000 orders of child" in shown
