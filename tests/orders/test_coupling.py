"""Coupling from the past: the compiled step beside its readable twin, what it rests on, and large orders."""

from copy import deepcopy
from math import ceil

import numpy as np
import pytest

from shap_asv.orders.kernels import redraw_times
from shap_asv.orders.sampling import _from_the_past, _links, _sequence, _widest
from tests.orders.enumerated import enumerated
from tests.orders.test_sampling import FALSE_ALARM, order_of, p_value


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


def test_a_longer_past_ends_in_the_numbers_of_the_short_one():
    order, rng = order_of("bent diamond"), np.random.default_rng(4)
    links, again = _links(order), deepcopy(rng)
    for _ in range(20):
        fresh, pieces, expected = deepcopy(rng), [], None
        while expected is None:
            sweeps = max(1, ceil(sum(map(len, pieces)) / 2))
            pieces.insert(0, fresh.random((sweeps, order.n_features)))
            bounds = _widest(links)
            for piece in pieces:
                redraw_times(bounds, piece, *links)
            expected = _sequence(bounds)
        assert _from_the_past(links, rng, again, 1)[0].tolist() == expected.tolist()


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
