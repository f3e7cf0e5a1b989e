"""A discrete Bayesian network as plain arrays: the one representation that inference and sampling work on.

Where a network comes from (pgmpy, a file, a test) does not matter past this point. Nodes are indices; names and
states are only looked up at the border.

A network is checked once, at the border, so that inference never meets a table it cannot trust.

Tables that miss a sum of one by at most :data:`SUM_TOLERANCE` (files print few digits) are renormalised; anything
further off is an error: which entry was meant is anyone's guess. A table that sums to one as nearly as doubles
can tell is left as it is: to read a network that has been read changes no bit of it.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import networkx as nx
import numpy as np

from shap_asv.errors import NetworkError


@dataclass(frozen=True, eq=False)
class DiscreteNetwork:
    """``P(x) = prod over v of tables[v][x_v, x_parents(v)]``.

    Attributes
    ----------
    names : tuple of str
        Node names, in a topological order of the network.
    states : tuple of tuple
        ``states[v]`` are the labels of node ``v``; a code is a position in this tuple.
    parents : tuple of tuple of int
        ``parents[v]`` are node indices, all smaller than ``v``.
    tables : tuple of float64 arrays
        ``tables[v]`` has shape ``(card(v), card(p1), card(p2), ...)`` in the order of ``parents[v]``, and sums to
        one over axis 0.
    """

    names: tuple[str, ...]
    states: tuple[tuple[Hashable, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[np.ndarray, ...]

    @property
    def n_nodes(self) -> int:
        return len(self.names)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        return tuple(len(states) for states in self.states)

    def graph(self) -> nx.DiGraph:
        """The network's graph over names, causes before effects."""
        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from((self.names[p], self.names[v]) for v, above in enumerate(self.parents) for p in above)
        return graph


SUM_TOLERANCE = 0.01


def checked_network(network: DiscreteNetwork) -> DiscreteNetwork:
    """The same network with tables that sum to one (to rounding), or a :class:`NetworkError`. O(table sizes)."""
    if not isinstance(network, DiscreteNetwork):
        raise NetworkError(f"a DiscreteNetwork is needed, not {type(network).__name__}; read_network makes one")
    if network.n_nodes == 0:
        raise NetworkError("the network has no nodes; give it at least one")
    if len(set(network.names)) < network.n_nodes:
        repeated = sorted({name for name in network.names if network.names.count(name) > 1})
        raise NetworkError(f"the network names nodes more than once: {', '.join(repeated)}; names must be unique")
    if not network.n_nodes == len(network.states) == len(network.parents) == len(network.tables):
        raise NetworkError(
            f"the network has {network.n_nodes} names, {len(network.states)} state tuples, {len(network.parents)} "
            f"parent tuples and {len(network.tables)} tables; there must be one of each per node"
        )
    for v, name in enumerate(network.names):
        if not network.states[v]:
            raise NetworkError(f"node {name!r} has no states; every node needs at least one")
        if len(set(network.states[v])) < len(network.states[v]):
            raise NetworkError(f"node {name!r} has repeated states {network.states[v]}; states must be distinct")
        if any(not 0 <= p < v for p in network.parents[v]) or len(set(network.parents[v])) < len(network.parents[v]):
            raise NetworkError(
                f"the parents of node {name!r} (index {v}) are {network.parents[v]}; they must be distinct and come "
                "before it (topological order)"
            )
    return DiscreteNetwork(
        network.names,
        network.states,
        network.parents,
        tuple(_checked_table(network, v) for v in range(network.n_nodes)),
    )


def _checked_table(network: DiscreteNetwork, v: int) -> np.ndarray:
    name = network.names[v]
    try:
        table = np.array(network.tables[v], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NetworkError(f"the CPT of {name!r} holds something that is not a number: {error}") from error
    cards = network.cardinalities
    expected = (cards[v], *(cards[p] for p in network.parents[v]))
    if table.shape != expected:
        raise NetworkError(
            f"the CPT of {name!r} has shape {table.shape}, but its states and those of its parents "
            f"({', '.join(network.names[p] for p in network.parents[v]) or 'none'}) ask for {expected}"
        )
    if not np.isfinite(table).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(table))[0])
        raise NetworkError(f"the CPT of {name!r} holds {table[where]} at {_entry(network, v, where)}; fill it in")
    if (table < 0).any():
        where = tuple(int(i) for i in np.argwhere(table < 0)[0])
        raise NetworkError(
            f"the CPT of {name!r} holds the negative probability {table[where]} at {_entry(network, v, where)}"
        )
    sums = table.sum(axis=0)
    off = np.abs(sums - 1)
    # a little slack on the tolerance itself: 0.01 is not a binary fraction
    if (off > SUM_TOLERANCE * (1 + 1e-9)).any():
        worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(off)), sums.shape))
        given = _given(network, v, worst)
        raise NetworkError(
            f"the CPT of {name!r}{given and f' given {given}'} sums to {sums[worst]:.6g}, not to 1; correct it "
            f"(deviations up to {SUM_TOLERANCE} are taken for rounding and renormalised)"
        )
    # quotients by their sum miss one by at most n - 1/2 units in the last place, n the number of states
    rounded = off <= len(table) * np.finfo(float).eps
    return np.ascontiguousarray(np.where(rounded, table, table / np.where(rounded, 1.0, sums)))


def _given(network: DiscreteNetwork, v: int, states: tuple[int, ...]) -> str:
    pairs = zip(network.parents[v], states, strict=True)
    return ", ".join(f"{network.names[p]}={network.states[p][s]!r}" for p, s in pairs)


def _entry(network: DiscreteNetwork, v: int, where: tuple[int, ...]) -> str:
    given = _given(network, v, where[1:])
    return f"{network.names[v]}={network.states[v][where[0]]!r}" + (f" given {given}" if given else "")
