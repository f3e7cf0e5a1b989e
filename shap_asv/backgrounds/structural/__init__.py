"""Structural models: any distribution that can be simulated forwards along a DAG.

Over the topological orders of a DAG, ASV asks only for ancestral sets S, and there ``X | e_S`` is forward simulation
with S clamped: no density, no inference, no Gaussian assumption, for numbers, counts and categories alike.
"""

from shap_asv.backgrounds.structural.model import StructuralModel

__all__ = ["StructuralModel"]
