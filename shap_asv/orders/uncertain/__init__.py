"""Causal graphs that are not certain: edges without a direction, several graphs with weights, neighbours of a graph.

:class:`PartialGraph` stands for the DAGs that agree with it, :class:`GraphMixture` is the mean over several causal
orders, and :func:`read_causal_graphs` makes one or the other of what users have in hand.
"""

from shap_asv.orders.uncertain.formats import read_causal_graphs, read_partial_graph
from shap_asv.orders.uncertain.mixture import GraphMixture
from shap_asv.orders.uncertain.neighbours import Neighbour, neighbours
from shap_asv.orders.uncertain.partial_graph import PartialGraph

__all__ = ["GraphMixture", "Neighbour", "PartialGraph", "neighbours", "read_causal_graphs", "read_partial_graph"]
