"""A causal forest and its network as flat arrays, features renumbered in preorder; and terms grouped by what they see.

In preorder the subtree of a feature is a range of positions, and causes come before effects. The forest algorithm
needs nothing of the network but, for each feature v, the table ``P(x_v | x_parent(v))``, constant along the causal
parent where the network has no such edge. Messages of a term are tabulated over the states of the parent.

A term that looks at the features F sees its *closure* A, F with all causal ancestors: features outside of A do not
change any expectation of the term, and take part in the order of A only through the sizes of subtrees. Terms with
the same closure share everything but their numbers, and rows that agree on A agree on all of them.

Of A, three parts behave differently (positions in preorder):

- the **top**, the path from a single root down to the first branching of A: it arrives in a fixed order;
- the **members**, the roots of what hangs below the top (the roots of A, when it has several): they run in parallel;
- below them, **inner** features whose part of A branches, and **chains**, whose part of A is a path.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.grouping import row_keys
from shap_asv.models.products import SumOfProducts


@dataclass(frozen=True, eq=False)
class ForestLayout:
    """The forest in preorder. All arrays are over preorder positions unless said otherwise.

    Attributes
    ----------
    order : int64 (n,)
        The feature at each position.
    parent : int64 (n,)
        Position of the causal parent, -1 for roots.
    size : int64 (n,)
        Features in the subtree, the position itself included.
    card : int64 (n,)
        Number of states.
    message_offset : int64 (n + 1,)
        Where the message of each position starts when messages are laid end to end.
    table : float64, flat; table_offset : int64 (n + 1,)
        ``P(x_v | parent)``, of shape (states of the parent, card) per position; one row for roots.
    """

    order: np.ndarray
    parent: np.ndarray
    size: np.ndarray
    card: np.ndarray
    message_offset: np.ndarray
    table: np.ndarray
    table_offset: np.ndarray

    @property
    def n_features(self) -> int:
        return len(self.order)


def forest_obstacle(
    network: DiscreteNetwork, feature_nodes: Sequence[int], order_parents: Sequence[Sequence[int]]
) -> str | None:
    """Why a causal order is no forest, or one beside the network's own edges; None where the algorithm can run.

    It is for problems where the network's parents of each feature are features that precede it. Network nodes that are
    not features may hang below features: they drop out.

    Parameters
    ----------
    network : DiscreteNetwork
    feature_nodes : sequence of int
        The network node of each feature.
    order_parents : sequence of sequences of int
        For each feature, the features that cause it, in the transitive reduction of the causal order.
    """
    name = [network.names[node] for node in feature_nodes]
    for i, causes in enumerate(order_parents):
        if len(causes) > 1:
            listed = ", ".join(name[c] for c in causes)
            return f"the causal graph is not a forest: {name[i]} has {len(causes)} causes ({listed})"
    for i, node in enumerate(feature_nodes):
        for p in network.parents[node]:
            if p in feature_nodes and feature_nodes.index(p) not in order_parents[i]:
                return f"{network.names[p]} is a cause of {name[i]} in the network, and not the one in the causal graph"
    return None


def lay_out(
    network: DiscreteNetwork, feature_nodes: Sequence[int], order_parents: Sequence[Sequence[int]]
) -> ForestLayout:
    """Renumber an applicable problem (see :func:`forest_obstacle`) in preorder and tabulate its conditionals."""
    order, parent = _preorder([causes[0] if causes else -1 for causes in order_parents])
    nodes = [feature_nodes[i] for i in order.tolist()]
    card = np.array([network.cardinalities[node] for node in nodes], dtype=np.int64)
    n_contexts = np.where(parent >= 0, card[parent], 1)
    tables = [
        network.tables[node].T if network.parents[node] else np.tile(network.tables[node], (count, 1))
        for node, count in zip(nodes, n_contexts.tolist(), strict=True)
    ]
    return ForestLayout(
        order=order,
        parent=parent,
        size=_subtree_sizes(parent),
        card=card,
        message_offset=_offsets(n_contexts),
        table=np.concatenate([table.ravel() for table in tables]),
        table_offset=_offsets(n_contexts * card),
    )


def _subtree_sizes(parent: np.ndarray) -> np.ndarray:
    size = np.ones(len(parent), dtype=np.int64)
    for v in range(len(parent) - 1, -1, -1):
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    return size


def _preorder(parent: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(feature at each position, position of its parent) for a forest given by parents (-1 = root)."""
    n = len(parent)
    children: list[list[int]] = [[] for _ in range(n)]
    stack = []
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            children[parent[i]].append(i)
        else:
            stack.append(i)
    order = []
    while stack:
        order.append(stack.pop())
        stack.extend(children[order[-1]])
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    return np.array(order, dtype=np.int64), np.array(
        [position[parent[i]] if parent[i] >= 0 else -1 for i in order], dtype=np.int64
    )


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# --- terms by what they see ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TermGroups:
    """Distinct terms, sorted by closure; columns in preorder.

    Attributes
    ----------
    terms : int32 (T, n)
    coefficients : float64 (T, k)
    vectors : float64, flat; vector_offset : int64 (n,)
        Functions of each position, rows of card(v) numbers.
    start : int64 (G + 1,)
        Terms of each group.
    closure : bool (G, n)
    degree : int64 (G,)
        Sum of the subtree sizes of the members: the degree of the group's clock polynomials. 0 if all of A is top.
    largest : int64 (G,)
        Largest subtree size of a member.
    """

    terms: np.ndarray
    coefficients: np.ndarray
    vectors: np.ndarray
    vector_offset: np.ndarray
    start: np.ndarray
    closure: np.ndarray
    degree: np.ndarray
    largest: np.ndarray

    @property
    def n_groups(self) -> int:
        return len(self.closure)


