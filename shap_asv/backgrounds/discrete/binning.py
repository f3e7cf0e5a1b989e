"""The states of one column of a table: values as they are, or bins of neighbouring numbers.

A discrete network needs finitely many states. Categories, bools, strings and numbers with few values have them; other
numbers are cut at ``c_1 < c_2 < ...`` into the bins ``x <= c_1``, ``c_1 < x <= c_2``, ..., ``x > c_m``. The outer bins
are open, so that a row outside of the table falls into one of them. A state is shown to the model as one value, its
*representative*: the (lower) median of the table's values in the bin, or a number inside where the table has none. A
missing value is a state of its own, the last one, if the table has any.

Cuts may come from the thresholds of a tree model. Then no bin is cut by a node of a tree, every value of a bin falls
into the same leaves as its representative, and the model answers to states as it does to rows. The model may look at
numbers through a rounding of its own (float32, say), and so must the cuts: ``seen_as``.

Thresholds make many states, too many to learn how each depends on others from a table. So states may have *groups*,
quantiles of neighbouring states: other columns are related to the group, and within a group the state is drawn as often
as it occurs, whatever the other columns are.
"""

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backgrounds.tables.codec import MISSING, Column, plain
from shap_asv.errors import ArgumentError, RowsError, TableError, UnknownStateError, listed

#: Numbers with at most so many distinct values stay as they are.
FEW_VALUES = 12
#: Bins of other numbers where nobody says.
DEFAULT_BINS = 5
#: Groups of the states that the thresholds of a model make.
DEFAULT_GROUPS = 8
#: States that a column may have.
MOST_STATES = 2048

Seen = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where a column is cut: ``at`` (m,) sorted numbers, compared with ``seen_as(x)`` (x itself where it is None).

    With ``refine``, other cuts are added: these alone would hide how the column depends on others.
    """

    at: np.ndarray
    seen_as: Seen | None = None
    refine: bool = False

    def seen(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers as the cuts compare them; NaN where missing."""
        known = np.where(np.isinf(numbers), np.nan, np.asarray(numbers, dtype=float))
        return known if self.seen_as is None else np.asarray(self.seen_as(known), dtype=float)

    def bins(self, numbers: np.ndarray) -> np.ndarray:
        """The bin of each number, 0 to m; m + 1 for missing ones."""
        seen = self.seen(numbers)
        return np.where(np.isnan(seen), len(self.at) + 1, np.searchsorted(self.at, seen, side="left"))


@dataclass(frozen=True, eq=False)
class ColumnStates:
    """What the states of a column are, and which one a value is in.

    Attributes
    ----------
    column : Column
        How the column is coded as numbers.
    codes : float64 (k,)
        The representative of each state, coded; increasing, with missing last.
    labels : tuple (k,)
        What the states are called: values, or intervals.
    cuts : Cuts or None
        None where every state is one value.
    groups : int (k,) or None
        The group of each state, where the column depends on others by groups.
    """

    column: Column
    codes: np.ndarray
    labels: tuple[Hashable, ...]
    cuts: Cuts | None = None
    groups: np.ndarray | None = None

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def n_states(self) -> int:
        return len(self.codes)

    @property
    def binned(self) -> bool:
        return self.cuts is not None

    def read(self, codes: np.ndarray) -> np.ndarray:
        """Entries of a coded column (r,) -> states int32 (r,). O(r log k)."""
        if self.cuts is not None:
            states = self.cuts.bins(codes)
            lost = states >= self.n_states
            if lost.any():
                r = int(np.flatnonzero(lost)[0])
                raise RowsError(
                    f"row {r} has no value for {self.name!r}, and the table that the network was fitted to has one in "
                    "every row; fill it in, or fit the network to rows with gaps"
                )
            return states.astype(np.int32)
        states = np.minimum(np.searchsorted(self.codes, codes), self.n_states - 1)
        lost = self.codes[states] != codes
        if lost.any():
            r = int(np.flatnonzero(lost)[0])
            value = self.column.labels(np.asarray(codes, dtype=float)[[r]])[0]
            way_out = "" if self.column.kind.category else f", or cut it into bins: bins={{{self.name!r}: [...]}}"
            raise UnknownStateError(
                f"column {self.name!r}, row {r}: {plain(value)!r} does not occur in the table that the network was "
                f"fitted to; its states are {listed(self.labels)}. Fit the network to a table that has it{way_out}"
            )
        return states.astype(np.int32)

    def describe(self) -> str:
        """``5 bins``, ``3 values``, ``120 bins in 8 groups``."""
        words = f"{self.n_states} {'bin' if self.binned else 'value'}{'s' if self.n_states != 1 else ''}"
        return words if self.groups is None else f"{words} in {int(self.groups.max()) + 1} groups"


