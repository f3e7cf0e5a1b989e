"""From what users write (names, edges, levels) to a partial order on indices.

A causal graph says which features precede which. Only that matters here, so three steps turn any DAG into the smallest
graph that says the same about the features:

1. *check*: no cycle, no self-loop, no name twice;
2. *project*: a node that is not a feature passes precedence on (``a -> latent -> b`` puts ``a`` before ``b``);
3. *reduce*: an edge that follows from others is dropped (transitive reduction, the *cover relation* of the order).

Sets of nodes are Python integers used as bit sets: no limit on their number, and unions cost a machine word per 64
nodes.

Levels say more than an order where something is *set*: the features of a level either influence one another, or share
causes that were not measured (the level is *confounded*). Under ``do(X_S = e_S)`` (Heskes, Sijben, Bucur and Claassen,
2020) each level is drawn given all earlier ones, and

- not confounded: given also its own members in S, which bear on the others;
- confounded: without them; setting a feature tells nothing of what it shares a hidden cause with.
"""

import heapq
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.errors import CausalGraphError, CausalGraphWarning, UnknownFeatureError, did_you_mean, nearest, warn_user
from shap_asv.orders.bitsets import bits_of

Parents = Sequence[Iterable[int]]


def check_names(features: Iterable[Hashable], what: str = "features") -> tuple[Hashable, ...]:
    """The names as a tuple, or a :class:`CausalGraphError` that says which one is unusable."""
    if isinstance(features, str | bytes):
        raise CausalGraphError(f"{what} is the single string {features!r}; pass a list of names, e.g. [{features!r}]")
    try:
        names = tuple(features)
    except TypeError:
        raise CausalGraphError(f"{what} must be a list of names, not {type(features).__name__}") from None
    if not names:
        raise CausalGraphError(f"{what} is empty: a causal order needs at least one feature")
    seen = set()
    for name in names:
        try:
            repeated = name in seen
        except TypeError:
            raise CausalGraphError(f"{what} holds {name!r}, which is not hashable; use strings or numbers") from None
        if repeated:
            raise CausalGraphError(f"{what} names {name!r} twice; name each feature once")
        seen.add(name)
    return names


def check_edges(edges: Iterable[tuple[Hashable, Hashable]]) -> list[tuple[Hashable, Hashable]]:
    """The edges as a list of (cause, effect) pairs, or a :class:`CausalGraphError` that names the one that is none."""
    if isinstance(edges, str | bytes):
        raise CausalGraphError(f"edges is the string {edges!r}; pass a list of (cause, effect) pairs")
    try:
        listed = list(edges)
    except TypeError:
        raise CausalGraphError(f"edges must be a list of (cause, effect) pairs, not {type(edges).__name__}") from None
    for edge in listed:
        # a set has no direction, and the letters of a string are not names
        if not isinstance(edge, tuple | list | np.ndarray) or len(edge) != 2:
            raise CausalGraphError(f"an edge is a pair (cause, effect), not {edge!r}")
        for name in edge:
            try:
                hash(name)
            except TypeError:
                raise CausalGraphError(f"edge {edge!r} names {name!r}, which is not hashable") from None
        if edge[0] == edge[1]:
            raise CausalGraphError(f"the causal graph has a self-loop at {edge[0]!r}; remove it: nothing causes itself")
    return [(edge[0], edge[1]) for edge in listed]


