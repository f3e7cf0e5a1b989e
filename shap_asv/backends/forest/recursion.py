"""Compiled: the hypergeometric recursion, exact in discrete time whatever the shape of the forest.

Instead of a clock, count arrivals. Let beta_v(k) be the expected factor of v's subtree after k arrivals in a uniform
order of that subtree (these are the Bernstein coefficients of f_v). Then

    beta_v(0) = m_v,    beta_v(k) = o_v * beta_F(k - 1)    for the forest F below v,
    beta_{A + B}(k) = sum over j of  C(a, j) C(b, k - j) / C(a + b, k) * beta_A(j) * beta_B(k - j),
    Psi = sum over k < N of  beta(k) / (N - k)             over the forest of all members, of N features,

with features outside of the closure as a part whose beta is 1. All weights are positive and sum to one, so nothing
cancels. One pass of reverse differentiation gives dPsi/dm_v for all v. O(N^2) per lane.

It takes the groups for which a clock would need very many points: large closures with long paths.
"""

from math import lgamma
from typing import Any

import numpy as np

from shap_asv.backends.forest.passes import inner


@inner
def _mixing(a: int, b: int, log_factorial: np.ndarray, mixing: np.ndarray) -> None:
    """mixing[j, l] = C(a, j) C(b, l) / C(a + b, j + l): j of the first j + l arrivals of both are from the first."""
    f = log_factorial
    for j in range(a + 1):
        for i in range(b + 1):
            k = j + i
            mixing[j, i] = np.exp(
                (f[a] - f[j] - f[a - j]) + (f[b] - f[i] - f[b - i]) - (f[a + b] - f[k] - f[a + b - k])
            )
    # the split of k arrivals is a distribution: hold it to that, which removes the rounding of the logarithms
    for k in range(a + b + 1):
        low = k - b if k > b else 0
        high = k if k < a else a
        total = 0.0
        for j in range(low, high + 1):
            total += mixing[j, k - j]
        for j in range(low, high + 1):
            mixing[j, k - j] /= total


@inner
def _join(
    first: np.ndarray, a: int, second: np.ndarray, b: int, mixing: np.ndarray, out: np.ndarray, n_lanes: int
) -> None:
    """beta of a disjoint union; arrays (arrivals, lanes)."""
    for k in range(a + b + 1):
        for lane in range(n_lanes):
            out[k, lane] = 0.0
    for j in range(a + 1):
        for i in range(b + 1):
            w = mixing[j, i]
            for lane in range(n_lanes):
                out[j + i, lane] += w * first[j, lane] * second[i, lane]


@inner
def _join_adjoint(
    by_out: np.ndarray, a: int, second: np.ndarray, b: int, mixing: np.ndarray, by_first: np.ndarray, n_lanes: int
) -> None:
    """Derivative by the first part, for a given derivative by the union."""
    for j in range(a + 1):
        for lane in range(n_lanes):
            by_first[j, lane] = 0.0
        for i in range(b + 1):
            w = mixing[j, i]
            for lane in range(n_lanes):
                by_first[j, lane] += w * second[i, lane] * by_out[j + i, lane]


@inner
def _part(flat: np.ndarray, offset: int, length: int, n_lanes: int) -> np.ndarray:
    return flat[offset : offset + length * n_lanes].reshape(length, n_lanes)


