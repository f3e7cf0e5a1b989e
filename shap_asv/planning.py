"""Which backend runs, why, and what it costs: a table, not an if-chain.

A plan holds every row of the table of backends, each with its estimate or with the reason why it cannot run, and the
choice. ``print(plan)`` shows all of it. The estimates are rough; they are there to rank candidates and to stop work
that would not end. To choose, only those are estimated that could be chosen; the others when somebody looks at them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path

from shap_asv.backends.candidates import Budget, Candidate, CandidateTable, bytes_text, result_bytes
from shap_asv.backends.contract import Backend, Problem, Settings, TooLarge
from shap_asv.backends.registry import BACKENDS
from shap_asv.compiling import compiling_text, seconds_to_compile
from shap_asv.errors import BudgetExceededError, MethodNotApplicableError, UnknownMethodError
from shap_asv.machine import WORTH_KNOWING, slowness
from shap_asv.orders.topological.sampling import kernels_to_draw

_SECONDS = attrgetter("seconds")
#: Words for ``algorithm`` that leave the choice of a backend to the planner.
FAMILIES = ("auto", "exact", "sampling")


@dataclass(frozen=True)
class Plan:
    """The choice of a backend, with everything that was considered.

    Attributes
    ----------
    chosen : Candidate
    why : str
    candidates : tuple of Candidate
        All of them; those that could not be chosen are estimated when they are asked for.
    n_rows, n_features, n_outputs : int
    semantics : tuple of (str, str)
        What the numbers will mean: orders, values, distribution, graph.
    kernels : tuple of str
        Compiled functions that the chosen backend will use, as ``"module:function"``.
    """

    chosen: Candidate
    why: str
    n_rows: int
    n_features: int
    n_outputs: int
    semantics: tuple[tuple[str, str], ...]
    kernels: tuple[str, ...]
    assess: Callable[[], tuple[Candidate, ...]] = field(repr=False, compare=False)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(self.chosen if c.backend is self.chosen.backend else c for c in self.assess())

    @property
    def compile_seconds(self) -> float:
        """About how long compiling will take before the first row; 0 where all is on disk, or nothing is compiled."""
        return seconds_to_compile(self.kernels)

    @property
    def backend(self) -> Backend:
        return self.chosen.backend

    @property
    def exact(self) -> bool:
        return self.backend.exact

    @property
    def seconds(self) -> float:
        """What the chosen backend is expected to take."""
        return self.chosen.seconds

    def __str__(self) -> str:
        lines = [
            f"Plan for {self.n_rows:,} rows, {self.n_features} features, {self.n_outputs} output"
            f"{'s' if self.n_outputs != 1 else ''}: {self.chosen.name}",
            f"  because {self.why}",
            *(f"  {key + ':':<14}{value}" for key, value in self.semantics),
            *([f"  {'first':<14}{compiling_text(self.compile_seconds)}"] if self.compile_seconds else []),
            "",
            f"  {'backend':<22}{'result':<9}{'coalitions':>12}{'orders':>8}{'model calls':>13}"
            f"{'queries':>11}{'seconds':>11}{'memory':>10}",
        ]
        runnable = sorted((c for c in self.candidates if c.runnable), key=_SECONDS)
        for candidate in runnable:
            e = candidate.estimate
            assert e is not None
            mark = ">" if candidate is self.chosen else " "
            lines.append(
                f"{mark} {candidate.name:<22}{'exact' if candidate.backend.exact else 'sampled':<9}"
                f"{_number(e.coalitions):>12}{_number(e.orders):>8}{_number(e.model_calls):>13}{_number(e.queries):>11}"
                f"{_seconds_text(e.seconds):>11}{bytes_text(e.memory):>10}"
            )
        if len(runnable) < len(self.candidates):
            lines += ["", "  These cannot run:", _obstacles(self.candidates)]
        return "\n".join(lines)


def make_plan(
    problem: Problem,
    settings: Settings,
    n_rows: int,
    algorithm: str = "auto",
    budget: Budget | None = None,
    semantics: tuple[tuple[str, str], ...] = (),
    n_results: int | None = None,
) -> Plan:
    """Rank the backends for a problem: ``n_rows`` distinct rows, which stand for ``n_results`` rows in all.

    ``auto`` takes the cheapest exact backend within the budget, else the best approximate one; ``exact`` and
    ``sampling`` look at their own kind only; the name of a backend takes that one or raises.
    """
    budget = budget or Budget()
    check_algorithm(algorithm)
    free = available_memory()
    rows = n_rows, n_rows if n_results is None else n_results
    table = CandidateTable(problem, settings, rows, budget, free)
    choose = _CHOICES.get(algorithm, _choose_named(algorithm))
    slow = slowness(worth_measuring=False)
    chosen, why = choose(_contenders(table, algorithm, slow), budget)
    if chosen.seconds > WORTH_KNOWING:
        slow = slowness(worth_measuring=True)
        chosen, why = choose(_contenders(table, algorithm, slow), budget)
    kernels = () if chosen.estimate is None else chosen.backend.kernels(problem, settings, chosen.estimate)
    if chosen.backend.samples_orders and problem.order is not None:
        kernels += kernels_to_draw(problem.order, settings.order_method)
    n_features, n_outputs = problem.n_features, problem.n_outputs
    return Plan(chosen, why, n_rows, n_features, n_outputs, semantics, kernels, partial(table.candidates, slow))


def _contenders(table: CandidateTable, algorithm: str, slowness: float) -> tuple[Candidate, ...]:
    """Candidates from which the choice is the same as from all."""
    named = named_backend(algorithm)
    if named is not None:
        return table.candidates(slowness, [named])
    most = {"auto": table.budget.seconds, "exact": float("inf")}.get(algorithm)
    if most is not None:
        exact = table.cheapest_exact(slowness)
        if any(c.runnable and c.seconds <= most for c in exact):
            return exact
    return table.candidates(slowness)


def check_algorithm(algorithm: str) -> None:
    """Raise unless ``algorithm`` is a family or the name of a backend."""
    if algorithm not in FAMILIES and named_backend(algorithm) is None:
        raise UnknownMethodError(
            f"unknown algorithm {algorithm!r}; use 'auto', 'exact', 'sampling' or a backend: "
            f"{', '.join(repr(backend.name) for backend in BACKENDS)}"
        )


def named_backend(algorithm: str) -> Backend | None:
    """The backend that was asked for by name; None for a family."""
    return next((backend for backend in BACKENDS if backend.name == algorithm), None)


def check_room(n_rows: int, n_features: int, n_outputs: int, limit: int) -> None:
    """Raise where even reading so many rows and holding their result would pass the limit, or what is free.

    Rows are read, compared and numbered before a plan can be made for those that differ.
    """
    least = max(result_bytes(n_rows, n_features, n_outputs, exact=True), n_rows * (40 * n_features + 64))
    if least < _WORTH_CHECKING:
        return
    free = available_memory()
    room = limit if free is None else min(limit, free)
    if least > room:
        what = "raise memory_limit=" if room == limit else "that is what is free"
        raise BudgetExceededError(
            f"{n_rows:,} rows of {n_features} features and {n_outputs} outputs take at least {bytes_text(least)}, and "
            f"the limit is {bytes_text(room)} ({what}); explain fewer rows at a time"
        )


# Bytes below which only the plan looks at memory.
_WORTH_CHECKING = 2**26


def available_memory() -> int | None:
    """Bytes that this process may still take, where the system tells: free memory, or what a limit leaves.

    Read from ``/proc``, the control group of a container and the limit of the process (``ulimit -v``), on Linux; None
    elsewhere.
    """
    found: list[int] = []
    try:
        with open("/proc/meminfo") as lines:
            found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        pass
    for folder, limit, used in _GROUPS:
        try:
            left = int((folder / limit).read_text()) - int((folder / used).read_text())
            # files that are only cached count as used, but give way
            counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            found.append(max(0, left + int(counts.get("inactive_file", 0))))
        except (OSError, ValueError):  # no such group, or "max": no limit
            continue
    address_space = _address_space_left()
    return min(found if address_space is None else [*found, address_space], default=None)


def _address_space_left() -> int | None:
    """Bytes up to the limit of this process (``ulimit -v``); None without one, or where the system does not tell."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm") as sizes:
            return max(0, limit - int(sizes.read().split()[0]) * resource.getpagesize())
    except (ImportError, OSError, ValueError, IndexError):
        return None


