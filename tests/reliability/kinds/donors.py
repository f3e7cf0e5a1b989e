"""Donors: ``nu(S) = sum_k w_k M(x_S, donor_k)``. The weights and what is lent are taken from ``weighted``, held to what
they must be, and the draws of the explainer to the sum over all donors."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv import AsymmetricExplainer, ConditionalTable
from tests.reliability.kinds.asking import ALSO, Question, ask
from tests.reliability.kinds.causality import FORMS, known_causes
from tests.reliability.kinds.contract import Kind

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 1),
    "rows": (25, 60),
    "columns": ("numbers", "mixed", "gaps", "constant"),
    "adjust": (False, True),
    "causes": FORMS,
    "also": ALSO,
}
CITIES = np.array(["Aachen", "Bonn", "Cologne"], dtype=object)


def _table(case: SimpleNamespace, rng: np.random.Generator) -> pd.DataFrame:
    values = rng.normal(size=(case.rows, case.n)) @ rng.normal(size=(case.n, case.n))
    table = pd.DataFrame(values, columns=[f"x{k}" for k in range(case.n)])
    if case.columns == "mixed":
        table["x0"] = CITIES[np.clip(np.floor(values[:, 0] + 1.5), 0, 2).astype(int)]
        table["x0"] = table["x0"].astype("category").cat.set_categories(list(CITIES))
    elif case.columns == "constant":
        table["x0"] = 2.5
    elif case.columns == "gaps":
        table.loc[rng.random(case.rows) < 0.3, "x0"] = np.nan
    return table


def _numbers(X: pd.DataFrame) -> np.ndarray:
    """Categories by their place, gaps as -3."""
    columns = [
        X[name].cat.codes if isinstance(X[name].dtype, pd.CategoricalDtype) else X[name].fillna(-3.0) for name in X
    ]
    return np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 5])
    table = _table(case, rng)
    names = list(table.columns)
    background = ConditionalTable(table, adjust=case.adjust, n_trees=8, seed=case.seed % 97)
    slopes = rng.normal(size=case.n)
    X = table.iloc[rng.integers(case.rows, size=2)].reset_index(drop=True)
    coded, held = background.codec.read(X), background.rows
    causes = known_causes(case.causes, names, rng)

    def model(inputs: pd.DataFrame) -> np.ndarray:
        x = _numbers(inputs)
        return x @ slopes + (x.sum(axis=1) > 0)

    def nu(r: int, members: frozenset[int]) -> float:
        inside = np.isin(np.arange(case.n), list(members))
        if inside.all():
            return float(model(X.iloc[[r]])[0])
        rows, weights = background.weighted(np.where(inside, coded[r], np.nan)[None])
        assert weights.min() >= 0
        np.testing.assert_allclose(weights.sum(), 1, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(rows[0][:, inside], np.broadcast_to(coded[r][inside], rows[0][:, inside].shape))
        if (
            not case.adjust or not members
        ):  # donors lend what they have; everyone is as good as another without evidence
            np.testing.assert_array_equal(rows[0][:, ~inside], held[:, ~inside])
        if not members:
            np.testing.assert_allclose(weights[0], 1 / len(held), rtol=1e-12)
        return float(weights[0] @ model(background.codec.inputs(rows[0])))

    def explainer(**more: Any) -> AsymmetricExplainer:
        arguments = {"feature_names": names, "n_draws": 8192, "seed": case.seed % 1000, **causes.arguments}
        return AsymmetricExplainer(model, background, **{**arguments, **more})

    scale = max(1.0, float(np.abs(model(table)).max()))
    ask(Question(explainer, X, names, causes, nu, 1e-9 * scale, 0.02 * scale), case.also)


DONORS = Kind(
    "donors",
    1,
    CHOICES,
    check,
    "a table of 25 or 60 rows (numbers, a category, gaps, a constant) as donors, adjusted or not, causes as above; the "
    "sum over all donors by their weights, which must be a distribution and lend what the table has. Draws within 2% "
    "of the scale, and to 1e-9 where the sum itself is taken.",
)
