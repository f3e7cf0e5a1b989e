"""Variable elimination planned once per network: which variable goes when, and through which tables.

Eliminating the variables one by one from ``P(x) = prod of CPTs`` leaves one *bucket* per variable: the CPTs that are
used up when it is summed out, times the messages of the buckets that were waiting for it, as a function of the
variables that are still there and occur in it (the *separator*). A bucket has one parent, the bucket of the first
separator variable to be eliminated next. Buckets without a separator, the last ones of parts of the network that are
not connected, hang below the very last bucket: buckets form one tree.

Greedy elimination (always the variable whose neighbours in the moral graph miss the fewest edges: min-fill) fixes how
large the tables get, but not where it ends. A bucket is worked through once for all evidence that differs at or below
it, which is most of it near the root: so the order ends in the middle of the tree of buckets.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import BudgetExceededError


def min_fill(network: DiscreteNetwork, relevant: np.ndarray) -> list[int]:
    """The ``relevant`` nodes, bool (nodes,), which hold the parents of each of them, in the order of min-fill.

    Ties by the size of the table, then later variables first. O(n d^2 log n) for neighbourhoods of size d in the moral
    graph, where variables that share a CPT are neighbours.

    Examples
    --------
    >>> coin, copy = np.full(2, 0.5), np.eye(2)
    >>> chain = DiscreteNetwork(("a", "b", "c"), (("0", "1"),) * 3, ((), (0,), (1,)), (coin, copy, copy))
    >>> min_fill(chain, np.ones(3, dtype=bool))
    [2, 1, 0]
    """
    adjacent: list[set[int]] = [set() for _ in range(network.n_nodes)]
    nodes = np.flatnonzero(relevant).tolist()
    for v in nodes:
        family = {v, *network.parents[v]}
        for u in family:
            adjacent[u] |= family - {u}
    logs = [math.log(cardinality) for cardinality in network.cardinalities]

    def price(v: int) -> tuple[int, float, int]:
        around = adjacent[v]
        present = sum(len(adjacent[u] & around) for u in around) // 2
        missing = len(around) * (len(around) - 1) // 2 - present
        return missing, logs[v] + math.fsum(logs[u] for u in around), -v

    prices = {v: price(v) for v in nodes}
    heap = list(prices.values())
    heapq.heapify(heap)
    order: list[int] = []
    while prices:
        met = heapq.heappop(heap)
        v = -met[2]
        if prices.get(v) != met:
            continue
        del prices[v]
        order.append(v)
        around = adjacent[v]
        touched = set(around)
        for u in around:
            fresh = around - adjacent[u] - {u}
            adjacent[u] |= fresh
            adjacent[u].discard(v)
            if fresh:
                touched |= adjacent[u]
        for u in touched & prices.keys():
            updated = price(u)
            if updated != prices[u]:
                prices[u] = updated
                heapq.heappush(heap, updated)
    return order


@dataclass(frozen=True, eq=False)
class Outline:
    """A bucket before any table is multiplied: the nodes whose CPTs are used up in it, its separator, its children."""

    node: int
    families: tuple[int, ...]
    separator: tuple[int, ...]
    children: tuple[int, ...]


def outline(network: DiscreteNetwork, order: Sequence[int]) -> list[Outline]:
    """The buckets of an order of elimination, which holds the parents of each of its nodes."""
    cards = network.cardinalities
    position = {v: b for b, v in enumerate(order)}
    families: list[list[int]] = [[] for _ in order]
    for v in sorted(order):
        families[min(position[u] for u in (v, *network.parents[v]))].append(v)
    children: list[list[int]] = [[] for _ in order]
    found: list[Outline] = []
    for b, v in enumerate(order):
        # a variable with a single state is not a variable: left out, it cannot blow up the number of axes
        scope = {u for w in families[b] for u in (w, *network.parents[w]) if cards[u] > 1}
        for c in children[b]:
            scope |= set(found[c].separator)
        separator = tuple(sorted(scope - {v}))
        above = min((position[u] for u in separator), default=len(order) - 1)
        if above > b:
            children[above].append(b)
        found.append(Outline(v, tuple(families[b]), separator, tuple(children[b])))
    return found


def elimination_order(network: DiscreteNetwork, relevant: np.ndarray) -> list[int]:
    """The cliques of :func:`min_fill`, left in an order that ends in the middle of the tree of buckets, so that about
    half of the nodes of a connected part, at most, are below a child of its root. O(n d log n).

    A maximum cardinality search of the filled graph, from any node, is an order without further fill, backwards (Tarjan
    and Yannakakis 1984).

    Examples
    --------
    >>> coin, copy = np.full(2, 0.5), np.eye(2)
    >>> parents = ((), *((v,) for v in range(6)))
    >>> chain = DiscreteNetwork(tuple("abcdefg"), (("0", "1"),) * 7, parents, (coin, *[copy] * 6))
    >>> elimination_order(chain, np.ones(7, dtype=bool))
    [6, 5, 4, 0, 1, 2, 3]
    """
    buckets = outline(network, min_fill(network, relevant))
    filled: dict[int, set[int]] = {bucket.node: set() for bucket in buckets}
    below = np.ones(len(buckets), dtype=int)
    for b, bucket in enumerate(buckets):
        for u in bucket.separator:
            filled[u].add(bucket.node)
            filled[bucket.node].add(u)
        below[b] += sum(below[c] for c in bucket.children if buckets[c].separator)
    starts = []
    for b in (b for b, bucket in enumerate(buckets) if not bucket.separator):
        total, middle = below[b], b
        while heavy := [c for c in buckets[middle].children if buckets[c].separator and 2 * below[c] > total]:
            middle = heavy[0]
        starts.append(buckets[middle].node)
    known, order = dict.fromkeys(filled, 0), []
    heap: list[tuple[int, int]] = []
    for start in reversed(starts):
        heapq.heappush(heap, (0, start))
        while heap:
            count, v = heapq.heappop(heap)
            if known.get(v) != -count:
                continue
            del known[v]
            order.append(v)
            for u in filled[v] & known.keys():
                known[u] += 1
                heapq.heappush(heap, (-known[u], u))
    return order[::-1]


TABLE_LIMIT = 1 << 26
"""Largest bucket table (entries) before exact inference on a network is refused."""


@dataclass(frozen=True, eq=False)
class Bucket:
    """One elimination step: ``message(sep) = sum over x of exp(log_table[sep, x]) * prod over children c of
    message_c(child_maps[c][sep, x])``.

    Attributes
    ----------
    node : int
        The variable that is summed out; ``x`` ranges over its states.
    separator : tuple of int
        The variables the message still depends on. Their joint states are numbered in C order (last fastest).
    log_table : float64 array (S, card)
        Logarithm of the product of the CPTs used up here: products of many small numbers underflow.
    children : tuple of int
        Buckets (positions in the elimination order) whose messages are used up here.
    child_maps : tuple of int arrays (S, card)
        Where each ``(sep, x)`` falls in the separator states of each child.
    log_factors : tuple of (int, float64 array (S, card))
        The CPTs behind it, each with its node, where single ones are to be left out; else empty.
    """

    node: int
    separator: tuple[int, ...]
    log_table: np.ndarray
    children: tuple[int, ...]
    child_maps: tuple[np.ndarray, ...]
    log_factors: tuple[tuple[int, np.ndarray], ...] = ()

    @property
    def n_separator_states(self) -> int:
        return self.log_table.shape[0]

    @property
    def cardinality(self) -> int:
        return self.log_table.shape[1]


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """Buckets in elimination order; children come before parents, and the last one is the root."""

    buckets: tuple[Bucket, ...]

    @property
    def n_entries(self) -> int:
        """Entries of all bucket tables: the price of one query in the worst case."""
        return sum(bucket.log_table.size for bucket in self.buckets)


def plan_elimination(network: DiscreteNetwork, relevant: np.ndarray, factors_apart: bool = False) -> EliminationPlan:
    """Order, buckets and index maps for a network.

    Parameters
    ----------
    network : DiscreteNetwork
    relevant : bool array (nodes,)
        Plan for these nodes only; they must contain the parents of each of their members. All others are barren:
        without evidence and terms at or below them, their CPTs sum to 1.
    factors_apart : bool
        Keep the CPTs of each bucket beside their product, for interventions.

    Raises
    ------
    BudgetExceededError
        A bucket would need a table of more than :data:`TABLE_LIMIT` entries.
    """
    cards = network.cardinalities
    outlines = outline(network, elimination_order(network, relevant))
    for one in outlines:
        entries = math.prod(cards[u] for u in (*one.separator, one.node))
        if entries > TABLE_LIMIT:
            raise BudgetExceededError(
                f"exact inference on this network needs a table of {entries} entries over {len(one.separator) + 1} "
                f"variables (around {network.names[one.node]!r}); the limit is {TABLE_LIMIT}. Use a sparser "
                "network, or merge states"
            )
    buckets = []
    for one in outlines:
        axes = (*one.separator, one.node)
        shape = tuple(cards[u] for u in axes)
        flat = (-1, cards[one.node])
        log_table = np.zeros(shape)
        log_factors = []
        for w in one.families:
            with np.errstate(divide="ignore"):
                factor = np.log(spread_table(network.tables[w], (w, *network.parents[w]), axes))
            log_table = log_table + factor
            if factors_apart:
                log_factors.append((w, np.ascontiguousarray(np.broadcast_to(factor, shape)).reshape(flat)))
        maps = []
        for c in one.children:
            index = np.zeros(shape, dtype=np.intp)
            for u in outlines[c].separator:
                states = np.arange(cards[u]).reshape([-1 if w == u else 1 for w in axes])
                index = index * cards[u] + states
            maps.append(index.reshape(flat))
        table = np.ascontiguousarray(log_table.reshape(flat))
        buckets.append(Bucket(one.node, one.separator, table, one.children, tuple(maps), tuple(log_factors)))
    return EliminationPlan(tuple(buckets))


def spread_table(table: np.ndarray, variables: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """A table over ``variables`` with its axes in the order of ``axes``, length 1 where it does not depend."""
    place = {u: axes.index(u) if u in axes else -1 for u in variables}  # -1: a single state, any place will do
    shape = [1] * len(axes)
    for i, u in enumerate(variables):
        if place[u] >= 0:
            shape[place[u]] = table.shape[i]
    return table.transpose(sorted(range(len(variables)), key=lambda i: place[variables[i]])).reshape(shape)