def group_forest_terms(layout: ForestLayout, products: SumOfProducts) -> TermGroups:
    """Merge equal terms, drop terms that see nothing, and sort the rest by closure. O(T n)."""
    terms, coefficients = _merge(np.ascontiguousarray(products.terms[:, layout.order], dtype=np.int32), products)
    by_feature = np.packbits((terms != 0).T, axis=1)  # bits over terms: the closure is taken for eight at a time
    for v in range(layout.n_features - 1, -1, -1):
        if layout.parent[v] >= 0:
            by_feature[layout.parent[v]] |= by_feature[v]
    closure = np.unpackbits(by_feature, axis=1, count=len(terms)).view(bool)
    packed = np.ascontiguousarray(np.packbits(closure, axis=0).T)
    if len(terms):
        _, first, group = np.unique(row_keys(packed), return_index=True, return_inverse=True)
    else:
        first, group = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    by_group = np.argsort(group, kind="stable")
    closure = np.ascontiguousarray(closure[:, first])
    degree, largest = _measure(layout, closure)
    vectors = [products.vectors[i] for i in layout.order]
    return TermGroups(
        terms=terms[by_group],
        coefficients=coefficients[by_group],
        vectors=np.concatenate([functions.ravel() for functions in vectors]).astype(np.float64),
        vector_offset=_offsets(np.array([functions.size for functions in vectors]))[:-1],
        start=_offsets(np.bincount(group, minlength=len(first))),
        closure=np.ascontiguousarray(closure.T),
        degree=degree,
        largest=largest,
    )


def _merge(terms: np.ndarray, products: SumOfProducts) -> tuple[np.ndarray, np.ndarray]:
    """Equal terms added up; the constant term, which attributes nothing, left out."""
    coefficients = np.asarray(products.coefficients, dtype=np.float64)
    kept = (terms != 0).any(axis=1)
    terms, coefficients = terms[kept], coefficients[kept]
    if len(terms) == 0:
        return terms, coefficients
    _, first, back = np.unique(row_keys(terms), return_index=True, return_inverse=True)
    if len(first) == len(terms):
        return terms, coefficients
    total = np.zeros((len(first), coefficients.shape[1]))
    np.add.at(total, back.reshape(-1), coefficients)
    return terms[first], total


def _measure(layout: ForestLayout, closure: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(degree, largest) of each group, from closures (n, G)."""
    n, n_groups = closure.shape
    children = np.zeros((n + 1, n_groups), dtype=np.int32)  # the last row stands above the roots
    for v in range(n):
        children[layout.parent[v]] += closure[v]
    degree, largest = np.zeros((2, n_groups), dtype=np.int64)
    top = np.zeros((n + 1, n_groups), dtype=bool)
    top[-1] = True
    for v in range(n):
        below = closure[v] & top[layout.parent[v]]
        top[v] = below & (children[layout.parent[v]] == 1)
        member = np.where(below & ~top[v], layout.size[v], 0)
        degree += member
        largest = np.maximum(largest, member)
    return degree, largest
