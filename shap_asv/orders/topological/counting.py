"""How many topological orders, how many ideals: exact Python integers at any size.

Both follow the blocks of :mod:`shap_asv.orders.topological.decomposition`, with e = topological orders and J = ideals:

| block    | e                                     | J                            |
|----------|---------------------------------------|------------------------------|
| parallel | multinomial(sizes) * product of parts | product of parts             |
| series   | product of parts                      | 1 + sum of (parts - 1)       |
| tree     | hook length, or Atkinson              | two numbers per feature, O(n)|
| prime    | paths through the lattice             | search, up to a limit        |

On a rooted tree the ideals obey J(y) = 1 + product over children z of J(z), the paper's recursion for f.
"""

from functools import lru_cache
from math import factorial, prod
from typing import TYPE_CHECKING

from shap_asv.orders.lattice import build_lattice, enumerate_ideals
from shap_asv.orders.limits import check_limit, too_many_ideals
from shap_asv.orders.paths import count_paths
from shap_asv.orders.topological.atkinson import hang_up, walk_tree
from shap_asv.orders.topological.decomposition import decompose

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder


def count_topological_orders(order: "CausalOrder", limit: int | None = None) -> int:
    """e(order), exactly; ``limit`` bounds the lattice of each prime block, in ideals."""
    search = check_limit(limit)
    if order.is_forest:
        return count_by_hooks(order)
    blocks = decompose(order)
    total = 1
    for block in blocks:
        if block.kind == "parallel":
            sizes = [len(blocks[part].members) for part in block.parts]
            total *= factorial(sum(sizes)) // prod(map(factorial, sizes))
        elif block.kind == "tree":
            tree = hang_up(order, block.members)
            total *= sum(tree.counts[tree.sequence[0]])
        elif block.kind == "prime":
            total *= count_paths(build_lattice(order.restricted_to(block.members), search))
    return total


def count_by_hooks(order: "CausalOrder") -> int:
    """e of a forest: ``n! / product of subtree sizes`` (hook length formula). O(n)."""
    return factorial(order.n_features) // prod(subtree_sizes(order))


def subtree_sizes(order: "CausalOrder") -> list[int]:
    """Number of features at and below each feature of a forest."""
    sizes = [1] * order.n_features
    for v in reversed(order.topological_indices):
        for p in order.parents[v]:
            sizes[p] += sizes[v]
    return sizes


def count_ideals(order: "CausalOrder", limit: int | None = None) -> int:
    """J(order), exactly; see :meth:`CausalOrder.count_ideals` for what ``limit`` means."""
    count = ideals_found(order, check_limit(limit))
    if count is None or (limit is not None and count > limit):
        raise too_many_ideals(order, check_limit(limit))
    return count


def ideals_up_to(order: "CausalOrder", limit: int) -> int | None:
    """J(order), or None when it passes ``limit``: the question a plan asks."""
    count = ideals_found(order, limit)
    return None if count is None or count > limit else count


@lru_cache(maxsize=64)  # a plan asks on behalf of every backend
def ideals_found(order: "CausalOrder", search: int) -> int | None:
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
    sequence, hook, follows = walk_tree(order, members[0], frozenset(members))
    without = dict.fromkeys(sequence, 1)
    including = dict.fromkeys(sequence, 1)
    for c in reversed(sequence[1:]):
        either = without[c] + including[c]
        # an effect may only be in when its cause is
        without[hook[c]] *= without[c] if follows[c] else either
        including[hook[c]] *= either if follows[c] else including[c]
    return without[sequence[0]] + including[sequence[0]]
