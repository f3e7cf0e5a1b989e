"""The table of model readers: which models can be written as a sum of products, and who does it.

A reader takes a fitted estimator and the columns it eats (tables over states) and returns a
:class:`~shap_asv.models.products.SumOfProducts`, or raises NotSumOfProducts with a sentence that says why not. To add a
model type, write one file with ``applies`` and ``read`` and add one row to :data:`READERS`; the contract test asks
for an example model and checks it.

No reader is believed: what it returns is compared with the model's own output, see :func:`verify`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.models import linear, shap_trees, sklearn_trees
from shap_asv.models.inputs import TableInputs
from shap_asv.models.outputs import ModelCall, describe, shorten
from shap_asv.models.probes import SEED, probe_rows, random_rows
from shap_asv.models.products import NotSumOfProducts, SumOfProducts

Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Reader:
    """One row of the table.

    Attributes
    ----------
    name : str
    kind : str
        ``"tree"`` or ``"linear"``: what the predictor says it is.
    applies : callable (estimator) -> bool
        Cheap, and without importing the library.
    read : callable (estimator, columns, cardinalities, call) -> SumOfProducts
    tolerance : float
        How far the model's own output may be off, relative to its scale: rounding, and float32 sums where a library
        computes in float32.
    """

    name: str
    kind: str
    applies: Callable[[Any], bool]
    read: Callable[[Any, TableInputs, tuple[int, ...], ModelCall], SumOfProducts]
    tolerance: float


READERS: tuple[Reader, ...] = (
    Reader("sklearn trees and forests", "tree", sklearn_trees.is_forest, sklearn_trees.read_forest, 1e-10),
    Reader("sklearn gradient boosting", "tree", sklearn_trees.is_boosted, sklearn_trees.read_boosted, 1e-10),
    Reader("boosted trees by shap's loader", "tree", shap_trees.is_known_to_shap, shap_trees.read_with_shap, 3e-6),
    Reader("linear", "linear", linear.is_linear, linear.read_linear, 1e-9),
)


def read_products(
    estimator: Any, columns: TableInputs, cardinalities: tuple[int, ...], call: ModelCall, predict: Predict
) -> tuple[str, SumOfProducts]:
    """The kind and the sum of products of ``estimator``, verified against ``predict`` (codes (q, n) -> (q, k)).

    Raises NotSumOfProducts, with the reason, when no reader applies or what was read is not what the model computes.
    """
    for reader in READERS:
        if reader.applies(estimator):
            break
    else:
        raise NotSumOfProducts(f"{describe(estimator)} is neither a tree ensemble nor a linear model that can be read")
    if call.arguments and call.quantity != "raw":
        raise NotSumOfProducts(f"{call.name} is called with arguments of its own")
    try:
        products = reader.read(estimator, columns, cardinalities, call)
    except NotSumOfProducts:
        raise
    except Exception as error:  # a new version of a library may store its model otherwise: a reason, not a crash
        raise NotSumOfProducts(
            f"{describe(estimator)} could not be read ({type(error).__name__}: {shorten(error, 120)})"
        ) from error
    return reader.kind, verify(products, cardinalities, predict, reader.tolerance, describe(estimator))


def verify(
    products: SumOfProducts, cardinalities: tuple[int, ...], predict: Predict, tolerance: float, name: str
) -> SumOfProducts:
    """Compare with the model's own output on probe rows; NotSumOfProducts when they differ.

    The rows are random states, one-at-a-time variations (every state of every feature occurs) and rows inside the
    regions that were read (so that small leaves are entered, too). A difference that is the same constant on all
    rows is an initial prediction that the reader could not see: it is read off the model and becomes part of the
    offset.
    """
    rows = np.concatenate([probe_rows(cardinalities), rows_inside(products, cardinalities)])
    expected = predict(rows)
    if expected.shape[1] != products.n_outputs:
        raise NotSumOfProducts(f"{name} was read with {products.n_outputs} outputs, but it returns {expected.shape[1]}")
    found = products.evaluate(rows)
    residual = expected - found
    scale = 1.0 + np.abs(expected).max(axis=0)
    if (np.abs(residual) <= tolerance * scale).all():
        return products
    shift = (residual.max(axis=0) + residual.min(axis=0)) / 2
    if (np.abs(residual - shift) <= tolerance * scale).all():
        return replace(products, offset=products.offset + shift)
    worst = float(np.abs(residual).max())
    raise NotSumOfProducts(
        f"what was read of {name} differs from its own output by up to {worst:.2g} on {len(rows)} probe rows, so it is "
        f"not used"
    )


def rows_inside(products: SumOfProducts, cardinalities: tuple[int, ...], n_rows: int = 256) -> np.ndarray:
    """Random rows at which a random term is not zero: one row each for up to ``n_rows`` terms."""
    rng = np.random.default_rng(SEED + 1)
    terms = rng.permutation(products.n_terms)[:n_rows]
    rows = random_rows(cardinalities, len(terms), rng)
    for v, vectors in enumerate(products.vectors):
        if len(vectors) > 1:
            # the state with the largest random key among those allowed
            keys = rng.random((len(terms), cardinalities[v])) * (vectors[products.terms[terms, v]] != 0)
            rows[:, v] = keys.argmax(axis=1)
    return rows
