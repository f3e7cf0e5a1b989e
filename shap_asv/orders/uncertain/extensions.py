"""All DAGs that a partly directed graph stands for: listed, counted, drawn uniformly.

*Orientation.* A *consistent extension* of a partly directed graph is a DAG with the same adjacencies that keeps every
directed edge and has exactly the v-structures of the graph (``a -> c <- b`` with a and b not adjacent). Some undirected
edges have only one direction in all of them. Meek's four rules find those:

1. ``c -> a - b``, c and b not adjacent: ``a -> b``, else there were a new v-structure at a;
2. ``a -> c -> b`` and ``a - b``: ``a -> b``, else there were a cycle;
3. ``a - c -> b`` and ``a - d -> b``, c and d not adjacent, and ``a - b``: ``a -> b``;
4. ``a - c -> d -> b``, a and d adjacent, c and b not, and ``a - b``: ``a -> b``.

*Roots.* Once the rules say nothing more, the undirected edges connect *buckets* of nodes, and all nodes of a bucket
have the same parents outside of it (rules 1 and 2). So buckets can be directed independently of one another: counts
multiply, and draws are drawn apart. Inside of a bucket there is no v-structure, so that each extension has one root in
it, a node without a parent among them. Once v is the root, the rules direct some edges, and what is still undirected
falls into smaller buckets (He, Jia and Yu, 2015, for chordal graphs; it holds with background knowledge, too):

    #(bucket) = sum over its nodes v without a directed edge into them of  product over buckets with root v of #(bucket)

The same sum draws an extension uniformly, and lists them. Nodes that have undirected edges to all others are alike, so
that one of them stands for all, and dense graphs take few steps, too. Background knowledge may take exponentially many.

Nodes are numbers here and sets of nodes are Python integers used as bit sets.
"""

from collections.abc import Iterable, Iterator
from math import prod

import numpy as np

from shap_asv.errors import BudgetExceededError
from shap_asv.orders.bitsets import bits_of, components, reached


class Orientation:
    """A partly directed graph on nodes 0 .. n-1 that is being directed.

    Attributes
    ----------
    parents, children, neighbours : list of int
        Bit sets per node; ``neighbours`` are those at the other end of an undirected edge.
    adjacent : list of int
        All adjacent nodes. They never change.
    conflict : tuple or None
        What went wrong when an edge could not be directed: ("collider", a, b, c) for a new ``a -> b <- c``, or
        ("cycle", a, b) for an edge ``a -> b`` that closes a cycle.
    """

    __slots__ = ("adjacent", "children", "conflict", "neighbours", "parents")

    def __init__(
        self, n: int, directed: Iterable[tuple[int, int]] = (), undirected: Iterable[tuple[int, int]] = ()
    ) -> None:
        self.parents, self.children, self.neighbours = ([0] * n for _ in range(3))
        self.conflict: tuple | None = None
        for a, b in directed:
            self.children[a] |= 1 << b
            self.parents[b] |= 1 << a
        for a, b in undirected:
            self.neighbours[a] |= 1 << b
            self.neighbours[b] |= 1 << a
        self.adjacent = [self.parents[v] | self.children[v] | self.neighbours[v] for v in range(n)]

    def copy(self) -> "Orientation":
        other = Orientation.__new__(Orientation)
        other.parents, other.children, other.neighbours = self.parents[:], self.children[:], self.neighbours[:]
        other.adjacent, other.conflict = self.adjacent, None
        return other

    def within(self, members: int) -> "Orientation":
        """The graph among ``members`` alone; the other nodes are still there, without edges."""
        part = self.copy()
        for ends in (part.parents, part.children, part.neighbours):
            for v in range(len(ends)):
                ends[v] = ends[v] & members if members >> v & 1 else 0
        return part

    def undirected_edges(self) -> list[tuple[int, int]]:
        return [(a, b) for a, ends in enumerate(self.neighbours) for b in bits_of(ends >> (a + 1) << (a + 1))]

    def directed_edges(self) -> list[tuple[int, int]]:
        return [(a, b) for a, ends in enumerate(self.children) for b in bits_of(ends)]

    def direct(self, a: int, b: int) -> bool:
        """Make ``a - b`` an edge ``a -> b``; False if that makes a new v-structure or a cycle."""
        strangers = self.parents[b] & ~self.adjacent[a] & ~(1 << a)
        if strangers:
            self.conflict = ("collider", a, b, (strangers & -strangers).bit_length() - 1)
            return False
        if reached(1 << b, self.children) >> a & 1:
            self.conflict = ("cycle", a, b)
            return False
        self.neighbours[a] &= ~(1 << b)
        self.neighbours[b] &= ~(1 << a)
        self.children[a] |= 1 << b
        self.parents[b] |= 1 << a
        return True

    def close(self) -> bool:
        """Apply Meek's rules until they say nothing more; False if that leads to a contradiction.

        O(undirected edges) per round, and a round directs at least one of them.
        """
        changed = True
        while changed:
            changed = False
            for a, b in self.undirected_edges():
                for cause, effect in ((a, b), (b, a)):
                    if self._forced(cause, effect):
                        if not self.direct(cause, effect):
                            return False
                        changed = True
                        break
        return True

    def _forced(self, a: int, b: int) -> bool:
        """Whether one of Meek's rules directs the undirected edge between a and b as ``a -> b``."""
        if self.parents[a] & ~self.adjacent[b] & ~(1 << b):
            return True
        if self.children[a] & self.parents[b]:
            return True
        beside = self.neighbours[a] & self.parents[b]
        if any(beside & ~self.adjacent[c] & ~(1 << c) for c in bits_of(beside)):
            return True
        far = self.neighbours[a] & ~self.adjacent[b] & ~(1 << b)
        return any(self.parents[d] & far for d in bits_of(self.parents[b] & self.adjacent[a]))

    def buckets(self) -> list[int]:
        """The components that undirected edges connect, as bit sets; nodes without such an edge are left out."""
        return components(sum(1 << v for v, ends in enumerate(self.neighbours) if ends), self.neighbours)

    def rooted(self, v: int) -> "Orientation | None":
        """The graph with ``v`` before all that it has undirected edges with, closed; None where that cannot be."""
        found = self.copy()
        return found if all(found.direct(v, u) for u in bits_of(self.neighbours[v])) and found.close() else None


