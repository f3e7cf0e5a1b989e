"""The border of a discrete network: how a table becomes codes of states, and what the states are to a model.

A network of named states (pgmpy's) is handed tables of labels, and its models are read together with the states. A
network that was fitted to a table is handed rows as they are in the table, and shows the model a value for each state.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from shap_asv.backgrounds.contract import StateValues
from shap_asv.backgrounds.discrete.states.binning import ColumnStates
from shap_asv.backgrounds.discrete.states.encoding import decode_codes, encode_rows
from shap_asv.backgrounds.tables.codec import TableCodec


class Border(Protocol):
    """What stands between tables and codes (r, n); a dataclass, whose ``words`` describe it where they are given."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def words(self) -> str | None: ...
    @property
    def values(self) -> StateValues | None: ...

    def describe(self, nodes: Sequence[str], latent: Sequence[str]) -> str: ...

    def read(self, table: Any) -> np.ndarray: ...

    def inputs(self, codes: np.ndarray) -> Any: ...

    def labels(self, codes: np.ndarray) -> np.ndarray: ...

    def as_given(self, table: Any) -> tuple[Any, np.ndarray, np.ndarray | None] | None: ...


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
        return encode_rows(table, self.features, self.states, self.latent)

    def inputs(self, codes: np.ndarray) -> np.ndarray:
        """Codes: a model of states is read together with its states."""
        return codes

    def labels(self, codes: np.ndarray) -> np.ndarray:
        return decode_codes(codes, self.states)

    def as_given(self, table: Any) -> None:
        """Labels are all there is to a row."""


@dataclass(frozen=True, eq=False)
class ValueBorder:
    """Tables hold values; a state is a value, or a bin of them with one that stands for it."""

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
        binned = [f"{column.name} ({column.n_states})" for column in self.columns if column.binned]
        bins = f", bins of {', '.join(binned)}" if binned else ""
        hidden = f", {len(latent)} latent" if latent else ""
        fitted = f"conditional on a network of {len(nodes)} nodes fitted to {self.n_rows:,} rows{bins}{hidden}"
        return self.words or fitted

    @property
    def values(self) -> StateValues:
        """What the model is shown, state by state."""
        arrays = tuple(column.column.restore(column.codes) for column in self.columns)
        return StateValues(arrays, self.codec.keys)

    def read(self, table: Any) -> np.ndarray:
        rows = self.codec.read(table)
        return np.stack([column.read(rows[:, v]) for v, column in enumerate(self.columns)], axis=1)

    def inputs(self, codes: np.ndarray) -> Any:
        """The table of representatives, with the types of the table that was fitted."""
        return self.codec.inputs(self._coded(codes))

    def labels(self, codes: np.ndarray) -> np.ndarray:
        """Representatives, object (..., n)."""
        flat = self._coded(np.asarray(codes).reshape(-1, len(self.columns)))
        shown = np.empty(flat.shape, dtype=object)
        for v, column in enumerate(self.columns):
            shown[:, v] = column.column.labels(flat[:, v])
        return shown.reshape(np.shape(codes))

    def as_given(self, table: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """The rows before they are binned: what the model would be called with, numbers and labels to be shown."""
        rows = self.codec.read(table)
        return self.codec.inputs(rows), rows, self.codec.labels(rows)

    def _coded(self, codes: np.ndarray) -> np.ndarray:
        return np.stack([column.codes[codes[:, v]] for v, column in enumerate(self.columns)], axis=1)
