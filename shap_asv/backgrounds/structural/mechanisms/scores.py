"""Proper scores of draws and probabilities: smallest, on average, for the true conditional distribution."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from shap_asv.backgrounds.tables.copies import error_of_mean

Key = TypeVar("Key", bound=Hashable)


def crps(draws: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Continuous ranked probability score of each row: ``E|X - y| - E|X - X'| / 2`` (r,), from draws (r, d).

    For draws at the quantiles ``(k + 1/2) / d`` this is twice the mean of their quantile losses. O(r d log d).

    Examples
    --------
    >>> crps(np.array([[0.0, 1.0]]), np.array([0.0])).tolist()
    [0.25]
    """
    d = draws.shape[1]
    ordered = np.sort(draws, axis=1)
    away = np.abs(ordered - values[:, None]).mean(axis=1)
    return away - ordered @ (2.0 * np.arange(1, d + 1) - d - 1) / d**2


def log_score(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """``-log p(y)`` of each row (r,), from probabilities (r, k)."""
    return -np.log(np.maximum(probabilities[np.arange(len(codes)), codes], 1e-12))


def pit_of_draws(draws: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Place of each value among its draws, in [0, 1]: uniform if the mechanism is right.

    Draw k of d, in order, stands for the quantiles about ``(k + 1/2) / d``; between two draws, and among draws that
    equal the value (counts, rounded numbers), the place is drawn at random, which keeps it uniform.
    """
    d = draws.shape[1]
    below, upto = (draws < values[:, None]).sum(axis=1), (draws <= values[:, None]).sum(axis=1)
    low, high = np.maximum(below - 0.5, 0), np.minimum(upto + 0.5, d)
    return (low + rng.random(len(values)) * (high - low)) / d


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


def clearly_better(errors: np.ndarray, than: np.ndarray, margin: float = 1.0, copies: np.ndarray | None = None) -> bool:
    """Whether the mean of ``errors`` lies below that of ``than`` by ``margin`` standard errors of the difference."""
    gain = than - errors
    return bool(gain.mean() > 0 and gain.mean() > margin * error_of_mean(gain, copies))


def still_in(
    candidates: Sequence[Key], scores: Mapping[Key, np.ndarray], copies: np.ndarray | None = None
) -> list[Key]:
    """The candidates that are not clearly behind the one of the least mean score so far."""
    leader = min(candidates, key=lambda one: scores[one].mean())
    return [
        one
        for one in candidates
        if one == leader or not clearly_better(scores[leader], scores[one], margin=2.0, copies=copies)
    ]


def race(
    candidates: Sequence[Key],
    folds: np.ndarray,
    score: Callable[[Key, np.ndarray], np.ndarray],
    copies: np.ndarray | None = None,
) -> Key:
    """The candidate of the least score; of equals the first. Who is clearly behind drops out fold by fold.

    ``score(candidate, out)``: the scores of the rows ``out`` (bool) under a fit to all others. ``copies``: which row
    each is a copy of (:mod:`~shap_asv.backgrounds.tables.copies`).
    """
    scores = {one: np.empty(len(folds)) for one in candidates}
    alive, done = list(candidates), np.zeros(len(folds), dtype=bool)
    for fold in np.unique(folds):
        out = folds == fold
        for one in alive:
            scores[one][out] = score(one, out)
        done |= out
        so_far = None if copies is None else copies[done]
        alive = still_in(alive, {one: scores[one][done] for one in alive}, so_far)
    chosen = alive[0]
    for one in alive[1:]:
        if clearly_better(scores[one], scores[chosen], copies=copies):
            chosen = one
    return chosen
