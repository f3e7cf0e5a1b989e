"""Direct and indirect effects: what a feature does by itself, and what goes through the features that it moves.

When feature i joins the set S of those that are set, the causal value changes in two steps (Heskes, Sijben, Bucur and
Claassen, 2020):

    direct     E[M(e_i, X) | do(X_S)] - E[M(X) | do(X_S)]            the model sees e_i, no other feature does
    indirect   E[M(X) | do(X_S, X_i)] - E[M(e_i, X) | do(X_S)]       the others follow

Both are averaged over the orders with the weights of the causal values, whose parts they are. With the weights W split
into those of sets with and without i, ``direct_i = sum over S with i of W[S, i] shown_i(S) + sum over S without i of
W[S, i] nu(S)``, where ``shown_i(S)`` sets ``S - i`` and shows e_i to the model alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.coalitionwise import CoalitionwiseAttributor
from shap_asv.backends.contract import Attribution, Problem, Settings
from shap_asv.backends.weight_columns import Columns
from shap_asv.backends.workload import IDEALS, SAMPLED_ORDERS, few_coalitions
from shap_asv.backgrounds.contract import Background, Showing
from shap_asv.errors import MethodNotApplicableError
from shap_asv.explainer.execution import Execution, find_equal_rows
from shap_asv.explainer.rows import fit_rows, read_table, shown_players
from shap_asv.explanation import build_explanation, select_outputs
from shap_asv.values.contract import SampledValues, Values

if TYPE_CHECKING:
    import shap


class Effects(NamedTuple):
    """Two ``shap.Explanation`` whose values add up to the causal values; both have the base values of these."""

    direct: "shap.Explanation"
    indirect: "shap.Explanation"


@dataclass(frozen=True, eq=False)
class EffectColumns(Columns):
    """Weights over (set, shown player): ``coalitions`` bool (m, n + p), a set of features, and which of p players is
    only shown.
    """

    @property
    def n_features(self) -> int:
        return int(self.coalitions.shape[1]) - self.n_players


class ShownValues:
    """Values of sets of which one member may be shown to the model alone.

    ``plain``: every member of a set is set. ``shown[i]``: player i is shown to the model alone, the rest is set.
    """

    def __init__(self, plain: Values, shown: list[Values]) -> None:
        self.n_outputs, self.plain, self.shown = plain.n_outputs, plain, shown

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n + p), or (m, n) where no player is only shown, and rows (r, n) -> float64 (r, m, k)."""
        result = np.empty((len(rows), len(coalitions), self.n_outputs))
        for values, which in self.parts(coalitions, rows.shape[1]):
            result[:, which] = values.values(coalitions[which, : rows.shape[1]], rows)
        return result

    def parts(self, coalitions: np.ndarray, n: int) -> list[tuple[Any, np.ndarray]]:
        """The values to ask for each coalition, and the positions of these."""
        shown = coalitions[:, n:]
        parts: list[tuple[Any, np.ndarray]] = [(self.plain, np.flatnonzero(~shown.any(axis=1)))]
        parts += [(self.shown[i], np.flatnonzero(shown[:, i])) for i in range(shown.shape[1])]
        return [(values, which) for values, which in parts if len(which)]


