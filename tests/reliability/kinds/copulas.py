"""Gaussian copulas: the mean of a sum of one-feature functions needs the conditional distribution of each feature
alone, which an oracle gets by quadrature."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv import AsymmetricExplainer, CopulaModel, GaussianModel
from tests.oracles import copulas
from tests.reliability.kinds.asking import ALSO, Question, ask
from tests.reliability.kinds.causality import FORMS, known_causes
from tests.reliability.kinds.contract import Kind

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 1),
    "rows": (30, 60),
    "margins": ("normal", "skewed", "rounded"),
    "given": ("CopulaModel", "fit"),
    "causes": FORMS,
    "also": ALSO,
}


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 4])
    names = [f"x{k}" for k in range(case.n)]
    values = rng.normal(size=(case.rows, case.n)) @ rng.normal(size=(case.n, case.n))
    if case.margins == "skewed":
        values = np.exp(values / (1 + np.abs(values).max() / 3))
    elif case.margins == "rounded":
        values = np.clip(np.round(values / values.std(axis=0)), -1, 1)  # three values: a third of the rows in each
        values[:2] = [[-1.5] * case.n, [1.5] * case.n]  # no column is constant, and none is all whole numbers
    table = pd.DataFrame(values, columns=names)
    correlation = copulas.correlation_of(values)
    if np.linalg.eigvalsh(correlation)[0] < 1e-6:
        return  # many ties: no correlation matrix, and the nearest one is not part of the definition
    background = CopulaModel(table) if case.given == "CopulaModel" else GaussianModel.fit(table, marginals="empirical")
    slopes = rng.normal(size=case.n)
    rows = values[rng.integers(case.rows, size=2)] + rng.normal(0, 0.1, (2, case.n))
    causes = known_causes(case.causes, names, rng)

    def model(X: Any) -> np.ndarray:
        return np.asarray(X, dtype=float) @ slopes

    def nu(r: int, members: frozenset[int]) -> float:
        return float(copulas.means(values, correlation, rows[r], sorted(members)) @ slopes)

    def explainer(**more: Any) -> AsymmetricExplainer:
        arguments = {"feature_names": names, "n_draws": 4096, "seed": case.seed % 1000, **causes.arguments}
        return AsymmetricExplainer(model, background, **{**arguments, **more})

    scale = max(1.0, float(np.abs(values @ slopes).max()), float(np.abs(rows @ slopes).max()))
    X = pd.DataFrame(rows, columns=names)
    ask(Question(explainer, X, names, causes, nu, 1e-9 * scale, 0.005 * scale), case.also)


COPULAS = Kind(
    "copulas",
    1,
    CHOICES,
    check,
    "a Gaussian copula of a table with normal, skewed or tied columns, of up to 4 features, and causes as above; the "
    "oracle has the scores, their correlation and one quadrature for each feature. Draws within 0.5% of the scale.",
)
