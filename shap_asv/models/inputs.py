"""From state codes to what a model eats, by table lookup.

A column of a model's input is a function of one feature, so it is a table over that feature's states, and a block of
rows is a gather: no Python loop over rows. The tables differ by *form*:

- ``labels``: the states as the network names them (``"yes"``, ``"no"``, or numbers when they are numbers);
- ``numbers``: states that are numbers, also when written as text (``"1"``, ``True``), become float64; names stay names;
- ``categories``: names become pandas categories (for boosting libraries with categorical splits), numbers float64;
- ``all categories``: every state becomes a pandas category;
- ``encoder``: a mapping says what each state becomes.

Each form can be handed over as a DataFrame (when the model knows column names) or as an ndarray. Further down are the
rows on which a model is tried before it is trusted, and the tables of whatever an encoder puts out.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.errors import EncodingError, ModelError, listed
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
                    f"encoder= says nothing about feature {feature!r}, whose states are {listed(labels)}; add "
                    f"{{{feature!r}: {suggest(labels)}}}"
                )
            tables.append(numbers)
            continue
        if hasattr(own, "classes_"):
            own = {label: float(position) for position, label in enumerate(own.classes_)}
        missing = [label for label in labels if label not in own]
        if missing:
            raise EncodingError(
                f"encoder= has no value for the state {listed(missing[:1])} of feature {feature!r}; the states are "
                f"{listed(labels)}, the mapping knows {listed(own)}"
            )
        values = [own[label] for label in labels]
        table = label_table([math.nan if value is None else value for value in values])
        tables.append(table.astype(np.float64) if table.dtype.kind in "biuf" else table)
    return tables


def suggest(labels: Sequence[Any]) -> str:
    """A mapping that could be meant, for a message.

    >>> suggest(["low", "high"])
    "{'low': 0, 'high': 1}"
    """
    pairs = ", ".join(f"{label!r}: {number}" for number, label in enumerate(labels[:4]))
    return "{" + pairs + (", ...}" if len(labels) > 4 else "}")


# --- rows on which a model is tried ---------------------------------------------------------------------------------
#
# A model is asked a few questions at construction, so that a mismatch is an error there and not a wrong number later.
# Two sets of rows do: *cover* rows are few and hold every state of every feature at least once (does the model take
# this input at all?), *probe* rows are many and random (is what was read from the model really what it computes?).

#: seed of all probe rows: the same model is always tried on the same rows
SEED = 20240229
#: how many random rows it is tried on
N_PROBED = 256


def cover_rows(cardinalities: Sequence[int]) -> np.ndarray:
    """Few rows in which every state of every feature occurs: row ``r`` holds state ``r mod card(v)``.

    There are at least two rows, and never as many rows as features: a callable that walks over the columns of a
    DataFrame where it should walk over its rows then returns a wrong number of values and is caught.

    >>> cover_rows([2, 3, 2, 2])
    array([[0, 0, 0, 0],
           [1, 1, 1, 1],
           [0, 2, 0, 0]])
    """
    cards = np.asarray(cardinalities)
    n_rows = max(2, int(cards.max(initial=2)))
    if n_rows == len(cards):
        n_rows += 1
    return np.arange(n_rows)[:, None] % cards


def random_rows(cardinalities: Sequence[int], n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """``n_rows`` rows of independent uniform states -> int64 (n_rows, n)."""
    return rng.integers(np.asarray(cardinalities), size=(n_rows, len(cardinalities)))


def one_at_a_time(base: np.ndarray, cardinalities: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that differ from ``base`` in one feature: every state of every feature once, features in turn.

    Returns
    -------
    rows : int64 (sum of cardinalities, n)
    starts : int64 (n + 1,)
        ``rows[starts[v]:starts[v + 1]]`` run through the states of feature ``v``.
    """
    cards = np.asarray(cardinalities)
    starts = np.concatenate([[0], np.cumsum(cards)])
    rows = np.repeat(np.asarray(base)[None, :], starts[-1], axis=0)
    feature = np.repeat(np.arange(len(cards)), cards)
    rows[np.arange(starts[-1]), feature] = np.arange(starts[-1]) - starts[feature]
    return rows, starts


def probe_rows(cardinalities: Sequence[int]) -> np.ndarray:
    """Random rows followed by one-at-a-time variations of the first of them -> int64 (r, n)."""
    rng = np.random.default_rng(SEED)
    rows = random_rows(cardinalities, N_PROBED, rng)
    varied, _ = one_at_a_time(rows[0], cardinalities)
    return np.concatenate([rows, varied])


def vary(rows: np.ndarray, n_rows: int) -> np.ndarray:
    """``n_rows`` rows as a model meets them: every other feature is known, and the rest is taken from any of ``rows``.

    A model that is asked about a few rows over and over is faster than on rows that differ.

    >>> vary(np.array([[0, 10, 20, 30], [1, 11, 21, 31]]), 4).tolist()
    [[0, 10, 20, 31], [0, 11, 20, 30], [0, 11, 20, 31], [0, 11, 20, 31]]
    """
    chosen = np.random.default_rng(SEED).integers(len(rows), size=(n_rows, rows.shape[1]))
    chosen[:, ::2] = 0
    return np.take_along_axis(rows, chosen, axis=0)


