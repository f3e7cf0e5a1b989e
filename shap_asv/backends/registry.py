"""The table of backends: every way to get from a problem to attributions, with its conditions and its cost.

Orders and values combine freely, so most rows are made from the table of value methods: all ideals x each method, and
sampled orders x each method. A new exact algorithm is one new file and one row here.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backends.ancestral import (
    AncestralAttributor,
    ancestral_obstacle,
    build_closures,
    closed_sets,
    estimate_entries,
)
from shap_asv.backends.coalitionwise import DENSE_LIMIT, CoalitionwiseAttributor
from shap_asv.backends.columns import N_GROUPS, Columns, exact_columns, sampled_columns
from shap_asv.backends.contract import Attribution, Attributor, Backend, Estimate, Problem, Settings
from shap_asv.backends.forest import ForestAttributor, forest_applicable, prepare_forest
from shap_asv.backends.relaxed import RelaxingAttributor
from shap_asv.backends.termwise import TermwiseAttributor, group_terms
from shap_asv.backgrounds.discrete import DiscreteBackground
from shap_asv.errors import BudgetExceededError
from shap_asv.orders.sampling import methods_used
from shap_asv.orders.weights import weigh_ideals, weigh_orders
from shap_asv.values.contract import ValueMethod, Workload
from shap_asv.values.products import ExactProducts
from shap_asv.values.registry import VALUE_METHODS

# Measured on child and alarm: bringing one coalition into a class of a group of terms, and one query of a class.
_SECONDS_PER_CLASSIFIED = 4e-7
_SECONDS_PER_QUERY = {True: 1.5e-6, False: 2.5e-6}
_SECONDS_PER_ORDER = 2e-6
# Distinct rows explained at a time. Terms see few features, so that more rows mean more rows alike.
_ROW_BLOCK = 256
_TERM_ROW_BLOCK = 2048


# --- which coalitions, with which weight ---------------------------------------------------------------------


def _ideal_columns(problem: Problem, settings: Settings) -> Columns:
    if problem.order is None:
        assert problem.given_orders is not None
        return exact_columns(weigh_orders(problem.given_orders, problem.given_weights))
    return exact_columns(weigh_ideals(problem.order, settings.ideal_limit))


def _order_columns(problem: Problem, settings: Settings) -> Columns:
    assert problem.order is not None
    orders = problem.order.sample_topological_orders(
        settings.n_orders, seed=settings.seed, method=settings.order_method
    )
    return sampled_columns(orders)


def _count_ideals(problem: Problem, settings: Settings) -> int | None:
    """Number of coalitions of the exact average, None past the limit."""
    if problem.order is None:
        assert problem.given_orders is not None
        k, n = problem.given_orders.shape
        return k * (n - 1) + 2
    try:
        return problem.order.count_ideals(limit=settings.ideal_limit)
    except BudgetExceededError:
        return None


def _count_sampled(problem: Problem, settings: Settings) -> int:
    bound = settings.n_orders * (problem.n_features - 1) + 2
    ideals = _count_ideals(problem, settings)
    return bound if ideals is None else min(bound, ideals)


def _patterns(n_rows: int) -> float:
    """Rows that a term tells apart: the more rows, the more of them look alike to it. Measured on child."""
    return min(n_rows, 500) + 0.4 * max(0, n_rows - 500)


def _is_ancestral(problem: Problem) -> bool:
    return (
        isinstance(problem.background, DiscreteBackground)
        and problem.order is not None
        and ancestral_obstacle(problem.background, problem.order) is None
    )


def _seconds_per_order(problem: Problem, settings: Settings, sampled: bool) -> float:
    """Drawing by counts is cheap; the perfect sampler takes time that grows with the cube of the features and more."""
    if not sampled or problem.order is None:
        return 0.0
    methods = methods_used(problem.order) if settings.order_method == "auto" else (settings.order_method,)
    if not {"perfect", "mcmc"} & set(methods):
        return _SECONDS_PER_ORDER
    return 8e-3 * (problem.n_features / 56) ** 3.4


def _ideals_obstacle(problem: Problem, settings: Settings) -> str | None:
    if _count_ideals(problem, settings) is None:
        return f"more than {settings.ideal_limit:,} ideals"
    return None


def _orders_obstacle(problem: Problem, settings: Settings) -> str | None:
    if problem.order is None:
        return "the orders are given: there is nothing to sample"
    if settings.n_orders < 2:
        return "a standard error needs at least two orders"
    return None


# --- coalition by coalition, with any value method -------------------------------------------------------------


def _coalitionwise(method: ValueMethod, sampled: bool) -> Backend:
    columns_of = _order_columns if sampled else _ideal_columns
    order_obstacle = _orders_obstacle if sampled else _ideals_obstacle

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        return method.obstacle(problem.background, problem.predictor) or order_obstacle(problem, settings)

    def estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
        coalitions = _count_sampled(problem, settings) if sampled else _count_ideals(problem, settings) or 0
        n = problem.n_features
        orders = settings.n_orders if sampled else 0
        work = Workload(n_rows, coalitions, n, settings.n_draws, _is_ancestral(problem))
        cost = method.cost(problem.background, problem.predictor, work)
        # nu is never held for more pairs of row and coalition than this
        pairs = min(min(n_rows, _ROW_BLOCK) * coalitions, DENSE_LIMIT // problem.n_outputs)
        held = method.cost(problem.background, problem.predictor, Workload(1, pairs, n, settings.n_draws)).memory
        columns = n * (min(orders, N_GROUPS) if sampled else 1)
        return Estimate(
            coalitions,
            orders,
            cost.model_calls,
            cost.queries,
            cost.seconds + orders * _seconds_per_order(problem, settings, sampled) + coalitions * n * 1e-8,
            held + coalitions * (n + 24 * min(n, 12)) + 24 * min(n_rows, _ROW_BLOCK) * columns * problem.n_outputs,
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


def _termwise(sampled: bool) -> Backend:
    columns_of = _order_columns if sampled else _ideal_columns
    order_obstacle = _orders_obstacle if sampled else _ideals_obstacle

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        return _terms_obstacle(problem) or order_obstacle(problem, settings)

    def estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
        products = problem.predictor.products
        assert products is not None
        coalitions = _count_sampled(problem, settings) if sampled else _count_ideals(problem, settings) or 0
        touched = np.unique(products.terms != 0, axis=0)
        # closed under network ancestors, coalitions fall into as many classes as a closure has ideals; else into more
        clamped = _is_ancestral(problem)
        if clamped:
            assert problem.order is not None
            classes = int(estimate_entries(problem.background, problem.order, products, coalitions)[1])
        else:
            classes = min(coalitions, 100 + coalitions // 10)
        # about one in three pairs of row and class stays alive
        queries = int(len(touched) * classes * _patterns(n_rows) * 0.3)
        orders = settings.n_orders if sampled else 0
        seconds = len(touched) * (2e-3 + coalitions * _SECONDS_PER_CLASSIFIED) + queries * _SECONDS_PER_QUERY[clamped]
        memory = coalitions * (problem.n_features * 3 + 300) + len(touched) * classes * 200 + 2**27
        return Estimate(
            coalitions, orders, 0, queries, seconds + orders * _seconds_per_order(problem, settings, sampled), memory
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
    coalitions = _count_ideals(problem, settings) or 0
    assert problem.order is not None
    n_sets = len(closed_sets(problem.background, problem.order, products)[0])
    entries, ideals, size = estimate_entries(problem.background, problem.order, products, coalitions)
    # a few dozen ideals stay alive for a row; the compiler's second is in the sum
    visited = int(products.n_terms * _patterns(n_rows) * min(ideals, 64))
    layouts = n_sets * (5e-4 + coalitions * 1e-7)
    seconds = 1.0 + layouts + products.n_terms * (5e-5 + entries * 1e-8) + visited * 1e-8
    memory = coalitions * (problem.n_features * 3 + 300) + int(n_sets * ideals * (8 * size + 200)) + 2**27
    return Estimate(coalitions, 0, 0, visited, seconds, memory)


def _prepare_ancestral(problem: Problem, settings: Settings) -> Attributor:
    columns = _ideal_columns(problem, settings)
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


# --- polynomial on forests ---------------------------------------------------------------------------------------


def _feature_nodes(problem: Problem) -> tuple[int, ...]:
    return tuple(int(node) for node in problem.background.nodes)


def _forest_obstacle(problem: Problem, settings: Settings) -> str | None:
    obstacle = _terms_obstacle(problem)
    if obstacle is not None:
        return obstacle
    if problem.order is None:
        return "explicit orders are no forest"
    return forest_applicable(problem.background.network, _feature_nodes(problem), problem.order.parents)


def _forest_estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
    products = problem.predictor.products
    assert products is not None
    n = problem.n_features
    depth = int((products.terms != 0).sum(axis=1).max(initial=1))
    pairs = int(products.n_terms * _patterns(n_rows) * depth)
    # No compiler for small problems. On large ones a term costs a pass over its closure for each pattern of rows, and
    # two seconds stand for the compiler: its work is kept on disk, but somebody has to wait for it once.
    seconds = 0.01 if products.n_terms * depth * n <= 10_000 else 2.0 + products.n_terms * 2e-5 + pairs * 1e-8
    memory = 2**26 + products.n_terms * (4 * n + 200) + 32 * min(n_rows, _TERM_ROW_BLOCK) * n * products.n_outputs
    return Estimate(0, 0, 0, pairs, seconds, memory)


def _prepare_forest(problem: Problem, settings: Settings) -> Attributor:
    background, products = problem.background, problem.predictor.products
    assert products is not None
    assert problem.order is not None
    prepared = prepare_forest(
        background.network, _feature_nodes(problem), products, order_parents=problem.order.parents
    )
    nothing = np.full((1, problem.n_features), -1)
    expected = background.expectations(nothing, products.vectors, products.terms)[0]
    fast = ForestAttributor(prepared, products.offset + expected @ products.coefficients)
    if background.impossible != "relax":
        return fast
    return RelaxingAttributor(background, fast, CoalitionByCoalition(problem, settings))


@dataclass(frozen=True, eq=False)
class CoalitionByCoalition:
    """All ideals one by one, made ready only when a row asks for it: the lattice of a forest may be out of reach."""

    problem: Problem
    settings: Settings

    def attribute(self, rows: np.ndarray) -> Attribution:
        products = self.problem.predictor.products
        assert products is not None
        values = ExactProducts(self.problem.background, products)
        return CoalitionwiseAttributor(values, _ideal_columns(self.problem, self.settings)).attribute(rows)


_FOREST = Backend(
    "forest",
    True,
    "exact",
    "terms",
    _forest_obstacle,
    _forest_estimate,
    _prepare_forest,
    _TERM_ROW_BLOCK,
)
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
    _ANCESTRAL,
    _TERMWISE,
    *(_coalitionwise(method, sampled=False) for method in VALUE_METHODS),
    _termwise(sampled=True),
    *(_coalitionwise(method, sampled=True) for method in VALUE_METHODS),
)
