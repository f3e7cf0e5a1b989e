"""The lattice of ideals: every coalition that a topological order can pass, and every step between two of them.

An *ideal* holds the causes of each of its members; the prefixes of topological orders are exactly the ideals. Two facts
make the lattice cheap to build without hashing, sorting or searching, whatever the number of features:

1. Take the features in topological order. The ideals of the first k are those of the first k-1, followed by those of
   them that hold all parents of the k-th, with it added. So ideals come out once each, in *colexicographic* order.
2. Adding one and the same feature keeps that order (and the order by level, colexicographic within a level). So the
   ideals to which ``x`` can be added and the ideals from which ``x`` can be taken away correspond to each other one by
   one, in order: the j-th of the former is the source, the j-th of the latter the target of an edge.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from shap_asv.errors import BudgetExceededError
from shap_asv.orders import bitsets

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

DEFAULT_LIMIT = 1_000_000


@dataclass(frozen=True, eq=False)
class IdealLattice:
    """All ideals of an order, sorted by size, and the edges ``S -> S + i`` between them, sorted by source.

    Attributes
    ----------
    n_features : int
    words : uint64 array (m, ceil(n / 64))
        The ideals as packed bits; the empty one first, the full one last.
    level_starts : int array (n + 2,)
        Ideals of size k are rows ``level_starts[k]:level_starts[k + 1]``.
    edge_starts : int32 array (m + 1,)
        Edges that leave ideal ``s`` are ``edge_starts[s]:edge_starts[s + 1]``.
    edge_target, edge_feature : int32 arrays (edges,)
        Where an edge leads, and which feature it adds.
    """

    n_features: int
    words: np.ndarray
    level_starts: np.ndarray
    edge_starts: np.ndarray
    edge_target: np.ndarray
    edge_feature: np.ndarray

    @property
    def n_ideals(self) -> int:
        return len(self.words)

    @property
    def n_edges(self) -> int:
        return len(self.edge_target)

    @cached_property
    def edge_source(self) -> np.ndarray:
        """The ideal that each edge leaves, int32 array (edges,)."""
        return np.repeat(np.arange(self.n_ideals, dtype=np.int32), np.diff(self.edge_starts))

    @cached_property
    def edge_weights(self) -> np.ndarray:
        """Probability that a uniform topological order passes each edge; see :mod:`shap_asv.orders.paths`."""
        from shap_asv.orders.paths import edge_weights  # paths builds on this module

        return edge_weights(self)

    def members(self) -> np.ndarray:
        """The ideals as a bool array (m, n)."""
        return bitsets.unpack(self.words, self.n_features)

    def levels(self) -> list[tuple[slice, slice]]:
        """For each size k = 0 .. n-1: the ideals of that size, and the edges that leave them, as slices."""
        starts = self.level_starts.tolist()
        edges = self.edge_starts[self.level_starts].tolist()
        return [(slice(starts[k], starts[k + 1]), slice(edges[k], edges[k + 1])) for k in range(self.n_features)]


def enumerate_ideals(order: "CausalOrder", limit: int) -> tuple[np.ndarray, np.ndarray] | None:
    """All ideals as packed words (m, w) in colexicographic order, and their sizes (m,); None if there are more than
    ``limit``.

    The number of ideals only grows as features are added, so the search stops as soon as the limit is passed: memory is
    O(limit), time O(n * ideals).
    """
    n = order.n_features
    bit, parents = bitsets.masks([(v,) for v in range(n)], n), bitsets.masks(order.parents, n)
    words = np.zeros((1, bit.shape[1]), dtype=np.uint64)
    sizes = np.zeros(1, dtype=np.uint16 if n < 2**16 else np.uint32)
    for v in order.topological_indices:
        grows = _holds(words, parents[v], parents[v])
        if len(words) + np.count_nonzero(grows) > limit:
            return None
        grown = words[grows]
        grown[:, v // bitsets.WORD_BITS] |= bit[v, v // bitsets.WORD_BITS]
        words = np.concatenate([words, grown])
        sizes = np.concatenate([sizes, sizes[grows] + sizes.dtype.type(1)])
    return words, sizes


def _holds(words: np.ndarray, mask: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """Which rows agree with ``pattern`` on the bits of ``mask``: bool (m,)."""
    relevant = np.flatnonzero(mask)
    if len(relevant) == 0:
        return np.ones(len(words), dtype=bool)
    result = (words[:, relevant[0]] & mask[relevant[0]]) == pattern[relevant[0]]
    for w in relevant[1:]:
        result &= (words[:, w] & mask[w]) == pattern[w]
    return result


def build_lattice(order: "CausalOrder", limit: int | None = None) -> IdealLattice:
    """The lattice of ideals of ``order``. O(n * ideals + edges) time, O(ideals + edges) memory.

    Parameters
    ----------
    order : CausalOrder
    limit : int, optional
        Largest number of ideals; by default 1,000,000.

    Raises
    ------
    BudgetExceededError
        There are more; found out before they are stored.

    Examples
    --------
    >>> from shap_asv.orders import CausalOrder
    >>> lattice = build_lattice(CausalOrder.from_edges([("a", "b")], features=["a", "b", "c"]))
    >>> lattice.members().astype(int).tolist()
    [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [1, 1, 1]]
    >>> lattice.edge_weights.round(3).tolist()
    [0.667, 0.333, 0.333, 0.333, 0.333, 0.333, 0.667]
    """
    limit = DEFAULT_LIMIT if limit is None else limit
    n = order.n_features
    found = enumerate_ideals(order, limit)
    if found is None:
        raise too_many_ideals(order, limit)
    words, sizes = found
    by_size = np.argsort(sizes, kind="stable")
    words = words[by_size]
    level_starts = np.concatenate([[0], np.cumsum(np.bincount(sizes, minlength=n + 1))])

    bit = bitsets.masks([(v,) for v in range(n)], n)
    parents, children = bitsets.masks(order.parents, n), bitsets.masks(order.children, n)
    sources, targets = [], []
    for v in range(n):
        addable = _holds(words, parents[v] | bit[v], parents[v])
        removable = _holds(words, children[v] | bit[v], bit[v])
        sources.append(np.flatnonzero(addable).astype(np.int32))
        targets.append(np.flatnonzero(removable).astype(np.int32))
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sources])])
    # listed by feature, the edges are a sparse matrix (ideals x features) by columns; by rows, it is sorted by source
    by_feature = sp.csc_array((np.concatenate(targets), np.concatenate(sources), starts), shape=(len(words), n))
    by_source = by_feature.tocsr()
    return IdealLattice(n, words, level_starts, by_source.indptr, by_source.data, by_source.indices)


def too_many_ideals(order: "CausalOrder", limit: int) -> BudgetExceededError:
    return BudgetExceededError(
        f"a causal order of {order.n_features} features has more than {limit:,} ideals; raise limit=, "
        "or sample topological orders instead"
    )
