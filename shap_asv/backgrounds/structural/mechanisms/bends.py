"""A curve along a direction: ``h(b'x)``, for effects that depend on their causes through one sum.

A sum that saturates or swings is a surface in all of its causes at once; a smooth function of main effects and pairs
blurs it, however many rows there are. The direction starts at that of least squares and is bettered by Gauss-Newton
steps, each followed by a new curve; the curve is a penalised spline, as smooth as generalised cross-validation asks.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.design import Design, Variable
from shap_asv.backgrounds.structural.mechanisms.splines import SmoothFit, SmoothFunction
from shap_asv.backgrounds.tables.evidence import rowwise_product

MOST_STEPS, SHORTER = 4, (1.0, 0.4)
LEAST_GAIN = 1e-4  # of the error: a step that gains less is the last
DIFFERENCE = 1e-3  # along the direction, in standard deviations, for the slope of the curve
_ALONG = Design((Variable(0, 0),))


@dataclass(frozen=True, eq=False)
class Bend:
    """``h(t)`` with ``t = (b'x - centre) / size``; ``error`` is what generalised cross-validation makes of it."""

    design: Design
    slopes: np.ndarray
    centre: float
    size: float
    curve: SmoothFunction
    error: float

    def along(self, parents: np.ndarray) -> np.ndarray:
        """t (m, 1) at the parents (m, p)."""
        return (rowwise_product(self.design.linear(parents), self.slopes[:, None]) - self.centre) / self.size

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return self.curve(self.along(parents))


def fit_bend(design: Design, parents: np.ndarray, target: np.ndarray, roots: np.ndarray | None = None) -> Bend:
    """Least squares of a target (r,), its rows weighted by the squares of ``roots``. O(steps r columns^2)."""
    matrix = design.linear(parents)
    n_rows, n_columns = matrix.shape
    weight = np.ones(n_rows) if roots is None else roots
    bordered = np.column_stack([np.ones(n_rows), matrix]) * weight[:, None]
    ridge = 1e-6 * n_rows * np.eye(n_columns + 1)
    slopes = np.linalg.solve(bordered.T @ bordered + ridge, bordered.T @ (target * weight))[1:]

    def bent(slopes: np.ndarray) -> tuple[Bend, np.ndarray]:
        total = matrix @ slopes
        centre, size = float(total.mean()), float(total.std()) or 1.0
        t = (total - centre)[:, None] / size
        fit = SmoothFit.prepare(_ALONG, t).weighted(weight)
        penalty, error = fit.best_penalty(target * weight), fit.least_error(target * weight)
        curve = fit.basis.tabulated(fit.coefficients(target * weight, penalty))
        return Bend(design, slopes, centre, size, curve, error), t

    best, t = bent(slopes)
    for _ in range(MOST_STEPS if n_columns > 1 else 0):
        rise = (best.curve(t + DIFFERENCE) - best.curve(t - DIFFERENCE)) / (2 * DIFFERENCE * best.size)
        jacobian = matrix * (rise * weight)[:, None]
        gram = jacobian.T @ jacobian
        damping = (1e-3 * np.trace(gram) / n_columns + 1e-9) * np.eye(n_columns)
        step = np.linalg.solve(gram + damping, jacobian.T @ ((target - best.curve(t)) * weight))
        before = best.error
        for share in SHORTER:
            found, place = bent(best.slopes + share * step)
            if found.error < before:
                best, t = found, place
                break
        if best.error > (1 - LEAST_GAIN) * before:
            break
    return best
