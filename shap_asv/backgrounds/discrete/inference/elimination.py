"""Variable elimination planned once per network: which variable goes when, and through which tables.

Eliminating the variables one by one from ``P(x) = prod of CPTs`` leaves one *bucket* per variable: the CPTs that are
used up when it is summed out, times the messages of the buckets that were waiting for it, as a function of the
variables that are still there and occur in it (the *separator*). A bucket has one parent, the bucket of the first
separator variable to be eliminated next, so buckets form a forest with one tree per connected component of the
network.

The order comes from :mod:`~shap_asv.backgrounds.discrete.inference.triangulation`.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shap_asv.backgrounds.discrete.inference.triangulation import elimination_order, sample_workload
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import BudgetExceededError

TABLE_LIMIT = 1 << 26
"""Largest bucket table (entries) before exact inference on a network is refused."""


@dataclass(frozen=True, eq=False)
class Bucket:
    """One elimination step: ``message(sep) = sum over x of table[sep, x] * prod over children c of
    message_c(child_maps[c][sep, x])``.

    Attributes
    ----------
    node : int
        The variable that is summed out; ``x`` ranges over its states.
    separator : tuple of int
        The variables the message still depends on. Their joint states are numbered in C order (last fastest).
    table, log_table : float64 arrays (S, card)
        Product of the CPTs used up here, and its logarithm (exact where the product underflows).
    children : tuple of int
        Buckets (positions in the elimination order) whose messages are used up here.
    child_maps : tuple of int arrays (S, card)
        Where each ``(sep, x)`` falls in the separator states of each child.
    factors : tuple of (int, float64 array (S, card))
        The CPTs behind ``table``, each with its node, where single ones are to be left out; else empty.
    """

    node: int
    separator: tuple[int, ...]
    table: np.ndarray
    log_table: np.ndarray
    children: tuple[int, ...]
    child_maps: tuple[np.ndarray, ...]
    factors: tuple[tuple[int, np.ndarray], ...] = ()

    @property
    def n_separator_states(self) -> int:
        return self.table.shape[0]

    @property
    def cardinality(self) -> int:
        return self.table.shape[1]


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """Buckets in elimination order; children come before parents.

    Attributes
    ----------
    buckets : tuple of Bucket
    roots : tuple of int
        Buckets with an empty separator, one per connected component.
    underflow_safe : bool
        No product of CPT entries, however long, can underflow, so that messages need no logarithms.
    """

    buckets: tuple[Bucket, ...]
    roots: tuple[int, ...]
    underflow_safe: bool

    @cached_property
    def flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For kernels: node and cardinality per bucket; its children are ``children[starts[b] : starts[b + 1]]``."""
        nodes = np.array([bucket.node for bucket in self.buckets], dtype=np.int64)
        cards = np.array([bucket.cardinality for bucket in self.buckets], dtype=np.int64)
        starts = np.cumsum([0] + [len(bucket.children) for bucket in self.buckets], dtype=np.int64)
        children = np.array([c for bucket in self.buckets for c in bucket.children], dtype=np.int64)
        return nodes, cards, starts, children

    @property
    def width(self) -> int:
        """Largest number of variables in one bucket."""
        return max(len(bucket.separator) + 1 for bucket in self.buckets)

    @property
    def n_entries(self) -> int:
        """Entries of all bucket tables: the price of one query in the worst case."""
        return sum(bucket.table.size for bucket in self.buckets)


