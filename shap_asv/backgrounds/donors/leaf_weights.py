"""How much each training row counts at a point: weights from forests of several leaf sizes, mixed as held-out rows ask.

A tree that predicts Y from A puts a query into a leaf; the training rows of that leaf share its weight, and a forest
averages over its trees. Large leaves say little and say it surely, small ones the other way round, and one component
has all rows alike. Which is better depends on the table, so they are mixed: with F_c(q) the distribution that component
c gives to a training row q *from trees that have not seen it and without itself*, the shares minimise

    sum over q and over events B of  (sum_c share_c F_c(q, B) - [Y_q in B])^2

over the simplex, a quadratic form in the shares (the Brier score; over all half-lines it is the CRPS).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

LEAVES = (10, 40, 120)
N_TREES = 8
SAMPLE = 0.5
MOST_ROWS = 2000  # that one tree is grown from
MOST_TARGETS = 5  # that one tree splits by: the cost of a split grows with them, and the trees share the work
N_HELD_OUT = 300


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees, each grown from half of the rows; ``leaves`` (trees, r) are the leaves of all training rows.

    Splits are the best of random ones (Geurts, Ernst and Wehenkel 2006): a mean over trees loses nothing by it, and a
    tree grows in a third of the time.
    """

    trees: tuple[Any, ...]
    leaves: np.ndarray
    grown_from: np.ndarray

    @classmethod
    def grow(
        cls, matrix: np.ndarray, targets: np.ndarray, leaf: int, n_trees: int, rng: np.random.Generator
    ) -> "Forest":
        from sklearn.tree import ExtraTreeRegressor

        n = len(matrix)
        size = min(max(2, int(n * SAMPLE)), MOST_ROWS)
        grown_from = np.zeros((n_trees, n), dtype=bool)
        trees = []
        narrow = np.ascontiguousarray(matrix, dtype=np.float32)
        for t in range(n_trees):
            rows = rng.permutation(n)[:size]
            chosen = rng.permutation(targets.shape[1])[:MOST_TARGETS]
            grown_from[t, rows] = True
            tree = ExtraTreeRegressor(
                min_samples_leaf=max(1, leaf * size // n),
                max_features=max(1, int(np.ceil(0.67 * matrix.shape[1]))),
                random_state=int(rng.integers(2**31)),
            )
            trees.append(tree.fit(narrow[rows], targets[np.ix_(rows, chosen)], check_input=False).tree_)
        return cls(tuple(trees), leaves_of(trees, matrix), grown_from)

    def held_out_means(self, rows: np.ndarray, events: np.ndarray) -> np.ndarray:
        """Weighted means (m, b) of the events at training rows, by trees that were not grown from them, and without
        the rows themselves. O(trees r b), without a weight per pair of rows.
        """
        result, votes = np.zeros((len(rows), events.shape[1])), np.zeros(len(rows))
        for leaves, inside in zip(self.leaves, self.grown_from, strict=True):
            order = np.argsort(leaves, kind="stable")
            starts = np.flatnonzero(np.diff(leaves[order], prepend=-1))
            sums = np.add.reduceat(events[order], starts, axis=0)
            place = np.searchsorted(leaves[order][starts], leaves[rows])
            others = np.diff(np.append(starts, len(order)))[place] - 1
            fit = (others > 0) & ~inside[rows]
            result[fit] += (sums[place[fit]] - events[rows[fit]]) / others[fit, None]
            votes += fit
        # a row that every tree has seen says nothing about the trees: it gets what all rows get
        alike = (events.sum(axis=0) - events[rows]) / max(len(events) - 1, 1)
        return np.where(votes[:, None] > 0, result / np.maximum(votes, 1)[:, None], alike)


def leaves_of(trees: Sequence[Any], matrix: np.ndarray) -> np.ndarray:
    """The leaf of each row in each tree, intp (trees, m)."""
    narrow = np.ascontiguousarray(matrix, dtype=np.float32)
    return np.stack([tree.apply(narrow) for tree in trees]) if trees else np.empty((0, len(narrow)), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class LeafWeights:
    """Weights of the rows by the leaves of all trees; the first tree is a single leaf with all rows.

    Attributes
    ----------
    forests : those that count
    order : intp (r,)
        Of the rows; a *place* is a position in it.
    starts : intp (t + 1,)
        The first leaf of each tree.
    first : intp (leaves + 1,)
        Leaf l holds the places ``members[first[l]:first[l + 1]]``.
    members : intp (t r,)
    shares : float (t,)
        Of the trees in the weights.
    """

    forests: tuple[Forest, ...]
    order: np.ndarray
    starts: np.ndarray
    first: np.ndarray
    members: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, forests: Sequence[Forest], shares: np.ndarray, order: np.ndarray) -> "LeafWeights":
        """From shares of "all rows alike" (first) and of the forests, with the rows in this order."""
        leaves = np.concatenate([np.zeros((1, len(order)), dtype=np.intp), *(one.leaves for one in forests)])[:, order]
        starts = np.cumsum([0, *(line.max() + 1 for line in leaves)])
        leaves += starts[:-1, None]
        counts = [1, *(len(forest.trees) for forest in forests)]
        first = np.cumsum([0, *np.bincount(leaves.ravel(), minlength=starts[-1])])
        members = np.argsort(leaves, axis=1, kind="stable").ravel()
        return cls(tuple(forests), order, starts, first, members, np.repeat(shares, counts) / np.repeat(counts, counts))

    @classmethod
    def fit(
        cls,
        matrix: np.ndarray,
        targets: np.ndarray,
        events: np.ndarray,
        n_trees: int,
        rng: np.random.Generator,
        order: np.ndarray,
    ) -> "LeafWeights":
        """From features (r, p), what trees split by (r, t), and events (r, b) in {0, 1} that are to be predicted."""
        n = len(matrix)
        leaves = sorted({min(leaf, n // 4) for leaf in LEAVES if n >= 8})
        if not leaves or not matrix.shape[1] or not events.shape[1]:
            return cls.of((), np.ones(1), order)
        forests = [Forest.grow(matrix, targets, leaf, n_trees, rng) for leaf in leaves]
        held_out = rng.permutation(n)[:N_HELD_OUT]
        seen = events[held_out]
        totals = events.sum(axis=0)
        predicted = [(totals - seen) / (n - 1)] + [forest.held_out_means(held_out, events) for forest in forests]
        misses = np.stack([one - seen for one in predicted]).reshape(len(predicted), -1)
        shares = least_on_simplex(misses @ misses.T)
        used = [k for k in range(len(forests)) if shares[k + 1] > 0]
        return cls.of([forests[k] for k in used], shares[[0, *(k + 1 for k in used)]], order)

    def _own(self, matrix: np.ndarray) -> np.ndarray:
        """The leaf of each point in each tree, (m, t)."""
        leaves = np.zeros((len(matrix), len(self.shares)), dtype=np.intp)
        leaves[:, 1:] = leaves_of([tree for forest in self.forests for tree in forest.trees], matrix).T
        return leaves + self.starts[:-1]

    def at(self, matrix: np.ndarray) -> np.ndarray:
        """Weights (m, r) of the rows at m points; each line sums to one. O(m rows in their leaves)."""
        result = np.zeros((len(matrix), len(self.order)))
        for line, own in zip(result, self._own(matrix), strict=True):
            for leaf, share in zip(own, self.shares, strict=True):
                places = self.members[self.first[leaf] : self.first[leaf + 1]]
                line[self.order[places]] += share / len(places)
        return result

    def picked(self, matrix: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (m, d) by the inverse of the weights, cumulated in the order of the rows, at uniforms (m, d)."""
        from shap_asv.backgrounds import kernels  # brings numba in

        flat = kernels.FlatLeaves(self.first, self.members, self.shares)
        return self.order[kernels.pick_places(flat, self._own(matrix), np.ascontiguousarray(uniforms), len(self.order))]


def least_on_simplex(form: np.ndarray) -> np.ndarray:
    """The point w >= 0, sum w = 1 with the least ``w' form w``, for a few components: every support is tried. O(2^c).

    Examples
    --------
    >>> least_on_simplex(np.diag([1.0, 3.0])).round(6).tolist()
    [0.75, 0.25]
    >>> least_on_simplex(np.array([[1.0, 2.0], [2.0, 5.0]])).tolist()
    [1.0, 0.0]
    """
    count = len(form)
    ridge = 1e-12 * max(float(np.trace(form)), 1e-300) * np.eye(count)
    best, least = np.eye(count)[int(np.argmin(np.diag(form)))], float(np.diag(form).min())
    for size in range(2, count + 1):
        for support in map(list, combinations(range(count), size)):
            inner = (form + ridge)[np.ix_(support, support)]
            raw = np.linalg.solve(inner, np.ones(size))
            if raw.min() <= 0:
                continue
            shares = raw / raw.sum()
            value = float(shares @ form[np.ix_(support, support)] @ shares)
            if value < least * (1 - 1e-9):
                best, least = np.zeros(count), value
                best[support] = shares
    return best
