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

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.ancestral.completed import LARGEST_NETWORK, gather_few, masks_of, with_causes
from shap_asv.backends.ancestral.pieces.mixed_values import only_indicators
from shap_asv.backends.coalitionwise import ROW_BLOCK, CoalitionwiseAttributor
from shap_asv.backends.contract import Attribution, Attributor, Backend, Estimate, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backends.relaxed import relaxing
from shap_asv.backends.weight_columns import Columns, added_up, contract
from shap_asv.backends.workload import Sweep, background_kernels, network_and_terms, sample_coalitions
from shap_asv.backgrounds.contract import TERMS, Terms
from shap_asv.backgrounds.discrete.inference.pricing import BYTES_PER_ENTRY, all_of
from shap_asv.backgrounds.grouping import number_rows
from shap_asv.models.contract import PRODUCTS
from shap_asv.models.products import SumOfProducts
from shap_asv.orders.topological.counting import ideals_up_to
from shap_asv.orders.uncertain.mixture import weighted_orders
from shap_asv.values.contract import blocks
from shap_asv.values.expected_terms import (
    FEW_STATES,
    SECONDS_PER_SMALL,
    ExactProducts,
    ask_about,
    holds_causes,
    seconds_to_plan,
)

# Doubles held at one time: 2**22 are 32 MiB.
_DENSE_LIMIT = 2**22
# Measured on child and alarm: bringing one coalition into a class of a group of terms; one query of a class, beside
# what the background takes for it; a term of the group at one query.
_SECONDS_PER_CLASSIFIED = 4e-7
_SECONDS_PER_QUERY = 5e-7
_SECONDS_PER_PAIR = 1.5e-9
# Asking a term of some patterns of rows which classes leave it alive, beside each pattern and class.
_SECONDS_PER_LOOK, _SECONDS_PER_CELL = 3e-5, 7e-10
# Groups that stand for all of them in a plan, terms of each, and ideals of one that are counted.
_SAMPLED_GROUPS, _SAMPLED_TERMS, _COUNTED = 6, 128, 20_000
#: Terms of an ancestral set that are not worth classes of their own: working evidence through costs as much as they do.
FEW_TERMS = 60
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

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        products = self.products
        contracted = np.zeros((len(rows), self.columns.matrix.shape[1], products.n_outputs))
        for number, group in enumerate(self.groups):
            patterns, back = np.unique(rows[:, group.seen], axis=0, return_inverse=True)
            full = np.full((len(patterns), rows.shape[1]), -1, dtype=rows.dtype)
            full[:, group.seen] = patterns
            contracted += self._group_values(group, full)[back.reshape(-1)]
            report((number + 1) / len(self.groups))
        phi, error = self.columns.combine(contracted)
        return Attribution(phi, self._base, error)

    @cached_property
    def _base(self) -> np.ndarray:
        """The value of the empty coalition (k,), the same for all rows and calls."""
        products = self.products
        nothing = np.full((1, len(self.background.features)), -1)
        expected = self.background.expectations(nothing, products.vectors, products.terms)[0]
        return np.asarray(products.offset + expected @ products.coefficients)

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
                ids, chosen = self._number_evidence(group, part, pattern, of_class)
                evidence = np.where(group.classes[of_class[chosen]], part[pattern[chosen]], -1)
                expected = self.background.expectations(evidence, products.vectors, terms)
                # terms are added up before classes are: there are fewer outputs than terms
                values[pattern * q + of_class] = (expected @ coefficients)[ids]
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

    def _number_evidence(
        self, group: TermGroup, patterns: np.ndarray, pattern: np.ndarray, of_class: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Number the distinct evidence among pairs of pattern and class: ids (pairs,) and one pair of each."""
        seen = np.flatnonzero(group.seen)
        cards = [self.background.cardinalities[v] + 1 for v in seen]
        if math.prod(cards) < 2**53:  # a digit per feature, zero where the class does not look: one exact float product
            radix = np.concatenate([[1.0], np.cumprod(cards[:-1], dtype=float)])
            keys = ((patterns[:, seen] + 1) * radix) @ group.classes[:, seen].T.astype(float)
            _, chosen, ids = np.unique(keys[pattern, of_class], return_index=True, return_inverse=True)
            return ids, chosen
        evidence = np.where(group.classes[of_class], patterns[pattern], -1)
        return number_rows([(evidence[:, v] + 1, self.background.cardinalities[v] + 1) for v in seen], len(evidence))


def gather_terms(background: Terms, products: SumOfProducts) -> np.ndarray:
    """Which group each term is in, numbered from 0, int (t,); -1 for a constant, which moves no feature."""
    looked_at = products.terms != 0
    network = background.network
    if network.n_nodes <= LARGEST_NETWORK:
        looks = np.zeros((products.n_terms, network.n_nodes), dtype=bool)
        looks[:, background.nodes] = looked_at
        member = gather_few(masks_of(with_causes(network, looks)), FEW_TERMS)[1]
    else:
        member = np.unique(looked_at, axis=0, return_inverse=True)[1].reshape(-1)
    member = np.where(looked_at.any(axis=1), member, -1)
    return np.unique(member, return_inverse=True)[1].reshape(-1) - int((member < 0).any())


@lru_cache(maxsize=2)
def measure_groups(background: Terms, products: SumOfProducts) -> tuple[int, float, np.ndarray]:
    """Groups of terms, the share of all features that stand at or above those of a group, mean over the terms, and that
    share for each group (g,).

    With that share of the features goes about the same share of the logarithm of the ideals.
    """
    member = gather_terms(background, products)
    n_groups = int(member.max(initial=-1)) + 1
    network = background.network
    looks = np.zeros((n_groups, network.n_nodes), dtype=bool)
    term, feature = np.nonzero(products.terms)
    looks[member[term], background.nodes[feature]] = True
    sizes = with_causes(network, looks)[:, background.nodes].sum(axis=1)
    counts = np.bincount(member[member >= 0], minlength=n_groups)
    mean = float(sizes @ counts) / max(1, int(counts.sum()))
    n_features = max(1, len(background.nodes))
    return n_groups, min(1.0, (mean + 1) / n_features), np.minimum(1.0, (sizes + 1) / n_features)


class _AskedGroup(NamedTuple):
    """A group of terms in a plan: classes of coalitions, at most, and the questions about them."""

    n_classes: float
    n_terms: int
    questions: Any


@lru_cache(maxsize=4)
def measure_questions(problem: Problem, sampled: bool) -> tuple[tuple[_AskedGroup, ...], float]:
    """What is asked about some of the groups of terms, and how many groups each stands for.

    Requisite evidence tells the maximal members of an ideal within the ancestral set of a group, so that coalitions
    which hold all causes fall into as many classes as that set has ideals. A class is asked for where it leaves a term
    alive.
    """
    background, products = network_and_terms(problem)
    member = gather_terms(background, products)
    n_groups = int(member.max(initial=-1)) + 1
    sample = sample_coalitions(problem, sampled)
    evidence = background.requisite(sample)
    passes = [np.log(np.maximum((vectors != 0).mean(axis=1), 1e-9)) for vectors in products.vectors]
    causal = holds_causes(background, sample)
    found = []
    by_size = np.argsort(measure_groups(background, products)[2], kind="stable")
    n_chosen = min(_SAMPLED_GROUPS, n_groups)
    for index in by_size[((np.arange(n_chosen) + 0.5) * n_groups / max(1, n_chosen)).astype(int)].tolist():
        terms = np.flatnonzero(member == index)
        needed = evidence.of((products.terms[terms] != 0).any(axis=0))
        some = terms[np.linspace(0, len(terms) - 1, min(_SAMPLED_TERMS, len(terms))).astype(int)]
        logs = np.stack([passes[v][products.terms[some, v]] for v in range(needed.shape[1])])
        alive = np.minimum(1.0, np.exp(needed @ logs).sum(axis=1) * len(terms) / len(some))
        n_classes = _count_classes(problem, sample, needed)
        found.append(_AskedGroup(n_classes, len(terms), ask_about(background, products, terms, needed, causal, alive)))
    return tuple(found), n_groups / max(1, len(found))


def _count_classes(problem: Problem, sample: np.ndarray, needed: np.ndarray) -> float:
    """Classes that the ``needed`` evidence (s, n) of coalitions falls into: at most the ideals of what is ever needed.

    Where fewer classes than ideals were met, there are fewer; infinitely many where orders are given, not an order.
    """
    if problem.order is None or problem.groups is not None:
        return math.inf
    ever = np.flatnonzero(needed.any(axis=0))
    graph = weighted_orders(problem.order)[0][0]
    counted = ideals_up_to(graph.restricted_to(ever.tolist()), _COUNTED) if len(ever) else 1
    if counted is None:
        return math.inf if len(ever) == problem.n_features else max(_COUNTED, 2.0 ** (len(ever) / 2 + 2))
    marks = np.random.default_rng(0).random(len(ever))
    met, inside = (len(np.unique((sets[:, ever] @ marks).round(9))) for sets in (needed, sample))
    return counted * met / inside


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


def terms_obstacle(problem: Problem) -> str | None:
    """Why a problem cannot be treated term by term; None where it can."""
    obstacle = TERMS.obstacle(problem.background) or PRODUCTS.obstacle(problem.predictor)
    if obstacle is None and problem.link is not None:
        return "a link that is not the identity has to see every coalition's value as a whole"
    return obstacle


def seconds_to_classify(problem: Problem, coalitions: int) -> float:
    """Finding the classes of one group of terms; the more features, the more bits a coalition has to compare."""
    words = max(1.0, problem.n_features / 36)
    return 4e-3 + 2e-4 * problem.n_features + coalitions * _SECONDS_PER_CLASSIFIED * words


def _kernels(problem: Problem, settings: Settings, estimate: Estimate) -> tuple[str, ...]:
    background, products = network_and_terms(problem)
    found = background_kernels(problem, settings, estimate)
    return getattr(background, "live_kernels", found) if found and only_indicators(products) else found


def _seconds_for_groups(problem: Problem, coalitions: int) -> float:
    """What groups of terms take before anything is asked."""
    background, products = network_and_terms(problem)
    n_groups = measure_groups(background, products)[0]
    return n_groups * (seconds_to_classify(problem, coalitions) + seconds_to_plan(background.network))


class _WorkOnTerms(NamedTuple):
    """Seconds, queries, classes of coalitions that are held, and entries of the largest circuit of one query."""

    seconds: float
    queries: float
    held: float
    largest: float


def work_on_terms(problem: Problem, sampled: bool, coalitions: int, n_rows: int) -> _WorkOnTerms:
    """What all terms of a problem take, over so many ideals or prefixes of orders."""
    background, products = network_and_terms(problem)
    n_groups = measure_groups(background, products)[0]
    seconds = _seconds_for_groups(problem, coalitions)
    if background.size <= FEW_STATES:
        queries = float(n_groups * coalitions * n_rows)
        per_query = SECONDS_PER_SMALL[0] + SECONDS_PER_SMALL[1] * products.n_terms / max(1, n_groups)
        return _WorkOnTerms(seconds + queries * per_query, queries, float(n_groups * coalitions), 0.0)
    found, share = measure_questions(problem, sampled)
    classes = [min(float(coalitions), group.n_classes) for group in found]
    works = [group.questions.work(count, n_rows) for group, count in zip(found, classes, strict=True)]
    queries = share * sum(work.evidence for work in works)
    pairs = share * sum(work.evidence * group.n_terms for work, group in zip(works, found, strict=True))
    cells = [count * n_rows * group.n_terms for group, count in zip(found, classes, strict=True)]
    looks = [math.ceil(size / _DENSE_LIMIT) * group.n_terms for group, size in zip(found, cells, strict=True)]
    seconds += queries * _SECONDS_PER_QUERY + pairs * _SECONDS_PER_PAIR
    seconds += share * (sum(looks) * _SECONDS_PER_LOOK + sum(cells) * _SECONDS_PER_CELL)
    seconds += background.inference.seconds(all_of(works).times(share), products.n_terms)
    largest = max((group.questions.largest for group in found), default=0.0)
    return _WorkOnTerms(seconds, queries, share * sum(classes), largest)


def termwise_backend(sweep: Sweep) -> Backend:
    """All ideals, or the prefixes of sampled orders, term by term."""

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        return terms_obstacle(problem) or sweep.obstacle(problem, settings)

    def estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
        coalitions = sweep.count(problem, settings)
        orders, drawing, drawn = sweep.drawing(problem, settings)
        work = work_on_terms(problem, sweep.sampled, coalitions, n_rows)
        memory = coalitions * (problem.n_features * 3 + 300) + int(work.held * (7 * problem.n_features + 40)) + 2**27
        memory += int(BYTES_PER_ENTRY * work.largest) + drawn
        return Estimate(coalitions, orders, 0, int(work.queries), drawing + work.seconds, memory)

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        columns = sweep.columns(problem, settings)
        background, products = network_and_terms(problem)
        fast = TermwiseAttributor(background, products, columns, group_terms(background, products, columns))
        return relaxing(background, fast, CoalitionwiseAttributor(ExactProducts(background, products), columns))

    return Backend(
        f"{sweep.name} x terms",
        sweep.sampled,
        None,
        obstacle,
        estimate,
        prepare,
        ROW_BLOCK if sweep.sampled else TERM_ROW_BLOCK,
        kernels=_kernels,
        by_coalitions=True,
        at_least=lambda problem, settings: _seconds_for_groups(problem, sweep.count(problem, settings)),
    )
