"""Compiled code of orders: steps of a random chain, and ``w_D(i, B)`` for sets of features D from any kind of order.

For the latter, each of four entries lists, for one D after the other, the steps ``B -> B + i`` as (code of B, place of
i, weight), codes being bits over the places in D. It returns how many of the sets had room. A step may be listed more
than once where D is large: the sum counts.

Orders in parts. For a part P of the order with n features, m of them in D, and a uniform order of P alone:

- ``a(k, B)`` = chance that exactly B of D are among the first k;
- ``s(k, i, B)`` = chance that i comes next then: it stands at place k, and exactly B of D before it.

Parts *one after the other*: a prefix holds the earlier parts whole and none of the later ones. Parts *side by side* are
shuffled: of the first k, j are of P with hypergeometric chance, and

    a(k, B + C) = sum_j C(p, j) C(q, k - j) / C(p + q, k) a_P(j, B) a_Q(k - j, C)
    s(k, i, B + C) = sum_j C(k, j) C(p + q - k - 1, p - j - 1) / C(p + q, p) s_P(j, i, B) a_Q(k - j, C),   i in P.

A part that cannot be taken apart has its lattice of ideals. ``w_D(i, B) = sum_k s(k, i, B)`` of the whole. All terms
are positive. Features that stand beside everything else in the outermost part change nothing and are left out.
"""

from collections import namedtuple

import numpy as np

from shap_asv.kernels import kernel

# Steps of several sets end to end, from start (sets + 1,) on.
Steps = namedtuple("Steps", "start code place weight")
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
def list_orders_steps(rank, share, sets, steps, cells):  # type: ignore[no-untyped-def]
    """Coalitions counted in listed orders: ``rank`` (orders, n), the positions, and ``share`` (orders,)."""
    count = 0
    for at in range(len(sets.which)):
        begin, end = sets.start[sets.which[at]], sets.start[sets.which[at] + 1]
        d = end - begin
        for i in range(d):
            for o in range(len(share)):
                own, code = rank[o, sets.feature[begin + i]], 0
                for j in range(d):
                    code |= np.int64(rank[o, sets.feature[begin + j]] < own) << j
                if d <= CELL_BITS:
                    cells[code] += share[o]
                elif 0 <= count < len(steps.code):
                    steps.code[count], steps.place[count], steps.weight[count] = code, i, share[o]
                    count += 1
                else:
                    count = -1
            if d <= CELL_BITS:
                count = empty_cells(d, 0, i, cells, steps, count)
            if count < 0:
                return at
        steps.start[at + 1] = count
    return len(sets.which)


@kernel
def empty_cells(d, before, place, cells, steps, count):  # type: ignore[no-untyped-def]
    """List what was added up in ``cells`` (2^d,), and set it to zero; -1 when there is no room.

    The ``before`` places ahead of these d are in.
    """
    for code in range(1 << d):
        if cells[code] > 0.0:
            if 0 <= count < len(steps.code):
                steps.code[count], steps.place[count] = (1 << before) - 1 | code << before, before + place
                steps.weight[count] = cells[code]
                count += 1
            else:
                count = -1
            cells[code] = 0.0
    return count


SINGLE, PARALLEL, SERIES, PRIME = range(4)

# The blocks of an order, each before its parts: kind, size, the ranks begin .. end of its features; outer (is it the
# whole, or one of the parts of the whole that stand one after the other?); its parts, from part_start on.
Parts = namedtuple("Parts", "kind size begin end outer part_start part")
# The lattices of the prime blocks: of block b the ideals from ideal_start[b] on, with their sizes and the chance to be
# passed; of feature v, whether it is in each of them, from member_start[v] on, and its edges, from edge_start[v] on.
Primes = namedtuple("Primes", "ideal_start ideal_size chance member_start member edge_start source weight")
# Room: a and s of all pieces end to end and how much of each is used (2,); where the a and the s of a piece begin, its
# size and its features in D (pieces, 4); logarithms of factorials; the shadows of the ideals of a block on D; cells.
PartsRoom = namedtuple("PartsRoom", "a s used piece log_factorial shadow cells")


@kernel
def list_parts_steps(parts, primes, rank, sets, steps, room):  # type: ignore[no-untyped-def]
    """Features come sorted by ``rank``: those of a block are a run of places. Stops where there is no room."""
    count, n_blocks = np.int64(0), np.int64(len(parts.kind))  # one type from the start: compiled once
    for at in range(len(sets.which)):
        begin, end = sets.start[sets.which[at]], sets.start[sets.which[at] + 1]
        room.used[0] = room.used[1] = 0
        for b in range(n_blocks - 1, -1, -1):
            low = high = np.int64(0)
            for e in range(begin, end):
                low += rank[sets.feature[e]] < parts.begin[b]
                high += rank[sets.feature[e]] < parts.end[b]
            room.piece[b, 2], room.piece[b, 3] = parts.size[b], high - low
            if high == low or (parts.outer[b] and parts.kind[b] == SERIES):
                continue  # nothing to know; or its parts are listed by themselves
            if parts.outer[b] and parts.kind[b] == PRIME:
                count = list_prime(primes, b, sets.feature[begin + low : begin + high], low, steps, count, room)
                if count < 0:
                    return at
                continue
            if parts.kind[b] == PARALLEL:
                done = shuffle_parts(parts, b, room, n_blocks)
            elif not lay_out(room, b):
                done = False
            else:
                done = True
                if parts.kind[b] == SERIES:
                    stack_parts(parts, b, room)
                elif parts.kind[b] == SINGLE:
                    a, s = room.piece[b, 0], room.piece[b, 1]
                    room.a[a] = room.a[a + 3] = room.s[s] = 1.0
                else:
                    project_ideals(parts, primes, b, sets.feature[begin + low : begin + high], room)
            if not done:
                return at
            if parts.outer[b]:
                count = list_outer(room, b, low, steps, count)
                if count < 0:
                    return at
        steps.start[at + 1] = count
    return len(sets.which)


