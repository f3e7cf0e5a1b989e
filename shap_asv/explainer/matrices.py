"""Matrices and shap's maskers as backgrounds: whether they can be one, and what their columns are called.

A matrix may come without names. Then the model's own names are taken, else ``Feature 0, Feature 1, ...``, and whole
numbers in a causal graph are positions of columns.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.errors import CausalGraphError, NetworkError, ShapAsvWarning, UnknownFeatureError, warn_user
from shap_asv.explainer.causality import read_pairs
from shap_asv.values.marginal import MatrixBackground


def check_background(masker: Any) -> None:
    """A matrix with rows, or a callable masker of shap's; anything else is named in an error."""
    if isinstance(masker, (np.ndarray, type)) or not callable(masker):
        what = f"a {type(masker).__name__}"
        if isinstance(masker, np.ndarray):
            what = f"an array of shape {masker.shape}"
        elif isinstance(masker, type):
            what = f"the class {masker.__name__}, which is no instance"
        raise NetworkError(
            f"a background distribution cannot be read from {what}; pass a pgmpy DiscreteBayesianNetwork, "
            "a 2-D ndarray, a DataFrame or a shap masker"
        )
    data = getattr(masker, "data", None)
    if data is not None and 0 in np.shape(data):
        raise NetworkError(f"the background matrix has no rows or no columns, its shape is {np.shape(data)}")
    if getattr(masker, "clustering", None) is not None:
        warn_user(
            "the masker brings a clustering of the features, which shap uses for Owen values; it is not used here",
            ShapAsvWarning,
        )


def matrix_features(
    background: MatrixBackground, feature_names: Sequence[str] | None, known: Sequence[str] | None, causal_graph: Any
) -> list[str] | None:
    """The names of the columns, ``known`` being those that the model remembers; None when only X can tell."""
    if background.data is None:
        return None  # a masker without rows: the model is tried on the first X
    columns = background.dataframe_columns
    if columns is not None:
        if feature_names is not None and set(feature_names) != set(columns):
            raise UnknownFeatureError(f"feature_names={feature_names} are not the background's columns {columns}")
        return columns
    n = background.n_features
    if feature_names is not None:
        if len(feature_names) != n:
            raise UnknownFeatureError(f"{len(feature_names)} feature_names for a background of {n} columns")
        return [str(name) for name in feature_names]
    if known is not None and len(known) == n:
        return list(known)
    if n is not None and (causal_graph is None or uses_positions(causal_graph)):
        return numbered_features(n)
    return None


def numbered_features(n: int) -> list[str]:
    """The names of columns that nobody named, as shap's plots call them."""
    return [f"Feature {i}" for i in range(n)]


def uses_positions(graph: Any) -> bool:
    """Whether every node of a causal graph is a whole number."""
    edges = _edges_of(graph)
    return bool(edges) and all(
        isinstance(node, (int, np.integer)) and not isinstance(node, bool) for edge in edges for node in edge
    )


def name_positions(graph: Any, features: Sequence[str]) -> nx.DiGraph:
    """A graph of positions of columns -> the graph of their names."""
    edges = read_pairs(graph) if isinstance(graph, (list, tuple, set, frozenset)) else _edges_of(graph)
    nodes = getattr(graph, "nodes", getattr(graph, "features", ()))
    named = nx.DiGraph([(_feature_at(features, a), _feature_at(features, b)) for a, b in edges])
    named.add_nodes_from(_feature_at(features, node) if isinstance(node, (int, np.integer)) else node for node in nodes)
    return named


def _feature_at(features: Sequence[str], position: Any) -> str:
    if not 0 <= position < len(features):
        raise CausalGraphError(f"the causal graph names column {position}; the columns are 0 to {len(features) - 1}")
    return features[int(position)]


def _edges_of(graph: Any) -> list[tuple[Any, Any]]:
    if isinstance(graph, (list, tuple, set, frozenset)):
        return [
            tuple(edge) for edge in graph if not isinstance(edge, str) and hasattr(edge, "__len__") and len(edge) == 2
        ]
    edges = getattr(graph, "edges", ())
    return [(edge[0], edge[1]) for edge in edges] if isinstance(edges, Iterable) else []
