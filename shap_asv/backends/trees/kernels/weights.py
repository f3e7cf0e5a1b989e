"""Compiled: ``w_D(i, B)`` for sets of features D, from any kind of order. Importing this module imports numba.

Each function lists, for one D after the other, the steps ``B -> B + i`` as (code of B, place of i, weight), codes being
bits over the places in D. It returns how many of the sets had room. A step may be listed more than once where D is
large: the sum counts.
"""

from collections import namedtuple

import numpy as np

from shap_asv.kernels import kernel

# Steps of several sets end to end, from start (sets + 1,) on.
Steps = namedtuple("Steps", "start code place weight")
# The sets: features (.,) from start (leaves + 1,) on, for the leaves which (sets,).
Sets = namedtuple("Sets", "start feature which")
#: Places up to which equal steps are added up in cells (2^d per place) before they are listed.
CELL_BITS = 12


@kernel
def list_levels_steps(level, sets, steps):  # type: ignore[no-untyped-def]
    """Features come sorted by level: a level is a run of places, and what precedes it is all in."""
    count = 0
    for at in range(len(sets.which)):
        begin, end = sets.start[sets.which[at]], sets.start[sets.which[at] + 1]
        first = begin
        while first < end:
            last = first + 1
            while last < end and level[sets.feature[last]] == level[sets.feature[first]]:
                last += 1
            m = last - first
            if count + m * (1 << (m - 1)) > len(steps.code):
                return at
            before = (1 << (first - begin)) - 1
            for inside in range((1 << m) - 1):
                size = 0
                for j in range(m):
                    size += (inside >> j) & 1
                weight = 1.0 / m  # size! (m - size - 1)! / m!
                for s in range(1, size + 1):
                    weight *= s / (m - s)
                for j in range(m):
                    if not (inside >> j) & 1:
                        steps.code[count] = before | inside << (first - begin)
                        steps.place[count] = first - begin + j
                        steps.weight[count] = weight
                        count += 1
            first = last
        steps.start[at + 1] = count
    return len(sets.which)


# What a walk over the ideals of a forest needs: the forest (parent, size, topological: (n,)), per feature its place and
# its number in the closure, members of the closure, and per ideal its bits, its shadow on D and its chance.
Walk = namedtuple("Walk", "parent size topological place number member ideal shadow chance")


@kernel
def list_forest_steps(walk, sets, steps, widest):  # type: ignore[no-untyped-def]
    """The jump chain over the ideals of D and its ancestors: next is v with probability size_v / sum of available.

    Stops at a set with more than ``widest`` features with their ancestors, or more ideals than there is room for.
    """
    n, listed = len(walk.parent), 0
    for at in range(len(sets.which)):
        begin, end = sets.start[sets.which[at]], sets.start[sets.which[at] + 1]
        size = close_downwards(walk, sets.feature, begin, end)
        count = list_ideals(walk, n) if size <= widest else 0
        if count == 0:
            return at
        for s in range(1, count):
            walk.chance[s] = 0.0
        walk.chance[0] = 1.0
        for s in range(count):
            ideal = walk.ideal[s]
            total = 0.0
            for a in range(size):
                v = walk.member[a]
                if not (ideal >> a) & 1 and (walk.parent[v] < 0 or (ideal >> walk.number[walk.parent[v]]) & 1):
                    total += walk.size[v]
            for a in range(size):
                v = walk.member[a]
                if (ideal >> a) & 1 or (walk.parent[v] >= 0 and not (ideal >> walk.number[walk.parent[v]]) & 1):
                    continue
                passing = walk.chance[s] * walk.size[v] / total
                low, high, target = s, count - 1, ideal | (1 << a)
                while low < high:  # ideals are listed in ascending order
                    middle = (low + high) // 2
                    if walk.ideal[middle] < target:
                        low = middle + 1
                    else:
                        high = middle
                walk.chance[low] += passing
                if walk.place[v] >= 0:
                    if listed == len(steps.code):
                        return at
                    steps.code[listed], steps.place[listed] = walk.shadow[s], walk.place[v]
                    steps.weight[listed] = passing
                    listed += 1
        steps.start[at + 1] = listed
    return len(sets.which)


