"""The border of a discrete network: how a table becomes codes of states, and what the states are to a model.

A network of named states (pgmpy's) is handed tables of labels, and its models are read together with the states. The
states of a network that was fitted to a table are the values of its columns: that is what rows hold, and what the model
is called with.

A value stands for the state whose label it equals. Where no label equals it, a value that *reads* the same as exactly
one label does: ``1``, ``1.0`` and ``"1"`` are each other's match, and ``True`` matches ``"True"``. Nothing is ever
guessed between two candidates.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shap_asv.backgrounds.contract import StateValues
from shap_asv.backgrounds.discrete.ranking import ranks
from shap_asv.backgrounds.tables.codec import Column, TableCodec, places_by_name, plain
from shap_asv.errors import RowsError, UnknownStateError, listed

#: Rows of a DataFrame up to which it is taken as one array: columns of pandas take long to get.
FEW_ROWS = 16


def _columns(rows: Any, features: Sequence[str], latent: Sequence[str]) -> list[Any]:
    """One column per feature, in feature order."""
    if hasattr(rows, "columns") and hasattr(rows, "iloc"):
        places = places_by_name(rows.columns, features, latent)
        if len(rows) > FEW_ROWS:
            return [rows.iloc[:, k] for k in places]
        cells = rows.to_numpy(dtype=object)
        return [cells[:, k] for k in places]
    if hasattr(rows, "index") and hasattr(rows, "iloc") and set(map(str, rows.index)) >= set(features):
        return _columns(rows.to_frame().T, features, latent)
    array = np.atleast_2d(rows if isinstance(rows, np.ndarray) else np.asarray(rows, dtype=object))
    if array.ndim != 2 or array.shape[1] != len(features):
        raise RowsError(
            f"rows of shape {array.shape} do not fit {len(features)} features ({', '.join(features)}); "
            "give one column per feature in this order, or a DataFrame with these columns"
        )
    return list(array.T)


def _encode_column(column: Any, feature: str, states: Sequence[Hashable]) -> np.ndarray:
    import pandas as pd  # here, because the package must be quick to import

    try:
        inverse, distinct = pd.factorize(column)
    except TypeError as error:  # a list, a dict or an array in a cell
        raise RowsError(f"feature {feature!r} holds a value that cannot be a state: {error}") from None
    missing = inverse < 0  # pandas numbers every kind of missing value -1
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise RowsError(
            f"row {row} has no value (NaN) for feature {feature!r}; impute it or drop the row "
            f"(known states: {listed(states)})"
        )
    table = np.empty(len(distinct), dtype=np.int32)
    for i, value in enumerate(distinct):
        code = match_state(value, states)
        if code is None:
            row = int(np.flatnonzero(inverse == i)[0])
            raise UnknownStateError(
                f"row {row}: {plain(value)!r} is not a state of feature {feature!r}; known states: {listed(states)}"
            )
        table[i] = code
    return table[inverse]


def match_state(value: Any, states: Sequence[Hashable]) -> int | None:
    """Code of the state that a value stands for, or None.

    Examples
    --------
    >>> match_state("no", ("yes", "no")), match_state(1.0, ("0", "1")), match_state("maybe", ("yes", "no"))
    (1, 1, None)
    """
    value = plain(value)
    tests = (lambda state: type(state) is type(value) and state == value, lambda state: state == value)
    for equal in (*tests, lambda state: str(state) == str(value), lambda state: _same_number(state, value)):
        found = [code for code, state in enumerate(map(plain, states)) if equal(state)]
        if len(found) == 1:
            return found[0]
    return None


def _same_number(one: Any, other: Any) -> bool:
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True, eq=False)
class LabelBorder:
    """Tables hold the labels of states."""

    features: tuple[str, ...]
    states: tuple[tuple[Hashable, ...], ...]
    latent: tuple[str, ...]
    words: str | None = None

    values: ClassVar[None] = None

    def describe(self, nodes: Sequence[str], latent: Sequence[str]) -> str:
        hidden = f", latent: {', '.join(latent)}" if latent else ""
        return self.words or f"conditional on a Bayesian network of {len(nodes)} nodes{hidden}"

    def read(self, table: Any) -> np.ndarray:
        """Codes int32 (r, n). O(r n); labels are matched once per distinct value of a column."""
        named = zip(_columns(table, self.features, self.latent), self.features, self.states, strict=True)
        return np.stack([_encode_column(*column) for column in named], axis=1)

    def inputs(self, codes: np.ndarray) -> np.ndarray:
        """Codes: a model of states is read together with its states."""
        return codes

    def labels(self, codes: np.ndarray) -> np.ndarray:
        columns = [np.array([*states, None], dtype=object)[codes[:, v]] for v, states in enumerate(self.states)]
        return np.stack(columns, axis=1)

    def positions(self, codes: np.ndarray) -> np.ndarray:
        """Where each code (..., n) stands among the states of its feature, low to high."""
        return np.stack([ranks(states)[codes[..., v]] for v, states in enumerate(self.states)], axis=-1)


@dataclass(frozen=True, eq=False)
class ColumnStates:
    """The values of a column that are its states: ``codes`` float64 (k,), as the column codes them, increasing."""

    column: Column
    codes: np.ndarray

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The values behind the codes; a missing one, which is the last, is called so."""
        shown = [plain(value) for value in self.column.labels(self.codes)]
        gap = "missing"
        while gap in shown[:-1]:
            gap = f"({gap})"
        return tuple(gap if value != value or value is None else value for value in shown)

    def read(self, codes: np.ndarray) -> np.ndarray:
        """Entries of a coded column (r,) -> states int32 (r,). O(r log k)."""
        states = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        lost = np.flatnonzero(self.codes[states] != codes)
        if len(lost):
            value = self.column.labels(codes[lost[:1]])[0]
            raise UnknownStateError(
                f"column {self.name!r}, row {lost[0]}: {plain(value)!r} does not occur in the table that the network "
                f"was fitted to; its states are {listed(self.labels)}. Fit the network to a table that has it"
            )
        return states.astype(np.int32)


