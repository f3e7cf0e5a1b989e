"""Tracks and crossings: which arrow passes which layer where.

An arrow that skips layers gets an invisible node, a *bend*, in every layer it passes: it has a place of its own there,
so it runs around the nodes and not through them. Arrows of one node share their bends and fork where they part.

Layers are then swept back and forth, each sorted by the mean position of its neighbours (barycentre), and adjacent
pairs are swapped while that removes crossings; of all sequences met, the one with the fewest crossings is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np


@dataclass(eq=False)
class Grid:
    """Nodes and bends: item ``i < n`` is a node, the others are bends; ``links`` join neighbouring layers."""

    columns: list[list[int]]
    column_of: list[int]
    links: list[tuple[int, int]]
    chains: dict[tuple[int, int], list[int]]
    n_nodes: int
    before: list[list[int]] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)


def with_bends(layer: np.ndarray, edges: Sequence[tuple[int, int]]) -> Grid:
    n = len(layer)
    columns: list[list[int]] = [[] for _ in range(int(layer.max()) + 1)]
    for v in range(n):
        columns[layer[v]].append(v)
    column_of = [int(k) for k in layer]
    links: dict[tuple[int, int], None] = {}
    chains: dict[tuple[int, int], list[int]] = {}
    # arrows of one node that pass the same column share their bend: they fork where they part
    shared: dict[tuple[int, int], int] = {}
    for u, v in edges:
        chain = [u]
        for k in range(int(layer[u]) + 1, int(layer[v])):
            if (u, k) not in shared:
                shared[u, k] = len(column_of)
                columns[k].append(len(column_of))
                column_of.append(k)
            chain.append(shared[u, k])
        chain.append(v)
        chains[u, v] = chain
        links.update(dict.fromkeys(pairwise(chain)))
    grid = Grid(columns, column_of, list(links), chains, n)
    grid.before = [[] for _ in column_of]
    grid.after = [[] for _ in column_of]
    for a, b in links:
        grid.after[a].append(b)
        grid.before[b].append(a)
    return grid


def _crossings(upper: list[int], lower: list[int], after: list[list[int]]) -> int:
    """Crossings between two neighbouring columns: inversions among link ends. O(links^2), vectorised."""
    place = {item: i for i, item in enumerate(lower)}
    ends = np.array([place[b] for a in upper for b in sorted(after[a], key=place.__getitem__)])
    if len(ends) < 2:
        return 0
    return int(np.triu(ends[:, None] > ends[None, :], 1).sum())


def _cost(columns: list[list[int]], grid: Grid) -> tuple[int, float]:
    """Crossings first; then how far links climb, counted in places from the middle of their columns."""
    crossings = sum(_crossings(a, b, grid.after) for a, b in pairwise(columns))
    place = {item: i - (len(column) - 1) / 2 for column in columns for i, item in enumerate(column)}
    return crossings, sum(abs(place[a] - place[b]) for a, b in grid.links)


def reduce_crossings(grid: Grid, sweeps: int = 24) -> None:
    best, least = [list(c) for c in grid.columns], _cost(grid.columns, grid)
    starts = (grid.columns, [list(reversed(c)) for c in grid.columns], _depth_first(grid), _bends_inside(grid))
    for start in starts:
        columns = [list(c) for c in start]
        for sweep in range(sweeps):
            forward = sweep % 2 == 0
            towards = grid.before if forward else grid.after
            numbers = range(1, len(columns)) if forward else range(len(columns) - 2, -1, -1)
            for k in numbers:
                fixed = {item: i for i, item in enumerate(columns[k - 1 if forward else k + 1])}
                own = {item: i for i, item in enumerate(columns[k])}

                def barycentre(item: int, fixed: dict[int, int] = fixed, own: dict[int, int] = own) -> float:
                    places = [fixed[other] for other in towards[item]]  # noqa: B023 (used within the same turn)
                    return sum(places) / len(places) if places else own[item]

                columns[k].sort(key=barycentre)
            _transpose(columns, grid)
            cost = _cost(columns, grid)
            if cost < least:
                best, least = [list(c) for c in columns], cost
    grid.columns[:] = best


def _depth_first(grid: Grid) -> list[list[int]]:
    """Columns in the sequence of a depth-first walk: families stay together."""
    columns: list[list[int]] = [[] for _ in grid.columns]
    seen = [False] * len(grid.column_of)
    for root in (item for column in grid.columns for item in column):
        waiting = [root]
        while waiting:
            item = waiting.pop()
            if not seen[item]:
                seen[item] = True
                columns[grid.column_of[item]].append(item)
                waiting.extend(reversed(grid.after[item] + grid.before[item]))
    return columns


def _bends_inside(grid: Grid) -> list[list[int]]:
    """Columns with their bends in the middle of the nodes, so that arrows pass a star instead of going round it."""
    columns = []
    for column in grid.columns:
        nodes = [item for item in column if item < grid.n_nodes]
        bends = [item for item in column if item >= grid.n_nodes]
        half = len(nodes) // 2
        columns.append(nodes[:half] + bends + nodes[half:])
    return columns


def _transpose(columns: list[list[int]], grid: Grid) -> None:
    """Swap neighbours within columns while that removes crossings."""
    improved = True
    while improved:
        improved = False
        for k, column in enumerate(columns):
            places = [
                ({item: i for i, item in enumerate(columns[other])}, links)
                for other, links in ((k - 1, grid.before), (k + 1, grid.after))
                if 0 <= other < len(columns)
            ]
            for i in range(len(column) - 1):
                a, b = column[i], column[i + 1]
                gain = 0
                for place, links in places:
                    for p in (place[x] for x in links[a]):
                        for q in (place[x] for x in links[b]):
                            gain += (p > q) - (p < q)
                if gain > 0:
                    column[i], column[i + 1] = b, a
                    improved = True
