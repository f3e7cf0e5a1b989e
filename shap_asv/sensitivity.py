"""What if the graph is wrong? Attributions of the same rows under several causal graphs, and how far they agree.

Given phi_k for every graph k with weight p_k, a row and a feature have

    mean   sum over k of p_k phi_k            range   min over k .. max over k of phi_k
    sign changes   weight of the graphs in which phi_k has the other sign than the reference

where the reference is the given graph, or the mean when there is none. Numbers that differ by rounding only (less than
1e-9 of the largest) count as equal.

Which edge matters most? Where each graph differs from the given one in one edge, that edge matters by how far it moves
the values. Where the graphs are any others, an edge matters by how far the mean with it is from the mean without it.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import UnknownMethodError
from shap_asv.explanation import checked_output, checked_row
from shap_asv.notebook import frame_html

if TYPE_CHECKING:
    import pandas as pd

#: Differences below this share of the largest value are rounding.
ROUNDING = 1e-9


@dataclass(eq=False, repr=False)
class Sensitivity:
    """Attributions of the same rows under several causal graphs.

    Parameters
    ----------
    values : array (graphs, rows, n) or (graphs, rows, n, outputs)
    feature_names : sequence of str
    labels : sequence of str, optional
        What each graph is: ``"flip a -> b"``, ``"graph 3"``.
    weights : array (graphs,), optional
        Positive; scaled to sum to one.
    reference : array (rows, n[, outputs]), optional
        The values under the graph that was given; by default the weighted mean.
    edges : sequence of iterables of (cause, effect), optional
        The edges of each graph, for graphs that differ in more than one.
    output_names : sequence of str, optional
    error_std : array in the shape of values, optional
        Standard errors, where values were sampled. Graphs share their draws, so that differences between graphs are
        less uncertain than this; the error of a mean over graphs is at most the mean of their errors.
    notes : sequence of str, optional
        What else is to be known: which graphs are the same to the values, under which background they stand.

    Examples
    --------
    >>> result = Sensitivity(
    ...     [[[0.3, -0.1]], [[0.2, 0.4]]], ["smoker", "xray"], ["flip smoker -> xray", "drop smoker -> xray"],
    ...     reference=[[0.25, -0.1]],
    ... )
    >>> result
    Sensitivity of 1 row to 2 graphs: mean |value| per feature over the rows, and over the graphs its lowest and highest
             mean lowest highest sign changes
    smoker 0.2500 0.2000  0.3000           0%
    xray   0.2500 0.1000  0.4000          50%
    drop smoker -> xray matters most: it moves values by 0.28 on average, those of xray by 0.5
    >>> result.high.tolist()
    [[0.3, 0.4]]
    """

    values: np.ndarray
    feature_names: Sequence[str]
    labels: Sequence[str] | None = None
    weights: np.ndarray | None = None
    reference: np.ndarray | None = None
    edges: Sequence[Iterable[tuple[Hashable, Hashable]]] | None = None
    output_names: Sequence[str] | None = None
    error_std: np.ndarray | None = None
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.values = np.asarray(self.values, dtype=float)
        self.labels = tuple(f"graph {k}" for k in range(self.n_graphs)) if self.labels is None else tuple(self.labels)
        weights = np.ones(self.n_graphs) if self.weights is None else np.asarray(self.weights, dtype=float)
        self.weights = weights / weights.sum()
        self.reference = None if self.reference is None else np.asarray(self.reference, dtype=float)

    # --- per row and feature ----------------------------------------------------------------------------------------

    @property
    def n_graphs(self) -> int:
        return len(self.values)

    @cached_property
    def mean(self) -> np.ndarray:
        """The weighted mean over the graphs, (rows, features[, outputs])."""
        return np.tensordot(np.asarray(self.weights), self.values, axes=1)

    @cached_property
    def low(self) -> np.ndarray:
        """The smallest value over the graphs, (rows, features[, outputs])."""
        return self.values.min(axis=0)

    @cached_property
    def high(self) -> np.ndarray:
        """The largest value over the graphs, (rows, features[, outputs])."""
        return self.values.max(axis=0)

    @property
    def _centre(self) -> np.ndarray:
        return self.mean if self.reference is None else self.reference

    @cached_property
    def _rounding(self) -> float:
        return ROUNDING * max(float(np.abs(self.values).max()), float(np.abs(self._centre).max()))

    @cached_property
    def sign_changes(self) -> np.ndarray:
        """Weight of the graphs in which a value has the other sign than the reference, (rows, features[, outputs]).

        A sampled value within two standard errors of zero has no sign.
        """
        errors = 0.0 if self.error_std is None else self.error_std
        signs = np.sign(self.values) * (np.abs(self.values) > np.maximum(self._rounding, 2 * errors))
        wanted = np.sign(self._centre) * (np.abs(self._centre) > self._rounding)
        return np.tensordot(np.asarray(self.weights), signs * wanted < 0, axes=1)

    # --- which edge ---------------------------------------------------------------------------------------------------

    def edge_effects(self, row: int | None = None) -> "pd.DataFrame":
        """One line per edge (or per graph, where each is one change): how far it moves the values, largest first.

        Columns: ``effect``, the mean absolute difference over rows and features; ``feature``, which moves most;
        ``by``, the mean of its absolute difference. The difference is that between a graph and the reference, or, where
        ``edges`` are known, between the means of the graphs with and without the edge. With ``row``, of that row alone.
        """
        import pandas as pd

        labels, moved = self._moved
        by_feature = (moved if row is None else moved[:, [self.check_row(row)]]).mean(axis=1)
        most = by_feature.argmax(axis=1)
        columns = {
            "effect": by_feature.mean(axis=1),
            "feature": [self.feature_names[v] for v in most],
            "by": by_feature[np.arange(len(labels)), most],
        }
        frame = pd.DataFrame(columns, index=pd.Index(labels, name="edge", dtype=object))
        return frame.sort_values("effect", ascending=False, kind="stable")

    @cached_property
    def _moved(self) -> tuple[list[str], np.ndarray]:
        """How far each edge moves each value: labels, and the mean over outputs, float (edges, rows, features)."""
        if self.edges is None:
            assert self.labels is not None
            labels, differences = list(self.labels), list(self.values - self._centre)
        else:
            labels, differences, weights = [], [], np.asarray(self.weights)
            for edge in sorted({edge for each in self.edges for edge in each}, key=str):
                has = np.array([edge in set(each) for each in self.edges])
                if has.all():
                    continue  # all graphs agree: nothing can be told about it
                with_it, without = (
                    np.tensordot(weights[part] / weights[part].sum(), self.values[part], axes=1) for part in (has, ~has)
                )
                labels.append("{} -> {}".format(*edge))
                differences.append(with_it - without)
        shape = self.values.shape[1:3]
        return labels, np.abs(np.reshape(differences, (len(labels), *shape, -1 if labels else 1))).mean(axis=3)

    # --- tables -------------------------------------------------------------------------------------------------------

    def output(self, which: int | str) -> "Sensitivity":
        """The sensitivity of one output, by position or name."""
        if self.values.ndim == 3:
            raise UnknownMethodError("the model has one output; there is none to choose")
        place = checked_output(which, self.output_names, self.values.shape[3])
        reference = None if self.reference is None else self.reference[..., place]
        error = None if self.error_std is None else self.error_std[..., place]
        return replace(self, values=self.values[..., place], reference=reference, output_names=None, error_std=error)

    def to_frame(self, row: int | None = None) -> "pd.DataFrame":
        """One line per feature: mean, lowest and highest over the graphs, and the share of changed signs.

        Of one row the values themselves; of all rows the mean of |value| over rows (and outputs) under each graph, and
        the mean of the share. A single row of several outputs needs one to be picked with :meth:`output`. Where values
        were sampled, ``error`` is the largest standard error over the graphs: of the row's value, or the mean over rows
        (and outputs) of the errors, which that of the mean of |value| does not exceed.
        """
        import pandas as pd

        per_graph = self.importance() if row is None else self._row(self.values, self.check_row(row))
        changes = self.sign_changes
        if row is not None:
            changes = self._row(changes[None], self.check_row(row))[0]
        else:
            changes = changes.reshape(*changes.shape[:2], -1).mean(axis=(0, 2))
        columns = {
            "mean": np.asarray(self.weights) @ per_graph,
            "lowest": per_graph.min(axis=0),
            "highest": per_graph.max(axis=0),
            "sign changes": changes,
        }
        if self.error_std is not None:
            errors = _mean_size(self.error_std) if row is None else self._row(self.error_std, self.check_row(row))
            columns["error"] = errors.max(axis=0)
        return pd.DataFrame(columns, index=pd.Index(self.feature_names, name="feature"))

    def importance(self) -> np.ndarray:
        """The mean of |value| over rows and outputs under each graph, (graphs, features)."""
        return _mean_size(self.values)

    def check_row(self, row: Any) -> int:
        """The row as a position, or an :class:`~shap_asv.errors.ExplanationError`."""
        return checked_row(row, self.values.shape[1])

    def _row(self, values: np.ndarray, row: int) -> np.ndarray:
        if values.ndim == 4:
            raise UnknownMethodError(
                f"the model has {values.shape[3]} outputs; pick one first: sensitivity.output({values.shape[3] - 1})"
            )
        return values[:, row]

    def __repr__(self) -> str:
        title, frame, formats, notes = self._told()
        return "\n".join([title, frame.to_string(formatters=formats), *notes])

    def _repr_html_(self) -> str:
        return frame_html(*self._told())

    def _told(self) -> tuple[str, "pd.DataFrame", dict[str, Any], list[str]]:
        """Title, table, how its columns are written, and remarks."""
        n_rows = self.values.shape[1]
        frame = self.to_frame() + 0.0
        frame.index.name = None
        formats: dict[str, Any] = dict.fromkeys(["mean", "lowest", "highest"], "{:.4f}".format)
        formats["sign changes"] = "{:.0%}".format
        formats["error"] = "{:.2g}".format
        title = (
            f"Sensitivity of {n_rows} row{'s' if n_rows > 1 else ''} to {self.n_graphs} graph"
            f"{'s' if self.n_graphs > 1 else ''}: mean |value| per feature over the rows, and over the graphs its "
            "lowest and highest"
        )
        matters = self.matters_most()
        return title, frame, formats, [*([matters] if matters else []), *self.notes]

    def matters_most(self) -> str:
        """The edge on which most hangs, in words; empty where no graph moves a value."""
        effects = self.edge_effects()
        if not len(effects) or effects["effect"].iloc[0] <= self._rounding:
            return ""
        first = effects.iloc[0]
        return (
            f"{effects.index[0]} matters most: it moves values by {first['effect']:.2g} on average, "
            f"those of {first['feature']} by {first['by']:.2g}"
        )


def _mean_size(values: np.ndarray) -> np.ndarray:
    """(graphs, rows, n[, outputs]) -> the mean of |value| over rows and outputs, (graphs, n)."""
    sizes = np.abs(values)
    return np.asarray(sizes.reshape(*sizes.shape[:3], -1).mean(axis=(1, 3)))
