"""What has to hold in every case: the public explainer against the definition, to 1e-9.

``check(case)`` builds the case, explains its rows and compares values, base values and efficiency with the oracle of
``tests/oracles`` (all orders times the full joint). Each case asks for one thing more (``case.also``). Tolerances are
relative to the model's largest output; XGBoost adds up its trees in float32, hence its own.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import shap

from shap_asv import AsymmetricExplainer, CausalOrder
from shap_asv.backends.forest.prepared import PreparedForest
from shap_asv.backgrounds.discrete.inference.engine import Inference
from shap_asv.errors import CausalGraphWarning, ImpossibleEvidenceError
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
    dressed_rows,
)
from tests.reliability.cases import Case

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
        return "orders" not in self.graph.arguments

    def explainer(self, **more: Any) -> AsymmetricExplainer:
        """The explainer of the case; a graph with other nodes than the features has to be warned about."""
        arguments = {**self.graph.arguments, **self.fitted.arguments, "seed": self.case.seed % 1000}
        positions = not self.knows_order and not isinstance(self.graph.arguments["orders"][0][0], str)
        found = self.fitted.knows_names or (self.case.rows in NAMED_ROWS and callable(self.fitted.model))
        if self.case.names == "given" or positions or not found:
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


def build(case: Case) -> World:
    rng = np.random.default_rng([case.seed, 1])
    net = build_net(case, rng)
    joint = net.joint()
    fitted = build_model(case, net, rng)
    graph = build_graph(case, net, rng)
    X, codes = build_rows(case, net, joint, rng)
    kind = "arrays" if case.also == "relaxed" else case.container  # relaxing goes along the order of the nodes
    return World(case, net, build_container(net, kind, rng), graph, fitted, joint, X, codes, rng)


def check(case: Case) -> None:
    """Raise AssertionError (or whatever went wrong) unless the case comes out right."""
    with compiled(case.compiled), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if case.also == "matrix":
            check_matrix(build(case))
            return
        world = build(case)
        explainer, explanation = world.explain()
        compare(world, explanation, world.graph.orders, world.graph.weights)
        assert explanation.error_std is None
        FURTHER[case.also](world, explainer, explanation)


@contextmanager
def compiled(wanted: bool) -> Iterator[None]:
    """Small problems run without a compiler; the kernels for large ones have to give the same, so they are forced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inference, "uses_kernels", lambda self, work: wanted)
        if wanted:
            patch.setattr(PreparedForest, "is_small", False)
        yield


# --- the definition -----------------------------------------------------------------------------------------------


