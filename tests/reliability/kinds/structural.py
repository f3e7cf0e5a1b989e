"""Given mechanisms, whose noise has few equally likely levels: every world is enumerated.

Scrambled Sobol points have as many points in each of the boxes that s quarterings make as in any other: 256 points for
s <= 3, and 1,024 for s <= 5 (256 do not for s = 4: Sobol's property A' is not for every s). 4,096 draws come in groups
of 256, 32,768 in groups of 1,024. So means over draws are the exact expectations here, to the last bits, and nothing
has to be swallowed by a tolerance for noise.
"""

from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv import AsymmetricExplainer, StructuralModel
from tests.reliability.kinds.asking import ALSO_ANCESTRAL, Question, ask
from tests.reliability.kinds.causality import Causes, digraph, of_graphs, random_edges
from tests.reliability.kinds.contract import Kind

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 5, 1),
    "levels": (2, 4, 4),
    "values": ("numbers", "numbers", "mixed", "constants"),
    "shape": ("dag", "dag", "forest", "complete", "edgeless"),
    "causes": ("own", "own", "denser", "mixture", "orders"),
    "model": ("callable", "callable of two outputs", "linear"),
    "like": (True, False),
    "also": ALSO_ANCESTRAL,
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
    return (
        np.searchsorted(LABELS.astype(str), column.astype(str)).astype(float)
        if column.dtype.kind in "OU"
        else column.astype(float)
    )


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


def edges_of(n: int, shape: str, rng: np.random.Generator) -> list[tuple[int, int]]:
    if shape == "forest":
        return [(int(rng.integers(v)), v) for v in range(1, n) if rng.random() < 0.8]
    density = {"dag": 0.5, "complete": 1.0, "edgeless": 0.0}[shape]
    return random_edges(n, rng, density)


def mechanisms_of(values: str, levels: int, names: list[str], edges: list, rng: Any) -> dict[str, Mechanism]:
    """One for each node."""
    kinds = {"numbers": ("number",), "mixed": ("number", "label", "bool"), "constants": ("number", "constant")}
    found = {}
    for v, name in enumerate(names):
        parents = [names[a] for a, b in edges if b == v]
        found[name] = Mechanism(str(rng.choice(kinds[values])), levels, parents, rng)
    return found


def _causes(case: SimpleNamespace, names: list[str], edges: list, rng: np.random.Generator) -> Causes:
    """Orders whose beginnings hold the causes of their members: the model's own, and some of them."""
    every = of_graphs(case.n, [edges])[0]
    more = []
    for _ in range(3):
        order = every[int(rng.integers(len(every)))]
        extra = {(order[a], order[b]) for a in range(case.n) for b in range(a + 1, case.n) if rng.random() < 0.3}
        more.append(sorted({*edges, *extra}))
    if case.causes == "denser":
        return Causes({"causal_graph": digraph(names, more[0])}, *of_graphs(case.n, more[:1]))
    if case.causes == "mixture":
        weights = rng.uniform(0.1, 2.0, 3)
        graphs = [(digraph(names, graph), float(weight)) for graph, weight in zip(more, weights, strict=True)]
        return Causes({"causal_graph": graphs}, *of_graphs(case.n, more, weights))
    if case.causes == "orders":
        chosen = [every[k] for k in rng.integers(len(every), size=2)]
        return Causes({"orders": [[names[i] for i in order] for order in chosen]}, chosen, np.full(2, 0.5))
    return Causes({}, *of_graphs(case.n, [edges]))


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 3])
    names = [f"v{k}" for k in range(case.n)]
    edges = edges_of(case.n, case.shape, rng)
    order = [names[k] for k in of_graphs(case.n, [edges])[0][0]]
    mechanisms = mechanisms_of(case.values, case.levels, names, edges, rng)
    whole = worlds(names, mechanisms, order, {})
    given: dict[str, Callable] = dict(mechanisms)
    background = StructuralModel(digraph(names, edges), given, like=whole if case.like else None)
    model = Model(names, 2 if case.model.endswith("outputs") else 1, rng, case.model == "linear")
    X = whole.iloc[rng.integers(len(whole), size=3)].reset_index(drop=True)
    causes = _causes(case, names, edges, rng)

    def nu(r: int, members: frozenset[int]) -> Any:
        clamped = {names[i]: X.iloc[r][names[i]] for i in members}
        return model(worlds(names, mechanisms, order, clamped)).reshape(-1, model.slopes.shape[1]).mean(axis=0)

    n_draws = next(draws for most, draws in DRAWS.items() if case.levels**case.n <= most)

    def explainer(**more: Any) -> AsymmetricExplainer:
        arguments = {"feature_names": names, "n_draws": n_draws, "seed": case.seed % 1000, **causes.arguments}
        return AsymmetricExplainer(model, background, **{**arguments, **more})

    tolerance = 1e-9 * max(1.0, float(np.abs(model(whole)).max()))
    ask(Question(explainer, X, names, causes, nu, tolerance, tolerance), case.also)


STRUCTURAL = Kind(
    "structural models",
    2,
    CHOICES,
    check,
    "up to 5 nodes with mechanisms of random parents and of noise with 2 or 4 equally likely levels, numbers, labels, "
    "bools and constants; the model's own graph, denser ones, mixtures and orders of it; all worlds are simulated "
    "forwards. Groups of 1,024 scrambled Sobol points are balanced over the levels, so that draws have to agree to "
    "1e-9 as well.",
)
