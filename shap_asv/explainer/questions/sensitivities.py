"""Attributions of the same rows under several causal graphs, with every value of a coalition computed once.

Each graph k has weights ``W_k`` over its own ideals. Side by side over the union of all ideals they are one sparse
matrix, so that

    phi_1, phi_2, ... = nu @ [W_1 | W_2 | ...]

asks the model and the background for ``nu`` once per ideal of the union, which for graphs that differ in a few edges is
not many more than one graph has.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.conditioning import conditioning_obstacle
from shap_asv.backends.contract import Problem, Settings
from shap_asv.backends.weight_columns import Columns, of_players
from shap_asv.backgrounds.matrix import numbered_features
from shap_asv.errors import BudgetExceededError, CausalGraphError, MethodNotApplicableError
from shap_asv.explainer.reading.causality import (
    as_partial_graph,
    name_positions,
    read_causal_graph,
    uses_positions,
    weighted_graphs,
)
from shap_asv.explainer.reading.players import order_of_players
from shap_asv.explainer.reading.rows import Table, display_names, fit_rows
from shap_asv.explainer.running.execution import Execution, find_equal_rows
from shap_asv.explainer.running.selection import select_outputs
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture, PartialGraph, neighbours
from shap_asv.orders.uncertain.mixture import weighted_orders
from shap_asv.orders.uncertain.union import weigh_each
from shap_asv.planning import Plan
from shap_asv.sensitivity import Sensitivity
from shap_asv.values.registry import VALUE_METHODS


@dataclass(frozen=True, eq=False)
class SideBySide(Columns):
    """The weights of several graphs next to one another: each is wanted by itself, not their mean."""

    def combine(self, contracted: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """``nu @ matrix`` (r, graphs * n, k) as it is."""
        return contracted, None

    def mean_matrix(self) -> sp.csr_array:
        return self.matrix


@dataclass(frozen=True)
class Candidates:
    """The graphs to compare with the given one.

    ``edges`` are given where graphs may differ in more than one edge; None where each label names one change.
    """

    orders: Sequence[CausalOrder]
    labels: Sequence[str]
    weights: Sequence[float] | None
    edges: Sequence[tuple[tuple[Hashable, Hashable], ...]] | None


def measure_sensitivity(
    execution: Execution,
    table: Table,
    settings: Settings,
    graphs: Any,
    given_graph: Any,
    encoded: bool = False,
    outputs: Any = None,
    silent: bool = False,
) -> Sensitivity:
    """Attributions of the rows of a table under each of ``graphs``, beside those under the graph of the explainer.

    Parameters
    ----------
    graphs : "edges" or graphs
        ``"edges"``: every graph that differs from the given one in one edge. Otherwise whatever ``causal_graph=``
        takes; a graph with undirected edges stands for all its DAGs.
    given_graph : object or None
        The explainer's ``causal_graph``; None for the graph of its background.
    encoded : bool
        Whether the explainer has an encoder.
    outputs : optional
        As in a call of the explainer.

    Raises
    ------
    MethodNotApplicableError
        The background cannot condition on the coalitions that a graph asks for.
    BudgetExceededError
        The graphs have more ideals together than ``ideal_limit``, or than fit into ``budget``.
    """
    problem = execution.problem.for_any_coalition()
    rows = fit_rows(problem, table, encoded)
    candidates = _candidates(problem, graphs, given_graph, settings.seed)
    given = weighted_orders(problem.order)
    together = [*(order for order, _ in given), *candidates.orders]
    coalitions, matrix = weigh_each(together, settings.ideal_limit)
    columns = of_players(SideBySide(coalitions, matrix, np.ones(len(together)), sampled=False), problem.groups)
    mixture = GraphMixture(tuple(together))
    apart = mixture.count_ideals_apart(settings.ideal_limit)
    own = _execution_over(execution, mixture)
    plan = _plan_together(own, settings, len(find_equal_rows(rows).distinct), len(rows))
    found = own.contract(rows, replace(settings, silent=silent), plan, columns, silent)
    chosen, names, single = select_outputs(
        [found.phi, found.error], problem.predictor.output_names, outputs, lambda: problem.predictor.predict(rows)
    )

    def by_graph(array: np.ndarray) -> np.ndarray:
        each = array.reshape(len(rows), len(together), problem.n_players, -1).transpose(1, 0, 2, 3)
        return each[..., 0] if single else each

    each, errors = (None if array is None else by_graph(array) for array in chosen)
    assert each is not None
    shares = np.array([share for _, share in given])
    return Sensitivity(
        each[len(given) :],
        display_names(problem, table) if problem.players is None else problem.names,
        candidates.labels,
        None if candidates.weights is None else np.array(candidates.weights),
        np.tensordot(shares, each[: len(given)], axes=1) if given else None,
        candidates.edges,
        None if single else names,
        (len(coalitions), apart),
        None if errors is None else errors[len(given) :],
    )


def plan_sensitivity(execution: Execution, n_rows: int, settings: Settings, graphs: Any, given_graph: Any) -> Plan:
    """What :func:`measure_sensitivity` would do for ``n_rows`` rows, and how many ideals the graphs share."""
    problem = execution.problem.for_any_coalition()
    candidates = _candidates(problem, graphs, given_graph, settings.seed)
    given = [order for order, _ in weighted_orders(problem.order)]
    own = _execution_over(execution, GraphMixture((*given, *candidates.orders)))
    plan = _plan_together(own, settings, n_rows)
    words = f"{len(candidates.orders):,} graphs, each by itself" + (", beside the given one" if given else "")
    semantics = tuple((key, words if key == "causal graph" else value) for key, value in plan.semantics)
    return replace(plan, semantics=semantics)


# --- which graphs -------------------------------------------------------------------------------------------------


def _candidates(problem: Problem, graphs: Any, given_graph: Any, seed: int | None) -> Candidates:
    if isinstance(graphs, str):
        found = _one_change(problem, graphs, given_graph)
    else:
        found = _given_graphs(problem, graphs, seed)
    _check_conditioning(problem, found)
    return found


def _named(graphs: Any, problem: Problem) -> Any:
    """Graphs of positions in the names of the columns, where these are numbered because they have no names."""
    features = list(problem.background.features)
    if features == numbered_features(len(features)) and uses_positions(graphs):
        return name_positions(graphs, features)
    return graphs


def _given_graphs(problem: Problem, graphs: Any, seed: int | None) -> Candidates:
    background, named = problem.background, _named(graphs, problem)
    if problem.players is None:
        order = read_causal_graph(named, background.features, background.latent, seed)
    else:
        order = order_of_players(named, problem.players, background, seed)
    mixture = order if isinstance(order, GraphMixture) else GraphMixture((order,))
    labels = [f"graph {k}" for k in range(mixture.n_graphs)]
    return Candidates(mixture.orders, labels, mixture.weights, [order.edges for order in mixture.orders])


def _one_change(problem: Problem, word: str, given_graph: Any) -> Candidates:
    if word != "edges":
        raise CausalGraphError(
            f"graphs={word!r} is not known; pass 'edges' for every graph that differs in one edge, or a list of graphs"
        )
    if problem.order is None:
        raise CausalGraphError(
            "graphs='edges' changes edges of the causal graph, and this explainer has explicit orders instead; pass "
            "the graphs to compare with as a list"
        )
    if isinstance(problem.order, GraphMixture):
        raise CausalGraphError(
            "graphs='edges' changes edges of one graph, and this explainer has the mean over "
            f"{problem.order.n_graphs:,}; pass graphs=explainer.causal_order for how far these disagree"
        )
    found = neighbours(_whole_graph(problem, problem.order, given_graph), problem.names)
    if not found:
        kind = "features" if problem.players is None else "groups"
        raise CausalGraphError(
            f"no change of one edge puts the {problem.n_players} {kind} into another order; pass a list of graphs"
        )
    return Candidates([each.order for each in found], [each.label for each in found], None, None)


def _whole_graph(problem: Problem, order: CausalOrder, given_graph: Any) -> PartialGraph | CausalOrder:
    """The graph as it was given, nodes that are not players included: an order has lost edges that follow from others.

    That of a list with one graph, or of a graph whose undirected edges leave one order only, is the order. Edges
    between features are edges between their groups.
    """
    features = problem.background.features
    source = problem.background.graph if given_graph is None else given_graph
    if source is None or isinstance(source, CausalOrder) or weighted_graphs(source) is not None:
        return order
    graph = as_partial_graph(_named(source, problem), features)
    if graph.undirected:
        return order
    if problem.players is not None:
        owner: dict[Hashable, Hashable] = {
            name: problem.names[player] for name, player in zip(features, problem.players.of_feature, strict=True)
        }
        found = graph.merged(lambda node: owner.get(node, node))
        if found is None:  # a hidden node between two members of a group
            return order
        graph = found
    missing = tuple(name for name in problem.names if name not in set(graph.nodes))
    return PartialGraph((*graph.nodes, *missing), graph.directed, graph.undirected, graph.bidirected)


# --- their values -------------------------------------------------------------------------------------------------


def _check_conditioning(problem: Problem, candidates: Candidates) -> None:
    for order, label in zip(candidates.orders, candidates.labels, strict=True):
        obstacle = conditioning_obstacle(replace(problem, order=order, given_orders=None, given_weights=None))
        if obstacle is not None:
            raise MethodNotApplicableError(f"{label} cannot be explained: {obstacle}")


def _execution_over(execution: Execution, mixture: GraphMixture) -> Execution:
    """The same work for the coalitions of all graphs."""
    problem = replace(execution.problem.for_any_coalition(), order=mixture, given_orders=None, given_weights=None)
    if all(method.obstacle(problem.background, problem.predictor) is not None for method in VALUE_METHODS):
        raise MethodNotApplicableError(
            "values of single coalitions, which graphs share, cannot be computed under "
            f"{problem.background.describe()}; pass background rows, or explain with one explainer for each graph"
        )
    return execution.over_coalitions(problem, samples=False)


def _plan_together(own: Execution, settings: Settings, n_rows: int, n_results: int | None = None) -> Plan:
    """An exact plan for all graphs, by the value method that it takes; one that samples is an error."""
    mixture = own.problem.order
    assert isinstance(mixture, GraphMixture)
    n_ideals = mixture.count_ideals(settings.ideal_limit)
    plan = own.plan(settings, n_rows, n_results)
    if plan.backend.samples_orders:
        raise BudgetExceededError(
            f"{mixture.n_graphs:,} graphs have {n_ideals:,} ideals together, more than "
            f"budget={own.budget.seconds:g} seconds or the memory allow ({plan.why}); pass fewer graphs or rows, "
            "or raise budget="
        )
    return plan
