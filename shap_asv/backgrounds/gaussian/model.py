"""The background of jointly Gaussian features: every coalition can be conditioned on, in closed form.

``X_rest | x_S`` is Gaussian again; its mean is linear in ``x_S`` and its covariance does not depend on the values
(:mod:`shap_asv.backgrounds.gaussian.algebra`). So each coalition is factorised once, however many rows are explained.
Linear models need the mean alone and are exact; other models get draws, with the same uniform numbers for every
coalition and row.

Latent nodes need no treatment: dropping the rows and columns of a covariance *is* integrating them out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.arguments import check_list
from shap_asv.backgrounds.gaussian.algebra import (
    SLACK,
    Conditioned,
    checked_moments,
    condition,
    regression_slopes,
    semidefinite_cholesky,
)
from shap_asv.backgrounds.interventions import ShowingNumbers, with_shown, without
from shap_asv.backgrounds.matrix import numbered_features
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.pgmpy_networks import LinearGaussianNetwork, is_linear_gaussian, read_linear_gaussian
from shap_asv.backgrounds.tables.border import (
    TableBorder,
    checked_evidence,
    checked_uniforms,
    patterns,
    rowwise_product,
)
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.costs import Cost
from shap_asv.errors import (
    ImpossibleEvidenceError,
    NetworkError,
    RowsError,
    TableError,
)


class GaussianBorder(TableBorder):
    """Rows of numbers, all of which are known."""

    def check(self, rows: np.ndarray) -> None:
        """Raise where a row is not a row of finite numbers."""
        self._refuse_missing(rows)

    def drawing_cost(self, n_coalitions: int, n_rows: int, n_draws: int, ancestral: bool) -> Cost:
        """A covariance is taken apart for each coalition, and means for each row."""
        n_means, n = n_coalitions * n_rows, self.n_features
        operations = {"draw": n_means * n_draws, "mean": n_means + 100 * n_coalitions}
        return Cost({**operations, "mean x feature^3": n_coalitions * n**3})

    def numbers(self, evidence: np.ndarray) -> np.ndarray:
        """Evidence (E, n) of finite numbers, NaN where free."""
        evidence = checked_evidence(evidence, self.n_features)
        self._refuse_missing(evidence)
        return evidence

    def _refuse_missing(self, rows: np.ndarray) -> None:
        bad = np.argwhere(np.isinf(rows))
        if len(bad):
            r, k = bad[0]
            raise RowsError(f"row {r} has no value for {self.features[k]!r}, and a Gaussian needs one; fill it in")


class GaussianModel(GaussianBorder):
    """Features with a joint Gaussian distribution.

    Parameters
    ----------
    mean : array (m,) or Series
    covariance : array (m, m) or DataFrame
        Symmetric and positive semidefinite. It may be singular: a row that it rules out (another value of a constant,
        columns that do not add up as they must) is an :class:`~shap_asv.errors.ImpossibleEvidenceError`.
    names : sequence of str, optional
        Names of the m variables; those of a Series or DataFrame, or "Feature 0", ... by default.

    Examples
    --------
    >>> background = GaussianModel([0.0, 1.0], [[1.0, 0.5], [0.5, 1.0]], ["a", "b"])
    >>> background.means(np.array([[np.nan, np.nan], [2.0, np.nan]])).tolist()
    [[0.0, 1.0], [2.0, 2.0]]
    >>> background.draws(np.array([[2.0, np.nan]]), np.array([[0.5, 0.5], [0.5, 0.975]])).round(3).tolist()
    [[[2.0, 2.0], [2.0, 3.697]]]
    """

    #: Whether the features were cut loose from one another.
    loose: bool = False

    def __init__(
        self,
        mean: Any,
        covariance: Any,
        names: Sequence[str] | None = None,
    ) -> None:
        import pandas as pd

        known = _names_of(mean, covariance, names)
        self.names: tuple[str, ...] = known or tuple(numbered_features(np.size(mean)))
        self.mean, self.covariance, self.scale = checked_moments(mean, covariance, self.names)
        row = np.zeros((1, len(self.names)))  # a DataFrame where somebody has named the variables
        self.codec = TableCodec.learn(row if known is None else pd.DataFrame(row, columns=list(known)))
        self.correlation = self.covariance / np.outer(self.scale, self.scale)
        self._conditioned: dict[bytes, Conditioned] = {}
        self._graph: nx.DiGraph | None = None
        self.network: LinearGaussianNetwork | None = None

    # --- ways to make one -----------------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any) -> "GaussianModel":
        """The Gaussian of a table of numbers (:class:`~shap_asv.CopulaModel`: with marginals of its own). O(r n^2).

        Parameters
        ----------
        data : DataFrame or array (r, n)
            Numbers without gaps; categories and missing values are refused, with the name of what takes them.
        """
        codec, rows = read_numbers(data)
        covariance = np.cov(rows.T, ddof=1).reshape(rows.shape[1], -1)
        model = cls(rows.mean(axis=0), covariance, codec.names)
        model.codec = codec
        return model

    @classmethod
    def from_network(cls, network: Any) -> "GaussianModel":
        """pgmpy's ``LinearGaussianBayesianNetwork``; nodes that it calls latent are latent."""
        plain = read_linear_gaussian(network)
        nothing_set = network_setting(plain, plain.names, np.zeros(len(plain.names), dtype=bool))
        model = cls(nothing_set.offset, nothing_set.covariance, plain.names)
        model.network = plain
        model._graph = nx.DiGraph()
        model._graph.add_nodes_from(plain.names)
        model._graph.add_edges_from((str(cause), str(effect)) for cause, effect in network.edges())
        return model.only([name for name in plain.names if name not in plain.latent])

    def _keep(self, kept: list[int]) -> None:
        self.mean, self.covariance = self.mean[kept], self.covariance[np.ix_(kept, kept)]
        self.scale, self.correlation = self.scale[kept], self.correlation[np.ix_(kept, kept)]
        self._conditioned = {}

    # --- what it is -----------------------------------------------------------------------------------------

    @property
    def latent(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in set(self.features))

    @property
    def graph(self) -> nx.DiGraph | None:
        return self._graph

    def describe(self) -> str:
        hidden = f", {len(self.latent)} latent" if self.latent else ""
        return f"Gaussian, {self.n_features} features{hidden}{', cut loose from one another' if self.loose else ''}"

    def check(self, rows: np.ndarray) -> None:
        """Raise where a row is not a row of finite numbers, or contradicts a singular covariance."""
        super().check(rows)
        rows, given = np.asarray(rows, dtype=float), self._condition(np.ones(self.n_features, dtype=bool))
        if not len(rows) or not given.constant.shape[1]:
            return
        z = self._standardised(rows, given)
        moved = np.abs(z @ given.constant)
        bad = (moved > SLACK * np.maximum(1.0, np.abs(z).max(axis=1))[:, None]).any(axis=1)
        if bad.any():
            r = int(np.flatnonzero(bad)[0])
            involved = given.known[np.abs(given.constant[:, int(moved[r].argmax())]) > 0.01]
            values = ", ".join(f"{self.features[k]}={rows[r, k]:g}" for k in involved)
            raise ImpossibleEvidenceError(
                f"row {r} contradicts the covariance, which is singular: {values} cannot occur together with the fixed "
                "relation between these features (a constant, or columns that determine one another). Correct the "
                "row, leave a column out, or give the covariance some variance there"
            )

    # --- interventions --------------------------------------------------------------------------------------

    def intervened(self) -> "GaussianInterventions | None":
        """The features under ``do(X_S = e_S)``, where a network says what that does; else None."""
        if self.network is None:
            return None
        return GaussianInterventions(self, partial(network_setting, self.network, self.features))

    def intervened_by_levels(
        self, levels: Sequence[Sequence[int]], confounded: Sequence[int]
    ) -> "GaussianInterventions":
        """The features under ``do(X_S = e_S)``, level by level, causes first."""
        return GaussianInterventions(self, partial(levels_setting, self, levels, frozenset(confounded)))

    def cut_loose(self) -> "GaussianModel":
        """The features with their own means and variances, independent of one another."""
        model = copy(self)
        variances = np.diag(self.covariance)
        model.covariance, model.correlation = np.diag(variances), np.diag((variances > 0).astype(float))
        model._conditioned, model.network, model.loose = {}, None, True
        return model

    # --- conditioning ---------------------------------------------------------------------------------------

    def means(self, evidence: np.ndarray) -> np.ndarray:
        """``E[X | e_S]`` float (E, n); the entries of S are the evidence. O(n^3) per coalition, O(n^2) per row."""
        evidence = self.numbers(evidence)
        result = evidence.copy()
        for rows, given in self._groups(evidence):
            result[np.ix_(rows, given.rest)] = self._rest_means(evidence[rows], given)
        return result

    def mean_slopes(self, coalitions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """``E[X @ weights | x_S] = mean @ weights + (x - mean) @ slopes_S``: bool (m, n), (n, k) -> (m, n, k)."""
        scale = self.scale[:, None]
        return regression_slopes(self.correlation, coalitions, scale * weights) / scale

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n) from ``X | e_S``: conditional mean plus Cholesky factor times normal quantiles.

        Parameters
        ----------
        evidence : float (E, n), NaN where free
        uniforms : float (D, n) in [0, 1); column k moves feature k, in every coalition.
        """
        evidence = self.numbers(evidence)
        parts = (
            (rows, given.rest, self._rest_means(evidence[rows], given), given.factor, self.scale[given.rest])
            for rows, given in self._groups(evidence)
        )
        return drawn_around(evidence, uniforms, parts)

    # --- the machinery --------------------------------------------------------------------------------------

    def _groups(self, evidence: np.ndarray) -> Iterator[tuple[np.ndarray, Conditioned]]:
        for members, rows in patterns(evidence):
            yield rows, self._condition(members)

    def _condition(self, members: np.ndarray) -> Conditioned:
        key = np.packbits(members).tobytes()
        if key not in self._conditioned:
            self._conditioned[key] = condition(self.correlation, members)
        return self._conditioned[key]

    def _standardised(self, evidence: np.ndarray, given: Conditioned) -> np.ndarray:
        return (evidence[:, given.known] - self.mean[given.known]) / self.scale[given.known]

    def _rest_means(self, evidence: np.ndarray, given: Conditioned) -> np.ndarray:
        shift = rowwise_product(self._standardised(evidence, given), given.gain.T)
        return self.mean[given.rest] + self.scale[given.rest] * shift


def drawn_around(evidence: np.ndarray, uniforms: np.ndarray, parts: Iterable[tuple[Any, ...]]) -> np.ndarray:
    """Evidence (E, n) -> rows (E, D, n): free features are their means plus the factor of a covariance times normal
    quantiles of the uniforms (D, n).

    ``parts``: rows of the evidence, the features that are free in them, means (rows, b), factor (b, b), scale (b,).
    """
    from scipy.special import ndtri

    uniforms = checked_uniforms(uniforms, evidence.shape[1])
    normals = ndtri(np.clip(uniforms, np.finfo(float).tiny, 1 - 2**-53))
    result = np.repeat(evidence[:, None, :], len(uniforms), axis=1)
    for rows, free, means, factor, scale in parts:
        noise = rowwise_product(normals[:, free], factor.T) * scale
        for k, feature in enumerate(free):
            result[rows, :, feature] = means[:, k, None] + noise[:, k]
    return result


# --- interventions --------------------------------------------------------------------------------------------------
#
#     X_rest | do(X_S = e_S)  ~  N(offset + gain @ e_S, covariance),     numbers that depend on S alone


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


def network_setting(network: LinearGaussianNetwork, features: Sequence[str], members: np.ndarray) -> Setting:
    """``X = intercept + B X + noise`` with the equations of S replaced by constants: columns of ``(I - B_cut)^-1``.

    ``features`` are names of nodes, the others stay latent. O(nodes^3).
    """
    at = np.array([network.names.index(name) for name in features])
    known, rest = np.flatnonzero(members), np.flatnonzero(~members)
    slopes, intercepts, deviations = network.slopes.copy(), network.intercepts.copy(), network.deviations.copy()
    slopes[at[known]], intercepts[at[known]], deviations[at[known]] = 0.0, 0.0, 0.0
    reach = np.linalg.solve(np.eye(len(slopes)) - slopes, np.eye(len(slopes)))
    spread = reach[at[rest]] * deviations
    return Setting(known, rest, reach[at[rest]] @ intercepts, reach[np.ix_(at[rest], at[known])], spread @ spread.T)


def levels_setting(
    model: GaussianModel, levels: Sequence[Sequence[int]], confounded: frozenset[int], members: np.ndarray
) -> Setting:
    """Each level is drawn from the Gaussian given all earlier ones, and given its own members in S unless it is
    ``confounded`` (positions of levels); every step is linear in what came before. O(n^3) per level.
    """
    mean, scale = model.mean, model.scale
    n = len(mean)
    known, rest = np.flatnonzero(members), np.flatnonzero(~members)
    # every standardised feature as offset + gain @ e_known + noise @ (independent normal variables)
    offset, gain, noise = np.zeros(n), np.zeros((n, len(known))), np.zeros((n, n))
    gain[known, np.arange(len(known))] = 1.0 / scale[known]
    offset[known] = -mean[known] / scale[known]
    earlier: list[int] = []
    for number, level in enumerate(levels):
        free = [v for v in level if not members[v]]
        held = [] if number in confounded else [v for v in level if members[v]]
        given = earlier + held
        block = [*given, *free]
        found = condition(model.correlation[np.ix_(block, block)], np.arange(len(block)) < len(given))
        offset[free] = found.gain @ offset[given]
        gain[free] = found.gain @ gain[given]
        noise[free] = found.gain @ noise[given]
        noise[np.ix_(free, free)] += found.factor
        earlier += level
    spread = scale[rest][:, None] * noise[rest]
    centre = mean[rest] + scale[rest] * offset[rest]
    return Setting(known, rest, centre, scale[rest][:, None] * gain[rest], spread @ spread.T)


@dataclass(frozen=True, eq=False)
class GaussianInterventions(ShowingNumbers):
    """Jointly Gaussian features under interventions: means in closed form, and draws.

    ``rule`` maps the features bool (n,) that are set to what it does: :func:`network_setting` where a linear Gaussian
    network says so, :func:`levels_setting` where levels of features do.

    Examples
    --------
    >>> from shap_asv import GaussianModel
    >>> model = GaussianModel([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], ["cause", "effect"])
    >>> by_levels = model.intervened_by_levels([(0,), (1,)], [])
    >>> set_effect = np.array([[np.nan, 2.0]])
    >>> model.means(set_effect).tolist(), by_levels.means(set_effect).tolist()
    ([[1.0, 2.0]], [[0.0, 2.0]])
    """

    rule: Callable[[np.ndarray], Setting]
    _settings: dict[bytes, tuple[Setting, np.ndarray]] = field(default_factory=dict, repr=False)

    def check(self, rows: np.ndarray) -> None:
        """Any row of finite numbers can be set, whether it contradicts the covariance or not."""
        GaussianBorder.check(self.natural, rows)

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
                setting = self.rule(members)
                self._settings[key] = setting, setting.factor()
            yield rows, *self._settings[key]

    @staticmethod
    def _centre(evidence: np.ndarray, setting: Setting) -> np.ndarray:
        return setting.offset + rowwise_product(evidence[:, setting.known], setting.gain.T)


# --- what users hand over -------------------------------------------------------------------------------------------


def read_numbers(data: Any) -> tuple[TableCodec, np.ndarray]:
    """The codec and the rows of a table that has numbers only, at least two rows and no gaps."""
    codec = TableCodec.learn(data)
    for name, kind in zip(codec.names, codec.kinds, strict=True):
        if kind.category:
            raise TableError(
                f"column {name!r} holds categories; a Gaussian is about numbers. Use ConditionalTable, or drop it"
            )
        if kind.missing:
            raise TableError(
                f"column {name!r} has missing values; a Gaussian needs complete rows. Impute, or use ConditionalTable"
            )
    rows = codec.read(data)
    if len(rows) < 2:
        raise TableError(f"a covariance needs at least two rows, not {len(rows)}")
    return codec, rows


def _names_of(mean: Any, covariance: Any, names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is not None:
        known = tuple(map(str, check_list(names, "names", "the names of the variables")))
        if len(known) != np.size(mean):
            raise TableError(f"{np.size(mean)} variables need as many names, not {len(known)}: {', '.join(known)}")
    else:
        index = getattr(mean, "index", None)
        index = getattr(covariance, "columns", None) if index is None or callable(index) else index
        if index is None:
            return None
        known = tuple(map(str, index))
        columns = getattr(covariance, "columns", None)
        if columns is not None and tuple(map(str, columns)) != known:
            raise TableError(
                f"the mean is about {', '.join(known)}, the covariance about {', '.join(map(str, columns))}; give "
                "both in one order"
            )
    if len(set(known)) < len(known):
        raise TableError(f"a name occurs more than once among {', '.join(known)}")
    return known


def is_gaussian(thing: Any) -> bool:
    """One of ours, pgmpy's linear Gaussian network, or shap's ``(mean, covariance)``."""
    return isinstance(thing, (GaussianModel, tuple)) or is_linear_gaussian(thing)


def read_gaussian(given: Any, masker: Any) -> NamedDistribution:
    if isinstance(given, tuple):
        if len(given) != 2 or np.ndim(given[0]) != 1 or np.ndim(given[1]) != 2:
            raise NetworkError(
                f"a tuple of {len(given)} is not a background; shap's spelling is (mean, covariance), a vector and a "
                "matrix"
            )
        model = GaussianModel(*given)
    else:
        model = given if isinstance(given, GaussianModel) else GaussianModel.from_network(given)
    unnamed = model.names == tuple(numbered_features(len(model.names)))
    build = partial(_renamed, model) if unnamed else model.only
    words = ("a variable of the Gaussian", "its variables are")
    return NamedDistribution(model.features, build, words, given, model.features, renamable=unnamed)


def _renamed(model: GaussianModel, features: Sequence[str]) -> GaussianModel:
    """Variables without names, called as the features are."""
    if set(features) <= set(model.features):
        return model.only(features)
    return GaussianModel(model.mean, model.covariance, tuple(features))
