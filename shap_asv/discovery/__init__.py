"""From data to causal graphs, and back: graphs learned from resamples of a table, and a graph held against a table.

This room learns nothing itself. It calls whoever does, counts what comes back, and tests what a graph implies.
"""

from shap_asv.discovery.bootstrap import BootstrapGraphs, bootstrap_graphs

__all__ = ["BootstrapGraphs", "bootstrap_graphs"]
