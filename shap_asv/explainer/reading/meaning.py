"""What nu(S) means: ``values="conditional"``, ``"causal"`` or ``"marginal"``, and the distribution behind each.

- *conditional*: ``E[M(X) | X_S = e_S]``, what a background gives by itself;
- *causal*: ``E[M(X) | do(X_S = e_S)]``: the features of S are set, the others follow their causes. A background that
  knows causes (a network, a structural model) says what happens; for one that does not, levels of features do
  (``CausalOrder.from_levels``);
- *marginal*: the others follow their own distributions, whatever S is.

On a coalition that holds, with each member, all of its causes, and none of them latent (but for functions of what is
seen, such as the groups of a fitted network), *causal* and *conditional* are the same. Where an order asks for such
coalitions only, they are computed as conditional, and the plan says so.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.backends.conditioning import conditioning_obstacle, sees_what_it_sets
from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.contract import (
    Background,
    CutLoose,
    DrawsGivenEvidence,
    KnowsInterventions,
    MaskedInputs,
)
from shap_asv.backgrounds.level_by_level import by_levels
from shap_asv.errors import CausalGraphError, MethodNotApplicableError, UnknownMethodError
from shap_asv.explainer.reading.causality import levels_of
from shap_asv.orders.levels import Levels

VALUES = ("auto", "conditional", "causal", "marginal")


def check_values(values: Any) -> None:
    """Raise where ``values`` is not one of the words."""
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


def graph_defines_do(background: Background) -> bool:
    """Whether the causal graph has to say what interventions do, because the background knows nothing of causes."""
    return not isinstance(background, KnowsInterventions) or background.intervened() is None


def with_meaning(problem: Problem, values: str, causal_graph: Any) -> Problem:
    """The problem under the distribution that ``values`` asks for; as it is, it is conditional (or shap's marginal).

    Parameters
    ----------
    values : {"auto", "conditional", "causal", "marginal"}
    causal_graph : object
        What the user knows about causes: levels, where the background knows nothing of them.
    """
    if values == "causal":
        return _causal(problem, causal_graph)
    if values == "marginal" and not isinstance(problem.background, MaskedInputs):
        return replace(problem, background=_cut_loose(problem.background), values=values)
    obstacle = conditioning_obstacle(problem)
    if obstacle is not None:
        raise MethodNotApplicableError(obstacle)
    return replace(problem, values=values)


def _causal(problem: Problem, causal_graph: Any) -> Problem:
    background, levels = problem.background, levels_of(causal_graph)
    own = None if graph_defines_do(background) else background.intervened()  # type: ignore[attr-defined]
    if own is not None:
        if levels is not None and levels.confounded:
            raise CausalGraphError(
                f"confounded={list(levels.confounded)} is for backgrounds that know nothing of causes; "
                f"{background.describe()} says itself what shares hidden causes: its nodes that are not features"
            )
        if sees_what_it_sets(problem):
            return replace(problem, values="causal", apart=own)
        return replace(problem, values="causal", background=own)
    if levels is None:
        raise MethodNotApplicableError(
            f"values='causal' needs to know what happens to the others when features are set, and the background "
            f"({background.describe()}) does not say; pass causal_graph=CausalOrder.from_levels([...], "
            "confounded=[...]), or a background that knows causes: a Bayesian network, a linear Gaussian network or a "
            "StructuralModel (a table with a DAG over all of its columns makes one)"
        )
    if not isinstance(background, DrawsGivenEvidence) or background.conditions_on != "any":
        raise MethodNotApplicableError(
            f"values='causal' by levels needs draws given any set of features, and the background "
            f"({background.describe()}) has none; use a GaussianModel, CopulaModel or ConditionalTable, or pass the "
            "table itself"
        )
    positions, confounded = _of_features(levels, problem).among(background.features)
    return replace(problem, values="causal", background=by_levels(background, positions, confounded))


def _of_features(levels: Levels, problem: Problem) -> Levels:
    """Levels in the names of the features: groups by their members, numbers as positions where nothing is called so."""
    features, players = problem.background.features, problem.players
    members: dict[str, tuple[str, ...]] = {name: (name,) for name in features}
    if players is not None:
        for i, name in enumerate(players.names):
            members[name] = tuple(features[v] for v in np.flatnonzero(players.of_feature == i))

    def named(name: Any) -> tuple[str, ...]:
        if str(name) not in members and isinstance(name, int) and 0 <= name < len(features):
            return (features[name],)
        return members.get(str(name), (str(name),))

    return Levels(
        tuple(tuple(one for name in level for one in named(name)) for level in levels.names), levels.confounded
    )


def _cut_loose(background: Background) -> Background:
    if not isinstance(background, CutLoose):
        raise MethodNotApplicableError(
            f"values='marginal' needs background rows or a distribution whose features can be cut loose from one "
            f"another, and {background.describe()} is neither; pass the table itself as masker="
        )
    return background.cut_loose()
