"""`CausalOrder`: which features precede which, as an immutable value.

Asymmetric Shapley values average over the *topological orders* of a causal graph: the orders of all features in which
every cause comes before its effects. They depend on the graph only through the partial order it spans on the features,
and that partial order is what this class holds: feature names, and for each feature its parents in the transitive
reduction. Everything else (counts, classes, samples, weights) lives in modules of its own and is reached from here.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.arguments import Seed
from shap_asv.errors import CausalGraphError
from shap_asv.orders import counting, reading, sampling
from shap_asv.orders.bitsets import bits_of
from shap_asv.orders.reading import Levels, read_confounded
from shap_asv.orders.time import time_levels, time_parents
from shap_asv.times import Times


@dataclass(frozen=True, repr=False)
class CausalOrder:
    """A partial order on named features.

    Build one with :meth:`from_graph`, :meth:`from_edges`, :meth:`from_levels` or :meth:`from_time`. Two orders are
    equal when they have the same features in the same sequence and the same precedence, however it was written down.

    Parameters
    ----------
    features : sequence of hashable
        The players, in the sequence that arrays over features follow.
    parents : sequence of sequences of int
        ``parents[v]`` are indices of features that precede feature ``v``; edges that follow from others are dropped.
    levels : Levels, optional
        What :meth:`from_levels` was told, for interventions. It is no part of the order.

    Attributes
    ----------
    features : tuple
    parents : tuple of tuple of int
        The cover relation (transitive reduction), ascending indices.
    topological_indices : tuple of int
        One fixed topological order: always the smallest available index.
    ancestor_bits : tuple of int
        ``ancestor_bits[v]`` has bit ``u`` set when ``u`` strictly precedes ``v``.

    Examples
    --------
    >>> order = CausalOrder.from_edges([("smoking", "tar"), ("tar", "cancer"), ("gene", "cancer")])
    >>> order
    CausalOrder(4 features, 3 edges: smoking -> tar, tar -> cancer, gene -> cancer)
    >>> order.count_topological_orders()
    3
    >>> sorted(order.ancestors("cancer"))
    ['gene', 'smoking', 'tar']
    >>> order.sample_topological_orders(2, seed=0).shape
    (2, 4)
    """

    features: tuple[Hashable, ...]
    parents: tuple[tuple[int, ...], ...]
    levels: Levels | None = field(default=None, compare=False)
    topological_indices: tuple[int, ...] = field(init=False, compare=False)
    ancestor_bits: tuple[int, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        features = reading.check_names(self.features)
        given = reading.check_parents(self.parents, features)
        order = reading.topological_order(given, features)
        parents, ancestors = reading.reduce_transitively(given, order)
        # a frozen class refuses assignments, not its own making
        vars(self).update(features=features, parents=parents, topological_indices=order, ancestor_bits=ancestors)

    # --- ways to write an order down ------------------------------------------------------------------------------

    @classmethod
    def from_graph(cls, graph: Any, features: Iterable[Hashable] | None = None) -> "CausalOrder":
        """The order that a directed acyclic graph spans on its features.

        Parameters
        ----------
        graph : networkx.DiGraph
            Edges run from cause to effect. Every pgmpy DAG and network is such a graph.
        features : iterable of nodes, optional
            The players, and the sequence in which arrays follow them. Nodes that are not named are projected out with
            precedence kept: ``a -> latent -> b`` puts ``a`` before ``b``. By default all nodes, as the graph lists
            them.

        Raises
        ------
        CausalGraphError
            The graph is undirected, empty, or has a cycle or a self-loop; a feature is named twice.
        UnknownFeatureError
            A feature is not a node of the graph.

        Examples
        --------
        >>> graph = nx.DiGraph([("a", "latent"), ("latent", "b"), ("b", "c")])
        >>> CausalOrder.from_graph(graph, features=["a", "b", "c"])
        CausalOrder(3 features, 2 edges: a -> b, b -> c)
        """
        nodes, edges = reading.read_graph(graph)
        names = tuple(nodes) if features is None else reading.check_names(features)
        for name in names:
            if not graph.has_node(name):
                raise reading.unknown_feature(name, nodes, "the causal graph")
        return cls(names, tuple(map(tuple, reading.parents_among(nodes, edges, names))))

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[Hashable, Hashable]], features: Iterable[Hashable] | None = None
    ) -> "CausalOrder":
        """The order given by (cause, effect) pairs.

        ``features`` names the players: those without any edge are kept as isolated features, and names that occur in
        edges only are projected out (with a warning where such a name puts no feature before another and is not a
        common cause: it may be misspelt). By default every name that occurs in an edge, in order of appearance.

        Examples
        --------
        >>> CausalOrder.from_edges([("age", "income")], features=["age", "income", "sex"])
        CausalOrder(3 features, 1 edge: age -> income)
        """
        pairs = reading.check_edges(edges)
        named = list(dict.fromkeys(name for pair in pairs for name in pair))
        if features is None:
            if not named:
                raise CausalGraphError("the causal graph is empty: no edges and no features; name the features")
            names = tuple(named)
        else:
            names = reading.check_names(features)
        nodes = list(dict.fromkeys([*names, *named]))
        reading.warn_of_idle_names(pairs, names)
        return cls(names, tuple(map(tuple, reading.parents_among(nodes, pairs, names))))

    @classmethod
    def from_levels(cls, levels: Iterable[Iterable[Hashable]], confounded: Iterable[int] = ()) -> "CausalOrder":
        """Every feature of a level precedes every feature of the next level.

        ``confounded`` are positions of levels whose features share hidden causes, which matters to ``values="causal"``
        alone (:mod:`shap_asv.orders.reading`).

        Examples
        --------
        >>> order = CausalOrder.from_levels([["age", "sex"], ["education"], ["income"]])
        >>> order.edges
        (('age', 'education'), ('sex', 'education'), ('education', 'income'))
        """
        rows, names, parents = reading.read_levels(levels)
        return cls(names, parents, Levels(rows, read_confounded(confounded, len(rows))))

    @classmethod
    def from_time(cls, times: Any, order: str = "past first", graph: Any = None) -> "CausalOrder":
        """All features of a time precede all features of the next one; features without a time come first.

        Parameters
        ----------
        times : dict of str to float or (variable, time), or names
            The time of each feature, the past negative, None for a feature that has none. Names say it themselves:
            ``temp(t-3)``, ``temp_lag3``, or the columns ``("temp", -3)`` of a MultiIndex; ``temp`` beside
            ``temp_lag1`` is at time 0, and other names without a time are static.
        order : {"past first", "recent first"}
            "past first" is how a forecast learns: a value is what its feature adds to all that was known before.
            "recent first" is another question, what an older value adds to the newer ones, and causes come last in it.
        graph : networkx.DiGraph or list of (cause, effect), optional
            Orders the features of one time, with edges between variables (``temp -> demand``, at every time) or between
            features. Without it they are a level.

        Raises
        ------
        TimeError
            The time of a feature is not known.
        CausalGraphError
            An edge leads into the past.

        Examples
        --------
        >>> names = ["age", "temp(t-2)", "demand(t-2)", "temp(t-1)", "demand(t-1)"]
        >>> CausalOrder.from_time(names).level_numbers.tolist()
        [0, 1, 1, 2, 2]
        >>> CausalOrder.from_time(names, graph=[("temp", "demand")]).count_topological_orders()
        1
        >>> CausalOrder.from_time({"a": -1, "b": -2}, order="recent first").edges
        (('a', 'b'),)
        """
        read = Times.read(times)
        parents = tuple(map(tuple, time_parents(read, order, graph)))
        if graph is not None:
            return cls(read.features, parents)
        levels = tuple(tuple(read.features[v] for v in level) for level in time_levels(read, order))
        return cls(read.features, parents, Levels(levels))

    def restricted_to(self, indices: Sequence[int]) -> "CausalOrder":
        """The same precedence among some of the features (the induced suborder), in the sequence of ``indices``."""
        parents = reading.project(self.parents, self.topological_indices, indices)
        return CausalOrder(tuple(self.features[v] for v in indices), tuple(map(tuple, parents)), self.levels)

    # --- facts ----------------------------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def orders(self) -> "tuple[CausalOrder, ...]":
        """The order itself, where a mixture of graphs has several."""
        return (self,)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """``children[v]``: the features whose parent ``v`` is, in the transitive reduction."""
        lists: list[list[int]] = [[] for _ in self.features]
        for v, ps in enumerate(self.parents):
            for p in ps:
                lists[p].append(v)
        return tuple(map(tuple, lists))

    @cached_property
    def neighbour_bits(self) -> tuple[int, ...]:
        """``neighbour_bits[v]`` has the bits of the parents and the children of ``v``."""
        return tuple(sum(1 << u for u in (*ps, *cs)) for ps, cs in zip(self.parents, self.children, strict=True))

    @cached_property
    def descendant_bits(self) -> tuple[int, ...]:
        """``descendant_bits[v]`` has bit ``u`` set when ``v`` strictly precedes ``u``."""
        below = [0] * self.n_features
        for v in reversed(self.topological_indices):
            for p in self.parents[v]:
                below[p] |= below[v] | 1 << v
        return tuple(below)

    @cached_property
    def ancestor_matrix(self) -> np.ndarray:
        """Bool array (n, n), read-only: ``[i, j]`` when ``i`` is a strict ancestor of ``j``."""
        matrix = np.zeros((self.n_features, self.n_features), dtype=bool)
        for j, bits in enumerate(self.ancestor_bits):
            matrix[list(bits_of(bits)), j] = True
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {feature: v for v, feature in enumerate(self.features)}

    def index(self, feature: Hashable) -> int:
        """Where ``feature`` stands in ``features``."""
        try:
            return self._positions[feature]
        except (KeyError, TypeError):
            raise reading.unknown_feature(feature, self.features, "the causal order") from None

    @cached_property
    def edges(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The (cause, effect) pairs of the transitive reduction, by cause."""
        return tuple((self.features[p], self.features[c]) for p, cs in enumerate(self.children) for c in cs)

    def ancestors(self, feature: Hashable) -> frozenset[Hashable]:
        """All features that precede ``feature``."""
        return frozenset(self.features[v] for v in bits_of(self.ancestor_bits[self.index(feature)]))

    def descendants(self, feature: Hashable) -> frozenset[Hashable]:
        """All features that ``feature`` precedes."""
        return frozenset(self.features[v] for v in bits_of(self.descendant_bits[self.index(feature)]))

    @cached_property
    def is_forest(self) -> bool:
        """Whether no feature has two parents: a set of rooted trees, edges pointing away from the roots."""
        return all(len(ps) <= 1 for ps in self.parents)

    @cached_property
    def is_polytree(self) -> bool:
        """Whether the transitive reduction has no undirected cycle (every forest is one; it may have components)."""
        return len(self.edges) == self.n_features - len(counting.components(self, tuple(range(self.n_features))))

    @cached_property
    def level_numbers(self) -> np.ndarray | None:
        """The level of each feature, int64 (n,), when the order is one level after the other; None when it is not.

        Examples
        --------
        >>> CausalOrder.from_levels([["age", "sex"], ["income"]]).level_numbers.tolist()
        [0, 0, 1]
        >>> CausalOrder.from_edges([("a", "b")], features=["a", "b", "c"]).level_numbers is None
        True
        """
        levels = np.zeros(self.n_features, dtype=np.int64)
        before = 0
        for number, ancestors in enumerate(sorted(set(self.ancestor_bits), key=int.bit_count)):
            if ancestors != before:
                return None
            for v, own in enumerate(self.ancestor_bits):
                if own == ancestors:
                    levels[v] = number
                    before |= 1 << v
        levels.flags.writeable = False
        return levels

    def to_graph(self) -> "nx.DiGraph":
        """The transitive reduction as a :class:`networkx.DiGraph` with all features as nodes."""
        graph = nx.DiGraph()
        graph.add_nodes_from(self.features)
        graph.add_edges_from(self.edges)
        return graph

    def __repr__(self) -> str:
        n, edges = self.n_features, [f"{cause} -> {effect}" for cause, effect in self.edges]
        head = f"{n} feature{'s' if n > 1 else ''}, {len(edges) or 'no'} edge{'s' if len(edges) != 1 else ''}"
        return f"CausalOrder({head}: {reading.shortened(edges or [str(name) for name in self.features])})"

    def __reduce__(self) -> tuple[Any, ...]:
        # what was derived is derived again: a pickle holds names and edges only
        return CausalOrder, (self.features, self.parents, self.levels)

    # --- counts ---------------------------------------------------------------------------------------------------

    def count_topological_orders(self, limit: int | None = None) -> int:
        """e(C): the number of topological orders, exactly.

        Rooted forests go by the hook length formula. Of others, components are interleaved by multinomials, stacked
        parts multiply, and only what is left needs the lattice of its ideals.

        Parameters
        ----------
        limit : int, optional
            Largest number of ideals that may be enumerated for a part that needs it; by default 1,000,000.

        Raises
        ------
        BudgetExceededError
            A part has more ideals than ``limit``.

        Examples
        --------
        >>> import math
        >>> CausalOrder.from_levels([range(30), range(30, 60)]).count_topological_orders() == math.factorial(30) ** 2
        True
        """
        return counting.count_topological_orders(self, limit)

    def count_ideals(self, limit: int | None = None) -> int:
        """The number of ideals (coalitions that hold the causes of their members): what exact ASV evaluates.

        Parts multiply, and trees have a closed form, so that the answer may be far larger than anything one could list;
        other parts are searched.

        Parameters
        ----------
        limit : int, optional
            Raise when there are more than this. By default only the search is limited, to 1,000,000 ideals a part.

        Raises
        ------
        BudgetExceededError
            There are more than ``limit`` ideals, or a search had to be given up.

        Examples
        --------
        >>> CausalOrder.from_edges([("a", leaf) for leaf in range(200)]).count_ideals() == 2**200 + 1
        True
        """
        return counting.count_ideals(self, limit)

    def count_equivalence_classes(self, feature: Hashable, limit: int | None = None) -> int:
        """The number of equivalence classes of topological orders with respect to ``feature``.

        Two orders are equivalent when the same set of features precedes ``feature`` in both. The classes are the
        ideals of the features that neither precede nor follow it; ``limit`` as in :meth:`count_ideals`.

        Examples
        --------
        >>> CausalOrder.from_edges([("a", "b"), ("a", "c"), ("a", "d")]).count_equivalence_classes("b")
        4
        """
        return counting.count_equivalence_classes(self, self.index(feature), limit)

    def equivalence_classes(self, feature: Hashable, limit: int | None = None) -> list[counting.EquivalenceClass]:
        """Every equivalence class of ``feature``: (prefix set, number of topological orders in it), small prefixes
        first.

        The sizes add up to :meth:`count_topological_orders`. Works for every DAG.

        Raises
        ------
        BudgetExceededError
            There are more ideals than ``limit`` (by default 1,000,000).

        Examples
        --------
        >>> order = CausalOrder.from_edges([("a", "b"), ("c", "d")])
        >>> for prefix, size in order.equivalence_classes("b"):
        ...     print(sorted(prefix), size)
        ['a'] 1
        ['a', 'c'] 2
        ['a', 'c', 'd'] 3
        """
        return counting.equivalence_classes(self, self.index(feature), limit)

    # --- samples --------------------------------------------------------------------------------------------------

    def sample_topological_orders(
        self,
        n: int,
        seed: Seed = None,
        *,
        limit: int | None = None,
        n_groups: int | None = None,
    ) -> np.ndarray:
        """``n`` uniformly distributed topological orders, independent unless ``n_groups`` is given.

        Parameters
        ----------
        n : int
        seed : int, numpy Generator or SeedSequence, optional
            Goes to :func:`numpy.random.default_rng`.
        limit : int, optional
            Largest lattice that may be built to walk through it, in ideals; by default 1,000,000. Orders of a part with
            more are drawn by coupling from the past.
        n_groups : int, optional
            Deal the orders into this many consecutive groups, independent of one another; within a group the random
            numbers behind the orders are spread evenly, so that means over the orders are more accurate. Every single
            order is still uniform. Coupling from the past draws independently all the same.

        Returns
        -------
        int array (n, n_features)
            Each row is a topological order as feature indices, first feature first.

        Examples
        --------
        >>> order = CausalOrder.from_edges([("a", "b")], features=["a", "b", "c"])
        >>> draws = order.sample_topological_orders(3000, seed=1)
        >>> round(float((draws[:, 0] == 2).mean()), 1)  # c comes first in one of three orders
        0.3
        """
        return sampling.sample_topological_orders(self, n, seed, limit, n_groups)
