"""Proper scores of draws and probabilities: smallest, on average, for the true conditional distribution."""

import numpy as np


def crps(draws: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Continuous ranked probability score of each row: ``E|X - y| - E|X - X'| / 2`` (r,), from draws (r, d).

    The second part is the unbiased one over pairs of different draws. O(r d log d).

    Examples
    --------
    >>> crps(np.array([[0.0, 1.0]]), np.array([0.0])).tolist()
    [0.0]
    """
    d = draws.shape[1]
    ordered = np.sort(draws, axis=1)
    away = np.abs(ordered - values[:, None]).mean(axis=1)
    weights = 2.0 * np.arange(1, d + 1) - d - 1
    return away - ordered @ weights / (d * max(d - 1, 1))


def log_score(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """``-log p(y)`` of each row (r,), from probabilities (r, k)."""
    return -np.log(np.maximum(probabilities[np.arange(len(codes)), codes], 1e-12))


def pit_of_draws(draws: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Place of each value in the distribution of its draws, in [0, 1]; uniform if the mechanism is right.

    Ties (counts, rounded numbers) are broken at random, which keeps it uniform.
    """
    below = (draws < values[:, None]).mean(axis=1)
    equal = (draws == values[:, None]).mean(axis=1)
    cell = 1 / (draws.shape[1] + 1)
    return np.clip(below * (1 - cell) + rng.random(len(values)) * (equal * (1 - cell) + cell), 0.0, 1.0)


def pit_of_probabilities(probabilities: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same for categories, in the order of their codes."""
    bounds = np.cumsum(probabilities, axis=1)
    at = np.arange(len(codes))
    return np.clip(bounds[at, codes] - rng.random(len(codes)) * probabilities[at, codes], 0.0, 1.0)


def miscalibration(pit: np.ndarray) -> float:
    """Largest distance between the distribution function of the PIT and the diagonal: 0 is perfect."""
    ordered = np.sort(pit)
    n = len(ordered)
    return float(max(np.max(np.arange(1, n + 1) / n - ordered), np.max(ordered - np.arange(n) / n)))