# --- learning ---------------------------------------------------------------------------------------------------


def learn_states(
    column: Column, codes: np.ndarray, how: Any = None, default: int = DEFAULT_BINS, groups: int = DEFAULT_GROUPS
) -> ColumnStates:
    """The states of a column of a table, coded (r,).

    ``how`` is None (values if there are few, else ``default`` quantile bins), a number of quantile bins, cut points, or
    :class:`Cuts`; ``groups`` is how many groups refined cuts have. O(r log r).
    """
    distinct = np.unique(codes)
    n_values = len(distinct) - bool(np.isinf(distinct[-1]))
    few = n_values <= FEW_VALUES and (how is None or (isinstance(how, Cuts) and how.refine))
    if column.kind.category or few or n_values == 0:
        if column.kind.category and how is not None and not isinstance(how, Cuts):
            raise ArgumentError(
                f"bins= names the column {column.name!r}, which holds categories ({listed(_values(column, distinct))}):"
                " they stay as they are; leave it out"
            )
        return ColumnStates(column, distinct, _values(column, distinct))
    cuts = _read_cuts(column, codes, default if how is None else how)
    coarse = np.empty(0)
    if cuts.refine:
        coarse = quantile_cuts(cuts.seen(codes), groups)
        cuts = Cuts(np.union1d(cuts.at, coarse), cuts.seen_as)
    if len(cuts.at) >= MOST_STATES:
        raise TableError(
            f"column {column.name!r} would be cut at {len(cuts.at):,} places, more than {MOST_STATES - 1:,}: the model "
            "has so many thresholds on it. Fit a model with fewer of them (fewer or shallower trees, a smaller "
            f"max_bin), or give cuts of your own: bins={{{column.name!r}: 10}}"
        )
    cuts, inside = _representatives(column, codes, cuts)
    missing = cuts.bins(codes) > len(cuts.at)
    if missing.any():
        # a model may take a number (zero) for missing; then that number stands for the state
        gap = MISSING if np.isinf(codes).any() else float(codes[missing][0])
        inside = np.append(inside, gap)
    labels = (*interval_labels(cuts.at), *("missing",) * bool(missing.any()))
    belongs = np.searchsorted(coarse, cuts.seen(inside), side="left")  # NaN is past all of them
    groups_of = np.unique(np.where(np.isnan(cuts.seen(inside)), len(coarse) + 1, belongs), return_inverse=True)[1]
    grouped = bool(len(coarse)) and int(groups_of.max()) + 1 < len(inside)
    return ColumnStates(column, inside, labels, cuts, groups_of.astype(np.int64) if grouped else None)


def _values(column: Column, codes: np.ndarray) -> tuple[Hashable, ...]:
    """The values behind codes; a missing one is called so."""
    shown = [plain(value) for value in column.labels(codes)]
    gap = "missing"
    while gap in shown[:-1]:
        gap = f"({gap})"
    return tuple(gap if value != value or value is None else value for value in shown)


