"""Raw attributions -> ``shap.Explanation``, in the one shape that all of shap's plots take.

shap's plots are particular: base values must be an array with one entry per row, feature names a list of strings,
data an array of numbers (labels go to ``display_data``), a single output has no output axis. All of that is settled
here.
"""

from collections.abc import Iterable, Sequence
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


def from_base(explanation: Any, base: Any, first: np.ndarray, exact: bool) -> Any:
    """Values (r, n) or (r, n, k) as they are where ``nu({})`` is ``base``: ``phi_i + P(i first) (nu({}) - base)``.

    Only the first feature of an order looks at ``nu({})``; ``first`` (n,) are the probabilities of being it, 1 / n
    where all orders count. Values that add up to the right total are nearer to the right ones. What was moved counts as
    standard error, unless the values and the base are ``exact``. Bases that differ by rounding alone change nothing.
    """
    base = np.broadcast_to(np.asarray(base, dtype=float), np.shape(explanation.base_values))
    known = np.asarray(explanation.base_values, dtype=float)
    if np.allclose(known, base, rtol=1e-9, atol=1e-12):
        return explanation
    values, error, main = explanation.values, explanation.error_std, explanation.main_effects
    gap = np.expand_dims(known - base, 1)  # the same for all features
    share = gap * np.reshape(first, (-1, *[1] * (np.ndim(values) - 2)))
    if error is None and not exact:
        error = np.zeros(np.shape(values))
    return _changed(
        explanation,
        values=values + share,
        base_values=np.array(base),
        error_std=None if error is None else np.hypot(error, share),
        main_effects=None if main is None else main + gap,
    )


def with_error(explanation: Any, error: np.ndarray) -> Any:
    """The explanation with one more source of error, in the shape of the values."""
    known = 0.0 if explanation.error_std is None else explanation.error_std
    return _changed(explanation, error_std=np.hypot(known, error))


def _changed(explanation: Any, **changes: Any) -> Any:
    import shap

    kept = ("values", "base_values", "data", "display_data", "feature_names", "output_names", "error_std",
            "main_effects", "compute_time")  # fmt: skip
    return shap.Explanation(**{**{name: getattr(explanation, name) for name in kept}, **changes})


def checked_row(row: Any, n_rows: int) -> int:
    """The row of an explanation as a position from 0; negative ones count from the end."""
    if isinstance(row, bool) or not isinstance(row, int | np.integer) or not -n_rows <= row < n_rows:
        raise ExplanationError(f"there is no row {row!r}; {n_rows} were explained, the rows are 0 to {n_rows - 1}")
    return int(row) % n_rows


def checked_output(which: Any, names: Sequence[Any] | None, count: int) -> int:
    """The output, by position or by name, as a position from 0; negative ones count from the end."""
    known = list(range(count)) if names is None else list(names)
    place = known.index(which) if isinstance(which, str) and which in known else which
    if isinstance(place, bool) or not isinstance(place, int | np.integer) or not -count <= place < count:
        raise UnknownMethodError(f"there is no output {which!r:.80}; the {count} outputs are {known}")
    return int(place) % count


# --- which outputs are explained: ``outputs=`` of a call -----------------------------------------------------------


def select_outputs(
    arrays: Sequence[np.ndarray | None], names: Sequence[str] | None, outputs: Any
) -> tuple[list[Any], list[str] | None, bool]:
    """Take the chosen outputs from the last axis of each array.

    ``outputs`` may be None (all), a position, a name, a list of either, a slice or a boolean mask. Returns the arrays,
    the names that are left, and whether the output axis should be dropped.
    """
    k = next(array.shape[-1] for array in arrays if array is not None)
    known = None if names is None else [str(name) for name in names]
    if outputs is None:
        return list(arrays), known, k == 1 and known is None
    chosen = _positions(outputs, known, k)
    if chosen == []:
        raise UnknownMethodError(
            f"outputs={outputs!r:.80} picks no output; the model has {k}: {known or list(range(k))}"
        )
    if isinstance(chosen, int):
        return [None if a is None else a[..., [chosen]] for a in arrays], None, True
    left = None if known is None else [known[i] for i in chosen]
    return [None if a is None else a[..., chosen] for a in arrays], left, len(chosen) == k == 1 and left is None


def _positions(outputs: Any, names: list[str] | None, k: int) -> int | list[int]:
    if isinstance(outputs, slice):
        return list(range(k))[outputs]
    if isinstance(outputs, (str, int, np.integer)) and not isinstance(outputs, bool):
        return checked_output(outputs, names, k)
    if not isinstance(outputs, Iterable) or (isinstance(outputs, np.ndarray) and not outputs.ndim):
        raise UnknownMethodError(
            f"outputs={outputs!r:.80} is not an output of the model; pass positions or names out of {names or range(k)}"
        )
    items = list(outputs)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items) and len(items) == k:
        return [i for i, item in enumerate(items) if item]
    return [checked_output(item, names, k) for item in items]
