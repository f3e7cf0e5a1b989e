"""W restricted to a few features: how probable is it that exactly B of D precede i in a random order?

    w_D(i, B) = sum of w(S, i) over the coalitions S with  S & D = B          i in D, B a subset of D - i

A term of a model sees few features D, and its value depends on ``S & D`` alone; so w_D is all of W that it needs. Five
kinds of orders, the cheapest first:

- *levels* (no edges = one level): earlier levels are in, later ones out, Shapley's weights inside. Closed form.
- *forest*: features of D and their causes arrive one by one, the next being v with probability proportional to the size
  of its subtree; a walk over the ideals of these few features.
- *parts*: an order that falls apart (half a graph: a few edges, and many features without any), part by part, whatever
  the number of its ideals. Parts that do not fall apart have their lattice projected on D.
- *lattice*: the weights of all ideals of the order, or of several orders, projected on D.
- *orders*: given or sampled orders, each with a share: coalitions are counted.

*Polytrees* need no lattice, whatever the number of their ideals (:func:`list_polytree_steps`): the times of the other
features are integrated out. Independent uniform times, kept when causes come before effects, arrive in a uniform
topological order. So

    w_D(i, B) ~ integral over t of the volume of all times with t_i = t, B below t, and D - B - i above t,

and the weights of one i add up to 1. For a fixed t the volume is found by messages along the undirected tree. The
message from u to its neighbour v is, for each subset B of D on the side of u, a function of v's time s: the volume of
the times on that side,

    u a cause of v:   integral of h_u from 0 to s        u an effect of v:   integral of h_u from s to 1

with ``h_u`` the product of the messages that u got from its other neighbours, times [u is on its side of t] if u is in
D. Each function is one polynomial below t and one above; in the Bernstein basis products and integrals are sums of
positive numbers, so that nothing cancels. In t the volume is a polynomial again: Gauss-Legendre points are exact.

For n features and K subsets B: O(n^2 K) numbers at most (n / 2 points t, polynomials of degree < n), and often few of
them differ.
"""

from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln

from shap_asv.errors import BudgetExceededError
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.counting import Block, components, decompose, subtree_sizes
from shap_asv.orders.lattice import build_lattice
from shap_asv.orders.players import Players
from shap_asv.orders.uncertain.mixture import GraphMixture
from shap_asv.orders.weights import check_orders, weigh_ideals

LEVELS, FOREST, PARTS, LATTICE, ORDERS = "levels", "forest", "parts", "lattice", "orders"

#: Up to so many ideals, projecting them is faster than taking the order apart.
FEW_IDEALS = 1 << 13
#: Steps that are listed together.
MOST_STEPS = 1 << 21
#: In a forest: ideals of the features of D and their causes, and features of both that fit a machine word.
MOST_IDEALS, WIDEST = 1 << 17, 62
#: In an order of parts: numbers that the chances of one D may take.
MOST_CHANCES = 1 << 23
#: Numbers of a lattice, or of listed orders, that one compiled call may read.
MOST_READ = 1 << 29

# Sets of features end to end: feature (.,) from start (sets + 1,) on; which of them are meant.
Sets = namedtuple("Sets", "start feature which")


@dataclass(frozen=True, eq=False)
class RestrictedWeights:
    """W in a form that can be restricted to any few features; :class:`StepLister` does it.

    Attributes
    ----------
    kind : str
        LEVELS, FOREST, PARTS, LATTICE or ORDERS.
    level : int64 array (n,)
        Features of a set have to be listed by ascending level: levels, and features of a part, are runs of places.
    closed : bool
        Whether a union of coalitions that are passed is one that is passed. So it is for the ideals of one order.
    arrays : tuple
        What the compiled code of the kind reads.
    """

    kind: str
    level: np.ndarray
    closed: bool = True
    arrays: Any = ()


def kind_of(order: CausalOrder | GraphMixture) -> str:
    """The cheapest kind that an order is; several graphs together are always a lattice."""
    if isinstance(order, GraphMixture):
        return LATTICE
    if order.level_numbers is not None:
        return LEVELS
    if order.is_forest:
        return FOREST
    falls_apart = bool(decompose(order, whole_trees=False)[0].parts)
    return PARTS if falls_apart and not _has_few_ideals(order, FEW_IDEALS) else LATTICE


