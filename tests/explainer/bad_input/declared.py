"""What no kind of background takes: made for every row of the table of backgrounds."""

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

from shap_asv import AsymmetricExplainer
from shap_asv.errors import ModelError, RowsError, UnknownFeatureError
from tests.declared import BACKGROUNDS, FEATURES, any_form, example_background, example_table, model_for
from tests.explainer.bad_input.setting import Bad


def number(table):
    """The last column, NaN where something is missing."""
    last = np.asarray(table)[:, -1]
    return np.array([value if isinstance(value, float) else float(value == value) for value in last])


def explain(kind, rows, model=None):
    """An explainer over the kind's example, on ``rows(table)``."""
    options = {"feature_names": list(FEATURES), "seed": 0, "n_draws": 20}
    model = model or model_for(any_form(kind), kind)
    return lambda _: AsymmetricExplainer(model, kind.example(), **options)(rows(example_table(kind, 3)))


def naming(kind, names):
    return lambda _: AsymmetricExplainer(model_for(any_form(kind), kind), kind.example(), feature_names=names)


def gap(table):
    """Nothing where the last feature of the second row was."""
    return table.astype({"x2": object}).where(np.arange(9).reshape(3, 3) != 5, np.nan)


def refusal_of_gaps(kind):
    """The border refuses them; or it takes them, and then it is up to the model."""
    try:
        example_background(kind).read(gap(example_table(kind, 3)))
    except RowsError:
        return Bad(explain(kind, gap, number), RowsError, "'x2'")
    if any_form(kind).kinds:
        refusing = GradientBoostingRegressor(n_estimators=2).fit(example_table(kind, 20), np.arange(20))
        return Bad(explain(kind, gap, refusing), RowsError, "'x2'.* does not take missing values")
    return Bad(explain(kind, gap, number), ModelError, "returned nan")


def entries(kind):
    return {
        "unknown feature": Bad(naming(kind, ["x0", "x1", "x7"]), UnknownFeatureError, "'x7'"),
        "feature twice": Bad(naming(kind, ["x0", "x1", "x0"]), UnknownFeatureError, "'x0'"),
        "column missing": Bad(explain(kind, lambda X: X.drop(columns="x1")), RowsError, r"\bx1\b"),
        "column misspelt": Bad(explain(kind, lambda X: X.rename(columns={"x1": "x_1"})), RowsError, "'x_1' meant"),
        "column too many": Bad(explain(kind, lambda X: X.assign(foo=X["x0"])), RowsError, r"\bfoo\b"),
        "no rows": Bad(explain(kind, lambda X: X[:0]), RowsError, "no rows"),
        "no columns": Bad(explain(kind, lambda X: X[[]]), RowsError, "no columns"),
        "array too narrow": Bad(explain(kind, lambda X: X.to_numpy()[:, :2]), RowsError, r"\b2\b.*\b3\b"),
        "array too wide": Bad(explain(kind, lambda X: X.to_numpy()[:, [0, 1, 2, 0]]), RowsError, r"\b4\b.*\b3\b"),
        "three dimensions": Bad(explain(kind, lambda X: X.to_numpy()[None]), RowsError, "3 dimensions"),
        "a gap": refusal_of_gaps(kind),
    }


DECLARED = {f"{kind.name}: {name}": entry for kind in BACKGROUNDS for name, entry in entries(kind).items()}
