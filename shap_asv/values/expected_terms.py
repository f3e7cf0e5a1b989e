"""Exact values of tree ensembles and linear models: one network query per term, summed.

    nu(S) = offset + sum over terms t of  coefficients[t] * E[prod over v of g_tv(X_v) | X_S = e_S]

A leaf of a tree is the indicator of a region, so its expectation is P(region | e_S); a summand of a linear model is a
function of one feature. The background answers both by the same query.
"""

import numpy as np

from shap_asv.backgrounds.contract import TERMS, Terms
from shap_asv.backgrounds.discrete.engine import count_queries
from shap_asv.costs import Cost
from shap_asv.models import predictor as models
from shap_asv.models.predictor import Predictor
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import ValueMethod, ValueOptions, Workload, evidence_of

# What the background holds while it works, whatever it is asked: its own blocks of evidence and terms.
_WORKING_MEMORY = 2**27
#: Joint states of the features up to which questions are so small that all cost about the same.
FEW_STATES = 2**12


class ExactProducts:
    """nu of a sum of products under a discrete network, exactly."""

    def __init__(self, background: Terms, products: SumOfProducts) -> None:
        self.background = background
        self.products = products
        self.n_outputs = products.n_outputs

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and codes (r, n) -> float64 (r, m, k)."""
        products = self.products
        sums = self.background.expected_sums(
            evidence_of(coalitions, rows, self.background.free), products.vectors, products.terms, products.coefficients
        )
        return (products.offset + sums).reshape(len(rows), len(coalitions), self.n_outputs)


def _cost(background: Terms, predictor: Predictor, work: Workload) -> Cost:
    products = _products(predictor)
    evidence = work.n_rows * work.n_coalitions
    memory = _WORKING_MEMORY + 8 * evidence * (products.n_outputs + work.n_features)
    own = Cost({"evidence x feature": evidence * work.n_features}, memory)
    return own + query_cost(background, products, work.n_coalitions, work.n_rows, products.n_terms)


def query_cost(background: Terms, products: SumOfProducts, n_coalitions: float, n_rows: float, n_terms: float) -> Cost:
    """What the network takes for ``n_terms`` of the terms given so many coalitions of so many rows."""
    if background.size <= FEW_STATES:  # tables so small that all questions cost the same
        return Cost({"evidence": n_coalitions * n_rows, "evidence x term": n_coalitions * n_rows * n_terms})
    n_functions = np.zeros(background.network.n_nodes, dtype=int)
    n_functions[background.nodes] = products.terms.max(axis=0, initial=0)
    return count_queries(background.inference, n_coalitions, n_rows, n_functions, n_terms)


def _products(predictor: Predictor) -> SumOfProducts:
    if predictor.products is None:
        raise ValueError("this model is not a sum of products")
    return predictor.products


def _build(background: Terms, predictor: Predictor, options: ValueOptions) -> ExactProducts:
    return ExactProducts(background, _products(predictor))


TREES = ValueMethod("trees", True, TERMS, models.TREES, _cost, _build)
LINEAR = ValueMethod("linear", True, TERMS, models.LINEAR, _cost, _build)
