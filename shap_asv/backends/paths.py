"""Trees without a network as backends: cover counts or background rows, under any causal order.

The room ``backends/trees`` has the algorithm; here are its two rows of the table. "paths" is exact: levels in closed
form, forests by walks over the few features of a path, other orders part by part, parts that are neither by their
lattice, explicit orders by counting. "orders x paths" samples orders where that lattice is out of reach. Neither calls
the model, and background rows are looked at once, when the tables of the leaves are made.
"""

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.backends.contract import Attribution, Attributor, Backend, Problem, Settings, TooLarge
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.trees.cost import N_GROUPS, PATH_BITS, largest_walk, parts_work, path_lengths, tree_cost
from shap_asv.backends.workload import SAMPLED_ORDERS, Sweep, draw_orders, ideals_obstacle
from shap_asv.backgrounds.contract import GROUND, TreeGround
from shap_asv.costs import Cost
from shap_asv.errors import BudgetExceededError
from shap_asv.models.predictor import ENSEMBLE
from shap_asv.models.trees.form import TreeForm
from shap_asv.orders import CausalOrder
from shap_asv.orders.restricted import (
    FOREST,
    LATTICE,
    MOST_CHANCES,
    MOST_IDEALS,
    ORDERS,
    PARTS,
    WIDEST,
    kind_of,
    prime_orders,
)
from shap_asv.orders.sampling import drawing_cost
from shap_asv.orders.uncertain import GraphMixture

if TYPE_CHECKING:
    from shap_asv.backends.trees.attributor import TreeAttributor

#: Rows that are explained together.
ROW_BLOCK = 16_384


class PathsAttributor:
    """Rows of the background -> numbers -> attributions.

    The first rows make the tables of the leaves; threads that come meanwhile wait for them.
    """

    rowwise = True
    compiled = True

    def __init__(self, trees: TreeForm, inner: "TreeAttributor") -> None:
        self.trees, self.inner = trees, inner
        self._begun, self._lock = False, Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return PathsAttributor, (self.trees, self.inner)

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        numbers = self.trees.numbers(rows)
        if not self._begun:
            with self._lock:
                if not self._begun:
                    found = self.inner.attribute(numbers, report)
                    self._begun = True
                    return found
        return self.inner.attribute(numbers, report)


@dataclass(frozen=True, eq=False)
class AloneAttributor:
    """``nu({i}) - nu({})``: what a feature adds in an order that it leads."""

    problem: Problem

    rowwise = True

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        from shap_asv.backends.trees.attributor import prepare_trees  # brings numba in

        trees, ground = _trees_and_ground(self.problem)
        numbers, n = trees.numbers(rows), self.problem.n_players
        effects = np.empty((len(rows), n, self.problem.n_outputs))
        base = np.zeros(self.problem.n_outputs)
        for i in range(n):
            order = np.array([[i, *(j for j in range(n) if j != i)]])
            found = prepare_trees(trees.ensemble, background=ground, orders=order, players=self.problem.groups)
            attribution = found.attribute(numbers, part_of(report, i / n, (i + 1) / n))
            effects[:, i], base = attribution.phi[:, i], attribution.base
        return Attribution(effects, base)


def _trees_and_ground(problem: Problem) -> tuple[TreeForm, np.ndarray | None]:
    trees, background = problem.predictor.trees, problem.background
    assert trees is not None
    assert isinstance(background, TreeGround)
    rows = background.ground()
    return trees, None if rows is None else trees.numbers(rows)


# --- what it takes ------------------------------------------------------------------------------------------------


def _obstacle(problem: Problem) -> str | None:
    found = GROUND.obstacle(problem.background)
    if found is not None:
        return found
    found = ENSEMBLE.obstacle(problem.predictor)
    if found is not None:
        return found
    trees = problem.predictor.trees
    assert trees is not None
    if problem.link is not None:
        return (
            "a link that is not the identity has to see every coalition's value as a whole; without a link the trees "
            "are added up leaf by leaf"
        )
    if problem.n_features > PATH_BITS:
        longest = len(path_lengths(trees.ensemble).leaves) - 1
        if longest > PATH_BITS:
            return (
                f"a path of the trees has {longest} different features, at most {PATH_BITS} can be treated; fit the "
                f"model with a depth of at most {PATH_BITS}, or pass background rows as masker=, for which the model "
                f"is called instead"
            )
    return None


