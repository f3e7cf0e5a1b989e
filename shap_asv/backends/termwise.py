"""phi of a sum of products, term by term, without ever writing nu(S) down.

For a term that looks at the features F, ``E[prod g(X_F) | e_S]`` does not depend on all of S: given the rest, some
evidence is cut off from F (d-separation). Coalitions with the same *requisite* evidence have the same expectation, so
their rows of W may be added up first:

    phi = sum over terms t of c_t * sum over classes q of  E_t(q) * W_q,      W_q = sum over S in class q of W[S]

W_q depends on the graph and on F alone. For an ideal of the network the classes are cuts of the ancestral set of F, a
few dozen even where the lattice has millions of ideals; rows that agree on what the classes see share the result.

Evidence has to be worked through once for each group of terms with the same classes, however few terms there are, and
that costs as much as dozens of terms. So terms that see little join those that see a little more: a group is an
ancestral set with all terms inside of it that have no smaller set of their own, and F are the features of all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.coalitionwise import ROW_BLOCK
from shap_asv.backends.contract import Attribution, Attributor, Backend, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backends.weight_columns import Columns, added_up, contract
from shap_asv.backends.workload import Sweep, expected_output, network_and_terms
from shap_asv.backgrounds.contract import TERMS, Terms
from shap_asv.backgrounds.discrete.engine import TOLD_APART
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.grouping import number_rows
from shap_asv.costs import Cost
from shap_asv.models.predictor import PRODUCTS
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks
from shap_asv.values.expected_terms import query_cost

# Doubles held at one time: 2**22 are 32 MiB.
_DENSE_LIMIT = 2**22
#: Terms of an ancestral set that are not worth a group of their own: what a group takes by itself is as much.
FEW_TERMS = 60
#: Nodes of the largest set that is kept as the bits of a signed integer.
LARGEST_SET = 62
#: Distinct rows explained at a time. Terms see few features, so that more rows mean more rows alike.
TERM_ROW_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class TermGroup:
    """Terms that see about the same, with the classes of coalitions they can tell apart.

    ``classes`` bool (q, n) is the requisite evidence of each class, ``weights`` sparse (q, c) the summed rows of W,
    and ``seen`` the features that any class looks at.
    """

    terms: np.ndarray
    classes: np.ndarray
    weights: sp.csr_array
    seen: np.ndarray


@dataclass(frozen=True, eq=False)
class TermwiseAttributor:
    """``phi = sum over groups of (expectations of the group's classes) @ (summed weights)``."""

    background: Terms
    products: SumOfProducts
    columns: Columns
    groups: tuple[TermGroup, ...]

    rowwise = compiled = False

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        phi, error = self.columns.combine(self.contracted(rows, report))
        return Attribution(phi, self._base, error)

    def contracted(self, rows: np.ndarray, report: Report = keep_silent) -> np.ndarray:
        """``nu @ W`` (r, c, k) for the c columns of W, but for the offset and terms that look at nothing."""
        products = self.products
        contracted = np.zeros((len(rows), self.columns.matrix.shape[1], products.n_outputs))
        for number, group in enumerate(self.groups):
            patterns, back = np.unique(rows[:, group.seen], axis=0, return_inverse=True)
            full = np.full((len(patterns), rows.shape[1]), -1, dtype=rows.dtype)
            full[:, group.seen] = patterns
            contracted += self._group_values(group, full)[back.reshape(-1)]
            report((number + 1) / len(self.groups))
        return contracted

    @cached_property
    def _base(self) -> np.ndarray:
        """The value of the empty coalition (k,), the same for all rows and calls."""
        return expected_output(self.background, self.products)

    def _group_values(self, group: TermGroup, patterns: np.ndarray) -> np.ndarray:
        """Patterns (u, n) -> their share of ``nu @ W``, (u, c, k)."""
        products = self.products
        terms, coefficients = products.terms[group.terms], products.coefficients[group.terms]
        q, t = len(group.classes), len(terms)
        out = np.empty((len(patterns), group.weights.shape[1], products.n_outputs))
        for block in blocks(len(patterns), _DENSE_LIMIT // (q * t)):
            part = patterns[block]
            values = np.zeros((len(part) * q, products.n_outputs))
            pattern, of_class = np.nonzero(self._alive(terms, group.classes, part))
            if len(pattern):
                evidence = np.where(group.classes[of_class], part[pattern], self.background.free)
                sums = self.background.expected_sums(evidence, products.vectors, terms, coefficients)
                values[pattern * q + of_class] = sums
            out[block] = contract(values.reshape(len(part), q, -1), group.weights)
        return out

    def _alive(self, terms: np.ndarray, classes: np.ndarray, patterns: np.ndarray) -> np.ndarray:
        """bool (u, q): does any term survive the values that the class observes? Most do not, and need no query."""
        alive = np.zeros((len(patterns), len(classes)), dtype=bool)
        for term in terms:
            looked_at = np.flatnonzero(term)
            dead = np.stack([self.products.vectors[v][term[v], patterns[:, v]] == 0 for v in looked_at], axis=1)
            # members of the class whose value the term sends to zero, counted
            alive |= dead.astype(np.float32) @ classes[:, looked_at].T.astype(np.float32) == 0
        return alive


# --- which terms go together -----------------------------------------------------------------------------------------


def masks_of(sets: np.ndarray) -> np.ndarray:
    """Bool (m, nodes) -> int64 (m,), node v as bit v."""
    return sets.astype(np.int64) @ (np.int64(1) << np.arange(sets.shape[1], dtype=np.int64))


def with_causes(network: DiscreteNetwork, sets: np.ndarray) -> np.ndarray:
    """Sets of nodes, bool (m, nodes), with all that stands above them."""
    closed = sets.copy()
    for v in range(network.n_nodes - 1, -1, -1):  # causes come first in a network
        for p in network.parents[v]:
            closed[:, p] |= closed[:, v]
    return closed


def relevant_nodes(background: Terms, products: SumOfProducts) -> np.ndarray:
    """The nodes that any term looks at, and all above them: bool (nodes,)."""
    looks = np.zeros((1, background.network.n_nodes), dtype=bool)
    looks[0, background.nodes] = (products.terms != 0).any(axis=0)
    return np.asarray(with_causes(background.network, looks)[0])


def gather_few(closed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct sets among the closures of terms (t,), and the one of each term.

    Where a set has at most :data:`FEW_TERMS` terms, they go to the smallest set around it: a set costs more by itself
    than these terms do. O(sets^2) bit operations.
    """
    masks, member, counts = np.unique(closed, return_inverse=True, return_counts=True)
    member = member.reshape(-1)
    sizes = np.bitwise_count(masks)
    taken = np.arange(len(masks))
    parents = smallest_around(masks)
    for k in np.argsort(sizes, kind="stable").tolist():
        if parents[k] >= 0 and counts[k] <= FEW_TERMS:
            taken[k] = parents[k]
            counts[parents[k]] += counts[k]
    for k in np.argsort(-sizes.astype(int), kind="stable").tolist():
        taken[k] = taken[taken[k]]  # the larger set has found its own place already
    kept, of_set = np.unique(taken, return_inverse=True)
    return masks[kept], of_set.reshape(-1)[member]


def smallest_around(masks: np.ndarray) -> np.ndarray:
    """For each set the place of the smallest proper superset, -1 where there is none."""
    by_size = np.argsort(np.bitwise_count(masks), kind="stable")
    parents = np.full(len(masks), -1)
    for k, mask in enumerate(masks):
        larger = by_size[(masks[by_size] & mask == mask) & (masks[by_size] != mask)]
        if len(larger):
            parents[k] = larger[0]
    return parents


def gather_terms(background: Terms, products: SumOfProducts) -> np.ndarray:
    """Which group each term is in, numbered from 0, int (t,); -1 for a constant, which moves no feature."""
    looked_at = products.terms != 0
    network = background.network
    if network.n_nodes <= LARGEST_SET:
        looks = np.zeros((products.n_terms, network.n_nodes), dtype=bool)
        looks[:, background.nodes] = looked_at
        member = gather_few(masks_of(with_causes(network, looks)))[1]
    else:
        member = np.unique(looked_at, axis=0, return_inverse=True)[1].reshape(-1)
    member = np.where(looked_at.any(axis=1), member, -1)
    return np.unique(member, return_inverse=True)[1].reshape(-1) - int((member < 0).any())


@lru_cache(maxsize=2)
def measure_groups(background: Terms, products: SumOfProducts) -> np.ndarray:
    """For each group of terms the share of all features that stand at or above those of the group (g,).

    With that share of the features goes about the same share of the logarithm of the ideals.
    """
    member = gather_terms(background, products)
    network = background.network
    looks = np.zeros((int(member.max(initial=-1)) + 1, network.n_nodes), dtype=bool)
    term, feature = np.nonzero(products.terms)
    looks[member[term], background.nodes[feature]] = True
    sizes = with_causes(network, looks)[:, background.nodes].sum(axis=1)
    return np.minimum(1.0, (sizes + 1) / max(1, len(background.nodes)))


def group_terms(background: Terms, products: SumOfProducts, columns: Columns) -> tuple[TermGroup, ...]:
    """Group the terms by what they see, and find each group's classes of coalitions."""
    member = gather_terms(background, products)
    evidence = background.requisite(columns.coalitions)
    groups = []
    for index in range(member.max(initial=-1) + 1):
        terms = np.flatnonzero(member == index)
        features = (products.terms[terms] != 0).any(axis=0)
        needed = evidence.of(features)
        of_coalition, chosen = number_rows([(needed[:, v], 2) for v in range(needed.shape[1])], len(needed))
        classes = needed[chosen]
        weights = added_up(columns.matrix, of_coalition, len(classes))
        groups.append(TermGroup(terms, classes, weights, classes.any(axis=0)))
    return tuple(groups)


def termwise_attributor(background: Terms, products: SumOfProducts, columns: Columns) -> TermwiseAttributor:
    """An attributor for any weights over any coalitions."""
    return TermwiseAttributor(background, products, columns, group_terms(background, products, columns))


# --- the rows of the table of backends ------------------------------------------------------------------------------


def terms_obstacle(problem: Problem) -> str | None:
    """Why a problem cannot be treated term by term; None where it can."""
    obstacle = TERMS.obstacle(problem.background) or PRODUCTS.obstacle(problem.predictor)
    if obstacle is None and problem.link is not None:
        return "a link that is not the identity has to see every coalition's value as a whole"
    return obstacle


def term_cost(problem: Problem, coalitions: int, n_rows: int) -> Cost:
    """All terms over so many coalitions, group by group.

    An ideal falls into as many classes as the ancestral set of a group has ideals: with a share of the features goes
    about the same share of the logarithm of the ideals, and of the states that tell rows apart.
    """
    background, products = network_and_terms(problem)
    shares = measure_groups(background, products)
    if not len(shares):
        return Cost({})
    n_groups, share = len(shares), float(shares.mean())
    classes = float((float(coalitions) ** shares).mean())
    told_apart = float(min(n_rows, float(min(background.size, 1 << 60)) ** (TOLD_APART * share)))
    n_terms = products.n_terms / n_groups
    queries = query_cost(background, products, classes, told_apart, n_terms)
    pairs = classes * told_apart
    group = Cost(
        {
            "term group": 1,
            "coalition x term group": coalitions * max(1.0, problem.n_features / 36),
            "row x term group": n_rows,
            "class x row": pairs,
            "class x row x term": pairs * n_terms,
        }
    )
    memory = int(n_groups * classes * (7 * problem.n_features + 40)) + 2**27
    return (group + replace(queries, memory=0).times(share)).times(n_groups) + Cost({}, memory + queries.memory)


def term_backend(
    name: str,
    sweep: Sweep,
    obstacle: Callable[[Problem], str | None],
    cost: Callable[[Problem, int, int], Cost],
    attributor: Callable[[Terms, SumOfProducts, Columns], Attributor],
    row_block: int = ROW_BLOCK,
) -> Backend:
    """A row for all ideals, or the prefixes of sampled orders, over which terms are worked off.

    ``cost`` is asked with a number of coalitions and of rows, ``attributor`` is for any weights over any coalitions.
    """

    def over(problem: Problem, settings: Settings, columns: Columns) -> Attributor:
        background, products = network_and_terms(problem)
        return attributor(background, products, columns)

    return Backend(
        f"{sweep.name} x {name}",
        sweep.sampled,
        None,
        lambda problem, settings: obstacle(problem) or sweep.obstacle(problem, settings),
        lambda problem, settings, n_rows: (
            cost(problem, sweep.count(problem, settings), n_rows) + sweep.cost(problem, settings)
        ),
        lambda problem, settings: over(problem, settings, sweep.columns(problem, settings)),
        row_block,
        over=over,
        by_coalitions=True,
    )


def termwise_backend(sweep: Sweep) -> Backend:
    """All ideals, or the prefixes of sampled orders, term by term."""
    row_block = ROW_BLOCK if sweep.sampled else TERM_ROW_BLOCK
    return term_backend("terms", sweep, terms_obstacle, term_cost, termwise_attributor, row_block)
