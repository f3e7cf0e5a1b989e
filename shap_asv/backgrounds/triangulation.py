"""In which order to eliminate variables: min-fill for small cliques, then the best root of the clique tree.

Greedy min-fill on the moral graph (always the variable whose neighbours miss the fewest edges) fixes the *cliques*,
that is, how large the tables get. The cliques form a tree, and elimination may end in any of them. Which one decides
how often the tables are used: a bucket is worked through once per distinct evidence and term *below* it, which grows
from 1 at the leaves of the tree to all of them at the root. So the root should be a small clique in the middle, and
large cliques should be near the leaves.

The price of every root is computed in two passes over the tree (leaves to root and back), as messages of "what is left
to multiply" (scope and number of distinct keys), without touching a table.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from shap_asv.backgrounds.network import DiscreteNetwork

_MOST_KEYS = math.log(1e6)
"""No batch has more distinct (evidence, term) pairs than this, as far as prices go."""
_MOST_CLIQUES = 400
"""Clique trees beyond this are rooted where the first pass left them: the search would cost more than it saves."""


@dataclass(frozen=True)
class _Potential:
    """A CPT or a message, as far as prices go: its variables, and the log number of distinct keys below it."""

    scope: frozenset[int]
    keys: float


@dataclass(frozen=True)
class _Message:
    """What one side of a clique-tree edge leaves for the other: potentials, the price so far, the order so far."""

    potentials: list[_Potential]
    price: float
    order: list[int] = field(default_factory=list)


def moral_neighbours(network: DiscreteNetwork) -> list[set[int]]:
    """Neighbours in the moral graph: variables that share a CPT."""
    neighbours: list[set[int]] = [set() for _ in range(network.n_nodes)]
    for v, parents in enumerate(network.parents):
        family = {v, *parents}
        for u in family:
            neighbours[u] |= family - {u}
    return neighbours


def min_fill(neighbours: list[set[int]], cardinalities: Sequence[int]) -> list[tuple[int, frozenset[int]]]:
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
    steps: list[tuple[int, frozenset[int]]] = []
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


def clique_tree(steps: Sequence[tuple[int, frozenset[int]]]) -> tuple[list[set[int]], list[int]]:
    """Maximal cliques of the filled graph, and the parent of each in a clique forest (-1 for roots; parents come
    first).

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


def elimination_order(network: DiscreteNetwork, latent: frozenset[int] = frozenset()) -> list[int]:
    """Variables in the order in which they are summed out; ``latent`` ones never carry evidence or terms.

    Examples
    --------
    A chain 0 -> 1 -> 2 -> 3 -> 4 is eliminated from both ends towards the middle:

    >>> import numpy as np
    >>> coin, copy = np.full(2, 0.5), np.eye(2)
    >>> chain = DiscreteNetwork(
    ...     tuple("abcde"), (("0", "1"),) * 5, ((), (0,), (1,), (2,), (3,)), (coin, copy, copy, copy, copy)
    ... )
    >>> elimination_order(chain)
    [4, 3, 0, 1, 2]
    """
    cards = network.cardinalities
    cliques, parents = clique_tree(min_fill(moral_neighbours(network), cards))
    home: list[list[_Potential]] = [[] for _ in cliques]
    holders: list[set[int]] = [set() for _ in range(network.n_nodes)]
    for i, clique in enumerate(cliques):
        for v in clique:
            holders[v].add(i)
    for v, causes in enumerate(network.parents):
        family = frozenset((v, *causes))
        home[min(set.intersection(*(holders[u] for u in family)))].append(_Potential(family, 0.0))
    gain = [0.0 if v in latent else math.log(cards[v] + 2) for v in range(network.n_nodes)]
    return _best_rooting(cliques, parents, home, cards, gain)


def _best_rooting(
    cliques: list[set[int]], parents: list[int], home: list[list[_Potential]], cards: Sequence[int], gain: list[float]
) -> list[int]:
    children: list[list[int]] = [[] for _ in cliques]
    for i, above in enumerate(parents):
        if above >= 0:
            children[above].append(i)
    up: list[_Message] = [_Message([], 0.0)] * len(cliques)
    for i in reversed(range(len(cliques))):
        keep = cliques[i] & cliques[parents[i]] if parents[i] >= 0 else set()
        up[i] = _eliminate(cliques[i] - keep, home[i], [up[c] for c in children[i]], cards, gain)
    if len(cliques) > _MOST_CLIQUES:
        return [v for i, above in enumerate(parents) if above < 0 for v in up[i].order]

    # the other direction: what clique i gets from its parent when elimination ends at or below i
    down: list[_Message | None] = [None] * len(cliques)
    best: dict[int, tuple[float, int, _Message]] = {}
    tree = list(range(len(cliques)))
    for i, above in enumerate(parents):
        if above >= 0:
            tree[i] = tree[above]
            others = [up[c] for c in children[above] if c != i]
            from_above = down[above]
            if from_above is not None:
                others.append(from_above)
            down[i] = _eliminate(cliques[above] - cliques[i], home[above], others, cards, gain)
        around = [up[c] for c in children[i]]
        incoming = down[i]
        if incoming is not None:
            around.append(incoming)
        whole = _eliminate(cliques[i], home[i], around, cards, gain)
        if tree[i] not in best or whole.price < best[tree[i]][0]:
            best[tree[i]] = (whole.price, i, whole)
    return [v for _, _, whole in best.values() for v in whole.order]


def _eliminate(
    going: set[int], own: list[_Potential], incoming: list[_Message], cards: Sequence[int], gain: list[float]
) -> _Message:
    """Eliminate some variables of a clique, those with the fewest keys below them first."""
    potentials = own + [potential for message in incoming for potential in message.potentials]
    price = math.fsum(message.price for message in incoming)
    order = [v for message in incoming for v in message.order]
    left = set(going)
    while left:
        v = min(left, key=lambda u: (math.fsum(p.keys for p in potentials if u in p.scope), -u))
        left.remove(v)
        used = [p for p in potentials if v in p.scope]
        potentials = [p for p in potentials if v not in p.scope]
        scope = frozenset().union(*(p.scope for p in used))
        keys = min(_MOST_KEYS, gain[v] + math.fsum(p.keys for p in used))
        messages = sum(p.keys > 0 for p in used)
        price += math.exp(min(600.0, keys + math.fsum(math.log(cards[u]) for u in scope))) * (1 + messages)
        potentials.append(_Potential(scope - {v}, keys))
        order.append(v)
    return _Message(potentials, price, order)
