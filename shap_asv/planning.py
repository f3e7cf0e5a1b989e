"""Which backend runs, why, and what it takes: a table, not an if-chain.

Every backend counts its operations, and :mod:`shap_asv.costs` knows what one takes. The cheapest exact backend within
the budget runs, else one that samples. The figures are rough: they rank the backends, and keep work from starting that
would not end. ``print(plan)`` says what is computed, how long it takes and what to change; ``plan.table()`` has all
backends, with what keeps the others from running.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from shap_asv.backends.contract import Backend, Problem, Settings, TooLarge
from shap_asv.backends.registry import BACKENDS
from shap_asv.costs import Cost
from shap_asv.errors import BudgetExceededError, MethodNotApplicableError, UnknownMethodError
from shap_asv.notebook import facts_html

_SECONDS = attrgetter("seconds")
#: Words for ``algorithm`` that leave the choice of a backend to the planner.
FAMILIES = ("auto", "exact", "sampling")
#: Seconds below which an exact backend is taken without a look at the others.
AT_ONCE = 0.02


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
    """A backend with what it takes, or with the obstacle that keeps it from running."""

    backend: Backend
    obstacle: str | None
    cost: Cost | None = None
    seconds: float = float("inf")
    memory: int = 0

    @property
    def name(self) -> str:
        return self.backend.name

    @property
    def runnable(self) -> bool:
        return self.obstacle is None


@dataclass(eq=False)
class Candidates:
    """All backends for a problem, each assessed when it is first asked for.

    ``rows``: how many are distinct, and how many there are.
    """

    problem: Problem
    settings: Settings
    rows: tuple[int, int]
    budget: Budget
    _assessed: dict[str, Candidate] = field(default_factory=dict, init=False, repr=False)

    def of(self, backends: Iterable[Backend] = BACKENDS) -> list[Candidate]:
        return [self.one(backend) for backend in backends]

    def one(self, backend: Backend) -> Candidate:
        if backend.name not in self._assessed:
            self._assessed[backend.name] = self._assess(backend)
        return self._assessed[backend.name]

    def exact(self) -> list[Candidate]:
        """Those that can run, up to the first that is done at once."""
        found: list[Candidate] = []
        for backend in BACKENDS:
            if backend.exact and self.one(backend).runnable:
                found.append(self.one(backend))
                if found[-1].seconds < min(AT_ONCE, self.budget.seconds):
                    break
        return found

    def _assess(self, backend: Backend) -> Candidate:
        problem, budget = self.problem, self.budget
        obstacle = backend.obstacle(problem, self.settings)
        if obstacle is not None:
            return Candidate(backend, obstacle)
        n_rows, n_results = self.rows
        cost = backend.cost(problem, self.settings, n_rows)
        seconds = cost.seconds + (problem.predictor.seconds(cost.asked, cost.calls) if cost.asked else 0.0)
        memory = budget.jobs * cost.memory
        memory += result_bytes(n_results, problem.n_features, problem.n_outputs, backend.exact)
        if memory <= budget.memory:
            return Candidate(backend, None, cost, seconds, memory)
        needs = f"needs {bytes_text(memory)}, the limit is {bytes_text(budget.memory)}: raise memory_limit="
        return Candidate(backend, TooLarge(f"{needs} or explain fewer rows at a time"))


@dataclass(frozen=True)
class Plan:
    """The choice of a backend.

    Attributes
    ----------
    chosen : Candidate
    why : str
    n_rows, n_features, n_outputs : int
    n_orders : int
        Orders to draw, where the chosen backend draws orders.
    semantics : tuple of (str, str)
        What the numbers will mean: orders, values, distribution, graph.
    candidates : tuple of Candidate
        All backends, with what they take or why they cannot run.
    reached : str
        What was drawn in the end, after rows were explained.
    """

    chosen: Candidate
    why: str
    n_rows: int
    n_features: int
    n_outputs: int
    n_orders: int
    semantics: tuple[tuple[str, str], ...]
    assess: Callable[[], list[Candidate]] = field(repr=False, compare=False)
    reached: str = ""

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(self.assess())

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

    @property
    def memory(self) -> int:
        """Bytes that the chosen backend is expected to hold."""
        return self.chosen.memory

    def __str__(self) -> str:
        facts = (f"  {key + ':':<14}{value}" for key, value in self._facts())
        return "\n".join([self._title(), f"  because {self.why}", *facts, "  plan.table() has the other ways"])

    def _repr_html_(self) -> str:
        facts = [("because", self.why), *self._facts()]
        return facts_html(self._title(), facts, ["plan.table() has the other ways"])

    def _title(self) -> str:
        outputs = f"{self.n_outputs} output{'s' if self.n_outputs != 1 else ''}"
        return f"Plan for {self.n_rows:,} rows, {self.n_features} features, {outputs}: {self.chosen.name}"

    def _facts(self) -> tuple[tuple[str, str], ...]:
        """What is computed, exact or sampled, how long, how much memory and what to change."""
        return (
            *self.semantics,
            ("result", self._result()),
            ("time", f"about {duration(self.seconds)}" if self.seconds >= 0.1 else "less than 0.1 seconds"),
            ("memory", bytes_text(self.memory) if self.memory < 2**20 else f"about {bytes_text(self.memory)}"),
            *((("to change", change),) if (change := self._change()) else ()),
        )

    def _result(self) -> str:
        """Exact, or what is sampled."""
        if self.exact:
            return "exact"
        what = self.reached or f"{self.n_orders:,} orders"
        if self.backend.samples_values and not self.reached and self.chosen.cost is not None:
            cost = self.chosen.cost
            what = f"about {cost.draws:,} draws of noise for each row, with their own orders, of {cost.coalitions:,} "
            what += "coalitions"
        return f"sampled: {what}; error_std says how good it is"

    def _change(self) -> str:
        """What a user can do about a sample, or about a plan that takes long."""
        if not self.exact:
            grow = " or ".join(f"{name}=" for name in self.backend.grows_with)
            return f"raise {grow}, or set tolerance=, for smaller errors"
        if self.seconds > 60:
            return "explain fewer rows, set n_jobs=, or algorithm='sampling'"
        return ""

    def table(self) -> str:
        """All backends: what they take, and why the others cannot run."""
        lines = [f"  {'backend':<22}{'result':<9}{'coalitions':>12}{'model rows':>13}{'time':>12}{'memory':>10}"]
        for candidate in sorted((c for c in self.candidates if c.runnable), key=_SECONDS):
            cost = candidate.cost
            assert cost is not None
            mark = ">" if candidate.name == self.chosen.name else " "
            lines.append(
                f"{mark} {candidate.name:<22}{'exact' if candidate.backend.exact else 'sampled':<9}"
                f"{_number(cost.coalitions):>12}{_number(cost.asked):>13}"
                f"{_seconds_text(candidate.seconds):>12}{bytes_text(candidate.memory):>10}"
            )
        obstacles = _obstacles(self.candidates)
        return "\n".join([*lines, *(["", "  These cannot run:", obstacles] if obstacles else [])])


def make_plan(
    problem: Problem,
    settings: Settings,
    n_rows: int,
    algorithm: str = "auto",
    budget: Budget | None = None,
    semantics: tuple[tuple[str, str], ...] = (),
    n_results: int | None = None,
) -> Plan:
    """Choose a backend for ``n_rows`` distinct rows, which stand for ``n_results`` rows in all.

    ``auto`` takes the cheapest exact backend within the budget, else one that samples; ``exact`` and ``sampling`` look
    at their own kind only; the name of a backend takes that one or raises.
    """
    check_algorithm(algorithm)
    found = Candidates(problem, settings, (n_rows, n_rows if n_results is None else n_results), budget or Budget())
    named = named_backend(algorithm)
    chosen, why = _take_named(found, named) if named is not None else _CHOICES[algorithm](found)
    return Plan(chosen, why, n_rows, problem.n_features, problem.n_outputs, settings.n_orders, semantics, found.of)


def check_algorithm(algorithm: str) -> None:
    """Raise unless ``algorithm`` is a family or the name of a backend."""
    if algorithm in ("ideals x monte_carlo", "orders x monte_carlo"):
        raise UnknownMethodError(f"{algorithm!r} is called 'monte_carlo' now: noises and orders are drawn together")
    if algorithm not in FAMILIES and named_backend(algorithm) is None:
        raise UnknownMethodError(
            f"unknown algorithm {algorithm!r}; use 'auto', 'exact', 'sampling' or a backend: "
            f"{', '.join(repr(backend.name) for backend in BACKENDS)}"
        )


def named_backend(algorithm: str) -> Backend | None:
    """The backend that was asked for by name; None for a family."""
    return next((backend for backend in BACKENDS if backend.name == algorithm), None)


def check_room(n_rows: int, n_features: int, n_outputs: int, limit: int) -> None:
    """Raise where even reading so many rows and holding their result would pass the limit.

    Rows are read, compared and numbered before a plan can be made for those that differ.
    """
    least = max(result_bytes(n_rows, n_features, n_outputs, exact=True), n_rows * (40 * n_features + 64))
    if least > max(limit, _WORTH_CHECKING):
        raise BudgetExceededError(
            f"{n_rows:,} rows of {n_features} features and {n_outputs} outputs take at least {bytes_text(least)}, and "
            f"the limit is {bytes_text(limit)} (raise memory_limit=); explain fewer rows at a time"
        )


# Bytes below which only the plan looks at memory.
_WORTH_CHECKING = 2**26


def _take_auto(found: Candidates) -> tuple[Candidate, str]:
    exact, budget = found.exact(), found.budget
    affordable = [c for c in exact if c.seconds <= budget.seconds]
    if affordable:
        return min(affordable, key=_SECONDS), "it is the cheapest exact backend within the budget"
    lead = "no exact backend can run"
    if exact:
        cheapest = min(exact, key=_SECONDS)
        lead = f"the cheapest exact backend ({cheapest.name}) would take about {duration(cheapest.seconds)}"
    sampling = [c for c in found.of() if c.runnable and not c.backend.exact]
    if not sampling:
        if exact:
            return cheapest, "it is the only kind that can run"
        raise MethodNotApplicableError("no backend can treat this problem:\n" + _obstacles(found.of()))
    choice, reason = _best_sample(sampling, budget)
    if exact and choice.seconds > cheapest.seconds / 2:
        return cheapest, f"{lead}, more than the budget, but sampling would not take much less"
    return choice, f"{lead}; {reason}"


def _take_exact(found: Candidates) -> tuple[Candidate, str]:
    runnable = found.exact()
    if runnable:
        return min(runnable, key=_SECONDS), "it is the cheapest exact backend"
    exact = found.of(backend for backend in BACKENDS if backend.exact)
    error = BudgetExceededError if any(isinstance(c.obstacle, TooLarge) for c in exact) else MethodNotApplicableError
    raise error(
        "algorithm='exact' cannot run; use algorithm='sampling' or 'auto', or mend one of these:\n" + _obstacles(exact)
    )


def _take_sampling(found: Candidates) -> tuple[Candidate, str]:
    sampling = found.of(backend for backend in BACKENDS if not backend.exact)
    runnable = [c for c in sampling if c.runnable]
    if runnable:
        choice, reason = _best_sample(runnable, found.budget)
        return choice, f"sampling was asked for; {reason}"
    raise MethodNotApplicableError("algorithm='sampling' cannot run:\n" + _obstacles(sampling))


def _take_named(found: Candidates, backend: Backend) -> tuple[Candidate, str]:
    candidate = found.one(backend)
    if candidate.obstacle is not None:
        raise MethodNotApplicableError(f"algorithm={backend.name!r} cannot run: {candidate.obstacle}")
    return candidate, "it was asked for by name"


_CHOICES: dict[str, Callable[[Candidates], tuple[Candidate, str]]] = {
    "auto": _take_auto,
    "exact": _take_exact,
    "sampling": _take_sampling,
}


def _best_sample(candidates: list[Candidate], budget: Budget) -> tuple[Candidate, str]:
    """One source of error is better than two: prefer exact values to values that are drawn.

    Within the budget, that is; where nothing is, the cheapest has to do.
    """
    affordable = [c for c in candidates if c.seconds <= budget.seconds]
    choice = min(affordable, key=_sources_of_error, default=None) or min(candidates, key=_SECONDS)
    drawn = choice.backend.samples_values
    return choice, "orders and draws are one sample" if drawn else "orders are sampled, values are exact"


def _sources_of_error(candidate: Candidate) -> tuple[bool, float]:
    return candidate.backend.samples_values, candidate.seconds


def _obstacles(candidates: Iterable[Candidate]) -> str:
    """A line for each reason, behind the backends that it stops."""
    stopped: dict[str, list[str]] = {}
    for candidate in candidates:
        if candidate.obstacle is not None:
            stopped.setdefault(str(candidate.obstacle), []).append(candidate.name)
    return "\n".join(f"  {', '.join(names)}: {obstacle}" for obstacle, names in stopped.items())


def result_bytes(n_rows: int, n_features: int, n_outputs: int, exact: bool) -> int:
    """What grows with the rows: attributions (and their errors), codes, the data and labels shown beside them."""
    # the last selection of outputs and the order of equal rows take a copy each
    return n_rows * (n_features * (8 * n_outputs * (1 if exact else 2) + 8 + 8 + 8 + 4) + 24)


def bytes_text(size: int) -> str:
    """For sentences and tables.

    >>> bytes_text(3 * 2**20), bytes_text(3 * 2**29)
    ('3 MiB', '1.5 GiB')
    """
    if size < 2**20:
        return "less than 1 MiB"
    return f"{size / 2**20:.0f} MiB" if size < 2**30 else f"{size / 2**30:.1f} GiB"


def duration(seconds: float) -> str:
    """In words.

    >>> duration(1.24), duration(75.2), duration(1000.0), duration(50_000.0)
    ('1.2 seconds', '75 seconds', '17 minutes', '14 hours')
    """
    if seconds < 10:
        return f"{seconds:.1f} seconds"
    if seconds < 300:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:,.0f} minutes" if seconds < 36_000 else f"{seconds / 3600:,.0f} hours"


def _number(value: int) -> str:
    return "-" if value == 0 else f"{value:,}" if value < 10**7 else f"{value:.1e}"


def _seconds_text(seconds: float) -> str:
    return "< 0.1 s" if seconds < 0.1 else f"{seconds:,.1f} s" if seconds < 1e6 else f"{seconds:.0e} s"
