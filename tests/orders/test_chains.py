"""The compiled chains beside their readable twins, and the theory they rest on."""

import itertools

import numpy as np
import pytest

from shap_asv.orders import CausalOrder
from shap_asv.orders.topological.chains import _fresh_bound, _numbered, alias_table, mixing_steps, position_weights
from shap_asv.orders.topological.chains_kernel import BATCH, bounded_steps, fill_words, steps_to_forget, swap_steps
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


def twin_halves(state):
    for word in twin_words(state):
        yield word & 0xFFFFFFFF
        yield word >> 32


def twin_bounded(sequence, bound, precedes, moves):
    """One step at a time: the sequence and the list of at-or-before positions, None where the list is empty."""
    n = len(sequence)
    for position, coin in moves:
        a, b = bound[position], bound[position + 1]
        u, v = sequence[position], sequence[position + 1]
        if (not coin if u == b else coin) and not precedes[u][v]:
            sequence[position], sequence[position + 1] = v, u
        if coin and (a is None or b is None or not precedes[a][b]):
            bound[position], bound[position + 1] = b, a
        if bound[n - 1] is None:
            bound[n - 1] = sum(item is not None for item in bound)


def moves_of(halves, n, steps):
    return [((half >> 1) * (n - 1) >> 31, bool(half & 1)) for half in itertools.islice(halves, steps)]


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


@pytest.mark.parametrize("seed", range(8))
def test_bounded_steps_equal_their_twin(seed):
    order = enumerated(["dag", "polytree"][seed % 2], seed + 50, largest=10).order
    n = max(order.n_features, 3)
    if order.n_features < 3:
        order = CausalOrder.from_edges([(0, 1)], features=range(3))
    _, precedes = _numbered(order)
    for steps in (1, 10, 100, 2 * BATCH + 7):
        sequence, bound = np.arange(n, dtype=np.int32), _fresh_bound(n)
        bounded_steps(sequence, bound, precedes, state_of(seed), steps)
        twin, twin_bound = list(range(n)), [None] * (n - 1) + [0]
        twin_bounded(twin, twin_bound, precedes, moves_of(twin_halves(state_of(seed)), n, steps))
        assert sequence.tolist() == twin
        assert [item if item < n else None for item in bound.tolist()] == twin_bound
    full = _fresh_bound(n)
    taken = steps_to_forget(full, precedes, state_of(seed), 10**6)
    twin, twin_bound = list(range(n)), [None] * (n - 1) + [0]
    moves = moves_of(twin_halves(state_of(seed)), n, taken)
    twin_bounded(twin, twin_bound, precedes, moves[:-1])
    assert None in twin_bound
    twin_bounded(twin, twin_bound, precedes, moves[-1:])
    assert full.tolist() == twin_bound


@pytest.mark.parametrize("edges", [[(0, 2), (1, 2), (1, 3)], [(0, 1)], [], [(0, 3), (1, 3), (1, 4), (2, 4)]])
def test_the_list_bounds_every_sequence(edges):
    """Same moves from every topological order: features of the list never stand behind their place in it, and once the
    list is full all sequences have become that list."""
    n = 5
    order = CausalOrder.from_edges(edges, features=range(n))
    start, precedes = _numbered(order)
    number = {v: k for k, v in enumerate(start.tolist())}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        sequences = [[number[v] for v in topological] for topological in topological_orders(n, edges)]
        bound = [None] * (n - 1) + [0]
        steps = 0
        while None in bound:
            steps += 1
            move = [(int(rng.integers(n - 1)), bool(rng.integers(2)))]
            bounds = []
            for sequence in sequences:
                mine = list(bound)
                twin_bounded(sequence, mine, precedes, move)
                bounds.append(mine)
                assert all(item is None or sequence.index(item) <= place for place, item in enumerate(mine))
            bound = bounds[0]
        assert all(sequence == bound for sequence in sequences)
        assert steps < 5000


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
