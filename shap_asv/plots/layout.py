"""A DAG in layers: causes to the left of their effects, few crossings, arrows that go around nodes.

The classical recipe for drawing directed graphs (Sugiyama, Tagawa and Toda 1981), in four steps:

1. **Layers**. A node stands to the right of all its causes. Nodes are scheduled layer by layer, those with the longest
   chain of effects first, at most ``max_per_layer`` in each.
2. **Tracks**. An arrow that skips layers gets an invisible node, a *bend*, in every layer it passes: it has a place of
   its own there, so it runs around the nodes and not through them. Arrows of one node share their bends and fork where
   they part.
3. **Sequence** within layers. Layers are swept back and forth, each sorted by the mean position of its neighbours
   (barycentre); of all sequences met, the one with the fewest crossings is kept.
4. **Heights**. ``min sum over links of w (y_a - y_b)^2`` such that neighbours in a layer keep their distance. For one
   layer, the others fixed, this is an isotonic regression; sweeping over layers converges, since the problem is convex.

Lengths are inches: the caller says how much room a node and its label take, and gets a drawing that has it.
Everything is deterministic.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx
import numpy as np
from scipy.optimize import isotonic_regression

#: Sweeps over the layers for their sequence, and for their heights.
SWEEPS, ROUNDS = 24, 160


@dataclass(frozen=True, eq=False)
class Boxes:
    """Room around the centre of each node, to both sides, above and below: float arrays (n,)."""

    half_widths: np.ndarray
    above: np.ndarray
    below: np.ndarray


@dataclass(frozen=True, eq=False)
class LayeredLayout:
    """Where everything goes, in inches, origin at the upper left, y downwards.

    Attributes
    ----------
    x, y : float arrays (n,)
        Centres of the nodes.
    routes : dict of (int, int) to float array (k, 2)
        Corners of each arrow, from centre to centre: horizontal across columns, between columns from one corner to
        the next.
    width, height : float
    """

    x: np.ndarray
    y: np.ndarray
    routes: dict[tuple[int, int], np.ndarray]
    width: float
    height: float


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


def lay_out(
    boxes: Boxes,
    edges: Sequence[tuple[int, int]],
    column_gap: float = 0.4,
    row_gap: float = 0.1,
    track: float = 0.07,
    max_per_layer: int | None = None,
) -> LayeredLayout:
    """Lay out the DAG on ``0..n-1``; nodes without any edge go into a grid below the others.

    Parameters
    ----------
    boxes : Boxes
        Room that each node takes.
    edges : sequence of (int, int)
        (cause, effect), without cycles.
    column_gap, row_gap, track : float
        Least distance of columns, and of nodes above one another; half the room of an arrow that passes a column.
    max_per_layer : int, optional
        By default about twice the square root of n, so that a star does not become a tower.

    Returns
    -------
    LayeredLayout
        No two boxes overlap, and no route meets a box of a node other than its ends.
    """
    n = len(boxes.above)
    cap = max_per_layer or max(6, int(np.ceil(1.7 * np.sqrt(n))))
    edges = sorted(set(edges))
    linked = sorted({v for edge in edges for v in edge})
    alone = [v for v in range(n) if v not in set(linked)]
    x, y = np.zeros(n), np.zeros(n)
    routes: dict[tuple[int, int], np.ndarray] = {}
    width = height = 0.0
    if linked:
        number = {v: i for i, v in enumerate(linked)}
        inner = [(number[u], number[v]) for u, v in edges]
        grid = with_bends(assign_layers(len(linked), inner, cap), inner)
        reduce_crossings(grid)
        bends = np.full(len(grid.column_of) - len(linked), track)
        above = np.concatenate([boxes.above[linked], bends])
        below = np.concatenate([boxes.below[linked], bends])
        heights = find_heights(grid, above, below, row_gap)
        heights -= (heights - above).min()
        height = float((heights + below).max())
        half = np.array(
            [max((boxes.half_widths[linked[i]] for i in c if i < len(linked)), default=0.0) for c in grid.columns]
        )
        right = np.cumsum(2 * half + column_gap) - column_gap
        centres, width = right - half, float(right[-1])
        x[linked] = centres[grid.column_of[: len(linked)]]
        y[linked] = heights[: len(linked)]
        for (u, v), chain in grid.chains.items():
            routes[linked[u], linked[v]] = _route(chain, grid, centres, half, heights)
    if alone:
        width, height = _place_alone(alone, boxes, x, y, width, height, row_gap)
    return LayeredLayout(x, y, routes, width, height)


def _route(chain: list[int], grid: Grid, centres: np.ndarray, half: np.ndarray, heights: np.ndarray) -> np.ndarray:
    corners: list[tuple[float, float]] = []
    for step, item in enumerate(chain):
        k = grid.column_of[item]
        left = centres[k] - (half[k] if step else 0.0)
        right = centres[k] + (half[k] if step < len(chain) - 1 else 0.0)
        corners += [(left, heights[item]), (right, heights[item])]
    return np.array(corners)


def _place_alone(
    alone: list[int], boxes: Boxes, x: np.ndarray, y: np.ndarray, width: float, height: float, gap: float
) -> tuple[float, float]:
    """Nodes without arrows, row by row below the drawing; in place. Returns the new size."""
    cell = 2 * float(boxes.half_widths[alone].max()) + 0.15
    per_row = max(1, int(width // cell)) if width else int(np.ceil(np.sqrt(1.6 * len(alone))))
    per_row = min(len(alone), max(per_row, 4 if width else 1))
    top = height + (2 * gap if height else 0.0)
    for start in range(0, len(alone), per_row):
        row = alone[start : start + per_row]
        middle = top + float(boxes.above[row].max())
        for i, v in enumerate(row):
            x[v], y[v] = (i + 0.5) * cell, middle
        top = middle + float(boxes.below[row].max()) + gap
    return max(width, per_row * cell), top - gap


def assign_layers(n: int, edges: Sequence[tuple[int, int]], max_per_layer: int) -> np.ndarray:
    """Layer of each node -> int (n,); every edge goes to a higher layer, no layer holds more than ``max_per_layer``."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    reach = np.zeros(n, dtype=int)  # longest chain of effects
    for u in reversed(list(nx.topological_sort(graph))):
        reach[u] = 1 + max((reach[v] for v in graph.succ[u]), default=-1)
    layer = np.full(n, -1)
    level = 0
    while (layer < 0).any():
        ready = [v for v in range(n) if layer[v] < 0 and all(0 <= layer[u] < level for u in graph.pred[v])]
        layer[sorted(ready, key=lambda v: (-reach[v], v))[:max_per_layer]] = level
        level += 1
    return layer


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


