"""Compiled: the passes up and down the closure of one group, for many (term, row pattern) pairs at a time.

Pairs are lanes: every inner loop runs over them, so that the compiler can vectorise it. Functions of time are arrays
(points, lanes).
"""

from collections import namedtuple

import numpy as np

from shap_asv.kernels import kernel

# Called by other kernels only, by name or apart: no entry from Python.
inner = kernel(no_cpython_wrapper=True)

# The closure of a group in local preorder numbers 0 .. a-1. span = features of A in the subtree; slot = row of the
# functions of time held for a position (-1 within a chain); local, decay = where its subtree size is in the clock.
Closure = namedtuple("Closure", "position parent span children rate slot chain local decay")
# One clock, flat: sizes of the panels are n_panels x n_points.
Dial = namedtuple("Dial", "n_panels n_points weights local decay")
# before (a, lanes): product of own functions above, within a chain. path (a, points): where the front of a chain is.
# value, weight (slots, points, lanes). less (a, lanes), inside, scratch (points, lanes) and carry (2, lanes): scratch.
# front (2, points + 1): scratch of chain_occupancy.
Lanes = namedtuple("Lanes", "before less path value weight inside scratch carry front")


@inner
def _combine(
    numbers: np.ndarray, start: int, stride: int, source: np.ndarray, first: int, p: int, out: np.ndarray, n_lanes: int
) -> None:
    """out[lane] = sum over k < p of numbers[start + k * stride] * source[first + k, lane].

    Four at a time, so that few of the operations are loads and stores of the sum. Callers pass no literals: each would
    have a type of its own, and compile all of this again.
    """
    c0 = numbers[start]
    for lane in range(n_lanes):
        out[lane] = c0 * source[first, lane]
    k = 1
    while k + 3 < p:
        c0, c1 = numbers[start + k * stride], numbers[start + (k + 1) * stride]
        c2, c3 = numbers[start + (k + 2) * stride], numbers[start + (k + 3) * stride]
        for lane in range(n_lanes):
            out[lane] += (c0 * source[first + k, lane] + c1 * source[first + k + 1, lane]) + (
                c2 * source[first + k + 2, lane] + c3 * source[first + k + 3, lane]
            )
        k += 4
    while k < p:
        c0 = numbers[start + k * stride]
        for lane in range(n_lanes):
            out[lane] += c0 * source[first + k, lane]
        k += 1


@inner
def chain_occupancy(dial: Dial, closure: Closure, extent: tuple, path: np.ndarray, front: np.ndarray) -> None:
    """path[i] = probability, at each point, that the front of a chain stands at i; chains below the top.

    Down a chain c, ..., h, i: P(front at i) = (rate of h / rate of i) * K_i P(front at h), as delays commute.
    """
    chain, slot, rate = closure.chain, closure.slot, closure.rate
    a, first = extent
    p = dial.n_points
    n = dial.n_panels * dial.n_points
    source, ends = front[0], front[1]
    for i in range(first, a):
        if not chain[i]:
            continue
        starts = slot[i] >= 0
        for q in range(n):
            source[q] = 0.0 if starts else path[i - 1, q] * (rate[i - 1] / rate[i])
        before = 1.0 if starts else 0.0
        local, decay = closure.local[i], closure.decay[i]
        for j in range(dial.n_panels):
            for z in range(p + 1):
                ends[z] = before * dial.decay[decay + z]
            for k in range(p):
                c = source[j * p + k]
                column = dial.local[local + k * (p + 1) : local + (k + 1) * (p + 1)]
                for z in range(p + 1):
                    ends[z] += c * column[z]
            for z in range(p):
                path[i, j * p + z] = ends[z]
            before = ends[p]
            local += p * (p + 1)
            decay += p + 1


@inner
def _copy(target: np.ndarray, source: np.ndarray, n: int, n_lanes: int) -> None:
    for q in range(n):
        for lane in range(n_lanes):
            target[q, lane] = source[q, lane]


@inner
def _multiply(target: np.ndarray, factor: np.ndarray, n: int, n_lanes: int) -> None:
    for q in range(n):
        for lane in range(n_lanes):
            target[q, lane] *= factor[q, lane]


@inner
def _multiply_others(
    closure: Closure, first: int, stop: int, base: np.ndarray, lanes: Lanes, n: int, n_lanes: int
) -> None:
    """weight[c] = base * product of value[d] over the siblings d of c, for the siblings first, ..., before stop."""
    running = lanes.scratch
    value, weight = lanes.value, lanes.weight
    parent, span, slot = closure.parent, closure.span, closure.slot
    _copy(running, base, n, n_lanes)
    last, i = first, first
    while i < stop:
        _copy(weight[slot[i]], running, n, n_lanes)
        _multiply(running, value[slot[i]], n, n_lanes)
        last = i
        i += span[i]
    if last == first:
        return
    _copy(running, value[slot[last]], n, n_lanes)
    i = last
    while i != first:
        # the sibling before i: its subtree ends where i starts
        j = i - 1
        while parent[j] != parent[i]:
            j = parent[j]
        i = j
        _multiply(weight[slot[i]], running, n, n_lanes)
        _multiply(running, value[slot[i]], n, n_lanes)


