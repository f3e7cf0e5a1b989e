"""Interventions on a distribution that knows nothing of causes: levels of features, each drawn given what came before.

For ``do(X_S = e_S)`` (Heskes, Sijben, Bucur and Claassen, 2020) the levels are gone through, causes first, and the free
features of each are drawn given all earlier levels and

- if the level is not confounded, also given its own members in S;
- if it is, without them.

All that is needed are draws given any set. What a later level is given differs from draw to draw, so that each draw is
a question of its own: E D of them instead of E. (Gaussians have a closed form instead, ``gaussian/interventions.py``.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backgrounds.contract import DrawsGivenEvidence, LeveledInterventions, PairedDraws
from shap_asv.backgrounds.intervening import ShowingNumbers, with_shown, without
from shap_asv.backgrounds.tables.border import checked_evidence, checked_uniforms
from shap_asv.costs import Cost


@dataclass(frozen=True, eq=False)
class LevelByLevel(ShowingNumbers):
    """Features under interventions by levels.

    Attributes
    ----------
    natural : Background
        With draws given any set.
    levels : tuple of tuples of int
        Positions of features, causes first.
    confounded : tuple of int
        Positions of levels.

    Examples
    --------
    >>> import pandas as pd
    >>> from shap_asv.backgrounds.independent import IndependentColumns
    >>> natural = IndependentColumns(pd.DataFrame({"x": [0.0, 1.0], "y": [5.0, 7.0]}))
    >>> background = LevelByLevel(natural, ((0,), (1,)))
    >>> background.n_uniforms, background.draws(np.array([[1.0, np.nan]]), np.array([[0.1, 0.1, 0.1, 0.6]])).tolist()
    (4, [[[1.0, 7.0]]])
    """

    levels: tuple[tuple[int, ...], ...]
    confounded: tuple[int, ...] = ()

    @property
    def n_uniforms(self) -> int:
        """Numbers of its own for each level."""
        return len(self.levels) * int(self.natural.n_uniforms)

    def drawing_cost(self, n_coalitions: int, n_rows: int, n_draws: int, ancestral: bool) -> Cost:
        """A question to the natural distribution for every draw, where others ask once for all draws."""
        return Cost({"draw by levels": n_coalitions * n_rows * n_draws})

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Evidence (E, n), nan where free, and uniforms (D, n_uniforms) -> rows (E, D, n)."""
        evidence = checked_evidence(evidence, len(self.features))
        uniforms = checked_uniforms(uniforms, self.n_uniforms)
        reaching = without(evidence, self.shown)
        result = np.repeat(reaching[:, None, :], len(uniforms), axis=1)
        width = int(self.natural.n_uniforms)
        earlier: list[int] = []
        for number, level in enumerate(self.levels):
            columns = list(level)
            given = earlier if number in self.confounded else [*earlier, *columns]
            numbers = uniforms[:, number * width : (number + 1) * width]
            open_ = np.isnan(reaching[:, columns]).any(axis=1)
            told_apart = np.isnan(reaching[:, earlier]).any(axis=1)
            # nothing before the level is random: one question for all draws
            rows = np.flatnonzero(open_ & ~told_apart)
            if len(rows):
                self._fill(result, rows, columns, self.natural.draws(_only(reaching[rows], given), numbers))
            rows = np.flatnonzero(open_ & told_apart)
            if len(rows):
                question = _only(result[rows].reshape(-1, len(self.features)), given)
                drawn = paired_draws(self.natural, question, np.tile(numbers, (len(rows), 1)))
                drawn = drawn.reshape(len(rows), len(uniforms), -1)
                self._fill(result, rows, columns, drawn)
            earlier = [*earlier, *columns]
        return with_shown(result, evidence, self.shown)

    @staticmethod
    def _fill(result: np.ndarray, rows: np.ndarray, columns: list[int], drawn: np.ndarray) -> None:
        """Free entries of the columns take what was drawn, in place."""
        for v in columns:
            here = result[rows, :, v]
            result[rows, :, v] = np.where(np.isnan(here), drawn[:, :, v], here)


def _only(rows: np.ndarray, columns: list[int]) -> np.ndarray:
    """Rows (E, n) as evidence about the columns alone; what is not known there yet stays free."""
    kept = np.full_like(rows, np.nan)
    kept[:, columns] = rows[:, columns]
    return kept


def by_levels(background: Any, levels: Sequence[Sequence[int]], confounded: Sequence[int]) -> Any:
    """A background under interventions by levels: in its own closed form where it has one, else level by level."""
    if isinstance(background, LeveledInterventions):
        return background.intervened_by_levels(levels, confounded)
    return LevelByLevel(background, tuple(map(tuple, levels)), tuple(confounded))


def paired_draws(background: DrawsGivenEvidence, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """One draw for each evidence row, by its own uniform numbers: (Q, n) and (Q, n_uniforms) -> rows (Q, n).

    A background may have a faster way of its own, ``paired_draws``; the draws are the same.
    """
    if isinstance(background, PairedDraws):
        return background.paired_draws(evidence, uniforms)
    rows = np.empty_like(evidence)
    for q in range(len(evidence)):
        rows[q] = background.draws(evidence[q : q + 1], uniforms[q : q + 1])[0, 0]
    return rows