def ask_varied(predict: Callable[[Any], Any], rows: Any, n_rows: int) -> None:
    """Ask about rows that differ; about ``rows``, which a model is known to take, where it does not take others."""
    again = np.arange(n_rows) % len(rows)
    if hasattr(rows, "iloc"):
        predict(rows.iloc[again].reset_index(drop=True))
        return
    try:
        predict(vary(rows, n_rows))
    except ModelError:
        predict(rows[again])


# --- columns that an encoder makes of states ------------------------------------------------------------------------
#
# An encoder inside a Pipeline (ordinal, one-hot, scaling, any combination in a ColumnTransformer) turns states into
# numbers. When each of its output columns is a function of one feature alone,
#
#     column_j(x) = tables[j][ x_source[j] ]
#
# then a threshold on a column is a set of states of that feature, tree regions stay products of state sets, and a
# weight on a column is a vector over states. Nothing needs to be known about the transformer for that: vary one
# feature at a time from a base row and see which columns move, then verify the tables on random rows. A transformer
# that mixes features (PCA, row normalisation, polynomial features) fails the verification and leaves the model a black
# box.


def discover_columns(transform: Callable[[np.ndarray], Any], cardinalities: Sequence[int]) -> TableInputs:
    """Tables of all columns that ``transform`` (codes (q, n) -> matrix (q, c)) puts out.

    Costs one call on ``sum of cardinalities`` rows and one on random ones. Raises NotSumOfProducts, with a sentence
    for the plan, when a column depends on several features or is not a number.
    """
    rng = np.random.default_rng(SEED)
    base = random_rows(cardinalities, 1, rng)[0]
    rows, starts = one_at_a_time(base, cardinalities)
    outputs, names = dense(transform(rows))
    blocks = np.split(outputs, starts[1:-1])
    at_base = blocks[0][base[0]]  # the first block runs through feature 0, so this row is the base itself
    source = followed_features(blocks, at_base, names)
    tables = tuple(blocks[v][:, j].copy() for j, v in enumerate(source.tolist()))
    columns = TableInputs(source, tables, names, "columns")
    rows = random_rows(cardinalities, N_PROBED, rng)
    differs = ~equal(dense(transform(rows))[0], columns.matrix(rows), tolerance=1e-12).all(axis=0)
    if differs.any():
        raise mixed(int(np.flatnonzero(differs)[0]), names)
    return columns


def followed_features(blocks: Sequence[np.ndarray], base: np.ndarray, names: tuple[str, ...] | None) -> np.ndarray:
    """The feature that each column is a function of, int (c,): ``blocks[v]`` (., c) are rows that differ from that of
    ``base`` (c,) in feature v. A constant column is a function of any feature.
    """
    moves = np.array([~equal(block, base).all(axis=0) for block in blocks])
    several = np.flatnonzero(moves.sum(axis=0) > 1)
    if len(several):
        raise mixed(int(several[0]), names)
    return moves.argmax(axis=0)


def dense(matrix: Any) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """A transformer's output as float64 (q, c), with column names when it is a DataFrame."""
    names = tuple(str(name) for name in matrix.columns) if hasattr(matrix, "columns") else None
    if hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    try:
        values = np.asarray(matrix).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise NotSumOfProducts("the steps before the final estimator do not end in numbers") from error
    if values.ndim != 2:
        raise NotSumOfProducts("the steps before the final estimator do not end in a matrix")
    return values, names


def filled(matrix: Any, absent: float) -> np.ndarray:
    """A matrix as float64, where ``absent`` stands for the entries that a sparse one does not hold."""
    if not hasattr(matrix, "tocsr"):
        return np.asarray(matrix, dtype=np.float64)
    stored = matrix.tocsr().copy()
    stored.sum_duplicates()
    whole = np.full(stored.shape, absent, dtype=np.float64)
    whole[np.repeat(np.arange(len(whole)), np.diff(stored.indptr)), stored.indices] = stored.data
    return whole


def equal(first: np.ndarray, second: np.ndarray, tolerance: float = 0.0) -> np.ndarray:
    """Elementwise equality up to a relative tolerance; NaN equals NaN."""
    with np.errstate(invalid="ignore"):
        close = np.abs(first - second) <= tolerance * np.maximum(np.abs(first), np.abs(second))
    return close | (first == second) | (np.isnan(first) & np.isnan(second))


def mixed(column: int, names: tuple[str, ...] | None) -> NotSumOfProducts:
    label = column if names is None else repr(names[column])
    return NotSumOfProducts(
        f"column {label} of the input of the final estimator depends on more than one feature (the steps before it mix "
        f"features)"
    )
