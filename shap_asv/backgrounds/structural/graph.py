"""A DAG as users write it -> names in a topological order with the positions of their causes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.errors import CausalGraphError, CausalGraphWarning, TableError, did_you_mean, listed, warn_user


@dataclass(frozen=True, eq=False)
class Dag:
    """``parents[v]`` are positions in ``names``, all smaller than v."""

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]

    @classmethod
    def read(cls, graph: Any, also: Sequence[str] = ()) -> "Dag":
        """From a networkx.DiGraph (pgmpy's networks are some) or (cause, effect) pairs; ``also`` are more nodes.

        Among nodes that may come next, the one that was named first does.
        """
        if not isinstance(graph, nx.Graph):
            if isinstance(graph, str | bytes) or not isinstance(graph, Iterable):
                raise CausalGraphError(
                    f"a structural model needs a DAG: a networkx.DiGraph or a list of (cause, effect) pairs, "
                    f"not {type(graph).__name__}"
                )
            edges = list(graph)
            for edge in edges:
                if not isinstance(edge, tuple | list) or len(edge) != 2:
                    raise CausalGraphError(f"an edge is a pair (cause, effect), not {edge!r}")
            graph = nx.DiGraph()
            graph.add_edges_from((edge[0], edge[1]) for edge in edges)
        elif not graph.is_directed():
            raise CausalGraphError("the graph is undirected; give every edge a direction from cause to effect")
        plain = nx.DiGraph()
        # in the order of the table where there is one, so that equal choices do not depend on how edges were listed
        plain.add_nodes_from([*also, *(str(node) for node in graph.nodes)])
        plain.add_edges_from((str(cause), str(effect)) for cause, effect in graph.edges())
        if not len(plain):
            raise CausalGraphError("the graph has no nodes; add the features as nodes, isolated ones too")
        place = {name: k for k, name in enumerate(plain.nodes)}
        try:
            names = tuple(nx.lexicographical_topological_sort(plain, key=place.__getitem__))
        except nx.NetworkXUnfeasible:
            cycle = [cause for cause, _ in nx.find_cycle(plain)]
            raise CausalGraphError(
                f"the causal graph has a cycle: {' -> '.join([*cycle, cycle[0]])}; remove one of these edges"
            ) from None
        at = {name: v for v, name in enumerate(names)}
        return cls(names, tuple(tuple(sorted(at[p] for p in plain.predecessors(name))) for name in names))

    @property
    def n_nodes(self) -> int:
        return len(self.names)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.names]
        for v, causes in enumerate(self.parents):
            for p in causes:
                found[p].append(v)
        return tuple(map(tuple, found))

    def to_networkx(self) -> nx.DiGraph:
        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(
            (self.names[p], name) for name, ps in zip(self.names, self.parents, strict=True) for p in ps
        )
        return graph

    def with_ancestors(self, nodes: Iterable[int]) -> np.ndarray:
        """bool (nodes,): these and all that lead to them."""
        wanted = np.zeros(self.n_nodes, dtype=bool)
        wanted[list(nodes)] = True
        for v in reversed(range(self.n_nodes)):
            if wanted[v]:
                wanted[list(self.parents[v])] = True
        return wanted


def check_nodes(dag: Dag, columns: Sequence[str], graph: Any) -> None:
    """Every node needs a column; a column that is not a node of ``graph`` (as it was given) is warned about."""
    drawn = {str(node) for node in graph.nodes} if isinstance(graph, nx.Graph) else {str(x) for e in graph for x in e}
    for name in dag.names:
        if name not in columns:
            hint = did_you_mean(
                name, [key for key in columns if key not in drawn], f"the columns are {listed(columns)}."
            )
            raise TableError(
                f"the graph has the node {name!r}, but the table has no column of that name; {hint} A node that was "
                "not measured cannot be learned: leave it out and join its causes to its effects"
            )
    loose = [name for name in columns if name not in drawn]
    if loose:
        warn_user(
            f"{listed(loose)} {'is' if len(loose) == 1 else 'are'} not in the graph: taken as independent of all other "
            "columns (no causes, no effects); add edges, or an isolated node to the graph to say so",
            CausalGraphWarning,
        )