def oracle(world: World, orders: list, weights: Any = None, link: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """phi (r, n, k) and nu({}) (k,) from the definition, ``link`` on every nu(S)."""
    table, joint = world.fitted.table, world.joint
    if link is None:
        phi = [brute_force.asv_from_orders(joint, table, row, orders, weights) for row in world.codes]
        return np.stack(phi), brute_force.conditional_expectation(joint, table, world.codes[0], ())
    phi = [from_values(orders, weights, lambda s, row=row: link(expectation(world, row, s))) for row in world.codes]
    return np.stack(phi), link(expectation(world, world.codes[0], frozenset()))


def expectation(world: World, row: np.ndarray, members: frozenset) -> np.ndarray:
    return brute_force.conditional_expectation(world.joint, world.fitted.table, row, members)


def from_values(orders: list, weights: Any, nu: Any) -> np.ndarray:
    """The definition for any nu: weighted mean over orders of nu(before + i) - nu(before) -> (n, k)."""
    weights = np.full(len(orders), 1 / len(orders)) if weights is None else np.asarray(weights) / np.sum(weights)
    known: dict[frozenset, np.ndarray] = {}

    def value(members: frozenset) -> np.ndarray:
        if members not in known:
            known[members] = nu(members)
        return known[members]

    phi = np.zeros((len(orders[0]), len(value(frozenset()))))
    for order, weight in zip(orders, weights, strict=True):
        for place, i in enumerate(order):
            phi[i] += weight * (value(frozenset(order[: place + 1])) - value(frozenset(order[:place])))
    return phi


def aligned(world: World, explanation: Any, array: Any) -> np.ndarray:
    """An array over the explanation's features, in the order of the case's features -> (r, n, k)."""
    places = [list(explanation.feature_names).index(name) for name in world.net.features]
    array = np.asarray(array)
    return array.reshape(len(array), len(places), -1)[:, places]


def compare(world: World, explanation: Any, orders: list, weights: Any = None, link: Any = None) -> None:
    """Values, base values and efficiency."""
    expected, base = oracle(world, orders, weights, link)
    values = aligned(world, explanation, explanation.values)
    atol = world.atol * (1 if link is None else 1e3)
    np.testing.assert_allclose(values, expected, rtol=0, atol=atol)
    found = np.asarray(explanation.base_values).reshape(len(values), -1)
    np.testing.assert_allclose(found, np.broadcast_to(base, found.shape), rtol=0, atol=atol)
    check_efficiency(world, explanation, link)
    labels = [[world.net.states[j][code] for j, code in enumerate(row)] for row in world.codes]
    places = [list(explanation.feature_names).index(name) for name in world.net.features]
    assert np.asarray(explanation.display_data, dtype=object)[:, places].tolist() == labels


def check_efficiency(world: World, explanation: Any, link: Any = None) -> None:
    outputs = np.stack([world.fitted.table[tuple(row)] for row in world.codes])
    outputs = outputs if link is None else link(outputs)
    total = np.asarray(explanation.base_values).reshape(outputs.shape)
    total = total + aligned(world, explanation, explanation.values).sum(axis=1)
    np.testing.assert_allclose(total, outputs, rtol=0, atol=world.atol * (1 if link is None else 1e3))


# --- one thing more -----------------------------------------------------------------------------------------------


def nothing(world: World, explainer: Any, explanation: Any) -> None:
    pass


def every_backend(world: World, explainer: Any, explanation: Any) -> None:
    """Each exact backend that says it can run gives the same numbers, by name."""
    names = [c.name for c in explainer.plan(world.X).candidates if c.runnable and c.backend.exact]
    assert names
    for name in names:
        again, by_name = world.explain(algorithm=name)
        assert again.plan(world.X).backend.name == name
        compare(world, by_name, world.graph.orders, world.graph.weights)


def symmetric(world: World, explainer: Any, explanation: Any) -> None:
    every = brute_force.topological_orders(len(world.net.features), [])
    compare(world, explainer.symmetric()(world.X, silent=True), every)


def comparison(world: World, explainer: Any, explanation: Any) -> None:
    every = brute_force.topological_orders(len(world.net.features), [])
    found = explainer.compare(world.X, silent=True)
    compare(world, found.asv, world.graph.orders, world.graph.weights)
    compare(world, found.shap, every)
    difference = np.asarray(found.asv.values) - np.asarray(found.shap.values)
    np.testing.assert_array_equal(found.difference, difference)


def main_effects(world: World, explainer: Any, explanation: Any) -> None:
    found = explainer(world.X, main_effects=True, error_bounds=True, silent=True)
    effects = aligned(world, found, found.main_effects)
    for row, effect in zip(world.codes, effects, strict=True):
        base = expectation(world, row, frozenset())
        expected = [expectation(world, row, frozenset([i])) - base for i in range(len(row))]
        np.testing.assert_allclose(effect, expected, rtol=0, atol=world.atol)
    assert (np.asarray(found.error_std) == 0).all()


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
    _, found = world.explain(link=shap.links.logit)
    compare(world, found, world.graph.orders, world.graph.weights, link=lambda p: np.log(p / (1 - p)))


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
        expected = oracle(world, drawn)[0]
        np.testing.assert_allclose(aligned(world, found, found.values), expected, rtol=0, atol=world.atol)


def monte_carlo(world: World, explainer: Any, explanation: Any) -> None:
    """Draws instead of sums: efficient all the same, for the last coalition is the row itself."""
    _, found = world.explain(algorithm="ideals x monte_carlo", n_draws=40)
    check_efficiency(world, found)
    table = world.fitted.table.reshape(-1, world.fitted.table.shape[-1])
    low, high = table.min(axis=0) - world.atol, table.max(axis=0) + world.atol
    base = np.asarray(found.base_values).reshape(len(world.codes), -1)
    assert ((base >= low) & (base <= high)).all()
    values = aligned(world, found, found.values)
    assert (np.abs(values) <= high - low).all()
    assert np.isfinite(found.error_std).all()


def saved(world: World, explainer: Any, explanation: Any) -> None:
    stream = io.BytesIO()
    explainer.save(stream)
    for load in (AsymmetricExplainer.load, shap.Explainer.load):
        stream.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CausalGraphWarning)
            again = load(stream)
            found = again(world.X, silent=True)
        assert type(again) is AsymmetricExplainer
        np.testing.assert_array_equal(found.values, explanation.values)
        np.testing.assert_array_equal(found.base_values, explanation.base_values)


