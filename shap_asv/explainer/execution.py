"""A problem being explained: plan it, make it ready once, run it over blocks of distinct rows.

Equal rows are explained once. Blocks are cut in a way that the number of processes does not show (see
:mod:`~shap_asv.explainer.blocks`) and every random number is fixed by the seed, so the result is the same for
any number of processes, and for any number of threads that use one explainer.
"""

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np

from shap_asv.backends.coalitionwise import CoalitionwiseAttributor
from shap_asv.backends.contract import Attribution, Attributor, Problem, Settings
from shap_asv.backends.joint import FEWEST, JointAttributor
from shap_asv.backends.weight_columns import Columns, empty_columns, of_players, singleton_columns
from shap_asv.backgrounds.grouping import number_rows
from shap_asv.errors import (
    ApproximationWarning,
    BudgetExceededError,
    ImpossibleEvidenceError,
    LongCallWarning,
    warn_user,
)
from shap_asv.explainer.blocks import SMALLEST_BLOCK, count_jobs, count_local_jobs, cut_rows, run_blocks
from shap_asv.explainer.progress import ProgressBar, saying_that_it_compiles
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.planning import Budget, Plan, duration, make_plan, named_backend
from shap_asv.values.contract import ValueMethod
from shap_asv.values.registry import VALUE_METHODS

#: Plans that an explainer remembers.
PLANS_KEPT = 32
#: Orders that a budget never pushes a sample below; seconds of a call that is told of before it starts.
FEWEST_ORDERS, LONG_CALL = 20, 60.0


