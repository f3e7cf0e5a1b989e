"""phi from any value method: write nu down for a block of coalitions, multiply by their rows of W, go on."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shap_asv.backends.conditioning import conditioning_obstacle, is_ancestral
from shap_asv.backends.contract import Attribution, Attributor, Backend, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backends.weight_columns import N_GROUPS, Columns, contract
from shap_asv.backends.workload import Sweep
from shap_asv.backgrounds.tables.border import rowwise_product
from shap_asv.costs import Cost
from shap_asv.errors import ModelError
from shap_asv.values.contract import SampledValues, Sloping, ValueMethod, Values, Workload, blocks
from shap_asv.values.monte_carlo import N_SAMPLED

#: Distinct rows explained at a time.
ROW_BLOCK = 256
#: Doubles of nu held at one time; the evidence behind them takes a few times as much.
DENSE_LIMIT = 2**20
#: The mean of a group of draws, and some draws of it, are held side by side.
SAMPLES_PER_GROUP = 1 + N_SAMPLED


@dataclass(frozen=True, eq=False)
class CoalitionwiseAttributor:
    """``phi = link(nu) @ W`` with nu from ``values``; the link is None where the values have applied it already."""

    values: Values
    columns: Columns
    link: Callable[[np.ndarray], np.ndarray] | None = None
    _known_base: list[np.ndarray] = field(default_factory=list, repr=False)
    _by_slopes: list[np.ndarray] = field(default_factory=list, init=False, repr=False)

    rowwise = compiled = False

    def __post_init__(self) -> None:
        if self.link is None and isinstance(self.values, Sloping) and self.values.centre is not None:
            self._by_slopes.append(self._contract_slopes(self.values))

    @cached_property
    def _sampled(self) -> SampledValues | None:
        """The values, where they are means of draws."""
        return self.values if isinstance(self.values, SampledValues) else None

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        if self._sampled is not None:
            return self._attribute_sampled_values(rows, self._sampled, report)
        if self._by_slopes:
            return self._attribute_by_slopes(rows)
        coalitions, matrix = self.columns.coalitions, self.columns.matrix
        contracted = np.zeros((len(rows), matrix.shape[1], self.values.n_outputs))
        for block in blocks(len(coalitions), DENSE_LIMIT // max(1, len(rows) * self.values.n_outputs)):
            nu = self._linked(self.values.values(coalitions[block], rows))
            contracted += contract(nu, matrix if block == slice(0, len(coalitions)) else matrix[block])
            report(block.stop / len(coalitions))
        phi, error = self.columns.combine(contracted)
        return Attribution(phi, self._base(rows), error)

    def _contract_slopes(self, values: Sloping) -> np.ndarray:
        """``slopes @ W`` (n, c, k) for the c columns of W: all that rows have to be multiplied by."""
        coalitions, matrix = self.columns.coalitions, self.columns.matrix
        contracted = np.zeros((self.columns.n_features, matrix.shape[1], values.n_outputs))
        for block in blocks(len(coalitions), values.coalitions_at_a_time):
            slopes = values.slopes(coalitions[block])
            contracted += contract(slopes.transpose(1, 0, 2), matrix[block])
        return contracted

    def _attribute_by_slopes(self, rows: np.ndarray) -> Attribution:
        """``nu(S) = base + (x - centre) @ slopes(S)``, so ``nu @ W = base * 1 @ W + (x - centre) @ (slopes @ W)``."""
        assert isinstance(self.values, Sloping)
        (slopes,), base, centre = self._by_slopes, self._base(rows), self.values.centre
        product = rowwise_product(rows - centre, slopes.reshape(len(slopes), -1))
        totals = np.asarray(self.columns.matrix.sum(axis=0)).reshape(-1, 1)
        phi, error = self.columns.combine(totals * base + product.reshape(len(rows), *slopes.shape[1:]))
        return Attribution(phi, base, error)

    def _base(self, rows: np.ndarray) -> np.ndarray:
        if not self._known_base:  # the same for every row
            empty = np.zeros((1, self.columns.n_features), dtype=bool)
            self._known_base.append(self._linked(self.values.values(empty, rows[:1]))[0, 0])
        return self._known_base[0]

    def _attribute_sampled_values(self, rows: np.ndarray, values: SampledValues, report: Report) -> Attribution:
        """Values that are means of draws: the error has a part from the draws and, for sampled orders, one from the
        orders.

        The draws' part is first order in the noise of nu: group g of the draws contributes
        ``link'(nu) (nu_g - nu) @ W``, which is exact for the identity link. The groups may agree by chance: single
        draws, taken through W in the same way, tell how small the error can be at best.
        """
        coalitions, matrix, mean_matrix = self.columns.coalitions, self.columns.matrix, self.columns.mean_matrix()
        k, n_groups = values.n_outputs, values.n_groups
        contracted = np.zeros((len(rows), matrix.shape[1], k))
        deviations: np.ndarray | None = None
        at_a_time = DENSE_LIMIT // max(1, len(rows) * k * n_groups * SAMPLES_PER_GROUP)
        for block in blocks(len(coalitions), at_a_time):
            grouped, sample = values.groups_and_sample(coalitions[block], rows)
            mean = grouped.mean(axis=0)
            contracted += contract(self._linked(mean), matrix[block])
            off = (np.concatenate([grouped, sample]) - mean) * self._slope(mean)
            part = contract(off.reshape(-1, *off.shape[2:]), mean_matrix[block])
            part = part.reshape(len(off), len(rows), *part.shape[1:])
            deviations = part if deviations is None else deviations + part
            report(block.stop / len(coalitions))
        assert deviations is not None
        phi, order_error = self.columns.combine(contracted)
        between = (deviations[:n_groups] ** 2).sum(axis=0) / (n_groups * (n_groups - 1))
        between *= values.widening**2
        at_best = deviations[n_groups:].var(axis=0) * values.resolution
        variance = np.maximum(between, at_best)
        if order_error is not None:
            variance = variance + order_error**2
        return Attribution(phi, self._base(rows), np.sqrt(variance))

    def _linked(self, nu: np.ndarray) -> np.ndarray:
        if self.link is None:
            return nu
        with np.errstate(divide="ignore", invalid="ignore"):
            linked = self.link(nu)
        if not np.isfinite(linked).all():
            bad = nu[~np.isfinite(linked)].flat[0]
            raise ModelError(
                f"the link function is not finite at the expected output {bad:.6g}; "
                "use the identity link, or a model whose output stays inside the link's domain"
            )
        return np.asarray(linked)

    def _slope(self, nu: np.ndarray) -> np.ndarray | float:
        if self.link is None:
            return 1.0
        step = 1e-6
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (self.link(nu + step) - self.link(nu - step)) / (2 * step)
        return np.where(np.isfinite(slope), slope, 0.0)


def coalitionwise_backend(method: ValueMethod, sweep: Sweep) -> Backend:
    """All ideals, or the prefixes of sampled orders, with any exact value method."""

    def obstacle(problem: Problem, settings: Settings) -> str | None:
        return (
            method.obstacle(problem.background, problem.predictor)
            or conditioning_obstacle(problem)
            or sweep.obstacle(problem, settings)
        )

    def cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
        coalitions, n_outputs = sweep.count(problem, settings), problem.n_outputs
        linked = problem.link is not None and not method.applies_link
        columns = problem.n_players * (min(settings.n_orders, N_GROUPS) if sweep.sampled else 1)
        work = Workload(
            n_rows,
            coalitions,
            problem.n_features,
            0,
            is_ancestral(problem),
            settings.batch_size,
            linked,
            columns,
        )
        found = method.cost(problem.background, problem.predictor, work)
        # nu is never held for more pairs of row and coalition than this
        pairs = min(min(n_rows, ROW_BLOCK) * coalitions, DENSE_LIMIT // n_outputs)
        held = method.cost(problem.background, problem.predictor, replace(work, n_rows=1, n_coalitions=pairs)).memory
        summed = 24 * min(n_rows, ROW_BLOCK) * columns * n_outputs
        return replace(found, memory=held + summed) + sweep.cost(problem, settings)

    def prepare(problem: Problem, settings: Settings) -> Attributor:
        values = method.build(problem.background, problem.predictor, settings.value_options(problem))
        link = None if method.applies_link else problem.link
        return CoalitionwiseAttributor(values, sweep.columns(problem, settings), link)

    return Backend(
        f"{sweep.name} x {method.name}",
        sweep.sampled,
        method,
        obstacle,
        cost,
        prepare,
        ROW_BLOCK,
        by_coalitions=True,
    )
