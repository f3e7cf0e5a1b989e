"""Worlds whose values are known without draws: closed forms, sums over donors, quadrature, a small network.

Each gives (background, model, exact values (r, n), rows, options of the explainer).
"""

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.ensemble import HistGradientBoostingRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, CopulaModel, GaussianModel, StructuralModel
from tests.explainer.test_exact import black_box
from tests.oracles import copulas, gaussians
from tests.oracles import gaussian_interventions as oracle
from tests.oracles.brute_force import over_orders, topological_orders
from tests.problems import make_problem

NAMES = ["a", "b", "c"]
LEVELS = CausalOrder.from_levels([["a"], ["b", "c"]])
ORDERS = topological_orders(3, [(0, 1), (0, 2)])
MEAN = np.array([0.3, -0.2, 1.0])
COVARIANCE = np.array([[1.0, 0.6, 0.3], [0.6, 1.5, -0.2], [0.3, -0.2, 0.8]])
CURVE = np.array([[0.5, 0.4, 0.0], [0.0, -0.3, 0.6], [0.2, 0.0, 0.3]])
ROWS = np.array([[1.2, 0.4, -0.3], [-0.8, 1.9, 2.0]])


TABLE = pd.DataFrame(ROWS, columns=NAMES)
MEANS = np.array([1.0, -0.6, 0.8])
BY_LEVELS = {"causal_graph": LEVELS, "feature_names": NAMES}


#: What is known of causes -> options of the explainer, the orders that it means, and their weights (None: all alike).
CAUSES = {
    "levels": (BY_LEVELS, ORDERS, None),
    "no edges": ({"causal_graph": [], "feature_names": NAMES}, topological_orders(3, []), None),
    "a chain": ({"causal_graph": [("b", "a"), ("a", "c")], "feature_names": NAMES}, [(1, 0, 2)], None),
    "two graphs": (
        {
            "causal_graph": [([("a", "b"), ("b", "c")], 1), ([("c", "b"), ("b", "a")], 2)],
            "feature_names": NAMES,
        },
        [(0, 1, 2), (2, 1, 0)],
        [1, 2],
    ),
}


def exactly(nu, orders, weights=None):
    return np.array([over_orders(lambda members, row=row: nu(row, members), orders, weights)[:, 0] for row in ROWS])


def plain_sum(X):
    return np.asarray(X, dtype=float) @ MEANS


def squares(X):
    x = np.asarray(X, dtype=float)
    return np.einsum("ij,jk,ik->i", x, CURVE, x) + x @ [1.0, -0.5, 0.7]


def jumps(X):
    x = np.asarray(X, dtype=float)
    return np.where(x[:, 0] + x[:, 1] > 0.5, 2.0, 0.0) + x[:, 2] * (x[:, 1] > 0)


def of_gaussians(causes="levels"):
    """Exact values (r, n) of squares: E[x'Ax + b'x] = m'Am + tr(A C) + b'm."""

    def nu(row, members):
        mean, left = gaussians.conditional(MEAN, COVARIANCE, row, sorted(members))
        return np.array([squares(mean[None])[0] + np.trace(CURVE @ left)])

    options, orders, weights = CAUSES[causes]
    return GaussianModel(MEAN, COVARIANCE, NAMES), squares, exactly(nu, orders, weights), TABLE, options


def trees_for_jumps(table):
    """Boosted trees, which are asked in compiled code where rows are drawn."""
    return HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5).fit(table, jumps(table))


def of_donors(causes="levels", fit=None):
    """Exact values (r, n) of jumps, or of what is fitted to them: the sum over all donors by their weights."""
    table = pd.DataFrame(np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 60), columns=NAMES)
    background = ConditionalTable(table, n_trees=4)
    model = jumps if fit is None else fit(table)

    def predict(rows):
        return jumps(rows) if fit is None else model.predict(pd.DataFrame(rows, columns=NAMES))

    def nu(row, members):
        held = np.isin(np.arange(3), list(members))
        if held.all():
            return predict(row[None])
        rows, weights = background.weighted(np.where(held, row, np.nan)[None])
        return np.array([weights[0] @ predict(rows[0])])

    options, orders, weights = CAUSES[causes]
    return background, model, exactly(nu, orders, weights), TABLE, options


