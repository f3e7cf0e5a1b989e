"""The other way round: our distributions for shap's own explainers.

shap's Exact, Permutation and Partition explainers ask a *masker* what the model should see when only some features are
known. Theirs fill in background rows whatever is known; :class:`ConditionalMasker` draws the rest from ``X | x_S`` of
any background with ``draws``, so that the same explainers compute conditional Shapley values.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from shap.maskers import Masker

from shap_asv.arguments import check_count, generator_of
from shap_asv.backgrounds.contract import DRAWS, FiniteStates, StandsForValues
from shap_asv.errors import ArgumentError, MethodNotApplicableError, RowsError
from shap_asv.strata import sobol_uniforms


class ConditionalMasker(Masker):
    """A ``shap.maskers.Masker`` that conditions on the features that are not masked.

    Parameters
    ----------
    background
        Anything with ``draws(evidence, uniforms)`` that conditions on any coalition: a Gaussian, a copula, donors, a
        mixture, a discrete network, the ``background()`` of a fitted one.
    n_draws : int
        Rows per coalition; the same uniform numbers (a scrambled Sobol set) for all coalitions and rows.
    seed : int
    clustering : array (n - 1, 4), optional
        A linkage matrix for the Partition explainer, such as ``shap.utils.hclust(rows, metric="correlation")``.

    Notes
    -----
    shap hands rows over as plain arrays, whatever the table was. A model that needs its DataFrame back (names, dtypes,
    categories) is wrapped: ``shap.ExactExplainer(masker.predictor(model.predict), masker)``.

    Examples
    --------
    >>> import shap
    >>> from shap_asv.backgrounds.gaussian.model import GaussianModel
    >>> masker = ConditionalMasker(GaussianModel([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]), n_draws=512)
    >>> explainer = shap.ExactExplainer(lambda rows: rows[:, 0], masker)
    >>> explainer(np.array([[1.0, 1.0]])).values.round(2).tolist()  # the second feature tells about the first
    [[0.75, 0.25]]
    """

    immutable_outputs = True
    supports_delta_masking = False
    fixed_background = True

    def __init__(
        self, background: Any, n_draws: int = 256, seed: int = 0, clustering: np.ndarray | None = None
    ) -> None:
        if DRAWS.obstacle(background) is not None:
            raise MethodNotApplicableError(
                f"{type(background).__name__} has no draws; give a background that can be drawn from (GaussianModel, "
                "ConditionalTable, DiscreteBackground, ...)"
            )
        if background.conditions_on != "any":
            raise MethodNotApplicableError(
                f"{type(background).__name__} can condition on {background.conditions_on} sets only, and shap's "
                "explainers ask for all of them; use a Gaussian, donors or a network"
            )
        n_draws = check_count(n_draws, "n_draws", "a number of draws")
        self.background = background
        self.n_draws = n_draws
        self.shape = (n_draws, len(background.features))
        self.feature_names = list(background.features)
        self._uniforms = sobol_uniforms(generator_of(seed), background.n_uniforms, n_draws, n_groups=1).T
        self.clustering = None if clustering is None else np.asarray(clustering)
        if self.clustering is not None and self.clustering.shape != (self.shape[1] - 1, 4):
            raise ArgumentError(
                f"a linkage matrix of {self.shape[1]} features has shape {(self.shape[1] - 1, 4)}, not "
                f"{self.clustering.shape}"
            )

    def __call__(self, mask: np.ndarray | bool, x: np.ndarray) -> tuple[np.ndarray]:
        """Rows (n_draws, n) as the model sees them, for one row x (n,) and a mask bool (n,) of what is known."""
        members = np.asarray(self._standardize_mask(mask, x), dtype=bool)
        x = np.asarray(x)
        if x.shape != (self.shape[1],) or members.shape != x.shape:
            raise RowsError(
                f"a row of shape {x.shape} and a mask of shape {members.shape} do not fit {self.shape[1]} features "
                f"({', '.join(self.feature_names)})"
            )
        if members.all():
            return (np.repeat(x[None], self.n_draws, axis=0),)
        row = self._read(x[None])
        evidence = np.where(members, row, self.background.free).astype(row.dtype)
        rows = self._as_array(self.background.draws(evidence, self._uniforms)[0])
        rows[:, members] = x[members]  # what is known stays as it was handed over, to the last bit
        return (rows,)

    def predictor(self, predict: Callable[[Any], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        """``predict`` on arrays: rows become again the table, with the dtypes, that the background was fitted to."""
        if isinstance(self.background, StandsForValues) and self.background.values is not None:
            return lambda rows: predict(self.background.as_given(np.asarray(rows))[0])
        if isinstance(self.background, FiniteStates):
            return predict
        return lambda rows: predict(self.background.inputs(self._read(np.asarray(rows))))

    def _read(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.background.read(rows))

    def _as_array(self, rows: np.ndarray) -> np.ndarray:
        # a network hands its rows to models as codes; to shap they are the states
        states = isinstance(self.background, FiniteStates)
        return np.array(self.background.labels(rows) if states else self.background.inputs(rows))
