"""What a leaf does not know falls into components: the value of a closed set as a product of small functions.

Let A be the ancestral closure of a term and T an ideal of A that is known. The rest A - T falls into components c that
no table of the network connects; each depends on its parents in T only:

    V_T(e) = prod over components c of A - T of  q_c(R; e_pa(c)),       R = the term's functions on c,
    q_c(R; s) = sum over x_v of P(x_v | s) g_v(x_v) * prod over components c' of c - v of q_c'(R; s, x_v)

for any v of c without parents in c, its *root*. A component is a set of nodes and nothing else: what is known of it is
shared by all ideals, closures and trees in which it is left over. It knows no row.

Which node is the root decides how many states are asked for. Let roots come first in some sequence. A parent u of c
that comes before the root of c has been summed out somewhere, so that c is asked for in every state of u; one that
comes later is known wherever c is asked for. So all components together take about

    cost(sequence) = sum over c of  prod over parents u of c before the root of c of card(u)
"""

from typing import TYPE_CHECKING

import numpy as np

from shap_asv.backends.closures.ancestral_sets import bits_in, ends_of

if TYPE_CHECKING:
    from shap_asv.backends.closures.kernels import Components, FlatNetwork

# Components that the cost of a sequence is looked at for, and by how much it has to fall for a move.
_SAMPLED = 1000
_LEAST = 1e-3


def find_sequence(network: "FlatNetwork", components: np.ndarray) -> np.ndarray:
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


def list_components(network: "FlatNetwork", seeds: np.ndarray) -> "Components":
    """Components (as bits) and all that they fall into without their roots, the largest first."""
    from shap_asv.backends.closures.kernels import Components, find_components

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


def restrict(components: "Components", masks: np.ndarray) -> "tuple[Components, np.ndarray]":
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
