"""From ``nu(S)`` to attributions: ``phi = nu @ W``, for all orders that a graph allows, and the error of what is drawn.

A coalition is a bit mask; bit i stands for feature i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import permutations

import numpy as np

Draws = Callable[[int, np.ndarray], tuple[np.ndarray, np.ndarray | None]]


def predecessors(graph: dict, features: list[str]) -> list[int]:
    """For each feature the mask of those that come before it in every order; others of the graph do not count."""
    place = {name: k for k, name in enumerate(features)}
    before = [0] * len(features)
    pairs = [tuple(edge) for edge in graph.get("edges", [])]
    if graph["orders"] == "levels":
        levels = graph["levels"]
        pairs = [(a, b) for k, level in enumerate(levels) for b in level for first in levels[:k] for a in first]
    pairs = [(a, b) for a, b in pairs if a in place and b in place]
    for _ in features:  # as often as a path may be long
        for a, b in pairs:
            before[place[b]] |= 1 << place[a] | before[place[a]]
    return before


def weights_of(before: list[int]) -> tuple[list[int], np.ndarray]:
    """Coalitions that hold the predecessors of their members, and W (coalitions, features).

    ``W[S + i, i] = -W[S, i] = e(S) e(rest) / e(all)``, e = number of orders: a mean over all orders, each as likely.
    """
    n = len(before)
    everything = (1 << n) - 1

    def next_ones(S: int) -> list[int]:
        return [i for i in range(n) if not S >> i & 1 and before[i] & ~S == 0]

    up: dict[int, int] = {0: 1}
    levels = [[0]]
    for _ in range(n):
        later: dict[int, int] = {}
        for S in levels[-1]:
            for i in next_ones(S):
                later[S | 1 << i] = later.get(S | 1 << i, 0) + up[S]
        up |= later
        levels.append(list(later))
    down = {everything: 1}
    for level in reversed(levels[:-1]):
        for S in level:
            down[S] = sum(down[S | 1 << i] for i in next_ones(S))
    coalitions = sorted(up)
    place = {S: k for k, S in enumerate(coalitions)}
    matrix = np.zeros((len(coalitions), n))
    for S in coalitions:
        for i in next_ones(S):
            weight = up[S] * down[S | 1 << i] / up[everything]
            matrix[place[S], i] -= weight
            matrix[place[S | 1 << i], i] += weight
    return coalitions, matrix


def weights_by_permutations(before: list[int]) -> tuple[list[int], np.ndarray]:
    """The same, by listing all permutations and leaving out those that are not allowed: up to 8 features."""
    n = len(before)
    counts: dict[int, np.ndarray] = {}
    total = 0
    for order in permutations(range(n)):
        S, passed = 0, []
        for i in order:
            if before[i] & ~S:
                break
            passed.append((S, i))
            S |= 1 << i
        else:
            total += 1
            for S, i in passed:
                counts.setdefault(S, np.zeros(n))[i] -= 1
                counts.setdefault(S | 1 << i, np.zeros(n))[i] += 1
    coalitions = sorted(counts)
    return coalitions, np.array([counts[S] for S in coalitions]) / total


def members(mask: int, n: int) -> np.ndarray:
    return np.array([bool(mask >> k & 1) for k in range(n)])


def sums(
    draw: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray | None]],
    predict: Callable[[np.ndarray], np.ndarray],
    rows: np.ndarray,
    coalitions: Iterable[int],
    uniforms: Iterable[np.ndarray],
) -> np.ndarray:
    """Sums of ``w f`` and of ``w`` over each group of uniform numbers: (2, groups, rows, coalitions).

    ``draw(members, uniforms)`` returns X (rows, m, features) and the logarithms of its weights, None where all are 1.
    A weight's scale is free for each row and coalition, the same in all groups.
    """
    n_rows, n = rows.shape
    coalitions, groups = list(coalitions), list(uniforms)
    found = np.ones((2, len(groups), n_rows, len(coalitions)))
    for k, mask in enumerate(coalitions):
        if mask == (1 << n) - 1:
            found[0, :, :, k] = predict(rows)
            continue
        top = None
        for g, u in enumerate(groups):
            X, log_weights = draw(members(mask, n), u)
            f = predict(X.reshape(-1, n)).reshape(n_rows, -1)
            if log_weights is None:
                found[0, g, :, k] = f.mean(axis=1)
                continue
            log_weights = np.broadcast_to(log_weights, f.shape)
            top = log_weights.max(axis=1, keepdims=True) if top is None else top
            w = np.exp(log_weights - top)
            found[0, g, :, k], found[1, g, :, k] = (w * f).mean(axis=1), w.mean(axis=1)
    return found


def jackknife(found: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attributions from the sums of all groups, and their standard errors by leaving out one group at a time."""
    totals = found.sum(axis=1)
    phi = totals[0] / totals[1] @ matrix
    left = totals[:, None] - found
    each = left[0] / left[1] @ matrix
    n_groups = found.shape[1]
    return phi, np.sqrt((n_groups - 1) / n_groups * ((each - each.mean(axis=0)) ** 2).sum(axis=0))
