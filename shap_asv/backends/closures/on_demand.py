"""Values of closed sets of nodes, summed over terms: of the components that are left, only what is asked for is filled.

With the equation of :mod:`~shap_asv.backends.closures.components`. The rows of a call ask for a component in the states
that its parents have in them, at the ideals that leave it; a component asks for its parts in all states of its root.
States of all nodes are fields of one word, so that those of the parents are a mask away. Many terms are summed out
together, and each entry knows which of them ask for it and are alive in it, as bits.

Values are summed over the terms of a closure at each of its ideals, and handed on to the smallest closure around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backends.closures.ancestral_sets import (
    ends_of,
    field_widths,
    gather_few,
    masks_of,
    relevant_nodes,
    smallest_around,
    with_causes,
)
from shap_asv.backends.closures.components import list_components, restrict
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
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks

#: Terms of a closure that are not worth ideals of their own.
FEW_TERMS = 60
#: Numbers that are filled at one time; rows are split until they need no more.
VALUE_LIMIT = 2**25
#: Terms that are summed out together: bits of one integer.
TERMS_AT_ONCE = 62
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
    masks, member = gather_few(masks_of(with_causes(background.network, looks[terms])[:, relevant]), FEW_TERMS)
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
    widths = field_widths(cards)
    shifts = ends_of(widths)[:-1]
    fields = ((np.int64(1) << widths) - 1) << shifts
    return FlatNetwork(np.concatenate(flat), offsets, strides, masks_of(strides > 0), cards, shifts, fields)
