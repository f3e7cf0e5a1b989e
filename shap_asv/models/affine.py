"""Models that are affine functions of rows of numbers: ``M(x) = offset + x @ weights``.

Asked for only where the last step of a model has the attributes of a linear model. Its weights need not be read:
``M(b + h u_j) - M(b)`` along each axis gives them through any scaler before it, and rows in between tell whether the
model is affine at all. Transformers that are not affine (one-hot columns, splines) are found out that way.
"""

from collections.abc import Callable

import numpy as np

from shap_asv.models.calls.outputs import ModelCall, describe
from shap_asv.models.contract import Affine
from shap_asv.models.linear import is_linear
from shap_asv.models.pipelines import split_stages
from shap_asv.models.products import NotSumOfProducts

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
