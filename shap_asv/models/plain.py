"""Models over a data matrix: no states, the rows are what the model eats.

This is the shap way of using a model: the background is an ndarray or a DataFrame, and so are the rows. Answers are
normalised as everywhere in this room: float64 (q, k), finite.
"""

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from shap_asv.errors import ModelError
from shap_asv.frames import frame_columns, part
from shap_asv.models.calls.inputs import CELLS, ask_varied
from shap_asv.models.calls.outputs import ModelCall, check_finite, name_outputs
from shap_asv.models.calls.speed import Stopwatch, Timed
from shap_asv.models.contract import Affine
from shap_asv.models.linear import read_affine
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import choose_call, explained_call, known_columns, known_width, own_spelling
from shap_asv.models.trees.compiled import CodedRows, CompiledTrees, compile_trees
from shap_asv.models.trees.form import (
    TreeForm,
    TreePredictor,
    absent_entry,
    ends_in_trees,
    made_of_trees,
    read_ensemble,
    read_trees,
)

# A model's answers to a row as it was handed over and as it was read differ by rounding, relative to what adds up.
_MOVED = 1e-5
# A first call that takes longer than this is made twice before its time is believed.
_WARM = 0.1


@dataclass(frozen=True, eq=False)
class PlainPredictor:
    """A model over the rows of a matrix; picklable when the user's model is.

    Attributes
    ----------
    call : ModelCall
    columns : tuple of str or None
        The model's own column names: rows are handed over as a DataFrame in that order.
    feature_names : tuple of str or None
        Names of the columns of an ndarray of rows.
    n_outputs : int
        0 as long as no rows to try were given, see :func:`read_plain_model`.
    output_names : list of str or None
    batch_size : int or None
        Rows per call of the model; None for as many as make 32 MiB of input.
    tried : ndarray, DataFrame or None
        The rows that the model was tried on.
    first_call : Timed
        How long it took for them.
    inputs : callable or None
        Turns rows into what the model is called with.
    affine : Affine or None
    trees : TreeForm or None
    reason : str
        Why both of them are None.
    compiled : CompiledTrees or None
        What answers to rows in place of the model: its trees, where its library would need a DataFrame of them.
    """

    call: ModelCall
    columns: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    n_outputs: int
    output_names: list[str] | None
    batch_size: int | None = None
    tried: Any = field(default=None, repr=False)
    first_call: Timed = field(default=Timed(1, 0.0), repr=False)
    inputs: Callable[[np.ndarray], Any] | None = field(default=None, repr=False)
    affine: Affine | None = None
    trees: TreeForm | None = None
    reason: str = ""
    compiled: CompiledTrees | None = field(default=None, repr=False)

    products: ClassVar[None] = None

    @property
    def kind(self) -> str:
        return "tree" if self.trees is not None else "black box" if self.affine is None else "linear"

    @property
    def evaluated(self) -> str:
        return "" if self.compiled is None else self.compiled.describe()

    def seconds(self, n_rows: int, n_calls: int) -> float:
        """What asking the model will take (:class:`Stopwatch`)."""
        if self.compiled is not None:
            return self.compiled.seconds(n_rows)
        return self._stopwatch.seconds(n_rows, n_calls)

    @cached_property
    def _stopwatch(self) -> Stopwatch:
        rows = self.tried

        def ask(n_rows: int) -> None:
            if hasattr(rows, "iloc"):
                self.predict(rows.iloc[np.arange(n_rows) % len(rows)].reset_index(drop=True))
            else:
                ask_varied(self.predict, rows, n_rows)

        return Stopwatch(ask, self.first_call)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_stopwatch"}

    def predict(self, rows: Any) -> np.ndarray:
        """M at rows, or at a DataFrame (q, n) -> float64 (q, k), in calls of at most ``batch_size`` rows."""
        if len(rows) == 0:
            return np.empty((0, self.n_outputs or 1))
        if self.compiled is not None and not hasattr(rows, "columns"):
            return self.compiled(np.asarray(rows, dtype=np.float64))
        frame = self.called_with(rows)
        size = self.batch_size or max(1, CELLS // max(1, frame.shape[1]))
        blocks = []
        for start in range(0, len(frame), size):
            part = frame.iloc[start : start + size] if hasattr(frame, "iloc") else frame[start : start + size]
            outputs = self.call(part)
            check_finite(outputs, self.call.name, partial(_number, start))
            blocks.append(outputs)
        widths = {block.shape[1] for block in blocks} | ({self.n_outputs} if self.n_outputs else set())
        if len(widths) > 1:
            raise ModelError(f"{self.call.name} returned {sorted(widths)} outputs in different calls")
        return np.concatenate(blocks)

    def called_with(self, rows: Any) -> Any:
        """What the model is called with for rows, or for a DataFrame."""
        return self.dress(rows if self.inputs is None or hasattr(rows, "columns") else self.inputs(rows))

    @cached_property
    def by_position(self) -> bool:
        """Was the model fitted on an array? Then it has no use for names, and scikit-learn warns of them."""
        return self.columns is None and self.call.method is not None and known_width(self.call.target) is not None

    @property
    def absent(self) -> float:
        """What an entry is to the model that a sparse matrix does not hold."""
        return absent_entry(self.call)

    def dress(self, rows: Any) -> Any:
        """Hand rows over under the names that the model knows, when it knows names."""
        if hasattr(rows, "tocsr"):
            return rows
        if hasattr(rows, "columns") and not hasattr(rows, "iloc"):
            given = frame_columns(rows) or []
            if self.columns is None or set(self.columns) != set(given):
                return rows
            return part(rows, len(rows), [given.index(name) for name in self.columns])
        if hasattr(rows, "columns"):
            if self.columns is None:
                return rows.to_numpy() if self.by_position and only_numbers(rows) else rows
            rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
            if not set(rows.columns) & set(self.columns) and rows.shape[1] == len(self.columns):
                return rows.set_axis(list(self.columns), axis=1)  # by position: the user was told
            if tuple(rows.columns) != self.columns:
                missing = [name for name in self.columns if name not in rows.columns]
                if missing:
                    raise ModelError(f"the rows lack the column {missing[0]!r} that {self.call.name} was fitted on")
                return rows[list(self.columns)]
            return rows
        rows = np.asarray(rows)
        if rows.ndim != 2:
            raise ModelError(f"rows must be a matrix (rows, features); got shape {rows.shape}")
        if self.columns is None:
            return rows
        import pandas as pd

        names = self.feature_names or self.columns
        if len(names) != rows.shape[1] or set(names) != set(self.columns):
            raise ModelError(
                f"{self.call.name} was fitted on the {len(self.columns)} columns {list(self.columns)[:6]}; the rows "
                f"have {rows.shape[1]} columns {list(names)[:6]}"
            )
        return pd.DataFrame(rows, columns=list(names))[list(self.columns)]


def check_answers(predictor: "PlainPredictor | TreePredictor", rows: np.ndarray, handed: Any) -> None:
    """ModelError where the model answers ``handed``, the first rows of a call as they came in, otherwise than ``rows``,
    what was read of them: by its trees or weights, or for a black box that is not called with rows of that kind.

    Where it does not take rows of that kind there is nothing to compare. One call of a few rows.
    """
    trees, affine, call = predictor.trees, predictor.affine, predictor.call
    plain = isinstance(handed, np.ndarray) or hasattr(handed, "iloc")
    compiled = predictor.compiled if isinstance(predictor, PlainPredictor) else None
    if handed is None or (plain and trees is None and affine is None and compiled is None):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = call(predictor.dress(handed))
    except ModelError:
        return
    if trees is not None:
        values, offset = trees.ensemble.values, trees.ensemble.offset
        found, scale = trees.ensemble.add_up(trees.numbers(rows), (values, offset), (np.abs(values), np.abs(offset)))
    elif affine is not None:
        numbers = np.asarray(rows, dtype=np.float64)
        found, scale = affine(numbers), np.abs(numbers) @ np.abs(affine.weights) + np.abs(affine.offset)
    else:
        found = predictor.predict(rows)
        scale = np.maximum(np.abs(found), 0.0 if compiled is None else compiled.scale)
    if (
        expected.shape == found.shape
        and (np.abs(expected - found) <= _MOVED * np.maximum(scale, np.abs(expected))).all()
    ):
        return
    row = int(np.argmax(np.abs(expected - found).max(axis=1))) if expected.shape == found.shape else 0
    raise ModelError(
        f"{call.name} answers row {row}, as it was handed over (in a {type(handed).__name__}), with "
        f"{np.round(expected[row], 6).tolist()}, and the same row as it is read here with "
        f"{np.round(found[row], 6).tolist()}; pass the rows as a matrix or a DataFrame of the model's own columns "
        "and types"
    )


def only_numbers(frame: Any) -> bool:
    """Are all columns of a frame of pandas plain numbers?"""
    return all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes)


