"""A causal polytree and its network: neighbours, CPTs by causes, trees, closures of terms and what connects them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

import numpy as np

from shap_asv.backends.forest.layout import parents_obstacle
from shap_asv.backends.polytree.times import TimeModel
from shap_asv.backgrounds.discrete.network import DiscreteNetwork

# Entries of one CPT, over the states of all direct causes.
TABLE_LIMIT = 4096


@dataclass(frozen=True, eq=False)
class PolytreeLayout:
    """All over features, in the caller's order.

    Attributes
    ----------
    parents, children : tuples of tuples of int
        The cover relation of the causal order.
    cards : tuple of int
    tables : tuple of float64 arrays
        ``tables[v]`` has shape (*cards of the causes, card): constant along causes that are not network parents.
    component : int64 (n,)
        Number of each feature's tree.
    component_sizes : dict
        Features in the tree of each feature.
    ancestors : bool (n, n)
        ``ancestors[u, v]``: u is v or a causal ancestor of v.
    times : TimeModel
    """

    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    cards: tuple[int, ...]
    tables: tuple[np.ndarray, ...]
    component: np.ndarray
    component_sizes: dict[int, int]
    ancestors: np.ndarray
    times: TimeModel

    @property
    def n_features(self) -> int:
        return len(self.parents)

    def closures_of(self, terms: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """(terms, closure) for each closure that occurs: features that the terms look at, and their ancestors."""
        touched = terms != 0
        closure = (touched.astype(np.float32) @ self.ancestors.T.astype(np.float32)) > 0
        distinct, group = np.unique(np.packbits(closure, axis=1), axis=0, return_inverse=True)
        group = group.reshape(-1)
        found = []
        for g in range(len(distinct)):
            mine = np.flatnonzero(group == g)
            features = np.flatnonzero(closure[mine[0]])
            if len(features):
                found.append((mine, features))
        return found

    def pieces(self, closure: np.ndarray) -> list[tuple[int, ...]]:
        """The smallest connected part of each tree that contains the closure's features of that tree.

        A connecting feature outside of the closure is a common effect of features in it: it does not change any
        expectation, but ties their times together.
        """
        needed = set(closure.tolist())
        found = []
        for tree in np.unique(self.component[closure]):
            kept = set(np.flatnonzero(self.component == tree).tolist())
            degree = {v: len(self.parents[v]) + len(self.children[v]) for v in kept}
            loose = [v for v in kept if degree[v] <= 1 and v not in needed]
            while loose:
                v = loose.pop()
                kept.discard(v)
                for u in (*self.parents[v], *self.children[v]):
                    if u in kept:
                        degree[u] -= 1
                        if degree[u] == 1 and u not in needed:
                            loose.append(u)
            found.append(tuple(sorted(kept)))
        return found


def polytree_applicable(
    network: DiscreteNetwork, feature_nodes: tuple[int, ...], order_parents: Sequence[Sequence[int]]
) -> str | None:
    """Why the polytree algorithm cannot treat this problem, as a sentence; None when it can.

    It can when the transitive reduction of the causal order has no undirected cycle, and every network parent of a
    feature is a feature and one of its direct causes. Network nodes that are not features may hang below features.
    Arguments as for :func:`shap_asv.backends.forest.layout.forest_applicable`.

    Examples
    --------
    >>> import numpy as np
    >>> from shap_asv.backgrounds.discrete.network import DiscreteNetwork
    >>> coin, either = np.array([0.5, 0.5]), np.full((2, 2, 2), 0.5)
    >>> network = DiscreteNetwork(("a", "b", "c"), ((0, 1),) * 3, ((), (), (0, 1)), (coin, coin, either))
    >>> polytree_applicable(network, (0, 1, 2), ((), (), (0, 1)))
    """
    name = [network.names[node] for node in feature_nodes]
    component = np.arange(len(feature_nodes))
    for v, causes in enumerate(order_parents):
        for u in causes:
            if component[u] == component[v]:
                return (
                    "the causal graph is not a polytree: there are two undirected paths between "
                    f"{name[u]} and {name[v]}"
                )
            component[component == component[u]] = component[v]
    obstacle = parents_obstacle(network, feature_nodes, lambda u, v: u in order_parents[v], "none of its direct causes")
    if obstacle is not None:
        return obstacle
    cards = [network.cardinalities[node] for node in feature_nodes]
    for v, causes in enumerate(order_parents):
        entries = math.prod([cards[v], *(cards[u] for u in causes)])
        if entries > TABLE_LIMIT:
            return f"{name[v]} has {len(causes)} causes: a table of {entries:,} entries (at most {TABLE_LIMIT:,})"
    return None


def lay_out(
    network: DiscreteNetwork, feature_nodes: Sequence[int], order_parents: Sequence[Sequence[int]]
) -> PolytreeLayout:
    """Collect what does not depend on the model; for an applicable problem (see :func:`polytree_applicable`)."""
    n = len(feature_nodes)
    parents = tuple(tuple(causes) for causes in order_parents)
    children: list[list[int]] = [[] for _ in range(n)]
    component = np.arange(n)
    for v, causes in enumerate(parents):
        for u in causes:
            children[u].append(v)
            component[component == component[u]] = component[v]
    feature_of = {node: i for i, node in enumerate(feature_nodes)}
    node_cards = network.cardinalities
    cards = tuple(node_cards[node] for node in feature_nodes)
    tables = []
    for v, node in enumerate(feature_nodes):
        given = [feature_of[p] for p in network.parents[node]]
        table = np.moveaxis(np.asarray(network.tables[node], dtype=np.float64), 0, -1)
        table = table.transpose(*(given.index(u) for u in parents[v] if u in given), table.ndim - 1)
        shape = tuple(cards[u] if u in given else 1 for u in parents[v])
        table = np.broadcast_to(table.reshape(*shape, cards[v]), (*(cards[u] for u in parents[v]), cards[v]))
        tables.append(np.ascontiguousarray(table))
    ancestors = np.eye(n, dtype=bool)
    for v in TopologicalSorter(dict(enumerate(parents))).static_order():
        for u in parents[v]:
            ancestors[:, v] |= ancestors[:, u]
    _, tree, sizes = np.unique(component, return_inverse=True, return_counts=True)
    frozen = tuple(tuple(effects) for effects in children)
    return PolytreeLayout(
        parents,
        frozen,
        cards,
        tuple(tables),
        tree.reshape(-1),
        {v: int(sizes[tree[v]]) for v in range(n)},
        ancestors,
        TimeModel(parents, frozen),
    )
