"""Conditional means by ridge regression on a smooth basis, with what each row would have been without itself.

The basis is the features themselves and, for the curved fits, bumps ``exp(-gamma |z - c|^2 / p)`` about some training
rows c (Nystroem features: with the inverse root of the bumps' own matrix, ridge regression on them is kernel ridge
regression, seen through few landmarks). Ridge regression tells its *leave-one-out* residuals without refitting,
``r_i / (1 - h_i)``, so the width of the bumps, the penalty and straight against curved are chosen honestly from one
eigendecomposition each, for every output apart; and the residuals are those of rows that the fit has not seen.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.tables.border import rowwise_product

WIDTHS = (0.2, 0.8)
PENALTIES = 10.0 ** np.arange(-4.0, 3.1, 1.0)
LANDMARKS = 80


@dataclass(frozen=True, eq=False)
class Basis:
    """z -> columns: the standardised features, and bumps about landmarks if there are any."""

    centre: np.ndarray
    scale: np.ndarray
    landmarks: np.ndarray
    gamma: float
    root: np.ndarray

    @classmethod
    def straight(cls, matrix: np.ndarray) -> "Basis":
        scale = matrix.std(axis=0)
        scale = np.where(scale > 1e-12 * np.maximum(1.0, np.abs(matrix).max(axis=0, initial=0.0)), scale, np.inf)
        return cls(matrix.mean(axis=0), scale, np.empty((0, matrix.shape[1])), 0.0, np.empty((0, 0)))

    @classmethod
    def curved(cls, matrix: np.ndarray, width: float, rng: np.random.Generator) -> "Basis":
        straight = cls.straight(matrix)
        some = rng.permutation(len(matrix))[: min(LANDMARKS, max(2, len(matrix) // 5))]
        landmarks = np.unique((matrix[some] - straight.centre) / straight.scale, axis=0)
        gamma = width / max(1, int(np.isfinite(straight.scale).sum()))
        values, vectors = np.linalg.eigh(_bumps(landmarks @ landmarks.T, landmarks, landmarks, gamma))
        kept = values > 1e-8 * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
        return cls(straight.centre, straight.scale, landmarks, gamma, root)

    def training(self, matrix: np.ndarray) -> np.ndarray:
        """The columns of the training rows, all at once."""
        z = (matrix - self.centre) / self.scale
        if not len(self.landmarks):
            return z
        return np.hstack([z, _bumps(z @ self.landmarks.T, z, self.landmarks, self.gamma) @ self.root])

    def times(self, matrix: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """The columns at m points times slopes (columns, q), each point by itself: (m, q)."""
        z = (matrix - self.centre) / self.scale
        product = rowwise_product(z, slopes[: z.shape[1]])
        if len(self.landmarks):
            bumps = _bumps(rowwise_product(z, self.landmarks.T), z, self.landmarks, self.gamma)
            product += rowwise_product(bumps, self.root @ slopes[z.shape[1] :])
        return product


def _bumps(products: np.ndarray, z: np.ndarray, landmarks: np.ndarray, gamma: float) -> np.ndarray:
    """``exp(-gamma |z - c|^2)`` (m, c) from the inner products z'c."""
    distances = (z**2).sum(axis=1)[:, None] - 2 * products + (landmarks**2).sum(axis=1)
    return np.exp(-gamma * np.maximum(distances, 0.0))


@dataclass(frozen=True, eq=False)
class Ridge:
    """Ridge regression of several outputs on one basis."""

    basis: Basis
    constant: np.ndarray
    slopes: np.ndarray
    held_out: np.ndarray

    @classmethod
    def fit(cls, basis: Basis, matrix: np.ndarray, targets: np.ndarray) -> "Ridge":
        """Penalty by leave-one-out error, per output. O(r b^2 + penalties r b q) for b columns, q outputs."""
        columns = basis.training(matrix)
        offset, constant = columns.mean(axis=0), targets.mean(axis=0)
        columns, centred = columns - offset, targets - constant
        values, vectors = np.linalg.eigh(columns.T @ columns)
        kept = values > 1e-12 * max(values[-1], 1e-300) if len(values) else np.zeros(0, dtype=bool)
        values, vectors = values[kept], vectors[:, kept]
        rotated = columns @ vectors
        products = rotated.T @ centred
        leverages = 1 / len(matrix) + rotated**2 @ (1 / np.add.outer(values, PENALTIES))
        best = np.full(targets.shape[1], np.inf)
        inner, held_out = np.zeros_like(products), centred.copy()
        for penalty, leverage in zip(PENALTIES, leverages.T, strict=True):
            inside = products / (values + penalty)[:, None]
            left = (centred - rotated @ inside) / np.maximum(1 - leverage, 1e-3)[:, None]
            errors = (left**2).mean(axis=0)
            better = errors < best
            best[better], held_out[:, better], inner[:, better] = errors[better], left[:, better], inside[:, better]
        slopes = vectors @ inner
        return cls(basis, constant - offset @ slopes, slopes, held_out)

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        return self.constant + self.basis.times(matrix, self.slopes)


@dataclass(frozen=True, eq=False)
class Smoother:
    """The conditional mean of several outputs, each by the basis that suits it.

    Attributes
    ----------
    ridges : tuple of Ridge
    choice : intp (q,)
        Which ridge predicts which output.
    held_out : float (r, q)
        Leave-one-out residuals of the training rows.
    low, high : float (q,)
        Range of the outputs in training: where there is no data a curve may go anywhere, so it is held inside.
    """

    ridges: tuple[Ridge, ...]
    choice: np.ndarray
    held_out: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def fit(cls, matrix: np.ndarray, targets: np.ndarray, rng: np.random.Generator) -> "Smoother":
        """Straight unless a curve has a smaller leave-one-out error by more than its standard error."""
        ridges = [Ridge.fit(Basis.straight(matrix), matrix, targets)]
        if len(matrix) >= 30 and matrix.shape[1]:
            ridges += [Ridge.fit(Basis.curved(matrix, width, rng), matrix, targets) for width in WIDTHS]
        squares = np.stack([ridge.held_out**2 for ridge in ridges])
        curved = 1 + squares[1:].mean(axis=1).argmin(axis=0) if len(ridges) > 1 else np.zeros(targets.shape[1], int)
        outputs = np.arange(targets.shape[1])
        gain = squares[0] - squares[curved, :, outputs].T
        sure = gain.mean(axis=0) > gain.std(axis=0) / np.sqrt(len(matrix))
        choice = np.where(sure, curved, 0)
        held_out = np.stack([ridge.held_out for ridge in ridges])[choice, :, outputs].T
        return cls(tuple(ridges), choice, held_out, targets.min(axis=0), targets.max(axis=0))

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """Means (m, q). O(m landmarks p)."""
        result = np.empty((len(matrix), len(self.choice)))
        for k in np.unique(self.choice):
            chosen = self.choice == k
            means = self.ridges[k].predict(matrix)[:, chosen]
            result[:, chosen] = means if k == 0 else np.clip(means, self.low[chosen], self.high[chosen])
        return result
