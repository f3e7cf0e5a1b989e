"""Rows of state codes on which a model is tried before it is trusted.

A model is asked a few questions at construction, so that a mismatch is an error there and not a wrong number later.
Two sets of rows do: *cover* rows are few and hold every state of every feature at least once (does the model take this
input at all?), *probe* rows are many and random (is what was read from the model really what the model computes?).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shap_asv.errors import ModelError

#: seed of all probe rows: the same model is always tried on the same rows
SEED = 20240229


def cover_rows(cardinalities: Sequence[int]) -> np.ndarray:
    """Few rows in which every state of every feature occurs: row ``r`` holds state ``r mod card(v)``.

    There are at least two rows, and never as many rows as features: a callable that walks over the columns of a
    DataFrame where it should walk over its rows then returns a wrong number of values and is caught.

    >>> cover_rows([2, 3, 2, 2])
    array([[0, 0, 0, 0],
           [1, 1, 1, 1],
           [0, 2, 0, 0]])
    """
    cards = np.asarray(cardinalities)
    n_rows = max(2, int(cards.max(initial=2)))
    if n_rows == len(cards):
        n_rows += 1
    return np.arange(n_rows)[:, None] % cards


def random_rows(cardinalities: Sequence[int], n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """``n_rows`` rows of independent uniform states -> int64 (n_rows, n)."""
    return rng.integers(np.asarray(cardinalities), size=(n_rows, len(cardinalities)))


def one_at_a_time(base: np.ndarray, cardinalities: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that differ from ``base`` in one feature: every state of every feature once, features in turn.

    Returns
    -------
    rows : int64 (sum of cardinalities, n)
    starts : int64 (n + 1,)
        ``rows[starts[v]:starts[v + 1]]`` run through the states of feature ``v``.
    """
    cards = np.asarray(cardinalities)
    starts = np.concatenate([[0], np.cumsum(cards)])
    rows = np.repeat(np.asarray(base)[None, :], starts[-1], axis=0)
    feature = np.repeat(np.arange(len(cards)), cards)
    rows[np.arange(starts[-1]), feature] = np.arange(starts[-1]) - starts[feature]
    return rows, starts


def probe_rows(cardinalities: Sequence[int], n_random: int = 256) -> np.ndarray:
    """Random rows followed by one-at-a-time variations of the first of them -> int64 (r, n)."""
    rng = np.random.default_rng(SEED)
    rows = random_rows(cardinalities, n_random, rng)
    varied, _ = one_at_a_time(rows[0], cardinalities)
    return np.concatenate([rows, varied])


def vary(rows: np.ndarray, n_rows: int) -> np.ndarray:
    """``n_rows`` rows as a model meets them: every other feature is known, and the rest is taken from any of ``rows``.

    A model that is asked about a few rows over and over is faster than on rows that differ.

    >>> vary(np.array([[0, 10, 20, 30], [1, 11, 21, 31]]), 4).tolist()
    [[0, 10, 20, 31], [0, 11, 20, 30], [0, 11, 20, 31], [0, 11, 20, 31]]
    """
    chosen = np.random.default_rng(SEED).integers(len(rows), size=(n_rows, rows.shape[1]))
    chosen[:, ::2] = 0
    return np.take_along_axis(rows, chosen, axis=0)


def ask_varied(predict: Callable[[np.ndarray], Any], rows: np.ndarray, n_rows: int) -> None:
    """Ask about rows that differ; about ``rows``, which a model is known to take, where it does not take others."""
    try:
        predict(vary(rows, n_rows))
    except ModelError:
        predict(rows[np.arange(n_rows) % len(rows)])
