"""Asymmetric Shapley values: shap explanations that respect a causal graph.

>>> from shap_asv import CausalOrder
>>> CausalOrder.from_edges([("smoking", "cancer")], features=["age", "smoking", "cancer"]).count_topological_orders()
3
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from shap_asv import errors, plots
    from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
    from shap_asv.backgrounds.gaussian.copula import CopulaModel
    from shap_asv.backgrounds.gaussian.model import GaussianModel
    from shap_asv.backgrounds.pgmpy_networks import load_network
    from shap_asv.backgrounds.structural.model import StructuralModel
    from shap_asv.comparison import Comparison
    from shap_asv.datasets import sample_rows
    from shap_asv.discovery import bootstrap_graphs, check_graph
    from shap_asv.explainer.asymmetric import AsymmetricExplainer, compare
    from shap_asv.explainer.fitting import fit_network
    from shap_asv.explainer.worth import score_background
    from shap_asv.maskers import ConditionalMasker
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.uncertain import GraphMixture, PartialGraph
    from shap_asv.sensitivity import Sensitivity
    from shap_asv.windows import lagged

# Loaded on first use: importing the package alone imports neither shap nor pgmpy nor matplotlib.
_HOMES = {
    "AsymmetricExplainer": "shap_asv.explainer.asymmetric",
    "CausalOrder": "shap_asv.orders",
    "Comparison": "shap_asv.comparison",
    "ConditionalMasker": "shap_asv.maskers",
    "ConditionalTable": "shap_asv.backgrounds.donors.conditional_table",
    "CopulaModel": "shap_asv.backgrounds.gaussian.copula",
    "GaussianModel": "shap_asv.backgrounds.gaussian.model",
    "GraphMixture": "shap_asv.orders.uncertain",
    "PartialGraph": "shap_asv.orders.uncertain",
    "Sensitivity": "shap_asv.sensitivity",
    "StructuralModel": "shap_asv.backgrounds.structural.model",
    "bootstrap_graphs": "shap_asv.discovery",
    "check_graph": "shap_asv.discovery",
    "compare": "shap_asv.explainer.asymmetric",
    "fit_network": "shap_asv.explainer.fitting",
    "lagged": "shap_asv.windows",
    "load_network": "shap_asv.backgrounds.pgmpy_networks",
    "sample_rows": "shap_asv.datasets",
    "score_background": "shap_asv.explainer.worth",
}
_MODULES = ("errors", "plots")

__all__ = [
    "AsymmetricExplainer",
    "CausalOrder",
    "Comparison",
    "ConditionalMasker",
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
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"shap_asv.{name}")
    raise AttributeError(f"module 'shap_asv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
