"""Numbers as small integers: which of a column's thresholds lie below, or which category it is.

An ensemble tells apart only finitely many values of a column. With its thresholds sorted, ``code(x)`` = how many of
them are below x, so that ``x <= threshold[k]`` is ``code(x) <= k`` and the condition of a path is an interval of
codes. Categories are numbered; one more code stands for all others. NaN has the last code of a column.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, is_member


@dataclass(frozen=True, eq=False)
class Coding:
    """How rows of an ensemble become codes.

    Attributes
    ----------
    ensemble : FloatEnsemble
    thresholds : tuple of float64 arrays, one per column
        Sorted; empty where a column is categorical or unused.
    categories : tuple of int64 arrays or None, one per column
    nan_code : int32 array (n,)
        The last code of each column.
    """

    ensemble: FloatEnsemble
    thresholds: tuple[np.ndarray, ...]
    categories: tuple[np.ndarray | None, ...]
    nan_code: np.ndarray

    def codes(self, rows: np.ndarray) -> np.ndarray:
        """Rows (r, n) -> int32 (n, r), one contiguous row per column. O(n r log thresholds)."""
        codes = np.zeros((self.ensemble.n_columns, len(rows)), dtype=np.int32)
        for j, (thresholds, categories) in enumerate(zip(self.thresholds, self.categories, strict=True)):
            if categories is None and not len(thresholds):
                continue
            numbers = self.ensemble.rounded_column(rows[:, j], j)
            if categories is None:
                codes[j] = np.searchsorted(thresholds, numbers)
            else:
                member = is_member(numbers, categories)
                codes[j] = len(categories)
                codes[j, member] = np.searchsorted(categories, numbers[member].astype(np.int64))
            codes[j, np.isnan(numbers)] = self.nan_code[j]
        return codes


def code_ensemble(ensemble: FloatEnsemble) -> Coding:
    """The codes that the nodes of an ensemble need."""
    inner = ensemble.left >= 0
    categorical = inner & (ensemble.category_set >= 0)
    thresholds: list[np.ndarray] = []
    categories: list[np.ndarray | None] = []
    for j in range(ensemble.n_columns):
        here = inner & (ensemble.column == j)
        sets = ensemble.category_set[here & categorical]
        if not len(sets):
            thresholds.append(np.unique(ensemble.threshold[here]))
            categories.append(None)
            continue
        if (here & ~categorical).any():
            raise NotSumOfProducts(f"the trees take column {j} for numbers at some nodes and for categories at others")
        thresholds.append(np.zeros(0))
        categories.append(np.unique(np.concatenate([ensemble.sets[s] for s in np.unique(sets)])))
    widths = [len(t) if c is None else len(c) for t, c in zip(thresholds, categories, strict=True)]
    return Coding(ensemble, tuple(thresholds), tuple(categories), np.array(widths, dtype=np.int32) + 1)