# Where a control group tells its limit and its use, version 2 and version 1.
_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def _choose_auto(candidates: tuple[Candidate, ...], budget: Budget) -> tuple[Candidate, str]:
    exact = [c for c in candidates if c.runnable and c.backend.exact]
    affordable = [c for c in exact if c.seconds <= budget.seconds]
    if affordable:
        return min(affordable, key=_SECONDS), "it is the cheapest exact backend within the budget"
    if exact:
        cheapest = min(exact, key=_SECONDS)
        lead = f"the cheapest exact backend ({cheapest.name}) would take about {_seconds_text(cheapest.seconds)}"
    else:
        lead = "no exact backend can run"
    approximate = [c for c in candidates if c.runnable and not c.backend.exact]
    if not approximate:
        if exact:
            return min(exact, key=_SECONDS), "it is the only kind that can run"
        raise MethodNotApplicableError("no backend can treat this problem:\n" + _obstacles(candidates))
    choice, reason = _best_approximate(approximate, budget)
    if exact and choice.seconds > cheapest.seconds / 2:
        return cheapest, f"{lead}, more than the budget, but sampling would not take much less"
    return choice, f"{lead}; {reason}"


def _best_approximate(candidates: list[Candidate], budget: Budget) -> tuple[Candidate, str]:
    """One source of error is better than two: prefer exact values, then exact orders, then both sampled.

    Within the budget, that is; where nothing is, the cheapest has to do.
    """
    affordable = [c for c in candidates if c.seconds <= budget.seconds]
    choice = min(affordable, key=_sources_of_error, default=None) or min(candidates, key=_SECONDS)
    return choice, _APPROXIMATIONS[_sources_of_error(choice)[0]]


