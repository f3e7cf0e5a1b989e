"""Exactly uniform topological orders by counting: exponential clocks, hung-up trees, walks up the lattice.

All three draw many orders at once, as columns of numpy arrays.

*Clocks and times.* A topological order together with n sorted uniform numbers is a uniform point of the *order
polytope* {t in [0, 1]^n : t_u <= t_v when u precedes v}, and the other way round: sort the times of a uniform point,
and the order is uniform. On a tree-shaped order the polytope's uniform distribution is a Markov chain along the tree:
given the time of a feature, what hangs from it is independent of everything else. So times are drawn one feature at a
time.
"""

from math import log
from typing import TYPE_CHECKING

import numpy as np

from shap_asv.orders.lattice import build_lattice
from shap_asv.orders.paths import scaled_down
from shap_asv.orders.topological.atkinson import hang_up, ways_before
from shap_asv.orders.topological.counting import subtree_sizes
from shap_asv.strata import spread_uniforms

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

CHUNK = 2**21  # numbers held at a time in a table of draws x possibilities


def draw_forest(order: "CausalOrder", n: int, rng: np.random.Generator, n_groups: int | None = None) -> np.ndarray:
    """Orders of a rooted forest by exponential clocks: (n, n_features). O(n_features log n_features) each.

    ``T_v = T_parent(v) + Exp(rate = size of the subtree of v)``, all independent; features sorted by T. Whenever a
    clock rings, the next one to ring is each available feature with probability proportional to its subtree size,
    which is what the hook length formula asks for. With ``n_groups``, the clocks of a group are spread evenly.
    """
    sequence = np.array(order.topological_indices)
    row = {v: r for r, v in enumerate(order.topological_indices)}
    if n_groups is None:
        times = rng.standard_exponential((order.n_features, n))
    else:
        times = -np.log1p(-spread_uniforms(rng, order.n_features, n, n_groups))
    times /= np.array(subtree_sizes(order), dtype=float)[sequence][:, None]
    for r, v in enumerate(order.topological_indices):
        for p in order.parents[v]:
            times[r] += times[row[p]]
    return _sort_by_time(times, sequence)


def _sort_by_time(times: np.ndarray, sequence: np.ndarray) -> np.ndarray:
    """Times (n_features, n), row r being feature ``sequence[r]``, to orders (n, n_features).

    ``sequence`` is a topological order and the sort is stable: two times that differ by less than a float can tell
    still come out cause first.
    """
    return sequence[np.argsort(np.ascontiguousarray(times.T), axis=1, kind="stable")]


def draw_tree(order: "CausalOrder", n: int, rng: np.random.Generator) -> np.ndarray:
    """Orders of a connected polytree by Atkinson's counts: (n, n_features). O(sum of subtree sizes) each.

    The root's position j is drawn from its counts; its time is the j-th smallest of n_features uniform numbers. For
    what hangs from a feature at time t see :func:`_draw_after`.
    """
    tree = hang_up(order, tuple(range(order.n_features)))
    root = tree.sequence[0]
    times = np.empty((order.n_features, n))
    position = _draw_from(_shares(tree.counts[root]), n, rng)
    times[root] = rng.beta(position + 1, order.n_features - position)
    for c in tree.sequence[1:]:
        hook_time = times[tree.hook[c]]
        if tree.follows[c]:
            times[c] = np.maximum(_draw_after(hook_time, tree.counts[c], rng), hook_time)
        else:  # the mirror image: time runs backwards, positions are counted from the end
            times[c] = np.minimum(1 - _draw_after(1 - hook_time, tree.counts[c][::-1], rng), hook_time)
    sequence = np.array(order.topological_indices)
    return _sort_by_time(times[sequence], sequence)


def _draw_after(t: np.ndarray, counts: list[int], rng: np.random.Generator) -> np.ndarray:
    """Times (n,) of the root of a subtree, given that it comes after time ``t`` (n,).

    Let the subtree have s members and let ``counts[j]`` be its orders with the root at position j (from 0). Before t
    lie k members with probability proportional to Binomial(s, t)(k) * (orders whose first k do not hold the root);
    then the root is the j-th with probability proportional to counts[j], j >= k; then it is the (j - k + 1)-th
    smallest of s - k uniform numbers in [t, 1].
    """
    s = len(counts)
    if s == 1:
        return t + (1 - t) * rng.random(len(t))
    ways = ways_before(counts, follows=True)[:s]
    before = np.empty(len(t), dtype=np.int64)
    # 0 ways: where the root cannot stand last, not all others come before it
    log_ways = np.array([log(w) if w else -np.inf for w in ways]) + _log_binomials(s)[:s]
    k = np.arange(s)
    inside = np.clip(t, 1e-300, 1 - 2.0**-53)
    step = max(1, CHUNK // s)
    for start in range(0, len(t), step):
        part = inside[start : start + step, None]
        logits = log_ways + k * np.log(part) + (s - k) * np.log1p(-part)
        chances = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True)), axis=1)
        aim = rng.random((len(part), 1)) * chances[:, -1:]
        before[start : start + step] = (chances <= aim).sum(axis=1)
    # sums from the end keep the digits of rare late positions, which is where large k look
    tail = np.cumsum(_shares(counts)[::-1])
    aim = (1 - rng.random(len(t))) * tail[s - 1 - before]
    position = s - 1 - np.searchsorted(tail, aim)
    return t + (1 - t) * rng.beta(position - before + 1, s - position)


def _shares(counts: list[int]) -> np.ndarray:
    """Counts divided by the largest: floats, however long the integers are."""
    largest = max(counts)
    return np.array([count / largest for count in counts])


def _log_binomials(s: int) -> np.ndarray:
    """log C(s, k) for k = 0 .. s."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, s + 1)))])
    return logs[s] - logs - logs[::-1]


def _draw_from(shares: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    chances = np.cumsum(shares)
    return np.searchsorted(chances, rng.random(n) * chances[-1], side="right")


def draw_by_ideals(
    order: "CausalOrder", n: int, rng: np.random.Generator, limit: int | None, n_groups: int | None = None
) -> np.ndarray:
    """Orders of any order with an affordable lattice: (n, n_features). O(edges) once, then O(edges met) each.

    From ideal S the next feature is i with probability down(S + i) / down(S), where down counts the ways to finish.
    With ``n_groups``, the random numbers of a step are spread evenly within a group.
    """
    lattice = build_lattice(order, limit)
    down = scaled_down(lattice)
    orders = np.empty((n, order.n_features), dtype=np.int64)
    here = np.zeros(n, dtype=np.int64)
    for position, (ideals, edges) in enumerate(lattice.levels()):
        leaving = down[lattice.edge_target[edges]]
        first = lattice.edge_starts[ideals.start : ideals.stop + 1].astype(np.int64) - edges.start
        ways = np.add.reduceat(leaving, first[:-1])
        edge = first[here - ideals.start]
        last = first[here - ideals.start + 1] - 1
        chance = rng.random(n) if n_groups is None else spread_uniforms(rng, 1, n, n_groups)[0]
        aim = chance * ways[here - ideals.start]
        walking = np.arange(n)
        while len(walking):
            aim[walking] -= leaving[edge[walking]]
            walking = walking[(aim[walking] >= 0) & (edge[walking] < last[walking])]
            edge[walking] += 1
        orders[:, position] = lattice.edge_feature[edges][edge]
        here = lattice.edge_target[edges][edge].astype(np.int64)
    return orders
