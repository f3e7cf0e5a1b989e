"""The user's arguments -> a :class:`~shap_asv.backends.contract.Problem`: where model, background and causal order
meet.

Three things have to agree on who the features are: the network (whose other nodes are latent), the model and the
causal graph. Every disagreement is an error or a warning here, before any long work starts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import RowsError, UnknownFeatureError, UnknownMethodError
from shap_asv.explainer.callables import CheckedLink, check_repeatable, with_own_labels
from shap_asv.explainer.causality import edgeless_order, network_order, read_causal_graph, read_orders
from shap_asv.explainer.matrices import matrix_features, name_positions, numbered_features, uses_positions
from shap_asv.explainer.rows import Table
from shap_asv.models.outputs import choose_call
from shap_asv.models.predictor import PlainPredictor, Predictor, read_model, read_plain_model
from shap_asv.orders import CausalOrder
from shap_asv.values.marginal import MatrixBackground

Link = Callable[[np.ndarray], np.ndarray]


# --- who the features are -------------------------------------------------------------------------------------


def names_known_to_model(model: Any, encoder: Any = None) -> list[str] | None:
    """The input columns a fitted model (or the encoder before it) remembers, None if it remembers none."""
    for source in (encoder, model, getattr(model, "__self__", None)):
        for attribute in ("feature_names_in_", "feature_name_", "feature_names_"):
            try:
                names = getattr(source, attribute, None)
            except Exception:
                continue
            if names is not None and not callable(names) and len(names):
                return [str(name) for name in names]
    return None


def features_of(
    network: DiscreteNetwork, model: Any, encoder: Any, feature_names: Sequence[str] | None
) -> list[str] | None:
    """The features among the network's nodes, in the model's column order; None when only X can tell."""
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        unknown = [name for name in names if name not in network.names]
        if unknown:
            raise UnknownFeatureError(
                f"feature {unknown[0]!r} is no node of the network; its nodes are {', '.join(map(repr, network.names))}"
            )
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UnknownFeatureError(f"feature {twice[0]!r} is named twice in feature_names")
        return names
    known = names_known_to_model(model, encoder)
    if known is not None and all(name in network.names for name in known):
        return known
    return None


def features_from_rows(network: DiscreteNetwork, columns: list[str] | None, n_columns: int) -> list[str]:
    """The features as X tells them: its column names, or all nodes of the network when there are as many columns."""
    if columns is None:
        if n_columns == network.n_nodes:
            return list(network.names)
        raise RowsError(
            f"X has {n_columns} columns without names and the network has {network.n_nodes} nodes; "
            "pass feature_names=[...] to the explainer, or X as a DataFrame"
        )
    unknown = [column for column in columns if column not in network.names]
    if unknown:
        raise RowsError(
            f"column {unknown[0]!r} of X is no node of the network; its nodes are {', '.join(map(repr, network.names))}"
        )
    return columns


# --- everything together ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arguments:
    """What the explainer was built from, as far as a problem depends on it.

    ``background`` is a network or a shap masker; ``link`` None stands for the identity; ``labels`` holds those nodes
    of the network that are no strings, by name.
    """

    model: Any
    background: DiscreteNetwork | Any
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
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def graph_of_positions(self) -> bool:
        """Integers in a causal graph are columns only where the columns have no names."""
        return (
            not isinstance(self.background, DiscreteNetwork)
            and self.feature_names is None
            and MatrixBackground(self.background).dataframe_columns is None
            and uses_positions(self.causal_graph)
        )


def known_features(arguments: Arguments) -> list[str] | None:
    """The features as far as the arguments tell them; None when only X can. What is no model is an error already."""
    choose_call(arguments.model, arguments.model_output)
    if isinstance(arguments.background, DiscreteNetwork):
        return features_of(arguments.background, arguments.model, arguments.encoder, arguments.feature_names)
    background = MatrixBackground(arguments.background)
    known = names_known_to_model(arguments.model)
    return matrix_features(background, arguments.feature_names, known, arguments.causal_graph)


def assemble_for_rows(arguments: Arguments, table: Table) -> Problem:
    """The problem when only X tells the features; the model is tried on its first rows."""
    if isinstance(arguments.background, DiscreteNetwork):
        features = features_from_rows(arguments.background, table.columns, table.n_columns)
    else:
        features = list(arguments.feature_names or table.columns or numbered_features(table.n_columns))
    probe = table.frame.to_numpy()[:5] if table.frame is not None else np.asarray(table.array)[:5]
    return assemble(arguments, features, probe)


def assemble(arguments: Arguments, features: Sequence[str], probe: np.ndarray | None = None) -> Problem:
    """Model, background and causal order as one problem over ``features``."""
    if arguments.graph_of_positions:
        arguments = replace(arguments, causal_graph=name_positions(arguments.causal_graph, features))
    if isinstance(arguments.background, DiscreteNetwork):
        return _assemble_network_problem(arguments.background, features, arguments)
    if arguments.encoder is not None:
        raise UnknownMethodError(
            "encoder= goes with a Bayesian network; a matrix background holds the model's own inputs"
        )
    background = MatrixBackground(arguments.background)
    rows = background.data[:5] if background.data is not None else probe
    assert rows is not None
    return _assemble_matrix_problem(background, features, arguments, rows)


def _assemble_network_problem(network: DiscreteNetwork, features: Sequence[str], arguments: Arguments) -> Problem:
    """A problem with a Bayesian network as the distribution of the data."""
    background = DiscreteBackground(network, features, impossible=arguments.impossible)
    predictor = read_model(
        with_own_labels(arguments.model, arguments.labels),
        features,
        background.states,
        encoder=arguments.encoder,
        model_output=arguments.model_output,
        output_names=arguments.output_names,
    )
    if predictor.products is None:
        widest = np.arange(max(background.cardinalities))[:, None]
        rows = np.minimum(widest, np.array(background.cardinalities) - 1).astype(np.intp)
        check_repeatable(predictor.predict, rows, rows[::-1])
    own = network_order(network, features)
    return _with_order(background, predictor, arguments, features, own, hidden=background.latent)


def _assemble_matrix_problem(
    background: MatrixBackground, features: Sequence[str], arguments: Arguments, probe: np.ndarray
) -> Problem:
    """A problem with shap's marginal expectation over a matrix (or a shap masker) as background.

    ``probe`` are a few rows that the model is tried on.
    """
    known = names_known_to_model(arguments.model) or []
    predictor = read_plain_model(
        arguments.model,
        model_output=arguments.model_output,
        # names that the model knows say which column is which; other names are for display
        feature_names=features if set(features) & set(known) else background.dataframe_columns,
        output_names=arguments.output_names,
        probe=background.dressed(np.array(probe)),  # a copy: the model may write into what it is given
    )
    check_repeatable(predictor.predict, background.dressed(np.array(probe)), background.dressed(np.array(probe[::-1])))
    return _with_order(background, predictor, arguments, features, edgeless_order(features))


def _with_order(
    background: Any,
    predictor: Predictor | PlainPredictor,
    arguments: Arguments,
    features: Sequence[str],
    default: CausalOrder,
    hidden: Sequence[str] = (),
) -> Problem:
    order: CausalOrder | None = default
    given = given_weights = None
    if arguments.orders is not None:
        order = None
        given, given_weights = read_orders(arguments.orders, arguments.weights, features)
    elif arguments.causal_graph is not None:
        order = read_causal_graph(arguments.causal_graph, features, hidden)
    link = None if arguments.link is None else CheckedLink(arguments.link)
    names = tuple(str(name) for name in features)
    return Problem(background, predictor, order, given, given_weights, link, arguments.linearize_link, names)