@dataclass(eq=False)
class Execution:
    """Runs one problem. What was made ready last is kept, so that a second call starts at once."""

    problem: Problem
    algorithm: str
    budget: Budget
    n_jobs: int | None
    own_graph: bool
    last_plan: Plan | None = None
    _ready: tuple[tuple[str, Settings], Attributor] | None = field(default=None, repr=False)
    _plans: dict[Any, Plan] = field(default_factory=dict, init=False, repr=False)
    _lock: Any = field(default_factory=Lock, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None, "_plans": {}, "_lock": None, "last_plan": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def plan(self, settings: Settings, n_rows: int, n_results: int | None = None) -> Plan:
        """A plan for ``n_rows`` distinct rows among ``n_results``."""
        most = max(1, -(-n_rows // SMALLEST_BLOCK))
        jobs = min(most, count_local_jobs(self.n_jobs))
        asked = (settings, n_rows, n_results, jobs)
        if asked not in self._plans:
            if len(self._plans) >= PLANS_KEPT:
                self._plans = {}
            semantics = describe(self.problem, self.own_graph)
            budget = replace(self.budget, jobs=jobs)
            self._plans[asked] = make_plan(self.problem, settings, n_rows, self.algorithm, budget, semantics, n_results)
        return self._plans[asked]

    def settle(self, settings: Settings, n_rows: int, n_results: int | None = None) -> tuple[Plan, Settings]:
        """The plan, with as many sampled orders as fit where ``auto`` finds nothing within the budget.

        Rows whose draws are not fixed get as many as fit. Sampling orders costs at most in proportion to them. They are
        lowered only where that brings the work down to
        half of what it would be, and never below :data:`FEWEST_ORDERS`.
        """
        plan = self.plan(settings, n_rows, n_results)
        seconds = plan.seconds
        if plan.backend.samples_values and settings.n_draws is None and plan.chosen.cost is not None:
            # a power of two, and the planned draws with what the budget leaves; Settings has the most of all
            share = min(self.budget.seconds / max(seconds, 1e-9), settings.most_draws / plan.chosen.cost.draws)
            most = max(FEWEST, int(plan.chosen.cost.draws * 2.0 ** np.floor(np.log2(share))))
            return plan, replace(settings, most_draws=most)
        if self.algorithm != "auto" or seconds <= self.budget.seconds:
            return plan, settings
        if not any(c.backend.samples_orders and c.runnable for c in plan.candidates):
            return plan, settings
        sampling, fewer = replace(self, algorithm="sampling"), settings
        smaller = sampling.plan(fewer, n_rows, n_results)
        while smaller.seconds > self.budget.seconds and fewer.n_orders > FEWEST_ORDERS:
            share = min(0.8, self.budget.seconds / smaller.seconds)  # orders that visit the same coalitions pay once
            fewer = replace(fewer, n_orders=max(FEWEST_ORDERS, int(fewer.n_orders * share)))
            smaller = sampling.plan(fewer, n_rows, n_results)
        n_orders = fewer.n_orders
        if n_orders == settings.n_orders or smaller.seconds > seconds / 2:
            return plan, settings
        budget = f"budget={self.budget.seconds:g} seconds"
        fit = f"are what {budget} allow for"
        if smaller.seconds > self.budget.seconds:
            fit = f"are the fewest, and take about {duration(smaller.seconds)} where {budget}"
        why = f"{plan.chosen.name} would take about {duration(seconds)}; {n_orders} orders {fit}"
        return replace(smaller, why=why), fewer

    def explain(self, rows: np.ndarray, settings: Settings, tolerance: float | None, silent: bool) -> Attribution:
        """Rows (r, n) -> Attribution; with a tolerance, samples grow until every standard error is below it."""
        if self._must_intervene(rows):
            intervening = self._intervening()
            attribution = intervening.explain(rows, settings, tolerance, silent)
            self.last_plan = intervening.last_plan
            return attribution
        settings = replace(settings, silent=silent)
        alike = find_equal_rows(rows)
        plan, asked = self.settle(settings, len(alike.distinct), len(rows))
        announce(plan, asked, settings, self.budget.seconds, silent)
        settings = asked
        if tolerance is not None and settings.n_draws is None and plan.backend.samples_values:
            settings = replace(settings, n_draws=2 * FEWEST)
        while True:
            self.last_plan = plan
            with saying_that_it_compiles(silent):
                attributor = self._attributor(plan, settings)
                attribution = self.run(attributor, alike, plan.backend.row_block, silent)
            if isinstance(attributor, JointAttributor) and len(rows):
                self.last_plan = replace(plan, reached=attributor.describe(attribution))
            if tolerance is None or attribution.error is None:
                break
            worst = float(attribution.error.max())
            if worst <= tolerance:
                break
            settings = self._larger_sample(plan, settings, worst, tolerance)
            plan = self.plan(settings, len(alike.distinct), len(rows))
        return attribution

    def base(self, settings: Settings, row: np.ndarray, silent: bool) -> np.ndarray:
        """The value of the empty coalition (k,); ``row`` (1, n) is any row, of which nothing is looked at."""
        plan = self.plan(settings, 1)
        with saying_that_it_compiles(silent):
            if plan.backend.alone is not None:
                return self._attributor(plan, settings).attribute(row).base
            if isinstance(ready := self._attributor(plan, settings), JointAttributor):
                return ready.base
            return self._by_coalitions(plan, settings, empty_columns(self.problem.n_features)).attribute(row).base

    def main_effects(self, rows: np.ndarray, settings: Settings) -> np.ndarray:
        """``nu({i}) - nu({})`` (r, n, k) by the value method of the plan."""
        if self.problem.apart is not None:  # a feature alone is without its causes
            return self._over_any_coalition(settings).main_effects(rows, settings)
        alike = find_equal_rows(rows)
        plan = self.plan(settings, len(alike.distinct), len(rows))
        attributor: Attributor
        if plan.backend.alone is not None:
            attributor = plan.backend.alone(self.problem, settings)
        else:
            attributor = self._by_coalitions(
                plan, settings, of_players(singleton_columns(self.problem.n_players), self.problem.groups)
            )
        return self.run(attributor, alike, plan.backend.row_block, silent=True).phi

    def _must_intervene(self, rows: np.ndarray) -> bool:
        """Whether values are causal, computed as conditional, and some row cannot be conditioned on."""
        if self.problem.apart is None:
            return False
        try:
            self.problem.background.check(rows)
        except ImpossibleEvidenceError:
            return True
        return False

    def _intervening(self) -> "Execution":
        """The same without the shortcut of computing causal values as conditional ones."""
        return Execution(self.problem.for_any_coalition(), self.algorithm, self.budget, self.n_jobs, self.own_graph)

    def _over_any_coalition(self, settings: Settings) -> "Execution":
        """For sets that the order does not ask for; a named backend that has no values of these leaves the choice."""
        problem, named = self.problem.for_any_coalition(), named_backend(self.algorithm)
        able = named is None or named.obstacle(problem, settings) is None
        family = self.algorithm if named is None or able else "exact" if named.exact else "auto"
        return Execution(problem, family, self.budget, self.n_jobs, self.own_graph)

    def over_coalitions(self, problem: Problem, samples: bool) -> "Execution":
        """The same for ``problem``, whose coalitions have other weights; orders may be sampled, or not.

        A backend that was asked for by name and is not for that (one for forests, say) leaves the choice to the plan.
        """
        named = named_backend(self.algorithm)
        fits = named is None or named.by_coalitions
        if not samples:
            fits = fits and not (self.algorithm == "sampling" if named is None else named.samples_orders)
        return Execution(problem, self.algorithm if fits else "auto", self.budget, self.n_jobs, self.own_graph)

    def value_method(self, plan: Plan) -> ValueMethod:
        """What computes single values under the plan; the first that can, where its backend never writes them down."""
        problem = self.problem
        return plan.backend.method or next(
            method for method in VALUE_METHODS if method.obstacle(problem.background, problem.predictor) is None
        )

    def contract(self, rows: np.ndarray, settings: Settings, plan: Plan, columns: Columns, silent: bool) -> Attribution:
        """``nu @ matrix`` (r, c, k) for the c columns of a matrix of weights, by the value method of the plan; with
        standard errors where nu is sampled."""
        over = plan.backend.over
        attributor: Attributor = (
            self._by_coalitions(plan, settings, columns) if over is None else over(self.problem, settings, columns)
        )
        width = int(columns.matrix.shape[1])
        return self.run(
            attributor, find_equal_rows(rows), plan.backend.row_block, silent, (width, self.problem.n_outputs)
        )

    def _by_coalitions(self, plan: Plan, settings: Settings, columns: Columns) -> CoalitionwiseAttributor:
        """Single coalitions with the value method of the plan, which is ready already if rows were explained."""
        problem = self.problem
        method = self.value_method(plan)
        if self._ready is None and method.asks_first:
            self._attributor(plan, settings)
        ready = self._ready
        if ready and ready[0] == (plan.backend.name, settings) and isinstance(ready[1], CoalitionwiseAttributor):
            values = ready[1].values
        else:
            values = method.build(problem.background, problem.predictor, settings.value_options(problem))
        return CoalitionwiseAttributor(values, columns, None if method.applies_link else problem.link)

    def _attributor(self, plan: Plan, settings: Settings) -> Attributor:
        """What is ready for rows; threads that ask at the same time wait for the first one to make it."""
        with self._lock:
            if self._ready is None or self._ready[0] != (plan.backend.name, settings):
                self._ready = ((plan.backend.name, settings), plan.backend.prepare(self.problem, settings))
            return self._ready[1]

    def run(
        self,
        attributor: Attributor,
        alike: "EqualRows",
        row_block: int,
        silent: bool,
        shape: tuple[int, int] | None = None,
    ) -> Attribution:
        """Blocks of distinct rows, each written to its rows as soon as it is there. ``shape`` is that of the
        attributions of a row, by default players and outputs."""
        n, k = shape or (self.problem.n_players, self.problem.n_outputs)
        n_rows = len(alike.order)
        jobs = count_jobs(self.n_jobs)
        cuts = cut_rows(len(alike.distinct), row_block, n * k, attributor.rowwise, jobs)
        phi = np.empty((n_rows, n, k))
        base: np.ndarray | None = None
        error: np.ndarray | None = None
        draws: np.ndarray | None = None
        with ProgressBar(n_rows, silent) as bar:
            for block, part in run_blocks(attributor, alike.distinct, alike.counts, cuts, self.n_jobs, bar):
                rows, source = alike.places(block)
                phi[rows] = part.phi[source]
                base = part.base if base is None else base
                if part.error is not None:
                    error = np.empty_like(phi) if error is None else error
                    error[rows] = part.error[source]
                if part.draws is not None:
                    draws = np.empty(n_rows, dtype=np.int64) if draws is None else draws
                    draws[rows] = part.draws[source]
        assert base is not None
        return Attribution(phi, base, error, draws)

    def _larger_sample(self, plan: Plan, settings: Settings, worst: float, tolerance: float) -> Settings:
        """Errors fall with the square root of the sample: aim a little past the tolerance."""
        factor = max(1.5, 1.1 * (worst / tolerance) ** 2)
        if plan.seconds * factor > self.budget.seconds:
            raise BudgetExceededError(
                f"a standard error of {worst:.3g} was reached; tolerance={tolerance:g} would take about {factor:.0f} "
                f"times the work, more than budget={self.budget.seconds:g} seconds; raise tolerance= or budget="
            )
        larger = {name: int(np.ceil(getattr(settings, name) * factor)) for name in plan.backend.grows_with}
        if not larger:
            raise BudgetExceededError(
                f"a standard error of {worst:.3g} was reached, and {plan.backend.name} has no sample that could grow "
                f"to meet tolerance={tolerance:g}; raise tolerance="
            )
        return replace(settings, **larger)  # type: ignore[arg-type]


def announce(plan: Plan, settings: Settings, wanted: Settings, budget: float, silent: bool) -> None:
    """Say before the work starts that there are fewer orders than wanted, or that it will take more than a minute."""
    if settings.n_orders < wanted.n_orders:
        warn_user(
            f"{plan.why}, instead of {wanted.n_orders}; error_std says how good that is. Raise budget= for more "
            "orders, or explain fewer rows",
            ApproximationWarning,
        )
    if plan.seconds > LONG_CALL and not silent:
        warn_user(
            f"this will take about {duration(plan.seconds)} by {plan.backend.name}: explain fewer rows, lower "
            f"budget= (now {budget:g} seconds) or n_orders=, raise n_jobs=, or print(explainer.plan(X)) for what else "
            "there is; silent=True says nothing",
            LongCallWarning,
        )


def describe(problem: Problem, own_graph: bool) -> tuple[tuple[str, str], ...]:
    """What the numbers will mean, for the plan."""
    if isinstance(problem.order, GraphMixture):
        graph = f"given, mean over {problem.order.n_graphs:,} graphs"
    elif not problem.order.edges:
        graph = f"no edges: {_SYMMETRIC.get(problem.values, 'ordinary Shapley values')}"
    else:
        graph = (
            f"{'the network' if own_graph else 'given'}, {len(problem.order.edges)} edges after transitive reduction"
        )
    predictor = problem.predictor
    model = {"tree": "trees", "linear": "linear"}.get(predictor.kind, "called as a function")
    if predictor.evaluated:
        model += f", {predictor.evaluated}"
    elif model == "called as a function" and predictor.reason:
        model += f", because {predictor.reason}"
    meaning = _MEANINGS.get(problem.values)
    if problem.apart is not None:
        meaning = f"{meaning}; computed as conditional: the same, as each coalition holds the causes of its members"
    return (
        *((("values", meaning),) if meaning is not None else ()),
        ("distribution", problem.background.describe()),
        ("causal graph", graph),
        ("model", model),
        *((("players", f"{problem.n_players} groups of {problem.n_features} features"),) if problem.players else ()),
    )


#: What nu(S) is, and what its mean over all orders is called, in the words of the plan.
_MEANINGS = {
    "conditional": "conditional, E[M(X) | X_S = e_S]",
    "causal": "causal, E[M(X) | do(X_S = e_S)]",
    "marginal": "marginal, E[M(e_S, X_rest)]",
}
_SYMMETRIC = {"causal": "causal Shapley values", "marginal": "marginal Shapley values"}


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Rows of which some are equal.

    Attributes
    ----------
    distinct : array (d, n)
        Every row once.
    counts : int array (d,)
        How often it occurs.
    order : int array (r,)
        All rows, those that are equal to the first distinct row first, and so on.
    """

    distinct: np.ndarray
    counts: np.ndarray
    order: np.ndarray

    def places(self, block: slice) -> tuple[np.ndarray, np.ndarray]:
        """The rows that a block of distinct rows stands for, and for each of them its place in the block."""
        counts = self.counts[block]
        first = int(self.counts[: block.start].sum())
        return self.order[first : first + int(counts.sum())], np.repeat(np.arange(len(counts)), counts)


def find_equal_rows(rows: np.ndarray) -> EqualRows:
    """Which rows (r, n) are equal; rows of codes are compared as numbers, rows of objects not at all.

    Examples
    --------
    >>> alike = find_equal_rows(np.array([[1, 0], [0, 2], [1, 0]]))
    >>> alike.distinct.tolist(), alike.counts.tolist(), alike.order.tolist()
    ([[0, 2], [1, 0]], [1, 2], [1, 0, 2])
    """
    if rows.dtype == object:  # cannot be sorted; explained one by one
        return EqualRows(rows, np.ones(len(rows), dtype=np.intp), np.arange(len(rows)))
    if rows.dtype.kind in "iu" and rows.min(initial=0) >= 0 and rows.max(initial=0) < 1 << 31:
        # column by column, because a sort of whole rows is slow, and deaf to Ctrl-C
        ids, chosen = number_rows(
            [(rows[:, v].astype(np.int64), int(rows[:, v].max()) + 1) for v in range(rows.shape[1])], len(rows)
        )
    else:
        # by their bits: 0.0 and -0.0 are equal, but not to every model
        bits = rows.dtype.kind == "f" and rows.itemsize in (2, 4, 8)
        keys = np.ascontiguousarray(rows).view(f"u{rows.itemsize}") if bits else rows
        _, chosen, ids = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        ids = ids.reshape(-1)
    return EqualRows(rows[chosen], np.bincount(ids, minlength=len(chosen)), np.argsort(ids, kind="stable"))
