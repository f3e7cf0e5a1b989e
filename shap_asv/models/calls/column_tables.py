"""Which column of a transformed input is a function of which feature.

An encoder inside a Pipeline (ordinal, one-hot, scaling, any combination in a ColumnTransformer) turns states into
numbers. When each of its output columns is a function of one feature alone,

    column_j(x) = tables[j][ x_source[j] ]

then a threshold on a column is a set of states of that feature, tree regions stay products of state sets, and a
weight on a column is a vector over states. Nothing needs to be known about the transformer for that: vary one
feature at a time from a base row and see which columns move, then verify the tables on random rows. A transformer
that mixes features (PCA, row normalisation, polynomial features) fails the verification and leaves the model a black
box.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shap_asv.models.calls.inputs import TableInputs
from shap_asv.models.calls.probes import SEED, one_at_a_time, random_rows
from shap_asv.models.products import NotSumOfProducts


def discover_columns(
    transform: Callable[[np.ndarray], Any], cardinalities: Sequence[int], n_random: int = 256
) -> TableInputs:
    """Tables of all columns that ``transform`` (codes (q, n) -> matrix (q, c)) puts out.

    Costs one call on ``sum of cardinalities`` rows and one on ``n_random``. Raises NotSumOfProducts, with a sentence
    for the plan, when a column depends on several features or is not a number.
    """
    rng = np.random.default_rng(SEED)
    base = random_rows(cardinalities, 1, rng)[0]
    rows, starts = one_at_a_time(base, cardinalities)
    outputs, names = dense(transform(rows))
    at_base = outputs[base[0]]  # the first block runs through feature 0, so this row is the base itself
    moved = ~equal(outputs, at_base)
    source = np.full(outputs.shape[1], -1, dtype=np.int64)
    for v in range(len(cardinalities)):
        moves = moved[starts[v] : starts[v + 1]].any(axis=0)
        twice = moves & (source >= 0)
        if twice.any():
            raise mixed(int(np.flatnonzero(twice)[0]), names)
        source[moves] = v
    source[source < 0] = 0  # a constant column is a function of any feature
    tables = tuple(outputs[starts[v] : starts[v + 1], j].copy() for j, v in enumerate(source.tolist()))
    columns = TableInputs(source, tables, names, "columns")
    rows = random_rows(cardinalities, n_random, rng)
    differs = ~equal(dense(transform(rows))[0], columns.matrix(rows), tolerance=1e-12).all(axis=0)
    if differs.any():
        raise mixed(int(np.flatnonzero(differs)[0]), names)
    return columns


def dense(matrix: Any) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """A transformer's output as float64 (q, c), with column names when it is a DataFrame."""
    names = tuple(str(name) for name in matrix.columns) if hasattr(matrix, "columns") else None
    if hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    try:
        values = np.asarray(matrix).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise NotSumOfProducts("the steps before the final estimator do not end in numbers") from error
    if values.ndim != 2:
        raise NotSumOfProducts("the steps before the final estimator do not end in a matrix")
    return values, names


def equal(first: np.ndarray, second: np.ndarray, tolerance: float = 0.0) -> np.ndarray:
    """Elementwise equality up to a relative tolerance; NaN equals NaN."""
    with np.errstate(invalid="ignore"):
        close = np.abs(first - second) <= tolerance * np.maximum(np.abs(first), np.abs(second))
    return close | (first == second) | (np.isnan(first) & np.isnan(second))


def mixed(column: int, names: tuple[str, ...] | None) -> NotSumOfProducts:
    label = column if names is None else repr(names[column])
    return NotSumOfProducts(
        f"column {label} of the input of the final estimator depends on more than one feature (the steps before it mix "
        f"features)"
    )
