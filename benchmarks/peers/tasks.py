"""The work that participants share: problems with fixed seeds, the participants, and how exact values are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.experiment import Size
from benchmarks.peers.exchange import Problem
from benchmarks.peers.reference import exact_marginal, exact_network

OURS = "shap_asv"
SAMPLED = f"{OURS}, 1,000 sampled orders"


@dataclass(frozen=True)
class Participant:
    """One that does a task: a runner (``run_<runner>.py``) with options, in an environment of its own or in ours.

    ``same`` is False for another definition of the values: then only the time compares. Times are divided by
    those of the participant ``against``.
    """

    name: str
    runner: str
    options: dict[str, Any] = field(default_factory=dict)
    environment: str | None = None
    same: bool = True
    against: str = OURS


@dataclass(frozen=True)
class Task:
    """One piece of work. ``reference(problem) -> (r, n)``; None: the first participant's values are the reference."""

    name: str
    title: str
    problem: Callable[[], Problem]
    participants: tuple[Participant, ...]
    reference: Callable[[Problem], np.ndarray] | None
    remark: str = ""


def tasks(size: Size) -> list[Task]:
    """All tasks, small or full."""
    if size == "small":
        return [
            _asv_on_network("asia", "dysp", n_rows=2, small=True),
            _asv_on_matrix("asia", "dysp", n_rows=2, n_background=5),
            _shapley_on_matrix(4, n_rows=2, n_background=5, small=True),
            _posterior_on_network("asia", "dysp", None, n_rows=2),
        ]
    return [
        _asv_on_network("asia", "dysp", n_rows=10),
        _asv_on_child(n_rows=3),
        _asv_on_matrix("asia", "dysp", n_rows=10, n_background=10),
        _asv_on_matrix("child", "XrayReport", n_rows=10, n_background=10),
        _asv_on_matrix("insurance", "PropCost", n_rows=5, n_background=10),
        _asv_on_matrix("alarm", "BP", n_rows=1, n_background=5, sampled=True),
        _shapley_on_matrix(7, n_rows=20, n_background=100),
        _shapley_on_matrix(12, n_rows=10, n_background=100),
        _posterior_on_network("asia", "dysp", None, n_rows=10),
        _posterior_on_network("child", "Disease", 8, n_rows=10),
    ]


def network_problem(name: str, target: str, n_rows: int, n_features: int | None = None) -> tuple[Problem, np.ndarray]:
    """The features of a network, all nodes but the target (or the first few), and rows; also a larger sample."""
    from benchmarks.ensembles import draw
    from shap_asv.backgrounds.pgmpy_networks import load_network, read_network

    network = read_network(load_network(name))
    goal = network.names.index(target)
    features = [v for v in range(network.n_nodes) if v != goal][:n_features]
    sample = draw(network, 4000, np.random.default_rng(0))
    distinct = np.unique(sample[:, features], axis=0)
    chosen = np.random.default_rng(1).permutation(len(distinct))[:n_rows]
    place = {v: i for i, v in enumerate(features)}
    edges = [[place[p], place[v]] for v in features for p in network.parents[v] if p in place]
    problem = Problem(
        list(network.names),
        [list(parents) for parents in network.parents],
        [np.asarray(table) for table in network.tables],
        features,
        edges,
        distinct[chosen],
        target=goal,
    )
    return problem, sample


def with_tree(problem: Problem, sample: np.ndarray, depth: int = 4) -> Problem:
    """A decision tree for the probability that the target is not in its first state."""
    from sklearn.tree import DecisionTreeRegressor

    outcome = (sample[:, problem.target] > 0).astype(float)
    model = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(sample[:, problem.features], outcome)
    tree = model.tree_
    problem.tree = {
        "left": tree.children_left,
        "right": tree.children_right,
        "feature": tree.feature,
        "threshold": tree.threshold,
        "value": tree.value[:, 0, 0],
    }
    problem.fitted = model
    return problem


def _asv_on_network(name: str, target: str, n_rows: int, small: bool = False) -> Task:
    def problem() -> Problem:
        return with_tree(*network_problem(name, target, n_rows))

    return Task(
        f"{name}_network",
        f"ASV of a decision tree, conditional on the network {name}",
        problem,
        (
            Participant(OURS, "ours", {"work": "network"}),
            Participant("causasv, nu from the joint table", "causasv", {"values": "joint"}, "causasv"),
            Participant("all orders, a pgmpy query each time", "naive", {"memory": "none", "rounds": 1}),
            Participant("all orders, queries remembered", "naive", {"memory": "values", "rounds": 1}),
            Participant("ancestral sets, a pgmpy query each", "naive", {"memory": "sets", "rounds": 1}),
        )[: 4 if small else 5],
        exact_network,
    )


