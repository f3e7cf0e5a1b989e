"""Networks and backgrounds that are not a distribution of the features."""

from pathlib import Path

import networkx as nx
import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import (
    ArgumentError,
    BudgetExceededError,
    NetworkError,
    UnknownFeatureError,
)
from tests.explainer.bad_input.setting import Bad, constant


def coin(values=(0.5, 0.5), states=None):
    """One node whose table is overwritten after pgmpy has looked at it."""
    network = DiscreteBayesianNetwork()
    network.add_node("a")
    table = TabularCPD("a", 2, [[0.5], [0.5]])
    network.add_cpds(table)
    table.values = np.array(values)
    if states is not None:
        table.state_names = {"a": states}
    return network


def pair(cause="a", effect="b"):
    network = DiscreteBayesianNetwork([(cause, effect)])
    network.add_cpds(
        TabularCPD(cause, 2, [[0.5], [0.5]]), TabularCPD(effect, 2, [[0.2, 0.7], [0.8, 0.3]], [cause], [2])
    )
    return network


def edge_after_the_tables():
    network = pair()
    network.add_node("c")
    network.add_cpds(TabularCPD("c", 2, [[0.5], [0.5]]))
    network.add_edge("c", "b")
    return network


def circle():
    network = pair()
    nx.DiGraph.add_edge(network, "b", "a")  # past pgmpy's own check
    return network


def explain(background, model=constant):
    return AsymmetricExplainer(model, background)


def arrays(names=("a",), states=(("x", "y"),), parents=((),), tables=((0.5, 0.5),)):
    return explain(DiscreteNetwork(names, states, parents, tuple(map(np.array, tables))))


def text_file(text):
    import tempfile

    path = Path(tempfile.mkdtemp()) / "network.bif"
    path.write_text(text)
    return path


NETWORKS = {
    "none": Bad(lambda c: explain(None), NetworkError, r"^masker cannot be None\. .*background rows.*StructuralModel"),
    "a word": Bad(lambda c: explain("asia"), NetworkError, "cannot be read from a str"),
    "matrix without rows": Bad(lambda c: explain(np.zeros((0, 2))), NetworkError, "no rows"),
    "one name for two columns": Bad(
        lambda c: AsymmetricExplainer(constant, np.zeros((3, 2)), feature_names=["a"]),
        UnknownFeatureError,
        "1 feature_names for a background of 2 columns",
    ),
    "masker answers None": Bad(
        lambda c: explain(lambda mask, x: None)(c.matrix), NetworkError, r"the masker answered with shape \(\)"
    ),
    "masker raises": Bad(lambda c: explain(lambda mask, x: 1 / 0)(c.matrix), NetworkError, "raised ZeroDivisionError"),
    "no nodes": Bad(lambda c: explain(DiscreteBayesianNetwork()), NetworkError, "no nodes"),
    "no CPTs": Bad(lambda c: explain(DiscreteBayesianNetwork([("a", "b")])), NetworkError, "node 'a' has no CPT"),
    "edge that its CPT does not know": Bad(lambda c: explain(edge_after_the_tables()), NetworkError, "make them agree"),
    "cycle": Bad(lambda c: explain(circle()), NetworkError, "has a cycle"),
    "a linear Gaussian network without CPDs": Bad(
        lambda c: explain(LinearGaussianBayesianNetwork([("a", "b")])), NetworkError, "node 'a' has no CPD; add one"
    ),
    "repeated states": Bad(lambda c: explain(coin(states=["x", "x"])), NetworkError, "repeated states"),
    "too few state names": Bad(lambda c: explain(coin(states=["x"])), NetworkError, "2 entries"),
    "negative probability": Bad(lambda c: explain(coin((1.5, -0.5))), NetworkError, "negative probability -0.5"),
    "probability is NaN": Bad(lambda c: explain(coin((np.nan, 0.5))), NetworkError, "holds nan"),
    "probabilities of 0.8": Bad(lambda c: explain(coin((0.5, 0.3))), NetworkError, "sums to 0.8, not to 1"),
    "probabilities are words": Bad(lambda c: explain(coin(("a", "b"))), NetworkError, "not a number"),
    "nodes 1 and '1'": Bad(lambda c: explain(pair(1, "1")), NetworkError, "more than once: 1"),
    "arrays: no nodes": Bad(lambda c: arrays((), (), (), ()), NetworkError, "no nodes"),
    "arrays: of another length": Bad(lambda c: arrays(states=()), NetworkError, "one of each per node"),
    "arrays: no states": Bad(lambda c: arrays(states=((),)), NetworkError, "no states"),
    "arrays: of another shape": Bad(lambda c: arrays(tables=(np.ones((2, 2)),)), NetworkError, r"shape \(2, 2\)"),
    "arrays: parent after child": Bad(lambda c: arrays(parents=((0,),)), NetworkError, "topological order"),
    "load: unknown name": Bad(lambda c: load_network("nowhere"), NetworkError, "no network is called 'nowhere'"),
    "load: no file": Bad(lambda c: load_network("nowhere.bif"), NetworkError, "there is no file"),
    "load: a number": Bad(lambda c: load_network(5), NetworkError, "not by a int"),
    "load: no BIF": Bad(lambda c: load_network(text_file("hello")), NetworkError, "cannot be read as a network"),
    "draw: no network": Bad(lambda c: sample_rows(None, 3), NetworkError, "not NoneType"),
    "draw: no rows": Bad(lambda c: sample_rows(c.network, 0), ArgumentError, "n=0 is not a positive integer"),
    "draw: rows past the memory": Bad(lambda c: sample_rows(c.network, 10**13), BudgetExceededError, "in parts"),
    "draw: seed": Bad(lambda c: sample_rows(c.network, 3, seed=-1), ArgumentError, "seed=-1 is not a seed"),
}