#: Parts of a graph that counting may meet before it gives up.
MOST_PARTS = 100_000


class Extensions:
    """The consistent extensions of one closed :class:`Orientation` (``close()`` has returned True)."""

    def __init__(self, closed: Orientation) -> None:
        self.closed = closed
        self._known: dict[tuple, list[tuple[int, int]]] = {}

    def count(self) -> int:
        """How many there are, exactly.

        Raises
        ------
        BudgetExceededError
            Background knowledge left more than :data:`MOST_PARTS` parts to be counted.
        """
        return self._count(self.closed)

    def _count(self, state: Orientation) -> int:
        return prod(sum(ways for _, ways in self._roots(state, members)) for members in state.buckets())

    def _roots(self, state: Orientation, members: int) -> list[tuple[int, int]]:
        """The nodes of a bucket that may be its root, each with the number of extensions of the bucket."""
        key = (members, *((state.neighbours[v], state.parents[v] & members) for v in bits_of(members)))
        if key not in self._known:
            if len(self._known) >= MOST_PARTS:
                raise BudgetExceededError(
                    f"counting the DAGs of this partly directed graph takes more than {MOST_PARTS:,} parts, such "
                    f"as one of {members.bit_count()} nodes; give more edges a direction"
                )
            self._known[key] = []
            part, of_all = state.within(members), 0
            for v in bits_of(members):
                to_all = part.neighbours[v] == members & ~(1 << v)
                if to_all and of_all:  # alike
                    ways = of_all
                elif part.parents[v]:
                    ways = 0
                else:
                    rooted = part.rooted(v)
                    ways = 0 if rooted is None else self._count(rooted)
                    of_all = ways if to_all else of_all
                if ways:
                    self._known[key].append((v, ways))
        return self._known[key]

    def draw(self, rng: np.random.Generator) -> Orientation:
        """One of them, all being equally likely."""
        state = self.closed
        while buckets := state.buckets():
            for members in buckets:
                roots, ways = zip(*self._roots(state, members), strict=True)
                shares = np.cumsum([own / sum(ways) for own in ways])
                root = roots[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))]
                rooted = state.rooted(root)
                assert rooted is not None
                state = rooted
        return state

    def __iter__(self) -> Iterator[Orientation]:
        """All of them, each once. A few steps of Meek's rules between one and the next."""
        waiting = [self.closed] if self.count() else []
        while waiting:
            state = waiting.pop()
            if buckets := state.buckets():
                waiting += filter(None, (state.rooted(root) for root, _ in reversed(self._roots(state, buckets[0]))))
            else:
                yield state
