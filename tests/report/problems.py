"""Comparisons with known numbers, made without any explainer."""

import numpy as np
import shap

from shap_asv import CausalOrder, Comparison

FEATURES = ["age", "smoker", "tar", "cough", "x-ray"]
EDGES = [("age", "smoker"), ("smoker", "tar"), ("tar", "cough"), ("tar", "x-ray")]
STATES = {"smoker": ["no", "yes"], "tar": ["low", "some", "high"], "cough": ["no", "yes"], "x-ray": ["clear", "shadow"]}
OUTPUTS = ["ill", "well"]


def random_comparison(n_rows=40, n_outputs=2, methods=("SHAP", "ASV", "Causal"), sampled=("SHAP",), seed=0):
    """Random values of all methods; base values such that all add up to the same prediction."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [rng.integers(20, 80, n_rows), *(rng.integers(len(s), size=n_rows) for s in STATES.values())]
    )
    labels = codes.astype(object)
    for j, states in enumerate(STATES.values(), start=1):
        labels[:, j] = [states[code] for code in codes[:, j]]
    shape = (n_rows, len(FEATURES)) if n_outputs == 1 else (n_rows, len(FEATURES), n_outputs)
    total = rng.uniform(size=(n_rows, *shape[2:]))
    explanations = {}
    for k, name in enumerate(methods):
        values = rng.normal(scale=0.1, size=shape)
        values -= ((values.sum(axis=1) - total + 0.3) / len(FEATURES))[:, None]
        explanations[name] = shap.Explanation(
            values,
            np.full((n_rows, *shape[2:]), 0.3),
            data=codes.astype(float),
            display_data=labels,
            feature_names=FEATURES,
            output_names=None if n_outputs == 1 else OUTPUTS[:n_outputs],
            error_std=np.full(shape, 0.001 * (k + 1)) if name in sampled else None,
        )
    order = CausalOrder.from_edges(EDGES, features=FEATURES)
    plans = {name: f"Plan of {name} for {n_rows} rows" for name in methods}
    return Comparison(explanations, order, dict.fromkeys(methods, "a made-up distribution"), plans)


def told_comparison(shap_importance, asv_importance, edges=EDGES, names=FEATURES, **more):
    """Two rows whose values are plus and minus the given importances, exact, and both given what is known."""
    signs = np.array([[1.0], [-1.0]])
    explanations = {
        name: shap.Explanation(signs * np.array(importance), np.zeros(2), feature_names=list(names))
        for name, importance in (("SHAP", shap_importance), ("ASV", asv_importance))
    }
    order = CausalOrder.from_edges(edges, features=names)
    return Comparison(explanations, order, **{"conditional": set(explanations), **more})
