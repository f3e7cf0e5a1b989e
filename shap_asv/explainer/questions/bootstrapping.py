"""Errors that include the fit: resample the table, fit again, explain again.

``error_std`` of an explanation is the error of its draws, with the fitted distribution taken for the truth. The table
is a sample, too. Each replica of the bootstrap draws as many rows from it with replacement, fits to them what the
explainer fitted, and explains the same rows with random numbers of its own; how much the replicas differ is the error
of fit and draws together. That of the graph is not in it, nor that of the model, nor, unless it is asked for, that of
the choice among backgrounds and kinds of mechanisms.

A resample repeats rows. Copies are held out together where mechanisms and backgrounds are compared
(``backgrounds/tables/copies.py``): who has seen a copy of a row predicts it too well, and what bends most would win. A
choice that is close turns out differently more often than with a fresh table all the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from shap_asv.backgrounds.contract import MaskedInputs
from shap_asv.errors import ArgumentError, MethodNotApplicableError, TableError
from shap_asv.explainer.reading.fitting import FITTED, Refit, is_table
from shap_asv.explainer.running.progress import DELAY

if TYPE_CHECKING:
    from shap_asv.explainer.questions.asking import Questions

_STREAM = 11
#: Resamples that are looked at for one that has all labels of the table.
_TRIES = 1000


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """An explanation, and the same from resampled tables.

    Attributes
    ----------
    explanation : shap.Explanation
        From the whole table.
    replicas : float (n, r, p) or (n, r, p, k)
        Values from each of the n resampled tables.
    """

    explanation: Any
    replicas: np.ndarray

    @property
    def standard_error(self) -> np.ndarray:
        """Of fit and draws, in the shape of the values: the standard deviation of the replicas."""
        return np.asarray(self.replicas.std(axis=0, ddof=1))

    @property
    def monte_carlo_error(self) -> np.ndarray:
        """Of the draws alone, in the shape of the values; zero where the values are exact."""
        error = self.explanation.error_std
        return np.zeros(np.shape(self.explanation.values)) if error is None else np.asarray(error)

    def __repr__(self) -> str:
        values = np.asarray(self.explanation.values)
        axes = (0, *range(2, values.ndim))
        columns = [np.abs(values).mean(axis=axes)]
        columns += [np.sqrt((e**2).mean(axis=axes)) for e in (self.standard_error, self.monte_carlo_error)]
        names = [str(name) for name in self.explanation.feature_names]
        width = max(7, *map(len, names))
        lines = [
            f"{len(values)} rows, {len(self.replicas)} resampled tables",
            f"{'feature':<{width}} {'mean |value|':>14} {'error':>12} {'draws alone':>12}",
        ]
        lines += [
            f"{name:<{width}} {size:>14.4g} {error:>12.2g} {draws:>12.2g}"
            for name, size, error, draws in zip(names, *columns, strict=True)
        ]
        return "\n".join(lines)


def bootstrap_values(
    explainer: "Questions", X: Any, n: int, data: Any, choose: bool, call: Mapping[str, Any]
) -> Bootstrap:
    """X by explainers that differ from this one in their table alone: n resamples of it. Costs n fits.

    Each takes over which background and which kinds of mechanisms were chosen, unless it is to ``choose`` by itself.
    """
    if not isinstance(choose, (bool, np.bool_)):
        raise ArgumentError(f"choose={choose!r:.80} is neither True nor False")
    explanation = explainer(X, **call)
    table, graph = _resampled_table(explainer, data)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 2:
        raise ArgumentError(f"n={n!r:.80} resampled tables; at least 2 are needed for a standard error")
    replicas = []
    seeds = np.random.SeedSequence([explainer._entropy, _STREAM]).generate_state(n)
    for seed in tqdm(seeds.tolist(), desc="Bootstrap", unit="fit", delay=DELAY, disable=bool(call.get("silent"))):
        again = resampled(table, np.random.default_rng([seed, _STREAM]))
        if not choose and isinstance(explainer.masker, FITTED):
            again = Refit(again, explainer.masker)
        replica = explainer._derived(masker=again, causal_graph=graph, seed=seed, silent=True)
        replicas.append(np.asarray(replica(X, **{**call, "silent": True}).values))
    return Bootstrap(explanation, np.stack(replicas))


def _resampled_table(explainer: "Questions", data: Any) -> tuple[Any, Any]:
    """The table behind the background, and the causal graph that goes with it."""
    background = explainer._known_execution().problem.background
    over_rows = isinstance(background, MaskedInputs)
    table = explainer._given if explainer._table is not None or (over_rows and is_table(explainer._given)) else None
    if data is None and table is not None:
        return table, explainer.causal_graph
    if data is None:
        raise MethodNotApplicableError(
            "there is no table to resample: this explainer was given a ready background, or was loaded from a file; "
            "make it from a table with values='conditional', or pass the table as data="
        )
    if np.ndim(data) != 2:
        raise TableError(f"data= is the table that was fitted, a DataFrame or an array (r, n), not {data!r:.80}")
    if table is None and not over_rows and (explainer.values == "marginal" or not isinstance(explainer.masker, FITTED)):
        raise MethodNotApplicableError(
            f"bootstrap fits again what an explainer fits to a table, and {background.describe()} is nothing of that; "
            "make the explainer from the table itself"
        )
    own = background.graph if explainer.causal_graph is None and explainer.orders is None else None
    return data, explainer.causal_graph if own is None else own


def resampled(table: Any, rng: np.random.Generator) -> Any:
    """As many rows, drawn with replacement; labels (not pandas categories) are all there at least once."""
    n_rows = len(table)
    if not hasattr(table, "iloc"):
        return table[rng.integers(0, n_rows, n_rows)]
    labels = {
        k: table.iloc[:, k].astype("category").cat.codes.to_numpy()
        for k, dtype in enumerate(table.dtypes)
        if not hasattr(dtype, "categories") and dtype.kind not in "biuf"
    }
    for _ in range(_TRIES):
        places = rng.integers(0, n_rows, n_rows)
        short = [k for k, codes in labels.items() if len(np.unique(codes[places])) < len(np.unique(codes))]
        if not short:
            return table.reset_index(drop=True).iloc[places]  # labels say which rows are copies
    raise TableError(
        f"column {str(table.columns[short[0]])!r} has labels so rare that resamples lack one; make it a pandas "
        "category, or merge rare labels"
    )
