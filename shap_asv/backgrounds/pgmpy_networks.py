"""pgmpy's networks to plain arrays and back. The only file that imports pgmpy, and only inside its functions.

What to beware of: state orders are a property of each CPD, so a parent's states are always looked up by name; CPDs may
miss a sum of one by 0.01; the names of classes differ between versions, so networks are recognised by their module.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork, checked_network
from shap_asv.errors import NetworkError


def is_network(thing: object) -> bool:
    """Whether something is a graph of pgmpy (any Bayesian network, or a bare DAG), without importing pgmpy."""
    return any(
        cls.__module__.partition(".")[0] == "pgmpy"
        and (cls.__name__ == "DAG" or cls.__name__.endswith("BayesianNetwork"))
        for cls in type(thing).__mro__
    )


def read_network(network: Any) -> DiscreteNetwork:
    """A pgmpy ``DiscreteBayesianNetwork`` as arrays: checked, renormalised, in a topological order.

    Raises
    ------
    NetworkError
        No nodes, continuous nodes, missing CPDs, CPDs that contradict the graph, the states or the laws of probability.

    Examples
    --------
    >>> cancer = read_network(load_network("cancer"))
    >>> cancer.names
    ('Pollution', 'Smoker', 'Cancer', 'Xray', 'Dyspnoea')
    >>> cancer.tables[2].shape  # Cancer given Pollution and Smoker
    (2, 2, 2)
    """
    if isinstance(network, DiscreteNetwork):
        return checked_network(network)
    kind = type(network).__name__
    if not is_network(network):
        raise NetworkError(f"a discrete Bayesian network of pgmpy is needed, not {kind}")
    if "Gaussian" in kind or "Functional" in kind:
        raise NetworkError(
            f"{kind} has continuous nodes; a DiscreteBayesianNetwork is needed (discretise the variables)"
        )
    if not hasattr(network, "get_cpds"):
        raise NetworkError(f"{kind} has no CPTs; give a DiscreteBayesianNetwork with one CPT per node")
    nodes = nodes_in_order(network)
    index = {node: v for v, node in enumerate(nodes)}
    cpds = {node: _table_of(network, node) for node in nodes}
    states = {node: tuple(cpds[node].state_names[node]) for node in nodes}
    tables = []
    parents = []
    for node in nodes:
        cpd = cpds[node]
        causes = sorted(network.predecessors(node), key=index.__getitem__)
        tables.append(_aligned_values(cpd, node, causes, states))
        parents.append(tuple(index[cause] for cause in causes))
    return checked_network(
        DiscreteNetwork(tuple(map(str, nodes)), tuple(states[node] for node in nodes), tuple(parents), tuple(tables))
    )


def nodes_in_order(network: Any) -> list[Any]:
    """Causes before effects; of the nodes that may come next, the one that was named first."""
    if len(network) == 0:
        raise NetworkError("the network has no nodes; give it at least one")
    place = {node: i for i, node in enumerate(network.nodes())}
    try:
        return list(nx.lexicographical_topological_sort(network, key=place.__getitem__))
    except nx.NetworkXUnfeasible:
        raise NetworkError("the network has a cycle; it must be a directed acyclic graph") from None


def _table_of(network: Any, node: Any) -> Any:
    cpd = network.get_cpds(node)
    if cpd is None:
        raise NetworkError(f"node {node!r} has no CPT; add one with add_cpds")
    if not hasattr(cpd, "state_names") or not hasattr(cpd, "cardinality"):
        raise NetworkError(f"the CPD of {node!r} is a {type(cpd).__name__}; a table (TabularCPD) is needed")
    causes = set(network.predecessors(node))
    if set(cpd.variables[1:]) != causes or cpd.variables[0] != node:
        raise NetworkError(
            f"the CPT of {node!r} is about {cpd.variables[0]!r} given {sorted(map(str, cpd.variables[1:]))}, but its "
            f"parents in the graph are {sorted(map(str, causes))}; make them agree"
        )
    nameless = [variable for variable in cpd.variables if variable not in cpd.state_names]
    if nameless:
        raise NetworkError(f"the CPT of {node!r} has no state names for {', '.join(map(str, nameless))}")
    return cpd


def _aligned_values(cpd: Any, node: Any, causes: list[Any], states: dict[Any, tuple]) -> np.ndarray:
    """Values with parents in the given order and every axis in the state order of the variable's own CPD."""
    values = np.asarray(cpd.values)
    for axis, variable in enumerate(cpd.variables):
        named = list(cpd.state_names[variable])
        if (
            len(named) != values.shape[axis]
            or set(named) != set(states[variable])
            or len(named) != len(states[variable])
        ):
            raise NetworkError(
                f"the CPT of {node!r} has states {named} ({values.shape[axis]} entries) for {variable!r}, whose own "
                f"states are {list(states[variable])}"
            )
        values = np.take(values, [named.index(state) for state in states[variable]], axis=axis)
    return np.transpose(values, [cpd.variables.index(variable) for variable in (node, *causes)])


