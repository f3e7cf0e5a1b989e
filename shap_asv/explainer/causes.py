"""What the user knows about causes: read here and nowhere else.

A causal graph may be any of the kinds in :mod:`shap_asv.orders.uncertain.formats`, or several of them, with weights or
without; without one the network's own graph is taken. It is asked three things:

- **which orders count**: an order of the features, or of groups of them, or the mean over several
  (:func:`read_causal_graph`, :func:`order_of_players`). Nodes that are not features are projected out, which keeps
  precedence through them; a node that is nearly the name of a feature is a typo and an error;
- **what causes each feature**, for what is fitted along a DAG (:func:`dag_over`, :func:`level_names`);
- **what do() does**, where the background does not know: levels (:func:`levels_of`).

``groups={"weather": ["temp", "hum"]}`` makes players of several features; features that no group names are players of
their own. The causal graph is between the players, or between the features: then its quotient is taken.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any
from warnings import catch_warnings, simplefilter

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Background
from shap_asv.errors import CausalGraphError, ShapAsvWarning, UnknownFeatureError, did_you_mean, listed
from shap_asv.frames import frame_columns
from shap_asv.orders import CausalOrder
from shap_asv.orders.players import Players
from shap_asv.orders.reading import Levels
from shap_asv.orders.uncertain import GraphMixture, PartialGraph, read_causal_graphs
from shap_asv.orders.uncertain.formats import (
    ACCEPTED,
    check_typo,
    is_one_graph,
    nearest_name,
    read_partial_graph,
    read_weighted,
)

#: Share of the features that a DAG may leave out and still be tried as one.
MOST_LEFT_OUT = 0.25


def own_order(background: Background) -> CausalOrder:
    """The background's own graph as a causal order: latent variables hand precedence on. Without a graph, no edges."""
    if background.graph is None:
        return edgeless_order(background.features)
    return CausalOrder.from_graph(background.graph, features=list(background.features))


def edgeless_order(features: Sequence[str], levels: Levels | None = None) -> CausalOrder:
    """Every order of the features is allowed, as in ordinary SHAP; ``levels`` still say what interventions do."""
    return CausalOrder(tuple(features), ((),) * len(features), levels)


def read_causal_graph(
    causal_graph: Any, features: Sequence[str], hidden: Sequence[str] = (), seed: int | None = None
) -> CausalOrder | GraphMixture:
    """What a user knows about causes -> an order of exactly ``features``: of one graph, or the mean over several.

    Features that a graph does not mention are kept without any edge, and nodes that are not features are projected
    out; both are said in a warning (the latter not for ``hidden`` nodes, which are known to be latent). ``seed`` is
    for graphs with undirected edges that stand for too many DAGs to list.

    Raises
    ------
    CausalGraphError
        Not a graph; or an edge names what is neither a feature nor hidden, and no feature depends on that.
    """
    if isinstance(causal_graph, CausalOrder | GraphMixture) and causal_graph.features == tuple(features):
        return read_causal_graphs(causal_graph, features)
    if isinstance(causal_graph, CausalOrder) and causal_graph.levels is not None:
        _check_levels(causal_graph, features, hidden)
    several = weighted_graphs(causal_graph)
    weighted = [(causal_graph, 1.0)] if several is None else several
    graphs = [(as_partial_graph(graph, features), weight) for graph, weight in weighted]
    _check_strangers([graph for graph, _ in graphs], features, hidden)
    return read_causal_graphs(graphs, features, hidden, seed=seed)


def _check_levels(order: CausalOrder, features: Sequence[str], hidden: Sequence[str]) -> None:
    """Raise where levels name what is no feature and stands between no two: nothing follows from it but a typo."""
    names = [str(name) for name in order.features]
    known = [k for k, name in enumerate(names) if name in features]
    for k, name in enumerate(names):
        between = order.ancestor_matrix[known, k].any() and order.ancestor_matrix[k, known].any()
        if known and k not in known and name not in hidden and not between:
            hint = did_you_mean(name, features, f"leave it out (the features are {listed(features)})")
            raise CausalGraphError(f"the levels name {name!r}, which is not a feature; {hint}")


def _check_strangers(graphs: Sequence[PartialGraph], features: Sequence[str], hidden: Sequence[str]) -> None:
    """Raise on an edge to an unknown name that says nothing of the features: a typo, most likely.

    With two neighbours, of which it causes one, an unknown name is a mediator or a hidden common cause.
    """
    neighbours: dict[str, set[str]] = {}
    causes: set[str] = set()
    for graph in graphs:
        if not set(features) & set(graph.nodes):
            return  # an error of its own
        for edge in [*graph.directed, *graph.undirected]:
            a, b = map(str, edge)
            neighbours.setdefault(a, set()).add(b)
            neighbours.setdefault(b, set()).add(a)
        causes |= {str(cause) for cause, _ in graph.directed}
        causes |= {str(node) for pair in graph.undirected for node in pair}
    for node in sorted(set(neighbours) - {*features, *hidden}):
        if len(neighbours[node]) < 2 or node not in causes:
            hint = did_you_mean(node, features, f"leave it out (the features are {listed(features)})")
            raise CausalGraphError(
                f"the causal graph has an edge to {node!r}, which is neither a feature nor a node of the background "
                f"and puts no feature before another; {hint}"
            )


