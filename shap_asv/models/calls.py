"""A function of a model that is called: what its answer looks like, and how long it takes. Which one it is, is said in
:mod:`~shap_asv.models.readers`.

Whatever comes back, list, Series, DataFrame, ``(q,)``, ``(q, 1)`` or ``(q, k)``, leaves this module as a finite float64
array ``(q, k)``.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.errors import ArgumentError, ModelError
from shap_asv.frames import as_pandas, frame_columns


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
        What a user should know about the output; empty where there is nothing to say.
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
        return self.named(inputs)[0]

    def named(self, inputs: Any) -> tuple[np.ndarray, list[str] | None]:
        """The same, and the names of the outputs where the answer is a DataFrame of several."""
        function = self.target if self.method is None else getattr(self.target, self.method)
        try:
            answer = function(inputs, **dict(self.arguments))
        except Exception as error:
            raise ModelError(f"{self.name} raised {type(error).__name__}: {shorten(error)}") from error
        outputs = as_matrix(answer, inputs.shape[0] if hasattr(inputs, "shape") else len(inputs), self.name)
        if self.then is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                outputs = self.then(outputs)
        names = frame_columns(answer) if self.then is None and outputs.shape[1] > 1 else None
        return outputs, names


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
        outputs = np.asarray(as_pandas(answer))
    except Exception as error:
        raise ModelError(f"{name} returned no array of numbers: {shorten(error)}") from None
    if outputs.dtype.kind in "USO" and any(isinstance(value, str) for value in outputs.ravel()[:1000]):
        raise ModelError(
            f"{name} returned labels such as {str(outputs.ravel()[0])!r}, and only numbers can be explained; use "
            f"predict_proba (model_output='probability') or a callable that returns numbers"
        )
    if outputs.dtype.kind in "cmM":
        raise ModelError(f"{name} returned {outputs.dtype} values; only real numbers can be explained")
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
        f"{name} returned {outputs[row, column]} (output {column}) for the row {show_row(int(row))}; an expectation "
        f"needs a finite number for whatever the model may be asked about, rows that are drawn and combinations that "
        f"never occur included"
    )


def is_a(model: Any, package: str, name: str) -> bool:
    """Is ``model`` an instance of ``package...name`` (or of a subclass)? Without importing the package."""
    return any(
        cls.__name__ == name and (cls.__module__ == package or cls.__module__.startswith(package + "."))
        for cls in type(model).__mro__
    )


@dataclass(frozen=True)
class Stages:
    """``final(transformers[-1](... transformers[0](X)))``."""

    transformers: tuple[Any, ...]
    final: Any


def split_stages(model: Any) -> Stages:
    """Take Pipelines (nested, or inside a parameter search) apart; any other model is a final estimator alone."""
    transformers: list[Any] = []
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif is_pipeline(model):
            # samplers (imbalanced-learn) only act while fitting
            steps = [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
            transformers += [step for step in steps if hasattr(step, "transform")]
            model = model.steps[-1][1]
        else:
            return Stages(tuple(transformers), model)


def is_pipeline(model: Any) -> bool:
    return isinstance(getattr(model, "steps", None), list) and len(model.steps) > 0 and hasattr(model, "named_steps")


def last_step(model: Any) -> Any:
    """The estimator that gives the answer: the last step of a Pipeline, the refitted winner of a search."""
    return split_stages(model).final


def second_class(probabilities: np.ndarray) -> np.ndarray:
    """The probability of the second of two classes (q, 1)."""
    return probabilities[:, 1:]


def check_fitted(model: Any) -> None:
    """ModelError for an sklearn estimator that was not fitted."""
    if not type(last_step(model)).__module__.startswith("sklearn."):
        return  # others keep what they learned under names of their own
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


# --- the loss of the target of each row --------------------------------------------------------------------------

#: A probability of zero counts as this one, so that the loss of a mistake is a number.
SMALLEST = 1e-15


@dataclass(frozen=True)
class ClassLoss:
    """Probabilities (q, k) -> ``-log p`` (q, k)."""

    classes: tuple[Any, ...]

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        return -np.log(np.maximum(outputs, SMALLEST))

    def of(self, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Targets -> weights of the outputs (n_rows, k) and constants (n_rows,)."""
        targets = _targets(y, n_rows)
        chosen = targets[:, None] == np.asarray(self.classes)[None, :]
        if not chosen.any(axis=1).all():
            wrong = targets[np.flatnonzero(~chosen.any(axis=1))[0]]
            raise ArgumentError(f"y holds {wrong!r}, which is not a class of the model: {list(self.classes)}")
        return chosen.astype(float), np.zeros(n_rows)


@dataclass(frozen=True)
class SquaredError:
    """Predictions f (q, 1) -> ``f^2, f`` (q, 2)."""

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        return np.column_stack([outputs[:, 0] ** 2, outputs[:, 0]])

    def of(self, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Targets -> weights of the outputs (n_rows, 2) and constants (n_rows,)."""
        targets = _targets(y, n_rows).astype(float)
        return np.column_stack([np.ones(n_rows), -2.0 * targets]), targets**2


RowLoss = ClassLoss | SquaredError


def _targets(y: Any, n_rows: int) -> np.ndarray:
    if y is None:
        raise ArgumentError("model_output='log_loss' needs the target of each row: explainer(X, y)")
    targets = np.ravel(np.asarray(as_pandas(y)))
    if len(targets) != n_rows:
        raise ArgumentError(f"y has {len(targets)} targets for {n_rows} rows")
    return targets


# --- how long it takes ------------------------------------------------------------------------------------------------
#
# By its first call and at most one more. Models differ by a factor of a million: a sum of columns takes microseconds
# for a thousand rows, a call over the wire a second for one. The first call, of a few rows, has to be made anyway.
# Where that leaves open whether time goes by calls or by rows, a call of more rows tells.

#: No row is taken for faster than this: preparing the model's input takes about as long.
FASTEST = 5e-7
# Work that may be planned by an upper bound; a first call after which the model is not called to be timed.
_AT_ONCE, _SLOW = 0.1, 0.25
# Rows of the call that is made to be timed, at most.
_MOST = 256


class Stopwatch:
    """Predicts what calls of a model take; the first one was of ``n_rows`` rows and took ``seconds``."""

    def __init__(self, n_rows: int, seconds: float) -> None:
        self.n_rows, self.first = n_rows, seconds
        self._speed: tuple[float, float] | None = None

    def seconds(self, ask: Callable[[int], Any], n_rows: int, n_calls: int) -> float:
        """What ``n_rows`` rows in ``n_calls`` calls will take; ``ask(n)`` has the model answer n rows."""
        n_calls = max(1, n_calls)
        size = n_rows / n_calls
        bound = max(n_rows * FASTEST, n_calls * self.first * max(1.0, size / self.n_rows))
        more = min(_MOST, int(size))
        if self._speed is None:
            if bound <= _AT_ONCE or self.first > _SLOW or more < 4 * self.n_rows:
                return bound
            # the few rows are asked once more: the first call may have loaded something
            few, many = min(_time(ask, self.n_rows), self.first), _time(ask, more)
            per_row = max(FASTEST, (many - few) / (more - self.n_rows))
            self._speed = max(FASTEST, few - self.n_rows * per_row), per_row
        per_call, per_row = self._speed
        return n_calls * per_call + n_rows * per_row


def _time(ask: Callable[[int], Any], n_rows: int) -> float:
    start = time.perf_counter()
    ask(n_rows)
    return time.perf_counter() - start
