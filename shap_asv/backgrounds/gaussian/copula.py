"""A Gaussian copula: every feature keeps its own distribution, and only the dependence is Gaussian.

Values become *normal scores*, ``z = Phi^-1(F(x))`` with F the empirical distribution, the scores are treated as jointly
Gaussian, and draws of scores become values again by the quantiles of the table. For skewed numbers, and for counts: a
value that occurs often owns an interval of F; its score is the mean of a normal variable in that interval, and all
quantiles of the interval come back as that value.

Between two values of the table the score is linear; beyond its range it is held at the last one, so that draws never
leave the range of the table. A conditional mean has no closed form here, and none is offered.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backgrounds.gaussian.model import (
    GaussianBorder,
    GaussianInterventions,
    GaussianModel,
    read_numbers,
)
from shap_asv.backgrounds.interventions import Intervening
from shap_asv.backgrounds.tables.border import quantile_between


class CopulaModel(GaussianBorder):
    """Features of a table with their own marginal distributions and a Gaussian dependence.

    Parameters
    ----------
    data : DataFrame or array (r, n)
        Numbers without gaps.

    Examples
    --------
    >>> x = np.exp(np.linspace(-2, 2, 101))
    >>> background = CopulaModel(np.column_stack([x, x**2]))
    >>> draws = background.draws(np.array([[1.0, np.nan]]), np.array([[0.5, 0.1], [0.5, 0.9]]))
    >>> draws.round(6).tolist()  # the one determines the other
    [[[1.0, 1.0], [1.0, 1.0]]]
    """

    def __init__(self, data: Any) -> None:
        self.codec, rows = read_numbers(data)
        self._ordered = np.sort(rows, axis=0)
        self._knots = [normal_scores(column) for column in self._ordered.T]
        correlation = latent_correlation(self._scores(rows))
        self._gaussian = GaussianModel(np.zeros(self.n_features), correlation)

    def _keep(self, kept: list[int]) -> None:
        self._ordered, self._knots = self._ordered[:, kept], [self._knots[i] for i in kept]
        self._gaussian = self._gaussian.only([self._gaussian.features[i] for i in kept])

    def intervened_by_levels(self, levels: Sequence[Sequence[int]], confounded: Sequence[int]) -> "CopulaInterventions":
        """The features under ``do(X_S = e_S)``, level by level, causes first."""
        return CopulaInterventions(self, self._gaussian.intervened_by_levels(levels, confounded))

    def cut_loose(self) -> "CopulaModel":
        """The features with their own distributions, independent of one another."""
        model = copy(self)
        model._gaussian = self._gaussian.cut_loose()
        return model

    @property
    def correlation(self) -> np.ndarray:
        """Correlations of the normal scores, (n, n)."""
        return self._gaussian.covariance

    def describe(self) -> str:
        loose = ", cut loose from one another" if self._gaussian.loose else ""
        return f"Gaussian copula, {self.n_features} features, {len(self._ordered)} rows{loose}"

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n) from ``X | e_S``; uniforms (D, n). O(E D n log r) and one factorisation per coalition."""
        return self.drawn_through(self._gaussian, evidence, uniforms)

    def drawn_through(self, scores: Any, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n) whose normal scores are draws of the background ``scores``."""
        from scipy.special import ndtr

        evidence = self.numbers(evidence)
        drawn = scores.draws(self._scores(evidence), uniforms)
        result = np.empty_like(drawn)
        for k, column in enumerate(evidence.T):
            free = np.isnan(column)
            result[~free, :, k] = column[~free, None]
            result[free, :, k] = self._quantiles(k, ndtr(drawn[free, :, k]))
        return result

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        """Normal scores (r, n) of values; NaN stays NaN."""
        scores = np.empty_like(rows)
        for k, (values, known) in enumerate(self._knots):
            scores[:, k] = np.interp(rows[:, k], values, known)
        return scores

    def _quantiles(self, feature: int, levels: np.ndarray) -> np.ndarray:
        """Quantiles of the table, linear between neighbouring values; whole numbers are rounded."""
        values = quantile_between(self._ordered[:, feature], levels)
        return np.rint(values) if self.codec.kinds[feature].whole else values


@dataclass(frozen=True, eq=False)
class CopulaInterventions(Intervening):
    """A Gaussian copula under interventions: what setting does to the normal scores, it does to the features."""

    scores: GaussianInterventions

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n) from ``X | do(X_S = e_S)``; uniforms (D, n)."""
        return np.asarray(self.natural.drawn_through(self.scores, evidence, uniforms))

    def showing(self, feature: int) -> "CopulaInterventions":
        """The same where evidence about ``feature`` is shown to the model and reaches no other feature."""
        return CopulaInterventions(self.natural, self.scores.showing(feature))


def normal_scores(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values of a column and the score of each, ``E[Z | Z in the interval of F that the value owns]``.

    The scores of the whole column have mean 0 exactly, ties or not.

    Examples
    --------
    >>> values, scores = normal_scores(np.array([3.0, 0.0, 0.0, 0.0]))
    >>> values.tolist(), scores.round(4).tolist()
    ([0.0, 3.0], [-0.4237, 1.2711])
    """
    from scipy.special import ndtri

    values, counts = np.unique(column, return_counts=True)
    edges = ndtri(np.concatenate([[0.0], np.cumsum(counts) / len(column)]))
    edges[-1] = np.inf  # a sum of shares may miss 1
    density = np.exp(-0.5 * edges**2) / np.sqrt(2 * np.pi)
    return values, -np.diff(density) * len(column) / counts


def latent_correlation(scores: np.ndarray) -> np.ndarray:
    """Correlations (n, n) of the normal variables behind scores (r, n) that ties have squeezed.

    With ``s = E[Z | tie]``, ``Cov(s_a, Z_b) = rho Var(s_a)``: a covariance of scores is divided by both variances. If
    the result is not a correlation matrix (it can happen with many ties), negative eigenvalues are set to 0.
    """
    variances = scores.var(axis=0)
    variances[variances == 0] = 1.0
    raw = np.clip(scores.T @ scores / len(scores) / np.outer(variances, variances), -1.0, 1.0)
    np.fill_diagonal(raw, 1.0)
    values, vectors = np.linalg.eigh(raw)
    if values[0] >= 0:
        return raw
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return root @ root.T
