"""Compiled: rows sent down the trees of an ensemble. Importing this module imports numba.

Rows go down a tree side by side, as many steps as its longest path has; leaves are their own children. So there is
nothing for the processor to guess, and it works on several rows at a time.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import kernel

#: Rows that go down one tree before the next tree is taken: their numbers stay in the processor's cache.
ROWS = 128


class Steps(NamedTuple):
    """All trees end to end (N nodes), k outputs.

    At node v a row goes left if its number x in ``column[v]`` is at most ``threshold[v]``, or bit x of ``mask[v]`` is
    set: the threshold is NaN where codes are asked, the mask is 0 where numbers are. ``child`` (2N,) holds the right
    and the left child of each node. Tree t begins at ``root[t]``, takes ``depth[t]`` steps, and adds to the outputs
    from ``first[t]`` to ``last[t]``.
    """

    column: np.ndarray
    threshold: np.ndarray
    mask: np.ndarray
    child: np.ndarray
    values: np.ndarray
    root: np.ndarray
    depth: np.ndarray
    first: np.ndarray
    last: np.ndarray


@kernel
def add_leaves(steps, numbers, out):  # type: ignore[no-untyped-def]
    """out (r, k) += the leaves that rows of ``numbers`` (r, columns) reach."""
    place = np.empty(ROWS, dtype=np.uint32)
    one, last_bit = np.uint64(1), np.uint64(63)
    for begin in range(0, len(out), ROWS):
        n_rows = min(ROWS, len(out) - begin)
        for t in range(len(steps.root)):
            place[:n_rows] = steps.root[t]
            for _ in range(steps.depth[t]):
                for r in range(n_rows):
                    at = np.uint64(place[r])
                    x = numbers[begin + r, np.uint64(steps.column[at])]
                    bit = (steps.mask[at] >> (np.uint64(np.int64(x)) & last_bit)) & one
                    left = np.uint64(x <= steps.threshold[at]) | bit
                    place[r] = steps.child[np.uint64(2) * at + left]
            for o in range(steps.first[t], steps.last[t]):
                for r in range(n_rows):
                    out[begin + r, o] += steps.values[place[r], o]
