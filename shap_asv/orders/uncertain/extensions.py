"""All DAGs that a partly directed graph stands for: listed, counted, drawn uniformly.

Once Meek's rules say nothing more, the undirected edges connect *buckets* of nodes, and all nodes of a bucket have the
same parents outside of it (rules 1 and 2). So buckets can be directed independently of one another: counts multiply,
and draws are drawn apart. A bucket whose inner edges are all undirected is a matter of chordal graphs
(:class:`ChordalGraph`). What background knowledge has partly directed is split
by directing one of its undirected edges both ways, with all that follows, until only such buckets are left: exponential
in the worst case, so the number of splits has a limit.

Bidirected edges break that independence; with them, all undirected edges are split in this way.

*Orientation.* A *consistent extension* of a partly directed graph is a DAG with the same adjacencies that keeps every
directed edge and has exactly the v-structures of the graph (``a -> c <- b`` with a and b not adjacent). Some undirected
edges have only one direction in all of them. Meek's four rules find those:

1. ``c -> a - b``, c and b not adjacent: ``a -> b``, else there were a new v-structure at a;
2. ``a -> c -> b`` and ``a - b``: ``a -> b``, else there were a cycle;
3. ``a - c -> b`` and ``a - d -> b``, c and d not adjacent, and ``a - b``: ``a -> b``;
4. ``a - c -> d -> b``, a and d adjacent, c and b not, and ``a - b``: ``a -> b``.

Bidirected edges (a hidden common cause) have an arrowhead at both ends: they take part in v-structures and in rule 1.

Nodes are numbers here and sets of nodes are Python integers used as bit sets.

*Chordal graphs.* The undirected components of a CPDAG are chordal, and the DAGs of its class are the independent
choices of one *acyclic moral orientation* (AMO, no cycle and no v-structure) for each. An AMO of a connected chordal
graph has one root. Once v is the root, Meek's rules direct some edges, and what is still undirected falls into smaller
chordal components (He, Jia and Yu, 2015):

    #AMO(G) = sum over v of  product over components H of G with root v of #AMO(H)

The same sum draws an AMO uniformly: a root by its share, and the components in turn. Nodes that are adjacent to all
others are alike, so that one of them stands for all, and dense graphs take few steps, too.
"""

from collections.abc import Iterable, Iterator

import networkx as nx
import numpy as np

from shap_asv.errors import BudgetExceededError
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


#: Splits that counting may take before it gives up.
MOST_SPLITS = 100_000


class ChordalGraph:
    """A graph whose acyclic moral orientations are counted and drawn; subgraphs met on the way are remembered."""

    def __init__(self, neighbours: list[int]) -> None:
        self.neighbours = list(neighbours)
        self._counts: dict[int, int] = {}

    def count(self, members: int) -> int:
        """Number of AMOs of the connected graph on ``members``; 0 when it is not chordal."""
        if members not in self._counts:
            edges = [(a, b) for a in bits_of(members) for b in bits_of(self.neighbours[a] & members)]
            self._counts[members] = self._count(members) if nx.is_chordal(nx.Graph(edges)) else 0
        return self._counts[members]

    def _count(self, members: int) -> int:
        if members not in self._counts:
            if len(self._counts) > MOST_SPLITS:
                raise BudgetExceededError(
                    f"counting the DAGs of this partly directed graph takes more than {MOST_SPLITS:,} subgraphs of "
                    f"{members.bit_count()} nodes; give some of their edges a direction"
                )
            self._counts[members] = sum(alike.bit_count() * ways for alike, ways in self._roots(members))
        return self._counts[members]

    def _roots(self, members: int) -> list[tuple[int, int]]:
        """Nodes that are alike as roots, and the AMOs that each of them has."""
        everywhere = sum(1 << v for v in bits_of(members) if not members & ~self.neighbours[v] & ~(1 << v))
        found = []
        for alike in ([everywhere] if everywhere else []) + [1 << v for v in bits_of(members & ~everywhere)]:
            ways = 1
            for part in self._still_free(members, (alike & -alike).bit_length() - 1):
                ways *= self._count(part)
            found.append((alike, ways))
        return found

    def draw(self, members: int, rng: np.random.Generator) -> list[int]:
        """An order of ``members``, cause first, that directs the edges as a uniformly drawn AMO."""
        total, roots = self._count(members), self._roots(members)
        shares = np.cumsum([alike.bit_count() * ways / total for alike, ways in roots])
        alike = roots[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))][0]
        order = [int(rng.choice(list(bits_of(alike))))]
        for part in self._still_free(members, order[0]):
            order += self.draw(part, rng)
        return order

    def _still_free(self, members: int, root: int) -> tuple[int, ...]:
        """Components without a forced direction once ``root`` comes first. Lexicographic search, O(n^2)."""
        row = [1 << root, members & ~(1 << root)]
        told = 1 << root
        found: list[int] = []
        while row:
            front = row[0]
            v = (front & -front).bit_length() - 1
            if not told >> v & 1:
                found += components(front, self.neighbours)
                told |= front
            row[0] &= ~(1 << v)
            split = (part for x in row for part in (x & self.neighbours[v], x & ~self.neighbours[v]))
            row = [part for part in split if part]
        return tuple(found)


