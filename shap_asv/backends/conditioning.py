"""Which coalitions a background can condition on, against those that an order asks for: decided here and nowhere else.

An order asks for its ideals. They are *ancestral* when each holds, with a member, all of its causes in the
background's graph: every cause of a feature is a feature that precedes it in the order. Then conditioning is clamping:
cheap for a network, and the only thing that a structural model can do.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.contract import Background, KnowsDetermined
from shap_asv.orders import CausalOrder
from shap_asv.orders.players import Players
from shap_asv.orders.uncertain import GraphMixture


def is_ancestral(problem: Problem) -> bool:
    """Whether every coalition that the problem's order asks for holds the causes of its members."""
    return ancestral_obstacle(problem) is None


def sees_what_it_sets(problem: Problem) -> bool:
    """Whether conditioning on a coalition of the problem's order is the same as setting it.

    It is for ancestral coalitions. A latent node that is a function of its causes (``background.determined``) is known
    where they are: its causes count in its place.
    """
    background = problem.background
    through = background.determined if isinstance(background, KnowsDetermined) else frozenset()
    return _obstacle(problem, through) is None


def ancestral_obstacle(problem: Problem) -> str | None:
    """Why some coalition may lack a cause of a member, as a sentence; None where none does."""
    return _obstacle(problem, frozenset())


def _obstacle(problem: Problem, through: frozenset[str]) -> str | None:
    if problem.background.graph is None:
        return "the background has no graph"
    if problem.order is None:
        return _given_obstacle(problem, through)
    return _order_obstacle(problem.background, problem.order, problem.players, through)


def conditioning_obstacle(problem: Problem) -> str | None:
    """Why the background cannot condition on the coalitions of the order; None where it can."""
    if problem.background.conditions_on == "any":
        return None
    found = ancestral_obstacle(problem)
    if found is None:
        return None
    return (
        f"{problem.background.describe()} can only condition on a set that holds the causes of its members, and "
        f"{found}; use its own graph as causal graph, or a background that can condition on any set"
    )


@lru_cache(maxsize=4)
def _order_obstacle(
    background: Background, order: CausalOrder | GraphMixture, players: Players | None, through: frozenset[str]
) -> str | None:
    before = order.ancestor_matrix if players is None else players.precedence(order)
    return _first_obstacle(background, through, lambda cause, effect: bool(before[cause, effect]))


def _given_obstacle(problem: Problem, through: frozenset[str]) -> str | None:
    """Explicit orders: the place of each cause before that of its effect, in every one of them."""
    assert problem.given_orders is not None
    position = problem.given_orders.argsort(axis=1)
    if problem.players is not None:
        position = position[:, problem.players.of_feature]  # members of a group come at once
    return _first_obstacle(
        problem.background,
        through,
        lambda cause, effect: bool((position[:, cause] <= position[:, effect]).all()),
        " in every order",
    )


def _first_obstacle(
    background: Background, through: frozenset[str], precedes: Callable[[int, int], bool], where: str = ""
) -> str | None:
    """The first cause of a feature that is not a feature that ``precedes`` it; parents do, precedence is transitive."""
    place = {name: i for i, name in enumerate(background.features)}
    for name, i in place.items():
        for cause in _causes(background, name, through):
            if cause not in place:
                return f"the latent node {cause!r} stands above the feature {name!r}"
            if not precedes(place[cause], i):
                return f"{cause!r} does not precede its effect {name!r}{where}"
    return None


def _causes(background: Background, name: str, through: frozenset[str]) -> Iterator[str]:
    """The direct causes of a node; those of a cause in its place where it is one to look ``through``."""
    assert background.graph is not None
    for cause in background.graph.predecessors(name):
        if cause in through:
            yield from _causes(background, cause, through)
        else:
            yield cause
