"""Evidence of float rows: checked, and grouped by the coalition that it holds; rows given none."""

from collections.abc import Iterator

import numpy as np

from shap_asv.backgrounds.contract import Background, DrawsGivenEvidence, Probed
from shap_asv.errors import ArgumentError, RowsError


def checked_evidence(evidence: np.ndarray, n_features: int) -> np.ndarray:
    """Evidence as float64 (E, n), NaN where free."""
    try:
        evidence = np.asarray(evidence, dtype=float)
    except (TypeError, ValueError):
        raise RowsError(f"evidence is an array of numbers, not {evidence!r:.80}") from None
    if evidence.ndim != 2 or evidence.shape[1] != n_features:
        raise RowsError(f"evidence of shape {evidence.shape} does not fit {n_features} features")
    return evidence


def checked_uniforms(uniforms: np.ndarray, n_uniforms: int) -> np.ndarray:
    """Uniform numbers as float64 (D, n_uniforms) in [0, 1)."""
    uniforms = np.asarray(uniforms, dtype=float)
    if uniforms.ndim != 2 or uniforms.shape[1] != n_uniforms:
        raise ArgumentError(f"uniforms of shape {uniforms.shape} are given; (draws, {n_uniforms}) is needed")
    if uniforms.size and not ((uniforms >= 0) & (uniforms < 1)).all():
        raise ArgumentError("uniform numbers lie in [0, 1)")
    return uniforms


def patterns(evidence: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(members bool (n,), rows intp) for every distinct coalition of the evidence.

    Examples
    --------
    >>> nan = np.nan
    >>> [(m.tolist(), r.tolist()) for m, r in patterns(np.array([[nan, 1.0], [2.0, 3.0], [nan, 4.0]]))]
    [([False, True], [0, 2]), ([True, True], [1])]
    """
    held = ~np.isnan(evidence)
    if not len(held):
        return
    distinct, inverse = np.unique(held, axis=0, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    bounds = np.cumsum(np.bincount(inverse.ravel(), minlength=len(distinct)))[:-1]
    yield from zip(distinct, np.split(order, bounds), strict=True)


def rowwise_product(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """``rows @ matrix`` (r, m) x (m, k) with the same bits whatever rows come along: a library's product has other sums
    for other shapes, and results must not depend on how rows are cut into blocks.

    Examples
    --------
    >>> rowwise_product(np.array([[1.0, 2.0]]), np.array([[1.0], [10.0]])).tolist()
    [[21.0]]
    """
    result = np.zeros((len(rows), matrix.shape[1]))
    for column, weights in zip(rows.T, matrix, strict=True):
        result += column[:, None] * weights
    return result


def some_rows(background: Background) -> np.ndarray | None:
    """A few rows to try a model on: the background's own, else drawn; None where only the user has some."""
    if isinstance(background, Probed):
        return background.probe()
    if not isinstance(background, DrawsGivenEvidence):
        return None
    nothing = np.full((1, len(background.features)), background.free)
    # a lattice, so that no two of the rows share a number
    places = np.add.outer(np.arange(5), np.arange(background.n_uniforms)) * 0.618
    return background.draws(nothing, places % 1.0)[0]
