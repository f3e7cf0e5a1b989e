"""The table of backends: every way to get from a problem to attributions, with its conditions and its cost.

Orders and values combine freely, so most rows are made from the table of value methods: all ideals x each method, and
sampled orders x each method. A new exact algorithm is one new file and one row here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from shap_asv.backends.ancestral.closures import (
    LARGEST_CLOSURE,
    AncestralAttributor,
    ancestral_obstacle,
    build_closures,
    closed_sets,
    estimate_entries,
)
from shap_asv.backends.coalitionwise import DENSE_LIMIT, CoalitionwiseAttributor
from shap_asv.backends.contract import Attribution, Attributor, Backend, Estimate, Problem, Settings
from shap_asv.backends.forest.layout import forest_applicable
from shap_asv.backends.forest.prepared import prepare_forest
from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backends.polytree.layout import polytree_applicable
from shap_asv.backends.polytree.prepared import prepare_polytree
from shap_asv.backends.relaxed import RelaxingAttributor
from shap_asv.backends.termwise import TermwiseAttributor, group_terms
from shap_asv.backends.weight_columns import N_GROUPS
from shap_asv.backends.workload import (
    BYTES_PER_ORDER,
    count_ideals,
    count_sampled,
    ideal_columns,
    ideals_obstacle,
    is_ancestral,
    order_columns,
    orders_obstacle,
    patterns,
    seconds_per_order,
)
from shap_asv.backgrounds.discrete import DiscreteBackground
from shap_asv.values.contract import ValueMethod, Workload
from shap_asv.values.products import ExactProducts, clique_states, seconds_to_plan
from shap_asv.values.registry import VALUE_METHODS

# Measured on child and alarm: bringing one coalition into a class of a group of terms, and one query of a class.
_SECONDS_PER_CLASSIFIED = 4e-7
_SECONDS_PER_QUERY = {True: 1.5e-6, False: 2.5e-6}
# Measured on random forests of 24 to 1,000 features: an operation of the forest algorithm.
_SECONDS_PER_OPERATION = 6e-9
# Distinct rows explained at a time. Terms see few features, so that more rows mean more rows alike.
_ROW_BLOCK = 256
_TERM_ROW_BLOCK = 2048


# --- coalition by coalition, with any value method -------------------------------------------------------------


def _coalitionwise(method: ValueMethod, sampled: bool) -> Backend:
    columns_of = order_columns if sampled else ideal_columns
    order_obstacle = orders_obstacle if sampled else ideals_obstacle

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        return method.obstacle(problem.background, problem.predictor) or order_obstacle(problem, settings)

    def estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
        coalitions = count_sampled(problem, settings) if sampled else count_ideals(problem, settings) or 0
        n = problem.n_features
        orders = settings.n_orders if sampled else 0
        work = Workload(n_rows, coalitions, n, settings.n_draws, is_ancestral(problem), settings.batch_size)
        cost = method.cost(problem.background, problem.predictor, work)
        # nu is never held for more pairs of row and coalition than this
        pairs = min(min(n_rows, _ROW_BLOCK) * coalitions, DENSE_LIMIT // problem.n_outputs)
        held = method.cost(problem.background, problem.predictor, replace(work, n_rows=1, n_coalitions=pairs)).memory
        columns = n * (min(orders, N_GROUPS) if sampled else 1)
        return Estimate(
            coalitions,
            orders,
            cost.model_calls,
            cost.queries,
            cost.seconds + orders * seconds_per_order(problem, settings, sampled) + coalitions * n * 1e-8,
            held
            + orders * n * BYTES_PER_ORDER
            + coalitions * (n + 24 * min(n, 12))
            + 24 * min(n_rows, _ROW_BLOCK) * columns * problem.n_outputs,
        )

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        values = method.build(problem.background, problem.predictor, settings.value_options(problem))
        # a matrix background applies the link inside its average, as shap does
        link = None if method.name == "marginal" else problem.link
        return CoalitionwiseAttributor(values, columns_of(problem, settings), link)

    kind = "orders" if sampled else "ideals"
    return Backend(
        f"{kind} x {method.name}",
        method.exact and not sampled,
        "sampled" if sampled else "exact",
        method.name,
        obstacle,
        estimate,
        prepare,
        _ROW_BLOCK,
    )


# --- term by term ----------------------------------------------------------------------------------------------


def _terms_obstacle(problem: Problem) -> str | None:
    if not isinstance(problem.background, DiscreteBackground):
        return "needs a discrete Bayesian network as background"
    if problem.predictor.products is None:
        return problem.predictor.reason or "the model is neither a tree ensemble nor linear"
    if problem.link is not None:
        return "a link that is not the identity has to see every coalition's value as a whole"
    return None


def _seconds_to_classify(problem: Problem, coalitions: int) -> float:
    """Finding the classes of one group of terms; the more features, the more bits a coalition has to compare."""
    words = max(1.0, problem.n_features / 36)
    return 4e-3 + 2e-4 * problem.n_features + coalitions * _SECONDS_PER_CLASSIFIED * words


def _termwise(sampled: bool) -> Backend:
    columns_of = order_columns if sampled else ideal_columns
    order_obstacle = orders_obstacle if sampled else ideals_obstacle

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        return _terms_obstacle(problem) or order_obstacle(problem, settings)

    def estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
        products = problem.predictor.products
        assert products is not None
        coalitions = count_sampled(problem, settings) if sampled else count_ideals(problem, settings) or 0
        touched = np.unique(products.terms != 0, axis=0)
        # closed under network ancestors, coalitions fall into as many classes as a closure has ideals; else into more
        clamped = is_ancestral(problem)
        if clamped:
            assert problem.order is not None
            classes = int(estimate_entries(problem.background, problem.order, products, coalitions)[1])
        else:
            classes = min(coalitions, 100 + coalitions // 10)
        # about one in three pairs of row and class stays alive; classes see few features, so that many rows look alike
        told_apart = min(n_rows, 100) + 0.1 * max(0, n_rows - 100)
        queries = int(len(touched) * classes * told_apart * 0.3)
        orders = settings.n_orders if sampled else 0
        # evidence that is not clamped walks through the states of the network's cliques
        per_query = max(
            _SECONDS_PER_QUERY[clamped], 0 if clamped else clique_states(problem.background.network) * 5e-10
        )
        seconds = len(touched) * _seconds_to_classify(problem, coalitions) + queries * per_query
        seconds += seconds_to_plan(problem.background.network)
        memory = coalitions * (problem.n_features * 3 + 300) + len(touched) * classes * 200 + 2**27
        memory += orders * problem.n_features * BYTES_PER_ORDER
        return Estimate(
            coalitions, orders, 0, queries, seconds + orders * seconds_per_order(problem, settings, sampled), memory
        )

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        columns = columns_of(problem, settings)
        background, products = problem.background, problem.predictor.products
        assert products is not None
        fast = TermwiseAttributor(background, products, columns, group_terms(background, products, columns))
        if background.impossible != "relax":
            return fast
        return RelaxingAttributor(
            background, fast, CoalitionwiseAttributor(ExactProducts(background, products), columns)
        )

    kind = "orders" if sampled else "ideals"
    return Backend(
        f"{kind} x terms",
        not sampled,
        "sampled" if sampled else "exact",
        "terms",
        obstacle,
        estimate,
        prepare,
        _ROW_BLOCK if sampled else _TERM_ROW_BLOCK,
    )


# --- term by term on ancestral sets ------------------------------------------------------------------------------


def _ancestral_obstacle(problem: Problem, settings: Settings) -> str | None:
    obstacle = _TERMWISE.obstacle(problem, settings)
    if obstacle is not None:
        return obstacle
    if problem.order is None:
        return "explicit orders may pass coalitions that are no ideals"
    return ancestral_obstacle(problem.background, problem.order)


def _ancestral_estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
    products = problem.predictor.products
    assert products is not None
    coalitions = count_ideals(problem, settings) or 0
    assert problem.order is not None
    sets, member = closed_sets(problem.background, problem.order, products)
    n_sets = len(sets)
    left = int((sets.sum(axis=1) > LARGEST_CLOSURE)[member].sum())
    entries, ideals, size = estimate_entries(problem.background, problem.order, products, coalitions)
    # a few dozen ideals stay alive for a row; loading the kernels is in the sum
    visited = int(products.n_terms * patterns(n_rows) * min(ideals, 64))
    layouts = n_sets * (5e-4 + coalitions * 1e-7)
    seconds = 0.3 + layouts + products.n_terms * (5e-5 + entries * 1e-8) + visited * 2e-8
    if left:  # what goes to the terms' own backend
        queries = left * min(coalitions, ideals) * patterns(n_rows) * 0.3
        seconds += left * _seconds_to_classify(problem, coalitions) + queries * _SECONDS_PER_QUERY[True]
    memory = coalitions * (problem.n_features * 3 + 300) + int(n_sets * ideals * (8 * size + 200)) + 2**27
    return Estimate(coalitions, 0, 0, visited, seconds, memory)


def _prepare_ancestral(problem: Problem, settings: Settings) -> Attributor:
    columns = ideal_columns(problem, settings)
    background, products = problem.background, problem.predictor.products
    assert products is not None
    assert problem.order is not None
    closures, left = build_closures(background, problem.order, products, columns)
    others = products.only(left)
    rest = TermwiseAttributor(background, others, columns, group_terms(background, others, columns))
    fast = AncestralAttributor(products, closures, problem.n_features, rest)
    if background.impossible != "relax":
        return fast
    return RelaxingAttributor(background, fast, CoalitionByCoalition(problem, settings))


# --- polynomial on forests and polytrees --------------------------------------------------------------------------


def _feature_nodes(problem: Problem) -> tuple[int, ...]:
    return tuple(int(node) for node in problem.background.nodes)


def _forest_estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
    products = problem.predictor.products
    assert products is not None
    n = problem.n_features
    depth = int((products.terms != 0).sum(axis=1).max(initial=1))
    pairs = int(products.n_terms * patterns(n_rows) * depth)
    # No compiler for small problems. On large ones a term costs a pass over its closure for each pattern of rows, and
    # two seconds stand for the compiler: its work is kept on disk, but somebody has to wait for it once.
    seconds = 0.01
    if products.n_terms * depth * n > 10_000:
        assert problem.order is not None
        some = products.only(np.linspace(0, products.n_terms - 1, min(64, products.n_terms)).astype(int))
        nodes, parents = _feature_nodes(problem), problem.order.parents
        ready = prepare_forest(problem.background.network, nodes, some, order_parents=parents)
        # rows that look alike to a small closure do not to a large one
        closure = float(ready.groups.closure.sum(axis=1).mean())
        told_apart = patterns(n_rows) if closure < 12 else n_rows
        seconds = 2.0 + products.n_terms * (2e-4 + told_apart * ready.work / some.n_terms * _SECONDS_PER_OPERATION)
        seconds += seconds_to_plan(problem.background.network)
    memory = 2**26 + products.n_terms * (4 * n + 200) + 32 * min(n_rows, _TERM_ROW_BLOCK) * n * products.n_outputs
    return Estimate(0, 0, 0, pairs, seconds, memory)


def _polytree_estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
    products = problem.predictor.products
    assert products is not None
    n = problem.n_features
    pairs = int(products.n_terms * patterns(n_rows))
    seconds = 0.1 + pairs * 1e-5 * n**1.5
    memory = 2**28 + products.n_terms * (4 * n + 200) + 32 * min(n_rows, _TERM_ROW_BLOCK) * n * products.n_outputs
    return Estimate(0, 0, 0, pairs, seconds, memory)


class Prepared(Protocol):
    """A polynomial algorithm with everything done that does not depend on the rows."""

    @property
    def rowwise(self) -> bool: ...

    def attributions(self, codes: np.ndarray, *, report: Report = keep_silent) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class PolynomialAttributor:
    """The forest or the polytree algorithm as a backend; ``base`` (k,) is the expected output."""

    prepared: Prepared
    base: np.ndarray

    @property
    def rowwise(self) -> bool:
        return self.prepared.rowwise

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        return Attribution(self.prepared.attributions(rows, report=report), self.base)


def _polynomial(
    name: str,
    applicable: Callable[..., str | None],
    estimate: Callable[[Problem, Settings, int], Estimate],
    prepare: Callable[..., Prepared],
) -> Backend:
    def obstacle(problem: Problem, settings: Settings) -> str | None:
        found = _terms_obstacle(problem)
        if found is not None:
            return found
        if problem.order is None:
            return f"explicit orders are no {name}"
        return applicable(problem.background.network, _feature_nodes(problem), problem.order.parents)

    def make_ready(problem: Problem, settings: Settings) -> Attributor:
        background, products = problem.background, problem.predictor.products
        assert products is not None
        assert problem.order is not None
        prepared = prepare(background.network, _feature_nodes(problem), products, order_parents=problem.order.parents)
        nothing = np.full((1, problem.n_features), -1)
        expected = background.expected_sums(nothing, products.vectors, products.terms, products.coefficients)[0]
        fast = PolynomialAttributor(prepared, products.offset + expected)
        if background.impossible != "relax":
            return fast
        return RelaxingAttributor(background, fast, CoalitionByCoalition(problem, settings))

    return Backend(name, True, "exact", "terms", obstacle, estimate, make_ready, _TERM_ROW_BLOCK)


@dataclass(frozen=True, eq=False)
class CoalitionByCoalition:
    """All ideals one by one, made ready only when a row asks for it: the lattice of a forest may be out of reach."""

    problem: Problem
    settings: Settings

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        products = self.problem.predictor.products
        assert products is not None
        values = ExactProducts(self.problem.background, products)
        return CoalitionwiseAttributor(values, ideal_columns(self.problem, self.settings)).attribute(rows, report)


_FOREST = _polynomial("forest", forest_applicable, _forest_estimate, prepare_forest)
_POLYTREE = _polynomial("polytree", polytree_applicable, _polytree_estimate, prepare_polytree)
_TERMWISE = _termwise(sampled=False)
_ANCESTRAL = Backend(
    "ancestral",
    True,
    "exact",
    "terms",
    _ancestral_obstacle,
    _ancestral_estimate,
    _prepare_ancestral,
    _TERM_ROW_BLOCK,
)


BACKENDS: tuple[Backend, ...] = (
    _FOREST,
    _POLYTREE,
    _ANCESTRAL,
    _TERMWISE,
    *(_coalitionwise(method, sampled=False) for method in VALUE_METHODS),
    _termwise(sampled=True),
    *(_coalitionwise(method, sampled=True) for method in VALUE_METHODS),
)
