"""Jumps: a sum of step functions of single numbers, found by boosting stumps on binned columns.

Splines blur a jump, trees need many leaves for a slope; a smooth function plus a few steps has both. A stump is found
from the sums of the residuals per bin, O(n) a column, and all stumps of one column add up to one table.
"""

from dataclasses import dataclass

import numpy as np

N_BINS = 128
N_STUMPS = 24
RATE = 0.3
FEWEST = 20  # rows on either side of a step


@dataclass(frozen=True, eq=False)
class Steps:
    """``sum over columns of heights[j][number of edges[j] below x_j]``."""

    edges: tuple[np.ndarray, ...]
    heights: tuple[np.ndarray, ...]

    @classmethod
    def boost(cls, columns: np.ndarray, target: np.ndarray) -> "Steps":
        """Stumps fitted one after the other to what is left of ``target`` (r,) over columns (r, p)."""
        n, p = columns.shape
        edges = [np.unique(np.quantile(columns[:, j], np.linspace(0, 1, N_BINS + 1)[1:-1])) for j in range(p)]
        bins = [np.searchsorted(edges[j], columns[:, j]) for j in range(p)]
        counts = [np.bincount(bins[j], minlength=len(edges[j]) + 1) for j in range(p)]
        heights = [np.zeros(len(edges[j]) + 1) for j in range(p)]
        left = target - target.mean()
        for _ in range(N_STUMPS):
            best, found = 0.0, None
            for j in range(p):
                below = np.cumsum(counts[j])[:-1]
                sums = np.cumsum(np.bincount(bins[j], weights=left, minlength=len(counts[j])))
                low, high = sums[:-1] / np.maximum(below, 1), (sums[-1] - sums[:-1]) / np.maximum(n - below, 1)
                gain = np.where((below >= FEWEST) & (n - below >= FEWEST), below * low**2 + (n - below) * high**2, 0.0)
                k = int(np.argmax(gain)) if len(gain) else 0
                if len(gain) and gain[k] > best:
                    best, found = float(gain[k]), (j, k, low[k], high[k])
            if found is None:
                break
            j, k, low_height, high_height = found
            heights[j][: k + 1] += RATE * low_height
            heights[j][k + 1 :] += RATE * high_height
            left = left - RATE * np.where(bins[j] <= k, low_height, high_height)
        return cls(tuple(edges), tuple(heights))

    def at(self, columns: np.ndarray) -> np.ndarray:
        total = np.zeros(len(columns))
        for j, (edges, heights) in enumerate(zip(self.edges, self.heights, strict=True)):
            if heights.any():
                total += heights[np.searchsorted(edges, columns[:, j])]
        return total
