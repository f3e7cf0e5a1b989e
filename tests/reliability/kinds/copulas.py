"""Gaussian copulas: the mean of a sum of one-feature functions needs the conditional distribution of each feature
alone, which an oracle gets by quadrature."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv import CopulaModel
from tests.oracles import copulas
from tests.oracles import gaussian_interventions as oracle
from tests.reliability.kinds.asking import ALSO, Kind, Question, ask, asked
from tests.reliability.kinds.causality import FORMS, known_causes, known_levels

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 1),
    "rows": (30, 60),
    "margins": ("normal", "skewed", "rounded"),
    "given": ("CopulaModel", "fit"),
    "meaning": ("conditional", "conditional", "causal", "marginal"),
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
    background = CopulaModel(table)
    slopes = rng.normal(size=case.n)
    rows = values[rng.integers(case.rows, size=2)] + rng.normal(0, 0.1, (2, case.n))
    causes, levels, confounded = known_causes(case.causes, names, rng), [], []
    if case.meaning == "causal":
        causes, levels, confounded = known_levels(names, rng)
    scores = copulas.scores_of(values, rows)

    def model(X: Any) -> np.ndarray:
        return np.asarray(X, dtype=float) @ slopes

    def nu(r: int, members: frozenset[int]) -> float:
        if case.meaning == "causal":
            fixed = {i: scores[r, i] for i in members}
            centre = oracle.level_means(np.zeros(case.n), correlation, levels, confounded, fixed)
            left = oracle.level_covariance(correlation, levels, confounded, fixed)
            return float(copulas.means_of_scores(values, rows[r], members, centre, left) @ slopes)
        matrix = correlation if case.meaning == "conditional" else np.eye(case.n)
        return float(copulas.means(values, matrix, rows[r], sorted(members)) @ slopes)

    scale = max(1.0, float(np.abs(values @ slopes).max()), float(np.abs(rows @ slopes).max()))
    X = pd.DataFrame(rows, columns=names)
    explainer, by_levels = asked(model, background, causes, names, case, values=case.meaning), case.meaning == "causal"
    also = "groups" if by_levels and case.also == "sensitivity" else case.also
    ask(Question(explainer, X, names, causes, nu, 1e-9 * scale, 0.005 * scale, by_levels=by_levels), also)


COPULAS = Kind(
    "copulas",
    1,
    CHOICES,
    check,
    "a Gaussian copula of a table with normal, skewed or tied columns, of up to 4 features, and causes as above; "
    "conditional, marginal, or causal values by levels, of which none, some or all are confounded; the oracle has the "
    "scores, their mean and covariance and one quadrature for each feature. Draws within 0.5% of the scale.",
)
