"""Numbers that users pass: how many orders, how many ideals at most."""

from typing import TYPE_CHECKING

from shap_asv.arguments import check_count
from shap_asv.errors import BudgetExceededError

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

DEFAULT_LIMIT = 1_000_000

#: numbers that one array of sampled orders may hold: 8 GiB
MOST_ENTRIES = 1 << 30


def check_limit(limit: int | None) -> int:
    """The limit as a number: the default when none was given, an error when it is not a positive integer."""
    if limit is None:
        return DEFAULT_LIMIT
    return check_count(limit, "limit", "a number of ideals")


def too_many_ideals(order: "CausalOrder", limit: int) -> BudgetExceededError:
    """The error for an order whose ideals are more than ``limit``."""
    return BudgetExceededError(
        f"a causal order of {order.n_features} features has more than {limit:,} ideals; raise limit= "
        "(ideal_limit= of an explainer), or sample topological orders instead"
    )


def check_sample(n: int, n_features: int) -> int:
    """The number of orders of a sample that can be held in memory, or an error."""
    n = check_count(n, "n", "a number of orders")
    if n * n_features > MOST_ENTRIES:
        raise BudgetExceededError(
            f"n={n:,} orders of {n_features} features are more than {MOST_ENTRIES:,} numbers; draw them in parts"
        )
    return n
