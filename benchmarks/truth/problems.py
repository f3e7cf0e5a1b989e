"""The problems: a generating distribution, a graph, a model and a method for each kind of values. One row of
:data:`SPECS` each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ALL = ("marginal", "conditional", "causal", "asymmetric")


@dataclass(frozen=True)
class Spec:
    """What a problem is made of.

    Attributes
    ----------
    world : dict
        Written as ``distribution.json``.
    graph : dict
        Written as ``graph.json``: what a participant may know.
    model : dict
        What is fitted once: ``kind``, its size, and ``target``, a formula that it is fitted to; a linear one is given.
    method : str
        "closed form", "draws", "enumeration" or "quadrature".
    draws : (int, int)
        Groups of draws, and the logarithm of their number in each.
    absent : dict
        Kinds of values that the problem does not have, and why.
    blocks : sequence of lists of features
        Parts of the features that are independent of one another, and that the model adds up.
    """

    title: str
    world: dict[str, Any]
    graph: dict[str, Any]
    model: dict[str, Any]
    method: str
    draws: tuple[int, int] = (8, 11)
    absent: dict[str, str] = field(default_factory=dict)
    blocks: Sequence[list[str]] = ()
    n_rows: int = 12

    @property
    def features(self) -> list[str]:
        hidden = self.world.get("hidden", [])
        return [name for name in self.world["nodes"] if name not in hidden]


def normal(location: str, scale: str = "1.0") -> dict[str, str]:
    return {"noise": "normal", "location": location, "scale": scale}


def noisy(noise: str, location: str, scale: str) -> dict[str, str]:
    return {"noise": noise, "location": location, "scale": scale}


def table(states: int, parents: list[str], seed: int) -> dict[str, Any]:
    """A node with random probabilities of at least 2%, its parents of two states (three where they are capitals)."""
    sizes = [3 if name.isupper() else 2 for name in parents]
    p = np.random.default_rng(seed).dirichlet([0.8] * states, sizes) * (1 - 0.02 * states) + 0.02
    p = p.round(3)
    p[..., -1] = 1 - p[..., :-1].sum(axis=-1)
    return {"states": states, "parents": parents, "probabilities": p.round(3).tolist()}


def dag(*edges: str, **more: Any) -> dict[str, Any]:
    """A graph of edges such as ``"x0 x3"``."""
    return {"orders": "dag", "edges": [edge.split() for edge in edges], **more}


def levels(*names: str, **more: Any) -> dict[str, Any]:
    return {"orders": "levels", "levels": [level.split() for level in names], **more}


GAUSSIAN_8 = {
    "x0": normal("0.5"),
    "x1": normal("-0.3", "0.8"),
    "x2": normal("0.2 + 0.9*x0", "0.6"),
    "x3": normal("0.7*x0 - 0.6*x1", "0.7"),
    "x4": normal("-0.8*x1", "0.5"),
    "x5": normal("1.0 + 0.6*x2 + 0.5*x3", "0.8"),
    "x6": normal("0.9*x3 - 0.4*x4", "0.6"),
    "x7": normal("0.5*x5 + 0.6*x6", "0.7"),
}
EDGES_8 = ("x0 x2", "x0 x3", "x1 x3", "x1 x4", "x2 x5", "x3 x5", "x3 x6", "x4 x6", "x5 x7", "x6 x7")
STATES_8 = {
    "a": table(2, [], 1),
    "B": table(3, [], 2),
    "c": table(2, ["a"], 3),
    "D": table(3, ["a", "B"], 4),
    "e": table(2, ["B"], 5),
    "F": table(3, ["c", "D"], 6),
    "g": table(2, ["D", "e"], 7),
    "h": table(2, ["F", "g"], 8),
}

SPECS: dict[str, Spec] = {
    "linear_gaussian": Spec(
        "Linear Gaussian, linear model, full DAG",
        {"kind": "gaussian", "nodes": GAUSSIAN_8},
        dag(*EDGES_8),
        {"kind": "linear", "intercept": 0.7, "coefficients": [0.8, -0.5, 0.0, 1.2, 0.6, -0.9, 0.4, 1.0]},
        "closed form",
    ),
    "gaussian_trees": Spec(
        "Linear Gaussian, boosted trees, full DAG",
        {"kind": "gaussian", "nodes": GAUSSIAN_8},
        dag(*EDGES_8),
        {
            "kind": "xgboost",
            "trees": 60,
            "depth": 4,
            "target": "0.8*x0 - 0.5*x1 + 1.5*(x3 > 0.5)*(x5 > 1) + 0.7*x4*x6 + abs(x7)",
        },
        "draws",
    ),
    "network": Spec(
        "Network of 8 discrete nodes, decision tree, full DAG",
        {"kind": "network", "nodes": STATES_8},
        dag("a c", "a D", "B D", "B e", "c F", "D F", "D g", "e g", "F h", "g h"),
        {
            "kind": "decision tree",
            "leaves": 40,
            "target": "a + 0.8*(B == 2) - c*(D == 1) + 1.5*(F == 0)*g + 0.7*e*h + 0.5*D",
        },
        "enumeration",
    ),
    "hidden_cause": Spec(
        "A hidden cause of a feature and of its effect, linear Gaussian, decision tree, DAG without the hidden cause",
        {
            "kind": "gaussian",
            "nodes": {
                "u": normal("0.0"),
                "x0": normal("0.3"),
                "x1": normal("0.7*x0 + 0.8*u", "0.6"),
                "x2": normal("0.6*x1 + 0.9*u", "0.5"),
                "x3": normal("-0.8*x1", "0.7"),
                "x4": normal("0.5*x2 + 0.7*x3", "0.6"),
            },
            "hidden": ["u"],
        },
        dag("x0 x1", "x1 x2", "x1 x3", "x2 x4", "x3 x4", confounded_pairs=[["x1", "x2"]]),
        {"kind": "decision tree", "leaves": 50, "target": "x0 + 1.5*(x1 > 0.4) - x2*(x3 > 0) + x4"},
        "draws",
        absent={
            "causal": "x1 is a cause of x2 and shares a hidden cause with it, so that do(x1) is not identified by the "
            "distribution of the features and the graph"
        },
    ),
}
