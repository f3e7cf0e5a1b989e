"""Linear models over states, and over numbers.

Over states a linear model behind steps that mix no features is a sum of one function per feature, ``G_v(x_v)`` in R^k.
The value in state 0 goes to the offset. A feature of one output is one term; with k outputs it is either k terms (one
function per output) or card - 1 terms (one indicator per state, a coefficient vector each), whichever is fewer.

Over rows of numbers a model is affine, ``M(x) = offset + x @ weights``. Weights need not be read, in either case:
``M(b + h u_j) - M(b)`` along each axis gives them through any scaler before it, and random rows tell whether the model
is what it is taken for. Asked for only where the last step of a model has the attributes of a linear model.
Transformers that are not affine (one-hot columns, splines) are found out that way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from shap_asv.models.calls import ModelCall, describe, split_stages
from shap_asv.models.inputs import one_at_a_time
from shap_asv.models.products import NotSumOfProducts, SumOfProducts


def is_linear(estimator: Any) -> bool:
    """Has the attributes of a fitted linear model. Whether it is one is left to the verification on probe rows."""
    return hasattr(estimator, "coef_") and hasattr(estimator, "intercept_")


def read_linear(predict: Callable[[np.ndarray], np.ndarray], cardinalities: Sequence[int]) -> SumOfProducts:
    """``M(x) = M(0) + sum over v of G_v(x_v)`` with ``G_v(s) = M(x_v = s, else 0) - M(0)``, whether it is so or not."""
    rows, starts = one_at_a_time(np.zeros(len(cardinalities), dtype=np.int64), cardinalities)
    outputs = predict(rows)
    k = outputs.shape[1]
    vectors, features, numbers, coefficients = [], [], [], []
    for v, (start, stop) in enumerate(pairwise(starts)):
        steps = outputs[start:stop] - outputs[start]
        mine = [np.ones(len(steps))]
        if len(steps) - 1 < k:
            parts = [(np.eye(len(steps))[s], steps[s]) for s in range(1, len(steps))]
        else:
            parts = [(steps[:, o], np.eye(k)[o]) for o in range(k)]
        for vector, coefficient in parts:
            if vector.any() and coefficient.any():
                features.append(v)
                numbers.append(len(mine))
                mine.append(vector)
                coefficients.append(coefficient)
        vectors.append(np.array(mine))
    terms = np.zeros((len(features), len(vectors)), dtype=np.int32)
    terms[np.arange(len(features)), features] = numbers
    return SumOfProducts(tuple(vectors), terms, np.array(coefficients).reshape(-1, k), outputs[0])


# --- over rows of numbers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Affine:
    """``M(x) = offset + x @ weights`` over rows of numbers: weights (n, k), offset (k,)."""

    weights: np.ndarray
    offset: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Rows (r, n) -> (r, k)."""
        return np.asarray(rows, dtype=np.float64) @ self.weights + self.offset


_N_CHECKED = 32
# Relative to the largest output on the rows that were asked.
_TOLERANCE = 1e-9


def read_affine(
    call: ModelCall, predict: Callable[[np.ndarray], np.ndarray], probe: np.ndarray, whole: np.ndarray
) -> Affine:
    """The affine form of a model, from ``predict`` at rows around ``probe`` (p, n); NotSumOfProducts where it is not.

    Columns that are ``whole`` (bool (n,)) hold integers, and the model is never shown what lies between them: it is
    asked at whole numbers only. n + 1 rows are asked, and 32 more to verify. O(n) model rows.
    """
    if call.method is None:
        raise NotSumOfProducts(f"{call.name} is a callable, which cannot be looked into")
    final = split_stages(call.target).final
    if not is_linear(final):
        raise NotSumOfProducts(f"{describe(final)} is not linear")
    probe = _rounded(np.asarray(probe, dtype=np.float64), whole)
    if not np.isfinite(probe).all():
        raise NotSumOfProducts("missing values are not numbers that a linear model adds up")
    center = _rounded(probe.mean(axis=0), whole)
    width = _rounded(np.maximum(np.ptp(probe, axis=0), 1.0), whole)
    corners = np.vstack([center, center + np.diag(width)])
    values = predict(corners)
    weights = (values[1:] - values[0]) / width[:, None]
    found = Affine(weights, values[0] - center @ weights)
    rng = np.random.default_rng(0)
    rows = _rounded(center + width * rng.uniform(-1.5, 1.5, size=(_N_CHECKED, len(center))), whole)
    asked = np.vstack([probe, rows])
    expected = predict(asked)
    if np.abs(found(asked) - expected).max() > _TOLERANCE * max(1.0, np.abs(expected).max(), np.abs(values).max()):
        raise NotSumOfProducts(f"what {call.name} explains is not an affine function of its numbers")
    return found


def _rounded(rows: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.where(whole, np.rint(rows), rows)
