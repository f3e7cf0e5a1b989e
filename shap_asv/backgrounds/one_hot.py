"""Groups of dummies as categories: a distribution of one column for each group, behind the border of the dummies.

Columns of 0 and 1 of which exactly one is 1 in every row say one thing, and a distribution that takes them one by one
draws rows in which two of them are 1, or none. So it is fitted to the table in which each such group is one category.
Rows and the model keep the dummies, and so do coalitions: they hold all members of a group or none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Background, Conditions, CountsDraws, KnowsInterventions
from shap_asv.backgrounds.tables.border import TableBorder, checked_evidence
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.costs import Cost
from shap_asv.errors import ArgumentError, RowsError


@dataclass(frozen=True, eq=False)
class Dummies:
    """Which columns of a table are the dummies of which category.

    Attributes
    ----------
    codec : TableCodec
        Of the table with the dummies.
    columns : tuple of (name, places)
        The columns after merging, and where what they are made of stands in the table.
    bases : frozenset of str
        Categories that have one more state, in which all dummies are 0 (the first was dropped).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"red": [1, 0, 0], "blue": [0, 1, 0], "size": [3.0, 5.0, 4.0]})
    >>> dummies = Dummies.find(table, {"colour": ["red", "blue"]})
    >>> dummies.merge(table)["colour"].tolist()
    ['red', 'blue', 'none of them']
    """

    codec: TableCodec
    columns: tuple[tuple[str, tuple[int, ...]], ...]
    bases: frozenset[str]

    @classmethod
    def find(cls, table: Any, groups: Mapping[Any, Sequence[Any]] | None) -> Self | None:
        """The groups of which at most one member is 1 in each row of the table; None without any."""
        if not groups:
            return None
        codec = TableCodec.learn(table)
        rows = codec.read(table)
        found, bases = {}, set()
        for name, members in groups.items():
            places = tuple(sorted(codec.names.index(str(member)) for member in members))
            held = rows[:, places]
            ones = held.sum(axis=1)
            if len(places) > 1 and np.isin(held, (0, 1)).all() and ones.max() == 1:
                found[str(name)] = places
                if ones.min() == 0:
                    bases.add(str(name))
        owner = {place: name for name, places in found.items() for place in places}
        merged = dict.fromkeys(owner.get(v, name) for v, name in enumerate(codec.names))
        columns = tuple((name, found.get(name) or (codec.names.index(name),)) for name in merged)
        return cls(codec, columns, frozenset(bases)) if found else None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns after merging."""
        return tuple(name for name, _ in self.columns)

    @property
    def groups(self) -> dict[str, list[str]]:
        """The members of each category."""
        return {name: [self.codec.names[v] for v in places] for name, places in self.columns if len(places) > 1}

    def sentence(self) -> str:
        """Which groups these are, in a line."""
        named = (
            f"{name} (1 in {'at most' if name in self.bases else 'exactly'} one of its columns)" for name in self.groups
        )
        return f"one-hot groups are drawn as one category: {', '.join(named)}"

    def codes(self, rows: np.ndarray, name: str, places: tuple[int, ...]) -> np.ndarray:
        """The state of a category in rows (r, n): the place of the 1 among its dummies; a RowsError without one."""
        held = rows[:, places]
        ones = held.sum(axis=1)
        wrong = ~np.isin(held, (0, 1)).all(axis=1) | (ones > 1) | ((ones == 0) & (name not in self.bases))
        if wrong.any():
            r = int(np.flatnonzero(wrong)[0])
            shown = ", ".join(f"{self.codec.names[v]}={rows[r, v]:g}" for v in places)
            most = "at most" if name in self.bases else "exactly"
            raise RowsError(
                f"row {r} has {shown}; the group {name!r} is drawn as one category, since {most} one of its members is "
                "1 in every row of the table. Mend the row, or take its members as features by leaving the group out "
                "of groups="
            )
        return np.where(ones == 0, len(places), held.argmax(axis=1))

    def merge(self, table: Any) -> Any:
        """The table with a categorical column in the place of each group."""
        import pandas as pd

        frame = table if hasattr(table, "iloc") else pd.DataFrame(np.asarray(table))
        rows, merged = self.codec.read(table), {}
        for name, places in self.columns:
            if len(places) == 1:
                merged[name] = frame.iloc[:, places[0]].reset_index(drop=True)
            else:
                states = [*self.groups[name], *(["none of them"] if name in self.bases else [])]
                merged[name] = pd.Categorical.from_codes(self.codes(rows, name, places), categories=states)
        return pd.DataFrame(merged)

    def split(self, rows: np.ndarray) -> np.ndarray:
        """Rows (..., m) of the merged table -> rows (..., n) with dummies."""
        result = np.empty((*rows.shape[:-1], self.codec.n_columns))
        for k, (_, places) in enumerate(self.columns):
            for state, place in enumerate(places):
                result[..., place] = rows[..., k] if len(places) == 1 else rows[..., k] == state
        return result

    def split_inputs(self, merged: Any) -> Any:
        """What the model is called with, of a table such as :meth:`merge` makes."""
        rows = np.empty((len(merged), len(self.columns)))
        for k, (_, places) in enumerate(self.columns):
            column = merged.iloc[:, k]
            rows[:, k] = self.codec.columns[places[0]].read(column) if len(places) == 1 else column.cat.codes
        return self.codec.inputs(self.split(rows))


