"""Every plot of shap on explanations of tables, whatever the background: numbers stay numbers, categories get codes and
labels.
"""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.ensemble import HistGradientBoostingRegressor

from shap_asv import (
    AsymmetricExplainer,
    ConditionalTable,
    CopulaModel,
    GaussianModel,
    StructuralModel,
    fit_network,
)

pytestmark = pytest.mark.filterwarnings("ignore")
DAG = [("age", "job"), ("age", "pay"), ("job", "pay")]
LABELS = ["field", "office", "school"]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@cache
def people():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 70, 160)
    job = np.array(LABELS)[np.minimum(2, (rng.random(160) * 2 + age / 60).astype(int))]
    pay = 20.5 + 9 * (job == "office") + 0.3 * age + rng.normal(0, 4, 160)
    pay[::20] = np.nan
    return pd.DataFrame({"age": age, "job": pd.Categorical(job), "pay": pay})


@cache
def fitted(numbers_only):
    table = numbers() if numbers_only else people()
    y = table["pay"].fillna(5) * (1 if numbers_only else 1 + (table["job"] == "office")) + table["age"]
    return HistGradientBoostingRegressor(max_iter=8, categorical_features="from_dtype", random_state=0).fit(table, y)


def numbers():
    table = people()
    return table.assign(job=table["job"].cat.codes.astype(float), pay=table["pay"].fillna(20.0))


BACKGROUNDS = {
    "structural": lambda: StructuralModel.fit(people(), DAG, "forest", seed=0, silent=True),
    "donors": lambda: ConditionalTable(people()),
    "fitted network": lambda: fit_network(people(), DAG, bins=fitted(False)),
    "coarse network": lambda: fit_network(people(), DAG, bins=3),
    "background rows": lambda: people().iloc[:30],
    "Gaussian": lambda: GaussianModel.fit(numbers()),
    "copula": lambda: CopulaModel(numbers()),
    "covers": lambda: None,
}
#: Backgrounds over numbers alone.
NUMBERS = ("Gaussian", "copula")


@cache
def explained(background):
    table = numbers() if background in NUMBERS else people()
    explainer = AsymmetricExplainer(
        fitted(background in NUMBERS), BACKGROUNDS[background](), DAG, n_draws=16, seed=0, silent=True
    )
    return explainer(table.iloc[:40], silent=True)


def ink():
    """Number of pixels on the current figure that are not background."""
    figure = plt.gcf()
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    return int((pixels != pixels[0, 0]).any(axis=-1).sum())


PLOTS = {
    "bar": lambda e: shap.plots.bar(e, show=False),
    "bar of a row": lambda e: shap.plots.bar(e[0], show=False),
    "beeswarm": lambda e: shap.plots.beeswarm(e, show=False),
    "waterfall": lambda e: shap.plots.waterfall(e[0], show=False),
    "scatter of numbers": lambda e: shap.plots.scatter(e[:, "pay"], color=e[:, "age"], show=False),
    "scatter of categories": lambda e: shap.plots.scatter(e[:, "job"], color=e[:, "pay"], show=False),
    "scatter of integers": lambda e: shap.plots.scatter(e[:, "age"], color=e[:, "job"], show=False),
    "heatmap": lambda e: shap.plots.heatmap(e, show=False),
    "violin": lambda e: shap.plots.violin(e, show=False),
    "decision": lambda e: shap.plots.decision(
        float(e.base_values[0]), e.values, features=e.data, feature_names=e.feature_names, show=False
    ),
    "force": lambda e: shap.plots.force(e[0], matplotlib=True, show=False),
}


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("background", BACKGROUNDS)
def test_plots(background, plot):
    PLOTS[plot](explained(background))
    assert ink() > 500


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_numbers_stay_numbers_and_categories_get_codes_and_labels(background):
    table = (numbers() if background in NUMBERS else people()).iloc[:40]
    explanation = explained(background)
    data = np.asarray(explanation.data)
    assert data.dtype == np.float64
    np.testing.assert_array_equal(data[:, 0], table["age"])
    np.testing.assert_array_equal(data[:, 2], table["pay"])  # gaps are NaN
    if background in NUMBERS:
        np.testing.assert_array_equal(data[:, 1], table["job"])
        return
    np.testing.assert_array_equal(data[:, 1], table["job"].cat.codes)
    assert explanation.display_data[:, 1].tolist() == table["job"].tolist()


@pytest.mark.parametrize("background", [name for name in BACKGROUNDS if name not in NUMBERS])
def test_a_waterfall_names_the_category_and_the_number(background):
    table = people().iloc[:40]
    shap.plots.waterfall(explained(background)[1], show=False)
    texts = [label.get_text() for axes in plt.gcf().axes for label in axes.get_yticklabels()]
    assert any(text.startswith(f"{table['job'].iloc[1]} = ") and "job" in text for text in texts)
    assert any(f"{table['pay'].iloc[1]:.3f}".rstrip("0") in text and "pay" in text for text in texts)
    assert any(text.startswith(f"{table['age'].iloc[1]} = ") and "age" in text for text in texts)
