"""shap: ``python -m benchmarks.truth.peers.run_shap PROBLEM KIND WAY FILE``."""

from __future__ import annotations

import numpy as np
import shap

from benchmarks.truth.peers.exchange import Explain, serve
from benchmarks.truth.reading import Problem, read_json


def background(problem: Problem) -> shap.maskers.Independent:
    """All training rows."""
    return shap.maskers.Independent(problem.train, len(problem.train))


def linear(problem: Problem, kind: str) -> Explain:
    """``LinearExplainer``: features cut loose, or a Gaussian that is fitted to the table."""
    told = read_json(problem.model_file)
    model = np.array(told["coefficients"]), told["intercept"]
    masker = background(problem) if kind == "marginal" else shap.maskers.Impute(problem.train)
    explainer = shap.LinearExplainer(model, masker)
    return lambda rows: explainer.shap_values(rows)


def black_box(problem: Problem, kind: str, way: str) -> Explain:
    """``ExactExplainer`` or ``PermutationExplainer`` over background rows."""
    masker = background(problem)
    if way == "exact":
        explainer = shap.ExactExplainer(problem.predict(), masker)
        return lambda rows: explainer(rows, silent=True).values
    explainer = shap.PermutationExplainer(problem.predict(), masker, seed=0)
    return lambda rows: explainer(rows, silent=True).values


def trees(problem: Problem, kind: str) -> Explain:
    """``TreeExplainer``: over background rows, or (conditional) by the cover counts of the trees."""
    if problem.about["model"]["kind"] == "xgboost":
        import xgboost

        model = xgboost.Booster(model_file=str(problem.model_file))
    else:
        import lightgbm

        model = lightgbm.Booster(model_file=str(problem.model_file))
    if kind == "conditional":
        explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    else:
        explainer = shap.TreeExplainer(model, background(problem))
    return lambda rows: explainer.shap_values(rows)


if __name__ == "__main__":
    serve(
        "shap",
        {
            "linear": linear,
            "exact": lambda problem, kind: black_box(problem, kind, "exact"),
            "permutation": lambda problem, kind: black_box(problem, kind, "permutation"),
            "tree": trees,
        },
    )
