"""A smooth function of a few variables: main effects and pairs of them, fitted at once, evaluated by table look-up.

    g(x) = a + b' x + sum over j of h_j(t_j) + sum over j < k of h_jk(t_j, t_k)

``t`` is the number after ``asinh``, which draws in long tails. Each ``h_j`` is a penalised cubic spline (second
differences of its coefficients are kept small), each pair a tensor product of two coarser ones; a category takes the
place of a spline with one coefficient per code. How much smoothness costs is chosen by generalised cross-validation.

Splines run wild where there are no data: ``t`` is held inside of the range of the training rows, so that past it only
the straight part goes on. Fitting costs O(n m^2) for m coefficients; a prediction costs one look-up per main effect and
one per pair, whatever m is.
"""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import combinations
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.design import Design, Variable

MAIN_KNOTS, PAIR_KNOTS = 12, 6
MAIN_CELLS, PAIR_CELLS = 256, 48
#: All pairs of six variables; of many variables (more than MANY) fewer, and always those that matter most.
MOST_PAIRS, MANY, PAIRS_OF_MANY = 15, 8, 6
MAIN_PENALTIES = (1e-2, 1.0, 1e2, 1e4)
PAIR_PENALTIES = (1e-1, 1e1, 1e3, 1e6)


def cubic_basis(t: np.ndarray, count: int) -> np.ndarray:
    """Values (m, count) at t in [0, 1] of ``count`` cubic B-splines with equidistant knots; each row sums to one."""
    x = np.clip(t, 0.0, 1.0) * (count - 3)
    cell = np.minimum(x.astype(np.intp), count - 4)
    f = x - cell
    pieces = ((1 - f) ** 3 / 6, (3 * f**3 - 6 * f**2 + 4) / 6, (-3 * f**3 + 3 * f**2 + 3 * f + 1) / 6, f**3 / 6)
    basis = np.zeros((len(t), count))
    at = np.arange(len(t))
    for k, piece in enumerate(pieces):
        basis[at, cell + k] = piece
    return basis


def _difference_penalty(count: int) -> np.ndarray:
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
        return np.eye(self.variable.n_codes) if self.variable.n_codes else _difference_penalty(count)

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

    def tabulated(self, coefficients: np.ndarray) -> "SmoothFunction":
        """The function with these coefficients (columns,), or several at once (columns, t), as tables."""
        straight = np.zeros((len(self.axes), *coefficients.shape[1:]))
        straight[self.numbers] = coefficients[1 : 1 + len(self.numbers)]
        at = 1 + len(self.numbers)
        mains, pairs = [], []
        for axis in self.axes:
            size = axis.cells(MAIN_KNOTS)
            mains.append(_grid_basis(axis, MAIN_KNOTS, MAIN_CELLS) @ coefficients[at : at + size])
            at += size
        for j, k in self.pairs:
            left = _grid_basis(self.axes[j], PAIR_KNOTS, PAIR_CELLS)
            right = _grid_basis(self.axes[k], PAIR_KNOTS, PAIR_CELLS)
            size = left.shape[1] * right.shape[1]
            block = coefficients[at : at + size].reshape(left.shape[1], right.shape[1], *coefficients.shape[1:])
            pairs.append(np.einsum("ai,ij...,bj->ab...", left, block, right))
            at += size
        return SmoothFunction(self, coefficients[0], straight, tuple(mains), tuple(pairs))


def _grid_basis(axis: Axis, knots: int, cells: int) -> np.ndarray:
    if axis.variable.n_codes:
        return np.eye(axis.variable.n_codes)
    return cubic_basis(np.linspace(0, 1, cells), knots)


