"""Which coalitions a problem needs, with which weight, and how many there are: what most backends ask first."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import cast

import numpy as np

from shap_asv.backends.ancestral.closures import random_prefixes
from shap_asv.backends.contract import Estimate, Problem, Settings, TooLarge
from shap_asv.backends.weight_columns import N_GROUPS, Columns, exact_columns, of_players, sampled_columns
from shap_asv.backgrounds.contract import TERMS, Terms
from shap_asv.errors import BudgetExceededError
from shap_asv.models.products import SumOfProducts
from shap_asv.orders import CausalOrder
from shap_asv.orders.topological.sampling import ideals_to_list, seconds_to_draw
from shap_asv.orders.uncertain.mixture import weighted_orders
from shap_asv.orders.weights import weigh_ideals, weigh_orders

#: Bytes that an order takes per feature while it is drawn and its prefixes are numbered.
BYTES_PER_ORDER = 120
# Where orders are drawn from all ideals, what listing one takes. Measured on alarm and pathfinder.
_SECONDS_PER_LISTED, _BYTES_PER_LISTED = 4.5e-7, 200


def expected_output(background: Terms, products: SumOfProducts) -> np.ndarray:
    """The value of the empty coalition (k,)."""
    nothing = np.full((1, len(background.features)), -1)
    sums = background.expected_sums(nothing, products.vectors, products.terms, products.coefficients)
    return np.asarray(products.offset + sums[0])


def network_and_terms(problem: Problem) -> tuple[Terms, SumOfProducts]:
    """The background and the model of a problem that is treated term by term."""
    background, products = problem.background, problem.predictor.products
    assert TERMS.obstacle(background) is None
    assert products is not None
    return cast("Terms", background), products


#: Seconds of work before a background is worth its kernels.
WORTH_KERNELS = 1.0


def background_kernels(problem: Problem, settings: Settings, estimate: Estimate) -> tuple[str, ...]:
    """The kernels that the background itself has for large work; none below a second of it."""
    found: tuple[str, ...] = getattr(problem.background, "kernels", ())
    return found if estimate.seconds > WORTH_KERNELS else ()


def ideal_columns(problem: Problem, settings: Settings) -> Columns:
    if problem.order is None:
        assert problem.given_orders is not None
        columns = exact_columns(weigh_orders(problem.given_orders, problem.given_weights))
    else:
        columns = exact_columns(weigh_ideals(problem.order, settings.ideal_limit))
    return of_players(columns, problem.groups)


def draw_orders(problem: Problem, settings: Settings) -> np.ndarray:
    """The sample of topological orders, int (k, p)."""
    assert problem.order is not None
    n, n_groups = settings.n_orders, min(N_GROUPS, settings.n_orders)
    return problem.order.sample_topological_orders(n, settings.seed, settings.order_method, n_groups=n_groups)


def order_columns(problem: Problem, settings: Settings) -> Columns:
    return of_players(sampled_columns(draw_orders(problem, settings)), problem.groups)


def count_ideals(problem: Problem, settings: Settings) -> int | None:
    """Number of coalitions of the exact average, None past the limit."""
    if problem.order is None:
        assert problem.given_orders is not None
        k, n = problem.given_orders.shape
        return k * (n - 1) + 2
    try:
        return problem.order.count_ideals(limit=settings.ideal_limit)
    except BudgetExceededError:
        return None


def count_sampled(problem: Problem, settings: Settings) -> int:
    bound = settings.n_orders * (problem.n_players - 1) + 2
    ideals = count_ideals(problem, settings)
    return bound if ideals is None else min(bound, ideals)


# Coalitions that stand for all in a plan; steps of a chain towards the uniform distribution on ideals, and the features
# up to which it is worth its time.
_SAMPLED, _SWEEPS, _WORTH_SWEEPS = 240, 5, 100
# Graphs of a mixture that stand for all of them.
_SAMPLED_GRAPHS = 24


@lru_cache(maxsize=8)
def sampler(problem: Problem, sampled: bool) -> Callable[[], np.ndarray]:
    """:func:`sample_coalitions` of a problem, the same object whenever it is asked for."""
    return partial(sample_coalitions, problem, sampled)


@lru_cache(maxsize=4)
def sample_coalitions(problem: Problem, sampled: bool) -> np.ndarray:
    """Some of the coalitions of features that a problem asks for, bool (s, n): prefixes of orders, or ideals."""
    if problem.order is None:
        assert problem.given_orders is not None
        orders = problem.given_orders[:: -(-len(problem.given_orders) // 12)]
        place = orders.argsort(axis=1)
        found = (place[:, None, :] < np.arange(orders.shape[1] + 1)[:, None]).reshape(-1, orders.shape[1])
        found = found[:: -(-len(found) // _SAMPLED)]
    else:
        graphs = [order for order, _ in weighted_orders(problem.order)]
        graphs = graphs[:: -(-len(graphs) // _SAMPLED_GRAPHS)]
        # by random numbers of their own: graphs that differ in little would all give the same sets
        rngs = np.random.default_rng(0).spawn(len(graphs)) if len(graphs) > 1 else [np.random.default_rng(0)]
        size = _SAMPLED // len(graphs)
        found = np.concatenate(
            [_closed_sets(order, size, sampled, rng) for order, rng in zip(graphs, rngs, strict=True)]
        )
        if len(graphs) > 1:
            found = np.unique(found, axis=0)
    return found if problem.players is None else found[:, problem.players.of_feature]


def _closed_sets(order: CausalOrder, size: int, sampled: bool, rng: np.random.Generator) -> np.ndarray:
    """Prefixes of some orders, or ideals that are nearly uniform, bool (<= size, features)."""
    found = np.ascontiguousarray(random_prefixes(order, rng, n_prefixes=size).T)
    if not sampled and len(found) <= _WORTH_SWEEPS:
        for _ in range(_SWEEPS):
            enters = rng.random(found.shape) < 0.5
            for v, causes in enumerate(order.parents):
                stays = enters[v] | found[list(order.children[v])].any(axis=0)
                found[v] = (found[v] & stays) | (enters[v] & found[list(causes)].all(axis=0))
    return found.T


def patterns(n_rows: int) -> float:
    """Rows that a term tells apart: the more rows, the more of them look alike to it. Measured on child."""
    return min(n_rows, 500) + 0.4 * max(0, n_rows - 500)


@dataclass(frozen=True)
class Sweep:
    """The coalitions that a backend walks through: all ideals, or the prefixes of sampled orders.

    ``name`` is for the name of the backend, ``columns`` are the coalitions with their weights.
    """

    name: str
    sampled: bool
    columns: Callable[[Problem, Settings], Columns]
    obstacle: Callable[[Problem, Settings], str | None]

    def count(self, problem: Problem, settings: Settings) -> int:
        """Coalitions, at most."""
        return count_sampled(problem, settings) if self.sampled else count_ideals(problem, settings) or 0

    def drawing(self, problem: Problem, settings: Settings) -> tuple[int, float, int]:
        """Orders that are drawn, and what that takes: seconds and bytes."""
        if not self.sampled or problem.order is None:
            return 0, 0.0, 0
        orders = settings.n_orders
        listed, at_once = ideals_to_list(problem.order, settings.order_method)
        seconds = orders * seconds_to_draw(problem.order, settings.order_method) + listed * _SECONDS_PER_LISTED
        return orders, seconds, orders * problem.n_features * BYTES_PER_ORDER + at_once * _BYTES_PER_LISTED


def ideals_obstacle(problem: Problem, settings: Settings) -> str | None:
    if count_ideals(problem, settings) is None:
        return TooLarge(f"more than {settings.ideal_limit:,} ideals (ideal_limit=)")
    return None


def groups_obstacle(problem: Problem) -> str | None:
    """For algorithms that walk through the features one by one."""
    return None if problem.groups is None else "features that move in groups are not added one by one"


def orders_obstacle(problem: Problem, settings: Settings) -> str | None:
    if problem.order is None:
        return "the orders are given: there is nothing to sample"
    if settings.n_orders < 2:
        return "a standard error needs at least two orders"
    return None


IDEALS = Sweep("ideals", False, ideal_columns, ideals_obstacle)
SAMPLED_ORDERS = Sweep("orders", True, order_columns, orders_obstacle)
