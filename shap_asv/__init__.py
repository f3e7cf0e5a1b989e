"""Asymmetric Shapley values: shap explanations that respect a causal graph."""

__version__ = "0.1.0"
