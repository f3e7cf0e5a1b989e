"""SHAP and ASV side by side, in matplotlib: where credit moves from effects to causes.

Every plot takes ``shap.Explanation`` objects of the same rows and features, looks like shap's own, takes ``show=`` and
``ax=`` and returns its axes. matplotlib is imported when a plot is drawn, not before.
"""

from shap_asv.plots.causal_graph import causal_graph
from shap_asv.plots.comparisons import comparison, comparison_beeswarm, comparison_waterfall
from shap_asv.plots.forecasts import by_lag, forecast, lag_heatmap
from shap_asv.plots.sensitivity import sensitivity

__all__ = [
    "by_lag",
    "causal_graph",
    "comparison",
    "comparison_beeswarm",
    "comparison_waterfall",
    "forecast",
    "lag_heatmap",
    "sensitivity",
]
