"""A problem being explained: plan it, make it ready once, run it over blocks of distinct rows.

Equal rows are explained once. Blocks have a fixed size and every random number is fixed by the seed, so the result is
the same for any number of processes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shap_asv.backends.coalitionwise import CoalitionwiseAttributor
from shap_asv.backends.columns import Columns, empty_columns, singleton_columns
from shap_asv.backends.contract import Attribution, Attributor, Problem, Settings
from shap_asv.backgrounds.discrete import DiscreteBackground
from shap_asv.errors import BudgetExceededError
from shap_asv.planning import Budget, Plan, make_plan
from shap_asv.values.contract import blocks
from shap_asv.values.registry import VALUE_METHODS


@dataclass(eq=False)
class Execution:
    """Runs one problem. What was made ready last is kept, so that a second call starts at once."""

    problem: Problem
    algorithm: str
    budget: Budget
    n_jobs: int
    own_graph: bool
    _ready: tuple[tuple[str, Settings], Attributor] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}

    def plan(self, settings: Settings, n_rows: int) -> Plan:
        semantics = describe(self.problem, self.own_graph)
        return make_plan(self.problem, settings, n_rows, self.algorithm, self.budget, semantics)

    def explain(self, rows: np.ndarray, settings: Settings, tolerance: float | None, silent: bool) -> Attribution:
        """Rows (r, n) -> Attribution; with a tolerance, samples grow until every standard error is below it."""
        settings = replace(settings, silent=silent)
        distinct, back = _distinct_rows(rows)
        while True:
            plan = self.plan(settings, len(distinct))
            attribution = self._run(plan, settings, distinct, silent)
            if tolerance is None or attribution.error is None:
                break
            worst = float(attribution.error.max())
            if worst <= tolerance:
                break
            settings = self._larger_sample(plan, settings, worst, tolerance)
        error = None if attribution.error is None else attribution.error[back]
        return Attribution(attribution.phi[back], attribution.base, error)

    def base(self, settings: Settings, row: np.ndarray) -> np.ndarray:
        """The value of the empty coalition (k,); ``row`` (1, n) is any row, of which nothing is looked at."""
        columns = empty_columns(self.problem.n_features)
        return self._by_coalitions(self.plan(settings, 1), settings, columns).attribute(row).base

    def main_effects(self, rows: np.ndarray, settings: Settings) -> np.ndarray:
        """``nu({i}) - nu({})`` (r, n, k) by the value method of the plan."""
        columns = singleton_columns(self.problem.n_features)
        return self._by_coalitions(self.plan(settings, len(rows)), settings, columns).attribute(rows).phi

    def _by_coalitions(self, plan: Plan, settings: Settings, columns: Columns) -> CoalitionwiseAttributor:
        """Single coalitions with the value method of the plan."""
        problem = self.problem
        able = [m for m in VALUE_METHODS if m.obstacle(problem.background, problem.predictor) is None]
        method = next((m for m in able if m.name == plan.backend.values), able[0])  # "terms" are trees or linear
        values = method.build(problem.background, problem.predictor, settings.value_options(problem))
        return CoalitionwiseAttributor(values, columns, None if method.name == "marginal" else problem.link)

    def _attributor(self, plan: Plan, settings: Settings) -> Attributor:
        ready = self._ready
        if ready is None or ready[0] != (plan.backend.name, settings):
            ready = ((plan.backend.name, settings), plan.backend.prepare(self.problem, settings))
            self._ready = ready
        return ready[1]

    def _run(self, plan: Plan, settings: Settings, rows: np.ndarray, silent: bool) -> Attribution:
        import shap

        attributor = self._attributor(plan, settings)
        pieces = [rows[block] for block in blocks(len(rows), plan.backend.row_block)]
        done: Iterable[Attribution]
        if self.n_jobs == 1 or len(pieces) == 1:
            done = (attributor.attribute(piece) for piece in pieces)
        else:
            import joblib

            run = joblib.delayed(attributor.attribute)
            done = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator")(run(piece) for piece in pieces)
        parts = list(shap.utils.show_progress(done, len(pieces), "AsymmetricExplainer explainer", silent))
        errors = [part.error for part in parts if part.error is not None]
        return Attribution(
            np.concatenate([part.phi for part in parts]), parts[0].base, np.concatenate(errors) if errors else None
        )

    def _larger_sample(self, plan: Plan, settings: Settings, worst: float, tolerance: float) -> Settings:
        """Errors fall with the square root of the sample: aim a little past the tolerance."""
        factor = max(1.5, 1.1 * (worst / tolerance) ** 2)
        estimate = plan.chosen.estimate
        assert estimate is not None
        if estimate.seconds * factor > self.budget.seconds:
            raise BudgetExceededError(
                f"a standard error of {worst:.3g} was reached; tolerance={tolerance:g} would take about {factor:.0f} "
                f"times the work, more than budget={self.budget.seconds:g} seconds; raise tolerance= or budget="
            )
        if plan.backend.orders == "sampled":
            settings = replace(settings, n_orders=int(np.ceil(settings.n_orders * factor)))
        if plan.backend.values == "monte_carlo":
            settings = replace(settings, n_draws=int(np.ceil(settings.n_draws * factor)))
        return settings


def describe(problem: Problem, own_graph: bool) -> tuple[tuple[str, str], ...]:
    """What the numbers will mean, for the plan."""
    background = problem.background
    if isinstance(background, DiscreteBackground):
        latent = f", latent: {', '.join(background.latent)}" if background.latent else ""
        distribution = f"conditional on a Bayesian network of {background.n_nodes} nodes{latent}"
    else:
        distribution = f"marginal over {background.n_samples} background rows, as in shap"
    if problem.order is None:
        assert problem.given_orders is not None
        graph = f"{len(problem.given_orders)} explicit orders"
    elif not problem.order.edges:
        graph = "no edges: ordinary Shapley values"
    else:
        graph = (
            f"{'the network' if own_graph else 'given'}, {len(problem.order.edges)} edges after transitive reduction"
        )
    model = f"{problem.predictor.kind}, {problem.predictor.n_outputs} output(s)"
    return (("distribution", distribution), ("causal graph", graph), ("model", model))


def _distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if rows.dtype == object:  # cannot be sorted; explained one by one
        return rows, np.arange(len(rows))
    # by their bits: 0.0 and -0.0 are equal, but not to every model
    keys = np.ascontiguousarray(rows).view(f"u{rows.itemsize}") if rows.dtype.kind == "f" else rows
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return rows[first], back.reshape(-1)