def relaxed(world: World, explainer: Any, explanation: Any) -> None:
    """Impossible rows are an error by default, and with ``relax`` the documented rule, coalition by coalition."""
    impossible = np.argwhere(world.joint == 0).reshape(-1, world.joint.ndim)
    if len(impossible) == 0:
        return
    rows = impossible[world.rng.integers(len(impossible), size=1 if world.case.rows == "single" else 2)]
    X = dressed_rows(world.case, world.net, rows, world.rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalGraphWarning)
        with pytest.raises(ImpossibleEvidenceError):
            world.explainer()(X, silent=True)
        found = world.explainer(impossible="relax")(X, silent=True)
    values = aligned(world, found, found.values)
    for r, row in enumerate(rows):
        expected = from_values(world.graph.orders, world.graph.weights, lambda s, row=row: relaxed_value(world, row, s))
        np.testing.assert_allclose(values[r], expected, rtol=0, atol=world.atol)


def relaxed_value(world: World, row: np.ndarray, members: frozenset) -> np.ndarray:
    """Evidence in the order of the network's nodes, each value kept if it is possible given those kept before."""
    kept: set[int] = set()
    for i in sorted(members, key=lambda i: world.net.feature_nodes[i]):
        index = tuple(row[v] if v in kept | {i} else slice(None) for v in range(world.joint.ndim))
        if world.joint[index].sum() > 0:
            kept.add(i)
    index = tuple(slice(row[v], row[v] + 1) if v in kept else slice(None) for v in range(world.joint.ndim))
    chance = world.joint[index]
    chance = chance.sum(axis=tuple(members - kept), keepdims=True)  # dropped, but the model still sees the row's value
    index = tuple(slice(row[v], row[v] + 1) if v in members else slice(None) for v in range(world.joint.ndim))
    table = world.fitted.table[index]
    return (chance[..., None] * table).reshape(-1, table.shape[-1]).sum(axis=0) / chance.sum()


