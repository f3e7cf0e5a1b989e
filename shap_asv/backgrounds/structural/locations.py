"""Where the distribution of a number lies, given its causes: ``mu(x)``, one file-level table of ways to fit it.

Every way is fitted to all rows for use, and to all rows but one fold for each fold, so that the residuals which the
noise is learned from come from fits that have not seen them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.design import Design, Variable
from shap_asv.backgrounds.structural.splines import SmoothFit
from shap_asv.backgrounds.structural.steps import MOST_STEPS, Steps, fit_steps
from shap_asv.backgrounds.tables.evidence import rowwise_product

Location = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class FittedLocation:
    """A function of the causes and its predictions for each training row by a fit without that row's fold."""

    name: str
    function: Location
    held_out: np.ndarray


@dataclass(frozen=True, eq=False)
class Nothing:
    """``mu = 0``: all is left to the noise."""

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return np.zeros(len(parents))


@dataclass(frozen=True, eq=False)
class Straight:
    """``mu = a + b' x``."""

    design: Design
    constant: float
    slopes: np.ndarray

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return self.constant + rowwise_product(self.design.linear(parents), self.slopes[:, None])[:, 0]


@dataclass(frozen=True, eq=False)
class Estimated:
    """The prediction of a fitted estimator on the columns of the design."""

    design: Design
    estimator: Any

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return np.asarray(self.estimator.predict(np.ascontiguousarray(self.design.linear(parents))), dtype=float)


@dataclass(frozen=True, eq=False)
class Stepped:
    """A smooth function plus steps in single numbers."""

    smooth: Location
    numbers: tuple[Variable, ...]
    steps: Steps

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        columns = [variable.values(parents) for variable in self.numbers]
        return self.smooth(parents) + self.steps.at(np.stack(columns, axis=1))


def fit_nothing(
    design: Design, parents: np.ndarray, target: np.ndarray, folds: np.ndarray, seed: int
) -> FittedLocation:
    return FittedLocation("nothing", Nothing(), np.zeros(len(target)))


def fit_straight(
    design: Design, parents: np.ndarray, target: np.ndarray, folds: np.ndarray, seed: int
) -> FittedLocation:
    """Least squares, with a ridge so small that it only decides between columns that say the same."""
    matrix = np.column_stack([np.ones(len(parents)), design.linear(parents)])
    ridge = 1e-6 * len(parents) * np.eye(matrix.shape[1])

    def solved(rows: np.ndarray) -> np.ndarray:
        return np.linalg.solve(matrix[rows].T @ matrix[rows] + ridge, matrix[rows].T @ target[rows])

    held_out = np.empty(len(target))
    for fold in np.unique(folds):
        held_out[folds == fold] = matrix[folds == fold] @ solved(folds != fold)
    b = solved(np.ones(len(target), dtype=bool))
    return FittedLocation("linear", Straight(design, float(b[0]), b[1:]), held_out)


def fit_smooth(design: Design, parents: np.ndarray, target: np.ndarray, folds: np.ndarray, seed: int) -> FittedLocation:
    fit = SmoothFit.prepare(design, parents)
    return smooth_location(fit, target, folds)


def smooth_location(fit: SmoothFit, target: np.ndarray, folds: np.ndarray) -> FittedLocation:
    """The smooth fit of one target on prepared equations."""
    penalty = fit.best_penalty(target)
    held_out = np.empty(len(target))
    for fold in np.unique(folds):
        b = fit.coefficients(target, penalty, folds != fold)
        held_out[folds == fold] = fit.matrix[folds == fold] @ b
    return FittedLocation("smooth", fit.basis.tabulated(fit.coefficients(target, penalty)), held_out)


def fit_stepped(
    design: Design, parents: np.ndarray, target: np.ndarray, folds: np.ndarray, seed: int
) -> FittedLocation:
    return stepped_location(SmoothFit.prepare(design, parents), design, parents, target, folds)


def stepped_location(
    fit: SmoothFit, design: Design, parents: np.ndarray, target: np.ndarray, folds: np.ndarray
) -> FittedLocation:
    """A smooth function with as many steps as held-out rows ask for.

    Smoothness is chosen twice: with the jumps in the target, and again for what the steps leave of it.
    """
    numbers = tuple(variable for variable in design.variables if variable.n_codes == 0)
    columns = np.stack([variable.values(parents) for variable in numbers], axis=1)
    everything = np.ones(len(target), dtype=bool)
    first = fit_steps(fit, columns, target, fit.best_penalty(target), everything)
    penalty = fit.best_penalty(target - first.steps[-1].at(columns))
    held_out = np.full((MOST_STEPS + 1, len(target)), np.nan)
    for fold in np.unique(folds):
        out = folds == fold
        inside = fit_steps(fit, columns, target, penalty, ~out)
        for k, (b, steps) in enumerate(zip(inside.coefficients, inside.steps, strict=True)):
            held_out[k:, out] = fit.matrix[out] @ b + steps.at(columns[out])
    best = int(np.argmin(((target - held_out) ** 2).mean(axis=1)))
    whole = fit_steps(fit, columns, target, penalty, everything)
    count = min(best, len(whole.steps) - 1)
    function = Stepped(fit.basis.tabulated(whole.coefficients[count]), numbers, whole.steps[count])
    return FittedLocation("smooth with steps", function, held_out[best])


def fit_estimator(
    make: Callable[[], Any],
    name: str,
    design: Design,
    parents: np.ndarray,
    target: np.ndarray,
    folds: np.ndarray,
) -> FittedLocation:
    """Any regressor with ``fit`` and ``predict``; ``make`` gives a fresh one."""
    matrix = np.ascontiguousarray(design.linear(parents))
    held_out = np.empty(len(target))
    for fold in np.unique(folds):
        held_out[folds == fold] = (
            make().fit(matrix[folds != fold], target[folds != fold]).predict(matrix[folds == fold])
        )
    return FittedLocation(name, Estimated(design, make().fit(matrix, target)), held_out)


def fit_boosted(
    design: Design, parents: np.ndarray, target: np.ndarray, folds: np.ndarray, seed: int
) -> FittedLocation:
    from sklearn.ensemble import HistGradientBoostingRegressor

    def make() -> Any:
        return HistGradientBoostingRegressor(
            max_iter=80,
            learning_rate=0.12,
            max_leaf_nodes=12,
            min_samples_leaf=20,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=seed,
        )

    return fit_estimator(make, "boosting", design, parents, target, folds)
