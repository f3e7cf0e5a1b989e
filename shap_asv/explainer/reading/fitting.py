"""A table as background: what its numbers are to mean, and what is fitted to it.

``values="conditional"`` asks for ``nu(S) = E[M(X) | X_S = e_S]``: a distribution has to be learned from the table.

- a DAG over all features: a structural model, one mechanism per feature;
- levels, a few edges, explicit orders or no causal knowledge: a Gaussian, a copula, donors or a mixture of them, by a
  score on held-out rows (``backgrounds/choice``), which is weighted as the orders weigh coalitions;
- with two levels or more, a structural model is one of the candidates, too: every feature given all earlier levels;
- so it is with a DAG that leaves out a few features, which then stand alone in it: whether they do is for the score.

``values="marginal"`` is shap's expectation: what a coalition does not hold comes from background rows, whatever the
coalition says. With a causal graph the two may well disagree about the sign of a value, so a table with a graph and
without ``values=`` is told which one it gets. ``values="causal"`` fits what ``"conditional"`` does, and intervenes on
it (:mod:`~shap_asv.explainer.reading.meaning`).
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from warnings import catch_warnings, simplefilter

import networkx as nx
import numpy as np
import shap

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.choice.choosing import CANDIDATES, Fit, choose_background, graph_candidates, level_candidates
from shap_asv.backgrounds.choice.mixture import MixtureModel
from shap_asv.backgrounds.contract import DRAWS, DrawsGivenEvidence
from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
from shap_asv.backgrounds.gaussian.copula import CopulaModel
from shap_asv.backgrounds.matrix import MatrixDistribution, numbered_features
from shap_asv.backgrounds.naming import Distribution
from shap_asv.backgrounds.ready_models import GaussianModel, StructuralBackground, StructuralModel
from shap_asv.backgrounds.structural.fitting import way_of
from shap_asv.backgrounds.tables.codec import NamedArray
from shap_asv.errors import (
    MethodNotApplicableError,
    ShapAsvWarning,
    UnknownFeatureError,
    UnknownMethodError,
    did_you_mean,
    warn_user,
)
from shap_asv.explainer.reading.assembly import names_known_to_model
from shap_asv.explainer.reading.causality import (
    as_dag,
    edgeless_order,
    name_positions,
    read_causal_graph,
    read_orders,
    uses_positions,
    weighted_graphs,
)
from shap_asv.explainer.reading.players import knowledge_of_features
from shap_asv.explainer.running.progress import DELAY
from shap_asv.models.plain import read_plain_model
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture, PartialGraph
from shap_asv.strata import sobol_uniforms

#: What is fitted to a table that is conditioned on.
FITTED = (StructuralModel, GaussianModel, CopulaModel, ConditionalTable, MixtureModel, StructuralBackground)
_PERTURBATIONS = ("auto", "interventional", "tree_path_dependent")
#: Sampled orders whose prefixes are the coalitions that a background is chosen for.
N_ORDERS = 256
#: Share of the features that a DAG may leave out and still be tried as one.
MOST_LEFT_OUT = 0.25
#: Rows drawn from a background that cannot condition on every set, to fit one that can.
N_DRAWN = 2048


@dataclass(frozen=True, eq=False)
class Purpose:
    """What a fitted background will be used for: the model, and what is known about causes."""

    model: Any
    causal_graph: Any = None
    orders: Any = None
    weights: Any = None
    feature_names: Sequence[str] | None = None
    model_output: str = "auto"
    seed: int = 0
    n_jobs: int | None = None
    silent: bool = False
    groups: Any = None
    values: str = "conditional"
    like: Any = None


@dataclass(frozen=True, eq=False)
class Refit:
    """A table that is fitted as another one was: the same kind of background, the same kinds of mechanisms."""

    table: Any
    like: Any


def read_masker(masker: Any, values: Any, data: Any, feature_perturbation: Any) -> tuple[Any, Any]:
    """The background and what it is for, also under the names that ``shap.TreeExplainer`` has for them."""
    if data is not None:
        if masker is not None:
            raise UnknownMethodError("pass masker= or data=, not both: each is the background")
        masker = data
    if isinstance(masker, shap.maskers.Impute):  # shap, too, conditions a Gaussian then
        held = masker.data
        masker = (held["mean"], held["cov"]) if isinstance(held, Mapping) else GaussianModel.fit(held)
    if not isinstance(feature_perturbation, str) or feature_perturbation not in _PERTURBATIONS:
        raise UnknownMethodError(
            f"unknown feature_perturbation={feature_perturbation!r:.80}; use 'auto', 'interventional' with background "
            "rows as masker=, or 'tree_path_dependent' without a background"
        )
    if feature_perturbation == "interventional" and masker is None:
        warn_user(
            "feature_perturbation='interventional' needs background rows, and there are none: the cover counts of the "
            "trees are used, as in shap; pass rows as masker= (or data=), or leave out feature_perturbation=",
            ShapAsvWarning,
        )
    if feature_perturbation == "tree_path_dependent" or masker is None:
        return masker, values
    marginal = data is not None or feature_perturbation == "interventional"  # so these words are meant in shap
    return masker, "marginal" if marginal and values == "auto" else values


def is_frame(thing: Any) -> bool:
    """A DataFrame of pandas."""
    return hasattr(thing, "iloc") and hasattr(thing, "columns")


def is_table(thing: Any) -> bool:
    """A DataFrame or a matrix, as the user handed it in (not one of shap's maskers, which keep 100 rows of it)."""
    return is_frame(thing) or (isinstance(thing, np.ndarray) and thing.ndim == 2)


@dataclass(frozen=True, eq=False)
class Settled:
    """A background as it will be used, with the causal graph and the features in its names."""

    masker: Any
    causal_graph: Any
    feature_names: Sequence[str] | None


def settle_table(given: Any, values: str, purpose: Purpose) -> Settled:
    """What to use as background in place of ``given``: a table that is conditioned on is replaced by a fit."""
    if isinstance(given, Refit):
        return fit_background(given.table, replace(purpose, like=given.like))
    if is_table(given) and values in ("conditional", "causal"):
        return fit_background(given, purpose)
    if is_table(given) and values == "auto" and _has_edges(purpose.causal_graph):
        warn_user(
            "a table with a causal graph gives marginal values here, for which causes tell nothing of their effects; "
            "say values='conditional' (or 'causal') to fit a distribution to the table and condition (or intervene) on "
            "it, or values='marginal' for what shap does",
            ShapAsvWarning,
        )
    return Settled(given, purpose.causal_graph, purpose.feature_names)


def settled_values(values: str, distribution: Distribution) -> str:
    """The word for what a distribution gives, once it is known; an error where another one was asked for."""
    if distribution.of_model:
        if values != "auto":
            raise UnknownMethodError(
                f"values={values!r} needs a background, and without one the cover counts of the trees are the "
                "distribution; pass a table as masker=, or leave values= out"
            )
        return values
    marginal = isinstance(distribution, MatrixDistribution)
    if not marginal and values != "auto":
        return values
    if values in ("conditional", "causal") and marginal:
        raise UnknownMethodError(
            f"values={values!r} needs the table itself, a DataFrame or a 2-D array: a shap masker keeps a sample of "
            "it and hides features by replacing them, which is values='marginal'"
        )
    return "marginal" if marginal else "conditional"


def fit_background(table: Any, purpose: Purpose) -> Settled:
    """The background that fits the table and the causal knowledge.

    All rows are used. O(rows) per candidate and mechanism; a progress bar appears after a few seconds.
    """
    table, features, graph = _named(table, purpose)
    if purpose.like is not None:
        return Settled(_refitted(purpose.like, table, purpose), graph, features)
    knowledge, orders, weights = knowledge_of_features(purpose.groups, features, graph, purpose.orders, purpose.weights)
    dag = _dag_over(features, knowledge)
    if dag is not None:
        model = StructuralModel.fit(table, dag, seed=purpose.seed, n_jobs=purpose.n_jobs, silent=purpose.silent)
        return Settled(model, graph, features)
    informed = replace(purpose, orders=orders, weights=weights)
    return Settled(choose_for(table, features, knowledge, informed), graph, features)


def _refitted(like: Any, table: Any, purpose: Purpose) -> Any:
    """What ``like`` (one of :data:`FITTED`) would be, had it been fitted to this table."""
    if isinstance(like, MixtureModel):
        return MixtureModel([_refitted(part, table, purpose) for part in like.components], like.shares.tolist())
    if isinstance(like, GaussianModel):
        return GaussianModel.fit(table)
    if isinstance(like, CopulaModel):
        return CopulaModel(table)
    if isinstance(like, ConditionalTable):
        return ConditionalTable(table, seed=purpose.seed)
    ways = {name: way_of(one) for name, one in zip(like.dag.names, like.mechanisms, strict=True)}
    model = StructuralModel.fit(table, like.dag.to_networkx(), ways, purpose.seed, purpose.n_jobs, silent=True)
    return model if isinstance(like, StructuralModel) else model.background(list(like.features))


def choose_for(table: Any, features: Sequence[str], graph: Any, purpose: Purpose) -> Any:
    """Gaussian, copula, donors, a structural model of levels, or a mixture: whichever predicts the model best on
    held-out rows of the table.
    """
    from tqdm.auto import tqdm

    coalitions, weights = asked_coalitions(features, graph, purpose.orders, purpose.weights, purpose.seed)
    predict = read_plain_model(purpose.model, purpose.model_output).predict
    candidates: Mapping[str, tuple[Fit, bool]] = CANDIDATES
    # what interventions do by levels is asked of distributions that know nothing of causes
    given = purpose.orders is not None or purpose.values == "causal"
    levels = None if given else _levels_of(features, graph, purpose.seed)
    dag = None if given else _nearly_whole_dag(features, graph)
    if levels is not None:
        candidates = level_candidates(levels, purpose.n_jobs)
    elif dag is not None:
        candidates = graph_candidates(dag, purpose.n_jobs)
    with tqdm(desc="Background", unit="fit", delay=DELAY, disable=purpose.silent) as bar:

        def counted(name: str, fit: Fit) -> Fit:
            def fit_and_count(*arguments: Any) -> Any:
                bar.set_description(f"Background, fitting {name}")
                fitted = fit(*arguments)
                bar.update()
                bar.set_description("Background, comparing")
                return fitted

            return fit_and_count

        counting = {name: (counted(name, fit), numbers) for name, (fit, numbers) in candidates.items()}
        choice = choose_background(table, predict, coalitions, weights, purpose.seed, counting)
    if not purpose.silent:
        tqdm.write(choice.sentence(), file=sys.stderr)
    return choice.background


@dataclass(frozen=True, eq=False)
class StandIn:
    """A background for one that cannot condition on every set, and what it was fitted to, in words."""

    background: Any
    fitted_to: str


def any_set_background(problem: Problem, table: Any, purpose: Purpose) -> StandIn | None:
    """A background that conditions on any set; None where the problem's own one does.

    It is fitted to the ``table`` that the problem's was fitted to, else to rows drawn from the problem's, and chosen
    as for a table. What is computed under it therefore has the error of a fit of its own.
    """
    background = problem.background
    if background.conditions_on == "any":
        return None
    words = "the same table"
    if table is None:
        if not isinstance(background, DrawsGivenEvidence):
            raise MethodNotApplicableError(f"a background that conditions on every set {DRAWS.obstacle(background)}")
        nothing = np.full((1, len(background.features)), background.free)
        uniforms = sobol_uniforms(np.random.default_rng([purpose.seed, 7]), background.n_uniforms, N_DRAWN, 1).T
        table = background.inputs(background.draws(nothing, uniforms)[0])
        if isinstance(table, np.ndarray) and list(background.features) != numbered_features(table.shape[1]):
            table = NamedArray(table, background.features)
        words = f"{N_DRAWN:,} draws from it"
    else:
        table, _, _ = _named(table, replace(purpose, feature_names=background.features, causal_graph=None))
    return StandIn(choose_for(table, background.features, None, purpose), words)


def asked_coalitions(
    features: Sequence[str], causal_graph: Any, orders: Any = None, weights: Any = None, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Coalitions bool (m, n) that orders pass, and how often, (m,): prefixes of the given orders or of sampled ones."""
    if orders is not None:
        drawn, shares = read_orders(orders, weights, features)
        shares = np.ones(len(drawn)) if shares is None else shares
    else:
        order = _order_of(features, causal_graph, seed)
        drawn = order.sample_topological_orders(N_ORDERS, seed=seed)
        shares = np.ones(len(drawn))
    n = len(features)
    place = np.argsort(drawn, axis=1)  # (k, n): when each feature comes
    prefixes = place[:, None, :] < np.arange(n + 1)[None, :, None]
    coalitions, back = np.unique(prefixes.reshape(-1, n), axis=0, return_inverse=True)
    counts = np.bincount(back.reshape(-1), weights=np.repeat(shares, n + 1), minlength=len(coalitions))
    return coalitions, counts / counts.sum()


def _order_of(features: Sequence[str], causal_graph: Any, seed: int) -> CausalOrder | GraphMixture:
    if causal_graph is None:
        return edgeless_order(features)
    with catch_warnings():  # said where the problem is put together
        simplefilter("ignore", ShapAsvWarning)
        return read_causal_graph(causal_graph, features, seed=seed)


def _levels_of(features: Sequence[str], causal_graph: Any, seed: int) -> list[list[str]] | None:
    """The features level by level, if the causal graph is two levels or more, one after the other; else None."""
    order = _order_of(features, causal_graph, seed)
    numbers = order.level_numbers if isinstance(order, CausalOrder) else None
    if numbers is None or not numbers.any():
        return None
    return [[features[int(v)] for v in np.flatnonzero(numbers == k)] for k in range(int(numbers.max()) + 1)]


def _named(table: Any, purpose: Purpose) -> tuple[Any, list[str], Any]:
    """The columns that are features, their names, and the graph in these names."""
    graph = purpose.causal_graph
    if not hasattr(table, "columns"):
        features = numbered_features(table.shape[1])
        if purpose.feature_names is not None:
            features = [str(name) for name in purpose.feature_names]
            table = NamedArray(table, tuple(features))
        return table, features, name_positions(graph, features) if uses_positions(graph) else graph
    columns = [str(key) for key in table.columns]
    given = purpose.feature_names or names_known_to_model(purpose.model)
    guessed = purpose.feature_names is None  # the model may know names that are not the table's
    features = columns if given is None or (guessed and not set(given) <= set(columns)) else list(given)
    unknown = [name for name in features if name not in columns]
    if unknown:
        hint = did_you_mean(unknown[0], columns, f"its columns are {', '.join(columns)}")
        raise UnknownFeatureError(f"feature {unknown[0]!r} is not a column of the table; {hint}")
    return table.iloc[:, [columns.index(name) for name in features]], features, graph


def _dag_over(features: Sequence[str], graph: Any) -> nx.DiGraph | None:
    """The graph, if it says of every feature what causes it; None for levels, a few edges and hidden causes.

    Several graphs and edges without a direction leave causes open, too. A :class:`CausalOrder` is not a DAG: it says
    what comes first, and edges that follow from others are gone.
    """
    dag = _dag_within(features, graph)
    return dag if dag is not None and set(features) <= set(dag) else None


def _nearly_whole_dag(features: Sequence[str], graph: Any) -> nx.DiGraph | None:
    """The graph with nodes of their own for features that it does not mention, if these are few; else None."""
    dag = _dag_within(features, graph)
    if dag is None or not dag.edges or len(dag) < (1 - MOST_LEFT_OUT) * len(features):
        return None
    dag.add_nodes_from(features)
    return dag


def _dag_within(features: Sequence[str], graph: Any) -> nx.DiGraph | None:
    """What the graph says of the features alone; None if it is not a DAG, or has causes that are not features."""
    if graph is None or isinstance(graph, CausalOrder):
        return None
    dag = as_dag(graph, features)
    inside = set(features)
    if dag is None or any(cause not in inside and effect in inside for cause, effect in dag.edges):
        return None
    return nx.DiGraph(dag.subgraph(features))


def _has_edges(graph: Any) -> bool:
    """Whether there is something causal to lose; what is not a graph is an error elsewhere."""
    if isinstance(graph, PartialGraph):
        return bool(graph.directed or graph.undirected)
    if weighted_graphs(graph) is not None:
        return True
    edges = getattr(graph, "edges", graph)
    return hasattr(edges, "__len__") and len(edges) > 0
