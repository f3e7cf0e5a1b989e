"""A tree ensemble over the features of a problem: the trees that a library grew, with columns in feature order.

A model counts its columns in the order it was fitted on, features are counted in the order of the background. Here the
two are matched once, by name where the model knows names, so that everyone else sees trees over features: rows become
the numbers that the nodes compare, and numbers become what the model itself takes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from shap_asv.errors import ModelError, RowsError
from shap_asv.frames import part
from shap_asv.models.calls.outputs import ModelCall, describe, last_step, name_outputs
from shap_asv.models.calls.speed import FASTEST
from shap_asv.models.pipelines import known_columns, split_stages
from shap_asv.models.readers import READERS
from shap_asv.models.trees.ensembles import FloatEnsemble
from shap_asv.models.trees.reading import as_model_takes, explained_call, read_ensemble
from shap_asv.models.trees.xgboost_trees import is_linear_booster

# A row falls through a tree; measured on forests of depth 8.
_SECONDS_PER_TREE = 3e-8


@dataclass(frozen=True, eq=False)
class TreeForm:
    """``M(x) = offset + sum over trees of the leaf that x reaches``, over features; verified against the model.

    Attributes
    ----------
    own : FloatEnsemble
        The trees over the model's own columns.
    place : int array (own columns,)
        The feature that each column of the model is.
    features : tuple of str
    call : ModelCall
        The function of the model that the trees add up to.
    inputs : callable or None
        Turns rows into what the model is called with, in feature order; None where rows are numbers already.
    """

    own: FloatEnsemble
    place: np.ndarray
    features: tuple[str, ...]
    call: ModelCall
    inputs: Callable[[np.ndarray], Any] | None = field(default=None, repr=False)

    @cached_property
    def ensemble(self) -> FloatEnsemble:
        """The same trees with columns in feature order; features that the model does not have are never asked."""
        n = len(self.features)
        labels: list[tuple[Any, ...] | None] = [None] * n
        zero_missing = np.zeros(n, dtype=bool)
        zero_missing[self.place] = self.own.zero_missing
        for j, own in zip(self.place.tolist(), self.own.labels, strict=True):
            labels[j] = own
        column = np.where(self.own.left >= 0, self.place[np.maximum(self.own.column, 0)], -1)
        return replace(self.own, column=column, n_columns=n, zero_missing=zero_missing, labels=tuple(labels))

    @property
    def labels(self) -> tuple[tuple[Any, ...] | None, ...]:
        """The labels behind the numbers of each feature; None where numbers are numbers."""
        return self.ensemble.labels

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Rows (r, n) of the background -> float64 (r, n) as the nodes compare them."""
        numbers = np.asarray(rows, dtype=np.float64) if self.inputs is None else self.code(self.inputs(rows))
        self._check_missing(numbers)
        return numbers

    def code(self, table: Any) -> np.ndarray:
        """A table as the model takes it, columns in feature order -> float64 (r, n); other columns are zero."""
        coded = np.zeros((len(table), len(self.features)))
        own = table.iloc[:, self.place] if hasattr(table, "iloc") else np.asarray(table)[:, self.place]
        try:
            coded[:, self.place] = self.own.rows(own)
        except (TypeError, ValueError) as error:
            raise RowsError(f"the rows are not numbers, as {describe(self.call.target)} takes them: {error}") from error
        if type(self.call.target).__module__.split(".")[0] == "xgboost":
            self._check_labels(own, coded[:, self.place])
        return coded

    def _check_labels(self, own: Any, coded: np.ndarray) -> None:
        """XGBoost refuses a category that it never saw; other libraries take it for missing, and so does ``rows``."""
        for j, labels in enumerate(self.own.labels):
            if labels is None or not np.isnan(coded[:, j]).any():
                continue
            column = own.iloc[:, j] if hasattr(own, "iloc") else own[:, j]
            for i in np.flatnonzero(np.isnan(coded[:, j])):
                value = column.iloc[i] if hasattr(column, "iloc") else column[i]
                if value is not None and value == value:
                    raise RowsError(
                        f"row {i}: {value!r} is not a category of {self.features[self.place[j]]!r} that "
                        f"{describe(self.call.target)} was fitted with: {', '.join(map(repr, labels))}"
                    )

    def decode(self, numbers: np.ndarray) -> Any:
        """Numbers (r, n) -> what the model is called with, its columns in its own order."""
        return as_model_takes(self.own, self.call.target, np.asarray(numbers, dtype=np.float64)[:, self.place])

    def _check_missing(self, numbers: np.ndarray) -> None:
        missing = np.isnan(numbers[:, self.place]).any(axis=0)
        if missing.any() and not self.own.takes_missing:
            name = self.features[self.place[np.flatnonzero(missing)[0]]]
            raise RowsError(
                f"a row has no value for {name!r}, and {describe(self.call.target)} does not take missing values; fill "
                "it in, or fit the model on rows with missing values"
            )


