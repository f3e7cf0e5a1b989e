"""Causal order alone: ideals, counts, equivalence classes, uniform topological orders, weights.

Start at :class:`CausalOrder`. Nothing in this room knows about probability of data, models or shap.
"""

from shap_asv.orders.causal_order import CausalOrder

__all__ = ["CausalOrder"]