@kernel
def lay_out(room, piece):  # type: ignore[no-untyped-def]
    """Zeros for the a (size + 1, 2^m) and s (size, m, 2^m) of a piece; False when there is no room."""
    size, m = room.piece[piece, 2], room.piece[piece, 3]
    room.piece[piece, 0], room.piece[piece, 1] = room.used[0], room.used[1]
    room.used[0] += (size + 1) << m
    room.used[1] += (size * m) << m
    if room.used[0] > len(room.a) or room.used[1] > len(room.s):
        return False
    for x in range(room.piece[piece, 0], room.used[0]):
        room.a[x] = 0.0
    for x in range(room.piece[piece, 1], room.used[1]):
        room.s[x] = 0.0
    return True


@kernel
def piece_of(room, piece):  # type: ignore[no-untyped-def]
    """Where its a and its s begin, its size, its features in D."""
    return room.piece[piece, 0], room.piece[piece, 1], room.piece[piece, 2], room.piece[piece, 3]


@kernel
def shuffle_parts(parts, block, room, spare):  # type: ignore[no-untyped-def]
    """The parts with features in D one by one, then all others as one; ``spare`` is the first piece that is free."""
    before, others = np.int64(-1), np.int64(0)
    for e in range(parts.part_start[block], parts.part_start[block + 1]):
        p = parts.part[e]
        if room.piece[p, 3] == 0:
            others += room.piece[p, 2]
        elif before < 0:
            before = p
        else:
            into = spare if before != spare else spare + 1
            room.piece[into, 2] = room.piece[before, 2] + room.piece[p, 2]
            room.piece[into, 3] = room.piece[before, 3] + room.piece[p, 3]
            if not lay_out(room, into):
                return False
            shuffle(room, before, p, into)
            before = into
    if others and not parts.outer[block]:
        rest, into = spare + 2, spare if before != spare else spare + 1
        room.piece[rest, 2], room.piece[rest, 3] = others, 0
        room.piece[into, 2], room.piece[into, 3] = room.piece[before, 2] + others, room.piece[before, 3]
        if not lay_out(room, into) or not lay_out(room, rest):
            return False
        for k in range(others + 1):
            room.a[room.piece[rest, 0] + k] = 1.0
        shuffle(room, before, rest, into)
        before = into
    for x in range(4):
        room.piece[block, x] = room.piece[before, x]
    return True


@kernel
def shuffle(room, left, right, into):  # type: ignore[no-untyped-def]
    """Two pieces side by side; the features of the left one have the lower bits."""
    left_a, left_s, p, m = piece_of(room, left)
    right_a, right_s, q, more = piece_of(room, right)
    into_a, into_s, n, both = piece_of(room, into)
    a, s, log = room.a, room.s, room.log_factorial
    for j in range(p + 1):
        for h in range(q + 1):
            k = j + h
            # C(k, j) C(n - k, p - j) / C(n, p), the same as the hypergeometric chance
            chance = log[k] - log[j] - log[h] + log[n - k] - log[p - j] - log[q - h] - log[n] + log[p] + log[q]
            chance = np.exp(chance)
            from_left = chance * (p - j) / max(1, n - k)
            from_right = chance * (q - h) / max(1, n - k)
            for c in range(1 << more):
                high = a[right_a + (h << more) + c]
                for b in range(1 << m):
                    low = a[left_a + (j << m) + b]
                    a[into_a + (k << both) + (c << m) + b] += chance * low * high
                    for i in range(more if h < q else 0):
                        following = s[right_s + ((h * more + i) << more) + c]
                        s[into_s + ((k * both + m + i) << both) + (c << m) + b] += from_right * low * following
                for i in range(m if j < p and high > 0.0 else 0):
                    for b in range(1 << m):
                        following = s[left_s + ((j * m + i) << m) + b]
                        s[into_s + ((k * both + i) << both) + (c << m) + b] += from_left * high * following


