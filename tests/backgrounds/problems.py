"""Random networks of the oracle as backgrounds, with the brute-force answers beside them."""

import functools
import itertools

import numpy as np

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.pgmpy_networks import load_network
from tests.oracles import brute_force, random_problems


@functools.cache
def loaded(name):
    """A bundled network of pgmpy, parsed once: the parser takes most of a second."""
    return load_network(name)


def as_network(cards, parents, tables):
    names = tuple(f"n{v}" for v in range(len(cards)))
    states = tuple(tuple(f"s{x}" for x in range(card)) for card in cards)
    return DiscreteNetwork(names, states, tuple(tuple(p) for p in parents), tuple(tables))


def expectations(background, evidence, vectors, terms):
    """``E[prod of g | e_S]`` (E, T): a sum for each term alone."""
    return background.expected_sums(evidence, vectors, terms, np.eye(len(terms)))


def holds_causes(background, coalitions):
    """bool (m,): whether the coalitions hold all causes of their members in the network."""
    return background.inference.holds_causes(background.on_nodes(np.where(coalitions, 0, -1)))


class Problem:
    """A random network, random features (shuffled, the rest latent), a possible row, random terms."""

    def __init__(self, seed, kind="dag", n=6, zeros=0.0, n_terms=15, latent=True):
        rng = self.rng = np.random.default_rng(seed)
        edges = random_problems.random_edges(rng, n, kind)
        self.plain = random_problems.random_network(rng, n, edges, zeros=zeros)
        cards, parents, tables = self.plain
        count = int(rng.integers(1, n + 1)) if latent else n
        self.nodes = [int(v) for v in rng.permutation(n)[:count]]
        self.background = DiscreteBackground(as_network(*self.plain), [f"n{v}" for v in self.nodes])
        self.cards = [cards[v] for v in self.nodes]
        self.p_features = brute_force.feature_joint(brute_force.joint_table(*self.plain), self.nodes)
        row = random_problems.random_row(rng, cards, parents, tables)
        self.row = np.array([row[v] for v in self.nodes])
        self.coalitions = np.array(list(itertools.product([False, True], repeat=count)))
        self.vectors = [
            np.vstack([np.ones(card), rng.integers(0, 2, (3, card)), rng.normal(size=(2, card))]) for card in self.cards
        ]
        self.terms = rng.integers(0, 6, (n_terms, count))

    def evidence(self, row=None):
        return np.where(self.coalitions, self.row if row is None else row, -1)

    def term_tables(self):
        """Every term tabulated over the joint states of the features: (*cards, T)."""
        tables = np.ones((*self.cards, len(self.terms)))
        for v, vectors in enumerate(self.vectors):
            shape = [1] * len(self.cards) + [len(self.terms)]
            shape[v] = self.cards[v]
            tables = tables * vectors[self.terms[:, v]].T.reshape(shape)
        return tables

    def expected(self):
        """E[term | e_S] for all coalitions by summing over the joint: (2^n, T)."""
        tables = self.term_tables()
        return np.array(
            [
                brute_force.conditional_expectation(self.p_features, tables, self.row, set(np.flatnonzero(members)))
                for members in self.coalitions
            ]
        )