@dataclass(frozen=True, eq=False)
class LinearGaussianNetwork:
    """``X_v = intercept_v + sum_p slopes[v, p] X_p + N(0, deviations_v^2)``, nodes in a topological order."""

    names: tuple[str, ...]
    intercepts: np.ndarray
    slopes: np.ndarray
    deviations: np.ndarray
    latent: tuple[str, ...] = ()


def is_linear_gaussian(thing: object) -> bool:
    """Whether something reads like pgmpy's ``LinearGaussianBayesianNetwork`` (pgmpy is not imported)."""
    return "LinearGaussian" in type(thing).__name__ and hasattr(thing, "get_cpds") and hasattr(thing, "predecessors")


def read_linear_gaussian(network: Any) -> LinearGaussianNetwork:
    """A ``LinearGaussianBayesianNetwork`` of pgmpy as arrays; its latent nodes stay latent.

    Slopes are matched to parents by the CPD's own ``evidence``, never by position in the graph.

    Raises
    ------
    NetworkError
        No nodes, a cycle, a node without a CPD, a CPD about other parents than those of the graph, numbers that are
        not finite.
    """
    if not is_linear_gaussian(network):
        raise NetworkError(f"a LinearGaussianBayesianNetwork is needed, not {type(network).__name__}")
    nodes = nodes_in_order(network)
    index = {node: v for v, node in enumerate(nodes)}
    intercepts, deviations = np.zeros(len(nodes)), np.zeros(len(nodes))
    slopes = np.zeros((len(nodes), len(nodes)))
    for v, node in enumerate(nodes):
        cpd = network.get_cpds(node)
        if cpd is None:
            raise NetworkError(f"node {node!r} has no CPD; add one with add_cpds, or fit the network")
        causes = list(cpd.evidence)
        if set(causes) != set(network.predecessors(node)) or len(cpd.beta) != len(causes) + 1:
            raise NetworkError(
                f"the CPD of {node!r} has {len(cpd.beta)} coefficients and the parents {sorted(map(str, causes))}; the "
                f"graph says {sorted(map(str, network.predecessors(node)))}, and one more coefficient than parents"
            )
        intercepts[v], deviations[v] = float(cpd.beta[0]), float(cpd.std)
        for cause, slope in zip(causes, cpd.beta[1:], strict=True):
            slopes[v, index[cause]] = float(slope)
        if not np.isfinite([intercepts[v], deviations[v], *slopes[v]]).all() or deviations[v] < 0:
            raise NetworkError(
                f"the CPD of {node!r} has the coefficients {list(map(float, cpd.beta))} and the standard deviation "
                f"{deviations[v]}; finite numbers are needed, and a deviation that is not negative"
            )
    unseen = tuple(str(node) for node in nodes if node in set(getattr(network, "latents", ()) or ()))
    return LinearGaussianNetwork(tuple(map(str, nodes)), intercepts, slopes, deviations, unseen)


def load_network(name_or_path: str | Path) -> Any:
    """A ``DiscreteBayesianNetwork`` from the files inside pgmpy's wheel ("child"), or from a ``.bif`` / ``.bif.gz``
    path. Offline.

    Examples
    --------
    >>> sorted(load_network("cancer").nodes())
    ['Cancer', 'Dyspnoea', 'Pollution', 'Smoker', 'Xray']
    """
    from pgmpy.readwrite import BIFReader

    if not isinstance(name_or_path, (str, Path)):
        raise NetworkError(f"a network is loaded by name or path, not by a {type(name_or_path).__name__}")
    path = Path(name_or_path)
    if path.suffix not in (".bif", ".gz"):
        shelf = _example_folder()
        path = shelf / f"{name_or_path}.bif.gz"
        if not path.is_file():
            known = sorted(file.name.removesuffix(".bif.gz") for file in shelf.glob("*.bif.gz"))
            raise NetworkError(
                f"no network is called {str(name_or_path)!r}; known: {', '.join(known)}; or give a .bif path"
            )
    elif not path.is_file():
        raise NetworkError(f"there is no file {str(path)!r}")
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
        network = BIFReader(string=text).get_model()
    except NetworkError:
        raise
    except Exception as error:  # pgmpy's parser lets anything through, from KeyError to IndexError
        raise NetworkError(
            f"{str(path)!r} cannot be read as a network in BIF: {type(error).__name__}: {error} (states must not hold "
            "commas, where pgmpy's reader splits them: name intervals 0-30 rather than (0,30])"
        ) from error
    if len(network) == 0:  # what the parser makes of any text that is no BIF
        raise NetworkError(f"{str(path)!r} cannot be read as a network in BIF: it declares no variables")
    return network


def _example_folder() -> Path:
    import pgmpy

    return Path(pgmpy.__file__).parent / "utils" / "example_models"
