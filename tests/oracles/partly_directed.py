"""Consistent extensions by definition: every way to direct the undirected edges, kept if it has no cycle and the same
v-structures. Nothing of ours is imported."""

from itertools import combinations, product

import networkx as nx


def v_structures(directed, adjacent):
    """{({a, b}, c)} for arrowheads from a and b at c, a and b not adjacent."""
    return {
        (frozenset((a, b)), c)
        for a, c in directed
        for b, d in directed
        if c == d and a != b and frozenset((a, b)) not in adjacent
    }


def consistent_extensions(directed, undirected):
    """The set of them, each a frozenset of (cause, effect)."""
    adjacent = {frozenset(edge) for edge in (*directed, *undirected)}
    wanted = v_structures(directed, adjacent)
    found = set()
    for turned in product((False, True), repeat=len(undirected)):
        edges = {*directed, *((b, a) if turn else (a, b) for (a, b), turn in zip(undirected, turned, strict=True))}
        acyclic = nx.is_directed_acyclic_graph(nx.DiGraph(list(edges)))
        if acyclic and v_structures(edges, adjacent) == wanted:
            found.add(frozenset(edges))
    return found


def partly_directed_graphs(n):
    """Every (directed, undirected) on n nodes whose directed edges have no cycle."""
    pairs = list(combinations(range(n), 2))
    for kinds in product(range(4), repeat=len(pairs)):
        graph = graph_of_kinds(pairs, kinds)
        if nx.is_directed_acyclic_graph(nx.DiGraph(graph[0])):
            yield graph


def graph_of_kinds(pairs, kinds):
    """0: no edge, 1: forwards, 2: backwards, 3: undirected."""
    directed = [pair if kind == 1 else pair[::-1] for pair, kind in zip(pairs, kinds, strict=True) if kind in (1, 2)]
    return directed, [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == 3]
