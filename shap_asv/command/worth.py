"""What a fitted distribution is worth, level by level, in a sentence.

For the levels L_1, L_2, ... of the causes, ``1 - E (M(x) - E[M(X) | x in L_1 + ... + L_k])^2 / Var M`` is the share of
the variance of the model's predictions that is known once the first k levels are. It is measured on rows of the table
that were set aside, under the same kind of distribution fitted to the others.
"""

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from shap_asv.backgrounds.choice.scoring import coalition_values
from shap_asv.errors import ShapAsvError
from shap_asv.explainer.asymmetric import AsymmetricExplainer
from shap_asv.explainer.fitting import Refit
from shap_asv.models.predictor import read_plain_model
from shap_asv.orders import CausalOrder

#: Rows that are set aside, and those that a distribution is fitted to for them.
MOST_ASIDE, MOST_KEPT = 300, 4000
FEWEST_ASIDE = 30
MOST_NAMED = 4
DRAWS = 128


def explained_by_levels(
    explainer: AsymmetricExplainer, table: pd.DataFrame, levels: Sequence[Sequence[str]], output: int | None, seed: int
) -> tuple[list[float], int]:
    """The share of the variance that the first k levels explain, for every k, and on how many rows.

    The squared miss is the product of two misses, each with draws of its own: its mean is free of their noise.
    """
    order = np.random.default_rng([seed, len(table)]).permutation(len(table))
    n_aside = min(len(table) // 4, MOST_ASIDE)
    aside, kept = (table.iloc[np.sort(part)] for part in (order[:n_aside], order[n_aside : n_aside + MOST_KEPT]))
    again = explainer._derived(masker=Refit(kept, explainer.masker), silent=True)
    background = again._known_execution().problem.background
    rows = background.read(aside)
    predict = read_plain_model(explainer.model, "auto").predict
    names = list(background.features)
    known = [{name for level in levels[: k + 1] for name in level} for k in range(len(levels))]
    coalitions = np.array([[name in part for name in names] for part in known])
    outputs = np.asarray(predict(background.inputs(rows)), dtype=float).reshape(len(rows), -1)
    one, other = (coalition_values(background, predict, rows, coalitions, DRAWS, 2 * seed + k) for k in (1, 2))
    misses = ((outputs[:, None] - one) * (outputs[:, None] - other)).mean(axis=0)
    shares = slice(None) if output is None else slice(output, output + 1)
    left = misses[:, shares].sum(axis=1) / max(outputs.var(axis=0)[shares].sum(), 1e-300)
    return (1 - left).tolist(), len(rows)


def worth_in_words(
    explainer: AsymmetricExplainer, table: pd.DataFrame, graph: Any, output: int | None, seed: int
) -> list[str]:
    """The sentence for the page; ``graph`` are levels or edges of the features."""
    levels = causal_levels(graph, [str(name) for name in table.columns])
    if not levels or len(table) < 4 * FEWEST_ASIDE:
        return []
    try:
        shares, n_rows = explained_by_levels(explainer, table, levels, output, seed)
    except ShapAsvError as error:
        return [f"What the fitted distribution is worth could not be measured: {error}."]
    told = [f"{max(0.0, share):.0%} of the variance of the predictions once {_named(levels[0])} "
            f"{'is' if len(levels[0]) == 1 else 'are'} known" for share in shares[:1]]  # fmt: skip
    told += [f"{max(0.0, share):.0%} with {_named(level)}" for level, share in zip(levels[1:], shares[1:], strict=True)]
    return [
        f"What the fitted distribution is worth, on {n_rows:,} rows that it was not fitted to: it explains "
        f"{', '.join(told)}. All features explain all of it."
    ]


def causal_levels(graph: Any, features: Sequence[str]) -> list[list[str]]:
    """Levels of the causes; the last one is left out where it completes the features: nothing is open then."""
    if isinstance(graph, CausalOrder):
        levels = [[str(name) for name in level] for level in graph.levels.names] if graph.levels else []
    else:
        levels = [[str(name) for name in level] for level in nx.topological_generations(nx.DiGraph(graph))]
    return levels[:-1] if {name for level in levels for name in level} == set(features) else levels


def _named(level: Sequence[str]) -> str:
    names = list(level[:MOST_NAMED])
    if len(level) > MOST_NAMED:
        names.append(f"{len(level) - MOST_NAMED} more")
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
