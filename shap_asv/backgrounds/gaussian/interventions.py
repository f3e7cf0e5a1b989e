"""Jointly Gaussian features of which some are set: what happens to the rest is Gaussian again, in closed form.

    X_rest | do(X_S = e_S)  ~  N(offset + gain @ e_S, covariance)

with numbers that depend on S alone. They come from one of two *rules*:

- :class:`NetworkRule`: a linear Gaussian network. ``X = intercept + B X + noise`` with the equations of S replaced by
  constants, so ``offset`` and ``gain`` are columns of ``(I - B_cut)^-1``. Latent nodes stay.
- :class:`LevelsRule`: levels of features, causes first. Each level is drawn from the Gaussian given all earlier ones,
  and given its own members in S unless it is confounded; every step is linear in what came before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from shap_asv.backgrounds.gaussian.algebra import condition, semidefinite_cholesky
from shap_asv.backgrounds.gaussian.model import GaussianBorder, drawn_around
from shap_asv.backgrounds.gaussian.networks import LinearGaussianNetwork
from shap_asv.backgrounds.intervening import ShowingNumbers, with_shown, without
from shap_asv.backgrounds.tables.border import patterns, rowwise_product


@dataclass(frozen=True, eq=False)
class Setting:
    """What setting the features ``known`` does to the ``rest``.

    Attributes
    ----------
    known, rest : intp arrays (a,), (b,)
    offset : float (b,)
    gain : float (b, a)
    covariance : float (b, b)
    """

    known: np.ndarray
    rest: np.ndarray
    offset: np.ndarray
    gain: np.ndarray
    covariance: np.ndarray

    def factor(self) -> np.ndarray:
        """Lower triangular L (b, b) with ``L @ L.T = covariance``. O(b^3)."""
        variances = np.diag(self.covariance)
        scale = np.where(variances > 0, np.sqrt(np.maximum(variances, 0.0)), 1.0)
        return scale[:, None] * semidefinite_cholesky(self.covariance / np.outer(scale, scale))


class Rule(Protocol):
    """From what is known of causes to what interventions do."""

    def setting(self, members: np.ndarray) -> Setting:
        """The features bool (n,) that are set -> what it does."""
        ...


@dataclass(frozen=True, eq=False)
class NetworkRule:
    """A linear Gaussian network; ``features`` are names of its nodes, the others are latent."""

    network: LinearGaussianNetwork
    features: tuple[str, ...]

    def setting(self, members: np.ndarray) -> Setting:
        """O(nodes^3)."""
        at = np.array([self.network.names.index(name) for name in self.features])
        known, rest = np.flatnonzero(members), np.flatnonzero(~members)
        slopes, intercepts = self.network.slopes.copy(), self.network.intercepts.copy()
        deviations = self.network.deviations.copy()
        slopes[at[known]], intercepts[at[known]], deviations[at[known]] = 0.0, 0.0, 0.0
        reach = np.linalg.solve(np.eye(len(slopes)) - slopes, np.eye(len(slopes)))
        spread = reach[at[rest]] * deviations
        return Setting(known, rest, reach[at[rest]] @ intercepts, reach[np.ix_(at[rest], at[known])], spread @ spread.T)


@dataclass(frozen=True, eq=False)
class LevelsRule:
    """Levels of features, causes first; ``confounded`` are positions of levels.

    ``mean`` (n,), ``scale`` (n,) and ``correlation`` (n, n) are those of the features.
    """

    mean: np.ndarray
    scale: np.ndarray
    correlation: np.ndarray
    levels: tuple[tuple[int, ...], ...]
    confounded: frozenset[int]

    def setting(self, members: np.ndarray) -> Setting:
        """One conditional Gaussian per level: O(n^3) each."""
        n = len(self.mean)
        known, rest = np.flatnonzero(members), np.flatnonzero(~members)
        # every standardised feature as offset + gain @ e_known + noise @ (independent normal variables)
        offset, gain, noise = np.zeros(n), np.zeros((n, len(known))), np.zeros((n, n))
        gain[known, np.arange(len(known))] = 1.0 / self.scale[known]
        offset[known] = -self.mean[known] / self.scale[known]
        earlier: list[int] = []
        for number, level in enumerate(self.levels):
            free = [v for v in level if not members[v]]
            held = [] if number in self.confounded else [v for v in level if members[v]]
            given = earlier + held
            block = [*given, *free]
            inside = np.arange(len(block)) < len(given)
            found = condition(self.correlation[np.ix_(block, block)], inside)
            offset[free] = found.gain @ offset[given]
            gain[free] = found.gain @ gain[given]
            noise[free] = found.gain @ noise[given]
            noise[np.ix_(free, free)] += found.factor
            earlier += level
        scale = self.scale[rest]
        spread = scale[:, None] * noise[rest]
        return Setting(
            known, rest, self.mean[rest] + scale * offset[rest], scale[:, None] * gain[rest], spread @ spread.T
        )


@dataclass(frozen=True, eq=False)
class GaussianInterventions(ShowingNumbers):
    """Jointly Gaussian features under interventions: means in closed form, and draws.

    Examples
    --------
    >>> from shap_asv import GaussianModel
    >>> model = GaussianModel([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], ["cause", "effect"])
    >>> by_levels = model.intervened_by_levels([(0,), (1,)], [])
    >>> set_effect = np.array([[np.nan, 2.0]])
    >>> model.means(set_effect).tolist(), by_levels.means(set_effect).tolist()
    ([[1.0, 2.0]], [[0.0, 2.0]])
    """

    rule: Rule
    _settings: dict[bytes, tuple[Setting, np.ndarray]] = field(default_factory=dict, repr=False)

    def check(self, rows: np.ndarray) -> None:
        """Any row of finite numbers can be set, whether it contradicts the covariance or not."""
        GaussianBorder.check(self.natural, rows)

    def read(self, table: Any) -> np.ndarray:
        rows = self.natural.codec.read(table)
        self.check(rows)
        return np.asarray(rows)

    def means(self, evidence: np.ndarray) -> np.ndarray:
        """``E[X | do(X_S = e_S)]`` float (E, n); the entries of S are the evidence."""
        evidence = self.natural.numbers(evidence)
        reaching = without(evidence, self.shown)
        result = reaching.copy()
        for rows, setting, _ in self._groups(reaching):
            result[np.ix_(rows, setting.rest)] = self._centre(reaching[rows], setting)
        return with_shown(result, evidence, self.shown)

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n) from ``X | do(X_S = e_S)``; column k of the uniforms (D, n) moves feature k."""
        evidence = self.natural.numbers(evidence)
        reaching = without(evidence, self.shown)
        parts = (
            (rows, setting.rest, self._centre(reaching[rows], setting), factor, 1.0)
            for rows, setting, factor in self._groups(reaching)
        )
        return with_shown(drawn_around(reaching, uniforms, parts), evidence, self.shown)

    def _groups(self, evidence: np.ndarray) -> Iterator[tuple[np.ndarray, Setting, np.ndarray]]:
        for members, rows in patterns(evidence):
            key = np.packbits(members).tobytes()
            if key not in self._settings:
                setting = self.rule.setting(members)
                self._settings[key] = setting, setting.factor()
            yield rows, *self._settings[key]

    @staticmethod
    def _centre(evidence: np.ndarray, setting: Setting) -> np.ndarray:
        return setting.offset + rowwise_product(evidence[:, setting.known], setting.gain.T)
