"""A discrete network fitted to a table: a DAG, the states of every column, and how often they go together.

With ``n`` the counts in the table of N rows, ``k`` states and ``a`` pseudo-rows (``smoothing``):

    P(v)            = (n(v) + a / k) / (N + a)
    P(v | causes)   = (n(v, causes) + a P(v)) / (n(causes) + a)

so that every combination of causes has ``a`` more rows, which look like the column does on its own; combinations that
the table does not have look like it altogether.

Columns whose states have groups (:mod:`~shap_asv.backgrounds.discrete.binning`) are related by
their groups ``g``:

    P(v | causes) = P(g(v) | groups of the causes) * P(v | g(v)),     P(v | g) = (n(v) + a / k_g) / (n(g) + a)

The group of a cause stands in the network as a latent node of its own, a function of the cause: the table of an effect
has as many columns as the causes have groups, however many states these have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.arguments import check_count, generator_of
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.binning import ColumnStates
from shap_asv.backgrounds.discrete.border import ValueBorder
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import TableError

#: Entries that the table of one node may have: 64 MiB of doubles.
MOST_ENTRIES = 1 << 23


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A discrete network that knows what its states are in the table that it was fitted to.

    Made by :func:`shap_asv.fit_network`; hand it over as background, and rows as they are in the table.

    Attributes
    ----------
    network : DiscreteNetwork
        Names, states, parents and tables. Columns related by groups have a latent node for these.
    columns : tuple of ColumnStates
        In the order of the table; ``columns[v].labels`` are its states.
    n_rows : int
    smoothing : float
    """

    network: DiscreteNetwork
    columns: tuple[ColumnStates, ...]
    dag: Dag
    codec: TableCodec
    n_rows: int
    smoothing: float

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of the table."""
        return tuple(column.name for column in self.columns)

    @property
    def graph(self) -> nx.DiGraph:
        """Causes and effects among the columns."""
        return self.dag.to_networkx()

    def background(self, features: Sequence[str] | None = None, impossible: str = "raise") -> DiscreteBackground:
        """The distribution of ``features`` (all columns by default); other columns are latent."""
        border = partial(ValueBorder.over, self.codec, self.columns, self.n_rows)
        return DiscreteBackground(self.network, self.names if features is None else features, impossible, border)

    def representatives(self, rows: Any) -> Any:
        """The rows as the model sees them: every value of a binned column replaced by the one that stands for its bin.

        How far the model moves is ``model.predict(rows) - model.predict(network.representatives(rows))``.
        """
        background = self.background()
        return background.inputs(background.read(rows))

    def sample(self, n: int, seed: int | None = None) -> Any:
        """``n`` independent rows of representatives, with the types of the table."""
        background = self.background()
        uniforms = generator_of(seed).random((check_count(n, "n", "a number of rows"), background.n_uniforms))
        return background.inputs(background.draws(np.full((1, background.n_features), -1), uniforms)[0])

    def __str__(self) -> str:
        by_name = {column.name: column for column in self.columns}
        smoothing = f"smoothing {self.smoothing:g}"
        lines = [f"network of {len(self.columns)} columns fitted to {self.n_rows:,} rows, {smoothing}"]
        for v, name in enumerate(self.dag.names):
            causes = ", ".join(self.dag.names[p] for p in self.dag.parents[v])
            states = [str(label) for label in by_name[name].labels]
            shown = ", ".join(states if len(states) <= 6 else [*states[:3], "...", states[-1]])
            lines.append(f"  {name}{' <- ' + causes if causes else ''}: {by_name[name].describe()}: {shown}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<FittedNetwork of {len(self.columns)} columns, {self.n_rows:,} rows>"


def fit_tables(
    dag: Dag, codec: TableCodec, columns: Sequence[ColumnStates], rows: np.ndarray, smoothing: float
) -> FittedNetwork:
    """Count the states of coded rows (r, n), a column each. O(r n + entries of the tables)."""
    by_name = {column.name: v for v, column in enumerate(columns)}
    coded = {column.name: column.read(rows[:, v]).astype(np.int64) for v, column in enumerate(columns)}
    names: list[str] = []
    states: list[tuple[Any, ...]] = []
    parents: list[tuple[int, ...]] = []
    tables: list[np.ndarray] = []
    related: list[tuple[int, np.ndarray, int]] = []  # of each column: node, groups of the rows, how many groups
    for v, name in enumerate(dag.names):
        column = columns[by_name[name]]
        causes = [related[p] for p in dag.parents[v]]
        n_groups = column.n_states if column.groups is None else int(column.groups.max()) + 1
        _check_size(column, [columns[by_name[dag.names[p]]] for p in dag.parents[v]], [size for _, _, size in causes])
        groups = coded[name] if column.groups is None else column.groups[coded[name]]
        table = smoothed_table(groups, n_groups, [(codes, size) for _, codes, size in causes], smoothing)
        if column.groups is not None:
            within = shares_within(coded[name], column.groups, smoothing)
            table = table[column.groups] * within.reshape(-1, *[1] * len(causes))
        names.append(name)
        states.append(column.labels)
        parents.append(tuple(node for node, _, _ in causes))
        tables.append(table)
        if column.groups is not None and dag.children[v]:
            names.append(_unused(f"{name} (group)", dag.names))
            states.append(tuple(range(n_groups)))
            parents.append((len(names) - 2,))
            tables.append(np.eye(n_groups)[column.groups].T)
        related.append((len(names) - 1, groups, n_groups))
    network = DiscreteNetwork(tuple(names), tuple(states), tuple(parents), tuple(tables))
    return FittedNetwork(network, tuple(columns), dag, codec, len(rows), float(smoothing))


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


def shares_within(codes: np.ndarray, groups: np.ndarray, smoothing: float) -> np.ndarray:
    """``P(v | g(v))`` (k,) from codes of rows (r,) and the group of each state (k,)."""
    sizes = np.bincount(groups)
    counts = np.bincount(codes, minlength=len(groups)) + smoothing / sizes[groups]
    totals = np.bincount(groups, weights=counts)[groups]
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), 1.0 / sizes[groups])


def _check_size(column: ColumnStates, causes: Sequence[ColumnStates], sizes: Sequence[int]) -> None:
    entries = column.n_states * int(np.prod(sizes, dtype=object))
    if entries <= MOST_ENTRIES:
        return
    listed = ", ".join(f"{cause.name} ({size})" for cause, size in zip(causes, sizes, strict=True))
    raise TableError(
        f"the table of {column.name!r} ({column.n_states} states) given {listed} would have {entries:,} entries, more "
        f"than {MOST_ENTRIES:,}; give these columns fewer bins, merge rare labels, or take a StructuralModel"
    )


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "'"
    return name


# --- as a background --------------------------------------------------------------------------------------------


def read_fitted_network(given: FittedNetwork, masker: Any) -> NamedDistribution:
    """Columns that are not features are latent: which ones are, the model or X says."""
    return NamedDistribution(given.names, given.background, ("a column of the network", "its columns are"), given)
