"""Variable elimination planned once per network: which variable goes when, and through which tables.

Eliminating the variables one by one from ``P(x) = prod of CPTs`` leaves one *bucket* per variable: the CPTs that are
used up when it is summed out, times the messages of the buckets that were waiting for it, as a function of the
variables that are still there and occur in it (the *separator*). A bucket has one parent, the bucket of the first
separator variable to be eliminated next. Buckets without a separator, the last ones of parts of the network that are
not connected, hang below the very last bucket: buckets form one tree.

The order: small cliques first of all, then the best root of the clique tree.

Greedy elimination on the moral graph (always the variable whose neighbours miss the fewest edges) fixes the *cliques*,
that is, how large the tables get. The cliques form a tree, and elimination may end in any of them. Which one decides
how often the tables are used: a bucket is worked through once per distinct evidence and term *below* it, which grows
from 1 at the leaves to all of them at the root, times the states of its variables that the evidence leaves open. With k
variables below a bucket, about ``1 + k`` coalitions and at most 100 rows are told apart there, and ``1.5^k`` terms.

The price of every root is computed in two passes over the tree (leaves to root and back), as messages of "what is left
to multiply", without touching a table.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import BudgetExceededError

_LOG_ROWS = math.log(100.0)
"""Rows that are imagined: so many distinct values, at most, does one coalition have."""
_TERMS = 100.0
# Share of the coalitions that leave a feature open at a bucket: where it matters, most is known.
OPEN = 0.35
# States are not equally likely: a variable tells rows apart less than its cardinality suggests.
TOLD_APART = 0.5

Step = tuple[int, frozenset[int]]


def moral_neighbours(network: DiscreteNetwork) -> list[set[int]]:
    """Neighbours in the moral graph: variables that share a CPT."""
    neighbours: list[set[int]] = [set() for _ in range(network.n_nodes)]
    for v, parents in enumerate(network.parents):
        family = {v, *parents}
        for u in family:
            neighbours[u] |= family - {u}
    return neighbours


def min_fill(neighbours: list[set[int]], cardinalities: Sequence[int]) -> list[Step]:
    """Greedy min-fill elimination of an undirected graph: (variable, its neighbours when it goes), in order.

    Ties by the size of the table, then later variables first. O(n d^2 log n) for neighbourhoods of size d.

    Examples
    --------
    >>> [(v, sorted(around)) for v, around in min_fill([{1}, {0, 2}, {1}], (2, 2, 2))]
    [(2, [1]), (1, [0]), (0, [])]
    """
    adjacent = [set(around) for around in neighbours]
    logs = [math.log(cardinality) for cardinality in cardinalities]

    def price(v: int) -> tuple[int, float, int]:
        around = adjacent[v]
        present = sum(len(adjacent[u] & around) for u in around) // 2
        missing = len(around) * (len(around) - 1) // 2 - present
        return missing, logs[v] + math.fsum(logs[u] for u in around), -v

    prices = [price(v) for v in range(len(adjacent))]
    heap = [(*prices[v], v) for v in range(len(adjacent))]
    heapq.heapify(heap)
    gone = [False] * len(adjacent)
    steps: list[Step] = []
    while heap:
        *met, v = heapq.heappop(heap)
        if gone[v] or tuple(met) != prices[v]:
            continue
        gone[v] = True
        around = adjacent[v]
        steps.append((v, frozenset(around)))
        touched = set(around)
        for u in around:
            fresh = around - adjacent[u] - {u}
            adjacent[u] |= fresh
            adjacent[u].discard(v)
            if fresh:
                touched |= adjacent[u]
        for u in touched:
            if not gone[u]:
                updated = price(u)
                if updated != prices[u]:
                    prices[u] = updated
                    heapq.heappush(heap, (*updated, u))
    return steps


def clique_tree(steps: Sequence[Step]) -> tuple[list[set[int]], list[int]]:
    """Maximal cliques of the filled graph, and the parent of each in a clique forest (-1 for roots; parents first).

    Examples
    --------
    >>> cliques, parents = clique_tree(min_fill([{1}, {0, 2}, {1}], (2, 2, 2)))
    >>> [sorted(clique) for clique in cliques], parents
    ([[0, 1], [1, 2]], [-1, 0])
    """
    cliques: list[set[int]] = []
    parents: list[int] = []
    home: dict[int, int] = {}
    place = {v: i for i, (v, _) in enumerate(steps)}
    for v, around in reversed(steps):
        above = home[min(around, key=place.__getitem__)] if around else -1
        if above >= 0 and cliques[above] == around:
            cliques[above].add(v)
            home[v] = above
        else:
            home[v] = len(cliques)
            cliques.append({v, *around})
            parents.append(above)
    return cliques, parents


@dataclass(frozen=True, eq=False)
class _Potential:
    """A CPT or a message, as far as prices go: its variables, how many were eliminated into it, and the logarithm of
    the number of values that those of them take that may be known.
    """

    scope: frozenset[int]
    n_below: int = 0
    log_values: float = 0.0


@dataclass(frozen=True, eq=False)
class _Message:
    """What one side of a clique-tree edge leaves for the other: potentials, the price so far, the order so far."""

    potentials: list[_Potential]
    price: float
    order: list[int] = field(default_factory=list)


class _Pricing:
    """Multiplications that a bucket takes."""

    def __init__(self, network: DiscreteNetwork, is_latent: np.ndarray) -> None:
        cards = np.array(network.cardinalities, dtype=float)
        self._log_values = np.where(is_latent, 0.0, np.log(cards)).tolist()
        self._log_open = np.log(np.where(is_latent, cards, 1.0 + OPEN * (cards - 1.0))).tolist()

    def eliminate(self, v: int, used: list[_Potential]) -> tuple[float, _Potential]:
        """The price of summing out v from the product of some potentials, and what is left of them."""
        scope = frozenset({v}).union(*(p.scope for p in used))
        n_below = 1 + sum(p.n_below for p in used)
        log_values = self._log_values[v] + sum(p.log_values for p in used)
        log_rows = min(_LOG_ROWS, TOLD_APART * log_values) + math.fsum(self._log_open[u] for u in scope)
        n_messages = sum(p.n_below > 0 for p in used)
        price = (1 + n_below) * math.exp(min(log_rows, 300.0)) * min(_TERMS, 1.5**n_below) * (1 + n_messages)
        return price, _Potential(scope - {v}, n_below, log_values)


def elimination_order(network: DiscreteNetwork, is_latent: np.ndarray) -> list[int]:
    """Variables in the order in which they are summed out: the cheapest root of every clique tree.

    ``is_latent`` bool (nodes,): nodes that no evidence is on.

    Examples
    --------
    A chain is eliminated from both ends towards its middle:

    >>> coin, copy = np.full(3, 1 / 3), np.eye(3)
    >>> chain = DiscreteNetwork(
    ...     tuple("abcdefghijkl"), (("0", "1", "2"),) * 12, ((), *((v,) for v in range(11))), (coin, *[copy] * 11)
    ... )
    >>> 3 < elimination_order(chain, np.zeros(12, dtype=bool))[-1] < 8
    True
    """
    pricing = _Pricing(network, is_latent)
    cliques, parents = clique_tree(min_fill(moral_neighbours(network), network.cardinalities))
    holders: list[set[int]] = [set() for _ in range(network.n_nodes)]
    for i, clique in enumerate(cliques):
        for v in clique:
            holders[v].add(i)
    home: list[list[_Potential]] = [[] for _ in cliques]
    for v, causes in enumerate(network.parents):
        family = frozenset((v, *causes))
        home[min(set.intersection(*(holders[u] for u in family)))].append(_Potential(family))
    children: list[list[int]] = [[] for _ in cliques]
    for i, above in enumerate(parents):
        if above >= 0:
            children[above].append(i)

    up: list[_Message] = [_Message([], 0.0)] * len(cliques)
    for i in reversed(range(len(cliques))):
        keep = cliques[i] & cliques[parents[i]] if parents[i] >= 0 else set()
        up[i] = _eliminate(cliques[i] - keep, home[i], [up[c] for c in children[i]], pricing)
    # the other direction: what clique i gets from its parent when elimination ends at or below i
    down: list[list[_Message]] = [[] for _ in cliques]
    best: dict[int, _Message] = {}
    tree = list(range(len(cliques)))
    for i, above in enumerate(parents):
        if above >= 0:
            tree[i] = tree[above]
            others = [up[c] for c in children[above] if c != i] + down[above]
            down[i] = [_eliminate(cliques[above] - cliques[i], home[above], others, pricing)]
        whole = _eliminate(cliques[i], home[i], [up[c] for c in children[i]] + down[i], pricing)
        if tree[i] not in best or whole.price < best[tree[i]].price:
            best[tree[i]] = whole
    return [v for whole in best.values() for v in whole.order]


def _eliminate(going: set[int], own: list[_Potential], incoming: list[_Message], pricing: _Pricing) -> _Message:
    """Eliminate some variables of a clique, those with the least below them first."""
    potentials = own + [potential for message in incoming for potential in message.potentials]
    price = math.fsum(message.price for message in incoming)
    order = [v for message in incoming for v in message.order]
    left = set(going)
    while left:
        v = min(left, key=lambda u: (sum(p.n_below for p in potentials if u in p.scope), -u))
        left.remove(v)
        cost, message = pricing.eliminate(v, [p for p in potentials if v in p.scope])
        price += cost
        potentials = [p for p in potentials if v not in p.scope]
        potentials.append(message)
        order.append(v)
    return _Message(potentials, price, order)


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
    """Buckets in elimination order; children come before parents, and the last one is the root.

    Attributes
    ----------
    buckets : tuple of Bucket
    underflow_safe : bool
        No product of CPT entries, however long, can underflow, so that messages need no logarithms.
    """

    buckets: tuple[Bucket, ...]
    underflow_safe: bool

    @property
    def width(self) -> int:
        """Largest number of variables in one bucket."""
        return max(len(bucket.separator) + 1 for bucket in self.buckets)

    @property
    def n_entries(self) -> int:
        """Entries of all bucket tables: the price of one query in the worst case."""
        return sum(bucket.table.size for bucket in self.buckets)


def plan_elimination(
    network: DiscreteNetwork, is_latent: np.ndarray, relevant: np.ndarray | None = None, factors_apart: bool = False
) -> EliminationPlan:
    """Order, buckets and index maps for a network.

    Parameters
    ----------
    network : DiscreteNetwork
    is_latent : bool array (nodes,)
        Nodes that no evidence is on; it changes the order, never the answer.
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
    if relevant is None or relevant.all():
        return _plan(network, is_latent, factors_apart)
    nodes = [int(v) for v in np.flatnonzero(relevant)]
    inside = {v: i for i, v in enumerate(nodes)}
    part = DiscreteNetwork(
        tuple(network.names[v] for v in nodes),
        tuple(network.states[v] for v in nodes),
        tuple(tuple(inside[p] for p in network.parents[v]) for v in nodes),
        tuple(network.tables[v] for v in nodes),
    )
    plan = _plan(part, is_latent[nodes], factors_apart)
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


def _plan(network: DiscreteNetwork, is_latent: np.ndarray, factors_apart: bool) -> EliminationPlan:
    cards = network.cardinalities
    order = elimination_order(network, is_latent)
    position = {v: b for b, v in enumerate(order)}
    families: list[list[int]] = [[] for _ in order]
    for v, parents in enumerate(network.parents):
        families[min(position[u] for u in (v, *parents))].append(v)

    separators: list[tuple[int, ...]] = []
    children: list[list[int]] = [[] for _ in order]
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
        above = min((position[u] for u in separator), default=len(order) - 1)
        if above > b:
            children[above].append(b)

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
    return EliminationPlan(tuple(buckets), floor > -600)


def _spread(table: np.ndarray, variables: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """A table over ``variables`` with its axes in the order of ``axes``, length 1 where it does not depend."""
    place = {u: axes.index(u) if u in axes else -1 for u in variables}  # -1: a single state, any place will do
    shape = [1] * len(axes)
    for i, u in enumerate(variables):
        if place[u] >= 0:
            shape[place[u]] = table.shape[i]
    return table.transpose(sorted(range(len(variables)), key=lambda i: place[variables[i]])).reshape(shape)
