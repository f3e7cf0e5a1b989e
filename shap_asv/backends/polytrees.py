"""Causal polytrees with more ideals than can be listed: term by term, over the ideals of what a term sees.

A term that looks at the features F sees F and their causes in the network, the set A. Where coalitions hold the causes
of their members, the value of the term depends on ``S & A`` alone, so that W restricted to A is all that is needed:

    phi_i = sum over terms of  sum over B of  w_A(i, B) (nu_term(B + i) - nu_term(B)).

On a polytree w_A comes without the lattice of the order (:mod:`shap_asv.orders.restricted`).
"""

from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.conditioning import ancestral_obstacle
from shap_asv.backends.contract import Attributor, Backend, Problem, Settings, TooLarge
from shap_asv.backends.termwise import (
    TERM_ROW_BLOCK,
    TermGroup,
    TermwiseAttributor,
    gather_terms,
    terms_obstacle,
)
from shap_asv.backends.weight_columns import empty_columns
from shap_asv.backends.workload import groups_obstacle, network_and_terms, patterns
from shap_asv.backgrounds.contract import Terms
from shap_asv.costs import Cost
from shap_asv.errors import BudgetExceededError
from shap_asv.models.products import SumOfProducts
from shap_asv.orders import CausalOrder
from shap_asv.orders.restricted import list_polytree_steps
from shap_asv.values.expected_terms import query_cost

#: Ideals of what a term sees, at most.
MOST_IDEALS = 1 << 14


@lru_cache(maxsize=4)  # plans are made again and again
def _groups(background: Terms, products: SumOfProducts) -> list[tuple[np.ndarray, np.ndarray]]:
    """Terms that are treated together (t,), and what they see, ascending features (a,)."""
    member = gather_terms(background, products)
    above = background.inference.ancestors[np.ix_(background.nodes, background.nodes)]
    found = []
    for group in range(member.max(initial=-1) + 1):
        terms = np.flatnonzero(member == group)
        looked_at = (products.terms[terms] != 0).any(axis=0)
        found.append((terms, np.flatnonzero(looked_at | above[:, looked_at].any(axis=1))))
    return found


@lru_cache(maxsize=4)
def _counts(problem: Problem) -> np.ndarray | None:
    """Ideals of what each group of terms sees, float (groups,); None where they are too many."""
    assert isinstance(problem.order, CausalOrder)
    try:
        parts = [problem.order.restricted_to(seen.tolist()) for _, seen in _groups(*network_and_terms(problem))]
        return np.array([part.count_ideals(limit=MOST_IDEALS) for part in parts], dtype=float)
    except BudgetExceededError:
        return None


def one_order_obstacle(problem: Problem) -> str | None:
    """For algorithms that work term by term, and know one causal order of single features."""
    found = terms_obstacle(problem) or groups_obstacle(problem)
    if found is not None or isinstance(problem.order, CausalOrder):
        return found
    return "several graphs are not one causal order"


def _obstacle(problem: Problem, settings: Settings) -> str | None:
    found = one_order_obstacle(problem)
    if found is not None:
        return found
    assert isinstance(problem.order, CausalOrder)
    if not problem.order.is_polytree:
        return "the causal graph is not a polytree: two features are joined by two undirected paths"
    found = ancestral_obstacle(problem)
    if found is None and _counts(problem) is None:
        return TooLarge(f"a term looks at features that have more than {MOST_IDEALS:,} ideals with their causes")
    return found


def _cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
    background, products = network_and_terms(problem)
    counts, n = _counts(problem), problem.n_features
    assert counts is not None
    ideals, told_apart = float(counts.sum()), patterns(n_rows)
    n_terms = products.n_terms / max(1, len(counts))
    queries = query_cost(background, products, ideals, told_apart, n_terms)
    operations = {
        "term group": len(counts),
        "polytree ideal": ideals * n**2,
        "class x row": ideals * told_apart,
        "class x row x term": ideals * told_apart * n_terms,
    }
    return Cost(operations, 2**27 + int(counts.max(initial=0) * n * (8 * n + 40) + ideals * (7 * n + 40))) + queries


def polytree_attributor(background: Terms, products: SumOfProducts, order: CausalOrder) -> Attributor:
    """An attributor under a causal polytree, for coalitions that hold the causes of their members."""
    n = len(background.features)
    groups = []
    for terms, seen in _groups(background, products):
        code, place, weight = list_polytree_steps(order, seen)
        codes, ends = np.unique([code | 1 << place, code], return_inverse=True)
        classes = np.zeros((len(codes), n), dtype=bool)
        classes[:, seen] = codes[:, None] >> np.arange(len(seen)) & 1
        entries = np.concatenate([weight, -weight]), (ends.ravel(), np.tile(seen[place], 2))
        weights = sp.csr_array(sp.coo_array(entries, shape=(len(codes), n)))
        groups.append(TermGroup(terms, classes, weights, np.asarray(classes.any(axis=0))))
    return TermwiseAttributor(background, products, empty_columns(n), tuple(groups))


def _prepare(problem: Problem, settings: Settings) -> Attributor:
    background, products = network_and_terms(problem)
    assert isinstance(problem.order, CausalOrder)
    return polytree_attributor(background, products, problem.order)


POLYTREE = Backend("polytree", False, None, _obstacle, _cost, _prepare, TERM_ROW_BLOCK)