@inner
def pass_up(dial: Dial, closure: Closure, extent: tuple, seen: tuple, lanes: Lanes, n_lanes: int) -> None:
    """value = expected product of a subtree below the top, by the time since its parent arrived."""
    a, first = extent
    own, message, _ = seen
    span, slot = closure.span, closure.slot
    before, less, path = lanes.before, lanes.less, lanes.path
    value, inside, carry = lanes.value, lanes.inside, lanes.carry
    p = dial.n_points
    n = dial.n_panels * p
    for i in range(a - 1, first - 1, -1):
        s = slot[i]
        stop = i + span[i]
        if s < 0:
            continue
        if closure.chain[i]:
            # past all of it, corrected by the probability that the front stands at one of its features
            past = carry[0]
            for lane in range(n_lanes):
                past[lane] = 1.0
            for j in range(i, stop):
                for lane in range(n_lanes):
                    before[j, lane] = past[lane]
                    past[lane] *= own[j, lane]
            for j in range(i, stop):
                for lane in range(n_lanes):
                    less[j, lane] = before[j, lane] * message[j, lane] - past[lane]
            for q in range(n):
                for lane in range(n_lanes):
                    value[s, q, lane] = past[lane]
            j = i
            if (stop - i) % 2:
                for q in range(n):
                    h = path[j, q]
                    for lane in range(n_lanes):
                        value[s, q, lane] += h * less[j, lane]
                j += 1
            while j < stop:
                for q in range(n):
                    h, h1 = path[j, q], path[j + 1, q]
                    for lane in range(n_lanes):
                        value[s, q, lane] += h * less[j, lane] + h1 * less[j + 1, lane]
                j += 2
            continue
        # the closure branches below: inside = product of the effects, since it arrived
        c = i + 1
        _copy(inside, value[slot[c]], n, n_lanes)
        c += span[c]
        while c < stop:
            _multiply(inside, value[slot[c]], n, n_lanes)
            c += span[c]
        # value = message * y**s + own * K_s inside
        out = value[s]
        local, decay = closure.local[i], closure.decay[i]
        for lane in range(n_lanes):
            carry[0, lane] = message[i, lane]
        for j in range(dial.n_panels):
            base = j * p
            for z in range(p):
                d = dial.decay[decay + z]
                _combine(dial.local, local + z, p + 1, inside, base, p, out[base + z], n_lanes)
                for lane in range(n_lanes):
                    out[base + z, lane] = out[base + z, lane] * own[i, lane] + d * carry[0, lane]
            if j + 1 < dial.n_panels:
                d = dial.decay[decay + p]
                _combine(dial.local, local + p, p + 1, inside, base, p, carry[1], n_lanes)
                for lane in range(n_lanes):
                    carry[0, lane] = carry[1, lane] * own[i, lane] + d * carry[0, lane]
            local += p * (p + 1)
            decay += p + 1


@inner
def pass_down(dial: Dial, closure: Closure, extent: tuple, seen: tuple, lanes: Lanes, n_lanes: int) -> None:
    """phi of all below the top, apart from the factor of the top; weight = expected product of everything else."""
    a, first = extent
    own, message, phi = seen
    span, slot = closure.span, closure.slot
    before, inside, carry = lanes.before, lanes.inside, lanes.carry
    p = dial.n_points
    n = dial.n_panels * p
    zero = p - p
    one = zero + 1
    for q in range(n):
        for lane in range(n_lanes):
            inside[q, lane] = dial.weights[q]
    _multiply_others(closure, first, a, inside, lanes, n, n_lanes)
    for i in range(first, a):
        stop = i + span[i]
        if slot[i] < 0:
            continue
        weight = lanes.weight[slot[i]]
        if closure.chain[i]:
            for j in range(i, stop):
                _combine(lanes.path[j], zero, one, weight, zero, n, phi[j], n_lanes)
                rate = closure.rate[j]
                if j + 1 < stop:
                    for lane in range(n_lanes):
                        gain = own[j, lane] * message[j + 1, lane] - message[j, lane]
                        phi[j, lane] *= rate * before[j, lane] * gain
                else:
                    for lane in range(n_lanes):
                        phi[j, lane] *= rate * before[j, lane] * (own[j, lane] - message[j, lane])
            continue
        # inside = own * K_s' weight, the derivative by the product of the effects; that by the message is in carry[0]
        for lane in range(n_lanes):
            carry[0, lane] = 0.0
        for j in range(dial.n_panels - 1, -1, -1):
            base = j * p
            local = closure.local[i] + j * p * (p + 1)
            decay = closure.decay[i] + j * (p + 1)
            for z in range(p):
                _combine(dial.local, local + z * (p + 1), one, weight, base, p, inside[base + z], n_lanes)
                c = dial.local[local + z * (p + 1) + p]
                for lane in range(n_lanes):
                    inside[base + z, lane] = own[i, lane] * (inside[base + z, lane] + c * carry[0, lane])
            d = dial.decay[decay + p]
            _combine(dial.decay, decay, one, weight, base, p, carry[1], n_lanes)
            for lane in range(n_lanes):
                carry[0, lane] = carry[1, lane] + d * carry[0, lane]
        for lane in range(n_lanes):
            carry[1, lane] = own[i, lane]
        effect = i + 1
        while effect < stop:
            for lane in range(n_lanes):
                carry[1, lane] *= message[effect, lane]
            effect += span[effect]
        for lane in range(n_lanes):
            phi[i, lane] = closure.rate[i] * carry[0, lane] * (carry[1, lane] - message[i, lane])
        _multiply_others(closure, i + 1, stop, inside, lanes, n, n_lanes)
