"""Causal values of linear models under Gaussians, written down from their definition. Imports nothing of ours."""

import numpy as np


def network_means(intercepts, slopes, fixed):
    """``E[X | do(fixed)]``: nodes in a topological order, each a weighted sum of the means of its parents."""
    means = np.zeros(len(intercepts))
    for v in range(len(intercepts)):
        means[v] = fixed[v] if v in fixed else intercepts[v] + sum(slopes[v, p] * means[p] for p in range(v))
    return means


def network_covariance(slopes, deviations, fixed):
    """``Cov[X | do(fixed)]``, node by node: Cov(X_v, X_u) = sum of slopes times Cov(X_p, X_u)."""
    n = len(deviations)
    covariance = np.zeros((n, n))
    for v in range(n):
        if v in fixed:
            continue
        for u in range(v):
            covariance[v, u] = covariance[u, v] = sum(slopes[v, p] * covariance[p, u] for p in range(v))
        covariance[v, v] = deviations[v] ** 2 + sum(slopes[v, p] * covariance[v, p] for p in range(v))
    return covariance


def _by_level(levels, confounded, fixed):
    """Of each level the features that are free, and what they are given: all earlier ones, those set beside them."""
    earlier = []
    for number, level in enumerate(levels):
        beside = [] if number in confounded else [v for v in level if v in fixed]
        yield [v for v in level if v not in fixed], earlier + beside
        earlier = earlier + list(level)


def level_means(mean, covariance, levels, confounded, fixed):
    """``E[X | do(fixed)]`` by levels: the mean of a level is linear in what it is given, so means go in as values."""
    means = np.array(mean, dtype=float)
    means[list(fixed)] = list(fixed.values())
    for free, given in _by_level(levels, confounded, fixed):
        if free and given:
            inverse = np.linalg.inv(covariance[np.ix_(given, given)])
            gap = means[given] - mean[given]
            means[free] = mean[free] + covariance[np.ix_(free, given)] @ inverse @ gap
    return means


def level_covariance(covariance, levels, confounded, fixed):
    """``Cov[X | do(fixed)]`` by levels: what a level is given goes in by its gain, and noise of its own enters."""
    found = np.zeros_like(covariance)
    everyone = range(len(covariance))
    for free, given in _by_level(levels, confounded, fixed):
        gain = np.zeros((len(free), len(given)))
        left = covariance[np.ix_(free, free)]
        if given and free:
            gain = np.linalg.solve(covariance[np.ix_(given, given)], covariance[np.ix_(given, free)]).T
            left = left - gain @ covariance[np.ix_(given, free)]
        found[np.ix_(free, everyone)] = gain @ found[given]
        found[:, free] = found[free].T
        found[np.ix_(free, free)] = gain @ found[np.ix_(given, given)] @ gain.T + left
    return found


def level_draws(rng, mean, covariance, levels, confounded, fixed, n):
    """``n`` rows of ``X | do(fixed)``, level after level, each from its conditional Gaussian."""
    rows = np.zeros((n, len(mean)))
    rows[:, list(fixed)] = list(fixed.values())
    for free, given in _by_level(levels, confounded, fixed):
        if free:
            left = covariance[np.ix_(free, free)]
            centre = np.broadcast_to(mean[free], (n, len(free)))
            if given:
                gain = covariance[np.ix_(free, given)] @ np.linalg.inv(covariance[np.ix_(given, given)])
                centre = mean[free] + (rows[:, given] - mean[given]) @ gain.T
                left = left - gain @ covariance[np.ix_(given, free)]
            rows[:, free] = centre + rng.multivariate_normal(np.zeros(len(free)), left, size=n)
    return rows
