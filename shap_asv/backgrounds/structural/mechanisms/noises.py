"""How a number varies about its location: residuals drawn evenly, scaled by a smooth function, or local to the causes.

Each noise is learned from residuals of fits that have not seen them. ``draw(parents (m, p), uniforms (m, d, k))`` gives
residuals (m, d); ``n_uniforms`` is k.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.design import Design
from shap_asv.backgrounds.structural.mechanisms.forests import LeafValues
from shap_asv.backgrounds.structural.mechanisms.splines import SmoothFit, SmoothFunction
from shap_asv.backgrounds.tables.quantiles import quantile_between

N_LEVELS = 10  # cells of the distribution function of shaped noise
LEAST_SHARE = 0.02  # of the distribution of all residuals in it


class Noise(Protocol):
    @property
    def n_uniforms(self) -> int: ...

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class EvenNoise:
    """The same residuals everywhere."""

    ordered: np.ndarray
    n_uniforms = 1

    @classmethod
    def learn(cls, residuals: np.ndarray) -> "EvenNoise":
        return cls(np.sort(residuals))

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        return quantile_between(self.ordered, uniforms[:, :, 0])


@dataclass(frozen=True, eq=False)
class Scale:
    """``s(x) = exp(smooth fit of log |residual|)``, held inside of the range met in training."""

    log_scale: SmoothFunction
    low: float
    high: float

    @classmethod
    def learn(cls, fit: SmoothFit, residuals: np.ndarray, rows: np.ndarray | None = None) -> "Scale":
        # a residual of almost nothing has a logarithm far out, which least squares would chase
        size = np.abs(residuals)
        floor = 0.1 * (size.mean() or 1.0)
        target = np.log(np.maximum(size, floor))
        b = fit.coefficients(target, fit.best_penalty(target), rows)
        fitted = fit.matrix @ b
        return cls(fit.basis.tabulated(b), float(fitted.min()), float(fitted.max()))

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return np.exp(np.clip(self.log_scale(parents), self.low, self.high))


@dataclass(frozen=True, eq=False)
class ScaledNoise:
    """``s(x)`` times another noise."""

    scale: Scale
    inner: Noise

    @property
    def n_uniforms(self) -> int:
        return self.inner.n_uniforms

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        return self.scale(parents)[:, None] * self.inner.draw(parents, uniforms)


@dataclass(frozen=True, eq=False)
class ShapedNoise:
    """Residuals whose distribution function changes smoothly with the causes.

    ``F_k(x) = P(residual <= q_k | x)`` is a smooth fit of the indicator for each of the quantiles ``q_k`` of all
    residuals. A uniform number between ``F_k(x)`` and ``F_k+1(x)`` becomes the residual that lies as far between
    ``q_k`` and ``q_k+1``, in ranks. Two modes that trade places, skewness that comes and goes: one uniform number does
    it.
    """

    ordered: np.ndarray
    levels: np.ndarray
    shares: SmoothFunction
    n_uniforms = 1

    @classmethod
    def learn(cls, fit: SmoothFit, residuals: np.ndarray, rows: np.ndarray) -> "ShapedNoise":
        levels = np.arange(1, N_LEVELS) / N_LEVELS
        cuts = np.quantile(residuals[rows], levels)
        below = (residuals[:, None] <= cuts).astype(float)
        b = fit.coefficients(below, fit.best_penalty(below), rows)
        return cls(np.sort(residuals[rows]), levels, fit.basis.tabulated(b))

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        # least squares knows nothing of order: shares are put in order, and kept apart from 0, from 1 and each other
        shares = np.sort(np.clip(self.shares(parents), 0.0, 1.0), axis=1)
        shares = (1 - LEAST_SHARE) * shares + LEAST_SHARE * self.levels
        edges = np.concatenate([np.zeros((len(shares), 1)), shares, np.ones((len(shares), 1))], axis=1)
        levels = np.concatenate([[0.0], self.levels, [1.0]])
        u = uniforms[:, :, 0]
        cell = np.zeros(u.shape, dtype=np.intp)
        for k in range(1, edges.shape[1] - 1):
            cell += u >= edges[:, k, None]
        at = np.arange(len(u))[:, None]
        low, high = edges[at, cell], edges[at, cell + 1]
        rank = levels[cell] + (u - low) / (high - low) * (levels[cell + 1] - levels[cell])
        return quantile_between(self.ordered, rank)


@dataclass(frozen=True, eq=False)
class NoiseData:
    """What noises are learned from: causes, residuals, prepared smooth equations, and which rows may be used."""

    design: Design
    parents: np.ndarray
    residuals: np.ndarray
    fit: SmoothFit
    rows: np.ndarray
    between: bool
    seed: int
    n_trees: int


def learn_even(data: NoiseData) -> Noise:
    return EvenNoise.learn(data.residuals[data.rows])


def learn_shaped(data: NoiseData) -> Noise:
    return ShapedNoise.learn(data.fit, data.residuals, data.rows)


def learn_local(data: NoiseData, leaf: int = 60) -> Noise:
    rows = data.rows
    return LeafValues.grow(
        data.design, data.parents[rows], data.residuals[rows], leaf, data.seed, data.n_trees, data.between
    )


def learn_forest(data: NoiseData) -> Noise:
    return learn_local(data, leaf=20)


def learn_scaled(learn: Callable[[NoiseData], Noise], data: NoiseData) -> Noise:
    """What ``learn`` makes of the residuals divided by their scale, times the scale."""
    scale = Scale.learn(data.fit, data.residuals, data.rows)
    return ScaledNoise(scale, learn(replace(data, residuals=data.residuals / scale(data.parents))))
