"""What one operation takes: the one table of constants behind every plan.

A backend and a value method count their operations in closed form, from the numbers of rows, coalitions, leaves, draws,
... :

    >>> cost = Cost({"table cell": 2e6, "coalition": 50}, memory=16_000_000)
    >>> cost.seconds == 2e6 * SECONDS["table cell"] + 50 * SECONDS["coalition"]
    True

To add an operation, write its name and a rough figure into :data:`SECONDS`, count it in the ``cost`` of a backend, and
run ``python -m tests.reliability.plans``: it times a grid of problems and prints by which factor each constant is off.

A plan has to rank the ways to an answer and to tell seconds from hours: a factor of two does not matter, and counting
must cost next to nothing. Nothing is drawn, tried or compiled for it, so that the same question has the same plan on
every machine. The one exception is a model that is called as a function (``models/calls.py``): its rows and calls
are counted as ``asked`` and ``calls``, and its first call tells what they take.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

#: Seconds on one core of a server of 2023, in compiled code where that is what runs.
SECONDS: Mapping[str, float] = {
    # any backend
    "loading of compiled code": 0.1,
    "coalition": 2e-6,
    "coalition x feature": 1e-8,
    "coalition x term group": 4e-7,
    # drawing orders
    "order": 1e-6,
    "order x feature": 1e-6,
    "update from the past": 4e-9,
    "ideal listed": 4.5e-7,
    # queries on a network
    "elimination": 6e-5,
    "evidence": 5e-7,
    "evidence x feature": 6e-9,
    "evidence x term": 1.5e-8,
    "circuit entry": 2e-8,
    "circuit product": 3e-10,
    # trees on a network, term by term
    "forest term": 1.5e-5,
    "forest group x feature": 1e-5,
    "forest operation": 3e-9,
    "polytree ideal": 1.2e-7,
    "term group": 8e-3,
    "row x term group": 5e-7,
    "class x row": 2e-7,
    "class x row x term": 1.5e-9,
    # ... and by their closures
    "closure": 3e-3,
    "closure ideal": 1.5e-6,
    "closure row": 1e-7,
    "closure row x term": 2e-9,
    "closure ideal x row x term": 2e-9,
    "coalition x row": 2e-7,
    # trees alone
    "tree call": 4e-3,
    "path entry": 1.2e-7,
    "path cell": 1.1e-9,
    "distant path cell": 1e-8,
    "path entry x row": 7.5e-10,
    "long path point": 2.5e-9,
    "background word": 1e-9,
    "background row met": 1e-8,
    "step of levels": 2e-9,
    "step of a forest": 6e-8,
    "step of a lattice": 8e-10,
    "step of an order": 1.5e-9,
    "step of parts": 4e-9,
    "shuffle": 1.2e-9,
    # any model
    "table": 2e-5,
    "table cell": 2e-9,
    "masked row": 2e-8,
    "intervened table": 2e-4,
    "draw": 3e-7,
    "draw x node": 1e-7,
    "network draw": 1e-7,
    "network draw x node": 1e-8,
    "draw by levels": 1e-4,
    "donor fit x feature": 2.5e-6,
    # linear models under means
    "mean": 1e-6,
    "mean x feature^3": 1e-9,
    "slope": 1e-7,
    "slope x feature^2": 2e-9,
    "row x slope": 2e-9,
}


@dataclass(frozen=True)
class Cost:
    """Operations by their names in :data:`SECONDS`, and what else a plan tells.

    Attributes
    ----------
    operations : mapping of str to float
    memory : int
        Bytes held at one time.
    asked, calls : int
        Rows that the model is asked about, and in how many calls.
    coalitions, draws : int
        Coalitions that are visited; draws for each value.
    """

    operations: Mapping[str, float]
    memory: int = 0
    asked: int = 0
    calls: int = 0
    coalitions: int = 0
    draws: int = 0

    @property
    def seconds(self) -> float:
        """What the operations take, without what the model takes that is asked."""
        return float(sum(count * SECONDS[name] for name, count in self.operations.items()))

    def __add__(self, other: "Cost") -> "Cost":
        """One after the other, the memory of both held.

        >>> (Cost({"coalition": 2}) + Cost({"coalition": 1, "draw": 4})).operations
        {'coalition': 3, 'draw': 4}
        """
        together = dict(self.operations)
        for name, count in other.operations.items():
            together[name] = together.get(name, 0) + count
        return Cost(
            together,
            self.memory + other.memory,
            self.asked + other.asked,
            self.calls + other.calls,
            self.coalitions + other.coalitions,
            self.draws + other.draws,
        )

    def times(self, factor: float) -> "Cost":
        """The same work so many times, in the same memory.

        >>> Cost({"coalition": 2}).times(3).operations
        {'coalition': 6}
        """
        operations = {name: factor * count for name, count in self.operations.items()}
        return replace(self, operations=operations, asked=int(factor * self.asked), calls=int(factor * self.calls))
