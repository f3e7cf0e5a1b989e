"""The backends that a plan chooses from, each with its estimate or with what keeps it from running.

Estimating takes time itself, up to tens of milliseconds for a network of dozens of nodes, which is longer than small
work. A backend says at once what it takes at the very least; it is estimated where that could still win, and otherwise
when somebody looks at it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from shap_asv.backends.contract import Backend, Estimate, Problem, Settings, TooLarge
from shap_asv.backends.registry import BACKENDS


@dataclass(frozen=True)
class Budget:
    """How far ``auto`` may go for an exact result (seconds), and how far anything may go (bytes of memory).

    ``jobs`` processes work side by side, each with memory of its own.
    """

    seconds: float = 600.0
    memory: int = 4 * 2**30
    jobs: int = 1


@dataclass(frozen=True)
class Candidate:
    """A backend with its estimate, or with the obstacle that keeps it from running."""

    backend: Backend
    obstacle: str | None
    estimate: Estimate | None

    @property
    def name(self) -> str:
        return self.backend.name

    @property
    def runnable(self) -> bool:
        return self.obstacle is None

    @property
    def seconds(self) -> float:
        """Infinitely many where it cannot run."""
        return self.estimate.seconds if self.estimate is not None else float("inf")


@dataclass(eq=False)
class CandidateTable:
    """All backends for a problem; each is assessed when it is asked for, once.

    ``rows``: how many are distinct, and how many there are. ``free``: bytes of memory at the time of the plan.
    """

    problem: Problem
    settings: Settings
    rows: tuple[int, int]
    budget: Budget
    free: int | None
    _obstacles: dict[str, str | None] = field(default_factory=dict, init=False, repr=False)
    _assessed: dict[str, Candidate] = field(default_factory=dict, init=False, repr=False)

    def candidates(self, slowness: float, backends: Iterable[Backend] = BACKENDS) -> tuple[Candidate, ...]:
        """With the seconds that they take on a machine that is so slow."""
        return tuple(self._candidate(backend, slowness) for backend in backends)

    def cheapest_exact(self, slowness: float) -> tuple[Candidate, ...]:
        """The cheapest exact backend and others, in the order of the table: one that is missing here takes longer."""
        possible = [backend for backend in BACKENDS if backend.exact and self._obstacle(backend) is None]
        bounds = [slowness * backend.at_least(self.problem, self.settings) for backend in possible]
        best, priced = float("inf"), []
        for place in sorted(range(len(possible)), key=bounds.__getitem__):
            if bounds[place] > best:
                break
            priced.append(place)
            best = min(best, self._candidate(possible[place], slowness).seconds)
        return self.candidates(slowness, [possible[place] for place in sorted(priced)])

    def _candidate(self, backend: Backend, slowness: float) -> Candidate:
        found = self._assessed.get(backend.name)
        if found is None:
            found = self._assessed[backend.name] = self._assess(backend)
        return found if found.estimate is None else replace(found, estimate=found.estimate.on(slowness))

    def _obstacle(self, backend: Backend) -> str | None:
        if backend.name not in self._obstacles:
            self._obstacles[backend.name] = backend.obstacle(self.problem, self.settings)
        return self._obstacles[backend.name]

    def _assess(self, backend: Backend) -> Candidate:
        obstacle = self._obstacle(backend)
        if obstacle is not None:
            return Candidate(backend, obstacle, None)
        n_rows, n_results = self.rows
        problem, budget, free = self.problem, self.budget, self.free
        estimate = backend.estimate(problem, self.settings, n_rows)
        results = result_bytes(n_results, problem.n_features, problem.n_outputs, backend.exact)
        estimate = replace(estimate, memory=budget.jobs * estimate.memory + results)
        if estimate.memory > budget.memory:
            limit = f"the limit is {bytes_text(budget.memory)}: raise memory_limit="
        elif free is not None and estimate.memory > free:
            limit = f"the limit is what is free, {bytes_text(free)}"
        else:
            return Candidate(backend, None, estimate)
        needs = f"needs {bytes_text(estimate.memory)}, {limit} or explain fewer rows at a time"
        return Candidate(backend, TooLarge(needs), None)


def result_bytes(n_rows: int, n_features: int, n_outputs: int, exact: bool) -> int:
    """What grows with the rows: attributions (and their errors), codes, the data and labels shown beside them."""
    # the last selection of outputs and the order of equal rows take a copy each
    return n_rows * (n_features * (8 * n_outputs * (1 if exact else 2) + 8 + 8 + 8 + 4) + 24)


def bytes_text(size: int) -> str:
    """For sentences and tables.

    >>> bytes_text(3 * 2**20), bytes_text(3 * 2**29)
    ('3 MiB', '1.5 GiB')
    """
    return f"{size / 2**20:.0f} MiB" if size < 2**30 else f"{size / 2**30:.1f} GiB"
