"""The table of model libraries: how their models are read, called, and what they remember of their columns.

A reader takes a fitted estimator and the columns it eats (tables over states) and returns a
:class:`~shap_asv.models.products.SumOfProducts`, or raises NotSumOfProducts with a sentence that says why not. To add a
model type, write one file with ``applies`` and ``parse`` (for trees, see
:mod:`~shap_asv.models.trees.ensembles`) or ``read``, and add one row to :data:`READERS`; the contract test asks
for an example model and checks it.

No reader is believed: what it returns is compared with the model's own output, see :func:`verify`.

``model_output`` means the same as in ``shap.TreeExplainer``:

- ``"auto"``: ``predict_proba`` for classifiers, else ``predict``;
- ``"probability"`` and ``"predict_proba"``: ``predict_proba`` (of boosted trees over rows and without a background,
  ``"probability"`` of two classes is that of the second, as in shap), or the predicted values of a Booster;
- ``"predict"``, ``"decision_function"``: these methods;
- ``"log_loss"``: the loss of the target of each row, see :class:`~shap_asv.models.calls.ClassLoss`;
- ``"raw"``: what the model adds up before any link: the margin (log-odds) of boosted classifiers and of logistic
  regression, ``decision_function`` of other classifiers, the averaged class probabilities of decision trees and
  forests, the logarithm of the prediction of Poisson and Gamma regression, the prediction of all other regressors.

A callable (or a bound method) is called as it is.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from shap_asv.errors import ModelError, UnknownMethodError
from shap_asv.frames import as_features
from shap_asv.models import linear
from shap_asv.models.calls import (
    ClassLoss,
    ModelCall,
    SquaredError,
    check_fitted,
    describe,
    is_a,
    is_pipeline,
    last_step,
    second_class,
    shorten,
    split_stages,
)
from shap_asv.models.inputs import N_PROBED, SEED, TableInputs, probe_rows, random_rows
from shap_asv.models.products import NotSumOfProducts, SumOfProducts
from shap_asv.models.trees import catboost_trees, lightgbm_trees, sklearn_trees, xgboost_trees
from shap_asv.models.trees.ensembles import FloatEnsemble, state_regions

MODEL_OUTPUTS = ("auto", "raw", "probability", "predict_proba", "predict", "decision_function", "log_loss")

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
    applies : callable (estimator) -> bool
        Cheap, and without importing the library.
    parse : callable (estimator, call) -> FloatEnsemble, or None
        The trees as their library stores them, where the model is made of trees.
    raw : callable (model, final) -> ModelCall, or None
        What a model whose last step is ``final`` adds up, before any link; by default its decision function, else what
        it predicts.
    read : callable (predict, cardinalities) -> SumOfProducts, or None
        For a model that is not made of trees: a linear one, of which its answers tell enough.
    tolerance : float
        How far the model's own output may be off, relative to the sum of absolute terms: rounding, and float32 sums
        where a library computes in float32.
    probabilities : bool
        Are class probabilities themselves a sum (forests), or only the margin below them?
    names, width : callable (estimator) -> names of its columns, and their number, or None
        Where scikit-learn's own attributes do not say it.
    categories : callable (estimator) -> bool
        May it have been trained on pandas categories that it remembers?
    absent : float
        What an entry is to the model that a sparse matrix does not hold.
    float32 : bool
        Does it turn its input into float32 before it looks at it?
    refuses : bool
        Does it refuse categories that it never saw? Others take them for missing.
    quick : bool
        Does the library go down its trees faster than :mod:`~shap_asv.models.trees.compiled`?
    """

    name: str
    applies: Callable[[Any], bool]
    parse: Parse | None = None
    raw: Callable[[Any, Any], ModelCall] | None = None
    read: Callable[[Predict, tuple[int, ...]], SumOfProducts] | None = None
    tolerance: float = 1e-10
    probabilities: bool = False
    names: Callable[[Any], Any] | None = None
    width: Callable[[Any], int | None] | None = None
    categories: Callable[[Any], bool] = lambda estimator: False
    absent: float = 0.0
    float32: bool = False
    refuses: bool = False
    quick: bool = False

    @property
    def kind(self) -> str:
        return "linear" if self.parse is None else "tree"


