"""Reading a tree model for rows of numbers, and checking that what was read is the model.

``read_ensemble`` explains what ``shap.TreeExplainer`` explains: the margin of boosted classifiers (one output for two
classes), the class probabilities of scikit-learn's trees and forests, the prediction of regressors. As everywhere in
this room no parser is believed: the ensemble is compared with the model's own output on rows that sit on thresholds,
just above them, inside leaves, and on missing values where the model takes them.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.errors import ModelError
from shap_asv.models.calls.outputs import ModelCall, choose_call, describe, shorten
from shap_asv.models.calls.probes import SEED
from shap_asv.models.pipelines import known_columns, split_stages
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import READERS, Reader, believe, first_that_reads
from shap_asv.models.trees.ensembles import FloatEnsemble

#: Probe rows of each kind: random ones, rows inside leaves, and both again with missing values.
_PROBES = 192


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
        With a sentence that says why: no trees, probabilities of a boosted model, a transformer in front, or what was
        parsed differs from the model's own output.
    ModelError
        The model is not fitted.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> ensemble = read_ensemble(DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0]], [0.0, 0.0, 3.0]))
    >>> ensemble.n_trees, ensemble.n_leaves, ensemble.predict(np.array([[1.0, 0.0], [0.5, 7.0]])).ravel().tolist()
    (1, 2, [3.0, 0.0])
    """
    call = explained_call(model, model_output)
    if call.method is None:
        raise NotSumOfProducts(f"{call.name} is a callable, which cannot be looked into")
    stages = split_stages(call.target)
    if stages.transformers:
        first = describe(stages.transformers[0])
        raise NotSumOfProducts(
            f"{first} stands in front of {describe(stages.final)}: the trees do not see the columns of the rows; "
            f"explain the last step on transformed rows instead"
        )
    estimator, call = stages.final, call.on(stages.final)

    def read(reader: Reader) -> FloatEnsemble:
        assert reader.parse is not None
        return verify_ensemble(reader.parse(estimator, call), call, reader.tolerance)

    parsers = [reader for reader in READERS if reader.parse is not None]
    return first_that_reads(parsers, estimator, call, read, "not a tree ensemble")


def explained_call(model: Any, model_output: str) -> ModelCall:
    """The function of the model that TreeExplainer explains; a bound method is taken at its word."""
    estimator = hasattr(model, "predict") or hasattr(model, "predict_proba")
    if model_output != "auto" or not estimator:
        return choose_call(model, model_output)
    return choose_call(model, "raw")


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
    try:
        missing = call(as_model_takes(ensemble, call.target, holes))
        if np.isfinite(missing).all():
            batches.append(holes)
            expected.append(missing)
    except ModelError:
        ensemble = replace(ensemble, takes_missing=False)
    rows, outputs = np.concatenate(batches), np.concatenate(expected)
    values, offset = ensemble.values, ensemble.offset
    read, absolute = ensemble.add_up(rows, (values, offset), (np.abs(values), np.abs(offset)))
    return believe(ensemble, lambda _: read, lambda _: absolute, rows, outputs, tolerance, name)


def probe_numbers(ensemble: FloatEnsemble, rng: np.random.Generator) -> np.ndarray:
    """Rows of numbers (q, n_columns): random ones on and next to thresholds, and rows that reach random leaves."""
    pools = [candidates(ensemble, j) for j in range(ensemble.n_columns)]
    compared = [ensemble.rounded_column(pool, j) for j, pool in enumerate(pools)]
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
    if ensemble.labels[column] is not None:
        return np.arange(len(ensemble.labels[column] or ()), dtype=np.float64)
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
        known = [label for label in labels if label == label and label is not None]  # an encoder may list NaN
        codes = np.where(np.isnan(rows[:, j]) | (rows[:, j] >= len(known)), -1, rows[:, j]).astype(np.int64)
        columns.append(pd.Series(pd.Categorical.from_codes(codes, categories=known)))
    frame = pd.concat(columns, axis=1)
    if names is None:
        return frame.to_numpy(dtype=np.float64)
    return frame.set_axis(list(names), axis=1)
