"""A table as background: what its numbers are to mean, and what is fitted to it.

``values="conditional"`` asks for ``nu(S) = E[M(X) | X_S = e_S]``: a distribution has to be learned from the table.

- a DAG over all features: a structural model, one mechanism per feature;
- levels, a few edges or no causal knowledge: a Gaussian, a copula, donors or a mixture of them, by a
  score on held-out rows (``backgrounds/choice``), which is weighted as the orders weigh coalitions;
- with two levels or more, a structural model is one of the candidates, too: every feature given all earlier levels;
- so it is with a DAG that leaves out a few features, which then stand alone in it: whether they do is for the score.

``values="marginal"`` is shap's expectation: what a coalition does not hold comes from background rows, whatever the
coalition says. With a causal graph the two may well disagree about the sign of a value. A cause that works through its
effects gets nothing of the marginal ones, so that a table with a graph and without ``values=`` is conditioned on, and
one line says so. ``values="causal"`` fits what ``"conditional"`` does, and intervenes on it
(:mod:`~shap_asv.explainer.problem`).

:func:`fit_network` makes a discrete network of a table and a DAG instead.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shap
from tqdm.auto import tqdm

from shap_asv.arguments import is_number
from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.choice.choosing import CANDIDATES, Fit, choose_background, with_mechanisms
from shap_asv.backgrounds.choice.mixture import MixtureModel
from shap_asv.backgrounds.contract import DRAWS, DrawsGivenEvidence
from shap_asv.backgrounds.discrete.fitted import FittedNetwork, fit_tables
from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
from shap_asv.backgrounds.gaussian.copula import CopulaModel
from shap_asv.backgrounds.gaussian.model import GaussianModel
from shap_asv.backgrounds.matrix import MatrixDistribution, numbered_features
from shap_asv.backgrounds.naming import Distribution
from shap_asv.backgrounds.one_hot import Dummies, OneHotBackground
from shap_asv.backgrounds.structural.background import StructuralBackground
from shap_asv.backgrounds.structural.fitting import way_of
from shap_asv.backgrounds.structural.graph import Dag, check_nodes
from shap_asv.backgrounds.structural.model import StructuralModel
from shap_asv.backgrounds.tables.codec import NamedArray, TableCodec
from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    MethodNotApplicableError,
    ShapAsvWarning,
    TableError,
    UnknownFeatureError,
    UnknownMethodError,
    did_you_mean,
    warn_user,
)
from shap_asv.explainer.causes import (
    as_dag,
    dag_over,
    has_edges,
    join_groups,
    knowledge_of_features,
    level_graph,
    name_positions,
    nearly_whole_dag,
    order_of_features,
    read_groups,
    uses_positions,
)
from shap_asv.explainer.problem import Arguments, names_known_to_model
from shap_asv.explainer.progress import DELAY
from shap_asv.models.predictor import read_plain_model
from shap_asv.orders import CausalOrder
from shap_asv.strata import sobol_uniforms

#: What is fitted to a table that is conditioned on.
FITTED = (
    StructuralModel,
    GaussianModel,
    CopulaModel,
    ConditionalTable,
    MixtureModel,
    StructuralBackground,
    OneHotBackground,
)
_PERTURBATIONS = ("auto", "interventional", "tree_path_dependent")
#: What is said before a table with a causal graph is conditioned on without having been asked to.
FITS_FOR_GRAPH = (
    "There is a causal graph: fitting a distribution to the table, for values='conditional'; values='marginal' takes "
    "its rows as they are, as shap does"
)
#: Sampled orders whose prefixes are the coalitions that a background is chosen for.
N_ORDERS = 256
#: Rows drawn from a background that cannot condition on every set, to fit one that can.
N_DRAWN = 2048


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


def settle_table(given: Any, asked: Arguments) -> tuple[Any, Arguments]:
    """What to use as background in place of ``given``, and what is asked for in its names.

    A table that is conditioned on is replaced by a fit. One line says so where only the causal graph asks for it.
    """
    if isinstance(given, Refit):
        return _fit(given.table, asked, given.like)
    for_graph = is_table(given) and asked.values == "auto" and has_edges(asked.causal_graph)
    if not for_graph and not (is_table(given) and asked.values in ("conditional", "causal")):
        return given, asked
    if for_graph and not asked.silent:
        tqdm.write(FITS_FOR_GRAPH, file=sys.stderr)
    try:
        return _fit(given, asked)
    except TableError as error:
        if not for_graph:
            raise
        raise TableError(f"{error} (nothing is fitted to the table for values='marginal')") from error


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


def _fit(table: Any, asked: Arguments, like: Any = None) -> tuple[Any, Arguments]:
    """The background that fits the table and the causal knowledge, or what ``like`` would be, fitted to this table.

    All rows are used. O(rows) per candidate and mechanism; a progress bar appears after a few seconds.
    """
    table, asked = _named(table, asked)
    return _fitted(table, asked) if like is None else _refitted(like, table, asked), asked


def _fitted(table: Any, asked: Arguments) -> Any:
    """What fits the table and the graph; groups of dummies are fitted as one category each."""
    features, graph = list(asked.feature_names or ()), asked.causal_graph
    read_groups(asked.groups, features)  # says what is wrong with them
    dummies = Dummies.find(table, asked.groups)
    if dummies is not None:
        if not asked.silent:
            tqdm.write(dummies.sentence(), file=sys.stderr)
        answers = read_plain_model(asked.model, asked.model_output).predict
        rest = {name: members for name, members in asked.groups.items() if str(name) not in dummies.groups}
        inside = replace(
            asked,
            model=lambda rows: answers(dummies.split_inputs(rows)),
            model_output="auto",
            feature_names=dummies.names,
            causal_graph=join_groups(graph, features, dummies.groups, asked.seed),
            groups=rest or None,
        )
        fitted = _fitted(dummies.merge(table), inside)
        if isinstance(fitted, StructuralModel):
            fitted = fitted.background(list(dummies.names))
        return OneHotBackground(dummies, fitted)
    knowledge = knowledge_of_features(asked.groups, features, graph)
    dag = dag_over(features, knowledge)
    if dag is not None:
        return StructuralModel.fit(table, dag, seed=asked.seed, n_jobs=asked.n_jobs, silent=asked.silent)
    return _choose(table, features, replace(asked, causal_graph=knowledge))


def _refitted(like: Any, table: Any, asked: Arguments) -> Any:
    """What ``like`` (one of :data:`FITTED`) would be, had it been fitted to this table."""
    if isinstance(like, MixtureModel):
        return MixtureModel([_refitted(part, table, asked) for part in like.components], like.shares.tolist())
    if isinstance(like, OneHotBackground):
        dummies = replace(like.dummies, codec=TableCodec.learn(table))
        return OneHotBackground(dummies, _refitted(like.merged, dummies.merge(table), asked))
    if isinstance(like, GaussianModel):
        return GaussianModel.fit(table)
    if isinstance(like, CopulaModel):
        return CopulaModel(table)
    if isinstance(like, ConditionalTable):
        return ConditionalTable(table, seed=asked.seed)
    ways = {name: way_of(one) for name, one in zip(like.dag.names, like.mechanisms, strict=True)}
    shared = like.shared if isinstance(like, StructuralModel) else None
    dag = like.dag.to_networkx()
    model = StructuralModel.fit(table, dag, ways, asked.seed, asked.n_jobs, silent=True, shared=shared)
    return model if isinstance(like, StructuralModel) else model.background(list(like.features))


def _choose(table: Any, features: Sequence[str], asked: Arguments) -> Any:
    """Gaussian, copula, donors, a structural model of levels, or a mixture: whichever predicts the model best on
    held-out rows of the table.
    """
    graph = asked.causal_graph
    coalitions, weights = asked_coalitions(features, graph, asked.seed)
    predict = read_plain_model(asked.model, asked.model_output).predict
    candidates: Mapping[str, tuple[Fit, bool]] = CANDIDATES
    # what interventions do by levels is asked of distributions that know nothing of causes
    knows_causes = asked.values != "causal"
    levels = level_graph(features, graph, asked.seed) if knows_causes else None
    dag = nearly_whole_dag(features, graph) if knows_causes else None
    if levels is not None:
        candidates = with_mechanisms(levels, "levels", asked.n_jobs)
    elif dag is not None:
        candidates = with_mechanisms(dag, "graph", asked.n_jobs)
    with tqdm(desc="Background", unit="fit", delay=DELAY, disable=asked.silent) as bar:

        def counted(name: str, fit: Fit) -> Fit:
            def fit_and_count(*arguments: Any) -> Any:
                bar.set_description(f"Background, fitting {name}")
                fitted = fit(*arguments)
                bar.update()
                bar.set_description("Background, comparing")
                return fitted

            return fit_and_count

        counting = {name: (counted(name, fit), numbers) for name, (fit, numbers) in candidates.items()}
        choice = choose_background(table, predict, coalitions, weights, asked.seed, counting)
    if not asked.silent:
        tqdm.write(choice.sentence(), file=sys.stderr)
    return choice.background


@dataclass(frozen=True, eq=False)
class StandIn:
    """A background for one that cannot condition on every set, and what it was fitted to, in words."""

    background: Any
    fitted_to: str


def any_set_background(problem: Problem, table: Any, asked: Arguments) -> StandIn | None:
    """A background that conditions on any set; None where the problem's own one does.

    It is fitted to the ``table`` that the problem's was fitted to, else to rows drawn from the problem's, and chosen
    as for a table. What is computed under it therefore has the error of a fit of its own.
    """
    background = problem.background
    if background.conditions_on == "any":
        return None
    words, asked = "the same table", replace(asked, feature_names=background.features, causal_graph=None)
    if table is None:
        if not isinstance(background, DrawsGivenEvidence):
            raise MethodNotApplicableError(f"a background that conditions on every set {DRAWS.obstacle(background)}")
        nothing = np.full((1, len(background.features)), background.free)
        uniforms = sobol_uniforms(np.random.default_rng([asked.seed, 7]), background.n_uniforms, N_DRAWN, 1).T
        table = background.inputs(background.draws(nothing, uniforms)[0])
        if isinstance(table, np.ndarray) and list(background.features) != numbered_features(table.shape[1]):
            table = NamedArray(table, background.features)
        words = f"{N_DRAWN:,} draws from it"
    else:
        table, _ = _named(table, asked)
    return StandIn(_fitted(table, asked), words)


def asked_coalitions(features: Sequence[str], causal_graph: Any, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Coalitions bool (m, n) that orders pass, and how often, (m,): prefixes of sampled orders."""
    drawn = order_of_features(features, causal_graph, seed).sample_topological_orders(N_ORDERS, seed=seed)
    n = len(features)
    place = np.argsort(drawn, axis=1)  # (k, n): when each feature comes
    prefixes = place[:, None, :] < np.arange(n + 1)[None, :, None]
    coalitions, back = np.unique(prefixes.reshape(-1, n), axis=0, return_inverse=True)
    counts = np.bincount(back.reshape(-1), minlength=len(coalitions))
    return coalitions, counts / counts.sum()


