"""Compiled: rows that look the same to a group of terms.

Rows are numbered by refinement: start with one class, and split it by the state of one feature after the other. Rows
with the same state of the top get neighbouring numbers.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from shap_asv.backends.forest.passes import inner

# of_row, top (r,): pattern and top of each row. example (P,): a row of each pattern. top_start (H + 1,): patterns by
# top. codes, contexts (a, P): what each pattern shows. label, table: scratch.
Patterns = namedtuple("Patterns", "of_row top example top_start codes contexts label table")


@inner
def find_patterns(
    card: np.ndarray, functions: tuple, members: tuple, extent: tuple, rows: Any, patterns: Patterns, count: np.ndarray
) -> None:
    """Fill ``patterns`` for a group; extent = (size of A, size of its top, first and last term).

    functions = (terms, vectors, vector_offset) of the model, members = (position, children) of the closure,
    count (2,) = numbers of tops and of patterns.
    """
    position, _ = members
    codes = rows.codes
    a, n_top, _, _ = extent
    n_rows = len(codes)
    of_row, example, table = patterns.of_row, patterns.example, patterns.table
    label, top_of = patterns.label, patterns.top
    n_patterns, n_tops = 1, 1
    for r in range(n_rows):
        of_row[r] = 0
        top_of[r] = 0
    for i in range(a):
        width = _label_states(card, functions, members, i, extent, label)
        if width > 1:
            v = position[i]
            for z in range(n_patterns * width):
                table[z] = -1
            found = 0
            for r in range(n_rows):
                z = of_row[r] * width + label[codes[r, v]]
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


@inner
def _label_states(cards: np.ndarray, functions: tuple, members: tuple, i: int, extent: tuple, label: np.ndarray) -> int:
    """Number the states of a feature so that states no term of the group can tell apart get one number.

    A feature with effects in the closure shows its state through their messages; one without shows only its own
    functions.
    """
    terms, vectors, vector_offset = functions
    position, children = members
    _, _, first_term, last_term = extent
    v = position[i]
    card = cards[v]
    if children[i] > 0:
        for x in range(card):
            label[x] = x
        return card
    found = 0
    for x in range(card):
        label[x] = -1
        for z in range(x):
            same = True
            for t in range(first_term, last_term):
                at = vector_offset[v] + terms[t, v] * card
                if vectors[at + x] != vectors[at + z]:
                    same = False
                    break
            if same:
                label[x] = label[z]
                break
        if label[x] < 0:
            label[x] = found
            found += 1
    return found
