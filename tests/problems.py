"""Random problems for tests: a network (latent nodes included), a causal graph, a model and rows, with their oracle."""

from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from tests.oracles import brute_force
from tests.oracles.random_problems import random_edges, random_network, random_row


@dataclass
class RandomProblem:
    """``feature_nodes`` are the network's nodes that are features; states are the labels ``s0, s1, ...``."""

    cards: list
    parents: list
    tables: list
    feature_nodes: list

    @property
    def names(self):
        return [f"x{v}" for v in range(len(self.cards))]

    @property
    def features(self):
        return [self.names[v] for v in self.feature_nodes]

    @property
    def feature_cards(self):
        return [self.cards[v] for v in self.feature_nodes]

    def network(self):
        states = tuple(tuple(f"s{i}" for i in range(c)) for c in self.cards)
        return DiscreteNetwork(tuple(self.names), states, tuple(self.parents), tuple(self.tables))

    def rows(self, rng, r):
        """Codes (r, n), each possible under the network."""
        drawn = np.array([random_row(rng, self.cards, self.parents, self.tables) for _ in range(r)])
        return drawn[:, self.feature_nodes]

    def labels(self, codes):
        return np.array([[f"s{c}" for c in row] for row in codes], dtype=object)

    def joint(self):
        return brute_force.feature_joint(
            brute_force.joint_table(self.cards, self.parents, self.tables), self.feature_nodes
        )

    def projected_edges(self):
        """The network's precedence among features (through latent nodes), as pairs of feature positions."""
        n = len(self.cards)
        above = [set() for _ in range(n)]
        for v in range(n):
            for p in self.parents[v]:
                above[v] |= {p} | above[p]
        position = {node: i for i, node in enumerate(self.feature_nodes)}
        return [(position[u], position[v]) for v in self.feature_nodes for u in above[v] if u in position]


def make_problem(seed, n=5, latent=0, zeros=0.0, kind="dag", max_states=3):
    """A random network of ``n`` nodes of which ``latent`` are hidden."""
    rng = np.random.default_rng(seed)
    cards, parents, tables = random_network(rng, n, random_edges(rng, n, kind), max_states=max_states, zeros=zeros)
    hidden = set(rng.choice(n, size=latent, replace=False).tolist())
    feature_nodes = [v for v in range(n) if v not in hidden]
    rng.shuffle(feature_nodes)
    return RandomProblem(cards, parents, tables, [int(v) for v in feature_nodes])


def code_of(label):
    """The models of these tests read the code back from the label ``s<code>``."""
    return int(str(label)[1:])


def to_codes(table):
    values = table.to_numpy() if hasattr(table, "to_numpy") else np.asarray(table)
    return np.vectorize(code_of, otypes=[int])(values)
