"""Where the distribution of a number lies, given its causes: ``mu(x)``, one file-level table of ways to fit it.

Every way is fitted to all rows for use, and to all rows but one fold for each fold, so that the residuals which the
noise is learned from come from fits that have not seen them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.bends import Bend, fit_bend
from shap_asv.backgrounds.structural.mechanisms.design import Design, Variable
from shap_asv.backgrounds.structural.mechanisms.noises import Scale
from shap_asv.backgrounds.structural.mechanisms.splines import SmoothFit
from shap_asv.backgrounds.structural.mechanisms.steps import MOST_STEPS, Steps, fit_steps
from shap_asv.backgrounds.tables.evidence import rowwise_product

Location = Callable[[np.ndarray], np.ndarray]
HUBER = 1.345  # robust standard deviations: past them, outliers count less
LEAST_WEIGHT = 1e-3  # of a row, where the mean is one


@dataclass(frozen=True, eq=False)
class LocationData:
    """What locations are fitted to: causes (r, p) and a number (r,), with the fold (r,) that each row belongs to."""

    design: Design
    parents: np.ndarray
    target: np.ndarray
    folds: np.ndarray
    seed: int = 0
    roots: np.ndarray | None = None  # of the weights of the rows
    prepared: SmoothFit | None = None
    repeats: float = 1.0  # copies of a row, itself included

    @cached_property
    def smooth(self) -> SmoothFit:
        """Smooth equations, prepared once for all who ask."""
        return self.prepared or SmoothFit.prepare(self.design, self.parents, self.repeats)

    @cached_property
    def equations(self) -> SmoothFit:
        """The same with the weights of the rows."""
        return self.smooth if self.roots is None else self.smooth.weighted(self.roots)

    def rooted(self, array: np.ndarray) -> np.ndarray:
        """Rows (r,) or (r, k), each times the root of its weight: least squares of these is weighted least squares."""
        return array if self.roots is None else (array.T * self.roots).T

    def held_out(self, predict: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """``predict(inside, outside)``, a fit to some rows applied to others (bool masks), fold by fold -> (r,)."""
        result = np.empty(len(self.target))
        for fold in np.unique(self.folds):
            result[self.folds == fold] = predict(self.folds != fold, self.folds == fold)
        return result

    def held_out_rooted(self, predict: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """The same for predictions that still carry the roots."""
        result = self.held_out(predict)
        return result if self.roots is None else result / self.roots


@dataclass(frozen=True, eq=False)
class FittedLocation:
    """A function of the causes and its predictions for each training row by a fit without that row's fold.

    It takes the place of a simpler one if it is better by ``margin`` standard errors and has less than ``share`` of its
    squared error.
    """

    name: str
    function: Location
    held_out: np.ndarray
    margin: float = 1.0
    share: float = 1.0


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
    """The prediction of a fitted estimator; ``inputs`` turns causes into what it takes."""

    inputs: Callable[[np.ndarray], Any]
    estimator: Any

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return np.asarray(self.estimator.predict(self.inputs(parents)), dtype=float).reshape(len(parents))


@dataclass(frozen=True, eq=False)
class Bent:
    """A curve along a direction plus a smooth function."""

    bend: Bend
    smooth: Location

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return self.bend(parents) + self.smooth(parents)


@dataclass(frozen=True, eq=False)
class Stepped:
    """A smooth function plus steps in single numbers."""

    smooth: Location
    numbers: tuple[Variable, ...]
    steps: Steps

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        columns = [variable.values(parents) for variable in self.numbers]
        return self.smooth(parents) + self.steps.at(np.stack(columns, axis=1))


def fit_nothing(data: LocationData) -> FittedLocation:
    return FittedLocation("nothing", Nothing(), np.zeros(len(data.target)))


def fit_straight(data: LocationData) -> FittedLocation:
    """Least squares, with a ridge so small that it only decides between columns that say the same."""
    target, n_rows = data.rooted(data.target), len(data.target)
    matrix = data.rooted(np.column_stack([np.ones(n_rows), data.design.linear(data.parents)]))
    ridge = 1e-6 * n_rows * np.eye(matrix.shape[1])

    def solved(rows: np.ndarray) -> np.ndarray:
        return np.linalg.solve(matrix[rows].T @ matrix[rows] + ridge, matrix[rows].T @ target[rows])

    held_out = data.held_out_rooted(lambda inside, outside: matrix[outside] @ solved(inside))
    b = solved(np.ones(n_rows, dtype=bool))
    return FittedLocation("linear", Straight(data.design, float(b[0]), b[1:]), held_out)


def fit_smooth(data: LocationData) -> FittedLocation:
    fit, target = data.equations, data.rooted(data.target)
    penalty = fit.best_penalty(target)
    held_out = data.held_out_rooted(
        lambda inside, outside: fit.matrix[outside] @ fit.coefficients(target, penalty, inside)
    )
    return FittedLocation("smooth", fit.basis.tabulated(fit.coefficients(target, penalty)), held_out)


def fit_bent(data: LocationData) -> FittedLocation:
    """A curve along a direction, and a smooth function of what it leaves."""
    fit, everything = data.equations, np.ones(len(data.target), dtype=bool)

    def bend_of(rows: np.ndarray) -> tuple[Bend, np.ndarray]:
        roots = None if data.roots is None else data.roots[rows]
        bend = fit_bend(data.design, data.parents[rows], data.target[rows], roots)
        return bend, data.rooted(bend(data.parents))

    bend, bent = bend_of(everything)
    rest = data.rooted(data.target) - bent
    penalty = fit.best_penalty(rest)

    def predict(inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
        _, bent = bend_of(inside)
        b = fit.coefficients(data.rooted(data.target) - bent, penalty, inside)
        return bent[outside] + fit.matrix[outside] @ b

    function = Bent(bend, fit.basis.tabulated(fit.coefficients(rest, penalty)))
    return FittedLocation("bent", function, data.held_out_rooted(predict))


def fit_stepped(data: LocationData) -> FittedLocation:
    """A smooth function with as many steps as held-out rows ask for.

    Smoothness is chosen twice: with the jumps in the target, and again for what the steps leave of it.
    """
    fit, target = data.smooth, data.target
    numbers = tuple(variable for variable in data.design.variables if variable.n_codes == 0)
    columns = np.stack([variable.values(data.parents) for variable in numbers], axis=1)
    everything = np.ones(len(target), dtype=bool)
    first = fit_steps(fit, columns, target, fit.best_penalty(target), everything)
    penalty = fit.best_penalty(target - first.steps[-1].at(columns))
    held_out = np.full((MOST_STEPS + 1, len(target)), np.nan)
    for fold in np.unique(data.folds):
        out = data.folds == fold
        inside = fit_steps(fit, columns, target, penalty, ~out)
        for k, (b, steps) in enumerate(zip(inside.coefficients, inside.steps, strict=True)):
            held_out[k:, out] = fit.matrix[out] @ b + steps.at(columns[out])
    best = int(np.argmin(((target - held_out) ** 2).mean(axis=1)))
    whole = fit_steps(fit, columns, target, penalty, everything)
    count = min(best, len(whole.steps) - 1)
    function = Stepped(fit.basis.tabulated(whole.coefficients[count]), numbers, whole.steps[count])
    return FittedLocation("smooth with steps", function, held_out[best])


def fit_weighted(fit: Callable[[LocationData], FittedLocation], data: LocationData) -> FittedLocation:
    """Fitted twice: evenly, then with little weight where the first fit says that noise is large, and on outliers."""
    first = fit(data)
    weights, _ = noise_weights(data, first)
    again = fit(replace(data, roots=np.sqrt(weights), prepared=data.smooth))
    return replace(again, name=f"weighted {first.name}")


def noise_weights(data: LocationData, fitted: FittedLocation) -> tuple[np.ndarray, float]:
    """Weights (r,) of mean one, ``1 / s(x)^2`` times Huber's, and by how much they promise to save variance.

    None is below :data:`LEAST_WEIGHT`, so that no row is lost.

    The promise is the variance of least squares over that of the weighted fit, both for a mean without causes.
    """
    residuals = data.target - fitted.held_out
    scale = Scale.learn(data.smooth, residuals)(data.parents)
    z = residuals / scale
    z = z - np.median(z)
    bound = HUBER * float(np.median(np.abs(z))) / 0.6745
    if bound == 0:
        return np.ones(len(z)), 1.0
    inner = np.clip(z, -bound, bound)
    weights = np.minimum(1.0, bound / np.maximum(np.abs(z), bound)) / scale**2
    efficiency = float(np.mean(np.abs(z) <= bound) ** 2 / np.mean(inner**2))
    promise = float(residuals.var() * np.mean(1 / scale**2)) * efficiency
    return np.maximum(weights / weights.mean(), LEAST_WEIGHT), promise


def fit_estimator(
    name: str, inputs: Callable[[np.ndarray], Any], fit: Callable[[Any, np.ndarray], Any], data: LocationData
) -> FittedLocation:
    """Any regressor: ``fit(inputs(parents), target)`` gives one with ``predict``, a fresh one each time."""

    def fitted(rows: np.ndarray) -> Estimated:
        return Estimated(inputs, fit(inputs(data.parents[rows]), data.target[rows]))

    held_out = data.held_out(lambda inside, outside: fitted(inside)(data.parents[outside]))
    return FittedLocation(name, fitted(np.ones(len(data.target), dtype=bool)), held_out)


def fit_boosted(data: LocationData) -> FittedLocation:
    fitted = fit_estimator("boosting", data.design.rows, _boosting(data.seed), data)
    return replace(fitted, margin=2.0, share=0.97)  # its trees cost many look-ups a draw: it has to be worth it


def boosting_promises(data: LocationData, rival: FittedLocation) -> bool:
    """Whether boosted trees predict the first fold better than another location does: a sixth of the work of a fit."""
    out = data.folds == data.folds.min()
    first = _boosting(data.seed)(data.design.rows(data.parents[~out]), data.target[~out])
    errors = first.predict(data.design.rows(data.parents[out])) - data.target[out]
    return bool(np.mean(errors**2) < np.mean((rival.held_out[out] - data.target[out]) ** 2))


def _boosting(seed: int) -> Callable[[np.ndarray, np.ndarray], Any]:
    def fit(matrix: np.ndarray, target: np.ndarray) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(
            max_iter=80,
            learning_rate=0.12,
            max_leaf_nodes=12,
            min_samples_leaf=20,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=seed,
        ).fit(matrix, target)

    return fit
