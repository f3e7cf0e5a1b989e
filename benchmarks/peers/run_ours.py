"""This package as a participant. ``options["work"]``: "network", "symmetric network", "matrix" or "weights"."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.exchange import Answer, Problem, measure, serve


def run(folder: Path, problem: Problem, options: dict[str, Any]) -> Answer:
    import shap_asv

    shap_asv.AsymmetricExplainer  # noqa: B018 (imports are lazy, and not part of the work)
    names, model = problem.feature_names, problem.model()
    edges = [(names[cause], names[effect]) for cause, effect in problem.edges]

    chosen = {"algorithm": options["algorithm"]} if "algorithm" in options else {}

    def by_network() -> Callable[[np.ndarray], Any]:
        tree = pickle.loads((folder / "model.pkl").read_bytes())  # its own file, written a moment ago
        explainer = shap_asv.AsymmetricExplainer(tree, _network(problem), feature_names=names)
        return lambda rows: explainer(rows, silent=True).values

    def by_symmetric_network() -> Callable[[np.ndarray], Any]:
        explainer = shap_asv.AsymmetricExplainer(model, _network(problem), feature_names=names).symmetric()
        return lambda rows: explainer(rows, silent=True).values

    def by_matrix() -> Callable[[np.ndarray], Any]:
        graph = edges or None  # none at all: ordinary Shapley values
        explainer = shap_asv.AsymmetricExplainer(
            model, problem.background, graph, feature_names=names, seed=0, values="marginal", **chosen
        )
        return lambda rows: explainer(rows, silent=True).values

    def by_weights() -> Callable[[np.ndarray], Any]:
        return _weights_alone(problem, edges)

    builds = {
        "network": by_network,
        "symmetric network": by_symmetric_network,
        "matrix": by_matrix,
        "weights": by_weights,
    }
    work = options["work"]
    counted = model if work in ("symmetric network", "matrix") else None
    answer = measure(builds[work], problem, options["rounds"], counted, shap_asv.__version__)
    if counted is None:
        answer.calls = answer.evaluated = 0  # the tree is read once, or the values are given
    return answer


def _network(problem: Problem) -> Any:
    from shap_asv.backgrounds.discrete.network import DiscreteNetwork

    states = tuple(tuple(range(table.shape[0])) for table in problem.tables)
    return DiscreteNetwork(tuple(problem.names), states, tuple(map(tuple, problem.parents)), tuple(problem.tables))


def _weights_alone(problem: Problem, edges: list[tuple[str, str]]) -> Callable[[np.ndarray], Any]:
    """Values of all ideals are given (``extra``): what is left is to weigh them."""
    import networkx as nx

    from shap_asv import CausalOrder
    from shap_asv.orders.weights import weigh_ideals

    graph = nx.DiGraph()
    graph.add_nodes_from(problem.feature_names)
    graph.add_edges_from(edges)
    order = CausalOrder.from_graph(graph, problem.feature_names)
    weights = weigh_ideals(order)
    powers = 2.0 ** np.arange(len(problem.features))
    codes = {code: place for place, code in enumerate(problem.extra["members"] @ powers)}
    place = [codes[code] for code in weights.coalitions @ powers]
    nu = problem.extra["nu"][:, place]
    return lambda rows: nu[: len(rows)] @ weights.matrix


if __name__ == "__main__":
    serve(run, sys.argv[1:])
