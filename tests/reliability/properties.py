"""Discrete networks: what has to hold in every case, the public explainer against the definition, to 1e-9.

``check(case)`` builds the case, explains its rows and compares values, base values and efficiency with the oracle of
``tests/oracles`` (all orders times the full joint). Each case asks for one thing more (``case.also``): of networks, or
of every kind (``kinds/asking.py``). Tolerances are relative to the model's largest output; XGBoost adds up its trees in
float32, hence its own.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import shap

from shap_asv import AsymmetricExplainer, CausalOrder
from shap_asv.errors import CausalGraphWarning
from tests.oracles import brute_force, interventions
from tests.reliability.building import (
    Fitted,
    Graph,
    Net,
    all_codes,
    build_container,
    build_graph,
    build_model,
    build_net,
    build_rows,
)
from tests.reliability.cases import CHOICES, Case
from tests.reliability.kinds.asking import FURTHER, Kind, Question
from tests.reliability.kinds.causality import Causes, digraph

NAMED_ROWS = ("frame", "duplicated", "permuted", "dictionaries")


@dataclass
class World:
    """A case that was built: everything a user holds, and everything an oracle needs."""

    case: Case
    net: Net
    network: Any
    graph: Graph
    fitted: Fitted
    joint: np.ndarray
    X: Any
    codes: np.ndarray
    rng: np.random.Generator

    @property
    def scale(self) -> float:
        return max(1.0, float(np.abs(self.fitted.table).max()))

    @property
    def atol(self) -> float:
        return self.fitted.tolerance * self.scale

    @property
    def knows_order(self) -> bool:
        return self.case.graph not in ("orders", "weighted orders")

    def explainer(self, **more: Any) -> AsymmetricExplainer:
        """The explainer of the case; a graph with other nodes than the features has to be warned about."""
        arguments = {**self.graph.arguments, **self.fitted.arguments, "seed": self.case.seed % 1000}
        found = self.fitted.knows_names or (self.case.rows in NAMED_ROWS and callable(self.fitted.model))
        if self.case.names == "given" or not found:
            arguments["feature_names"] = self.net.features
        return AsymmetricExplainer(self.fitted.model, self.network, **{**arguments, **more})

    def explain(self, **more: Any) -> tuple[Any, Any]:
        """(explainer, explanation), with exactly the warnings that the graph deserves."""

        def run() -> tuple[Any, Any]:
            explainer = self.explainer(**more)
            return explainer, explainer(self.X, silent=True)

        if not self.graph.warns:
            return run()
        with pytest.warns(CausalGraphWarning):
            return run()

    def nu(self, r: int, members: frozenset[int], meaning: str = "conditional", shown: tuple[int, ...] = ()) -> Any:
        """The value (k,) of a coalition for row r: of the joint distribution conditioned, mutilated or cut loose."""
        net, row, table = self.net, self.codes[r], self.fitted.table
        if meaning == "conditional":
            return brute_force.conditional_expectation(self.joint, table, row, members)
        arrays = ([len(labels) for labels in net.labels], net.parents, net.tables)
        if meaning == "marginal":
            return interventions.marginal_value(arrays, net.feature_nodes, table, row, members)
        return interventions.causal_value(arrays, net.feature_nodes, table, row, members, shown)

    def question(self, meaning: str = "conditional") -> Question:
        """What is asked of every kind of cases, about values of one meaning."""
        orders, weights = self.graph.orders, self.graph.weights
        shares = np.ones(len(orders)) if weights is None else np.asarray(weights)
        causes = Causes({}, orders, shares / shares.sum(), one_graph=self.knows_order)
        return Question(
            lambda **more: self.explainer(**{"values": meaning, **more}),
            self.X,
            self.net.features,
            causes,
            lambda r, members: self.nu(r, members, meaning),
            self.atol,
            shown=lambda r, members, i: self.nu(r, members, meaning, (i,)),
        )


def build(case: Case) -> World:
    rng = np.random.default_rng([case.seed, 1])
    net = build_net(case, rng)
    joint = net.joint()
    fitted = build_model(case, net, rng)
    graph = build_graph(case, net, rng)
    X, codes = build_rows(case, net, joint, rng)
    return World(case, net, build_container(net, case.container, rng), graph, fitted, joint, X, codes, rng)


def check(case: Case) -> None:
    """Raise AssertionError (or whatever went wrong) unless the case comes out right."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        world = build(case)
        if case.also == "matrix":
            check_matrix(world)
            return
        explainer, explanation = world.explain()
        warnings.simplefilter("ignore", CausalGraphWarning)  # it was asked for in the line above
        question = world.question()
        question.compare(explanation)
        assert explanation.error_std is None
        labels = [[world.net.states[j][code] for j, code in enumerate(row)] for row in world.codes]
        places = [list(explanation.feature_names).index(name) for name in world.net.features]
        assert np.asarray(explanation.display_data, dtype=object)[:, places].tolist() == labels
        if case.also in OF_NETWORKS:
            OF_NETWORKS[case.also](world, explainer, explanation)
        else:
            FURTHER[case.also](question, explainer, explanation)


