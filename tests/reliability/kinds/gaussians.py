"""Jointly Gaussian features: given, fitted, or a linear Gaussian network; known or set, by levels or by the network.

Means and covariances given or under ``do`` have closed forms (``tests/oracles``): linear models are compared with them
exactly, squares within the error of draws.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from shap_asv import GaussianModel
from tests.oracles import gaussian_interventions as interventions
from tests.oracles import gaussians
from tests.reliability.kinds.asking import ALSO, Kind, Question, ask, asked
from tests.reliability.kinds.causality import FORMS, Causes, known_causes, known_levels, of_graphs

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 5, 1),
    "latent": (0, 0, 1, 2),
    "covariance": ("plain", "plain", "nearly singular", "constant column", "independent", "uneven"),
    "given": ("GaussianModel", "mean and covariance", "fitted", "pandas", "network", "network"),
    "model": ("linear", "linear of two outputs", "squares", "squares"),
    "meaning": ("conditional", "conditional", "conditional", "marginal", "causal", "causal"),
    "causes": (*FORMS, "own", "own"),
    "also": (*ALSO, "effects", "effects"),
}


def _moments(case: SimpleNamespace, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    root = rng.normal(size=(m, m + 2))
    if case.covariance == "nearly singular":
        root[-1] = root[0] + 1e-3 * root[-1]
    covariance = root @ root.T / m
    if case.covariance == "independent":
        covariance = np.diag(np.diag(covariance))
    scales = 10.0 ** rng.uniform(-2, 2, m) if case.covariance == "uneven" else np.ones(m)
    if case.covariance == "constant column":
        scales[0] = 0.0
    return rng.normal(size=m) * np.maximum(scales, 0.5), covariance * np.outer(scales, scales)


def _network(names: list[str], rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """pgmpy's network (nodes in any order), and its intercepts, slopes and deviations, causes first."""
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    m = len(names)
    slopes = np.tril(rng.normal(size=(m, m)), -1) * (rng.random((m, m)) < 0.5)
    intercepts, deviations = rng.normal(size=m), rng.uniform(0.5, 2.0, size=m)
    network = LinearGaussianBayesianNetwork()
    network.add_nodes_from([names[v] for v in rng.permutation(m)])
    for v in range(m):
        network.add_edges_from((names[p], names[v]) for p in np.flatnonzero(slopes[v]))
    for v in range(m):
        causes = np.flatnonzero(slopes[v])
        beta = [intercepts[v], *slopes[v, causes]]
        network.add_cpds(LinearGaussianCPD(names[v], beta, deviations[v], [names[p] for p in causes]))
    return network, intercepts, slopes, deviations


def _before(slopes: np.ndarray, nodes: list[int]) -> list[tuple[int, int]]:
    """Precedence among some nodes, handed on by the others: pairs of positions."""
    reach = np.linalg.matrix_power(np.eye(len(slopes)) + (slopes != 0), len(slopes)) > 0
    return [(a, b) for a, u in enumerate(nodes) for b, v in enumerate(nodes) if u != v and reach[v, u]]


