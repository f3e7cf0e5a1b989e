"""phi of a sum of products, term by term, without ever writing nu(S) down.

For a term that looks at the features F, ``E[prod g(X_F) | e_S]`` does not depend on all of S: given the rest, some
evidence is cut off from F (d-separation). Coalitions with the same *requisite* evidence have the same expectation, so
their rows of W may be added up first:

    phi = sum over terms t of c_t * sum over classes q of  E_t(q) * W_q,      W_q = sum over S in class q of W[S]

W_q depends on the graph and on F alone. For an ideal of the network the classes are cuts of the ancestral set of F, a
few dozen even where the lattice has millions of ideals; rows that agree on what the classes see share the result.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.ancestral.closures import estimate_entries
from shap_asv.backends.coalitionwise import ROW_BLOCK, CoalitionwiseAttributor
from shap_asv.backends.conditioning import is_ancestral
from shap_asv.backends.contract import Attribution, Attributor, Backend, Estimate, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backends.relaxed import relaxing
from shap_asv.backends.weight_columns import Columns, contract
from shap_asv.backends.workload import Sweep, background_kernels, network_and_terms
from shap_asv.backgrounds.contract import TERMS, Terms
from shap_asv.backgrounds.grouping import number_rows
from shap_asv.models.contract import PRODUCTS
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks
from shap_asv.values.expected_terms import ExactProducts, clique_states, seconds_to_plan

# Doubles held at one time: 2**22 are 32 MiB.
_DENSE_LIMIT = 2**22
# Measured on child and alarm: bringing one coalition into a class of a group of terms, and one query of a class.
_SECONDS_PER_CLASSIFIED = 4e-7
_SECONDS_PER_QUERY = {True: 1.5e-6, False: 2.5e-6}
_SECONDS_PER_CLIQUE_STATE = {True: 1e-10, False: 5e-10}
#: Distinct rows explained at a time. Terms see few features, so that more rows mean more rows alike.
TERM_ROW_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class TermGroup:
    """Terms that look at the same features, with the classes of coalitions they can tell apart.

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
        empty = np.full((1, rows.shape[1]), -1, dtype=rows.dtype)
        base = products.offset + (
            self.background.expectations(empty, products.vectors, products.terms)[0] @ products.coefficients
        )
        phi, error = self.columns.combine(contracted)
        return Attribution(phi, base, error)

    def _group_values(self, group: TermGroup, patterns: np.ndarray) -> np.ndarray:
        """Patterns (u, n) -> their share of ``nu @ W``, (u, c, k)."""
        products = self.products
        terms, coefficients = products.terms[group.terms], products.coefficients[group.terms]
        q, t = len(group.classes), len(terms)
        out = np.empty((len(patterns), group.weights.shape[1], products.n_outputs))
        for block in blocks(len(patterns), _DENSE_LIMIT // (q * t)):
            part = patterns[block]
            expected = np.zeros((len(part) * q, t))
            pattern, of_class = np.nonzero(self._alive(terms, group.classes, part))
            if len(pattern):
                ids, chosen = self._number_evidence(group, part, pattern, of_class)
                evidence = np.where(group.classes[of_class[chosen]], part[pattern[chosen]], -1)
                expected[pattern * q + of_class] = self.background.expectations(evidence, products.vectors, terms)[ids]
            shares = contract(expected.reshape(len(part), q, t), group.weights)
            out[block] = shares @ coefficients
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


def group_terms(background: Terms, products: SumOfProducts, columns: Columns) -> tuple[TermGroup, ...]:
    """Group the terms by the features they look at, and find each group's classes of coalitions."""
    touched, member = np.unique(products.terms != 0, axis=0, return_inverse=True)
    member = member.reshape(-1)
    evidence = background.requisite(columns.coalitions)
    groups = []
    for index, features in enumerate(touched):
        if not features.any():
            continue  # a constant moves no feature; its rows of W cancel
        needed = evidence.of(features)
        of_coalition, chosen = number_rows([(needed[:, v], 2) for v in range(needed.shape[1])], len(needed))
        classes = needed[chosen]
        merge = sp.csr_array(
            (np.ones(len(of_coalition)), (of_coalition, np.arange(len(of_coalition)))),
            shape=(len(classes), len(of_coalition)),
        )
        groups.append(
            TermGroup(
                np.flatnonzero(member == index),
                classes,
                sp.csr_array(merge @ columns.matrix),
                classes.any(axis=0),
            )
        )
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


def seconds_per_query(background: Terms, clamped: bool) -> float:
    """One query of a class: evidence walks through the states of cliques, of which clamping leaves few."""
    return max(_SECONDS_PER_QUERY[clamped], clique_states(background.network) * _SECONDS_PER_CLIQUE_STATE[clamped])


def termwise_backend(sweep: Sweep) -> Backend:
    """All ideals, or the prefixes of sampled orders, term by term."""

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        return terms_obstacle(problem) or sweep.obstacle(problem, settings)

    def estimate(problem: Problem, settings: Settings, n_rows: int) -> Estimate:
        background, products = network_and_terms(problem)
        coalitions = sweep.count(problem, settings)
        touched = np.unique(products.terms != 0, axis=0)
        # closed under network ancestors, coalitions fall into as many classes as a closure has ideals; else into more
        clamped = problem.order is not None and is_ancestral(problem)
        if clamped and problem.groups is None:
            assert problem.order is not None
            classes = int(estimate_entries(background, problem.order, products, coalitions).ideals)
        else:
            classes = min(coalitions, 100 + coalitions // 10)
        # about one in three pairs of row and class stays alive; classes see few features, so that many rows look alike
        told_apart = min(n_rows, 100) + 0.1 * max(0, n_rows - 100)
        queries = int(len(touched) * classes * told_apart * 0.3)
        orders, seconds, drawn = sweep.drawing(problem, settings)
        seconds += len(touched) * seconds_to_classify(problem, coalitions)
        seconds += queries * seconds_per_query(background, clamped)
        seconds += seconds_to_plan(background.network)
        memory = coalitions * (problem.n_features * 3 + 300) + len(touched) * classes * 200 + 2**27
        return Estimate(coalitions, orders, 0, queries, seconds, memory + drawn)

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        columns = sweep.columns(problem, settings)
        background, products = network_and_terms(problem)
        fast = TermwiseAttributor(background, products, columns, group_terms(background, products, columns))
        return relaxing(background, fast, CoalitionwiseAttributor(ExactProducts(background, products), columns))

    return Backend(
        f"{sweep.name} x terms",
        not sweep.sampled,
        sweep.sampled,
        None,
        obstacle,
        estimate,
        prepare,
        ROW_BLOCK if sweep.sampled else TERM_ROW_BLOCK,
        kernels=background_kernels,
        by_coalitions=True,
    )
