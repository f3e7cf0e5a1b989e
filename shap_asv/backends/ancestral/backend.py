"""The row of the table: closures of terms on ancestral sets, and what it would cost."""

from shap_asv.backends.ancestral.closures import (
    PATTERN_BLOCK,
    AncestralAttributor,
    build_closures,
    closed_sets,
    estimate_entries,
)
from shap_asv.backends.conditioning import ancestral_obstacle
from shap_asv.backends.contract import Attributor, Backend, Estimate, Problem, Settings
from shap_asv.backends.polynomial import CoalitionByCoalition
from shap_asv.backends.relaxed import relaxing
from shap_asv.backends.termwise import (
    TERM_ROW_BLOCK,
    TermwiseAttributor,
    group_terms,
    terms_obstacle,
    work_on_terms,
)
from shap_asv.backends.workload import (
    count_ideals,
    groups_obstacle,
    ideal_columns,
    ideals_obstacle,
    network_and_terms,
    patterns,
)
from shap_asv.backgrounds.discrete.inference.pricing import BYTES_PER_ENTRY
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture

# Measured on child and insurance: an entry of a table; what a call takes beside its work, with the kernels loaded.
_SECONDS_PER_ENTRY = 1e-8
_LOADING = 0.1


def _obstacle(problem: Problem, settings: Settings) -> str | None:
    obstacle = terms_obstacle(problem) or groups_obstacle(problem) or ideals_obstacle(problem, settings)
    if obstacle is not None:
        return obstacle
    if problem.order is None:
        return "explicit orders may pass coalitions that are not ideals"
    if isinstance(problem.order, GraphMixture):
        return "a mixture of graphs has ideals that do not grow out of one another member by member in one sequence"
    return ancestral_obstacle(problem)


def _estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
    background, products = network_and_terms(problem)
    coalitions = count_ideals(problem, settings) or 0
    assert problem.order is not None
    n_sets = len(closed_sets(background, problem.order, products)[0])
    entries, ideals, size, share_left = estimate_entries(background, problem.order, products, coalitions)
    left = round(share_left * products.n_terms)
    here = products.n_terms - left
    # a few dozen ideals stay alive for a row; tables are filled once for every block of rows
    visited = int(here * patterns(n_rows) * min(ideals, 64))
    fillings = -(-n_rows // PATTERN_BLOCK)
    layouts = n_sets * (5e-4 + coalitions * 1e-7)
    seconds = _LOADING + layouts + here * (5e-5 + fillings * entries * _SECONDS_PER_ENTRY) + visited * 2e-8
    memory = coalitions * (problem.n_features * 3 + 300) + int(n_sets * ideals * (8 * size + 200)) + 2**27
    if left:  # what goes to the terms' own backend
        others = work_on_terms(problem, False, coalitions, n_rows)
        seconds += share_left * others.seconds
        memory += int(share_left * others.held * (7 * problem.n_features + 40) + BYTES_PER_ENTRY * others.largest)
    return Estimate(coalitions, 0, 0, visited, seconds, memory)


def _at_least(problem: Problem, settings: Settings) -> float:
    return _LOADING


def _prepare(problem: Problem, settings: Settings) -> Attributor:
    columns = ideal_columns(problem, settings)
    background, products = network_and_terms(problem)
    assert isinstance(problem.order, CausalOrder)
    closures, left = build_closures(background, problem.order, products, columns)
    others = products.only(left)
    rest = TermwiseAttributor(background, others, columns, group_terms(background, others, columns))
    fast = AncestralAttributor(products, closures, problem.n_features, rest)
    return relaxing(background, fast, CoalitionByCoalition(problem, settings))


def _kernels(problem: Problem, settings: Settings, estimate: Estimate) -> tuple[str, ...]:
    room = "shap_asv.backends.ancestral.kernel"
    return (f"{room}:link_ideals", f"{room}:explain_closure")


ANCESTRAL = Backend(
    "ancestral", False, None, _obstacle, _estimate, _prepare, TERM_ROW_BLOCK, kernels=_kernels, at_least=_at_least
)
