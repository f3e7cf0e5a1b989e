"""Groups of features as players, against the game of groups written down."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import shap
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder
from shap_asv.orders.players import Players
from tests.oracles import group_games
from tests.oracles.tree_games import cover_value
from tests.oracles.tree_readers import from_scikit_learn
from tests.problems import make_problem, to_codes


def code_table(problem, codes):
    return pd.DataFrame(problem.labels(codes), columns=problem.features)


def coded(estimator):
    """An estimator of codes as a function of the table of labels."""
    return lambda X: estimator.predict(to_codes(X))


# --- networks -------------------------------------------------------------------------------------------------


@pytest.fixture
def asia():
    """A chain with a fork, a tree that reads the states, and its codes: x0 -> x1 -> {x2, x3}, x4 alone."""
    rng = np.random.default_rng(5)
    problem = make_problem(5, n=5, kind="dag")
    codes = problem.rows(rng, 60)
    return problem, codes, DecisionTreeRegressor(max_depth=4, random_state=0).fit(codes, rng.normal(size=60))


def test_groups_of_one_are_no_groups(asia):
    problem, codes, tree = asia
    X = code_table(problem, codes[:5])
    plain = AsymmetricExplainer(coded(tree), problem.network(), feature_names=problem.features)
    renamed = AsymmetricExplainer(
        coded(tree), problem.network(), feature_names=problem.features, groups={"first": [problem.features[0]]}
    )
    found = renamed(X)
    assert (found.values == plain(X).values).all()
    assert found.feature_names[0] == "first"
    assert renamed.plan(X).backend.name == plain.plan(X).backend.name
    np.testing.assert_array_equal(found.data, plain(X).data)


# --- tables, Gaussians, trees alone -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_trees_alone_with_several_large_groups(seed):
    """Members of several groups on one path: sets in the middle of two groups occur in no order."""
    rng = np.random.default_rng(seed)
    names = [f"x{v}" for v in range(7)]
    X = pd.DataFrame(rng.normal(size=(200, 7)), columns=names)
    tree = DecisionTreeRegressor(max_depth=7, random_state=0).fit(X, rng.normal(size=200))
    sets = [tuple(members) for members in np.split(rng.permutation(7), [3, 5])]
    sets = sorted(sets, key=min)
    groups = {f"g{min(members)}": [names[v] for v in members] for members in sets}
    every = AsymmetricExplainer(tree, groups=groups, algorithm="paths")(X[:4])
    sampled = AsymmetricExplainer(tree, groups=groups, algorithm="orders x paths", seed=0)(X[:4])
    assert (np.abs(sampled.values - every.values) <= 6 * sampled.error_std + 1e-9).all()
    weights, counts = [3, 1], {"feature_perturbation": "tree_path_dependent"}
    chains = [(list(pairwise(names)), w) for names, w in zip([list(groups), list(groups)[::-1]], weights, strict=True)]
    listed = AsymmetricExplainer(tree, groups=groups, causal_graph=chains, **counts)(X[:4])
    first, second, third = groups
    several = [[(first, second), (second, third)], [(third, first), (third, second)]]
    mean = AsymmetricExplainer(tree, groups=groups, causal_graph=several, algorithm="exact", **counts)(X[:4])
    for r, row in enumerate(X[:4].to_numpy()):

        def nu(members, row=row):
            return cover_value(from_scikit_learn(tree), row, members)[0]

        wanted = group_games.group_values(nu, sets, group_games.orders_of_groups(3, []))
        np.testing.assert_allclose(every.values[r], wanted, atol=1e-6)
        wanted = group_games.group_values(nu, sets, [(0, 1, 2), (2, 1, 0)], weights)
        np.testing.assert_allclose(listed.values[r], wanted, atol=1e-6)
        wanted = group_games.group_values(nu, sets, [(0, 1, 2), (2, 0, 1), (2, 1, 0)], [2, 1, 1])
        np.testing.assert_allclose(mean.values[r], wanted, atol=1e-6)


# --- what users see -----------------------------------------------------------------------------------------------


@pytest.fixture
def explained():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"temp": rng.normal(size=50), "hum": rng.normal(size=50), "day": rng.integers(0, 2, 50) > 0})
    explainer = AsymmetricExplainer(
        lambda table: table["temp"] + table["hum"] * table["day"],
        X,
        values="marginal",
        groups={"weather": ["temp", "hum"]},
    )
    return explainer, X


@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")  # shap's colour scale of a group
def test_shown_rows_and_plots(explained, tmp_path):
    explainer, X = explained
    explanation = explainer(X[:8])
    assert explanation.feature_names == ["weather", "day"]
    assert np.isnan(explanation.data[:, 0]).all()
    assert explanation.display_data[0, 0] == f"temp={X['temp'][0]:.4g}, hum={X['hum'][0]:.4g}"
    assert float(explanation.data[0, 1]) == X["day"][0]
    assert "2 groups of 3 features" in str(explainer.plan(X[:8]))
    import matplotlib.pyplot as plt

    for draw in (shap.plots.bar, shap.plots.beeswarm, shap.plots.violin, shap.plots.heatmap):
        draw(explanation, show=False)
        plt.close("all")
    shap.plots.waterfall(explanation[0], show=False)
    plt.close("all")
    explainer.save(tmp_path / "grouped")
    assert (AsymmetricExplainer.load(tmp_path / "grouped")(X[:8]).values == explanation.values).all()


@pytest.mark.parametrize(
    "members", [pd.DataFrame, pl.from_pandas, lambda table: table.columns, lambda table: pl.Series(list(table))]
)
def test_groups_are_lists_or_frames_of_any_library(explained, members):
    explainer, X = explained
    again = AsymmetricExplainer(explainer.model, X, values="marginal", groups={"weather": members(X[["temp", "hum"]])})
    np.testing.assert_array_equal(again(X[:3]).values, explainer(X[:3]).values)


def test_players_spread_an_order():
    players = Players(("ab", "c"), np.array([0, 1, 0]))
    spread = players.spread(CausalOrder.from_edges([("ab", "c")]), ["a", "c", "b"])
    assert set(spread.edges) == {("a", "c"), ("b", "c")}
    assert nx.is_directed_acyclic_graph(nx.DiGraph(spread.edges))
