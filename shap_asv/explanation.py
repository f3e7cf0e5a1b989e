"""Raw attributions -> ``shap.Explanation``, in the one shape that all of shap's plots take.

shap's plots are particular: base values must be an array with one entry per row, feature names a list of strings,
data an array of numbers (labels go to ``display_data``), a single output has no output axis. All of that is settled
here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shap_asv.errors import ExplanationError, UnknownMethodError


def build_explanation(
    phi: np.ndarray,
    base: np.ndarray,
    data: np.ndarray,
    display_data: np.ndarray | None,
    feature_names: Sequence[Any],
    output_names: Sequence[Any] | None,
    error: np.ndarray | None,
    main_effects: np.ndarray | None,
    single: bool,
    compute_time: float,
) -> Any:
    """Attributions (r, n, k) and base values (k,) or (r, k) -> ``shap.Explanation``.

    With ``single`` the one output loses its axis: values (r, n), base values (r,), no output names.
    """
    import shap

    r, _, k = phi.shape

    def squeeze(array: np.ndarray | None) -> np.ndarray | None:
        return array[..., 0] if single and array is not None else array

    return shap.Explanation(
        values=np.ascontiguousarray(squeeze(phi)),
        base_values=np.ascontiguousarray(squeeze(np.broadcast_to(base, (r, k)))),
        data=np.asarray(data),
        display_data=display_data,
        feature_names=[str(name) for name in feature_names],
        output_names=None if single or output_names is None else [str(name) for name in output_names],
        error_std=squeeze(error),
        main_effects=squeeze(main_effects),
        compute_time=float(compute_time),
    )


def from_base(explanation: Any, other: Any) -> Any:
    """Symmetric values (r, n) or (r, n, k) as they are where ``nu({})`` is another's: ``phi_i + (nu({}) - base) / n``.

    Each of n features comes first in one order of n, and only a first feature looks at ``nu({})``. Where ``base`` is
    right this is a projection onto what the right values add up to, so that it takes them no further from those. What
    was moved counts as standard error, unless both explanations are exact. Bases that differ by rounding alone change
    nothing.
    """
    import shap

    base = np.asarray(other.base_values, dtype=float)
    known = np.asarray(explanation.base_values, dtype=float)
    if np.allclose(known, base, rtol=1e-9, atol=1e-12):
        return explanation
    values, error, main = explanation.values, explanation.error_std, explanation.main_effects
    gap = np.expand_dims(known - base, 1)  # the same for all features
    share = gap / np.shape(values)[1]
    if error is None and other.error_std is not None:
        error = np.zeros(np.shape(values))
    return shap.Explanation(
        values=values + share,
        base_values=np.array(base),
        data=explanation.data,
        display_data=explanation.display_data,
        feature_names=explanation.feature_names,
        output_names=explanation.output_names,
        error_std=None if error is None else np.hypot(error, share),
        main_effects=None if main is None else main + gap,
        compute_time=explanation.compute_time,
    )


def checked_row(row: Any, n_rows: int) -> int:
    """The row of an explanation as a position from 0; negative ones count from the end."""
    if isinstance(row, bool) or not isinstance(row, int | np.integer) or not -n_rows <= row < n_rows:
        raise ExplanationError(f"there is no row {row!r}; {n_rows} were explained, the rows are 0 to {n_rows - 1}")
    return int(row) % n_rows


def checked_output(which: Any, names: Sequence[Any] | None, count: int) -> int:
    """The output of an explanation, by position or by name, as a position."""
    known = list(range(count)) if names is None else list(names)
    place = known.index(which) if isinstance(which, str) and which in known else which
    if isinstance(place, bool) or not isinstance(place, int | np.integer) or not -count <= place < count:
        raise UnknownMethodError(f"there is no output {which!r}; the outputs are {known}")
    return int(place)
