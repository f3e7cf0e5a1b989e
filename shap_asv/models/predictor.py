"""A model as the rest of the package sees it: rows in, a finite float64 matrix out, and what is known of its inside.

Over the states of a network rows are codes (:func:`read_model`), over a data matrix they are what the model eats
(:func:`read_plain_model`, further down).

``read_model`` finds out, once, at construction: which function of the model is called
(:mod:`~shap_asv.models.calls`), in which form it takes the states (:mod:`~shap_asv.models.forms`),
whether the steps before the final estimator are functions of one feature each
(:mod:`~shap_asv.models.inputs`), and whether the final estimator is a sum of products
(:mod:`~shap_asv.models.readers`). Everything that cannot work is an error there.
"""

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np

from shap_asv.errors import ModelError, RowsError
from shap_asv.frames import frame_columns, part
from shap_asv.models.calls import (
    FASTEST,
    ModelCall,
    Stages,
    Stopwatch,
    check_finite,
    describe,
    name_outputs,
    shorten,
    split_stages,
)
from shap_asv.models.forms import Path, apply_transformers, find_path, show_row
from shap_asv.models.inputs import CELLS, States, ask_varied, cover_rows, discover_columns, probe_rows
from shap_asv.models.linear import Affine, read_affine
from shap_asv.models.products import NotSumOfProducts, SumOfProducts
from shap_asv.models.readers import (
    choose_call,
    explained_call,
    known_columns,
    known_width,
    places_of_columns,
    read_products,
    reader_of,
)
from shap_asv.models.trees.compiled import CodedRows, CompiledTrees, compile_trees
from shap_asv.models.trees.form import (
    TreeForm,
    ends_in_trees,
    made_of_trees,
    place_trees,
    read_call,
)

