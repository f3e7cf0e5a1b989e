"""The plot of scores: the best on top at zero, whiskers of two standard errors, names as they are."""

import numpy as np
import pytest

from shap_asv import plots
from shap_asv.backgrounds.choice.scoring import ScoreTable
from shap_asv.errors import ExplanationError

LOSSES = np.array([[2.0, 4.0, 2.0, 5.0], [1.0, 2.0, 1.0, 3.0], [1.0, 2.5, 1.5, 3.0]])
TABLE = ScoreTable(("wrong", "$right$", "near"), LOSSES)


def test_the_best_is_on_top_and_at_zero():
    ax = plots.scores(TABLE, show=False)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["$right$", "near", "wrong"]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert list(ax.get_yticks()) == [2, 1, 0]
    points = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(points.get_xdata(), [0.0, 0.25, 1.5])
    (segments,) = [bars.get_segments() for bars in ax.collections]
    half = (segments[2][1, 0] - segments[2][0, 0]) / 2
    differences = LOSSES[0] - LOSSES[1]
    assert half == pytest.approx(2 * differences.std(ddof=1) / 2)  # by hand: four rows


def test_too_few():
    with pytest.raises(ExplanationError, match=r"one background \(alone\)"):
        plots.scores(ScoreTable(("alone",), LOSSES[:1]), show=False)
