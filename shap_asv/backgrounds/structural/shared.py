"""Mechanisms that do not depend on the date: one for all features of a table that are one variable at several times.

Features share a mechanism if they are the same variable and their causes are the same variables at the same distances
in time. It is learned from all times at which the variable and these causes are in the table. The first time of a
window, say, has no causes there: its mechanism is the distribution of the variable alone, over all times. That is right
for series whose distribution does not change.

Windows that follow one another hold the same times again. A row that continues the row before it, shifted, adds its
newest times alone: a value of the series counts once, however many windows show it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.fitting import NodeTask
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.structural.scores import FittedNode
from shap_asv.backgrounds.tables.codec import Column, TableCodec, learn_column
from shap_asv.errors import TableError, TimeError
from shap_asv.frames import as_pandas
from shap_asv.times import Moment, Times, moment_name


@dataclass(frozen=True, eq=False)
class SharedNodes:
    """The nodes of a DAG by the mechanism that they share.

    Attributes
    ----------
    dag : Dag
        With the causes of a node by their distance in time, so that nodes that share a mechanism agree about it.
    times : Times
        Of the nodes.
    members : dict
        (variable, its causes as (variable, how much later they are)) -> the nodes.
    """

    dag: Dag
    times: Times
    members: dict[tuple[str, tuple[Moment, ...]], list[int]]

    @classmethod
    def read(cls, dag: Dag, times: Times) -> "SharedNodes":
        """Which nodes share one. Raises where an edge leads into the past."""
        parents: list[tuple[int, ...]] = []
        members: dict[tuple[str, tuple[Moment, ...]], list[int]] = {}
        for v, (variable, time) in enumerate(times.moments):
            for p in dag.parents[v]:
                if times.at[p] > times.at[v]:
                    raise TimeError(
                        f"the graph says that {dag.names[p]!r} causes {dag.names[v]!r}, which is before it; turn the "
                        "edge round, or leave it out"
                    )
            causes = sorted(dag.parents[v], key=lambda p: (times.at[p], times.moments[p][0]))
            seen = tuple(_seen_from(time, times.moments[p]) for p in causes)
            parents.append(tuple(causes))
            members.setdefault((variable, seen), []).append(v)
        return cls(Dag(dag.names, tuple(parents)), times, members)

    def tasks(
        self,
        rows: np.ndarray,
        columns: Sequence[Column],
        ways: Sequence[Any],
        seeds: Sequence[int],
        copies: np.ndarray | None,
        index: Any,
    ) -> Iterator[NodeTask]:
        """One task for each mechanism, from rows (r, nodes) with the labels of ``index``."""
        place = {moment: v for v, moment in enumerate(self.times.moments)}
        shift = self._shifts(rows, copies, index)
        for (variable, causes), nodes in self.members.items():
            v = nodes[0]
            static = self.times.moments[v][1] is None
            there: dict[float, list[Any]] = {}
            for time in (None,) if static else self.times.steps:
                found = [place.get(_at(time, moment)) for moment in ((variable, None if static else 0.0), *causes)]
                if None not in found:
                    there[0.0 if time is None else time] = found
            parts, origins = [], []
            for k, (time, block) in enumerate(there.items()):
                new = np.flatnonzero(~np.isin(time + shift, list(there)))
                parts.append(rows[np.ix_(new, block)])
                origins.append((new if copies is None else copies[new]) * len(there) + k)
            values = np.concatenate(parts)
            yield NodeTask(
                values[:, 0],
                values[:, 1:],
                replace(columns[v], name=variable),
                [
                    replace(columns[p], name=moment_name(*cause))
                    for p, cause in zip(self.dag.parents[v], causes, strict=True)
                ],
                ways[v],
                seeds[v],
                None if copies is None else np.unique(np.concatenate(origins), return_inverse=True)[1],
            )

    def _shifts(self, rows: np.ndarray, copies: np.ndarray | None, index: Any) -> np.ndarray:
        """By how much time a row (r,) is later than the row before it, if it continues that one; infinite if not.

        Half of a window has to be the same: a few values may agree by chance.
        """
        place, steps = {moment: v for v, moment in enumerate(self.times.moments)}, self.times.steps
        static = np.flatnonzero(np.isinf(self.times.at)).tolist()
        own = _in_time(len(rows), copies, index)
        found = np.full(len(rows), np.inf)
        most = (steps[-1] - steps[0] + min(np.diff(steps), default=0.0)) / 2
        for shift in sorted({b - a for a in steps for b in steps if 0 < b - a <= most}, reverse=True):
            pairs = [
                (v, place[variable, time + shift])
                for v, (variable, time) in enumerate(self.times.moments)
                if time is not None and (variable, time + shift) in place
            ]
            if not pairs:
                continue
            early, late = map(list, zip(*pairs, strict=True))
            same = rows[np.ix_(own[1:], early + static)] == rows[np.ix_(own[:-1], late + static)]
            found[own[1:][same.all(axis=1)]] = shift
        if copies is not None:
            of_original = np.full(copies.max() + 1, np.inf)
            of_original[copies[own]] = found[own]
            return np.asarray(of_original[copies])
        return found

    def spread(self, fitted: Sequence[FittedNode]) -> list[FittedNode]:
        """What was fitted for each mechanism -> for each node."""
        of_node = {v: one for nodes, one in zip(self.members.values(), fitted, strict=True) for v in nodes}
        names = self.dag.names
        return [
            replace(of_node[v], name=name, causes=tuple(names[p] for p in self.dag.parents[v]))
            for v, name in enumerate(names)
        ]


def _seen_from(time: float | None, cause: Moment) -> Moment:
    return cause[0], None if cause[1] is None or time is None else cause[1] - time


def _at(time: float | None, seen: Moment) -> Moment:
    return seen[0], None if seen[1] is None or time is None else time + seen[1]


def _in_time(n_rows: int, copies: np.ndarray | None, index: Any) -> np.ndarray:
    """The distinct rows, sorted by their labels where these are distinct, too; else as they stand in the table."""
    distinct = np.arange(n_rows) if copies is None else np.unique(copies, return_index=True)[1]
    labels = index[distinct] if hasattr(index, "is_unique") else None  # lists have an index of another kind
    if labels is None or not labels.is_unique:
        return distinct
    try:
        return np.asarray(distinct[labels.argsort()])
    except TypeError:  # labels of several kinds
        return distinct


def shared_codec(data: Any, codec: TableCodec, times: Times) -> TableCodec:
    """The coding of a table in which all columns of a variable are coded alike; ``times`` are those of the columns.

    Raises
    ------
    TableError
        The columns of a variable are of several kinds.
    """
    import pandas as pd

    table = as_pandas(data)
    table = table if isinstance(table, pd.DataFrame) else pd.DataFrame(np.asarray(table))
    coded: dict[str, Any] = {}
    for variable in times.variables:
        own = [k for k, moment in enumerate(times.moments) if moment[0] == variable]
        for k in own:
            if table.dtypes.iloc[k] != table.dtypes.iloc[own[0]]:
                raise TableError(
                    f"{times.features[own[0]]!r} and {times.features[k]!r} are one variable at two times, and of two "
                    f"kinds, {table.dtypes.iloc[own[0]]} and {table.dtypes.iloc[k]}; make their columns of one kind"
                )
        coded[variable] = learn_column(variable, pd.concat([table.iloc[:, k] for k in own], ignore_index=True))
    moments = zip(times.features, times.moments, strict=True)
    return replace(codec, columns=tuple(replace(coded[variable], name=name) for name, (variable, _) in moments))