def check_efficiency(world: World, explanation: Any) -> None:
    outputs = np.stack([world.fitted.table[tuple(row)] for row in world.codes])
    total = np.asarray(explanation.base_values).reshape(outputs.shape)
    total = total + world.question().aligned(explanation, explanation.values).sum(axis=1)
    np.testing.assert_allclose(total, outputs, rtol=0, atol=world.atol)


# --- one thing more -----------------------------------------------------------------------------------------------


def groups(world: World, explainer: Any, explanation: Any) -> None:
    """Groups of features, under each meaning of nu."""
    question = world.question(str(world.rng.choice(["conditional", "causal", "marginal"])))
    FURTHER["groups"](question, explainer, explanation)


def outputs(world: World, explainer: Any, explanation: Any) -> None:
    values = np.asarray(explanation.values).reshape(len(world.codes), len(world.net.features), -1)
    base = np.asarray(explanation.base_values).reshape(len(world.codes), -1)
    last = values.shape[-1] - 1
    one = explainer(world.X, outputs=last, silent=True)
    np.testing.assert_array_equal(one.values, values[..., last])
    np.testing.assert_array_equal(one.base_values, base[..., last])
    if last:
        several = explainer(world.X, outputs=[last, 0], silent=True)
        np.testing.assert_array_equal(several.values, values[..., [last, 0]])


def logit(world: World, explainer: Any, explanation: Any) -> None:
    """nu(S) = logit(E[M | e_S]), where the outputs are probabilities."""
    table = world.fitted.table
    if table.min() <= 1e-6 or table.max() >= 1 - 1e-6:
        return

    def nu(r: int, members: frozenset[int]) -> np.ndarray:
        p = world.nu(r, members)
        return np.log(p / (1 - p))

    _, found = world.explain(link=shap.links.logit)
    replace(world.question(), nu=nu, exact=1e3 * world.atol).compare(found)


def sampled_orders(world: World, explainer: Any, explanation: Any) -> None:
    """Sampled orders: the mean over exactly those orders, hence efficient; the same bits again with the same seed."""
    if not world.knows_order:
        return
    options = {"algorithm": "sampling", "n_orders": int(world.rng.integers(2, 40)), "seed": int(world.rng.integers(99))}
    drawn: list[tuple[int, ...]] = []
    draw = CausalOrder.sample_topological_orders

    def remember(order: CausalOrder, *arguments: Any, **more: Any) -> np.ndarray:
        orders = draw(order, *arguments, **more)
        places = [world.net.features.index(name) for name in order.features]
        drawn[:] = [tuple(places[i] for i in line) for line in orders]
        return orders

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CausalOrder, "sample_topological_orders", remember)
        first, found = world.explain(**options)
    check_efficiency(world, found)
    assert np.isfinite(found.error_std).all()
    _, again = world.explain(**options)
    np.testing.assert_array_equal(found.values, again.values)
    assert len(drawn) == options["n_orders"]
    assert set(drawn) <= set(world.graph.orders)
    if not first.plan(world.X).backend.samples_values:
        shares = np.full(len(drawn), 1 / len(drawn))
        exactly = replace(world.question(), causes=Causes({}, drawn, shares), sampled=world.atol)
        exactly.compare(found)


