"""`PartialGraph`: a causal graph with edges whose direction is not known, and the DAGs that it stands for.

Algorithms that learn a causal graph from data can tell some directions and not others: DAGs with the same adjacencies
and the same v-structures imply the same independences. Such a class is written as one graph with directed and
undirected edges (a *CPDAG*; a *PDAG* where background knowledge has settled some more). A hidden common cause is a node
like any other.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx

from shap_asv.arguments import Seed, check_count, generator_of
from shap_asv.errors import CausalGraphError
from shap_asv.orders import reading
from shap_asv.orders.uncertain.extensions import Extensions, Orientation

Edge = tuple[Hashable, Hashable]

#: DAGs that are listed, or averaged over, unless told otherwise.
DEFAULT_EXTENSIONS = 1000


@dataclass(frozen=True, repr=False)
class PartialGraph:
    """Nodes with directed and undirected edges.

    Parameters
    ----------
    nodes : sequence of hashable
        Isolated ones too.
    directed : iterable of (cause, effect)
    undirected : iterable of pairs
        An edge with one of two directions.

    Raises
    ------
    CausalGraphError
        The directed edges have a cycle, a pair is joined in two ways that exclude each other, a name is unknown.

    Examples
    --------
    >>> graph = PartialGraph("abc", undirected=[("a", "b"), ("b", "c")])
    >>> graph
    PartialGraph(3 nodes, 2 undirected edges: a - b, b - c)
    >>> graph.count()
    3
    >>> for dag in graph:
    ...     print(sorted(dag.edges))
    [('a', 'b'), ('b', 'c')]
    [('b', 'a'), ('b', 'c')]
    [('b', 'a'), ('c', 'b')]
    """

    nodes: tuple[Hashable, ...]
    directed: frozenset[Edge] = frozenset()
    undirected: frozenset[frozenset[Hashable]] = frozenset()

    def __post_init__(self) -> None:
        # a string of one-letter names is handy in examples and tests
        given = tuple(self.nodes) if isinstance(self.nodes, str) else self.nodes
        nodes = reading.check_names(given, what="nodes")
        directed = frozenset(reading.check_edges(self.directed))
        undirected = _pairs(self.undirected)
        known = set(nodes)
        for name in (name for edge in [*sorted(directed, key=str), *undirected] for name in edge):
            if name not in known:
                raise reading.unknown_feature(name, nodes, "the graph")
        for a, b in sorted(directed, key=str):
            if frozenset((a, b)) in undirected:
                raise CausalGraphError(f"{a!r} and {b!r} are joined by a directed and an undirected edge; keep one")
        # a frozen class refuses assignments, not its own making
        vars(self).update(nodes=nodes, directed=directed, undirected=undirected)
        causes: list[list[int]] = [[] for _ in nodes]
        for cause, effect in self._numbered(directed):
            causes[effect].append(cause)
        reading.topological_order(causes, nodes)  # a cycle is an error that shows it

    # --- facts ----------------------------------------------------------------------------------------------------

    @cached_property
    def _place(self) -> dict[Hashable, int]:
        return {node: v for v, node in enumerate(self.nodes)}

    def _numbered(self, edges: Iterable[Iterable[Hashable]]) -> list[tuple[int, int]]:
        """Edges as numbers, sorted; a set has no sequence of its own, so its smaller number comes first."""
        pairs = [
            sorted(self._place[name] for name in edge)
            if isinstance(edge, frozenset)
            else [self._place[n] for n in edge]
            for edge in edges
        ]
        return sorted((a, b) for a, b in pairs)

    def _orientation(self) -> Orientation:
        return Orientation(len(self.nodes), self._numbered(self.directed), self._numbered(self.undirected))

    @cached_property
    def _closed(self) -> Orientation:
        state = self._orientation()
        if not state.close():
            raise CausalGraphError(f"the graph has no consistent extension: {self._told(state.conflict)}")
        return state

    def _told(self, conflict: tuple | None) -> str:
        assert conflict is not None
        kind, *places = conflict
        a, b, *others = (self.nodes[v] for v in places)
        if kind == "collider":
            return (
                f"{a} - {b} would have to be {a} -> {b}, and {a} -> {b} <- {others[0]} is a new v-structure; "
                f"direct the edges of {b} yourself, or drop one"
            )
        return f"{a} - {b} would have to be {a} -> {b}, which closes a cycle; drop or turn one of the directed edges"

    def oriented(self) -> "PartialGraph":
        """The graph with every edge directed that has one direction in all extensions (Meek's rules).

        Examples
        --------
        >>> PartialGraph("abc", [("a", "b")], [("b", "c")]).oriented()
        PartialGraph(3 nodes, 2 directed edges: a -> b, b -> c)
        """
        return PartialGraph(
            self.nodes,
            frozenset(self._named(self._closed.directed_edges())),
            _pairs(self._named(self._closed.undirected_edges())),
        )

    def _named(self, edges: Iterable[tuple[int, int]]) -> list[Edge]:
        return [(self.nodes[a], self.nodes[b]) for a, b in edges]

    def to_graph(self) -> "nx.DiGraph":
        """The one DAG of a graph without undirected edges."""
        if self.undirected:
            a, b = self._named(self._numbered(self.undirected))[0]
            raise CausalGraphError(f"the graph has undirected edges, such as {a} - {b}; list(graph) has its DAGs")
        return self._dag(self._orientation())

    def _dag(self, state: Orientation) -> "nx.DiGraph":
        graph = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self._named(state.directed_edges()))
        return graph

    # --- the DAGs it stands for -----------------------------------------------------------------------------------

    @cached_property
    def _extensions(self) -> Extensions:
        return Extensions(self._closed)

    def count(self) -> int:
        """The number of consistent extensions, exactly: DAGs with the same adjacencies and v-structures.

        Quick for a CPDAG, whatever the number. Where background knowledge has directed some more edges, counting may
        take more parts than its limit.

        Raises
        ------
        CausalGraphError
            There is none.
        BudgetExceededError
            Counting passed its limit.

        Examples
        --------
        >>> from itertools import combinations
        >>> PartialGraph(range(30), undirected=combinations(range(30), 2)).count()  # 30!
        265252859812191058636308480000000
        """
        total = self._extensions.count()
        if not total:
            edges = [f"{a} - {b}" for a, b in self._named(self._closed.undirected_edges())]
            raise CausalGraphError(
                "the graph has no consistent extension: every way to direct "
                f"{reading.shortened(edges)} closes a cycle or makes a new v-structure"
            )
        return total

    def __iter__(self) -> Iterator["nx.DiGraph"]:
        """The consistent extensions one by one, however many there are."""
        self.count()
        return (self._dag(state) for state in self._extensions)

    def sample(self, n: int, seed: Seed = None) -> list["nx.DiGraph"]:
        """``n`` independent draws from the uniform distribution on the consistent extensions.

        Examples
        --------
        >>> [len(dag.edges) for dag in PartialGraph("ab", undirected=["ab"]).sample(3, seed=0)]
        [1, 1, 1]
        """
        n = check_count(n, "n", "a number of DAGs")
        rng = generator_of(seed)
        self.count()
        return [self._dag(self._extensions.draw(rng)) for _ in range(n)]

    def __repr__(self) -> str:
        directed, undirected = (
            [f"{a} {mark} {b}" for a, b in self._named(self._numbered(edges))]
            for edges, mark in ((self.directed, "->"), (self.undirected, "-"))
        )
        counts = [
            f"{len(edges)} {kind} edge{'s' if len(edges) > 1 else ''}"
            for edges, kind in ((directed, "directed"), (undirected, "undirected"))
            if edges
        ]
        n = len(self.nodes)
        head = ", ".join([f"{n} node{'s' if n > 1 else ''}", *(counts or ["no edges"])])
        shown = [*directed, *undirected] or [str(node) for node in self.nodes]
        return f"PartialGraph({head}: {reading.shortened(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartialGraph, (self.nodes, self.directed, self.undirected)


def _pairs(edges: Iterable[Any]) -> frozenset[frozenset[Hashable]]:
    listed = [tuple(edge) if isinstance(edge, str | set | frozenset) else edge for edge in edges]
    return frozenset(frozenset(edge) for edge in reading.check_edges(listed))
