"""The steps of an order, for sets of features: which kernel lists them, and with how much room."""

from typing import Any

import numpy as np

from shap_asv.backends.trees.leaves import Leaves
from shap_asv.backends.trees.orderings import FOREST, LATTICE, LEVELS, ORDERS, PARTS, Ordering
from shap_asv.backends.trees.parts import MOST_CHANCES
from shap_asv.errors import BudgetExceededError

#: Steps that are listed together.
MOST_STEPS = 1 << 21
#: Ideals of the features of one path and their ancestors, in a forest; and features of both that fit a machine word.
MOST_IDEALS, WIDEST = 1 << 17, 62


#: Numbers of a lattice, or of listed orders, that one compiled call may read.
MOST_READ = 1 << 29


class StepLister:
    """``w_D(i, B)`` of one order, for many D; owns the room that the kernels work in."""

    def __init__(self, order: Ordering) -> None:
        from shap_asv.backends.trees.kernels.weights import CELL_BITS, Steps, Walk

        self.order = order
        n = len(order.level)
        room = MOST_STEPS
        if order.kind == LATTICE:
            room = max(room, len(order.edge_weight))
        if order.kind == ORDERS:
            room = max(room, order.rank.size)  # a long path lists each order once for each of its features
        self._steps = Steps(
            np.zeros(0, dtype=np.int64),
            np.empty(room, dtype=np.int64),
            np.empty(room, dtype=np.int64),
            np.empty(room),
        )
        self._shadow = np.zeros(order.member.shape[1], dtype=np.int64)
        self._cells = np.zeros(1 << CELL_BITS)
        if order.kind == FOREST:
            by_feature = [np.zeros(n, dtype=np.int64) for _ in range(3)]
            by_ideal = [np.zeros(MOST_IDEALS, dtype=np.int64) for _ in range(2)]
            self._walk = Walk._make(
                [order.parent, order.size, order.topological, *by_feature, *by_ideal, np.zeros(MOST_IDEALS)]
            )

        if order.kind == PARTS:
            from shap_asv.backends.trees.kernels.parts import PartsRoom

            parts, primes = order.parts.parts, order.parts.primes
            self._parts_room = PartsRoom(
                np.empty(MOST_CHANCES),
                np.empty(MOST_CHANCES),
                np.zeros(2, dtype=np.int64),
                np.zeros((len(parts.kind) + 3, 4), dtype=np.int64),
                order.parts.log_factorial,
                np.zeros(int(np.diff(primes.ideal_start).max()), dtype=np.int64),
            )

    def sets_at_once(self) -> int:
        """How many sets may be listed in one compiled call, which nothing can interrupt."""
        each = self.order.member.size + len(self.order.edge_weight) + self.order.rank.size
        if self.order.kind == PARTS:
            each = self.order.parts.primes.member.size + 1000 * len(self.order.level)
        return max(1, MOST_READ // max(1, each))

    def list(self, leaves: Leaves, which: np.ndarray) -> tuple[int, Any]:
        """Steps of the sets of the leaves ``which``: how many of the sets had room, and a Steps for these.

        The arrays are overwritten by the next call.
        """
        from shap_asv.backends.trees.kernels import weights as kernels

        steps = self._steps._replace(start=np.zeros(len(which) + 1, dtype=np.int64))
        sets = kernels.Sets(leaves.start, leaves.feature, which)
        if self.order.kind == LEVELS:
            done = kernels.list_levels_steps(self.order.level, sets, steps)
        elif self.order.kind == FOREST:
            done = kernels.list_forest_steps(self._walk, sets, steps, WIDEST)
        elif self.order.kind == LATTICE:
            done = kernels.list_lattice_steps(self.order, sets, steps, self._shadow, self._cells)
        elif self.order.kind == PARTS:
            from shap_asv.backends.trees.kernels.parts import list_parts_steps

            apart = self.order.parts
            done = list_parts_steps(apart.parts, apart.primes, apart.rank, sets, steps, self._parts_room)
        else:
            done = kernels.list_orders_steps(self.order, sets, steps, self._shadow, self._cells)
        if not done:
            length = int(leaves.start[which[0] + 1] - leaves.start[which[0]])
            raise BudgetExceededError(
                f"a path of the trees has {length} features whose coalitions under this causal order are too many to "
                f"list (more than {MOST_IDEALS:,} ideals, or {MOST_STEPS:,} steps); sampled orders do without them"
            )
        return done, steps

    def merged(self, leaves: Leaves, leaf: int) -> Any:
        """The steps of one set, equal ones added up."""
        _, steps = self.list(leaves, np.array([leaf]))
        count = int(steps.start[1])
        key, which = np.unique(steps.code[:count] * 64 + steps.place[:count], return_inverse=True)
        weight = np.bincount(which.ravel(), weights=steps.weight[:count], minlength=len(key))
        return type(steps)(steps.start, key // 64, key % 64, weight)
