"""What a mechanism is: ``x_v = g(x_parents, u)`` with uniform noise u, on coded rows; the simplest ones, and
those that users bring.

``draw(parents (m, p), uniforms (m, d, k)) -> (m, d)``: d draws at each of m points. Several points with one draw each,
or one point with many draws, are the same call, and what depends on the point alone is computed once per point.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from shap_asv.backgrounds.tables.codec import Column
from shap_asv.errors import MechanismError, ShapAsvError


@runtime_checkable
class Mechanism(Protocol):
    """A way to draw a node given its causes; ``n_uniforms`` is k."""

    @property
    def n_uniforms(self) -> int: ...
    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray: ...
    def describe(self) -> str: ...


class Named:
    """A mechanism that is described by its name alone."""

    name: str

    def describe(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Empirical:
    """Draws one of the training values, whatever the causes are: what roots do."""

    ordered: np.ndarray
    n_uniforms = 1

    @classmethod
    def learn(cls, values: np.ndarray) -> "Empirical":
        return cls(np.sort(values))

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        place = (uniforms[:, :, 0] * len(self.ordered)).astype(np.intp)
        return self.ordered[np.minimum(place, len(self.ordered) - 1)]

    def describe(self) -> str:
        if self.ordered[0] == self.ordered[-1]:
            return "constant"
        return f"empirical ({len(self.ordered)} values)"


@dataclass(frozen=True, eq=False)
class Support:
    """Where draws of a number may lie.

    With few distinct values in training: these (a draw becomes the nearest). Otherwise the range met in training and a
    quarter of it to either side; whole numbers are rounded.
    """

    low: float
    high: float
    whole: bool
    values: np.ndarray | None

    #: So many distinct values at most make a number discrete.
    FEW = 20

    @classmethod
    def learn(cls, values: np.ndarray, whole: bool) -> "Support":
        distinct = np.unique(values)
        room = 0.25 * (distinct[-1] - distinct[0])
        if len(distinct) <= cls.FEW and (whole or len(values) >= 3 * len(distinct)):
            return cls(distinct[0], distinct[-1], whole, distinct)
        low, high = distinct[0] - room, distinct[-1] + room
        if whole and distinct[0] >= 0:
            low = max(low, 0.0)  # counts do not fall below zero
        return cls(float(low), float(high), whole, None)

    def hold(self, draws: np.ndarray) -> np.ndarray:
        if self.values is not None:
            middles = (self.values[1:] + self.values[:-1]) / 2
            return self.values[np.searchsorted(middles, draws)]
        draws = np.clip(draws, self.low, self.high)
        return np.rint(draws) if self.whole else draws


@dataclass(frozen=True, eq=False)
class WithGaps:
    """A number that may be missing: first whether it is (code 1 of ``gaps``), then its value from ``inner``."""

    gaps: Mechanism
    inner: Mechanism

    @property
    def n_uniforms(self) -> int:
        return self.gaps.n_uniforms + self.inner.n_uniforms

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        k = self.inner.n_uniforms
        values = self.inner.draw(parents, uniforms[:, :, :k])
        return np.where(self.gaps.draw(parents, uniforms[:, :, k:]) == 1, np.inf, values)

    def describe(self) -> str:
        return f"{self.inner.describe()}; missing: {self.gaps.describe()}"


# --- what users bring ---------------------------------------------------------------------------------------
#
# A function gets its causes as a dict of arrays by name, in the dtypes of the table, and uniform noise strictly between
# 0 and 1: an array (m,). It returns m values, as a table would hold them.

Function = Callable[[dict[str, Any], np.ndarray], Any]


def call_mechanism(function: Function, name: str, parents: dict[str, Any], noise: np.ndarray) -> Any:
    """What the function returned, checked: one value per row, none missing."""
    import pandas as pd

    noise = np.clip(noise, 2.0**-54, 1 - 2.0**-53)
    try:
        returned = function(parents, noise)
    except ShapAsvError:
        raise
    except Exception as error:
        raise MechanismError(
            f"the mechanism of {name!r} raised {type(error).__name__}: {error}; it was called with "
            f"{'a dict of the causes ' + ', '.join(parents) if parents else 'an empty dict (it has no causes)'} and "
            f"uniform noise of shape {noise.shape}"
        ) from error
    values = returned if hasattr(returned, "dtype") else np.asarray(returned)
    if np.shape(values) != (len(noise),):
        raise MechanismError(
            f"the mechanism of {name!r} returned an array of shape {np.shape(values)}; it has to return one value for "
            f"each of the {len(noise)} rows it is given: shape ({len(noise)},)"
        )
    missing = np.asarray(pd.isna(values))
    infinite = np.isinf(values) if np.asarray(values).dtype.kind == "f" else np.zeros(len(noise), dtype=bool)
    bad = missing | infinite
    if bad.any():
        r = int(np.flatnonzero(bad)[0])
        causes = ", ".join(f"{key} = {np.asarray(value)[r]!r}" for key, value in parents.items())
        raise MechanismError(
            f"the mechanism of {name!r} returned {np.asarray(values)[r]} for {causes or 'no causes'} and noise "
            f"{noise[r]}"
        )
    return values


@dataclass(frozen=True, eq=False)
class Given:
    """A user's function as a mechanism on coded rows."""

    function: Function
    column: Column
    causes: tuple[Column, ...]
    n_uniforms: ClassVar[int] = 1

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        m, d, _ = uniforms.shape
        points = np.repeat(parents, d, axis=0) if d > 1 else parents
        raw = {cause.name: cause.restore(points[:, j]) for j, cause in enumerate(self.causes)}
        values = call_mechanism(self.function, self.column.name, raw, uniforms.reshape(m * d))
        return self.column.read(values).reshape(m, d)

    def describe(self) -> str:
        name = getattr(self.function, "__name__", None)
        return "given" if name in (None, "<lambda>") else f"given: {name}"
