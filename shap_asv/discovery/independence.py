"""Is x independent of y given some columns? p-values that hold for sparse tables, too.

*Labels.* Within each combination of the given columns (a stratum) the table of x against y is compared with what its
margins lead one to expect, by Pearson's X^2. Its mean and variance over all tables with those margins are known exactly
(Haldane 1940, Dawson 1954; N rows, r rows and c columns that occur),

    E = N (r-1)(c-1) / (N-1)
    V = 2 N / (N-3) (v_r - w_r)(v_c - w_c) + N^2 / (N-1) w_r w_c
    v_k = (k-1)(N-k) / (N-1)         w_k = (sum over its margin of N / n_i - k^2) / (N-2)

so the sum over strata is compared with the gamma distribution of the same mean and variance. The usual chi-square
distribution has them only when all cells are well filled, and small strata never are. Rare labels make the far tail
heavier still. So a small p-value from thinly filled tables is looked at again: tables with the same margins are drawn,
their share with as large a sum is the p-value, and where hardly any is as large, the tail is that of the Pearson III
distribution with the exact mean and variance and the skewness of the drawn ones.

*Numbers, or numbers and labels.* Labels become indicators. What the given columns explain linearly is taken out
(combinations of given labels each get an indicator), and what is left of x and y is compared by Wilks' lambda with
Bartlett's approximation; for one number each this is the test of a partial correlation.
"""

from collections.abc import Hashable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy.stats import chi2, gamma, pearson3, random_table

#: Below this a p-value of thinly filled tables is computed again, from so many drawn tables.
LOOK_AGAIN, DRAWN = 0.1, 2000
#: Columns of whole numbers with at most this many different ones count as labels.
MOST_LABELS = 20
#: Rows without a gap in the columns of a test, below which there is no test.
FEWEST = 10


class IndependenceTests:
    """Conditional independence tests on the columns of one DataFrame, whose values were looked at once."""

    def __init__(self, data: Any) -> None:
        self.n_rows = len(data)
        self.codes: dict[Hashable, np.ndarray] = {}
        self.numbers: dict[Hashable, np.ndarray] = {}
        for name in data.columns:
            column = data[name]
            if is_labelled(column):
                self.codes[name] = column.astype("category").cat.codes.to_numpy().astype(np.int64)
            else:
                self.numbers[name] = column.to_numpy(dtype=float, na_value=np.nan)

    def p_value(self, x: Hashable, y: Hashable, given: Sequence[Hashable]) -> float:
        """The p-value of "x is independent of y given ``given``", by the rows that have all of these columns; 1 where
        they cannot tell."""
        present = np.ones(self.n_rows, dtype=bool)
        for name in (x, y, *given):
            present &= self.codes[name] >= 0 if name in self.codes else ~np.isnan(self.numbers[name])
        if not present.all():
            return self._among(present, (x, y, *given)).p_value(x, y, given) if present.sum() >= FEWEST else 1.0
        if all(name in self.codes for name in (x, y, *given)):
            return self._strata_test(x, y, given)
        return self._linear_test(x, y, given)

    def _among(self, rows: np.ndarray, names: Sequence[Hashable]) -> "IndependenceTests":
        """The same for some of the rows, bool (r,), and some of the columns."""
        some = copy(self)
        some.n_rows = int(rows.sum())
        some.codes = {name: self.codes[name][rows] for name in names if name in self.codes}
        some.numbers = {name: self.numbers[name][rows] for name in names if name in self.numbers}
        return some

    # --- labels -------------------------------------------------------------------------------------------------------

    def _strata_test(self, x: Hashable, y: Hashable, given: Sequence[Hashable]) -> float:
        strata = self._combined(given)
        counts = _tables(strata, self.codes[x], self.codes[y])
        statistic, mean, variance = _pearson_moments(counts)
        if variance <= 0:
            return 1.0
        p = float(gamma.sf(statistic, mean**2 / variance, scale=variance / mean))
        return _by_drawn_tables(counts, statistic, mean, variance) if p < LOOK_AGAIN and _is_thin(counts) else p

    def _combined(self, names: Sequence[Hashable]) -> np.ndarray:
        """A number per row for the combination of labels in ``names``, numbered from 0 without gaps."""
        code = np.zeros(self.n_rows, dtype=np.int64)
        for name in names:
            labels = self.codes[name]
            code = np.unique(code * (labels.max() + 1) + labels, return_inverse=True)[1]
        return code

    # --- numbers ------------------------------------------------------------------------------------------------------

    def _linear_test(self, x: Hashable, y: Hashable, given: Sequence[Hashable]) -> float:
        known = np.column_stack(
            [_indicators(self._combined([name for name in given if name in self.codes])), np.ones(self.n_rows)]
            + [_standardised(self.numbers[name]) for name in given if name in self.numbers]
        )
        basis = _basis(known)
        left = [self._block(name) for name in (x, y)]
        left = [_basis(block - basis @ (basis.T @ block)) for block in left]
        p, q = (block.shape[1] for block in left)
        freedom = self.n_rows - basis.shape[1] - 1 - (p + q + 1) / 2
        if not p or not q or freedom <= 0:
            return 1.0
        shared = np.clip(np.linalg.svd(left[0].T @ left[1], compute_uv=False), 0, 1 - 1e-15)
        return float(chi2.sf(-freedom * np.log1p(-(shared**2)).sum(), p * q))

    def _block(self, name: Hashable) -> np.ndarray:
        if name in self.numbers:
            return _standardised(self.numbers[name])[:, None]
        return _indicators(self.codes[name])