def _named(table: Any, asked: Arguments) -> tuple[Any, Arguments]:
    """The columns that are features, and what is asked for with their names, also in the graph."""
    graph, names = asked.causal_graph, asked.feature_names
    if not hasattr(table, "columns"):
        features = numbered_features(table.shape[1]) if names is None else [str(name) for name in names]
        if names is not None:
            table = NamedArray(table, tuple(features))
        graph = name_positions(graph, features) if uses_positions(graph) else graph
        return table, replace(asked, feature_names=features, causal_graph=graph)
    columns = [str(key) for key in table.columns]
    given = names or names_known_to_model(asked.model)  # the model may know names that are not the table's
    features = columns if given is None or (names is None and not set(given) <= set(columns)) else list(given)
    unknown = [name for name in features if name not in columns]
    if unknown:
        hint = did_you_mean(unknown[0], columns, f"its columns are {', '.join(columns)}")
        raise UnknownFeatureError(f"feature {unknown[0]!r} is not a column of the table; {hint}")
    kept = table.iloc[:, [columns.index(name) for name in features]]
    return kept, replace(asked, feature_names=features)


def fit_network(data: Any, graph: Any, smoothing: float = 1.0) -> FittedNetwork:
    """A discrete Bayesian network of a table: exact values, no sampling, for any coalition.

    ``P(x) = prod over v of P(x_v | causes of v)``, counted in the table. Rows are handed over as they are in the table,
    and the model is called with values of the table: there is no encoder to write.

    Parameters
    ----------
    data : DataFrame, or array with columns named "Feature 0", ...
        Bools, categories, strings, and numbers with at most 32 distinct values. A missing value is a state of its own.
        A column that is not a node is kept as one that has neither causes nor effects, with a warning.
    graph : networkx.DiGraph, list of (cause, effect), ...
        A DAG, as ``causal_graph`` everywhere; every node needs a column.
    smoothing : float
        Pseudo-rows that are added to each combination of causes. They look like the column on its own; see Notes.

    Returns
    -------
    FittedNetwork
        ``print`` it to see the states; a background like any other.

    Notes
    -----
    A value that the table does not have is an error, as is a gap in a column that has none in the table.

    Smoothing: ``P(v | causes) = (n(v, causes) + a P(v)) / (n(causes) + a)`` with ``a = smoothing`` and ``P(v) = (n(v) +
    a / k) / (N + a)`` for k states. With 0, rows of combinations that the table does not have are impossible.

    The cost is that of counting: O(rows x columns) and the sizes of the tables.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from shap_asv import AsymmetricExplainer, fit_network
    >>> rng = np.random.default_rng(0)
    >>> smokes = rng.choice(["no", "yes"], 500)
    >>> packs = np.where(smokes == "yes", rng.integers(0, 3, 500), 0)
    >>> table = pd.DataFrame({"smokes": smokes, "packs": packs})
    >>> network = fit_network(table, [("smokes", "packs")])
    >>> print(network)
    network of 2 columns fitted to 500 rows, smoothing 1
      smokes: 2 values: no, yes
      packs <- smokes: 3 values: 0, 1, 2
    >>> explanation = AsymmetricExplainer(lambda X: 2.0 * X["packs"], network)(table.iloc[:3])
    >>> total = explanation.base_values + explanation.values.sum(axis=1)
    >>> bool(np.allclose(total, 2 * packs[:3], rtol=0, atol=1e-12))
    True
    """
    codec = TableCodec.learn(data)
    if not is_number(smoothing) or not 0 <= smoothing < np.inf:
        raise ArgumentError(f"smoothing={smoothing!r:.80} must be a finite number of pseudo-rows, at least 0")
    dag = _read_dag(graph, codec)
    return fit_tables(dag, codec, codec.read(data), float(smoothing))


def _read_dag(graph: Any, codec: TableCodec) -> Dag:
    if isinstance(graph, CausalOrder):
        raise CausalGraphError(
            "a network needs a DAG, which says what causes each column; a CausalOrder only says what comes first. Pass "
            "the edges, or take values='conditional' with the table, which does with levels"
        )
    if codec.keys is None and uses_positions(graph):
        graph = name_positions(graph, codec.names)
    plain = as_dag(graph, codec.names)
    if plain is None:
        raise CausalGraphError(
            "a network needs one DAG: the graph has edges without a direction, or there are several; choose one"
        )
    dag = Dag.read(plain, codec.names)
    check_nodes(dag, codec.names, plain)
    return dag
