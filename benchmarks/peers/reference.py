"""Exact attributions from plain definitions, to measure errors against. Imports numpy alone.

Coalitions are bit masks. The ideals of the causal graph are listed level by level, the weight of a step S -> S + i is
``e(S) e(rest) / e(all)`` from exact whole numbers of topological orders; with no edges these are Shapley's weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.exchange import Problem


@dataclass
class Lattice:
    """Ideals as bit masks and the steps between them, each with its probability under a uniform topological order."""

    n: int
    masks: list[int]
    source: np.ndarray
    target: np.ndarray
    feature: np.ndarray
    weight: np.ndarray
    n_orders: int

    def members(self) -> np.ndarray:
        """Bool (ideals, features)."""
        return np.array([[mask >> i & 1 for i in range(self.n)] for mask in self.masks], dtype=bool)

    def attributions(self, nu: np.ndarray) -> np.ndarray:
        """phi (r, n) from nu (r, ideals)."""
        phi = np.zeros((len(nu), self.n))
        for row, values in enumerate(nu):
            gains = self.weight * (values[self.target] - values[self.source])
            phi[row] = np.bincount(self.feature, weights=gains, minlength=self.n)
        return phi


def lattice(n: int, edges: list[list[int]]) -> Lattice:
    """All ideals of the causal graph, and the weights of all steps. O(steps) whole-number operations."""
    causes = [0] * n
    for cause, effect in edges:
        causes[effect] |= 1 << cause
    masks, place, steps = [0], {0: 0}, []
    for mask in masks:  # grows while it is walked
        for i in range(n):
            if not mask >> i & 1 and causes[i] & mask == causes[i]:
                larger = mask | 1 << i
                if larger not in place:
                    place[larger] = len(masks)
                    masks.append(larger)
                steps.append((place[mask], place[larger], i))
    below, above = [0] * len(masks), [0] * len(masks)
    below[0] = above[-1] = 1
    for source, target, _ in steps:
        below[target] += below[source]
    for source, target, _ in reversed(steps):
        above[source] += above[target]
    total = below[-1]
    # a quotient of two whole numbers is rounded once, however large they are
    weight = np.array([below[source] * above[target] / total for source, target, _ in steps])
    source, target, feature = np.array(steps).T
    return Lattice(n, masks, source, target, feature, weight, total)


def marginal_nu(
    predict: Callable[[np.ndarray], np.ndarray], members: np.ndarray, rows: np.ndarray, background: np.ndarray
) -> np.ndarray:
    """nu(S) = mean over the background of M(row on S, background elsewhere); (r, coalitions)."""
    nu = np.empty((len(rows), len(members)))
    for r, row in enumerate(rows):
        for start in range(0, len(members), 4096):
            block = members[start : start + 4096]
            inputs = np.where(block[:, None, :], row, background[None, :, :])
            predicted = predict(inputs.reshape(-1, rows.shape[1]))
            nu[r, start : start + len(block)] = predicted.reshape(len(block), -1).mean(axis=1)
    return nu


def joint_of_features(problem: Problem) -> np.ndarray:
    """P(x) with one axis per feature, by multiplying all tables; for networks of a few nodes."""
    nodes = range(len(problem.names))
    operands: list = []
    for v in nodes:
        operands += [problem.tables[v], [v, *problem.parents[v]]]
    return np.einsum(*operands, list(problem.features), optimize="greedy")


def conditional_nu(joint: np.ndarray, outputs: np.ndarray, members: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """nu(S) = E[M | x_S] by sums over the joint table; (r, coalitions)."""
    nu = np.empty((len(rows), len(members)))
    for c, coalition in enumerate(members):
        free = tuple(np.flatnonzero(~coalition).tolist())
        mass, total = joint.sum(axis=free), (joint * outputs).sum(axis=free)
        at = tuple(rows[:, coalition].T)
        nu[:, c] = total[at] / mass[at]
    return nu


def model_table(predict: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The model at every joint state of its features."""
    return predict(np.indices(shape).reshape(len(shape), -1).T).reshape(shape)


def exact_network(problem: Problem) -> np.ndarray:
    """Attributions with conditional expectations under the network; the joint table must fit."""
    joint = problem.extra.get("joint")
    joint = joint_of_features(problem) if joint is None else joint
    sets = lattice(len(problem.features), problem.edges)
    outputs = model_table(problem.model(), joint.shape)
    return sets.attributions(conditional_nu(joint, outputs, sets.members(), problem.rows))


def exact_marginal(problem: Problem) -> np.ndarray:
    """Attributions with the marginal expectation over the background rows."""
    assert problem.background is not None
    sets = lattice(len(problem.features), problem.edges)
    return sets.attributions(marginal_nu(problem.model(), sets.members(), problem.rows, problem.background))