def other_values(world: World, explainer: Any, explanation: Any) -> None:
    """``values="causal"`` and ``"marginal"``, over the orders of the case and over all, rows that cannot occur too."""
    word, net = world.case.also, world.net
    value = {"causal": interventions.causal_value, "marginal": interventions.marginal_value}[word]
    every = brute_force.topological_orders(len(net.features), [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalGraphWarning)
        other = world.explainer(values=word)
        asked = [(other(world.X, silent=True), world.graph.orders, world.graph.weights)]
        asked.append((other.symmetric()(world.X, silent=True), every, None))
    arrays = ([len(labels) for labels in net.labels], net.parents, net.tables)
    for found, orders, weights in asked:
        values = aligned(world, found, found.values)
        for r, row in enumerate(world.codes):
            expected = from_values(
                orders,
                weights,
                lambda s, row=row: np.ravel(value(arrays, net.feature_nodes, world.fitted.table, row, s)),
            )
            np.testing.assert_allclose(values[r], expected, rtol=0, atol=world.atol)
        check_efficiency(world, found)


def effects(world: World, explainer: Any, explanation: Any) -> None:
    """Direct effects from their definition; with the indirect ones they are the causal values."""
    net = world.net
    if world.graph.weights is not None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalGraphWarning)
        causal = world.explainer(values="causal")
        direct, indirect = causal.effects(world.X, silent=True)
        whole = causal(world.X, silent=True)
    parts = [aligned(world, found, found.values) for found in (direct, indirect, whole)]
    np.testing.assert_allclose(parts[0] + parts[1], parts[2], rtol=0, atol=1e-12 * world.scale)
    arrays = ([len(labels) for labels in net.labels], net.parents, net.tables)
    for r, row in enumerate(world.codes):
        expected = interventions.direct_effects(arrays, net.feature_nodes, world.fitted.table, row, world.graph.orders)
        np.testing.assert_allclose(parts[0][r], expected, rtol=0, atol=world.atol)


FURTHER = {
    "nothing": nothing,
    "every backend": every_backend,
    "symmetric": symmetric,
    "comparison": comparison,
    "main effects": main_effects,
    "outputs": outputs,
    "logit": logit,
    "sampled orders": sampled_orders,
    "monte carlo": monte_carlo,
    "saved": saved,
    "relaxed": relaxed,
    "causal": other_values,
    "marginal": other_values,
    "effects": effects,
}


# --- a matrix as background ---------------------------------------------------------------------------------------


def check_matrix(world: World) -> None:
    """Rows of numbers as background: shap.ExactExplainer without a graph, the definition with one."""
    n, k = len(world.net.features), world.fitted.table.shape[-1]
    rng = world.rng
    background = all_codes(world.net.cards)[rng.integers(len(all_codes(world.net.cards)), size=6)].astype(float)
    rows = world.codes.astype(float)
    table = world.fitted.table

    def model(inputs: np.ndarray) -> np.ndarray:
        answer = table[tuple(np.asarray(inputs).astype(int).T)]
        return answer if k > 1 else answer[:, 0]

    if (rows[:, None] != background).any(axis=(1, 2)).all():  # shap itself fails on a row that is the whole background
        theirs = shap.ExactExplainer(model, shap.maskers.Independent(background))(rows, silent=True)
        ours = AsymmetricExplainer(model, background)(rows, silent=True)
        np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-9 * world.scale)
        np.testing.assert_allclose(ours.base_values, theirs.base_values, rtol=0, atol=1e-9 * world.scale)
    arguments = {"feature_names": world.net.features, **world.graph.arguments}
    if "causal_graph" not in arguments and "orders" not in arguments:
        arguments["causal_graph"] = shap_free_graph(world.net)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalGraphWarning)
        found = AsymmetricExplainer(model, background, values="marginal", **arguments)(rows, silent=True)
    for r, row in enumerate(rows):

        def nu(members: frozenset, row: np.ndarray = row) -> np.ndarray:
            inputs = background.copy()
            inputs[:, list(members)] = row[list(members)]
            return model(inputs).reshape(len(background), k).mean(axis=0)

        expected = from_values(world.graph.orders, world.graph.weights, nu)
        np.testing.assert_allclose(found.values[r].reshape(n, k), expected, rtol=0, atol=1e-9 * world.scale)


def shap_free_graph(net: Net) -> Any:
    """The network's own precedence as a graph of names, for a background that has none of its own."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(net.features)
    graph.add_edges_from((net.features[a], net.features[b]) for a, b in net.precedence())
    return graph