def monte_carlo(world: World, explainer: Any, explanation: Any) -> None:
    """Draws instead of sums: efficient all the same, for the last coalition is the row itself."""
    _, found = world.explain(algorithm="monte_carlo", n_draws=40)
    check_efficiency(world, found)
    table = world.fitted.table.reshape(-1, world.fitted.table.shape[-1])
    low, high = table.min(axis=0) - world.atol, table.max(axis=0) + world.atol
    base = np.asarray(found.base_values).reshape(len(world.codes), -1)
    assert ((base >= low) & (base <= high)).all()
    values = world.question().aligned(found, found.values)
    assert (np.abs(values) <= high - low).all()
    assert np.isfinite(found.error_std).all()


def other_values(world: World, explainer: Any, explanation: Any) -> None:
    """``values="causal"`` and ``"marginal"``, over the orders of the case and over all, rows that cannot occur too."""
    question = world.question(world.case.also)
    other = question.explainer()
    found = other(world.X, silent=True)
    question.compare(found)
    FURTHER["symmetric"](question, other, found)


def effects(world: World, explainer: Any, explanation: Any) -> None:
    """Direct effects from their definition; with the indirect ones they are the causal values."""
    if world.graph.weights is None:
        question = world.question("causal")
        causal = question.explainer()
        FURTHER["effects"](question, causal, causal(world.X, silent=True))


OF_NETWORKS: dict[str, Callable[[World, Any, Any], None]] = {
    "groups": groups,
    "outputs": outputs,
    "logit": logit,
    "sampled orders": sampled_orders,
    "monte carlo": monte_carlo,
    "causal": other_values,
    "marginal": other_values,
    "effects": effects,
}


# --- a matrix as background ---------------------------------------------------------------------------------------


def check_matrix(world: World) -> None:
    """Rows of numbers as background: shap.ExactExplainer without a graph, the definition with one."""
    k, rng, codes = world.fitted.table.shape[-1], world.rng, all_codes(world.net.cards)
    background = codes[rng.integers(len(codes), size=6)].astype(float)
    rows = world.codes.astype(float)

    def model(inputs: np.ndarray) -> np.ndarray:
        answer = world.fitted.table[tuple(np.asarray(inputs).astype(int).T)]
        return answer if k > 1 else answer[:, 0]

    if (rows[:, None] != background).any(axis=(1, 2)).all():  # shap itself fails on a row that is the whole background
        theirs = shap.ExactExplainer(model, shap.maskers.Independent(background))(rows, silent=True)
        ours = AsymmetricExplainer(model, background)(rows, silent=True)
        np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-9 * world.scale)
        np.testing.assert_allclose(ours.base_values, theirs.base_values, rtol=0, atol=1e-9 * world.scale)
    arguments = {"feature_names": world.net.features, **world.graph.arguments}
    if "causal_graph" not in arguments:
        arguments["causal_graph"] = digraph(world.net.features, world.net.precedence())

    def nu(r: int, members: frozenset[int]) -> np.ndarray:
        inputs = background.copy()
        inputs[:, list(members)] = rows[r, list(members)]
        return model(inputs).reshape(len(background), k).mean(axis=0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalGraphWarning)
        found = AsymmetricExplainer(model, background, values="marginal", **arguments)(rows, silent=True)
    replace(world.question(), nu=nu, exact=1e-9 * world.scale).compare(found)


NETWORKS = Kind(
    "discrete networks",
    13,
    CHOICES,
    check,
    "a random network (1 to 6 nodes, 1 to 4 states, up to 3 parents, latent nodes, zeros), a causal graph (the "
    "network's, sparser, denser, contradicting, unrelated, with nodes too many or too few, levels, explicit orders), "
    "an encoder, one of 20 kinds of model and rows in one of 8 forms; beside the values it asks for one thing more: "
    "every exact backend by name, `symmetric()`, `compare`, main effects, a choice of outputs, the logit link, sampled "
    "orders, Monte Carlo, `save` and `load`, causal and marginal values, direct effects, groups with "
    "causes of their own, importance, sensitivity, or a matrix background beside `shap.ExactExplainer`. The "
    "oracle enumerates all orders and the full (or mutilated) joint distribution. Agreement is asked to 1e-9 of the "
    "largest output, 3e-6 for XGBoost, which adds up in float32.",
    make=Case,
)
