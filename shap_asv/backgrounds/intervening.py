"""The border of a distribution whose features are set: that of the distribution where nobody intervenes.

What a row is, how a table becomes rows and what the model is called with do not change when features are set. So each
distribution under ``do(X_S = e_S)`` wraps its natural one, and only says what happens to the rest.

Evidence about *shown* features is for the model's eyes alone: the others are distributed as if it was not there. That
is how a feature's direct effect is told from what goes through its effects.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Conditions


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

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(self.natural.features)

    @property
    def latent(self) -> tuple[str, ...]:
        return tuple(self.natural.latent)

    @property
    def graph(self) -> nx.DiGraph | None:
        graph: nx.DiGraph | None = self.natural.graph
        return graph

    @property
    def free(self) -> Any:
        return self.natural.free

    @property
    def n_uniforms(self) -> int:
        return int(self.natural.n_uniforms)

    def describe(self) -> str:
        return f"interventions on: {self.natural.describe()}"

    def read(self, table: Any) -> np.ndarray:
        return np.asarray(self.natural.read(table))

    def check(self, rows: np.ndarray) -> None:
        self.natural.check(rows)

    def inputs(self, rows: np.ndarray) -> Any:
        return self.natural.inputs(rows)

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        labels: np.ndarray | None = self.natural.labels(rows)
        return labels


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
