"""Exact values of tree ensembles and linear models: one network query per term, summed.

    nu(S) = offset + sum over terms t of  coefficients[t] * E[prod over v of g_tv(X_v) | X_S = e_S]

A leaf of a tree is the indicator of a region, so its expectation is P(region | e_S); a summand of a linear model is a
function of one feature. The background answers both by the same query.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from shap_asv.backgrounds.contract import TERMS, Terms
from shap_asv.backgrounds.discrete.inference.pricing import BYTES_PER_ENTRY, SAMPLED_TERMS, Work
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models import contract as models
from shap_asv.models.contract import Predictor
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import Cost, ValueMethod, ValueOptions, Workload, evidence_of

# What the background holds while it works, whatever it is asked: its own blocks of evidence and terms.
_WORKING_MEMORY = 2**27
# A bucket of a circuit in numpy; entries of a circuit that is not small.
_SECONDS_PER_BUCKET = 2e-4
ENTRIES_AT_ONCE = 2**19
# A call of the background has a price of its own; bringing evidence to it, per feature.
_SECONDS_PER_CALL = 8e-4
_SECONDS_PER_CODE = 6e-9
#: Joint states of the features up to which questions are so small that all cost about the same, and what they cost: a
#: row of evidence, and an (evidence, term) pair.
FEW_STATES = 2**12
SECONDS_PER_SMALL = 1e-6, 1.5e-8


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
    pairs = evidence * products.n_terms
    memory = _WORKING_MEMORY + 8 * evidence * (products.n_outputs + work.n_features)
    seconds = seconds_to_plan(background.network) + _SECONDS_PER_CALL + evidence * work.n_features * _SECONDS_PER_CODE
    if background.size <= FEW_STATES or work.sample is None:
        seconds += evidence * SECONDS_PER_SMALL[0] + pairs * SECONDS_PER_SMALL[1]
    else:
        questions = _questions(background, products, work.sample)
        asked = questions.work(work.n_coalitions, work.n_rows)
        seconds += background.inference.seconds(asked, products.n_terms, products.n_outputs)
        memory += int(BYTES_PER_ENTRY * questions.largest)
    return Cost(model_calls=0, queries=pairs, seconds=seconds, memory=memory)


@lru_cache(maxsize=4)
def _questions(background: Terms, products: SumOfProducts, sample: Callable[[], np.ndarray]) -> Any:
    """What is asked about all terms together, given coalitions like those of the sample."""
    coalitions = sample()
    causal = holds_causes(background, coalitions)
    return ask_about(background, products, np.arange(products.n_terms), coalitions, causal)


def holds_causes(background: Terms, coalitions: np.ndarray) -> bool:
    """Whether most coalitions (s, n) hold, with a feature, the features above it: then another order is the best."""
    return bool(background.inference.is_causal(np.where(_on_nodes(background, coalitions).T, 0, -1)))


def ask_about(
    background: Terms,
    products: SumOfProducts,
    terms: np.ndarray,
    coalitions: np.ndarray,
    causal: bool,
    weights: np.ndarray | None = None,
) -> Any:
    """Questions about some terms (t,), given coalitions (s, n) like these: they know what so many of them take."""
    some = terms[np.linspace(0, len(terms) - 1, min(SAMPLED_TERMS, len(terms))).astype(int)]
    looks = _on_nodes(background, products.terms[some])
    return background.inference.questions(_on_nodes(background, coalitions), (looks, len(terms)), causal, weights)


def seconds_to_condition(background: Terms, work: Workload) -> float:
    """What circuits take before anything is drawn from them: coalitions that hold their causes need none.

    One for the probability of evidence and one to draw from, of few questions at a time, which share next to nothing.
    """
    if work.ancestral or work.sample is None or background.size <= FEW_STATES:
        return 0.0
    share, questions = _questions_of_draws(background, work.sample)
    evidence = 2 * share * work.n_coalitions * work.n_rows
    entries = evidence * questions.single
    buckets = background.network.n_nodes * -(-entries // ENTRIES_AT_ONCE)
    seconds = background.inference.seconds(Work(evidence, entries, 0.0, 0.0, 0), 0) + buckets * _SECONDS_PER_BUCKET
    return float(seconds + (2 * seconds_to_plan(background.network) if share else 0.0))


@lru_cache(maxsize=4)
def _questions_of_draws(background: Terms, sample: Callable[[], np.ndarray]) -> tuple[float, Any]:
    """The share of coalitions like those of the sample that lack causes, and questions about all nodes given these."""
    known = _on_nodes(background, sample())
    needed = known.astype(np.float32) @ background.inference.ancestors.T.astype(np.float32) > 0
    lacking = (needed & ~known).any(axis=1)
    causal = bool(background.inference.is_causal(np.where(known.T, 0, -1)))
    all_nodes = np.ones((1, background.network.n_nodes), dtype=np.int64)
    asked = known[lacking] if lacking.any() else known
    return float(lacking.mean()), background.inference.questions(asked, (all_nodes, 1), causal)


def _on_nodes(background: Terms, by_feature: np.ndarray) -> np.ndarray:
    """(m, n) -> (m, nodes), nothing on latent ones."""
    by_node = np.zeros((len(by_feature), background.network.n_nodes), dtype=by_feature.dtype)
    by_node[:, background.nodes] = by_feature
    return by_node


def seconds_to_plan(network: DiscreteNetwork) -> float:
    """What the first question to a network costs, beside its answer: an order of elimination has to be found."""
    return 6e-5 * network.n_nodes**1.5


def _products(predictor: Predictor) -> SumOfProducts:
    if predictor.products is None:
        raise ValueError("this model is not a sum of products")
    return predictor.products


def _build(background: Terms, predictor: Predictor, options: ValueOptions) -> ExactProducts:
    return ExactProducts(background, _products(predictor))


TREES = ValueMethod("trees", True, TERMS, models.TREES, _cost, _build)
LINEAR = ValueMethod("linear", True, TERMS, models.LINEAR, _cost, _build)