@dataclass(frozen=True, eq=False)
class SmoothFunction:
    """g as tables: linear interpolation in each main effect, bilinear in each pair."""

    basis: SmoothBasis
    constant: np.ndarray
    straight: np.ndarray
    mains: tuple[np.ndarray, ...]
    pairs: tuple[np.ndarray, ...]

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        """g at the parents (m, p) -> (m,), or (m, t) for t functions at once."""
        values, places = self.basis.places(parents)
        several = (slice(None), *[None] * np.ndim(self.constant))
        total = np.empty((len(parents), *np.shape(self.constant)))
        total[:] = self.constant
        coarse = []
        for j, axis in enumerate(self.basis.axes):
            table = self.mains[j]
            cell, f = axis.look_up(places[j], MAIN_CELLS)
            total += table[cell]
            if not axis.variable.n_codes:
                total += self.straight[j] * values[j][several]
                total += f[several] * np.diff(table, axis=0)[cell]
            coarse.append(axis.look_up(places[j], PAIR_CELLS))
        for (j, k), table in zip(self.basis.pairs, self.pairs, strict=True):
            (a, f), (b, g) = coarse[j], coarse[k]
            f, g = f[several], g[several]
            up = np.minimum(a + 1, len(table) - 1)
            right = np.minimum(b + 1, table.shape[1] - 1)
            low, high = table[a, b], table[up, b]
            total += low + f * (high - low) + g * ((table[a, right] - low) * (1 - f) + (table[up, right] - high) * f)
        return total


