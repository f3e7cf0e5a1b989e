"""Orders taken apart, and counted: topological orders, ideals, equivalence classes; exact integers at any size.

*Taking apart.* Counting and sampling are hard for partial orders in general, but most causal graphs fall apart:

- *parallel*: the order has several connected components. Orders of the whole are interleavings of orders of the
  components.
- *series*: some features precede all the others (as in ``from_levels``). Orders of the whole are orders of the lower
  part followed by orders of the upper part.
- *tree*: the cover relation is an undirected tree; its ideals have a closed form.
- *prime*: none of these. Only here the lattice of ideals, or a Markov chain, is needed.

Parts are convex (what lies between two members is a member), so that their cover relation is the whole one's,
restricted.

*Counting* follows these blocks, with e = topological orders and J = ideals:

| block    | e                                     | J                            |
|----------|---------------------------------------|------------------------------|
| parallel | multinomial(sizes) * product of parts | product of parts             |
| series   | product of parts                      | 1 + sum of (parts - 1)       |
| tree     | as a prime, if not a rooted forest    | two numbers per feature, O(n)|
| prime    | paths through the lattice             | search, up to a limit        |

On a rooted tree the ideals obey J(y) = 1 + product over children z of J(z), the paper's recursion for f.

*Equivalence classes.* Two topological orders are equivalent with respect to a feature x when the same set S precedes x
in both: x then has the same marginal contribution. Prefixes of topological orders are ideals, so a class of x is an
ideal S to which x can be added, and it holds e(S) * e(X - S - x) orders. That is true for every DAG. S contains the
ancestors of x and none of its descendants; what it holds besides is an ideal of the features that are unrelated to x,
and any such ideal will do: the classes of x are as many as the ideals of the unrelated features.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from math import factorial, prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from shap_asv.orders import bitsets
from shap_asv.orders.lattice import (
    IdealLattice,
    build_lattice,
    check_limit,
    enumerate_ideals,
    exact_down,
    exact_up,
    too_many_ideals,
)

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

Kind = Literal["parallel", "series", "tree", "prime"]


@dataclass(frozen=True)
class Block:
    """A part of an order.

    Attributes
    ----------
    kind : "parallel", "series", "tree" or "prime"
    members : tuple of int
        Feature indices, ascending.
    parts : tuple of int
        Where the parts of a parallel or series block stand in the list of blocks; series parts from first to last.
    """

    kind: Kind
    members: tuple[int, ...]
    parts: tuple[int, ...] = ()


def decompose(order: "CausalOrder", whole_trees: bool = True) -> list[Block]:
    """The blocks of ``order``; the first is the whole, and every block stands before its parts.

    Reading the list backwards therefore meets parts before what they make up. O((n + edges) * depth). Trees are left
    whole, unless ``whole_trees`` is false: then only single features are, and trees without a first or a last feature.

    Examples
    --------
    >>> from shap_asv.orders import CausalOrder
    >>> order = CausalOrder.from_levels([["a", "b"], ["c", "d"]])
    >>> [(block.kind, block.members) for block in decompose(order)][:3]
    [('series', (0, 1, 2, 3)), ('parallel', (0, 1)), ('parallel', (2, 3))]
    >>> star = CausalOrder.from_edges([("a", "b"), ("a", "c")])
    >>> [block.kind for block in decompose(star)], [block.kind for block in decompose(star, whole_trees=False)]
    (['tree'], ['series', 'tree', 'parallel', 'tree', 'tree'])
    """
    blocks: list[Block] = []
    waiting = [tuple(range(order.n_features))]
    places = [0]
    blocks.append(Block("prime", waiting[0]))
    while waiting:
        members, place = waiting.pop(), places.pop()
        kind, parts = _split(order, members, whole_trees)
        numbers = tuple(range(len(blocks), len(blocks) + len(parts)))
        blocks[place] = Block(kind, members, numbers)
        for part, number in zip(parts, numbers, strict=True):
            blocks.append(Block("prime", part))
            waiting.append(part)
            places.append(number)
    return blocks


def _split(order: "CausalOrder", members: tuple[int, ...], whole_trees: bool) -> tuple[Kind, list[tuple[int, ...]]]:
    parts = components(order, members)
    if len(parts) > 1:
        return "parallel", parts
    inside = set(members)
    n_edges = sum(p in inside for v in members for p in order.parents[v])
    is_tree = n_edges == len(members) - 1
    if is_tree and (whole_trees or len(members) == 1):
        return "tree", []
    parts = _stacked(order, members)
    if len(parts) > 1:
        return "series", parts
    return "tree" if is_tree else "prime", []


def components(order: "CausalOrder", members: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The connected components of some members, by the cover relation among them."""
    inside = sum(1 << v for v in members)
    return [tuple(bitsets.bits_of(part)) for part in bitsets.components(inside, order.neighbour_bits)]


