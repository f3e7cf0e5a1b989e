"""The row of the table: closures of terms on ancestral sets, and what it would cost."""

from shap_asv.backends.ancestral.closures import (
    PATTERN_BLOCK,
    AncestralAttributor,
    build_closures,
    closed_sets,
    estimate_entries,
)
from shap_asv.backends.conditioning import ancestral_obstacle
from shap_asv.backends.contract import Attributor, Backend, Problem, Settings
from shap_asv.backends.polynomial import CoalitionByCoalition
from shap_asv.backends.relaxed import relaxing
from shap_asv.backends.termwise import (
    TERM_ROW_BLOCK,
    TermwiseAttributor,
    group_terms,
    term_cost,
    terms_obstacle,
)
from shap_asv.backends.workload import (
    count_ideals,
    groups_obstacle,
    ideal_columns,
    ideals_obstacle,
    network_and_terms,
    patterns,
)
from shap_asv.costs import Cost
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture


def _obstacle(problem: Problem, settings: Settings) -> str | None:
    obstacle = terms_obstacle(problem) or groups_obstacle(problem) or ideals_obstacle(problem, settings)
    if obstacle is not None:
        return obstacle
    if problem.order is None:
        return "explicit orders may pass coalitions that are not ideals"
    if isinstance(problem.order, GraphMixture):
        return "a mixture of graphs has ideals that do not grow out of one another member by member in one sequence"
    return ancestral_obstacle(problem)


def _cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
    background, products = network_and_terms(problem)
    coalitions = count_ideals(problem, settings) or 0
    assert problem.order is not None
    n_sets = len(closed_sets(background, problem.order, products)[0])
    entries, ideals, size, share_left = estimate_entries(background, problem.order, products, coalitions)
    here = round((1 - share_left) * products.n_terms)
    fillings = -(-n_rows // PATTERN_BLOCK)
    operations = {
        "loading of compiled code": 1,
        "closure": n_sets,
        "closure ideal": here * ideals,
        "table cell": 5 * here * fillings * entries,
        "closure ideal x row x term": 10 * here * patterns(n_rows) * min(ideals, 64),
    }
    memory = coalitions * (problem.n_features * 3 + 300) + int(n_sets * ideals * (8 * size + 200)) + 2**27
    return Cost(operations, memory, coalitions=coalitions) + term_cost(problem, coalitions, n_rows).times(share_left)


def _prepare(problem: Problem, settings: Settings) -> Attributor:
    columns = ideal_columns(problem, settings)
    background, products = network_and_terms(problem)
    assert isinstance(problem.order, CausalOrder)
    closures, left = build_closures(background, problem.order, products, columns)
    others = products.only(left)
    rest = TermwiseAttributor(background, others, columns, group_terms(background, others, columns))
    fast = AncestralAttributor(products, closures, problem.n_features, rest)
    return relaxing(background, fast, CoalitionByCoalition(problem, settings))


ANCESTRAL = Backend("ancestral", False, None, _obstacle, _cost, _prepare, TERM_ROW_BLOCK)
