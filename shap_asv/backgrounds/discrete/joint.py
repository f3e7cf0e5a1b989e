"""The joint distribution of the features as one table, for networks small enough to hold it."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from shap_asv.backgrounds.discrete.elimination import spread_table
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import BudgetExceededError

_MOST_AXES = 64  # numpy's own limit


Factor = tuple[tuple[int, ...], np.ndarray]
"""The variables of a table, one per axis, and the table."""


def feature_joint(network: DiscreteNetwork, feature_nodes: Sequence[int], limit: int) -> np.ndarray:
    """``P(x_F) = sum over latent x of prod of CPTs``, one axis per feature in the given order.

    Only the result, not the joint of all nodes, is ever held. O(features * result).

    Raises
    ------
    BudgetExceededError
        The table, or a product on the way to it, would have more than ``limit`` entries.
    """
    cards = network.cardinalities
    _check_size([cards[v] for v in feature_nodes], limit)
    joint = intervened_joint(network, feature_nodes, frozenset(), limit)
    return np.array(np.broadcast_to(joint, tuple(cards[v] for v in feature_nodes)))


def _feature_factors(
    network: DiscreteNetwork, feature_nodes: Sequence[int], limit: int, cut: frozenset[int] = frozenset()
) -> list[Factor]:
    """Tables whose product is ``P(x_F)``: latent nodes are eliminated one by one, smallest product first.

    Without the CPTs of the nodes that are ``cut`` it is ``P(x_F without cut | do(x_cut))``.
    """
    cards = network.cardinalities
    kept = [v for v in range(network.n_nodes) if v not in cut]
    factors: list[Factor] = [((v, *network.parents[v]), network.tables[v]) for v in kept]
    for v, scope in _latent_scopes(network, feature_nodes, cut):
        _check_size([cards[u] for u in scope], limit)
        axes = (v, *sorted(scope - {v}))
        product = np.ones(tuple(cards[u] for u in axes))
        for variables, table in factors:
            if v in variables:
                product = product * spread_table(table, variables, axes)
        factors = [factor for factor in factors if v not in factor[0]]
        factors.append((axes[1:], product.sum(axis=0)))
    return factors


@lru_cache(maxsize=64)
def largest_product(network: DiscreteNetwork, feature_nodes: tuple[int, ...]) -> int:
    """Entries of the largest table on the way to :func:`feature_joint`; 0 without latent nodes."""
    cards = network.cardinalities
    scopes = _latent_scopes(network, feature_nodes)
    return max((math.prod(cards[u] for u in scope) for _, scope in scopes), default=0)


def intervened_joint(
    network: DiscreteNetwork, feature_nodes: Sequence[int], cut: frozenset[int], limit: int
) -> np.ndarray:
    """``P(x_F without cut | do(x_cut))``, one axis per feature; length 1 where nothing depends on it.

    O(features * result). Sums to 1 over the axes of the features that are not cut, whatever the others are set to.
    """
    return _product(_feature_factors(network, feature_nodes, limit, cut), feature_nodes)


def _latent_scopes(
    network: DiscreteNetwork, feature_nodes: Sequence[int], cut: frozenset[int] = frozenset()
) -> Iterator[tuple[int, frozenset[int]]]:
    """Latent nodes in the order of their elimination, smallest product first, and the variables of that product."""
    cards = network.cardinalities
    scopes = [frozenset((v, *network.parents[v])) for v in range(network.n_nodes) if v not in cut]
    latent = set(range(network.n_nodes)) - set(feature_nodes)
    while latent:
        joined = {v: frozenset().union(*(scope for scope in scopes if v in scope)) for v in latent}
        v = min(latent, key=lambda u: (math.prod(cards[w] for w in joined[u]), -u))
        latent.remove(v)
        yield v, joined[v]
        scopes = [scope for scope in scopes if v not in scope] + [joined[v] - {v}]


def _product(factors: Sequence[Factor], axes: Sequence[int]) -> np.ndarray:
    """The product of the factors, one axis per variable of ``axes``, of length 1 where it is constant."""
    product = np.ones((1,) * len(axes))
    for variables, table in factors:
        product = product * spread_table(table, variables, tuple(axes))
    return product


def _check_size(cards: list[int], limit: int) -> None:
    size = math.prod(cards)
    if size > limit or len(cards) > _MOST_AXES:
        raise BudgetExceededError(
            f"the joint table of the features needs {size} entries over {len(cards)} variables; the limit is {limit} "
            f"entries and {_MOST_AXES} variables"
        )


def rough(count: int) -> str:
    """A count in three digits, past what a double holds too.

    Examples
    --------
    >>> rough(1234567), rough(2**5000)
    ('1.23e+06', '1e+1505')
    """
    return f"{count:.3g}" if count < 10**300 else f"1e+{math.floor(math.log10(count))}"
