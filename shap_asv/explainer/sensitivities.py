"""Attributions of the same rows under several causal graphs, with every value of a coalition computed once.

Each graph k has weights ``W_k`` over its own ideals. Side by side over the union of all ideals they are one sparse
matrix, so that

    phi_1, phi_2, ... = nu @ [W_1 | W_2 | ...]

asks the model and the background for ``nu`` once per ideal of the union, which for graphs that differ in a few edges is
not many more than one graph has. That takes one nu for all graphs:

- where some graph asks for coalitions that the background cannot condition on, all graphs (the given one, too) are
  explained over one that can, fitted once to the same table;
- where the graph says what ``do()`` does (levels, or a DAG that a table was fitted along), each graph has values of its
  own, by an explainer of its own; so it is where values of single coalitions are never written down (trees alone).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse as sp
from tqdm.auto import tqdm

from shap_asv.backends.conditioning import conditioning_obstacle
from shap_asv.backends.contract import Problem, Settings
from shap_asv.backends.weight_columns import Columns, of_players
from shap_asv.backgrounds.matrix import numbered_features
from shap_asv.errors import BudgetExceededError, CausalGraphError, MethodNotApplicableError, ShapAsvError
from shap_asv.explainer.causes import (
    as_partial_graph,
    levels_of,
    name_positions,
    order_of_players,
    uses_positions,
    weighted_graphs,
)
from shap_asv.explainer.execution import Execution, find_equal_rows
from shap_asv.explainer.problem import graph_defines_do
from shap_asv.explainer.progress import DELAY
from shap_asv.explainer.rows import Table, display_names, fit_rows
from shap_asv.explanation import select_outputs
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture, neighbours
from shap_asv.orders.uncertain.mixture import check_graph_weights, weighted_orders
from shap_asv.orders.weights import weigh_each
from shap_asv.planning import Plan
from shap_asv.sensitivity import Sensitivity
from shap_asv.values.registry import VALUE_METHODS

if TYPE_CHECKING:
    from shap_asv.explainer.asymmetric import AsymmetricExplainer


@dataclass(frozen=True, eq=False)
class SideBySide(Columns):
    """The weights of several graphs next to one another: each is wanted by itself, not their mean."""

    def combine(self, contracted: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """``nu @ matrix`` (r, graphs * n, k) as it is."""
        return contracted, None

    def mean_matrix(self) -> sp.csr_array:
        return self.matrix


class Alternative(NamedTuple):
    """A graph to compare with the given one: as it was handed over, and the order of the players that it makes."""

    label: str
    graph: Any
    order: CausalOrder
    weight: float = 1.0


@dataclass(frozen=True)
class Alternatives:
    """All of them; ``one_change`` where each label names the one edge in which its graph differs."""

    graphs: Sequence[Alternative]
    one_change: bool

    @property
    def orders(self) -> list[CausalOrder]:
        return [each.order for each in self.graphs]

    def facts(self) -> dict[str, Any]:
        """What a :class:`Sensitivity` is told of the graphs, beside their values."""
        return {
            "labels": [each.label for each in self.graphs],
            "weights": None if self.one_change else np.array([each.weight for each in self.graphs]),
            "edges": None if self.one_change else [each.order.edges for each in self.graphs],
        }

    def equal_orders(self) -> list[str]:
        """A sentence for each graph that puts the features into the order of an earlier one."""
        first: dict[CausalOrder, str] = {}
        said = []
        for each in self.graphs:
            known = first.setdefault(each.order, each.label)
            if known != each.label:
                said.append(f"{each.label} puts the features into the same order as {known}")
        return said


def measure_sensitivity(
    explainer: "AsymmetricExplainer", table: Table, X: Any, graphs: Any, outputs: Any = None, silent: bool = False
) -> Sensitivity:
    """Attributions of the rows of a table under each of ``graphs``, beside those under the graph of the explainer.

    Parameters
    ----------
    graphs : "edges" or graphs
        ``"edges"``: every graph that differs from the given one in one edge. Otherwise whatever ``causal_graph=``
        takes; a graph with undirected edges stands for all its DAGs.
    outputs : optional
        As in a call of the explainer.

    Raises
    ------
    MethodNotApplicableError
        A graph cannot be explained: it does not say what ``do()`` does, for causal values.
    BudgetExceededError
        The graphs have more ideals together than ``ideal_limit``, or than fit into ``budget``.
    """
    execution = explainer._execution_for(table)
    alternatives = _alternatives(explainer, execution.problem, graphs)
    shared = _over_one_background(explainer, execution.problem, alternatives, silent)
    if shared is None:
        return _one_by_one(explainer, X, alternatives, outputs, silent)
    return _together(shared, table, alternatives, outputs, silent)


# --- which graphs -------------------------------------------------------------------------------------------------


def _alternatives(explainer: "AsymmetricExplainer", problem: Problem, graphs: Any) -> Alternatives:
    if graphs is None:
        raise CausalGraphError("graphs=None is not a graph; pass 'edges', a causal graph or a list of graphs")
    if isinstance(graphs, str):
        return Alternatives(list(_one_change(explainer, problem, graphs)), one_change=True)
    return Alternatives(list(_given_graphs(problem, _named(graphs, problem), explainer._entropy)), one_change=False)


def _named(graphs: Any, problem: Problem) -> Any:
    """Graphs of positions in the names of the columns, where these are numbered because they have no names."""
    features = list(problem.background.features)
    if features == numbered_features(len(features)) and uses_positions(graphs):
        return name_positions(graphs, features)
    return graphs


def _given_graphs(problem: Problem, graphs: Any, seed: int) -> Iterator[Alternative]:
    """The graphs of a list by their places in it, each with its weight; those of anything else by their numbers."""
    pairs = weighted_graphs(graphs) if isinstance(graphs, list | tuple) else None
    weights = [1.0] if pairs is None else check_graph_weights([weight for _, weight in pairs], len(pairs))
    for k, (graph, _) in enumerate([(graphs, 1.0)] if pairs is None else pairs):
        found = order_of_players(graph, problem.players, problem.background, seed)
        if isinstance(found, CausalOrder):
            yield Alternative(f"graph {k}", graph, found, weights[k])
            continue
        for j, (order, share) in enumerate(weighted_orders(found)):
            label = f"graph {j}" if pairs is None else f"graph {k}, DAG {j}"
            yield Alternative(label, order, order, weights[k] * share)


def _one_change(explainer: "AsymmetricExplainer", problem: Problem, word: str) -> Iterator[Alternative]:
    if word != "edges":
        raise CausalGraphError(
            f"graphs={word!r} is not known; pass 'edges' for every graph that differs in one edge, or a list of graphs"
        )
    if isinstance(problem.order, GraphMixture):
        raise CausalGraphError(
            "graphs='edges' changes edges of one graph, and this explainer has the mean over "
            f"{problem.order.n_graphs:,}; pass graphs=explainer.causal_order for how far these disagree"
        )
    own_do = _graphs_say_do(explainer, problem)
    if own_do and levels_of(explainer.causal_graph) is not None:
        raise CausalGraphError(
            "graphs='edges' changes single edges, and levels say what do() does here, which have none; pass "
            "graphs=[CausalOrder.from_levels([...], confounded=[...]), ...]"
        )
    whole = _whole_graph(problem, problem.order, explainer.causal_graph)
    found = neighbours(whole, problem.names, same_order=own_do)
    if not found:
        kind = "features" if problem.players is None else "groups"
        raise CausalGraphError(
            f"no change of one edge puts the {problem.n_players} {kind} into another order; pass a list of graphs"
        )
    for each in found:
        yield Alternative(each.label, each.graph, each.order)


def _whole_graph(problem: Problem, order: CausalOrder, given_graph: Any) -> nx.DiGraph | CausalOrder:
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
    dag = graph.to_graph()
    if problem.players is not None:
        owner = dict(zip(features, (problem.names[player] for player in problem.players.of_feature), strict=True))
        dag = nx.relabel_nodes(dag, owner)
        dag.remove_edges_from(list(nx.selfloop_edges(dag)))
        if not nx.is_directed_acyclic_graph(dag):  # a hidden node between two members of a group
            return order
    dag.add_nodes_from(problem.names)
    return dag


# --- over which background ----------------------------------------------------------------------------------------


class Shared(NamedTuple):
    """The explainer whose nu all graphs share, and sentences about that."""

    explainer: "AsymmetricExplainer"
    notes: tuple[str, ...]


def _graphs_say_do(explainer: "AsymmetricExplainer", problem: Problem) -> bool:
    """Whether another graph has another do(): of a table that was fitted along the graph, and of levels."""
    if explainer.values != "causal":
        return False
    natural = explainer._distribution.background(problem.background.features)
    return explainer._table is not None or graph_defines_do(natural)


def _over_one_background(
    explainer: "AsymmetricExplainer", problem: Problem, alternatives: Alternatives, silent: bool
) -> Shared | None:
    """None where each graph needs an explainer of its own."""
    if _graphs_say_do(explainer, problem):
        return None
    whole = problem.for_any_coalition()
    if all(method.obstacle(whole.background, whole.predictor) is not None for method in VALUE_METHODS):
        return None
    notes: tuple[str, ...] = ()
    if explainer.values == "causal":
        notes = (f"do() is that of {whole.background.describe()} under every graph; graphs change the orders alone",)
    for each in alternatives.graphs:
        obstacle = conditioning_obstacle(replace(whole, order=each.order))
        if obstacle is not None:
            found = explainer._any_set_background(whole, silent)
            assert found is not None
            words = f"over: {found.background.describe()}, fitted to {found.fitted_to}: {each.label} cannot be "
            other = explainer._derived(masker=found.background, causal_graph=problem.order)
            return Shared(other, (f"{words}explained otherwise",))
    return Shared(explainer, notes)


# --- their values -------------------------------------------------------------------------------------------------


def _together(shared: Shared, table: Table, alternatives: Alternatives, outputs: Any, silent: bool) -> Sensitivity:
    explainer = shared.explainer
    execution = explainer._execution_for(table)
    problem = execution.problem.for_any_coalition()
    settings = explainer._settings(problem)
    rows = fit_rows(problem, table, explainer.encoder is not None)
    given = weighted_orders(problem.order)
    together = [*(order for order, _ in given), *alternatives.orders]
    coalitions, matrix = weigh_each(together, settings.ideal_limit)
    columns = of_players(SideBySide(coalitions, matrix, np.ones(len(together)), sampled=False), problem.groups)
    own = _execution_over(execution, GraphMixture(tuple(together)))
    plan = _plan_together(own, settings, len(find_equal_rows(rows).distinct), len(rows))
    found = own.contract(rows, replace(settings, silent=silent), plan, columns, silent)
    chosen, names, single = select_outputs([found.phi, found.error], problem.predictor.output_names, outputs)

    def by_graph(array: np.ndarray) -> np.ndarray:
        each = array.reshape(len(rows), len(together), problem.n_players, -1).transpose(1, 0, 2, 3)
        return each[..., 0] if single else each

    each, errors = (None if array is None else by_graph(array) for array in chosen)
    assert each is not None
    shares = np.array([share for _, share in given])
    return Sensitivity(
        each[len(given) :],
        display_names(problem, table) if problem.players is None else problem.names,
        reference=np.tensordot(shares, each[: len(given)], axes=1),
        output_names=None if single else names,
        error_std=None if errors is None else errors[len(given) :],
        notes=(*alternatives.equal_orders(), *shared.notes),
        **alternatives.facts(),
    )


def _one_by_one(
    explainer: "AsymmetricExplainer", X: Any, alternatives: Alternatives, outputs: Any, silent: bool
) -> Sensitivity:
    """Each graph by an explainer that differs in it alone."""
    own = explainer(X, outputs=outputs, silent=silent)
    each = []
    for alternative in tqdm(alternatives.graphs, desc="Graphs", unit="graph", delay=DELAY, disable=silent):
        try:
            other = explainer._derived(masker=explainer._given, causal_graph=alternative.graph, silent=True)
            each.append(other(X, outputs=outputs, silent=True))
        except ShapAsvError as error:
            raise MethodNotApplicableError(f"{alternative.label} cannot be explained: {error}") from None
    errors = [np.zeros_like(e.values) if e.error_std is None else e.error_std for e in each]
    notes = alternatives.equal_orders()
    if explainer.values == "causal":
        notes = ["each graph says what do() does under it"]
    return Sensitivity(
        np.stack([e.values for e in each]),
        own.feature_names,
        reference=own.values,
        output_names=own.output_names,
        error_std=None if all(e.error_std is None for e in each) else np.stack(errors),
        notes=tuple(notes),
        **alternatives.facts(),
    )


def _execution_over(execution: Execution, mixture: GraphMixture) -> Execution:
    """The same work for the coalitions of all graphs."""
    problem = replace(execution.problem.for_any_coalition(), order=mixture)
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
