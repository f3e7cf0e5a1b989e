"""Stacked bars of direct and indirect effects."""

import matplotlib
import numpy as np
import pytest
import shap

from shap_asv import plots
from shap_asv.errors import ExplanationError

matplotlib.use("Agg")
NAMES = ["smoker", "tar", "xray"]


def explanation(values, names=NAMES):
    values = np.atleast_2d(values)
    data = np.arange(values.size, dtype=float).reshape(values.shape)
    return shap.Explanation(values, np.full(len(values), 0.3), data, feature_names=list(names))


DIRECT, INDIRECT = [0.1, -0.4, 0.2], [0.3, -0.2, -0.5]


def spans(ax):
    return [(round(float(bar.get_x()), 6), round(float(bar.get_x() + bar.get_width()), 6)) for bar in ax.patches]


def test_parts_of_one_sign_are_stacked_and_others_stand_on_either_side():
    ax = plots.effects((explanation(DIRECT), explanation(INDIRECT)), show=False)
    assert spans(ax)[:3] == [(0.0, 0.1), (0.0, -0.4), (0.0, 0.2)]
    assert spans(ax)[3:] == [(0.1, 0.4), (-0.4, -0.6), (0.0, -0.5)]
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() > 1.5]
    np.testing.assert_allclose(marks, np.add(DIRECT, INDIRECT))
    written = [text.get_text() for text in ax.texts]
    assert {"+0.400", "\N{MINUS SIGN}0.600", "\N{MINUS SIGN}0.300"} <= set(written)
    assert [text.get_text() for text in ax.get_figure().axes[0].get_legend().get_texts()] == ["direct", "indirect"]


def test_means_over_rows_and_a_causal_order():
    many = explanation([DIRECT, INDIRECT]), explanation([INDIRECT, DIRECT])
    ax = plots.effects(many, row=None, order=[("xray", "tar"), ("tar", "smoker")], show=False)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["xray", "tar", "smoker"]
    means = np.abs([DIRECT, INDIRECT]).mean(axis=0)[::-1]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches][:3], means)


def test_dicts_features_by_name_and_the_rest():
    turned = explanation(INDIRECT[::-1], NAMES[::-1])
    turned.data = turned.data[:, ::-1]
    ax = plots.effects({"indirect": turned, "direct": explanation(DIRECT)}, max_display=2, show=False)
    assert len(ax.patches) == 4
    assert "Sum of 2 other features" in [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize(
    "wrong",
    [
        explanation(DIRECT),
        [explanation(DIRECT)],
        {"direct": explanation(DIRECT)},
        {"direct": explanation(DIRECT), "other": explanation(INDIRECT)},
        None,
        "direct",
    ],
)
def test_what_is_not_two_parts(wrong):
    with pytest.raises(ExplanationError, match="two explanations, direct and indirect"):
        plots.effects(wrong, show=False)


def test_what_an_explainer_gives():
    from shap_asv import AsymmetricExplainer, load_network

    names = ["Smoker", "Cancer", "Xray"]
    explainer = AsymmetricExplainer(
        lambda X: 1.0 * (X["Xray"] == "positive"), load_network("cancer"), feature_names=names, values="causal"
    )
    ax = plots.effects(explainer.effects([["True", "True", "positive"]]), order=explainer.causal_order, show=False)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Smoker = True", "Cancer = True", "Xray = positive"]