@lru_cache(maxsize=64)  # plans are made again and again
def _has_few_ideals(order: CausalOrder, limit: int) -> bool:
    try:
        return order.count_ideals(limit=limit) <= limit
    except BudgetExceededError:
        return False


def restrict_order(
    order: CausalOrder | GraphMixture, ideal_limit: int | None = None, kind: str | None = None
) -> RestrictedWeights:
    """The weights of an order, or the mean of those of several; ``kind`` asks for one that is not the cheapest.

    Raises
    ------
    BudgetExceededError
        A lattice is needed, of the order or of a part of it, and has more than ``ideal_limit`` ideals.
    """
    n = order.n_features
    if isinstance(order, GraphMixture):
        weights = weigh_ideals(order, ideal_limit)
        return _restrict_lattice(weights.coalitions, *weights.steps(), closed=False)
    kind = kind_of(order) if kind is None else kind
    if kind == LEVELS:
        levels = order.level_numbers
        assert levels is not None
        return RestrictedWeights(LEVELS, levels)
    if kind == FOREST:
        parent = np.array([ps[0] if ps else -1 for ps in order.parents], dtype=np.int64)
        size = np.array(subtree_sizes(order), dtype=np.float64)
        return RestrictedWeights(
            FOREST, np.zeros(n, dtype=np.int64), arrays=(parent, size, np.array(order.topological_indices))
        )
    if kind == PARTS:
        return _restrict_parts(order, ideal_limit)
    lattice = build_lattice(order, ideal_limit)
    return _restrict_lattice(
        lattice.members(), lattice.edge_source, lattice.edge_feature, lattice.edge_weights, closed=True
    )


def restrict_groups(
    order: CausalOrder | GraphMixture, players: Players, ideal_limit: int | None = None
) -> RestrictedWeights:
    """The weights of an order of groups, or of several: ideals in which the members of a group follow one another.

    A step ``S -> S + group`` becomes as many steps as the group has members, each with the step's weight; what they
    add up to is the value of the group (:meth:`Players.add_up`).
    """
    weights = weigh_ideals(order, ideal_limit)
    ideals, (before, joins, shares) = players.expand(weights.coalitions), weights.steps()
    sets, source, feature, weight = [ideals], [], [], []
    count = len(ideals)
    for player in range(len(players)):
        edges = np.flatnonzero(joins == player)
        here = before[edges].astype(np.int64)
        for place, member in enumerate(players.members(player)):
            if place:
                inside = ideals[before[edges]]
                inside[:, players.members(player)[:place]] = True
                sets.append(inside)
                here = count + np.arange(len(edges))
                count += len(edges)
            source.append(here)
            feature.append(np.full(len(edges), member))
            weight.append(shares[edges])
    # members in the middle of two groups are not passed together: not closed under unions
    steps = np.concatenate(source), np.concatenate(feature), np.concatenate(weight)
    return _restrict_lattice(np.concatenate(sets), *steps, closed=False)


def restrict_orders(orders: np.ndarray) -> RestrictedWeights:
    """The weights of explicit orders (k, n), which count alike."""
    orders = check_orders(orders)
    share = np.full(len(orders), 1 / len(orders))
    rank = np.empty(orders.shape, dtype=np.int32)
    np.put_along_axis(rank, orders, np.arange(orders.shape[1], dtype=np.int32)[None], axis=1)
    return RestrictedWeights(ORDERS, np.zeros(orders.shape[1], dtype=np.int64), False, (rank, share))


# --- orders in parts, and those of one part -----------------------------------------------------------------------


