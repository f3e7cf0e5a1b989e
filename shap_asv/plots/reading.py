"""What the caller hands over: explanations become one block of numbers that every plot draws from, graphs a DAG.

Plots compare *methods* (SHAP, ASV, ...) on the same rows and the same features. That sameness is checked here, so that
no plot can put the credit of one patient beside that of another.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import networkx as nx
import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.explanation import checked_row
from shap_asv.orders.uncertain import GraphMixture, read_partial_graph
from shap_asv.plots.style import feature_label

DEFAULT_NAMES = ("SHAP", "ASV")


@dataclass(frozen=True, eq=False)
class Attributions:
    """``values[m, r, j]`` is what method ``m`` gives feature ``j`` of row ``r``.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods, in the order of drawing.
    values : float64 array (m, rows, n)
    base_values : float64 array (m, rows)
    errors : float64 array (m, rows, n)
        Standard errors; zero where values are exact.
    features : tuple of str
    data : object or float array (rows, n), or None
        What the rows hold: numbers (codes of states for discrete features).
    display : object array (rows, n), or None
        What a reader should see instead of ``data``: labels of states.
    order : causal graph in any form, or None
        What puts causes above effects.
    """

    methods: tuple[str, ...]
    values: np.ndarray
    base_values: np.ndarray
    errors: np.ndarray
    features: tuple[str, ...]
    data: np.ndarray | None
    display: np.ndarray | None
    order: Any = None

    @property
    def n_rows(self) -> int:
        return self.values.shape[1]

    def row_index(self, row: int) -> int:
        """``row`` as an index from 0; negative counts from the end, as everywhere in Python."""
        return checked_row(row, self.n_rows)

    def of_row(self, row: int | None) -> tuple[np.ndarray, list[str | None]]:
        """(values (m, n), what the row holds, as text); of None the means of |value| over all rows, without text."""
        nothing: list[str | None] = [None] * len(self.features)
        if row is None:
            return np.abs(self.values).mean(axis=1), nothing
        index = self.row_index(row)
        shown = self.display if self.display is not None else self.data
        return self.values[:, index], nothing if shown is None else [as_text(value) for value in shown[index]]

    def row_labels(self, texts: Sequence[str | None], width: int = 30) -> list[str]:
        """``Smoker = True``: every feature with what a row holds in it."""
        return [feature_label(feature, text, width) for feature, text in zip(self.features, texts, strict=True)]

    def sequence(self, importance: np.ndarray | None = None) -> np.ndarray:
        """Positions of the features, causes first, see :func:`causal_sequence`."""
        return causal_sequence(self.order, self.features, importance)


def read_attributions(explanations: Any, order: Any = None) -> Attributions:
    """Check explanations against one another and stack them.

    Parameters
    ----------
    explanations : dict of str to shap.Explanation, pair (shap, asv), one shap.Explanation, or a comparison
        A dict or a named tuple names the methods itself. A pair is taken as SHAP and ASV, in this order. An object with
        a dict ``explanations`` (a comparison) stands for that dict.
    order : causal graph, optional
        By default the ``order`` of a comparison.

    Returns
    -------
    Attributions
        Features in the order of the first explanation; others are aligned by name.
    """
    named = by_name(explanations)
    if order is None and _is_comparison(explanations):
        order = explanations.order
    blocks = [_read_one(name, explanation) for name, explanation in named.items()]
    first = blocks[0]
    aligned = [first, *(_align(block, first) for block in blocks[1:])]
    display = next((block.display for block in aligned if block.display is not None), None)
    data = next((block.data for block in aligned if block.display is display and block.data is not None), None)
    return Attributions(
        methods=tuple(named),
        values=np.concatenate([block.values for block in aligned]),
        base_values=np.concatenate([block.base_values for block in aligned]),
        errors=np.concatenate([block.errors for block in aligned]),
        features=first.features,
        data=data,
        display=display,
        order=order,
    )


def _is_comparison(given: Any) -> bool:
    return not isinstance(given, Mapping) and isinstance(getattr(given, "explanations", None), Mapping)


def by_name(explanations: Any) -> dict[str, Any]:
    """Explanations by the names of their methods, checked to be some."""
    from shap import Explanation

    given = explanations.explanations if _is_comparison(explanations) else explanations
    if isinstance(given, Explanation):
        named = {"attribution": given}
    elif isinstance(given, Mapping):
        named = {str(name): explanation for name, explanation in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        names = given._fields if hasattr(given, "_fields") else DEFAULT_NAMES
        named = dict(zip(names, given, strict=True))
    else:
        raise ExplanationError(
            f"explanations must be a dict of name -> shap.Explanation, a pair (shap, asv) or one shap.Explanation, "
            f"not {_describe(given)}"
        )
    if not named:
        raise ExplanationError("explanations is empty: give at least one shap.Explanation")
    for name, explanation in named.items():
        if not isinstance(explanation, Explanation):
            raise ExplanationError(f"{name!r} must be a shap.Explanation, not {_describe(explanation)}")
    return named


def _describe(thing: Any) -> str:
    length = f" of length {len(thing)}" if isinstance(thing, Sequence) and not isinstance(thing, str) else ""
    return f"a {type(thing).__name__}{length}"


def _read_one(name: str, explanation: Any) -> Attributions:
    values = np.asarray(explanation.values, dtype=np.float64)
    names = explanation.feature_names
    _refuse_many_outputs(name, explanation, values)
    values = np.atleast_2d(values)
    n_rows, n_features = values.shape
    if n_rows == 0 or n_features == 0:
        raise ExplanationError(f"{name!r} is empty (values have shape {values.shape}): there is nothing to draw")
    if not np.isfinite(values).all():
        row, feature = np.argwhere(~np.isfinite(values))[0]
        raise ExplanationError(
            f"{name!r} holds {values[row, feature]} at row {row}, feature {feature}: cannot be drawn"
        )
    features = tuple(str(f) for f in names) if names is not None else tuple(f"Feature {j}" for j in range(n_features))
    if len(features) != n_features:
        raise ExplanationError(f"{name!r} has {n_features} values per row but {len(features)} feature names")
    if len(set(features)) != n_features:
        twice = next(f for f in features if features.count(f) > 1)
        raise ExplanationError(f"{name!r} has two features named {twice!r}: rename one")
    base = np.asarray(explanation.base_values if explanation.base_values is not None else 0.0, dtype=np.float64)
    if base.size not in (1, n_rows):
        raise ExplanationError(f"{name!r} has {base.size} base values for {n_rows} row(s)")
    errors = _as_table(name, "error_std", explanation.error_std, values.shape)
    return Attributions(
        methods=(name,),
        values=values[None],
        errors=np.zeros(values.shape)[None] if errors is None else errors.astype(float)[None],
        base_values=np.broadcast_to(base.reshape(-1), (n_rows,))[None],
        features=features,
        data=_as_table(name, "data", explanation.data, values.shape),
        display=_as_table(name, "display_data", explanation.display_data, values.shape),
    )


def _refuse_many_outputs(name: str, explanation: Any, values: np.ndarray) -> None:
    names = explanation.feature_names
    # a row of a multi-output explanation is (features, outputs); its data, or its names, tell it from (rows, features)
    row_of_many = values.ndim == 2 and (
        (explanation.data is not None and np.ndim(explanation.data) == 1)
        or (names is not None and not isinstance(names, str) and len(names) == values.shape[0] != values.shape[1])
    )
    if values.ndim == 3 or row_of_many:
        outputs = explanation.output_names
        known = f" ({', '.join(map(str, outputs))})" if isinstance(outputs, list | tuple) else ""
        raise ExplanationError(
            f"{name!r} explains {values.shape[-1]} outputs{known}; pick one with e[..., k], for example "
            "e[..., 1], or comparison.output(1) of a comparison"
        )
    if values.ndim not in (1, 2):
        raise ExplanationError(f"{name!r} has values of shape {values.shape}; rows x features are needed")


def _as_table(name: str, field: str, table: Any, shape: tuple[int, int]) -> np.ndarray | None:
    if table is None:
        return None
    array = np.asarray(table)
    if array.shape == shape[1:]:
        array = array[None]
    if array.shape != shape:
        raise ExplanationError(f"{name!r} has {field} of shape {array.shape}, but values for {shape[0]} x {shape[1]}")
    return array


def _align(block: Attributions, first: Attributions) -> Attributions:
    """``block`` with its features in the order of ``first``, once both are known to explain the same rows."""
    here, there = first.methods[0], block.methods[0]
    missing = [f for f in first.features if f not in block.features]
    surplus = [f for f in block.features if f not in first.features]
    if missing or surplus:
        parts = [f"{there!r} lacks {', '.join(map(repr, missing))}"] if missing else []
        parts += [f"{here!r} lacks {', '.join(map(repr, surplus))}"] if surplus else []
        raise ExplanationError(f"{here!r} and {there!r} explain different features: {'; '.join(parts)}")
    if block.n_rows != first.n_rows:
        raise ExplanationError(
            f"{here!r} explains {first.n_rows} row(s) and {there!r} {block.n_rows}: explain the same rows with both"
        )
    columns = [block.features.index(f) for f in first.features]
    aligned = replace(
        block,
        values=block.values[:, :, columns],
        errors=block.errors[:, :, columns],
        features=first.features,
        data=None if block.data is None else block.data[:, columns],
        display=None if block.display is None else block.display[:, columns],
    )
    _check_same_rows(first, aligned)
    return aligned


def _check_same_rows(first: Attributions, other: Attributions) -> None:
    """Labels are compared with labels, numbers with numbers.

    Codes are not compared: another library's explanation of the same rows may hold other codes of our states.
    """
    a, b = (block.data if block.display is None else block.display for block in (first, other))
    if a is None or b is None or (first.display is None) != (other.display is None):
        return
    differs = _unequal(a, b)
    if differs.any():
        row, j = np.argwhere(differs)[0]
        raise ExplanationError(
            f"{first.methods[0]!r} and {other.methods[0]!r} explain different rows: row {row} has "
            f"{first.features[j]} = {as_text(a[row, j])} in one and {as_text(b[row, j])} in the other"
        )


def _unequal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    try:
        return ~np.isclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-6, atol=0, equal_nan=True)
    except (TypeError, ValueError):
        return a.astype(str) != b.astype(str)


def as_text(value: Any) -> str:
    """A value as it stands in a label: 30.0 reads 30, and nothing has more than four significant digits."""
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    if number == round(number, 3) and abs(number) < 1e15:
        text = f"{number:.3f}".rstrip("0").rstrip(".")
    else:
        text = f"{number:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


# --- causal graphs ----------------------------------------------------------------------------------------------


@runtime_checkable
class KnowsGraph(Protocol):
    """A distribution that knows what causes what, such as a fitted network or a structural model."""

    @property
    def graph(self) -> Any: ...


def read_graph(order: Any, features: Sequence[str] | None = None) -> nx.DiGraph:
    """The DAG behind ``order``.

    Parameters
    ----------
    order : GraphMixture, a distribution, or any graph that :func:`~shap_asv.orders.uncertain.read_partial_graph` reads
        Of a mixture of graphs, the most certain edges that close no cycle; of a distribution, its own graph.
    features : sequence of str, optional
        Names for the rows of a matrix, and the nodes of a list without edges.

    Returns
    -------
    networkx.DiGraph
        Node names as str; edges of a mixture have an attribute ``certainty``.
    """
    if isinstance(order, GraphMixture):
        return _most_certain(order.features, order.edge_certainty)
    if isinstance(order, KnowsGraph) and isinstance(order.graph, nx.DiGraph):
        order = order.graph
    if isinstance(order, list):
        order = [tuple(edge) if isinstance(edge, list) else edge for edge in order]
    return nx.relabel_nodes(read_partial_graph(order, features).to_graph(), str)


def _most_certain(nodes: Iterable[Hashable], certainty: Mapping[Any, float]) -> nx.DiGraph:
    """Edges taken by falling certainty, unless they close a cycle with those taken before."""
    graph = nx.DiGraph()
    graph.add_nodes_from(str(node) for node in nodes)
    for (a, b), share in sorted(certainty.items(), key=lambda item: -item[1]):
        cause, effect = str(a), str(b)
        if not nx.has_path(graph, effect, cause):
            graph.add_edge(cause, effect, certainty=float(share))
    return graph


def causal_sequence(order: Any, features: Sequence[str], importance: np.ndarray | None = None) -> np.ndarray:
    """Positions of ``features`` with every cause before its effects -> int (n,).

    Of all topological orders the one that stays closest to the given sequence: whenever several features may come
    next, the one that stands first in ``features`` does. Nodes of the graph that are not features pass their precedence
    on; features that the graph does not know count as unconstrained. ``order=None`` keeps the given sequence, or puts
    the most important feature first.
    """
    if order is None:
        return np.arange(len(features)) if importance is None else np.argsort(-importance, kind="stable")
    graph = read_graph(order, features)
    graph.add_nodes_from(features)
    place = {feature: j for j, feature in enumerate(features)}
    # a latent node waits for nothing: it goes out as soon as it can, so that it holds up no feature
    ranks = {node: (place.get(node, -1), node) for node in graph}
    return np.array([place[node] for node in nx.lexicographical_topological_sort(graph, ranks.get) if node in place])
