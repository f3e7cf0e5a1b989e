"""Coupling from the past: the compiled step beside its readable twin, what it rests on, and large orders."""

import itertools

import numpy as np
import pytest
from scipy import stats

from benchmarks.graphs import network_graph
from benchmarks.uniformity import position_scores, reinsertion_p_values
from shap_asv.orders import CausalOrder
from shap_asv.orders.sampling import (
    STEPS_PER_CALL,
    _from_the_past,
    _links,
    _sequence,
    _widest,
    calls,
    steps_from_the_past,
)
from shap_asv.orders.sampling_kernels import fill_words, redraw_times
from tests.orders.enumerated import enumerated
from tests.orders.test_sampling import FALSE_ALARM, GRAPHS, order_of, p_value, random_kahn

MASK = 2**64 - 1


def twin_words(state):
    """xoshiro256++ on Python integers."""
    s = [int(word) for word in state]

    def rotate(x, k):
        return (x << k | x >> (64 - k)) & MASK

    while True:
        yield (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)


def state_of(seed):
    return np.random.default_rng(seed).integers(1, 2**64, size=4, dtype=np.uint64)


def test_random_words():
    words = np.empty(3000, dtype=np.uint64)
    fill_words(state_of(0), words)
    assert words.tolist() == list(itertools.islice(twin_words(state_of(0)), 3000))
    # the published first outputs for the state 1, 2, 3, 4
    fill_words(np.arange(1, 5, dtype=np.uint64), words[:3])
    assert words[:3].tolist() == [41943041, 58720359, 3588806011781223]


def twin_sweeps(times, order, words, sweeps):
    """Features in turn, each between its causes and its effects; dicts by feature."""
    for _ in range(sweeps):
        for v in order.topological_indices:
            u = (next(words) >> 11) / 2**53
            after = max([times[p] for p in order.parents[v]], default=0.0)
            before = min([times[c] for c in order.children[v]], default=1.0)
            times[v] = max(after, min(before, (1.0 - u) * after + u * before))


@pytest.mark.parametrize("seed", range(6))
def test_redrawn_times_equal_their_twin(seed):
    order = enumerated(["dag", "polytree", "forest"][seed % 3], seed + 50, largest=12).order
    n = order.n_features
    bounds = _widest(_links(order))
    redraw_times(bounds, *_links(order), state_of(seed), 7)
    for side, begin in enumerate((0.0, 1.0)):
        times = dict.fromkeys(range(n), begin)
        twin_sweeps(times, order, twin_words(state_of(seed)), 7)
        assert bounds[:, side].tolist() == [times[v] for v in order.topological_indices]


@pytest.mark.parametrize("seed", range(6))
def test_every_copy_stays_between_the_two(seed):
    """Wherever a copy starts, the same random numbers keep it between the bounds; once they fix an order, it has it."""
    order = enumerated("dag", seed + 80, largest=12).order
    n, links = order.n_features, _links(order)
    rng = np.random.default_rng(seed)
    bounds, copies = _widest(links), []
    for start in order.sample_topological_orders(20, seed=seed):
        times = np.empty(n)
        times[start] = np.sort(rng.random(n))
        copies.append(dict(enumerate(times.tolist())))
    state, words = state_of(seed), [twin_words(state_of(seed)) for _ in copies]
    for _ in range(200):
        redraw_times(bounds, *links, state, 1)
        for times, mine in zip(copies, words, strict=True):
            twin_sweeps(times, order, mine, 1)
            along = np.array([times[v] for v in order.topological_indices])
            assert (bounds[:, 0] <= along).all()
            assert (along <= bounds[:, 1]).all()
            sequence = _sequence(bounds)
            if sequence is not None:
                assert (np.diff(along[sequence]) >= 0).all()
    assert _sequence(bounds) is not None


def test_overlapping_bounds_leave_the_order_open():
    assert _sequence(np.array([[0.1, 0.2], [0.3, 0.4]])).tolist() == [0, 1]
    assert _sequence(np.array([[0.3, 0.4], [0.1, 0.2]])).tolist() == [1, 0]
    assert _sequence(np.array([[0.1, 0.3], [0.3, 0.4]])) is None
    assert _sequence(np.array([[0.1, 0.5], [0.2, 0.3]])) is None
    # times that floats cannot tell apart: the numbers follow a topological order
    assert _sequence(np.array([[0.2, 0.2], [0.2, 0.2], [0.1, 0.1]])).tolist() == [2, 0, 1]