# A row through a model that is known as a sum of products; measured on random forests.
_SECONDS_PER_TERM = 4e-10


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model over rows, of codes of states or of a table, and what is known of its inside; picklable when the user's
    model is.

    Attributes
    ----------
    path : Path or TablePath
        How rows become what the model is called with, and the function of the model that is explained.
    tried : ndarray, DataFrame or None
        Rows that the model is known to take.
    stopwatch : Stopwatch
        Has timed the model on them.
    n_outputs : int
        0 as long as no rows to try were given, see :func:`read_plain_model`.
    output_names : list of str or None
        The caller's names, or the classes of a classifier; None where they have no names.
    features, states : tuple of str, tuple of tuple or None
        The columns of rows that are codes, and the labels behind them; None for other rows.
    batch_size : int or None
        Rows per call of the model; None for as many as make 32 MiB of input.
    kind : {"tree", "linear", "black box"}
    products : SumOfProducts or None
        The model as a sum of products of one-feature functions over states, verified against the model.
    affine : Affine or None
        The model as an affine function of rows of numbers, verified against the model.
    trees : TreeForm or None
        The model as an ensemble of trees over rows of numbers, verified against the model.
    reason : str
        Why none of these is known, a sentence for the plan; empty otherwise.
    compiled : CompiledTrees or None
        What answers to rows in place of the model: its trees, where its library would need a DataFrame of them.
    """

    path: "Path | TablePath" = field(repr=False)
    tried: Any = field(default=None, repr=False)
    stopwatch: Stopwatch = field(default_factory=lambda: Stopwatch(1, 0.0), repr=False)
    n_outputs: int = 0
    output_names: list[str] | None = None
    features: tuple[str, ...] = ()
    states: tuple[tuple[Any, ...], ...] | None = None
    batch_size: int | None = None
    kind: str = "black box"
    products: SumOfProducts | None = None
    affine: Affine | None = None
    trees: TreeForm | None = None
    reason: str = ""
    compiled: CompiledTrees | None = field(default=None, repr=False)

    @property
    def call(self) -> ModelCall:
        return self.path.call

    @property
    def evaluated(self) -> str:
        """How its answers come about where the model itself is not called, for the plan; empty otherwise."""
        return "" if self.compiled is None else self.compiled.describe()

    def seconds(self, n_rows: int, n_calls: int) -> float:
        """What asking the model will take (:class:`Stopwatch`); what is a sum of products is not asked, nor timed."""
        if self.products is not None:
            return n_rows * (FASTEST + self.products.n_terms * _SECONDS_PER_TERM)
        if self.compiled is not None:
            return self.compiled.seconds(n_rows)
        return self.stopwatch.seconds(partial(ask_varied, self.predict, self.tried), n_rows, n_calls)

    def predict(self, rows: Any) -> np.ndarray:
        """M at rows, or at a DataFrame (q, n) -> float64 (q, k), in calls of at most ``batch_size`` rows.

        ModelError when the model raises, returns NaN or infinities, or an array of another shape than before.
        """
        if len(rows) == 0:
            return np.empty((0, self.n_outputs or 1))
        if self.compiled is not None and not hasattr(rows, "columns"):
            return self.compiled(np.asarray(rows, dtype=np.float64))
        size = self.batch_size or max(1, CELLS // max(1, np.shape(rows)[-1]))
        blocks, name = [], self.call.name
        for start in range(0, len(rows), size):
            outputs = self.path((rows.iloc if hasattr(rows, "iloc") else rows)[start : start + size])
            check_finite(outputs, name, lambda row, start=start: self.show(rows, start + row))  # type: ignore[misc]
            blocks.append(outputs)
        widths = {outputs.shape[1] for outputs in blocks} | ({self.n_outputs} - {0})
        if len(widths) > 1:
            raise ModelError(f"{name} returned {sorted(widths)} outputs in different calls")
        return np.concatenate(blocks)

    def show(self, rows: Any, row: int) -> str:
        """One of the rows for a message, as the model sees it: ``number 3, age=41.0, sex='f'``, cut after eight."""
        if self.states is not None:
            return show_row(rows[row], self.features, self.states)
        seen = self.path.prepare((rows.iloc if hasattr(rows, "iloc") else rows)[row : row + 1])
        if not hasattr(seen, "iloc"):
            return f"number {row}, {np.asarray(seen[0]).ravel()[:8].tolist()}"
        return ", ".join([f"number {row}", *(f"{name}={value!r}" for name, value in seen.iloc[0, :8].items())])


def read_model(
    model: Any,
    features: Sequence[str],
    states: States,
    encoder: Any = None,
    model_output: str = "auto",
    output_names: Sequence[str] | None = None,
    values: tuple[Sequence[Any], Sequence[Any] | None] | None = None,
) -> Predictor:
    """Find out how ``model`` is to be called on states, and write it as a sum of products if it is one.

    Parameters
    ----------
    model : estimator or callable
        Anything with ``predict_proba`` / ``predict`` (scikit-learn, Pipeline, XGBoost, LightGBM, CatBoost), a bound
        method, or any callable that takes a DataFrame or an ndarray of q rows and returns q numbers or vectors.
    features : sequence of str
        The features, in the order of the columns of codes. A model that knows column names gets them by name.
    states : sequence of sequences
        ``states[v]`` are the labels of feature v.
    encoder : fitted transformer or mapping, optional
        How states become what the model takes: an OrdinalEncoder, OneHotEncoder, ColumnTransformer, ..., or
        ``{feature: {label: number}}``, or ``{label: number}`` for all features.
    model_output : {"auto", "raw", "probability"}
        ``"auto"``: predict_proba for classifiers, else predict. ``"probability"``: predict_proba. ``"raw"``: what
        the model adds up, i.e. the margin of boosted classifiers, the log-odds of logistic regression, the
        decision_function of other classifiers, the averaged probabilities of forests. A callable is called as it is.
    output_names : sequence of str, optional
    values : (arrays, keys), optional
        What each state is to the model, one array per feature, and the labels of the columns (None for plain arrays);
        by default it is found out.

    Returns
    -------
    Predictor

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> predictor = read_model(tree, ["a", "b"], [["no", "yes"], ["no", "yes"]], encoder={"no": 0, "yes": 1})
    >>> predictor.kind, predictor.products.n_terms, predictor.output_names
    ('tree', 3, ['0', '1'])
    >>> predictor.predict(np.array([[1, 1], [0, 1]]))
    array([[0., 1.],
           [1., 0.]])
    """
    names, labels = tuple(features), tuple(map(tuple, states))
    call = choose_call(model, model_output)
    path = find_path(call, names, labels, encoder, values)
    cards = tuple(len(s) for s in labels)
    kind, products, reason = "black box", None, ""
    try:
        path, final = shortcut(path, cards)
        if call.method is None:
            raise NotSumOfProducts(f"{call.name} is a callable, which cannot be looked into")
        kind, products = read_products(final, path.inputs, cards, path.call, path)
    except NotSumOfProducts as why:
        reason = str(why)
    cover, start = cover_rows(cards), perf_counter()
    answer, named = path.call.named(path.prepare(cover))
    n_outputs = answer.shape[1]
    seconds = perf_counter() - start
    return Predictor(
        path,
        cover,
        Stopwatch(len(cover), seconds),
        n_outputs,
        name_outputs(call, n_outputs, output_names or named),
        names,
        labels,
        max(1, CELLS // max(1, path.inputs.n_columns)),
        kind,
        products,
        reason=reason,
    )


def shortcut(path: Path, cardinalities: tuple[int, ...]) -> tuple[Path, Any]:
    """Past the transformers: tables from states straight to the columns of the final estimator.

    Returns the shorter path, checked against the long one, and the final estimator. NotSumOfProducts when the
    transformers mix features or do not end in numbers.
    """
    target = path.call.target
    stages = Stages((), target) if path.call.method is None else split_stages(target)
    transformers = path.transformers + stages.transformers
    reader = None if path.call.method is None else reader_of(stages.final)
    dtype = np.float32 if reader is not None and reader.float32 else None
    if not transformers:
        inputs = replace(path.inputs, dtype=dtype) if path.inputs.numeric else path.inputs
        return Path(inputs, (), path.call.on(stages.final)), stages.final
    try:
        columns = discover_columns(lambda codes: apply_transformers(transformers, path.inputs(codes)), cardinalities)
        if known_columns(stages.final) != columns.names and known_width(stages.final) is not None:
            columns = replace(columns, names=None)
        short = Path(replace(columns, dtype=dtype), (), path.call.on(stages.final))
        rows = probe_rows(cardinalities)
        expected, found = path(rows), short(rows)
    except NotSumOfProducts:
        raise
    except Exception as error:  # a step of the user's own may raise on rows that do not occur
        raise NotSumOfProducts(
            f"the steps before {describe(stages.final)} raised {type(error).__name__} on probe rows: "
            f"{shorten(error, 120)}"
        ) from error
    if expected.shape != found.shape or not np.allclose(found, expected, rtol=1e-6, atol=1e-9, equal_nan=True):
        raise NotSumOfProducts(f"the final step {describe(stages.final)} alone does not give the output of the model")
    return short, stages.final


# --- over the rows of a matrix ----------------------------------------------------------------------------------------
#
# This is the shap way of using a model: the background is an ndarray or a DataFrame, and so are the rows. No states:
# the rows are what the model eats.

# A model's answers to a row as it was handed over and as it was read differ by rounding, relative to what adds up.
_MOVED = 1e-5
# A first call that takes longer than this is made twice before its time is believed.
_WARM = 0.1


@dataclass(frozen=True, eq=False)
class TablePath:
    """How rows of a table become outputs.

    Attributes
    ----------
    call : ModelCall
    columns : tuple of str or None
        The model's own column names: rows are handed over as a DataFrame in that order.
    feature_names : tuple of str or None
        Names of the columns of an ndarray of rows.
    inputs : callable or None
        Turns rows into what the model is called with.
    """

    call: ModelCall
    columns: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    inputs: Callable[[np.ndarray], Any] | None = field(default=None, repr=False)

    def __call__(self, rows: Any) -> np.ndarray:
        return self.call(self.prepare(rows))

    def prepare(self, rows: Any) -> Any:
        """What the model is called with for rows, or for a DataFrame."""
        return self.dress(rows if self.inputs is None or hasattr(rows, "columns") else self.inputs(rows))

    @cached_property
    def by_position(self) -> bool:
        """Was the model fitted on an array? Then it has no use for names, and scikit-learn warns of them."""
        return self.columns is None and self.call.method is not None and known_width(self.call.target) is not None

    def dress(self, rows: Any) -> Any:
        """Rows of any kind; where the model knows columns by name, in its own order and under its own names."""
        framed, sparse = hasattr(rows, "columns"), hasattr(rows, "tocsr")
        if not framed and not sparse:
            rows = np.asarray(rows)
            if rows.ndim != 2:
                raise ModelError(f"rows must be a matrix (rows, features); got shape {rows.shape}")
        if self.columns is None:
            plain = self.by_position and hasattr(rows, "iloc") and only_numbers(rows)
            return rows.to_numpy() if plain else rows
        given = list(self.feature_names or self.columns) if not framed else frame_columns(rows) or []
        if hasattr(rows, "iloc") and tuple(given) == self.columns:
            return rows
        place = places_of_columns(self.columns, len(self.columns), given, rows.shape[1], self.call.name)
        if sparse:
            return rows.tocsr()[:, place]
        if framed and not hasattr(rows, "iloc"):
            return part(rows, len(rows), place)
        import pandas as pd

        rows = rows if framed else pd.DataFrame(rows, copy=False)
        rows = rows if place == list(range(rows.shape[1])) else rows.iloc[:, place]
        return rows.set_axis([str(name) for name in self.columns], axis=1)


def predictor_of_trees(trees: TreeForm, probe: np.ndarray | None, output_names: Sequence[str] | None) -> Predictor:
    """A model that is known through its trees: rows are the numbers that their nodes compare, such as ``probe``."""
    path = TablePath(trees.call, known_columns(trees.call.target), trees.features, trees.decode)
    n_outputs = trees.own.n_outputs
    names = name_outputs(trees.call, n_outputs, output_names)
    return Predictor(path, probe, n_outputs=n_outputs, output_names=names, kind="tree", trees=trees)


def check_answers(predictor: Predictor, rows: np.ndarray, handed: Any) -> None:
    """ModelError where the model answers ``handed``, the first rows of a call as they came in, otherwise than ``rows``,
    what was read of them: by its trees or weights, or for a black box that is not called with rows of that kind.

    Where it does not take rows of that kind there is nothing to compare. One call of a few rows.
    """
    trees, affine, compiled, call = predictor.trees, predictor.affine, predictor.compiled, predictor.call
    plain = isinstance(handed, np.ndarray) or hasattr(handed, "iloc")
    if handed is None or not isinstance(predictor.path, TablePath):
        return
    if plain and trees is None and affine is None and compiled is None:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = call(predictor.path.dress(handed))
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


def read_plain_model(
    model: Any,
    model_output: str = "auto",
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    probe: Any = None,
    inputs: Callable[[np.ndarray], Any] | None = None,
    features: Sequence[str] | None = None,
    table: CodedRows | None = None,
) -> Predictor:
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
    names = None if feature_names is None else tuple(str(name) for name in feature_names)
    path = TablePath(call, columns, names, inputs)
    if probe is None:
        return Predictor(path)
    tried, start = copy(probe), perf_counter()  # a copy: the model may write into what it is given
    answer, named = call.named(path.prepare(probe))
    check_finite(answer, call.name, partial(Predictor(path).show, tried))
    k = answer.shape[1]
    seconds = perf_counter() - start
    if seconds > _WARM:  # was that the model, or what it loads and compiles once?
        again, start = copy(tried), perf_counter()
        path(again)
        seconds = min(seconds, perf_counter() - start)
    predictor = Predictor(path, tried, Stopwatch(len(probe), seconds), k, name_outputs(call, k, output_names or named))
    if table is not None and features is not None and inputs is not None:
        try:
            return replace(predictor, compiled=compile_trees(call, features, table, inputs, path.prepare))
        except NotSumOfProducts:  # then it is called as it was handed over
            pass
    try:
        if features is not None and table is None and ends_in_trees(model):
            read = place_trees(read_call(call), call, features, inputs)
            read.numbers(probe)
            return replace(predictor, kind="tree", trees=read)
        return replace(predictor, kind="linear", affine=_affine_form(path, tried))
    except (NotSumOfProducts, RowsError) as why:
        return replace(predictor, reason=str(why))


def _affine_form(path: TablePath, probe: Any) -> Affine:
    if not isinstance(probe, np.ndarray) or probe.dtype.kind not in "iuf":
        raise NotSumOfProducts("the rows are not all numbers")
    whole = np.zeros(probe.shape[1], dtype=bool)
    if path.inputs is not None:
        shown = path.inputs(probe)
        whole[:] = getattr(getattr(shown, "dtype", None), "kind", "f") in "iu"
        # a category is a position in a list, and a row in between is not one
        for place, (name, dtype) in enumerate(getattr(shown, "dtypes", {}).items()):
            if getattr(dtype, "kind", "O") not in "iuf":
                raise NotSumOfProducts(f"column {name!r} does not hold numbers ({dtype})")
            whole[place] = dtype.kind in "iu"
    try:
        return read_affine(path.call, Predictor(path).predict, probe, whole)
    except ModelError as error:  # rows beside those of the background may be too much for a step before the last
        raise NotSumOfProducts(str(error)) from error


# --- what value methods read of a model -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """What a value method reads of a model; ``what`` completes the sentence "the model is not ..."."""

    read: Callable[[Predictor], object]
    kinds: tuple[str, ...]
    what: str

    def obstacle(self, predictor: Predictor) -> str | None:
        if self.read(predictor) is None:
            return predictor.reason or f"the model is not {self.what}"
        return None if not self.kinds or predictor.kind in self.kinds else f"the model is not {self.what}"


BLACK_BOX = Form(lambda model: model, (), "a model")
TREES = Form(lambda model: model.products, ("tree",), "a tree ensemble")
LINEAR = Form(lambda model: model.products, ("linear",), "linear")
PRODUCTS = Form(lambda model: model.products, ("tree", "linear"), "a tree ensemble or linear")
ENSEMBLE = Form(lambda model: model.trees, ("tree",), "a tree ensemble that is read")
AFFINE = Form(lambda model: model.affine, ("linear",), "linear in its numbers")
