"""The rows of the table: closures of terms for coalitions that may lack causes of their members, and their cost."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from shap_asv.backends.ancestral.closures import random_prefixes
from shap_asv.backends.ancestral.completed import (
    LARGEST_NETWORK,
    STATE_LIMIT,
    complete,
    count_states,
    find_closed_sets,
    flatten_tables,
    masks_of,
    with_causes,
)
from shap_asv.backends.ancestral.completed_values import CompletedValues
from shap_asv.backends.ancestral.pieces.demanded import TERMS_AT_ONCE, DemandedSums, field_widths, lay_out_pieces
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
from shap_asv.backends.contract import Attribution, Attributor, Backend, Estimate, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.relaxed import relaxing
from shap_asv.backends.termwise import measure_groups, terms_obstacle
from shap_asv.backends.weight_columns import Columns
from shap_asv.backends.workload import Sweep, expected_output, groups_obstacle, network_and_terms, patterns
from shap_asv.backgrounds.contract import CONDITIONED_TERMS, Terms
from shap_asv.models.products import SumOfProducts
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.values.contract import blocks
from shap_asv.values.expected_terms import ExactProducts

KERNELS = (
    "shap_asv.backends.ancestral.completion_kernel:find_groups",
    "shap_asv.backends.ancestral.completion_kernel:classify",
    "shap_asv.backends.ancestral.value_kernel:add_classes",
)
# ... these where causes are missing
_POSTERIORS = (
    "shap_asv.backends.ancestral.completion_kernel:weigh_groups",
    "shap_asv.backends.ancestral.completion_kernel:fill_margins",
)
# ... and one of these: sums over pieces with all their tables, and on demand; values without pieces
_PIECES = "shap_asv.backends.ancestral.pieces"
_OF_TABLES = (f"{_PIECES}.table_kernel:add_pieces",)
_ON_DEMAND = (
    *(f"{_PIECES}.part_kernel:{name}" for name in ("take_apart", "reach")),
    *(f"{_PIECES}.demand_kernel:{name}" for name in ("find_alike", "ask_at_ideals", "ask_for_parts")),
    *(f"{_PIECES}.sum_kernel:{name}" for name in ("fill_wanted", "add_pieces", "spread")),
)
_OF_VALUES = tuple(f"shap_asv.backends.ancestral.value_kernel:{name}" for name in ("lay_out_states", "add_values"))
#: Numbers of nu that are held at one time.
NU_LIMIT = 2**24
# Measured on child with 100 graphs: a term, a row and a class of coalitions; laying out one closure.
_SECONDS_PER_CLASS = 6e-10
_SECONDS_PER_STATE = 6e-10
_SECONDS_PER_CLOSURE = 3e-3
# Filling the tables of a term, and reading them from where they have been put.
_SECONDS_PER_ENTRY = 4e-9
# Measured on child without Disease: laying out a term over pieces, passing a dead one, adding one in one state.
_SECONDS_TO_SHARE = 1e-4
_SECONDS_PER_DEAD = 2e-9
_SECONDS_PER_COPY = 0.9e-9
# Measured on insurance and alarm, where tables are filled on demand: laying out an ideal of a closure; a row of tables,
# and a term in it; a term at an ideal of a row. Rows per ideal, as its entries let expect them, and the most of them.
_SECONDS_PER_IDEAL = 1.5e-6
_SECONDS_PER_ROW = 1e-7
_SECONDS_PER_TERM_IN_ROW = 2e-9
_SECONDS_PER_TERM_AT_IDEAL = 2e-9
_ROWS_PER_ENTRY, _MOST_ROWS = 1 / 250, 10.0
# What no call is below.
_LEAST = 0.1
# Entries per ideal up to which tables of pieces are expected to be small.
_SMALL_TABLES = 500.0
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


@dataclass(frozen=True)
class _Measured:
    """Closures; members of one; states of what a coalition lacks; share of coalitions that lack nothing; entries of the
    tables of a term, per ideal of its closure (means over the terms); states of all that any coalition lacks; whether
    a state of all nodes that terms depend on can be told by one integer.
    """

    n_sets: int
    size: float
    states: float
    complete: float
    entries: float
    latent_states: float
    packs: bool

    @property
    def mixes(self) -> bool:
        """Whether values are expected to be mixtures over the states of latent nodes."""
        return self.latent_states <= MIXTURE_LIMIT and (self.packs or self.has_tables)

    @property
    def has_tables(self) -> bool:
        """Whether tables of pieces are expected to be small enough to be filled once."""
        return self.latent_states > 1.0 and self.entries <= _SMALL_TABLES


@lru_cache(maxsize=2)
def _measure(background: Terms, order: CausalOrder | GraphMixture | None, products: SumOfProducts) -> _Measured:
    """From the prefixes of a few random orders; orders that nobody knows are taken to be any."""
    network = background.network
    looks = np.zeros((products.n_terms, network.n_nodes), dtype=bool)
    looks[:, background.nodes] = products.terms != 0
    closed = with_causes(network, looks)
    if order is None:
        order = CausalOrder.from_edges([], features=background.features)
    prefixes = random_prefixes(order, np.random.default_rng(0))
    states = count_states(network, prefixes, background.nodes)
    held = np.zeros((len(prefixes), network.n_nodes), dtype=bool)
    held[:, background.nodes] = prefixes
    known = with_causes(network, held)
    children = np.zeros((network.n_nodes, network.n_nodes), dtype=np.float32)
    for v, parents in enumerate(network.parents):
        children[list(parents), v] = 1.0
    sizes = np.log(np.array(network.cardinalities, dtype=float))
    entries = [1.0]
    for term in np.linspace(0, products.n_terms - 1, min(24, products.n_terms)).astype(int):
        inside = closed[term]
        active = known & inside & ((~known & inside).astype(np.float32) @ children.T > 0)
        entries.append(float(np.exp(active @ sizes).mean()))
    return _Measured(
        len(np.unique(masks_of(closed))),
        float(closed.sum(axis=1).mean()) if len(closed) else 0.0,
        float(np.minimum(states, STATE_LIMIT).mean()),
        float((states < 1.5).mean()),
        float(np.mean(entries)),
        _count_latent_states(np.asarray((known & ~held).any(axis=0)), background),
        field_widths(network, np.asarray(closed.any(axis=0))) is not None,
    )


def _price_demand(
    background: Terms, products: SumOfProducts, met: _Measured, coalitions: int, n_patterns: float
) -> tuple[float, int]:
    """Seconds and bytes of values by pieces on demand."""
    n_groups, _, shares = measure_groups(background, products)
    ideals = float((float(coalitions) ** shares).sum())
    size = products.n_terms / max(1, n_groups)
    width, blocks_per_group = min(size, TERMS_AT_ONCE), 1.0 + size / (2 * TERMS_AT_ONCE)
    # patterns share most of the rows in which they ask for pieces
    rows = min(_MOST_ROWS, met.entries * _ROWS_PER_ENTRY) * ideals * blocks_per_group * n_patterns**0.4
    seconds = _LEAST + ideals * _SECONDS_PER_IDEAL + rows * (_SECONDS_PER_ROW + width * _SECONDS_PER_TERM_IN_ROW)
    seconds += ideals * n_patterns * size * _SECONDS_PER_TERM_AT_IDEAL
    return seconds, int(80 * ideals) + min(_DEMANDED, int(rows * (8 * width + 120)))


def _kernels(problem: Problem, settings: Settings, estimate: Estimate) -> tuple[str, ...]:
    background, products = network_and_terms(problem)
    met = _measure(background, problem.order, products)
    if not (met.mixes and only_indicators(products)):
        return (*KERNELS, *_POSTERIORS, *_OF_VALUES)
    if met.has_tables:
        return (*KERNELS, *_POSTERIORS, _OF_VALUES[0], *_OF_TABLES)
    return (*KERNELS, *(_POSTERIORS if met.latent_states > 1.0 else ()), *_ON_DEMAND)


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
        met = _measure(background, problem.order, products)
        n_sets, states = met.n_sets, met.states
        ideals = min(float(coalitions), 2.0 ** (met.size / 2 + 2))
        classes = min(float(coalitions), ideals / max(met.complete, 1e-3))
        work = products.n_terms * n_rows * classes
        seconds = 0.5 + n_sets * _SECONDS_PER_CLOSURE
        seconds += products.n_terms * (5e-5 + ideals * met.entries * _SECONDS_PER_ENTRY)
        copies, demanded = 1, 0
        mixes = met.mixes and only_indicators(products)
        if mixes:
            copies, work = round(met.latent_states), products.n_terms * n_rows * ideals
            if met.has_tables:
                seconds = 1.0 + products.n_terms * _SECONDS_TO_SHARE
                seconds += work * (_SECONDS_PER_DEAD + copies * _SECONDS_PER_COPY)
            else:
                seconds, demanded = _price_demand(background, products, met, coalitions, patterns(n_rows) * copies)
        else:
            seconds += work * (_SECONDS_PER_CLASS + states * _SECONDS_PER_STATE)
        seconds += coalitions * n_rows * copies * 2e-7
        at_once = min(n_rows, max(1, NU_LIMIT // (max(1, coalitions) * problem.n_outputs * copies)))
        memory = coalitions * (problem.n_features * 3 + 400) + 2**27
        memory += demanded if mixes and not met.has_tables else int(n_sets * classes * 150)
        memory += 3 * 8 * coalitions * at_once * problem.n_outputs * copies + drawn
        return Estimate(coalitions, orders, 0, int(work), seconds + drawing, memory)

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        return attribute_columns(problem, sweep.columns(problem, settings))

    return Backend(
        f"{sweep.name} x closures",
        sweep.sampled,
        None,
        obstacle,
        estimate,
        prepare,
        ROW_BLOCK,
        CONDITIONED_TERMS,
        kernels=_kernels,
        over=lambda problem, settings, columns: attribute_columns(problem, columns),
        by_coalitions=True,
        at_least=lambda problem, settings: _LEAST,
    )
