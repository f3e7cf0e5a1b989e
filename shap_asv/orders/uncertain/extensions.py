"""All DAGs that a partly directed graph stands for: listed, counted, drawn uniformly.

Once Meek's rules say nothing more, the undirected edges connect *buckets* of nodes, and all nodes of a bucket have the
same parents outside of it (rules 1 and 2). So buckets can be directed independently of one another: counts multiply,
and draws are drawn apart. A bucket whose inner edges are all undirected is a matter of chordal graphs
(:mod:`~shap_asv.orders.uncertain.chordal`), in polynomial time. What background knowledge has partly directed is split
by directing one of its undirected edges both ways, with all that follows, until only such buckets are left: exponential
in the worst case, so the number of splits has a limit.

Bidirected edges break that independence; with them, all undirected edges are split in this way.
"""

from collections.abc import Iterator

import numpy as np

from shap_asv.errors import BudgetExceededError
from shap_asv.orders.bitsets import bits_of
from shap_asv.orders.uncertain.chordal import ChordalGraph
from shap_asv.orders.uncertain.orientation import Orientation

#: Splits that counting may take before it gives up.
MOST_SPLITS = 100_000


class Extensions:
    """The consistent extensions of one closed :class:`Orientation` (``close()`` has returned True)."""

    def __init__(self, closed: Orientation, most_splits: int = MOST_SPLITS) -> None:
        self.closed = closed
        self.most_splits = most_splits
        self._chordal = ChordalGraph(closed.neighbours)
        self._entangled = any(closed.spouses)
        self._counts: dict[tuple, int] = {}
        self._splits = 0

    # --- counting -------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """How many there are, exactly.

        Raises
        ------
        BudgetExceededError
            Background knowledge left a part that needs more splits than ``most_splits``.
        """
        return self._count(self.closed)

    def _count(self, state: Orientation) -> int:
        total = 1
        for part, members in self._parts(state):
            # among the members of a plain bucket the neighbours are those that the closed graph had at first
            total *= self._chordal.count(members) if part is None else self._split_count(part)
            if not total:
                break
        return total

    def _parts(self, state: Orientation) -> list[tuple[Orientation | None, int]]:
        """Independent parts: (None, members) where all inner edges are undirected, else the graph on the members."""
        if self._entangled:
            return [(state, 0)] if any(state.neighbours) else []
        return [(None if state.is_plain(members) else state.within(members), members) for members in state.buckets()]

    def _split_count(self, part: Orientation) -> int:
        key = (tuple(part.neighbours), tuple(part.parents))
        if key not in self._counts:
            self._splits += 1
            if self._splits > self.most_splits:
                raise BudgetExceededError(
                    f"counting the DAGs of this partly directed graph takes more than {self.most_splits:,} splits: "
                    f"{len(part.undirected_edges())} edges are left open by what is known; give more edges a direction"
                )
            self._counts[key] = sum(self._count(branch) for branch in split(part))
        return self._counts[key]

    # --- drawing --------------------------------------------------------------------------------------------------

    def draw(self, rng: np.random.Generator) -> Orientation:
        """One of them, all being equally likely."""
        result = self.closed.copy()
        self._draw_into(result, self.closed, rng)
        return result

    def _draw_into(self, result: Orientation, state: Orientation, rng: np.random.Generator) -> None:
        for part, members in self._parts(state):
            if part is None:
                place = {v: k for k, v in enumerate(self._chordal.draw(members, rng))}
                for a, b in state.within(members).undirected_edges():
                    result.settle(*((a, b) if place[a] < place[b] else (b, a)))
                continue
            branches = split(part)
            counts = [self._count(branch) for branch in branches]
            shares = np.cumsum([count / max(1, sum(counts)) for count in counts])
            branch = branches[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))]
            for a, b in branch.directed_edges():
                if result.neighbours[a] >> b & 1:
                    result.settle(a, b)
            self._draw_into(result, branch, rng)

    # --- listing --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Orientation]:
        """All of them, each once. A few steps of Meek's rules between one and the next."""
        waiting = [self.closed]
        while waiting:
            state = waiting.pop()
            if any(part is None and not self._chordal.count(members) for part, members in self._parts(state)):
                continue
            if any(state.neighbours):
                waiting += reversed(split(state))
            else:
                yield state


def split(state: Orientation) -> list[Orientation]:
    """One undirected edge directed both ways, with what follows; a direction that leads to a contradiction is left out.

    Taken is an edge at the node with the most undirected edges, which settles the most.
    """
    a = max(range(len(state.neighbours)), key=lambda v: state.neighbours[v].bit_count())
    b = next(bits_of(state.neighbours[a]))
    branches = []
    for cause, effect in ((a, b), (b, a)):
        branch = state.copy()
        if branch.direct(cause, effect) and branch.close():
            branches.append(branch)
    return branches
