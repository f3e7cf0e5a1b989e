"""Jumps: step functions of single numbers beside a smooth function, all fitted at once.

    g(x) + sum over k of  height_k [x_j(k) > edge_k]

Splines blur a jump, trees need many leaves for a slope; a smooth function with a few steps has both. Edges are found
one at a time: at a jump that the smooth function blurs, the running sum of the residuals along the number is farthest
from zero. After each one, smooth function and heights are fitted again together, so that a step gets its full height
at once.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.splines import SmoothFit

MOST_STEPS = 4
FEWEST = 15  # rows on either side of a step


@dataclass(frozen=True, eq=False)
class Steps:
    """``sum over columns j of heights[j][number of edges[j] below x_j]``."""

    edges: tuple[np.ndarray, ...]
    heights: tuple[np.ndarray, ...]

    @classmethod
    def build(cls, n_columns: int, places: list[tuple[int, float]], sizes: np.ndarray) -> "Steps":
        """From (column, edge) pairs and the size of each step."""
        edges, heights = [], []
        for j in range(n_columns):
            own = sorted((edge, size) for (column, edge), size in zip(places, sizes, strict=True) if column == j)
            edges.append(np.array([edge for edge, _ in own]))
            heights.append(np.concatenate([[0.0], np.cumsum([size for _, size in own])]))
        return cls(tuple(edges), tuple(heights))

    def at(self, columns: np.ndarray) -> np.ndarray:
        """The steps at numbers (m, columns) -> (m,)."""
        total = np.zeros(len(columns))
        for j, (edges, heights) in enumerate(zip(self.edges, self.heights, strict=True)):
            if len(edges):
                total += heights[np.searchsorted(edges, columns[:, j])]
        return total


def find_step(columns: np.ndarray, residuals: np.ndarray) -> tuple[int, float] | None:
    """(column, edge) of the step that leaves the least squared residuals, or None where no column can be split."""
    n = len(residuals)
    best: tuple[float, int, float] | None = None
    for j in range(columns.shape[1]):
        order = np.argsort(columns[:, j], kind="stable")
        x = columns[order, j]
        sums = np.cumsum(residuals[order])
        below = np.arange(1, n)
        gain = sums[:-1] ** 2 / below + (sums[-1] - sums[:-1]) ** 2 / (n - below)
        allowed = (x[1:] > x[:-1]) & (below >= FEWEST) & (n - below >= FEWEST)
        if allowed.any():
            k = int(np.argmax(np.where(allowed, gain, -1.0)))
            if best is None or gain[k] > best[0]:
                best = (float(gain[k]), j, float((x[k] + x[k + 1]) / 2))
    return None if best is None else best[1:]


@dataclass(frozen=True, eq=False)
class SteppedFit:
    """Coefficients of the smooth part and the steps, for each number of steps from none on."""

    coefficients: list[np.ndarray]
    steps: list[Steps]


def fit_steps(
    fit: SmoothFit, columns: np.ndarray, target: np.ndarray, penalty: tuple[float, float], rows: np.ndarray
) -> SteppedFit:
    """Up to ``MOST_STEPS`` steps, found and fitted on the given rows (a bool mask)."""
    own = columns[rows]
    bordered = fit.on_rows(target, penalty, rows)
    places: list[tuple[int, float]] = []
    coefficients, steps = [], []
    while True:
        b, sizes = bordered.coefficients()
        coefficients.append(b)
        steps.append(Steps.build(columns.shape[1], places, sizes))
        found = find_step(own, bordered.residuals())
        if len(places) == MOST_STEPS or found is None or found in places:
            return SteppedFit(coefficients, steps)
        places.append(found)
        bordered.add((own[:, found[0]] > found[1]).astype(float))
