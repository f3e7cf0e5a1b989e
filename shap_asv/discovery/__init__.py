"""From data to causal graphs, and back: graphs learned from resamples of a table, and a graph held against a table.

This room learns nothing itself. It calls a learner, counts what comes back, and tests what a graph implies.
"""

from shap_asv.discovery.bootstrap import BootstrapGraphs, bootstrap_graphs
from shap_asv.discovery.checks import GraphCheck, check_graph

__all__ = ["BootstrapGraphs", "GraphCheck", "bootstrap_graphs", "check_graph"]
