"""The border of a distribution whose features are set: that of the distribution where nobody intervenes.

What a row is, how a table becomes rows and what the model is called with do not change when features are set. So each
distribution under ``do(X_S = e_S)`` wraps its natural one, and only says what happens to the rest.

Evidence about *shown* features is for the model's eyes alone: the others are distributed as if it was not there. That
is how a feature's direct effect is told from what goes through its effects.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from shap_asv.backgrounds.contract import Conditions


def natural_own(name: str) -> Any:
    """An attribute, or a method, that is that of the natural distribution."""
    return property(lambda self: getattr(self.natural, name), doc=f"``{name}`` where nobody intervenes.")


@dataclass(frozen=True, eq=False)
class Intervening:
    """Features under interventions; evidence is what is set.

    Attributes
    ----------
    natural : Background
        The same features where nobody intervenes.
    """

    natural: Any

    conditions_on: ClassVar[Conditions] = "any"

    features, latent, graph = natural_own("features"), natural_own("latent"), natural_own("graph")
    dependent = natural_own("dependent")
    free, n_uniforms = natural_own("free"), natural_own("n_uniforms")
    read, inputs, labels = natural_own("read"), natural_own("inputs"), natural_own("labels")
    codec = natural_own("codec")

    def describe(self) -> str:
        return f"interventions on: {self.natural.describe()}"

    def check(self, rows: np.ndarray) -> None:
        self.natural.check(rows)


@dataclass(frozen=True, eq=False)
class ShowingNumbers(Intervening):
    """Interventions on features that are numbers; evidence about those at ``shown`` is for the model's eyes alone."""

    shown: tuple[int, ...] = field(default=(), kw_only=True)

    def showing(self, feature: int) -> Self:
        """The same where evidence about ``feature`` is shown to the model and reaches no other feature."""
        return replace(self, shown=(*self.shown, feature))


def without(evidence: np.ndarray, shown: tuple[int, ...]) -> np.ndarray:
    """Evidence (E, n) of numbers without what is only shown: free there."""
    if not shown:
        return evidence
    evidence = evidence.copy()
    evidence[:, list(shown)] = np.nan
    return evidence


def with_shown(rows: np.ndarray, evidence: np.ndarray, shown: tuple[int, ...]) -> np.ndarray:
    """Rows (E, n) or (E, D, n) with what is shown in them, in place; free entries of the evidence show nothing."""
    for v in shown:
        held = ~np.isnan(evidence[:, v])
        values = evidence[held, v]
        rows[held, ..., v] = values if rows.ndim == 2 else values[:, None]
    return rows