def weighted_graphs(causal_graph: Any) -> list[tuple[Any, Any]] | None:
    """Several graphs as (graph, weight) pairs; None for anything else, be it one graph or not a graph at all."""
    if isinstance(causal_graph, GraphMixture) or hasattr(causal_graph, "weighted_graphs"):
        return read_weighted(causal_graph)
    if not isinstance(causal_graph, list | tuple) or is_one_graph(causal_graph):
        return None
    # a list of malformed edges is no list of graphs: as_partial_graph names the edge that is wrong
    return read_weighted(causal_graph) if any(map(_holds_graph, causal_graph)) else None


def levels_of(causal_graph: Any) -> Levels | None:
    """The levels that an order was made from, alone or in a list of graphs that all say the same; None without any.

    Raises
    ------
    CausalGraphError
        Graphs say different things of levels, so that each has interventions of its own.
    """
    if isinstance(causal_graph, CausalOrder):
        return causal_graph.levels
    if isinstance(causal_graph, GraphMixture):
        said = causal_graph.levels
    else:
        several = weighted_graphs(causal_graph) or []
        said = tuple(dict.fromkeys(levels_of(graph) for graph, _ in several))
    if len(said) > 1:
        raise CausalGraphError(
            f"the graphs do not say the same of levels, so that do() is not the same under all {len(said)}; make an "
            "explainer of one of them, and pass the others to explainer.sensitivity(X, graphs)"
        )
    return said[0] if said else None


def _holds_graph(item: Any) -> bool:
    """Whether an entry of a list is a graph, or a pair that begins with one."""
    if isinstance(item, tuple) and (len(item) == 0 or (len(item) == 2 and is_one_graph(item[0]))):
        return len(item) == 2
    return is_one_graph(item)


def as_partial_graph(graph: Any, features: Sequence[str] | None = None) -> PartialGraph:
    """One graph of any kind with names that are strings; ``features`` name what has no names of its own."""
    if isinstance(graph, list | tuple | set | frozenset) and not is_one_graph(graph):
        for edge in read_pairs(graph):
            for node in edge:
                _named(node)
    if not is_one_graph(graph):
        raise CausalGraphError(
            f"a causal graph cannot be read from a {type(graph).__name__}; pass {ACCEPTED}, or a list of those"
        )
    read = read_partial_graph(graph, features)
    return _renamed(read, {node: _named(node) for node in read.nodes})


def _renamed(graph: PartialGraph, names: Mapping[Any, str]) -> PartialGraph:
    if len(set(names.values())) < len(names):
        raise CausalGraphError("two nodes of the causal graph are written alike, such as 1 and '1'; rename one")
    return PartialGraph(
        tuple(names[node] for node in graph.nodes),
        frozenset((names[a], names[b]) for a, b in graph.directed),
        frozenset(frozenset(names[node] for node in pair) for pair in graph.undirected),
    )


def as_dag(causal_graph: Any, features: Sequence[str]) -> nx.DiGraph | None:
    """The one graph whose edges are all directed; None where there are several, or edges without a direction."""
    if weighted_graphs(causal_graph) is not None:
        return None
    graph = as_partial_graph(causal_graph, features)
    return None if graph.undirected else graph.to_graph()


def read_pairs(edges: Any) -> list[tuple[Any, Any]]:
    """A list of (cause, effect) as it is, or a CausalGraphError that names the entry that is not a pair."""
    for edge in edges:
        if not isinstance(edge, tuple) or len(edge) != 2:  # a list of two could just as well be a level
            raise CausalGraphError(
                f"{edge!r} is no (cause, effect) pair; pass edges as tuples, [('age', 'income')], "
                "and levels as CausalOrder.from_levels([['age', 'sex'], ['income']])"
            )
    return [(edge[0], edge[1]) for edge in edges]


def _named(node: Any) -> str:
    """The name of a node; things that cannot be a name would otherwise become one by being printed."""
    if isinstance(node, (str, int, np.integer)) and not isinstance(node, bool):
        return str(node)
    if isinstance(node, Hashable) and node is not None and node == node:
        return str(node)
    raise CausalGraphError(f"the causal graph has the node {node!r:.80}, which is not a name; use strings")


