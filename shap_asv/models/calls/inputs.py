"""From state codes to what a model eats, by table lookup.

A column of a model's input is a function of one feature, so it is a table over that feature's states, and a block of
rows is a gather: no Python loop over rows. The tables differ by *form*:

- ``labels``: the states as the network names them (``"yes"``, ``"no"``, or numbers when they are numbers);
- ``numbers``: states that are numbers, also when written as text (``"1"``, ``True``), become float64; names stay names;
- ``categories``: names become pandas categories (for boosting libraries with categorical splits), numbers float64;
- ``all categories``: every state becomes a pandas category;
- ``encoder``: a mapping says what each state becomes.

Each form can be handed over as a DataFrame (when the model knows column names) or as an ndarray.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.errors import EncodingError
from shap_asv.models.products import NotSumOfProducts

States = Sequence[Sequence[Any]]

#: cells of a model's input per call when no batch_size is given: 32 MiB of float64
CELLS = 1 << 22

#: cells that are looked up at a time
BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class TableInputs:
    """Column ``j`` of the model's input is ``tables[j][codes[:, source[j]]]``.

    Attributes
    ----------
    source : int64 array (c,)
        The feature that column ``j`` is a function of.
    tables : tuple of 1-D arrays
        ``tables[j]`` has one entry per state of feature ``source[j]``: a numpy array, or a pandas extension array.
    names : tuple of str or None
        Column names, when a DataFrame is handed over; None for an ndarray.
    form : str
        Which of the forms of the module docstring this is, for messages.
    dtype : numpy dtype or None
        What numbers are handed over as; by default as the tables are. A model that rounds its input to float32
        anyway gets float32, which saves it a copy.
    """

    source: np.ndarray
    tables: tuple[Any, ...]
    names: tuple[str, ...] | None = None
    form: str = "numbers"
    dtype: Any = None

    @property
    def n_columns(self) -> int:
        return len(self.tables)

    @cached_property
    def numeric(self) -> bool:
        """Are all tables plain numpy numbers?"""
        return all(isinstance(table, np.ndarray) and table.dtype.kind in "biuf" for table in self.tables)

    @cached_property
    def _flat(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """All tables end to end, where each starts, and whether column j simply is feature j."""
        dtype = self.dtype or (np.result_type(*self.tables) if self.numeric else np.dtype(object))
        flat = np.concatenate([np.asarray(table).astype(dtype) for table in self.tables])
        starts = np.cumsum([0] + [len(table) for table in self.tables[:-1]])
        return flat, starts, bool(np.array_equal(self.source, np.arange(self.n_columns)))

    def matrix(self, codes: np.ndarray) -> np.ndarray:
        """The input as an ndarray (q, c): numbers when all tables are numbers, else objects. O(q c).

        Codes must be valid: they are looked up without bounds.
        """
        flat, starts, aligned = self._flat
        aligned = aligned and codes.shape[1] == self.n_columns
        inputs = np.empty((len(codes), self.n_columns), dtype=flat.dtype)
        size = max(1, BLOCK // self.n_columns)
        where = np.empty((min(size, len(codes)), self.n_columns), dtype=np.intp)
        for start in range(0, len(codes), size):  # blocks that stay in the processor's cache
            block = codes[start : start + size]
            at = where[: len(block)]
            np.add(block if aligned else block[:, self.source], starts, out=at, casting="unsafe")
            flat.take(at, out=inputs[start : start + size], mode="clip")
        return inputs

    def __call__(self, codes: np.ndarray) -> Any:
        """Codes (q, n) -> DataFrame or ndarray with q rows and c columns."""
        if self.names is None:
            return self.matrix(codes)
        import pandas as pd

        if self.numeric and len({table.dtype for table in self.tables}) == 1:
            return pd.DataFrame(self.matrix(codes), columns=list(self.names), copy=False)
        columns = {
            name: table.take(codes[:, v])
            for name, table, v in zip(self.names, self.tables, self.source.tolist(), strict=True)
        }
        return pd.DataFrame(columns, copy=False)


def require_numbers(inputs: TableInputs, name: str) -> None:
    """NotSumOfProducts when a model takes the states as something else than numbers."""
    if not inputs.numeric:
        raise NotSumOfProducts(f"{name} takes the states as {inputs.form}, not as numbers")


def number_of(label: Any) -> float | None:
    """The number that a state is or spells, or None.

    >>> [number_of(label) for label in (1, "1", "2.5", True, "yes", "1_000")]
    [1.0, 1.0, 2.5, 1.0, None, None]
    """
    if isinstance(label, str):
        if "_" in label:
            return None
        try:
            return float(label)
        except ValueError:
            return None
    if isinstance(label, bool | int | float | np.bool_ | np.number):
        return float(label)
    return None


def numbers_of(labels: Sequence[Any]) -> np.ndarray | None:
    """All states of a feature as float64, or None when one of them is not a number."""
    numbers = [number_of(label) for label in labels]
    return None if None in numbers else np.array(numbers, dtype=np.float64)


def label_table(labels: Sequence[Any]) -> np.ndarray:
    """States as a numpy array: bool, int or float when all are of that kind, else objects."""
    for kinds in ((bool, np.bool_), (int, np.integer), (int, float, np.integer, np.floating)):
        if all(isinstance(label, kinds) and (kinds[0] is bool or not isinstance(label, bool)) for label in labels):
            return np.array(labels)
    table = np.empty(len(labels), dtype=object)
    table[:] = labels
    return table


def tables_of_form(form: str, states: States) -> list[Any]:
    """One table per feature for one of the forms; pandas categories where the form says so."""
    if form == "labels":
        return [label_table(labels) for labels in states]
    numbers = [numbers_of(labels) for labels in states]
    if form == "numbers":
        return [label_table(labels) if x is None else x for labels, x in zip(states, numbers, strict=True)]
    import pandas as pd

    return [
        pd.Categorical(list(labels), categories=[s for s in labels if s == s and s is not None])
        if x is None or form == "all categories"
        else x
        for labels, x in zip(states, numbers, strict=True)
    ]


def same_tables(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Would two forms hand the same values to a model? (1 and 1.0 are the same, 1 and "1" are not)"""
    return all(
        type(a) is type(b) and (a.dtype == object) == (b.dtype == object) and list(a) == list(b)
        for a, b in zip(first, second, strict=True)
    )


