"""Every tabular plot of shap takes our explanations, one output and many, and leaves ink on the canvas.

Over tables numbers stay numbers, and categories get codes and labels, whatever the background.
"""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.ensemble import HistGradientBoostingRegressor

from shap_asv import AsymmetricExplainer, ConditionalTable, CopulaModel, GaussianModel, StructuralModel, fit_network

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def single(score_explainer, asia):
    return score_explainer(asia[2][:150])


@pytest.fixture(scope="module")
def multi(explainer, asia):
    return explainer(asia[2][:150])


def ink():
    """Number of pixels on the current figure that are not background."""
    figure = plt.gcf()
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    return int((pixels != pixels[0, 0]).any(axis=-1).sum())


PLOTS = {
    "waterfall": lambda e: shap.plots.waterfall(e[0], show=False),
    "beeswarm": lambda e: shap.plots.beeswarm(e, show=False),
    "beeswarm order": lambda e: shap.plots.beeswarm(e, order=e.abs.max(0), max_display=4, show=False),
    "bar local": lambda e: shap.plots.bar(e[0], show=False),
    "bar global": lambda e: shap.plots.bar(e, show=False),
    "bar cohorts": lambda e: shap.plots.bar(e.cohorts(2), show=False),
    "bar dict": lambda e: shap.plots.bar({"first": e[:70], "second": e[70:]}, show=False),
    "scatter": lambda e: shap.plots.scatter(e[:, "smoke"], show=False),
    "scatter colour": lambda e: shap.plots.scatter(e[:, "smoke"], color=e[:, "lung"], show=False),
    "heatmap": lambda e: shap.plots.heatmap(e, show=False),
    "violin": lambda e: shap.plots.violin(e, show=False),
    "force": lambda e: shap.plots.force(e[0], matplotlib=True, show=False),
    "decision": lambda e: shap.plots.decision(
        float(e.base_values[0]), e.values[:20], feature_names=e.feature_names, show=False
    ),
    "group_difference": lambda e: shap.plots.group_difference(
        e.values, e.data[:, 0] > 0, feature_names=e.feature_names, show=False
    ),
    "monitoring": lambda e: shap.plots.monitoring(0, e.values, e.data, feature_names=e.feature_names, show=False),
    "embedding": lambda e: shap.plots.embedding(0, e.values, feature_names=e.feature_names, show=False),
    "summary_plot": lambda e: shap.summary_plot(e.values, e.data, feature_names=e.feature_names, show=False),
    "dependence_plot": lambda e: shap.dependence_plot(
        2, e.values, e.data, feature_names=e.feature_names, display_features=e.display_data, show=False
    ),
    "bar_plot": lambda e: shap.bar_plot(e.values[0], feature_names=e.feature_names, show=False),
}


@pytest.mark.parametrize("name", PLOTS)
def test_single_output(single, name):
    PLOTS[name](single)
    assert ink() > 500


@pytest.mark.parametrize("name", ["waterfall", "beeswarm", "bar global", "scatter", "heatmap", "decision"])
def test_one_of_many_outputs(multi, name):
    PLOTS[name](multi[..., 1])
    assert ink() > 500


def test_force_html(single):
    html = shap.plots.force(single[0]).html()
    assert "smoke" in html
    many = shap.force_plot(float(single.base_values[0]), single.values[:10], feature_names=single.feature_names)
    assert "smoke" in many.html()


def test_slices_keep_everything(multi):
    part = multi[3:5, :, 1]
    assert part.values.shape == (2, 7)
    assert part.base_values.shape == (2,)
    assert part.display_data.shape == (2, 7)
    by_name = multi[:, :, "yes"]
    np.testing.assert_array_equal(by_name.values, multi.values[..., multi.output_names.index("yes")])


# --- tables, over every background ----------------------------------------------------------------------------------


DAG = [("age", "job"), ("age", "pay"), ("job", "pay")]
LABELS = ["field", "office", "school"]


@cache
def people():
    rng = np.random.default_rng(0)
    age = 2 * rng.integers(9, 35, 160)
    job = np.array(LABELS)[np.minimum(2, (rng.random(160) * 2 + age / 60).astype(int))]
    pay = 0.5 + 2 * np.round((20 + 9 * (job == "office") + 0.3 * age + rng.normal(0, 4, 160)) / 2)
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
    "structural": lambda: StructuralModel.fit(people(), DAG, "own distribution", seed=0, silent=True),
    "donors": lambda: ConditionalTable(people()),
    "network": lambda: fit_network(people(), DAG),
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


SCATTERS = {
    "numbers": lambda e: shap.plots.scatter(e[:, "pay"], color=e[:, "age"], show=False),
    "categories": lambda e: shap.plots.scatter(e[:, "job"], color=e[:, "pay"], show=False),
    "integers": lambda e: shap.plots.scatter(e[:, "age"], color=e[:, "job"], show=False),
}
OF_TABLES = {**SCATTERS, **{name: draw for name, draw in PLOTS.items() if name in ("beeswarm", "waterfall", "heatmap")}}


@pytest.mark.parametrize("plot", OF_TABLES)
@pytest.mark.parametrize("background", ["structural", "network", "background rows", "copula", "covers"])
def test_plots_of_tables(background, plot):
    OF_TABLES[plot](explained(background))
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
