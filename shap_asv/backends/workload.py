"""Which coalitions a problem needs, with which weight, and how many there are: what most backends ask first."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from shap_asv.backends.contract import Problem, Settings, TooLarge
from shap_asv.backends.weight_columns import N_GROUPS, Columns, exact_columns, of_players, sampled_columns
from shap_asv.backgrounds.contract import TERMS, Terms
from shap_asv.costs import Cost
from shap_asv.errors import BudgetExceededError
from shap_asv.models.products import SumOfProducts
from shap_asv.orders.sampling import drawing_cost
from shap_asv.orders.weights import weigh_ideals


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


def ideal_columns(problem: Problem, settings: Settings) -> Columns:
    return of_players(exact_columns(weigh_ideals(problem.order, settings.ideal_limit)), problem.groups)


def draw_orders(problem: Problem, settings: Settings) -> np.ndarray:
    """The sample of topological orders, int (k, p)."""
    n, n_groups = settings.n_orders, min(N_GROUPS, settings.n_orders)
    return problem.order.sample_topological_orders(n, settings.seed, n_groups=n_groups)


def order_columns(problem: Problem, settings: Settings) -> Columns:
    return of_players(sampled_columns(draw_orders(problem, settings)), problem.groups)


def count_ideals(problem: Problem, settings: Settings) -> int | None:
    """Number of coalitions of the exact average, None past the limit."""
    try:
        return problem.order.count_ideals(limit=settings.ideal_limit)
    except BudgetExceededError:
        return None


def count_sampled(problem: Problem, settings: Settings) -> int:
    bound = settings.n_orders * (problem.n_players - 1) + 2
    ideals = count_ideals(problem, settings)
    return bound if ideals is None else min(bound, ideals)


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

    def cost(self, problem: Problem, settings: Settings) -> Cost:
        """Listing the coalitions, and drawing orders before."""
        count, n = self.count(problem, settings), problem.n_features
        listed = Cost({"coalition": count, "coalition x feature": count * n}, count * (3 * n + 300), coalitions=count)
        if not self.sampled:
            return listed
        return listed + drawing_cost(problem.order, settings.n_orders)


def ideals_obstacle(problem: Problem, settings: Settings) -> str | None:
    if count_ideals(problem, settings) is None:
        return TooLarge(f"more than {settings.ideal_limit:,} ideals (ideal_limit=)")
    return None


def groups_obstacle(problem: Problem) -> str | None:
    """For algorithms that walk through the features one by one."""
    return None if problem.groups is None else "features that move in groups are not added one by one"


def orders_obstacle(problem: Problem, settings: Settings) -> str | None:
    if settings.n_orders < 2:
        return "a standard error needs at least two orders"
    return None


IDEALS = Sweep("ideals", False, ideal_columns, ideals_obstacle)
SAMPLED_ORDERS = Sweep("orders", True, order_columns, orders_obstacle)


def few_coalitions(problem: Problem, settings: Settings) -> Sweep:
    """All ideals where they are no more than the prefixes of the sampled orders would be, else those prefixes."""
    ideals = count_ideals(problem, settings)
    most = settings.n_orders * (problem.n_players - 1) + 2
    return IDEALS if ideals is not None and ideals <= most else SAMPLED_ORDERS
