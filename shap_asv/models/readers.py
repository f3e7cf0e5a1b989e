"""The table of model readers: which models can be written as a sum of products, and who does it.

A reader takes a fitted estimator and the columns it eats (tables over states) and returns a
:class:`~shap_asv.models.products.SumOfProducts`, or raises NotSumOfProducts with a sentence that says why not. To add a
model type, write one file with ``applies`` and ``read`` (``parse`` for trees, see
:mod:`~shap_asv.models.trees.ensembles`) and add one row to :data:`READERS`; the contract test asks
for an example model and checks it.

No reader is believed: what it returns is compared with the model's own output, see :func:`verify`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from shap_asv.errors import ModelError
from shap_asv.models import linear
from shap_asv.models.calls.inputs import TableInputs
from shap_asv.models.calls.outputs import ModelCall, describe, shorten
from shap_asv.models.calls.probes import SEED, probe_rows, random_rows
from shap_asv.models.products import NotSumOfProducts, SumOfProducts
from shap_asv.models.trees import catboost_trees, hist_trees, lightgbm_trees, sklearn_trees, xgboost_trees
from shap_asv.models.trees.ensembles import FloatEnsemble
from shap_asv.models.trees.regions import state_regions

Predict = Callable[[np.ndarray], np.ndarray]
Parse = Callable[[Any, ModelCall], FloatEnsemble]
Read = TypeVar("Read")
Known = TypeVar("Known", SumOfProducts, FloatEnsemble)


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
        How far the model's own output may be off, relative to the sum of absolute terms: rounding, and float32 sums
        where a library computes in float32.
    probabilities : bool
        Are class probabilities themselves a sum (forests), or only the margin below them?
    parse : callable (estimator, call) -> FloatEnsemble, or None
        The trees as their library stores them, where the model is made of trees.
    """

    name: str
    kind: str
    applies: Callable[[Any], bool]
    read: Callable[[Any, TableInputs, tuple[int, ...], ModelCall], SumOfProducts]
    tolerance: float
    probabilities: bool = False
    parse: Parse | None = None


def _trees(
    name: str, applies: Callable[[Any], bool], parse: Parse, tolerance: float, probabilities: bool = False
) -> Reader:
    """A row for a tree library: one parser, and the sum of products over states that follows from it."""

    def read(estimator: Any, columns: TableInputs, cardinalities: tuple[int, ...], call: ModelCall) -> SumOfProducts:
        return state_regions(parse(estimator, call), columns, cardinalities, describe(estimator))

    return Reader(name, "tree", applies, read, tolerance, probabilities, parse)


READERS: tuple[Reader, ...] = (
    _trees("sklearn forests", sklearn_trees.is_forest, sklearn_trees.parse_forest, 1e-10, probabilities=True),
    _trees("sklearn boosting", sklearn_trees.is_boosted, sklearn_trees.parse_boosted, 1e-10),
    _trees("sklearn isolation forest", sklearn_trees.is_isolation, sklearn_trees.parse_isolation, 1e-10),
    _trees("sklearn histogram boosting", hist_trees.is_histogram, hist_trees.parse_histogram, 1e-10),
    _trees("XGBoost", xgboost_trees.is_xgboost, xgboost_trees.parse_xgboost, 3e-6),
    Reader("XGBoost gblinear", "linear", xgboost_trees.is_linear_booster, linear.read_linear, 3e-6),
    _trees("LightGBM", lightgbm_trees.is_lightgbm, lightgbm_trees.parse_lightgbm, 1e-10),
    _trees("CatBoost", catboost_trees.is_catboost, catboost_trees.parse_catboost, 1e-10),
    Reader("linear", "linear", linear.is_linear, linear.read_linear, 1e-9),
)


