"""How far values depend on the graph, as it is drawn: ranges over graphs."""

import numpy as np
import pytest

from shap_asv import plots
from shap_asv.errors import ExplanationError
from shap_asv.sensitivity import Sensitivity
from tests.plots.looking import LONG, assert_neat


def result(features, graphs=8, rows=3, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    centre = scale * rng.normal(size=(rows, len(features)))
    return Sensitivity(centre + 0.3 * scale * rng.normal(size=(graphs, *centre.shape)), features)


def intervals(ax):
    """(low, high, mean) of each interval, top down."""
    bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 7]
    means = [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "mean"]
    return np.column_stack([np.array(bars), means])


@pytest.mark.parametrize("row", [None, 1])
def test_intervals_are_ranges(row):
    features = list("abcdef")
    own = result(features)
    ax = plots.sensitivity(own, row=row, show=False)
    frame = own.to_frame(row).loc[[label.get_text() for label in ax.get_yticklabels()]]
    np.testing.assert_allclose(intervals(ax), frame[["lowest", "highest", "mean"]].to_numpy())
    size = frame[["lowest", "highest"]].abs().max(axis=1).to_numpy()
    assert (np.diff(size) <= 0).all()
    low, high = ax.get_ylim()
    assert low > high, "the first feature belongs on top"


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e7])
def test_ranges_of_any_scale(scale):
    ax = plots.sensitivity(result(LONG, scale=scale), row=0, show=False)
    assert_neat(ax.figure)


def test_signs_are_told():
    own = Sensitivity([[[1.0, 2.0]], [[1.0, 2.0]], [[-0.5, 2.0]]], ["a", "b"])
    ax = plots.sensitivity(own, row=0, show=False)
    assert [text.get_text() for text in ax.texts] == ["+2.00", "+0.50, other sign in 33%"]


def test_no_sensitivity():
    with pytest.raises(ExplanationError, match="draws a Sensitivity, not a list"):
        plots.sensitivity([1, 2], show=False)
    with pytest.raises(ExplanationError, match="there is no row 9"):
        plots.sensitivity(result(list("ab")), row=9, show=False)
    with pytest.raises(ExplanationError, match="max_display"):
        plots.sensitivity(result(list("ab")), max_display=0, show=False)
