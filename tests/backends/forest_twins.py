"""Readable twins of the forest algorithm, on one (term, row) at a time. They import nothing of ours.

All take the forest as ``parent`` (positions in preorder, -1 for roots), and per feature ``own`` (the term's function at
the row's state) and ``message`` (expectation of the term's factors in the subtree, given the row above it).
"""

from functools import cache
from math import comb

import numpy as np


def subtree_sizes(parent):
    size = np.ones(len(parent), dtype=int)
    for v in range(len(parent) - 1, -1, -1):
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    return size


def children_of(parent, closure):
    children = {v: [] for v in (-1, *closure)}
    for v in sorted(closure):
        children[parent[v]].append(v)
    return children


def jump_chain(parent, closure, own, message):
    """phi by walking the ideals of the closure: the next arrival is v with probability size / sum of sizes in front."""
    size, children = subtree_sizes(parent), children_of(parent, closure)

    def nu(ideal, front):
        return np.prod([own[u] for u in ideal]) * np.prod([message[v] for v in front])

    phi = dict.fromkeys(closure, 0.0)
    level = {frozenset(): 1.0}
    while level:
        following = {}
        for ideal, probability in level.items():
            front = [v for v in closure if v not in ideal and (parent[v] < 0 or parent[v] in ideal)]
            total = sum(size[v] for v in front)
            for v in front:
                step = probability * size[v] / total
                after = [w for w in front if w != v] + children[v]
                phi[v] += step * (nu(ideal | {v}, after) - nu(ideal, front))
                following[ideal | {v}] = following.get(ideal | {v}, 0.0) + step
        level = following
    return phi


def recursion(parent, closure, own, message):
    """phi by expected products per number of arrivals, and a walk from each feature to the root."""
    size, children = subtree_sizes(parent), children_of(parent, closure)

    def union(a, b):
        """Expected product after k arrivals of two independent parts."""
        n_a, n_b = len(a) - 1, len(b) - 1
        out = np.zeros(n_a + n_b + 1)
        for j in range(n_a + 1):
            for i in range(n_b + 1):
                out[j + i] += comb(n_a, j) * comb(n_b, i) / comb(n_a + n_b, j + i) * a[j] * b[i]
        return out

    @cache
    def below(v, without=None):
        """Expected product of everything below v (or of the roots, v = -1), without one branch."""
        total = (size[v] - 1 if v >= 0 else len(parent)) - sum(size[c] for c in children[v])
        out = np.ones(total + 1)  # features the term does not see
        for c in children[v]:
            if c != without:
                out = union(out, beta(c))
        return out

    @cache
    def beta(v):
        return np.concatenate([[message[v]], own[v] * below(v)])

    phi = {}
    for x in closure:
        # arrivals of the subtree before x: none; then add the siblings of each ancestor on the way up
        before = {0: 1.0}
        current, weight = x, 1.0
        while True:
            v = parent[current]
            siblings = below(v, current)
            s, t = int(size[current]), len(siblings) - 1
            following = {}
            for k, value in before.items():
                for i in range(t + 1):
                    share = comb(k + i, k) * comb(s - k - 1 + t - i, t - i) / comb(s + t, t)
                    following[k + i] = following.get(k + i, 0.0) + value * share * siblings[i]
            before = following
            if v < 0:
                break
            weight *= own[v]
            before = {k + 1: value for k, value in before.items()}
            current = v
        gain = own[x] * np.prod([message[c] for c in children[x]]) - message[x]
        phi[x] = gain * weight * sum(before.values())
    return phi
