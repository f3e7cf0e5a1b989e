"""Chordal graphs: how many ways there are to direct all edges without a cycle and without a v-structure.

The undirected components of a CPDAG are chordal, and the DAGs of its class are the independent choices of one such
*acyclic moral orientation* (AMO) for each. Clique-picking (Wienöbst, Bannach and Liśkiewicz, 2021) counts them in
polynomial time. Every AMO has topological orders that start with a maximal clique K; fix a clique tree with a root and
give the AMO to the first such clique. Then

    #AMO(G) = sum over maximal cliques K of  phi(|K|, F(K)) * product over H in C(K) of #AMO(H)

where F(K) are the sizes of the separators on the way from the root to K that lie within K (they are nested), phi counts
the permutations of K of which no prefix is such a separator, and C(K) are the components that are still undirected once
K comes first. The same sum draws an AMO uniformly: a clique by its share, a permutation by rejection (at least
half are accepted, as at least half of all permutations have no closed prefix at all), and the components in turn.

Graphs are lists of neighbours as bit sets; ``members`` says which nodes are meant.
"""

from functools import lru_cache
from math import factorial

import numpy as np

from shap_asv.orders.bitsets import bits_of, components

#: clique, sizes of the forbidden prefixes as bit sets, what stays undirected
Pick = tuple[int, tuple[int, ...], tuple[int, ...]]


class ChordalGraph:
    """A graph whose acyclic moral orientations are counted and drawn; subgraphs met on the way are remembered."""

    def __init__(self, neighbours: list[int]) -> None:
        self.neighbours = list(neighbours)
        self._picks: dict[int, list[Pick]] = {}
        self._counts: dict[int, int] = {}

    def count(self, members: int) -> int:
        """Number of AMOs of the connected graph on ``members``; 0 when it is not chordal."""
        if members in self._counts:
            return self._counts[members]
        size = members.bit_count()
        if all((self.neighbours[v] & members).bit_count() == size - 1 for v in bits_of(members)):
            total = factorial(size)
        elif self.visit(members) is None:
            total = 0
        else:
            total = sum(self._ways(pick) for pick in self._picks_of(members))
        self._counts[members] = total
        return total

    def draw(self, members: int, rng: np.random.Generator) -> list[int]:
        """An order of ``members``, cause first, that directs the edges as a uniformly drawn AMO."""
        total = self.count(members)
        if total == factorial(members.bit_count()):  # complete: every order is an AMO of its own
            return rng.permutation(list(bits_of(members))).tolist()
        picks = self._picks_of(members)
        shares = np.cumsum([self._ways(pick) / total for pick in picks])
        clique, forbidden, parts = picks[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))]
        order = _permutation_without_prefixes(list(bits_of(clique)), forbidden, rng)
        for part in parts:
            order += self.draw(part, rng)
        return order

    def visit(self, members: int) -> list[int] | None:
        """Maximum cardinality search: an order whose earlier neighbours form cliques; None if not chordal. O(n^2)."""
        order: list[int] = []
        seen = 0
        weight = dict.fromkeys(bits_of(members), 0)
        latest: dict[int, int] = {}
        while weight:
            v = max(weight, key=weight.__getitem__)
            del weight[v]
            earlier = self.neighbours[v] & seen
            if earlier and earlier & ~(1 << latest[v]) & ~self.neighbours[latest[v]]:
                return None
            order.append(v)
            seen |= 1 << v
            for u in bits_of(self.neighbours[v] & members & ~seen):
                weight[u] += 1
                latest[u] = v
        return order

    def _ways(self, pick: Pick) -> int:
        clique, forbidden, parts = pick
        ways = permutations_without_prefixes(clique.bit_count(), tuple(s.bit_count() for s in forbidden))
        for part in parts:
            ways *= self.count(part)
        return ways

    def _picks_of(self, members: int) -> list[Pick]:
        if members not in self._picks:
            cliques, hook, separator = self._clique_tree(members)
            picks = []
            for k, clique in enumerate(cliques):
                forbidden = set()
                here = k
                while hook[here] >= 0:
                    if separator[here] & ~clique == 0:
                        forbidden.add(separator[here])
                    here = hook[here]
                picks.append((clique, tuple(sorted(forbidden, key=int.bit_count)), self._still_free(members, clique)))
            self._picks[members] = picks
        return self._picks[members]

    def _clique_tree(self, members: int) -> tuple[list[int], list[int], list[int]]:
        """Maximal cliques, the clique each hangs from (-1 for the root), and what the two have in common."""
        order = self.visit(members)
        assert order is not None
        cliques, hook, separator = [0], [-1], [0]
        home: dict[int, int] = {}
        place = {v: k for k, v in enumerate(order)}
        seen, before = 0, 0
        for v in order:
            earlier = self.neighbours[v] & seen
            if seen and earlier.bit_count() <= before:
                cliques.append(earlier)
                hook.append(home[max(bits_of(earlier), key=place.__getitem__)])
                separator.append(earlier)
            home[v] = len(cliques) - 1
            cliques[-1] |= 1 << v
            seen |= 1 << v
            before = earlier.bit_count()
        return cliques, hook, separator

    def _still_free(self, members: int, clique: int) -> tuple[int, ...]:
        """C(K): components without a forced direction once ``clique`` comes first. Lexicographic search, O(n^2)."""
        row = [clique, members & ~clique]
        told = clique
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

    def chordless_cycle(self, members: int) -> list[int]:
        """A cycle of four or more nodes without a chord, first node repeated at the end; for graphs not chordal."""
        for v in bits_of(members):
            around = self.neighbours[v] & members
            for x in bits_of(around):
                for y in bits_of(around & ~self.neighbours[x] & ~((2 << x) - 1)):
                    path = self._shortest_path(x, y, members & ~(around | 1 << v) | 1 << x | 1 << y)
                    if path:
                        return [v, *path, v]
        raise AssertionError("the graph is chordal")

    def _shortest_path(self, start: int, goal: int, allowed: int) -> list[int]:
        came: dict[int, int] = {start: start}
        row = [start]
        for v in row:
            for u in bits_of(self.neighbours[v] & allowed):
                if u not in came:
                    came[u] = v
                    row.append(u)
        if goal not in came:
            return []
        path = [goal]
        while path[-1] != start:
            path.append(came[path[-1]])
        return path[::-1]


@lru_cache(maxsize=4096)
def permutations_without_prefixes(size: int, forbidden: tuple[int, ...]) -> int:
    """Permutations of ``size`` things of which no prefix is one of some nested sets, given by their sizes.

    ``phi(k; p_1 < p_2 < ...) = k! - sum over i of (k - p_i)! phi(p_i; p_1 .. p_(i-1))``: p_i is the first one met.

    Examples
    --------
    >>> permutations_without_prefixes(3, (1,))  # 6, less the 2 that start with the forbidden thing
    4
    """
    met = (factorial(size - p) * permutations_without_prefixes(p, forbidden[:i]) for i, p in enumerate(forbidden))
    return factorial(size) - sum(met)


def _permutation_without_prefixes(things: list[int], forbidden: tuple[int, ...], rng: np.random.Generator) -> list[int]:
    while True:
        order = rng.permutation(things).tolist()
        prefixes = [0]
        for v in order:
            prefixes.append(prefixes[-1] | 1 << v)
        if not set(prefixes) & set(forbidden):
            return order
