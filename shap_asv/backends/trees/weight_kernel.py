"""Compiled: ``w_D(i, B)`` for one set of features D, from any kind of order. Importing this module imports numba.

Each function lists steps ``B -> B + i`` as (code of B, place of i, weight). Codes are bits over the places in D. The
same step may be listed several times: the sum counts.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from shap_asv.backends.trees.orderings import FOREST, LATTICE, LEVELS

# Where steps are listed, and room for a walk over the ideals of a forest.
Steps = namedtuple("Steps", "code place weight ideal shadow chance")
#: Features of D with their ancestors that fit a machine word.
WIDEST = 62


@njit(nogil=True, cache=True)
def list_steps(order, features, steps):  # type: ignore[no-untyped-def]
    """List the steps of D = ``features``; how many, or -1 when there is no room for them."""
    if order.kind == LEVELS:
        return _level_steps(order, features, steps)
    if order.kind == FOREST:
        return _forest_steps(order, features, steps)
    if order.kind == LATTICE:
        return _lattice_steps(order, features, steps)
    return _order_steps(order, features, steps)


@njit(nogil=True, cache=True)
def _level_steps(order, features, steps):  # type: ignore[no-untyped-def]
    """Features come sorted by level: a level is a run of places, and what precedes it is all in."""
    d = len(features)
    count = first = 0
    while first < d:
        last = first + 1
        while last < d and order.level[features[last]] == order.level[features[first]]:
            last += 1
        m = last - first
        if count + m * 2 ** (m - 1) > len(steps.code):
            return -1
        # weight[s] = s! (m - s - 1)! / m!
        weight = np.empty(m)
        weight[0] = 1.0 / m
        for s in range(1, m):
            weight[s] = weight[s - 1] * s / (m - s)
        before = (1 << first) - 1
        for inside in range(1 << m):
            size = 0
            for j in range(m):
                size += (inside >> j) & 1
            for j in range(m):
                if not (inside >> j) & 1:
                    steps.code[count] = before | inside << first
                    steps.place[count] = first + j
                    steps.weight[count] = weight[size]
                    count += 1
        first = last
    return count


@njit(nogil=True, cache=True)
def _forest_steps(order, features, steps):  # type: ignore[no-untyped-def]
    """The jump chain over the ideals of D and its ancestors: next is v with probability size_v / sum of available."""
    n, d = len(order.parent), len(features)
    place = np.full(n, -2, dtype=np.int64)  # -2: not needed, -1: an ancestor, else the place in D
    for j in range(d):
        at = order.parent[features[j]]
        while at >= 0 and place[at] == -2:
            place[at] = -1
            at = order.parent[at]
    for j in range(d):
        place[features[j]] = j
    number = np.full(n, -1, dtype=np.int64)  # place in the closure, parents first
    member = np.empty(n, dtype=np.int64)
    size = 0
    count = 1
    steps.ideal[0], steps.shadow[0] = 0, 0
    for v in order.topological:
        if place[v] == -2:
            continue
        if size == WIDEST:
            return -1
        need = -1 if order.parent[v] < 0 else number[order.parent[v]]
        number[v] = size
        member[size] = v
        listed = count
        for s in range(listed):  # with the new feature on top the list stays sorted
            if need < 0 or (steps.ideal[s] >> need) & 1:
                if count == len(steps.ideal):
                    return -1
                steps.ideal[count] = steps.ideal[s] | (1 << size)
                steps.shadow[count] = steps.shadow[s] if place[v] < 0 else steps.shadow[s] | (1 << place[v])
                count += 1
        size += 1
    steps.chance[:count] = 0.0
    steps.chance[0] = 1.0
    listed = 0
    for s in range(count):
        ideal = steps.ideal[s]
        total = 0.0
        for a in range(size):
            parent = order.parent[member[a]]
            if not (ideal >> a) & 1 and (parent < 0 or (ideal >> number[parent]) & 1):
                total += order.size[member[a]]
        for a in range(size):
            v = member[a]
            parent = order.parent[v]
            if (ideal >> a) & 1 or (parent >= 0 and not (ideal >> number[parent]) & 1):
                continue
            passing = steps.chance[s] * order.size[v] / total
            low, high, target = s, count - 1, ideal | (1 << a)
            while low < high:
                middle = (low + high) // 2
                if steps.ideal[middle] < target:
                    low = middle + 1
                else:
                    high = middle
            steps.chance[low] += passing
            if place[v] >= 0:
                if listed == len(steps.code):
                    return -1
                steps.code[listed], steps.place[listed], steps.weight[listed] = steps.shadow[s], place[v], passing
                listed += 1
    return listed


@njit(nogil=True, cache=True)
def _lattice_steps(order, features, steps):  # type: ignore[no-untyped-def]
    """The shadow of an edge S -> S + i is S & D -> (S & D) + i; edges outside of D do not move."""
    n_ideals = order.member.shape[1]
    if n_ideals > len(steps.shadow):
        return -1
    shadow = steps.shadow[:n_ideals]
    shadow[:] = 0
    for j in range(len(features)):
        member = order.member[features[j]]
        for s in range(n_ideals):
            shadow[s] |= np.int64(member[s]) << j
    count = 0
    for j in range(len(features)):
        for e in range(order.edge_start[features[j]], order.edge_start[features[j] + 1]):
            if count == len(steps.code):
                return -1
            steps.code[count] = shadow[order.edge_source[e]]
            steps.place[count] = j
            steps.weight[count] = order.edge_weight[e]
            count += 1
    return count


@njit(nogil=True, cache=True)
def _order_steps(order, features, steps):  # type: ignore[no-untyped-def]
    d = len(features)
    if len(order.share) * d > len(steps.code):
        return -1
    count = 0
    for o in range(len(order.share)):
        rank = order.rank[o]
        for i in range(d):
            own, code = rank[features[i]], 0
            for j in range(d):
                code |= np.int64(rank[features[j]] < own) << j
            steps.code[count], steps.place[count], steps.weight[count] = code, i, order.share[o]
            count += 1
    return count