# --- columns without names: whole numbers are positions ------------------------------------------------------------


def uses_positions(graph: Any) -> bool:
    """Whether every node of a causal graph is a whole number; the rows of a bare matrix have no other names."""
    if isinstance(graph, np.ndarray):
        return True
    several = weighted_graphs(graph)
    if several is not None:
        return all(uses_positions(each) for each, _ in several)
    if isinstance(graph, list | tuple | set | frozenset):
        read_pairs(graph)  # says what is wrong with it
    nodes = read_partial_graph(graph, [""]).nodes if is_one_graph(graph) else ("",)
    return all(isinstance(node, (int, np.integer)) and not isinstance(node, bool) for node in nodes)


def name_positions(graph: Any, features: Sequence[str]) -> Any:
    """A graph of positions of columns, or several -> the same with their names."""
    several = weighted_graphs(graph)
    if several is not None:
        return [(name_positions(each, features), weight) for each, weight in several]
    if isinstance(graph, CausalOrder) and graph.levels is not None:
        names = tuple(_feature_at(features, node) for node in graph.features)
        return CausalOrder(names, graph.parents, graph.levels.renamed(lambda node: _feature_at(features, node)))
    read = read_partial_graph(graph, features)
    return _renamed(read, {node: node if isinstance(node, str) else _feature_at(features, node) for node in read.nodes})


def _feature_at(features: Sequence[str], position: Any) -> str:
    if not 0 <= position < len(features):
        raise CausalGraphError(f"the causal graph names column {position}; the columns are 0 to {len(features) - 1}")
    return features[int(position)]


_SPELLING = "groups= takes a dict of names and lists of features, such as {'weather': ['temp', 'hum']}"


def read_groups(groups: Any, features: Sequence[str]) -> Players | None:
    """The players, in the sequence of their first members; None without groups.

    Raises
    ------
    UnknownFeatureError
        A member is not a feature.
    CausalGraphError
        Not a dict of lists, a group without members, a feature in two groups, a group with the name of a feature that
        is not in it.
    """
    if groups is None:
        return None
    if not isinstance(groups, Mapping):
        raise CausalGraphError(f"{_SPELLING}; got a {type(groups).__name__}, {groups!r:.80}")
    place = {name: v for v, name in enumerate(features)}
    owner: dict[str, str] = {}
    for name, members in groups.items():
        for member in _members(name, members):
            if member not in place:
                near = nearest_name(member, features)
                hint = "" if near is None else f"; did you mean {near!r}?"
                raise UnknownFeatureError(
                    f"group {name!r} names {member!r}, which is not a feature: {listed(features)}{hint}"
                )
            if member in owner:
                both = (
                    f"group {name!r} twice" if owner[member] == str(name) else f"groups {owner[member]!r} and {name!r}"
                )
                raise CausalGraphError(f"{member!r} is in {both}; a feature moves with one group")
            owner[member] = str(name)
    for name in map(str, groups):
        if name in place and owner.get(name) != name:
            raise CausalGraphError(
                f"a group is called {name!r}, which is the name of a feature that is not in it; rename the group"
            )
    players = [owner.get(feature, feature) for feature in features]
    names = tuple(dict.fromkeys(players))
    return Players(names, np.array([names.index(player) for player in players], dtype=np.intp))


def _members(name: Any, members: Any) -> list[str]:
    if not isinstance(name, str):
        raise CausalGraphError(f"{_SPELLING}; got a group called {name!r:.80}, a {type(name).__name__}")
    if isinstance(members, str | bytes | Mapping) or not isinstance(members, Iterable):
        raise CausalGraphError(f"{_SPELLING}; group {name!r} is {members!r:.80}, not a list")
    found = frame_columns(members) or list(members)
    if not found:
        raise CausalGraphError(f"group {name!r} has no members; leave it out, or name its features")
    return [str(member) for member in found]


def order_of_players(
    causal_graph: Any, players: Players | None, background: Background, seed: int | None
) -> CausalOrder | GraphMixture:
    """What a graph, or the background's own, says of the players: of groups (None: features are the players).

    A graph between groups is taken as it is, one between features as its quotient.
    """
    if players is None and causal_graph is not None:
        return read_causal_graph(causal_graph, background.features, background.latent, seed)
    if causal_graph is None:
        own = own_order(background)
        return own if players is None else players.quotient(own)
    assert players is not None
    if isinstance(causal_graph, CausalOrder | GraphMixture) and tuple(causal_graph.features) == players.names:
        return read_causal_graphs(causal_graph, players.names)
    named = _nodes(causal_graph, background.features)
    known = [*background.features, *(name for name in players.names if name not in background.features)]
    for node in sorted(named - {*known, *background.latent}):
        check_typo(node, known)
    own_names = [name for name in players.names if name in named and name not in background.features]
    hidden_in = [
        name
        for name, player in zip(background.features, players.of_feature, strict=True)
        if name in named and players.names[player] != name
    ]
    if own_names and hidden_in:
        raise CausalGraphError(
            f"the causal graph names the group {own_names[0]!r} and the feature {hidden_in[0]!r}, which is in a group; "
            "draw it between the groups, or between the features"
        )
    if own_names:
        return read_causal_graph(causal_graph, players.names, background.latent, seed)
    return players.quotient(read_causal_graph(causal_graph, background.features, background.latent, seed))


