"""Names of features are shown as they are: a dollar sign is not mathematics."""

import numpy as np
import pytest
from matplotlib.text import Text

from shap_asv import plots
from shap_asv.discovery.checks import GraphCheck, TestedPair
from shap_asv.sensitivity import Sensitivity
from tests.plots.looking import two_explanations

FEATURES = ["$a_b^c$", "$"]
RUN = plots.Convergence([10, 20], np.ones((2, 2)) * [1, 2], np.ones((2, 2)), FEATURES)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.comparison(two_explanations(FEATURES), show=False),
        lambda: plots.comparison_waterfall(two_explanations(FEATURES), show=False)[0],
        lambda: plots.comparison_beeswarm(two_explanations(FEATURES, rows=5), show=False)[0],
        lambda: plots.causal_graph(two_explanations(FEATURES), [("$a_b^c$", "$hidden$")], show=False)[0],
        lambda: plots.convergence(RUN, show=False),
        lambda: plots.sensitivity(Sensitivity([[[1.0, 2.0]]], FEATURES), show=False),
        lambda: plots.graph_check(GraphCheck((TestedPair(*FEATURES, (), 0.5, 0.5),), (), (), 0.05, 100), show=False),
    ],
    ids=[
        "comparison",
        "comparison_waterfall",
        "comparison_beeswarm",
        "causal_graph",
        "convergence",
        "sensitivity",
        "graph_check",
    ],
)
def test_a_dollar_sign_is_no_mathematics(draw):
    figure = draw().figure
    figure.draw_without_rendering()
    named = [text for text in figure.findobj(Text) if text.get_text().startswith(("$a_b", "$hid"))]
    assert named
    assert not any(text.get_parse_math() for text in named)
