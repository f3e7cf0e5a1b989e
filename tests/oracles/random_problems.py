"""Seeded random DAGs and networks as plain arrays, for tests and oracles. Imports nothing of ours."""

import numpy as np


def random_edges(rng, n, kind):
    """Edges (cause, effect) with cause < effect; kind: forest, polytree, dag, edgeless, complete, chain."""
    if kind == "edgeless":
        return []
    if kind == "chain":
        return [(v, v + 1) for v in range(n - 1)]
    if kind == "complete":
        return [(u, v) for u in range(n) for v in range(u + 1, n)]
    if kind == "forest":
        return [(int(rng.integers(v)), v) for v in range(1, n) if rng.random() < 0.8]
    if kind == "dag":
        density = rng.uniform(0.1, 0.6)
        return [(u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < density]
    if kind == "polytree":
        # an undirected random forest, each edge directed by a random relabelling: any in-degree may occur
        rank = rng.permutation(n)
        tree = [(int(rng.integers(v)), v) for v in range(1, n) if rng.random() < 0.9]
        return [tuple(sorted((int(rank[u]), int(rank[v])))) for u, v in tree]
    raise ValueError(kind)


def random_network(rng, n, edges=None, max_parents=3, max_states=4, zeros=0.0):
    """(cards, parents, tables): random CPTs on a random DAG; ``zeros`` is the share of impossible entries."""
    if edges is None:
        edges = random_edges(rng, n, "dag")
    cards = [int(c) for c in rng.integers(2, max_states + 1, size=n)]
    parents = []
    for v in range(n):
        causes = [u for u, w in edges if w == v]
        rng.shuffle(causes)
        parents.append(tuple(causes[:max_parents]))
    tables = []
    for v in range(n):
        table = rng.exponential(size=(cards[v], *(cards[p] for p in parents[v])))
        if zeros:
            table = np.where(rng.random(table.shape) < zeros, 0.0, table)
            table[0] += table.sum(axis=0) == 0
        tables.append(table / table.sum(axis=0))
    return cards, parents, tables


def random_row(rng, cards, parents, tables):
    """One row drawn from the network, so that it is possible even when CPTs hold zeros."""
    row = []
    for v, table in enumerate(tables):
        p = table[(slice(None), *(row[u] for u in parents[v]))]
        row.append(int(rng.choice(cards[v], p=p)))
    return row
