"""A tree ensemble over the features of a problem: the trees that a library grew, with columns in feature order.

A model counts its columns in the order it was fitted on, features are counted in the order of the background. Here the
two are matched once, by name where the model knows names, so that the rest of the package sees trees over features:
rows become the numbers that the nodes compare, and numbers become what the model itself takes.

``read_ensemble`` explains what ``shap.TreeExplainer`` explains: the margin of boosted classifiers (one output for two
classes), the class probabilities of scikit-learn's trees and forests, the prediction of regressors. As everywhere in
this room no parser is believed: the ensemble is compared with the model's own output on rows that sit on thresholds,
just above them, inside leaves, and on missing values where the model takes them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.errors import ModelError, RowsError
from shap_asv.models.calls import ModelCall, describe, last_step, shorten, split_stages
from shap_asv.models.inputs import SEED
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import (
    Reader,
    believe,
    explained_call,
    known_columns,
    places_of_columns,
    reader_of,
    reading,
)
from shap_asv.models.trees.ensembles import (
    FloatEnsemble,
    HashedLabels,
    Labels,
    labels_of_numbers,
    numbers_of_labels,
)
from shap_asv.models.trees.transformers import before_steps

#: Probe rows of each kind: random ones, rows inside leaves, and both again with missing values.
_PROBES = 192


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
        labels: list[Labels | None] = [None] * n
        zero_missing = np.zeros(n, dtype=bool)
        zero_missing[self.place] = self.own.zero_missing
        for j, own in zip(self.place.tolist(), self.own.labels, strict=True):
            labels[j] = own
        column = np.where(self.own.left >= 0, self.place[np.maximum(self.own.column, 0)], -1)
        return replace(self.own, column=column, zero_missing=zero_missing, labels=tuple(labels))

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Rows (r, n) of the background -> float64 (r, n) as the nodes compare them."""
        numbers = np.asarray(rows, dtype=np.float64) if self.inputs is None else self.code(self.inputs(rows))
        self._check_missing(numbers)
        return numbers

    def code(self, table: Any) -> np.ndarray:
        """A table as the model takes it, columns in feature order -> float64 (r, n); other columns are zero."""
        coded = np.zeros((len(table), len(self.features)))
        hashed = {labels: len(labels.met) for labels in self.own.labels if isinstance(labels, HashedLabels)}
        own = table.iloc[:, self.place] if hasattr(table, "iloc") else np.asarray(table)[:, self.place]
        try:
            coded[:, self.place] = self.own.rows(own)
        except RowsError:
            raise
        except (TypeError, ValueError) as error:
            raise RowsError(f"the rows are not numbers, as {describe(self.call.target)} takes them: {error}") from error
        reader = reader_of(self.call.target)
        if any(len(labels.met) > n for labels, n in hashed.items()):  # the model was not asked about these before
            assert reader is not None
            try:
                verify_ensemble(self.own, self.call, reader.tolerance)
            except NotSumOfProducts as why:
                for labels, n in hashed.items():
                    labels.forget(n)
                raise ModelError(str(why)) from None
        if reader is None or reader.refuses:  # an encoder in front refuses, too
            self._check_labels(own, coded[:, self.place])
        return coded

    def _check_labels(self, own: Any, coded: np.ndarray) -> None:
        """RowsError at a category that the model refuses."""
        for j, labels in enumerate(self.own.labels):
            if labels is None or isinstance(labels, HashedLabels) or not np.isnan(coded[:, j]).any():
                continue
            column = own.iloc[:, j] if hasattr(own, "iloc") else own[:, j]
            for i in np.flatnonzero(np.isnan(coded[:, j])):
                value = column.iloc[i] if hasattr(column, "iloc") else column[i]
                if value is not None and value == value:
                    raise RowsError(
                        f"row {i}: {value!r} is not a category of {self.features[self.place[j]]!r} that "
                        f"{describe(self.call.target)} was fitted with: {', '.join(map(repr, labels))}"
                    )

    def shown(self, numbers: np.ndarray) -> np.ndarray | None:
        """Numbers (r, n) with the model's own labels in their place, ``"blue"`` rather than 2; None without labels."""
        if not any(self.ensemble.labels):
            return None
        shown = numbers.astype(object)
        for j, labels in enumerate(self.ensemble.labels):
            if labels is not None:
                known = labels_of_numbers(labels)
                shown[:, j] = [known.get(number) for number in numbers[:, j].tolist()]
        return shown

    def decode(self, numbers: np.ndarray) -> Any:
        """Numbers (r, n) -> what the model is called with, its columns in its own order."""
        return as_model_takes(self.own, self.call.target, np.asarray(numbers, dtype=np.float64)[:, self.place])

    def _check_missing(self, numbers: np.ndarray) -> None:
        if self.own.refuses_missing is None:
            return
        wrong = np.isnan(numbers[:, self.place]).any(axis=0) & self.own.refuses_missing
        if wrong.any():
            name = self.features[self.place[np.flatnonzero(wrong)[0]]]
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
    reader = reader_of(final)
    return reader is not None and reader.parse is not None


