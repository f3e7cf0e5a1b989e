"""Every tabular plot of shap takes our explanations, one output and many, and leaves ink on the canvas."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap


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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PLOTS)
def test_single_output(single, name):
    PLOTS[name](single)
    assert ink() > 500


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in PLOTS if name != "beeswarm order"])  # shap: order= of a slice raises
def test_one_of_many_outputs(multi, name):
    PLOTS[name](multi[..., 1])
    assert ink() > 500


@pytest.mark.filterwarnings("ignore")
def test_force_html(single):
    html = shap.plots.force(single[0]).html()
    assert "smoke" in html
    many = shap.force_plot(float(single.base_values[0]), single.values[:10], feature_names=single.feature_names)
    assert "smoke" in many.html()


@pytest.mark.filterwarnings("ignore")
def test_partial_dependence(single):
    codes = single.data

    def of_codes(table):
        return np.asarray(table)[:, 2] * 1.0

    shap.plots.partial_dependence(2, of_codes, codes, feature_names=single.feature_names, ice=False, show=False)
    assert ink() > 500


@pytest.mark.filterwarnings("ignore")
def test_bar_with_clustering(single):
    clustering = shap.utils.hclust(single.data + np.arange(len(single.data))[:, None] * 1e-6, metric="correlation")
    shap.plots.bar(single, clustering=clustering, show=False)
    assert ink() > 500


def test_slices_keep_everything(multi):
    part = multi[3:5, :, 1]
    assert part.values.shape == (2, 7)
    assert part.base_values.shape == (2,)
    assert part.display_data.shape == (2, 7)
    by_name = multi[:, :, "yes"]
    np.testing.assert_array_equal(by_name.values, multi.values[..., multi.output_names.index("yes")])
