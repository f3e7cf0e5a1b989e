"""causasv as a participant: ASV over a causal graph, with a value function that its user brings.

``options["values"]``:

- "joint": nu(S) = E[M | x_S] summed over a joint table of the features, as a user of a small network would write it;
- "given": nu is looked up in a table of all ideals that is handed over, so that it costs next to nothing;
- "tabular": causasv's own ``TabularExplainer`` with ``baseline="background_expectation"``, the marginal expectation.

Runs on Python 3.9, the only version that its wheels are built for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.exchange import Answer, Problem, measure, serve
from benchmarks.peers.reference import joint_of_features, model_table


def run(folder: Path, problem: Problem, options: dict[str, Any]) -> Answer:
    import causasv

    names, model = problem.feature_names, problem.model()
    # from_edges() cannot hold a feature without edges, and the parser of from_json() takes compact text only
    text = {"nodes": names, "edges": [{"from": names[a], "to": names[b]} for a, b in problem.edges]}
    graph = causasv.CausalDAG.from_json(json.dumps(text, separators=(",", ":")))
    assert len(graph.nodes()) == len(names)
    assert len(graph.edges()) == len(problem.edges)
    place = {name: i for i, name in enumerate(names)}
    method, told = options.get("method", "auto"), {}

    def by_value(value_of: Callable[[int, np.ndarray], Callable[[list], float]]) -> Callable[[np.ndarray], Any]:
        explainer = causasv.ASVExplainer(graph)

        def explain(rows: np.ndarray) -> np.ndarray:
            values = []
            for number, row in enumerate(rows):
                found = explainer.explain_with_diagnostics(
                    value_of(number, row), method=method, n_samples=options.get("n_samples", 1000), seed=0
                )
                told.update(found)
                values.append([found["values"][name] for name in names])
            return np.array(values)

        return explain

    def by_joint() -> Callable[[np.ndarray], Any]:
        joint = joint_of_features(problem)
        outputs = model_table(model, joint.shape)

        def value_of(number: int, row: np.ndarray) -> Callable[[list], float]:
            def value(coalition: list) -> float:
                index: list = [slice(None)] * len(names)
                for name in coalition:
                    index[place[name]] = row[place[name]]
                share = joint[tuple(index)]
                return float((share * outputs[tuple(index)]).sum() / share.sum())

            return value

        return by_value(value_of)

    def by_given() -> Callable[[np.ndarray], Any]:
        keys = [frozenset(np.array(names)[members].tolist()) for members in problem.extra["members"]]
        nu = [
            dict(zip(keys, values))  # noqa: B905 (strict= is newer than Python 3.9)
            for values in problem.extra["nu"].tolist()
        ]
        return by_value(lambda number, row: lambda coalition: nu[number][frozenset(coalition)])

    def by_table() -> Callable[[np.ndarray], Any]:
        explainer = causasv.TabularExplainer.from_model(
            _Estimator(model), graph, problem.background, names, baseline="background_expectation"
        )

        def explain(rows: np.ndarray) -> np.ndarray:
            values = []
            for row in rows:
                found = explainer.explain_instance_with_diagnostics(
                    row, method=method, n_samples=options.get("n_samples", 1000), seed=0
                )
                told.update(found)
                values.append([found["values"][name] for name in names])
            return np.array(values)

        return explain

    builds = {"joint": by_joint, "given": by_given, "tabular": by_table}
    answer = measure(builds[options["values"]], problem, options["rounds"], model, version("causasv"))
    answer.note = f"chose {told['selected_method']}, {'exact' if told['is_exact'] else 'sampled'}"
    return answer


class _Estimator:
    """The counted model behind the method that ``TabularExplainer`` asks for."""

    def __init__(self, model: Callable[[np.ndarray], np.ndarray]) -> None:
        self.predict = model


if __name__ == "__main__":
    serve(run, sys.argv[1:])