def _asv_on_child(n_rows: int) -> Task:
    def problem() -> Problem:
        return with_tree(*network_problem("child", "XrayReport", n_rows))

    return Task(
        "child_network",
        "ASV of a decision tree, conditional on the whole network child",
        problem,
        (
            Participant("ancestral sets, a pgmpy query each", "naive", {"memory": "sets", "rounds": 1}),
            Participant(OURS, "ours", {"work": "network"}),
            Participant("all orders, a pgmpy query each time", "naive", {"memory": "none", "first": 30}),
            Participant(f"{OURS}, nu given", "ours", {"work": "weights"}),
            Participant("causasv, nu given", "causasv", {"values": "given"}, "causasv", against=f"{OURS}, nu given"),
        ),
        None,
        "Errors are against pgmpy's queries on ancestral sets, weighed by exact counts. *nu given*: the values of all "
        "ancestral sets are handed over in a table, so that only orders are at work.",
    )


def _asv_on_matrix(name: str, target: str, n_rows: int, n_background: int, sampled: bool = False) -> Task:
    def problem() -> Problem:
        made, sample = network_problem(name, target, n_rows)
        made.background = sample[:n_background, made.features]
        return with_tree(made, sample, depth=6)

    both_sampled = Participant(SAMPLED, "ours", {"work": "matrix", "algorithm": "sampling"})
    return Task(
        f"{name}_matrix",
        f"ASV of a black box, causal graph of {name}, marginal over {n_background} rows",
        problem,
        (
            Participant(OURS, "ours", {"work": "matrix"}),
            *((both_sampled,) if sampled else ()),
            Participant(
                "causasv, its TabularExplainer",
                "causasv",
                {"values": "tabular"},
                "causasv",
                against=SAMPLED if sampled else OURS,
            ),
        ),
        exact_marginal,
        "By its own choice causasv is exact up to 63 features if there are few ancestral sets and the number of "
        "orders fits into 64 bits. Here it does not, and 1,000 orders are drawn; times are divided by ours for as many."
        if sampled
        else "",
    )


def _shapley_on_matrix(n_features: int, n_rows: int, n_background: int, small: bool = False) -> Task:
    def problem() -> Problem:
        made, sample = network_problem("child", "XrayReport", n_rows, n_features)
        made.edges = []
        made.background = sample[:n_background, made.features]
        return with_tree(made, sample, depth=6)

    # shap's black-box explainers compile for many seconds in each process: not in a small run
    black_boxes = (
        Participant("shap.ExactExplainer", "shap", {"explainer": "exact"}),
        Participant("shap.PermutationExplainer", "shap", {"explainer": "permutation"}),
    )
    return Task(
        f"shapley_{n_features}",
        f"Shapley values of a tree, {n_features} features, marginal over {n_background} rows",
        problem,
        (
            Participant(OURS, "ours", {"work": "matrix"}),
            Participant("shap.TreeExplainer, interventional", "shap", {"explainer": "tree"}),
            *(() if small else black_boxes),
        ),
        exact_marginal,
    )


def _posterior_on_network(name: str, target: str, n_features: int | None, n_rows: int) -> Task:
    def problem() -> Problem:
        made, sample = network_problem(name, target, n_rows, n_features)
        made.edges = []
        made.extra.update(posterior_tables(made))
        made.extra["sample"] = sample[:100]
        return made

    return Task(
        f"{name}_posterior",
        f"Shapley values of the network {name}'s own posterior of {target}, conditional",
        problem,
        (
            Participant(OURS, "ours", {"work": "symmetric network"}),
            Participant("pyAgrum, ConditionalShapValues", "pyagrum", {"kind": "conditional"}, "pyagrum"),
            Participant(
                "pyAgrum, CausalShapValues",
                "pyagrum",
                {"kind": "causal", "rounds": 1},
                "pyagrum",
                same=False,
            ),
        ),
        exact_network,
        "The model is the posterior itself, tabulated over the features for our side; the time to tabulate it is not "
        "counted.",
    )


def posterior_tables(problem: Problem) -> dict[str, np.ndarray]:
    """P(features) and P(target = 1 | features), one axis per feature; impossible states get a posterior of 0."""
    operands: list = []
    for v, table in enumerate(problem.tables):
        operands += [table, [v, *problem.parents[v]]]
    both = np.einsum(*operands, [problem.target, *problem.features], optimize="greedy")
    joint = both.sum(axis=0)
    return {"joint": joint, "posterior": np.divide(both[1], joint, out=np.zeros_like(joint), where=joint > 0)}
