"""The numbers and words of a constructor and of a call: checked before any work starts, and turned into settings.

Further down are the words of ``shap.TreeExplainer``: what they mean here, or why they mean nothing.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv.arguments import check_count, check_seed, is_number
from shap_asv.backends.contract import Settings
from shap_asv.backends.joint import FEWEST
from shap_asv.backgrounds.matrix import MatrixDistribution
from shap_asv.backgrounds.naming import Distribution
from shap_asv.errors import (
    ArgumentError,
    BudgetExceededError,
    CausalGraphWarning,
    MethodNotApplicableError,
    UnknownFeatureError,
    UnknownMethodError,
    warn_user,
)
from shap_asv.explainer.causes import has_edges
from shap_asv.frames import as_pandas
from shap_asv.models.calls import RowLoss
from shap_asv.models.inputs import filled
from shap_asv.models.readers import MODEL_OUTPUTS
from shap_asv.models.trees.form import absent_entry, made_of_trees
from shap_asv.planning import check_algorithm

VALUES = ("auto", "conditional", "causal", "marginal")
#: Numbers above zero, and whole ones with what they count.
AMOUNTS = ("budget", "memory_limit")
COUNTED = {"n_orders": "a number of orders", "n_draws": "a number of draws", "ideal_limit": "a number of coalitions"}


def check_options(
    *,
    link: Any,
    values: Any,
    algorithm: Any,
    seed: Any,
    n_jobs: Any,
    tolerance: Any,
    **numbers: Any,
) -> None:
    """Raise on the first option of an explainer that is not what it may be."""
    if not callable(link):
        raise TypeError(f"link={link!r:.80} needs to be callable, such as shap.links.logit")
    _check_values(values)
    check_algorithm(algorithm)
    if seed is not None:
        check_seed(seed)
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ArgumentError(f"n_jobs={n_jobs!r:.80} must be a number of processes, -1 for all cores, or None")
    check_positive(1.0 if tolerance is None else tolerance, "tolerance")
    for name, number in numbers.items():
        if name in AMOUNTS:
            check_positive(number, name)
        elif name != "n_draws" or number is not None:
            check_count(number, name, COUNTED[name])


def read_names(names: Any, argument: str) -> list[str] | None:
    """A list of names as strings; a single string and a set (which has no order) are errors."""
    if names is None:
        return None
    wanted = f"{argument}= takes a list of names"
    if isinstance(names, (str, bytes, Mapping, Set)):
        raise UnknownFeatureError(f"{wanted}, not a {type(names).__name__}; got {names!r:.80}")
    try:
        listed = [str(name) for name in names]
    except Exception:
        raise UnknownFeatureError(f"{wanted}, not a {type(names).__name__}") from None
    twice = [name for name in listed if listed.count(name) > 1] if len(set(listed)) < len(listed) else []
    if twice:
        raise UnknownFeatureError(f"{twice[0]!r} is named twice in {argument}")
    return listed


def check_positive(value: Any, name: str) -> None:
    """Raise unless it is a number above zero."""
    if not is_number(value) or value <= 0:
        raise ArgumentError(f"{name}={value!r:.80} must be a number > 0")


def _check_values(values: Any) -> None:
    if isinstance(values, str) and values in VALUES:
        return
    known = (
        "values='conditional' (what the coalition holds is known, and tells of the rest), values='causal' (it is set: "
        "do(X_S)) or values='marginal' (shap's: what is hidden does not depend on it)"
    )
    if isinstance(values, str) and values == "interventional":
        raise UnknownMethodError(
            "values='interventional' means two things: in shap it is the marginal expectation, spelled "
            "values='marginal' here, and in causal inference do(X_S), spelled values='causal'"
        )
    raise UnknownMethodError(f"unknown values={values!r:.80}; use {known}, or leave it out")


def settings_of_call(settings: Settings, n_features: int, max_evals: Any, batch_size: Any) -> Settings:
    """The explainer's settings with what one call overrides."""
    if not (isinstance(batch_size, str) and batch_size == "auto"):
        settings = replace(settings, batch_size=check_count(batch_size, "batch_size", "a number of rows"))
    if not (isinstance(max_evals, str) and max_evals == "auto"):
        max_evals = check_count(max_evals, "max_evals", "a number of coalitions")
        fewest = 2 * (n_features - 1) + 2
        if max_evals < fewest:
            raise BudgetExceededError(
                f"max_evals={max_evals} is too low for {n_features} features: two orders need {fewest}"
            )
        n_orders = (max_evals - 2) // max(1, n_features - 1)
        # where a background is drawn from, each draw comes with an order of its own, or with all of few coalitions
        most = min(settings.n_draws or settings.most_draws, n_orders)
        n_draws = None if settings.n_draws is None and most >= FEWEST else most
        limit = min(settings.ideal_limit, max_evals)
        settings = replace(settings, n_orders=n_orders, n_draws=n_draws, most_draws=most, ideal_limit=limit)
    return settings


# --- words of shap.TreeExplainer ------------------------------------------------------------------------------------


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
