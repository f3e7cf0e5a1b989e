"""A discrete network fitted to a table: a DAG, the values of every column, and how often they go together.

With ``n`` the counts in the table of N rows, ``k`` states and ``a`` pseudo-rows (``smoothing``):

    P(v)            = (n(v) + a / k) / (N + a)
    P(v | causes)   = (n(v, causes) + a P(v)) / (n(causes) + a)

so that every combination of causes has ``a`` more rows, which look like the column does on its own; combinations that
the table does not have look like it altogether.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.arguments import check_count, generator_of
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.border import ColumnStates, ValueBorder
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import TableError

#: Entries that the table of one node may have: 64 MiB of doubles.
MOST_ENTRIES = 1 << 23
#: Distinct numbers that a column may have.
MOST_NUMBERS = 32


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A discrete network that knows what its states are in the table that it was fitted to.

    Made by :func:`shap_asv.fit_network`; hand it over as background, and rows as they are in the table.

    Attributes
    ----------
    network : DiscreteNetwork
        Names, states, parents and tables.
    columns : tuple of ColumnStates
        In the order of the table; ``columns[v].labels`` are its states.
    n_rows : int
    smoothing : float
    """

    network: DiscreteNetwork
    columns: tuple[ColumnStates, ...]
    codec: TableCodec
    n_rows: int
    smoothing: float

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of the table."""
        return self.codec.names

    @property
    def graph(self) -> nx.DiGraph:
        """Causes and effects among the columns."""
        return self.network.graph()

    def background(self, features: Sequence[str] | None = None) -> DiscreteBackground:
        """The distribution of ``features`` (all columns by default); other columns are latent."""
        border = partial(ValueBorder.over, self.codec, self.columns, self.n_rows)
        return DiscreteBackground(self.network, self.names if features is None else features, border)

    def sample(self, n: int, seed: int | None = None) -> Any:
        """``n`` independent rows, with the types of the table."""
        background = self.background()
        uniforms = generator_of(seed).random((check_count(n, "n", "a number of rows"), background.n_uniforms))
        return background.inputs(background.draws(np.full((1, background.n_features), -1), uniforms)[0])

    def __str__(self) -> str:
        lines = [f"network of {len(self.columns)} columns fitted to {self.n_rows:,} rows, smoothing {self.smoothing:g}"]
        for name, states, parents in zip(self.network.names, self.network.states, self.network.parents, strict=True):
            causes = ", ".join(self.network.names[p] for p in parents)
            labels = list(map(str, states))
            shown = ", ".join(labels if len(labels) <= 6 else [*labels[:3], "...", labels[-1]])
            count = f"{len(labels)} value{'s' if len(labels) != 1 else ''}"
            lines.append(f"  {name}{' <- ' + causes if causes else ''}: {count}: {shown}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<FittedNetwork of {len(self.columns)} columns, {self.n_rows:,} rows>"


def fit_tables(dag: Dag, codec: TableCodec, rows: np.ndarray, smoothing: float) -> FittedNetwork:
    """Count the values of coded rows (r, n), a column each. O(r n log r + entries of the tables)."""
    columns = [ColumnStates(column, np.unique(rows[:, v])) for v, column in enumerate(codec.columns)]
    for column in columns:
        _check_numbers(column)
    at = [codec.names.index(name) for name in dag.names]
    own = [(columns[k].read(rows[:, k]), len(columns[k].codes)) for k in at]
    tables = []
    for v, parents in enumerate(dag.parents):
        _check_size(columns[at[v]], [columns[at[p]] for p in parents])
        tables.append(smoothed_table(*own[v], [own[p] for p in parents], smoothing))
    network = DiscreteNetwork(dag.names, tuple(columns[k].labels for k in at), dag.parents, tuple(tables))
    return FittedNetwork(network, tuple(columns), codec, len(rows), float(smoothing))


def smoothed_table(
    codes: np.ndarray, n_states: int, causes: Sequence[tuple[np.ndarray, int]], smoothing: float
) -> np.ndarray:
    """``P(v | causes)`` (k, c1, c2, ...) from codes of rows (r,), as the module has it. O(r + entries).

    >>> smoothed_table(np.array([0, 0, 1, 1]), 2, [(np.array([0, 0, 0, 1]), 3)], 1.0).round(3).tolist()
    [[0.625, 0.25, 0.5], [0.375, 0.75, 0.5]]
    """
    shape = (n_states, *(size for _, size in causes))
    where = np.ravel_multi_index((codes, *(own for own, _ in causes)), shape)
    counts = np.bincount(where, minlength=int(np.prod(shape))).reshape(shape).astype(float)
    own = np.bincount(codes, minlength=n_states) + smoothing / n_states
    own = (own / own.sum()).reshape(-1, *[1] * len(causes))
    if not causes:
        return own.reshape(-1)
    rows = counts.sum(axis=0)
    total = rows + smoothing
    table = (counts + smoothing * own) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, table, own)


def _check_numbers(column: ColumnStates) -> None:
    count = int(np.isfinite(column.codes).sum())
    if column.column.kind.category or count <= MOST_NUMBERS:
        return
    raise TableError(
        f"column {column.name!r} holds {count:,} distinct numbers, more states than a network takes ({MOST_NUMBERS}); "
        "pass the table itself as background, with the graph, or cut the column into categories, for the model too: "
        f"pandas.cut(table[{column.name!r}], [...])"
    )


def _check_size(column: ColumnStates, causes: Sequence[ColumnStates]) -> None:
    sizes = [len(cause.codes) for cause in causes]
    entries = len(column.codes) * int(np.prod(sizes, dtype=object))
    if entries <= MOST_ENTRIES:
        return
    listed = ", ".join(f"{cause.name} ({size})" for cause, size in zip(causes, sizes, strict=True))
    raise TableError(
        f"the table of {column.name!r} ({len(column.codes)} states) given {listed} would have {entries:,} entries, "
        f"more than {MOST_ENTRIES:,}; merge rare labels, or pass the table itself as background, with the graph"
    )


# --- as a background --------------------------------------------------------------------------------------------


def read_fitted_network(given: FittedNetwork, masker: Any) -> NamedDistribution:
    """Columns that are not features are latent: which ones are, the model or X says."""
    return NamedDistribution(given.names, given.background, ("a column of the network", "its columns are"), given)