def _read_cuts(column: Column, codes: np.ndarray, how: Any) -> Cuts:
    if isinstance(how, Cuts):
        return how
    if isinstance(how, (bool, str)):
        raise _bins_refused(column.name, how)
    if isinstance(how, int | np.integer):
        if not 2 <= how <= MOST_STATES:
            raise _bins_refused(column.name, how)
        return Cuts(quantile_cuts(codes[np.isfinite(codes)], int(how)))
    try:
        at = np.asarray(how, dtype=float)
    except (TypeError, ValueError):
        raise _bins_refused(column.name, how) from None
    if at.ndim != 1 or not len(at) or not np.isfinite(at).all() or (np.diff(at) <= 0).any():
        raise _bins_refused(column.name, how)
    return Cuts(at)


def _bins_refused(name: str, how: Any) -> ArgumentError:
    return ArgumentError(
        f"bins= says {how!r:.80} for column {name!r}; give a number of bins from 2 to {MOST_STATES:,}, or increasing "
        "finite cut points such as [10, 20, 30], which make one bin more than there are cuts"
    )


def quantile_cuts(numbers: np.ndarray, n_bins: int) -> np.ndarray:
    """Cuts between bins of about equally many numbers; fewer where numbers repeat. NaN is left out. O(r log r).

    >>> quantile_cuts(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 3).tolist()
    [2.0, 4.0]
    >>> quantile_cuts(np.array([0.0, 0.0, 0.0, 7.0]), 3).tolist()
    [0.0]
    """
    numbers = np.sort(numbers[~np.isnan(numbers)])
    if not len(numbers):
        return np.empty(0)
    places = np.ceil(np.arange(1, n_bins) * len(numbers) / n_bins).astype(int) - 1
    cuts = np.unique(numbers[np.maximum(places, 0)])
    cuts = cuts[cuts < numbers[-1]]  # past the last one there is nothing
    below = numbers[numbers < numbers[-1]]
    return cuts if len(cuts) or not len(below) else below[-1:]


def interval_labels(cuts: np.ndarray) -> tuple[str, ...]:
    """Names of the bins between cuts, with as many digits as it takes to tell them apart.

    >>> interval_labels(np.array([0.5, 2.0]))
    ('<= 0.5', '(0.5, 2]', '> 2')
    """
    for digits in range(3, 18):
        shown = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(shown)) == len(shown):
            break
    if not shown:
        return ("any",)
    return (f"<= {shown[0]}", *(f"({a}, {b}]" for a, b in itertools.pairwise(shown)), f"> {shown[-1]}")


def _representatives(column: Column, codes: np.ndarray, cuts: Cuts) -> tuple[Cuts, np.ndarray]:
    """One value inside of each bin, and the cuts without those between which no value can be.

    Integers and rounded numbers leave gaps: no whole number is above 2.5 and at most 2.7.
    """
    known = np.sort(codes[np.isfinite(codes)])
    bins = cuts.bins(known)
    by_bin = np.argsort(bins, kind="stable")
    starts = np.searchsorted(bins[by_bin], np.arange(len(cuts.at) + 2))
    kept: list[float] = []
    inside: list[float] = []
    for b in range(len(cuts.at) + 1):
        own = known[by_bin[starts[b] : starts[b + 1]]]
        value = float(own[(len(own) - 1) // 2]) if len(own) else _some_value(column, cuts, b)
        if value is None:
            continue
        if inside:
            kept.append(float(cuts.at[b - 1]))
        inside.append(value)
    return Cuts(np.array(kept), cuts.seen_as), np.array(inside)


def _some_value(column: Column, cuts: Cuts, b: int) -> float | None:
    """A value of the column in bin ``b``; None where there is none."""
    low = cuts.at[b - 1] if b else cuts.at[0] - max(1.0, abs(cuts.at[0]))
    high = cuts.at[b] if b < len(cuts.at) else cuts.at[-1] + max(1.0, abs(cuts.at[-1]))
    single = np.float32(high)
    if single > high:
        single = np.nextafter(single, np.float32(-np.inf))
    tried: Sequence[float] = ((low + high) / 2, high, float(single))
    if column.kind.whole:
        tried = (np.floor((low + high) / 2), np.floor(high))
    for value in tried:
        as_held = column.read(np.array([value]))[0]  # in the column's own type
        if cuts.bins(np.array([as_held]))[0] == b:
            return float(as_held)
    return None
