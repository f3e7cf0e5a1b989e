"""Causal graphs as other libraries hold them -> :class:`PartialGraph`. One table of formats, none of them imported.

| library | what | how edges are told |
|---|---|---|
| networkx, pgmpy | ``DiGraph``, ``DAG``, any network | cause -> effect |
| pgmpy | ``PDAG`` (a CPDAG, too) | an undirected edge stands there in both directions |
| pgmpy | ``ADMG`` | edges of type "bidirected": a hidden common cause |
| causal-learn | ``GeneralGraph``, ``CausalGraph``, the record of GES, FCI's pair | endpoints: tail, arrow, circle |
| gCastle and others | 0/1 matrix or DataFrame | row causes column; entries both ways: undirected |
| ours | ``CausalOrder``, ``PartialGraph``, list of (cause, effect) | |

Circles (the mark of a *PAG*: tail or arrow, unknown which) say less than an undirected edge does, and the DAGs behind
them have hidden nodes without number: such a graph is an error that says what is accepted.

To add a format, add a row to :data:`FORMATS`.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.errors import CausalGraphError
from shap_asv.orders import reading
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.uncertain.partial_graph import PartialGraph

ACCEPTED = (
    "a networkx.DiGraph or pgmpy network, a pgmpy PDAG or ADMG, a graph of causal-learn without circles, a 0/1 matrix "
    "or DataFrame (row causes column), a list of (cause, effect), a CausalOrder or a PartialGraph"
)


@dataclass(frozen=True)
class GraphFormat:
    """A row of the table: ``read(thing, features)`` is called with what ``recognises`` says yes to.

    ``features`` are the names to use where a graph has none of its own; None when they are not known.
    """

    name: str
    recognises: Callable[[Any], bool]
    read: Callable[[Any, Sequence[Hashable] | None], PartialGraph]


def read_partial_graph(graph: Any, features: Sequence[Hashable] | None = None) -> PartialGraph:
    """Any one graph of the table above.

    Parameters
    ----------
    graph : object
    features : sequence of names, optional
        Names for the rows of a bare matrix, and for causal-learn's nodes where they are called X1, X2, ...

    Raises
    ------
    CausalGraphError
        Something else, a cycle, a matrix that is not 0/1, circle marks.

    Examples
    --------
    >>> read_partial_graph(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]]), ["a", "b", "c"])
    PartialGraph(3 nodes, 1 directed edge, 1 undirected edge: b -> c, a - b)
    """
    for known in FORMATS:
        if known.recognises(graph):
            return known.read(graph, features)
    raise CausalGraphError(f"a causal graph cannot be read from a {type(graph).__name__}; pass {ACCEPTED}")


def is_one_graph(thing: Any) -> bool:
    """Whether ``thing`` is one graph of the table (a list of edges too), not a list of graphs."""
    return any(known.recognises(thing) for known in FORMATS)


# --- networkx and pgmpy -------------------------------------------------------------------------------------------


def _is_pdag(thing: Any) -> bool:
    return isinstance(thing, nx.DiGraph) and any(cls.__name__ == "PDAG" for cls in type(thing).__mro__)


def _read_pdag(graph: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    edges = set(reading.check_edges(graph.edges()))
    undirected = {frozenset(edge) for edge in edges if edge[::-1] in edges}
    directed = {edge for edge in edges if frozenset(edge) not in undirected}
    return PartialGraph(_nodes(graph), frozenset(directed), frozenset(undirected))


def _is_admg(thing: Any) -> bool:
    return isinstance(thing, nx.MultiDiGraph) and any(kind == "bidirected" for _, _, kind in thing.edges(data="type"))


def _read_admg(graph: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    edges = list(graph.edges(data="type"))
    both = {frozenset((a, b)) for a, b, kind in edges if kind == "bidirected"}
    one_way = frozenset((a, b) for a, b, kind in edges if kind != "bidirected")
    return PartialGraph(_nodes(graph), one_way, frozenset(), frozenset(both))


def _read_digraph(graph: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    nodes, edges = reading.read_graph(graph)
    return PartialGraph(tuple(nodes), frozenset(edges))


def _nodes(graph: Any) -> tuple[Hashable, ...]:
    if not len(graph):
        raise CausalGraphError("the causal graph is empty; add the features as nodes, isolated ones too")
    return tuple(graph.nodes())


# --- causal-learn -------------------------------------------------------------------------------------------------


def _bare_general_graph(thing: Any) -> Any:
    """The GeneralGraph behind a CausalGraph, the record of GES or the (graph, edges) of FCI; None if there is none."""
    if isinstance(thing, dict):
        thing = thing.get("G")
    elif isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[1], list):
        thing = thing[0]
    elif hasattr(thing, "G") and not isinstance(thing, nx.Graph):
        thing = thing.G
    return thing if hasattr(thing, "get_nodes") and hasattr(thing, "get_graph_edges") else None


def _read_general_graph(thing: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    graph = _bare_general_graph(thing)
    names: list[Hashable] = [node.get_name() for node in graph.get_nodes()]
    # causal-learn learns from bare arrays and counts columns from 1
    if features is not None and names == [f"X{k + 1}" for k in range(len(features))] and not set(names) & set(features):
        names = list(features)
    name = {node.get_name(): own for node, own in zip(graph.get_nodes(), names, strict=True)}
    directed, undirected, bidirected = set(), set(), set()
    for edge in graph.get_graph_edges():
        a, b = name[edge.get_node1().get_name()], name[edge.get_node2().get_name()]
        one, other = str(edge.get_endpoint1()), str(edge.get_endpoint2())
        if one == "TAIL" and other == "ARROW":
            directed.add((a, b))
        elif one == "ARROW" and other == "TAIL":
            directed.add((b, a))
        elif one == other == "ARROW":
            bidirected.add(frozenset((a, b)))
        elif one == other == "TAIL":
            undirected.add(frozenset((a, b)))
        else:
            left, right = ({"TAIL": "-", "CIRCLE": "o"}.get(one, "<"), {"TAIL": "-", "CIRCLE": "o"}.get(other, ">"))
            raise CausalGraphError(
                f"the graph has the edge {a} {left}-{right} {b}: a PAG, whose circles leave open whether there is a "
                f"hidden common cause; settle them with what you know. Accepted is {ACCEPTED}"
            )
    return PartialGraph(tuple(names), frozenset(directed), frozenset(undirected), frozenset(bidirected))


# --- matrices -----------------------------------------------------------------------------------------------------


def _is_frame(thing: Any) -> bool:
    return all(hasattr(thing, attribute) for attribute in ("columns", "index", "to_numpy"))


def _read_frame(frame: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    columns, index = list(frame.columns), list(frame.index)
    if index == list(range(len(columns))):
        index = columns  # a frame made of a matrix and names for its columns only
    if sorted(map(str, index)) != sorted(map(str, columns)):
        strange = [name for name in index if name not in columns] or [name for name in columns if name not in index]
        raise CausalGraphError(
            f"an adjacency DataFrame has the same names as rows and columns; {strange[0]!r} is only one of the two"
            if strange
            else f"an adjacency DataFrame names each row and column once; its columns are {columns!r:.80}"
        )
    matrix = np.asarray(frame.to_numpy())
    reading.check_names(columns, what="the adjacency DataFrame")
    places = [index.index(name) for name in columns]
    return _read_matrix(matrix[places], columns)


def _is_matrix(thing: Any) -> bool:
    return isinstance(thing, np.ndarray) and thing.ndim == 2 and thing.dtype.kind in "biuf"


def _read_matrix(matrix: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    entries = np.asarray(matrix)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise CausalGraphError(f"an adjacency matrix is square (row causes column), not of shape {entries.shape}")
    names = list(range(len(entries))) if features is None else list(features)
    if len(names) != len(entries):
        raise CausalGraphError(
            f"an adjacency matrix of {len(entries)} nodes does not fit the {len(names)} features; pass a DataFrame "
            "with names, so that other nodes are known as latent"
        )
    wrong = np.argwhere(~np.isin(entries, (0, 1)))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise CausalGraphError(
            f"entry [{names[i]}, {names[j]}] of the adjacency matrix is {entries[i, j]!r:.40}, not 0 or 1; cut weights "
            "off first (matrix > 0.3, say), and pass causal-learn's graphs themselves, not their matrices"
        )
    edges = np.argwhere(entries.astype(bool)).tolist()
    undirected = frozenset(frozenset((names[i], names[j])) for i, j in edges if i < j and entries[j, i])
    directed = [(names[i], names[j]) for i, j in edges if not (entries[j, i] and i != j)]
    return PartialGraph(tuple(names), frozenset(reading.check_edges(directed)), undirected)


# --- our own ------------------------------------------------------------------------------------------------------


def _is_edge_list(thing: Any) -> bool:
    """A list of (cause, effect); a pair that holds a graph is a graph with its weight."""
    return isinstance(thing, list | tuple | set | frozenset) and all(
        isinstance(edge, tuple) and len(edge) == 2 and not any(map(_is_graph_object, edge)) for edge in thing
    )


def _is_graph_object(thing: Any) -> bool:
    return isinstance(thing, nx.Graph | CausalOrder | PartialGraph | np.ndarray | list | dict) or (
        _is_frame(thing) or _bare_general_graph(thing) is not None
    )


def _read_edge_list(edges: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    pairs = reading.check_edges(edges)
    named = dict.fromkeys(name for pair in pairs for name in pair) or dict.fromkeys(features or ())
    if not named:
        raise CausalGraphError("the causal graph is empty: no edges and no features; name the features")
    return PartialGraph(tuple(named), frozenset(pairs))


FORMATS: tuple[GraphFormat, ...] = (
    GraphFormat("PartialGraph", lambda x: isinstance(x, PartialGraph), lambda x, features: x),
    GraphFormat(
        "CausalOrder", lambda x: isinstance(x, CausalOrder), lambda x, features: PartialGraph(x.features, x.edges)
    ),
    GraphFormat("pgmpy PDAG", _is_pdag, _read_pdag),
    GraphFormat("ADMG", _is_admg, _read_admg),
    GraphFormat("DiGraph", lambda x: isinstance(x, nx.Graph), _read_digraph),
    GraphFormat("causal-learn", lambda x: _bare_general_graph(x) is not None, _read_general_graph),
    GraphFormat("adjacency DataFrame", _is_frame, _read_frame),
    GraphFormat("adjacency matrix", _is_matrix, _read_matrix),
    GraphFormat("list of edges", _is_edge_list, _read_edge_list),
)
