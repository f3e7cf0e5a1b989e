"""Exact values of tree ensembles and linear models: one network query per term, summed.

    nu(S) = offset + sum over terms t of  coefficients[t] * E[prod over v of g_tv(X_v) | X_S = e_S]

A leaf of a tree is the indicator of a region, so its expectation is P(region | e_S); a summand of a linear model is a
function of one feature. The background answers both by the same query.
"""

from functools import lru_cache
from itertools import combinations
from math import prod

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import TERMS, Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models import contract as models
from shap_asv.models.contract import Predictor
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import Cost, ValueMethod, ValueOptions, Workload, evidence_of

# What the background holds while it works, whatever it is asked: its own blocks of evidence and terms.
_WORKING_MEMORY = 2**27
# Measured on child and insurance: a row of evidence (clamped, or conditioned on), and an (evidence, term) pair.
_SECONDS_PER_EVIDENCE = {True: 5e-7, False: 2e-6}
_SECONDS_PER_CLIQUE_STATE = {True: 1e-10, False: 5e-10}
# A pair costs more, the more nodes stand between a term and what is known: measured on chains up to 1,000 nodes.
_SECONDS_PER_PAIR = 5e-9
_SHORT = 15.0
# ... and the more states the cliques have that it runs through: measured on child and insurance.
_FEW_STATES = 2000.0
# Before the background has worked for a while, it does without a compiler. A call of it has a price of its own.
_SECONDS_BEFORE_KERNELS = 8e-6
_SECONDS_PER_CALL = 8e-4
_PATIENCE = 0.3


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
    pairs = work.n_rows * work.n_coalitions * products.n_terms
    memory = _WORKING_MEMORY + 8 * work.n_rows * work.n_coalitions * (products.n_outputs + work.n_features)
    evidence = work.n_rows * work.n_coalitions
    # networks with large cliques take their time; clamped evidence leaves few of a clique's states to look at
    states = clique_states(background.network)
    network_cost = states * _SECONDS_PER_CLIQUE_STATE[work.ancestral]
    seconds = evidence * max(_SECONDS_PER_EVIDENCE[work.ancestral], network_cost)
    per_pair = _SECONDS_PER_PAIR * max(1.0, states / _FEW_STATES) ** 0.5
    seconds += pairs * per_pair * max(1.0, mean_closure(background, products) / _SHORT) ** 2
    seconds += seconds_to_plan(background.network) + _SECONDS_PER_CALL
    seconds += min(evidence * _SECONDS_BEFORE_KERNELS, _PATIENCE)
    return Cost(model_calls=0, queries=pairs, seconds=seconds, memory=memory)


def seconds_to_plan(network: DiscreteNetwork) -> float:
    """What the first question to a network costs, beside its answer: an order of elimination has to be found."""
    return 3e-5 * network.n_nodes**1.5


@lru_cache(maxsize=2)
def mean_closure(background: Terms, products: SumOfProducts) -> float:
    """Network nodes at or above the features of a term, mean over up to 64 terms."""
    network = background.network
    some = np.linspace(0, products.n_terms - 1, min(64, products.n_terms)).astype(int)
    closed = np.zeros((len(some), network.n_nodes), dtype=bool)
    closed[:, background.nodes] = products.terms[some] != 0
    for v in range(network.n_nodes - 1, -1, -1):  # causes come first in a network
        for p in network.parents[v]:
            closed[:, p] |= closed[:, v]
    return float(closed.sum(axis=1).mean()) if len(some) else 0.0


@lru_cache(maxsize=16)
def clique_states(network: DiscreteNetwork) -> float:
    """Joint states of the cliques of a triangulation (min-fill), summed: what one question to the network may cost."""
    moral = nx.Graph()
    moral.add_nodes_from(range(network.n_nodes))
    for v, parents in enumerate(network.parents):
        moral.add_edges_from(combinations((v, *parents), 2))
    _, tree = nx.algorithms.approximation.treewidth_min_fill_in(moral)
    cards = network.cardinalities
    return float(sum(prod(cards[v] for v in bag) for bag in tree.nodes))


def _products(predictor: Predictor) -> SumOfProducts:
    if predictor.products is None:
        raise ValueError("this model is not a sum of products")
    return predictor.products


def _build(background: Terms, predictor: Predictor, options: ValueOptions) -> ExactProducts:
    return ExactProducts(background, _products(predictor))


TREES = ValueMethod("trees", True, TERMS, models.TREES, _cost, _build)
LINEAR = ValueMethod("linear", True, TERMS, models.LINEAR, _cost, _build)
