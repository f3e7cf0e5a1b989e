"""What holds of every plot: names are shown as they are, it draws into the axes of the caller, and shows when asked."""

import ast
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

from shap_asv import plots
from shap_asv.sensitivity import Sensitivity
from tests.plots.looking import two_explanations

FEATURES = ["$a_b^c$", "$"]
PAIR = two_explanations(FEATURES, rows=5)
MOMENTS = {"$a_b^c$": ("$a_b^c$", -2), "$": ("$", -1)}
DOLLARS = {"$a_b^c$": PAIR["SHAP"], "$": PAIR["ASV"]}
#: The plot, with options -> its axes, one or several; and how many there are.
DRAW = {
    "comparison": (lambda **more: plots.comparison(PAIR, **more), 1),
    "comparison_waterfall": (lambda **more: plots.comparison_waterfall(PAIR, **more), 2),
    "comparison_beeswarm": (lambda **more: plots.comparison_beeswarm(PAIR, **more), 2),
    "causal_graph": (lambda **more: plots.causal_graph(PAIR, [("$a_b^c$", "$hidden$")], **more), 2),
    "lag_heatmap": (lambda **more: plots.lag_heatmap(PAIR["SHAP"], MOMENTS, **more), 1),
    "by_lag": (lambda **more: plots.by_lag(DOLLARS, MOMENTS, **more), 1),
    "forecast": (lambda **more: plots.forecast(PAIR, MOMENTS, **more), 2),
    "sensitivity": (lambda **more: plots.sensitivity(Sensitivity([[[1.0, 2.0]]], FEATURES), **more), 1),
}


def test_every_plot_is_here():
    assert set(DRAW) == {name for name in plots.__all__ if name[0].islower()}


@pytest.mark.parametrize("name", DRAW)
def test_a_dollar_sign_is_no_mathematics(name):
    figure = np.ravel(DRAW[name][0](show=False))[0].figure
    figure.draw_without_rendering()
    named = [text for text in figure.findobj(Text) if text.get_text().startswith(("$a_b", "$hid"))]
    assert named
    assert not any(text.get_parse_math() for text in named)


@pytest.mark.parametrize("name", DRAW)
def test_it_draws_where_it_is_told_and_shows_when_asked(name, monkeypatch):
    draw, count = DRAW[name]
    calls = []
    monkeypatch.setattr(plt, "show", lambda *_, **__: calls.append(1))
    figure, given = plt.subplots(1, count + 1, figsize=(12, 5))
    own = given[:count]
    assert list(np.ravel(draw(ax=own if count > 1 else own[0], show=False))) == list(own)
    assert not given[count].has_data()
    assert plt.get_fignums() == [figure.number]
    assert calls == []
    draw(ax=own if count > 1 else own[0])
    assert calls == [1]


def test_no_module_imports_matplotlib_or_shap_when_it_is_imported():
    """Only imports at the top of a module count; those for type checkers stand below an ``if``."""
    for path in Path(plots.__file__).parent.glob("*.py"):
        for statement in ast.parse(path.read_text()).body:
            names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
            names += [statement.module] if isinstance(statement, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"matplotlib", "shap"}, path
