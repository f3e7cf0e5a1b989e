"""Compiled: all groups of terms for a block of rows.

Per group: number the rows by what the group sees (*patterns*), work out each term's messages, collect the patterns
that the term cannot tell apart into one lane, and send the lanes through the passes. Results are added up per pattern,
and only then spread over the rows.

The passes go up and down the closure of a group for many (term, pattern) pairs at a time. Pairs are lanes: every inner
loop runs over them, so that the compiler can vectorise it. Functions of time are arrays (points, lanes).
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
# of_row, top (r,): pattern and top of each row. example (P,): a row of each pattern. top_start (H + 1,): patterns by
# top. codes, contexts (a, P): what each pattern shows. table: scratch.
Patterns = namedtuple("Patterns", "of_row top example top_start codes contexts table")
# ForestLayout without what only preparation needs.
Shape = namedtuple("Shape", "parent size card message_offset table table_offset child_index child_offset")
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
        find_patterns(shape.card, closure.position, (a, n_top), rows, patterns, count)
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
    message_offset, child_index, child_offset = shape.message_offset, shape.child_index, shape.child_offset
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
                        term *= message[message_offset[w] + child_index[child_offset[w] + s * card + x]]
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


# --- rows that look the same ------------------------------------------------------------------------------------------


@inner
def find_patterns(
    card: np.ndarray, position: np.ndarray, extent: tuple, rows: Rows, patterns: Patterns, count: np.ndarray
) -> None:
    """Number the rows by refinement: one class at first, split by the state of one feature after the other.

    Rows with the same state of the top get neighbouring numbers. extent = (size of A, size of its top),
    count (2,) = numbers of tops and of patterns.
    """
    codes = rows.codes
    a, n_top = extent
    n_rows = len(codes)
    of_row, example, table = patterns.of_row, patterns.example, patterns.table
    top_of = patterns.top
    n_patterns, n_tops = 1, 1
    for r in range(n_rows):
        of_row[r] = 0
        top_of[r] = 0
    for i in range(a):
        v, width = position[i], card[position[i]]
        if width > 1:
            for z in range(n_patterns * width):
                table[z] = -1
            found = 0
            for r in range(n_rows):
                z = of_row[r] * width + codes[r, v]
                if table[z] < 0:
                    table[z] = found
                    found += 1
                of_row[r] = table[z]
            n_patterns = found
        if i == n_top - 1:
            n_tops = n_patterns
            for r in range(n_rows):
                top_of[r] = of_row[r]
    # renumber the patterns by their top
    top_start = patterns.top_start
    for h in range(n_tops + 1):
        top_start[h] = 0
    for p in range(n_patterns):
        example[p] = -1
    for r in range(n_rows):
        if example[of_row[r]] < 0:
            example[of_row[r]] = r
            top_start[top_of[r] + 1] += 1
    for h in range(n_tops):
        top_start[h + 1] += top_start[h]
    for p in range(n_patterns):
        h = top_of[example[p]]
        table[p] = top_start[h]
        top_start[h] += 1
    for h in range(n_tops, 0, -1):
        top_start[h] = top_start[h - 1]
    top_start[0] = 0
    for r in range(n_rows):
        of_row[r] = table[of_row[r]]
    for r in range(n_rows - 1, -1, -1):
        example[of_row[r]] = r
    for i in range(a):
        v = position[i]
        for p in range(n_patterns):
            patterns.codes[i, p] = codes[example[p], v]
            patterns.contexts[i, p] = rows.contexts[example[p], v]
    count[0], count[1] = n_tops, n_patterns


# --- passes -----------------------------------------------------------------------------------------------------------


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
