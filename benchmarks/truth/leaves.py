"""Marginal values of boosted trees leaf by leaf, with no limit on the number of features.

A leaf of value c with conditions on the features D is a game of its own: ``v(S) = c [x meets those of D in S] P(X meets
those of D outside S)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.truth.games import members, weights_of
from benchmarks.truth.reading import read_json

Box = dict[int, tuple[float, float]]


def leaves_of(path: Path) -> Iterator[tuple[float, Box]]:
    """Value and conditions ``low <= x < high`` of each leaf of an XGBoost file."""
    for tree in read_json(path)["learner"]["gradient_booster"]["model"]["trees"]:
        left, right = tree["left_children"], tree["right_children"]
        ahead: list[tuple[int, Box]] = [(0, {})]
        while ahead:
            node, box = ahead.pop()
            cut, feature = tree["split_conditions"][node], tree["split_indices"][node]
            if left[node] < 0:
                yield cut, box  # a leaf keeps its value where others have their threshold
                continue
            low, high = box.get(feature, (-np.inf, np.inf))
            ahead.append((left[node], box | {feature: (low, min(high, cut))}))
            ahead.append((right[node], box | {feature: (max(low, cut), high)}))


def leaf_values(path: Path, rows: np.ndarray, groups: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Attributions and their standard errors, from groups of draws of all features."""
    rows, groups = rows.astype(np.float32), [X.astype(np.float32) for X in groups]
    found = np.zeros((len(groups), *rows.shape))
    for value, box in leaves_of(path):
        at, n = list(box), len(box)
        coalitions, matrix = weights_of([0] * n)

        def met(X: np.ndarray, box: Box = box) -> np.ndarray:
            return np.stack([(X[:, k] >= low) & (X[:, k] < high) for k, (low, high) in box.items()], axis=1)

        known = met(rows)
        inside = np.stack([known[:, members(S, n)].all(axis=1) for S in coalitions], axis=1)
        # how many draws meet at least the conditions outside S, from how many meet exactly which ones
        codes = np.arange(2**n)
        outside = [(codes & ~S & (2**n - 1)) == (~S & (2**n - 1)) for S in coalitions]
        for g, X in enumerate(groups):
            share = np.array(outside) @ np.bincount(met(X) @ 2 ** np.arange(n), minlength=2**n) / len(X)
            found[g][:, at] += value * (inside * share) @ matrix
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(groups))
