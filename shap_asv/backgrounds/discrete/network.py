"""A discrete Bayesian network as plain arrays: the one representation that inference and sampling work on.

Where a network comes from (pgmpy, a file, a test) does not matter past this point. Nodes are indices; names and
states are only looked up at the border.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import networkx as nx
import numpy as np


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
