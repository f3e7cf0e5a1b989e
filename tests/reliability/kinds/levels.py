"""Interventions where features are numbers: Gaussians by levels (confounded or not), linear Gaussian networks.

Models are linear, where everything has a closed form, or a product of two features, which is drawn. The oracle writes
``E[X | do(X_S)]`` down (:mod:`tests.oracles.gaussian_interventions`) and runs through all orders.
"""

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel
from tests.oracles import gaussian_interventions as oracle
from tests.oracles import group_games
from tests.oracles.global_values import global_values
from tests.oracles.interventions import over_orders
from tests.reliability.kinds.contract import Kind

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 4, 5),
    "rule": ("levels", "levels", "network"),
    "confounded": ("none", "some", "all"),
    "n_latent": (0, 1, 2),
    "model": ("linear", "linear", "product"),
    "ask": ("values", "symmetric", "groups", "importance", "effects", "sampled orders"),
    "rows": ("frame", "permuted", "single"),
}

#: Draws in sixteen groups, so that an error has fifteen degrees of freedom; and how many errors a value may be off: by
#: Student's distribution a right one is farther off once in ten million, over 10,000 values once in a thousand runs.
N_DRAWS = 4096
N_ERRORS = 8.8


class World:
    """A Gaussian, a rule for interventions, a model and rows: as a user holds them, and as plain arrays."""

    def __init__(self, case: SimpleNamespace) -> None:
        self.case = case
        self.rng = rng = np.random.default_rng([case.seed, 18])
        self.names = [f"x{i}" for i in rng.permutation(case.n)]
        self.weights, self.offset = rng.normal(size=case.n), float(rng.normal())
        self.pair = tuple(rng.choice(case.n, 2, replace=False).tolist())
        self.codes = rng.normal(size=(1 if case.rows == "single" else 3, case.n))
        self.levels: list[list[int]] = []
        self.confounded: list[int] = []
        if case.rule == "levels":
            self._levels()
        else:
            self._network()

    def _levels(self) -> None:
        rng, n = self.rng, self.case.n
        root = rng.normal(size=(n, n + 2))
        self.mean, self.covariance = rng.normal(size=n), root @ root.T
        cuts = sorted({0, n, *rng.integers(1, n, size=2).tolist()})
        ranked = rng.permutation(n).tolist()
        self.levels = [ranked[a:b] for a, b in itertools.pairwise(cuts)]
        count = len(self.levels)
        share = {"none": 0.0, "some": 0.5, "all": 1.0}[self.case.confounded]
        self.confounded = [k for k in range(count) if rng.random() < share]
        named = [[self.names[i] for i in level] for level in self.levels]
        self.background: Any = GaussianModel(self.mean, self.covariance, self.names)
        self.graph: Any = CausalOrder.from_levels(named, confounded=self.confounded)
        later = itertools.combinations(range(count), 2)
        self.before = [(a, b) for low, high in later for a in self.levels[low] for b in self.levels[high]]

    def _network(self) -> None:
        from pgmpy.factors.continuous import LinearGaussianCPD
        from pgmpy.models import LinearGaussianBayesianNetwork

        rng, hidden = self.rng, self.case.n_latent
        total = hidden + self.case.n
        self.slopes = np.tril(rng.normal(size=(total, total)), -1) * (rng.random((total, total)) < 0.5)
        self.intercepts, self.deviations = rng.normal(size=total), rng.uniform(0.5, 2.0, size=total)
        # latent nodes stand anywhere; nodes are numbered along the arrows
        self.nodes = sorted(rng.choice(total, self.case.n, replace=False).tolist())
        names = [f"hidden {v}" for v in range(total)]
        for i, v in enumerate(self.nodes):
            names[v] = self.names[i]
        network = LinearGaussianBayesianNetwork()
        network.add_nodes_from([names[v] for v in rng.permutation(total)])
        causes = [[p for p in range(v) if self.slopes[v, p] != 0] for v in range(total)]
        network.add_edges_from((names[p], names[v]) for v in range(total) for p in causes[v])
        for v in range(total):
            beta = [self.intercepts[v], *self.slopes[v, causes[v]]]
            network.add_cpds(LinearGaussianCPD(names[v], beta, self.deviations[v], [names[p] for p in causes[v]]))
        self.background, self.graph = network, None
        above: list[set[int]] = []
        for own in causes:
            above.append(set(own).union(*(above[p] for p in own)))
        place = {v: i for i, v in enumerate(self.nodes)}
        self.before = [(place[u], place[v]) for v in self.nodes for u in above[v] if u in place]

    # --- the user's side ----------------------------------------------------------------------------------------

    def model(self) -> Any:
        names, (i, j) = self.names, self.pair
        if self.case.model == "product":
            return lambda X: np.asarray(X[names[i]] * X[names[j]], dtype=float)
        model = LinearRegression().fit(pd.DataFrame(np.eye(self.case.n), columns=names), np.zeros(self.case.n))
        model.coef_, model.intercept_ = self.weights, self.offset
        return model

    def explainer(self, **more: Any) -> AsymmetricExplainer:
        told = {"feature_names": self.names, "seed": self.case.seed % 1000, "values": "causal", "n_draws": N_DRAWS}
        told |= more
        return AsymmetricExplainer(self.model(), self.background, self.graph, **told)

    @property
    def X(self) -> pd.DataFrame:
        frame = pd.DataFrame(self.codes, columns=self.names)
        return frame[sorted(self.names)] if self.case.rows == "permuted" else frame

    # --- the oracle's side --------------------------------------------------------------------------------------

    def means(self, row: np.ndarray, members: frozenset) -> np.ndarray:
        if self.case.rule == "levels":
            return oracle.level_means(
                self.mean, self.covariance, self.levels, self.confounded, {i: row[i] for i in members}
            )
        fixed = {self.nodes[i]: row[i] for i in members}
        return oracle.network_means(self.intercepts, self.slopes, fixed)[self.nodes]

    def nu(self, row: np.ndarray, members: frozenset) -> np.ndarray:
        means = self.means(row, members)
        if self.case.model == "linear":
            return np.array([self.offset + means @ self.weights])
        i, j = self.pair
        return np.array([means[i] * means[j] + self.covariance_of(members)[i, j]])

    def covariance_of(self, members: frozenset) -> np.ndarray:
        """``Cov[X | do(X_S)]``: of a network in closed form, of levels by the noise that enters each of them."""
        if self.case.rule == "network":
            fixed = {self.nodes[i]: 0.0 for i in members}
            return oracle.network_covariance(self.slopes, self.deviations, fixed)[np.ix_(self.nodes, self.nodes)]
        return oracle.level_covariance(self.covariance, self.levels, self.confounded, members)

    @property
    def orders(self) -> list[tuple[int, ...]]:
        return group_games.orders_of_groups(self.case.n, self.before)

    def expected(self, orders: list) -> np.ndarray:
        return np.stack([over_orders(lambda s, row=row: self.nu(row, s), orders)[:, 0] for row in self.codes])

    def agree(self, explanation: Any, expected: np.ndarray, names: list[str] | None = None) -> None:
        """To 1e-9 where everything has a closed form; within errors where it is drawn, and adding up all the same."""
        places = [list(explanation.feature_names).index(name) for name in names or self.names]
        found = np.asarray(explanation.values)[:, places]
        scale = max(1.0, float(np.abs(expected).max()))
        slack = 1e-9 * scale * np.ones_like(found)
        if explanation.error_std is not None:
            slack = slack + N_ERRORS * np.asarray(explanation.error_std)[:, places]
        assert (explanation.error_std is None) == (self.case.model == "linear" and self.case.ask != "sampled orders")
        assert (np.abs(found - expected) <= slack).all(), np.abs(found - expected).max()


