"""Rows of probability zero, where the user asked to go on with them.

Fast backends rely on conditional independence, which says nothing about evidence that contradicts itself. Such rows
go, one coalition at a time, to a backend that asks the background about every coalition as a whole.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backends.contract import Attribution, Attributor
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backgrounds.contract import Terms


@dataclass(frozen=True, eq=False)
class RelaxingAttributor:
    """``fast`` for rows that are possible under the network, ``general`` for the others."""

    background: Terms
    fast: Attributor
    general: Attributor

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        possible = np.isfinite(self.background.log_probability(rows))
        if possible.all():
            return self.fast.attribute(rows, report)
        if not possible.any():
            return self.general.attribute(rows, report)
        first = self.fast.attribute(rows[possible], part_of(report, 0.0, 0.5))
        second = self.general.attribute(rows[~possible], part_of(report, 0.5, 1.0))
        phi = np.empty((len(rows), *first.phi.shape[1:]))
        phi[possible], phi[~possible] = first.phi, second.phi
        error = None
        if first.error is not None and second.error is not None:
            error = np.empty_like(phi)
            error[possible], error[~possible] = first.error, second.error
        return Attribution(phi, first.base, error)


def relaxing(background: Terms, fast: Attributor, general: Attributor) -> Attributor:
    """``fast``, with ``general`` behind it where the user asked to go on with rows of probability zero."""
    return RelaxingAttributor(background, fast, general) if background.impossible == "relax" else fast
