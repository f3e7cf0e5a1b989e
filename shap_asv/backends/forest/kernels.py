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
# functions of time held for a position (-1 within a chain); arrival = where the matrix of its subtree size starts.
Closure = namedtuple("Closure", "position parent span children rate slot chain arrival")
# One clock, flat.
Dial = namedtuple("Dial", "n_points points weights arrivals")
# before (a, lanes): product of own functions above, within a chain. path (a, points): where the front of a chain is.
# value, weight (slots, points, lanes). less (a, lanes), inside, scratch (points, lanes) and carry (2, lanes): scratch.
Lanes = namedtuple("Lanes", "before less path value weight inside scratch carry")
# of_row, top (r,): pattern and top of each row. example (P,): a row of each pattern. top_start (H + 1,): patterns by
# top. codes, contexts (a, P): states of a feature and of its parent in each pattern. table: scratch.
Patterns = namedtuple("Patterns", "of_row top example top_start codes contexts table")
# ForestLayout without what only preparation needs.
Shape = namedtuple("Shape", "parent size card message_offset table table_offset")
# TermGroups; the clock of each group, anything where all is top.
Model = namedtuple("Model", "terms coefficients vectors vector_offset start closure clock")
# All clocks laid end to end; arrival_at (clocks, n) says where the matrix of a position's subtree size starts.
Clocks = namedtuple("Clocks", "n_points points weights offset arrivals arrival_at")
# A batch of terms of one group. own, message, phi (chunks, a, lanes) for the patterns whose top is alive, end to end;
# runs: (place of the term in the batch, first pattern, chunk, first lane, lanes); factor of the top per run; phi by
# pattern.
Batch = namedtuple("Batch", "own message phi runs factor by_pattern")
# Room to work in, made by Python: code that makes arrays takes its time to compile. message: all messages of a term;
# total (a, k, r): sums by pattern; local_of (n,): places in the closure; count (2,): two numbers found.
Scratch = namedtuple("Scratch", "closure patterns lanes batch message total local_of count")


@kernel
def explain_groups(
    shape: Shape,
    model: Model,
    clocks: Clocks,
    codes: np.ndarray,
    scratch: Scratch,
    first_group: int,
    last_group: int,
    out: np.ndarray,
) -> None:
    """out (n, k, r) += attributions of the groups' terms for distinct rows of ``codes`` (r, n)."""
    n = codes.shape[1]
    k = model.coefficients.shape[1]
    zero = n - n  # a literal would have a type of its own, and compile what it is passed to twice
    closure, patterns, lanes, batch = scratch.closure, scratch.patterns, scratch.lanes, scratch.batch
    message, total, local_of = scratch.message, scratch.total, scratch.local_of
    count = scratch.count
    n_lanes = lanes.before.shape[1]
    for g in range(first_group, last_group):
        c = max(model.clock[g], zero)
        tree = (shape.parent, shape.size)
        read_closure(tree, model.closure[g], clocks.arrival_at[c], closure, local_of, count)
        a, n_top = count[0], count[1]
        last_term = model.start[g + 1]
        find_patterns(shape, closure.position, (a, n_top), codes, patterns, count)
        n_tops, n_patterns = count[0], count[1]
        for i in range(a):
            for q in range(k):
                for p in range(n_tops if i < n_top else n_patterns):
                    total[i, q, p] = 0.0
        begin, end = clocks.offset[c], clocks.offset[c + 1]
        dial = Dial(
            n_points=clocks.n_points[c],
            points=clocks.points[begin:end],
            weights=clocks.weights[begin:end],
            arrivals=clocks.arrivals,
        )
        if n_top < a:
            chain_occupancy(dial, closure, (a, n_top), lanes.path)
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
            _collect(model, (a, n_top, first, n_terms), batch, n_runs, n_patterns, total)
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
    tree: tuple, members: np.ndarray, arrival_at: np.ndarray, closure: Closure, local_of: np.ndarray, count: np.ndarray
) -> None:
    """Local numbers, spans, roles of a closure; count (2,) = its size, and the number of features in its top.

    tree = (parent, size) of all features; arrival_at (n,) = where the clock has the matrices of their subtree sizes.
    """
    parent_of, size_of = tree
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
        closure.arrival[i] = arrival_at[position[i]]
    count[0], count[1] = a, n_top


