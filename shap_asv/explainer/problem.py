"""The user's arguments -> a :class:`~shap_asv.backends.contract.Problem`: where model, background and order meet.

Three things have to agree on what the features are: the network (whose other nodes are latent), the model and the
causal graph. Every disagreement is an error or a warning here, before any long work starts.

What nu(S) means is ``values=``, and each meaning has its distribution:

- *conditional*: ``E[M(X) | X_S = e_S]``, what a background gives by itself;
- *causal*: ``E[M(X) | do(X_S = e_S)]``: the features of S are set, the others follow their causes. A background that
  knows causes (a network, a structural model) says what happens; for one that does not, levels of features do
  (``CausalOrder.from_levels``);
- *marginal*: the others follow their own distributions, whatever S is.

On a coalition that holds, with each member, all of its causes, and none of them latent, *causal* and *conditional* are
the same. Where an order asks for such coalitions only, they are computed as conditional, and the plan says so.

Functions that users hand in are held to what the rest of the package takes for granted. A link maps an array of numbers
to as many numbers. A model is a function of the row alone: one that draws random numbers, or that looks at the other
rows of its table, would give attributions of nothing in particular.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.backends.conditioning import conditioning_obstacle, is_ancestral
from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.contract import (
    Background,
    CodedByModel,
    CodedColumns,
    CutLoose,
    DrawsGivenEvidence,
    FiniteStates,
    KnowsInterventions,
    MaskedInputs,
    TreeGround,
)
from shap_asv.backgrounds.interventions import by_levels
from shap_asv.backgrounds.matrix import columns_in_order
from shap_asv.backgrounds.naming import Distribution
from shap_asv.backgrounds.tables.border import some_rows
from shap_asv.errors import (
    CausalGraphError,
    MethodNotApplicableError,
    ModelError,
    NetworkError,
    ShapAsvWarning,
    UnknownMethodError,
    warn_user,
)
from shap_asv.explainer.causes import (
    levels_of,
    name_positions,
    order_of_players,
    read_groups,
    uses_positions,
)
from shap_asv.explainer.rows import Table
from shap_asv.frames import as_features
from shap_asv.models.calls import describe, last_step
from shap_asv.models.predictor import Predictor, predictor_of_trees, read_model, read_plain_model
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import choose_call, explained_call, known_columns
from shap_asv.models.trees.compiled import CodedRows
from shap_asv.models.trees.ensembles import FloatEnsemble
from shap_asv.models.trees.form import ends_in_trees, place_trees, read_ensemble
from shap_asv.orders import CausalOrder
from shap_asv.orders.reading import Levels

Link = Callable[[np.ndarray], np.ndarray]


# --- what the features are ------------------------------------------------------------------------------------


def names_known_to_model(model: Any, encoder: Any = None, given: Sequence[str] = ()) -> list[str] | None:
    """The input columns a fitted model (or the encoder before it) remembers, None if it remembers none.

    Where a library changes names (:func:`as_features`) they are spelled as they are ``given``.
    """
    last = None if callable(model) else last_step(model)  # boosters keep their names elsewhere
    for source in (encoder, model, getattr(model, "__self__", None), last):
        names = None if source is None else known_columns(source)
        if names is not None:
            return as_features(names, tuple(given))
    return None


# --- everything together ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arguments:
    """What is asked for, as far as fits and problems depend on it; ``link`` None stands for the identity."""

    model: Any
    feature_names: Sequence[str] | None = None
    causal_graph: Any = None
    encoder: Any = None
    model_output: str = "auto"
    output_names: Sequence[str] | None = None
    link: Link | None = None
    linearize_link: bool = True
    seed: int = 0
    groups: Any = None
    values: str = "auto"
    n_jobs: int | None = None
    silent: bool = False

    @cached_property
    def trees(self) -> FloatEnsemble:
        """The trees of the model, where there is no other background; an error where the model has none."""
        try:
            return read_ensemble(self.model, self.model_output)
        except NotSumOfProducts as why:
            raise NetworkError(  # shap's own words first
                f"masker cannot be None. Only trees that can be read do without a background, and {why}. Pass "
                "background rows (a matrix, a DataFrame or a shap masker), a pgmpy network, or a fitted "
                "StructuralModel, GaussianModel, CopulaModel or ConditionalTable as masker="
            ) from None


def known_features(arguments: Arguments, distribution: Distribution) -> list[str] | None:
    """The features as far as the arguments tell them; None when only X can. What is not a model is an error already."""
    choose_call(arguments.model, arguments.model_output)
    given = [*(arguments.feature_names or ()), *_names_in(arguments.causal_graph)]
    known = names_known_to_model(arguments.model, arguments.encoder, given)
    features = distribution.known_features(arguments.feature_names, known)
    width = arguments.trees.n_columns if distribution.of_model else None
    # names in a causal graph are those of X, where nothing else has names
    if features is None and (arguments.causal_graph is None or uses_positions(arguments.causal_graph)):
        return distribution.unnamed_features(width)
    return features


def _names_in(graph: Any) -> list[str]:
    """The names in a causal graph, as far as they are seen without reading it."""
    if isinstance(graph, CausalOrder):
        return [name for name in graph.features if isinstance(name, str)]
    nodes = list(graph.nodes) if hasattr(graph, "nodes") else []
    if isinstance(graph, list | tuple | set):
        nodes = [end for edge in graph if isinstance(edge, list | tuple) for end in edge]
    return [name for name in nodes if isinstance(name, str)]


def assemble_for_rows(arguments: Arguments, distribution: Distribution, table: Table) -> Problem:
    """The problem when only X tells the features; the model is tried on its first rows."""
    features = arguments.feature_names or distribution.features_in(table.columns, table.n_columns)
    return assemble(arguments, distribution, list(features), table)


def assemble(
    arguments: Arguments, distribution: Distribution, features: Sequence[str], table: Table | None = None
) -> Problem:
    """Model, background and causal order as one problem over ``features``; ``table`` is X, where it is known."""
    background = distribution.background(tuple(str(name) for name in features))
    predictor: Predictor
    if distribution.of_model:
        background, predictor = _trees_alone(arguments, background)
    else:
        probe = some_rows(background)
        if probe is None:
            assert table is not None
            probe = background.read(table.content)[:5]
        predictor = _read_predictor(arguments, distribution.named, background, probe)
        if predictor.products is None and predictor.trees is None:
            check_repeatable(predictor.predict, np.array(probe), np.array(probe[::-1]))
    if predictor.call.note:
        warn_user(predictor.call.note, ShapAsvWarning)
    # integers in a causal graph are columns only where the columns have no names
    if not distribution.named and arguments.feature_names is None and uses_positions(arguments.causal_graph):
        arguments = replace(arguments, causal_graph=name_positions(arguments.causal_graph, features))
    players = read_groups(arguments.groups, background.features)
    order = order_of_players(arguments.causal_graph, players, background, arguments.seed)
    link = None if arguments.link is None else CheckedLink(arguments.link)
    problem = Problem(background, predictor, order, link, arguments.linearize_link, players)
    return with_meaning(problem, arguments.values, arguments.causal_graph)


def _trees_alone(arguments: Arguments, background: Background) -> tuple[Background, Predictor]:
    """Trees that are their own background, and the background in the coding of the trees."""
    assert isinstance(background, CodedByModel)
    _check_no_encoder(arguments)
    if arguments.link is not None:
        raise MethodNotApplicableError(
            "link= is applied to the expected output of each coalition, and cover counts are followed along the trees "
            "without it; pass the table or background rows as masker=, or leave link= out"
        )
    trees = place_trees(arguments.trees, explained_call(arguments.model, arguments.model_output), background.features)
    if background.counted is not None:
        rows = columns_in_order(background.counted, background.features, "the model")
        trees = replace(trees, own=trees.own.counted(trees.code(rows)[:, trees.place]))
    return background.coded(trees), predictor_of_trees(trees, some_rows(background), arguments.output_names)


def _check_no_encoder(arguments: Arguments) -> None:
    if arguments.encoder is not None:
        raise UnknownMethodError(
            "encoder= goes with a Bayesian network of named states; other backgrounds hold the model's own inputs"
        )


def _read_predictor(arguments: Arguments, named: bool, background: Background, probe: np.ndarray) -> Predictor:
    """The model over the background's rows: of states where there are states, else of a table."""
    model, features = arguments.model, background.features
    if isinstance(background, FiniteStates):
        shown = background.values
        if shown is not None:
            _check_no_encoder(arguments)
        return read_model(
            model,
            features,
            background.states,
            arguments.encoder,
            arguments.model_output,
            arguments.output_names,
            values=None if shown is None else (shown.arrays, shown.keys),
        )
    _check_no_encoder(arguments)
    known = names_known_to_model(model, given=features) or []
    if named and len(known) == len(features) and not set(known) & set(features):
        warn_user(
            f"{describe(model)} was fitted on columns of other names ({', '.join(known[:4])}, ...); columns are taken "
            "by position, as in shap",
            ShapAsvWarning,
        )
    return read_plain_model(
        model,
        model_output=arguments.model_output,
        # names that the model knows say which column is which; other names are for display
        feature_names=features if set(features) & set(known) else None,
        output_names=arguments.output_names,
        probe=np.array(probe),  # a copy: the model may write into what it is given
        inputs=background.inputs,
        features=features if isinstance(background, TreeGround | CodedColumns) else None,
        table=_coded_rows(background) if ends_in_trees(model) else None,
    )


