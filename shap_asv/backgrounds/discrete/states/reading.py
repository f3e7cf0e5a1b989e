"""A Bayesian network as the user hands it in, before it is known which of its nodes are features."""

from functools import partial
from typing import Any

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.pgmpy_networks import is_network, read_network


def is_discrete_network(thing: Any) -> bool:
    return isinstance(thing, DiscreteNetwork) or is_network(thing)


def read_discrete(given: Any, masker: Any) -> NamedDistribution:
    """A pgmpy network, or one that was read already, as a distribution whose features are not known yet."""
    network = read_network(given)
    nodes = () if isinstance(given, DiscreteNetwork) else given
    own = {str(node): node for node in nodes if not isinstance(node, str)}
    # plain arrays, which every version of pgmpy can do without, unless labels that are not strings would be lost
    return NamedDistribution(
        network.names,
        partial(DiscreteBackground, network),
        ("a node of the network", "its nodes are"),
        given if own else network,
        own,
    )