def made_of_trees(model: Any) -> bool:
    """Is it a model of a tree library (or a bound method of one) without a transformer in front?"""
    return ends_in_trees(model) and not split_stages(_owner(model)).transformers


def ends_in_trees(model: Any) -> bool:
    """Is it, or a bound method of it, a model of a tree library, whatever stands in front?"""
    owner = _owner(model)
    if owner is None or isinstance(owner, type):
        return False
    final = last_step(owner)
    return not is_linear_booster(final) and any(reader.parse and reader.applies(final) for reader in READERS)


def _owner(model: Any) -> Any:
    has_answers = hasattr(model, "predict") or hasattr(model, "predict_proba")
    return model if has_answers else getattr(model, "__self__", None)


def read_trees(
    model: Any,
    model_output: str,
    features: Sequence[str],
    inputs: Callable[[np.ndarray], Any] | None = None,
) -> TreeForm:
    """The trees of a model over ``features``; NotSumOfProducts, with the reason, where they cannot be read.

    Columns that the model knows by name are found by name, else there have to be as many features as columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> table = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    >>> trees = read_trees(DecisionTreeRegressor().fit(table, [0, 0, 3, 3]), "auto", ["b", "a"])
    >>> trees.ensemble.predict(np.array([[0.0, 1.0]])).tolist()
    [[3.0]]
    """
    return place_trees(read_ensemble(model, model_output), model, model_output, features, inputs)


def place_trees(
    own: FloatEnsemble,
    model: Any,
    model_output: str,
    features: Sequence[str],
    inputs: Callable[[np.ndarray], Any] | None = None,
) -> TreeForm:
    """Trees that were read of ``model`` over ``features``."""
    call = explained_call(model, model_output)
    final = split_stages(call.target).final
    names = known_columns(call.target)
    if names is not None and set(names) & set(features):
        lacking = [name for name in names if name not in features]
        if lacking:
            raise ModelError(f"the rows lack the column {lacking[0]!r} that {describe(final)} was fitted on")
        place = np.array([list(features).index(name) for name in names])
    elif len(features) == own.n_columns:
        place = np.arange(own.n_columns)
    else:
        raise ModelError(
            f"{describe(final)} was fitted on {own.n_columns} columns, but the rows have {len(features)}: "
            f"{list(features)[:6]}"
        )
    return TreeForm(own, place, tuple(features), call.on(final), inputs)


@dataclass(frozen=True, eq=False)
class TreePredictor:
    """A model that is known through its trees alone: rows are the numbers that the nodes compare.

    Attributes
    ----------
    trees : TreeForm
    output_names : list of str or None
    """

    trees: TreeForm
    output_names: list[str] | None

    kind: ClassVar[str] = "tree"
    products: ClassVar[None] = None
    affine: ClassVar[None] = None
    margin: ClassVar[None] = None
    reason: ClassVar[str] = ""
    batch_size: ClassVar[None] = None

    @property
    def n_outputs(self) -> int:
        return self.trees.own.n_outputs

    @property
    def call(self) -> ModelCall:
        return self.trees.call

    @property
    def absent(self) -> float:
        """What an entry is to the model that a sparse matrix does not hold."""
        return absent_entry(self.call)

    def dress(self, rows: Any) -> Any:
        """Rows in feature order, of any kind, with the columns of the model."""
        if hasattr(rows, "iloc"):
            rows = rows.iloc[:, self.trees.place]
            names = known_columns(self.call.target)
            return rows if names is None else rows.set_axis(list(names), axis=1)
        if hasattr(rows, "columns"):
            return part(rows, len(rows), self.trees.place.tolist())
        return rows[:, self.trees.place]

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """M at rows of numbers (q, n) -> float64 (q, k)."""
        return self.trees.ensemble.predict(self.trees.numbers(rows))

    def seconds(self, n_rows: int, n_calls: int) -> float:
        return n_rows * (FASTEST + len(self.trees.ensemble.roots) * _SECONDS_PER_TREE)


def absent_entry(call: ModelCall) -> float:
    """What an entry is to the model that a sparse matrix does not hold: missing for XGBoost, zero for all others."""
    return np.nan if type(call.target).__module__.split(".")[0] == "xgboost" else 0.0


def tree_predictor(trees: TreeForm, output_names: Sequence[str] | None = None) -> TreePredictor:
    """Trees as a predictor; outputs are called as the caller says, else by the classes."""
    return TreePredictor(trees, name_outputs(trees.call, trees.own.n_outputs, output_names))
