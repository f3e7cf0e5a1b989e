"""The paper's baseline as a participant: enumerate topological orders, ask pgmpy for each mean prediction.

nu(S) = E[M | x_S] is one query of pgmpy's ``VariableElimination`` for the joint distribution of the features that the
tree looks at and S leaves open, summed against the tree's values. ``options["memory"]``: "none" asks again for every
order, "values" keeps what was asked for the row; "sets" does not enumerate orders but asks once per ideal and weighs
(the paper's classes). With ``options["first"]`` only so many orders are walked, and the times stand for all of them;
that is fair without memory only. With ``options["set up"]`` the network is built within the first row, else before it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.exchange import Answer, Problem, measure, serve
from benchmarks.peers.reference import lattice


def run(folder: Path, problem: Problem, options: dict[str, Any]) -> Answer:
    import networkx as nx
    import pgmpy

    mean_prediction = MeanPrediction(problem)
    n, memory = len(problem.features), options["memory"]
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(problem.edges)

    def walk(row: np.ndarray, orders: Any) -> tuple[np.ndarray, int]:
        phi, count, known = np.zeros(n), 0, {}
        for order in orders:
            count += 1
            members: frozenset = frozenset()
            before = ask(row, members, known)
            for feature in order:
                members = members | {feature}
                after = ask(row, members, known)
                phi[feature] += after - before
                before = after
        return phi / count, count

    def ask(row: np.ndarray, members: frozenset, known: dict) -> float:
        if memory == "none":
            return mean_prediction(row, members)
        if members not in known:
            known[members] = mean_prediction(row, members)
        return known[members]

    if memory == "sets":
        sets, kept = lattice(n, problem.edges), []

        def by_sets(rows: np.ndarray) -> np.ndarray:
            members = [frozenset(np.flatnonzero(coalition).tolist()) for coalition in sets.members()]
            kept[:] = [[mean_prediction(row, coalition) for coalition in members] for row in rows]
            return sets.attributions(np.array(kept))

        if options.get("set up"):

            def from_scratch() -> Callable[[np.ndarray], Any]:
                nonlocal mean_prediction
                mean_prediction = MeanPrediction(problem)
                return by_sets

            return measure(from_scratch, problem, options["rounds"], None, pgmpy.__version__)

        answer = measure(lambda: by_sets, problem, options["rounds"], mean_prediction.model, pgmpy.__version__)
        answer.nu = kept
        return answer

    def all_orders() -> Callable[[np.ndarray], Any]:
        return lambda rows: np.array([walk(row, nx.all_topological_sorts(graph))[0] for row in rows])

    if "first" not in options:
        return measure(all_orders, problem, options["rounds"], mean_prediction.model, pgmpy.__version__)
    start, clock = time.process_time(), time.perf_counter()
    count = walk(problem.rows[0], islice(nx.all_topological_sorts(graph), options["first"]))[1]
    seconds, wall = time.process_time() - start, time.perf_counter() - clock
    total = lattice(n, problem.edges).n_orders
    factor = total / count
    return Answer(
        pgmpy.__version__,
        seconds * factor,
        [seconds * factor * len(problem.rows)],
        [wall * factor * len(problem.rows)],
        extrapolated=f"extrapolated from {count:,} of {float(total):.3g} orders of one row",
        uncounted="the work was only begun",
    )


class MeanPrediction:
    """E[M | x_S] by one query; counts the calls of the model behind it."""

    def __init__(self, problem: Problem) -> None:
        from pgmpy.inference import VariableElimination

        self.names = problem.feature_names
        self.inference = VariableElimination(_network(problem))
        self.model = problem.model()
        self.used = self.model.used()
        self.n = len(problem.features)

    def __call__(self, row: np.ndarray, members: frozenset) -> float:
        free = [v for v in self.used if v not in members]
        if not free:
            return float(self.model(row[None])[0])
        evidence = {self.names[v]: int(row[v]) for v in members}
        factor = self.inference.query([self.names[v] for v in free], evidence=evidence, show_progress=False)
        states = np.indices(factor.values.shape).reshape(len(free), -1).T
        inputs = np.tile(row, (len(states), 1))
        inputs[:, [self.names.index(name) for name in factor.variables]] = states
        return float(factor.values.reshape(-1) @ self.model(inputs))


def _network(problem: Problem) -> Any:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork()
    network.add_nodes_from(problem.names)
    for v, causes in enumerate(problem.parents):
        network.add_edges_from((problem.names[cause], problem.names[v]) for cause in causes)
        table = problem.tables[v]
        cards = [problem.tables[cause].shape[0] for cause in causes]
        kept = [problem.names[cause] for cause in causes]
        shaped = table.reshape(table.shape[0], -1)
        network.add_cpds(TabularCPD(problem.names[v], table.shape[0], shaped, evidence=kept, evidence_card=cards))
    return network


if __name__ == "__main__":
    serve(run, sys.argv[1:])
