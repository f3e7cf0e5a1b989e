"""Trees without a network as backends: cover counts or background rows, under any causal order.

The room ``backends/trees`` has the algorithm; here are its two rows of the table. "paths" is exact: levels in closed
form, forests by walks over the few features of a path, other orders part by part, parts that are neither by their
lattice. "orders x paths" samples orders where that lattice is out of reach. Neither calls the model, and background
rows are looked at once, when the tables of the leaves are made.
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

if TYPE_CHECKING:
    from shap_asv.backends.trees.attributor import TreeAttributor

#: Rows that are explained together.
ROW_BLOCK = 16_384


class PathsAttributor:
    """Rows of the background -> numbers -> attributions.

    The first rows make the tables of the leaves; threads that come meanwhile wait for them.
    """

    rowwise = compiled = True

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

    rowwise, compiled = True, False

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        from shap_asv.backends.trees.attributor import prepare_trees  # brings numba in

        trees, ground = _trees(self.problem), _ground(self.problem)
        numbers, n = trees.numbers(rows), self.problem.n_players
        effects = np.empty((len(rows), n, self.problem.n_outputs))
        base = np.zeros(self.problem.n_outputs)
        for i in range(n):
            order = np.array([[i, *(j for j in range(n) if j != i)]])
            found = prepare_trees(trees.ensemble, background=ground, orders=order, players=self.problem.groups)
            attribution = found.attribute(numbers, part_of(report, i / n, (i + 1) / n))
            effects[:, i], base = attribution.phi[:, i], attribution.base
        return Attribution(effects, base)


def _trees(problem: Problem) -> TreeForm:
    assert problem.predictor.trees is not None
    return problem.predictor.trees


def _ground(problem: Problem) -> np.ndarray | None:
    """The background rows as the trees read them; None for cover counts."""
    rows = _background_rows(problem)
    return None if rows is None else _trees(problem).numbers(rows)


def _background_rows(problem: Problem) -> np.ndarray | None:
    assert isinstance(problem.background, TreeGround)
    return problem.background.ground()


# --- what it takes ------------------------------------------------------------------------------------------------


def _obstacle(problem: Problem) -> str | None:
    found = GROUND.obstacle(problem.background) or ENSEMBLE.obstacle(problem.predictor)
    if found is not None:
        return found
    if problem.link is not None:
        return (
            "a link that is not the identity has to see every coalition's value as a whole; without a link the trees "
            "are added up leaf by leaf"
        )
    longest = len(path_lengths(_trees(problem).ensemble).leaves) - 1 if problem.n_features > PATH_BITS else 0
    if longest <= PATH_BITS:
        return None
    return (
        f"a path of the trees has {longest} different features, at most {PATH_BITS} can be treated; fit the model with "
        f"a depth of at most {PATH_BITS}, or pass background rows as masker=, for which the model is called instead"
    )


def _forest_obstacle(trees: TreeForm, order: CausalOrder) -> str | None:
    """A walk over the ideals of a path's features and their causes; deep trees under few edges have too many."""
    ideals, members = largest_walk(trees.ensemble, order)
    if ideals <= MOST_IDEALS and members <= WIDEST:
        return None
    return TooLarge(
        f"a path of the trees looks at features that have {ideals:.1g} ideals with their causes under this causal "
        f"forest, the limit is {MOST_IDEALS:,}; levels have a closed form for any depth"
    )


def _parts_obstacle(trees: TreeForm, order: CausalOrder, settings: Settings) -> str | None:
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


def _kind(problem: Problem) -> str:
    """Which kind of order the kernels will be given. Groups go through their lattice."""
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
        kind, order = _kind(problem), problem.order
        if isinstance(order, CausalOrder) and kind == FOREST:
            return _forest_obstacle(_trees(problem), order)
        if isinstance(order, CausalOrder) and kind == PARTS:
            return _parts_obstacle(_trees(problem), order, settings)
        return ideals_obstacle(problem, settings) if kind == LATTICE else None

    def cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
        ensemble, order, limit = _trees(problem).ensemble, problem.order, settings.ideal_limit
        kind, counts, more = ORDERS if sampled else _kind(problem), {}, Cost({})
        if sampled:
            counts = {"n_orders": settings.n_orders, "n_groups": min(N_GROUPS, settings.n_orders)}
            more = drawing_cost(order, settings.n_orders)
        elif isinstance(order, CausalOrder) and kind == PARTS:
            counts = {"n_ideals": sum(part.count_ideals(limit=limit) for part in prime_orders(order))}
            work, kept = parts_work(ensemble, order)
            more = Cost({"shuffle": work}, int(16 * kept))
        elif kind == LATTICE:
            counts = {"n_ideals": order.count_ideals(limit=limit)}
            more = Cost({}, counts["n_ideals"] * (problem.n_features * 13 + 100))
        rows = _background_rows(problem)
        return tree_cost(ensemble, kind, n_rows, 0 if rows is None else len(rows), **counts) + more

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        from shap_asv.backends.trees.attributor import prepare_trees  # brings numba in

        trees = _trees(problem)
        inner = prepare_trees(
            trees.ensemble,
            None if sampled else problem.order,
            _ground(problem),
            orders=draw_orders(problem, settings) if sampled else None,
            sampled=sampled,
            ideal_limit=settings.ideal_limit,
            players=problem.groups,
        )
        return PathsAttributor(trees, inner)

    name = "orders x paths" if sampled else "paths"
    return Backend(
        name, sampled, None, obstacle, cost, prepare, ROW_BLOCK, lambda problem, settings: AloneAttributor(problem)
    )