def _coded_rows(background: Background) -> CodedRows | None:
    """Rows of a table that the background draws, for models that answer to its codes; None where it has none."""
    rows = some_rows(background, 128) if isinstance(background, CodedColumns) else None
    return None if rows is None else CodedRows(background.n_codes, rows)  # type: ignore[attr-defined]


def graph_defines_do(background: Background) -> bool:
    """Whether the causal graph has to say what interventions do, because the background knows nothing of causes."""
    return not isinstance(background, KnowsInterventions) or background.intervened() is None


def with_meaning(problem: Problem, values: str, causal_graph: Any) -> Problem:
    """The problem under the distribution that ``values`` asks for; as it is, it is conditional (or shap's marginal).

    Parameters
    ----------
    values : {"auto", "conditional", "causal", "marginal"}
    causal_graph : object
        What the user knows about causes: levels, where the background knows nothing of them.
    """
    if values == "causal":
        return _causal(problem, causal_graph)
    if values == "marginal" and not isinstance(problem.background, MaskedInputs):
        return replace(problem, background=_cut_loose(problem.background), values=values)
    obstacle = conditioning_obstacle(problem)
    if obstacle is not None:
        raise MethodNotApplicableError(obstacle)
    return replace(problem, values=values)


def _causal(problem: Problem, causal_graph: Any) -> Problem:
    background, levels = problem.background, levels_of(causal_graph)
    own = None if graph_defines_do(background) else background.intervened()  # type: ignore[attr-defined]
    if own is not None:
        if levels is not None and levels.confounded:
            raise CausalGraphError(
                f"confounded={list(levels.confounded)} is for backgrounds that know nothing of causes; "
                f"{background.describe()} says itself what shares hidden causes: its nodes that are not features"
            )
        if is_ancestral(problem):
            return replace(problem, values="causal", apart=own)
        return replace(problem, values="causal", background=own)
    if levels is None:
        raise MethodNotApplicableError(
            f"values='causal' needs to know what happens to the others when features are set, and the background "
            f"({background.describe()}) does not say; pass causal_graph=CausalOrder.from_levels([...], "
            "confounded=[...]), or a background that knows causes: a Bayesian network, a linear Gaussian network or a "
            "StructuralModel (a table with a DAG over all of its columns makes one)"
        )
    if not isinstance(background, DrawsGivenEvidence) or background.conditions_on != "any":
        raise MethodNotApplicableError(
            f"values='causal' by levels needs draws given any set of features, and the background "
            f"({background.describe()}) has none; use a GaussianModel, CopulaModel or ConditionalTable, or pass the "
            "table itself"
        )
    positions, confounded = _of_features(levels, problem).among(background.features)
    return replace(problem, values="causal", background=by_levels(background, positions, confounded))