def _owner(model: Any) -> Any:
    has_answers = hasattr(model, "predict") or hasattr(model, "predict_proba")
    return model if has_answers else getattr(model, "__self__", None)


def place_trees(
    own: FloatEnsemble,
    call: ModelCall,
    features: Sequence[str],
    inputs: Callable[[np.ndarray], Any] | None = None,
) -> TreeForm:
    """Trees that were read of the target of ``call`` over ``features``."""
    final = split_stages(call.target).final
    columns, n = known_columns(call.target), own.n_columns
    place = np.array(places_of_columns(columns, n, features, len(features), describe(final)))
    whole = bool(split_stages(call.target).transformers)
    return TreeForm(own, place, tuple(features), call if whole else call.on(final), inputs)


def absent_entry(model: Any) -> float:
    """What an entry is to the model that a sparse matrix does not hold; a transformer in front sees zeros."""
    owner = _owner(model)
    if owner is None or isinstance(owner, type):
        return 0.0
    stages = split_stages(owner)
    reader = reader_of(stages.final)
    return 0.0 if stages.transformers or reader is None else reader.absent


# --- reading and verifying ------------------------------------------------------------------------------------------


def read_ensemble(model: Any, model_output: str = "auto") -> FloatEnsemble:
    """The trees of a model, verified against the model itself.

    Parameters
    ----------
    model : estimator, Booster, or bound method of one
    model_output : {"auto", "raw", "probability"}
        "auto" and "raw" are what shap.TreeExplainer explains. "probability" can be had from models that average
        probabilities (trees and forests of scikit-learn).

    Raises
    ------
    NotSumOfProducts
        With a sentence that says why: no trees, probabilities of a boosted model, a transformer in front that mixes
        columns, or what was parsed differs from the model's own output.
    ModelError
        The model is not fitted.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> ensemble = read_ensemble(DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0]], [0.0, 0.0, 3.0]))
    >>> ensemble.n_trees, ensemble.n_leaves, ensemble.predict(np.array([[1.0, 0.0], [0.5, 7.0]])).ravel().tolist()
    (1, 2, [3.0, 0.0])
    """
    return read_call(explained_call(model, model_output))


def read_call(call: ModelCall) -> FloatEnsemble:
    """The trees that add up to what ``call`` answers, over the columns that its model takes."""
    trees, stages = read_last_step(call), split_stages(call.target)
    if not stages.transformers:
        return trees
    reader = reader_of(stages.final)
    assert reader is not None
    try:
        trees = before_steps(trees, call.target, stages.transformers, reader.absent)
        return verify_ensemble(trees, call, reader.tolerance)
    except NotSumOfProducts as why:
        raise NotSumOfProducts(f"{why}; explain the last step on transformed rows instead") from None


def read_last_step(call: ModelCall) -> FloatEnsemble:
    """The trees that the last step of a model adds up, over the columns that this step takes."""
    if call.method is None:
        raise NotSumOfProducts(f"{call.name} is a callable, which cannot be looked into")
    estimator = last_step(call.target)
    call = call.on(estimator)

    def read(reader: Reader) -> FloatEnsemble:
        assert reader.parse is not None
        return verify_ensemble(reader.parse(estimator, call), call, reader.tolerance)

    reader = reader_of(estimator)
    return reading(
        reader if reader is not None and reader.parse is not None else None,
        estimator,
        call,
        read,
        "not a tree ensemble",
    )


def verify_ensemble(ensemble: FloatEnsemble, call: ModelCall, tolerance: float) -> FloatEnsemble:
    """Compare with the model's own output on probe rows; NotSumOfProducts when they differ."""
    rng = np.random.default_rng(SEED)
    name = describe(call.target)
    plain = probe_numbers(ensemble, rng)
    batches = [plain]
    holes = np.where(rng.random(plain.shape) < 0.15, np.nan, plain)
    try:
        expected = [call(as_model_takes(ensemble, call.target, plain))]
    except ModelError as error:
        raise NotSumOfProducts(f"{name} does not take rows of numbers: {shorten(error, 160)}") from error
    missing = _answer(ensemble, call, holes)
    if missing is None:  # one column after the other
        alone = [np.where(np.arange(holes.shape[1]) == j, holes, plain) for j in range(holes.shape[1])]
        refuses = np.array([_answer(ensemble, call, one) is None for one in alone])
        holes = np.where(refuses, plain, holes)
        missing = None if refuses.all() else _answer(ensemble, call, holes)
        ensemble = replace(ensemble, refuses_missing=refuses | (missing is None))
    if missing is not None and np.isfinite(missing).all():
        batches.append(holes)
        expected.append(missing)
    rows, outputs = np.concatenate(batches), np.concatenate(expected)
    values, offset = ensemble.values, ensemble.offset
    read, absolute = ensemble.add_up(rows, (values, offset), (np.abs(values), np.abs(offset)))
    return believe(ensemble, lambda _: read, lambda _: absolute, rows, outputs, tolerance, name)


