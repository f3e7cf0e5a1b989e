"""An order that falls apart, in the form that :mod:`shap_asv.backends.trees.kernels.parts` asks for.

Half a graph is the usual case: a few arrows, and many features without any. Its ideals cannot be listed (each feature
without arrows doubles them), but its parts are small, and only parts that hold features of D have to be looked at.
"""

from collections import namedtuple

import numpy as np
from scipy.special import gammaln

from shap_asv.orders import CausalOrder
from shap_asv.orders.lattice import IdealLattice, build_lattice
from shap_asv.orders.topological.decomposition import Block, decompose

#: Numbers that the chances of one set of features may take.
MOST_CHANCES = 1 << 23

# The kernels' Parts, Primes, the rank (n,) of each feature (features of a block are a run), log-factorials (n + 1,).
OrderParts = namedtuple("OrderParts", "parts primes rank log_factorial")


def falls_apart(order: CausalOrder) -> bool:
    """Is the order made of parts, side by side or one after the other?"""
    return bool(decompose(order, whole_trees=False)[0].parts)


def shuffling_work(order: CausalOrder, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Multiplications, and numbers to be kept, for each of several sets of features: two float arrays (sets,).

    ``member`` (sets, n) says who is in D. Lattices of prime parts are not counted. O(sets * n).
    """
    blocks = decompose(order, whole_trees=False)
    inside = [member[:, list(block.members)].sum(axis=1) for block in blocks]
    work, kept = np.zeros(len(member)), np.zeros(len(member))
    for block, outer, within in zip(blocks, _outer_blocks(blocks), inside, strict=True):
        if block.kind != "parallel":
            if block.kind != "series" or not outer:
                kept += (within > 0) * (len(block.members) + 1.0) * _cells(within)
            continue
        size, m = np.zeros(len(member)), np.zeros(len(member))
        shuffled = [(len(blocks[p].members) * (inside[p] > 0), inside[p]) for p in block.parts]
        if not outer:
            held = sum(own for own, _ in shuffled)
            shuffled.append(((len(block.members) - held) * (within > 0), np.zeros(len(member))))
        for own, more in shuffled:
            joined = (size > 0) & (own > 0)
            work += joined * (size + 1) * (own + 1) * _cells(m + more)
            size, m = size + own, m + more
            kept += joined * (size + 1) * _cells(m)
    return work, kept


def _cells(m: np.ndarray) -> np.ndarray:
    return 2.0**m * (1.0 + m)


def _outer_blocks(blocks: list[Block]) -> np.ndarray:
    """Which blocks are the whole, or stand one after the other in it: bool (blocks,)."""
    outer = np.zeros(len(blocks), dtype=bool)
    outer[0] = True
    for number, block in enumerate(blocks):
        if outer[number] and block.kind == "series":
            outer[list(block.parts)] = True
    return outer


def prime_orders(order: CausalOrder) -> list[CausalOrder]:
    """The parts that cannot be taken apart and have more than one feature: their ideals have to be listed."""
    blocks = decompose(order, whole_trees=False)
    return [order.restricted_to(block.members) for block in blocks if not block.parts and len(block.members) > 1]


def take_apart(order: CausalOrder, ideal_limit: int | None = None) -> OrderParts:
    """The blocks of an order as flat arrays.

    Raises
    ------
    BudgetExceededError
        A part has more than ``ideal_limit`` ideals.

    Examples
    --------
    >>> order = CausalOrder.from_edges([("a", "b"), ("c", "b"), ("c", "d")], features=["a", "b", "c", "d", "e"])
    >>> found = take_apart(order)
    >>> found.parts.kind.tolist(), found.parts.size.tolist()  # side by side: a lattice of four features, and e
    ([1, 3, 0], [5, 4, 1])
    """
    from shap_asv.backends.trees.kernels.parts import PARALLEL, PRIME, SERIES, SINGLE, Parts

    blocks = decompose(order, whole_trees=False)
    rank = np.empty(order.n_features, dtype=np.int64)
    rank[_sequence(blocks)] = np.arange(order.n_features)
    kinds = {"parallel": PARALLEL, "series": SERIES}
    ranks = [rank[list(block.members)] for block in blocks]
    parts = Parts(
        np.array([kinds.get(block.kind, PRIME if len(block.members) > 1 else SINGLE) for block in blocks]),
        np.array([len(block.members) for block in blocks]),
        np.array([own.min() for own in ranks]),
        np.array([own.max() + 1 for own in ranks]),
        _outer_blocks(blocks),
        np.concatenate([[0], np.cumsum([len(block.parts) for block in blocks])]),
        np.array([part for block in blocks for part in block.parts], dtype=np.int64),
    )
    return OrderParts(
        parts, _list_primes(order, blocks, ideal_limit), rank, gammaln(np.arange(order.n_features + 1) + 1)
    )


def _sequence(blocks: list[Block]) -> list[int]:
    """All features, those of every block next to one another."""
    waiting: list[int] = [0]
    found: list[int] = []
    while waiting:
        block = blocks[waiting.pop()]
        waiting += reversed(block.parts)
        if not block.parts:
            found += block.members
    return found


def _list_primes(order: CausalOrder, blocks: list[Block], ideal_limit: int | None) -> tuple:
    from shap_asv.backends.trees.kernels.parts import Primes

    n = order.n_features
    lattices: list[IdealLattice | None] = [
        build_lattice(order.restricted_to(block.members), ideal_limit)
        if not block.parts and len(block.members) > 1
        else None
        for block in blocks
    ]
    member_start = np.zeros(n, dtype=np.int64)
    edges: list[tuple[np.ndarray, np.ndarray]] = [(np.zeros(0, dtype=np.int32), np.zeros(0))] * n
    sizes, chances, members = [], [], []
    used = 0
    for block, lattice in zip(blocks, lattices, strict=True):
        if lattice is None:
            continue
        inside = lattice.members()
        sizes.append(inside.sum(axis=1))
        passed = np.bincount(lattice.edge_target, weights=lattice.edge_weights, minlength=lattice.n_ideals)
        passed[0] = 1.0
        chances.append(passed)
        for place, v in enumerate(block.members):
            member_start[v] = used
            used += lattice.n_ideals
            members.append(inside[:, place])
            own = np.flatnonzero(lattice.edge_feature == place)
            edges[v] = (lattice.edge_source[own], lattice.edge_weights[own])
    counts = [0 if lattice is None else lattice.n_ideals for lattice in lattices]

    def join(arrays: list[np.ndarray], dtype: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype=dtype), *arrays]).astype(dtype)

    return Primes(
        np.concatenate([[0], np.cumsum(counts)]),
        join(sizes, np.int32),
        join(chances, np.float64),
        member_start,
        join(members, np.uint8),
        np.concatenate([[0], np.cumsum([len(source) for source, _ in edges])]),
        join([source for source, _ in edges], np.int32),
        join([weight for _, weight in edges], np.float64),
    )
