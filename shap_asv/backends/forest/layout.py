"""A causal forest and its network as flat arrays, features renumbered in preorder.

In preorder the subtree of a feature is a range of positions, and causes come before effects. The forest algorithm
needs nothing of the network but, for each feature v, the table

    P(x_v | x_context(v)),      context(v) = the network parents of features of v's subtree that lie outside of it

where all of the context are causal ancestors of v. When causal parents and network parents coincide, the context of v
is its parent and the table is its CPT; when the causal forest is denser than the network, contexts reach further up.
Messages of a term are tabulated over contexts, so a row meets the message of v at one index, ``row_contexts[row, v]``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork

# Joint states of one context; messages of every term are tabulated over them.
CONTEXT_LIMIT = 4096


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
    contexts : tuple of int64 arrays
        Positions of the context of each position, ascending (that is, top down).
    strides : tuple of int64 arrays
        A context's index is ``sum of state * stride`` over its members.
    message_offset : int64 (n + 1,)
        Where the message of each position starts when messages are laid end to end.
    table : float64, flat; table_offset : int64 (n + 1,)
        ``P(x_v | context)``, of shape (contexts, card) per position.
    child_base : int64, flat; child_offset : int64 (n + 1,)
        For v with parent u, per context of u: index in the context of v, apart from the state of u.
    child_stride : int64 (n,)
        What one state of the parent adds to that index (0 when the parent is not in v's context).
    """

    order: np.ndarray
    parent: np.ndarray
    size: np.ndarray
    card: np.ndarray
    contexts: tuple[np.ndarray, ...]
    strides: tuple[np.ndarray, ...]
    message_offset: np.ndarray
    table: np.ndarray
    table_offset: np.ndarray
    child_base: np.ndarray
    child_offset: np.ndarray
    child_stride: np.ndarray

    @property
    def n_features(self) -> int:
        return len(self.order)

    def row_contexts(self, codes: np.ndarray) -> np.ndarray:
        """Index of each row in the context of each position: codes (r, n) in preorder -> int32 (r, n)."""
        index = np.zeros(codes.shape, dtype=np.int32)
        for v, (members, strides) in enumerate(zip(self.contexts, self.strides, strict=True)):
            if len(members) == 1:
                index[:, v] = codes[:, members[0]]
            elif len(members):
                index[:, v] = codes[:, members] @ strides
        return index


def parents_obstacle(
    network: DiscreteNetwork, feature_nodes: Sequence[int], admits: Callable[[int, int], bool], otherwise: str
) -> str | None:
    """The first network parent of a feature that is not a feature that ``admits(parent, feature)``, as a sentence."""
    feature_of = {node: i for i, node in enumerate(feature_nodes)}
    for v, node in enumerate(feature_nodes):
        name = network.names[node]
        for p in network.parents[node]:
            if p not in feature_of:
                return f"the network node {network.names[p]} is not a feature but a cause of the feature {name}"
            if not admits(feature_of[p], v):
                return f"{network.names[p]} is a parent of {name} in the network but {otherwise}"
    return None


def forest_applicable(
    network: DiscreteNetwork, feature_nodes: tuple[int, ...], order_parents: Sequence[Sequence[int]]
) -> str | None:
    """Why the forest algorithm cannot treat this problem, as a sentence; None when it can.

    It can when the causal order is a rooted forest, and every network parent of a feature is a feature that precedes it
    causally. Network nodes that are not features may hang below features: they drop out.

    Parameters
    ----------
    network : DiscreteNetwork
    feature_nodes : tuple of int
        The network node of each feature.
    order_parents : sequence of sequences of int
        For each feature, the features that cause it, in the transitive reduction of the causal order.

    Examples
    --------
    >>> import numpy as np
    >>> from shap_asv.backgrounds.discrete.network import DiscreteNetwork
    >>> coin, copy = np.array([0.5, 0.5]), np.eye(2)
    >>> chain = DiscreteNetwork(("a", "b", "c"), ((0, 1),) * 3, ((), (0,), (1,)), (coin, copy, copy))
    >>> forest_applicable(chain, (0, 1, 2), ((), (0,), (1,)))
    >>> forest_applicable(chain, (0, 2), ((), (0,)))
    'the network node b is not a feature but a cause of the feature c'
    """
    name = [network.names[node] for node in feature_nodes]
    for i, causes in enumerate(order_parents):
        if len(causes) > 1:
            listed = ", ".join(name[c] for c in causes)
            return f"the causal graph is not a forest: {name[i]} has {len(causes)} causes ({listed})"
    order, parent = _preorder([causes[0] if causes else -1 for causes in order_parents])
    position = np.argsort(order)
    last = position + _subtree_sizes(parent)[position]

    def precedes(u: int, v: int) -> bool:
        return bool(position[u] < position[v] < last[u])

    obstacle = parents_obstacle(network, feature_nodes, precedes, "does not precede it causally")
    if obstacle is not None:
        return obstacle
    node_cards = network.cardinalities
    cards = [node_cards[node] for node in feature_nodes]
    contexts = _context_sets(network, feature_nodes, order_parents)
    for i, context in enumerate(contexts):
        joint = int(np.prod([cards[c] for c in context], dtype=object)) if context else 1
        if joint > CONTEXT_LIMIT:
            return (
                f"what lies causally below {name[i]} depends on {len(context)} features above it with {joint:,} "
                f"joint states (at most {CONTEXT_LIMIT:,} are tabulated)"
            )
    return None


