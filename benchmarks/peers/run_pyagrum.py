"""pyAgrum as a participant: Shapley values of a network's own posterior P(target = 1 | features).

``options["kind"]`` is "conditional" (nu(S) = P(target = 1 | x_S), the mean over all orders: ordinary Shapley values) or
"causal" (interventions on ancestors of the target, estimated on a background sample, again over all orders: another
definition, of which only the time compares).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.exchange import Answer, Problem, measure, serve


def run(folder: Path, problem: Problem, options: dict[str, Any]) -> Answer:
    import pandas as pd
    import pyagrum
    import pyagrum.explain as explain_module

    pyagrum.setNumberOfThreads(1)
    names = problem.feature_names
    target = problem.names[problem.target]

    def build() -> Callable[[np.ndarray], Any]:
        network = _network(pyagrum, problem)
        if options["kind"] == "conditional":
            explainer = explain_module.ConditionalShapValues(network, target, logit=False)
        else:
            table = pd.DataFrame(problem.extra["sample"], columns=problem.names)
            explainer = explain_module.CausalShapValues(network, target, (table, False), logit=False)

        def explain(rows: np.ndarray) -> np.ndarray:
            # rows come back sorted and without repetitions: they are put in place by their values
            found = explainer.compute((pd.DataFrame(rows, columns=names), False))
            return _in_place(found[1], found.data, found.feature_names, rows, names)

        return explain

    answer = measure(build, problem, options["rounds"], None, pyagrum.__version__)
    answer.uncounted = "the network is the model"
    return answer


def _network(pyagrum: Any, problem: Problem) -> Any:
    network = pyagrum.BayesNet("problem")
    for v, name in enumerate(problem.names):
        network.add(pyagrum.LabelizedVariable(name, name, problem.tables[v].shape[0]))
    for effect, causes in enumerate(problem.parents):
        for cause in causes:
            network.addArc(problem.names[cause], problem.names[effect])
    for v, table in enumerate(problem.tables):
        wanted = [problem.names[node] for node in (v, *problem.parents[v])]
        held = list(network.cpt(problem.names[v]).names)
        # names come in the order of the variables, the array's axes in the opposite one
        axes = [wanted.index(name) for name in reversed(held)]
        network.cpt(problem.names[v]).fillWith(np.transpose(table, axes).reshape(-1).tolist())
    return network


def _in_place(values: Any, data: Any, found_names: Any, rows: np.ndarray, names: list[str]) -> np.ndarray:
    columns = [list(found_names).index(name) for name in names]
    data = np.atleast_2d(np.asarray(data))[:, columns]
    place = {tuple(map(int, row)): number for number, row in enumerate(data)}
    stacked = np.column_stack([np.atleast_1d(values[name]) for name in names])
    return stacked[[place[tuple(map(int, row))] for row in rows]]


if __name__ == "__main__":
    serve(run, sys.argv[1:])
