"""Taking an order apart: side by side, one after the other, trees, and what is left.

Counting and sampling are hard for partial orders in general, but most causal graphs fall apart:

- *parallel*: the order has several connected components. Orders of the whole are interleavings of orders of the
  components.
- *series*: some features precede all the others (as in ``from_levels``). Orders of the whole are orders of the lower
  part followed by orders of the upper part.
- *tree*: the cover relation is an undirected tree; closed forms and polynomial algorithms exist.
- *prime*: none of these. Only here the lattice of ideals, or a Markov chain, is needed.

Parts are convex (what lies between two members is a member), so that their cover relation is the whole one's,
restricted.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

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
    left = set(members)
    parts = []
    for start in members:
        if start not in left:
            continue
        left.discard(start)
        part = [start]
        for v in part:  # grows while it is read
            for u in (*order.parents[v], *order.children[v]):
                if u in left:
                    left.discard(u)
                    part.append(u)
        parts.append(tuple(sorted(part)))
    return parts


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
