"""Brute-force definitions to test against. Nothing in here imports shap_asv."""
