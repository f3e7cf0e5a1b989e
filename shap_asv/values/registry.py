"""The table of value methods. A new way to compute nu(S) is one new file and one row here."""

from shap_asv.values.contract import ValueMethod
from shap_asv.values.expected_terms import LINEAR, TREES
from shap_asv.values.marginal import MARGINAL
from shap_asv.values.moments import LINEAR_IN_MEANS
from shap_asv.values.monte_carlo import MONTE_CARLO
from shap_asv.values.table import CUT_TABLE, TABLE
from shap_asv.values.weighted import WEIGHTED_SUM

VALUE_METHODS: tuple[ValueMethod, ...] = (
    TREES,
    LINEAR,
    LINEAR_IN_MEANS,
    TABLE,
    CUT_TABLE,
    MARGINAL,
    WEIGHTED_SUM,
    MONTE_CARLO,
)
