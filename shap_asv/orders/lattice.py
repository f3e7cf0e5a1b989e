"""The lattice of ideals: every coalition that a topological order can pass, and every step between two of them.

An *ideal* holds the causes of each of its members; the prefixes of topological orders are exactly the ideals. Two facts
make the lattice cheap to build without hashing, sorting or searching, whatever the number of features:

1. Take the features in topological order. The ideals of the first k are those of the first k-1, followed by those of
   them that hold all parents of the k-th, with it added. So ideals come out once each, in *colexicographic* order.
2. Adding one and the same feature keeps that order (and the order by level, colexicographic within a level). So the
   ideals to which ``x`` can be added and the ideals from which ``x`` can be taken away correspond to each other one by
   one, in order: the j-th of the former is the source, the j-th of the latter the target of an edge.

A topological order is a path through the lattice from the empty ideal to the full one. Let ``up(S)`` be the number of
paths from {} to S, which is e(S), and ``down(S)`` the number of paths from S to X, which is e(X - S). Then

    w(S, i) = up(S) * down(S + i) / e(X)

is the probability that a uniform topological order passes the edge S -> S + i. Every order passes one edge per size, so
the weights of a size sum to one: it is enough to know ``up`` and ``down`` up to a factor per size, and floats that are
rescaled at every size neither overflow nor lose digits (all terms are positive), however large e(X) is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from shap_asv.arguments import check_count
from shap_asv.errors import BudgetExceededError
from shap_asv.orders import bitsets

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

DEFAULT_LIMIT = 1_000_000

#: Ideals of several orders that are gathered before they are sorted.
GATHERED = 1 << 21


def check_limit(limit: int | None) -> int:
    """The limit as a number: the default when none was given, an error when it is not a positive integer."""
    if limit is None:
        return DEFAULT_LIMIT
    return check_count(limit, "limit", "a number of ideals")


def too_many_ideals(order: "CausalOrder", limit: int) -> BudgetExceededError:
    """The error for an order whose ideals are more than ``limit``."""
    return BudgetExceededError(
        f"a causal order of {order.n_features} features has more than {limit:,} ideals; raise limit= "
        "(ideal_limit= of an explainer), or sample topological orders instead"
    )


@dataclass(frozen=True, eq=False)
class IdealLattice:
    """All ideals of an order, sorted by size, and the edges ``S -> S + i`` between them, sorted by source.

    Attributes
    ----------
    n_features : int
    words : uint64 array (m, ceil(n / 64))
        The ideals as packed bits; the empty one first, the full one last.
    size_starts : int array (n + 2,)
        Ideals of size k are rows ``size_starts[k]:size_starts[k + 1]``.
    edge_starts : int32 array (m + 1,)
        Edges that leave ideal ``s`` are ``edge_starts[s]:edge_starts[s + 1]``.
    edge_target, edge_feature : int32 arrays (edges,)
        Where an edge leads, and which feature it adds.
    """

    n_features: int
    words: np.ndarray
    size_starts: np.ndarray
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
        """Probability that a uniform topological order passes each edge."""
        return edge_weights(self)

    def members(self) -> np.ndarray:
        """The ideals as a bool array (m, n)."""
        return bitsets.unpack(self.words, self.n_features)

    def by_size(self) -> list[tuple[slice, slice]]:
        """For each size k = 0 .. n-1: the ideals of that size, and the edges that leave them, as slices."""
        starts = self.size_starts.tolist()
        edges = self.edge_starts[self.size_starts].tolist()
        return [(slice(starts[k], starts[k + 1]), slice(edges[k], edges[k + 1])) for k in range(self.n_features)]


def enumerate_ideals(order: "CausalOrder", limit: int) -> tuple[np.ndarray, np.ndarray] | None:
    """All ideals in colexicographic order; None if there are more than ``limit``.

    Returns the packed words turned round, (w, m), so that one word of all ideals lies together, and the sizes (m,).

    The number of ideals only grows as features are added, so the search stops as soon as the limit is passed: memory is
    O(limit), time O(n * ideals).
    """
    n = order.n_features
    bit, parents = bitsets.masks([(v,) for v in range(n)], n), bitsets.masks(order.parents, n)
    words = np.zeros((bit.shape[1], 1024), dtype=np.uint64)
    sizes: np.ndarray = np.zeros(1024, dtype=np.uint16 if n < 2**16 else np.uint32)
    count = 1
    for v in order.topological_indices:
        grows = np.flatnonzero(_holds(words[:, :count], parents[v], parents[v]))
        end = count + len(grows)
        if end > limit:
            return None
        if end > words.shape[1]:
            capacity = min(2 * end, limit)
            words, sizes = _with_room(words, capacity), _with_room(sizes, capacity)
        words[:, count:end] = words[:, grows]
        words[v // bitsets.WORD_BITS, count:end] |= bit[v, v // bitsets.WORD_BITS]
        sizes[count:end] = sizes[grows] + 1
        count = end
    return words[:, :count], sizes[:count]


def _with_room(array: np.ndarray, capacity: int) -> np.ndarray:
    larger = np.empty((*array.shape[:-1], capacity), dtype=array.dtype)
    larger[..., : array.shape[-1]] = array
    return larger


def _holds(words: np.ndarray, mask: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """Which columns of ``words`` (w, m) agree with ``pattern`` (w,) on the bits of ``mask`` (w,): bool (m,)."""
    result = np.ones(words.shape[1], dtype=bool)
    for w in np.flatnonzero(mask):
        result &= (words[w] & mask[w]) == pattern[w]
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
    limit = check_limit(limit)
    n = order.n_features
    found = enumerate_ideals(order, limit)
    if found is None:
        raise too_many_ideals(order, limit)
    words, sizes = found
    words = words[:, np.argsort(sizes, kind="stable")]
    size_starts = np.concatenate([[0], np.cumsum(np.bincount(sizes, minlength=n + 1))])

    bit = bitsets.masks([(v,) for v in range(n)], n)
    parents, children = bitsets.masks(order.parents, n), bitsets.masks(order.children, n)
    sources, targets = [], []
    for v in range(n):
        addable = _holds(words, parents[v] | bit[v], parents[v])
        removable = _holds(words, children[v] | bit[v], bit[v])
        sources.append(np.flatnonzero(addable).astype(np.int32))
        targets.append(np.flatnonzero(removable).astype(np.int32))
    n_edges = sum(map(len, sources))
    if n_edges > np.iinfo(np.int32).max:
        raise BudgetExceededError(f"the lattice of {words.shape[1]:,} ideals has {n_edges:,} edges, too many to store")
    # 32-bit starts too: one wide array would make scipy widen all of them
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sources])]).astype(np.int32)
    # listed by feature, the edges are a sparse matrix (ideals x features) by columns; by rows, it is sorted by source
    by_feature = sp.csc_array((np.concatenate(targets), np.concatenate(sources), starts), shape=(words.shape[1], n))
    by_source = by_feature.tocsr()
    packed = np.ascontiguousarray(words.T)
    return IdealLattice(n, packed, size_starts, by_source.indptr, by_source.data, by_source.indices)


def scaled_down(lattice: IdealLattice) -> np.ndarray:
    """down(S) for all ideals, divided by the largest of its size: float64 (m,). O(edges)."""
    down = np.ones(lattice.n_ideals)
    for ideals, edges in reversed(lattice.by_size()):
        ways = np.add.reduceat(down[lattice.edge_target[edges]], lattice.edge_starts[ideals] - edges.start)
        down[ideals] = ways / ways.max()
    return down


def edge_weights(lattice: IdealLattice) -> np.ndarray:
    """Probability that a uniform topological order passes each lattice edge.

    ``w[S, i] = e(S) e(X - S - i) / e(X)`` with e = number of linear extensions. O(edges). The weights that leave the
    ideals of one size sum to 1.
    """
    down = scaled_down(lattice)
    weights = np.empty(lattice.n_edges)
    up: np.ndarray = np.ones(1)
    for ideals, edges in lattice.by_size():
        targets = lattice.edge_target[edges]
        arriving = np.repeat(up, np.diff(lattice.edge_starts[ideals.start : ideals.stop + 1]))
        passing = arriving * down[targets]
        weights[edges] = passing / passing.sum()
        up = np.bincount(targets - ideals.stop, weights=arriving)
        up = up / up.max()
    return weights


def exact_down(lattice: IdealLattice) -> np.ndarray:
    """down(S) = e(X - S) for all ideals as Python integers: object array (m,). O(edges) additions."""
    down = np.empty(lattice.n_ideals, dtype=object)
    down[-1] = 1
    for ideals, edges in reversed(lattice.by_size()):
        down[ideals] = np.add.reduceat(down[lattice.edge_target[edges]], lattice.edge_starts[ideals] - edges.start)
    return down


def exact_up(lattice: IdealLattice) -> np.ndarray:
    """up(S) = e(S) for all ideals as Python integers: object array (m,). O(edges) additions."""
    up = np.empty(lattice.n_ideals, dtype=object)
    up[0] = 1
    for ideals, edges in lattice.by_size():
        targets = lattice.edge_target[edges]
        by_target = np.argsort(targets, kind="stable")
        n_next = int(targets.max()) + 1 - ideals.stop
        first = np.searchsorted(targets[by_target], np.arange(ideals.stop, ideals.stop + n_next))
        up[ideals.stop : ideals.stop + n_next] = np.add.reduceat(up[lattice.edge_source[edges]][by_target], first)
    return up


# --- several orders -----------------------------------------------------------------------------------------------


def too_many_together(n_graphs: int, n_features: int, limit: int) -> BudgetExceededError:
    """The error for graphs that have more ideals than ``limit`` together."""
    return BudgetExceededError(
        f"{n_graphs} graphs on {n_features} features have more than {limit:,} ideals together; raise limit= "
        "(ideal_limit= of an explainer), or sample topological orders instead"
    )


def union_of_ideals(orders: Sequence["CausalOrder"], limit: int) -> np.ndarray | None:
    """The distinct ideals of all orders as packed bits, uint64 array (m, words); None if more than ``limit``."""
    gathered: list[np.ndarray] = []
    waiting = 0
    for order in orders:
        found = enumerate_ideals(order, limit)
        if found is None:
            return None
        gathered.append(np.ascontiguousarray(found[0].T))
        waiting += len(gathered[-1])
        if waiting > GATHERED:
            gathered, waiting = [_distinct(gathered)], 0
            if len(gathered[0]) > limit:
                return None
    union = _distinct(gathered)
    return union if len(union) <= limit else None


def _distinct(gathered: list[np.ndarray]) -> np.ndarray:
    words = np.concatenate(gathered)
    return words[bitsets.row_ids(words)[0]]
