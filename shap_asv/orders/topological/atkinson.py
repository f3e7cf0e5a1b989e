"""Atkinson's algorithm: topological orders of a tree-shaped order, counted by the position of a root. O(n^2).

Let the cover relation be an undirected tree, hung up at any feature ``r``. For a subtree with root ``c`` keep the
vector

    b_j = number of orders of the subtree in which c stands at position j  (j = 1 .. size).

To join the subtree (size n2, vector b) to a tree of size n1 with root ``r`` and vector ``a``, say how many of its
members come before r, k of them. If r precedes c, then c is not among those, which leaves T_k = sum over j > k of b_j
orders; if c precedes r, it is among them, and T_k = sum over j <= k of b_j. Members before r interleave freely, and so
do those after:

    c_(i+k) += a_i * C(i-1+k, k) * C(n1-i + n2-k, n2-k) * T_k

Written with A_i = a_i C(n1-1, i-1) and B_k = T_k C(n2, k) this is a product of polynomials with integer coefficients:

    c_p = (A * B)_p * (p-1)! (n1+n2-p)! / ((n1-1)! n2!)
"""

from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder


@dataclass(frozen=True)
class HungTree:
    """A tree-shaped order hung up at a root.

    Attributes
    ----------
    sequence : tuple of int
        Features, each after the one it hangs from; the root first.
    hook : dict
        ``hook[c]`` is the feature from which ``c`` hangs; the root has none.
    follows : dict
        ``follows[c]``: whether ``c`` comes after its hook in the order (else before it).
    counts : dict
        ``counts[c][j]``: number of orders of what hangs from ``c``, with ``c`` at position ``j`` (counted from 0).
    """

    sequence: tuple[int, ...]
    hook: dict[int, int]
    follows: dict[int, bool]
    counts: dict[int, list[int]]


def hang_up(order: "CausalOrder", members: tuple[int, ...]) -> HungTree:
    """Count positions in the tree on ``members`` (one tree block). O(n^2) operations on Python integers."""
    sequence, hook, follows = walk_tree(order, members[0], frozenset(members))
    sequence, hook, follows = walk_tree(order, _centroid(sequence, hook), frozenset(members))
    counts: dict[int, list[int]] = {v: [1] for v in sequence}
    for c in reversed(sequence[1:]):
        r = hook[c]
        counts[r] = _join(counts[r], ways_before(counts[c], follows[c]))
    return HungTree(tuple(sequence), hook, follows, counts)


def ways_before(counts: list[int], follows: bool) -> list[int]:
    """T_k for k = 0 .. size: orders of a subtree whose root comes after (or before) the first k of them.

    Examples
    --------
    >>> ways_before([2, 1], follows=True)
    [3, 1, 0]
    >>> ways_before([2, 1], follows=False)
    [0, 2, 3]
    """
    if follows:
        return [0, *accumulate(reversed(counts))][::-1]
    return [0, *accumulate(counts)]


def _join(a: list[int], ways: list[int]) -> list[int]:
    n1, n2 = len(a), len(ways) - 1
    n = n1 + n2
    left = list(map(mul, a, _binomials(n1 - 1)))
    right = list(map(mul, ways, _binomials(n2)))[::-1]
    row = _binomials(n - 1)
    joined = []
    for p in range(n):
        low, high = max(0, p - n2), min(n1, p + 1)
        total = sum(map(mul, left[low:high], right[n2 - p + low : n2 - p + high]))
        # p! (n-1-p)! / ((n1-1)! n2!) = C(n-1, n2) / C(n-1, p), and the division is exact
        joined.append(total * row[n2] // row[p])
    return joined


def _binomials(n: int) -> list[int]:
    """C(n, k) for k = 0 .. n, each from the one before."""
    return list(accumulate(range(n), lambda c, k: c * (n - k) // (k + 1), initial=1))


def walk_tree(
    order: "CausalOrder", root: int, members: frozenset[int]
) -> tuple[list[int], dict[int, int], dict[int, bool]]:
    """Hang the tree up at ``root``: the first three attributes of :class:`HungTree`. O(n)."""
    sequence = [root]
    hook: dict[int, int] = {}
    follows: dict[int, bool] = {}
    for v in sequence:  # grows while it is read
        for after, neighbours in ((True, order.children[v]), (False, order.parents[v])):
            for u in neighbours:
                if u in members and u != hook.get(v):
                    hook[u] = v
                    follows[u] = after
                    sequence.append(u)
    return sequence, hook, follows


def _centroid(sequence: list[int], hook: dict[int, int]) -> int:
    """The feature whose removal leaves the smallest parts: hung up there, the subtrees of deep trees stay small."""
    size = dict.fromkeys(sequence, 1)
    largest = dict.fromkeys(sequence, 0)
    for v in reversed(sequence[1:]):
        size[hook[v]] += size[v]
        largest[hook[v]] = max(largest[hook[v]], size[v])
    return min(sequence, key=lambda v: max(largest[v], len(sequence) - size[v]))
