"""Compiled inner loop of :mod:`shap_asv.orders.sampling`. Importing this module imports numba."""

import numpy as np

from shap_asv.kernels import kernel


@kernel
def redraw_times(
    bounds: np.ndarray,
    uniforms: np.ndarray,
    cause_starts: np.ndarray,
    causes: np.ndarray,
    effect_starts: np.ndarray,
    effects: np.ndarray,
) -> None:
    """Draw the time of each feature in turn, between its causes and its effects, once per row of ``uniforms``.

    ``bounds`` (n, 2) holds two sets of times; both are drawn with the same ``uniforms`` (sweeps, n). Causes of feature
    v are ``causes[cause_starts[v]:cause_starts[v + 1]]``, and effects likewise.
    """
    for sweep in range(uniforms.shape[0]):
        for v in range(bounds.shape[0]):
            u = uniforms[sweep, v]
            low_after, high_after, low_before, high_before = 0.0, 0.0, 1.0, 1.0
            for j in range(cause_starts[v], cause_starts[v + 1]):
                low_after = max(low_after, bounds[causes[j], 0])
                high_after = max(high_after, bounds[causes[j], 1])
            for j in range(effect_starts[v], effect_starts[v + 1]):
                low_before = min(low_before, bounds[effects[j], 0])
                high_before = min(high_before, bounds[effects[j], 1])
            # rounding may leave the interval of causes and effects, and must not
            bounds[v, 0] = max(low_after, min(low_before, (1.0 - u) * low_after + u * low_before))
            bounds[v, 1] = max(high_after, min(high_before, (1.0 - u) * high_after + u * high_before))
