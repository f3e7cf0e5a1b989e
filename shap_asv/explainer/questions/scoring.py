"""How good is a background for this model? The score of held-out rows, for whatever can be handed to the explainer.

The score itself is in :mod:`shap_asv.backgrounds.choice.scoring`: the mean of ``(M(x) - nu_x(S))^2`` over rows that the
background was not fitted to, and over the coalitions that the orders of a causal graph pass, as often as they do. It is
smallest for the true conditional expectation, so it tells a right background from a wrong one without a truth.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.choice.scoring import ScoreTable, misses_in_units, scored_coalitions
from shap_asv.backgrounds.contract import DRAWS
from shap_asv.backgrounds.registry import kind_of
from shap_asv.errors import ArgumentError, MethodNotApplicableError
from shap_asv.explainer.reading.assembly import Arguments, assemble, known_features
from shap_asv.explainer.reading.fitting import asked_coalitions, is_table
from shap_asv.explainer.reading.options import check_whole
from shap_asv.explainer.reading.rows import fit_rows, own_outputs, read_table
from shap_asv.values.contract import ValueOptions
from shap_asv.values.monte_carlo import MonteCarlo

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
) -> ScoreTable:
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
    ScoreTable
        ``print`` it, or take ``.frame()``, ``.best``, ``.scores``.

    Examples
    --------
    >>> import numpy as np
    >>> from shap_asv import GaussianModel, score_background
    >>> right = GaussianModel([0, 0], [[1.0, 0.8], [0.8, 1.0]], ["dose", "effect"])
    >>> wrong = GaussianModel([0, 0], [[1.0, 0.0], [0.0, 1.0]], ["dose", "effect"])
    >>> rows = np.random.default_rng(0).multivariate_normal([0, 0], [[1.0, 0.8], [0.8, 1.0]], 200)
    >>> def model(X):
    ...     return X["effect"]
    >>> score_background({"right": right, "wrong": wrong}, model, rows, [("dose", "effect")]).best
    'right'
    """
    check_whole(n_draws=n_draws)
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
    return ScoreTable(tuple(names), np.stack(losses))


def _problem(
    name: str, thing: Any, model: Any, graph: Any, feature_names: Any, encoder: Any, model_output: str, data: Any
) -> Problem:
    if is_table(thing):
        raise MethodNotApplicableError(
            "a table is not a distribution yet: score what is fitted to it, such as ConditionalTable(table), "
            "GaussianModel.fit(table) or StructuralModel.fit(table, dag)"
        )
    arguments = Arguments(
        model,
        kind_of(thing).read(thing, thing),
        feature_names=feature_names,
        causal_graph=graph,
        encoder=encoder,
        model_output=model_output,
    )
    table = read_table(data)
    features = known_features(arguments) or arguments.distribution.features_in(table.columns, table.n_columns)
    try:
        problem = assemble(replace(arguments, feature_names=features), features, table)
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
    outputs = own_outputs(problem, rows, table.content)
    values = MonteCarlo(problem.background, problem.predictor, ValueOptions(n_draws, seed)).values(coalitions, rows)
    return np.asarray((misses_in_units(outputs, values) ** 2).sum(axis=2))