def _conditional(mean: np.ndarray, covariance: np.ndarray, row: np.ndarray, members: list[int]) -> Any:
    """Moments given members; columns without variance are as good as known."""
    varies = [k for k in range(len(mean)) if covariance[k, k] > 0]
    found_mean, found = mean.copy(), np.zeros_like(covariance)
    if varies:
        at = np.ix_(varies, varies)
        inner = [varies.index(k) for k in members if k in varies]
        found_mean[varies], found[at] = gaussians.conditional(mean[varies], covariance[at], row[varies], inner)
    return found_mean, found


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 2])
    n, m = case.n, case.n + (0 if case.given == "fitted" else case.latent)
    every = [f"x{k}" for k in range(m)]
    nodes = rng.permutation(m)[:n].tolist()
    names = [every[v] for v in nodes]
    causal, network = case.meaning == "causal", case.given == "network"
    background: Any
    if network:
        background, *parts = _network(every, rng)
        mean, covariance = interventions.network_means(*parts[:2], {}), interventions.network_covariance(*parts[1:], {})
    else:
        mean, covariance = _moments(SimpleNamespace(covariance="plain") if causal else case, m, rng)
        background = GaussianModel(mean, covariance, every)
        if case.given == "pandas":
            background = GaussianModel(pd.Series(mean, every), pd.DataFrame(covariance, every, every))
    mean, covariance = mean[nodes], covariance[np.ix_(nodes, nodes)]
    if case.given == "mean and covariance":
        background = (mean, covariance)
    if case.given == "fitted":
        values = rng.multivariate_normal(mean, covariance, size=40)
        values[:, np.diag(covariance) == 0] = mean[np.diag(covariance) == 0]
        background = GaussianModel.fit(pd.DataFrame(values, columns=names))
        mean, covariance = values.mean(axis=0), np.cov(values.T).reshape(n, n)
        covariance[np.abs(covariance) < 1e-20] = 0.0
    rows = rng.multivariate_normal(mean, covariance, size=3)
    rows[:, np.diag(covariance) == 0] = mean[np.diag(covariance) == 0]
    spread = float(np.sqrt(np.trace(covariance))) + 1.0

    by_levels = causal and not network
    if by_levels:
        causes, levels, confounded = known_levels(names, rng)
    elif network and case.causes == "own":
        causes = Causes({}, *of_graphs(n, [_before(parts[1], nodes)]), one_graph=True)
    else:
        causes = known_causes("edges" if case.causes == "own" else case.causes, names, rng)
    if case.meaning == "marginal":  # each feature follows its own distribution, whatever is known of the others
        covariance = np.diag(np.diag(covariance))

    def moments(r: int, members: frozenset[int]) -> Any:
        """Mean and covariance of the features given the members, or with these set."""
        if by_levels:
            fixed = {i: rows[r, i] for i in members}
            left = interventions.level_covariance(covariance, levels, confounded, fixed)
            return interventions.level_means(mean, covariance, levels, confounded, fixed), left
        if causal:
            fixed = {nodes[i]: rows[r, i] for i in members}
            left = interventions.network_covariance(*parts[1:], fixed)
            return interventions.network_means(*parts[:2], fixed)[nodes], left[np.ix_(nodes, nodes)]
        return _conditional(mean, covariance, rows[r], sorted(members))

    slopes = rng.normal(size=(n, 2 if case.model == "linear of two outputs" else 1))
    curve = rng.normal(size=(n, n)) / spread if case.model == "squares" else np.zeros((n, n))
    model: Any
    if case.model == "squares":

        def model(inputs: Any) -> np.ndarray:
            x = np.asarray(inputs, dtype=float)
            return np.einsum("ij,jk,ik->i", x, curve, x) + x @ slopes[:, 0]

        outputs, offset = model(rows), 0.0
    else:
        inputs = pd.DataFrame(rng.normal(size=(3 * n + 3, n)), columns=names)
        target = inputs.to_numpy() @ slopes + 0.7
        model = LinearRegression().fit(inputs, target if target.shape[1] > 1 else target[:, 0])
        outputs, offset = rows @ slopes + 0.7, 0.7

    def nu(r: int, members: frozenset[int]) -> np.ndarray:
        centre, left = moments(r, members)
        return centre @ slopes + centre @ curve @ centre + np.trace(curve @ left) + offset

    def shown(r: int, members: frozenset[int], i: int) -> np.ndarray:
        """Of a linear model, what it shows adds its weight times how far the row is from the mean."""
        return nu(r, members) + slopes[i] * (rows[r, i] - moments(r, members)[0][i])

    scale = max(1.0, float(np.abs(outputs).max()), spread)
    condition = 1e4 if case.covariance == "nearly singular" else 10.0
    explainer = asked(model, background, causes, names, case, values=case.meaning)
    also = case.also
    if also == "effects" and not (causal and case.model.startswith("linear")):
        also = "every backend"
    if also == "sensitivity" and by_levels:
        also = "groups"
    X = pd.DataFrame(rows, columns=names)
    ask(Question(explainer, X, names, causes, nu, 1e-10 * condition * scale, 0.01 * scale, shown, by_levels), also)


GAUSSIANS = Kind(
    "Gaussians",
    4,
    CHOICES,
    check,
    "up to 5 features of up to 7 jointly Gaussian variables (nearly singular, constant, uneven scales; given, fitted "
    "to a table, shap's pair of mean and covariance, or a linear Gaussian network), causes known in one of 8 forms "
    "(mixtures of graphs, partly directed graphs and weighted orders among them); conditional or marginal "
    "values by the precision matrix, causal values by levels, of which none, some or all are confounded, or node by "
    "node. Linear models to 1e-9 of the scale (1e-6 where the covariance is nearly singular), squares by draws within "
    "1%.",
)
