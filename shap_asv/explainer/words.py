"""The words of ``shap.TreeExplainer`` in a constructor and in a call: what they mean here, or why they mean nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shap_asv.backgrounds.matrix import MatrixDistribution
from shap_asv.backgrounds.naming import Distribution
from shap_asv.errors import (
    ArgumentError,
    CausalGraphWarning,
    MethodNotApplicableError,
    UnknownMethodError,
    warn_user,
)
from shap_asv.explainer.causes import has_edges
from shap_asv.frames import as_pandas
from shap_asv.models.calls import RowLoss
from shap_asv.models.inputs import filled
from shap_asv.models.readers import MODEL_OUTPUTS
from shap_asv.models.trees.form import absent_entry, made_of_trees


class SingleValue(float):
    """The expected value of a single output; ``[0]`` is itself: shap has an array of one before its first call."""

    def __getitem__(self, place: int) -> float:
        return (float(self),)[place]


@dataclass(frozen=True)
class ExpectedLoss:
    """The expected loss of a target, ``base`` (k,) holding what the loss is made of."""

    base: np.ndarray
    loss: RowLoss

    def __call__(self, y: Any) -> Any:
        weights, constant = self.loss.of(y, np.size(y))
        expected = weights @ self.base + constant
        return float(expected[0]) if np.ndim(y) == 0 else expected


def loss_of_targets(
    parts: Sequence[np.ndarray | None], weights: np.ndarray, constant: np.ndarray
) -> list[np.ndarray | None]:
    """Values (r, n, k), base values (r, k), errors and main effects of the parts of a loss -> the same of the loss.

    Errors of the parts depend on one another: what is stated is an upper bound.
    """
    phi, base, error, effects = parts
    assert phi is not None
    assert base is not None
    over = weights[:, None, :]
    return [
        (phi * over).sum(axis=2, keepdims=True),
        (base * weights).sum(axis=1, keepdims=True) + constant[:, None],
        None if error is None else (error * np.abs(over)).sum(axis=2, keepdims=True),
        None if effects is None else (effects * over).sum(axis=2, keepdims=True),
    ]


def check_graph_word(causal_graph: Any) -> None:
    """Raise where the third argument is that of TreeExplainer, ``(model, data, model_output)``."""
    if isinstance(causal_graph, str) and causal_graph in MODEL_OUTPUTS:
        raise UnknownMethodError(
            f"causal_graph={causal_graph!r} is what shap.TreeExplainer calls model_output, its third argument; write "
            f"model_output={causal_graph!r} (the third argument here is the causal graph)"
        )


def warn_of_cover_counts(causal_graph: Any) -> None:
    """Tell what trees without a table leave out, where there is a causal order and no word for that."""
    if has_edges(causal_graph):
        warn_user(
            "cover counts ignore how the features depend on one another, and with that most of what a causal order is "
            "about; pass the table that the model was trained on as masker= to condition on what is known, or "
            "feature_perturbation='tree_path_dependent' where cover counts are meant",
            CausalGraphWarning,
        )


def check_call_words(y: Any, interactions: Any, approximate: Any, tree_limit: Any) -> None:
    """Raise where a call asks for what is not there."""
    if isinstance(y, str) or (y is not None and np.ndim(y) == 0):
        raise ArgumentError(
            f"the second argument of a call is y, the targets, as in shap; got {y!r}. Name it if it is another one: "
            f"max_evals={y!r}"
        )
    if interactions:
        raise MethodNotApplicableError(
            "interactions=True: interaction values are defined where no order counts; there are none here. "
            "explainer.effects(X) parts causal values into direct and indirect ones"
        )
    if approximate:
        raise MethodNotApplicableError(
            "approximate=True: Saabas values follow one order, that of the splits, and are no Shapley values; "
            "leave it out, or lower n_orders= for a quick estimate with standard errors"
        )
    if tree_limit not in (None, -1, 0):
        raise MethodNotApplicableError(
            f"tree_limit={tree_limit!r}: the whole model is explained; pass a model of fewer trees, such as booster[:n]"
        )


def read_background(given: Any, model: Any) -> Any:
    """A background as it was handed in, with frames of other libraries as pandas and sparse matrices as arrays."""
    return filled(given, absent_entry(model)) if hasattr(given, "tocsr") else as_pandas(given)


def counted_rows(masker: Any) -> Any:
    """The rows of a masker of shap, under the names that it has."""
    named = getattr(masker, "output_dataframe", False)
    return pd.DataFrame(masker.data, columns=list(masker.feature_names)) if named else np.asarray(masker.data)


def shown_words(
    masker: Any, table: Any, distribution: Distribution, model: Any, model_output: str
) -> tuple[Any, str, str]:
    """``data``, ``feature_perturbation`` and ``model_output`` as an explainer of shap has them after construction."""
    data = masker.data if table is None and isinstance(getattr(masker, "data", None), np.ndarray) else None
    if table is not None:
        data = np.asarray(table)
    over_rows = isinstance(distribution, MatrixDistribution)
    perturbation = "interventional" if over_rows else "tree_path_dependent" if distribution.of_model else "auto"
    raw = model_output == "auto" and (over_rows or distribution.of_model) and made_of_trees(model)
    return data, perturbation, "raw" if raw else model_output
