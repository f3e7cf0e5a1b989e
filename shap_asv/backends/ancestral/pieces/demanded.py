"""Tables of pieces where all of them would be too large: only the entries that some row asks for are filled.

With the equation of :mod:`~shap_asv.backends.ancestral.pieces.tables`: the pieces of a network, and into what they fall
without their root v, are found once. The rows of a call ask for a piece in the states that its parents have in them,
at the ideals that leave it; a piece asks for its parts in all states of v. Each entry knows which terms of the closure
are asked for and alive in it, as bits of a word for every 64 terms, and only these are multiplied out.

Values are summed over the terms of a closure at each of its ideals, and handed to the smallest closure around it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
from shap_asv.backends.ancestral.pieces.tables import connected, nodes_of
from shap_asv.backends.pace import Report
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks

if TYPE_CHECKING:
    from shap_asv.backends.ancestral.completion_kernel import Coalitions, Factors
    from shap_asv.backends.ancestral.pieces.demand_kernel import Gates, Pieces, Remains

#: Joint states of the parents of all pieces, up to which they have numbers.
STATE_LIMIT = 2**60
#: Rows of tables that are filled at one time; patterns are split until they need no more.
ROW_LIMIT = 2**18
# Terms that go through the tables together.
_TERMS_AT_ONCE = 256


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
) -> "tuple[tuple[DemandedLayout, ...], Pieces] | None":
    """The closures of all terms over coalitions that lack nothing, and the pieces that they leave.

    Closures of at most ``few`` terms join the smallest one around them. None where states cannot be numbered.
    """
    network = background.network
    looks = np.zeros((products.n_terms, network.n_nodes), dtype=bool)
    looks[:, background.nodes] = products.terms != 0
    terms = np.flatnonzero(looks.any(axis=1))  # a constant has no closure
    masks, member = gather_few(masks_of(with_causes(network, looks[terms])), few)
    by_set = np.split(
        terms[np.argsort(member, kind="stable")], np.cumsum(np.bincount(member, minlength=len(masks)))[:-1]
    )
    below: dict[int, list[int]] = {}
    for k, parent in enumerate(smallest_around(masks).tolist()):
        below.setdefault(parent, []).append(k)
    collector = PieceCollector(network)
    everything = np.arange(len(whole.held))
    found = [collector.collect(whole, masks, by_set, below, k, everything) for k in below.get(-1, [])]
    pieces = collector.list_pieces()
    if pieces is None:
        return None
    return tuple(_number_pieces(one, collector.number) for one in found), pieces


def _number_pieces(layout: DemandedLayout, number: dict[int, int]) -> DemandedLayout:
    """The same with pieces by their number in place of their nodes."""
    own = np.array([number[mask] for mask in layout.remains.own.tolist()], dtype=np.int64)
    children = tuple(_number_pieces(child, number) for child in layout.children)
    return DemandedLayout(layout.terms, layout.remains._replace(own=own), layout.parent_classes, children)


class PieceCollector:
    """Collects the pieces of closures, with all that they fall into."""

    def __init__(self, network: DiscreteNetwork) -> None:
        self.network = network
        self.families = family_masks(network)
        self.parts: dict[int, tuple[int, list[int]]] = {}
        self.number: dict[int, int] = {}

    def collect(
        self,
        whole: "Coalitions",
        masks: np.ndarray,
        by_set: Sequence[np.ndarray],
        below: dict[int, list[int]],
        k: int,
        around: np.ndarray,
    ) -> DemandedLayout:
        """Closure k over ideals of which ``around`` has one coalition each; its pieces still as bits of nodes."""
        from shap_asv.backends.ancestral.completion_kernel import classify, find_groups
        from shap_asv.backends.ancestral.pieces.demand_kernel import Remains

        inside = int(masks[k])
        classes, chosen, keys = classify(whole, around, inside)
        held = np.ascontiguousarray(keys[:, 0])
        starts, left, _ = find_groups(held, np.full(len(held), inside), self.families)
        own, local = np.unique(left, return_inverse=True)
        for mask in own.tolist():
            self._register(mask)
        remains = Remains(held, starts, local.reshape(-1).astype(np.int64), own)
        children = [self.collect(whole, masks, by_set, below, child, around[chosen]) for child in below.get(k, [])]
        return DemandedLayout(by_set[k], remains, classes, tuple(children))

    def _register(self, mask: int) -> None:
        waiting = [mask]
        while waiting:
            piece = waiting.pop()
            if piece not in self.parts:
                free = [v for v in nodes_of(piece) if not int(self.families[v]) & piece & ~(1 << v)]
                found = [(v, connected(piece & ~(1 << v), self.families)) for v in free]
                # the parts with the fewest states of their parents are the cheapest
                root, parts = min(found, key=lambda one: sum(map(self._count_states, one[1])))
                self.parts[piece] = root, parts
                waiting += parts

    def _parents_of(self, mask: int) -> list[int]:
        around = 0
        for v in nodes_of(mask):
            around |= int(self.families[v])
        return nodes_of(around & ~mask)

    def _count_states(self, mask: int) -> int:
        return math.prod(self.network.cardinalities[v] for v in self._parents_of(mask))

    def list_pieces(self) -> "Pieces | None":
        """All pieces, the largest first; None where the states of their parents cannot be numbered."""
        from shap_asv.backends.ancestral.pieces.demand_kernel import Pieces

        ordered = sorted(self.parts, key=lambda mask: (-mask.bit_count(), mask))
        self.number = {mask: i for i, mask in enumerate(ordered)}
        parents, strides, sizes, total = [], [], [], 0
        for mask in ordered:
            size, own = 1, self._parents_of(mask)
            parents.append(own)
            for v in own:
                strides.append(size)
                size *= self.network.cardinalities[v]
            sizes.append(size)
            total += size
        if total > STATE_LIMIT:
            return None
        parts = [[self.number[part] for part in self.parts[mask][1]] for mask in ordered]
        return Pieces(
            np.array(ordered, dtype=np.int64),
            np.array([self.parts[mask][0] for mask in ordered], dtype=np.int64),
            ends_of(np.array([len(own) for own in parents], dtype=np.int64)),
            np.array([v for own in parents for v in own], dtype=np.int64),
            np.array(strides, dtype=np.int64),
            ends_of(np.array([len(own) for own in parts], dtype=np.int64)),
            np.array([part for own in parts for part in own], dtype=np.int64),
            ends_of(np.array(sizes, dtype=np.int64)),
        )


@dataclass(frozen=True, eq=False)
class DemandedSums:
    """``sum over terms of coefficient * nu_term(J)`` for closed sets J, all nodes of which have codes."""

    products: SumOfProducts
    nodes: np.ndarray
    factors: "Factors"
    pieces: "Pieces"
    roots: tuple[DemandedLayout, ...]

    @property
    def cards(self) -> np.ndarray:
        return self.factors.cards

    def add(self, codes: np.ndarray, copies: int, out: np.ndarray, report: Report) -> None:
        """Add to ``out`` (rows, sets, copies, k) for codes (rows * copies, nodes); copies differ in latent nodes."""
        n_rows, n_sets, _, n_outputs = out.shape
        found = np.zeros((len(codes), n_sets, n_outputs))
        done = 0
        for root in self.roots:
            done += self._add(root, codes, found)
            report(done / max(1, self.products.n_terms))
        out += found.reshape(n_rows, copies, n_sets, n_outputs).transpose(0, 2, 1, 3)

    def _add(self, own: DemandedLayout, codes: np.ndarray, out: np.ndarray) -> int:
        from shap_asv.backends.ancestral.pieces.demand_kernel import find_alike
        from shap_asv.backends.ancestral.value_kernel import add_classes

        products = self.products
        held = own.remains.held
        here = np.zeros((len(codes), len(held), products.n_outputs))
        alike = np.empty((len(held), len(codes)), dtype=np.int32)
        find_alike(held, codes, alike)
        for part in blocks(len(own.terms), _TERMS_AT_ONCE):
            terms = own.terms[part]
            self._add_terms(own.remains, self._find_gates(terms), products.coefficients[terms], codes, alike, here)
        here = here[alike.T, np.arange(len(held))]
        done = len(own.terms)
        for child in own.children:
            done += self._add(child, codes, here)
        for pattern in range(len(codes)):  # one by one, so that what is added to stays in the cache
            add_classes(out[pattern], here[pattern], own.parent_classes)
        return done

    def _add_terms(
        self,
        remains: "Remains",
        gates: "Gates",
        coefficients: np.ndarray,
        codes: np.ndarray,
        alike: np.ndarray,
        out: np.ndarray,
    ) -> None:
        from shap_asv.backends.ancestral.pieces.demand_kernel import add_pieces, fill_wanted, find_alike, find_wanted

        limit = ROW_LIMIT if len(codes) > 1 else 2**31 - 1
        n_rows, wanted = find_wanted(self.pieces, remains, gates, self.factors, codes, alike, limit)
        if n_rows < 0:
            for half in (slice(0, len(codes) // 2), slice(len(codes) // 2, len(codes))):
                among = np.empty((len(alike), half.stop - half.start), dtype=np.int32)
                find_alike(remains.held, codes[half], among)
                self._add_terms(remains, gates, coefficients, codes[half], among, out[half])
            return
        filled = fill_wanted(wanted, n_rows, gates)
        add_pieces(remains, wanted, filled, gates, codes, alike, coefficients, out)

    def _find_gates(self, terms: np.ndarray) -> "Gates":
        """What lets each of the terms (t,) pass."""
        from shap_asv.backends.ancestral.pieces.demand_kernel import Gates

        products = self.products
        passes: list[np.ndarray] = [np.ones((1, len(terms)), dtype=bool)]
        rows, looked_at, size = np.full(len(self.factors.cards), -1, dtype=np.int64), [], 1
        for v in np.flatnonzero((products.terms[terms] != 0).any(axis=0)).tolist():
            node = int(self.nodes[v])
            rows[node] = size
            looked_at.append(node)
            passes.append(products.vectors[v][products.terms[terms, v]].T != 0)
            size += len(passes[-1])
        looks = (products.terms[terms] != 0)[:, np.isin(self.nodes, looked_at)].T
        return Gates(_as_words(np.concatenate(passes)), rows, np.array(looked_at, dtype=np.int64), _as_words(looks))


def _as_words(flags: np.ndarray) -> np.ndarray:
    """Bool (m, t) -> uint64 (m, t / 64), the first as the lowest bit."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    words = np.zeros((len(flags), -(-flags.shape[1] // 64) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view("<u8").astype(np.uint64)
