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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Report, keep_silent, paced, part_of
from shap_asv.backends.weight_columns import Columns, added_up
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.grouping import number_rows, row_keys
from shap_asv.models.products import SumOfProducts
from shap_asv.orders import CausalOrder
from shap_asv.orders.topological.counting import ideals_up_to
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.values.contract import blocks

if TYPE_CHECKING:
    from shap_asv.backends.ancestral.kernel import Tables, Walk
    from shap_asv.backends.termwise import TermwiseAttributor

#: Table entries (doubles) that one closure may have; terms that need more are left to another backend.
ENTRY_LIMIT = 2**24
#: Features of the largest closure that is treated here; ideals of a closure are bits of one signed integer.
LARGEST_CLOSURE = 62
#: Patterns of rows for which tables are filled together.
PATTERN_BLOCK = 1024
# Terms whose closures stand for those of all terms in a plan.
_SAMPLED_TERMS = 24
# Ideals of a closure that a plan counts one by one.
_COUNTED = 20_000
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


class ClosureSizes(NamedTuple):
    """Means over terms: ideals and members of the closure, and, where it has tables, entries that a term leaves alive.

    ``left`` is the share of the terms that are left out, because a table would be too large.
    """

    entries: float
    ideals: float
    members: float
    left: float


@lru_cache(maxsize=4)
def estimate_entries(
    background: Terms, order: CausalOrder | GraphMixture, products: SumOfProducts, n_ideals: int
) -> ClosureSizes:
    """What the closures of the terms look like, from a few of them and the prefixes of a few random orders.

    O(1) in the size of the lattice; O(terms) to find the closures.
    """
    sets, member = closed_sets(background, order, products)
    nodes = Nodes(feature_parents(background), list(background.cardinalities), list(range(len(background.features))))
    prefixes = random_prefixes(order, np.random.default_rng(0))
    return sample_closures(nodes, products, prefixes, (sets, member), (order, n_ideals))


class Nodes(NamedTuple):
    """Nodes that closures are made of: parents, numbers of states, and the feature that each is (-1: latent)."""

    parents: Sequence[Sequence[int]]
    cards: Sequence[int]
    features: Sequence[int]


def sample_closures(
    nodes: Nodes,
    products: SumOfProducts,
    ideals: np.ndarray,
    closed: tuple[np.ndarray, np.ndarray],
    lattice: tuple[CausalOrder | GraphMixture, int],
) -> ClosureSizes:
    """Sizes from some ``ideals`` (k, nodes) and a few terms.

    ``closed``: sets (c, nodes), and the set of each term. ``lattice``: the order, and how many of its ideals are asked
    for in all.
    """
    sets, member = closed
    order, n_ideals = lattice
    effects = np.zeros((len(nodes.cards), len(nodes.cards)))
    for v, parents in enumerate(nodes.parents):
        effects[v, list(parents)] = 1.0
    cards = np.array(nodes.cards, dtype=float)
    known: dict[int, tuple[float, np.ndarray]] = {}  # ideals, and active members of some, for terms with one closure
    entries, sizes = [], []
    chosen = np.random.default_rng(0).integers(products.n_terms, size=min(_SAMPLED_TERMS, products.n_terms))
    for term in chosen.tolist():
        own = int(member[term])
        members = np.flatnonzero(sets[own])
        if own not in known:
            features = [nodes.features[v] for v in members.tolist() if nodes.features[v] >= 0]
            subsets = ideals[:, members]
            keys = row_keys(np.packbits(subsets, axis=1)) if len(members) else np.zeros(len(subsets))
            inside = subsets[np.unique(keys, return_index=True)[1]]
            count = min(float(n_ideals), _count_ideals_within(order, features, len(inside)))
            known[own] = count, inside & (~inside @ effects[np.ix_(members, members)] > 0)
        count, active = known[own]
        sizes.append((count, len(members)))
        full = count * float(np.exp(active @ np.log(cards[members])).mean())
        if full > ENTRY_LIMIT or len(members) > LARGEST_CLOSURE:
            continue
        alive = cards[members]
        for i, v in enumerate(members.tolist()):
            feature = nodes.features[v]
            if feature >= 0:
                alive[i] = np.count_nonzero(products.vectors[feature][products.terms[term, feature]])
        entries.append(count * float(np.exp(active @ np.log(np.maximum(alive, 1.0))).mean()))
    if not sizes:  # a model without terms is a constant
        return ClosureSizes(0.0, 1.0, 0.0, 0.0)
    n_ideals_within, n_members = np.mean(sizes, axis=0).tolist()
    left = 1.0 - len(entries) / len(sizes)
    return ClosureSizes(float(np.mean(entries)) if entries else 0.0, n_ideals_within, n_members, left)


def _count_ideals_within(order: CausalOrder | GraphMixture, features: list[int], met: int) -> float:
    """How many sets the ideals leave of some features; ``met``: so many were met. A guess where there are many.

    Graphs of a mixture share most of their ideals.
    """
    graphs = order.orders if isinstance(order, GraphMixture) else (order,)
    found = ideals_up_to(graphs[0].restricted_to(features), _COUNTED) if features else 1
    return max(float(met), max(_COUNTED, 2.0 ** (len(features) / 2 + 2)) if found is None else float(found))


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
    weights = added_up(columns.matrix, ids, len(chosen))[:, members]
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

    @property
    def compiled(self) -> bool:
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
        at_once = max(16, min(PATTERN_BLOCK, _WALK_LIMIT // len(closure.walk.skip)))
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
