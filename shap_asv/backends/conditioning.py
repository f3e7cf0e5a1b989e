"""Which coalitions a background can condition on, against those that an order asks for: decided here and nowhere else.

An order asks for its ideals. They are *ancestral* when each holds, with a member, all of its causes in the
background's graph: every cause of a feature is a feature that precedes it in the order. Then conditioning is clamping:
cheap for a network, and the only thing that a structural model can do.
"""

from functools import lru_cache

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.contract import Background
from shap_asv.orders import CausalOrder
from shap_asv.orders.players import Players
from shap_asv.orders.uncertain import GraphMixture


def is_ancestral(problem: Problem) -> bool:
    """Whether every coalition that the problem's order asks for holds the causes of its members: then conditioning on
    it is the same as setting it.
    """
    return ancestral_obstacle(problem) is None


def ancestral_obstacle(problem: Problem) -> str | None:
    """Why some coalition may lack a cause of a member, as a sentence; None where none does."""
    if problem.background.graph is None:
        return "the background has no graph"
    return _order_obstacle(problem.background, problem.order, problem.players)


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
def _order_obstacle(background: Background, order: CausalOrder | GraphMixture, players: Players | None) -> str | None:
    """The first cause of a feature that is not a feature that precedes it; parents do, precedence is transitive."""
    assert background.graph is not None
    before = order.ancestor_matrix if players is None else players.precedence(order)
    place = {name: i for i, name in enumerate(background.features)}
    for name, i in place.items():
        for cause in background.graph.predecessors(name):
            if cause not in place:
                return f"the latent node {cause!r} stands above the feature {name!r}"
            if not before[place[cause], i]:
                return f"{cause!r} does not precede its effect {name!r}"
    return None