def table_inputs(
    tables: Sequence[Any], features: Sequence[str], columns: Sequence[str] | None, as_frame: bool, form: str
) -> TableInputs:
    """Inputs with one column per feature, in the order ``columns`` of the model (a permutation of ``features``)."""
    order = list(features) if columns is None else list(columns)
    source = np.array([list(features).index(name) for name in order], dtype=np.int64)
    chosen = [tables[v] for v in source]
    if as_frame:
        import pandas as pd

        # pandas' own string type where it has one: the same dtype as in the user's DataFrames
        chosen = [pd.Series(list(t)).array if t.dtype == object else t for t in chosen]
        return TableInputs(source, tuple(chosen), tuple(order), form)
    return TableInputs(source, tuple(np.asarray(table) for table in chosen), None, form)


def tables_of_mapping(encoder: Mapping[Any, Any], features: Sequence[str], states: States) -> list[np.ndarray]:
    """Tables from ``{feature: {label: number}}``, ``{feature: fitted LabelEncoder}`` or ``{label: number}`` for all.

    A feature that the mapping leaves out is taken as numbers when its states are numbers.
    """
    per_feature = any(isinstance(value, Mapping) or hasattr(value, "classes_") for value in encoder.values())
    tables = []
    for feature, labels in zip(features, states, strict=True):
        own = encoder.get(feature) if per_feature else encoder
        if own is None or (not per_feature and not any(label in encoder for label in labels)):
            numbers = numbers_of(labels)
            if numbers is None:
                raise EncodingError(
                    f"encoder= says nothing about feature {feature!r}, whose states are {show(labels)}; add "
                    f"{{{feature!r}: {suggest(labels)}}}"
                )
            tables.append(numbers)
            continue
        if hasattr(own, "classes_"):
            own = {label: float(position) for position, label in enumerate(own.classes_)}
        missing = [label for label in labels if label not in own]
        if missing:
            raise EncodingError(
                f"encoder= has no value for the state {plain_repr(missing[0])} of feature {feature!r}; the states are "
                f"{show(labels)}, the mapping knows {show(list(own))}"
            )
        values = [own[label] for label in labels]
        table = label_table([math.nan if value is None else value for value in values])
        tables.append(table.astype(np.float64) if table.dtype.kind in "biuf" else table)
    return tables


def plain_repr(label: Any) -> str:
    """``repr`` of a label, numpy scalars as the Python values they hold."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def show(labels: Sequence[Any], limit: int = 6) -> str:
    """Labels for a message, cut after ``limit``.

    >>> show(["yes", "no"])
    "'yes', 'no'"
    """
    text = ", ".join(plain_repr(label) for label in list(labels)[:limit])
    return text + (", ..." if len(labels) > limit else "")


def suggest(labels: Sequence[Any]) -> str:
    """A mapping that could be meant, for a message.

    >>> suggest(["low", "high"]), suggest(["True", "False"])
    ("{'low': 0, 'high': 1}", "{'True': 1, 'False': 0}")
    """
    usual = {"true": 1, "yes": 1, "present": 1, "false": 0, "no": 0, "absent": 0}
    numbers = [usual.get(str(label).lower()) for label in labels]
    if None in numbers or len(set(numbers)) < len(numbers):
        numbers = list(range(len(labels)))
    pairs = ", ".join(f"{label!r}: {number}" for label, number in list(zip(labels, numbers, strict=True))[:4])
    return "{" + pairs + (", ...}" if len(labels) > 4 else "}")