def _number(start: int, row: int) -> str:
    return f"number {start + row}"


def read_plain_model(
    model: Any,
    model_output: str = "auto",
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    probe: Any = None,
    inputs: Callable[[np.ndarray], Any] | None = None,
    features: Sequence[str] | None = None,
    table: CodedRows | None = None,
) -> PlainPredictor:
    """A model for rows of a data matrix.

    ``model`` and ``model_output`` mean the same as in :func:`~shap_asv.models.predictor.read_model`.
    ``feature_names`` name the columns of ndarrays of rows. ``probe``, a few rows of the background, is what the
    model is tried on: then a model that cannot work is an error here, and ``n_outputs``, ``output_names`` and the
    affine form of a linear model are known. ``inputs`` turns rows into what the model is called with.

    With ``features``, the columns of rows, a model of a tree library is read too, and by default that is explained
    which ``shap.TreeExplainer`` explains: the margin of boosted classifiers. With ``table``, some rows of codes
    and numbers, trees answer to such rows in compiled code.

    >>> predictor = read_plain_model(lambda X: X.sum(axis=1), probe=np.zeros((2, 3)))
    >>> predictor.n_outputs, predictor.predict(np.ones((2, 3)))
    (1, array([[3.],
           [3.]]))
    """
    trees = features is not None and table is None and made_of_trees(model)
    call = explained_call(model, model_output) if trees else choose_call(model, model_output)
    columns = None if call.method is None else known_columns(call.target)
    columns = own_spelling(call.target, columns, (*(features or ()), *(feature_names or ())))
    names = None if feature_names is None else tuple(str(name) for name in feature_names)
    predictor = PlainPredictor(call, columns, names, 0, None, inputs=inputs)
    if probe is None:
        return predictor
    tried, start = copy(probe), perf_counter()  # a copy: the model may write into what it is given
    answer, named = call.named(predictor.called_with(probe))
    check_finite(answer, call.name, partial(_number, 0))
    k = answer.shape[1]
    first = Timed(len(probe), perf_counter() - start)
    if first.seconds > _WARM:  # was that the model, or what it loads and compiles once?
        again, start = copy(tried), perf_counter()
        predictor.predict(again)
        first = Timed(len(probe), min(first.seconds, perf_counter() - start))
    predictor = replace(
        predictor, n_outputs=k, output_names=name_outputs(call, k, output_names or named), tried=tried, first_call=first
    )
    if table is not None and features is not None and inputs is not None:
        try:
            return replace(predictor, compiled=compile_trees(call, features, table, inputs, predictor.called_with))
        except NotSumOfProducts:  # then it is called as it was handed over
            pass
    try:
        if trees:
            assert features is not None
            return replace(predictor, trees=read_trees(model, model_output, features, inputs))
        return replace(predictor, affine=_affine_form(predictor, tried))
    except NotSumOfProducts as why:
        reason = _reason_in_front(model, model_output) if features is not None and table is None and not trees else None
        return replace(predictor, reason=reason or str(why))