def plan_elimination(
    network: DiscreteNetwork,
    workload: np.ndarray | None = None,
    relevant: np.ndarray | None = None,
    factors_apart: bool = False,
) -> EliminationPlan:
    """Order, buckets and index maps for a network.

    Parameters
    ----------
    network : DiscreteNetwork
    workload : bool array (coalitions, nodes), optional
        What will be observed together; it changes the order, never the answer. Arbitrary coalitions by default.
    relevant : bool array (nodes,), optional
        Plan for these nodes only; they must contain the parents of each of their members. All others are barren:
        without evidence and terms at or below them, their CPTs sum to 1.
    factors_apart : bool
        Keep the CPTs of each bucket beside their product, for interventions.

    Raises
    ------
    BudgetExceededError
        A bucket would need a table of more than :data:`TABLE_LIMIT` entries.
    """
    if workload is None:
        workload = sample_workload(network, causal=False)
    if relevant is None or relevant.all():
        return _plan(network, workload, factors_apart)
    nodes = [int(v) for v in np.flatnonzero(relevant)]
    inside = {v: i for i, v in enumerate(nodes)}
    part = DiscreteNetwork(
        tuple(network.names[v] for v in nodes),
        tuple(network.states[v] for v in nodes),
        tuple(tuple(inside[p] for p in network.parents[v]) for v in nodes),
        tuple(network.tables[v] for v in nodes),
    )
    plan = _plan(part, workload[:, nodes], factors_apart)
    buckets = (
        replace(
            bucket,
            node=nodes[bucket.node],
            separator=tuple(nodes[u] for u in bucket.separator),
            factors=tuple((nodes[w], factor) for w, factor in bucket.factors),
        )
        for bucket in plan.buckets
    )
    return replace(plan, buckets=tuple(buckets))


def _plan(network: DiscreteNetwork, workload: np.ndarray, factors_apart: bool) -> EliminationPlan:
    cards = network.cardinalities
    order = elimination_order(network, workload)
    position = {v: b for b, v in enumerate(order)}
    families: list[list[int]] = [[] for _ in order]
    for v, parents in enumerate(network.parents):
        families[min(position[u] for u in (v, *parents))].append(v)

    separators: list[tuple[int, ...]] = []
    children: list[list[int]] = [[] for _ in order]
    roots = []
    for b, v in enumerate(order):
        # a variable with a single state is not a variable: left out, it cannot blow up the number of axes
        scope = {u for w in families[b] for u in (w, *network.parents[w]) if cards[u] > 1}
        for c in children[b]:
            scope |= set(separators[c])
        separator = tuple(sorted(scope - {v}))
        entries = math.prod(cards[u] for u in separator) * cards[v]
        if entries > TABLE_LIMIT:
            raise BudgetExceededError(
                f"exact inference on this network needs a table of {entries} entries over {len(separator) + 1} "
                f"variables (around {network.names[v]!r}); the limit is {TABLE_LIMIT}. Use a sparser "
                "network, or merge states"
            )
        separators.append(separator)
        if separator:
            children[min(position[u] for u in separator)].append(b)
        else:
            roots.append(b)

    buckets = []
    for b, v in enumerate(order):
        axes = (*separators[b], v)
        shape = tuple(cards[u] for u in axes)
        table = np.ones(shape)
        log_table = np.zeros(shape)
        factors = []
        for w in families[b]:
            factor = _spread(network.tables[w], (w, *network.parents[w]), axes)
            table = table * factor
            if factors_apart:
                factors.append((w, np.ascontiguousarray(np.broadcast_to(factor, shape)).reshape(-1, cards[v])))
            with np.errstate(divide="ignore"):
                log_table = log_table + np.log(factor)
        maps = []
        for c in children[b]:
            index = np.zeros(shape, dtype=np.intp)
            for u in separators[c]:
                states = np.arange(cards[u]).reshape([-1 if w == u else 1 for w in axes])
                index = index * cards[u] + states
            maps.append(index.reshape(-1, cards[v]))
        buckets.append(
            Bucket(
                v,
                separators[b],
                np.ascontiguousarray(table.reshape(-1, cards[v])),
                np.ascontiguousarray(log_table.reshape(-1, cards[v])),
                tuple(children[b]),
                tuple(maps),
                tuple(factors),
            )
        )
    floor = sum(math.log(table[table > 0].min()) for table in network.tables)
    # exp(-708) is the smallest normal double; the margin keeps quotients of messages normal, too
    return EliminationPlan(tuple(buckets), tuple(roots), floor > -600)


def _spread(table: np.ndarray, variables: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """A table over ``variables`` with its axes in the order of ``axes``, length 1 where it does not depend."""
    place = {u: axes.index(u) if u in axes else -1 for u in variables}  # -1: a single state, any place will do
    shape = [1] * len(axes)
    for i, u in enumerate(variables):
        if place[u] >= 0:
            shape[place[u]] = table.shape[i]
    return table.transpose(sorted(range(len(variables)), key=lambda i: place[variables[i]])).reshape(shape)
