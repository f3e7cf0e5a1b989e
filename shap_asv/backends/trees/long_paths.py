"""Leaves with more features than a table holds: phi for the patterns that occur, one after the other."""

from typing import Any

import numpy as np

from shap_asv.backends.pace import Report, paced
from shap_asv.backends.trees.leaves import Leaves
from shap_asv.orders.restricted import LEVELS, RestrictedWeights, Sets, StepLister


def add_long_paths(
    leaves: Leaves,
    order: RestrictedWeights,
    background: np.ndarray,
    first: int,
    codes: np.ndarray,
    out: np.ndarray,
    report: Report,
) -> None:
    """out (k, n, r) += phi of the leaves from ``first`` on; ``background`` (n, m) are codes, m = 0 for cover ratios."""
    from shap_asv.backends.trees.kernels import deep as kernels
    from shap_asv.backends.trees.kernels.rows import find_patterns

    n_leaves = len(leaves.values)
    widest = int(np.diff(leaves.start)[-1])
    kept = 1 << min(kernels.KEPT_BITS, widest)
    room = kernels.Room(
        np.empty(codes.shape[1], dtype=np.int64),
        np.empty(widest),
        np.empty((2, widest + 1)),
        np.empty((kept, widest)),
        np.zeros(kept, dtype=bool),
    )
    others = np.empty(background.shape[1], dtype=np.int64)
    if order.kind == LEVELS:
        rule = gauss_rule(widest)
        for piece in paced(n_leaves - first, 4):
            span = (first + piece.start, first + piece.stop)
            if len(others):
                kernels.add_rows(leaves, order.level, background, others, span, codes, room, out)
            else:
                kernels.add_ratios(leaves, order.level, rule, span, codes, room, out)
            report(span[1] / n_leaves)
        return
    lister, known, steps = StepLister(order), np.zeros(0, dtype=np.int64), None
    for leaf in range(first, n_leaves):
        features = leaves.feature[leaves.start[leaf] : leaves.start[leaf + 1]]
        if steps is None or not np.array_equal(features, known):
            steps, known = lister.merged(Sets(leaves.start, leaves.feature, np.array([leaf]))), features
        find_patterns(leaves, leaf, background, others)
        before, after = np.empty((2, len(steps.code)))
        kernels.weigh_outside(leaves, leaf, steps.code, others, before)
        kernels.weigh_outside(leaves, leaf, steps.code | 1 << steps.place, others, after)
        kernels.add_steps(leaves, leaf, steps, before, after, codes, room, out)
        report((leaf + 1) / n_leaves)


def gauss_rule(widest: int) -> Any:
    """Gauss-Legendre rules on [0, 1] with 1 .. (widest + 1) // 2 points."""
    from shap_asv.backends.trees.kernels.deep import Rule

    most = max(1, (widest + 1) // 2)
    points, weights = np.zeros((2, most + 1, most))
    for q in range(1, most + 1):
        nodes, node_weights = np.polynomial.legendre.leggauss(q)
        points[q, :q], weights[q, :q] = (nodes + 1) / 2, node_weights / 2
    return Rule(points, weights)
