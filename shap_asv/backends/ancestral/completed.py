"""Exact values of a sum of products for coalitions that lack causes of their members: those of graphs that differ from
the network.

Let J be a coalition S with all that stands above its members in the network, and M = J - S what it lacks. J is closed
under causes, so that the probability of a state of J is a product of table entries, and what is known of J says all
about the rest by clamping. Hence, for a term with the features F and their ancestral closure A,

    nu(S) = prod over v in S and F of g_v(e_v)
            * sum over x of  P(x | e_S) * prod of g_v(x_v) * V_T(e, x),     x a state of M in A,  T = J in A

with the tables ``V_T`` of :mod:`~shap_asv.backends.ancestral.closures`, which know neither the row nor the coalition.
M falls into groups that are independent given ``e_S``, and the posterior of a group depends on a few members of S only:
coalitions with the same members in A and the same posteriors in A are one *class* for all terms of the closure.

Classes of a closure are coarser than those of a larger closure around it. So values are summed over terms per class,
handed from each closure to the smallest one around it, and from the largest ones to the coalitions: nu of thousands of
coalitions is written down without any term having met them one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shap_asv.backends.ancestral import closures
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.products import SumOfProducts

if TYPE_CHECKING:
    from shap_asv.backends.ancestral.completion_kernel import Coalitions, Factors, Margins
    from shap_asv.backends.ancestral.kernel import Tables
    from shap_asv.backends.ancestral.value_kernel import Kinds, Places, Shapes

#: Nodes of the largest network that is treated here; sets of nodes are bits of one signed integer.
LARGEST_NETWORK = 62
#: Terms of a closure that are not worth classes of their own.
FEW_TERMS = 16
#: States of missing nodes that a coalition may have; those with more are left to another method.
STATE_LIMIT = 2**12


def masks_of(sets: np.ndarray) -> np.ndarray:
    """Bool (m, nodes) -> int64 (m,), node v as bit v."""
    return sets.astype(np.int64) @ (np.int64(1) << np.arange(sets.shape[1], dtype=np.int64))


def bits_in(masks: np.ndarray, places: Sequence[int] | np.ndarray) -> np.ndarray:
    """Int64 (m,) -> bool (m, places)."""
    return ((np.asarray(masks)[:, None] >> np.asarray(places)) & 1).astype(bool)


def with_causes(network: DiscreteNetwork, sets: np.ndarray) -> np.ndarray:
    """Sets of nodes, bool (m, nodes), with all that stands above them."""
    closed = sets.copy()
    for v in range(network.n_nodes - 1, -1, -1):  # causes come first in a network
        for p in network.parents[v]:
            closed[:, p] |= closed[:, v]
    return closed


def count_states(network: DiscreteNetwork, coalitions: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """States of what coalitions bool (m, n) lack, float (m,): 1 where nothing is missing."""
    held = np.zeros((len(coalitions), network.n_nodes), dtype=bool)
    held[:, nodes] = coalitions
    missing = with_causes(network, held) & ~held
    return np.exp(missing @ np.log(np.array(network.cardinalities, dtype=float)))


@dataclass(frozen=True, eq=False)
class ClosedSet:
    """One ancestral set A: its terms, its tables, and the classes of coalitions that it can tell apart.

    Attributes
    ----------
    members : int array (a,)
        Network nodes, causes first.
    terms : int array (t,)
    shapes, tables : Shapes, Tables
        Of V_T, and how they are filled.
    places, kinds : Places, Kinds
        The classes, by their ideal and by what is missing.
    parent_classes : int array
        The class here of each class of the set around this one (of each coalition, where there is none).
    children : tuple of ClosedSet
    """

    members: np.ndarray
    terms: np.ndarray
    shapes: "Shapes"
    tables: "Tables"
    places: "Places"
    kinds: "Kinds"
    parent_classes: np.ndarray
    children: "tuple[ClosedSet, ...]"

    @property
    def n_classes(self) -> int:
        return len(self.places.margins)


def complete(network: DiscreteNetwork, nodes: np.ndarray, coalitions: np.ndarray) -> "Coalitions":
    """Coalitions of features, bool (m, n), with what they lack in the network. O(m nodes) plus the groups."""
    from shap_asv.backends.ancestral.completion_kernel import Coalitions, find_groups

    held = np.zeros((len(coalitions), network.n_nodes), dtype=bool)
    held[:, nodes] = coalitions
    closed = masks_of(with_causes(network, held))
    starts, missing, seen = find_groups(masks_of(held), closed, family_masks(network))
    pairs, ids = np.unique(np.stack([missing, seen], axis=1), axis=0, return_inverse=True)
    return Coalitions(
        masks_of(held),
        closed,
        starts,
        ids.reshape(-1).astype(np.int64),
        np.ascontiguousarray(pairs[:, 0]),
        np.ascontiguousarray(pairs[:, 1]),
    )


def family_masks(network: DiscreteNetwork) -> np.ndarray:
    """Each node with its parents, int64 (nodes,)."""
    return np.array([sum(1 << u for u in (v, *parents)) for v, parents in enumerate(network.parents)], dtype=np.int64)


def flatten_tables(network: DiscreteNetwork) -> "Factors":
    """The tables of the network end to end, each with the state of its own node fastest."""
    from shap_asv.backends.ancestral.completion_kernel import Factors

    n = network.n_nodes
    offsets, strides, flat, size = np.zeros(n, dtype=np.int64), np.zeros((n, n), dtype=np.int64), [], 0
    for v, parents in enumerate(network.parents):
        table = np.moveaxis(network.tables[v], 0, -1)
        strides[v, v] = 1
        for axis, p in enumerate(parents):
            strides[v, p] = int(np.prod(table.shape[axis + 1 :], dtype=np.int64))
        offsets[v] = size
        size += table.size
        flat.append(table.reshape(-1))
    cards = np.array(network.cardinalities, dtype=np.int64)
    return Factors(np.concatenate(flat), offsets, strides, family_masks(network), cards)


# --- closures -----------------------------------------------------------------------------------------------------


def find_closed_sets(
    background: Terms, products: SumOfProducts, coalitions: "Coalitions", few: int | None = None
) -> "tuple[tuple[ClosedSet, ...], Margins, np.ndarray]":
    """The closures of all terms in a forest by inclusion, the posteriors of their classes, and the terms left out (l,).

    A closure hangs below the smallest one that contains it; those of at most ``few`` terms join it. O(closures^2) bit
    operations, and for every closure O(classes of the one around it) plus its layout.
    """
    network = background.network
    looks = np.zeros((products.n_terms, network.n_nodes), dtype=bool)
    looks[:, background.nodes] = products.terms != 0
    masks, member = gather_few(masks_of(with_causes(network, looks)), FEW_TERMS if few is None else few)
    by_set = np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member, minlength=len(masks)))[:-1])
    builder = _Builder(network, background.nodes, coalitions, flatten_tables(network))
    parents = smallest_around(masks)
    below: dict[int, list[int]] = {}
    for k, parent in enumerate(parents.tolist()):
        below.setdefault(parent, []).append(k)
    everything = np.arange(len(coalitions.held))

    def build(k: int, around: np.ndarray) -> list[ClosedSet]:
        """Closure k over classes of which ``around`` has one coalition each; only its children if it is too large."""
        made = builder.lay_out(int(masks[k]), by_set[k], around)
        if made is None:
            left.append(by_set[k])
            return [found for child in below.get(k, []) for found in build(child, around)]
        own, chosen = made
        object.__setattr__(
            own, "children", tuple(found for child in below.get(k, []) for found in build(child, chosen))
        )
        return [own]

    left: list[np.ndarray] = [np.zeros(0, dtype=np.intp)]
    # a constant has no closure: it is the same for every coalition
    roots = tuple(found for k in below.get(-1, []) for found in build(k, everything))
    return roots, builder.list_margins(), np.concatenate(left)


def gather_few(closed: np.ndarray, few: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct sets among the closures of terms (t,), and the one of each term.

    Where a set has at most ``few`` terms, they go to the smallest set around it: a set costs more by itself than these
    terms do. O(sets^2) bit operations.
    """
    masks, member, counts = np.unique(closed, return_inverse=True, return_counts=True)
    member = member.reshape(-1)
    sizes = bits_in(masks, np.arange(63)).sum(axis=1)
    taken = np.arange(len(masks))
    parents = smallest_around(masks)
    for k in np.argsort(sizes, kind="stable").tolist():
        if parents[k] >= 0 and counts[k] <= few:
            taken[k] = parents[k]
            counts[parents[k]] += counts[k]
    for k in np.argsort(-sizes, kind="stable").tolist():
        taken[k] = taken[taken[k]]  # the larger set has found its own place already
    kept, of_set = np.unique(taken, return_inverse=True)
    return masks[kept], of_set.reshape(-1)[member]


