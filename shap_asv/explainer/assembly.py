"""The user's arguments -> a :class:`~shap_asv.backends.contract.Problem`: where model, background and causal order
meet.

Three things have to agree on who the features are: the network (whose other nodes are latent), the model and the
causal graph. Every disagreement is an error or a warning here, before any long work starts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.discrete import DiscreteBackground
from shap_asv.backgrounds.network import DiscreteNetwork
from shap_asv.errors import (
    CausalGraphError,
    CausalGraphWarning,
    NetworkError,
    RowsError,
    ShapAsvWarning,
    UnknownFeatureError,
    warn_user,
)
from shap_asv.models.predictor import PlainPredictor, Predictor, read_model, read_plain_model
from shap_asv.orders import CausalOrder
from shap_asv.values.marginal import MatrixBackground

Link = Callable[[np.ndarray], np.ndarray]


# --- the background -----------------------------------------------------------------------------------------------


def check_background(masker: Any) -> None:
    """A matrix with rows, or a callable masker of shap's; anything else is named in an error."""
    if isinstance(masker, np.ndarray) or not callable(masker):
        what = f"an array of shape {masker.shape}" if isinstance(masker, np.ndarray) else f"a {type(masker).__name__}"
        raise NetworkError(
            f"a background distribution cannot be read from {what}; pass a pgmpy DiscreteBayesianNetwork, "
            "a 2-D ndarray, a DataFrame or a shap masker"
        )
    data = getattr(masker, "data", None)
    if data is not None and np.shape(data)[0] == 0:
        raise NetworkError("the background matrix has no rows; pass at least one")
    if getattr(masker, "clustering", None) is not None:
        warn_user(
            "the masker brings a clustering of the features, which shap uses for Owen values; it is not used here",
            ShapAsvWarning,
        )


# --- who the features are -------------------------------------------------------------------------------------


def names_known_to_model(model: Any, encoder: Any = None) -> list[str] | None:
    """The input columns a fitted model (or the encoder before it) remembers, None if it remembers none."""
    for source in (encoder, model, getattr(model, "__self__", None)):
        for attribute in ("feature_names_in_", "feature_name_", "feature_names_"):
            try:
                names = getattr(source, attribute, None)
            except Exception:
                continue
            if names is not None and not callable(names) and len(names):
                return [str(name) for name in names]
    return None


def features_of(
    network: DiscreteNetwork, model: Any, encoder: Any, feature_names: Sequence[str] | None
) -> list[str] | None:
    """The features among the network's nodes, in the model's column order; None when only X can tell."""
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        unknown = [name for name in names if name not in network.names]
        if unknown:
            raise UnknownFeatureError(
                f"feature {unknown[0]!r} is no node of the network; its nodes are {', '.join(map(repr, network.names))}"
            )
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UnknownFeatureError(f"feature {twice[0]!r} is named twice in feature_names")
        return names
    known = names_known_to_model(model, encoder)
    if known is not None and all(name in network.names for name in known):
        return known
    return None


def features_from_rows(network: DiscreteNetwork, columns: list[str] | None, n_columns: int) -> list[str]:
    """The features as X tells them: its column names, or all nodes of the network when there are as many columns."""
    if columns is None:
        if n_columns == network.n_nodes:
            return list(network.names)
        raise RowsError(
            f"X has {n_columns} columns without names and the network has {network.n_nodes} nodes; "
            "pass feature_names=[...] to the explainer, or X as a DataFrame"
        )
    unknown = [column for column in columns if column not in network.names]
    if unknown:
        raise RowsError(
            f"column {unknown[0]!r} of X is no node of the network; its nodes are {', '.join(map(repr, network.names))}"
        )
    return columns


# --- the causal order -------------------------------------------------------------------------------------------


def network_order(network: DiscreteNetwork, features: Sequence[str]) -> CausalOrder:
    """The network's own graph as a causal order of the features; latent nodes hand precedence on."""
    graph = nx.DiGraph()
    graph.add_nodes_from(network.names)
    graph.add_edges_from(
        (network.names[p], network.names[v]) for v, parents in enumerate(network.parents) for p in parents
    )
    return CausalOrder.from_graph(graph, features=list(features))


def edgeless_order(features: Sequence[str]) -> CausalOrder:
    """No causal knowledge: every order of the features is allowed, as in ordinary SHAP."""
    return CausalOrder.from_edges([], features=list(features))


def read_causal_graph(causal_graph: Any, features: Sequence[str], hidden: Sequence[str] = ()) -> CausalOrder:
    """A CausalOrder, a DiGraph (pgmpy's included) or a list of (cause, effect) -> an order of exactly ``features``.

    Features that the graph does not mention are kept without any edge, and nodes that are no features are projected
    out; both are said in a warning (the latter not for ``hidden`` nodes, which are known to be latent).
    """
    graph = _as_digraph(causal_graph)
    missing = [name for name in features if name not in graph]
    surprising = [node for node in graph if node not in set(features) | set(hidden)]
    for node in surprising:
        _check_typo(str(node), missing or list(features))
    if missing and len(missing) == len(features) and len(graph):
        raise CausalGraphError(
            f"the causal graph speaks of {_listed(list(graph))}, none of which is a feature; "
            f"the features are {_listed(features)}"
        )
    if missing:
        warn_user(
            f"the causal graph does not mention {_listed(missing)}; taken as features without causes and effects",
            CausalGraphWarning,
        )
        graph.add_nodes_from(missing)
    if surprising:
        warn_user(
            f"the causal graph has {_listed(surprising)}, no feature of the model; "
            "projected out, precedence through it is kept",
            CausalGraphWarning,
        )
    return CausalOrder.from_graph(graph, features=list(features))


