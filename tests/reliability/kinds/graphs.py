"""Several graphs at once: means over graphs, and what ``sensitivity`` says of each of them."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv import AsymmetricExplainer
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from tests.oracles import brute_force
from tests.oracles.interventions import over_orders
from tests.reliability.kinds.asking import ALSO, Question, ask
from tests.reliability.kinds.causality import digraph, known_causes, of_graphs, random_edges
from tests.reliability.kinds.contract import Kind

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 5),
    "latent": (0, 0, 1),
    "causes": ("mixture", "weighted mixture", "partly directed", "matrix"),
    "graphs": (2, 3, 5),
    "also": ("sensitivity", "sensitivity", *ALSO),
}


class Model:
    """A number for every combination of states."""

    def __init__(self, names: list[str], table: np.ndarray) -> None:
        self.names, self.table = names, table

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.table[tuple(X[name].to_numpy(dtype=int) for name in self.names)])


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 8])
    m = case.n + case.latent
    cards = rng.integers(2, 4, m).tolist()
    parents = [tuple(sorted(rng.permutation(v)[: int(rng.integers(0, min(v, 2) + 1))].tolist())) for v in range(m)]
    tables = []
    for v in range(m):
        table = rng.uniform(0.05, 1.0, (cards[v], *(cards[p] for p in parents[v])))
        tables.append(table / table.sum(axis=0))
    every = [f"n{v}" for v in range(m)]
    network = DiscreteNetwork(tuple(every), tuple(tuple(range(c)) for c in cards), tuple(parents), tuple(tables))
    nodes = rng.permutation(m)[: case.n].tolist()
    names = [every[v] for v in nodes]
    model = Model(names, rng.normal(size=[cards[v] for v in nodes]))
    joint = brute_force.feature_joint(brute_force.joint_table(cards, parents, tables), nodes)
    states = np.stack([rng.integers(0, cards[v], 3) for v in nodes], axis=1)
    X = pd.DataFrame(states, columns=names)
    causes = known_causes(case.causes, names, rng)

    def nu(r: int, members: frozenset[int]) -> np.ndarray:
        return brute_force.conditional_expectation(joint, model.table[..., None], states[r], members)

    def explainer(**more: Any) -> AsymmetricExplainer:
        arguments = {"feature_names": names, "n_draws": 4096, "seed": case.seed % 1000, **causes.arguments}
        return AsymmetricExplainer(model, network, **{**arguments, **more})

    scale = max(1.0, float(np.abs(model.table).max()))
    question = Question(explainer, X, names, causes, nu, 1e-9 * scale, 0.1 * scale)
    ask(question, "nothing" if case.also == "sensitivity" else case.also)
    if case.also == "sensitivity":
        check_sensitivity(case, question, rng)


def check_sensitivity(case: SimpleNamespace, question: Question, rng: np.random.Generator) -> None:
    """Every graph by itself (two with the same orders are one), and the mean and the bounds over them."""
    names, n, n_rows = question.names, len(question.names), len(question.X)
    drawn = [random_edges(n, rng) for _ in range(case.graphs)]
    graphs = list({frozenset(of_graphs(n, [edges])[0]): edges for edges in drawn}.values())
    weights = rng.uniform(0.1, 2.0, len(graphs))
    given = [(digraph(names, edges), float(weight)) for edges, weight in zip(graphs, weights, strict=True)]
    found = question.explainer().sensitivity(question.X, graphs=given, silent=True)
    each = np.empty((len(graphs), n_rows, n))
    for g, edges in enumerate(graphs):
        orders, shares = of_graphs(n, [edges])
        for r in range(n_rows):
            nu = cache(lambda members, r=r: question.nu(r, members))
            each[g, r] = over_orders(nu, orders, shares)[:, 0]
    places = [list(found.feature_names).index(name) for name in names]
    expected = {
        "values": each,
        "mean": np.tensordot(weights / weights.sum(), each, axes=1),
        "low": each.min(axis=0),
        "high": each.max(axis=0),
    }
    for name, wanted in expected.items():
        array = np.asarray(getattr(found, name), dtype=float).reshape(wanted.shape)[..., places]
        np.testing.assert_allclose(array, wanted, rtol=0, atol=question.exact, err_msg=name)


GRAPHS = Kind(
    "several graphs",
    2,
    CHOICES,
    check,
    "a discrete network of up to 6 nodes under a mixture of graphs (weights over 5 orders of magnitude) or a partly "
    "directed graph, whose DAGs are found by trying every direction; `sensitivity` over 2 to 5 other graphs, each by "
    "itself. All orders of every DAG and the full joint. Agreement to 1e-9 of the scale.",
)
