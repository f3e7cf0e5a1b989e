"""The compiled chain beside its readable twin, and the theory it rests on."""

import itertools

import numpy as np
import pytest

from shap_asv.orders import CausalOrder
from shap_asv.orders.topological.chains import (
    STEPS_PER_CALL,
    _numbered,
    alias_table,
    calls,
    mixing_steps,
    position_weights,
)
from shap_asv.orders.topological.chains_kernel import BATCH, fill_words, swap_steps
from tests.oracles.brute_force import topological_orders
from tests.orders.enumerated import enumerated

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


@pytest.mark.parametrize("seed", range(5))
def test_swap_steps_equal_their_twin(seed):
    order = enumerated("dag", seed, largest=12).order
    n = order.n_features
    if n == 1:
        order, n = CausalOrder.from_edges([(0, 1)], features=range(4)), 4
    _, precedes = _numbered(order)
    keep, other = alias_table(position_weights(n))
    sequence = np.arange(n, dtype=np.int32)
    steps = BATCH + 100
    swap_steps(sequence, precedes, keep, other, state_of(seed), steps)
    twin = list(range(n))
    for word in itertools.islice(twin_words(state_of(seed)), steps):
        point = (word >> 11) * ((n - 1) / 2**53)
        slot = int(point)
        i = slot if point - slot < keep[slot] else other[slot]
        if word & 1 and not precedes[twin[i], twin[i + 1]]:
            twin[i], twin[i + 1] = twin[i + 1], twin[i]
    assert sequence.tolist() == twin


@pytest.mark.parametrize("edges", [[(0, 2), (1, 2), (1, 3)], [(0, 1)], []])
@pytest.mark.parametrize("epsilon", [0.3, 0.01])
def test_mixing_steps_are_enough(edges, epsilon):
    """The exact distribution of the chain after that many steps is within epsilon of uniform, whatever the start."""
    n = 4
    orders = topological_orders(n, edges)
    place = {order: k for k, order in enumerate(orders)}
    allowed = set(orders)
    transition = np.zeros((len(orders), len(orders)))
    weight = position_weights(n)
    assert weight.tolist() == [3, 4, 3]
    for order in orders:
        for p in range(n - 1):
            swapped = (*order[:p], order[p + 1], order[p], *order[p + 2 :])
            other = swapped if swapped in allowed else order
            transition[place[order], place[order]] += weight[p] / weight.sum() / 2
            transition[place[order], place[other]] += weight[p] / weight.sum() / 2
    after = np.linalg.matrix_power(transition, mixing_steps(n, epsilon))
    distance = abs(after - 1 / len(orders)).sum(axis=1).max() / 2
    assert distance <= epsilon


def test_alias_table():
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 100):
        weights = rng.integers(1, 1000, size=size)
        keep, other = alias_table(weights)
        chance = keep / size
        np.add.at(chance, other, (1 - keep) / size)
        np.testing.assert_allclose(chance, weights / weights.sum(), atol=1e-14)


@pytest.mark.parametrize(("rounds", "steps"), [(7, 1), (10_000, 30_000), (3, 10 * STEPS_PER_CALL), (0, 5)])
def test_compiled_calls_are_all_rounds_and_none_is_long(rounds, steps):
    """Python can be interrupted between two of them."""
    made = list(calls(rounds, steps))
    assert sum(made) == rounds
    assert all(1 <= own <= max(1, STEPS_PER_CALL // steps) for own in made)
