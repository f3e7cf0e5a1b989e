"""The compiled forest algorithm over blocks of rows and of groups.

Blocks are fixed by the model and the network alone. Every block of rows has its own part of the result; blocks of
groups write to arrays of their own, which are added up in order. So a row has the same bits whatever rows are explained
with it.

Nothing interrupts a compiled call, so each gets only as many groups as it works off in a fraction of a second.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shap_asv.backends.forest.clock import Clock, make_clock
from shap_asv.backends.forest.kernels import (
    Batch,
    Clocks,
    Model,
    Rows,
    Scratch,
    Shape,
    explain_groups,
)
from shap_asv.backends.forest.layout import ForestLayout
from shap_asv.backends.forest.passes import Closure, Lanes
from shap_asv.backends.forest.patterns import Patterns
from shap_asv.backends.forest.recursion import explain_plainly
from shap_asv.backends.forest.terms import TermGroups
from shap_asv.backends.pace import Report, keep_silent, paced

_ROW_BLOCK = 2048
_GROUP_BLOCKS = 8
# Numbers in the results of one block of rows, over all blocks of groups: 2**24 are 128 MiB.
_RESULT_LIMIT = 2**24
# Operations that a compiled call may take for a single group of terms, which cannot be cut: about a second.
_WORK_LIMIT = 10**9
# Lanes that go through the passes together, and half of them above so many points of a clock.
_LANES, _MANY_POINTS = 64, 64


def explain_large(
    layout: ForestLayout,
    groups: TermGroups,
    clocks: Sequence[Clock],
    clock_of_group: np.ndarray,
    codes: np.ndarray,
    report: Report = keep_silent,
) -> np.ndarray:
    """Attributions (r, n, k) of distinct rows (r, n), all in preorder."""
    n, k = layout.n_features, groups.coefficients.shape[1]
    shape = Shape(**{name: getattr(layout, name) for name in Shape._fields})
    model = Model(**{name: getattr(groups, name) for name in Model._fields[:-1]}, clock=clock_of_group)
    dials = _lay_clocks(layout, clocks)
    bounds = _split_groups(groups)

    def explain(rows: Rows, scratch: Scratch, first: int, last: int) -> np.ndarray:
        part = np.zeros((n, k, len(rows.codes)))
        failed = np.zeros(groups.n_groups, dtype=bool)
        for some in paced(last - first):
            explain_groups(shape, model, dials, rows, scratch, first + some.start, first + some.stop, (part, failed))
        for g in np.flatnonzero(failed).tolist():
            part += explain_plainly(layout, groups, (g,), rows.codes).transpose(1, 2, 0)
        return part

    rows_at_once = max(16, _WORK_LIMIT // _most_work(groups, clocks))
    step = max(1, min(_ROW_BLOCK, _RESULT_LIMIT // (_GROUP_BLOCKS * n * k), rows_at_once))
    out = np.zeros((n, k, len(codes)))
    for start in range(0, len(codes), step):
        block = codes[start : start + step]
        rows = Rows(codes=np.ascontiguousarray(block), contexts=layout.row_contexts(block))
        scratch = _make_scratch(layout, groups, clocks, len(block))
        for i, (first, last) in enumerate(pairwise(bounds), start=1):
            out[:, :, start : start + step] += explain(rows, scratch, first, last)
            report((start + len(block) * i / (len(bounds) - 1)) / len(codes))
    return out.transpose(2, 0, 1)


def _make_scratch(layout: ForestLayout, groups: TermGroups, clocks: Sequence[Clock], n_rows: int) -> Scratch:
    """Room for any group: its closure, patterns of the rows, functions of time, and a batch of terms."""
    widest = max(1, int(groups.closure.sum(axis=1).max(initial=1)))
    points = max((clock.points.size for clock in clocks), default=1)
    n_lanes = _LANES if points <= _MANY_POINTS else _LANES // 2
    n_chunks = -(-n_rows // n_lanes)
    most_states = int(layout.card.max(initial=1))

    def whole(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.int64)

    closure = Closure(
        **{name: whole(widest) for name in Closure._fields}
        | {"rate": np.zeros(widest), "chain": np.zeros(widest, dtype=bool)}
    )
    patterns = Patterns(
        of_row=whole(n_rows),
        top=whole(n_rows),
        example=whole(n_rows),
        top_start=whole(n_rows + 1),
        codes=np.zeros((widest, n_rows), dtype=np.int32),
        contexts=np.zeros((widest, n_rows), dtype=np.int32),
        label=whole(most_states),
        table=whole(n_rows * most_states),
    )
    lanes = Lanes(
        before=np.zeros((widest, n_lanes)),
        less=np.zeros((widest, n_lanes)),
        path=np.zeros((widest, points)),
        value=np.zeros((widest, points, n_lanes)),
        weight=np.zeros((widest, points, n_lanes)),
        inside=np.zeros((points, n_lanes)),
        scratch=np.zeros((points, n_lanes)),
        carry=np.zeros((2, n_lanes)),
        front=np.zeros((2, points + 1)),
    )
    batch = Batch(
        own=np.zeros((n_chunks, widest, n_lanes)),
        message=np.zeros((n_chunks, widest, n_lanes)),
        phi=np.zeros((n_chunks, widest, n_lanes)),
        runs=whole(2 * n_chunks * n_lanes, 5),
        factor=np.zeros(2 * n_chunks * n_lanes),
        by_pattern=np.zeros(n_rows),
    )
    message = np.zeros(int(layout.message_offset[-1]))
    total = np.zeros((widest, groups.coefficients.shape[1], n_rows))
    return Scratch(closure, patterns, lanes, batch, message, total, whole(layout.n_features), whole(2))


def _most_work(groups: TermGroups, clocks: Sequence[Clock]) -> int:
    """Terms x features x points of the largest group: what a row of its own pattern costs at most, in operations."""
    points = max((clock.points.size for clock in clocks), default=1)
    return max(1, int((np.diff(groups.start) * groups.closure.sum(axis=1)).max(initial=1)) * points)


def _split_groups(groups: TermGroups) -> list[int]:
    """Bounds of at most ``_GROUP_BLOCKS`` blocks of groups with about the same number of terms."""
    targets = np.linspace(0, groups.start[-1], _GROUP_BLOCKS + 1)
    return sorted(set(np.searchsorted(groups.start, targets).tolist()))


def _lay_clocks(layout: ForestLayout, clocks: Sequence[Clock]) -> Clocks:
    local_at = np.zeros((max(1, len(clocks)), layout.n_features), dtype=np.int64)
    decay_at = np.zeros_like(local_at)
    local_offset = np.concatenate([[0], np.cumsum([clock.local.size for clock in clocks])]).astype(np.int64)
    decay_offset = np.concatenate([[0], np.cumsum([clock.decay.size for clock in clocks])]).astype(np.int64)
    for c, clock in enumerate(clocks):
        known = np.isin(layout.size, clock.sizes)
        row = np.searchsorted(clock.sizes, layout.size[known])
        n_panels, n_points = clock.points.shape
        local_at[c, known] = local_offset[c] + row * n_panels * n_points * (n_points + 1)
        decay_at[c, known] = decay_offset[c] + row * n_panels * (n_points + 1)
    if not clocks:  # all of every closure is top: a clock that nobody asks
        clocks = [make_clock((1.0, 0.0), 1, ())]
    return Clocks(
        n_panels=np.array([clock.points.shape[0] for clock in clocks], dtype=np.int64),
        n_points=np.array([clock.points.shape[1] for clock in clocks], dtype=np.int64),
        weights=np.concatenate([clock.weights.ravel() for clock in clocks]),
        weight_offset=np.concatenate([[0], np.cumsum([clock.weights.size for clock in clocks])]).astype(np.int64),
        local=np.concatenate([clock.local.ravel() for clock in clocks]),
        decay=np.concatenate([clock.decay.ravel() for clock in clocks]),
        local_at=local_at,
        decay_at=decay_at,
    )