@kernel
def close_downwards(walk, feature, begin, end):  # type: ignore[no-untyped-def]
    """place: -2 not needed, -1 an ancestor, else the place in D; number and member: the closure, causes first."""
    for v in range(len(walk.place)):
        walk.place[v] = -2
    for e in range(begin, end):
        at = walk.parent[feature[e]]
        while at >= 0 and walk.place[at] == -2:
            walk.place[at] = -1
            at = walk.parent[at]
    for e in range(begin, end):
        walk.place[feature[e]] = e - begin
    size = 0
    for v in walk.topological:
        if walk.place[v] > -2:
            walk.number[v] = size
            walk.member[size] = v
            size += 1
    return size


@kernel
def list_ideals(walk, n):  # type: ignore[no-untyped-def]
    """Ideals of the closure as bits, ascending, and their shadows on D; how many, 0 when there is no room."""
    count = 1
    walk.ideal[0], walk.shadow[0] = 0, 0
    for v in walk.topological:
        if walk.place[v] == -2:
            continue
        listed = count
        for s in range(listed):  # with the new feature on top the list stays sorted
            if walk.parent[v] < 0 or (walk.ideal[s] >> walk.number[walk.parent[v]]) & 1:
                if count == len(walk.ideal):
                    return 0
                walk.ideal[count] = walk.ideal[s] | (1 << walk.number[v])
                walk.shadow[count] = walk.shadow[s]
                if walk.place[v] >= 0:
                    walk.shadow[count] |= 1 << walk.place[v]
                count += 1
    return count


@kernel
def list_lattice_steps(order, sets, steps, shadow, cells):  # type: ignore[no-untyped-def]
    """The shadow of an edge S -> S + i is S & D -> (S & D) + i; edges outside of D do not move."""
    count = 0
    for at in range(len(sets.which)):
        begin, end = sets.start[sets.which[at]], sets.start[sets.which[at] + 1]
        d = end - begin
        for s in range(len(shadow)):
            shadow[s] = 0
        for j in range(d):
            member = order.member[sets.feature[begin + j]]
            for s in range(len(shadow)):
                shadow[s] |= np.int64(member[s]) << j
        for j in range(d):
            first, last = order.edge_start[sets.feature[begin + j]], order.edge_start[sets.feature[begin + j] + 1]
            if d <= CELL_BITS:
                for e in range(first, last):
                    cells[shadow[order.edge_source[e]]] += order.edge_weight[e]
                count = empty_cells(d, j, cells, steps, count)
            else:
                for e in range(first, last):
                    if 0 <= count < len(steps.code):
                        steps.code[count], steps.place[count] = shadow[order.edge_source[e]], j
                        steps.weight[count] = order.edge_weight[e]
                    count = count + 1 if 0 <= count < len(steps.code) else -1
            if count < 0:
                return at
        steps.start[at + 1] = count
    return len(sets.which)


@kernel
def list_orders_steps(order, sets, steps, shadow, cells):  # type: ignore[no-untyped-def]
    """Patterns counted in listed orders: ``rank`` (orders, n) and ``share`` (orders,). ``shadow`` is not used."""
    count = 0
    for at in range(len(sets.which)):
        begin, end = sets.start[sets.which[at]], sets.start[sets.which[at] + 1]
        d = end - begin
        for i in range(d):
            for o in range(len(order.share)):
                own, code = order.rank[o, sets.feature[begin + i]], 0
                for j in range(d):
                    code |= np.int64(order.rank[o, sets.feature[begin + j]] < own) << j
                if d <= CELL_BITS:
                    cells[code] += order.share[o]
                elif 0 <= count < len(steps.code):
                    steps.code[count], steps.place[count], steps.weight[count] = code, i, order.share[o]
                    count += 1
                else:
                    count = -1
            if d <= CELL_BITS:
                count = empty_cells(d, i, cells, steps, count)
            if count < 0:
                return at
        steps.start[at + 1] = count
    return len(sets.which)


@kernel
def empty_cells(d, place, cells, steps, count):  # type: ignore[no-untyped-def]
    """List what was added up in ``cells`` (2^d,), and set it to zero; -1 when there is no room."""
    for code in range(1 << d):
        if cells[code] > 0.0:
            if 0 <= count < len(steps.code):
                steps.code[count], steps.place[count], steps.weight[count] = code, place, cells[code]
                count += 1
            else:
                count = -1
            cells[code] = 0.0
    return count
