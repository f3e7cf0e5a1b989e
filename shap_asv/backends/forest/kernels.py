"""Compiled: all groups of terms for a block of rows.

Per group: number the rows by what the group sees (*patterns*), work out each term's messages, collect the patterns
that the term cannot tell apart into one lane, and send the lanes through the passes. Results are added up per pattern,
and only then spread over the rows.
"""

from collections import namedtuple

import numpy as np

from shap_asv.backends.forest.passes import Closure, Dial, chain_occupancy, inner, pass_down, pass_up
from shap_asv.backends.forest.patterns import Patterns, find_patterns
from shap_asv.kernels import kernel

# ForestLayout without what only preparation needs.
Shape = namedtuple("Shape", "parent size card message_offset table table_offset child_base child_offset child_stride")
# TermGroups; the largest value of each term; the clock of each group, or NO_CLOCK, or anything where all is top.
Model = namedtuple("Model", "terms coefficients vectors vector_offset start closure scale clock")
# All clocks laid end to end; local_at, decay_at (clocks, n) say where the size of a position is.
Clocks = namedtuple("Clocks", "n_panels n_points weights weight_offset local decay local_at decay_at")
# Distinct rows of a block: codes and contexts (r, n).
Rows = namedtuple("Rows", "codes contexts")
# A batch of terms of one group. own, message, phi (chunks, a, lanes) for the patterns whose top is alive, end to end;
# runs: (place of the term in the batch, first pattern, chunk, first lane, lanes); factor of the top per run; phi by
# pattern.
Batch = namedtuple("Batch", "own message phi runs factor by_pattern")
# Room to work in, made by Python: code that makes arrays takes its time to compile. message: all messages of a term;
# total (a, k, r): sums by pattern; local_of (n,): places in the closure; count (2,): two numbers found.
Scratch = namedtuple("Scratch", "closure patterns lanes batch message total local_of count")

NO_CLOCK = -2
# An attribution under a panel clock must add up to this, as a share of the term's largest value.
_GAP = 1e-11


@kernel
def explain_groups(
    shape: Shape,
    model: Model,
    clocks: Clocks,
    rows: Rows,
    scratch: Scratch,
    first_group: int,
    last_group: int,
    results: tuple[np.ndarray, np.ndarray],
) -> None:
    """out (n, k, r) += attributions of the groups' terms, with (out, failed) = results.

    A group that has no clock, or one that turns out too coarse, is left out, and noted in ``failed`` (G,).
    """
    n = rows.codes.shape[1]
    k = model.coefficients.shape[1]
    zero = n - n  # a literal would have a type of its own, and compile what it is passed to twice
    closure, patterns, lanes, batch = scratch.closure, scratch.patterns, scratch.lanes, scratch.batch
    message, total, local_of = scratch.message, scratch.total, scratch.local_of
    count = scratch.count
    out, failed = results
    n_lanes = lanes.before.shape[1]
    for g in range(first_group, last_group):
        c = model.clock[g]
        if c == NO_CLOCK:
            failed[g] = True
            continue
        tree, places = (shape.parent, shape.size), (clocks.local_at[c], clocks.decay_at[c])
        read_closure(tree, model.closure[g], places, closure, local_of, count)
        a, n_top = count[0], count[1]
        last_term = model.start[g + 1]
        extent = (a, n_top, model.start[g], last_term)
        functions = (model.terms, model.vectors, model.vector_offset)
        members = (closure.position, closure.children)
        find_patterns(shape.card, functions, members, extent, rows, patterns, count)
        n_tops, n_patterns = count[0], count[1]
        for i in range(a):
            for q in range(k):
                for p in range(n_tops if i < n_top else n_patterns):
                    total[i, q, p] = 0.0
        by_clock = n_top < a
        c = c if by_clock else zero
        weights = clocks.weights[clocks.weight_offset[c] : clocks.weight_offset[c + 1]]
        dial = Dial(
            n_panels=clocks.n_panels[c],
            n_points=clocks.n_points[c],
            weights=weights,
            local=clocks.local,
            decay=clocks.decay,
        )
        if by_clock:
            chain_occupancy(dial, closure, (a, n_top), lanes.path, lanes.front)
        step = n_lanes // n_patterns if n_patterns < n_lanes else 1
        for first in range(model.start[g], last_term, step):
            n_terms = step if first + step <= last_term else last_term - first
            n_runs, chunk, used = zero, zero, zero
            for b in range(n_terms):
                t = first + b
                _send_messages(shape, model, closure, a, t, message)
                for h in range(n_tops):
                    alive = _attribute_top(shape, model, closure, n_top, (t, h), (patterns, message), total)
                    if alive == 0.0 or n_top == a:
                        continue
                    p, stop = patterns.top_start[h], patterns.top_start[h + 1]
                    while p < stop:
                        if used == n_lanes:
                            chunk, used = chunk + 1, zero
                        size = stop - p if stop - p < n_lanes - used else n_lanes - used
                        run = (b, p, chunk, used, size)
                        _fill_run(shape, model, closure, (a, n_top, t), run, (patterns, message), batch)
                        for z in range(5):
                            batch.runs[n_runs, z] = run[z]
                        batch.factor[n_runs] = alive
                        n_runs += 1
                        used += size
                        p += size
            if n_runs == 0:
                continue
            for z in range(chunk + 1):
                # whole vectors: lanes that are not in use hold old numbers
                filled = n_lanes if z < chunk else (used + 15) // 16 * 16
                seen = (batch.own[z], batch.message[z], batch.phi[z])
                pass_up(dial, closure, (a, n_top), seen, lanes, filled)
                pass_down(dial, closure, (a, n_top), seen, lanes, filled)
            if dial.n_panels > 1:
                failed[g] = _efficiency_gap(model, closure, (a, n_top, first), batch, n_runs) > _GAP
                if failed[g]:
                    break
            _collect(model, (a, n_top, first, n_terms), batch, n_runs, n_patterns, total)
        if not failed[g]:
            _spread(closure, (a, n_top), patterns, total, out)


