"""Linear Gaussian networks: each node is a weighted sum of its parents plus Gaussian noise.

``X = intercept + B X + noise``, so ``X = (I - B)^-1 (intercept + noise)``: the mean and the covariance of all nodes
come from one triangular solve. Under ``do(X_S = x)`` the equations of S are replaced by constants, and the same solve
gives the moments of what was cut open.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backgrounds.pgmpy_networks import nodes_in_order
from shap_asv.errors import NetworkError


@dataclass(frozen=True, eq=False)
class LinearGaussianNetwork:
    """``X_v = intercept_v + sum_p slopes[v, p] X_p + N(0, deviations_v^2)``, nodes in a topological order.

    Examples
    --------
    >>> slopes = np.array([[0.0, 0.0], [2.0, 0.0]])
    >>> chain = LinearGaussianNetwork(("a", "b"), np.array([1.0, 0.0]), slopes, np.array([1.0, 0.5]))
    >>> mean, covariance = chain.moments()
    >>> mean.tolist(), covariance.tolist()
    ([1.0, 2.0], [[1.0, 2.0], [2.0, 4.25]])
    >>> chain.intervened({"b": 7.0})[0].tolist()
    [1.0, 7.0]
    """

    names: tuple[str, ...]
    intercepts: np.ndarray
    slopes: np.ndarray
    deviations: np.ndarray
    latent: tuple[str, ...] = ()

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (n,) and covariance (n, n) of all nodes. O(n^3)."""
        return self.intervened({})

    def intervened(self, values: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Mean (n,) and covariance (n, n) under ``do(X_v = values[v])``: the edges into those nodes are cut. O(n^3)."""
        intercepts, slopes, deviations = self.intercepts.copy(), self.slopes.copy(), self.deviations.copy()
        for name, value in values.items():
            if name not in self.names:
                raise NetworkError(f"the network has no node {name!r}; its nodes are {', '.join(self.names)}")
            v = self.names.index(name)
            intercepts[v], slopes[v], deviations[v] = value, 0.0, 0.0
        spread = np.linalg.solve(np.eye(len(self.names)) - slopes, np.diag(deviations))
        mean = np.linalg.solve(np.eye(len(self.names)) - slopes, intercepts)
        return mean, spread @ spread.T


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
