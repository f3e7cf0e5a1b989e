"""The algebra of Gaussians: a covariance that is checked, and what is left of it after some variables are known.

With ``a`` known and ``b`` free::

    X_b | x_a  ~  N(mean_b + K (x_a - mean_a),  C_bb - K C_ab),      K = C_ba C_aa^+

All of it is done on the scale of correlations, so that units do not matter. ``C_aa^+`` is a pseudo-inverse:
directions of ``C_aa`` whose variance is below ``CUT_OFF`` of the variance of one standardised variable count as
constants. Evidence that moves along such a direction contradicts the covariance; it is reported, and otherwise without
effect on the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shap_asv.errors import TableError

CUT_OFF = 1e-12
#: Correlations whose eigenvalues are all above this are solved as they are.
REGULAR = 1e-4
#: Entries of correlations that are solved at a time.
SOLVED = 2**18
#: Evidence may leave the mean by so much (in standard deviations of a variable) along a constant direction.
SLACK = 1e-5
ASYMMETRY = 1e-8
NEGATIVE = 1e-8


@dataclass(frozen=True, eq=False)
class Conditioned:
    """What knowing the variables ``known`` says of the ``rest``, in standardised units.

    Attributes
    ----------
    known, rest : intp arrays (a,), (b,)
    gain : float (b, a)
        K, the slopes of the mean in what is known.
    factor : float (b, b)
        Lower triangular, ``factor @ factor.T`` is the conditional covariance.
    constant : float (a, c)
        Orthonormal directions of the known variables that cannot vary.
    """

    known: np.ndarray
    rest: np.ndarray
    gain: np.ndarray
    factor: np.ndarray
    constant: np.ndarray


def checked_moments(
    mean: np.ndarray, covariance: np.ndarray, names: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, covariance, scale): float64, symmetric and positive semidefinite, or an error that says what is not.

    ``scale`` (n,) holds standard deviations, 1 for constants. O(n^3).
    """
    try:
        mean, covariance = np.array(mean, dtype=float), np.array(covariance, dtype=float)
    except (TypeError, ValueError) as problem:
        raise TableError(f"a mean and a covariance are arrays of numbers: {problem}") from None
    n = len(names)
    if mean.shape != (n,) or covariance.shape != (n, n):
        raise TableError(
            f"{n} variables need a mean of shape ({n},) and a covariance of shape ({n}, {n}), not {mean.shape} and "
            f"{covariance.shape}"
        )
    for what, array in (("mean", mean), ("covariance", covariance)):
        broken = np.argwhere(~np.isfinite(array))
        if len(broken):
            where = ", ".join(names[k] for k in broken[0])
            raise TableError(f"the {what} of {where} is {array[tuple(broken[0])]}; all entries must be finite numbers")
    variances = np.diag(covariance)
    if (variances < 0).any():
        k = int(np.argmin(variances))
        raise TableError(f"the variance of {names[k]} is {variances[k]:g}; a variance is not negative")
    scale = np.sqrt(variances)
    scale[scale == 0] = 1.0
    correlation = covariance / np.outer(scale, scale)
    gap = np.abs(correlation - correlation.T)
    if gap.max(initial=0) > ASYMMETRY:
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        raise TableError(
            f"the covariance is not symmetric: ({names[i]}, {names[j]}) is {covariance[i, j]:g} and ({names[j]}, "
            f"{names[i]}) is {covariance[j, i]:g}; make them equal"
        )
    least = np.linalg.eigvalsh((correlation + correlation.T) / 2)[0] if n else 0.0
    if least < -NEGATIVE * n:
        raise TableError(
            f"the covariance is not positive semidefinite: its correlation matrix has an eigenvalue of {least:.3g}; "
            "estimate it from complete rows (pairwise estimates need not fit together)"
        )
    return mean, (covariance + covariance.T) / 2, scale


def condition(correlation: np.ndarray, members: np.ndarray) -> Conditioned:
    """Condition standardised variables on those where ``members`` (n,) is true. O(n^3)."""
    known, rest = np.flatnonzero(members), np.flatnonzero(~members)
    inner = correlation[np.ix_(known, known)]
    cross = correlation[np.ix_(rest, known)]
    values, vectors = np.linalg.eigh(inner) if len(known) else (np.empty(0), np.empty((0, 0)))
    varies = values > CUT_OFF
    kept = vectors[:, varies]
    # slopes through the directions that vary: K = C_ba V diag(1 / values) V'
    half = cross @ kept / np.sqrt(values[varies])
    gain = (half / np.sqrt(values[varies])) @ kept.T
    left = correlation[np.ix_(rest, rest)] - half @ half.T
    return Conditioned(known, rest, gain, semidefinite_cholesky(left), vectors[:, ~varies])


def regression_slopes(correlation: np.ndarray, coalitions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Slopes of ``E[Z @ weights | z_S]`` in z for standardised Z: ``w_S + C_SS^+ C_S,rest w_rest``, zero outside S.

    bool (m, n) and (n, k) -> (m, n, k). Coalitions of one size go together, :data:`SOLVED` entries at a time; O(m n^3).
    """
    slopes = np.where(coalitions[:, :, None], weights, 0.0)
    sizes = coalitions.sum(axis=1)
    # the eigenvalues of a part lie between those of the whole: where these all vary, so do the others
    regular = len(correlation) > 0 and np.linalg.eigvalsh(correlation)[0] > REGULAR
    for chosen in _alike(sizes, len(correlation)):
        held = coalitions[chosen]
        known, rest = (np.nonzero(part)[1].reshape(len(chosen), -1) for part in (held, ~held))
        inner = correlation[known[:, :, None], known[:, None, :]]
        told = correlation[known[:, :, None], rest[:, None, :]] @ weights[rest]
        if regular:
            gain = np.linalg.solve(inner, told)
        else:
            values, vectors = np.linalg.eigh(inner)
            inverse = np.where(values > CUT_OFF, 1.0 / np.maximum(values, CUT_OFF), 0.0)
            gain = vectors @ (inverse[:, :, None] * (vectors.transpose(0, 2, 1) @ told))
        slopes[chosen[:, None], known] += gain
    return slopes


def _alike(sizes: np.ndarray, n: int) -> Iterator[np.ndarray]:
    """Numbers of coalitions of one size, neither empty nor whole, as many as fit."""
    at_a_time = max(1, SOLVED // max(1, n) ** 2)
    for size in np.unique(sizes[(sizes > 0) & (sizes < n)]):
        chosen = np.flatnonzero(sizes == size)
        yield from (chosen[start : start + at_a_time] for start in range(0, len(chosen), at_a_time))


def semidefinite_cholesky(matrix: np.ndarray) -> np.ndarray:
    """Lower triangular L with ``L @ L.T = matrix``, where the matrix (b, b) may be singular. O(b^3).

    A pivot below ``CUT_OFF`` belongs to a variable that those before it determine: its column of L is 0.

    Examples
    --------
    >>> semidefinite_cholesky(np.array([[4.0, 2.0], [2.0, 1.0]])).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    n = len(matrix)
    lower = np.zeros((n, n))
    for j in range(n):
        column = matrix[j:, j] - lower[j:, :j] @ lower[j, :j]
        if column[0] > CUT_OFF:
            lower[j:, j] = column / np.sqrt(column[0])
    return lower
