"""Values of many seeds beside the exact ones: bias, calibration of standard errors, coverage of intervals.

Three statistics over the seeds of a public explainer:

- bias: ``t = (mean - exact) / (sd / sqrt(N))`` of each value, the largest of m values against Student's quantile for
  ``FALSE_ALARM / m``;
- calibration: ``mean of error_std^2 / variance over seeds``, pooled over values. Were all values one and the same, it
  would scatter by ``sqrt(2 / N)``; the window is four times that, which a right standard error leaves with probability
  below ``FALSE_ALARM``;
- coverage: the share of a seed's values that lie within 1.96 standard errors. Values of one seed depend on one another,
  seeds do not: Student's t over seeds says whether the mean share is below 93% or above 97%, with probability
  ``FALSE_ALARM`` each when it is not.

Seeds are fixed, so a test fails always or never; FALSE_ALARM is the chance that other seeds would fail.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-4
LOW, HIGH = 0.93, 0.97


def window(n_seeds: int) -> float:
    """How far calibration may be from one."""
    return 4 * float(np.sqrt(2 / n_seeds))


@dataclass
class Runs:
    """Values and standard errors of N seeds, (N, m), and the exact values (m,); only values that vary."""

    values: np.ndarray
    errors: np.ndarray
    exact: np.ndarray

    def smallest_p(self) -> float:
        """Two-sided p-value of the largest t, times the number of values."""
        n, m = self.values.shape
        t = (self.values.mean(axis=0) - self.exact) / (self.values.std(axis=0, ddof=1) / np.sqrt(n))
        return float(min(1.0, 2 * m * stats.t.sf(np.abs(t).max(), n - 1)))

    def calibration(self) -> float:
        return float((self.errors**2).mean() / self.values.var(axis=0, ddof=1).mean())

    def p_of_coverage(self) -> tuple[float, float]:
        """One-sided p-values of a coverage of at least LOW, and of at most HIGH."""
        share = (np.abs(self.values - self.exact) <= 1.96 * self.errors).mean(axis=1)
        n, spread = len(share), max(share.std(ddof=1), 1e-9)
        t = (share.mean() - np.array([LOW, HIGH])) / (spread / np.sqrt(n))
        return float(stats.t.cdf(t[0], n - 1)), float(stats.t.sf(t[1], n - 1))
