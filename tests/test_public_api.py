"""What users may rely on: the names at the top, and the arguments of the explainer."""

import inspect
import subprocess
import sys

import shap_asv

PUBLIC = {
    "AsymmetricExplainer",
    "CausalOrder",
    "Comparison",
    "ConditionalTable",
    "CopulaModel",
    "GaussianModel",
    "GraphMixture",
    "PartialGraph",
    "Sensitivity",
    "StructuralModel",
    "__version__",
    "bootstrap_graphs",
    "check_graph",
    "compare",
    "errors",
    "fit_network",
    "lagged",
    "load_network",
    "plots",
    "sample_rows",
    "score_background",
}


def test_names():
    assert set(shap_asv.__all__) == PUBLIC
    assert set(dir(shap_asv)) == PUBLIC
    for name in PUBLIC:
        assert getattr(shap_asv, name) is not None


def test_explainer_arguments():
    arguments = list(inspect.signature(shap_asv.AsymmetricExplainer).parameters)
    assert arguments == [
        "model",
        "masker",
        "causal_graph",
        "link",
        "algorithm",
        "output_names",
        "feature_names",
        "linearize_link",
        "seed",
        "encoder",
        "model_output",
        "n_orders",
        "n_draws",
        "tolerance",
        "budget",
        "memory_limit",
        "ideal_limit",
        "n_jobs",
        "values",
        "silent",
        "data",
        "feature_perturbation",
        "groups",
    ]
    call = list(inspect.signature(shap_asv.AsymmetricExplainer.__call__).parameters)
    assert call == [
        "self",
        "X",
        "y",
        "interactions",
        "check_additivity",
        "approximate",
        "max_evals",
        "main_effects",
        "error_bounds",
        "batch_size",
        "outputs",
        "silent",
        "tolerance",
        "tree_limit",
        "from_call",
    ]


def test_errors_are_value_errors():
    errors = shap_asv.errors
    for name, thing in vars(errors).items():
        if isinstance(thing, type) and thing.__module__ == errors.__name__:
            assert issubclass(thing, (ValueError, UserWarning)), name


def test_importing_the_package_stays_light():
    code = "import sys, shap_asv; print(sorted({'shap', 'pgmpy', 'numba', 'matplotlib', 'sklearn'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_pgmpy_is_not_needed_for_a_matrix():
    code = """
import sys, numpy as np
from shap_asv import AsymmetricExplainer
AsymmetricExplainer(lambda X: X[:, 0], np.zeros((2, 2)))(np.ones((1, 2)))
print('pgmpy' in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
