"""Groups of features on discrete networks: their values, their importance, their sensitivity to the graph.

Networks, models and rows are those of :mod:`tests.reliability.building`; players, graph between them and meaning of nu
are drawn here. The oracle enumerates the orders of the groups and the joint, conditioned, mutilated or cut loose.
"""

import warnings
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from shap_asv.errors import CausalGraphError, CausalGraphWarning
from tests.oracles import brute_force, group_games, interventions
from tests.oracles.global_values import global_values
from tests.reliability.cases import CHOICES, Case
from tests.reliability.kinds.contract import Kind
from tests.reliability.properties import World, build, compiled

#: What is varied of a network's case; the rest is as plain as can be.
WORDS = {
    name: words for name, words in CHOICES.items() if name not in ("also", "graph", "model_output", "names", "states")
}
WORDS["n_nodes"] = (3, 4, 4, 5)
WORDS |= {
    "meaning": ("conditional", "causal", "marginal"),
    "graph": ("own", "sparser", "contradicting", "levels", "edgeless"),
    "between": ("features", "groups", "orders"),
    "ask": ("values", "every backend", "importance", "importance", "sensitivity", "saved"),
}


def check(case: SimpleNamespace) -> None:
    words = {field.name: getattr(case, field.name, None) for field in fields(Case)}
    plain = Case(**{**words, "also": "nothing", "model_output": "auto", "names": "given", "states": "names"})
    with compiled(case.compiled), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.simplefilter("ignore", CausalGraphWarning)
        game = Game(case, build(plain))
        if game.orders is None:  # groups that come before each other
            with pytest.raises(CausalGraphError, match="come before each other"):
                game.explainer()
            return
        QUESTIONS[case.ask](game)


class Game:
    """Players, what is known of their order, and every value of a coalition from its definition."""

    def __init__(self, case: SimpleNamespace, world: World) -> None:
        self.case, self.world = case, world
        rng, n = world.rng, len(world.net.features)
        owner = rng.integers(0, max(1, n - 1), size=n)
        found = [tuple(np.flatnonzero(owner == g).tolist()) for g in np.unique(owner)]
        # the package lists players by their first members, in the order of the background's features
        self.features = tuple(world.explainer(**self.plain()).causal_order.features) if n else ()
        place = [self.features.index(name) for name in world.net.features]
        self.groups = sorted(found, key=lambda members: min(place[v] for v in members))
        self.names = [f"group {g}" if len(m) > 1 else world.net.features[m[0]] for g, m in enumerate(self.groups)]
        self.arguments, self.orders, self.weights = self.order(rng)

    def plain(self) -> dict[str, Any]:
        return {"feature_names": self.world.net.features, "causal_graph": self.graph_of([])}

    def graph_of(self, edges: list) -> nx.DiGraph:
        graph = nx.DiGraph()
        graph.add_nodes_from(self.world.net.features)
        graph.add_edges_from(edges)
        return graph

    def order(self, rng: np.random.Generator) -> tuple[dict[str, Any], Any, Any]:
        """What the explainer is told about causes, the orders of the groups that it stands for, and their weights."""
        count = len(self.groups)
        if self.case.between == "orders":
            orders = [tuple(int(i) for i in rng.permutation(count)) for _ in range(2)]
            weights = rng.random(2) + 0.1
            named = [[self.names[i] for i in order] for order in orders]
            return {"orders": named, "weights": weights.tolist(), "causal_graph": None}, orders, weights
        if self.case.between == "groups":
            ranked = rng.permutation(count).tolist()
            edges = [(a, b) for i, a in enumerate(ranked) for b in ranked[i + 1 :] if rng.random() < 0.5]
            graph = nx.DiGraph()
            graph.add_nodes_from(self.names)
            graph.add_edges_from((self.names[a], self.names[b]) for a, b in edges)
            return {"causal_graph": graph}, group_games.orders_of_groups(count, edges), None
        orders = self.world.graph.orders
        n = len(self.features)
        before = [(a, b) for a in range(n) for b in range(n) if all(o.index(a) < o.index(b) for o in orders)]
        edges = group_games.quotient_edges(self.groups, [(a, b) for a, b in before if a != b])
        return {}, group_games.orders_of_groups(count, edges) or None, None

    def explainer(self, **more: Any) -> Any:
        features = self.world.net.features
        groups = {
            name: [features[v] for v in members]
            for name, members in zip(self.names, self.groups, strict=True)
            if len(members) > 1
        }
        told = {"groups": groups, "values": self.case.meaning, "feature_names": features, **self.arguments, **more}
        return self.world.explainer(**told)

    def nu(self, row: np.ndarray, members: frozenset) -> np.ndarray:
        world = self.world
        if self.case.meaning == "conditional":
            return brute_force.conditional_expectation(world.joint, world.fitted.table, row, members)
        value = interventions.causal_value if self.case.meaning == "causal" else interventions.marginal_value
        arrays = ([len(labels) for labels in world.net.labels], world.net.parents, world.net.tables)
        return np.ravel(value(arrays, world.net.feature_nodes, world.fitted.table, row, members))

    def expected(self, orders: Any, weights: Any = None) -> np.ndarray:
        """(r, players, k)."""
        rows = self.world.codes
        return np.stack(
            [group_games.group_values(lambda s, row=row: self.nu(row, s), self.groups, orders, weights) for row in rows]
        )

    def compare(self, explanation: Any) -> None:
        assert list(explanation.feature_names) == self.names
        expected = self.expected(self.orders, self.weights)
        found = np.asarray(explanation.values).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=self.world.atol)
        outputs = np.stack([self.world.fitted.table[tuple(row)] for row in self.world.codes])
        total = np.asarray(explanation.base_values).reshape(outputs.shape) + found.sum(axis=1)
        np.testing.assert_allclose(total, outputs, rtol=0, atol=self.world.atol)