def _reason_in_front(model: Any, model_output: str) -> str | None:
    """Why the trees at the end of a Pipeline are not read; None where there are none."""
    if not ends_in_trees(model):
        return None
    try:
        read_ensemble(model, model_output)
    except NotSumOfProducts as why:
        return str(why)
    return None


def _affine_form(predictor: PlainPredictor, probe: Any) -> Affine:
    if not isinstance(probe, np.ndarray) or probe.dtype.kind not in "iuf":
        raise NotSumOfProducts("the rows are not all numbers")
    whole = np.zeros(probe.shape[1], dtype=bool)
    if predictor.inputs is not None:
        shown = predictor.inputs(probe)
        whole[:] = getattr(getattr(shown, "dtype", None), "kind", "f") in "iu"
        # a category is a position in a list, and a row in between is not one
        for place, (name, dtype) in enumerate(getattr(shown, "dtypes", {}).items()):
            if getattr(dtype, "kind", "O") not in "iuf":
                raise NotSumOfProducts(f"column {name!r} does not hold numbers ({dtype})")
            whole[place] = dtype.kind in "iu"
    try:
        return read_affine(predictor.call, predictor.predict, probe, whole)
    except ModelError as error:  # rows beside those of the background may be too much for a step before the last
        raise NotSumOfProducts(str(error)) from error