def _stacked(order: "CausalOrder", members: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Cut wherever a lower part precedes all the rest.

    Sorted by the number of ancestors, the first k members are such a part exactly when all others have at least k
    ancestors: a minimal one of the others has none but those k, so it has all of them.
    """
    mask = sum(1 << v for v in members)
    counts = {v: (order.ancestor_bits[v] & mask).bit_count() for v in members}
    ranked = sorted(members, key=counts.__getitem__)
    cuts = [k for k, v in enumerate(ranked) if counts[v] >= k]  # the smallest count among the others is the next one's
    return [tuple(sorted(ranked[a:b])) for a, b in zip(cuts, [*cuts[1:], len(ranked)], strict=True)]


def _hang_up(
    order: "CausalOrder", root: int, members: tuple[int, ...]
) -> tuple[list[int], dict[int, int], dict[int, bool]]:
    """Hang a tree up at ``root``: its features, root first; what each hangs from; does it come after that? O(n)."""
    inside = set(members)
    sequence = [root]
    hook: dict[int, int] = {}
    follows: dict[int, bool] = {}
    for v in sequence:  # grows while it is read
        for after, neighbours in ((True, order.children[v]), (False, order.parents[v])):
            for u in neighbours:
                if u in inside and u != hook.get(v):
                    hook[u] = v
                    follows[u] = after
                    sequence.append(u)
    return sequence, hook, follows


# --- topological orders and ideals ---------------------------------------------------------------------------------


def count_topological_orders(order: "CausalOrder", limit: int | None = None) -> int:
    """e(order), exactly; ``limit`` bounds the lattice of each part that falls no further apart."""
    search = check_limit(limit)
    if order.is_forest:  # hook length formula
        return factorial(order.n_features) // prod(subtree_sizes(order))
    blocks = decompose(order, whole_trees=False)
    total = 1
    for block in blocks:
        if block.kind == "parallel":
            sizes = [len(blocks[part].members) for part in block.parts]
            total *= factorial(sum(sizes)) // prod(map(factorial, sizes))
        elif not block.parts and len(block.members) > 1:
            total *= exact_down(build_lattice(order.restricted_to(block.members), search))[0]
    return total


def subtree_sizes(order: "CausalOrder") -> list[int]:
    """Number of features at and below each feature of a forest."""
    sizes = [1] * order.n_features
    for v in reversed(order.topological_indices):
        for p in order.parents[v]:
            sizes[p] += sizes[v]
    return sizes


def count_ideals(order: "CausalOrder", limit: int | None = None) -> int:
    """J(order), exactly; see :meth:`CausalOrder.count_ideals` for what ``limit`` means."""
    count = _ideals_found(order, check_limit(limit))
    if count is None or (limit is not None and count > limit):
        raise too_many_ideals(order, check_limit(limit))
    return count


def ideals_up_to(order: "CausalOrder", limit: int) -> int | None:
    """J(order), or None when it passes ``limit``: the question a plan asks."""
    count = _ideals_found(order, limit)
    return None if count is None or count > limit else count


@lru_cache(maxsize=64)  # a plan asks on behalf of every backend
def _ideals_found(order: "CausalOrder", search: int) -> int | None:
    """J(order), or None when a prime block has more than ``search`` ideals. A closed form may well give more."""
    blocks = decompose(order)
    counts = [0] * len(blocks)
    for place in reversed(range(len(blocks))):
        block = blocks[place]
        parts = [counts[part] for part in block.parts]
        if block.kind == "parallel":
            counts[place] = prod(parts)
        elif block.kind == "series":
            counts[place] = 1 + sum(part - 1 for part in parts)
        elif block.kind == "tree":
            counts[place] = _ideals_of_tree(order, block.members)
        else:
            found = enumerate_ideals(order.restricted_to(block.members), search)
            if found is None:
                return None
            counts[place] = len(found[1])
    return counts[0]


def _ideals_of_tree(order: "CausalOrder", members: tuple[int, ...]) -> int:
    """Ideals of a tree block: per feature the number of ideals of what hangs from it, without it and with it. O(n)."""
    sequence, hook, follows = _hang_up(order, members[0], members)
    without = dict.fromkeys(sequence, 1)
    including = dict.fromkeys(sequence, 1)
    for c in reversed(sequence[1:]):
        either = without[c] + including[c]
        # an effect may only be in when its cause is
        without[hook[c]] *= without[c] if follows[c] else either
        including[hook[c]] *= either if follows[c] else including[c]
    return without[sequence[0]] + including[sequence[0]]


# --- equivalence classes -------------------------------------------------------------------------------------------


class EquivalenceClass(NamedTuple):
    """All topological orders in which exactly ``prefix`` comes before the feature; ``size`` is their number."""

    prefix: frozenset[Hashable]
    size: int


def unrelated(order: "CausalOrder", x: int) -> list[int]:
    """Indices of the features that neither precede nor follow feature ``x``."""
    related = order.ancestor_bits[x] | order.descendant_bits[x] | 1 << x
    return [v for v in range(order.n_features) if not related >> v & 1]


def count_equivalence_classes(order: "CausalOrder", x: int, limit: int | None = None) -> int:
    """|Lambda^x|: the number of ideals of the features unrelated to ``x``; limits as in :func:`count_ideals`."""
    others = unrelated(order, x)
    if not others:
        check_limit(limit)
        return 1
    return count_ideals(order.restricted_to(others), limit)


@lru_cache(maxsize=1)  # for all features of an order
def _counted(order: "CausalOrder", limit: int) -> tuple[IdealLattice, np.ndarray, np.ndarray]:
    lattice = build_lattice(order, limit)
    return lattice, exact_up(lattice), exact_down(lattice)


def equivalence_classes(order: "CausalOrder", x: int, limit: int | None = None) -> list[EquivalenceClass]:
    """Lambda^x with class sizes, prefixes from small to large: read off the counted lattice, O(edges) once."""
    lattice, up, down = _counted(order, check_limit(limit))
    edges = np.flatnonzero(lattice.edge_feature == x)
    sources = lattice.edge_source[edges]
    prefixes = bitsets.unpack(lattice.words[sources], order.n_features)
    sizes = up[sources] * down[lattice.edge_target[edges]]
    names = order.features
    return [
        EquivalenceClass(frozenset(names[v] for v in np.flatnonzero(prefix)), int(size))
        for prefix, size in zip(prefixes, sizes, strict=True)
    ]