class OneHotBackground(TableBorder):
    """A distribution of the merged columns, over rows with dummies."""

    def __init__(self, dummies: Dummies, merged: Any) -> None:
        self.dummies, self.merged, self.codec = dummies, merged, dummies.codec

    def _keep(self, kept: list[int]) -> None:
        columns = [(name, places) for name, places in self.dummies.columns if set(places) & set(kept)]
        for name, places in columns:
            if not set(places) <= set(kept):
                raise ArgumentError(
                    f"the group {name!r} is drawn as one category; name all of its members as features, or none"
                )
        self.merged = self.merged.only([name for name, _ in columns])
        moved = tuple((name, tuple(kept.index(v) for v in places)) for name, places in columns)
        self.dummies = Dummies(self.codec, moved, self.dummies.bases)

    @property
    def latent(self) -> tuple[str, ...]:
        return tuple(self.merged.latent)

    @property
    def graph(self) -> nx.DiGraph | None:
        """The graph of the merged columns, where every dummy has the edges of its category."""
        if self.merged.graph is None:
            return None
        members, graph = self.dummies.groups, nx.DiGraph()
        graph.add_nodes_from(one for node in self.merged.graph for one in members.get(node, [node]))
        for cause, effect in self.merged.graph.edges:
            graph.add_edges_from((a, b) for a in members.get(cause, [cause]) for b in members.get(effect, [effect]))
        return graph

    @property
    def conditions_on(self) -> Conditions:  # type: ignore[override]
        conditions: Conditions = self.merged.conditions_on
        return conditions

    @property
    def n_uniforms(self) -> int:
        return int(self.merged.n_uniforms)

    def drawing_cost(self, n_coalitions: int, n_rows: int, n_draws: int, ancestral: bool) -> Cost:
        """That of the merged columns."""
        if isinstance(self.merged, CountsDraws):
            return self.merged.drawing_cost(n_coalitions, n_rows, n_draws, ancestral)
        return Cost({"draw": n_coalitions * n_rows * n_draws})

    def describe(self) -> str:
        return f"{self.merged.describe()}, one-hot groups as categories: {', '.join(self.dummies.groups)}"

    def check(self, rows: np.ndarray) -> None:
        """Raise where a row has dummies that cannot be."""
        self._merged(rows)

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n) given evidence (E, n) that holds all members of a group, or none."""
        return self.dummies.split(
            self.merged.draws(self._merged(checked_evidence(evidence, self.n_features)), uniforms)
        )

    def intervened(self) -> Background | None:
        """The same under ``do(X_S = e_S)``, where the merged columns know causes."""
        own = self.merged.intervened() if isinstance(self.merged, KnowsInterventions) else None
        return None if own is None else OneHotBackground(self.dummies, own)

    def showing(self, feature: int) -> "OneHotBackground":
        """Interventions where evidence about ``feature``, and its group, is shown to the model alone."""
        (column,) = (k for k, (_, places) in enumerate(self.dummies.columns) if feature in places)
        return OneHotBackground(self.dummies, self.merged.showing(column))

    def _merged(self, evidence: np.ndarray) -> np.ndarray:
        result = np.full((len(evidence), len(self.dummies.columns)), np.nan)
        for k, (name, places) in enumerate(self.dummies.columns):
            free = np.isnan(evidence[:, places])
            if (free.any(axis=1) != free.all(axis=1)).any():
                raise ArgumentError(f"evidence holds some members of the group {name!r} and not the others; hold all")
            if len(places) == 1:
                result[:, k] = evidence[:, places[0]]
            else:
                held = np.flatnonzero(~free[:, 0])
                result[held, k] = self.dummies.codes(evidence[held], name, places)
        return result
