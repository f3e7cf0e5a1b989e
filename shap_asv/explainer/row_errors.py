"""How far marginal values are off because shap takes some rows of a table, a hundred, and not all of them.

Marginal values are means over B background rows. So are those over each of G disjoint parts of these rows, and

    error^2 = (1 - B / N) * variance between the parts / G

is the variance of the mean over B of the N rows of the table, drawn without replacement. All rows that are explained
share their background rows: errors go the same way in all of them, and hardly change a feature's credit, the mean of
``|phi|``, where as many values are positive as negative. Its error is that of the mean of ``sign(phi) phi``, part by
part, and what signs add that turn: an error of twice its standard error adds ``2 max(2 error - |phi|, 0)``.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shap_asv.backends.coalitionwise import CoalitionwiseAttributor
from shap_asv.backends.contract import Attributor
from shap_asv.backends.workload import few_coalitions
from shap_asv.backgrounds.contract import RowsInParts
from shap_asv.explainer.execution import Execution, find_equal_rows
from shap_asv.explainer.fitting import is_table
from shap_asv.explainer.rows import fit_rows, read_table
from shap_asv.explanation import select_outputs
from shap_asv.models.calls import RowLoss
from shap_asv.models.predictor import Predictor
from shap_asv.values.contract import ValueOptions
from shap_asv.values.marginal import MarginalValues
from shap_asv.values.monte_carlo import student

if TYPE_CHECKING:
    from shap_asv.explainer.asymmetric import AsymmetricExplainer

#: Parts of the background rows, and orders that their values are looked at along, at most.
N_PARTS, MOST_ORDERS = 10, 100


class RowErrors(NamedTuple):
    """Standard errors of values (r, n[, k]) and of the means of their sizes (n[, k]), and the rows of the table."""

    values: np.ndarray
    credit: np.ndarray
    n_table: int


class MarginalOfParts(MarginalValues):
    """nu over each part of the background rows, one after the other as outputs."""

    def __init__(self, background: RowsInParts, predictor: Predictor, options: ValueOptions) -> None:
        super().__init__(background, predictor, options)
        self.n_outputs *= N_PARTS

    def _average(self, outputs: np.ndarray, sample_weights: np.ndarray | None) -> np.ndarray:
        weights = [None] * N_PARTS if sample_weights is None else np.array_split(sample_weights, N_PARTS)
        parts = zip(np.array_split(outputs, N_PARTS), weights, strict=True)
        return np.concatenate([super(MarginalOfParts, self)._average(*part) for part in parts])


def takes_some_rows(explainer: "AsymmetricExplainer") -> bool:
    """Whether its background rows are some of those of a table that is at hand."""
    problem, table = explainer._known_execution().problem, explainer._given
    if not isinstance(problem.background, RowsInParts) or isinstance(problem.predictor.call.then, RowLoss):
        return False
    return is_table(table) and len(table) > problem.background.n_samples


def measure_row_errors(explainer: "AsymmetricExplainer", X: Any, values: np.ndarray, outputs: Any) -> RowErrors | None:
    """Errors of the ``values`` of X; None where background rows are not a sample of a table.

    Costs what the values cost, less where more orders than :data:`MOST_ORDERS` are behind them.
    """
    if not takes_some_rows(explainer):
        return None
    execution, table = explainer._known_execution(), explainer._given
    problem = execution.problem
    assert isinstance(problem.background, RowsInParts)
    rows = fit_rows(problem, read_table(X), explainer.encoder is not None)
    parts = list(_by_parts(execution, rows, explainer))
    chosen = np.stack(select_outputs(parts, problem.predictor.output_names, outputs)[0])
    by_part = chosen.reshape(N_PARTS, *values.shape)
    scale = student(N_PARTS - 1) * np.sqrt((1 - problem.background.n_samples / len(table)) / N_PARTS)
    errors = scale * by_part.std(axis=0, ddof=1)
    kept = scale * (np.sign(values) * by_part).mean(axis=1).std(axis=0, ddof=1)
    turned = np.maximum(2 * errors - np.abs(values), 0.0).mean(axis=0)
    return RowErrors(errors, np.hypot(kept, turned), len(table))


def _by_parts(execution: Execution, rows: np.ndarray, explainer: "AsymmetricExplainer") -> np.ndarray:
    """Values over each part of the background rows, (G, r, p, k)."""
    problem, plan, alike = execution.problem, execution.last_plan, find_equal_rows(rows)
    assert isinstance(problem.background, RowsInParts)
    assert plan is not None
    settings = explainer._settings(problem)
    settings = replace(settings, n_orders=min(settings.n_orders, MOST_ORDERS))

    def run(attributor: Attributor, k: int) -> np.ndarray:
        return execution.run(attributor, alike, plan.backend.row_block, True, (problem.n_players, k)).phi

    if plan.backend.method is None:  # leaf by leaf: nu is never written down
        over = [replace(problem, background=part) for part in problem.background.parts(N_PARTS)]
        return np.stack([run(plan.backend.prepare(one, settings), problem.n_outputs) for one in over])
    values = MarginalOfParts(problem.background, problem.predictor, settings.value_options(problem))
    columns = few_coalitions(problem, settings).columns(problem, settings)
    mean = replace(columns, matrix=columns.mean_matrix(), group_sizes=np.ones(1), sampled=False)
    found = run(CoalitionwiseAttributor(values, mean), values.n_outputs)
    return np.moveaxis(found.reshape(*found.shape[:2], N_PARTS, problem.n_outputs), 2, 0)