def lay_out(
    network: DiscreteNetwork, feature_nodes: Sequence[int], order_parents: Sequence[Sequence[int]]
) -> ForestLayout:
    """Renumber an applicable problem (see :func:`forest_applicable`) in preorder and tabulate its conditionals."""
    n = len(feature_nodes)
    order, parent = _preorder([causes[0] if causes else -1 for causes in order_parents])
    position = np.argsort(order)
    size = _subtree_sizes(parent)
    node_cards = network.cardinalities
    card = np.array([node_cards[feature_nodes[i]] for i in order], dtype=np.int64)
    node_position = {node: int(position[i]) for i, node in enumerate(feature_nodes)}
    sets = _context_sets(network, feature_nodes, order_parents)
    contexts = tuple(np.array(sorted(int(position[c]) for c in sets[i]), dtype=np.int64) for i in order)
    strides = tuple(_strides(card[members]) for members in contexts)
    n_contexts = np.array([int(np.prod(card[members])) for members in contexts], dtype=np.int64)

    tables, bases, child_stride = [], [np.zeros(0, dtype=np.int64)], np.zeros(n, dtype=np.int64)
    child_length = np.zeros(n, dtype=np.int64)
    for v in range(n):
        node = feature_nodes[order[v]]
        given = [node_position[p] for p in network.parents[node]]
        tables.append(_spread(network.tables[node], given, contexts[v], card))
        if parent[v] >= 0:
            u = int(parent[v])
            stride_of = dict(zip(contexts[v].tolist(), strides[v].tolist(), strict=True))
            child_stride[v] = stride_of.get(u, 0)
            states = _joint_states(card[contexts[u]])
            bases.append(states @ np.array([stride_of.get(int(c), 0) for c in contexts[u]], dtype=np.int64))
            child_length[v] = len(states)
    return ForestLayout(
        order=order,
        parent=parent,
        size=size,
        card=card,
        contexts=contexts,
        strides=strides,
        message_offset=_offsets(n_contexts),
        table=np.concatenate([table.ravel() for table in tables]),
        table_offset=_offsets(n_contexts * card),
        child_base=np.concatenate(bases).astype(np.int64),
        child_offset=_offsets(child_length),
        child_stride=child_stride,
    )


def _subtree_sizes(parent: np.ndarray) -> np.ndarray:
    size = np.ones(len(parent), dtype=np.int64)
    for v in range(len(parent) - 1, -1, -1):
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    return size


def _context_sets(
    network: DiscreteNetwork, feature_nodes: Sequence[int], order_parents: Sequence[Sequence[int]]
) -> list[set[int]]:
    """Features outside the causal subtree of each feature that the subtree depends on, in the network."""
    feature_of = {node: i for i, node in enumerate(feature_nodes)}
    order, parent = _preorder([causes[0] if causes else -1 for causes in order_parents])
    sets: list[set[int]] = [set() for _ in feature_nodes]
    for v in range(len(order) - 1, -1, -1):
        i = int(order[v])
        sets[i] |= {feature_of[p] for p in network.parents[feature_nodes[i]]}
        sets[i].discard(i)
        if parent[v] >= 0:
            above = int(order[parent[v]])
            sets[above] |= sets[i] - {above}
    return sets


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


def _spread(table: np.ndarray, given: list[int], context: np.ndarray, card: np.ndarray) -> np.ndarray:
    """A CPT (card, parents...) as an array (contexts, card), constant along context members it does not look at."""
    members = context.tolist()
    states = _joint_states(card[context])
    if not given:
        return np.tile(table, (len(states), 1))
    index = tuple(states[:, members.index(p)] for p in given)
    return np.ascontiguousarray(np.moveaxis(table, 0, -1)[index].reshape(len(states), table.shape[0]))


def _joint_states(card: np.ndarray) -> np.ndarray:
    """All joint states, last member fastest: int64 (prod card, members)."""
    if len(card) == 0:
        return np.zeros((1, 0), dtype=np.int64)
    return np.indices(tuple(card)).reshape(len(card), -1).T.astype(np.int64)


def _strides(card: np.ndarray) -> np.ndarray:
    return np.append(np.cumprod(card[::-1])[::-1][1:], 1).astype(np.int64) if len(card) else np.zeros(0, np.int64)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
