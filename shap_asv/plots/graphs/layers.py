"""A DAG in layers: causes to the left of their effects, few crossings, arrows that go around nodes.

The classical recipe for drawing directed graphs (Sugiyama, Tagawa and Toda 1981), in four steps:

1. **Layers** (here). A node stands to the right of all its causes. Nodes are scheduled layer by layer, those with the
   longest chain of effects first, at most ``max_per_layer`` in each; then a node moves right, towards its effects,
   where that shortens its arrows.
2. **Tracks** for arrows that skip layers, and 3. the **sequence** within layers that has few crossings: ``tracks.py``.
4. **Heights** that make arrows short and straight: ``heights.py``.

Lengths are inches: the caller says how much room a node and its label take, and gets a drawing that has it.
Everything is deterministic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from shap_asv.plots.graphs.heights import find_heights
from shap_asv.plots.graphs.tracks import Grid, reduce_crossings, with_bends


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


def assign_layers(n: int, edges: Sequence[tuple[int, int]], max_per_layer: int) -> np.ndarray:
    """Layer of each node -> int (n,); every edge goes to a higher layer, no layer holds more than ``max_per_layer``."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    effects, causes = ([list(near[v]) for v in range(n)] for near in (graph.succ, graph.pred))
    reach = np.zeros(n, dtype=int)  # longest chain of effects
    for u in reversed(list(nx.topological_sort(graph))):
        reach[u] = 1 + max((reach[v] for v in effects[u]), default=-1)
    layer = np.full(n, -1)
    level = 0
    while (layer < 0).any():
        ready = [v for v in range(n) if layer[v] < 0 and all(0 <= layer[u] < level for u in causes[v])]
        ready.sort(key=lambda v: (-reach[v], v))
        layer[ready[:max_per_layer]] = level
        level += 1
    _shorten(layer, causes, effects, max_per_layer)
    return layer


def _shorten(layer: np.ndarray, causes: list[list[int]], effects: list[list[int]], max_per_layer: int) -> None:
    """Move nodes with more effects than causes next to their nearest effect, where there is room; in place."""
    for v in sorted(range(len(layer)), key=lambda v: -layer[v]):
        if len(effects[v]) <= len(causes[v]):
            continue
        for target in range(min(layer[w] for w in effects[v]) - 1, layer[v], -1):
            if (layer == target).sum() < max_per_layer:
                layer[v] = target
                break


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
        centres, width = _column_centres(grid, heights, half, column_gap)
        x[linked] = centres[grid.column_of[: len(linked)]]
        y[linked] = heights[: len(linked)]
        for (u, v), chain in grid.chains.items():
            routes[linked[u], linked[v]] = _route(chain, grid, centres, half, heights)
    if alone:
        width, height = _place_alone(alone, boxes, x, y, width, height, row_gap)
    return LayeredLayout(x, y, routes, width, height)


def _column_centres(grid: Grid, heights: np.ndarray, half: np.ndarray, gap: float) -> tuple[np.ndarray, float]:
    """Columns stand further apart where arrows climb much between them, so that none becomes too steep to follow."""
    centres = np.zeros(len(grid.columns))
    centres[0] = half[0]
    for k in range(1, len(grid.columns)):
        climbs = [abs(heights[a] - heights[b]) for a, b in grid.links if grid.column_of[b] == k]
        room = float(np.clip(0.28 * max(climbs, default=0.0), gap, 2 * gap))
        centres[k] = centres[k - 1] + half[k - 1] + room + half[k]
    return centres, float(centres[-1] + half[-1])


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