@inner
def _fill_run(
    shape: Shape, model: Model, closure: Closure, extent: tuple, run: tuple, seen: tuple, batch: Batch
) -> None:
    """What the members show to a term, for a run of patterns."""
    a, n_top, t = extent
    _, p, chunk, used, count = run
    patterns, message = seen
    for i in range(n_top, a):
        v = closure.position[i]
        at = model.vector_offset[v] + model.terms[t, v] * shape.card[v]
        to = shape.message_offset[v]
        # slices of their own, so that the compiler sees plain loops from 0
        function = model.vectors[at : at + shape.card[v]]
        received = message[to : shape.message_offset[v + 1]]
        codes, contexts = patterns.codes[i, p : p + count], patterns.contexts[i, p : p + count]
        own, met = batch.own[chunk, i, used : used + count], batch.message[chunk, i, used : used + count]
        for lane in range(count):
            own[lane] = function[codes[lane]]
        for lane in range(count):
            met[lane] = received[contexts[lane]]


@inner
def _collect(model: Model, extent: tuple, batch: Batch, n_runs: int, n_patterns: int, total: np.ndarray) -> None:
    """total[i, output, pattern] += sum over terms of coefficient * factor of the top * phi."""
    runs = batch.runs
    a, n_top, first, n_terms = extent
    by_pattern = batch.by_pattern
    for i in range(n_top, a):
        run = 0
        for b in range(n_terms):
            for p in range(n_patterns):
                by_pattern[p] = 0.0
            while run < n_runs and runs[run, 0] == b:
                p, chunk = runs[run, 1], runs[run, 2]
                used, count = runs[run, 3], runs[run, 4]
                part, phi = by_pattern[p : p + count], batch.phi[chunk, i, used : used + count]
                f = batch.factor[run]
                for lane in range(count):
                    part[lane] = f * phi[lane]
                run += 1
            for q in range(model.coefficients.shape[1]):
                c = model.coefficients[first + b, q]
                for p in range(n_patterns):
                    total[i, q, p] += c * by_pattern[p]


@inner
def _efficiency_gap(model: Model, closure: Closure, extent: tuple, batch: Batch, n_runs: int) -> float:
    """Largest |sum of phi - (factors at the row - their expectation)| / scale over a batch, below the top."""
    runs, own, message, phi = batch.runs, batch.own, batch.message, batch.phi
    a, n_top, first = extent
    worst = 0.0
    for run in range(n_runs):
        b, chunk = runs[run, 0], runs[run, 2]
        used, count = runs[run, 3], runs[run, 4]
        for lane in range(used, used + count):
            gap, end, begin = 0.0, 1.0, 1.0
            for i in range(n_top, a):
                gap += phi[chunk, i, lane]
                end *= own[chunk, i, lane]
            i = n_top
            while i < a:
                begin *= message[chunk, i, lane]
                i += closure.span[i]
            gap = abs(gap - end + begin) / model.scale[first + b]
            if gap > worst:
                worst = gap
    return worst