def check(case: SimpleNamespace) -> None:
    QUESTIONS[case.ask](World(case))


def values(world: World) -> None:
    found = world.explainer()(world.X, silent=True)
    world.agree(found, world.expected(world.orders))
    i, j = world.pair
    linear = world.offset + world.codes @ world.weights
    outputs = linear if world.case.model == "linear" else world.codes[:, i] * world.codes[:, j]
    total = np.asarray(found.base_values) + np.asarray(found.values).sum(axis=1)
    np.testing.assert_allclose(total, outputs, rtol=0, atol=1e-8)


def symmetric(world: World) -> None:
    every = list(itertools.permutations(range(world.case.n)))
    world.agree(world.explainer().symmetric()(world.X, silent=True), world.expected(every))


def sampled_orders(world: World) -> None:
    """The error of a sample of orders is honest, so that every mean over all of them is within a few."""
    found = world.explainer(algorithm="sampling", n_orders=400)(world.X, silent=True)
    world.agree(found, world.expected(world.orders))


def groups(world: World) -> None:
    """Two features that may move together: players of one level, or neighbours in the order."""
    n, order = world.case.n, world.orders[0]
    at = int(world.rng.integers(n - 1))
    pair = tuple(sorted(order[at : at + 2]))
    sets = [pair, *((v,) for v in range(n) if v not in pair)]
    edges = group_games.quotient_edges(sets, world.before)
    orders = group_games.orders_of_groups(len(sets), edges)
    if not orders:
        return
    expected = np.stack(
        [group_games.group_values(lambda s, row=row: world.nu(row, s), sets, orders)[:, 0] for row in world.codes]
    )
    found = world.explainer(groups={"pair": [world.names[v] for v in pair]})(world.X, silent=True)
    world.agree(found, expected, ["pair", *(world.names[v] for v in range(n) if v not in pair)])