def smallest_around(masks: np.ndarray) -> np.ndarray:
    """For each set the place of the smallest proper superset, -1 where there is none."""
    sizes = bits_in(masks, np.arange(63)).sum(axis=1)
    by_size = np.argsort(sizes, kind="stable")
    parents = np.full(len(masks), -1)
    for k, mask in enumerate(masks):
        larger = by_size[(masks[by_size] & mask == mask) & (masks[by_size] != mask)]
        if len(larger):
            parents[k] = larger[0]
    return parents


@dataclass(frozen=True, eq=False)
class _Builder:
    network: DiscreteNetwork
    nodes: np.ndarray
    coalitions: "Coalitions"
    factors: "Factors"
    margins: dict[tuple[int, int, int], tuple[int, np.ndarray]] = field(default_factory=dict)

    def lay_out(self, inside: int, terms: np.ndarray, around: np.ndarray) -> tuple[ClosedSet, np.ndarray] | None:
        """The closure, and one coalition of each of its classes; None where its tables are too large."""
        from shap_asv.backends.ancestral.completion_kernel import classify
        from shap_asv.backends.ancestral.value_kernel import Kinds, Places, lay_out_states

        members = np.flatnonzero(bits_in(np.array([inside]), np.arange(self.network.n_nodes))[0])
        cards = self.factors.cards[members]
        classes, chosen, keys = classify(self.coalitions, around, inside)
        held = masks_of(bits_in(keys[:, 0], members))
        missing = masks_of(bits_in(keys[:, 1], members))
        laid_out = self._lay_out_tables(members, np.unique(held | missing))
        if laid_out is None:
            return None
        ideals, shapes, tables = laid_out
        # classes of one place stand together
        order = np.lexsort((keys[:, 2], keys[:, 1], missing, held))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        keys, held, missing = keys[order], held[order], missing[order]
        is_first = _starts_of((held, missing))
        first = np.flatnonzero(is_first)
        kind_masks, kind_of = np.unique(missing[first], return_inverse=True)
        empty = int(len(kind_masks) > 0 and kind_masks[0] == 0)  # nothing missing is not a kind
        kind_bits = bits_in(kind_masks[empty:], np.arange(len(members)))
        states = np.where(kind_bits, cards, 1)
        kinds = Kinds(
            ends_of(states.prod(axis=1)), ends_of(kind_bits.sum(axis=1)), np.nonzero(kind_bits)[1].astype(np.int64)
        )
        at = np.searchsorted(ideals, held[first] | missing[first])
        strides = shapes.strides[at]
        active = (strides > 0) & bits_in(held[first], np.arange(len(members)))
        kind_of = kind_of.reshape(-1).astype(np.int64) - empty
        offset_starts = ends_of(np.append(np.diff(kinds.starts), 0)[kind_of])
        offsets = np.zeros(offset_starts[-1], dtype=np.int64)
        lay_out_states(kind_of, kinds, cards, strides, offset_starts, offsets)
        places = Places(
            held[first],
            shapes.starts[at],
            ends_of(active.sum(axis=1)),
            np.nonzero(active)[1].astype(np.int64),
            strides[active],
            kind_of,
            offset_starts,
            offsets,
            np.append(first, len(held)).astype(np.int64),
            self._find_margins(keys, around[chosen[order]], inside),
        )
        own = ClosedSet(members, terms, shapes, tables, places, kinds, rank[classes], ())
        return own, around[chosen[order]]

    def _lay_out_tables(self, members: np.ndarray, ideals: np.ndarray) -> "tuple[np.ndarray, Shapes, Tables] | None":
        """Ideals of the closure as bits, with all that summing them out passes through; their tables; how to fill them.

        Members are summed out in the sequence of the network, so that T + v, v the first member that T lacks, is an
        ideal as well, and a larger number.
        """
        from shap_asv.backends.ancestral.kernel import Tables
        from shap_asv.backends.ancestral.value_kernel import Shapes

        a, factors = len(members), self.factors
        everything = np.int64((1 << a) - 1)
        while True:
            stepped = np.unique(np.concatenate([ideals, ideals | (~ideals & (ideals + 1) & everything)]))
            if len(stepped) == len(ideals):
                break
            ideals = stepped
        strides_in = factors.strides[np.ix_(members, members)]
        children = np.array([masks_of((strides_in[:, u] > 0)[None])[0] & ~(1 << u) for u in range(a)], dtype=np.int64)
        cards = factors.cards[members]
        rest = everything & ~ideals
        active = bits_in(ideals, np.arange(a)) & ((children & rest[:, None]) != 0)
        sizes = np.where(active, cards, 1)
        if sizes.astype(float).prod(axis=1).sum() > closures.ENTRY_LIMIT:
            return None
        strides = np.ones_like(sizes)
        np.cumprod(sizes[:, :-1], axis=1, out=strides[:, 1:])
        shapes = Shapes(ends_of(sizes.prod(axis=1)), np.where(active, strides, 0))
        lowest = rest & -rest
        step = np.where(rest > 0, np.round(np.log2(np.maximum(lowest, 1))), -1).astype(np.int64)
        following = np.where(rest > 0, np.searchsorted(ideals, ideals | lowest), -1)
        np.fill_diagonal(strides_in, 0)
        tables = Tables(
            np.arange(len(ideals))[::-1].copy(),
            step,
            following.astype(np.int64),
            factors.tables,
            factors.offsets[members],
            strides_in,
            cards,
            ends_of(cards),
        )
        return ideals, shapes, tables

    def _find_margins(self, keys: np.ndarray, one_of_each: np.ndarray, inside: int) -> np.ndarray:
        """The posterior that each class (q, 3) needs, as a number among those of all closures (q,); 0 for none."""
        coalitions = self.coalitions
        order = np.lexsort((keys[:, 2], keys[:, 1]))
        is_first = _starts_of((keys[order, 1], keys[order, 2]))
        first = order[is_first]
        numbers = np.zeros(len(first), dtype=np.int64)
        for k, (missing, seen) in enumerate(keys[first, 1:].tolist()):
            if missing:
                key = missing & inside, missing, seen
                if key not in self.margins:
                    s = one_of_each[first[k]]
                    groups = coalitions.groups[coalitions.starts[s] : coalitions.starts[s + 1]]
                    self.margins[key] = len(self.margins), groups[coalitions.missing[groups] & inside != 0]
                numbers[k] = self.margins[key][0]
        found = np.empty(len(keys), dtype=np.int64)
        found[order] = numbers[np.cumsum(is_first) - 1]
        return found

    def list_margins(self) -> "Margins":
        """The posteriors that any class needs."""
        from shap_asv.backends.ancestral.completion_kernel import Margins

        shown = np.array([key[0] for key in self.margins], dtype=np.int64)
        groups = [groups for _, groups in self.margins.values()]
        states = np.where(bits_in(shown, np.arange(self.network.n_nodes)), self.factors.cards, 1).prod(axis=1)
        return Margins(
            ends_of(states),
            ends_of(np.array([len(own) for own in groups], dtype=np.int64)),
            np.concatenate([np.zeros(0, dtype=np.int64), *groups]),
            shown,
        )


def ends_of(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _starts_of(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Where sorted rows differ from the one before, bool (m,)."""
    differs = np.ones(len(columns[0]), dtype=bool)
    differs[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return differs
