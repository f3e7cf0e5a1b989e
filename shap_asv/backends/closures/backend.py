"""The rows of the table of backends: closures of terms over all ideals, or over the prefixes of sampled orders."""

from functools import lru_cache

import numpy as np

from shap_asv.backends.coalitionwise import ROW_BLOCK
from shap_asv.backends.conditioning import is_ancestral
from shap_asv.backends.contract import Attributor, Backend, Problem
from shap_asv.backends.termwise import LARGEST_SET, measure_groups, relevant_nodes, term_backend, terms_obstacle
from shap_asv.backends.weight_columns import Columns
from shap_asv.backends.workload import Sweep, groups_obstacle, network_and_terms, patterns
from shap_asv.backgrounds.contract import CONDITIONED_TERMS, Terms
from shap_asv.costs import Cost
from shap_asv.models.products import SumOfProducts

#: Bits that the states of all nodes may take, and those of one node.
STATE_BITS, NODE_BITS = 62, 16
# Numbers of values that are held at one time, most bytes that are taken on demand, terms that are summed out together.
_HELD, _ON_DEMAND, _TERMS_AT_ONCE = 2**24, 2**29, 62


@lru_cache(maxsize=4)
def _terms_obstacle(problem: Problem) -> str | None:
    background, products = network_and_terms(problem)
    if not all(bool(((table == 0) | (table == 1)).all()) for table in products.vectors):
        return "the model is not made of trees: only products of conditions are alive or dead"
    relevant = np.flatnonzero(relevant_nodes(background, products))
    if len(relevant) > LARGEST_SET:
        return f"the model depends on {len(relevant)} nodes, and sets of them are kept as {LARGEST_SET} bits"
    widths = np.array([(background.network.cardinalities[v] - 1).bit_length() for v in relevant.tolist()], dtype=int)
    if widths.sum() > STATE_BITS or widths.max(initial=0) > NODE_BITS:
        return (
            f"the states of the nodes that the model depends on take {widths.sum()} bits; "
            f"{STATE_BITS} are kept, {NODE_BITS} for one node"
        )
    return None


@lru_cache(maxsize=4)
def _missing_states(problem: Problem) -> float:
    """States of all nodes that some coalition may lack while it holds one of their effects."""
    if is_ancestral(problem):
        return 1.0
    background, _ = network_and_terms(problem)
    network, nodes = background.network, background.nodes
    above = background.inference.ancestors[:, nodes]  # of each feature
    lacking = above.any(axis=1)
    if problem.players is None:
        first = problem.order.ancestor_matrix
        lacking[nodes] = (above[nodes] & ~first).any(axis=1)
    return float(np.prod(np.array(network.cardinalities, dtype=float)[lacking]))


def _obstacle(problem: Problem) -> str | None:
    return (
        CONDITIONED_TERMS.obstacle(problem.background)
        or terms_obstacle(problem)
        or groups_obstacle(problem)
        or _terms_obstacle(problem)
    )


def _cost(problem: Problem, coalitions: int, n_rows: int) -> Cost:
    background, products = network_and_terms(problem)
    shares = measure_groups(background, products)
    copies = min(_missing_states(problem), 256.0) ** 0.5
    told_apart = patterns(n_rows) * copies
    ideals = float((float(coalitions) ** shares).sum())
    size = products.n_terms / max(1, len(shares))
    width, blocks_per_group = min(size, _TERMS_AT_ONCE), 1.0 + size / (2 * _TERMS_AT_ONCE)
    rows = ideals * blocks_per_group * told_apart**0.4  # patterns share most of the states that are asked for
    operations = {
        "loading of compiled code": 1,
        "closure": len(shares),
        "closure ideal": ideals,
        "closure row": rows,
        "closure row x term": rows * width,
        "closure ideal x row x term": ideals * told_apart * size,
        "coalition x row": coalitions * n_rows * copies,
    }
    at_once = min(n_rows, ROW_BLOCK, max(1.0, _HELD / (max(1, coalitions) * problem.n_outputs * copies)))
    held = 2**27 + 80 * ideals + min(_ON_DEMAND, ideals * (at_once * copies) ** 0.4 * (8 * width + 120))
    held += 3 * 8 * coalitions * at_once * problem.n_outputs * copies
    return Cost(operations, int(held))


def _attributor(background: Terms, products: SumOfProducts, columns: Columns) -> Attributor:
    from shap_asv.backends.closures.attributor import closures_attributor  # brings numba in

    return closures_attributor(background, products, columns)


def closures_backend(sweep: Sweep) -> Backend:
    """All ideals, or the prefixes of sampled orders, completed by the causes that they lack."""
    return term_backend("closures", sweep, _obstacle, _cost, _attributor)
