"""What a background is worth: the error of its fit, and its score on rows that it has not seen.

**Errors that include the fit** (:class:`Bootstrap`): resample the table, fit again, explain again. ``error_std`` of an
explanation is the error of its draws, with the fitted distribution taken for the truth. The table is a sample, too.
Each replica draws as many rows from it with replacement, fits to them what the explainer fitted, and explains the same
rows with random numbers of its own; how much the replicas differ is the error of fit and draws together. That of the
graph is not in it, nor that of the model, nor, unless it is asked for, that of the choice among backgrounds and kinds
of mechanisms. A resample repeats rows. Copies are held out together where mechanisms and backgrounds are compared
(``backgrounds/tables/copies.py``): a copy of a row predicts it too well, and what bends most would win. A choice that
is close turns out differently more often than with a fresh table all the same.

**Scores** (:func:`score_background`): the mean of ``(M(x) - nu_x(S))^2`` over rows that the background was not fitted
to, and over the coalitions that the orders of a causal graph pass, as often as they do
(:mod:`shap_asv.backgrounds.choice.scoring`). It is smallest for the true conditional expectation, so it tells a right
background from a wrong one without a truth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from shap_asv.arguments import check_count
from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.choice.scoring import misses_in_units, scored_coalitions
from shap_asv.backgrounds.contract import DRAWS, MaskedInputs
from shap_asv.backgrounds.registry import kind_of
from shap_asv.errors import ArgumentError, MethodNotApplicableError, TableError
from shap_asv.explainer.fitting import FITTED, Refit, asked_coalitions, is_table
from shap_asv.explainer.problem import Arguments, assemble, known_features
from shap_asv.explainer.progress import DELAY
from shap_asv.explainer.rows import fit_rows, read_table
from shap_asv.frames import as_pandas
from shap_asv.values.contract import ValueOptions
from shap_asv.values.monte_carlo import MonteCarlo

if TYPE_CHECKING:
    from shap_asv.explainer.asymmetric import AsymmetricExplainer


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
        columns = {
            "mean |value|": np.abs(values).mean(axis=axes),
            "error": np.sqrt((self.standard_error**2).mean(axis=axes)),
            "draws alone": np.sqrt((self.monte_carlo_error**2).mean(axis=axes)),
        }
        frame = pd.DataFrame(columns, index=[str(name) for name in self.explanation.feature_names])
        table = frame.to_string(float_format="{:.3g}".format)
        return f"{len(values)} rows, {len(self.replicas)} resampled tables\n{table}"


def bootstrap_values(
    explainer: "AsymmetricExplainer", X: Any, n: int, data: Any, choose: bool, call: Mapping[str, Any]
) -> Bootstrap:
    """X by explainers that differ from this one in their table alone: n resamples of it. Costs n fits.

    Each takes over which background and which kinds of mechanisms were chosen, unless it is to ``choose`` by itself.
    """
    if not isinstance(choose, (bool, np.bool_)):
        raise ArgumentError(f"choose={choose!r:.80} is neither True nor False")
    explanation = explainer(X, **call)
    table, graph = _resampled_table(explainer, data)
    check_count(n, "n", "a number of resampled tables", least=2)
    replicas = []
    seeds = np.random.SeedSequence([explainer._entropy, _STREAM]).generate_state(n)
    for seed in tqdm(seeds.tolist(), desc="Bootstrap", unit="fit", delay=DELAY, disable=bool(call.get("silent"))):
        again = resampled(table, np.random.default_rng([seed, _STREAM]))
        if not choose and isinstance(explainer.masker, FITTED):
            again = Refit(again, explainer.masker)
        replica = explainer._derived(masker=again, causal_graph=graph, seed=seed, silent=True)
        replicas.append(np.asarray(replica(X, **{**call, "silent": True}).values))
    return Bootstrap(explanation, np.stack(replicas))


def _resampled_table(explainer: "AsymmetricExplainer", data: Any) -> tuple[Any, Any]:
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
    own = background.graph if explainer.causal_graph is None else None
    return as_pandas(data), explainer.causal_graph if own is None else own


def resampled(table: Any, rng: np.random.Generator) -> Any:
    """As many rows, drawn with replacement; gaps and labels (not pandas categories) are all there at least once."""
    n_rows, frame = len(table), pd.DataFrame(table)
    labels = {}
    for k, dtype in enumerate(frame.dtypes):
        column = frame.iloc[:, k]
        if hasattr(dtype, "categories") or dtype.kind in "biuf":
            labels[k] = column.isna().to_numpy()
        else:
            labels[k] = column.astype("category").cat.codes.to_numpy()
    for _ in range(_TRIES):
        places = rng.integers(0, n_rows, n_rows)
        short = [k for k, codes in labels.items() if len(np.unique(codes[places])) < len(np.unique(codes))]
        if not short:
            # labels say which rows are copies
            return table.reset_index(drop=True).iloc[places] if hasattr(table, "iloc") else table[places]
    raise TableError(
        f"column {str(frame.columns[short[0]])!r} has labels or gaps so rare that resamples lack one; make it a pandas "
        "category, merge rare labels, or fill the gaps"
    )


#: Coalitions that are scored: a sample by weight where an order passes more.
MOST_COALITIONS = 32


def score_background(
    background: Any,
    model: Any,
    data: Any,
    graph: Any = None,
    n_draws: int = 256,
    seed: int = 0,
    feature_names: Any = None,
    encoder: Any = None,
    model_output: str = "auto",
) -> pd.DataFrame:
    """Mean squared distance of the model from its conditional expectation, on rows that the background has not seen.

    ``score = mean over x of sum over S of w(S) (M(x) - nu_x(S))^2``, S over the coalitions that an order of ``graph``
    passes, with the probability w(S) that it does; the empty and the full one are left out. Outputs are summed, in
    units of their variance if there are several. Smaller is better; differences count, not sizes: what no background
    can know is part of every score.

    Parameters
    ----------
    background : anything the explainer takes and that can be drawn from, or dict of str to such
        Several are scored on the same rows, coalitions and random numbers.
    model, feature_names, encoder, model_output
        As in :class:`~shap_asv.AsymmetricExplainer`.
    data : DataFrame or array
        Held-out rows. Rows that the background was fitted to flatter it.
    graph : causal graph, optional
        As in :class:`~shap_asv.AsymmetricExplainer`; the background's own by default, all coalitions if it has none.
    n_draws : int
        Draws for each row and coalition. The noise of the draws adds to the score, the same for all backgrounds.

    Returns
    -------
    DataFrame
        A row for each background, the best first: its ``score``, and how far that is ``above_best``, with the standard
        errors of both (that of the difference is taken row by row).

    Examples
    --------
    >>> import numpy as np
    >>> from shap_asv import GaussianModel, score_background
    >>> right = GaussianModel([0, 0], [[1.0, 0.8], [0.8, 1.0]], ["dose", "effect"])
    >>> wrong = GaussianModel([0, 0], [[1.0, 0.0], [0.0, 1.0]], ["dose", "effect"])
    >>> rows = np.random.default_rng(0).multivariate_normal([0, 0], [[1.0, 0.8], [0.8, 1.0]], 200)
    >>> def model(X):
    ...     return X["effect"]
    >>> score_background({"right": right, "wrong": wrong}, model, rows, [("dose", "effect")]).index[0]
    'right'
    """
    check_count(n_draws, "n_draws", "a number of draws")
    several = background if isinstance(background, Mapping) else {"": background}
    if not several:
        raise ArgumentError("there are no backgrounds to score; pass one, or a dict of some")
    losses, names = [], []
    coalitions: np.ndarray | None = None
    for name, one in several.items():
        problem = _problem(name, one, model, graph, feature_names, encoder, model_output, data)
        if coalitions is None:
            coalitions, weights = _scored_coalitions(problem, seed)
            features = problem.background.features
        elif set(problem.background.features) != set(features):
            raise ArgumentError(
                f"background {name!r} has the features {', '.join(problem.background.features)}, the others "
                f"{', '.join(features)}; scores of different features cannot be compared"
            )
        places = [features.index(feature) for feature in problem.background.features]
        losses.append(_losses(problem, data, coalitions[:, places], n_draws, seed) @ weights)
        names.append(name or problem.background.describe())
    each = pd.DataFrame(np.stack(losses, axis=1), columns=pd.Index(names, name="background"))
    above = each.sub(each[each.mean().idxmin()], axis=0)
    columns = {
        "score": each.mean(),
        "standard_error": each.sem(),
        "above_best": above.mean(),
        "above_best_error": above.sem(),
    }
    return pd.DataFrame(columns).sort_values("score", kind="stable")


def _problem(
    name: str, thing: Any, model: Any, graph: Any, feature_names: Any, encoder: Any, model_output: str, data: Any
) -> Problem:
    if is_table(thing):
        raise MethodNotApplicableError(
            "a table is not a distribution yet: score what is fitted to it, such as ConditionalTable(table), "
            "GaussianModel.fit(table) or StructuralModel.fit(table, dag)"
        )
    asked = Arguments(model, feature_names, graph, encoder=encoder, model_output=model_output)
    table, distribution = read_table(data), kind_of(thing).read(thing, thing)
    features = known_features(asked, distribution) or distribution.features_in(table.columns, table.n_columns)
    try:
        problem = assemble(replace(asked, feature_names=features), distribution, features, table)
    except MethodNotApplicableError as why:
        raise MethodNotApplicableError(f"background {name!r} cannot be scored: {why}") from None
    obstacle = DRAWS.obstacle(problem.background)
    if obstacle is not None:
        raise MethodNotApplicableError(f"background {name!r} cannot be scored: {obstacle}")
    return problem


def _scored_coalitions(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """At most 32 coalitions and their weights."""
    asked = asked_coalitions(problem.background.features, problem.order, seed=seed)
    coalitions, weights = scored_coalitions(*asked, MOST_COALITIONS, np.random.default_rng([seed, len(asked[0]) - 2]))
    if not len(coalitions):
        raise ArgumentError("a single feature has nothing to be conditioned on; there is nothing to score")
    return coalitions, weights


def _losses(problem: Problem, data: Any, coalitions: np.ndarray, n_draws: int, seed: int) -> np.ndarray:
    """Squared distances (r, m), summed over outputs."""
    table = read_table(data)
    rows = fit_rows(problem, table, encoded=False)
    outputs = problem.predictor.predict(rows)
    values = MonteCarlo(problem.background, problem.predictor, ValueOptions(n_draws, seed)).values(coalitions, rows)
    return np.asarray((misses_in_units(outputs, values) ** 2).sum(axis=2))
