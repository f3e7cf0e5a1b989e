"""What a user passes as causal knowledge -> one causal order: of a single graph, or the mean over several.

A graph with undirected edges stands for all its DAGs, a list of graphs for the mean over them, a list of
(graph, weight) for the weighted mean. Nodes that are not features are hidden: they hand precedence on. A node
that is nearly the name of a feature is a typo, and an error.

Graphs may be held by other libraries, none of which is imported:

| library | what | how edges are told |
|---|---|---|
| networkx, pgmpy | ``DiGraph``, ``DAG``, any network | cause -> effect |
| pgmpy | ``PDAG`` (a CPDAG, too) | an undirected edge stands there in both directions |
| pgmpy | ``ADMG`` | edges of type "bidirected": a hidden common cause, a node called ``"a <-> b"`` |
| causal-learn | ``GeneralGraph``, ``CausalGraph`` | endpoints: tail, arrow, circle |
| ours | ``CausalOrder``, ``PartialGraph``, list of (cause, effect) | |

Circles (the mark of a *PAG*: tail or arrow, unknown which) say less than an undirected edge does, and the DAGs behind
them have hidden nodes without number: such a graph is an error that says what is accepted.

To add a format, add a row to :data:`FORMATS`: what recognises it, and what reads it.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

import networkx as nx

from shap_asv.arguments import Seed
from shap_asv.errors import CausalGraphError, CausalGraphWarning, listed, nearest, warn_user
from shap_asv.orders import reading
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.uncertain.mixture import GraphMixture, mixture_of_extensions, weighted_orders
from shap_asv.orders.uncertain.partial_graph import DEFAULT_EXTENSIONS, PartialGraph

ACCEPTED = (
    "a networkx.DiGraph or pgmpy network (networkx.from_pandas_adjacency makes one of a matrix), a pgmpy PDAG or ADMG, "
    "a graph of causal-learn without circles, a list of (cause, effect), a CausalOrder or a PartialGraph"
)


def read_partial_graph(graph: Any, features: Sequence[Hashable] | None = None) -> PartialGraph:
    """Any one graph of the table above.

    Parameters
    ----------
    graph : object
    features : sequence of names, optional
        Names for causal-learn's nodes where they are called X1, X2, ...

    Raises
    ------
    CausalGraphError
        Something else, a cycle, circle marks.

    Examples
    --------
    >>> read_partial_graph([("a", "b"), ("b", "c")])
    PartialGraph(3 nodes, 2 directed edges: a -> b, b -> c)
    """
    for recognises, read in FORMATS:
        if recognises(graph):
            return read(graph, features)
    raise CausalGraphError(f"a causal graph cannot be read from a {type(graph).__name__}; pass {ACCEPTED}")


def is_one_graph(thing: Any) -> bool:
    """Whether ``thing`` is one graph of the table (a list of edges too), not a list of graphs."""
    return any(recognises(thing) for recognises, _ in FORMATS)


# --- networkx and pgmpy -------------------------------------------------------------------------------------------


def _is_pdag(thing: Any) -> bool:
    return isinstance(thing, nx.DiGraph) and any(cls.__name__ == "PDAG" for cls in type(thing).__mro__)


def _read_pdag(graph: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    edges = set(reading.check_edges(graph.edges()))
    undirected = {frozenset(edge) for edge in edges if edge[::-1] in edges}
    directed = {edge for edge in edges if frozenset(edge) not in undirected}
    return PartialGraph(tuple(graph), frozenset(directed), frozenset(undirected))


def _is_admg(thing: Any) -> bool:
    return isinstance(thing, nx.MultiDiGraph) and any(kind == "bidirected" for _, _, kind in thing.edges(data="type"))


def _read_admg(graph: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    edges = list(graph.edges(data="type"))
    both = {frozenset((a, b)) for a, b, kind in edges if kind == "bidirected"}
    one_way = [(a, b) for a, b, kind in edges if kind != "bidirected"]
    return _with_hidden(graph, one_way, (), both)


def _with_hidden(nodes: Iterable[Any], directed: Iterable[Any], undirected: Any, bidirected: Any) -> PartialGraph:
    """A hidden common cause for each bidirected edge, a node called ``"a <-> b"``."""
    place = {node: k for k, node in enumerate(nodes)}
    pairs = sorted((sorted(pair, key=place.__getitem__) for pair in bidirected), key=str)
    hidden = {f"{a} <-> {b}": (a, b) for a, b in pairs}
    caused = ((cause, effect) for cause, pair in hidden.items() for effect in pair)
    return PartialGraph((*place, *hidden), frozenset((*directed, *caused)), frozenset(undirected))


def _read_digraph(graph: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    nodes, edges = reading.read_graph(graph)
    return PartialGraph(tuple(nodes), frozenset(edges))


# --- causal-learn -------------------------------------------------------------------------------------------------


def _bare_general_graph(thing: Any) -> Any:
    """A GeneralGraph, or the one behind a CausalGraph; None if there is none."""
    thing = thing.G if hasattr(thing, "G") and not isinstance(thing, nx.Graph) else thing
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
    return _with_hidden(names, directed, undirected, bidirected)


# --- our own ------------------------------------------------------------------------------------------------------


def _is_edge_list(thing: Any) -> bool:
    """A list of (cause, effect); a pair that holds a graph is a graph with its weight."""
    return isinstance(thing, list | tuple | set | frozenset) and all(
        isinstance(edge, tuple) and len(edge) == 2 and not any(map(_is_graph_object, edge)) for edge in thing
    )


def _is_graph_object(thing: Any) -> bool:
    return isinstance(thing, nx.Graph | CausalOrder | PartialGraph | list) or _bare_general_graph(thing) is not None


def _read_edge_list(edges: Any, features: Sequence[Hashable] | None) -> PartialGraph:
    pairs = reading.check_edges(edges)
    named = dict.fromkeys(name for pair in pairs for name in pair) or dict.fromkeys(features or ())
    if not named:
        raise CausalGraphError("the causal graph is empty: no edges and no features; name the features")
    return PartialGraph(tuple(named), frozenset(pairs))


FORMATS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Sequence[Hashable] | None], PartialGraph]], ...] = (
    (lambda x: isinstance(x, PartialGraph), lambda x, features: x),
    (lambda x: isinstance(x, CausalOrder), lambda x, features: PartialGraph(x.features, x.edges)),
    (_is_pdag, _read_pdag),
    (_is_admg, _read_admg),
    (lambda x: isinstance(x, nx.Graph), _read_digraph),
    (lambda x: _bare_general_graph(x) is not None, _read_general_graph),
    (_is_edge_list, _read_edge_list),
)


# --- one graph or several ------------------------------------------------------------------------------------------


def read_causal_graphs(
    causal_graph: Any,
    features: Iterable[Hashable] | None = None,
    hidden: Iterable[Hashable] = (),
    limit: int = DEFAULT_EXTENSIONS,
    seed: Seed = None,
) -> CausalOrder | GraphMixture:
    """One graph of any kind, a list of graphs, or a list of (graph, weight), as a causal order of ``features``.

    Parameters
    ----------
    causal_graph : object
        A graph of the table above; a :class:`GraphMixture`, or anything with a method ``weighted_graphs``
        (what :func:`~shap_asv.discovery.bootstrap_graphs` returns), too.
    features : iterable of names, optional
        The players. By default the nodes of the graph.
    hidden : iterable of names
        Nodes that are known not to be features, so that no warning names them.
    limit : int
        DAGs that one graph with undirected edges may stand for; of more, that many are drawn uniformly, with a warning.
    seed : int, numpy Generator or SeedSequence, optional
        For those draws.

    Returns
    -------
    CausalOrder, or GraphMixture where there is more than one order

    Raises
    ------
    CausalGraphError
        No graph, a cycle, no consistent extension, graphs over different features, a typo.
    OrdersError
        A weight that is not positive.

    Examples
    --------
    >>> read_causal_graphs([([("a", "b")], 3), ([("b", "a")], 1)], features=["a", "b"]).edge_certainty
    {('a', 'b'): 0.75, ('b', 'a'): 0.25}
    >>> read_causal_graphs([("Age", "income")], features=["age", "income"])
    Traceback (most recent call last):
    ...
    shap_asv.errors.CausalGraphError: the causal graph has a node 'Age', which is not a feature; did you mean 'age'? ...
    """
    names = None if features is None else tuple(features)
    found: CausalOrder | GraphMixture
    if isinstance(causal_graph, CausalOrder | GraphMixture) and causal_graph.features == names:
        found = causal_graph
    else:
        one = is_one_graph(causal_graph)
        found = _mean([(causal_graph, 1.0)] if one else read_weighted(causal_graph), names, hidden, limit, seed)
    return found.orders[0] if isinstance(found, GraphMixture) and found.n_graphs == 1 else found


def read_weighted(graphs: Any) -> list[tuple[Any, Any]]:
    """Several graphs, or (graph, weight), as pairs; without weights all count alike."""
    if isinstance(graphs, GraphMixture):
        return list(weighted_orders(graphs))
    if hasattr(graphs, "weighted_graphs"):
        return list(graphs.weighted_graphs())
    if isinstance(graphs, str | bytes | dict) or not isinstance(graphs, Iterable):
        raise CausalGraphError(
            f"a causal graph cannot be read from a {type(graphs).__name__}; pass {ACCEPTED}, or a list of those"
        )
    listed = list(graphs)
    if not listed:
        raise CausalGraphError("a list of no graphs is not a causal graph; pass at least one")
    weighted = [_is_weighted(item) for item in listed]
    if all(weighted):
        return [(item[0], item[1]) for item in listed]
    for k, item in enumerate(listed):
        if weighted[k]:
            raise CausalGraphError(f"entry {k} of the list has a weight and others have none; give all graphs a weight")
        if not is_one_graph(item):
            raise CausalGraphError(
                f"entry {k} of the list is {item!r:.80}, not a graph; a list of edges holds tuples (cause, effect), "
                f"and a list of graphs holds {ACCEPTED}"
            )
    return [(item, 1.0) for item in listed]


def _is_weighted(item: Any) -> bool:
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[1], Real)
        and not isinstance(item[1], bool)
        and not isinstance(item[0], str)
        and is_one_graph(item[0])
    )


def _mean(
    weighted: Sequence[tuple[Any, Any]],
    features: tuple[Hashable, ...] | None,
    hidden: Iterable[Hashable],
    limit: int,
    seed: Seed,
) -> GraphMixture:
    graphs = [read_partial_graph(graph, features) for graph, _ in weighted]
    weights = [weight for _, weight in weighted]
    if features is not None:
        graphs = fit_to_features(graphs, features, hidden)
    elif len({frozenset(graph.nodes) for graph in graphs}) == 1:
        features = graphs[0].nodes
    return mixture_of_extensions(list(zip(graphs, weights, strict=True)), features, limit, seed)


def fit_to_features(
    graphs: Sequence[PartialGraph], features: Sequence[Hashable], hidden: Iterable[Hashable] = ()
) -> list[PartialGraph]:
    """The graphs with every feature as a node. What they lack, and what they have besides, is told in one warning.

    Raises
    ------
    CausalGraphError
        A node is nearly the name of a feature; a graph speaks of no feature at all.
    """
    known, allowed = set(features), set(features) | set(hidden)
    fitted, lacking, besides = [], {}, {}
    for graph in graphs:
        missing = [name for name in features if name not in set(graph.nodes)]
        foreign = [node for node in graph.nodes if node not in allowed]
        if len(missing) == len(features):
            near = [(node, close) for node in graph.nodes if (close := nearest_name(node, features)) is not None]
            hint = f" (did you mean {near[0][1]!r} by {near[0][0]!r}?)" if near else ""
            raise CausalGraphError(
                f"the causal graph speaks of {listed(graph.nodes)}, none of which is a feature; "
                f"the features are {listed(features)}{hint}"
            )
        for node in foreign:
            check_typo(node, missing or list(features))
        lacking.update(dict.fromkeys(missing))
        besides.update(dict.fromkeys(node for node in foreign if node not in known))
        fitted.append(PartialGraph((*graph.nodes, *missing), graph.directed, graph.undirected) if missing else graph)
    if lacking:
        warn_user(
            f"the causal graph does not mention {listed(list(lacking))}; taken as features without causes and effects",
            CausalGraphWarning,
        )
    if besides:
        warn_user(
            f"the causal graph has {listed(list(besides))}, not a feature of the model; "
            "projected out, precedence through it is kept",
            CausalGraphWarning,
        )
    return fitted


def nearest_name(node: Hashable, features: Sequence[Hashable]) -> Hashable | None:
    """The feature that ``node`` is nearly the name of; None if there is none. Names that differ in a number do not.

    Examples
    --------
    >>> nearest_name("Age", ["age", "income"]), nearest_name("x2", ["x1"])
    ('age', None)
    """
    word = str(node).casefold()
    wordy = (x for x in features if str(x).casefold() == word or not any(c.isdigit() for c in str(x)))
    return nearest(node, wordy, cutoff=0.8)


def check_typo(node: Hashable, features: Sequence[Hashable]) -> None:
    """A node that is nearly the name of a feature is a typo, and an error."""
    near = nearest_name(node, features)
    if near is not None:
        raise CausalGraphError(
            f"the causal graph has a node {node!r}, which is not a feature; did you mean {near!r}? "
            "(Rename it if it really is another variable.)"
        )