@pytest.mark.parametrize("name", ["crown", "bent diamond", "zigzag"])
@pytest.mark.parametrize("sweeps", [1, 60])
def test_the_length_of_the_past_does_not_matter(name, sweeps):
    """Too short a past is made longer, and what was random in it is used again: draws are uniform all the same."""
    order = order_of(name)
    links, state, start = _links(order), state_of(4), np.array(order.topological_indices)
    found = [_from_the_past(links, state, sweeps) for _ in range(4000)]
    assert p_value(name, start[np.array([sequence for sequence, _ in found])]) > FALSE_ALARM
    enough = np.mean([enough for _, enough in found])
    assert enough < 0.01 if sweeps == 1 else enough > 0.9


def test_fresh_randomness_after_a_failure_would_be_caught():
    """Forgetting the draws that failed prefers orders that are found soon."""
    order = order_of("bent diamond")
    links, state, start = _links(order), state_of(4), np.array(order.topological_indices)
    found = []
    while len(found) < 3000:
        bounds = _widest(links)
        redraw_times(bounds, *links, state, 4)
        if (sequence := _sequence(bounds)) is not None:
            found.append(start[sequence])
    assert p_value("bent diamond", np.array(found)) < FALSE_ALARM


def test_alarm_is_drawn_with_the_weights_of_its_lattice():
    """Every feature at every position: within 5 standard errors, and all together as far off as they should."""
    order = CausalOrder.from_graph(network_graph("alarm"))
    z = position_scores(order, order.sample_topological_orders(8000, seed=9, method="perfect"))
    assert len(z) > 300
    assert abs(z).max() < 5
    assert 0.85 < (z**2).mean() < 1.15


@pytest.mark.parametrize(("network", "n"), [("hailfinder", 2000), ("andes", 100)])
def test_features_of_large_networks_stand_anywhere_between_causes_and_effects(network, n):
    order = CausalOrder.from_graph(network_graph(network))
    draws = order.sample_topological_orders(n, seed=21)
    assert reinsertion_p_values(order, draws, np.random.default_rng(0)).min() > FALSE_ALARM / order.n_features


def test_random_kahn_would_be_caught_on_a_large_network():
    order = CausalOrder.from_graph(network_graph("hailfinder"))
    wrong = random_kahn(order, 200, np.random.default_rng(0))
    assert reinsertion_p_values(order, wrong, np.random.default_rng(0)).min() < FALSE_ALARM / order.n_features


def test_draws_are_independent_of_one_another():
    """Successive draws of the crown, as pairs: each pair of orders equally often."""
    order = order_of("crown")
    draws = order.sample_topological_orders(20_001, seed=5, method="perfect")
    edges, n = GRAPHS["crown"]
    first = (draws[:, 0] * n + draws[:, -1]).tolist()
    kinds = sorted(set(first))
    counts = np.zeros((len(kinds), len(kinds)))
    for one, two in itertools.pairwise(first):
        counts[kinds.index(one), kinds.index(two)] += 1
    assert stats.chi2_contingency(counts).pvalue > FALSE_ALARM
    assert len(edges) == n


def test_what_a_draw_costs_follows_the_longest_chain():
    star, path = (
        CausalOrder.from_edges(edges) for edges in ([(0, v) for v in range(1, 9)], itertools.pairwise(range(9)))
    )
    assert steps_from_the_past(star) == 9 * (4 * 4 + 100)
    assert steps_from_the_past(path) == 9 * (4 * 81 + 100)


@pytest.mark.parametrize(("rounds", "steps"), [(7, 1), (10_000, 30_000), (3, 10 * STEPS_PER_CALL), (0, 5)])
def test_compiled_calls_are_all_rounds_and_none_is_long(rounds, steps):
    """Python can be interrupted between two of them."""
    made = list(calls(rounds, steps))
    assert sum(made) == rounds
    assert all(1 <= own <= max(1, STEPS_PER_CALL // steps) for own in made)
