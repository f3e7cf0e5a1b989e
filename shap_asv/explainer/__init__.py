"""shap's interface in front of causal attributions; see :mod:`shap_asv.explainer.asymmetric`."""
