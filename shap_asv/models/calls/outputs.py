"""What is explained: which function of a model is called, and what its answer looks like.

``model_output`` means the same as in ``shap.TreeExplainer``:

- ``"auto"``: ``predict_proba`` for classifiers, else ``predict``;
- ``"probability"``: ``predict_proba``;
- ``"raw"``: what the model adds up before any link: the margin (log-odds) of boosted classifiers and of logistic
  regression, ``decision_function`` of other classifiers, the averaged class probabilities of decision trees and
  forests, the logarithm of the prediction of Poisson and Gamma regression, the prediction of all other regressors.

A callable (or a bound method) is called as it is. Whatever comes back, list, Series, DataFrame, ``(q,)``, ``(q, 1)`` or
``(q, k)``, leaves this module as a finite float64 array ``(q, k)``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.errors import ModelError, UnknownMethodError

MODEL_OUTPUTS = ("auto", "raw", "probability")

#: forests and trees average probabilities: their raw output is predict_proba
AVERAGING = {
    "DecisionTreeClassifier",
    "ExtraTreeClassifier",
    "RandomForestClassifier",
    "ExtraTreesClassifier",
}


@dataclass(frozen=True)
class ModelCall:
    """``outputs = then(target.method(X, **arguments))``; picklable when the target is.

    Attributes
    ----------
    target : the estimator, or the callable itself when ``method`` is None
    method : str or None
    arguments : tuple of (name, value)
        Keyword arguments of the call.
    then : callable or None
        What turns the answer into the output (the logarithm, for the raw output of models with a log link).
    quantity : str
        ``"probability"``, ``"raw"`` or ``"prediction"``.
    note : str
        What a user should know about the output; empty where it is what everyone expects.
    """

    target: Any
    method: str | None
    arguments: tuple[tuple[str, Any], ...] = ()
    then: Callable[[np.ndarray], np.ndarray] | None = None
    quantity: str = "prediction"
    note: str = ""

    @property
    def name(self) -> str:
        """How error messages call it, such as ``RandomForestClassifier.predict_proba``."""
        owner = describe(self.target)
        return owner if self.method is None else f"{owner}.{self.method}"

    def on(self, target: Any) -> "ModelCall":
        """The same call of another object (the last step of a Pipeline)."""
        return replace(self, target=target)

    def __call__(self, inputs: Any) -> np.ndarray:
        """Call the model on ``q`` rows -> float64 (q, k); ModelError when it raises or answers anything else."""
        function = self.target if self.method is None else getattr(self.target, self.method)
        try:
            answer = function(inputs, **dict(self.arguments))
        except Exception as error:
            raise ModelError(f"{self.name} raised {type(error).__name__}: {shorten(error)}") from error
        outputs = as_matrix(answer, inputs.shape[0] if hasattr(inputs, "shape") else len(inputs), self.name)
        if self.then is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                outputs = self.then(outputs)
        return outputs


def describe(target: Any) -> str:
    """A short name of a model or callable for messages."""
    return str(getattr(target, "__name__", type(target).__name__))


def shorten(error: BaseException, length: int = 300) -> str:
    """The message of a foreign error on one line, cut to ``length`` characters."""
    text = " ".join(str(error).split())
    return text if len(text) <= length else text[: length - 3] + "..."


def as_matrix(answer: Any, n_rows: int, name: str) -> np.ndarray:
    """A model's answer for ``n_rows`` rows as float64 (n_rows, k). Does not look for NaN, see :func:`check_finite`.

    >>> as_matrix([1, 2, 3], 3, "model")
    array([[1.],
           [2.],
           [3.]])
    """
    if answer is None:
        raise ModelError(f"{name} returned None; it must return one number or one vector per row")
    if isinstance(answer, list | tuple) and len(answer) and getattr(answer[0], "ndim", 0) == 2:
        raise ModelError(
            f"{name} returned a list of {len(answer)} matrices, as classifiers of several targets do; explain one "
            f"target at a time, with a callable such as lambda X: model.predict_proba(X)[0]"
        )
    if hasattr(answer, "toarray"):
        answer = answer.toarray()
    if np.ma.is_masked(answer):
        raise ModelError(f"{name} returned a masked array with masked values; every row needs a number")
    try:
        outputs = np.asarray(answer)
    except Exception as error:
        raise ModelError(f"{name} returned no array of numbers: {shorten(error)}") from None
    if outputs.dtype.kind in "USO" and any(isinstance(value, str) for value in outputs.ravel()[:1000]):
        raise ModelError(
            f"{name} returned labels such as {str(outputs.ravel()[0])!r}, and only numbers can be explained; use "
            f"predict_proba (model_output='probability') or a callable that returns numbers"
        )
    if outputs.dtype.kind == "c":
        raise ModelError(f"{name} returned complex numbers; only real numbers can be explained")
    if outputs.dtype.kind in "mM":
        raise ModelError(f"{name} returned {outputs.dtype} values; only numbers can be explained")
    try:
        outputs = outputs.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        what = f"a {type(answer).__name__}" if outputs.ndim == 0 else f"{outputs.dtype} values"
        raise ModelError(f"{name} returned {what}, no array of numbers: {shorten(error)}") from None
    if outputs.ndim == 1:
        outputs = outputs[:, None]
    if outputs.ndim != 2 or len(outputs) != n_rows or outputs.shape[1] == 0:
        shape = np.shape(answer)
        raise ModelError(
            f"{name} returned an array of shape {shape} for {n_rows} rows; it must return one number or one vector per "
            f"row, shape ({n_rows},) or ({n_rows}, outputs)"
        )
    return outputs


def check_finite(outputs: np.ndarray, name: str, show_row: Callable[[int], str]) -> None:
    """ModelError on the first NaN or infinity; ``show_row(r)`` describes row ``r`` for the message."""
    if np.isfinite(outputs).all():
        return
    row, column = np.argwhere(~np.isfinite(outputs))[0]
    raise ModelError(
        f"{name} returned {outputs[row, column]} (output {column}) for the row {show_row(int(row))}; expectations of a "
        f"model need finite numbers for every combination of states, also for those that never occur"
    )


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
    if model_output != "probability" and is_a(last_step(model), "sklearn", "IsolationForest"):
        length = PathLength(float(average_path_length(np.array([last_step(model).max_samples_]))[0]))
        return ModelCall(model, "score_samples", then=length, quantity="raw")
    if model_output == "raw":
        return raw_call(model)
    if hasattr(model, "predict_proba"):
        return ModelCall(model, "predict_proba", quantity="probability")
    if model_output == "probability":
        raise ModelError(f"{describe(model)} has no predict_proba; use model_output='auto' or 'raw'")
    if is_classifier(model):
        raise ModelError(
            f"{describe(last_step(model))} is a classifier without predict_proba; use model_output='raw' for its "
            f"decision_function, or pass a callable such as model.predict"
        )
    return booster_call(model) or ModelCall(model, "predict")


def is_classifier(model: Any) -> bool:
    """Does it have probabilities, or at least classes? (CatBoost's regressors have an empty list of classes)"""
    return hasattr(model, "predict_proba") or np.size(getattr(model, "classes_", ())) > 0


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
    """What the model adds up, before any link."""
    final = last_step(model)
    if is_a(final, "xgboost", "XGBModel"):
        return ModelCall(model, "predict", (("output_margin", True),), quantity="raw")
    if is_a(final, "lightgbm", "LGBMModel") or is_a(final, "lightgbm", "Booster"):
        forest = "\naverage_output\n" in getattr(final, "booster_", final).model_to_string(num_iteration=1)
        note = (
            f"the raw score of {describe(final)}, a random forest, is the sum of its trees, and that is explained, as "
            "in shap; its predictions are their mean: pass the method predict as the model to explain these"
        )
        return ModelCall(model, "predict", (("raw_score", True),), quantity="raw", note=note if forest else "")
    if is_a(final, "catboost", "CatBoost"):
        return ModelCall(model, "predict", (("prediction_type", "RawFormulaVal"),), quantity="raw")
    if any(is_a(final, "sklearn", name) for name in AVERAGING):
        return ModelCall(model, "predict_proba", quantity="raw")
    if hasattr(model, "decision_function"):
        return ModelCall(model, "decision_function", quantity="raw")
    if is_classifier(model):
        raise ModelError(f"{describe(final)} has no raw output (no decision_function); use model_output='probability'")
    boosted_log = is_a(final, "sklearn", "HistGradientBoostingRegressor") and final.loss in ("poisson", "gamma")
    log = boosted_log or is_a(final, "sklearn", "PoissonRegressor") or is_a(final, "sklearn", "GammaRegressor")
    return booster_call(model, raw=True) or ModelCall(model, "predict", then=np.log if log else None, quantity="raw")


def booster_call(model: Any, raw: bool = False) -> ModelCall | None:
    """``xgboost.Booster`` eats no arrays but its own matrices: the one model whose call needs a wrapper.

    One that stopped early ends with its best round, as its estimator does.
    """
    if not is_a(model, "xgboost", "Booster"):
        return None
    arguments: tuple[tuple[str, Any], ...] = (("predict_type", "margin" if raw else "value"),)
    rounds, note = best_rounds(model), ""
    if rounds is not None:
        arguments += (("iteration_range", (0, rounds)),)
        note = (
            f"this Booster stopped early: its best {rounds} of {model.num_boosted_rounds()} rounds are explained, as "
            "in shap and as XGBModel.predict answers, while Booster.predict takes all; explain booster[:] for these"
        )
    return ModelCall(model, "inplace_predict", arguments, quantity="raw" if raw else "prediction", note=note)


def best_rounds(booster: Any) -> int | None:
    """The rounds of an ``xgboost.Booster`` up to its best one; None where it did not stop early."""
    try:
        best = int(booster.best_iteration) + 1
    except AttributeError:
        return None
    return best if best < booster.num_boosted_rounds() else None


@dataclass(frozen=True)
class PathLength:
    """The mean path length of an isolation forest, from its score ``-2 ** (-length / scale)``."""

    scale: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return -self.scale * np.log2(-scores)


def average_path_length(n_rows: np.ndarray) -> np.ndarray:
    """``c(n)``: steps of an unsuccessful search in a binary tree of n rows (Liu, Ting and Zhou 2008, equation 1).

    >>> average_path_length(np.array([1, 2, 256])).round(3).tolist()
    [0.0, 1.0, 10.245]
    """
    n = np.maximum(np.asarray(n_rows, dtype=np.float64), 3.0)
    length = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(n_rows <= 1, 0.0, np.where(n_rows == 2, 1.0, length))


def last_step(model: Any) -> Any:
    """The estimator that gives the answer: the last step of a Pipeline, the refitted winner of a search."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps") and isinstance(model.steps, list) and model.steps:
            model = model.steps[-1][1]
        else:
            return model


def is_a(model: Any, package: str, name: str) -> bool:
    """Is ``model`` an instance of ``package...name`` (or of a subclass)? Without importing the package."""
    return any(
        cls.__name__ == name and (cls.__module__ == package or cls.__module__.startswith(package + "."))
        for cls in type(model).__mro__
    )


def check_fitted(model: Any) -> None:
    """ModelError for an sklearn estimator that was not fitted."""
    if not any(cls.__module__.startswith("sklearn.") for cls in type(model).__mro__):
        return
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(last_step(model))
    except NotFittedError as error:
        raise ModelError(f"{describe(model)} is not fitted; call fit before explaining it") from error
    except TypeError:
        return  # sklearn cannot tell for this class; the model itself will


def name_outputs(call: ModelCall, n_outputs: int, output_names: Sequence[str] | None) -> list[str] | None:
    """Names of the outputs: the caller's, else the classes of a classifier with several outputs, else None."""
    if output_names is not None:
        names = [output_names] if isinstance(output_names, str) else [str(name) for name in output_names]
        if len(names) != n_outputs:
            raise ModelError(f"{len(names)} output_names {names} for a model with {n_outputs} outputs")
        return names
    classes = np.asarray(getattr(call.target, "classes_", ()))
    if n_outputs > 1 and call.quantity in ("probability", "raw") and classes.shape == (n_outputs,):
        return [str(label) for label in classes]
    return None
