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
    """All trees end to end (N nodes), k outputs. The children of a node stand side by side, the right one first.

    At node v a row goes left if its number x in a column is at most ``threshold[v]``, or bit x of ``mask[v]`` is set:
    the threshold is NaN where codes are asked and at leaves, the mask is 0 where numbers are. ``word[v]`` has the
    column in its lower half, and in its upper half the right child, or v itself at a leaf. Tree t begins at
    ``root[t]``, takes ``depth[t]`` steps, asks for codes or not (``coded[t]``), and adds to the outputs from
    ``first[t]`` to ``last[t]``.
    """

    word: np.ndarray
    threshold: np.ndarray
    mask: np.ndarray
    values: np.ndarray
    root: np.ndarray
    depth: np.ndarray
    coded: np.ndarray
    first: np.ndarray
    last: np.ndarray


@kernel
def add_leaves(steps, numbers, out):  # type: ignore[no-untyped-def]
    """out (r, k) += the leaves that rows of ``numbers`` (r, columns) reach."""
    place = np.empty(ROWS, dtype=np.uint64)
    one, last_bit, low, half = np.uint64(1), np.uint64(63), np.uint64(0xFFFFFFFF), np.uint64(32)
    for begin in range(0, len(out), ROWS):
        n_rows = min(ROWS, len(out) - begin)
        for t in range(len(steps.root)):
            place[:n_rows] = steps.root[t]
            for _ in range(steps.depth[t]):
                # a step waits for what it reads, so that a tree of numbers alone reads no masks
                if steps.coded[t]:
                    for r in range(n_rows):
                        at = place[r]
                        word = steps.word[at]
                        x = numbers[begin + r, word & low]
                        bit = (steps.mask[at] >> (np.uint64(np.int64(x)) & last_bit)) & one
                        place[r] = (word >> half) + (np.uint64(x <= steps.threshold[at]) | bit)
                else:
                    for r in range(n_rows):
                        at = place[r]
                        word = steps.word[at]
                        place[r] = (word >> half) + np.uint64(numbers[begin + r, word & low] <= steps.threshold[at])
            for o in range(steps.first[t], steps.last[t]):
                for r in range(n_rows):
                    out[begin + r, o] += steps.values[place[r], o]
