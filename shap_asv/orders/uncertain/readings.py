"""What a user passes as causal knowledge -> one causal order: of a single graph, or the mean over several.

A graph with undirected edges stands for all its DAGs, a list of graphs for the mean over them, a list of
(graph, weight) for the weighted mean. Nodes that are not features are hidden: they hand precedence on. A node
that is nearly the name of a feature is a typo, and an error.
"""

from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import Any

from shap_asv.arguments import Seed
from shap_asv.errors import CausalGraphError, CausalGraphWarning, listed, nearest, warn_user
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.uncertain.formats import ACCEPTED, is_one_graph, read_partial_graph
from shap_asv.orders.uncertain.mixture import GraphMixture, mixture_of_extensions
from shap_asv.orders.uncertain.partial_graph import DEFAULT_EXTENSIONS, PartialGraph


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
        See :mod:`shap_asv.orders.uncertain.formats`; a :class:`GraphMixture`, or anything with a method ``mixture``
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
    elif isinstance(causal_graph, GraphMixture):
        weighted = [(order, weight) for order, weight in zip(causal_graph.orders, causal_graph.weights, strict=True)]
        found = _mean(weighted, names, hidden, limit, seed)
    elif is_one_graph(causal_graph):
        found = _mean([(causal_graph, 1.0)], names, hidden, limit, seed)
    elif hasattr(causal_graph, "weighted_graphs"):
        found = _mean(causal_graph.weighted_graphs(), names, hidden, limit, seed)
    else:
        found = _mean(read_weighted(causal_graph), names, hidden, limit, seed)
    return found.orders[0] if isinstance(found, GraphMixture) and found.n_graphs == 1 else found


def read_weighted(graphs: Any) -> list[tuple[Any, Any]]:
    """A list of graphs or of (graph, weight) as pairs; without weights all count alike."""
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
        fitted.append(
            PartialGraph((*graph.nodes, *missing), graph.directed, graph.undirected, graph.bidirected)
            if missing
            else graph
        )
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
