"""How a number varies about its location: residuals drawn evenly, scaled by a smooth function, or local to the causes.

Each noise is learned from residuals of fits that have not seen them. ``draw(parents (m, p), uniforms (m, d, k))`` gives
residuals (m, d); ``n_uniforms`` is k.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shap_asv.backgrounds.structural.design import Design
from shap_asv.backgrounds.structural.forests import LeafValues
from shap_asv.backgrounds.structural.splines import SmoothFit, SmoothFunction


class Noise(Protocol):
    @property
    def n_uniforms(self) -> int: ...

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray: ...


def quantile_between(ordered: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Quantiles of sorted values, linear between them (the middle of the k-th of n values is at ``(k + 1/2) / n``)."""
    x = np.clip(uniforms * len(ordered) - 0.5, 0, len(ordered) - 1)
    low = x.astype(np.intp)
    first = ordered[low]
    return first + (x - low) * (ordered[np.minimum(low + 1, len(ordered) - 1)] - first)


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


def learn_scaled(data: NoiseData) -> Noise:
    scale = Scale.learn(data.fit, data.residuals, data.rows)
    return ScaledNoise(scale, EvenNoise.learn((data.residuals / scale(data.parents))[data.rows]))


def learn_local(data: NoiseData) -> Noise:
    return _leaves(data, data.residuals[data.rows], 60)


def learn_forest(data: NoiseData) -> Noise:
    return _leaves(data, data.residuals[data.rows], 20)


def learn_scaled_local(data: NoiseData) -> Noise:
    scale = Scale.learn(data.fit, data.residuals, data.rows)
    return ScaledNoise(scale, _leaves(data, data.residuals[data.rows] / scale(data.parents[data.rows]), 60))


def _leaves(data: NoiseData, values: np.ndarray, leaf: int) -> LeafValues:
    return LeafValues.grow(data.design, data.parents[data.rows], values, leaf, data.seed, data.n_trees, data.between)
