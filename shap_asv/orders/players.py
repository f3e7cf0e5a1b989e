"""Groups of features as players: what moves together, and what a causal order of features says of groups.

A *player* is a group of features that enters a coalition as one. The game of groups is the game of features on the
coalitions that are unions of groups, ``v(T) = nu(union of the groups in T)``, so that everything that knows coalitions
of features can play it: coalitions of players are *expanded*, and weights stay where they are.

A causal order of features says something of groups too. If a cause of some member of B is a member of A, then A comes
before B: the *quotient*. It is an order only if no two groups come before each other.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from shap_asv.errors import CausalGraphError
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.uncertain.mixture import GraphMixture


@dataclass(frozen=True, eq=False)
class Players:
    """Groups that hold each feature once.

    Attributes
    ----------
    names : tuple of str
        The players, in the sequence of their first members.
    of_feature : int array (n,)
        The player that each feature belongs to.

    Examples
    --------
    >>> players = Players(("weather", "day"), np.array([0, 1, 0]))
    >>> players.expand(np.array([[True, False]])).tolist()
    [[True, False, True]]
    >>> players.members(0).tolist()
    [0, 2]
    """

    names: tuple[str, ...]
    of_feature: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def all_single(self) -> bool:
        """Whether every group has one member, so that players are features under names of their own."""
        return len(self.names) == len(self.of_feature)

    def members(self, player: int) -> np.ndarray:
        """The features of a group, ascending."""
        return np.flatnonzero(self.of_feature == player)

    def expand(self, coalitions: np.ndarray) -> np.ndarray:
        """Coalitions of players (m, g) -> the same as coalitions of features (m, n)."""
        return np.asarray(coalitions)[:, self.of_feature]

    def expand_orders(self, orders: np.ndarray) -> np.ndarray:
        """Orders of players (k, g) -> orders of features (k, n) in which the members of a group follow one another."""
        position = np.empty_like(orders)
        np.put_along_axis(position, orders, np.arange(orders.shape[1])[None], axis=1)
        return np.argsort(position[:, self.of_feature], axis=1, kind="stable")

    def add_up(self, phi: np.ndarray, axis: int) -> np.ndarray:
        """What the members of each group have together, along an axis of features.

        Where members follow one another in every order, that is the value of their group: the steps from before the
        group to after it, end to end.
        """
        by_player = np.argsort(self.of_feature, kind="stable")
        starts = np.searchsorted(self.of_feature[by_player], np.arange(len(self.names)))
        return np.asarray(np.add.reduceat(np.take(phi, by_player, axis=axis), starts, axis=axis))

    def precedence(self, order: CausalOrder | GraphMixture) -> np.ndarray:
        """bool (n, n): is feature u in a coalition of groups whenever v is? From an order of the players."""
        before = order.ancestor_matrix | np.eye(len(self.names), dtype=bool)
        return np.asarray(before[np.ix_(self.of_feature, self.of_feature)])

    def spread(self, order: CausalOrder | GraphMixture, features: Sequence[str]) -> CausalOrder | GraphMixture:
        """An order of the players -> the order of features that it implies: members of a group are not ordered."""
        if isinstance(order, GraphMixture):
            return GraphMixture(tuple(self._spread(each, features) for each in order.orders), order.weights)
        return self._spread(order, features)

    def _spread(self, order: CausalOrder, features: Sequence[str]) -> CausalOrder:
        parents = [
            tuple(int(u) for player in order.parents[own] for u in self.members(player)) for own in self.of_feature
        ]
        return CausalOrder(tuple(features), tuple(parents))

    def quotient(self, order: CausalOrder | GraphMixture) -> CausalOrder | GraphMixture:
        """An order of the features, or a mixture of orders -> what it says of the groups.

        Raises
        ------
        CausalGraphError
            Groups come before each other; the error shows the cycle, with the edges of features that make it.

        Examples
        --------
        >>> order = CausalOrder.from_edges([("temp", "rentals"), ("season", "temp"), ("season", "hum")])
        >>> place = {name: i for i, name in enumerate(order.features)}
        >>> weather = Players(("weather", "rentals", "season"), np.array([0, 1, 2, 0]))
        >>> weather.quotient(order)
        CausalOrder(3 features, 2 edges: weather -> rentals, season -> weather)
        """
        if isinstance(order, GraphMixture):
            return GraphMixture(tuple(self._quotient(each) for each in order.orders), order.weights)
        return self._quotient(order)

    def _quotient(self, order: CausalOrder) -> CausalOrder:
        because: dict[tuple[int, int], tuple[Hashable, Hashable]] = {}
        for v, parents in enumerate(order.parents):
            for u in parents:
                pair = int(self.of_feature[u]), int(self.of_feature[v])
                if pair[0] != pair[1]:
                    because.setdefault(pair, (order.features[u], order.features[v]))
        graph = nx.DiGraph(sorted(because))
        try:
            cycle = nx.find_cycle(graph) if because else []
        except nx.NetworkXNoCycle:
            cycle = []
        if cycle:
            raise CausalGraphError(_cycle_text([(int(a), int(b)) for a, b in cycle], self.names, because))
        above = [tuple(sorted(a for a, b in because if b == player)) for player in range(len(self.names))]
        return CausalOrder(self.names, tuple(above))


def _cycle_text(
    cycle: Sequence[tuple[int, int]], names: Sequence[str], because: dict[tuple[int, int], tuple[Hashable, Hashable]]
) -> str:
    path = " -> ".join(repr(names[a]) for a, _ in cycle) + f" -> {names[cycle[0][0]]!r}"
    edges = ", ".join(f"{because[pair][0]!r} -> {because[pair][1]!r}" for pair in cycle)
    return (
        f"the groups come before each other: {path}, because of {edges}; put the features in between into one group, "
        "split a group, or give a causal graph between the groups"
    )