@dataclass(frozen=True, eq=False)
class ValueBorder:
    """Tables hold values, each of which is a state."""

    codec: TableCodec
    columns: tuple[ColumnStates, ...]
    n_rows: int
    words: str | None = None

    @classmethod
    def over(
        cls, codec: TableCodec, columns: Sequence[ColumnStates], n_rows: int, features: Sequence[str]
    ) -> "ValueBorder":
        """The border of some of the columns of a table of ``n_rows``, in the given order."""
        by_name = {column.name: column for column in columns}
        return cls(codec.only(features), tuple(by_name[name] for name in features), n_rows)

    def describe(self, nodes: Sequence[str], latent: Sequence[str]) -> str:
        hidden = f", {len(latent)} latent" if latent else ""
        return self.words or f"conditional on a network of {len(nodes)} nodes fitted to {self.n_rows:,} rows{hidden}"

    @property
    def values(self) -> StateValues:
        """What the model is called with, state by state."""
        arrays = tuple(column.column.restore(column.codes) for column in self.columns)
        return StateValues(arrays, self.codec.keys)

    def read(self, table: Any) -> np.ndarray:
        rows = self.codec.read(table)
        return np.stack([column.read(rows[:, v]) for v, column in enumerate(self.columns)], axis=1)

    def inputs(self, codes: np.ndarray) -> Any:
        """The table that the codes stand for, with the types of the one that was fitted."""
        return self.codec.inputs(self.positions(codes))

    def labels(self, codes: np.ndarray) -> np.ndarray | None:
        return self.codec.labels(self.positions(codes))

    def positions(self, codes: np.ndarray) -> np.ndarray:
        """Numbers as they are, ``+inf`` where missing, and codes of categories."""
        return np.stack([column.codes[codes[..., v]] for v, column in enumerate(self.columns)], axis=-1)


#: What stands between tables and codes (r, n); ``words`` describe it where they are given.
Border = LabelBorder | ValueBorder