class ShownDraws:
    """:class:`ShownValues` that are means of draws."""

    def __init__(self, plain: SampledValues, shown: list[Values]) -> None:
        self.n_outputs, self.n_groups = plain.n_outputs, plain.n_groups
        self.widening, self.resolution = plain.widening, plain.resolution
        self._whole = ShownValues(plain, shown)

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self._whole.values(coalitions, rows)

    def groups_and_sample(self, coalitions: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As :class:`~shap_asv.values.contract.SampledValues` has it."""
        n = rows.shape[1]
        parts = self._whole.parts(coalitions, n)
        drawn = [values.groups_and_sample(coalitions[at, :n], rows) for values, at in parts]
        back = np.argsort(np.concatenate([at for _, at in parts]))
        grouped, sample = (np.concatenate(both, axis=2)[:, :, back] for both in zip(*drawn, strict=True))
        return grouped, sample


def effect_columns(columns: Columns, first_member: np.ndarray) -> EffectColumns:
    """Weights of direct effects from those of the values; ``first_member`` (p,) is a feature of each player."""
    n, p = columns.n_features, columns.n_players
    entries = columns.matrix.tocoo()
    player = entries.col % p
    inside = columns.coalitions[entries.row, first_member[player]]
    keys = entries.row * np.int64(p + 1) + np.where(inside, player + 1, 0)
    distinct, row = np.unique(keys, return_inverse=True)
    coalitions = np.zeros((len(distinct), n + p), dtype=bool)
    coalitions[:, :n] = columns.coalitions[distinct // (p + 1)]
    shown = distinct % (p + 1)
    with_one = np.flatnonzero(shown)
    coalitions[with_one, n + shown[with_one] - 1] = True
    matrix = sp.csr_array(
        (entries.data, (row.reshape(-1), entries.col)), shape=(len(distinct), columns.matrix.shape[1])
    )
    return EffectColumns(coalitions, matrix, columns.group_sizes, columns.sampled)


def measure_effects(
    execution: Execution,
    settings_for: Callable[[Problem], Settings],
    X: Any,
    encoder: Any = None,
    outputs: Any = None,
    silent: bool = False,
) -> Effects:
    """Direct and indirect parts of the causal values of the rows of a table.

    Where something is sampled, both have standard errors; those of the indirect part are upper bounds.
    """
    problem = execution.problem.for_any_coalition()
    if problem.values != "causal" or not isinstance(problem.background, Showing):
        raise MethodNotApplicableError(
            f"direct and indirect effects are parts of causal values, and these are {problem.values}; make the "
            "explainer with values='causal'"
        )
    table, settings = read_table(X), settings_for(problem)
    rows = fit_rows(problem, table, encoder is not None)
    total = execution.explain(rows, settings, None, silent)
    direct = _direct(execution, problem, rows, replace(settings, silent=silent), silent)
    # of a difference: no larger than the errors of both together
    errors = [part for part in (direct.error, total.error) if part is not None]
    error = np.sum(errors, axis=0) if errors else None
    base = np.broadcast_to(total.base, (len(rows), len(total.base)))
    arrays, names, single = select_outputs(
        [direct.phi, total.phi - direct.phi, base, direct.error, error],
        problem.predictor.output_names,
        outputs,
    )

    def explanation(phi: Any, own_error: Any) -> Any:
        shown = shown_players(problem, rows, table)
        return build_explanation(phi, arrays[2], *shown, names, own_error, None, single, 0.0)

    return Effects(explanation(arrays[0], arrays[3]), explanation(arrays[1], arrays[4]))


def _direct(execution: Execution, problem: Problem, rows: np.ndarray, settings: Settings, silent: bool) -> Attribution:
    own = execution.over_coalitions(problem, samples=True)
    alike = find_equal_rows(rows)
    plan = own.plan(settings, len(alike.distinct), len(rows))
    sweep = SAMPLED_ORDERS if plan.backend.samples_orders else IDEALS
    if plan.backend.samples_values:
        sweep = few_coalitions(problem, settings)
    columns = sweep.columns(problem, settings)
    method = own.value_method(plan)
    options = settings.value_options(problem)
    of_feature = np.arange(problem.n_features) if problem.players is None else problem.players.of_feature
    members = [np.flatnonzero(of_feature == i) for i in range(problem.n_players)]
    shown = [method.build(_showing(problem.background, them), problem.predictor, options) for them in members]
    weights = effect_columns(columns, np.array([them[0] for them in members]))
    plain = method.build(problem.background, problem.predictor, options)
    values = ShownDraws(plain, shown) if isinstance(plain, SampledValues) else ShownValues(plain, shown)
    attributor = CoalitionwiseAttributor(values, weights, problem.link)
    return own.run(attributor, alike, plan.backend.row_block, silent)


def _showing(background: Background, members: np.ndarray) -> Background:
    """The background where evidence about these features is shown to the model alone."""
    for feature in members.tolist():
        assert isinstance(background, Showing)
        background = background.showing(feature)
    return background
