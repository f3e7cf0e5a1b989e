"""Tables of pieces where all of them would be too large: only the entries that some row asks for are filled.

With the equation of :mod:`~shap_asv.backends.ancestral.pieces.tables`: the pieces of a network, and into what they fall
without their root v, are found once. The rows of a call ask for a piece in the states that its parents have in them,
at the ideals that leave it; a piece asks for its parts in all states of v. States of all nodes are fields of one word,
so that those of the parents are a mask away. Many terms go through the tables together, and each entry knows which
groups of them ask for it and are alive in it, as bits.

Values are summed over the terms of a closure at each of its ideals, and handed to the smallest closure around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shap_asv.backends.ancestral.completed import (
    ends_of,
    family_masks,
    gather_few,
    masks_of,
    smallest_around,
    with_causes,
)
from shap_asv.backends.ancestral.pieces.sequence import find_sequence
from shap_asv.backends.pace import Report, look_up
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks

if TYPE_CHECKING:
    from shap_asv.backends.ancestral.completion_kernel import Coalitions, Factors
    from shap_asv.backends.ancestral.pieces.demand_kernel import Askers, Asking, Gates, Patterns, Remains
    from shap_asv.backends.ancestral.pieces.part_kernel import Fields, Pieces
    from shap_asv.backends.ancestral.pieces.sum_kernel import TermsAtOnce

#: Numbers in all tables that are filled at one time; patterns are split until they need no more.
VALUE_LIMIT = 2**25
#: Terms that go through the tables together.
TERMS_AT_ONCE = 124
#: Bits that the states of all nodes may take, and those of one node.
STATE_BITS, NODE_BITS = 62, 16
# Blocks, rows, entries, links and slots that there is room for at first; what is not used is never touched.
_ROOM = 2**18
# Terms are added up in lanes: a whole number of these.
_LANES = 8


@dataclass(frozen=True, eq=False)
class DemandedLayout:
    """A closure over pieces: its terms, what remains of it at each ideal, and the closures inside.

    ``parent_classes`` has the ideal here of each ideal of the closure around this one.
    """

    terms: np.ndarray
    remains: "Remains"
    parent_classes: np.ndarray
    children: "tuple[DemandedLayout, ...]"


def lay_out_pieces(
    background: Terms, products: SumOfProducts, whole: "Coalitions", few: int
) -> "tuple[tuple[DemandedLayout, ...], Pieces, Fields] | None":
    """The closures of all terms over coalitions that lack nothing, and the pieces that they leave.

    Closures of at most ``few`` terms join the smallest one around them. None where a state of all nodes that any term
    depends on has no room in one word.
    """
    network = background.network
    looks = np.zeros((products.n_terms, network.n_nodes), dtype=bool)
    looks[:, background.nodes] = products.terms != 0
    terms = np.flatnonzero(looks.any(axis=1))  # a constant has no closure
    closed = with_causes(network, looks[terms])
    fields = _lay_out_fields(network, np.asarray(closed.any(axis=0)))
    if fields is None:
        return None
    masks, member = gather_few(masks_of(closed), few)
    by_set = np.split(
        terms[np.argsort(member, kind="stable")], np.cumsum(np.bincount(member, minlength=len(masks)))[:-1]
    )
    below: dict[int, list[int]] = {}
    for k, parent in enumerate(smallest_around(masks).tolist()):
        below.setdefault(parent, []).append(k)
    collector = _Collector(family_masks(network), whole, masks, by_set, below)
    found = [collector.collect(k, np.arange(len(whole.held))) for k in below.get(-1, [])]
    seeds = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *collector.left]))
    pieces = _list_pieces(network, seeds, fields)
    return tuple(map(_Numbering(pieces).apply, found)), pieces, fields


def field_widths(network: DiscreteNetwork, used: np.ndarray) -> np.ndarray | None:
    """Bits for the states of the nodes that are ``used``, bool (nodes,); None where they are more than there may be."""
    widths = np.array([(card - 1).bit_length() for card in network.cardinalities]) * used
    return widths if widths.sum() <= STATE_BITS and widths.max(initial=0) <= NODE_BITS else None


def _lay_out_fields(network: DiscreteNetwork, used: np.ndarray) -> "Fields | None":
    from shap_asv.backends.ancestral.pieces.part_kernel import Fields

    widths = field_widths(network, used)
    if widths is None:
        return None
    shifts = ends_of(widths)[:-1]
    return Fields(shifts, ((1 << widths) - 1) << shifts)


@dataclass(frozen=True, eq=False)
class _Collector:
    """Lays closures out, with pieces as bits of nodes; ``left`` has all of them."""

    families: np.ndarray
    whole: "Coalitions"
    masks: np.ndarray
    by_set: Sequence[np.ndarray]
    below: dict[int, list[int]]
    left: list[np.ndarray] = field(default_factory=list)

    def collect(self, k: int, around: np.ndarray) -> DemandedLayout:
        """Closure k over ideals of which ``around`` has one coalition each."""
        from shap_asv.backends.ancestral.completion_kernel import classify, find_groups
        from shap_asv.backends.ancestral.pieces.demand_kernel import Remains

        inside = int(self.masks[k])
        classes, chosen, keys = classify(self.whole, around, inside)
        held = np.ascontiguousarray(keys[:, 0])
        starts, left, _ = find_groups(held, np.full(len(held), inside), self.families)
        own, local = np.unique(left, return_inverse=True)
        self.left.append(own)
        remains = Remains(held, starts, local.reshape(-1).astype(np.int32), own, own)
        children = tuple(self.collect(child, around[chosen]) for child in self.below.get(k, []))
        return DemandedLayout(self.by_set[k], remains, classes, children)


def _list_pieces(network: DiscreteNetwork, seeds: np.ndarray, fields: "Fields") -> "Pieces":
    """Pieces and all that they fall into, the largest first."""
    from shap_asv.backends.ancestral.pieces.part_kernel import Pieces, take_apart

    families = family_masks(network)
    masks, roots, part_starts, parts = take_apart(seeds, families, find_sequence(network, seeds))
    order = np.lexsort((masks, -np.bitwise_count(masks)))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    around, known = np.zeros_like(masks), np.zeros_like(masks)
    for v, family in enumerate(families):
        around |= np.where((masks >> v) & 1, family, 0)
    for v, bits in enumerate(fields.masks):
        known |= np.where((around & ~masks) >> v & 1, bits, 0)
    lengths = np.diff(part_starts)[order]
    starts = ends_of(lengths)
    taken = np.repeat(part_starts[:-1][order] - starts[:-1], lengths) + np.arange(starts[-1])
    return Pieces(masks[order], roots[order], known[order], starts, number[parts[taken]])


class _Numbering:
    """Pieces by their number in place of their nodes."""

    def __init__(self, pieces: "Pieces") -> None:
        self.pieces = pieces
        self.by_mask = np.argsort(pieces.masks)
        self.seen = np.zeros(len(pieces.masks), dtype=bool)

    def apply(self, layout: DemandedLayout) -> DemandedLayout:
        from shap_asv.backends.ancestral.pieces.part_kernel import reach

        own = self.by_mask[np.searchsorted(self.pieces.masks, layout.remains.own, sorter=self.by_mask)]
        among = np.sort(reach(self.pieces, own, self.seen))
        remains = layout.remains._replace(own=np.searchsorted(among, own), among=among)
        return replace(layout, remains=remains, children=tuple(map(self.apply, layout.children)))


@dataclass(frozen=True, eq=False)
class DemandedSums:
    """``sum over terms of coefficient * nu_term(J)`` for closed sets J, all nodes of which have codes."""

    products: SumOfProducts
    nodes: np.ndarray
    factors: "Factors"
    roots: tuple[DemandedLayout, ...]
    pieces: "Pieces"
    fields: "Fields"

    @property
    def cards(self) -> np.ndarray:
        return self.factors.cards

    def add(self, codes: np.ndarray, copies: int, out: np.ndarray, report: Report) -> None:
        """Add to ``out`` (rows, sets, copies, k) for codes (rows * copies, nodes); copies differ in latent nodes."""
        n_rows, n_sets, _, n_outputs = out.shape
        # what is added to without copies is ``out`` itself
        found = np.zeros((len(codes), n_sets, n_outputs)) if copies > 1 else out.reshape(n_rows, n_sets, n_outputs)
        # nodes without a code are in no closure
        shifted = np.maximum(codes, 0) << self.fields.shifts
        packed = np.bitwise_or.reduce(shifted & self.fields.masks, axis=1)
        room, done = _Room(), 0
        for root in self.roots:
            done += self._add(root, packed, found, room)
            report(done / max(1, self.products.n_terms))
        if copies > 1:
            out += found.reshape(n_rows, copies, n_sets, n_outputs).transpose(0, 2, 1, 3)

    def _add(self, own: DemandedLayout, packed: np.ndarray, out: np.ndarray, room: "_Room") -> int:
        from shap_asv.backends.ancestral.pieces.sum_kernel import spread
        from shap_asv.backends.ancestral.value_kernel import add_classes

        held = own.remains.held
        here = np.zeros((len(packed), len(held), self.products.n_outputs))
        patterns = self._find_alike(held, packed)
        for part in blocks(len(own.terms), TERMS_AT_ONCE):
            look_up()
            self._add_terms(own.remains, own.terms[part], patterns, here, room)
        spread(patterns.alike, here)
        done = len(own.terms)
        for child in own.children:
            done += self._add(child, packed, here, room)
        for pattern in range(len(packed)):  # one by one, so that what is added to stays in the cache
            add_classes(out[pattern], here[pattern], own.parent_classes)
        return done

    def _find_alike(self, held: np.ndarray, packed: np.ndarray) -> "Patterns":
        from shap_asv.backends.ancestral.pieces.demand_kernel import Patterns, find_alike

        alike = np.empty((len(packed), len(held)), dtype=np.int32)
        find_alike(held, self.fields, packed, alike)
        return Patterns(packed, alike)

    def _add_terms(
        self, remains: "Remains", terms: np.ndarray, patterns: "Patterns", out: np.ndarray, room: "_Room"
    ) -> None:
        from shap_asv.backends.ancestral.pieces.demand_kernel import Asking
        from shap_asv.backends.ancestral.pieces.sum_kernel import add_pieces, fill_wanted

        of_terms, of_groups, at_once = self._find_gates(terms)
        n_patterns, width = len(patterns.packed), at_once.passes.shape[1]
        limit = VALUE_LIMIT // width if n_patterns > 1 else 2**62
        asking = Asking(self.pieces, remains, of_groups, self.factors, self.fields)
        at, used = room.find_wanted(asking, patterns, limit)
        if used is None:
            for half in (slice(0, n_patterns // 2), slice(n_patterns // 2, n_patterns)):
                some = self._find_alike(remains.held, patterns.packed[half])
                self._add_terms(remains, terms, some, out[half], room)
            return
        n_blocks, n_rows = used
        values = room.take(n_rows, width)
        fill_wanted(room.wanted, n_blocks, asking, at_once, values)
        add_pieces(remains, at, values, of_terms, self.fields, patterns, at_once, out)

    def _find_gates(self, terms: np.ndarray) -> "tuple[Gates, Gates, TermsAtOnce]":
        """What lets the terms (t,) pass: each of them, and groups of neighbours, as bits; and each as 0 and 1."""
        from shap_asv.backends.ancestral.pieces.demand_kernel import Gates
        from shap_asv.backends.ancestral.pieces.sum_kernel import WORD, TermsAtOnce

        products = self.products
        passes: list[np.ndarray] = [np.ones((1, len(terms)), dtype=bool)]
        rows, looked_at, size = np.full(len(self.factors.cards), -1, dtype=np.int64), [], 1
        for v in np.flatnonzero((products.terms[terms] != 0).any(axis=0)).tolist():
            node = int(self.nodes[v])
            rows[node] = size
            looked_at.append(node)
            passes.append(products.vectors[v][products.terms[terms, v]].T != 0)
            size += len(passes[-1])
        nodes = np.array(looked_at, dtype=np.int64)
        looks = (products.terms[terms] != 0)[:, np.isin(self.nodes, looked_at)].T
        together = np.concatenate(passes)
        group = -(-len(terms) // WORD)
        lanes = [(0, 0), (0, -len(terms) % _LANES)]
        at_once = TermsAtOnce(
            np.pad(together, lanes).astype(np.float64),
            np.arange(len(terms) + lanes[1][1]) // group,
            np.pad(products.coefficients[terms].T, lanes),
        )
        of_groups = Gates(_as_words(_any_of(together, group)), rows, nodes, _as_words(_any_of(looks, group)))
        return Gates(_as_words(together), rows, nodes, _as_words(looks)), of_groups, at_once


class _Room:
    """Memory that one closure after the other works in. It comes from NumPy, which asks for large pages."""

    def __init__(self) -> None:
        from shap_asv.backends.ancestral.pieces.demand_kernel import Wanted

        self.values = np.empty(_ROOM)
        self.wanted = Wanted(
            np.empty((_ROOM, 4), dtype=np.int64),
            np.empty((_ROOM, 3), dtype=np.int64),
            np.empty((_ROOM, 3), dtype=np.int64),
            np.empty(_ROOM, dtype=np.int32),
            np.empty(_ROOM, dtype=np.int32),
        )

    def take(self, n_rows: int, width: int) -> np.ndarray:
        """An array (n_rows, width), with whatever was there before."""
        if n_rows * width > len(self.values):
            self.values = np.empty(2 * n_rows * width)
        return self.values[: n_rows * width].reshape(n_rows, width)

    def find_wanted(
        self, asking: "Asking", patterns: "Patterns", limit: int
    ) -> tuple[np.ndarray, tuple[int, int] | None]:
        """From the ideals down, the rows that patterns need, into ``wanted``.

        Returns the row of each piece of the closure for each pattern (u, l), -1 where nobody asks, and how many blocks
        and rows there are; None where there are more rows than ``limit``.
        """
        from shap_asv.backends.ancestral.pieces.demand_kernel import Askers, ask_at_ideals, ask_for_parts

        among, n_own, packed = asking.remains.among, len(asking.remains.own), patterns.packed
        want = np.empty((n_own, len(packed)), dtype=np.int64)
        ask_at_ideals(asking, patterns, want)
        part_starts = asking.pieces.part_starts
        n_parts = int((part_starts[among + 1] - part_starts[among]).sum())
        askers = Askers(
            np.full(len(among), -1, dtype=np.int64),
            np.empty((n_parts, 3), dtype=np.int64),
            np.zeros(6, dtype=np.int64),
            np.zeros(5, dtype=np.int64),
        )
        at = np.full((len(packed), n_own), -1, dtype=np.int64)
        done = 0
        while done < len(among):
            done = ask_for_parts(done, asking, packed, want, askers, self.wanted, at)
            if askers.used[1] > limit:
                return at, None
            self._enlarge(askers)
        n_blocks, n_rows = askers.used[:2].tolist()
        return at, (n_blocks, n_rows)

    def _enlarge(self, askers: "Askers") -> None:
        """Make room for what is needed."""
        larger = []
        for array, used, needed in zip(self.wanted, askers.used[:5].tolist(), askers.needs.tolist(), strict=True):
            if needed > len(array):
                more = np.empty((2 * needed, *array.shape[1:]), dtype=array.dtype)
                more[:used] = array[:used]
                array = more
            larger.append(array)
        self.wanted = type(self.wanted)(*larger)


def _any_of(flags: np.ndarray, group: int) -> np.ndarray:
    """Bool (m, t) -> (m, t / group): whether any of so many neighbours is set."""
    return np.asarray(np.logical_or.reduceat(flags, np.arange(0, flags.shape[1], group), axis=1))


def _as_words(flags: np.ndarray) -> np.ndarray:
    """Bool (m, t) -> int64 (m, words), the first as the lowest bit."""
    from shap_asv.backends.ancestral.pieces.sum_kernel import WORD

    return np.stack([masks_of(flags[:, part]) for part in blocks(flags.shape[1], WORD)], axis=1)