@kernel
def stack_parts(parts, block, room):  # type: ignore[no-untyped-def]
    """Parts one after the other, laid out in the piece of the block."""
    into_a, into_s, _, both = piece_of(room, block)
    before = shift = 0
    for e in range(parts.part_start[block], parts.part_start[block + 1]):
        p = parts.part[e]
        from_a, from_s, size, m = piece_of(room, p)
        inside = (1 << shift) - 1
        for k in range(size + 1):
            for b in range(1 << m):
                chance = room.a[from_a + (k << m) + b] if m else 1.0
                room.a[into_a + ((before + k) << both) + (b << shift) + inside] = chance
                for i in range(m if k < size else 0):
                    following = room.s[from_s + ((k * m + i) << m) + b]
                    room.s[into_s + (((before + k) * both + shift + i) << both) + (b << shift) + inside] = following
        before += size
        shift += m


@kernel
def project_ideals(parts, primes, block, features, room):  # type: ignore[no-untyped-def]
    """A prime block: its ideals and edges by their shadows on D."""
    into_a, into_s, _, m = piece_of(room, block)
    first = primes.ideal_start[block]
    n_ideals = find_shadows(primes, block, features, room.shadow)
    for x in range(n_ideals):
        room.a[into_a + (np.int64(primes.ideal_size[first + x]) << m) + room.shadow[x]] += primes.chance[first + x]
    for j in range(m):
        for e in range(primes.edge_start[features[j]], primes.edge_start[features[j] + 1]):
            x = primes.source[e]
            k = np.int64(primes.ideal_size[first + x])
            room.s[into_s + ((k * m + j) << m) + room.shadow[x]] += primes.weight[e]


@kernel
def find_shadows(primes, block, features, shadow):  # type: ignore[no-untyped-def]
    """shadow[x] = which of the features are in ideal x of a prime block, as bits; how many ideals there are."""
    n_ideals = primes.ideal_start[block + 1] - primes.ideal_start[block]
    for x in range(n_ideals):
        shadow[x] = 0
    for j in range(len(features)):
        start = primes.member_start[features[j]]
        for x in range(n_ideals):
            shadow[x] |= np.int64(primes.member[start + x]) << j
    return n_ideals


@kernel
def list_prime(primes, block, features, before, steps, count, room):  # type: ignore[no-untyped-def]
    """Steps of an outer prime block, an edge ``S -> S + i`` by its shadow; -1 when there is no room."""
    find_shadows(primes, block, features, room.shadow)
    m, inside = len(features), (1 << before) - 1
    for j in range(m):
        for e in range(primes.edge_start[features[j]], primes.edge_start[features[j] + 1]):
            code = room.shadow[primes.source[e]]
            if m <= CELL_BITS:
                room.cells[code] += primes.weight[e]
            elif count == len(steps.code):
                return -1
            else:
                steps.code[count], steps.place[count] = inside | code << before, before + j
                steps.weight[count] = primes.weight[e]
                count += 1
        if m <= CELL_BITS:
            count = empty_cells(m, before, j, room.cells, steps, count)
            if count < 0:
                return -1
    return count


@kernel
def list_outer(room, piece, before, steps, count):  # type: ignore[no-untyped-def]
    """Steps of an outer block: all ``before`` places ahead of it are in. -1 when there is no room."""
    _, start, size, m = piece_of(room, piece)
    inside = (1 << before) - 1
    for i in range(m):
        for b in range(1 << m):
            weight = 0.0
            for k in range(size):
                weight += room.s[start + ((k * m + i) << m) + b]
            if weight > 0.0:
                if count == len(steps.code):
                    return -1
                steps.code[count], steps.place[count] = inside | b << before, before + i
                steps.weight[count] = weight
                count += 1
    return count


# --- coupling from the past ------------------------------------------------------------------------------------------


@kernel
def redraw_times(
    bounds: np.ndarray,
    uniforms: np.ndarray,
    cause_starts: np.ndarray,
    causes: np.ndarray,
    effect_starts: np.ndarray,
    effects: np.ndarray,
) -> None:
    """Draw the time of each feature in turn, between its causes and its effects, once per row of ``uniforms``.

    ``bounds`` (n, 2) holds two sets of times; both are drawn with the same ``uniforms`` (sweeps, n). Causes of feature
    v are ``causes[cause_starts[v]:cause_starts[v + 1]]``, and effects likewise.
    """
    for sweep in range(uniforms.shape[0]):
        for v in range(bounds.shape[0]):
            u = uniforms[sweep, v]
            low_after, high_after, low_before, high_before = 0.0, 0.0, 1.0, 1.0
            for j in range(cause_starts[v], cause_starts[v + 1]):
                low_after = max(low_after, bounds[causes[j], 0])
                high_after = max(high_after, bounds[causes[j], 1])
            for j in range(effect_starts[v], effect_starts[v + 1]):
                low_before = min(low_before, bounds[effects[j], 0])
                high_before = min(high_before, bounds[effects[j], 1])
            # rounding may leave the interval of causes and effects, and must not
            bounds[v, 0] = max(low_after, min(low_before, (1.0 - u) * low_after + u * low_before))
            bounds[v, 1] = max(high_after, min(high_before, (1.0 - u) * high_after + u * high_before))
