"""What many questions to a network will take, before any is asked.

The price of a question is the number of entries of its circuit (``circuit``), and of products where terms run through
it (``terms``). Both follow from the order of elimination and from which nodes are observed: a bucket has an entry for
every state of its own variable and of its separator that the evidence leaves open. A few hundred coalitions stand for
all that will be asked. Two of them that agree at and around a bucket, and rows that agree there, share its entries: how
many there are that differ is read off the sample, as from a box of coupons. No table is touched.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork

#: Bytes for an entry of the largest circuit: its tables in the plan, and what is held while terms run through it.
BYTES_PER_ENTRY = 120
#: Terms that stand for all of them.
SAMPLED_TERMS = 512
# Evidence in one circuit, at most, and entries of one (``engine``).
_EVIDENCE, _ENTRIES = 1 << 15, float(1 << 20)
# states are not equally likely: a variable tells rows apart less than its cardinality suggests
_TOLD_APART = 0.7


class Shape(NamedTuple):
    """Buckets of an order of elimination: the variables of each, bool (b, nodes), all at or below it, bool (b, nodes),
    and how many buckets it reads (b,).
    """

    scope: np.ndarray
    below: np.ndarray
    n_children: np.ndarray


class Work(NamedTuple):
    """Distinct evidence; entries and products of its circuits; rows of roots, times terms that differ there; roots at
    or below which terms look at something.
    """

    evidence: float
    entries: float
    products: float
    at_roots: float
    n_roots: int

    def times(self, factor: float) -> "Work":
        """So many times the same."""
        evidence, entries, products, at_roots, n_roots = self
        return Work(factor * evidence, factor * entries, factor * products, factor * at_roots, n_roots)


def all_of(works: Sequence[Work]) -> Work:
    """One after the other."""
    return Work(
        sum(work.evidence for work in works),
        sum(work.entries for work in works),
        sum(work.products for work in works),
        sum(work.at_roots for work in works),
        max((work.n_roots for work in works), default=0),
    )


def shape_of(network: DiscreteNetwork, order: Sequence[int], relevant: np.ndarray) -> Shape:
    """The buckets of the ``relevant`` nodes, which hold the parents of each of them, in an order of elimination."""
    n, cards = network.n_nodes, network.cardinalities
    inside = [v for v in order if relevant[v]]
    position = {v: b for b, v in enumerate(inside)}
    scopes: list[set[int]] = [{v} for v in inside]
    for v in inside:
        family = (v, *network.parents[v])
        scopes[min(position[u] for u in family)].update(u for u in family if cards[u] > 1)
    scope, below = np.zeros((len(inside), n), dtype=bool), np.zeros((len(inside), n), dtype=bool)
    n_children = np.zeros(len(inside))
    for b, v in enumerate(inside):
        scope[b, list(scopes[b])] = below[b, v] = True
        separator = scopes[b] - {v}
        if separator:
            above = min(position[u] for u in separator)
            scopes[above] |= separator
            below[above] |= below[b]
            n_children[above] += 1
    return Shape(scope, below, n_children)


@dataclass(frozen=True, eq=False)
class Questions:
    """Coalitions of nodes, bool (s, nodes), that stand for all that are asked about the ``asked`` nodes.

    ``weights`` (s,) say how likely a coalition is to be asked for at all; ``terms`` (t, nodes) name the functions of a
    sample of ``n_terms`` terms, 0 where a term does not look.
    """

    shape: Shape
    cardinalities: Sequence[int]
    observed: np.ndarray
    terms: np.ndarray
    n_terms: int
    weights: np.ndarray

    def work(self, n_coalitions: float, n_rows: int) -> Work:
        """What so many coalitions of so many rows take, in circuits of bounded size."""
        block = float(_EVIDENCE)
        for _ in range(2):  # circuits that would become too large are cut, and share less
            coalitions = max(1.0, min(n_coalitions, block))
            rows = max(1.0, min(n_rows, block // coalitions))
            found = self._circuit(coalitions, rows)
            if found.entries <= _ENTRIES:
                break
            block = max(1.0, block * _ENTRIES / found.entries)
        return found.times(max(1.0, n_coalitions * n_rows / (coalitions * rows)))

    def _circuit(self, n_coalitions: float, n_rows: float) -> Work:
        sizes, values, alike, columns = self._met
        # rows that agree on what a bucket knows are one
        apart = values * -np.expm1(-n_rows / values)
        different = np.where(
            alike.n_fresh < len(self.observed), _coupons(alike.n_fresh, len(self.observed), n_coalitions), n_coalitions
        )
        weighted = alike.fresh * self.weights[:, None] * apart
        rows = different * weighted.sum(axis=0) / alike.n_fresh
        entries = different * (weighted * sizes).sum(axis=0) / alike.n_fresh
        products = entries * columns * (1.0 + self.shape.n_children)
        roots = (self.shape.scope.sum(axis=1) == 1) & (columns > 0)
        states = self._states
        evidence = n_coalitions * float((self.weights * states * -np.expm1(-n_rows / states)).mean())
        at_roots = float((rows * columns)[roots].sum())
        return Work(evidence, float(entries.sum()), float(products.sum()), at_roots, int(roots.sum()))

    @cached_property
    def largest(self) -> float:
        """Entries of the circuit of a single question, with nothing known."""
        return float(np.exp(np.minimum(self.shape.scope @ self._logs, 60.0)).sum())

    @cached_property
    def single(self) -> float:
        """Entries of the circuit of a single question, in the mean over the coalitions."""
        return float(self._met[0].sum(axis=1).mean()) if len(self.observed) else 0.0

    @cached_property
    def _states(self) -> np.ndarray:
        """Values that all that is observed takes (s,)."""
        return np.exp(self._keys(np.ones((1, self.observed.shape[1]), dtype=bool))[0])

    @cached_property
    def _logs(self) -> np.ndarray:
        return np.log(np.array(self.cardinalities, dtype=float))

    def _keys(self, sets: np.ndarray) -> np.ndarray:
        """Logarithm of the values that the observed part of some sets (b, nodes) takes, (b, s)."""
        return np.minimum(_TOLD_APART * (sets * self._logs) @ self.observed.T, 40.0)

    @cached_property
    def _met(self) -> "tuple[np.ndarray, np.ndarray, _Alike, np.ndarray]":
        """Of each coalition and bucket: states that are left open, values that are known (s, b); which coalitions are
        alike there; and the terms that differ at or below it (b,).
        """
        known = self.shape.scope | self.shape.below
        opened = (~self.observed * self._logs) @ self.shape.scope.T
        return (
            np.exp(np.minimum(opened, 60.0)),
            np.exp(self._keys(known)).T,
            _alike(self.observed, known),
            self._columns,
        )

    @cached_property
    def _columns(self) -> np.ndarray:
        rng = np.random.default_rng(0)
        marks = rng.random((int(self.terms.max(initial=0)) + 1, self.terms.shape[1]))
        marks[0] = 0.0
        hashed = np.sort(np.take_along_axis(marks, self.terms, axis=0) @ self.shape.below.T.astype(float), axis=0)
        n_different = (np.diff(hashed, axis=0) > 1e-9).sum(axis=0) + 1.0
        looked_at = self.shape.below @ (self.terms > 0).any(axis=0)
        if len(self.terms) < self.n_terms:
            n_different = _coupons(n_different, len(self.terms), self.n_terms)
        return np.asarray(np.where(looked_at, n_different, 0.0))


class _Alike(NamedTuple):
    """The first of each kind of coalition, bool (s, b), and how many kinds there are (b,)."""

    fresh: np.ndarray
    n_fresh: np.ndarray


def _alike(observed: np.ndarray, known: np.ndarray) -> _Alike:
    marks = np.random.default_rng(1).random(observed.shape[1])
    seen = (observed * marks) @ known.T.astype(float)
    order = np.argsort(seen, axis=0)
    first = np.diff(np.take_along_axis(seen, order, axis=0), axis=0, prepend=-1.0) > 1e-9
    fresh = np.zeros(seen.shape, dtype=bool)
    np.put_along_axis(fresh, order, first, axis=0)
    return _Alike(fresh, fresh.sum(axis=0).astype(float))


# A box of D coupons of which s are drawn shows D (1 - exp(-s / D)) of them: s / D by the share that differs.
_DRAWN = np.logspace(-4, 4, 400)
_SHARES = -np.expm1(-_DRAWN) / _DRAWN


def _coupons(met: np.ndarray, n_drawn: int, most: float) -> np.ndarray:
    """How many there are in all, at most ``most``, where ``met`` of ``n_drawn`` differ.

    >>> _coupons(np.array([1.0, 50.0, 100.0]), 100, 1e4).round().tolist()
    [1.0, 63.0, 10000.0]
    """
    share = np.minimum(met / n_drawn, 1.0)
    found = n_drawn / np.interp(share, _SHARES[::-1], _DRAWN[::-1])
    return np.minimum(np.where(met >= n_drawn, math.inf, found), most)
