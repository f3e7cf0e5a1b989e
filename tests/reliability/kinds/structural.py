"""Given mechanisms, whose noise has few equally likely levels: every world is enumerated, natural or under ``do``.

Scrambled Sobol points have as many points in each of the boxes that s quarterings make as in any other: 256 points for
s <= 3, and 1,024 for s <= 5 (256 do not for s = 4: Sobol's property A' is not for every s). 4,096 draws come in groups
of 256, 32,768 in groups of 1,024. So means over draws are the exact expectations here, to the last bits, and nothing
has to be swallowed by a tolerance for noise.
"""

from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shap_asv import StructuralModel
from shap_asv.backends.joint import JointAttributor
from tests.reliability.kinds.asking import ALSO, ALSO_ANCESTRAL, Kind, Question, ask, asked
from tests.reliability.kinds.causality import FORMS, Causes, digraph, known_causes, of_graphs, random_edges

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 5, 1),
    "latent": (0, 1, 1),
    "levels": (2, 4, 4),
    "values": ("numbers", "numbers", "mixed", "constants"),
    "shape": ("dag", "dag", "forest", "complete", "edgeless"),
    "meaning": ("conditional", "causal"),
    "causes": ("own", "own", "denser", "mixture", "orders"),
    "causal_causes": FORMS,
    "model": ("callable", "callable of two outputs", "linear"),
    "like": (True, False),
    "also": ALSO_ANCESTRAL,
    "causal_also": (*ALSO, "effects", "effects"),
}
#: Worlds, at most -> draws whose groups have each of them equally often.
DRAWS = {64: 4096, 1024: 32768}
LABELS = np.array(["ash", "beech", "cedar", "dogwood"], dtype=object)


class Mechanism:
    """``X_v = g(parents, level of the noise)``; a class of its own, so that it can be saved."""

    def __init__(self, kind: str, levels: int, parents: list[str], rng: np.random.Generator) -> None:
        self.kind, self.levels, self.parents = kind, levels, parents
        self.slopes = dict(zip(parents, rng.normal(size=len(parents)), strict=True))
        self.noise = np.sort(rng.normal(size=levels)) if kind != "constant" else np.zeros(levels)
        self.shift = float(rng.normal())

    def __call__(self, causes: dict[str, np.ndarray], noise: np.ndarray) -> np.ndarray:
        return self.at(causes, np.minimum((np.asarray(noise) * self.levels).astype(int), self.levels - 1))

    def at(self, causes: dict[str, np.ndarray], level: np.ndarray) -> np.ndarray:
        score = self.shift + self.noise[level]
        for name in self.parents:
            score = score + self.slopes[name] * np.sin(2 * number_of(causes[name]))
        if self.kind == "label":
            return LABELS[np.clip(np.floor(score), -2, 1).astype(int) + 2]
        if self.kind == "bool":
            return np.asarray(score > 0)
        return np.full(len(score), self.shift) if self.kind == "constant" else score


def number_of(column: Any) -> np.ndarray:
    """Labels count by their place."""
    column = np.asarray(column)
    if column.dtype.kind in "OU":
        return np.searchsorted(LABELS.astype(str), column.astype(str)).astype(float)
    return column.astype(float)


class Model:
    """Something with interactions and jumps."""

    def __init__(self, names: list[str], k: int, rng: np.random.Generator, linear: bool) -> None:
        self.names, self.linear = names, linear
        self.slopes, self.bends = rng.normal(size=(len(names), k)), rng.normal(size=(len(names), k))

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        x = np.stack([number_of(X[name]) for name in self.names], axis=1)
        answer = x @ self.slopes
        if not self.linear:
            answer = answer + (x.prod(axis=1) > 0.1)[:, None] * (x @ self.bends)
        return np.asarray(answer if answer.shape[1] > 1 else answer[:, 0])


def worlds(
    names: list[str], mechanisms: dict[str, Mechanism], order: list[str], clamped: dict[str, Any]
) -> pd.DataFrame:
    """Every combination of the levels of the noise, all equally likely."""
    levels = np.array(list(product(*(range(mechanisms[name].levels) for name in order))), dtype=int)
    values: dict[str, np.ndarray] = {}
    for k, name in enumerate(order):
        drawn = mechanisms[name].at(values, levels[:, k])
        values[name] = np.full(len(levels), clamped[name], dtype=drawn.dtype) if name in clamped else drawn
    return pd.DataFrame({name: values[name] for name in names})