def _check_typo(node: str, features: Sequence[str]) -> None:
    """A node that is nearly the name of a feature is a typo; names that differ in a number are not."""
    words = [name for name in features if not any(c.isdigit() for c in name)]
    close = get_close_matches(node, words, n=1, cutoff=0.8)
    if close:
        raise CausalGraphError(
            f"the causal graph has a node {node!r}, which is no feature; did you mean {close[0]!r}? "
            "(Rename it if it really is another variable.)"
        )


def _as_digraph(causal_graph: Any) -> nx.DiGraph:
    order: CausalOrder | None
    if isinstance(causal_graph, CausalOrder):
        order = causal_graph
    elif isinstance(causal_graph, nx.Graph):
        if not causal_graph.is_directed():
            raise CausalGraphError(
                "the causal graph is undirected; pass a networkx.DiGraph whose edges go from cause to effect"
            )
        graph = nx.DiGraph()
        graph.add_nodes_from(str(node) for node in causal_graph)
        graph.add_edges_from((str(a), str(b)) for a, b in causal_graph.edges)
        return graph
    elif isinstance(causal_graph, (list, tuple, set, frozenset)):
        order = (
            CausalOrder.from_edges([(str(a), str(b)) for a, b in _pairs(causal_graph)]) if len(causal_graph) else None
        )
    else:
        raise CausalGraphError(
            f"a causal graph cannot be read from a {type(causal_graph).__name__}; "
            "pass a networkx.DiGraph, a pgmpy network, a list of (cause, effect) or a CausalOrder"
        )
    graph = nx.DiGraph()
    if order is not None:
        graph.add_nodes_from(str(feature) for feature in order.features)
        graph.add_edges_from((str(a), str(b)) for a, b in order.edges)
    return graph


def _pairs(edges: Any) -> list[tuple[Any, Any]]:
    for edge in edges:
        if not isinstance(edge, tuple) or len(edge) != 2:  # a list of two could just as well be a level
            raise CausalGraphError(
                f"{edge!r} is no (cause, effect) pair; pass edges as tuples, [('age', 'income')], "
                "and levels as CausalOrder.from_levels([['age', 'sex'], ['income']])"
            )
    return [(edge[0], edge[1]) for edge in edges]


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def read_orders(orders: Any, weights: Any, features: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """The user's own orders, as names or as positions -> int array (k, n), and their weights made to sum to one."""
    position = {name: i for i, name in enumerate(features)}
    n = len(features)
    rows = [list(order) for order in orders]
    if not rows:
        raise CausalGraphError("orders= is empty; pass at least one order of all features")
    read = np.empty((len(rows), n), dtype=np.intp)
    for i, order in enumerate(rows):
        try:
            places = [position[item] if isinstance(item, str) else int(item) for item in order]
        except KeyError as error:
            raise UnknownFeatureError(
                f"order {i} names {error.args[0]!r}, which is no feature: {list(features)}"
            ) from None
        if sorted(places) != list(range(n)):
            raise CausalGraphError(f"order {i} is {order!r}; each order must hold each of the {n} features once")
        read[i] = places
    if weights is None:
        return read, None
    w = np.asarray(weights, dtype=float)
    if w.shape != (len(rows),) or not np.isfinite(w).all() or (w < 0).any() or w.sum() == 0:
        raise CausalGraphError(
            f"weights= must be {len(rows)} finite numbers >= 0, one for each order, not all zero; got {weights!r}"
        )
    return read, w / w.sum()


# --- everything together ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arguments:
    """What the explainer was built from, as far as a problem depends on it. ``link`` None stands for the identity."""

    model: Any
    causal_graph: Any = None
    orders: Any = None
    weights: Any = None
    encoder: Any = None
    model_output: str = "auto"
    output_names: Sequence[str] | None = None
    impossible: str = "raise"
    link: Link | None = None
    linearize_link: bool = True


def assemble_network_problem(network: DiscreteNetwork, features: Sequence[str], arguments: Arguments) -> Problem:
    """A problem with a Bayesian network as the distribution of the data."""
    background = DiscreteBackground(network, features, impossible=arguments.impossible)
    predictor = read_model(
        arguments.model,
        features,
        background.states,
        encoder=arguments.encoder,
        model_output=arguments.model_output,
        output_names=arguments.output_names,
    )
    own = network_order(network, features)
    return _with_order(background, predictor, arguments, features, own, hidden=background.latent)


def assemble_matrix_problem(
    background: MatrixBackground, features: Sequence[str], arguments: Arguments, probe: np.ndarray
) -> Problem:
    """A problem with shap's marginal expectation over a matrix (or a shap masker) as background.

    ``probe`` are a few rows that the model is tried on.
    """
    predictor = read_plain_model(
        arguments.model,
        model_output=arguments.model_output,
        feature_names=background.dataframe_columns,
        output_names=arguments.output_names,
        probe=background.dressed(probe),
    )
    return _with_order(background, predictor, arguments, features, edgeless_order(features))


def _with_order(
    background: Any,
    predictor: Predictor | PlainPredictor,
    arguments: Arguments,
    features: Sequence[str],
    default: CausalOrder,
    hidden: Sequence[str] = (),
) -> Problem:
    order: CausalOrder | None = default
    given = given_weights = None
    if arguments.orders is not None:
        order = None
        given, given_weights = read_orders(arguments.orders, arguments.weights, features)
    elif arguments.causal_graph is not None:
        order = read_causal_graph(arguments.causal_graph, features, hidden)
    return Problem(background, predictor, order, given, given_weights, arguments.link, arguments.linearize_link)
