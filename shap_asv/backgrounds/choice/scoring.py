"""How good is a background? A score that needs no truth.

For held-out rows x and coalitions S, with the weights that an order gives to them::

    score = mean over x of  sum over S of  weight(S) (M(x) - nu_x(S))^2

``M(x)`` is known, ``nu_x(S)`` comes from the background. Among all functions of x_S, the conditional expectation is
the one with the least mean squared distance from M(x); so the score is smallest, in expectation, for the true
distribution. What no background can explain is part of every score, so two backgrounds are compared row by row: the
standard error of the *difference* of two scores is far smaller than that of either.

All that is asked of a background is ``inputs``, ``n_uniforms``, ``draws`` and what a free entry is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Predict = Callable[[Any], np.ndarray]
#: Rows that share their draws; rows that a model is called with at a time.
ROWS_AT_A_TIME, BATCH = 150, 100_000


def coalition_values(
    background: Any, predict: Predict, rows: np.ndarray, coalitions: np.ndarray, n_draws: int = 256, seed: int = 0
) -> np.ndarray:
    """nu (r, m, k) of rows (r, n) for coalitions bool (m, n), by scrambled Sobol draws.

    Every :data:`ROWS_AT_A_TIME` rows have draws of their own, the same for all coalitions: what chance does to the one
    set does not happen to all rows. ``predict`` maps what ``background.inputs`` gives to (q,) or (q, k). O(r m n_draws)
    model rows.
    """
    from scipy.stats import qmc

    size = 1 << max(1, int(np.ceil(np.log2(n_draws))))
    generator = np.random.default_rng([seed, 5])
    at_rows = _outputs(predict, background.inputs(rows))
    nu = np.repeat(at_rows[:, None, :], len(coalitions), axis=1)
    open_ = np.flatnonzero(~coalitions.all(axis=1))
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        uniforms = qmc.Sobol(background.n_uniforms, seed=generator).random(size)
        uniforms = np.minimum(uniforms, np.nextafter(1.0, 0.0))
        block = rows[start : start + ROWS_AT_A_TIME]
        at_a_time = max(1, BATCH // (size * len(block)))  # calls of a model have a cost of their own
        for first in range(0, len(open_), at_a_time):
            asked = open_[first : first + at_a_time]
            drawn = [background.draws(np.where(coalitions[s], block, background.free), uniforms) for s in asked]
            outputs = _outputs(predict, background.inputs(np.concatenate(drawn).reshape(-1, rows.shape[1])))
            means = outputs.reshape(len(asked), len(block), size, -1).mean(axis=2)
            nu[start : start + len(block), asked] = means.swapaxes(0, 1)
    return nu


def scored_coalitions(
    coalitions: np.ndarray, weights: np.ndarray, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The coalitions to score and their weights: a sample by weight where there are more than ``most``.

    The empty and the full one say nothing about conditioning and are left out; none is left where there are no others.
    """
    inner = (weights > 0) & coalitions.any(axis=1) & ~coalitions.all(axis=1)
    coalitions, weights = coalitions[inner], weights[inner] / weights[inner].sum()
    if len(coalitions) <= most:
        return coalitions, weights
    by_size = np.argsort(coalitions.sum(axis=1), kind="stable")  # so that all sizes get their share
    bounds = np.cumsum(weights[by_size])
    drawn = np.searchsorted(bounds, bounds[-1] * (np.arange(most) + rng.random()) / most, side="right")
    chosen, counts = np.unique(by_size[drawn], return_counts=True)
    return coalitions[chosen], counts / counts.sum()


def held_out_misses(
    background: Any, predict: Predict, rows: np.ndarray, coalitions: np.ndarray, n_draws: int, seed: int
) -> np.ndarray:
    """``M(x) - nu_x(S)``, (r, m, k), of rows (r, n); outputs in units of their deviation if there are several."""
    nu = coalition_values(background, predict, rows, coalitions, n_draws, seed)
    outputs = _outputs(predict, background.inputs(rows))
    return misses_in_units(outputs, nu)


def total_variance(predict: Predict, inputs: Any) -> float:
    """Variance of the outputs, which is the score of a constant: in the units of :func:`misses_in_units`."""
    outputs = _outputs(predict, inputs)
    variances = outputs.var(axis=0)
    return float(variances.sum() if outputs.shape[1] == 1 else (variances > 0).sum())


def misses_in_units(outputs: np.ndarray, nu: np.ndarray) -> np.ndarray:
    """Outputs (r, k) minus nu (r, m, k); in units of the outputs' own deviations if there are several."""
    deviations = outputs.std(axis=0) if outputs.shape[1] > 1 else np.ones(1)
    return (outputs[:, None, :] - nu) / np.where(deviations > 0, deviations, 1.0)


def _outputs(predict: Predict, inputs: Any) -> np.ndarray:
    return np.asarray(predict(inputs), dtype=float).reshape(len(inputs), -1)
