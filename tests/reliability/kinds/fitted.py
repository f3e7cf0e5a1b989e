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
    "columns": ("labels", "whole numbers", "cut at points", "mixed"),
    "smoothing": (1.0, 0.0, 3.5),
    "causes": (*FORMS, "own", "own"),
    "also": ALSO,
}
WOODS = np.array(["ash", "beech", "cedar"], dtype=object)
WHOLE = np.array([-1, 4, 7])


def _columns(case: SimpleNamespace, every: list[str], edges: list, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """A table, the states of its rows as codes, and the cut points of the columns that have some."""
    order = of_graphs(len(every), [edges])[0][0]
    codes = np.zeros((case.rows, len(every)), dtype=int)
    for v in order:
        push = sum((codes[:, a] * rng.normal() for a, b in edges if b == v), np.zeros(case.rows))
        codes[:, v] = np.clip(np.floor(push + rng.normal(size=case.rows) + 1.5), 0, 2)
        codes[:3, v] = [0, 1, 2]  # every state occurs
    table, cuts = {}, {}
    for v, name in enumerate(every):
        kind = case.columns if case.columns != "mixed" else str(rng.choice(CHOICES["columns"][:3]))
        if kind == "labels":
            table[name] = pd.Series(WOODS[codes[:, v]])
        elif kind == "whole numbers":
            table[name] = pd.Series(WHOLE[codes[:, v]])
        else:
            points = np.sort(rng.normal(size=2)) + np.array([0.0, 1.0])
            lower = np.concatenate([[points[0] - 1.0], points])[codes[:, v]]
            values = lower + 1e-3 + 0.9 * rng.random(case.rows) * min(1.0, points[1] - points[0])
            ends = (codes[:, v] < 2) & (rng.random(case.rows) < 0.2)  # a cut point belongs to the bin below it
            table[name] = pd.Series(np.where(ends, points[np.minimum(codes[:, v], 1)], values))
            cuts[name] = points.tolist()
    return pd.DataFrame(table), codes, cuts


def _reaches(edges: list[tuple[int, int]], a: int, b: int) -> bool:
    return any(p == a and (q == b or _reaches(edges, q, b)) for p, q in edges)


class Model:
    """One number for every combination of states; it cuts numbers itself, so that a bin has one answer."""

    def __init__(self, names: list[str], cuts: dict[str, list[float]], rng: np.random.Generator) -> None:
        self.names, self.cuts = names, cuts
        self.table = rng.normal(size=(3,) * len(names))

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.table[tuple(self._states(name, X[name]) for name in self.names)])

    def _states(self, name: str, column: pd.Series) -> np.ndarray:
        if name in self.cuts:
            return np.searchsorted(self.cuts[name], column.to_numpy(dtype=float))
        states = WHOLE if column.dtype.kind == "i" else WOODS
        return np.array([list(states).index(value) for value in column])


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 6])
    m = case.n + case.latent
    every = [f"c{k}" for k in range(m)]
    edges = random_edges(m, rng)
    table, codes, cuts = _columns(case, every, edges, rng)
    background = fit_network(table, digraph(every, edges), bins=cuts, smoothing=case.smoothing)
    nodes = sorted(rng.permutation(m)[: case.n].tolist())
    names = [every[v] for v in nodes]
    if case.causes == "own":  # latent columns hand precedence on
        before = [(a, b) for a in range(case.n) for b in range(case.n) if _reaches(edges, nodes[a], nodes[b])]
        causes = Causes({}, *of_graphs(case.n, [before]), one_graph=True)
    else:
        causes = known_causes(case.causes, names, rng)
    model = Model(names, cuts, rng)
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
    "a network fitted to a table of 40 or 150 rows (labels, whole numbers, numbers cut at given points, latent "
    "columns, smoothing 0, 1 or 3.5), its own causes or causes as above; tables are counted again entry by entry, then "
    "the full joint. Agreement to 1e-9 of the scale.",
)