READERS: tuple[Reader, ...] = (
    Reader(
        "sklearn forests",
        sklearn_trees.is_forest,
        sklearn_trees.parse_forest,
        sklearn_trees.raw_forest,
        probabilities=True,
        float32=True,
    ),
    Reader("sklearn boosting", sklearn_trees.is_boosted, sklearn_trees.parse_boosted, float32=True),
    Reader(
        "sklearn isolation forest",
        sklearn_trees.is_isolation,
        sklearn_trees.parse_isolation,
        sklearn_trees.raw_isolation,
        float32=True,
    ),
    Reader(
        "sklearn histogram boosting",
        sklearn_trees.is_histogram,
        sklearn_trees.parse_histogram,
        sklearn_trees.raw_histogram,
        categories=lambda estimator: True,
    ),
    Reader(
        "XGBoost",
        xgboost_trees.is_xgboost,
        xgboost_trees.parse_xgboost,
        xgboost_trees.raw_xgboost,
        tolerance=3e-6,
        names=lambda estimator: xgboost_trees.booster_of(estimator).feature_names,
        width=lambda estimator: xgboost_trees.booster_of(estimator).num_features(),
        categories=xgboost_trees.keeps_categories,
        absent=np.nan,
        refuses=True,
    ),
    Reader(
        "LightGBM",
        lightgbm_trees.is_lightgbm,
        lightgbm_trees.parse_lightgbm,
        lightgbm_trees.raw_lightgbm,
        names=lambda estimator: lightgbm_trees.booster_of(estimator).feature_name(),
        width=lambda estimator: lightgbm_trees.booster_of(estimator).num_feature(),
        categories=lambda estimator: True,
    ),
    Reader(
        "CatBoost",
        catboost_trees.is_catboost,
        catboost_trees.parse_catboost,
        catboost_trees.raw_catboost,
        names=lambda estimator: estimator.feature_names_,
        # n_features_in_ stays what it was when a model is fitted again
        width=lambda estimator: len(estimator.feature_names_),
        quick=True,
    ),
    Reader("linear", linear.is_linear, read=linear.read_linear, tolerance=1e-9),
)


def reader_of(model: Any) -> Reader | None:
    """The first row that applies to a model itself, without its steps."""
    return next((reader for reader in READERS if reader.applies(model)), None)


# --- which function of a model is explained -------------------------------------------------------------------------


def choose_call(model: Any, model_output: str = "auto") -> ModelCall:
    """The function of ``model`` that ``model_output`` asks for; see the module docstring."""
    if model_output not in MODEL_OUTPUTS:
        raise UnknownMethodError(
            f"model_output={model_output!r} is unknown; use one of {', '.join(MODEL_OUTPUTS)} (the margin is 'raw')"
        )
    estimator = isinstance(model, type) is False and (hasattr(model, "predict") or hasattr(model, "predict_proba"))
    if not estimator:
        if not callable(model) or isinstance(model, type):
            got = f"the class {model.__name__}, not an instance" if isinstance(model, type) else repr(model)[:80]
            raise ModelError(f"a model must be callable or have predict / predict_proba; got {got}")
        if model_output != "auto":
            raise ModelError(
                f"model_output={model_output!r} needs an estimator; {describe(model)} is a callable and is called as "
                f"it is: leave model_output='auto', or pass the estimator itself"
            )
        return call_of_callable(model)
    while hasattr(model, "best_estimator_"):  # a parameter search answers with its winner
        model = model.best_estimator_
    if is_a(model, "pyod", "IForest"):
        model = model.detector_
    check_fitted(model)
    # what an isolation forest predicts are labels, -1 and 1
    if model_output == "raw" or (model_output == "auto" and sklearn_trees.is_isolation(last_step(model))):
        return raw_call(model)
    if model_output == "log_loss":
        return loss_call(model)
    booster = is_a(model, "xgboost", "Booster")
    if model_output in ("predict", "decision_function") and hasattr(model, model_output) and not booster:
        return call_of_callable(getattr(model, model_output))
    if hasattr(model, "predict_proba"):
        return ModelCall(model, "predict_proba", quantity="probability")
    if model_output in ("probability", "predict") and (booster or is_a(model, "lightgbm", "Booster")):
        return xgboost_trees.booster_call(model) if booster else ModelCall(model, "predict")
    if model_output != "auto":
        wanted = "predict_proba" if model_output == "probability" else model_output
        raise ModelError(f"{describe(model)} has no {wanted}; use model_output='auto' or 'raw'")
    if is_classifier(model):
        raise ModelError(
            f"{describe(last_step(model))} is a classifier without predict_proba; use model_output='raw' for its "
            f"decision_function, or pass a callable such as model.predict"
        )
    return xgboost_trees.booster_call(model) if booster else ModelCall(model, "predict")


