"""Exact phi of a sum of products on any DAG, term by term on the term's own ancestral set.

Let every network ancestor of a feature be a feature that precedes it in the causal order. Then each ideal S of the
order is closed under network ancestors, and conditioning on ``e_S`` is clamping. For a term with features F only the
network-ancestral closure A of F matters:

    nu(S) = prod over v in S and F of g_v(e_v)  *  V_T(e),        T = S restricted to A,
    V_T(e) = sum over x_v of P(x_v | parents) g_v(x_v) V_{T+v}(e, x_v)        for the first v of A - T.

``V_T`` reads only the *active* members of T, those with a network child in A - T: a table of a few dozen numbers. All
tables of a term come from one pass down the ideals of A, whatever the row. A row then walks the ideals of A along a
spanning tree (each ideal hangs below itself without its last member) and skips the whole branch as soon as a factor
``g_v(e_v)`` is zero, which for the leaf of a decision tree happens early. The weights are those of the full lattice,
added up over the ideals that agree on A.

Rows that agree on A are computed once per closure; terms with the same closure share its layout.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Report, keep_silent, paced, part_of
from shap_asv.backends.weight_columns import Columns
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.grouping import number_rows, row_keys
from shap_asv.models.products import SumOfProducts
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.values.contract import blocks

if TYPE_CHECKING:
    from shap_asv.backends.ancestral.kernel import Tables, Walk
    from shap_asv.backends.termwise import TermwiseAttributor

#: Table entries (doubles) that one closure may have; terms that need more are left to another backend.
ENTRY_LIMIT = 2**24
#: Features of the largest closure that is treated here; ideals of a closure are bits of one signed integer.
LARGEST_CLOSURE = 62
_PATTERN_BLOCK = 1024
# Pairs of row pattern and ideal that one compiled call may have to walk for a single term.
_WALK_LIMIT = 2**26


@dataclass(frozen=True, eq=False)
class Closure:
    """The ideals of one ancestral set A, laid out for the kernel.

    Attributes
    ----------
    members : int array (a,)
        Features, causes first; inside the kernel a member is its position here.
    terms : int array (t,)
    walk : Walk
        The ideals in the order of the spanning tree, with their weights and the shape of their tables.
    tables : Tables
        How the tables are filled.
    """

    members: np.ndarray
    terms: np.ndarray
    walk: "Walk"
    tables: "Tables"


def feature_parents(background: Terms) -> list[list[int]]:
    """Network parents of each feature, as features."""
    feature_of = {int(node): i for i, node in enumerate(background.nodes)}
    return [[feature_of[p] for p in background.network.parents[int(node)]] for node in background.nodes]


def closed_sets(
    background: Terms, order: CausalOrder | GraphMixture, products: SumOfProducts
) -> tuple[np.ndarray, np.ndarray]:
    """The distinct network-ancestral closures of the terms, bool (c, n), and the closure of each term (t,)."""
    parents = feature_parents(background)
    closed = products.terms != 0
    for v in reversed(order.topological_indices):
        for p in parents[v]:
            closed[:, p] |= closed[:, v]
    member, chosen = number_rows([(closed[:, v], 2) for v in range(closed.shape[1])], len(closed))
    return closed[chosen], member


@lru_cache(maxsize=2)
def estimate_entries(
    background: Terms, order: CausalOrder | GraphMixture, products: SumOfProducts, n_ideals: int
) -> tuple[float, float, float]:
    """Mean over the terms of: table entries that a term leaves alive, ideals of its closure, features of its closure.

    From a few closures and the prefixes of a few random orders; O(1) in the size of the model and of the lattice.
    """
    rng = np.random.default_rng(0)
    sets, member = closed_sets(background, order, products)
    effects = np.zeros((order.n_features, order.n_features))
    for v, parents in enumerate(feature_parents(background)):
        effects[v, parents] = 1.0
    prefixes = random_prefixes(order, rng)
    actives: dict[int, np.ndarray] = {}  # for terms with the same closure
    entries, ideals, sizes = [0.0], [1.0], [0]  # a model without terms is a constant
    for term in rng.integers(products.n_terms, size=min(24, products.n_terms)):
        number = int(member[term])
        members = np.flatnonzero(sets[number])
        if len(members) == 0:
            continue
        if number not in actives:
            subsets = prefixes[:, members]
            inside = subsets[np.unique(row_keys(np.packbits(subsets, axis=1)), return_index=True)[1]]
            actives[number] = inside & (~inside @ effects[np.ix_(members, members)] > 0)
        active = actives[number]
        functions = products.terms[term, members]
        alive = [np.count_nonzero(products.vectors[v][g]) for v, g in zip(members, functions, strict=True)]
        count = min(float(n_ideals), 2.0 ** (len(members) / 2 + 2))
        entries.append(count * float(np.exp(active @ np.log(np.maximum(alive, 1.0))).mean()))
        ideals.append(count)
        sizes.append(len(members))
    return float(np.mean(entries)), float(np.mean(ideals)), float(np.mean(sizes))


def random_prefixes(
    order: CausalOrder | GraphMixture, rng: np.random.Generator, n_orders: int = 12, n_prefixes: int = 1200
) -> np.ndarray:
    """Prefixes of some (not uniform) topological orders: bool (k, n), at most ``n_prefixes`` of them.

    Good enough to see how ideals look. Of a mixture its graphs take turns.
    """
    graphs = order.orders if isinstance(order, GraphMixture) else (order,)
    found = np.zeros((n_orders, order.n_features + 1, order.n_features), dtype=bool)
    for k in range(n_orders):
        graph = graphs[k % len(graphs)]
        waiting = [len(causes) for causes in graph.parents]
        ready = [v for v, count in enumerate(waiting) if count == 0]
        for position in range(order.n_features):
            v = ready.pop(int(rng.integers(len(ready))))
            found[k, position + 1 :, v] = True
            for child in graph.children[v]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
    every = found.reshape(-1, order.n_features)
    return every[:: -(-len(every) // n_prefixes)]


def build_closures(
    background: Terms, order: CausalOrder, products: SumOfProducts, columns: Columns
) -> tuple[tuple[Closure, ...], np.ndarray]:
    """Group terms by ancestral closure and lay each closure out. O(closures * ideals * n / 64) plus the layouts.

    Also returns the terms that were left out, int (l,): their closures are too large for tables.
    """
    parents = feature_parents(background)
    # not the network's order: an ideal without its last member has to be an ideal of the causal order
    causes_first = np.array(order.topological_indices)
    sets, member = closed_sets(background, order, products)
    if len(sets) == 0:
        return (), np.zeros(0, dtype=np.intp)
    by_set = np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member))[:-1])
    closures, left = [], [np.zeros(0, dtype=np.intp)]
    for inside, terms in zip(sets, by_set, strict=True):
        members = causes_first[inside[causes_first]]
        closure = _lay_out(background, parents, columns, members, terms) if inside.any() else None
        if closure is None:
            left.append(terms)
        else:
            closures.append(closure)
    return tuple(closures), np.concatenate(left)


def _lay_out(
    background: Terms, parents: list[list[int]], columns: Columns, members: np.ndarray, terms: np.ndarray
) -> Closure | None:
    from shap_asv.backends.ancestral.kernel import Tables, Walk, largest_first, lay_out_ideals

    a = len(members)
    if a > LARGEST_CLOSURE:
        return None
    local = {int(v): i for i, v in enumerate(members)}
    inside = columns.coalitions[:, members]
    ids, chosen = number_rows([(inside[:, j], 2) for j in range(a)], len(inside))
    masks = inside[chosen].astype(np.int64) @ (np.int64(1) << np.arange(a, dtype=np.int64))
    merge = sp.csr_array((np.ones(len(ids)), (ids, np.arange(len(ids)))), shape=(len(chosen), len(ids)))
    weights = sp.csr_array((merge @ columns.matrix)[:, members])
    children = np.zeros(a, dtype=np.int64)
    table_strides = np.zeros((a, a), dtype=np.int64)
    cards = np.array([background.cardinalities[v] for v in members], dtype=np.int64)
    tables, offsets, size = [], np.zeros(a, dtype=np.int64), 0
    for i, v in enumerate(members):
        causes = [local[p] for p in parents[v]]
        table = np.moveaxis(background.network.tables[int(background.nodes[v])], 0, -1)  # state fastest
        for axis, p in enumerate(causes):
            children[p] |= 1 << i
            table_strides[i, p] = int(np.prod(table.shape[axis + 1 :], dtype=np.int64))
        offsets[i] = size
        size += table.size
        tables.append(table.reshape(-1))
    layout = lay_out_ideals(masks, children, cards)
    if layout.starts[-1] > ENTRY_LIMIT:
        return None
    weights = weights[layout.order]
    weights.eliminate_zeros()
    walk = Walk(
        layout.skip,
        layout.parent,
        layout.last,
        weights.indptr.astype(np.int64),
        weights.indices.astype(np.int64),
        weights.data,
        layout.starts,
        layout.strides,
        np.concatenate([[0], np.cumsum((layout.strides > 0).sum(axis=1))]),
        np.nonzero(layout.strides)[1],
        layout.strides[layout.strides > 0],
    )
    filling = Tables(
        largest_first(layout.next_ideal),
        layout.step,
        layout.next_ideal,
        np.concatenate(tables),
        offsets,
        table_strides,
        cards,
        np.concatenate([[0], np.cumsum(cards)]),
    )
    return Closure(members, terms, walk, filling)


@dataclass(frozen=True, eq=False)
class AncestralAttributor:
    """phi closure by closure; ``rest`` explains the terms that have no closure, and holds the offset."""

    products: SumOfProducts
    closures: tuple[Closure, ...]
    n_features: int
    rest: "TermwiseAttributor"

    @property
    def rowwise(self) -> bool:
        """A pattern of a row is walked on its own; what ``rest`` does depends on the rows that come together."""
        return not self.rest.groups

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        products = self.products
        phi = np.zeros((len(rows), self.n_features, products.n_outputs))
        base = np.zeros(products.n_outputs)
        done, n_terms = 0, max(1, products.n_terms)
        for closure in self.closures:
            self._add_closure(closure, rows, phi, base)
            done += len(closure.terms)
            report(done / n_terms)
        others = self.rest.attribute(rows, part_of(report, done / n_terms, 1.0))
        return Attribution(phi + others.phi, base + others.base)

    def _add_closure(self, closure: Closure, rows: np.ndarray, phi: np.ndarray, base: np.ndarray) -> None:
        """Add the share of a closure's terms to phi (r, n, k) and to base (k,)."""
        from shap_asv.backends.ancestral.kernel import explain_closure

        products = self.products
        members, cards, offsets = closure.members, closure.tables.cards, closure.tables.offsets
        factors = np.empty((len(closure.terms), offsets[-1]))
        for j, v in enumerate(members):
            factors[:, offsets[j] : offsets[j + 1]] = products.vectors[v][products.terms[closure.terms, v]]
        coefficients = np.ascontiguousarray(products.coefficients[closure.terms])
        looks = [(rows[:, v], int(card)) for v, card in zip(members, cards, strict=True)]
        ids, chosen = number_rows(looks, len(rows))
        patterns = np.ascontiguousarray(rows[chosen][:, members], dtype=np.int64)
        found = np.zeros((len(patterns), len(members), products.n_outputs))
        at_once = max(16, min(_PATTERN_BLOCK, _WALK_LIMIT // len(closure.walk.skip)))
        for number, block in enumerate(blocks(len(patterns), at_once)):
            share = base if number == 0 else np.zeros_like(base)
            # term after term is added to the same numbers, so that the cuts do not show in the result
            for some in paced(len(factors)):
                explain_closure(
                    closure.walk,
                    closure.tables,
                    patterns[block],
                    factors[some],
                    coefficients[some],
                    found[block],
                    share,
                )
        phi[:, members] += found[ids]
