"""The benchmark of orders runs, at its smallest size."""

import numpy as np

from benchmarks import orders
from benchmarks.bounding_list import draw_by_bounding_list
from tests.orders.test_sampling import FALSE_ALARM, order_of, p_value


def test_quick_run(capsys):
    orders.main(["--quick"])
    shown = capsys.readouterr().out
    assert "child  3,368  15,452" in shown
    assert "asia  8  4  " in shown
    assert "asia  2,000  28  " in shown
    assert "drawing 1,000 orders of child" in shown


def test_the_sampler_we_measure_against_is_uniform():
    draws = draw_by_bounding_list(order_of("crown"), 6000, np.random.default_rng(0))
    assert p_value("crown", draws) > FALSE_ALARM