def explained_call(model: Any, model_output: str) -> ModelCall:
    """The function of the model that TreeExplainer explains; a bound method is taken at its word."""
    estimator = hasattr(model, "predict") or hasattr(model, "predict_proba")
    call = choose_call(model, "raw" if model_output == "auto" and estimator else model_output)
    reader = reader_of(last_step(model))
    two = call.method == "predict_proba" and len(getattr(model, "classes_", ())) == 2
    if model_output == "probability" and two and not (reader is not None and reader.probabilities):
        return replace(call, then=second_class)
    return call


def is_classifier(model: Any) -> bool:
    """Does it have probabilities, or at least classes? (what a plain ``CatBoost`` predicts is its raw value)"""
    named = not catboost_trees.is_catboost(model) and np.size(getattr(model, "classes_", ())) > 0
    return hasattr(model, "predict_proba") or named


def call_of_callable(function: Callable) -> ModelCall:
    """A bound method of an estimator remembers its owner (so that the owner can be read); all else is opaque."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", None)
    quantities = {"predict_proba": "probability", "predict": "prediction", "decision_function": "raw"}
    if owner is not None and not isinstance(owner, type) and name in quantities:
        check_fitted(owner)
        while hasattr(owner, "best_estimator_"):
            owner = owner.best_estimator_
        return ModelCall(owner, name, quantity=quantities[name])
    return ModelCall(function, None)


def raw_call(model: Any) -> ModelCall:
    """What the model adds up, before any link: as its row of the table says, else its decision function."""
    final = last_step(model)
    reader = reader_of(final)
    if reader is not None and reader.raw is not None:
        return reader.raw(model, final)
    if hasattr(model, "decision_function"):
        return ModelCall(model, "decision_function", quantity="raw")
    if is_classifier(model):
        raise ModelError(f"{describe(final)} has no raw output (no decision_function); use model_output='probability'")
    log = is_a(final, "sklearn", "PoissonRegressor") or is_a(final, "sklearn", "GammaRegressor")
    return ModelCall(model, "predict", then=np.log if log else None, quantity="raw")


def loss_call(model: Any) -> ModelCall:
    """What the loss of a target is made of: probabilities of classifiers, predictions of regressors."""
    final = last_step(model)
    if is_a(final, "xgboost", "Booster") or is_a(final, "lightgbm", "Booster"):
        raise ModelError(f"a {describe(final)} does not tell its classes; explain the loss of its estimator")
    if not is_classifier(final):
        return replace(choose_call(model), then=SquaredError(), quantity="loss")
    classes = tuple(np.asarray(final.classes_).tolist())
    return ModelCall(model, "predict_proba", then=ClassLoss(classes), quantity="loss")


# --- what a model remembers of its columns --------------------------------------------------------------------------


def known_columns(model: Any) -> tuple[str, ...] | None:
    """Names of the columns a model or transformer was fitted on, in its own order; None when it never saw names.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LinearRegression
    >>> known_columns(LinearRegression().fit(pd.DataFrame({"b": [0, 1], "a": [1, 0]}), [0, 1]))
    ('b', 'a')
    """
    if hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    names = _attribute(model, "feature_names_in_")
    if names is None and is_pipeline(model):
        stages = split_stages(model)
        names = _attribute(stages.transformers[0] if stages.transformers else stages.final, "feature_names_in_")
    reader = reader_of(model)
    if names is None and reader is not None and reader.names is not None:
        names = _asked(reader.names, model)
    if names is None or len(names) == 0 or not all(isinstance(name, str) for name in names):
        return None
    # LightGBM, CatBoost and XGBoost invent names for the columns of an array
    invented = all(re.fullmatch(rf"(Column_)?{position}", name) for position, name in enumerate(names))
    return None if invented else tuple(str(name) for name in names)


def places_of_columns(
    columns: Sequence[str] | None, n_columns: int, given: Sequence[str], width: int, name: str
) -> list[int]:
    """Where each column of a model (``name``) stands among those that are ``given``: by name, by position where no name
    is shared, or where the model knows no ``columns`` by name.
    """
    names = list(given) if columns is None else as_features(given, columns)
    shared = columns is not None and set(columns) & set(names)
    lacking = [column for column in columns or () if column not in names]
    if shared and lacking:
        raise ModelError(f"the rows lack the column {lacking[0]!r} that {name} was fitted on")
    if len(names) != width or (not shared and width != n_columns):
        raise ModelError(f"{name} was fitted on {n_columns} columns, but the rows have {width}: {names[:6]}")
    return [names.index(column) for column in columns or ()] if shared else list(range(width))


def known_width(model: Any) -> int | None:
    """Number of columns a model was fitted on, when it says so."""
    reader = reader_of(model)
    width = _asked(reader.width, model) if reader is not None and reader.width is not None else None
    width = _attribute(model, "n_features_in_") if width is None else width
    return int(width) if isinstance(width, int | np.integer) else None


def _attribute(model: Any, name: str) -> Any:
    return _asked(lambda asked: getattr(asked, name, None), model)


def _asked(question: Callable[[Any], Any], model: Any) -> Any:
    try:
        return question(model)
    except Exception:  # xgboost and lightgbm raise their own errors from properties of unfitted models
        return None


# --- reading, and verifying what was read ---------------------------------------------------------------------------


def read_products(
    estimator: Any, columns: TableInputs, cardinalities: tuple[int, ...], call: ModelCall, predict: Predict
) -> tuple[str, SumOfProducts]:
    """The kind and the sum of products of ``estimator``, verified against ``predict`` (codes (q, n) -> (q, k)).

    NotSumOfProducts, with the reason, where it is none, or was read otherwise than it answers.
    """
    name = describe(estimator)

    def read(reader: Reader) -> tuple[str, SumOfProducts]:
        if reader.parse is not None:
            products = state_regions(reader.parse(estimator, call), columns, cardinalities, name)
        else:
            assert reader.read is not None
            products = reader.read(predict, cardinalities)
        return reader.kind, verify(products, cardinalities, predict, reader.tolerance, name)

    return reading(reader_of(estimator), estimator, call, read, "neither a tree ensemble nor a linear model")


def reading(reader: Reader | None, estimator: Any, call: ModelCall, read: Callable[[Reader], Read], what: str) -> Read:
    """``read(reader)``; NotSumOfProducts, with the reason, where it cannot be. Without a reader it is ``what``."""
    name = describe(estimator)
    if reader is None:
        raise NotSumOfProducts(f"{name} is {what} that can be read")
    if call.quantity == "loss" or (call.quantity == "probability" and not reader.probabilities):
        no_sum = f"the loss of {name} is" if call.quantity == "loss" else f"the probabilities of {name} are"
        raise NotSumOfProducts(
            f"{no_sum} not a sum over {'trees' if reader.kind == 'tree' else 'features'}; the margin "
            f"(model_output='raw', log-odds for two classes) is one"
        )
    try:
        return read(reader)
    except (NotSumOfProducts, ModelError):
        raise
    except Exception as error:  # another version of a library may store its model otherwise: a reason, not a crash
        raise NotSumOfProducts(f"{name} could not be read ({type(error).__name__}: {shorten(error, 120)})") from error


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


def rows_inside(products: SumOfProducts, cardinalities: tuple[int, ...]) -> np.ndarray:
    """Random rows at which a random term is not zero: one row each for up to 256 terms."""
    rng = np.random.default_rng(SEED + 1)
    terms = rng.permutation(products.n_terms)[:N_PROBED]
    rows = random_rows(cardinalities, len(terms), rng)
    for v, vectors in enumerate(products.vectors):
        if len(vectors) > 1:
            # the state with the largest random key among those allowed
            keys = rng.random((len(terms), cardinalities[v])) * (vectors[products.terms[terms, v]] != 0)
            rows[:, v] = keys.argmax(axis=1)
    return rows
