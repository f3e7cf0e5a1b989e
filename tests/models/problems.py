"""Small discrete problems for the tests of models: features with states, all their rows, training data."""

import itertools

import numpy as np
import pandas as pd

FEATURES = ("smoker", "pollution", "dose", "age")
NAMES = (("no", "yes"), ("low", "mid", "high"), ("0", "1", "2", "3"), ("young", "old"))
NUMBERS = ((0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 1))


def cardinalities(states):
    return tuple(len(labels) for labels in states)


def all_rows(states):
    """Every combination of states as codes (product of cardinalities, n)."""
    return np.array(list(itertools.product(*(range(card) for card in cardinalities(states)))))


def training_codes(states, n_rows=400, seed=0):
    return np.random.default_rng(seed).integers(cardinalities(states), size=(n_rows, len(states)))


def frame(codes, states, features=FEATURES):
    """Codes as a DataFrame of labels."""
    return pd.DataFrame({name: [states[v][c] for c in codes[:, v]] for v, name in enumerate(features)})


def values_matrix(codes, states):
    """Codes as a float matrix, for states that are numbers."""
    return np.stack([np.array(labels, dtype=float)[codes[:, v]] for v, labels in enumerate(states)], axis=1)


def target(codes, seed=1):
    """A regression target that depends on all features in a way no additive model reproduces."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=tuple(codes.max(axis=0) + 1))
    return table[tuple(codes.T)] + 0.05 * rng.normal(size=len(codes))


def classes(codes, n_classes, seed=1):
    return np.digitize(target(codes, seed), np.linspace(-0.7, 0.7, n_classes - 1))
