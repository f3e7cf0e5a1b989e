"""W of a few features of a polytree, without its lattice: the times of the other features are integrated out.

Independent uniform times, kept when causes come before effects, arrive in a uniform topological order. So

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
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.counting import components

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