def reduce_crossings(grid: Grid) -> None:
    best, least = grid.columns, _cost(grid.columns, grid)
    for start in (grid.columns, [column[::-1] for column in grid.columns]):
        columns = list(start)
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            towards, step = (grid.before, 1) if forward else (grid.after, -1)
            for k in range(1, len(columns))[::step] if forward else range(len(columns) - 1)[::step]:
                fixed, own = ({item: i for i, item in enumerate(columns[c])} for c in (k - step, k))
                centres = {
                    item: float(np.mean([fixed[other] for other in towards[item]])) if towards[item] else own[item]
                    for item in own
                }
                columns[k] = sorted(columns[k], key=centres.__getitem__)
            cost = _cost(columns, grid)
            if cost < least:
                best, least = list(columns), cost
    grid.columns[:] = best


def spread(wanted: np.ndarray, weights: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """``min sum w (y - wanted)^2`` such that ``y[i + 1] - y[i] >= distances[i]`` -> float (k,).

    Isotonic regression of ``wanted`` less the cumulated distances. O(k).

    >>> import numpy as np
    >>> spread(np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([2.0]))
    array([-1.,  1.])
    """
    offsets = np.concatenate([[0.0], np.cumsum(distances)])
    return np.asarray(isotonic_regression(wanted - offsets, weights=weights).x) + offsets


def find_heights(grid: Grid, above: np.ndarray, below: np.ndarray, gap: float) -> np.ndarray:
    """Heights of all items -> float (items,); ``above`` and ``below`` say how much room each takes. O(links) a round.

    Links between bends are stiff, so that an arrow that passes layers is straight in between.
    """
    y = np.zeros(len(grid.column_of))
    distances = []
    for column in grid.columns:
        items = np.array(column)
        distances.append(below[items[:-1]] + gap + above[items[1:]])
        y[items] = spread(np.zeros(len(items)), np.ones(len(items)), distances[-1])
    for turn in range(ROUNDS):
        for k in range(len(grid.columns)) if turn % 2 == 0 else reversed(range(len(grid.columns))):
            column = grid.columns[k]
            weights, wanted = np.full(len(column), 0.01), 0.01 * y[column]
            for i, item in enumerate(column):
                for other in grid.before[item] + grid.after[item]:
                    weight = (1.0, 3.0, 9.0)[(item >= grid.n_nodes) + (other >= grid.n_nodes)]
                    weights[i] += weight
                    wanted[i] += weight * y[other]
            y[column] = spread(wanted / weights, weights, distances[k])
    return y