def _sources_of_error(candidate: Candidate) -> tuple[int, float]:
    """0: sampled orders, 1: Monte Carlo values, 2: both; then seconds."""
    backend = candidate.backend
    kind = 0 if not backend.samples_values else 2 if backend.samples_orders else 1
    return kind, candidate.seconds


_APPROXIMATIONS = (
    "orders are sampled, values are exact",
    "orders are exact, values are Monte Carlo means",
    "orders and values are sampled",
)


def _choose_exact(candidates: tuple[Candidate, ...], budget: Budget) -> tuple[Candidate, str]:
    runnable = [c for c in candidates if c.runnable and c.backend.exact]
    if runnable:
        return min(runnable, key=_SECONDS), "it is the cheapest exact backend"
    text = _obstacles(tuple(c for c in candidates if c.backend.exact))
    too_large = any(isinstance(c.obstacle, TooLarge) for c in candidates)
    error = BudgetExceededError if too_large else MethodNotApplicableError
    raise error(f"algorithm='exact' cannot run; use algorithm='sampling' or 'auto', or mend one of these:\n{text}")


def _choose_sampling(candidates: tuple[Candidate, ...], budget: Budget) -> tuple[Candidate, str]:
    runnable = [c for c in candidates if c.runnable and c.backend.samples_orders]
    if runnable:
        choice, reason = _best_approximate(runnable, budget)
        return choice, f"sampling was asked for; {reason}"
    text = _obstacles(tuple(c for c in candidates if c.backend.samples_orders))
    raise MethodNotApplicableError(f"algorithm='sampling' cannot run:\n{text}")


def _choose_named(name: str) -> Callable[[tuple[Candidate, ...], Budget], tuple[Candidate, str]]:
    def choose(candidates: tuple[Candidate, ...], budget: Budget) -> tuple[Candidate, str]:
        candidate = next(c for c in candidates if c.name == name)
        if candidate.obstacle is not None:
            raise MethodNotApplicableError(f"algorithm={name!r} cannot run: {candidate.obstacle}")
        return candidate, "it was asked for by name"

    return choose


_CHOICES: dict[str, Callable[[tuple[Candidate, ...], Budget], tuple[Candidate, str]]] = {
    "auto": _choose_auto,
    "exact": _choose_exact,
    "sampling": _choose_sampling,
}


def _obstacles(candidates: tuple[Candidate, ...]) -> str:
    """A line for each reason, behind the backends that it stops."""
    stopped: dict[str, list[str]] = {}
    for candidate in candidates:
        if candidate.obstacle is not None:
            stopped.setdefault(str(candidate.obstacle), []).append(candidate.name)
    return "\n".join(f"  {', '.join(names)}: {obstacle}" for obstacle, names in stopped.items())


def _number(value: int) -> str:
    return "-" if value == 0 else f"{value:,}" if value < 10**7 else f"{value:.1e}"


def _seconds_text(seconds: float) -> str:
    return (
        "< 0.1 s"
        if seconds < 0.1
        else f"{seconds:.1f} s"
        if seconds < 100
        else f"{seconds:,.0f} s"
        if seconds < 1e6
        else f"{seconds:.0e} s"
    )