class Extensions:
    """The consistent extensions of one closed :class:`Orientation` (``close()`` has returned True)."""

    def __init__(self, closed: Orientation, most_splits: int = MOST_SPLITS) -> None:
        self.closed = closed
        self.most_splits = most_splits
        self._chordal = ChordalGraph(closed.neighbours)
        self._entangled = any(closed.spouses)
        self._counts: dict[tuple, int] = {}
        self._splits = 0

    # --- counting -------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """How many there are, exactly.

        Raises
        ------
        BudgetExceededError
            Background knowledge left a part that needs more splits than ``most_splits``.
        """
        return self._count(self.closed)

    def _count(self, state: Orientation) -> int:
        total = 1
        for part, members in self._parts(state):
            # among the members of a plain bucket the neighbours are those that the closed graph had at first
            total *= self._chordal.count(members) if part is None else self._split_count(part)
            if not total:
                break
        return total

    def _parts(self, state: Orientation) -> list[tuple[Orientation | None, int]]:
        """Independent parts: (None, members) where all inner edges are undirected, else the graph on the members."""
        if self._entangled:
            return [(state, 0)] if any(state.neighbours) else []
        return [(None if state.is_plain(members) else state.within(members), members) for members in state.buckets()]

    def _split_count(self, part: Orientation) -> int:
        key = (tuple(part.neighbours), tuple(part.parents))
        if key not in self._counts:
            self._splits += 1
            if self._splits > self.most_splits:
                raise BudgetExceededError(
                    f"counting the DAGs of this partly directed graph takes more than {self.most_splits:,} splits: "
                    f"{len(part.undirected_edges())} edges are left open by what is known; give more edges a direction"
                )
            self._counts[key] = sum(self._count(branch) for branch in split(part))
        return self._counts[key]

    # --- drawing --------------------------------------------------------------------------------------------------

    def draw(self, rng: np.random.Generator) -> Orientation:
        """One of them, all being equally likely."""
        result = self.closed.copy()
        self._draw_into(result, self.closed, rng)
        return result

    def _draw_into(self, result: Orientation, state: Orientation, rng: np.random.Generator) -> None:
        for part, members in self._parts(state):
            if part is None:
                place = {v: k for k, v in enumerate(self._chordal.draw(members, rng))}
                for a, b in state.within(members).undirected_edges():
                    result.settle(*((a, b) if place[a] < place[b] else (b, a)))
                continue
            branches = split(part)
            counts = [self._count(branch) for branch in branches]
            shares = np.cumsum([count / max(1, sum(counts)) for count in counts])
            branch = branches[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))]
            for a, b in branch.directed_edges():
                if result.neighbours[a] >> b & 1:
                    result.settle(a, b)
            self._draw_into(result, branch, rng)

    # --- listing --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Orientation]:
        """All of them, each once. A few steps of Meek's rules between one and the next."""
        waiting = [self.closed]
        while waiting:
            state = waiting.pop()
            if any(part is None and not self._chordal.count(members) for part, members in self._parts(state)):
                continue
            if any(state.neighbours):
                waiting += reversed(split(state))
            else:
                yield state


def split(state: Orientation) -> list[Orientation]:
    """One undirected edge directed both ways, with what follows; a direction that leads to a contradiction is left out.

    Taken is an edge at the node with the most undirected edges, which settles the most.
    """
    a = max(range(len(state.neighbours)), key=lambda v: state.neighbours[v].bit_count())
    b = next(bits_of(state.neighbours[a]))
    branches = []
    for cause, effect in ((a, b), (b, a)):
        branch = state.copy()
        if branch.direct(cause, effect) and branch.close():
            branches.append(branch)
    return branches
