"""Jointly Gaussian features: linear models exactly, squares within the error of draws, by the closed form."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer, GaussianModel
from tests.oracles import gaussians
from tests.reliability.kinds.asking import ALSO, Question, ask
from tests.reliability.kinds.causality import FORMS, known_causes
from tests.reliability.kinds.contract import Kind

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 5, 1),
    "latent": (0, 0, 1, 2),
    "covariance": ("plain", "plain", "nearly singular", "constant column", "independent", "uneven"),
    "given": ("GaussianModel", "mean and covariance", "fitted", "pandas"),
    "model": ("linear", "linear of two outputs", "squares", "squares"),
    "meaning": ("conditional", "conditional", "conditional", "marginal"),
    "causes": FORMS,
    "also": ALSO,
}
DRAWS = 4096


def _moments(case: SimpleNamespace, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    root = rng.normal(size=(m, m + 2))
    if case.covariance == "nearly singular":
        root[-1] = root[0] + 1e-3 * root[-1]
    covariance = root @ root.T / m
    if case.covariance == "independent":
        covariance = np.diag(np.diag(covariance))
    scales = 10.0 ** rng.uniform(-2, 2, m) if case.covariance == "uneven" else np.ones(m)
    if case.covariance == "constant column":
        scales[0] = 0.0
    return rng.normal(size=m) * np.maximum(scales, 0.5), covariance * np.outer(scales, scales)


def _conditional(mean: np.ndarray, covariance: np.ndarray, row: np.ndarray, members: list[int]) -> Any:
    """Moments given members; columns without variance are as good as known."""
    varies = [k for k in range(len(mean)) if covariance[k, k] > 0]
    found_mean, found = mean.copy(), np.zeros_like(covariance)
    if varies:
        at = np.ix_(varies, varies)
        inner = [varies.index(k) for k in members if k in varies]
        found_mean[varies], found[at] = gaussians.conditional(mean[varies], covariance[at], row[varies], inner)
    return found_mean, found


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 2])
    m = case.n + (0 if case.given == "fitted" else case.latent)
    every = [f"x{k}" for k in range(m)]
    mean, covariance = _moments(case, m, rng)
    names = [every[k] for k in rng.permutation(m)[: case.n]]
    kept = [every.index(name) for name in names]
    background: Any
    if case.given == "fitted":
        table = pd.DataFrame(rng.multivariate_normal(mean, covariance, size=40), columns=every)[names]
        constant = [name for name in names if covariance[every.index(name), every.index(name)] == 0]
        table[constant] = mean[0]
        background = GaussianModel.fit(table)
        mean, covariance = table.to_numpy().mean(axis=0), np.cov(table.to_numpy().T).reshape(case.n, case.n)
        covariance[np.abs(covariance) < 1e-20] = 0.0
    elif case.given == "pandas":
        background = GaussianModel(pd.Series(mean, every), pd.DataFrame(covariance, every, every), features=names)
        mean, covariance = mean[kept], covariance[np.ix_(kept, kept)]
    elif case.given == "mean and covariance":
        mean, covariance = mean[kept], covariance[np.ix_(kept, kept)]
        background = (mean, covariance)
    else:
        background = GaussianModel(mean, covariance, every, features=names)
        mean, covariance = mean[kept], covariance[np.ix_(kept, kept)]
    rows = rng.multivariate_normal(mean, covariance, size=3)
    rows[:, np.diag(covariance) == 0] = mean[np.diag(covariance) == 0]
    X = pd.DataFrame(rows, columns=names)
    spread = float(np.sqrt(np.trace(covariance))) + 1.0
    if case.meaning == "marginal":  # everybody else follows a distribution of their own
        covariance = np.diag(np.diag(covariance))
    causes = known_causes(case.causes, names, rng)
    if case.model == "squares":
        curve, slopes = rng.normal(size=(case.n, case.n)) / spread, rng.normal(size=case.n)

        def model(inputs: Any) -> np.ndarray:
            x = np.asarray(inputs, dtype=float)
            return np.einsum("ij,jk,ik->i", x, curve, x) + x @ slopes

        def nu(r: int, members: frozenset[int]) -> float:
            centre, left = _conditional(mean, covariance, rows[r], sorted(members))
            return float(centre @ curve @ centre + np.trace(curve @ left) + slopes @ centre)

        outputs = model(rows)
    else:
        k = 2 if case.model == "linear of two outputs" else 1
        inputs = pd.DataFrame(rng.normal(size=(3 * case.n + 3, case.n)), columns=names)
        slopes = rng.normal(size=(case.n, k))
        target = inputs.to_numpy() @ slopes + 0.7
        model = LinearRegression().fit(inputs, target if k > 1 else target[:, 0])

        def nu(r: int, members: frozenset[int]) -> Any:
            centre, _ = _conditional(mean, covariance, rows[r], sorted(members))
            return model.predict(pd.DataFrame(centre[None], columns=names))[0]

        outputs = model.predict(X)

    def explainer(**more: Any) -> AsymmetricExplainer:
        arguments = {"feature_names": names, "n_draws": DRAWS, "seed": case.seed % 1000, "values": case.meaning}
        arguments |= causes.arguments
        return AsymmetricExplainer(model, background, **{**arguments, **more})

    scale = max(1.0, float(np.abs(outputs).max()), spread)
    condition = 1e4 if case.covariance == "nearly singular" else 10.0
    ask(Question(explainer, X, names, causes, nu, 1e-10 * condition * scale, 0.01 * scale), case.also)


GAUSSIANS = Kind(
    "Gaussians",
    2,
    CHOICES,
    check,
    "up to 5 features of up to 7 jointly Gaussian variables (nearly singular, constant, uneven scales; given, fitted "
    "to a table, or shap's pair of mean and covariance), causes known in one of 9 forms (mixtures of graphs, partly "
    "directed graphs, matrices and weighted orders among them), conditional or marginal values; the closed form by the "
    "precision matrix. Linear models "
    "to 1e-9 of the scale (1e-6 where the covariance is nearly singular), squares by draws within 1%.",
)
