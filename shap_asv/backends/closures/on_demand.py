"""Values of closed sets of nodes, summed over terms: of the components that are left, only what is asked for is filled.

Let A be the ancestral closure of a term and T an ideal of A that is known. The rest A - T falls into components c that
no table of the network connects; each depends on its parents in T only:

    V_T(e) = prod over components c of A - T of  q_c(R; e_pa(c)),       R = the term's functions on c,
    q_c(R; s) = sum over x_v of P(x_v | s) g_v(x_v) * prod over components c' of c - v of q_c'(R; s, x_v)

for any v of c without parents in c, its *root*. A component is a set of nodes and nothing else: what is known of it is
shared by all ideals, closures and trees in which it is left over.

Which node is the root decides how many states are asked for. Let roots come first in some sequence. A parent u of c
that comes before the root of c has been summed out somewhere, so that c is asked for in every state of u; one that
comes later is known wherever c is asked for. So all components together take about

    cost(sequence) = sum over c of  prod over parents u of c before the root of c of card(u)

The rows of a call ask for a component in the states that its parents have in them, at the ideals that leave it; a
component asks for its parts in all states of its root.
States of all nodes are fields of one word, so that those of the parents are a mask away. Many terms are summed out
together, and each entry knows which of them ask for it and are alive in it, as bits.

Values are summed over the terms of a closure at each of its ideals, and handed on to the smallest closure around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backends.closures.kernels import (
    Components,
    Demand,
    FlatNetwork,
    Gates,
    Ideals,
    add_terms,
    ask_at_ideals,
    fill_demand,
    find_alike,
    find_components,
    find_demand,
    hand_on,
)
from shap_asv.backends.pace import Report, look_up
from shap_asv.backends.termwise import gather_few, masks_of, relevant_nodes, smallest_around, with_causes
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks

#: Numbers that are filled at one time; rows are split until they need no more.
VALUE_LIMIT = 2**25
#: Terms that are summed out together: bits of one integer.
TERMS_AT_ONCE = 62
# Components that the cost of a sequence is looked at for, and by how much it has to fall for a move.
_SAMPLED, _LEAST = 1000, 1e-3
# Rows, entries, links and slots that there is room for at first; what is not used is never touched.
_ROOM = 2**18
# Terms are added up in lanes: a whole number of these.
_LANES = 8


@dataclass(frozen=True, eq=False)
class Closure:
    """An ancestral set: its terms, its ideals, the components that they leave, and the closures inside.

    ``ideal_of`` has the ideal here of each ideal of the closure around this one.
    """

    blocks: tuple[Gates, ...]
    ideals: Ideals
    components: Components
    ideal_of: np.ndarray
    inside: "tuple[Closure, ...]"


@dataclass(frozen=True, eq=False)
class ClosedSetValues:
    """``sum over terms of coefficient * nu_term(J; e)`` for closed sets J, all members of which have codes.

    Attributes
    ----------
    relevant : int array
        All nodes of the network that terms depend on; sets and states speak of them alone.
    network : FlatNetwork
        Of these nodes.
    roots : tuple of Closure
    shape : (int, int)
        Sets and outputs.
    """

    relevant: np.ndarray
    network: FlatNetwork
    roots: tuple[Closure, ...]
    shape: tuple[int, int]

    def values(self, codes: np.ndarray, report: Report) -> np.ndarray:
        """Codes of all nodes (u, nodes) -> (u, sets, k), without the offset and terms that look at nothing."""
        out = np.zeros((len(codes), *self.shape))
        # nodes without a code are in no set
        shifted = np.maximum(codes[:, self.relevant], 0) << self.network.shifts
        packed = np.bitwise_or.reduce(shifted & self.network.fields, axis=1)
        room = _Room()
        for number, root in enumerate(self.roots):
            self._add(root, packed, out, room)
            report((number + 1) / len(self.roots))
        return out

    def _add(self, own: Closure, packed: np.ndarray, out: np.ndarray, room: "_Room") -> None:
        """Add the values of a closure and of all inside to those of the closure around it."""
        here = np.zeros((len(packed), len(own.ideals.held), self.shape[1]))
        alike = self._find_alike(own.ideals.held, packed)
        for gates in own.blocks:
            look_up()
            self._add_terms(own, gates, packed, alike, here, room)
        for closure in own.inside:
            self._add(closure, packed, here, room)
        hand_on(here, alike, own.ideal_of, out)

    def _find_alike(self, held: np.ndarray, packed: np.ndarray) -> np.ndarray:
        alike = np.empty((len(packed), len(held)), dtype=np.int32)
        find_alike(held, self.network, packed, alike)
        return alike

    def _add_terms(
        self, own: Closure, gates: Gates, packed: np.ndarray, alike: np.ndarray, out: np.ndarray, room: "_Room"
    ) -> None:
        width = gates.passes.shape[1]
        limit = VALUE_LIMIT // width if len(packed) > 1 else 2**62
        want = np.empty((len(own.ideals.own), len(packed)), dtype=np.int64)
        ask_at_ideals(own.ideals, own.components.masks, gates, self.network, packed, alike, want)
        room.demand, n_blocks, n_rows, at = find_demand(
            own.components, own.ideals.own, gates, self.network, packed, want, room.demand, limit
        )
        if n_rows > limit:
            for half in blocks(len(packed), -(-len(packed) // 2)):
                alike_there = self._find_alike(own.ideals.held, packed[half])
                self._add_terms(own, gates, packed[half], alike_there, out[half], room)
            return
        values = room.take(n_rows, width)
        fill_demand(room.demand, n_blocks, own.components, gates, self.network, values)
        add_terms(own.ideals, at, values, gates, self.network, packed, alike, out)


class _Room:
    """Memory that one closure after the other works in. It comes from NumPy, which asks for large pages."""

    def __init__(self) -> None:
        self._values = np.empty(_ROOM)
        self.demand = Demand(
            np.empty((0, 4), dtype=np.int64),
            np.empty((_ROOM, 3), dtype=np.int64),
            np.empty((_ROOM, 3), dtype=np.int64),
            np.empty(_ROOM, dtype=np.int32),
            np.empty(_ROOM, dtype=np.int32),
        )

    def take(self, n_rows: int, width: int) -> np.ndarray:
        """An array (n_rows, width), with whatever was there before."""
        if n_rows * width > len(self._values):
            self._values = np.empty(2 * n_rows * width)
        return self._values[: n_rows * width].reshape(n_rows, width)


# --- layouts ----------------------------------------------------------------------------------------------------------


def lay_out(background: Terms, products: SumOfProducts, groups: Sequence[np.ndarray]) -> tuple[ClosedSetValues, ...]:
    """The closures of all terms over closed sets of nodes, bool (m, nodes) for each group of coalitions.

    O(closures^2) bit operations, and for every group and closure O(ideals of the closure around it).
    """
    relevant = np.flatnonzero(relevant_nodes(background, products))
    place = np.full(background.network.n_nodes, -1)
    place[relevant] = np.arange(len(relevant))
    network = _flatten(background.network, relevant, place)
    looks = np.zeros((products.n_terms, background.network.n_nodes), dtype=bool)
    looks[:, background.nodes] = products.terms != 0
    terms = np.flatnonzero(looks.any(axis=1))  # a constant has no closure
    masks, member = gather_few(masks_of(with_causes(background.network, looks[terms])[:, relevant]))
    of_closure = [
        tuple(
            _gates(products, place[background.nodes], len(relevant), own[part])
            for part in blocks(len(own), TERMS_AT_ONCE)
        )
        for own in (terms[member == k] for k in range(len(masks)))
    ]
    around = smallest_around(masks).tolist()
    inside = {k: [j for j, parent in enumerate(around) if parent == k] for k in range(-1, len(masks))}
    from_outside = np.argsort(-np.bitwise_count(masks).astype(int), kind="stable").tolist()
    found = []
    for closed in groups:
        ideals, left = {-1: masks_of(closed[:, relevant])}, {}
        for k in from_outside:
            ideals[k] = np.unique(ideals[around[k]] & masks[k])
            left[k] = find_components(ideals[k], np.full(len(ideals[k]), masks[k]), network.families)[:2]
        found.append((ideals, left))
    seeds = [own for _, left in found for _, own in left.values()]
    components = list_components(network, np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *seeds])))

    def build(k: int, ideals: dict[int, np.ndarray], left: dict[int, tuple[np.ndarray, np.ndarray]]) -> Closure:
        starts, every = left[k]
        own, local = np.unique(every, return_inverse=True)
        some, places = restrict(components, own)
        of_ideals = Ideals(ideals[k], starts, local.reshape(-1).astype(np.int32), places)
        ideal_of = np.searchsorted(ideals[k], ideals[around[k]] & masks[k])
        return Closure(of_closure[k], of_ideals, some, ideal_of, tuple(build(j, ideals, left) for j in inside[k]))

    return tuple(
        ClosedSetValues(
            relevant,
            network,
            tuple(build(k, ideals, left) for k in inside[-1]),
            (len(ideals[-1]), products.n_outputs),
        )
        for ideals, left in found
    )


def _gates(products: SumOfProducts, nodes: np.ndarray, n_nodes: int, terms: np.ndarray) -> Gates:
    """Terms (t,) with the node of each feature, among so many nodes."""
    passes: list[np.ndarray] = [np.ones((1, len(terms)), dtype=bool)]
    rows, looks, size = np.full(n_nodes, -1, dtype=np.int64), [], 1
    features = np.flatnonzero((products.terms[terms] != 0).any(axis=0))
    for v in features.tolist():
        rows[nodes[v]] = size
        looks.append(products.terms[terms, v] != 0)
        passes.append(products.vectors[v][products.terms[terms, v]].T != 0)
        size += len(passes[-1])
    together, lanes = np.concatenate(passes), [(0, 0), (0, -len(terms) % _LANES)]
    return Gates(
        masks_of(together),
        rows,
        nodes[features],
        masks_of(np.array(looks)),
        np.pad(together, lanes).astype(np.float64),
        np.ascontiguousarray(np.pad(products.coefficients[terms].T, lanes)),
    )


def _flatten(network: DiscreteNetwork, relevant: np.ndarray, place: np.ndarray) -> FlatNetwork:
    n = len(relevant)
    offsets, strides, flat, size = np.zeros(n, dtype=np.int64), np.zeros((n, n), dtype=np.int64), [np.zeros(0)], 0
    for i, v in enumerate(relevant.tolist()):
        table = np.moveaxis(network.tables[v], 0, -1)
        strides[i, i] = 1
        for axis, p in enumerate(network.parents[v]):
            strides[i, place[p]] = int(np.prod(table.shape[axis + 1 :], dtype=np.int64))
        offsets[i] = size
        size += table.size
        flat.append(table.reshape(-1))
    cards = np.array(network.cardinalities, dtype=np.int64)[relevant]
    widths = np.array([(card - 1).bit_length() for card in cards.tolist()], dtype=np.int64)
    shifts = ends_of(widths)[:-1]
    fields = ((np.int64(1) << widths) - 1) << shifts
    return FlatNetwork(np.concatenate(flat), offsets, strides, masks_of(strides > 0), cards, shifts, fields)


# --- components -----------------------------------------------------------------------------------------------------


def find_sequence(network: FlatNetwork, components: np.ndarray) -> np.ndarray:
    """All nodes, causes before their effects; components as bits of nodes (p,).

    From the sequence of the network on, nodes are moved one by one as long as that lowers the cost.
    """
    if len(components) > _SAMPLED:
        components = np.random.default_rng(0).permutation(components)[:_SAMPLED]
    n_nodes = len(network.cards)
    inside = bits_in(components, np.arange(n_nodes))
    around = np.bitwise_or.reduce(np.where(inside, network.families, 0), axis=1, initial=0)
    outside = bits_in(around & ~components, np.arange(n_nodes))
    sizes = np.where(outside, np.log(network.cards), 0.0)
    parents = bits_in(network.families & ~(np.int64(1) << np.arange(n_nodes)), np.arange(n_nodes))

    def cost_of(sequence: list[int]) -> float:
        rank = np.empty(n_nodes, dtype=np.int64)
        rank[sequence] = np.arange(n_nodes)
        roots = np.where(inside, rank, n_nodes).min(axis=1, initial=n_nodes)
        return float(np.exp(np.where(rank < roots[:, None], sizes, 0.0).sum(axis=1)).sum())

    sequence = list(range(n_nodes))
    cost = cost_of(sequence)
    moved = True
    while moved:
        moved = False
        for v in np.flatnonzero(inside.any(axis=0)).tolist():
            tried = [(cost_of(other), other) for other in _moves(parents, sequence, v)]
            least, other = min(tried, default=(cost, sequence))
            if least < (1 - _LEAST) * cost:
                cost, sequence, moved = least, other, True
    return np.array(sequence, dtype=np.int64)


def _moves(parents: np.ndarray, sequence: list[int], v: int) -> list[list[int]]:
    """The sequences that differ in the place of a node alone."""
    others = [u for u in sequence if u != v]
    first = max((i + 1 for i, u in enumerate(others) if parents[v, u]), default=0)
    last = min((i for i, u in enumerate(others) if parents[u, v]), default=len(others))
    return [[*others[:i], v, *others[i:]] for i in range(first, last + 1) if i != sequence.index(v)]


def list_components(network: FlatNetwork, seeds: np.ndarray) -> Components:
    """Components (as bits) and all that they fall into without their roots, the largest first."""
    sequence = find_sequence(network, seeds)
    masks, roots, counts, parts = [], [], [], []
    fresh = np.unique(seeds)
    while len(fresh):
        inside = bits_in(fresh, sequence)
        root = sequence[inside.argmax(axis=1)]
        rest = fresh & ~(np.int64(1) << root)
        starts, below, _ = find_components(np.zeros_like(rest), rest, network.families)
        masks.append(fresh)
        roots.append(root)
        counts.append(np.diff(starts))
        parts.append(below)
        fresh = np.setdiff1d(below, np.concatenate(masks))
    every, root, count, part = (
        np.concatenate([np.zeros(0, dtype=np.int64), *found]) for found in (masks, roots, counts, parts)
    )
    order = np.lexsort((every, -np.bitwise_count(every).astype(int)))
    taken = _stretches(ends_of(count), order)
    every, by_mask = every[order], np.argsort(every[order])
    around = np.bitwise_or.reduce(np.where(bits_in(every, np.arange(len(network.cards))), network.families, 0), axis=1)
    known = np.zeros_like(every)
    for v, field in enumerate(network.fields):
        known |= np.where((around & ~every) >> v & 1, field, 0)
    numbers = by_mask[np.searchsorted(every, part[taken], sorter=by_mask)]
    return Components(every, root[order], known, *_linked(ends_of(count[order]), numbers))


def restrict(components: Components, masks: np.ndarray) -> tuple[Components, np.ndarray]:
    """Some components (as bits) with all that they fall into, and the place of each of them there."""
    by_mask = np.argsort(components.masks)
    own = by_mask[np.searchsorted(components.masks, masks, sorter=by_mask)]
    among = np.zeros(len(components.masks), dtype=bool)
    fresh = own
    while len(fresh):
        among[fresh] = True
        below = components.parts[_stretches(components.part_starts, fresh)]
        fresh = np.unique(below[~among[below]])
    chosen = np.flatnonzero(among)
    number = np.cumsum(among) - 1
    parts = number[components.parts[_stretches(components.part_starts, chosen)]]
    starts = ends_of(np.diff(components.part_starts)[chosen])
    linked = _linked(starts, parts)
    return type(components)(
        components.masks[chosen], components.roots[chosen], components.known[chosen], *linked
    ), number[own]


def _stretches(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The places of some stretches, one after the other."""
    lengths = np.diff(starts)[chosen]
    ends = ends_of(lengths)
    return np.asarray(np.repeat(starts[:-1][chosen] - ends[:-1], lengths) + np.arange(ends[-1]))


def _linked(starts: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Parts, and the other way round: for each component those that it is a part of, and which part it is."""
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    which = np.arange(len(parts)) - starts[:-1][owner]
    order = np.argsort(parts, kind="stable")
    counts = np.bincount(parts, minlength=len(starts) - 1)
    return starts, parts.astype(np.int64), ends_of(counts), owner[order], which[order]


def bits_in(masks: np.ndarray, places: Sequence[int] | np.ndarray) -> np.ndarray:
    """Int64 (m,) -> bool (m, places)."""
    return ((np.asarray(masks)[:, None] >> np.asarray(places)) & 1).astype(bool)


def ends_of(counts: np.ndarray) -> np.ndarray:
    """Where stretches of these lengths start when laid end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
