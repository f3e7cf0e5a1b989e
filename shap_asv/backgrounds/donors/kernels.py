"""Donors drawn by the leaves that hold them, compiled."""

from collections import namedtuple

import numpy as np

from shap_asv.kernels import kernel

# The leaves of all trees, see leaf_weights: leaf l holds the places members[first[l]:first[l + 1]].
FlatLeaves = namedtuple("FlatLeaves", "first members shares")


@kernel
def pick_places(leaves, own, uniforms, n_places):  # type: ignore[no-untyped-def]
    """Places (m, d) where cumulated weights pass the uniforms (m, d); leaves of the points ``own`` (m, trees).

    A place has of each tree with it in the leaf of the point ``share / size of the leaf``. O(m (places + sizes + d)).
    """
    picked = np.empty(uniforms.shape, dtype=np.int64)
    bounds = np.empty(n_places)
    for point in range(len(own)):
        bounds[:] = 0.0
        for t in range(own.shape[1]):
            begin, end = leaves.first[own[point, t]], leaves.first[own[point, t] + 1]
            each = leaves.shares[t] / (end - begin)
            for k in range(begin, end):
                bounds[leaves.members[k]] += each
        for place in range(1, n_places):
            bounds[place] += bounds[place - 1]
        for d in range(uniforms.shape[1]):
            # the last bound may miss one by rounding, and a place without weight is never picked
            target = uniforms[point, d] * bounds[n_places - 1]
            low, high = 0, n_places - 1
            while low < high:
                middle = (low + high) // 2
                if bounds[middle] > target:
                    high = middle
                else:
                    low = middle + 1
            picked[point, d] = low
    return picked
