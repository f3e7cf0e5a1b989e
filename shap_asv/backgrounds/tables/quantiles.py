"""Quantiles of a column."""

import numpy as np


def quantile_between(ordered: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Quantiles of sorted values, linear between them (the middle of the k-th of n values is at ``(k + 1/2) / n``)."""
    x = np.clip(uniforms * len(ordered) - 0.5, 0, len(ordered) - 1)
    low = x.astype(np.intp)
    first = ordered[low]
    return first + (x - low) * (ordered[np.minimum(low + 1, len(ordered) - 1)] - first)