@inner
def recur_members(
    closure: Any, extent: tuple, own: np.ndarray, message: np.ndarray, phi: np.ndarray, n_lanes: int
) -> None:
    """phi of the positions below the top, apart from the factor of the top; like ``attribute_members``."""
    a, first = extent
    # Each member, and each feature with effects in A, owns a sequence of unions: what is outside of A, then one
    # effect after the other. joined[c] = size of the union before effect c; the features of A are numbered 0..a-1,
    # and a stands above the members.
    joined = np.zeros(a + 1, np.int64)
    inside = np.zeros(a + 1, np.int64)
    largest = 0
    sizes = np.zeros(a, np.int64)
    for i in range(first, a):
        sizes[i] = closure.rate[i]
        inside[i] = sizes[i] - 1
    for i in range(first, a):
        u = closure.parent[i] if closure.parent[i] >= first else a
        if u == a:
            inside[a] += sizes[i]
    for u in range(first, a + 1):
        size = inside[u]
        i = first if u == a else u + 1
        stop = a if u == a else u + closure.span[u]
        while i < stop:
            size -= sizes[i]
            i += closure.span[i]
        i = first if u == a else u + 1
        while i < stop:
            joined[i] = size
            size += sizes[i]
            i += closure.span[i]
        if size > largest:
            largest = size
    log_factorial = np.empty(largest + 2)
    for k in range(largest + 2):
        log_factorial[k] = lgamma(k + 1.0)
    # where the arrays of each feature start: beta, the union before it, the mixing of the two, the union inside
    at_beta, at_before = np.zeros(a + 1, np.int64), np.zeros(a + 1, np.int64)
    at_mixing, at_inside = np.zeros(a + 1, np.int64), np.zeros(a + 1, np.int64)
    values, weights = 0, 0
    for i in range(first, a + 1):
        at_inside[i] = values
        values += (inside[i] + 1) * n_lanes
        if i < a:
            at_beta[i] = values
            values += (inside[i] + 2) * n_lanes
            at_before[i] = values
            values += (joined[i] + 1) * n_lanes
            at_mixing[i] = weights
            weights += (joined[i] + 1) * (sizes[i] + 1)
    value, weight, mixings = np.empty(values), np.empty(values), np.empty(weights)

    for step in range(first, a + 1):
        u = a - 1 - (step - first) if step < a else a  # effects before causes, and what stands above last
        i = first if u == a else u + 1
        stop = a if u == a else u + closure.span[u]
        whole = _part(value, at_inside[u], inside[u] + 1, n_lanes)
        outside = whole if i >= stop else _part(value, at_before[i], joined[i] + 1, n_lanes)
        for k in range(len(outside)):
            for lane in range(n_lanes):
                outside[k, lane] = 1.0
        while i < stop:
            size = sizes[i]
            mixing = mixings[at_mixing[i] : at_mixing[i] + (joined[i] + 1) * (size + 1)].reshape(
                joined[i] + 1, size + 1
            )
            _mixing(joined[i], size, log_factorial, mixing)
            c = i + closure.span[i]
            after = whole if c >= stop else _part(value, at_before[c], joined[c] + 1, n_lanes)
            before = _part(value, at_before[i], joined[i] + 1, n_lanes)
            _join(before, joined[i], _part(value, at_beta[i], size + 1, n_lanes), size, mixing, after, n_lanes)
            i = c
        if u < a:
            beta = _part(value, at_beta[u], inside[u] + 2, n_lanes)
            for lane in range(n_lanes):
                beta[0, lane] = message[u, lane]
            for k in range(inside[u] + 1):
                for lane in range(n_lanes):
                    beta[k + 1, lane] = own[u, lane] * whole[k, lane]

    for step in range(first, a + 1):
        u = a if step == first else step - 1
        by_whole = _part(weight, at_inside[u], inside[u] + 1, n_lanes)
        first_effect = first if u == a else u + 1
        stop = a if u == a else u + closure.span[u]
        if u == a:
            for k in range(inside[a] + 1):
                for lane in range(n_lanes):
                    by_whole[k, lane] = 1.0 / (inside[a] - k) if k < inside[a] else 0.0
        else:
            by_beta = _part(weight, at_beta[u], inside[u] + 2, n_lanes)
            for lane in range(n_lanes):
                after = own[u, lane]
                c = first_effect
                while c < stop:
                    after *= message[c, lane]
                    c += closure.span[c]
                phi[u, lane] = closure.rate[u] * (after - message[u, lane]) * by_beta[0, lane]
            for k in range(inside[u] + 1):
                for lane in range(n_lanes):
                    by_whole[k, lane] = own[u, lane] * by_beta[k + 1, lane]
        # undo the joins, last effect first
        i = stop
        by_after = by_whole
        while i > first_effect:
            c = i - 1
            while c != first_effect and closure.parent[c] != closure.parent[first_effect]:
                c = closure.parent[c]
            size = sizes[c]
            mixing = mixings[at_mixing[c] : at_mixing[c] + (joined[c] + 1) * (size + 1)].reshape(
                joined[c] + 1, size + 1
            )
            before = _part(value, at_before[c], joined[c] + 1, n_lanes)
            beta = _part(value, at_beta[c], size + 1, n_lanes)
            by_before = _part(weight, at_before[c], joined[c] + 1, n_lanes)
            _join_adjoint(by_after, joined[c], beta, size, mixing, by_before, n_lanes)
            by_beta = _part(weight, at_beta[c], size + 1, n_lanes)
            _join_adjoint(by_after, size, before, joined[c], mixing.T, by_beta, n_lanes)
            by_after = by_before
            i = c
