"""Distributions whose features are set, ``do(X_S = e_S)``: the border that they share, and levels drawn one by one.

What a row is, how a table becomes rows and what the model is called with do not change when features are set. So each
distribution under ``do`` wraps its natural one (:class:`Intervening`), and only says what happens to the rest.

Evidence about *shown* features is for the model's eyes alone: the others are distributed as if it was not there. That
is how a feature's direct effect is told from what goes through its effects.

A distribution that knows nothing of causes needs *levels* of features (:class:`LevelByLevel`; Heskes, Sijben, Bucur and
Claassen, 2020): they are gone through, causes first, and the free features of each are drawn given all earlier levels
and

- if the level is not confounded, also given its own members in S;
- if it is, without them.

All that is needed are draws given any set. What a later level is given differs from draw to draw, so that each draw is
a question of its own: E D of them instead of E. (Gaussians have a closed form instead, ``gaussian/model.py``.)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from shap_asv.backgrounds.contract import Conditions, LeveledInterventions
from shap_asv.backgrounds.tables.border import checked_evidence, checked_uniforms
from shap_asv.costs import Cost


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
    read, inputs, codec = natural_own("read"), natural_own("inputs"), natural_own("codec")
    labels, shown_numbers = natural_own("labels"), natural_own("shown_numbers")

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
    >>> from shap_asv import GaussianModel
    >>> natural = GaussianModel([0.0, 6.0], [[1.0, 0.0], [0.0, 1.0]], ["x", "y"])
    >>> background = LevelByLevel(natural, ((0,), (1,)))
    >>> background.n_uniforms, background.draws(np.array([[1.0, np.nan]]), np.array([[0.1, 0.1, 0.1, 0.5]])).tolist()
    (4, [[[1.0, 6.0]]])
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
                drawn = self.natural.paired_draws(question, np.tile(numbers, (len(rows), 1)))
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