def importance(world: World) -> None:
    y = world.rng.normal(size=len(world.codes))
    found = world.explainer().importance(world.X, y, loss="squared", n_bootstrap=5, silent=True)
    places = [list(found.feature_names).index(name) for name in world.names]
    if world.case.model == "linear":  # the square of a drawn mean is biased
        expected = global_values(world.nu, world.codes, y, lambda nu, t: float((nu[0] - t) ** 2), world.orders)
        np.testing.assert_allclose(found.values[places], expected, rtol=1e-9, atol=1e-8)
    i, j = world.pair
    linear = world.offset + world.codes @ world.weights
    outputs = linear if world.case.model == "linear" else world.codes[:, i] * world.codes[:, j]
    total = float(found.base_values) + found.values.sum()
    np.testing.assert_allclose(total, -((outputs - y) ** 2).mean(), rtol=1e-9, atol=1e-8)


def effects(world: World) -> None:
    """Of a linear model the direct part of i before S is its weight times what its own value adds."""
    explainer = world.explainer()
    direct, indirect = explainer.effects(world.X, silent=True)
    whole = explainer(world.X, silent=True)
    np.testing.assert_allclose(direct.values + indirect.values, whole.values, rtol=0, atol=1e-9)
    if world.case.model != "linear":
        return
    orders = world.orders
    expected = np.zeros_like(world.codes)
    for r, row in enumerate(world.codes):
        for order, (place, i) in itertools.product(orders, enumerate(range(world.case.n))):
            before = frozenset(order[: order.index(i)])
            expected[r, place] += world.weights[i] * (row[i] - world.means(row, before)[i]) / len(orders)
    world.agree(direct, expected)


QUESTIONS = {
    "values": values,
    "symmetric": symmetric,
    "groups": groups,
    "importance": importance,
    "effects": effects,
    "sampled orders": sampled_orders,
}

LEVELS = Kind(
    "interventions on numbers",
    2,
    CHOICES,
    check,
    "A Gaussian with levels, of which none, some or all are confounded, or a linear Gaussian network with latent "
    "nodes; a linear model (to 1e-9) or a product of two features (within 8.8 standard errors, each "
    "its own); causal values, causal "
    "Shapley values, groups, importance, direct effects, sampled orders. The oracle writes mean and covariance under "
    "`do` down level by level, or node by node, and runs through all orders.",
)
