"""The rows of the table: closures of terms for coalitions that may lack causes of their members, and their cost."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from shap_asv.backends.ancestral.closures import ENTRY_LIMIT, ClosureSizes, Nodes, random_prefixes, sample_closures
from shap_asv.backends.ancestral.completed import (
    FEW_TERMS,
    LARGEST_NETWORK,
    STATE_LIMIT,
    bits_in,
    complete,
    count_states,
    find_closed_sets,
    flatten_tables,
    gather_few,
    masks_of,
    with_causes,
)
from shap_asv.backends.ancestral.completed_values import CompletedValues
from shap_asv.backends.coalitionwise import ROW_BLOCK, CoalitionwiseAttributor
from shap_asv.backends.conditioning import is_ancestral
from shap_asv.backends.contract import Attribution, Attributor, Backend, Estimate, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.relaxed import relaxing
from shap_asv.backends.termwise import terms_obstacle
from shap_asv.backends.weight_columns import Columns
from shap_asv.backends.workload import Sweep, expected_output, groups_obstacle, network_and_terms
from shap_asv.backgrounds.contract import CONDITIONED_TERMS, Terms
from shap_asv.models.products import SumOfProducts
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.values.contract import Workload, blocks
from shap_asv.values.expected_terms import ExactProducts, cost_of_products

KERNELS = (
    "shap_asv.backends.ancestral.completion_kernel:find_groups",
    "shap_asv.backends.ancestral.completion_kernel:classify",
    "shap_asv.backends.ancestral.completion_kernel:weigh_groups",
    "shap_asv.backends.ancestral.completion_kernel:fill_margins",
    "shap_asv.backends.ancestral.value_kernel:lay_out_states",
    "shap_asv.backends.ancestral.value_kernel:add_values",
    "shap_asv.backends.ancestral.value_kernel:add_classes",
)
#: Numbers of nu that are held at one time.
NU_LIMIT = 2**24
# Measured on child with 100 graphs: a term, a row and a class of coalitions; laying out one closure.
_SECONDS_PER_CLASS = 6e-10
_SECONDS_PER_STATE = 6e-10
_SECONDS_PER_CLOSURE = 3e-3
# Filling the tables of a term, and reading them from where they have been put; what a call takes beside its work.
_SECONDS_PER_ENTRY = 5e-9
_LOADING = 0.15


@dataclass(frozen=True, eq=False)
class CompletedAttributor:
    """``phi = nu @ W`` with nu by closures; ``general`` has what they leave: large terms, coalitions that lack much.

    ``fits`` (m,) says which coalitions ``values`` knows, ``left`` (l,) which terms it does not.
    """

    background: Terms
    products: SumOfProducts
    columns: Columns
    values: CompletedValues
    fits: np.ndarray
    left: np.ndarray

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        n_outputs = self.products.n_outputs
        matrix = self.columns.matrix
        contracted = np.empty((len(rows), matrix.shape[1], n_outputs))
        step = max(1, NU_LIMIT // (len(self.columns.coalitions) * n_outputs))
        for block in blocks(len(rows), step):
            within = part_of(report, block.start / len(rows), block.stop / len(rows))
            nu = self._nu(rows[block], within).reshape(len(self.columns.coalitions), -1)
            found = np.asarray(matrix.T @ nu).reshape(-1, block.stop - block.start, n_outputs)
            contracted[block] = found.transpose(1, 0, 2)
        phi, error = self.columns.combine(contracted)
        return Attribution(phi, expected_output(self.background, self.products), error)

    def _nu(self, rows: np.ndarray, report: Report) -> np.ndarray:
        """Codes (r, n) -> nu (m, r, k)."""
        coalitions = self.columns.coalitions
        nu = np.empty((len(coalitions), len(rows), self.products.n_outputs))
        known, possible = self.values.values(rows, report)
        if self.fits.all():
            nu = known
            nu += self.products.offset
        else:
            nu[self.fits] = known + self.products.offset
            nu[~self.fits] = self._in_general(self.products, coalitions[~self.fits], rows)
        if len(self.left):
            others = self.products.only(self.left)
            nu[self.fits] += self._in_general(others, coalitions[self.fits], rows) - self.products.offset
        if not possible.all():  # the background knows what to say about such a row
            nu[:, ~possible] = self._in_general(self.products, coalitions, rows[~possible])
        return nu

    def _in_general(self, products: SumOfProducts, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return ExactProducts(self.background, products).values(coalitions, rows).transpose(1, 0, 2)


def attribute_columns(problem: Problem, columns: Columns) -> Attributor:
    """An attributor for any weights over any coalitions."""
    background, products = network_and_terms(problem)
    fits = count_states(background.network, columns.coalitions, background.nodes) <= STATE_LIMIT
    coalitions = complete(background.network, background.nodes, columns.coalitions[fits])
    roots, margins, left = find_closed_sets(background, products, coalitions)
    known = np.ones(products.n_terms, dtype=bool)
    known[left] = False
    values = CompletedValues(
        products, known, background.nodes, coalitions, flatten_tables(background.network), roots, margins
    )
    fast = CompletedAttributor(background, products, columns, values, fits, left)
    return relaxing(background, fast, CoalitionwiseAttributor(ExactProducts(background, products), columns))


class _Sample(NamedTuple):
    """What a plan needs: sets of terms, sizes of their closures, states that a coalition lacks, and how many lack none.

    ``complete`` is the share of the coalitions that lack nothing.
    """

    n_sets: int
    sizes: ClosureSizes
    states: float
    complete: float


@lru_cache(maxsize=4)
def _measure(
    background: Terms, order: CausalOrder | GraphMixture | None, products: SumOfProducts, coalitions: int
) -> _Sample:
    """From the prefixes of a few random orders; orders that nobody knows are taken to be any."""
    network = background.network
    looks = np.zeros((products.n_terms, network.n_nodes), dtype=bool)
    looks[:, background.nodes] = products.terms != 0
    if order is None:
        order = CausalOrder.from_edges([], features=background.features)
    prefixes = random_prefixes(order, np.random.default_rng(0))
    held = np.zeros((len(prefixes), network.n_nodes), dtype=bool)
    held[:, background.nodes] = prefixes
    ideals = with_causes(network, held)
    masks, member = gather_few(masks_of(with_causes(network, looks)), FEW_TERMS)
    sets = bits_in(masks, np.arange(network.n_nodes))
    feature_of = np.full(network.n_nodes, -1)
    feature_of[background.nodes] = np.arange(len(background.nodes))
    nodes = Nodes(network.parents, network.cardinalities, feature_of.tolist())
    states = np.minimum(count_states(network, prefixes, background.nodes), STATE_LIMIT)
    return _Sample(
        len(masks),
        sample_closures(nodes, products, ideals, (sets, member), (order, coalitions)),
        float(states.mean()),
        float((states < 1.5).mean()),
    )


def completed_backend(sweep: Sweep) -> Backend:
    """All ideals, or the prefixes of sampled orders, completed by the causes that they lack."""

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        found = CONDITIONED_TERMS.obstacle(problem.background) or terms_obstacle(problem)
        found = found or groups_obstacle(problem) or sweep.obstacle(problem, settings)
        if found is not None:
            return found
        n_nodes = network_and_terms(problem)[0].network.n_nodes
        if n_nodes > LARGEST_NETWORK:
            return f"the network has {n_nodes} nodes, and sets of them are kept as {LARGEST_NETWORK} bits"
        return None

    def estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
        background, products = network_and_terms(problem)
        coalitions = sweep.count(problem, settings)
        orders, drawing, drawn = sweep.drawing(problem, settings)
        n_sets, sizes, states, complete = _measure(background, problem.order, products, coalitions)
        left = round(sizes.left * products.n_terms)
        here = products.n_terms - left
        classes = min(float(coalitions), sizes.ideals / max(complete, 1e-3))
        at_once = min(n_rows, ROW_BLOCK, max(1, NU_LIMIT // (max(1, coalitions) * problem.n_outputs)))
        fillings = -(-n_rows // at_once)
        work = here * n_rows * classes
        seconds = _LOADING + n_sets * _SECONDS_PER_CLOSURE
        seconds += here * (5e-5 + fillings * sizes.entries * _SECONDS_PER_ENTRY)
        per_class = _SECONDS_PER_CLASS * (1 + problem.n_outputs) / 2 + states * _SECONDS_PER_STATE
        seconds += work * per_class + coalitions * n_rows * 2e-7
        memory = coalitions * (problem.n_features * 3 + 400) + int(n_sets * classes * 150) + 2**27
        memory += 3 * 8 * coalitions * at_once * problem.n_outputs + drawn
        memory += 8 * ENTRY_LIMIT // 2
        if left:  # these go to the network coalition by coalition
            general = Workload(n_rows, coalitions, problem.n_features, ancestral=is_ancestral(problem))
            others = products.only(np.arange(left))
            cost = cost_of_products(background, others, general)
            held = cost_of_products(background, others, replace(general, n_rows=at_once))
            seconds, memory = seconds + cost.seconds, memory + held.memory
        return Estimate(coalitions, orders, 0, int(work), seconds + drawing, memory)

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        return attribute_columns(problem, sweep.columns(problem, settings))

    def over(problem: Problem, settings: Settings, columns: Columns) -> Attributor:
        return attribute_columns(problem, columns)

    return Backend(
        f"{sweep.name} x closures",
        not sweep.sampled,
        sweep.sampled,
        None,
        obstacle,
        estimate,
        prepare,
        ROW_BLOCK,
        CONDITIONED_TERMS,
        kernels=lambda problem, settings, estimate: KERNELS,
        over=over,
        by_coalitions=True,
    )
