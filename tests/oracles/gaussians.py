"""Gaussian conditioning by the precision matrix, Shapley values by the definition. Imports nothing of ours."""

import itertools
from math import factorial

import numpy as np


def random_gaussian(rng, n):
    """A mean and a well-conditioned covariance with uneven scales."""
    root = rng.normal(size=(n, n + 2))
    scales = 10.0 ** rng.uniform(-2, 2, n)
    return rng.normal(size=n) * scales, (root @ root.T) * np.outer(scales, scales)


def conditional(mean, covariance, row, members):
    """Mean and covariance of all variables given those in ``members`` (a list), by the precision matrix."""
    n = len(mean)
    rest = [k for k in range(n) if k not in members]
    # the conditional precision of the rest is a block of the precision of all: another way than the code's
    scales = np.sqrt(np.diag(covariance))
    precision = np.linalg.inv(covariance / np.outer(scales, scales))
    inner = np.linalg.inv(precision[np.ix_(rest, rest)]) if rest else np.zeros((0, 0))
    z = (np.asarray(row) - mean) / scales
    full_mean, full_covariance = np.array(row, dtype=float), np.zeros((n, n))
    full_mean[rest] = mean[rest] - scales[rest] * (inner @ precision[np.ix_(rest, members)] @ z[members])
    full_covariance[np.ix_(rest, rest)] = inner * np.outer(scales[rest], scales[rest])
    return full_mean, full_covariance


def all_subsets(n):
    return [list(part) for size in range(n + 1) for part in itertools.combinations(range(n), size)]


def shapley_values(n, value):
    """Symmetric Shapley values of ``value(list of members)`` by the definition."""
    known = {tuple(part): value(part) for part in all_subsets(n)}
    phi = np.zeros(n)
    for part in all_subsets(n):
        for i in range(n):
            if i not in part:
                weight = factorial(len(part)) * factorial(n - len(part) - 1) / factorial(n)
                phi[i] += weight * (known[tuple(sorted([*part, i]))] - known[tuple(part)])
    return phi
