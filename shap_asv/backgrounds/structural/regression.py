"""What mechanisms are made of: columns of the causes of a node, penalised least squares, smooth functions, forests.

Each parent becomes one variable, or two: a number is itself (the median of the training rows where it is missing) and,
if any was missing in training, a second variable says whether it is; a category is its code (:class:`Design`).

**Smooth functions** are main effects and pairs of them (smoothing-spline ANOVA; Gu 2013, with P-splines; Eilers and
Marx 1996)::

    g(x) = a + b' x + sum over j of h_j(t_j) + sum over j < k of h_jk(t_j, t_k)

``t`` is the number after ``asinh``, which draws in long tails. Each ``h_j`` is a cubic B-spline with small second
differences, each pair a tensor product of two coarser ones; a category takes the place of a spline with one coefficient
per code. Splines run wild where there are no data: ``t`` is held inside of the range of the training rows, so that past
it only the straight part goes on.

**Forests** have leaves that hold training rows, not means (Meinshausen 2006): take a tree, go to the leaf of the
causes, take a quantile of what lies in it. Skewed, heteroscedastic, multimodal and categorical conditionals are all
the same code. Trees split where the *distribution* changes: their targets are the indicators ``[y <= q]`` of several
quantiles beside y itself, so that the gain of a split is, up to a constant, its gain in CRPS.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np

from shap_asv.backgrounds.tables.border import rowwise_product
from shap_asv.backgrounds.tables.codec import ColumnKind

MOST_CODES = 30


@dataclass(frozen=True, eq=False)
class Variable:
    """One variable of the causes of a node.

    Attributes
    ----------
    parent : int
        Column of the parents.
    n_codes : int
        0 for a number, else the number of codes ``places`` maps to.
    places : int array or None
        For categories: variable code of each column code (frequent first; what is rare or was never met shares the
        last one). For a gap variable: None.
    filled : float
        What a missing number counts as.
    """

    parent: int
    n_codes: int
    places: np.ndarray | None = None
    filled: float = 0.0
    centre: float = 0.0
    scale: float = 1.0

    def values(self, parents: np.ndarray) -> np.ndarray:
        """Numbers standardised, or integer codes as intp (m,)."""
        column = parents[:, self.parent]
        if self.n_codes == 0:
            if np.isinf(column).any():
                column = np.where(np.isinf(column), self.filled, column)
            return (column - self.centre) / self.scale
        if self.places is None:
            return np.isinf(column).astype(np.intp)
        return self.places[np.minimum(column.astype(np.intp), len(self.places) - 1)]


@dataclass(frozen=True, eq=False)
class Design:
    """The variables of the causes of one node; learn it with :meth:`learn`.

    ``relevance`` (one number per variable) says which of many variables matter most; None where all are few.
    """

    variables: tuple[Variable, ...]
    relevance: tuple[float, ...] | None = None

    @classmethod
    def learn(cls, parents: np.ndarray, kinds: Sequence[ColumnKind]) -> "Design":
        """From training rows (r, p) of the parents and their kinds. Columns that never change are left out."""
        variables = []
        for k, kind in enumerate(kinds):
            column = parents[:, k]
            if kind.category:
                counts = np.bincount(column.astype(np.intp), minlength=kind.n_codes)
                frequent = np.argsort(-counts, kind="stable")
                frequent = frequent[counts[frequent] > 0][:MOST_CODES]
                places = np.full(kind.n_codes + 1, min(len(frequent), MOST_CODES - 1), dtype=np.intp)
                places[frequent] = np.minimum(np.arange(len(frequent)), MOST_CODES - 1)
                if len(frequent) > 1:
                    variables.append(Variable(k, int(places.max()) + 1, places))
                continue
            known = column[np.isfinite(column)]
            if len(known) and known.min() < known.max():
                centre, scale = float(known.mean()), float(known.std())
                variables.append(Variable(k, 0, None, float(np.median(known)), centre, scale if scale > 0 else 1.0))
            if 0 < len(known) < len(column):
                variables.append(Variable(k, 2))
        return cls(tuple(variables))

    def ranked(self, importance: np.ndarray) -> "Design":
        """The same with the relevance of its variables, from the importance of each of the linear columns."""
        sizes = [max(1, variable.n_codes) for variable in self.variables]
        sums = np.add.reduceat(importance, np.cumsum([0, *sizes[:-1]]))
        return Design(self.variables, tuple(sums.tolist()))

    @property
    def n_linear(self) -> int:
        return sum(max(1, variable.n_codes) for variable in self.variables)

    def linear(self, parents: np.ndarray) -> np.ndarray:
        """Columns for linear models and trees, float64 (m, n_linear)."""
        columns = np.empty((self.n_linear, len(parents)))
        at = 0
        for variable in self.variables:
            values = variable.values(parents)
            if variable.n_codes == 0:
                columns[at] = values
                at += 1
            else:
                for code in range(variable.n_codes):
                    columns[at] = values == code
                    at += 1
        return columns.T

    def rows(self, parents: np.ndarray) -> np.ndarray:
        """The same, row by row in memory: what estimators like."""
        return np.ascontiguousarray(self.linear(parents))


# --- least squares and smooth functions ---------------------------------------------------------------------

MAIN_KNOTS, PAIR_KNOTS = 12, 6
MAIN_CELLS, PAIR_CELLS = 256, 48  # of the tables that functions are looked up in
#: All pairs of six variables; of many variables (more than MANY) fewer, and always those that matter most.
MOST_PAIRS, MANY, PAIRS_OF_MANY = 15, 8, 6
#: What roughness costs, in main effects and in pairs.
MAIN_PENALTIES = (1e-2, 1.0, 1e2, 1e4)
PAIR_PENALTIES = (1e-1, 1e1, 1e3, 1e6)
#: A row that a fit follows this closely counts as fitted without it, too.
LEAST_FREEDOM = 1e-3


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """``b`` with the least ``sum of w_i (y_i - m_i'b)^2 + b' P b``, for any y; A = M'M + P is factored once.

    ``matrix`` (n, m) has its rows times the ``roots`` (n,) of their weights w already, targets have not.

    ``leverage`` (n,) is ``m_i' A^-1 m_i``. The fit without row i, or without all ``copies`` of it, misses it by
    ``r_i / (1 - copies_i leverage_i)``: no fit is repeated to know how good it is (Allen's PRESS).
    """

    matrix: np.ndarray
    system: np.ndarray
    roots: np.ndarray
    copies: np.ndarray

    @cached_property
    def factor(self) -> tuple[np.ndarray, bool]:
        from scipy.linalg import cho_factor

        return cho_factor(self.system, lower=True, check_finite=False)

    def with_column(self, column: np.ndarray) -> "LeastSquares":
        """The same with one more column (n,), which is not penalised."""
        column = column * self.roots
        border = np.append(self.matrix.T @ column, column @ column + 1e-6 * len(column))
        system = np.block([[self.system, border[:-1, None]], [border]])
        return replace(self, matrix=np.column_stack([self.matrix, column]), system=system)

    @cached_property
    def leverage(self) -> np.ndarray:
        from scipy.linalg import solve_triangular

        half = solve_triangular(self.factor[0], self.matrix.T, lower=True, check_finite=False)
        return np.asarray(np.einsum("mi,mi->i", half, half))

    def fit(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (m,) and held-out predictions (n,) of a target (n,); or (m, t) and (n, t) of several."""
        from scipy.linalg import cho_solve

        b = cho_solve(self.factor, self.matrix.T @ (targets.T * self.roots).T)
        misses = targets.T - (self.matrix @ b).T / self.roots
        return b, targets - (misses / np.maximum(1 - self.copies * self.leverage, LEAST_FREEDOM)).T


def fit_straight(design: Design, parents: np.ndarray, roots: np.ndarray, copies: np.ndarray) -> LeastSquares:
    """On the linear columns, with a ridge so small that it only decides between columns that say the same."""
    matrix = np.column_stack([np.ones(len(parents)), design.linear(parents)]) * roots[:, None]
    return LeastSquares(matrix, matrix.T @ matrix + 1e-6 * len(parents) * np.eye(matrix.shape[1]), roots, copies)


@dataclass(frozen=True, eq=False)
class Straight:
    """``a + b' x`` with coefficients (1 + linear columns,), or several of them with (1 + linear columns, t)."""

    design: Design
    coefficients: np.ndarray

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        flat = self.coefficients.reshape(len(self.coefficients), -1)
        values = flat[0] + rowwise_product(self.design.linear(parents), flat[1:])
        return values.reshape(len(parents), *self.coefficients.shape[1:])


def cubic_basis(t: np.ndarray, count: int) -> np.ndarray:
    """Values (m, count) at t in [0, 1] of ``count`` cubic B-splines with equidistant knots; each row sums to one."""
    from scipy.interpolate import BSpline

    return np.asarray(BSpline.design_matrix(t, np.arange(-3, count + 1) / (count - 3), 3).toarray())


def _roughness(count: int) -> np.ndarray:
    second = np.diff(np.eye(count), n=2, axis=0)
    return second.T @ second


@dataclass(frozen=True, eq=False)
class Axis:
    """A variable of the design with the range that its splines live on."""

    variable: Variable
    low: float
    high: float

    @classmethod
    def learn(cls, variable: Variable, parents: np.ndarray) -> "Axis":
        if variable.n_codes:
            return cls(variable, 0.0, 1.0)
        t = np.arcsinh(1.5 * variable.values(parents))
        return cls(variable, float(t.min()), float(t.max()))

    def place(self, values: np.ndarray) -> np.ndarray:
        """Position in [0, 1] of a number (codes stay codes)."""
        if self.variable.n_codes:
            return values
        return np.clip((np.arcsinh(1.5 * values) - self.low) / max(self.high - self.low, 1e-300), 0.0, 1.0)

    def basis(self, place: np.ndarray, count: int) -> np.ndarray:
        if self.variable.n_codes:
            return np.equal.outer(place, np.arange(self.variable.n_codes)).astype(float)
        return cubic_basis(place, count)

    def penalty(self, count: int) -> np.ndarray:
        return np.eye(self.variable.n_codes) if self.variable.n_codes else _roughness(count)

    def cells(self, count: int) -> int:
        """Number of entries of a table along this axis."""
        return self.variable.n_codes or count

    def look_up(self, place: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Cell and position inside of it, for a table of ``count`` points along this axis."""
        if self.variable.n_codes:
            return place, np.zeros(len(place))
        x = place * (count - 1)
        cell = np.minimum(x.astype(np.intp), count - 2)
        return cell, x - cell


@dataclass(frozen=True, eq=False)
class SmoothBasis:
    """All columns of the regression: straight ones, main effects, pairs."""

    axes: tuple[Axis, ...]
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def learn(cls, design: Design, parents: np.ndarray) -> "SmoothBasis":
        axes = tuple(Axis.learn(variable, parents) for variable in design.variables)
        # a pair of two large categories would have more coefficients than there are rows
        pairs = [
            (j, k)
            for j, k in combinations(range(len(axes)), 2)
            if axes[j].cells(PAIR_KNOTS) * axes[k].cells(PAIR_KNOTS) <= 64
        ]
        if design.relevance is not None:
            weight = design.relevance
            pairs.sort(key=lambda pair: -weight[pair[0]] * weight[pair[1]])
        most = MOST_PAIRS if len(axes) <= MANY else PAIRS_OF_MANY
        return cls(axes, tuple(sorted(pairs[:most])))

    @property
    def numbers(self) -> list[int]:
        return [j for j, axis in enumerate(self.axes) if axis.variable.n_codes == 0]

    def places(self, parents: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        values = [axis.variable.values(parents) for axis in self.axes]
        return values, [axis.place(v) for axis, v in zip(self.axes, values, strict=True)]

    def matrix(self, parents: np.ndarray) -> np.ndarray:
        """The columns float64 (m, columns): constant, straight, main, pairs."""
        values, places = self.places(parents)
        blocks = [np.ones((len(parents), 1)), *(values[j][:, None] for j in self.numbers)]
        blocks += [axis.basis(place, MAIN_KNOTS) for axis, place in zip(self.axes, places, strict=True)]
        coarse = [axis.basis(place, PAIR_KNOTS) for axis, place in zip(self.axes, places, strict=True)]
        for j, k in self.pairs:
            blocks.append((coarse[j][:, :, None] * coarse[k][:, None, :]).reshape(len(parents), -1))
        return np.concatenate(blocks, axis=1)

    def penalties(self) -> tuple[np.ndarray, np.ndarray]:
        """Penalty matrices of the main effects and of the pairs."""
        sizes = [1 + len(self.numbers), *(axis.cells(MAIN_KNOTS) for axis in self.axes)]
        sizes += [self.axes[j].cells(PAIR_KNOTS) * self.axes[k].cells(PAIR_KNOTS) for j, k in self.pairs]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        main, pair = np.zeros((starts[-1], starts[-1])), np.zeros((starts[-1], starts[-1]))
        for j in self.numbers:  # what a code adds is not smoothed: there is no order of codes
            at = slice(starts[1 + j], starts[2 + j])
            main[at, at] = self.axes[j].penalty(MAIN_KNOTS)
        for i, (j, k) in enumerate(self.pairs):
            at = slice(starts[1 + len(self.axes) + i], starts[2 + len(self.axes) + i])
            left, right = self.axes[j].penalty(PAIR_KNOTS), self.axes[k].penalty(PAIR_KNOTS)
            pair[at, at] = np.kron(left, np.eye(len(right))) + np.kron(np.eye(len(left)), right)
            pair[at, at] += 0.1 * np.eye(len(left) * len(right))  # planes belong to the main effects
        return main, pair


def _grid_basis(axis: Axis, knots: int, cells: int) -> np.ndarray:
    if axis.variable.n_codes:
        return np.eye(axis.variable.n_codes)
    return cubic_basis(np.linspace(0, 1, cells), knots)


@dataclass(frozen=True, eq=False)
class SmoothFunction:
    """g with coefficients (columns,), or several functions with (columns, t), looked up in tables: linear interpolation
    in each main effect, bilinear in each pair.
    """

    basis: SmoothBasis
    coefficients: np.ndarray

    @cached_property
    def tables(self) -> tuple[np.ndarray, list[Any], list[Any]]:
        """Slopes (axes,), and for the cells of each grid the coefficients of what is interpolated there: ``1, f`` for
        a main effect, ``1, f, g, f g`` for a pair; made when first asked.
        """
        basis, coefficients = self.basis, self.coefficients
        straight = np.zeros((len(basis.axes), *coefficients.shape[1:]))
        straight[basis.numbers] = coefficients[1 : 1 + len(basis.numbers)]
        at = 1 + len(basis.numbers)
        mains, pairs = [], []
        for axis in basis.axes:
            size = axis.cells(MAIN_KNOTS)
            table = _grid_basis(axis, MAIN_KNOTS, MAIN_CELLS) @ coefficients[at : at + size]
            mains.append((table, _steps(table, 0)))
            at += size
        for j, k in basis.pairs:
            left = _grid_basis(basis.axes[j], PAIR_KNOTS, PAIR_CELLS)
            right = _grid_basis(basis.axes[k], PAIR_KNOTS, PAIR_CELLS)
            size = left.shape[1] * right.shape[1]
            block = coefficients[at : at + size].reshape(left.shape[1], right.shape[1], *coefficients.shape[1:])
            table = np.einsum("ai,ij...,bj->ab...", left, block, right)
            cells = table, _steps(table, 0), _steps(table, 1), _steps(_steps(table, 0), 1)
            pairs.append(tuple(one.reshape(-1, *coefficients.shape[1:]) for one in cells))
            at += size
        return straight, mains, pairs

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        """g at the parents (m, p) -> (m,), or (m, t) for t functions at once."""
        (values, places), (straight, mains, pairs) = self.basis.places(parents), self.tables
        several = (slice(None), *[None] * (self.coefficients.ndim - 1))
        total = np.empty((len(parents), *self.coefficients.shape[1:]))
        total[:] = self.coefficients[0]
        coarse = []
        for j, axis in enumerate(self.basis.axes):
            cell, f = axis.look_up(places[j], MAIN_CELLS)
            level, slope = mains[j]
            total += level.take(cell, axis=0)
            if not axis.variable.n_codes:
                total += straight[j] * values[j][several]
                total += f[several] * slope.take(cell, axis=0)
            coarse.append(axis.look_up(places[j], PAIR_CELLS))
        for (j, k), (level, down, right, both) in zip(self.basis.pairs, pairs, strict=True):
            (a, f), (b, g) = coarse[j], coarse[k]
            f, g = f[several], g[several]
            cell = a * self.basis.axes[k].cells(PAIR_CELLS) + b
            slope = both.take(cell, axis=0)
            slope *= f
            slope += right.take(cell, axis=0)
            slope *= g
            total += slope
            slope = down.take(cell, axis=0)
            slope *= f
            total += slope
            total += level.take(cell, axis=0)
        return total


def _steps(table: np.ndarray, axis: int) -> np.ndarray:
    """From each entry to the next one along an axis; nothing from the last one."""
    return np.diff(table, axis=axis, append=np.take(table, [-1], axis=axis))


@dataclass(frozen=True, eq=False)
class SmoothFit:
    """Fits of smooth functions to the same rows: O(n m^2) once for m coefficients, then O(m^3) for each penalty."""

    basis: SmoothBasis
    even: LeastSquares  # without penalties
    penalties: tuple[np.ndarray, np.ndarray]
    _fits: dict[tuple[float, float], tuple[LeastSquares, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def prepare(cls, design: Design, parents: np.ndarray, roots: np.ndarray, copies: np.ndarray) -> "SmoothFit":
        basis = SmoothBasis.learn(design, parents)
        matrix = basis.matrix(parents) * roots[:, None]
        return cls(basis, LeastSquares(matrix, matrix.T @ matrix, roots, copies), basis.penalties())

    def penalised(self, penalty: tuple[float, float]) -> tuple[LeastSquares, float]:
        """The fit with penalties of main effects and pairs, and its degrees of freedom; remembered."""
        from scipy.linalg.lapack import dpotri

        if penalty not in self._fits:
            gram = self.even.system
            system = gram + penalty[0] * self.penalties[0] + penalty[1] * self.penalties[1]
            system[np.diag_indices_from(system)] += 1e-6 * max(1.0, len(self.even.matrix) / 1000)
            squares = replace(self.even, system=system)
            # the trace of A^-1 gram from the lower half of the inverse: a third of the work of solving for all
            lower = np.tril(dpotri(squares.factor[0], lower=1)[0])
            freedom = 2 * np.sum(lower * gram) - np.sum(np.diag(lower) * np.diag(gram))
            self._fits[penalty] = squares, float(freedom)
        return self._fits[penalty]

    def squares(self, targets: np.ndarray) -> LeastSquares:
        """With the penalties of least generalised cross-validation error, ``n RSS / (n - freedom)^2``, found in turns.

        Degrees of freedom count 1.2 times, which keeps the criterion from following noise now and then, and where rows
        are repeated as often as a row is.
        """
        from scipy.linalg import cho_solve

        n, repeated, rooted = len(targets), float(self.even.copies.mean()), (targets.T * self.even.roots).T
        moment, total = self.even.matrix.T @ rooted, float(np.sum(rooted**2))

        @cache
        def error(penalty: tuple[float, float]) -> float:
            squares, freedom = self.penalised(penalty)
            b = cho_solve(squares.factor, moment, check_finite=False)
            rss = max(total - 2 * float(np.sum(b * moment)) + float(np.sum(b * (self.even.system @ b))), 0.0)
            return n * rss / max(n - 1.2 * repeated * freedom, 1e-9) ** 2

        main, pair, before = 1.0, PAIR_PENALTIES[-1], None
        while before != (main, pair):
            before = main, pair
            if self.basis.pairs:
                pair = min(PAIR_PENALTIES, key=lambda one: error((main, one)))
            main = min(MAIN_PENALTIES, key=lambda one: error((one, pair)))
        return self.penalised((main, pair))[0]

    def fit(self, targets: np.ndarray) -> tuple[SmoothFunction, np.ndarray]:
        """The function of a target (n,), or several (n, t), and its held-out predictions."""
        b, held_out = self.squares(targets).fit(targets)
        return SmoothFunction(self.basis, b), held_out


# --- forests ------------------------------------------------------------------------------------------------

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
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
