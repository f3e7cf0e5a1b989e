"""The user's arguments -> a :class:`~shap_asv.backends.contract.Problem`: where model, background and causal order
meet.

Three things have to agree on who the features are: the network (whose other nodes are latent), the model and the
causal graph. Every disagreement is an error or a warning here, before any long work starts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.contract import (
    Background,
    CodedByModel,
    FiniteStates,
    StandsForValues,
    TreeGround,
)
from shap_asv.backgrounds.matrix import columns_in_order
from shap_asv.backgrounds.naming import Distribution
from shap_asv.backgrounds.tables.border import some_rows
from shap_asv.errors import NetworkError, ShapAsvWarning, UnknownMethodError, warn_user
from shap_asv.explainer.reading.callables import CheckedLink, check_repeatable, is_identity, with_own_labels
from shap_asv.explainer.reading.causality import (
    name_positions,
    own_order,
    read_causal_graph,
    read_orders,
    uses_positions,
)
from shap_asv.explainer.reading.meaning import with_meaning
from shap_asv.explainer.reading.players import order_of_players, read_groups
from shap_asv.explainer.reading.rows import Table
from shap_asv.models.calls.outputs import describe, last_step
from shap_asv.models.contract import Predictor
from shap_asv.models.plain import read_plain_model
from shap_asv.models.predictor import read_model
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import choose_call, known_columns, own_spelling
from shap_asv.models.trees.ensembles import FloatEnsemble
from shap_asv.models.trees.form import place_trees, read_ensemble, tree_predictor
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture

Link = Callable[[np.ndarray], np.ndarray]


# --- who the features are -------------------------------------------------------------------------------------


def names_known_to_model(model: Any, encoder: Any = None, given: Sequence[str] = ()) -> list[str] | None:
    """The input columns a fitted model (or the encoder before it) remembers, None if it remembers none.

    Where a library changes names (:func:`own_spelling`) they are spelled as they are ``given``.
    """
    last = None if callable(model) else last_step(model)  # boosters keep their names elsewhere
    for source in (encoder, model, getattr(model, "__self__", None), last):
        names = None if source is None else known_columns(source)
        if names is not None:
            return list(own_spelling(last_step(source), names, given) or ())
    return None


# --- everything together ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arguments:
    """What the explainer was built from, as far as a problem depends on it; ``link`` None stands for the identity."""

    model: Any
    distribution: Distribution
    feature_names: Sequence[str] | None = None
    causal_graph: Any = None
    orders: Any = None
    weights: Any = None
    encoder: Any = None
    model_output: str = "auto"
    output_names: Sequence[str] | None = None
    impossible: str = "raise"
    link: Link | None = None
    linearize_link: bool = True
    seed: int | None = None
    groups: Any = None
    values: str = "auto"

    @property
    def graph_of_positions(self) -> bool:
        """Integers in a causal graph are columns only where the columns have no names."""
        return not self.distribution.named and self.feature_names is None and uses_positions(self.causal_graph)

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


def arguments_of(explainer: Any, distribution: Distribution) -> Arguments:
    """The arguments as an explainer keeps them, each under its own name."""
    other = {
        "distribution": distribution,
        "link": None if is_identity(explainer.link) else explainer.link,
        "seed": explainer._entropy,
        "model_output": explainer._words["model_output"],
    }
    names = (field.name for field in fields(Arguments))
    return Arguments(**{name: other[name] if name in other else getattr(explainer, name) for name in names})


def known_features(arguments: Arguments) -> list[str] | None:
    """The features as far as the arguments tell them; None when only X can. What is not a model is an error already."""
    choose_call(arguments.model, arguments.model_output)
    given = [*(arguments.feature_names or ()), *_names_in(arguments.causal_graph)]
    known = names_known_to_model(arguments.model, arguments.encoder, given)
    features = arguments.distribution.known_features(arguments.feature_names, known)
    width = arguments.trees.n_columns if arguments.distribution.of_model else None
    # names in a causal graph are those of X, where nothing else has names
    if features is None and (arguments.causal_graph is None or uses_positions(arguments.causal_graph)):
        return arguments.distribution.unnamed_features(width)
    return features


def _names_in(graph: Any) -> list[str]:
    """The names in a causal graph, as far as they are seen without reading it."""
    if isinstance(graph, CausalOrder):
        return [name for name in graph.features if isinstance(name, str)]
    nodes = list(graph.nodes) if hasattr(graph, "nodes") else []
    if isinstance(graph, list | tuple | set):
        nodes = [end for edge in graph if isinstance(edge, list | tuple) for end in edge]
    return [name for name in nodes if isinstance(name, str)]


def assemble_for_rows(arguments: Arguments, table: Table) -> Problem:
    """The problem when only X tells the features; the model is tried on its first rows."""
    features = arguments.feature_names or arguments.distribution.features_in(table.columns, table.n_columns)
    return assemble(arguments, list(features), table)


def assemble(arguments: Arguments, features: Sequence[str], table: Table | None = None) -> Problem:
    """Model, background and causal order as one problem over ``features``; ``table`` is X, where it is known."""
    background = arguments.distribution.background(tuple(str(name) for name in features), arguments.impossible)
    predictor: Predictor
    if arguments.distribution.of_model:
        background, predictor = _trees_alone(arguments, background)
    else:
        probe = some_rows(background)
        if probe is None:
            assert table is not None
            probe = background.read(table.content)[:5]
        predictor = _read_predictor(arguments, background, probe)
        if predictor.products is None and predictor.trees is None:
            check_repeatable(predictor.predict, np.array(probe), np.array(probe[::-1]))
    if predictor.call.note:
        warn_user(predictor.call.note, ShapAsvWarning)
    if arguments.graph_of_positions:
        arguments = replace(arguments, causal_graph=name_positions(arguments.causal_graph, features))
    players = read_groups(arguments.groups, background.features)
    order: CausalOrder | GraphMixture | None = None
    given = given_weights = None
    if arguments.orders is not None:
        given, given_weights = read_orders(
            arguments.orders, arguments.weights, background.features if players is None else players.names
        )
    elif players is not None:
        order = order_of_players(arguments.causal_graph, players, background, arguments.seed)
    elif arguments.causal_graph is not None:
        order = read_causal_graph(arguments.causal_graph, background.features, background.latent, arguments.seed)
    else:
        order = own_order(background)
    link = None if arguments.link is None else CheckedLink(arguments.link)
    problem = Problem(background, predictor, order, given, given_weights, link, arguments.linearize_link, players)
    return with_meaning(problem, arguments.values, arguments.causal_graph)


def _trees_alone(arguments: Arguments, background: Background) -> tuple[Background, Predictor]:
    """Trees that are their own background, and the background in the coding of the trees."""
    assert isinstance(background, CodedByModel)
    _check_no_encoder(arguments)
    trees = place_trees(arguments.trees, arguments.model, arguments.model_output, background.features)
    if background.counted is not None:
        rows = columns_in_order(background.counted, background.features, "the model")
        trees = replace(trees, own=trees.own.counted(trees.code(rows)[:, trees.place]))
    return background.coded(trees), tree_predictor(trees, arguments.output_names)


def _check_no_encoder(arguments: Arguments) -> None:
    if arguments.encoder is not None:
        raise UnknownMethodError(
            "encoder= goes with a Bayesian network of named states; other backgrounds hold the model's own inputs"
        )


def _read_predictor(arguments: Arguments, background: Background, probe: np.ndarray) -> Predictor:
    """The model over the background's rows: of states where there are states, else of a table."""
    model, features = with_own_labels(arguments.model, arguments.distribution.own_names), background.features
    if isinstance(background, FiniteStates):
        shown = background.values if isinstance(background, StandsForValues) else None
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
    if arguments.distribution.named and len(known) == len(features) and not set(known) & set(features):
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
        features=features if isinstance(background, TreeGround) else None,
    )