def _edges(n: int, shape: str, rng: np.random.Generator) -> list[tuple[int, int]]:
    if shape == "forest":
        return [(int(rng.integers(v)), v) for v in range(1, n) if rng.random() < 0.8]
    return random_edges(n, rng, {"dag": 0.5, "complete": 1.0, "edgeless": 0.0}[shape])


def _causes(form: str, names: list[str], edges: list, rng: np.random.Generator) -> Causes:
    """Orders whose beginnings hold the causes of their members: the model's own, and some of them."""
    n = len(names)
    every = of_graphs(n, [edges])[0]
    more = []
    for _ in range(3):
        order = every[int(rng.integers(len(every)))]
        extra = {(order[a], order[b]) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.3}
        more.append(sorted({*edges, *extra}))
    if form == "denser":
        return Causes({"causal_graph": digraph(names, more[0])}, *of_graphs(n, more[:1]))
    if form == "mixture":
        weights = rng.uniform(0.1, 2.0, 3)
        graphs = [(digraph(names, graph), float(weight)) for graph, weight in zip(more, weights, strict=True)]
        return Causes({"causal_graph": graphs}, *of_graphs(n, more, weights))
    if form == "orders":
        chosen = [every[k] for k in rng.integers(len(every), size=2)]
        chains = [digraph(names, list(pairwise(order))) for order in chosen]
        return Causes({"causal_graph": chains}, chosen, np.full(2, 0.5))
    return Causes({}, every, np.full(len(every), 1 / len(every)))


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 3])
    causal = case.meaning == "causal"
    m = min(5, case.n + case.latent) if causal else case.n
    every, n = [f"v{k}" for k in range(m)], min(case.n, m)
    edges = _edges(m, case.shape, rng)
    order = [every[k] for k in of_graphs(m, [edges])[0][0]]
    kinds = {"numbers": ("number",), "mixed": ("number", "label", "bool"), "constants": ("number", "constant")}
    mechanisms = {
        name: Mechanism(
            str(rng.choice(kinds[case.values])), case.levels, [every[a] for a, b in edges if b == v], rng
        )
        for v, name in enumerate(every)
    }  # fmt: skip
    whole = worlds(every, mechanisms, order, {})
    # what is set may lead to labels that nature does not: the table of examples has them all
    labelled = {name: LABELS for name in every if mechanisms[name].kind == "label"}
    like = pd.concat([whole, whole.iloc[np.arange(len(LABELS)) % len(whole)].assign(**labelled)], ignore_index=True)
    background = StructuralModel(digraph(every, edges), dict(mechanisms), like=like if causal or case.like else None)
    names = [every[k] for k in sorted(rng.permutation(m)[:n].tolist())]
    model = Model(names, 2 if case.model.endswith("outputs") else 1, rng, case.model == "linear")
    X = whole[names].iloc[rng.integers(len(whole), size=3)].reset_index(drop=True)
    if causal:
        causes = known_causes(case.causal_causes, names, rng)
    else:
        causes = _causes(case.causes, names, edges, rng)

    def nu(r: int, members: frozenset[int], shown: int | None = None) -> np.ndarray:
        """``E[M | do(members)]``; a feature that is shown has the row's value in the eyes of the model alone."""
        found = worlds(every, mechanisms, order, {names[i]: X.iloc[r][names[i]] for i in members})
        if shown is not None:
            found = found.assign(**{names[shown]: X[names[shown]].iloc[[r] * len(found)].to_numpy()})
        return np.asarray(model(found)).reshape(len(found), -1).mean(axis=0)

    n_draws = next(draws for most, draws in DRAWS.items() if case.levels**m <= most)
    tolerance = 1e-9 * max(1.0, float(np.abs(model(whole)).max()))
    explainer = asked(model, background, causes, names, case, values=case.meaning, n_draws=n_draws)
    question = Question(explainer, X, names, causes, nu, tolerance, tolerance, nu)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JointAttributor, "_fewest_rows", lambda *_: 0)  # all orders for each noise: no order is drawn
        ask(question, case.causal_also if causal else case.also)


STRUCTURAL = Kind(
    "structural models",
    4,
    CHOICES,
    check,
    "up to 5 nodes with mechanisms of random parents and of noise with 2 or 4 equally likely levels, numbers, labels, "
    "bools and constants; conditional values along the model's own graph, denser ones, mixtures and orders of it, or "
    "causal values with hidden causes and causes known in one of 8 forms; all worlds are simulated forwards with what "
    "is known or set clamped. Groups of 1,024 scrambled Sobol points are balanced over the levels, so that draws have "
    "to agree to 1e-9 as well.",
)
