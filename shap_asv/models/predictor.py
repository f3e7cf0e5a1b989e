"""A model as the rest of the package sees it: state codes in, a float64 matrix out, and its sum of products if it
has one.

``read_model`` finds out, once, at construction: which function of the model is called
(:mod:`~shap_asv.models.calls.outputs`), in which form it takes the states (:mod:`~shap_asv.models.calls.forms`),
whether the steps before the final estimator are functions of one feature each
(:mod:`~shap_asv.models.calls.inputs`), and whether the final estimator is a sum of products
(:mod:`~shap_asv.models.readers`). Everything that cannot work is an error there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from shap_asv.errors import EncodingError, ModelError
from shap_asv.models.calls.forms import Path, find_path, show_row
from shap_asv.models.calls.inputs import CELLS, States, ask_varied, cover_rows, discover_columns, probe_rows
from shap_asv.models.calls.outputs import ModelCall, Stages, check_finite, describe, name_outputs, shorten, split_stages
from shap_asv.models.calls.speed import FASTEST, Stopwatch, Timed
from shap_asv.models.pipelines import apply_transformers
from shap_asv.models.products import NotSumOfProducts, SumOfProducts
from shap_asv.models.readers import choose_call, known_columns, known_width, read_products, reader_of

# A row through a model that is known as a sum of products; measured on random forests.
_SECONDS_PER_TERM = 4e-10


@dataclass(frozen=True, eq=False)
class CodedPredictor:
    """A model over codes of states; picklable when the user's model is.

    Attributes
    ----------
    features : tuple of str
    states : tuple of tuple
    n_outputs, output_names, kind, products, affine, trees, reason
        As in :class:`~shap_asv.models.contract.Predictor`.
    batch_size : int
        Rows per call of the model: as many as make 32 MiB of input.
    first_call : Timed
        How long the model took for its first few rows.
    whole : Path or None
        The way through the whole model, where ``path`` is a shorter one.
    """

    features: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]
    n_outputs: int
    output_names: list[str] | None
    kind: str
    products: SumOfProducts | None
    reason: str
    batch_size: int
    path: Path = field(repr=False)
    first_call: Timed = field(default=Timed(1, 0.0), repr=False)
    whole: Path | None = field(default=None, repr=False)

    absent: ClassVar[float] = 0.0
    affine: ClassVar[None] = None
    trees: ClassVar[None] = None
    evaluated: ClassVar[str] = ""

    @property
    def call(self) -> ModelCall:
        return self.path.call

    @property
    def cardinalities(self) -> tuple[int, ...]:
        return tuple(len(labels) for labels in self.states)

    def seconds(self, n_rows: int, n_calls: int) -> float:
        """What asking a black box will take (:class:`Stopwatch`); other models need not be asked, and are not timed."""
        if self.products is not None:
            return n_rows * (FASTEST + self.products.n_terms * _SECONDS_PER_TERM)
        return self._stopwatch.seconds(n_rows, n_calls)

    @cached_property
    def _stopwatch(self) -> Stopwatch:
        rows = cover_rows(self.cardinalities)  # which the model is known to take
        return Stopwatch(partial(ask_varied, self.predict, rows), self.first_call)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_stopwatch"}

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """M at rows of state codes (q, n) -> float64 (q, k), in calls of at most ``batch_size`` rows.

        ModelError when the model raises, returns NaN or infinities, or an array of another shape than before.
        """
        codes = np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != len(self.features) or codes.dtype.kind not in "iu":
            raise ModelError(
                f"codes must be an integer array (rows, {len(self.features)}); got {codes.dtype} of shape {codes.shape}"
            )
        # as unsigned numbers negative codes are huge, so one pass finds both ends
        if len(codes) and (codes.view(f"u{codes.dtype.itemsize}").max(axis=0) >= self.cardinalities).any():
            raise ModelError("codes hold a number that is not a position in its feature's states")
        outputs = np.empty((len(codes), self.n_outputs))
        for start in range(0, len(codes), self.batch_size):
            block = codes[start : start + self.batch_size]
            answer = self.path(block)
            if answer.shape[1] != self.n_outputs:
                raise ModelError(
                    f"{self.path.call.name} returned {answer.shape[1]} outputs, but {self.n_outputs} when it was "
                    f"first called"
                )
            check_finite(answer, self.path.call.name, partial(self._show, block))
            outputs[start : start + self.batch_size] = answer
        return outputs

    def answers(self, table: Any) -> np.ndarray:
        """The model's own outputs (q, k) for a table whose columns are the features: not through states."""
        path = self.whole or self.path
        place = path.inputs.source
        return path.call(table.iloc[:, place] if hasattr(table, "iloc") else table[:, place])

    def _show(self, codes: np.ndarray, row: int) -> str:
        return show_row(codes[row], self.features, self.states)


def read_model(
    model: Any,
    features: Sequence[str],
    states: States,
    encoder: Any = None,
    model_output: str = "auto",
    output_names: Sequence[str] | None = None,
    values: tuple[Sequence[Any], Sequence[Any] | None] | None = None,
) -> CodedPredictor:
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
    CodedPredictor

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
    names, labels = check_states(features, states)
    call = choose_call(model, model_output)
    path = whole = find_path(call, names, labels, encoder, values)
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
    first = Timed(len(cover), perf_counter() - start)
    return CodedPredictor(
        names,
        labels,
        n_outputs,
        name_outputs(call, n_outputs, output_names or named),
        kind,
        products,
        reason,
        max(1, CELLS // max(1, path.inputs.n_columns)),
        path,
        first,
        whole,
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


def check_states(features: Sequence[str], states: States) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Features and states as tuples; EncodingError when they do not fit each other."""
    names, labels = tuple(features), tuple(tuple(s) for s in states)
    if not names or len(names) != len(labels):
        raise EncodingError(f"{len(names)} features need as many tuples of states; got {len(labels)}")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise EncodingError(f"feature {repeated[0]!r} occurs twice")
    for name, own in zip(names, labels, strict=True):
        if not own:
            raise EncodingError(f"feature {name!r} has no states")
    return names, labels
