"""shap_asv: ``python -m benchmarks.truth.peers.run_shap_asv PROBLEM KIND WAY FILE``.

The one module here that imports the package that this repository is of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.truth.peers.exchange import Explain, serve
from benchmarks.truth.reading import Problem, read_json
from shap_asv import (
    AsymmetricExplainer,
    CausalOrder,
    ConditionalTable,
    CopulaModel,
    GaussianModel,
    fit_network,
)

OPTIONS: dict[str, Any] = {"seed": 0, "silent": True}


def frame(problem: Problem, rows: np.ndarray) -> pd.DataFrame:
    """States as categories, numbers as they are."""
    table = pd.DataFrame(rows, columns=problem.features)
    states = [one["name"] for one in problem.about["features"] if one["kind"] != "number"]
    return table.astype(dict.fromkeys(states, int)).astype(dict.fromkeys(states, "category"))


def model_of(problem: Problem) -> Any:
    """Boosted trees of numbers and linear models as their libraries have them; other models as functions."""
    kind = problem.about["model"]["kind"]
    plain = all(one["kind"] == "number" for one in problem.about["features"])
    if kind == "xgboost" and plain:
        import xgboost

        return xgboost.Booster({"nthread": 1}, model_file=str(problem.model_file))
    if kind == "lightgbm" and plain:
        import lightgbm

        return lightgbm.Booster(model_file=str(problem.model_file))
    if kind == "linear":
        from sklearn.linear_model import LinearRegression

        told = read_json(problem.model_file)
        model = LinearRegression()
        model.coef_, model.intercept_ = np.array(told["coefficients"]), told["intercept"]
        return model
    predict = problem.predict()
    return lambda X: predict(np.asarray(X, dtype=float))


def causes_of(problem: Problem) -> Any:
    """A DAG as a list of edges; levels and some of the edges as an order."""
    graph = problem.graph
    if graph["orders"] == "levels":
        return CausalOrder.from_levels(graph["levels"], confounded=graph.get("confounded_levels", []))
    if graph["orders"] == "partial" or "confounded_pairs" in graph:
        return CausalOrder.from_edges(graph["edges"], features=problem.features)
    return [tuple(edge) for edge in graph["edges"]]


def explain(problem: Problem, kind: str, background: Any) -> Explain:
    """Values of a kind over a background; all orders but for asymmetric ones."""
    values = "conditional" if kind == "asymmetric" else kind
    causes = causes_of(problem) if kind in ("asymmetric", "causal") else None
    explainer = AsymmetricExplainer(
        model_of(problem), background, causes, values=values, feature_names=problem.features, **OPTIONS
    )
    explainer = explainer.symmetric() if kind == "causal" else explainer
    return lambda rows: explainer(frame(problem, rows), silent=True).values


def by_table(problem: Problem, kind: str) -> Explain:
    return explain(problem, kind, frame(problem, problem.train))


def by_fit(fit: Callable[[pd.DataFrame], Any], problem: Problem, kind: str) -> Explain:
    return explain(problem, kind, fit(frame(problem, problem.train)))


def by_counted_network(problem: Problem, kind: str) -> Explain:
    return explain(problem, kind, fit_network(frame(problem, problem.train), causes_of(problem)))


def by_cover_counts(problem: Problem, kind: str) -> Explain:
    explainer = AsymmetricExplainer(
        model_of(problem), causal_graph=causes_of(problem), feature_perturbation="tree_path_dependent", **OPTIONS
    )
    return lambda rows: explainer(frame(problem, rows), silent=True).values


def by_true_network(problem: Problem, kind: str) -> Explain:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    nodes = problem.distribution["nodes"]
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(nodes)
    network.add_edges_from((cause, name) for name, how in nodes.items() for cause in how["parents"])
    states = {name: list(range(how["states"])) for name, how in nodes.items()}
    for name, how in nodes.items():
        table = np.array(how["probabilities"])
        table = table.reshape(-1, how["states"]).T
        sizes = [nodes[cause]["states"] for cause in how["parents"]]
        own = {one: states[one] for one in (name, *how["parents"])}
        network.add_cpds(TabularCPD(name, how["states"], table, how["parents"] or None, sizes or None, own))
    if kind == "asymmetric":  # the order is the one that the problem tells, hidden nodes or not
        order = CausalOrder.from_edges(problem.graph["edges"], features=problem.features)
        explainer = AsymmetricExplainer(model_of(problem), network, order, feature_names=problem.features, **OPTIONS)
    else:
        explainer = AsymmetricExplainer(
            model_of(problem), network, values=kind, feature_names=problem.features, **OPTIONS
        ).symmetric()
    return lambda rows: explainer(frame(problem, rows), silent=True).values


def by_true_gaussian(problem: Problem, kind: str) -> Explain:
    """Mean and covariance of the linear equations."""
    nodes = problem.distribution["nodes"]
    names = list(nodes)
    zero = dict.fromkeys(names, 0.0)
    at_zero = np.array([eval(nodes[name]["location"], {}, zero) for name in names])
    slopes = np.array([[eval(nodes[b]["location"], {}, zero | {a: 1.0}) for a in names] for b in names])
    through = np.linalg.inv(np.eye(len(names)) - (slopes - at_zero[:, None]))
    root = through * np.array([float(nodes[name]["scale"]) for name in names])
    at = [names.index(name) for name in problem.features]
    covariance = (root @ root.T)[np.ix_(at, at)]
    return explain(problem, kind, GaussianModel((through @ at_zero)[at], covariance, problem.features))


if __name__ == "__main__":
    serve(
        "shap_asv",
        {
            "table": by_table,
            "gaussian": partial(by_fit, GaussianModel.fit),
            "copula": partial(by_fit, CopulaModel),
            "donors": partial(by_fit, ConditionalTable),
            "counted network": by_counted_network,
            "cover counts": by_cover_counts,
            "true network": by_true_network,
            "true Gaussian": by_true_gaussian,
        },
    )
