"""Small orders of every kind with their topological orders enumerated by networkx."""

from dataclasses import dataclass

import numpy as np

from shap_asv.orders import CausalOrder
from tests.oracles.brute_force import topological_orders
from tests.oracles.random_problems import random_edges

KINDS = ("forest", "polytree", "dag", "edgeless", "complete", "chain")


@dataclass(frozen=True)
class Enumerated:
    """A causal order beside the list of its topological orders, which nothing of ours has touched."""

    kind: str
    edges: list[tuple[int, int]]
    order: CausalOrder

    @property
    def topological_orders(self) -> list[tuple[int, ...]]:
        """All of them: for small orders only."""
        return topological_orders(self.order.n_features, self.edges)


def enumerated(kind: str, seed: int, largest: int = 7) -> Enumerated:
    """A random order of one kind, its features shuffled so that no index order is a topological one by accident."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n = int(rng.integers(1, min(largest, 6 if kind == "edgeless" else largest) + 1))
    name = rng.permutation(n)
    edges = [(int(name[a]), int(name[b])) for a, b in random_edges(rng, n, kind)]
    return Enumerated(kind, edges, CausalOrder.from_edges(edges, features=range(n)))
