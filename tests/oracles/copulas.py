"""A Gaussian copula from its definition: normal scores of ties, conditional Gaussians, quantiles by quadrature.

Imports nothing of ours.
"""

import numpy as np
from scipy import stats

from tests.oracles.gaussians import conditional

#: Midpoints of equally likely intervals of a standard normal variable.
NODES = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)


def knots_of(column):
    """Values of a column, and the normal score of each: the mean of a normal variable over the share that it owns."""
    values = sorted(set(column.tolist()))
    low = np.array([np.mean(column < value) for value in values])
    high = np.array([np.mean(column <= value) for value in values])
    return values, (stats.norm.pdf(stats.norm.ppf(low)) - stats.norm.pdf(stats.norm.ppf(high))) / (high - low)


def scores_of(table, rows):
    """Normal scores (r, n): linear between the values of the table and held at both ends."""
    return np.column_stack([np.interp(rows[:, k], *knots_of(table[:, k])) for k in range(table.shape[1])])


def correlation_of(table):
    """Of the scores, divided by their variances, which ties squeeze; the table must have no constant column."""
    scores = scores_of(table, table).T
    raw = np.clip(scores @ scores.T / len(table) / np.outer(scores.var(axis=1), scores.var(axis=1)), -1, 1)
    np.fill_diagonal(raw, 1.0)
    return raw


def quantile(column, level):
    """Linear between the values of the table, the k-th smallest of r at (k + 1/2) / r."""
    ordered = np.sort(column)
    return np.interp(level, (np.arange(len(ordered)) + 0.5) / len(ordered), ordered)


def means(table, correlation, row, members):
    """``E[X | x_members]`` (n,)."""
    z = scores_of(table, np.asarray(row, dtype=float)[None])[0]
    return means_of_scores(table, row, members, *conditional(np.zeros(len(z)), correlation, z, list(members)))


def means_of_scores(table, row, members, centre, left):
    """Means (n,) of features whose scores have mean ``centre`` and covariance ``left``; ``members`` are as in the row.

    Each feature by itself, for a mean needs no more.
    """
    found = np.array(row, dtype=float)
    for k in range(len(found)):
        if k not in members:
            levels = stats.norm.cdf(centre[k] + np.sqrt(max(left[k, k], 0.0)) * NODES)
            found[k] = quantile(table[:, k], levels).mean()
    return found
