"""Interventions on given mechanisms, hidden causes included: every world under ``do`` is enumerated.

Mechanisms, models and worlds are those of :mod:`tests.reliability.kinds.structural`, whose docstring says why draws
have to agree to the last bits. Setting works for every coalition, so that causes may be known in any form.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv import AsymmetricExplainer, StructuralModel
from tests.reliability.kinds.asking import ALSO, Question, ask
from tests.reliability.kinds.causality import FORMS, digraph, known_causes, of_graphs
from tests.reliability.kinds.contract import Kind
from tests.reliability.kinds.structural import DRAWS, LABELS, Model, edges_of, mechanisms_of, worlds

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 1),
    "latent": (0, 1, 1),
    "levels": (2, 4),
    "values": ("numbers", "numbers", "mixed", "constants"),
    "shape": ("dag", "dag", "forest", "complete"),
    "model": ("callable", "callable of two outputs", "linear"),
    "causes": FORMS,
    "also": (*ALSO, "effects", "effects"),
}


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 9])
    m = case.n + case.latent
    every = [f"v{k}" for k in range(m)]
    edges = edges_of(m, case.shape, rng)
    order = [every[k] for k in of_graphs(m, [edges])[0][0]]
    mechanisms = mechanisms_of(case.values, case.levels, every, edges, rng)
    whole = worlds(every, mechanisms, order, {})
    # what is set may lead to labels that nature does not: the table of examples has them all
    labelled = {name: LABELS for name in every if mechanisms[name].kind == "label"}
    like = pd.concat([whole, whole.iloc[np.arange(len(LABELS)) % len(whole)].assign(**labelled)], ignore_index=True)
    background = StructuralModel(digraph(every, edges), dict(mechanisms), like=like)
    names = [every[k] for k in sorted(rng.permutation(m)[: case.n].tolist())]
    model = Model(names, 2 if case.model.endswith("outputs") else 1, rng, case.model == "linear")
    X = whole[names].iloc[rng.integers(len(whole), size=3)].reset_index(drop=True)
    causes = known_causes(case.causes, names, rng)

    def under(r: int, members: frozenset[int], shown: int | None = None) -> np.ndarray:
        """``E[M | do(members)]``; a feature that is shown has the row's value in the eyes of the model alone."""
        row = X.iloc[r]
        found: pd.DataFrame = worlds(every, mechanisms, order, {names[i]: row[names[i]] for i in members})
        if shown is not None:
            found = found.assign(**{names[shown]: X[names[shown]].iloc[[r] * len(found)].to_numpy()})
        return np.asarray(model(found)).reshape(len(found), -1).mean(axis=0)

    n_draws = next(draws for most, draws in DRAWS.items() if case.levels**m <= most)

    def explainer(**more: Any) -> AsymmetricExplainer:
        arguments = {"feature_names": names, "n_draws": n_draws, "seed": case.seed % 1000, "values": "causal"}
        arguments |= causes.arguments
        return AsymmetricExplainer(model, background, **{**arguments, **more})

    tolerance = 1e-9 * max(1.0, float(np.abs(model(whole)).max()))
    question = Question(explainer, X, names, causes, under, tolerance, tolerance)
    ask(question, "nothing" if case.also == "effects" else case.also)
    if case.also == "effects":
        _effects(question, under)


def _effects(question: Question, under: Any) -> None:
    """Direct: i is shown to the model and moves nobody; the rest of its value is indirect."""
    explainer, n = question.explainer(), len(question.names)
    direct, indirect = (question.aligned(part, part.values) for part in explainer.effects(question.X, silent=True))
    whole = explainer(question.X, silent=True)
    for r in range(len(direct)):
        expected = np.zeros_like(direct[r])
        for order, weight in zip(question.causes.orders, question.causes.weights, strict=True):
            for i in range(n):
                before = frozenset(order[: order.index(i)])
                expected[i] += weight * (under(r, before, i) - under(r, before))
        np.testing.assert_allclose(direct[r], expected, rtol=0, atol=question.exact)
    np.testing.assert_allclose(direct + indirect, question.aligned(whole, whole.values), rtol=0, atol=question.exact)


MECHANISMS = Kind(
    "interventions on mechanisms",
    2,
    CHOICES,
    check,
    "up to 4 features of up to 5 nodes of structural models as above, hidden causes among them; causal values, causes "
    "known in one of 9 forms, symmetric values, comparisons, groups, importance, direct and indirect effects. All "
    "worlds under `do` are simulated forwards with the set clamped. Agreement to 1e-9 of the scale, draws included.",
)
