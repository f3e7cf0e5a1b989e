"""Coupling from the past: the compiled step beside its readable twin, what it rests on, and large orders."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.graphs import network_graph
from benchmarks.uniformity import position_scores, reinsertion_p_values
from shap_asv.orders import CausalOrder, sampling
from shap_asv.orders.kernels import redraw_times
from shap_asv.orders.sampling import _links, _sequence, _widest
from tests.orders.enumerated import enumerated
from tests.orders.test_sampling import FALSE_ALARM, order_of, p_value, random_kahn


def twin_sweeps(times, order, uniforms):
    """Features in turn, each between its causes and its effects; dicts by feature."""
    for row in uniforms:
        for v, u in zip(order.topological_indices, row, strict=True):
            after = max([times[p] for p in order.parents[v]], default=0.0)
            before = min([times[c] for c in order.children[v]], default=1.0)
            times[v] = max(after, min(before, (1.0 - u) * after + u * before))


@pytest.mark.parametrize("seed", range(4))
def test_every_copy_stays_between_the_two(seed):
    """The two are those of the twin; a copy from anywhere stays between them; once they fix an order, it has it."""
    order = enumerated("dag", seed + 80, largest=12).order
    n, links = order.n_features, _links(order)
    rng = np.random.default_rng(seed)
    bounds, copies = _widest(links), [dict.fromkeys(range(n), 0.0), dict.fromkeys(range(n), 1.0)]
    for start in order.sample_topological_orders(10, seed=seed):
        copies.append(dict(zip(start.tolist(), np.sort(rng.random(n)).tolist(), strict=True)))
    for _ in range(100):
        uniforms = rng.random((2, n))
        redraw_times(bounds, uniforms, *links)
        for times in copies:
            twin_sweeps(times, order, uniforms)
        along = np.array([[times[v] for v in order.topological_indices] for times in copies])
        assert (bounds == along[:2].T).all()
        assert (bounds[:, 0] <= along).all()
        assert (along <= bounds[:, 1]).all()
        sequence = _sequence(bounds)
        if sequence is not None:
            assert (np.diff(along[:, sequence]) >= 0).all()
    assert _sequence(bounds) is not None


def test_fresh_randomness_after_a_failure_would_be_caught():
    """Forgetting the draws that failed prefers orders that are found soon."""
    order, rng = order_of("bent diamond"), np.random.default_rng(4)
    links, start = _links(order), np.array(order.topological_indices)
    found = []
    while len(found) < 3000:
        bounds = _widest(links)
        redraw_times(bounds, rng.random((4, 6)), *links)
        if (sequence := _sequence(bounds)) is not None:
            found.append(start[sequence])
    assert p_value("bent diamond", np.array(found)) < FALSE_ALARM


@pytest.mark.parametrize(("network", "method", "n"), [("child", "ideals", 8000), ("alarm", "perfect", 4000)])
def test_networks_are_drawn_with_the_weights_of_their_lattices(network, method, n):
    """Every feature at every position: within 5 standard errors, and all together as far off as they should."""
    order = CausalOrder.from_graph(network_graph(network))
    z = position_scores(order, order.sample_topological_orders(n, seed=9, method=method))
    assert len(z) > 100
    assert abs(z).max() < 5
    assert 0.8 < (z**2).mean() < 1.2


def test_features_of_a_large_network_stand_anywhere_between_causes_and_effects():
    order = CausalOrder.from_graph(network_graph("hailfinder"))
    draws = order.sample_topological_orders(1000, seed=21)
    wrong = random_kahn(order, 200, np.random.default_rng(0))
    threshold = FALSE_ALARM / order.n_features
    assert reinsertion_p_values(order, draws, np.random.default_rng(0)).min() > threshold
    assert reinsertion_p_values(order, wrong, np.random.default_rng(0)).min() < threshold


def test_what_a_draw_costs_follows_the_longest_chain():
    star, path = ([(0, v) for v in range(1, 9)], pairwise(range(9)))
    assert sampling.steps_from_the_past(CausalOrder.from_edges(star)) == 9 * (4 * 4 + 100)
    assert sampling.steps_from_the_past(CausalOrder.from_edges(path)) == 9 * (4 * 81 + 100)