def values(game: Game) -> None:
    explanation = game.explainer()(game.world.X, silent=True)
    game.compare(explanation)
    assert explanation.error_std is None
    assert np.asarray(explanation.data).shape == np.asarray(explanation.display_data).shape == explanation.shape[:2]


def every_backend(game: Game) -> None:
    plan = game.explainer().plan(game.world.X)
    for name in [c.name for c in plan.candidates if c.runnable and c.backend.exact]:
        game.compare(game.explainer(algorithm=name)(game.world.X, silent=True))


def importance(game: Game) -> None:
    """Whatever loss the outputs allow: of the true class, squared, or a function."""
    world, rng = game.world, game.world.rng
    table = world.fitted.table
    k, rows = table.shape[-1], len(world.codes)
    probable = k > 1 and table.min() > 1e-6 and np.allclose(table.sum(axis=-1), 1.0)
    if probable and world.case.model.endswith("classifier"):
        y = rng.integers(k, size=rows)
        word: Any = str(rng.choice(["log", "probability"]))

        def loss(nu: np.ndarray, target: int) -> float:
            return -float(np.log(nu[target])) if word == "log" else -float(nu[target])
    elif k == 1 and rng.random() < 0.5:
        y, word = rng.normal(size=rows), "squared"

        def loss(nu: np.ndarray, target: float) -> float:
            return float((nu[0] - target) ** 2)
    else:
        y = rng.integers(3, size=rows)

        def word(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
            largest = predictions if predictions.ndim == 1 else predictions.max(axis=1)
            return np.abs(largest - targets)

        def loss(nu: np.ndarray, target: int) -> float:
            return abs(float(nu.max()) - target)

    found = game.explainer().importance(world.X, y, loss=word, n_bootstrap=5, silent=True)
    expected = global_values(game.nu, world.codes, y, loss, game.orders, game.weights, game.groups)
    slack = world.atol * (1 + np.abs(y).max()) * 1e2  # losses are steep: squares, and logarithms of small numbers
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=slack)
    nothing = np.mean([-loss(game.nu(row, frozenset()), t) for row, t in zip(world.codes, y, strict=True)])
    np.testing.assert_allclose(found.base_values, nothing, rtol=0, atol=slack)
    assert list(found.feature_names) == game.names


def sensitivity(game: Game) -> None:
    """Two graphs between the groups, side by side."""
    world, count = game.world, len(game.groups)
    ranked = world.rng.permutation(count).tolist()
    chain = [(a, b) for i, a in enumerate(ranked) for b in ranked[i + 1 :]]
    graphs = []
    for edges in (chain, [(b, a) for a, b in chain]):
        graph = nx.DiGraph()
        graph.add_nodes_from(game.names)
        graph.add_edges_from((game.names[a], game.names[b]) for a, b in edges)
        graphs.append(graph)
    found = game.explainer().sensitivity(world.X, list(zip(graphs, [1.0, 3.0], strict=True)), silent=True)
    each = [game.expected([tuple(ranked)]), game.expected([tuple(ranked[::-1])])]
    np.testing.assert_allclose(found.values.reshape(np.shape(each)), each, rtol=0, atol=world.atol)
    if found.reference is not None:
        reference = game.expected(game.orders, game.weights)
        np.testing.assert_allclose(found.reference.reshape(reference.shape), reference, rtol=0, atol=world.atol)
    assert (found.reference is None) == (game.case.between == "orders")


def saved(game: Game) -> None:
    import io

    explainer = game.explainer()
    first = explainer(game.world.X, silent=True)
    game.compare(first)
    stream = io.BytesIO()
    explainer.save(stream)
    stream.seek(0)
    again = type(explainer).load(stream)(game.world.X, silent=True)
    np.testing.assert_array_equal(first.values, again.values)


QUESTIONS = {
    "values": values,
    "every backend": every_backend,
    "importance": importance,
    "sensitivity": sensitivity,
    "saved": saved,
}

GROUPS = Kind(
    "groups and global values",
    3,
    WORDS,
    check,
    "Random networks, models and rows as above; features in random groups, a causal graph between features (groups "
    "that come before each other are an error), between groups, or orders of groups, conditional, causal or marginal "
    "values; asked are values, every exact backend, importance under a loss, sensitivity to graphs between groups, "
    "`save` and `load`. The oracle enumerates all orders of the groups and the joint distribution, conditioned, "
    "mutilated or cut loose.",
)