def of_copulas():
    """A sum needs the mean of each feature alone: by quadrature over its quantiles."""
    table = np.exp(np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 80) / 2)
    correlation = copulas.correlation_of(table)

    def nu(row, members):
        return np.array([copulas.means(table, correlation, row, sorted(members)) @ MEANS])

    return CopulaModel(pd.DataFrame(table, columns=NAMES)), plain_sum, exactly(nu, ORDERS), TABLE, BY_LEVELS


def of_mechanisms():
    """a normal, b = 0.6 a + skewed noise, c = a b + normal noise; b + c^2 is a polynomial, and quadrature exact."""
    z, on_z = np.polynomial.hermite_e.hermegauss(12)
    e, on_e = np.polynomial.laguerre.laggauss(12)
    on_z = on_z / on_z.sum()
    mechanisms = {
        "a": lambda causes, u: 0.3 + ndtri(u),
        "b": lambda causes, u: 0.6 * causes["a"] - np.log1p(-u) - 1.0,
        "c": lambda causes, u: 0.5 * causes["a"] * causes["b"] + 0.7 * ndtri(u),
    }

    def explained(X):
        return np.asarray(X["b"] + X["c"] ** 2, dtype=float)

    def nu(row, members):
        a = row[0] if 0 in members else 0.3 + z[:, None, None]
        b = row[1] if 1 in members else 0.6 * a + e[None, :, None] - 1.0
        c = row[2] if 2 in members else 0.5 * a * b + 0.7 * z[None, None, :]
        values = np.broadcast_to(b + c**2, (len(z), len(e), len(z)))
        return np.array([np.einsum("i,j,k,ijk", on_z, on_e, on_z, values)])

    background = StructuralModel([("a", "b"), ("a", "c"), ("b", "c")], mechanisms)
    return background, explained, exactly(nu, [(0, 1, 2)]), TABLE, {"feature_names": NAMES}


def of_confounded_levels():
    """Causal values of a product under a Gaussian whose second level shares a hidden cause, all orders."""
    levels, confounded = [[0], [1, 2]], [1]

    def product(X):
        x = np.asarray(X, dtype=float)
        return x[:, 1] * x[:, 2] + x[:, 0]

    def nu(row, members):
        fixed = {i: row[i] for i in members}
        mean = oracle.level_means(MEAN, COVARIANCE, levels, confounded, fixed)
        left = oracle.level_covariance(COVARIANCE, levels, confounded, fixed)
        return np.array([mean[1] * mean[2] + left[1, 2] + mean[0]])

    order = CausalOrder.from_levels([["a"], ["b", "c"]], confounded=confounded)
    background = GaussianModel(MEAN, COVARIANCE, NAMES)
    return background, product, exactly(nu, ORDERS), TABLE, {**BY_LEVELS, "causal_graph": order, "values": "causal"}


def of_network():
    """All orders of a network with a latent node and without rare states, which few draws would not meet."""
    problem = make_problem(21, n=5, latent=1, max_states=3)
    problem.tables = [0.6 * table + 0.4 / len(table) for table in problem.tables]
    rows = problem.labels(problem.rows(np.random.default_rng(0), 3))
    network, options = problem.network(), {"causal_graph": [], "feature_names": problem.features}
    exact = AsymmetricExplainer(black_box, network, algorithm="exact", **options)(rows).values
    return network, black_box, exact, rows, options


def of_network_behind_a_link():
    """A link asks for the value of every coalition; behind this one all values are turned round and tripled."""
    network, model, exact, rows, options = of_network()
    return network, model, -3 * exact, rows, {**options, "link": lambda p: -3.0 * p}
