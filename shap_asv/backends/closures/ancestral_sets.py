"""Sets of network nodes that are closed under causes, as bits, and which terms go together."""

from collections.abc import Sequence

import numpy as np

from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.products import SumOfProducts

#: Nodes of the largest set, and bits that the states of all of them may take: each is kept in one signed integer.
LARGEST_SET = STATE_BITS = 62
#: Bits that the states of one node may take.
NODE_BITS = 16


def masks_of(sets: np.ndarray) -> np.ndarray:
    """Bool (m, nodes) -> int64 (m,), node v as bit v."""
    return sets.astype(np.int64) @ (np.int64(1) << np.arange(sets.shape[1], dtype=np.int64))


def bits_in(masks: np.ndarray, places: Sequence[int] | np.ndarray) -> np.ndarray:
    """Int64 (m,) -> bool (m, places)."""
    return ((np.asarray(masks)[:, None] >> np.asarray(places)) & 1).astype(bool)


def ends_of(counts: np.ndarray) -> np.ndarray:
    """Where stretches of these lengths start when laid end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def with_causes(network: DiscreteNetwork, sets: np.ndarray) -> np.ndarray:
    """Sets of nodes, bool (m, nodes), with all that stands above them."""
    closed = sets.copy()
    for v in range(network.n_nodes - 1, -1, -1):  # causes come first in a network
        for p in network.parents[v]:
            closed[:, p] |= closed[:, v]
    return closed


def relevant_nodes(background: Terms, products: SumOfProducts) -> np.ndarray:
    """The nodes that any term looks at, and all above them: bool (nodes,)."""
    looks = np.zeros((1, background.network.n_nodes), dtype=bool)
    looks[0, background.nodes] = (products.terms != 0).any(axis=0)
    return np.asarray(with_causes(background.network, looks)[0])


def only_indicators(products: SumOfProducts) -> bool:
    """Whether every function is 0 or 1: then what is known of a term is whether it is dead."""
    return all(bool(((table == 0) | (table == 1)).all()) for table in products.vectors)


def field_widths(cardinalities: np.ndarray) -> np.ndarray:
    """Bits for the states of each node (nodes,)."""
    return np.array([(card - 1).bit_length() for card in cardinalities.tolist()], dtype=np.int64)


def gather_few(closed: np.ndarray, few: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct sets among the closures of terms (t,), and the one of each term.

    Where a set has at most ``few`` terms, they go to the smallest set around it: a set costs more by itself than these
    terms do. O(sets^2) bit operations.
    """
    masks, member, counts = np.unique(closed, return_inverse=True, return_counts=True)
    member = member.reshape(-1)
    sizes = np.bitwise_count(masks)
    taken = np.arange(len(masks))
    parents = smallest_around(masks)
    for k in np.argsort(sizes, kind="stable").tolist():
        if parents[k] >= 0 and counts[k] <= few:
            taken[k] = parents[k]
            counts[parents[k]] += counts[k]
    for k in np.argsort(-sizes.astype(int), kind="stable").tolist():
        taken[k] = taken[taken[k]]  # the larger set has found its own place already
    kept, of_set = np.unique(taken, return_inverse=True)
    return masks[kept], of_set.reshape(-1)[member]


def smallest_around(masks: np.ndarray) -> np.ndarray:
    """For each set the place of the smallest proper superset, -1 where there is none."""
    by_size = np.argsort(np.bitwise_count(masks), kind="stable")
    parents = np.full(len(masks), -1)
    for k, mask in enumerate(masks):
        larger = by_size[(masks[by_size] & mask == mask) & (masks[by_size] != mask)]
        if len(larger):
            parents[k] = larger[0]
    return parents