@inner
def _send_messages(shape: Shape, model: Model, closure: Closure, a: int, t: int, message: np.ndarray) -> None:
    """message_v(s) = sum over x of P(x | s) g_v(x) * product of the messages of v's effects in A, s of the parent."""
    message_offset = shape.message_offset
    position, span = closure.position, closure.span
    for i in range(a - 1, -1, -1):
        v = position[i]
        card = shape.card[v]
        sent = message[message_offset[v] : message_offset[v + 1]]
        at = model.vector_offset[v] + model.terms[t, v] * card
        for s in range(len(sent)):
            sent[s] = 0.0
        for x in range(card):
            below = model.vectors[at + x]
            if below != 0.0:
                c = i + 1
                while c < i + span[i]:
                    below *= message[message_offset[position[c]] + x]
                    c += span[c]
                for s in range(len(sent)):
                    sent[s] += below * shape.table[shape.table_offset[v] + s * card + x]


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
    shape: Shape, position: np.ndarray, extent: tuple, codes: np.ndarray, patterns: Patterns, count: np.ndarray
) -> None:
    """Number the rows by refinement: one class at first, split by the state of one feature after the other.

    Rows with the same state of the top get neighbouring numbers. extent = (size of A, size of its top),
    count (2,) = numbers of tops and of patterns.
    """
    card, parent = shape.card, shape.parent
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
            patterns.contexts[i, p] = codes[example[p], parent[v]] if parent[v] >= 0 else 0
    count[0], count[1] = n_tops, n_patterns


# --- passes -----------------------------------------------------------------------------------------------------------


@inner
def _combine(
    numbers: np.ndarray, start: int, stride: int, source: np.ndarray, n: int, out: np.ndarray, n_lanes: int
) -> None:
    """out[lane] = sum over k < n of numbers[start + k * stride] * source[k, lane].

    Four at a time, so that few of the operations are loads and stores of the sum. Callers pass no literals: each would
    have a type of its own, and compile all of this again.
    """
    c0 = numbers[start]
    for lane in range(n_lanes):
        out[lane] = c0 * source[0, lane]
    k = 1
    while k + 3 < n:
        c0, c1 = numbers[start + k * stride], numbers[start + (k + 1) * stride]
        c2, c3 = numbers[start + (k + 2) * stride], numbers[start + (k + 3) * stride]
        for lane in range(n_lanes):
            out[lane] += (c0 * source[k, lane] + c1 * source[k + 1, lane]) + (
                c2 * source[k + 2, lane] + c3 * source[k + 3, lane]
            )
        k += 4
    while k < n:
        c0 = numbers[start + k * stride]
        for lane in range(n_lanes):
            out[lane] += c0 * source[k, lane]
        k += 1


@inner
def chain_occupancy(dial: Dial, closure: Closure, extent: tuple, path: np.ndarray) -> None:
    """path[i] = probability, at each point, that the front of a chain stands at i; chains below the top.

    Down a chain c, ..., h, i: P(front at i) = (rate of h / rate of i) * K_i P(front at h), as delays commute.
    """
    chain, slot, rate = closure.chain, closure.slot, closure.rate
    a, first = extent
    n = dial.n_points
    for i in range(first, a):
        if not chain[i]:
            continue
        here = path[i]
        if slot[i] >= 0:  # the first of its chain: it has not arrived
            for q in range(n):
                here[q] = dial.points[q] ** rate[i]
            continue
        for q in range(n):
            here[q] = 0.0
        for k in range(n):
            source = path[i - 1, k] * (rate[i - 1] / rate[i])
            row = dial.arrivals[closure.arrival[i] + k * n : closure.arrival[i] + (k + 1) * n]
            for q in range(n):
                here[q] += source * row[q]


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
    value, inside = lanes.value, lanes.inside
    n = dial.n_points
    for i in range(a - 1, first - 1, -1):
        s = slot[i]
        stop = i + span[i]
        if s < 0:
            continue
        if closure.chain[i]:
            # past all of it, corrected by the probability that the front stands at one of its features
            past = lanes.carry[0]
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
        for q in range(n):
            _combine(dial.arrivals, closure.arrival[i] + q, n, inside, n, out[q], n_lanes)
            waiting = dial.points[q] ** closure.rate[i]
            for lane in range(n_lanes):
                out[q, lane] = out[q, lane] * own[i, lane] + waiting * message[i, lane]


@inner
def pass_down(dial: Dial, closure: Closure, extent: tuple, seen: tuple, lanes: Lanes, n_lanes: int) -> None:
    """phi of all below the top, apart from the factor of the top; weight = expected product of everything else."""
    a, first = extent
    own, message, phi = seen
    span, slot = closure.span, closure.slot
    before, inside, carry = lanes.before, lanes.inside, lanes.carry
    n = dial.n_points
    zero = n - n
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
                _combine(lanes.path[j], zero, one, weight, n, phi[j], n_lanes)
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
        for q in range(n):
            _combine(dial.arrivals, closure.arrival[i] + q * n, one, weight, n, inside[q], n_lanes)
            waiting = dial.points[q] ** closure.rate[i]
            for lane in range(n_lanes):
                inside[q, lane] *= own[i, lane]
                carry[0, lane] += waiting * weight[q, lane]
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
