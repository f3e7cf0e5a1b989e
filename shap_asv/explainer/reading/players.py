"""Groups of features as the user writes them: read, put into a causal order, and shown.

``groups={"weather": ["temp", "hum"]}`` makes players of several features; features that no group names are players of
their own. The causal graph is between the players, or between the features: then its quotient is taken.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.contract import Background
from shap_asv.errors import CausalGraphError, ShapAsvWarning, UnknownFeatureError, listed
from shap_asv.explainer.reading.causality import (
    as_partial_graph,
    own_order,
    read_causal_graph,
    read_orders,
    weighted_graphs,
)
from shap_asv.explainer.reading.rows import Table, display_names, shown_rows
from shap_asv.orders import CausalOrder
from shap_asv.orders.players import Players
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.orders.uncertain.readings import check_typo, nearest_name

_SPELLING = "groups= takes a dict of names and lists of features, such as {'weather': ['temp', 'hum']}"


def read_groups(groups: Any, features: Sequence[str]) -> Players | None:
    """The players, in the sequence of their first members; None without groups.

    Raises
    ------
    UnknownFeatureError
        A member is not a feature.
    CausalGraphError
        Not a dict of lists, a group without members, a feature in two groups, a group with the name of a feature that
        is not in it.
    """
    if groups is None:
        return None
    if not isinstance(groups, Mapping):
        raise CausalGraphError(f"{_SPELLING}; got a {type(groups).__name__}, {groups!r:.80}")
    place = {name: v for v, name in enumerate(features)}
    owner: dict[str, str] = {}
    for name, members in groups.items():
        for member in _members(name, members):
            if member not in place:
                near = nearest_name(member, features)
                hint = "" if near is None else f"; did you mean {near!r}?"
                raise UnknownFeatureError(
                    f"group {name!r} names {member!r}, which is not a feature: {listed(features)}{hint}"
                )
            if member in owner:
                both = (
                    f"group {name!r} twice" if owner[member] == str(name) else f"groups {owner[member]!r} and {name!r}"
                )
                raise CausalGraphError(f"{member!r} is in {both}; a feature moves with one group")
            owner[member] = str(name)
    for name in map(str, groups):
        if name in place and owner.get(name) != name:
            raise CausalGraphError(
                f"a group is called {name!r}, which is the name of a feature that is not in it; rename the group"
            )
    players = [owner.get(feature, feature) for feature in features]
    names = tuple(dict.fromkeys(players))
    return Players(names, np.array([names.index(player) for player in players], dtype=np.intp))


def _members(name: Any, members: Any) -> list[str]:
    if not isinstance(name, str):
        raise CausalGraphError(f"{_SPELLING}; got a group called {name!r:.80}, a {type(name).__name__}")
    if isinstance(members, str | bytes | Mapping) or not isinstance(members, Iterable):
        raise CausalGraphError(f"{_SPELLING}; group {name!r} is {members!r:.80}, not a list")
    found = list(members)
    if not found:
        raise CausalGraphError(f"group {name!r} has no members; leave it out, or name its features")
    return [str(member) for member in found]


def order_of_players(
    causal_graph: Any, players: Players, background: Background, seed: int | None
) -> CausalOrder | GraphMixture:
    """A graph between groups as it is, a graph between features (or the background's own) as its quotient."""
    if causal_graph is None:
        return players.quotient(own_order(background))
    if isinstance(causal_graph, CausalOrder | GraphMixture) and tuple(causal_graph.features) == players.names:
        return causal_graph
    named = _nodes(causal_graph, background.features)
    known = [*background.features, *(name for name in players.names if name not in background.features)]
    for node in sorted(named - {*known, *background.latent}):
        check_typo(node, known)
    own_names = [name for name in players.names if name in named and name not in background.features]
    hidden_in = [
        name
        for name, player in zip(background.features, players.of_feature, strict=True)
        if name in named and players.names[player] != name
    ]
    if own_names and hidden_in:
        raise CausalGraphError(
            f"the causal graph names the group {own_names[0]!r} and the feature {hidden_in[0]!r}, which is in a group; "
            "draw it between the groups, or between the features"
        )
    if own_names:
        return read_causal_graph(causal_graph, players.names, background.latent, seed)
    return players.quotient(read_causal_graph(causal_graph, background.features, background.latent, seed))


def knowledge_of_features(
    groups: Any, features: Sequence[str], causal_graph: Any, orders: Any, weights: Any
) -> tuple[Any, Any, Any]:
    """Graph, orders and weights as far as they speak of groups, as graph and orders of the features."""
    players = read_groups(groups, features)
    if players is None:
        return causal_graph, orders, weights
    if orders is not None:
        read, shares = read_orders(orders, weights, players.names)
        return causal_graph, players.expand_orders(read), shares
    own_names = set() if causal_graph is None else _nodes(causal_graph, features) & (set(players.names) - set(features))
    if not own_names:
        return causal_graph, orders, weights
    with catch_warnings():  # said where the problem is put together
        simplefilter("ignore", ShapAsvWarning)
        order = read_causal_graph(causal_graph, players.names)
    return players.spread(order, features), orders, weights


def _nodes(causal_graph: Any, features: Sequence[str]) -> set[str]:
    several = weighted_graphs(causal_graph)
    graphs = [causal_graph] if several is None else [graph for graph, _ in several]
    return {str(node) for graph in graphs for node in as_partial_graph(graph, features).nodes}


def shown_players(problem: Problem, rows: np.ndarray, table: Table) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """``data``, ``display_data`` and names of an explanation of rows, with a column for each player.

    A group with one member shows its member. One with several has text in ``display_data``, such as
    ``temp=0.3, hum=0.8``, and NaN in ``data``: no number stands for several, and plots draw NaN in grey.
    """
    players, names = problem.players, display_names(problem, table)
    data, labels = shown_rows(problem, rows, table)
    if players is None:
        return data, labels, names
    if problem.groups is None:  # renamed features
        return data, labels, list(players.names)
    shown = data if labels is None else labels
    texts = np.empty((len(data), len(players)), dtype=object)
    columns = []
    for player in range(len(players)):
        members = players.members(player)
        if len(members) == 1:
            columns.append(_as_numbers(data[:, members[0]]))
            texts[:, player] = shown[:, members[0]]
            continue
        columns.append(np.full(len(data), np.nan))
        for i, row in enumerate(shown[:, members]):
            texts[i, player] = ", ".join(f"{names[v]}={_written(value)}" for v, value in zip(members, row, strict=True))
    return np.column_stack(columns), texts, list(players.names)


def _as_numbers(column: np.ndarray) -> np.ndarray:
    """A column of objects that are all numbers (or bools) as floats; any other as it is."""
    if column.dtype != object or not all(isinstance(value, bool | int | float | np.number) for value in column):
        return column
    return column.astype(float)


def _written(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