@dataclass(frozen=True, eq=False)
class SmoothFit:
    """The normal equations of one design, solved for any target and any penalty."""

    basis: SmoothBasis
    matrix: np.ndarray
    gram: np.ndarray
    main: np.ndarray
    pair: np.ndarray
    repeats: float = 1.0  # rows like a row, itself included, that are copies of one
    # what is asked again and again, fold by fold and noise by noise, under what it depends on
    _known: dict[tuple, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def prepare(cls, design: Design, parents: np.ndarray, repeats: float = 1.0) -> "SmoothFit":
        basis = SmoothBasis.learn(design, parents)
        matrix = basis.matrix(parents)
        return cls(basis, matrix, matrix.T @ matrix, *basis.penalties(), repeats)

    def weighted(self, roots: np.ndarray) -> "SmoothFit":
        """The same equations with each row times a root (r,) of its weight; so have to be targets and predictions."""
        matrix = self.matrix * roots[:, None]
        return SmoothFit(self.basis, matrix, matrix.T @ matrix, self.main, self.pair, self.repeats)

    def _system(self, penalty: tuple[float, float]) -> np.ndarray:
        system = self.gram + penalty[0] * self.main + penalty[1] * self.pair
        system[np.diag_indices_from(system)] += 1e-6 * max(1.0, len(self.matrix) / 1000)
        return system

    def coefficients(
        self, target: np.ndarray, penalty: tuple[float, float], rows: np.ndarray | None = None
    ) -> np.ndarray:
        """Penalised least squares of a target (r,) or several (r, t), on all rows or on some (a bool mask)."""
        key = (_digest(target), penalty, None if rows is None else _digest(rows))
        if key not in self._known:
            self._known[key] = self._solved(target, penalty, rows)
        return self._known[key]

    def _solved(self, target: np.ndarray, penalty: tuple[float, float], rows: np.ndarray | None) -> np.ndarray:
        from scipy.linalg import solve

        system = self._system(penalty)
        matrix = self.matrix
        if rows is not None:
            left_out = matrix[~rows]
            system = system - left_out.T @ left_out
            matrix, target = matrix[rows], target[rows]
        return solve(system, matrix.T @ target, assume_a="pos")

    def on_rows(self, target: np.ndarray, penalty: tuple[float, float], rows: np.ndarray) -> "BorderedFit":
        """The fit on some rows (a bool mask), to which columns can be added one after the other."""
        from scipy.linalg import cho_factor

        left_out = self.matrix[~rows]
        matrix = self.matrix[rows]
        factor = cho_factor(self._system(penalty) - left_out.T @ left_out)
        return BorderedFit(matrix, target[rows], factor)

    def best_penalty(self, target: np.ndarray) -> tuple[float, float]:
        """The penalty of least generalised cross-validation error ``n RSS / (n - trace)^2``, for one target or several.

        Degrees of freedom count 1.2 times, which keeps the criterion from following noise now and then, and where rows
        are repeated as often as a row is: its leverage when all of its copies are left out together.
        """
        return self._least(target)[0]

    def least_error(self, target: np.ndarray) -> float:
        """Generalised cross-validation error of the best penalty."""
        return self._least(target)[1]

    def _least(self, target: np.ndarray) -> tuple[tuple[float, float], float]:
        key = (_digest(target),)
        if key not in self._known:
            self._known[key] = self._searched(target)
        return self._known[key]

    def _searched(self, target: np.ndarray) -> tuple[tuple[float, float], float]:
        from scipy.linalg import cho_solve

        n = len(target)
        moment, square = self.matrix.T @ target, float(np.sum(target**2))
        best, chosen = np.inf, (MAIN_PENALTIES[-1], PAIR_PENALTIES[-1])
        for penalty, factor, freedom in self._factors:
            b = cho_solve(factor, moment)
            rss = max(square - 2 * float(np.sum(b * moment)) + float(np.sum(b * (self.gram @ b))), 0.0)
            error = n * rss / max(n - 1.2 * self.repeats * freedom, 1e-9) ** 2
            if error < best:
                best, chosen = error, penalty
        return chosen, best

    @cached_property
    def _factors(self) -> list[tuple[tuple[float, float], tuple[np.ndarray, bool], float]]:
        """(penalty, factor of its system, degrees of freedom): none of them depends on a target."""
        from scipy.linalg import cho_factor
        from scipy.linalg.lapack import dpotri

        found = []
        for main in MAIN_PENALTIES:
            for pair in PAIR_PENALTIES if self.basis.pairs else PAIR_PENALTIES[-1:]:
                factor = cho_factor(self._system((main, pair)))
                # the trace of A^-1 gram from the upper half of the inverse: a third of the work of solving for all
                upper = np.triu(dpotri(factor[0])[0])
                freedom = 2 * np.sum(upper * self.gram) - np.sum(np.diag(upper) * np.diag(self.gram))
                found.append(((main, pair), factor, float(freedom)))
        return found


def _digest(array: np.ndarray) -> bytes:
    return blake2b(array.tobytes(), digest_size=16).digest()


class BorderedFit:
    """Penalised least squares with columns beside the matrix that are not penalised, added one at a time.

    ``(b, c)`` solve ``A b + B c = M'y`` and ``B'b + D c = C'y``, where A is the penalised Gram matrix of M and B = M'C,
    D = C'C for the added columns C. A is factored once: a further column costs O(r m + m^2).
    """

    def __init__(self, matrix: np.ndarray, target: np.ndarray, factor: tuple[np.ndarray, bool]) -> None:
        self.matrix = matrix
        self.target = target
        self._factor = factor
        self._without = self._solve(matrix.T @ target)  # A^-1 M'y
        self._columns = np.empty((len(target), 0))
        self._border = np.empty((matrix.shape[1], 0))  # B
        self._answer = np.empty((matrix.shape[1], 0))  # A^-1 B

    def _solve(self, right: np.ndarray) -> np.ndarray:
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve(self._factor, right))

    def add(self, column: np.ndarray) -> None:
        border = self.matrix.T @ column
        self._columns = np.column_stack([self._columns, column])
        self._border = np.column_stack([self._border, border])
        self._answer = np.column_stack([self._answer, self._solve(border)])

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the matrix (m,) and of the added columns."""
        count = self._columns.shape[1]
        if not count:
            return self._without, np.empty(0)
        within = self._columns.T @ self._columns + 1e-6 * len(self.target) * np.eye(count)
        schur = within - self._border.T @ self._answer
        c = np.linalg.solve(schur, self._columns.T @ self.target - self._border.T @ self._without)
        return self._without - self._answer @ c, c

    def residuals(self) -> np.ndarray:
        b, c = self.coefficients()
        return self.target - self.matrix @ b - self._columns @ c
