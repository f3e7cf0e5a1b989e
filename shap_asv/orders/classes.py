"""Equivalence classes of topological orders: what makes the exact algorithm affordable.

Two topological orders are equivalent with respect to a feature x when the same set S precedes x in both: x then has the
same marginal contribution. Prefixes of topological orders are ideals, so a class of x is an ideal S to which x can be
added, and it holds e(S) * e(X - S - x) orders. That is true for every DAG.

S contains the ancestors of x and none of its descendants. What it holds besides is an ideal of the features that are
unrelated to x, and any such ideal will do: the classes of x are as many as the ideals of the unrelated features.
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from shap_asv.orders.bitsets import bits_of, unpack
from shap_asv.orders.lattice import IdealLattice, build_lattice, enumerate_ideals
from shap_asv.orders.limits import check_limit, too_many_ideals
from shap_asv.orders.paths import exact_down, exact_up
from shap_asv.orders.topological.counting import count_ideals, count_topological_orders, ideals_up_to

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder


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


def equivalence_classes(order: "CausalOrder", x: int, limit: int | None = None) -> list[EquivalenceClass]:
    """Lambda^x with class sizes, prefixes from small to large.

    Sizes are read off the counted lattice of the whole order, O(edges) once; or, when the classes are few against the
    ideals (or the lattice passes ``limit``), counted class by class.
    """
    search = check_limit(limit)
    n_classes = count_equivalence_classes(order, x, search)
    n_ideals = ideals_up_to(order, search)
    if n_ideals is None or n_classes * order.n_features < n_ideals:
        found = _count_each(order, x, search)
    else:
        found = _read_lattice(order, x, search)
    names = order.features
    return [EquivalenceClass(frozenset(names[v] for v in prefix), size) for prefix, size in found]


def _count_each(order: "CausalOrder", x: int, limit: int) -> list[tuple[list[int], int]]:
    others = unrelated(order, x)
    ancestors = list(bits_of(order.ancestor_bits[x]))
    after = list(bits_of(order.descendant_bits[x]))
    found: list[tuple[list[int], int]] = []
    for chosen in _ideals_among(order, others, limit):
        prefix = ancestors + [v for v, inside in zip(others, chosen, strict=True) if inside]
        suffix = after + [v for v, inside in zip(others, chosen, strict=True) if not inside]
        size = 1
        for part in (prefix, suffix):
            if part:
                size *= count_topological_orders(order.restricted_to(part), limit)
        found.append((prefix, size))
    return sorted(found, key=lambda entry: len(entry[0]))


def _ideals_among(order: "CausalOrder", indices: list[int], limit: int) -> np.ndarray:
    """The ideals of the suborder on ``indices``: bool (m, len(indices))."""
    if not indices:
        return np.zeros((1, 0), dtype=bool)
    suborder = order.restricted_to(indices)
    found = enumerate_ideals(suborder, limit)
    if found is None:
        raise too_many_ideals(suborder, limit)
    return unpack(found[0].T, len(indices))


# counted once per order, for all its features; gone when the order is
_counted: WeakKeyDictionary["CausalOrder", tuple[IdealLattice, np.ndarray, np.ndarray]] = WeakKeyDictionary()


def _read_lattice(order: "CausalOrder", x: int, limit: int) -> list[tuple[list[int], int]]:
    counted = _counted.get(order)
    if counted is None:
        built = build_lattice(order, limit)
        counted = _counted[order] = (built, exact_up(built), exact_down(built))
    lattice, up, down = counted
    edges = np.flatnonzero(lattice.edge_feature == x)
    sources = lattice.edge_source[edges]
    prefixes = unpack(lattice.words[sources], order.n_features)
    sizes = up[sources] * down[lattice.edge_target[edges]]
    return [(np.flatnonzero(prefix).tolist(), int(size)) for prefix, size in zip(prefixes, sizes, strict=True)]