def _answer(ensemble: FloatEnsemble, call: ModelCall, rows: np.ndarray) -> np.ndarray | None:
    """What the model says of rows with gaps; None where it takes none."""
    try:
        return call(as_model_takes(ensemble, call.target, rows))
    except ModelError:
        return None


def probe_numbers(ensemble: FloatEnsemble, rng: np.random.Generator) -> np.ndarray:
    """Rows of numbers (q, n_columns): random ones on and next to thresholds, and rows that reach random leaves."""
    pools = [candidates(ensemble, j) for j in range(ensemble.n_columns)]
    compared = [ensemble.rounding(j)(pool) for j, pool in enumerate(pools)]
    rows = np.stack([rng.choice(pool, 2 * _PROBES) for pool in pools], axis=1)
    parent = np.full(len(ensemble.left), -1, dtype=np.int64)
    inner = np.flatnonzero(ensemble.left >= 0)
    parent[ensemble.left[inner]] = inner
    parent[ensemble.right[inner]] = inner
    leaves = rng.permutation(np.flatnonzero(ensemble.left < 0))[:_PROBES]
    for row, leaf in zip(rows, leaves.tolist(), strict=False):
        allowed: dict[int, np.ndarray] = {}
        below, node = leaf, int(parent[leaf])
        while node >= 0:
            j = int(ensemble.column[node])
            places = allowed.get(j, np.arange(len(pools[j])))
            left = ensemble.goes_left(np.full(len(places), node), compared[j][places])
            allowed[j] = places[left == (ensemble.left[node] == below)]
            below, node = node, int(parent[node])
        for j, places in allowed.items():
            if len(places):  # no number at all where splits contradict each other
                row[j] = pools[j][rng.choice(places)]
    return rows


def candidates(ensemble: FloatEnsemble, column: int) -> np.ndarray:
    """Numbers that the nodes on a column tell apart: thresholds, their neighbours, categories."""
    labels = ensemble.labels[column]
    if labels is not None:
        return np.unique(np.array(list(numbers_of_labels(labels).values()), dtype=np.float64))
    nodes = (ensemble.left >= 0) & (ensemble.column == column)
    sets = np.unique(ensemble.category_set[nodes])
    if (sets >= 0).any():
        known = np.unique(np.concatenate([ensemble.sets[s] for s in sets if s >= 0]))
        return np.append(known, known.max(initial=0) + 1).astype(np.float64)
    thresholds = np.unique(ensemble.threshold[nodes])
    thresholds = thresholds[np.isfinite(thresholds)]
    if not len(thresholds):
        return np.array([0.0, 1.0])
    with np.errstate(over="ignore"):
        above = np.nextafter(thresholds.astype(ensemble.dtype), ensemble.dtype(np.inf)).astype(np.float64)
    middle = (thresholds[1:] + thresholds[:-1]) / 2
    pool = np.concatenate([thresholds, above, middle, [thresholds[0] - 1, thresholds[-1] + 1]])
    return np.append(pool, ensemble.missing)[np.isfinite(np.append(pool, ensemble.missing))]


def as_model_takes(ensemble: FloatEnsemble, model: Any, rows: np.ndarray) -> Any:
    """Numbers back to what the model was fitted on: names, and labels where columns have them."""
    names = known_columns(model)
    if names is None and not any(ensemble.labels):
        return rows
    import pandas as pd

    columns = []
    for j, labels in enumerate(ensemble.labels):
        if labels is None:
            columns.append(pd.Series(rows[:, j]))
            continue
        known = labels_of_numbers(labels)
        shown = pd.Series(rows[:, j]).map(known)
        columns.append(pd.Series(pd.Categorical(shown, categories=list(known.values()))))
    frame = pd.concat(columns, axis=1)
    if names is None:
        return frame.to_numpy(dtype=np.float64)
    return frame.set_axis(list(names), axis=1)
