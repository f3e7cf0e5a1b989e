"""Trees without a network as backends: cover counts or background rows, under any causal order.

The room ``backends/trees`` has the algorithm; here are its two rows of the table. "paths" is exact: levels in closed
form, forests by walks over the few features of a path, other orders by their lattice, explicit orders by counting.
"orders x paths" samples orders where the lattice is out of reach. Neither calls the model, and background rows are
looked at once, when the tables of the leaves are made.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from shap_asv.backends.contract import Attribution, Attributor, Backend, Estimate, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.trees.attributor import PATH_BITS, TABLE_BITS, WIDE_TABLE_BITS, TreeAttributor, prepare_trees
from shap_asv.backends.trees.orderings import FOREST, LATTICE, LEVELS, kind_of
from shap_asv.backends.weight_columns import N_GROUPS
from shap_asv.backends.workload import BYTES_PER_ORDER, ideals_obstacle, orders_obstacle, seconds_per_order
from shap_asv.backgrounds.contract import GROUND, TreeGround
from shap_asv.models.contract import ENSEMBLE
from shap_asv.models.ensembles import FloatEnsemble
from shap_asv.models.tree_form import TreeForm
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture

#: Rows that are explained together.
ROW_BLOCK = 16_384

# Measured on forests and boosted trees of 8 to 30 features, one thread.
_SECONDS_PER_CELL = 3e-9
_SECONDS_PER_ENTRY = 1e-8
_SECONDS_PER_GROUND_ROW = 1.5e-9
_SECONDS_PER_IDEAL = 3e-9
_SECONDS_PER_LEAF = 1e-5


@dataclass(frozen=True, eq=False)
class PathsAttributor:
    """Rows of the background -> numbers -> attributions.

    The first rows make the tables of the leaves; threads that come meanwhile wait for them.
    """

    trees: TreeForm
    inner: TreeAttributor
    _begun: list[bool] = field(default_factory=list, repr=False)
    _lock: Any = field(default_factory=Lock, repr=False)

    rowwise = True

    def __getstate__(self) -> dict[str, Any]:
        return {"trees": self.trees, "inner": self.inner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _begun=[], _lock=Lock())

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        numbers = self.trees.numbers(rows)
        if not self._begun:
            with self._lock:
                if not self._begun:
                    found = self.inner.attribute(numbers, report)
                    self._begun.append(True)
                    return found
        return self.inner.attribute(numbers, report)


@dataclass(frozen=True, eq=False)
class AloneAttributor:
    """``nu({i}) - nu({})``: what a feature adds in an order that it leads."""

    problem: Problem

    rowwise = True

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
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


@lru_cache(maxsize=8)
def path_lengths(ensemble: FloatEnsemble) -> np.ndarray:
    """How many leaves look at 0, 1, 2, ... different features: int64 (longest + 1,). O(nodes * n / 8)."""
    seen = np.zeros((len(ensemble.left), (ensemble.n_columns + 7) // 8), dtype=np.uint8)
    nodes, leaves = ensemble.roots, []
    while len(nodes):
        inner = ensemble.left[nodes] >= 0
        leaves.append(seen[nodes[~inner]])
        nodes = nodes[inner]
        column = ensemble.column[nodes]
        below = seen[nodes]
        below[np.arange(len(nodes)), column // 8] |= (1 << (column % 8)).astype(np.uint8)
        for child in (ensemble.left[nodes], ensemble.right[nodes]):
            seen[child] = below
        nodes = np.concatenate([ensemble.left[nodes], ensemble.right[nodes]])
    bits = np.unpackbits(np.concatenate(leaves), axis=1).sum(axis=1)
    return np.bincount(bits.astype(np.int64))


def _kind(problem: Problem) -> int | None:
    """Which kind of order the kernels will be given; None for a list of orders. Groups go through their lattice."""
    if not isinstance(problem.order, CausalOrder):
        return None
    return LATTICE if problem.groups is not None else kind_of(problem.order)


def _obstacle(problem: Problem) -> str | None:
    found = GROUND.obstacle(problem.background)
    if found is not None:
        return found
    found = ENSEMBLE.obstacle(problem.predictor)
    if found is not None:
        return found + _cost_of_margin(problem)
    if problem.link is not None:
        return "a link that is not the identity has to see every coalition's value as a whole"
    trees = problem.predictor.trees
    assert trees is not None
    if problem.n_features > PATH_BITS:
        longest = len(path_lengths(trees.ensemble)) - 1
        if longest > PATH_BITS:
            return f"a path of the trees has {longest} features, at most {PATH_BITS} can be treated"
    return None


def _cost_of_margin(problem: Problem) -> str:
    """Probabilities of boosted trees are not a sum; their margin is, and this is what it would take."""
    if problem.predictor.margin is None or problem.link is not None:
        return ""
    seconds = _work(problem, problem.predictor.margin, 1000, 1)[0]
    return f", and would take {'less than 0.1' if seconds < 0.1 else f'about {seconds:.1f}'} s for 1,000 rows"


def _work(problem: Problem, trees: TreeForm, n_rows: int, n_orders: int) -> tuple[float, int, int]:
    """Seconds, bytes and looks at leaves; ``n_orders`` of a list, if there is one."""
    background = problem.background
    assert isinstance(background, TreeGround)
    rows = background.ground()
    n_ground = 0 if rows is None else len(rows)
    counts = path_lengths(trees.ensemble)
    lengths = np.arange(len(counts))
    kind = _kind(problem)
    bits = TABLE_BITS if kind == LEVELS and not n_ground else WIDE_TABLE_BITS
    short, k = lengths <= bits, problem.n_outputs
    entries = float((counts * lengths * 2.0 ** np.minimum(lengths, bits))[short].sum())
    cells = float((counts * lengths)[short].sum())
    per_entry = _SECONDS_PER_ENTRY * {LEVELS: 1, FOREST: 6}.get(kind if kind is not None else -1, 2)
    seconds = 2e-3 + counts.sum() * _SECONDS_PER_LEAF + entries * per_entry
    seconds += n_rows * cells * k * _SECONDS_PER_CELL + n_ground * counts.sum() * _SECONDS_PER_GROUND_ROW
    # beyond the tables a row pays for its own path: closed form for levels, all subsets else
    own = np.where(kind == LEVELS and not n_ground, 8.0 * lengths**2, lengths * 2.0 ** np.minimum(lengths, 62))
    seconds += n_rows * k * float((counts * own)[~short].sum()) * _SECONDS_PER_CELL
    if kind == LATTICE or kind is None:
        seconds += n_orders * float(counts.sum()) * problem.n_features * _SECONDS_PER_IDEAL
    memory = int(2**26 + 8 * min(entries, 2**26) + 24 * min(n_rows, ROW_BLOCK) * problem.n_features * (k + 1))
    memory += n_ground * problem.n_features * 16 + 200 * len(trees.own.left)
    return float(seconds), memory, int(counts.sum()) * n_rows


def paths_backend(sampled: bool) -> Backend:
    """All orders at once, or sampled orders, leaf by leaf."""

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        found = _obstacle(problem)
        if found is not None:
            return found
        if sampled:
            return orders_obstacle(problem, settings)
        if isinstance(problem.order, GraphMixture):
            return "a mixture of graphs is not one order"
        if _kind(problem) != LATTICE:
            return None
        return ideals_obstacle(problem, settings)

    def estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
        trees = problem.predictor.trees
        assert trees is not None
        if sampled:
            # each group of orders has tables of its own
            listed = replace(problem, order=None)
            groups, orders = min(N_GROUPS, settings.n_orders), settings.n_orders
            seconds, memory, looks = _work(listed, trees, n_rows, max(1, orders // groups))
            seconds = seconds * groups + orders * seconds_per_order(problem, settings, sampled)
            return Estimate(
                0, orders, 0, looks * groups, seconds, memory + orders * problem.n_features * BYTES_PER_ORDER
            )
        coalitions = 0
        if problem.order is None:
            assert problem.given_orders is not None
            coalitions = len(problem.given_orders)
        elif _kind(problem) == LATTICE:
            coalitions = problem.order.count_ideals(limit=settings.ideal_limit)
        seconds, memory, looks = _work(problem, trees, n_rows, max(1, coalitions))
        return Estimate(coalitions, 0, 0, looks, seconds, memory + coalitions * (problem.n_features * 13 + 100))

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        trees, ground = _trees_and_ground(problem)
        if not sampled:
            assert not isinstance(problem.order, GraphMixture)
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
        assert problem.order is not None
        orders = problem.order.sample_topological_orders(
            settings.n_orders,
            seed=settings.seed,
            method=settings.order_method,
            n_groups=min(N_GROUPS, settings.n_orders),
        )
        return PathsAttributor(
            trees, prepare_trees(trees.ensemble, None, ground, orders=orders, sampled=True, players=problem.groups)
        )

    def alone(problem: Problem, settings: Settings) -> Attributor:
        return AloneAttributor(problem)

    name = "orders x paths" if sampled else "paths"
    return Backend(name, not sampled, sampled, None, obstacle, estimate, prepare, ROW_BLOCK, GROUND, ENSEMBLE, alone)
