"""Directing the undirected edges of a partly directed graph: one edge at a time, and all that follows from it.

A *consistent extension* of a partly directed graph is a DAG with the same adjacencies that keeps every directed edge
and has exactly the v-structures of the graph (``a -> c <- b`` with a and b not adjacent). Some undirected edges have
only one direction in all of them. Meek's four rules find those:

1. ``c -> a - b``, c and b not adjacent: ``a -> b``, else there were a new v-structure at a;
2. ``a -> c -> b`` and ``a - b``: ``a -> b``, else there were a cycle;
3. ``a - c -> b`` and ``a - d -> b``, c and d not adjacent, and ``a - b``: ``a -> b``;
4. ``a - c -> d -> b``, a and d adjacent, c and b not, and ``a - b``: ``a -> b``.

Bidirected edges (a hidden common cause) have an arrowhead at both ends: they take part in v-structures and in rule 1.

Nodes are numbers here and sets of nodes are Python integers used as bit sets.
"""

from collections.abc import Iterable

from shap_asv.orders.bitsets import bits_of, components, reached


class Orientation:
    """A partly directed graph on nodes 0 .. n-1 that is being directed.

    Attributes
    ----------
    parents, children, neighbours : list of int
        Bit sets per node; ``neighbours`` are those at the other end of an undirected edge.
    spouses, adjacent : list of int
        Other ends of bidirected edges; all adjacent nodes. They never change.
    conflict : tuple or None
        What went wrong when an edge could not be directed: ("collider", a, b, c) for a new ``a -> b <- c``, or
        ("cycle", a, b) for an edge ``a -> b`` that closes a cycle.
    """

    __slots__ = ("adjacent", "children", "conflict", "neighbours", "parents", "spouses")

    def __init__(
        self,
        n: int,
        directed: Iterable[tuple[int, int]] = (),
        undirected: Iterable[tuple[int, int]] = (),
        bidirected: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.parents, self.children, self.neighbours, self.spouses = ([0] * n for _ in range(4))
        self.conflict: tuple | None = None
        for a, b in directed:
            self.children[a] |= 1 << b
            self.parents[b] |= 1 << a
        for ends, pairs in ((self.neighbours, undirected), (self.spouses, bidirected)):
            for a, b in pairs:
                ends[a] |= 1 << b
                ends[b] |= 1 << a
        self.adjacent = [self.parents[v] | self.children[v] | self.neighbours[v] | self.spouses[v] for v in range(n)]

    def copy(self) -> "Orientation":
        other = Orientation.__new__(Orientation)
        other.parents, other.children, other.neighbours = self.parents[:], self.children[:], self.neighbours[:]
        other.spouses, other.adjacent, other.conflict = self.spouses, self.adjacent, None
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
        strangers = (self.parents[b] | self.spouses[b]) & ~self.adjacent[a] & ~(1 << a)
        if strangers:
            self.conflict = ("collider", a, b, (strangers & -strangers).bit_length() - 1)
            return False
        if reached(1 << b, self.children) >> a & 1:
            self.conflict = ("cycle", a, b)
            return False
        self.settle(a, b)
        return True

    def settle(self, a: int, b: int) -> None:
        """Make ``a - b`` an edge ``a -> b`` that is known to be consistent."""
        self.neighbours[a] &= ~(1 << b)
        self.neighbours[b] &= ~(1 << a)
        self.children[a] |= 1 << b
        self.parents[b] |= 1 << a

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
        if (self.parents[a] | self.spouses[a]) & ~self.adjacent[b] & ~(1 << b):
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

    def is_plain(self, members: int) -> bool:
        """Whether all edges among ``members`` are undirected."""
        return not any((self.parents[v] | self.spouses[v]) & members for v in bits_of(members))
