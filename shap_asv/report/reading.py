"""A comparison -> one block of arrays, features causes first, states as labels with a place between low and high.

Any number of named methods will do. The pair whose difference is told in words is that of the comparison (SHAP and ASV
with the same adjective), otherwise the first two methods.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backgrounds.discrete.ranking import low_to_high
from shap_asv.errors import ArgumentError
from shap_asv.plots.comparisons import colour_scale
from shap_asv.plots.reading import Attributions, as_text, read_attributions
from shap_asv.plots.style import MINUS

EXACTLY_ZERO = 1e-12  # relative to the largest value or mean prediction: rounding of an exact 0


@dataclass(frozen=True, eq=False)
class Method:
    """What one method says: ``values`` (r, n, k), ``base`` (r, k), ``error`` (r, n, k) or None where it is exact."""

    name: str
    values: np.ndarray
    base: np.ndarray
    error: np.ndarray | None
    background: str | None
    plan: str | None
    conditional: bool
    credit_error: np.ndarray | None = None

    @property
    def title(self) -> str:
        """The name in full: what is called SHAP, and is given what is known, is not what shap computes."""
        return f"conditional {self.name}" if self.name == "SHAP" and self.conditional else self.name

    @property
    def importance(self) -> np.ndarray:
        """Mean of |value| over all rows, (n, k)."""
        return np.abs(self.values).mean(axis=0)

    @property
    def noise(self) -> np.ndarray:
        """The standard error of :attr:`importance`, (n, k); else a bound: errors of rows may all go the same way."""
        if self.credit_error is not None:
            return self.credit_error
        return np.zeros(self.values.shape[1:]) if self.error is None else self.error.mean(axis=0)


@dataclass(frozen=True, eq=False)
class PageData:
    """Everything that is on the page, as arrays.

    Attributes
    ----------
    methods : tuple of Method
    features : tuple of str
        Causes first.
    outputs : tuple of str
        One name for each output; the name of a single output may be empty.
    labels : object array (r, n) of str, or None
        What the rows hold, as a reader should see it.
    tones : float array (r, n), or None
        Where a value stands between the low (0) and the high (1) of its feature; NaN where it is missing.
    named : bool array (n,)
        Features whose states have no order: neither numbers nor words of a scale.
    above : float array (n, n)
        ``[i, j]``: the share of the graphs in which i is a cause of j, direct or not.
    n_graphs : int
        Of a mixture; 1 for one graph, 0 without.
    numbers : int array (r,)
        What the rows are called: their positions in the table that they come from.
    sample : str
        Which rows these are, in words.
    compared : (str, str), optional
        The two methods whose difference is told; by default the first two.
    """

    methods: tuple[Method, ...]
    features: tuple[str, ...]
    outputs: tuple[str, ...]
    labels: np.ndarray | None
    tones: np.ndarray | None
    named: np.ndarray
    above: np.ndarray
    n_graphs: int
    numbers: np.ndarray
    sample: str = ""
    compared: tuple[str, str] | None = None

    @property
    def n_rows(self) -> int:
        return self.methods[0].values.shape[0]

    @property
    def pair(self) -> tuple[Method, Method] | None:
        """The two methods whose difference is told in words; None where there is one method only."""
        named = {method.name: method for method in self.methods}
        if self.compared is not None:
            return named[self.compared[0]], named[self.compared[1]]
        return (self.methods[0], self.methods[1]) if len(self.methods) > 1 else None

    @property
    def causes_take_credit(self) -> bool:
        """Whether a loss can be told as credit that went to causes: SHAP and ASV, both given what is known."""
        return self.compared is not None and all(method.conditional for method in self.pair or ())

    def spread(self, output: int) -> np.ndarray:
        """How far the methods are apart in each row: the sum over features of (largest - smallest value), (r,)."""
        stacked = np.stack([method.values[:, :, output] for method in self.methods])
        return (stacked.max(axis=0) - stacked.min(axis=0)).sum(axis=1)

    def decimals(self, output: int) -> int:
        """Digits after the point that give the largest importance three significant ones."""
        largest = max(float(method.importance[:, output].max()) for method in self.methods)
        return 3 if largest <= 0 else max(0, 2 - math.floor(math.log10(largest)))


def read_block(
    comparison: Any, explained: str | None = None, sample: str = "", row_numbers: Sequence[int] | None = None
) -> PageData:
    """The explanations of a comparison, checked against one another, features causes first.

    Parameters
    ----------
    comparison : Comparison
    explained : str, optional
        What a single output is called, such as ``P(disease = yes)``.
    sample : str
        Which rows these are, in words.
    row_numbers : sequence of int, optional
        What the rows are called; by default their positions.
    """
    named, features = comparison.explanations, tuple(str(name) for name in comparison.features)
    first = next(iter(named.values()))
    single = np.ndim(first.values) == 2
    k = 1 if single else np.shape(first.values)[2]
    each = [read_attributions({name: e if single else e[..., c] for name, e in named.items()}) for c in range(k)]
    places = [each[0].features.index(feature) for feature in features]
    methods = [_read_method(m, str(name), each, places, comparison) for m, name in enumerate(named)]
    outputs = _output_names(list(named.values()), k, explained)
    labels, tones = _read_rows(each[0], places)
    above, n_graphs = _read_order(comparison.order, features)
    numbers = np.arange(each[0].n_rows) if row_numbers is None else np.asarray(row_numbers)
    if numbers.shape != (each[0].n_rows,) or len(np.unique(numbers)) < len(numbers):
        raise ArgumentError(f"row_numbers= are {numbers.size} numbers for {each[0].n_rows} rows, all different")
    pair = comparison.pair
    without_order = (
        np.zeros(len(features), dtype=bool) if labels is None else np.array([_without_order(one) for one in labels.T])
    )
    return PageData(
        tuple(methods), features, outputs, labels, tones, without_order, above, n_graphs, numbers, sample, pair
    )


def _read_method(m: int, name: str, each: list[Attributions], places: list[int], comparison: Any) -> Method:
    values = np.stack([one.values[m] for one in each], axis=-1)[:, places]
    base = np.stack([one.base_values[m] for one in each], axis=-1)
    error = np.stack([one.errors[m] for one in each], axis=-1)[:, places]
    largest = max(float(np.abs(base).max()), float(np.abs(values).max()))
    credit_error = comparison.credit_error.get(name)
    return Method(
        name,
        np.where(np.abs(values) <= EXACTLY_ZERO * largest, 0.0, values),
        base,
        error if error.any() else None,
        comparison.backgrounds.get(name),
        comparison.plans.get(name),
        name in comparison.conditional,
        None if credit_error is None else np.reshape(credit_error, (-1, len(each)))[places],
    )


def _output_names(explanations: list[Any], k: int, explained: str | None) -> tuple[str, ...]:
    if k == 1:
        return (explained or "",)
    names = next((e.output_names for e in explanations if e.output_names is not None), None)
    names = range(k) if names is None else names
    return tuple(f"{explained} = {name}" if explained else str(name) for name in names)


# --- what the rows hold -------------------------------------------------------------------------------------------


def _read_rows(read: Attributions, places: list[int]) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Labels and tones of the rows."""
    shown = read.data if read.display is None else read.display
    if shown is None:
        return None, None
    labels = np.array([[_as_label(value) for value in row] for row in shown[:, places]])
    if read.data is None:
        return labels, None
    tones = [colour_scale(column) for column in read.data[:, places].T]
    return labels, np.column_stack([np.full(len(labels), np.nan) if tone is None else tone for tone in tones])


def _as_label(value: Any) -> str:
    return "missing" if value is None or value != value else as_text(value).replace(MINUS, "-")


def _without_order(labels: np.ndarray) -> bool:
    """Whether the states are names: no numbers, and no words from low to high."""
    known = sorted(set(labels.tolist()) - {"missing"})
    return len(known) > 1 and low_to_high(known) is None


# --- causes ---------------------------------------------------------------------------------------------------------


def _read_order(order: Any, features: Sequence[str]) -> tuple[np.ndarray, int]:
    """(``above``, number of graphs) in the sequence of ``features``."""
    if order is None:
        return np.zeros((len(features), len(features))), 0
    names = [str(name) for name in order.features]
    places = [names.index(feature) for feature in features]
    shares = np.asarray(getattr(order, "precedence", order.ancestor_matrix), dtype=float)
    return shares[np.ix_(places, places)], int(getattr(order, "n_graphs", 1))