def read_products(
    estimator: Any, columns: TableInputs, cardinalities: tuple[int, ...], call: ModelCall, predict: Predict
) -> tuple[str, SumOfProducts]:
    """The kind and the sum of products of ``estimator``, verified against ``predict`` (codes (q, n) -> (q, k)).

    The readers that apply are asked in the order of the table until one of them passes the verification. Raises
    NotSumOfProducts, with the reason of the first, when none does.
    """
    name = describe(estimator)

    def read(reader: Reader) -> tuple[str, SumOfProducts]:
        products = reader.read(estimator, columns, cardinalities, call)
        return reader.kind, verify(products, cardinalities, predict, reader.tolerance, name)

    return first_that_reads(READERS, estimator, call, read, "neither a tree ensemble nor a linear model")


def first_that_reads(
    readers: Iterable[Reader], estimator: Any, call: ModelCall, read: Callable[[Reader], Read], what: str
) -> Read:
    """What ``read`` makes of the first of the readers that apply to ``estimator`` and can read it.

    NotSumOfProducts, with the reason of the first, when none can; it is not ``what`` they read when none applies.
    """
    name = describe(estimator)
    reasons = []
    for reader in readers:
        if not reader.applies(estimator):
            continue
        if call.quantity == "probability" and not reader.probabilities:
            reasons.append(
                f"the probabilities of {name} are not a sum over {'trees' if reader.kind == 'tree' else 'features'}; "
                f"the margin (model_output='raw', log-odds for two classes) is one"
            )
            break
        try:
            return read(reader)
        except NotSumOfProducts as why:
            reasons.append(str(why))
        except ModelError:
            raise
        except Exception as error:  # another version of a library may store its model otherwise: a reason, not a crash
            reasons.append(f"{name} could not be read ({type(error).__name__}: {shorten(error, 120)})")
    raise NotSumOfProducts(reasons[0] if reasons else f"{name} is {what} that can be read")


def verify(
    products: SumOfProducts, cardinalities: tuple[int, ...], predict: Predict, tolerance: float, name: str
) -> SumOfProducts:
    """Compare with the model's own output on probe rows; NotSumOfProducts when they differ.

    The rows are random states, one-at-a-time variations (every state of every feature occurs) and rows inside the
    regions that were read (so that small leaves are entered, too).
    """
    rows = np.concatenate([probe_rows(cardinalities), rows_inside(products, cardinalities)])
    absolute = SumOfProducts(
        tuple(np.abs(vectors) for vectors in products.vectors),
        products.terms,
        np.abs(products.coefficients),
        np.abs(products.offset),
    )
    return believe(products, products.evaluate, absolute.evaluate, rows, predict(rows), tolerance, name)


def believe(
    read: Known,
    evaluate: Predict,
    absolute: Predict,
    rows: np.ndarray,
    expected: np.ndarray,
    tolerance: float,
    name: str,
) -> Known:
    """``read`` where ``evaluate(rows)`` is the ``expected`` output of the model (q, k), else NotSumOfProducts.

    Rounding errors are relative to the sums of absolute terms, ``absolute(rows)``. A difference that is the same
    constant on all rows is an initial prediction that the reader could not see: it becomes part of the offset.
    """
    if expected.shape[1] != read.n_outputs:
        raise NotSumOfProducts(f"{name} was read with {read.n_outputs} outputs, but it returns {expected.shape[1]}")
    residual = expected - evaluate(rows)
    scale = np.maximum(np.abs(expected).max(axis=0), absolute(rows).max(axis=0))
    if (np.abs(residual) <= tolerance * scale).all():
        return read
    shift = (residual.max(axis=0) + residual.min(axis=0)) / 2
    if (np.abs(residual - shift) <= tolerance * scale).all():
        return replace(read, offset=read.offset + shift)
    worst = float(np.abs(residual).max())
    raise NotSumOfProducts(
        f"what was read of {name} differs from its own output by up to {worst:.2g} on {len(rows)} probe rows, so it is "
        f"not used (model_output='raw' explains what a model with a link adds up)"
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