def shuffling_work(order: CausalOrder, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Multiplications, and numbers to be kept, for each of several sets of features: two float arrays (sets,).

    ``member`` (sets, n) says which features are in D. Lattices of prime parts are not counted. O(sets * n).
    """
    blocks = decompose(order, whole_trees=False)
    inside = [member[:, list(block.members)].sum(axis=1) for block in blocks]
    work, kept = np.zeros(len(member)), np.zeros(len(member))
    for block, outer, within in zip(blocks, _outer_blocks(blocks), inside, strict=True):
        if block.kind != "parallel":
            if not (outer and (block.kind == "series" or _is_prime(block))):  # these are listed as they are
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


def _is_prime(block: Block) -> bool:
    return not block.parts and len(block.members) > 1


def prime_orders(order: CausalOrder) -> list[CausalOrder]:
    """The parts that cannot be taken apart and have more than one feature: their ideals have to be listed."""
    return [order.restricted_to(block.members) for block in decompose(order, whole_trees=False) if _is_prime(block)]


def _restrict_parts(order: CausalOrder, ideal_limit: int | None) -> RestrictedWeights:
    """The blocks of an order as flat arrays; a BudgetExceededError where one has more than ``ideal_limit`` ideals."""
    from shap_asv.orders.kernels import PARALLEL, PRIME, SERIES, SINGLE, Parts, Primes

    blocks, n = decompose(order, whole_trees=False), order.n_features
    rank = np.empty(n, dtype=np.int64)
    rank[_sequence(blocks)] = np.arange(n)
    kinds = {"parallel": PARALLEL, "series": SERIES}
    ranks = [rank[list(block.members)] for block in blocks]
    parts = Parts(
        np.array([kinds.get(block.kind, PRIME if _is_prime(block) else SINGLE) for block in blocks]),
        np.array([len(block.members) for block in blocks]),
        np.array([own.min() for own in ranks]),
        np.array([own.max() + 1 for own in ranks]),
        _outer_blocks(blocks),
        np.concatenate([[0], np.cumsum([len(block.parts) for block in blocks])]),
        np.array([part for block in blocks for part in block.parts], dtype=np.int64),
    )
    none = (np.zeros(0, dtype=np.int32), np.zeros(0))
    edges: list[tuple[np.ndarray, np.ndarray]] = [none] * n
    member_start = np.zeros(n, dtype=np.int64)
    counts: list[int] = []
    nothing: list[np.ndarray] = [np.zeros(0)]
    sizes, chances, members = nothing[:], nothing[:], nothing[:]
    used = 0
    for block in blocks:
        counts.append(0)
        if not _is_prime(block):
            continue
        lattice = build_lattice(order.restricted_to(block.members), ideal_limit)
        inside = lattice.members()
        counts[-1] = lattice.n_ideals
        sizes.append(inside.sum(axis=1))
        chances.append(np.bincount(lattice.edge_target, weights=lattice.edge_weights, minlength=lattice.n_ideals))
        chances[-1][0] = 1.0
        for place, v in enumerate(block.members):
            member_start[v] = used
            used += lattice.n_ideals
            members.append(inside[:, place])
            own = np.flatnonzero(lattice.edge_feature == place)
            edges[v] = (lattice.edge_source[own], lattice.edge_weights[own])
    primes = Primes(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate(sizes).astype(np.int32),
        np.concatenate(chances),
        member_start,
        np.concatenate(members).astype(np.uint8),
        np.concatenate([[0], np.cumsum([len(source) for source, _ in edges])]),
        np.concatenate([source for source, _ in edges]),
        np.concatenate([weight for _, weight in edges]),
    )
    return RestrictedWeights(PARTS, rank, arrays=(parts, primes))


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


def _restrict_lattice(
    sets: np.ndarray, source: np.ndarray, feature: np.ndarray, weight: np.ndarray, closed: bool
) -> RestrictedWeights:
    """One prime part: sets of features (m, n), and steps ``source[e] + feature[e]`` from them with their weights."""
    from shap_asv.orders.kernels import PRIME, Parts, Primes

    (m, n), by_feature = sets.shape, np.argsort(feature, kind="stable")
    one, none = np.array([PRIME]), np.zeros(0, dtype=np.int64)
    parts = Parts(one, np.array([n]), np.array([0]), np.array([n]), np.array([True]), np.array([0, 0]), none)
    primes = Primes(
        np.array([0, m]),
        np.zeros(0, dtype=np.int32),  # sizes and chances matter to what stands around a part
        np.zeros(0),
        np.arange(n) * m,
        np.ascontiguousarray(sets.T).astype(np.uint8).ravel(),
        np.searchsorted(feature[by_feature], np.arange(n + 1)),
        source[by_feature].astype(np.int32),
        weight[by_feature],
    )
    return RestrictedWeights(LATTICE, np.arange(n), closed, (parts, primes))


# --- listing ------------------------------------------------------------------------------------------------------


class StepLister:
    """``w_D(i, B)`` for one set of features D after the other; owns the room that the kernels work in.

    Examples
    --------
    >>> order = CausalOrder.from_edges([("a", "c"), ("b", "c")], features=["a", "b", "c", "d"])
    >>> of_c_and_d = Sets(np.array([0, 2]), np.array([2, 3]), np.array([0]))
    >>> count, steps = StepLister(restrict_order(order)).list(of_c_and_d)
    >>> number = steps.start[1]
    >>> steps.code[:number].tolist(), steps.place[:number].tolist(), steps.weight[:number].round(3).tolist()
    ([0, 2, 0, 1], [0, 0, 1, 1], [0.25, 0.75, 0.75, 0.25])
    """

    def __init__(self, weights: RestrictedWeights) -> None:
        from shap_asv.orders.kernels import CELL_BITS, PartsRoom, Steps, Walk

        self.weights = weights
        kind, arrays, n = weights.kind, weights.arrays, len(weights.level)
        room, self._at_once = MOST_STEPS, MOST_READ
        if kind in (PARTS, LATTICE):
            parts, primes = arrays
            room = max(room, len(primes.weight))
            self._at_once //= primes.member.size + len(primes.weight) + 1000 * n
            chances = MOST_CHANCES if kind == PARTS else 0
            self._room = PartsRoom(
                np.empty(chances),
                np.empty(chances),
                np.zeros(2, dtype=np.int64),
                np.zeros((len(parts.kind) + 3, 4), dtype=np.int64),
                gammaln(np.arange(n + 1) + 1),
                np.zeros(int(np.diff(primes.ideal_start).max()), dtype=np.int64),
                np.zeros(1 << CELL_BITS),
            )
        elif kind == ORDERS:
            rank, _ = arrays
            room = max(room, rank.size)  # a large set lists each order once for each of its features
            self._at_once //= rank.size
            self._cells = np.zeros(1 << CELL_BITS)
        elif kind == FOREST:
            by_feature = [np.zeros(n, dtype=np.int64) for _ in range(3)]
            by_ideal = [np.zeros(MOST_IDEALS, dtype=np.int64) for _ in range(2)]
            self._walk = Walk._make([*arrays, *by_feature, *by_ideal, np.zeros(MOST_IDEALS)])
        numbers = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
        self._steps = Steps(np.zeros(0, dtype=np.int64), *numbers)

    def sets_at_once(self) -> int:
        """How many sets may be listed in one compiled call, which nothing can interrupt."""
        return max(1, self._at_once)

    def list(self, sets: Sets) -> tuple[int, Any]:
        """Steps of the sets: how many of the sets had room, and a Steps for these, overwritten by the next call.

        A step may be listed more than once where D is large: the sum counts.
        """
        from shap_asv.orders import kernels

        weights = self.weights
        steps = self._steps._replace(start=np.zeros(len(sets.which) + 1, dtype=np.int64))
        if weights.kind == LEVELS:
            done = kernels.list_levels_steps(weights.level, sets, steps)
        elif weights.kind == FOREST:
            done = kernels.list_forest_steps(self._walk, sets, steps, WIDEST)
        elif weights.kind == ORDERS:
            done = kernels.list_orders_steps(*weights.arrays, sets, steps, self._cells)
        else:
            done = kernels.list_parts_steps(*weights.arrays, weights.level, sets, steps, self._room)
        if not done:
            first = sets.which[0]
            raise BudgetExceededError(
                f"{sets.start[first + 1] - sets.start[first]} features have too many coalitions under this causal "
                f"order to list them (more than {MOST_IDEALS:,} ideals, or {MOST_STEPS:,} steps); "
                "sampled orders do without"
            )
        return done, steps

    def merged(self, sets: Sets) -> Any:
        """The steps of one set, equal ones added up."""
        _, steps = self.list(sets)
        count = int(steps.start[1])
        key, which = np.unique(steps.code[:count] * 64 + steps.place[:count], return_inverse=True)
        weight = np.bincount(which.ravel(), weights=steps.weight[:count], minlength=len(key))
        return type(steps)(steps.start, key // 64, key % 64, weight)


# --- polytrees ----------------------------------------------------------------------------------------------------

# For each subset B of D on the side of u a function of a time s, ``scale * functions[:, which]``: the codes of the
# subsets and which (K,), scale (K, T) and functions (2, F, T, degree + 1), Bernstein coefficients below t and above.
# Where an edge crosses t, the times on its two sides do not meet: subsets are many, and functions are few.
Volumes = namedtuple("Volumes", "code which scale functions")


def list_polytree_steps(order: CausalOrder, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The steps ``B -> B + i`` of D = ``features`` (d,): code of B as bits over the places in D, place of i, w_D(i, B).

    Examples
    --------
    >>> order = CausalOrder.from_edges([("a", "c"), ("b", "c")], features=["a", "b", "c", "d"])
    >>> code, place, weight = list_polytree_steps(order, np.array([2, 3]))
    >>> code.tolist(), place.tolist(), weight.round(3).tolist()
    ([0, 2, 0, 1], [0, 0, 1, 1], [0.25, 0.75, 0.75, 0.25])
    """
    messages = _Messages(order, features)
    codes, weights = [], []
    for i in features.tolist():
        code, volume = np.zeros(1, dtype=np.int64), messages.weights[None]
        for more, by_code in messages.around(i):
            code = (code[:, None] | more).ravel()
            volume = (volume[:, None] * by_code).reshape(len(code), -1)
        ascending = np.argsort(code)
        codes.append(code[ascending])
        weights.append(volume.sum(axis=1)[ascending] / volume.sum())
    place = np.repeat(np.arange(len(features)), [len(code) for code in codes])
    return np.concatenate(codes), place, np.concatenate(weights)


class _Messages:
    """The messages of one set D, each worked out when it is first asked for."""

    def __init__(self, order: CausalOrder, features: np.ndarray) -> None:
        self.parents = order.parents
        self.neighbours = [(*causes, *effects) for causes, effects in zip(order.parents, order.children, strict=True)]
        self.place = {v: p for p, v in enumerate(features.tolist())}
        self.trees = [
            tree for tree in components(order, tuple(range(order.n_features))) if not self.place.keys().isdisjoint(tree)
        ]
        points, self.weights = np.polynomial.legendre.leggauss((sum(map(len, self.trees)) + 1) // 2)
        self.lengths = np.stack([1 + points, 1 - points])[:, None, :, None] / 2  # of [0, t] and [t, 1]
        self._known: dict[tuple[int, int], Volumes] = {}

    def around(self, i: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Volumes of all that is independent when i is at t: for each part codes (K,) and volumes (K, T)."""
        for z in self.neighbours[i]:
            self._send(z, i)
            message = self._known[z, i]
            yield message.code, message.scale * message.functions[0, :, :, -1][message.which]
        for tree in self.trees:
            if i not in tree:
                self._send(tree[0], -1)
                whole = self._inside(tree[0], -1)
                volume = (whole.functions * self.lengths).mean(axis=3).sum(axis=0)
                yield whole.code, whole.scale * volume[whole.which]

    def _send(self, u: int, v: int) -> None:
        """Work out the message from u to v, and all that come before it; v = -1 asks for the latter alone."""
        waiting = [(u, v)]
        for a, b in waiting:  # grows while it is read
            waiting += [(z, a) for z in self.neighbours[a] if z != b and (z, a) not in self._known]
        for a, b in reversed(waiting):
            if b >= 0 and (a, b) not in self._known:
                inside = self._inside(a, b)
                integrated = self._integrate(inside.functions, a in self.parents[b])
                self._known[a, b] = inside._replace(scale=inside.scale / inside.scale.max(), functions=integrated)

    def _inside(self, u: int, v: int) -> Volumes:
        """``h_u``. Where u is in D, it is below t with its own bit in the code, or above t without."""
        received = [self._known[z, u] for z in self.neighbours[u] if z != v]
        if u not in self.place:
            return self._product(received, [True, True], 0)
        below = self._product(received, [True, False], 1 << self.place[u])
        above = self._product(received, [False, True], 0)
        which = np.concatenate([below.which, above.which + below.functions.shape[1]])
        functions = np.concatenate([below.functions, above.functions], axis=1)
        return Volumes(
            np.concatenate([below.code, above.code]), which, np.concatenate([below.scale, above.scale]), functions
        )

    def _product(self, received: list[Volumes], sides: list[bool], code: int) -> Volumes:
        """The product of messages, each looked at below t, or above t, or on both sides."""
        functions = np.broadcast_to(np.array(sides, dtype=float)[:, None, None, None], (2, 1, len(self.weights), 1))
        found = Volumes(np.array([code]), np.zeros(1, dtype=np.int64), np.ones((1, len(self.weights))), functions)
        for message in received:
            other = _distinct(message, sides)
            n_functions = other.functions.shape[1]
            found = Volumes(
                (found.code[:, None] | other.code).ravel(),
                (found.which[:, None] * n_functions + other.which).ravel(),
                (found.scale[:, None] * other.scale).reshape(-1, len(self.weights)),
                _multiply(found.functions, other.functions),
            )
        return found

    def _integrate(self, functions: np.ndarray, upwards: bool) -> np.ndarray:
        """Integrals from 0 to s, or from s to 1, of Bernstein polynomials: they are of one degree more."""
        lengths = self.lengths
        if not upwards:
            functions, lengths = functions[::-1, ..., ::-1], lengths[::-1]
        # polynomial j of degree d becomes the sum of those after j of degree d + 1, over d + 1
        sums = np.cumsum(functions, axis=3) * (lengths / functions.shape[3])
        out = np.concatenate([np.zeros_like(sums[..., :1]), sums], axis=3)
        out[1] += sums[0, ..., -1:]
        return out if upwards else out[::-1, ..., ::-1]


def _distinct(message: Volumes, sides: list[bool]) -> Volumes:
    """A message on some sides of t alone: largest coefficients are 1, equal functions are one, those that vanish go."""
    functions = message.functions * np.array(sides)[:, None, None, None]
    largest = functions.max(axis=(0, 3))
    alive = (largest > 0).any(axis=1)
    rows = np.divide(functions, largest[:, :, None], out=np.zeros_like(functions), where=largest[:, :, None] > 0)
    rows = rows.swapaxes(0, 1).reshape(len(alive), -1)
    # one irrational sum for each function: far cheaper than to compare all coefficients
    key = (rows * np.sqrt(np.arange(1, rows.shape[1] + 1))).sum(axis=1)
    _, first, same = np.unique(key, return_index=True, return_inverse=True)
    rows = rows[first]
    shape = functions.shape
    kept = alive[message.which]
    which, scale = message.which[kept], message.scale[kept] * largest[message.which[kept]]
    functions = rows.reshape(len(rows), 2, *shape[2:]).swapaxes(0, 1)
    return Volumes(message.code[kept], same.reshape(-1)[which], scale, functions)


def _multiply(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """All products of polynomials in Bernstein form: (2, F, T, a + 1), (2, G, T, b + 1) -> (2, F G, T, a + b + 1)."""
    a, b = one.shape[3] - 1, other.shape[3] - 1
    mixing = mixing_chances(a, b)
    out = np.zeros((2, one.shape[1], other.shape[1], one.shape[2], a + b + 1))
    one, other = one[:, :, None], other[:, None]
    for j in range(a + 1) if a <= b else ():
        out[..., j : j + b + 1] += mixing[j] * one[..., j : j + 1] * other
    for i in range(b + 1) if a > b else ():
        out[..., i : i + a + 1] += mixing[:, i] * one * other[..., i : i + 1]
    return out.reshape(2, -1, *out.shape[3:])


def mixing_chances(a: int, b: int) -> np.ndarray:
    """``C(a, j) C(b, i) / C(a + b, j + i)`` (a + 1, b + 1): of j + i drawn from two lists, j are of the first.

    The same numbers multiply Bernstein polynomials of degrees a and b.
    """
    return _kept_mixing(a, b) if a * b <= 1024 else _kept_mixing.__wrapped__(a, b)


@lru_cache(maxsize=1024)
def _kept_mixing(a: int, b: int) -> np.ndarray:
    log = gammaln(np.arange(a + b + 1) + 1.0)
    j, i = np.arange(a + 1)[:, None], np.arange(b + 1)
    k = j + i
    mixing = np.exp(
        (log[a] - log[j] - log[a - j]) + (log[b] - log[i] - log[b - i]) - (log[a + b] - log[k] - log[a + b - k])
    )
    # the split of k arrivals is a distribution: hold it to that, which removes the rounding of the logarithms
    return np.asarray(mixing / np.bincount(k.ravel(), mixing.ravel())[k])
