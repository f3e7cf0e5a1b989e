"""The forest algorithm as a backend: polynomial in the features, whatever the number of ideals.

Attributions under a mixture of graphs are the weighted mean of those under each graph, so where every graph is a forest
the algorithm runs once for each of them.
"""

from dataclasses import dataclass, replace

import numpy as np

from shap_asv.backends.conditioning import ancestral_obstacle
from shap_asv.backends.contract import Attribution, Attributor, Backend, Problem, Settings
from shap_asv.backends.forest.layout import forest_obstacle
from shap_asv.backends.forest.prepared import PreparedForest, prepare_forest
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.polytrees import CoalitionByCoalition
from shap_asv.backends.relaxed import relaxing
from shap_asv.backends.termwise import TERM_ROW_BLOCK, measure_groups, terms_obstacle
from shap_asv.backends.workload import expected_output, groups_obstacle, network_and_terms, patterns
from shap_asv.backgrounds.contract import Terms
from shap_asv.costs import Cost
from shap_asv.models.products import SumOfProducts
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain.mixture import weighted_orders


def _nodes(background: Terms) -> tuple[int, ...]:
    return tuple(int(node) for node in background.nodes)


# Terms x features x features of a term above which the forest algorithm is compiled.
_LARGE = 10_000


def _depth(products: SumOfProducts) -> int:
    """Features of the largest term."""
    return int((products.terms != 0).sum(axis=1).max(initial=1))


def _is_large(background: Terms, products: SumOfProducts) -> bool:
    return products.n_terms * _depth(products) * len(background.features) > _LARGE


def _cost_of_one(problem: Problem, n_rows: int) -> Cost:
    """A pass over the closure of a term for each pattern of rows that it tells apart, at each point of the clock."""
    background, products = network_and_terms(problem)
    n, depth = problem.n_features, _depth(products)
    memory = 2**26 + products.n_terms * (4 * n + 200) + 32 * min(n_rows, TERM_ROW_BLOCK) * n * products.n_outputs
    if not _is_large(background, products):
        return Cost({"small forest": 1}, memory)
    n_groups, share, _ = measure_groups(background, products)
    closure = share * n
    told_apart = patterns(n_rows) if closure < 12 else n_rows
    operations = {
        "loading of compiled code": 1,
        "forest term": products.n_terms,
        "forest group x feature": n_groups * n,
        "forest operation": products.n_terms * told_apart * closure * min(closure, depth + 1),
    }
    return Cost(operations, memory)


@dataclass(frozen=True, eq=False)
class ForestAttributor:
    """The algorithm once for each graph, with the weight of that graph; ``base`` (k,) is the expected output."""

    prepared: tuple[tuple[PreparedForest, float], ...]
    base: np.ndarray

    rowwise = True  # a row has the same bits whatever rows come with it
    compiled = True

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        if len(self.prepared) == 1:
            return Attribution(self.prepared[0][0].attributions(rows, report=report), self.base)
        phi: np.ndarray | float = 0.0
        for k, (each, share) in enumerate(self.prepared):
            of_graph = part_of(report, k / len(self.prepared), (k + 1) / len(self.prepared))
            phi = phi + share * each.attributions(rows, report=of_graph)
        return Attribution(np.asarray(phi), self.base)


def _obstacle(problem: Problem, settings: Settings) -> str | None:
    found = terms_obstacle(problem) or groups_obstacle(problem)
    if found is not None:
        return found
    if problem.order is None:
        return "explicit orders are not a forest"
    background, _ = network_and_terms(problem)
    for k, (order, _) in enumerate(weighted_orders(problem.order)):
        found = forest_obstacle(background.network, _nodes(background), order.parents)
        if found is not None:
            return found if isinstance(problem.order, CausalOrder) else f"graph {k}: {found}"
    return ancestral_obstacle(problem)


def _cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
    one, count = _cost_of_one(problem, n_rows), len(weighted_orders(problem.order))
    return replace(one.times(count), memory=count * one.memory)


def _prepare(problem: Problem, settings: Settings) -> Attributor:
    background, products = network_and_terms(problem)
    prepared = tuple(
        (prepare_forest(background.network, _nodes(background), products, order_parents=order.parents), share)
        for order, share in weighted_orders(problem.order)
    )
    fast = ForestAttributor(prepared, expected_output(background, products))
    return relaxing(background, fast, CoalitionByCoalition(problem, settings))


FOREST = Backend("forest", False, None, _obstacle, _cost, _prepare, TERM_ROW_BLOCK)
