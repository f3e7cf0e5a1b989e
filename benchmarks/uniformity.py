"""Are topological orders uniform, when there are too many to enumerate? Two questions that have exact answers."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shap_asv.orders import CausalOrder


def position_scores(order: "CausalOrder", draws: np.ndarray) -> np.ndarray:
    """z-scores of how often each feature stands at each position, against the exact chances; those expected 20 times.

    ``P(v at position k) = sum over edges S -> S + v of the lattice, |S| = k, of their weight``: for orders whose
    lattice of ideals can be built. Infinite where a draw has a feature at a position where it cannot stand.
    """
    from shap_asv.orders.lattice import build_lattice

    lattice = build_lattice(order)
    n, size = draws.shape
    expected = np.array(
        [
            np.bincount(lattice.edge_feature[edges], lattice.edge_weights[edges], minlength=size) * n
            for _, edges in lattice.by_size()
        ]
    )
    met = np.array([np.bincount(column, minlength=size) for column in draws.T])
    if met[expected == 0].any():
        return np.array([np.inf])
    cells = (expected > 20) & (expected < n)
    return ((met - expected)[cells]) / np.sqrt(expected * (1 - expected / n))[cells]


def reinsertion_p_values(order: "CausalOrder", draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Where each feature stands between its last cause and its first effect, the others being left where they are.

    In uniform orders all these places are equally likely, whatever the others do; and no other distribution has that
    for every feature, since such moves lead from each order to every other. Made continuous by a uniform number, the
    place is uniform on [0, 1]: one Kolmogorov-Smirnov test per feature. For orders of any size.
    """
    from scipy import stats

    n = order.n_features
    position = np.argsort(draws, axis=1)
    result = []
    for v in range(n):
        first = np.max([position[:, p] + 1 for p in order.parents[v]], axis=0) if order.parents[v] else 0
        last = np.min([position[:, c] - 1 for c in order.children[v]], axis=0) if order.children[v] else n - 1
        place = (position[:, v] - first + rng.random(len(draws))) / (last - first + 1)
        result.append(stats.kstest(place, "uniform").pvalue)
    return np.array(result)
