"""shap's own explainers as participants, on the marginal expectation over the background rows.

``options["explainer"]``: "exact" or "permutation" (a black box), or "tree" (``TreeExplainer`` of the scikit-learn tree
with ``feature_perturbation="interventional"``).
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.exchange import Answer, Problem, measure, serve


def run(folder: Path, problem: Problem, options: dict[str, Any]) -> Answer:
    import shap

    model, background = problem.model(), problem.background
    kind = options["explainer"]

    def build() -> Callable[[np.ndarray], Any]:
        if kind == "tree":
            tree = pickle.loads((folder / "model.pkl").read_bytes())  # its own file, written a moment ago
            explainer = shap.TreeExplainer(tree, background.astype(float), feature_perturbation="interventional")
            return lambda rows: explainer.shap_values(rows.astype(float))
        masker = shap.maskers.Independent(background.astype(float), len(background))
        if kind == "exact":
            explainer = shap.ExactExplainer(model, masker)
        else:
            explainer = shap.PermutationExplainer(model, masker, seed=0)
        return lambda rows: explainer(rows.astype(float), silent=True).values

    answer = measure(build, problem, options["rounds"], model, shap.__version__)
    if kind == "tree":
        answer.calls = answer.evaluated = 0
    return answer


if __name__ == "__main__":
    serve(run, sys.argv[1:])