def knowledge_of_features(groups: Any, features: Sequence[str], causal_graph: Any) -> Any:
    """The graph, as far as it speaks of groups, as graph of the features."""
    players = read_groups(groups, features)
    if players is None or causal_graph is None:
        return causal_graph
    if not _nodes(causal_graph, features) & (set(players.names) - set(features)):
        return causal_graph
    with catch_warnings():  # said where the problem is put together
        simplefilter("ignore", ShapAsvWarning)
        order = read_causal_graph(causal_graph, players.names)
    return players.spread(order, features)


def join_groups(graph: Any, features: Sequence[str], groups: Mapping[str, Sequence[str]], seed: int) -> Any:
    """A graph that names members of groups as one between the groups and the features that are in none."""
    players = read_groups(groups, features)
    assert players is not None
    owner = {name: players.names[p] for name, p in zip(features, players.of_feature, strict=True)}
    if graph is None or all(owner.get(node, node) == node for node in _nodes(graph, features)):
        return graph
    dag = _dag_within(features, graph)
    if dag is None:
        return players.quotient(order_of_features(features, graph, seed))
    joined = nx.relabel_nodes(dag, owner)
    joined.remove_edges_from(list(nx.selfloop_edges(joined)))
    return joined


def _nodes(causal_graph: Any, features: Sequence[str]) -> set[str]:
    several = weighted_graphs(causal_graph)
    graphs = [causal_graph] if several is None else [graph for graph, _ in several]
    return {str(node) for graph in graphs for node in as_partial_graph(graph, features).nodes}


# --- for what is fitted to a table -----------------------------------------------------------------------------


def order_of_features(features: Sequence[str], causal_graph: Any, seed: int) -> CausalOrder | GraphMixture:
    if causal_graph is None:
        return edgeless_order(features)
    with catch_warnings():  # said where the problem is put together
        simplefilter("ignore", ShapAsvWarning)
        return read_causal_graph(causal_graph, features, seed=seed)


def level_graph(features: Sequence[str], causal_graph: Any, seed: int) -> nx.DiGraph | None:
    """Edges to each feature from all of earlier levels, if the graph is two levels or more, one after the other."""
    order = order_of_features(features, causal_graph, seed)
    numbers = order.level_numbers if isinstance(order, CausalOrder) else None
    if numbers is None or not numbers.any():
        return None
    return nx.DiGraph((features[a], features[b]) for a, b in np.argwhere(numbers[:, None] < numbers))


def dag_over(features: Sequence[str], graph: Any) -> nx.DiGraph | None:
    """The graph, if it says of every feature what causes it; None for levels, a few edges and hidden causes.

    Several graphs and edges without a direction leave causes open, too. A :class:`CausalOrder` is not a DAG: it says
    what comes first, and edges that follow from others are gone.
    """
    dag = _dag_within(features, graph)
    return dag if dag is not None and set(features) <= set(dag) else None


def nearly_whole_dag(features: Sequence[str], graph: Any) -> nx.DiGraph | None:
    """The graph with nodes of their own for features that it does not mention, if these are few; else None."""
    dag = _dag_within(features, graph)
    if dag is None or not dag.edges or len(dag) < (1 - MOST_LEFT_OUT) * len(features):
        return None
    dag.add_nodes_from(features)
    return dag


def _dag_within(features: Sequence[str], graph: Any) -> nx.DiGraph | None:
    """What the graph says of the features alone; None if it is not a DAG, or has causes that are not features."""
    if graph is None or isinstance(graph, CausalOrder):
        return None
    dag = as_dag(graph, features)
    if dag is not None:
        _check_strangers([as_partial_graph(graph, features)], features, ())
    inside = set(features)
    if dag is None or any(cause not in inside and effect in inside for cause, effect in dag.edges):
        return None
    return nx.DiGraph(dag.subgraph(features))


def has_edges(graph: Any) -> bool:
    """Whether there is something causal to lose; what is not a graph is an error elsewhere."""
    if isinstance(graph, PartialGraph):
        return bool(graph.directed or graph.undirected)
    if weighted_graphs(graph) is not None:
        return True
    edges = getattr(graph, "edges", graph)
    return hasattr(edges, "__len__") and len(edges) > 0