def _of_features(levels: Levels, problem: Problem) -> Levels:
    """Levels in the names of the features: groups by their members, numbers as positions where nothing is called so."""
    features, players = problem.background.features, problem.players
    members: dict[str, tuple[str, ...]] = {name: (name,) for name in features}
    if players is not None:
        for i, name in enumerate(players.names):
            members[name] = tuple(features[v] for v in np.flatnonzero(players.of_feature == i))

    def named(name: Any) -> tuple[str, ...]:
        if str(name) not in members and isinstance(name, int) and 0 <= name < len(features):
            return (features[name],)
        return members.get(str(name), (str(name),))

    return Levels(
        tuple(tuple(one for name in level for one in named(name)) for level in levels.names), levels.confounded
    )


def _cut_loose(background: Background) -> Background:
    if not isinstance(background, CutLoose):
        raise MethodNotApplicableError(
            f"values='marginal' needs background rows or a distribution whose features can be cut loose from one "
            f"another, and {background.describe()} is neither; pass the table itself as masker="
        )
    return background.cut_loose()


# Answers that differ by less are rounding: the order of sums may depend on the batch.
_RELATIVE = 1e-4


def is_identity(link: Callable[..., Any]) -> bool:
    """Also after unpickling, when the function is no longer the same object."""
    from shap import links

    return link is links.identity or (
        getattr(link, "__name__", "") == "identity" and getattr(link, "__module__", "") == "shap.links"
    )


@dataclass(frozen=True)
class CheckedLink:
    """The user's link; picklable when it is."""

    function: Callable[..., Any]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """link(values), the same shape; a ModelError when it raises or answers with anything but real numbers."""
        try:
            linked = np.asarray(self.function(values))
        except Exception as error:
            raise ModelError(f"link= raised {type(error).__name__}: {error}") from error
        if linked.dtype.kind not in "biuf" or linked.shape != np.shape(values):
            raise ModelError(
                f"link= answered with {linked.dtype} of shape {linked.shape} to numbers of shape {np.shape(values)}; "
                "it must return one real number for each, such as shap.links.logit"
            )
        return linked.astype(float)


def check_repeatable(predict: Callable[[Any], np.ndarray], rows: Any, backwards: Any) -> None:
    """Ask for the same rows again, in reverse; a ModelError when an answer differs."""
    first, second = predict(rows), predict(backwards)[::-1]
    scale = max(np.abs(first).max(initial=0.0), np.abs(second).max(initial=0.0))
    with np.errstate(over="ignore"):
        differ = np.abs(first - second) > _RELATIVE * scale
    if differ.any():
        row, output = np.argwhere(differ)[0]
        raise ModelError(
            f"the model answered the same row with {first[row, output]:.6g} and with {second[row, output]:.6g}; it "
            "must be a function of the row alone: fix its random state, and do not let it look at other rows"
        )
