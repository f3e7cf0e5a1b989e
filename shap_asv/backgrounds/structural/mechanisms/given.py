"""Mechanisms that users bring: functions ``(parents, noise) -> values``, and fitted classifiers.

A function gets its causes as a dict of arrays by name, in the dtypes of the table, and uniform noise strictly between
0 and 1: an array (m,), or (m, k) if the node was declared to need k of them. It returns m values, as a table would
hold them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.contract import Named
from shap_asv.backgrounds.structural.mechanisms.locations import FittedLocation, LocationData, fit_estimator
from shap_asv.backgrounds.tables.columns import Column
from shap_asv.errors import MechanismError, ShapAsvError

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
    n_uniforms: int = 1

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        m, d, k = uniforms.shape
        points = np.repeat(parents, d, axis=0) if d > 1 else parents
        raw = {cause.name: cause.restore(points[:, j]) for j, cause in enumerate(self.causes)}
        noise = uniforms.reshape(m * d, k)
        values = call_mechanism(self.function, self.column.name, raw, noise[:, 0] if k == 1 else noise)
        return self.column.read(values).reshape(m, d)

    def describe(self) -> str:
        name = getattr(self.function, "__name__", None)
        return "given" if name in (None, "<lambda>") else f"given: {name}"


@dataclass(frozen=True, eq=False)
class RawInputs:
    """Coded causes as the DataFrame that an estimator of the user was fitted to."""

    causes: tuple[Column, ...]

    def __call__(self, parents: np.ndarray) -> Any:
        import pandas as pd

        return pd.DataFrame({cause.name: cause.restore(parents[:, j]) for j, cause in enumerate(self.causes)})


@dataclass(frozen=True, eq=False)
class EstimatedClasses(Named):
    """The probabilities of a user's classifier, for codes 0 .. n_codes - 1."""

    inputs: RawInputs
    estimator: Any
    columns: np.ndarray
    n_codes: int
    name: str
    n_uniforms = 1

    def probabilities(self, parents: np.ndarray) -> np.ndarray:
        result = np.zeros((len(parents), self.n_codes))
        result[:, self.columns] = self.estimator.predict_proba(self.inputs(parents))
        return result

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        bounds = np.cumsum(self.probabilities(parents), axis=1)[:, None, :-1]
        # rounding may leave the last possible code's bound a hair below one
        codes = (uniforms[:, :, :1] >= bounds).sum(axis=2)
        return np.minimum(codes, self.columns.max()).astype(float)


def estimator_name(estimator: Any) -> str:
    return type(estimator).__name__


def fit_user_estimator(estimator: Any, causes: Sequence[Column], name: str) -> Callable[[LocationData], FittedLocation]:
    """A way to fit a location (:mod:`~shap_asv.backgrounds.structural.mechanisms.locations`) by a given regressor."""

    def fit(inputs: Any, target: np.ndarray) -> Any:
        return fit_checked(estimator, inputs, target, name)

    return partial(fit_estimator, estimator_name(estimator), RawInputs(tuple(causes)), fit)


def fit_checked(estimator: Any, inputs: Any, target: np.ndarray, name: str) -> Any:
    """A copy of the user's estimator, fitted; an error says to what."""
    from sklearn.base import clone

    try:
        return clone(estimator).fit(inputs, target)
    except Exception as error:
        raise MechanismError(
            f"the estimator for {name!r}, {estimator_name(estimator)}, could not be fitted to its causes "
            f"{list(inputs.columns)}: {type(error).__name__}: {error}; it sees them as a DataFrame with their own "
            "dtypes, so that categories and missing values need a Pipeline that encodes them"
        ) from error
