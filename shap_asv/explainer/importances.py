"""Global values: how much knowing a feature lowers the loss, with causes first.

``importance_i = mean over rows of sum over S of W[S, i] v(S)`` with ``v(S) = -loss(nu(S), y)``: asymmetric SAGE. The
values add up to the loss of the expected output minus the loss of the model.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv.backends.coalitionwise import CoalitionwiseAttributor
from shap_asv.backends.contract import Problem, Settings
from shap_asv.backends.losses import LossAttributor, combine_means
from shap_asv.errors import ArgumentError, MethodNotApplicableError, ModelError, UnknownMethodError
from shap_asv.explainer.blocks import count_jobs, cut_rows, run_blocks
from shap_asv.explainer.execution import Execution, find_equal_rows
from shap_asv.explainer.progress import ProgressBar, saying_that_it_compiles
from shap_asv.explainer.rows import Table, fit_rows
from shap_asv.planning import Plan, named_backend
from shap_asv.values.contract import SampledValues

# Keeps the draws of the bootstrap apart from all others of the seed.
_STREAM = 0x1055


def measure_importance(
    execution: Execution,
    table: Table,
    y: Any,
    settings: Settings,
    loss: Any,
    n_bootstrap: int,
    encoded: bool,
    silent: bool,
) -> Any:
    """A ``shap.Explanation`` of one value per player; see :meth:`AsymmetricExplainer.importance`."""
    import shap

    problem = execution.problem
    if problem.link is not None:
        raise MethodNotApplicableError("importance looks at the model's own output; make an explainer without link=")
    rows = fit_rows(problem, table, encoded)
    targets, chosen = _read_targets(y, len(rows), problem, loss)
    graded = replace(problem, link=as_it_is)  # like a link, a loss has to see every coalition's value
    running = replace(execution, problem=graded, _ready=None)
    joined = _with_targets(rows, targets)
    alike = find_equal_rows(joined)
    plan = _plan(running, settings, len(alike.distinct), len(rows))
    inner = plan.backend.prepare(graded, settings)
    assert isinstance(inner, CoalitionwiseAttributor)
    attributor = LossAttributor(inner, chosen, rows.dtype)
    columns = inner.columns
    cuts = cut_rows(
        len(alike.distinct), plan.backend.row_block, attributor.width, rowwise=False, jobs=count_jobs(execution.n_jobs)
    )
    saved = np.empty((len(rows), columns.n_players))
    total = np.zeros(attributor.width)
    with saying_that_it_compiles(silent), ProgressBar(len(rows), silent) as bar:
        for block, part in run_blocks(attributor, alike.distinct, alike.counts, cuts, execution.n_jobs, bar):
            places, source = alike.places(block)
            saved[places] = columns.combine(part.phi[:, : columns.matrix.shape[1]])[0][source, :, 0]
            total += alike.counts[block] @ part.phi[..., 0]
    widening = inner.values.widening if isinstance(inner.values, SampledValues) else 1.0
    variance = combine_means(columns, total / len(rows), attributor.n_draw_groups, widening)
    variance = variance + _bootstrap_variance(saved, n_bootstrap, settings.seed)
    return shap.Explanation(
        values=saved.mean(axis=0),
        base_values=float(attributor.base(rows[:1], targets).mean()),
        feature_names=list(problem.names),
        error_std=np.sqrt(variance),
    )


def usual_loss(problem: Problem, model: Any) -> str:
    """``"log"`` of the true class where outputs are classes, else ``"squared"``; a margin has no loss of its own.

    Raises
    ------
    ArgumentError
        The model is a classifier, and what is explained is not its probabilities.
    """
    if problem.predictor.output_names is not None or problem.predictor.call.quantity == "probability":
        return "log"
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        raise ArgumentError(
            f"{type(model).__name__} is a classifier, and what is explained is its margin, which is neither a class "
            "nor a probability; make the explainer with model_output='probability', or pass loss= a function of "
            "margins and targets"
        )
    return "squared"


def as_it_is(nu: np.ndarray) -> np.ndarray:
    """A link that changes nothing, and that term-wise backends have to respect."""
    return nu


def _plan(execution: Execution, settings: Settings, n_rows: int, n_results: int) -> Plan:
    """The best backend that writes nu down; a backend asked for by name stands for its family where it does not."""
    problem = execution.problem
    named = named_backend(execution.algorithm)
    if named is not None and named.obstacle(problem, settings) is not None:
        execution = replace(execution, algorithm="exact" if named.exact else "auto")
    try:
        return execution.plan(settings, n_rows, n_results)
    except MethodNotApplicableError:
        raise MethodNotApplicableError(
            f"a loss needs nu(S) of every coalition, and this background ({problem.background.describe()}) gives none; "
            "pass background rows, a fitted distribution or a network as masker="
        ) from None


def _with_targets(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Rows with the position of their target as last column: float64 for numbers (codes fit), else objects."""
    kind = object if rows.dtype == object else np.float64
    return np.column_stack([rows.astype(kind), targets.astype(kind)])


