"""Networks fitted to tables: counted again entry by entry, then the full joint and all orders."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv import fit_network
from tests.oracles import brute_force, fitted_networks
from tests.reliability.kinds.asking import ALSO, Kind, Question, ask, asked
from tests.reliability.kinds.causality import FORMS, Causes, digraph, known_causes, of_graphs, random_edges

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 1),
    "latent": (0, 0, 1),
    "rows": (40, 150),
    "columns": ("labels", "whole numbers", "mixed"),
    "smoothing": (1.0, 0.0, 3.5),
    "causes": (*FORMS, "own", "own"),
    "also": ALSO,
}
WOODS = np.array(["ash", "beech", "cedar"], dtype=object)
WHOLE = np.array([-1, 4, 7])


def _columns(case: SimpleNamespace, every: list[str], edges: list, rng: np.random.Generator) -> tuple[Any, Any]:
    """A table, and the states of its rows as codes."""
    order = of_graphs(len(every), [edges])[0][0]
    codes = np.zeros((case.rows, len(every)), dtype=int)
    for v in order:
        push = sum((codes[:, a] * rng.normal() for a, b in edges if b == v), np.zeros(case.rows))
        codes[:, v] = np.clip(np.floor(push + rng.normal(size=case.rows) + 1.5), 0, 2)
        codes[:3, v] = [0, 1, 2]  # every state occurs
    kinds = [case.columns if case.columns != "mixed" else str(rng.choice(CHOICES["columns"][:2])) for _ in every]
    columns = [(WOODS if kind == "labels" else WHOLE)[own] for kind, own in zip(kinds, codes.T, strict=True)]
    return pd.DataFrame(dict(zip(every, columns, strict=True))), codes


def _reaches(edges: list[tuple[int, int]], a: int, b: int) -> bool:
    return any(p == a and (q == b or _reaches(edges, q, b)) for p, q in edges)


class Model:
    """One number for every combination of states."""

    def __init__(self, names: list[str], rng: np.random.Generator) -> None:
        self.names = names
        self.table = rng.normal(size=(3,) * len(names))

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.table[tuple(self._states(X[name]) for name in self.names)])

    def _states(self, column: pd.Series) -> np.ndarray:
        states = WHOLE if column.dtype.kind == "i" else WOODS
        return np.array([list(states).index(value) for value in column])


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 6])
    m = case.n + case.latent
    every = [f"c{k}" for k in range(m)]
    edges = random_edges(m, rng)
    table, codes = _columns(case, every, edges, rng)
    background = fit_network(table, digraph(every, edges), smoothing=case.smoothing)
    nodes = sorted(rng.permutation(m)[: case.n].tolist())
    names = [every[v] for v in nodes]
    if case.causes == "own":  # latent columns hand precedence on
        before = [(a, b) for a in range(case.n) for b in range(case.n) if _reaches(edges, nodes[a], nodes[b])]
        causes = Causes({}, *of_graphs(case.n, [before]), one_graph=True)
    else:
        causes = known_causes(case.causes, names, rng)
    model = Model(names, rng)
    order = of_graphs(m, [edges])[0][0]
    parents = [[order.index(a) for a, b in edges if b == v] for v in order]
    tables = fitted_networks.counted_tables(codes[:, list(order)], [3] * m, parents, case.smoothing)
    joint = brute_force.joint_table([3] * m, parents, tables)
    joint = brute_force.feature_joint(joint, [order.index(v) for v in nodes])
    chosen = rng.integers(case.rows, size=3)
    X, states = table[names].iloc[chosen].reset_index(drop=True), codes[chosen][:, nodes]

    def nu(r: int, members: frozenset[int]) -> np.ndarray:
        return brute_force.conditional_expectation(joint, model.table[..., None], states[r], members)

    scale = float(np.abs(model.table).max())
    explainer = asked(model, background, causes, names, case)
    ask(Question(explainer, X, names, causes, nu, 1e-9 * scale, 0.1 * scale), case.also)


FITTED = Kind(
    "fitted networks",
    1,
    CHOICES,
    check,
    "a network fitted to a table of 40 or 150 rows (labels, whole numbers, latent columns, smoothing 0, 1 or 3.5), its "
    "own causes or causes as above; tables are counted again entry by entry, then the full joint. Agreement to 1e-9 of "
    "the scale.",
)
