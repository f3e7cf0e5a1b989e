"""A distributional forest: random trees whose leaves hold training rows, not means.

To draw: take a tree, go to the leaf of the causes, take a quantile of what lies in it. Skewed, heteroscedastic,
multimodal and categorical conditionals are all the same code. Trees split where the *distribution* changes, not only
its mean: their targets are the indicators ``[y <= q]`` of several quantiles q beside y itself, so that the gain of a
split is, up to a constant, its gain in CRPS.

A draw costs one tree, not the whole forest: O(depth).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.design import Design

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
N_TREES = 60
MOST_ROWS = 4000  # of one tree: more make it slower, not better, since the trees differ anyway


@dataclass(frozen=True, eq=False)
class Trees:
    """Grown trees with their design; ``trees`` are scikit-learn's low-level ones. Nodes are numbered over all trees."""

    design: Design
    trees: tuple[Any, ...]

    @classmethod
    def grow(
        cls, design: Design, parents: np.ndarray, targets: np.ndarray, leaf: int, n_trees: int, seed: int
    ) -> "Trees":
        """Regression trees on several targets (r, t) at once, at least ``leaf`` rows in each leaf."""
        from sklearn.ensemble import RandomForestRegressor

        n = len(parents)
        forest = RandomForestRegressor(
            n_trees,
            min_samples_leaf=min(leaf, max(1, n // 2)),
            max_features=1.0 if design.n_linear <= 2 else 0.67,
            max_samples=None if n <= MOST_ROWS else MOST_ROWS,
            random_state=seed,
            n_jobs=1,
        )
        matrix = np.ascontiguousarray(design.linear(parents), dtype=np.float32)
        forest.fit(matrix, targets if targets.shape[1] > 1 else targets[:, 0])
        return cls(design, tuple(member.tree_ for member in forest.estimators_))

    def importance(self) -> np.ndarray:
        """How much of the variance of the targets the splits in each linear column explain, (columns,)."""
        return np.mean([tree.compute_feature_importances() for tree in self.trees], axis=0)

    @cached_property
    def starts(self) -> list[int]:
        """The first node of each tree, and last the number of all nodes."""
        return np.cumsum([0, *(tree.node_count for tree in self.trees)]).tolist()

    def leaves(self, parents: np.ndarray) -> np.ndarray:
        """Leaf of each row in each tree, intp (trees, m)."""
        matrix = np.ascontiguousarray(self.design.linear(parents), dtype=np.float32)
        return np.stack([first + tree.apply(matrix) for first, tree in zip(self.starts, self.trees, strict=False)])

    def drawn_leaves(self, parents: np.ndarray, which: np.ndarray) -> np.ndarray:
        """For each draw, the leaf of the row in the tree that the uniform number ``which`` (m, d) chooses: (m, d)."""
        chosen = np.minimum((which * len(self.trees)).astype(np.int32), len(self.trees) - 1)
        if which.shape[1] >= len(self.trees):  # few rows, many draws: every tree is asked about every row
            return self.leaves(parents)[chosen, np.arange(len(parents))[:, None]]
        matrix = np.ascontiguousarray(self.design.linear(parents), dtype=np.float32)
        flat = chosen.ravel()
        order = np.argsort(flat, kind="stable")
        bounds = np.searchsorted(flat[order], np.arange(len(self.trees) + 1))
        leaves = np.empty(len(flat), dtype=np.intp)
        for t, tree in enumerate(self.trees):
            members = order[bounds[t] : bounds[t + 1]]
            if len(members):
                leaves[members] = self.starts[t] + tree.apply(matrix[members // which.shape[1]])
        return leaves.reshape(which.shape)


def distribution_targets(values: np.ndarray) -> np.ndarray:
    """What trees split by: the values and the indicators of their quantiles, (r, 1 + quantiles) at most."""
    spread = values.std()
    columns = [(values - values.mean()) / (spread if spread > 0 else 1.0)]
    columns += [2.0 * (values <= cut) for cut in np.unique(np.quantile(values, QUANTILES))]
    return np.stack([column for column in columns if column.min() < column.max()] or columns[:1], axis=1)


@dataclass(frozen=True, eq=False)
class LeafValues:
    """Sorted training values of all leaves of all trees, flat: node v holds ``values[starts[v]:][:counts[v]]``."""

    trees: Trees
    starts: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    between: bool

    n_uniforms = 2

    @classmethod
    def grow(
        cls,
        design: Design,
        parents: np.ndarray,
        values: np.ndarray,
        leaf: int,
        seed: int,
        n_trees: int = N_TREES,
        between: bool = True,
    ) -> "LeafValues":
        """``between``: interpolate between the values of a leaf (numbers that may be anything) or draw one of them."""
        trees = Trees.grow(design, parents, distribution_targets(values), leaf, n_trees, seed)
        leaves = trees.leaves(parents)
        counts = np.bincount(leaves.ravel(), minlength=trees.starts[-1])
        tiled = np.broadcast_to(values, leaves.shape).ravel()
        flat = tiled[np.lexsort((tiled, leaves.ravel()))]
        return cls(trees, np.cumsum(counts) - counts, counts, flat, between)

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Values (m, d) for uniforms (m, d, 2): the quantile and the tree."""
        node = self.trees.drawn_leaves(parents, uniforms[:, :, 1])
        start, count = self.starts[node], self.counts[node]
        if not self.between:
            return self.values[start + np.minimum((uniforms[:, :, 0] * count).astype(np.intp), count - 1)]
        x = np.clip(uniforms[:, :, 0] * count - 0.5, 0, count - 1)
        low = x.astype(np.intp)
        first = self.values[start + low]
        return first + (x - low) * (self.values[start + np.minimum(low + 1, count - 1)] - first)