def _bootstrap_variance(saved: np.ndarray, n_bootstrap: int, seed: int | None) -> np.ndarray:
    """The variance of the mean over rows, from rows drawn with replacement: O(n_bootstrap * r * players)."""
    n_rows = len(saved)
    rng = np.random.default_rng([0 if seed is None else seed, _STREAM])
    means = np.empty((n_bootstrap, saved.shape[1]))
    for b in range(n_bootstrap):
        means[b] = np.bincount(rng.integers(0, n_rows, n_rows), minlength=n_rows) @ saved / n_rows
    return np.asarray(means.var(axis=0, ddof=1))


# --- losses -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SquaredLoss:
    """``(nu - y)^2``."""

    distinct: np.ndarray

    def __call__(self, nu: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return np.asarray((nu[:, 0] - self.distinct[targets]) ** 2)


@dataclass(frozen=True, eq=False)
class TrueClass:
    """``-nu(y)``, or ``-log nu(y)``: how probable the true class is. ``column`` of each target; -1 is ``1 - nu``."""

    column: np.ndarray
    logarithm: bool

    def __call__(self, nu: np.ndarray, targets: np.ndarray) -> np.ndarray:
        column = self.column[targets]
        total = nu.sum(axis=1)
        if (nu < -1e-9).any() or (total > 1 + 1e-6).any() or (nu.shape[1] > 1 and (total < 1 - 1e-6).any()):
            worst = np.round(nu[np.argmax(np.abs(total - 1))], 6).tolist()
            raise ModelError(
                f"an expected output is {worst}, and losses of classes "
                "need probabilities; use model_output='probability', or pass model.predict_proba"
            )
        own = nu[np.arange(len(nu)), np.maximum(column, 0)]
        probable = np.where(column < 0, 1 - own, own)
        if not self.logarithm:
            return -probable
        if (probable <= 0).any():
            raise ModelError(
                "the true class of a row has probability 0, and its log loss is infinite; use loss='probability', or a "
                "model that is never certain"
            )
        return np.asarray(-np.log(np.minimum(probable, 1.0)))


@dataclass(frozen=True, eq=False)
class GivenLoss:
    """The user's own: called with expected outputs, (q,) where there is one output, and the targets themselves."""

    function: Callable[..., Any]
    distinct: np.ndarray

    def __call__(self, nu: np.ndarray, targets: np.ndarray) -> np.ndarray:
        try:
            given = self.function(nu[:, 0] if nu.shape[1] == 1 else nu, self.distinct[targets])
        except Exception as error:
            raise ArgumentError(f"loss= raised {type(error).__name__}: {error}") from error
        try:
            losses = np.asarray(given, dtype=float)
        except Exception:
            raise ArgumentError(f"the loss returned a {type(given).__name__}, not an array of numbers") from None
        if losses.shape != (len(nu),):
            raise ArgumentError(
                f"the loss returned shape {losses.shape} for {len(nu)} predictions; one number for each"
            )
        if not np.isfinite(losses).all():
            bad = int(np.flatnonzero(~np.isfinite(losses))[0])
            raise ArgumentError(
                f"the loss returned {losses[bad]} for the prediction {nu[bad].tolist()} and the target "
                f"{self.distinct[targets[bad]]!r}; it has to be finite"
            )
        return losses


def _read_targets(y: Any, n_rows: int, problem: Problem, loss: Any) -> tuple[np.ndarray, Any]:
    """Positions (r,) of each target among the distinct ones, and the loss over these positions."""
    given = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if given.shape == (n_rows, 1):
        given = given[:, 0]
    if given.shape != (n_rows,):
        raise ArgumentError(f"y has shape {given.shape} and X has {n_rows} rows; y is one target for each row of X")
    targets, distinct = pd.factorize(given)
    if (targets < 0).any():
        raise ArgumentError(f"y is missing in row {np.argmin(targets)}; leave out rows without a target")
    word = loss
    if isinstance(word, str) and word in ("log", "probability"):
        return targets, TrueClass(_class_columns(distinct, problem), word == "log")
    if isinstance(word, str) and word == "squared":
        if problem.n_outputs > 1:
            raise ArgumentError(
                f"loss='squared' compares one number, and the model has {problem.n_outputs} outputs; use loss='log' or "
                "'probability' for classes, or a function of predictions and targets"
            )
        if distinct.dtype.kind not in "biuf":
            raise ArgumentError(f"loss='squared' needs numbers in y, not {distinct[0]!r}; use loss='log' for classes")
        return targets, SquaredLoss(distinct.astype(float))
    if callable(word):
        return targets, GivenLoss(word, distinct)
    raise UnknownMethodError(
        f"unknown loss={word!r:.80}; use 'log', 'squared', 'probability', or a function loss(predictions, targets) "
        "that returns one number for each"
    )


def _class_columns(distinct: np.ndarray, problem: Problem) -> np.ndarray:
    """The output that says how probable each target is; -1 for the other class of a single output."""
    call, names = problem.predictor.call, problem.predictor.output_names
    if problem.n_outputs == 1 and call.quantity == "probability" and len(getattr(call.target, "classes_", ())) == 2:
        names = [str(label) for label in call.target.classes_]  # the output is the probability of the second
    elif problem.n_outputs == 1:
        unknown = [value for value in distinct.tolist() if value not in (0, 1)]
        if unknown:
            raise ArgumentError(
                f"y holds {unknown[0]!r}, and a model with one output tells class 1 from class 0; code y as 0 and 1, "
                "or explain predict_proba"
            )
        return np.where(distinct.astype(float) == 1, 0, -1)
    names = [str(j) for j in range(problem.n_outputs)] if names is None else [str(name) for name in names]
    columns = [_column_of(value, names) for value in distinct.tolist()]
    if None in columns:
        raise ArgumentError(
            f"y holds {distinct.tolist()[columns.index(None)]!r}, which is not a class of the model: {', '.join(names)}"
        )
    return np.array(columns) - (1 if problem.n_outputs == 1 else 0)


def _column_of(value: Any, names: list[str]) -> int | None:
    """The class that a target is: by its text, or a number (a bool, too) by its value; None where it is none.

    >>> _column_of(True, ["0", "1"]), _column_of(1.0, ["False", "True"]), _column_of("1", ["0.0", "1.0"])
    (1, 1, None)
    """
    if str(value) in names:
        return names.index(str(value))
    if not isinstance(value, bool | int | float):
        return None
    ways = [str(float(value))]  # in which the number is written; "01" is the name of another class
    if float(value).is_integer():
        ways.append(str(int(value)))
    if value in (0, 1):
        ways.append(str(bool(value)))
    return next((place for place, name in enumerate(names) if name in ways), None)
