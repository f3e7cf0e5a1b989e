"""The benchmark of orders runs, at its smallest size."""

from benchmarks import orders


def test_quick_run(capsys):
    orders.main(["--quick"])
    shown = capsys.readouterr().out
    assert "e = 741,015,475,200" in shown
    assert "child    3,368     15,452" in shown
    assert "perfect:" in shown
    assert "mcmc:" in shown