def _forest_obstacle(problem: Problem) -> str | None:
    """A walk over the ideals of a path's features and their causes; deep trees under few edges have too many."""
    trees, order = problem.predictor.trees, problem.order
    assert trees is not None
    assert isinstance(order, CausalOrder)
    ideals, members = largest_walk(trees.ensemble, order)
    if ideals <= MOST_IDEALS and members <= WIDEST:
        return None
    return TooLarge(
        f"a path of the trees looks at features that have {ideals:.1g} ideals with their causes under this causal "
        f"forest, the limit is {MOST_IDEALS:,}; levels have a closed form for any depth"
    )


def _parts_obstacle(problem: Problem, settings: Settings) -> str | None:
    trees, order = problem.predictor.trees, problem.order
    assert trees is not None
    assert isinstance(order, CausalOrder)
    for part in prime_orders(order):
        try:
            part.count_ideals(limit=settings.ideal_limit)
        except BudgetExceededError:
            named = ", ".join(map(str, part.features[:3]))
            return TooLarge(
                f"{part.n_features} features ({named}, ...) cannot be taken apart and have more than "
                f"{settings.ideal_limit:,} ideals (ideal_limit=)"
            )
    _, kept = parts_work(trees.ensemble, order)
    if kept <= MOST_CHANCES:
        return None
    return TooLarge(
        f"a path of the trees looks at features that take {kept:.1g} numbers to follow through this causal order, the "
        f"limit is {MOST_CHANCES:,}; levels have a closed form for any depth"
    )


def _cost(problem: Problem, n_rows: int, kind: str, **counts: int) -> Cost:
    trees, background = problem.predictor.trees, problem.background
    assert trees is not None
    assert isinstance(background, TreeGround)
    rows = background.ground()
    return tree_cost(trees.ensemble, kind, n_rows, 0 if rows is None else len(rows), **counts)


def _kind(problem: Problem, sampled: bool) -> str:
    """Which kind of order the kernels will be given. Groups go through their lattice."""
    if sampled or problem.order is None:
        return ORDERS
    return LATTICE if problem.groups is not None else kind_of(problem.order)


def paths_backend(sweep: Sweep) -> Backend:
    """All orders at once, or sampled orders, leaf by leaf."""
    sampled = sweep is SAMPLED_ORDERS

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        found = _obstacle(problem)
        if found is not None:
            return found
        if sampled:
            return sweep.obstacle(problem, settings)
        if problem.groups is not None and isinstance(problem.order, GraphMixture):
            return "several graphs of groups are not one order"
        kind = _kind(problem, sampled)
        if kind == FOREST:
            return _forest_obstacle(problem)
        if kind == PARTS:
            return _parts_obstacle(problem, settings)
        if kind != LATTICE:
            return None
        return ideals_obstacle(problem, settings)

    def cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
        kind = _kind(problem, sampled)
        if sampled:
            assert problem.order is not None
            orders = settings.n_orders
            found = _cost(problem, n_rows, kind, n_orders=orders, n_groups=min(N_GROUPS, orders))
            return found + drawing_cost(problem.order, orders, settings.order_method)
        if kind == ORDERS:
            assert problem.given_orders is not None
            return _cost(problem, n_rows, kind, n_orders=len(problem.given_orders))
        if kind == PARTS:
            assert isinstance(problem.order, CausalOrder)
            counts = [part.count_ideals(limit=settings.ideal_limit) for part in prime_orders(problem.order)]
            assert problem.predictor.trees is not None
            work, kept = parts_work(problem.predictor.trees.ensemble, problem.order)
            return _cost(problem, n_rows, kind, n_ideals=sum(counts)) + Cost({"shuffle": work}, int(16 * kept))
        if kind != LATTICE:
            return _cost(problem, n_rows, kind)
        assert problem.order is not None
        ideals = problem.order.count_ideals(limit=settings.ideal_limit)
        listed = Cost({}, ideals * (problem.n_features * 13 + 100))
        return _cost(problem, n_rows, kind, n_ideals=ideals) + listed

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        from shap_asv.backends.trees.attributor import prepare_trees  # brings numba in

        trees, ground = _trees_and_ground(problem)
        if not sampled:
            inner = prepare_trees(
                trees.ensemble,
                problem.order,
                ground,
                orders=problem.given_orders,
                order_weights=problem.given_weights,
                ideal_limit=settings.ideal_limit,
                players=problem.groups,
            )
            return PathsAttributor(trees, inner)
        orders = draw_orders(problem, settings)
        return PathsAttributor(
            trees, prepare_trees(trees.ensemble, None, ground, orders=orders, sampled=True, players=problem.groups)
        )

    def alone(problem: Problem, settings: Settings) -> Attributor:
        return AloneAttributor(problem)

    name = "orders x paths" if sampled else "paths"
    return Backend(name, sampled, None, obstacle, cost, prepare, ROW_BLOCK, alone)
