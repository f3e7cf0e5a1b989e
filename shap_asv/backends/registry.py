"""The table of backends: every way to get from a problem to attributions, with its conditions and its cost.

Orders and exact values combine freely, so most rows are made from the table of value methods: all ideals x each method,
and sampled orders x each method. What is drawn is drawn together with orders, in one row. A new exact algorithm is one
new file and one row here.
"""

from shap_asv.backends.closures.backend import closures_backend
from shap_asv.backends.coalitionwise import coalitionwise_backend
from shap_asv.backends.contract import Backend
from shap_asv.backends.forest.backend import FOREST
from shap_asv.backends.joint import JOINT
from shap_asv.backends.paths import paths_backend
from shap_asv.backends.polytrees import POLYTREE
from shap_asv.backends.termwise import termwise_backend
from shap_asv.backends.workload import IDEALS, SAMPLED_ORDERS
from shap_asv.values.registry import VALUE_METHODS

_EXACT = [method for method in VALUE_METHODS if method.exact]

BACKENDS: tuple[Backend, ...] = (
    FOREST,
    POLYTREE,
    closures_backend(IDEALS),
    paths_backend(IDEALS),
    termwise_backend(IDEALS),
    *(coalitionwise_backend(method, IDEALS) for method in _EXACT),
    closures_backend(SAMPLED_ORDERS),
    paths_backend(SAMPLED_ORDERS),
    termwise_backend(SAMPLED_ORDERS),
    *(coalitionwise_backend(method, SAMPLED_ORDERS) for method in _EXACT),
    JOINT,
)
