"""Asymmetric Shapley values: shap explanations that respect a causal graph.

>>> from shap_asv import CausalOrder
>>> CausalOrder.from_edges([("smoking", "cancer")], features=["age", "smoking", "cancer"]).count_topological_orders()
3
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from shap_asv import errors as errors
    from shap_asv import plots as plots
    from shap_asv.backgrounds.donors.conditional_table import ConditionalTable as ConditionalTable
    from shap_asv.backgrounds.gaussian.copula import CopulaModel as CopulaModel
    from shap_asv.backgrounds.gaussian.model import GaussianModel as GaussianModel
    from shap_asv.backgrounds.pgmpy_networks import load_network as load_network
    from shap_asv.backgrounds.structural.model import StructuralModel as StructuralModel
    from shap_asv.comparison import Comparison as Comparison
    from shap_asv.datasets import sample_rows as sample_rows
    from shap_asv.discovery import bootstrap_graphs as bootstrap_graphs
    from shap_asv.discovery import check_graph as check_graph
    from shap_asv.explainer.asymmetric import AsymmetricExplainer as AsymmetricExplainer
    from shap_asv.explainer.asymmetric import compare as compare
    from shap_asv.explainer.fitting import fit_network as fit_network
    from shap_asv.explainer.worth import score_background as score_background
    from shap_asv.orders import CausalOrder as CausalOrder
    from shap_asv.orders.uncertain import GraphMixture as GraphMixture
    from shap_asv.orders.uncertain import PartialGraph as PartialGraph
    from shap_asv.sensitivity import Sensitivity as Sensitivity
    from shap_asv.windows import lagged as lagged

# Loaded on first use: importing the package alone imports neither shap nor pgmpy nor matplotlib.
_HOMES = {
    "AsymmetricExplainer": "shap_asv.explainer.asymmetric",
    "CausalOrder": "shap_asv.orders",
    "Comparison": "shap_asv.comparison",
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

__all__ = sorted([*_HOMES, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"shap_asv.{name}")
    raise AttributeError(f"module 'shap_asv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
