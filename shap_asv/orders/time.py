"""Time as a causal order: the past comes before what follows it.

A *summary graph* is drawn between variables. An edge ``temp -> demand`` stands for all edges from a temperature to a
demand of the same time or of a later one; that every variable depends on its own past needs no edge. An edge may also
be drawn between two features, ``temp(t-3) -> demand(t-1)``. None may lead into the past.

Precedence and dependence are two things. As an *order*, all of an earlier time comes before all of a later one,
whatever the graph says: that is how a forecast learns (:func:`time_parents`). As a *DAG* for mechanisms, a variable
depends on what the graph names, within a memory (:func:`window_graph`).
"""

from collections.abc import Hashable, Iterable
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.arguments import is_number
from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    UnknownFeatureError,
    UnknownMethodError,
    did_you_mean,
    listed,
)
from shap_asv.orders import reading
from shap_asv.times import Times, moment_name

PAST_FIRST, RECENT_FIRST = "past first", "recent first"


def time_levels(times: Times, order: str) -> list[list[int]]:
    """Features time by time, those without a time first."""
    if order not in (PAST_FIRST, RECENT_FIRST):
        hint = did_you_mean(order, (PAST_FIRST, RECENT_FIRST), "there are 'past first' and 'recent first'")
        raise UnknownMethodError(f"unknown order={order!r:.80}; {hint}")
    steps = times.steps if order == PAST_FIRST else times.steps[::-1]
    found = [np.flatnonzero(times.at == step).tolist() for step in (-np.inf, *steps)]
    return [level for level in found if level]


def time_parents(times: Times, order: str, graph: Any) -> list[list[int]]:
    """Parents of each feature: all of the time before it, and what the graph puts before it within its own time."""
    parents: list[list[int]] = [[] for _ in times.features]
    levels = time_levels(times, order)
    for k, level in enumerate(levels):
        for v in level:
            parents[v] += levels[k - 1] if k else []
    for u, v in _edges(times, graph):
        if times.at[u] == times.at[v]:
            parents[v].append(u)
    return parents


def window_graph(times: Times, graph: Any = None, memory: float = 1) -> nx.DiGraph:
    """The DAG of a window: what each feature depends on within ``memory``.

    With a summary graph a feature depends on its own variable at earlier times, on the causes of the variable at
    earlier times and at its own, and on causes that are static. Without one it depends on all variables at earlier
    times and on all static features, and on nothing of its own time.

    >>> times = Times.read(["rain(t-2)", "temp(t-2)", "rain(t-1)", "temp(t-1)"])
    >>> list(window_graph(times, [("rain", "temp")]).predecessors("temp(t-1)"))
    ['rain(t-2)', 'temp(t-2)', 'rain(t-1)']
    """
    if not is_number(memory) or memory <= 0:
        raise ArgumentError(
            f"memory={memory!r:.80} is no length of time; pass how far back a variable depends on others"
        )
    everything = range(len(times.features))
    own = [
        (u, v)
        for u in everything
        for v in everything
        if times.at[u] < times.at[v]
        and _is_near(times, u, v, memory)
        and (graph is None or times.moments[u][0] == times.moments[v][0])
    ]
    found = nx.DiGraph()
    found.add_nodes_from(times.features)
    pairs = sorted({*own, *_edges(times, graph, memory)})
    found.add_edges_from((times.features[u], times.features[v]) for u, v in pairs)
    return found


def _is_near(times: Times, u: int, v: int, memory: float) -> bool:
    return bool(times.at[u] == -np.inf or times.at[v] - times.at[u] <= memory)


def _edges(times: Times, graph: Any, memory: float = np.inf) -> list[tuple[int, int]]:
    """Pairs of features (cause, effect) that a graph stands for; an edge between two features may pass ``memory``."""
    if graph is None:
        return []
    edges = reading.read_graph(graph)[1] if isinstance(graph, nx.Graph) else reading.check_edges(graph)
    found = []
    for cause, effect in edges:
        us, vs = _meant(times, cause), _meant(times, effect)
        if cause == effect:  # every variable depends on its own past
            continue
        pairs = [(u, v) for u in us for v in vs if times.at[u] <= times.at[v]]
        if not pairs:
            raise CausalGraphError(
                f"the edge {cause!r} -> {effect!r} leads into the past, from {_spelt(times, us)} to "
                f"{_spelt(times, vs)}; turn it round, or leave it out"
            )
        single = len(us) == len(vs) == 1
        found += [(u, v) for u, v in pairs if single or _is_near(times, u, v, memory)]
    return found


def _meant(times: Times, node: Hashable) -> list[int]:
    """The features that a node of a graph stands for: all of a variable, or one feature."""
    found = [v for v, (variable, _) in enumerate(times.moments) if variable == str(node)]
    if not found:
        found = [v for v, feature in enumerate(times.features) if feature == str(node)]
    if not found:
        known = [*times.variables, *times.features]
        hint = did_you_mean(node, known, f"the variables are {listed(times.variables)}")
        raise UnknownFeatureError(f"the graph names {node!r}, which is neither a variable nor a feature; {hint}")
    return found


def _spelt(times: Times, features: Iterable[int]) -> str:
    return listed((moment_name(*times.moments[v]) for v in features), most=1)
