"""A model of trees, asked about rows of a table's codes without calling its library.

    M(x) = then(link(offset + sum over trees of the leaf that x reaches))

A background draws thousands of rows for one coalition, as floats: numbers, and positions of categories. To call the
model, each batch of them becomes a DataFrame with the types of the user's table, which the library turns into numbers
again; where there are categories that takes several times as long as the trees themselves. Here rows go down the trees
as they are. What a category is to the nodes of a column is looked up beforehand, once per code.

The trees are those that :mod:`~shap_asv.models.trees.form` has verified. ``link`` is the first of :data:`LINKS` with
which they give the model's own answers, to within rounding, on rows with all codes of all columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax

from shap_asv.errors import ModelError, RowsError
from shap_asv.models.calls import FASTEST, ModelCall, describe, split_stages
from shap_asv.models.forms import apply_transformers
from shap_asv.models.inputs import filled, vary
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import raw_call, reader_of
from shap_asv.models.trees.ensembles import FloatEnsemble, Rounding, node_splits
from shap_asv.models.trees.form import place_trees, read_last_step
from shap_asv.models.trees.transformers import LARGEST, Before, fold

if TYPE_CHECKING:
    from shap_asv.models.trees.kernels import Steps

# Rows that the model is asked about, beside one for each code, before its trees are believed.
_N_VARIED = 128
# Codes that share a word of a mask; its last bit stands for all codes of other words, and is never set.
_BITS = 63
# Cells of numbers that are prepared at a time, and rows at least: each column costs a few calls of numpy.
_CELLS, _ROWS = 1 << 17, 4096
# Numbers of one feature, at most, that show how a column of a Pipeline's last step follows it.
_N_POINTS = 64
_SECONDS_PER_STEP = 2e-9


def unchanged(margin: np.ndarray) -> np.ndarray:
    return margin


def two_classes(margin: np.ndarray) -> np.ndarray:
    """Log-odds (q, 1) -> probabilities of both classes (q, 2)."""
    second = expit(margin[:, 0])
    return np.stack([1.0 - second, second], axis=1)


def classes(margin: np.ndarray) -> np.ndarray:
    return softmax(margin, axis=1)


#: What libraries make of a margin: nothing, probabilities of two classes or of one, of several, a prediction behind a
#: logarithm.
LINKS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (unchanged, two_classes, expit, classes, np.exp)


@dataclass(frozen=True)
class ThresholdColumn:
    """A column of numbers as the nodes compare them, for those that send missing values left or for the others."""

    feature: int
    nan_left: bool
    rounding: Rounding
    dtype: Any

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        numbers = rows[:, self.feature]
        if self.dtype.kind in "iu":
            numbers = np.rint(numbers)
        elif self.dtype == np.float32:
            numbers = numbers.astype(np.float32)
        missing = np.isposinf(numbers)
        numbers = self.rounding(numbers)
        missing |= np.isnan(numbers)
        if missing.any():  # a comparison with NaN fails, which is to go right
            numbers[missing] = -np.inf if self.nan_left else np.nan
        return numbers


@dataclass(frozen=True)
class CodeColumn:
    """The codes from ``first`` on, as many as there are bits in a word of a mask; all others are the unused bit."""

    feature: int
    first: int

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        codes = rows[:, self.feature] - self.first
        return np.where((codes >= 0) & (codes < _BITS), codes, _BITS)


@dataclass(frozen=True, eq=False)
class CompiledTrees:
    """``then(link(margin))`` of rows of codes; made by :func:`compile_trees`.

    Attributes
    ----------
    columns : tuple of ThresholdColumn and CodeColumn
        What the nodes look at.
    steps : Steps
    offset : float64 array (k,)
    link, then : callable
    scale : float
        The largest margin or answer that was met: rounding errors are relative to it.
    """

    columns: tuple[ThresholdColumn | CodeColumn, ...]
    steps: "Steps" = field(repr=False)
    offset: np.ndarray = field(repr=False)
    link: Callable[[np.ndarray], np.ndarray] = unchanged
    then: Callable[[np.ndarray], np.ndarray] = unchanged
    scale: float = 1.0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Rows (q, n) -> float64 (q, k). O(q * trees * depth)."""
        return self.then(self.link(self.margin(rows)))

    def margin(self, rows: np.ndarray) -> np.ndarray:
        """``offset + sum over trees``."""
        from shap_asv.models.trees.kernels import add_leaves  # brings numba in

        out = np.tile(self.offset, (len(rows), 1))
        step = max(_ROWS, _CELLS // max(1, len(self.columns)))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            numbers = np.empty((len(part), len(self.columns)))
            for j, column in enumerate(self.columns):
                numbers[:, j] = column(part)
            add_leaves(self.steps, numbers, out[start : start + step])
        return out

    def seconds(self, n_rows: int) -> float:
        """What so many rows take."""
        return n_rows * (FASTEST + int(self.steps.depth.sum()) * _SECONDS_PER_STEP)

    def describe(self) -> str:
        """For the plan."""
        return f"evaluated by its {len(self.steps.root):,} trees in compiled code"


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Some rows of a table, float64 (r, n), and how many codes each column has; 0 where it holds numbers."""

    n_codes: Sequence[int]
    rows: np.ndarray


def compile_trees(
    call: ModelCall,
    features: Sequence[str],
    table: CodedRows,
    inputs: Callable[[np.ndarray], Any],
    called_with: Callable[[np.ndarray], Any],
) -> CompiledTrees:
    """The trees of a model over rows of a table, verified; NotSumOfProducts, with the reason, where that cannot be.

    Parameters
    ----------
    call : ModelCall
        What is explained.
    features : sequence of str
        The columns of rows.
    table : CodedRows
    inputs, called_with : callable
        Turn rows into a table in feature order, and into what the model is called with.
    """
    rows, n_codes = table.rows, table.n_codes
    if call.method is None:
        raise NotSumOfProducts(f"{call.name} is a callable, which cannot be looked into")
    stages = split_stages(call.target)
    reader, last = reader_of(stages.final), call.on(stages.final)
    if reader is None or reader.parse is None:
        raise NotSumOfProducts(f"{describe(stages.final)} is not made of trees")
    if reader.quick and not stages.transformers:
        raise NotSumOfProducts(f"{describe(stages.final)} is quick by itself")
    covered = _with_all_codes(rows, n_codes)
    try:
        own, links = _margin(last)
        shown = inputs(covered)
        dtypes = list(shown.dtypes) if hasattr(shown, "dtypes") else [shown.dtype] * len(features)
        if stages.transformers:
            own = fold(
                own,
                lambda codes: filled(apply_transformers(stages.transformers, called_with(codes)), reader.absent),
                _before(covered, rows, n_codes, dtypes),
            )
            place, dtypes = np.arange(len(features)), [np.dtype(np.float64)] * len(features)
            coded = np.repeat(np.arange(len(covered), dtype=float)[:, None], len(features), axis=1)
        else:
            form = place_trees(own, last, features, inputs)
            place, coded = form.place, form.code(shown)[:, form.place]
        trees = _flatten(own, place, coded, n_codes, dtypes)
    except (ModelError, RowsError) as error:
        raise NotSumOfProducts(str(error)) from error
    asked = np.concatenate([rows, covered, vary(np.concatenate([rows, covered]), _N_VARIED)])
    try:
        expected = call(called_with(asked))
    except ModelError as error:
        raise NotSumOfProducts(str(error)) from error
    then = unchanged if call.then is None or links == LINKS[:1] else call.then
    scale = max(1.0, float(np.abs(trees.margin(asked)).max()), float(np.abs(expected).max()))
    for link in links:
        found = replace(trees, link=link, then=then, scale=scale)
        with np.errstate(over="ignore"):
            answer = found(asked)
        if answer.shape == expected.shape and (np.abs(answer - expected) <= reader.tolerance * scale).all():
            return found
    raise NotSumOfProducts(f"what {call.name} answers is not a known function of what its trees add up to")


def _margin(call: ModelCall) -> tuple[FloatEnsemble, tuple[Callable[[np.ndarray], np.ndarray], ...]]:
    """The trees of what a call answers, or of what is below it, and what may stand between."""
    try:
        return read_last_step(call), LINKS[:1]
    except NotSumOfProducts:
        return read_last_step(raw_call(call.target)), LINKS


def _with_all_codes(rows: np.ndarray, n_codes: Sequence[int]) -> np.ndarray:
    """Rows like the first one, in which every code of every column occurs."""
    covered = np.repeat(rows[:1], max(1, *n_codes), axis=0)
    for v, n in enumerate(n_codes):
        if n:
            covered[:, v] = np.arange(len(covered)) % n
    return covered


def _before(covered: np.ndarray, rows: np.ndarray, n_codes: Sequence[int], dtypes: Sequence[Any]) -> Before:
    """What stands before the transformers of a Pipeline: codes count up, numbers are as they occur."""
    points = [np.arange(n, dtype=float) if n else _spread(rows[:, v]) for v, n in enumerate(n_codes)]
    whole = [np.iinfo(dtype) if isinstance(dtype, np.dtype) and dtype.kind in "iu" else None for dtype in dtypes]
    ends = [(-LARGEST, LARGEST) if own is None else (max(-LARGEST, own.min), min(LARGEST, own.max)) for own in whole]
    coded = np.array(n_codes) > 0
    gaps = ~coded & np.array([own is None for own in whole])
    return Before(covered[0], points, coded, gaps, np.array(ends, dtype=float).T, np.zeros(len(coded), dtype=bool))


def _flatten(
    trees: FloatEnsemble, place: np.ndarray, coded: np.ndarray, n_codes: Sequence[int], dtypes: Sequence[Any]
) -> CompiledTrees:
    """The nodes of the trees, flat. Column j is the feature ``place[j]``; if that has codes, ``coded[:, j]`` are their
    numbers.
    """
    from shap_asv.models.trees.kernels import Steps  # brings numba in

    inner = trees.left >= 0
    asks_code = inner & (np.array(n_codes) > 0)[place[np.maximum(trees.column, 0)]]
    asks_number = inner & ~asks_code
    if (trees.category_set[asks_number] >= 0).any():
        raise NotSumOfProducts("the trees take numbers of the table for categories")
    pairs, which = np.unique(2 * trees.column[asks_number] + trees.nan_left[asks_number], return_inverse=True)
    columns: list[ThresholdColumn | CodeColumn] = []
    for j, nan_left in (divmod(pair, 2) for pair in pairs.tolist()):
        v = int(place[j])
        columns.append(ThresholdColumn(v, nan_left == 1, trees.rounding(j), dtypes[v]))
    threshold, mask = np.where(asks_number, trees.threshold, np.nan), np.zeros(len(inner), dtype=np.uint64)
    column = np.zeros(len(inner), dtype=np.uint32)
    column[asks_number] = which
    right, left = trees.right.copy(), trees.left

    used = np.unique(trees.column[asks_code]).tolist()
    tables = {j: trees.rounding(j)(coded[: n_codes[place[j]], j]) for j in used}
    _, goes_left, split = node_splits(replace(trees, left=np.where(asks_code, trees.left, -1)), tables, place)
    word_of = {}  # where the codes of a feature are among the columns
    for v in np.unique(place[used]).tolist():
        word_of[v] = len(columns)
        columns += [CodeColumn(v, first) for first in range(0, n_codes[v], _BITS)]
    masks = [_words(own) for own in goes_left]
    longer: list[tuple[int, int, int, int]] = []  # what comes in place of the right child: column, mask, left, right
    for v in np.flatnonzero(asks_code).tolist():
        own, begin = masks[split[v]], word_of[int(place[trees.column[v]])]
        first, *others = np.flatnonzero(own).tolist() or [0]
        column[v], mask[v] = begin + first, own[first]
        for word in reversed(others):
            longer.append((begin + word, int(own[word]), int(left[v]), int(right[v])))
            right[v] = len(inner) + len(longer) - 1
    more = np.array(longer, dtype=np.uint64).reshape(-1, 4)
    reached = np.add.reduceat(np.where(inner[:, None], False, trees.values != 0), trees.roots, axis=0) > 0
    n_steps, leaf = np.zeros(trees.n_trees, dtype=np.int64), np.append(~inner, np.zeros(len(more), dtype=bool))
    left, right = np.append(left, more[:, 2].astype(np.int64)), np.append(right, more[:, 3].astype(np.int64))
    # level by level, so that children stand side by side
    at, tree, n, count = trees.roots, np.arange(trees.n_trees), 0, 0
    placed: list[np.ndarray] = []
    following: list[np.ndarray] = []
    while len(at):
        n_steps[tree] = n
        follows, goes_on = count + np.arange(len(at)), ~leaf[at]
        count += len(at)
        follows[goes_on] = count + 2 * np.arange(goes_on.sum())
        placed.append(at)
        following.append(follows)
        at, tree, n = np.stack([right, left], axis=1)[at[goes_on]].ravel(), np.repeat(tree[goes_on], 2), n + 1
    order, child = np.concatenate(placed), np.concatenate(following).astype(np.uint64)
    of_tree = np.repeat(np.arange(trees.n_trees), np.diff(np.append(trees.roots, len(inner))))
    steps = Steps(
        child << np.uint64(32) | np.append(column, more[:, 0])[order].astype(np.uint64),
        np.append(threshold, np.full(len(more), np.nan))[order],
        np.append(mask, more[:, 1])[order],
        np.concatenate([trees.values, np.zeros((len(more), trees.n_outputs))])[order],
        np.arange(trees.n_trees, dtype=np.uint64),
        n_steps,
        np.bincount(of_tree, asks_code, minlength=trees.n_trees) > 0,
        reached.argmax(axis=1),
        np.where(reached.any(axis=1), trees.n_outputs - reached[:, ::-1].argmax(axis=1), 0),
    )
    return CompiledTrees(tuple(columns), steps, trees.offset)


def _words(goes_left: np.ndarray) -> np.ndarray:
    """Truth values of codes as bits, :data:`_BITS` to a word -> uint64 (words,)."""
    bits = np.pad(goes_left, (0, -len(goes_left) % _BITS)).reshape(-1, _BITS)
    return bits.astype(np.uint64) @ (np.uint64(1) << np.arange(_BITS, dtype=np.uint64))


def _spread(numbers: np.ndarray) -> np.ndarray:
    """Some of the distinct numbers of a column, in order."""
    known = np.unique(numbers[np.isfinite(numbers)])
    return known[np.linspace(0, len(known) - 1, min(_N_POINTS, len(known))).astype(int)] if len(known) else known