def is_labelled(column: Any) -> bool:
    """Whether a column holds labels: anything but numbers, and whole numbers of which there are few."""
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if kind == "f" and not hasattr(column, "cat"):
        return False
    return kind not in "iu" or column.nunique() <= MOST_LABELS


def _tables(strata: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Counts (strata, states of x, states of y)."""
    shape = (int(strata.max()) + 1, int(x.max()) + 1, int(y.max()) + 1)
    flat = (strata * shape[1] + x) * shape[2] + y
    return np.bincount(flat, minlength=shape[0] * shape[1] * shape[2]).reshape(shape).astype(float)


def _pearson_moments(counts: np.ndarray) -> tuple[float, float, float]:
    """The sum over strata of X^2, and its mean and variance given all margins."""
    total = counts.sum(axis=(1, 2))
    across, down = counts.sum(axis=2), counts.sum(axis=1)
    r, c = (across > 0).sum(axis=1), (down > 0).sum(axis=1)
    told = (total > 3) & (r > 1) & (c > 1)  # the others say nothing, or too little for a variance
    counts, n, across, down, r, c = counts[told], total[told], across[told], down[told], r[told], c[told]
    expected = across[:, :, None] * down[:, None, :] / n[:, None, None]
    squares = np.divide(counts**2, expected, out=np.zeros_like(counts), where=expected > 0)
    statistic = squares.sum(axis=(1, 2)) - n
    mean = n * (r - 1) * (c - 1) / (n - 1)

    def spread(margin: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inverse = np.divide(n[:, None], margin, out=np.zeros_like(margin), where=margin > 0).sum(axis=1)
        return (k - 1) * (n - k) / (n - 1), (inverse - k**2) / (n - 2)

    (vr, wr), (vc, wc) = spread(across, r), spread(down, c)
    variance = 2 * n / (n - 3) * (vr - wr) * (vc - wc) + n**2 / (n - 1) * wr * wc
    return float(statistic.sum()), float(mean.sum()), float(variance.sum())


def _is_thin(counts: np.ndarray) -> bool:
    """Whether a table that is told from has an expected count below 5."""
    across, down = counts.sum(axis=2), counts.sum(axis=1)
    told = ((across > 0).sum(axis=1) > 1) & ((down > 0).sum(axis=1) > 1)
    smallest = [np.where(margin > 0, margin, np.inf).min(axis=1) for margin in (across[told], down[told])]
    return bool((smallest[0] * smallest[1] < 5 * counts[told].sum(axis=(1, 2))).any())


def _by_drawn_tables(counts: np.ndarray, statistic: float, mean: float, variance: float) -> float:
    """The p-value of the summed X^2 among tables with the same margins. The draws are the same in every call."""
    rng = np.random.default_rng(0)
    sums = np.full(DRAWN, 0.0)
    for table in counts:
        across, down = table.sum(axis=1), table.sum(axis=0)
        across, down = across[across > 0], down[down > 0]
        n = across.sum()
        if n > 3 and len(across) > 1 and len(down) > 1:
            drawn = random_table.rvs(across.astype(int), down.astype(int), size=DRAWN, random_state=rng)
            sums += (drawn**2 / (across[:, None] * down / n)).sum(axis=(1, 2)) - n
    as_large = int((sums >= statistic * (1 - 1e-12)).sum())
    if as_large >= 20:
        return (as_large + 1) / (DRAWN + 1)
    skew = float((((sums - mean) / np.sqrt(variance)) ** 3).mean())
    tail = float(pearson3.sf((statistic - mean) / np.sqrt(variance), max(skew, 1e-3)))
    return min(1.0, max(tail, as_large / (4 * DRAWN)))


def _indicators(codes: np.ndarray) -> np.ndarray:
    """One column per label but the first, (rows, labels - 1)."""
    return (codes[:, None] == np.arange(1, int(codes.max()) + 1)).astype(float)


def _standardised(column: np.ndarray) -> np.ndarray:
    spread = column.std()
    return (column - column.mean()) / (spread if spread > 0 else 1.0)


def _basis(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what the columns span, (rows, rank)."""
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    return u[:, s > 1e-9 * max(1.0, float(np.sqrt(len(columns))))]
