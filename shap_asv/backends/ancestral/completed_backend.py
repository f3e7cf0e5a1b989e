"""The rows of the table: closures of terms for coalitions that may lack causes of their members, and their cost."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from shap_asv.backends.ancestral.completed import (
    LARGEST_NETWORK,
    STATE_LIMIT,
    complete,
    count_states,
    find_closed_sets,
    flatten_tables,
)
from shap_asv.backends.ancestral.completed_values import CompletedValues
from shap_asv.backends.ancestral.pieces.demanded import TERMS_AT_ONCE, DemandedSums, lay_out_pieces
from shap_asv.backends.ancestral.pieces.mixed_values import (
    FEW_TERMS,
    MIXTURE_LIMIT,
    MixedValues,
    missing_anywhere,
    only_indicators,
    without_gaps,
)
from shap_asv.backends.ancestral.pieces.tables import PieceBuilder, PieceSums
from shap_asv.backends.coalitionwise import ROW_BLOCK, CoalitionwiseAttributor
from shap_asv.backends.conditioning import is_ancestral
from shap_asv.backends.contract import Attribution, Attributor, Backend, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.relaxed import relaxing
from shap_asv.backends.termwise import measure_groups, terms_obstacle
from shap_asv.backends.weight_columns import Columns
from shap_asv.backends.workload import Sweep, expected_output, groups_obstacle, network_and_terms, patterns
from shap_asv.backgrounds.contract import CONDITIONED_TERMS, Terms
from shap_asv.costs import Cost
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks
from shap_asv.values.expected_terms import ExactProducts

#: Numbers of nu that are held at one time.
NU_LIMIT = 2**24
# Most that tables on demand take, in bytes.
_DEMANDED = 2**29


@dataclass(frozen=True, eq=False)
class CompletedAttributor:
    """``phi = nu @ W`` with nu by closures; ``general`` has what they leave: large terms, coalitions that lack much.

    ``fits`` (m,) says which coalitions ``values`` knows, ``left`` (l,) which terms it does not.
    """

    background: Terms
    products: SumOfProducts
    columns: Columns
    values: CompletedValues | MixedValues
    fits: np.ndarray
    left: np.ndarray
    _known_base: list[np.ndarray] = field(default_factory=list, init=False, repr=False)

    @property
    def rowwise(self) -> bool:
        return not len(self.left) and bool(self.fits.all())

    @property
    def compiled(self) -> bool:
        return self.rowwise

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        n_outputs = self.products.n_outputs
        matrix = self.columns.matrix
        contracted = np.empty((len(rows), matrix.shape[1], n_outputs))
        copies = getattr(self.values, "copies", 1)
        step = max(1, NU_LIMIT // (len(self.columns.coalitions) * n_outputs * copies))
        for block in blocks(len(rows), step):
            within = part_of(report, block.start / len(rows), block.stop / len(rows))
            nu = self._nu(rows[block], within).reshape(len(self.columns.coalitions), -1)
            found = np.asarray(matrix.T @ nu).reshape(-1, block.stop - block.start, n_outputs)
            contracted[block] = found.transpose(1, 0, 2)
        phi, error = self.columns.combine(contracted)
        return Attribution(phi, self._base, error)

    @property
    def _base(self) -> np.ndarray:
        """The value of the empty coalition (k,), the same for all rows and calls."""
        if not self._known_base:
            self._known_base.append(expected_output(self.background, self.products))
        return self._known_base[0]

    @cached_property
    def _nothing(self) -> np.ndarray:
        """The place of the empty coalition (1,), or none (0,): where closures leave it to others, or nobody asks."""
        return np.flatnonzero(~self.columns.coalitions.any(axis=1))[: int(self.rowwise)]

    def _nu(self, rows: np.ndarray, report: Report) -> np.ndarray:
        """Codes (r, n) -> nu (m, r, k)."""
        coalitions = self.columns.coalitions
        nu = np.empty((len(coalitions), len(rows), self.products.n_outputs))
        known, possible = self.values.values(rows, report)
        if self.fits.all():
            nu = known
            nu += self.products.offset
            if len(self._nothing) and not self._known_base:  # elimination would take as long as all the rest
                self._known_base.append(nu[self._nothing[0], 0].copy())
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
    values, left = _build_values(background, products, columns.coalitions[fits])
    fast = CompletedAttributor(background, products, columns, values, fits, left)
    return relaxing(background, fast, CoalitionwiseAttributor(ExactProducts(background, products), columns))


def _build_values(
    background: Terms, products: SumOfProducts, coalitions: np.ndarray
) -> tuple[CompletedValues | MixedValues, np.ndarray]:
    """The values of coalitions, bool (m, n), and the terms that they leave out (l,)."""
    network = background.network
    lacking, factors = complete(network, background.nodes, coalitions), flatten_tables(network)
    latent = missing_anywhere(lacking, network.n_nodes)
    # a feature that some coalitions lack is known in others: it has no state of its own
    hidden = not np.isin(latent, background.nodes).any()
    if hidden and np.prod(factors.cards[latent], dtype=float) <= MIXTURE_LIMIT and only_indicators(products):
        whole, of_whole = without_gaps(lacking)
        if len(latent):
            roots, margins, left = find_closed_sets(background, products, whole, FEW_TERMS)
            pieces = PieceBuilder(background, products, latent.tolist()).build(roots)
            if pieces is not None:
                known = _all_but(products.n_terms, left)
                posteriors = CompletedValues(products, known, background.nodes, lacking, factors, (), margins)
                sums = PieceSums(products, background.nodes, factors.cards, pieces)
                return MixedValues(posteriors, sums, of_whole, latent), left
        demanded = lay_out_pieces(background, products, whole, FEW_TERMS)
        if demanded is not None:
            everything = np.ones(products.n_terms, dtype=bool)
            margins = find_closed_sets(background, products.only(np.zeros(0, dtype=np.intp)), lacking)[1]
            posteriors = CompletedValues(products, everything, background.nodes, lacking, factors, (), margins)
            in_demand = DemandedSums(products, background.nodes, factors, *demanded)
            return MixedValues(posteriors, in_demand, of_whole, latent), np.zeros(0, dtype=np.intp)
    roots, margins, left = find_closed_sets(background, products, lacking)
    known = _all_but(products.n_terms, left)
    return CompletedValues(products, known, background.nodes, lacking, factors, roots, margins), left


def _count_latent_states(missing: np.ndarray, background: Terms) -> float:
    """States of the nodes that are missing somewhere, bool (nodes,); infinitely many where a feature is among them."""
    if missing[background.nodes].any():
        return np.inf
    return float(np.prod(np.array(background.network.cardinalities)[missing], dtype=float))


def _all_but(n_terms: int, left: np.ndarray) -> np.ndarray:
    known = np.ones(n_terms, dtype=bool)
    known[left] = False
    return known


@lru_cache(maxsize=4)
def _missing_states(problem: Problem) -> float:
    """States of all nodes that some coalition may lack while it holds one of their effects."""
    if is_ancestral(problem):
        return 1.0
    background, _ = network_and_terms(problem)
    network, nodes = background.network, background.nodes
    above = background.inference.ancestors[:, nodes]  # of each feature
    lacking = above.any(axis=1)
    if problem.order is not None and problem.players is None:
        first = problem.order.ancestor_matrix
        lacking[nodes] = (above[nodes] & ~first).any(axis=1)
    return float(np.prod(np.array(network.cardinalities, dtype=float)[lacking]))


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

    def cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
        background, products = network_and_terms(problem)
        coalitions = sweep.count(problem, settings)
        n_groups, _, shares = measure_groups(background, products)
        copies = min(_missing_states(problem), float(STATE_LIMIT)) ** 0.5
        told_apart = patterns(n_rows) * copies
        ideals = float((float(coalitions) ** shares).sum())
        size = products.n_terms / max(1, n_groups)
        width, blocks_per_group = min(size, TERMS_AT_ONCE), 1.0 + size / (2 * TERMS_AT_ONCE)
        rows = ideals * blocks_per_group * told_apart**0.4  # patterns share most of the rows of tables
        operations = {
            "loading of compiled code": 1,
            "closure": n_groups,
            "closure ideal": ideals,
            "closure row": rows,
            "closure row x term": rows * width,
            "closure ideal x row x term": ideals * told_apart * size,
            "coalition x row": coalitions * n_rows * copies,
        }
        at_once = min(n_rows, max(1.0, NU_LIMIT / (max(1, coalitions) * problem.n_outputs * copies)))
        held = 2**27 + 80 * ideals + min(_DEMANDED, rows * (8 * width + 120))
        held += 3 * 8 * coalitions * at_once * problem.n_outputs * copies
        return Cost(operations, int(held)) + sweep.cost(problem, settings)

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        return attribute_columns(problem, sweep.columns(problem, settings))

    return Backend(
        f"{sweep.name} x closures",
        sweep.sampled,
        None,
        obstacle,
        cost,
        prepare,
        ROW_BLOCK,
        over=lambda problem, settings, columns: attribute_columns(problem, columns),
        by_coalitions=True,
    )
