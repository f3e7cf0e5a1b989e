"""Heights of nodes and bends, once their sequence in each layer is known.

    min  sum over links of  w (y_a - y_b)^2   such that neighbours in a layer keep their distance

For one layer, the others fixed, this is an isotonic regression, solved exactly; sweeping over layers converges, since
the problem is convex. Squares spread the bend of an arrow over its whole length, where one bend looks better, so links
that can be straight are then pulled straight.
"""

import numpy as np

from shap_asv.plots.graphs.tracks import Grid


def spread(wanted: np.ndarray, weights: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """``min sum w (y - wanted)^2`` such that ``y[i + 1] - y[i] >= distances[i]`` -> float (k,).

    Isotonic regression of ``wanted`` less the cumulated distances, by pooling adjacent violators. O(k).

    >>> import numpy as np
    >>> spread(np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([2.0]))
    array([-1.,  1.])
    """
    offsets = np.concatenate([[0.0], np.cumsum(distances)])
    pools: list[tuple[float, float, int]] = []  # (mean, weight, how many)
    for target, weight in zip(wanted - offsets, weights, strict=True):
        mean, total, count = float(target), float(weight), 1
        while pools and pools[-1][0] > mean:
            other, other_total, other_count = pools.pop()
            mean = (mean * total + other * other_total) / (total + other_total)
            total, count = total + other_total, count + other_count
        pools.append((mean, total, count))
    return np.concatenate([np.full(count, mean) for mean, _, count in pools]) + offsets


def find_heights(grid: Grid, above: np.ndarray, below: np.ndarray, gap: float, rounds: int = 80) -> np.ndarray:
    """Heights of all items -> float (items,); ``above`` and ``below`` say how much room each takes. O(rounds links)."""
    y = np.zeros(len(grid.column_of))
    distances = []
    for column in grid.columns:
        items = np.array(column)
        distances.append(below[items[:-1]] + gap + above[items[1:]])
        y[items] = spread(np.zeros(len(items)), np.ones(len(items)), distances[-1])
    stiffness = {}
    for a, b in grid.links:
        bends = (a >= grid.n_nodes) + (b >= grid.n_nodes)
        only = len(grid.after[a]) == 1 == len(grid.before[b])
        stiffness[a, b] = stiffness[b, a] = ((1.0, 3.0, 9.0)[bends], bends == 2 or only)
    for turn in range(2 * rounds):
        straighten = 0.5 * min(1.0, max(0.0, turn / rounds - 1.0) * 2)
        for k in range(len(grid.columns)) if turn % 2 == 0 else reversed(range(len(grid.columns))):
            column = grid.columns[k]
            weights, wanted = np.full(len(column), 0.01), 0.01 * y[column]
            for i, item in enumerate(column):
                for other in grid.before[item] + grid.after[item]:
                    weight, free = stiffness[item, other]
                    if free and straighten:
                        weight *= 1.0 + straighten / (abs(y[item] - y[other]) + 0.01)
                    weights[i] += weight
                    wanted[i] += weight * y[other]
            y[column] = spread(wanted / weights, weights, distances[k])
    _level(y, [link for link in grid.links if stiffness[link][1]], grid.columns, distances)
    return y


def _level(
    y: np.ndarray,
    links: list[tuple[int, int]],
    columns: list[list[int]],
    distances: list[np.ndarray],
    slack: float = 0.06,
) -> None:
    """Links that are straight but for a hair become straight, where distances allow it; in place."""
    strings = [[item] for item in range(len(y))]
    for a, b in links:
        if abs(y[a] - y[b]) < slack and strings[a] is not strings[b]:
            strings[a].extend(strings[b])
            for item in strings[b]:
                strings[item] = strings[a]
    for string in {id(s): s for s in strings if len(s) > 1}.values():
        kept = y[string].copy()
        y[string] = kept.mean()
        if any((np.diff(y[c]) < d - 0.02).any() for c, d in zip(columns, distances, strict=True)):
            y[string] = kept