@inner
def _spread(closure: Closure, extent: tuple, patterns: Patterns, total: np.ndarray, out: np.ndarray) -> None:
    """Add the totals of each top and of each pattern to its rows."""
    a, n_top = extent
    for i in range(a):
        v = closure.position[i]
        number = patterns.top if i < n_top else patterns.of_row
        for q in range(out.shape[1]):
            for r in range(out.shape[2]):
                out[v, q, r] += total[i, q, number[r]]


@inner
def read_closure(
    tree: tuple, members: np.ndarray, places: tuple, closure: Closure, local_of: np.ndarray, count: np.ndarray
) -> None:
    """Local numbers, spans, roles of a closure; count (2,) = its size, and the number of features in its top.

    tree = (parent, size) of all features; places = where the clock has the sizes of their subtrees.
    """
    parent_of, size_of = tree
    local_at, decay_at = places
    position, parent, span, children = closure.position, closure.parent, closure.span, closure.children
    slot, chain, rate = closure.slot, closure.chain, closure.rate
    a = 0
    roots = 0
    for v in range(len(members)):
        if members[v]:
            local_of[v] = a
            position[a] = v
            rate[a] = size_of[v]
            parent[a] = local_of[parent_of[v]] if parent_of[v] >= 0 else -1
            roots += parent[a] < 0
            span[a] = 1
            children[a] = 0
            chain[a] = True
            a += 1
    for i in range(a - 1, -1, -1):
        u = parent[i]
        if u >= 0:
            span[u] += span[i]
            children[u] += 1
            if children[u] > 1 or not chain[i]:
                chain[u] = False
    n_top = 0
    if roots == 1:
        while children[n_top] == 1:
            n_top += 1
        n_top += 1
    slots = 0
    for i in range(n_top, a):
        u = parent[i]
        inside_chain = chain[i] and u >= n_top and chain[u]
        slot[i] = -1 if inside_chain else slots
        slots += not inside_chain
        closure.local[i] = local_at[position[i]]
        closure.decay[i] = decay_at[position[i]]
    count[0], count[1] = a, n_top


@inner
def _send_messages(shape: Shape, model: Model, closure: Closure, a: int, t: int, message: np.ndarray) -> None:
    """message_v(context) = sum over x of P(x | context) g_v(x) * product of the messages of v's effects in A."""
    message_offset, child_base = shape.message_offset, shape.child_base
    child_offset, child_stride = shape.child_offset, shape.child_stride
    position, span = closure.position, closure.span
    for i in range(a - 1, -1, -1):
        v = position[i]
        card = shape.card[v]
        to = message_offset[v]
        at = model.vector_offset[v] + model.terms[t, v] * card
        stop = i + span[i]
        for s in range(message_offset[v + 1] - to):
            conditional = shape.table_offset[v] + s * card
            total = 0.0
            for x in range(card):
                term = model.vectors[at + x]
                if term != 0.0:
                    term *= shape.table[conditional + x]
                    c = i + 1
                    while c < stop:
                        w = position[c]
                        index = child_base[child_offset[w] + s] + x * child_stride[w]
                        term *= message[message_offset[w] + index]
                        c += span[c]
                    total += term
            message[to + s] = total


@inner
def _attribute_top(
    shape: Shape, model: Model, closure: Closure, n_top: int, where: tuple, seen: tuple, total: np.ndarray
) -> float:
    """Attributions of the top, which arrives in a fixed order; returns the product of its own functions."""
    position, span = closure.position, closure.span
    t, h = where
    patterns, message = seen
    p = patterns.top_start[h]
    alive = 1.0
    for i in range(n_top):
        v = position[i]
        own = model.vectors[model.vector_offset[v] + model.terms[t, v] * shape.card[v] + patterns.codes[i, p]]
        after = own
        c = i + 1
        while c < i + span[i]:
            w = position[c]
            after *= message[shape.message_offset[w] + patterns.contexts[c, p]]
            c += span[c]
        phi = alive * (after - message[shape.message_offset[v] + patterns.contexts[i, p]])
        for q in range(model.coefficients.shape[1]):
            total[i, q, h] += phi * model.coefficients[t, q]
        alive *= own
        if alive == 0.0:
            break
    return alive