@dataclass(frozen=True)
class Levels:
    """Names level by level, and the positions of the levels that are confounded, ascending.

    Examples
    --------
    >>> Levels((("age", "sex"), ("income",)), (0,)).among(["income", "age"])
    (((1,), (0,)), (0,))
    """

    names: tuple[tuple[Hashable, ...], ...]
    confounded: tuple[int, ...] = ()

    def among(self, features: Sequence[Hashable]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        """Positions in ``features`` level by level, without levels that hold none of them, and which are confounded."""
        place = {name: i for i, name in enumerate(features)}
        known = {name for level in self.names for name in level}
        missing = [name for name in features if name not in known]
        if missing:
            raise CausalGraphError(
                f"feature {missing[0]!r} is in no level; under interventions every feature needs one: put it into "
                "CausalOrder.from_levels([...])"
            )
        found = [tuple(place[name] for name in level if name in place) for level in self.names]
        kept = [k for k, level in enumerate(found) if level]
        return tuple(found[k] for k in kept), tuple(i for i, k in enumerate(kept) if k in self.confounded)

    def renamed(self, name: Callable[[Hashable], Hashable]) -> "Levels":
        """The same levels with other names."""
        return Levels(tuple(tuple(map(name, level)) for level in self.names), self.confounded)


def read_confounded(confounded: Any, n_levels: int) -> tuple[int, ...]:
    """Positions of levels, or a CausalGraphError that names the one that does not exist."""
    if isinstance(confounded, str | bytes) or not isinstance(confounded, Iterable):
        raise CausalGraphError(
            f"confounded={confounded!r:.80} must be a list of positions of levels, such as [0, 2] for the first and "
            "the third"
        )
    found: set[int] = set()
    for position in confounded:
        whole = hasattr(position, "__index__") and not isinstance(position, bool)
        if not whole or not 0 <= int(position) < n_levels:
            raise CausalGraphError(
                f"confounded={position!r:.80} is not a level; there are {n_levels}, the positions are 0 to "
                f"{n_levels - 1}"
            )
        found.add(int(position))
    return tuple(sorted(found))


def read_levels(
    levels: Iterable[Iterable[Hashable]],
) -> tuple[tuple[tuple[Hashable, ...], ...], tuple[Hashable, ...], tuple[tuple[int, ...], ...]]:
    """Levels, names and parents of an order by levels: every name of a level precedes every name of the next."""
    if isinstance(levels, str | bytes):
        raise CausalGraphError(f"levels is the string {levels!r}; pass a list of lists of names")
    if not isinstance(levels, Iterable):
        raise CausalGraphError(f"levels must be a list of lists of names, not {type(levels).__name__}")
    rows = [check_names(level, what=f"level {k}") for k, level in enumerate(levels)]
    names = check_names([name for row in rows for name in row], what="the list of levels")
    parents: list[tuple[int, ...]] = []
    before: range = range(0)
    for row in rows:
        here = range(len(parents), len(parents) + len(row))
        parents += [tuple(before)] * len(row)
        before = here
    return tuple(rows), names, tuple(parents)


def read_graph(graph: Any) -> tuple[list[Hashable], list[tuple[Hashable, Hashable]]]:
    """Nodes and edges of a networkx graph that is directed and not empty, or a :class:`CausalGraphError`."""
    if not isinstance(graph, nx.Graph):
        raise CausalGraphError(
            f"a causal graph is a networkx.DiGraph (pgmpy's networks are), not {type(graph).__name__}; "
            "for a list of (cause, effect) pairs use CausalOrder.from_edges"
        )
    if not graph.is_directed():
        raise CausalGraphError(
            f"the causal graph is undirected ({type(graph).__name__}); give every edge a direction from cause to "
            "effect in a networkx.DiGraph"
        )
    if not graph.nodes:
        raise CausalGraphError("the causal graph is empty; add the features as nodes, isolated ones too")
    return list(graph.nodes), check_edges(graph.edges())


def check_parents(parents: Parents, names: Sequence[Hashable]) -> list[tuple[int, ...]]:
    """One tuple of parent indices per name, or a :class:`CausalGraphError`."""
    try:
        given = [tuple(int(p) for p in ps) for ps in parents]
    except (TypeError, ValueError):
        raise CausalGraphError(f"parents must be one list of indices per feature, not {parents!r:.80}") from None
    if len(given) != len(names):
        raise CausalGraphError(f"{len(names)} features need as many lists of parents, not {len(given)}")
    for v, ps in enumerate(given):
        for p in ps:
            if not 0 <= p < len(names):
                raise CausalGraphError(f"parent {p} of {names[v]!r} is not an index of {len(names)} features")
            if p == v:
                raise CausalGraphError(f"the causal graph has a self-loop at {names[v]!r}; remove it")
    return given


def parents_among(
    nodes: Sequence[Hashable], edges: Iterable[tuple[Hashable, Hashable]], features: Sequence[Hashable]
) -> list[list[int]]:
    """Precedence among ``features`` in the graph (nodes, edges), as parent indices; other nodes are projected out."""
    position = {node: v for v, node in enumerate(nodes)}
    parents: list[set[int]] = [set() for _ in nodes]
    for cause, effect in edges:
        parents[position[effect]].add(position[cause])
    return project(parents, topological_order(parents, nodes), [position[feature] for feature in features])


def warn_of_idle_names(edges: list[tuple[Hashable, Hashable]], features: Sequence[Hashable]) -> None:
    """Warn of a name outside of ``features`` whose edges change nothing: a misspelt feature, most likely.

    A name that puts one feature before another is a mediator, and one with two effects among the features a hidden
    common cause (unless it is nearly the name of a feature); both are written on purpose.
    """
    graph, known = nx.DiGraph(edges), set(features)
    for name in graph:
        if name in known or (graph.in_degree(name) and graph.out_degree(name)):
            continue
        near = nearest(name, features, cutoff=0.8)
        if near is not None or graph.out_degree(name) < 2:
            hint = "" if near is None else f"; did you mean {near!r}?"
            warn_user(
                f"the edges name {name!r}, which is not a feature and puts no feature before another{hint}",
                CausalGraphWarning,
            )


def topological_order(parents: Parents, names: Sequence[Hashable]) -> tuple[int, ...]:
    """The topological order that always takes the smallest available index; a cycle is an error that names it.

    O((nodes + edges) log nodes).
    """
    causes = [set(p) for p in parents]
    children: list[list[int]] = [[] for _ in causes]
    for v, ps in enumerate(causes):
        for p in ps:
            children[p].append(v)
    waiting = [len(ps) for ps in causes]
    available = [v for v, count in enumerate(waiting) if count == 0]
    order = []
    while available:
        v = heapq.heappop(available)
        order.append(v)
        for c in children[v]:
            waiting[c] -= 1
            if waiting[c] == 0:
                heapq.heappush(available, c)
    if len(order) < len(causes):
        cycle = " -> ".join(str(names[v]) for v in _find_cycle(causes, set(range(len(causes))) - set(order)))
        raise CausalGraphError(f"the causal graph has a cycle: {cycle}; remove one of these edges")
    return tuple(order)


def _find_cycle(parents: Sequence[set[int]], left: set[int]) -> list[int]:
    """A cycle [a, b, ..., a] along the edges. Every node left over by the topological sort has a parent left over."""
    v = min(left)
    walk = [v]
    while True:
        v = min(parents[v] & left)
        if v in walk:
            cycle = walk[walk.index(v) :][::-1]
            start = cycle.index(min(cycle))
            return [*cycle[start:], *cycle[:start], cycle[start]]
        walk.append(v)


def project(parents: Parents, order: Sequence[int], kept: Sequence[int]) -> list[list[int]]:
    """Precedence among the ``kept`` nodes, renumbered by their place in ``kept``.

    ``order`` is a topological order of all nodes. Node ``u`` becomes a parent of ``v`` when a path from ``u`` to ``v``
    runs through dropped nodes only. O(edges * kept / 64).
    """
    place = {node: k for k, node in enumerate(kept)}
    passed_on = [0] * len(order)  # what a child sees of a node: the node itself, or what it stands for once dropped
    found = [0] * len(kept)
    for v in order:
        before = 0
        for p in parents[v]:
            before |= passed_on[p]
        if v in place:
            found[place[v]] = before
            passed_on[v] = 1 << place[v]
        else:
            passed_on[v] = before
    return [list(bits_of(before)) for before in found]


def reduce_transitively(parents: Parents, order: Sequence[int]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """The cover relation as parent indices, and every node's strict ancestors as a bit set. O(edges * nodes / 64)."""
    rank = {v: r for r, v in enumerate(order)}
    ancestors = [0] * len(order)
    covers: list[tuple[int, ...]] = [()] * len(order)
    for v in order:
        reached = 0
        kept = []
        # nearest first: a parent that another parent already stands above adds nothing
        for p in sorted(set(parents[v]), key=rank.__getitem__, reverse=True):
            if not reached >> p & 1:
                kept.append(p)
                reached |= ancestors[p] | 1 << p
        covers[v] = tuple(sorted(kept))
        ancestors[v] = reached
    return tuple(covers), tuple(ancestors)


def unknown_feature(name: object, known: Iterable[Hashable], where: str) -> UnknownFeatureError:
    """The error for a name that is not among ``known``, with the nearest known one."""
    names = [str(k) for k in known]
    hint = did_you_mean(name, names, f"known are {shortened(names)}")
    return UnknownFeatureError(f"{where} has no feature {name!r}; {hint}")


def shortened(names: Sequence[str], most: int = 8) -> str:
    """The names joined by commas; the end of a long list is left out."""
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join([*names[:most], "..."])
