"""Groups of features as players, against the game of groups written down."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import shap
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, GaussianModel, GraphMixture, compare
from shap_asv.errors import CausalGraphError, OrdersError, UnknownFeatureError
from shap_asv.orders.players import Players
from tests.oracles import brute_force, group_games
from tests.problems import make_problem, to_codes


def random_groups(rng, n, n_groups):
    """Features 0..n-1 in at most so many groups, by their first members."""
    owner = rng.integers(0, n_groups, n)
    groups = [tuple(np.flatnonzero(owner == g).tolist()) for g in dict.fromkeys(owner.tolist())]
    return sorted(groups, key=min)


def named(groups, features):
    """The same as a user writes it; groups of one are left out."""
    return {f"g{min(members)}": [features[v] for v in members] for members in groups if len(members) > 1}


def nu_of(problem, predict, row):
    joint, table = problem.joint(), brute_force.model_table(predict, problem.feature_cards)
    return lambda members: brute_force.conditional_expectation(joint, table, row, members)


def code_table(problem, codes):
    return pd.DataFrame(problem.labels(codes), columns=problem.features)


def coded(estimator):
    """An estimator of codes as a function of the table of labels."""
    return lambda X: estimator.predict(to_codes(X))


# --- networks -------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["dag", "forest", "polytree"]))
def test_group_values_are_those_of_the_game_of_groups(seed, kind):
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=6, latent=int(rng.integers(0, 2)), kind=kind)
    n = len(problem.features)
    groups = random_groups(rng, n, 4)
    edges = group_games.quotient_edges(groups, problem.projected_edges())
    codes = problem.rows(rng, 40)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(codes, rng.normal(size=len(codes)))
    options = {"feature_names": problem.features, "groups": named(groups, problem.features)}
    if not group_games.is_acyclic(len(groups), edges):
        with pytest.raises(CausalGraphError, match="come before each other"):
            AsymmetricExplainer(coded(tree), problem.network(), **options)
        return
    explainer = AsymmetricExplainer(coded(tree), problem.network(), **options)
    explanation = explainer(code_table(problem, codes[:2]))
    orders = group_games.orders_of_groups(len(groups), edges)
    for row, found in zip(codes[:2], explanation.values, strict=True):
        wanted = group_games.group_values(nu_of(problem, tree.predict, row), groups, orders)
        np.testing.assert_allclose(found, wanted[:, 0], atol=1e-9)
    assert explanation.feature_names == [
        f"g{min(members)}" if len(members) > 1 else problem.features[members[0]] for members in groups
    ]


@pytest.fixture
def asia():
    """A chain with a fork, a tree that reads the states, and its codes: x0 -> x1 -> {x2, x3}, x4 alone."""
    rng = np.random.default_rng(5)
    problem = make_problem(5, n=5, kind="dag")
    codes = problem.rows(rng, 60)
    return problem, codes, DecisionTreeRegressor(max_depth=4, random_state=0).fit(codes, rng.normal(size=60))


def every_backend(explainer, X):
    """Attributions by each backend that can run, by its name."""
    for candidate in explainer.plan(X).candidates:
        if candidate.obstacle is None:
            arguments = {**explainer._constructor_arguments(), "algorithm": candidate.backend.name, "seed": 0}
            yield candidate.backend, AsymmetricExplainer(**arguments)(X, error_bounds=True)


def test_every_backend_that_can_agrees(asia):
    problem, codes, _ = asia
    features = problem.features

    frame = code_table(problem, codes)
    model = make_pipeline(
        OrdinalEncoder(categories=[[f"s{i}" for i in range(c)] for c in problem.feature_cards]),
        RandomForestRegressor(n_estimators=3, max_depth=4, random_state=0),
    ).fit(frame, np.random.default_rng(0).normal(size=len(frame)))
    groups = {"both": [features[0], features[3]]}
    explainer = AsymmetricExplainer(
        model, problem.network(), CausalOrder.from_edges([], features), feature_names=features, groups=groups
    )
    order = explainer.causal_order
    assert order.features == ("both", *(features[v] for v in (1, 2, 4)))
    row = codes[0]
    nu = nu_of(problem, lambda states: model.predict(code_table(problem, states)), row)
    wanted = group_games.group_values(nu, [(0, 3), (1,), (2,), (4,)], group_games.orders_of_groups(4, []), None)[:, 0]
    names = []
    for backend, explanation in every_backend(explainer, frame[:1]):
        names.append(backend.name)
        slack = 1e-9 + 6 * np.asarray(explanation.error_std[0])
        assert (np.abs(explanation.values[0] - wanted) < slack).all(), backend.name
    assert {"ideals x terms", "orders x terms", "ideals x table", "ideals x monte_carlo"} <= set(names)
    assert not {"forest", "polytree", "ideals x closures"} & set(names)


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


def test_one_group_has_all_of_it(asia):
    problem, codes, tree = asia
    X = code_table(problem, codes[:5])
    explainer = AsymmetricExplainer(
        coded(tree), problem.network(), feature_names=problem.features, groups={"all": problem.features}
    )
    explanation = explainer(X)
    assert explanation.values.shape == (5, 1)
    np.testing.assert_allclose(explanation.values[:, 0], tree.predict(codes[:5]) - explainer.expected_value, atol=1e-9)


def test_a_graph_between_groups_and_explicit_orders(asia):
    problem, codes, tree = asia
    a, b, c, d, e = problem.features
    X = code_table(problem, codes[:2])
    groups, sets = {"first": [a, d], "second": [b, c]}, [(0, 3), (1, 2), (4,)]
    options = {"feature_names": problem.features, "groups": groups}
    second_first = CausalOrder.from_edges([("second", "first")], ["first", "second", e])
    between = AsymmetricExplainer(coded(tree), problem.network(), second_first, **options)
    listed = AsymmetricExplainer(
        coded(tree), problem.network(), orders=[["second", "first", e], [2, 1, 0]], weights=[3, 1], **options
    )
    mixed = AsymmetricExplainer(
        coded(tree), problem.network(), [(second_first, 3), ([("first", "second"), (e, "first")], 1)], **options
    )
    assert isinstance(mixed.causal_order, GraphMixture)
    for i, row in enumerate(codes[:2]):
        nu = nu_of(problem, tree.predict, row)
        one = group_games.group_values(nu, sets, group_games.orders_of_groups(3, [(1, 0)]))[:, 0]
        np.testing.assert_allclose(between(X).values[i], one, atol=1e-9)
        two = group_games.group_values(nu, sets, [(1, 0, 2), (2, 1, 0)], [3, 1])[:, 0]
        np.testing.assert_allclose(listed(X).values[i], two, atol=1e-9)
        other = group_games.group_values(nu, sets, group_games.orders_of_groups(3, [(0, 1), (2, 0)]))[:, 0]
        np.testing.assert_allclose(mixed(X).values[i], 0.75 * one + 0.25 * other, atol=1e-9)


# --- tables, Gaussians, trees alone -----------------------------------------------------------------------------


def test_linear_models_under_a_gaussian_by_the_closed_form():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(4, 4))
    covariance, beta = factor @ factor.T, rng.normal(size=4)
    names = list("abcd")
    explainer = AsymmetricExplainer(
        LinearRegression().fit(pd.DataFrame(np.eye(5, 4), columns=names), np.eye(5, 4) @ beta),
        GaussianModel(np.zeros(4), covariance, names),
        CausalOrder.from_edges([("a", "d")], names),
        groups={"ac": ["a", "c"]},
    )
    row = rng.normal(size=4)

    def nu(members):
        known = sorted(members)
        rest = [v for v in range(4) if v not in members]
        filled = row.copy()
        filled[rest] = covariance[np.ix_(rest, known)] @ np.linalg.solve(covariance[np.ix_(known, known)], row[known])
        return filled @ beta

    wanted = group_games.group_values(nu, [(0, 2), (1,), (3,)], group_games.orders_of_groups(3, [(0, 2)]))
    explanation = explainer(pd.DataFrame([row], columns=names))
    np.testing.assert_allclose(explanation.values[0], wanted, atol=1e-9)


@pytest.mark.parametrize("background", [False, True], ids=["covers", "rows"])
@pytest.mark.parametrize("edges", [[], [("a", "d"), ("b", "e")], [("ab", "f")]], ids=["none", "features", "groups"])
def test_trees_alone(background, edges):
    rng = np.random.default_rng(3)
    names = list("abcdef")
    X = pd.DataFrame(rng.normal(size=(80, 6)), columns=names)
    forest = RandomForestRegressor(n_estimators=4, max_depth=6, random_state=0).fit(X, X["a"] * X["b"] + X["d"] ** 2)
    groups, sets = {"ab": ["a", "b"], "de": ["d", "e"]}, [(0, 1), (2,), (3, 4), (5,)]
    ground = X[:7].to_numpy() if background else None
    mentioned = ["ab", "c", "de", "f"] if ("ab", "f") in edges else names
    graph = CausalOrder.from_edges(edges, mentioned)
    told = {"values": "marginal"} if background else {"feature_perturbation": "tree_path_dependent"}
    told |= {"causal_graph": graph, "groups": groups, "seed": 0}
    # named, because a few milliseconds of work are a tie that the clock decides
    explainer = AsymmetricExplainer(forest, X[:7] if background else None, algorithm="paths", **told)
    explanation = explainer(X[:3])
    between = {"a": 0, "b": 0, "c": 1, "d": 2, "e": 2, "f": 3, "ab": 0}
    pairs = [(between[u], between[v]) for u, v in edges]
    for row, found in zip(X[:3].to_numpy(), explanation.values, strict=True):

        def nu(members, row=row):
            if ground is not None:
                mixed = ground.copy()
                mixed[:, sorted(members)] = row[sorted(members)]
                return forest.predict(pd.DataFrame(mixed, columns=names)).mean()
            return np.mean([_covered(tree.tree_, 0, row, members) for tree in forest.estimators_])

        wanted = group_games.group_values(nu, sets, group_games.orders_of_groups(4, pairs))
        np.testing.assert_allclose(found, wanted, atol=1e-6)  # forests answer in float32 thresholds, sums in doubles
    sampled = AsymmetricExplainer(forest, X[:7] if background else None, algorithm="orders x paths", **told)(X[:3])
    assert (np.abs(sampled.values - explanation.values) <= 1e-9 + 6 * sampled.error_std).all()
    effects = explainer(X[:1], main_effects=True).main_effects[0]
    row = X[:1].to_numpy()[0]
    np.testing.assert_allclose(effects, [nu(frozenset(s), row) - nu(frozenset(), row) for s in sets], atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_trees_alone_with_several_large_groups(seed):
    """Members of several groups on one path: sets in the middle of two groups occur in no order."""
    rng = np.random.default_rng(seed)
    names = [f"x{v}" for v in range(7)]
    X = pd.DataFrame(rng.normal(size=(200, 7)), columns=names)
    tree = DecisionTreeRegressor(max_depth=7, random_state=0).fit(X, rng.normal(size=200))
    sets = [tuple(members) for members in np.split(rng.permutation(7), [3, 5])]
    sets = sorted(sets, key=min)
    groups = {f"g{min(members)}": [names[v] for v in members] for members in sets}
    found = AsymmetricExplainer(tree, groups=groups, algorithm="paths")(X[:4]).values
    for row, values in zip(X[:4].to_numpy(), found, strict=True):
        wanted = group_games.group_values(
            lambda members, row=row: _covered(tree.tree_, 0, row, members),
            sets,
            group_games.orders_of_groups(3, []),
        )
        np.testing.assert_allclose(values, wanted, atol=1e-6)


def _covered(tree, node, row, members):
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return tree.value[node].ravel()[0]
    if tree.feature[node] in members:
        return _covered(
            tree, left if np.float32(row[tree.feature[node]]) <= tree.threshold[node] else right, row, members
        )
    share = tree.weighted_n_node_samples
    both = [(_covered(tree, child, row, members), share[child] / share[node]) for child in (left, right)]
    return sum(value * weight for value, weight in both)


def test_donors_and_a_fit_to_a_table_take_groups():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    X["b"] += X["a"]

    def model(table):
        return table["a"] * 2 + table["b"] * table["c"]

    options = {"groups": {"ac": ["a", "c"]}, "seed": 0, "n_draws": 200}
    donors = AsymmetricExplainer(model, ConditionalTable(X), [("ac", "b")], **options)
    fitted = AsymmetricExplainer(model, X, [("ac", "b")], values="conditional", **options)
    for explainer in (donors, fitted):
        explanation = explainer(X[:3], silent=True)
        assert explanation.feature_names == ["ac", "b"]
        np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, model(X[:3]), atol=1e-9)


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


def test_compare_and_symmetric(explained):
    _, X = explained
    comparison = compare(
        lambda table: table["temp"] + table["hum"] * table["day"],
        GaussianModel.fit(X.astype(float)),
        X[:4].astype(float),
        causal_graph=[("day", "weather")],
        groups={"weather": ["temp", "hum"]},
    )
    assert comparison.explanations["SHAP"].feature_names == ["weather", "day"]


def test_sampled_orders_have_an_error_for_each_group(explained):
    explainer, X = explained
    arguments = {**explainer._constructor_arguments(), "algorithm": "sampling", "seed": 0}
    explanation = AsymmetricExplainer(**arguments)(X[:3])
    assert explanation.error_std.shape == explanation.values.shape == (3, 2)
    assert (np.abs(explanation.values - explainer(X[:3]).values) < 1e-9 + 6 * explanation.error_std).all()


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (["temp"], CausalGraphError, "groups= takes a dict"),
        ({"weather": "temp"}, CausalGraphError, "'weather' is 'temp', not a list"),
        ({"weather": []}, CausalGraphError, "'weather' has no members"),
        ({1: ["temp"]}, CausalGraphError, "a group called 1"),
        ({"weather": ["temp", "humm"]}, UnknownFeatureError, "'humm'.*did you mean 'hum'"),
        ({"weather": ["temp"], "air": ["hum", "temp"]}, CausalGraphError, "'temp' is in groups 'weather' and 'air'"),
        ({"weather": ["temp", "temp"]}, CausalGraphError, "'temp' is in group 'weather' twice"),
        ({"day": ["temp", "hum"]}, CausalGraphError, "'day', which is the name of a feature"),
    ],
)
def test_bad_groups(explained, groups, error, message):
    explainer, _ = explained
    with pytest.raises(error, match=message):
        AsymmetricExplainer(**{**explainer._constructor_arguments(), "groups": groups})


def test_bad_graphs_and_orders_of_groups(explained):
    explainer, X = explained
    arguments = explainer._constructor_arguments()
    with pytest.raises(CausalGraphError, match="the group 'weather' and the feature 'temp'"):
        AsymmetricExplainer(**{**arguments, "causal_graph": [("weather", "temp")]})
    with pytest.raises(CausalGraphError, match=r"'weather' -> 'day' -> 'weather'.*'temp' -> 'day', 'day' -> 'hum'"):
        AsymmetricExplainer(**{**arguments, "causal_graph": [("temp", "day"), ("day", "hum")]})
    with pytest.raises(UnknownFeatureError, match="'temp'"):
        AsymmetricExplainer(**{**arguments, "orders": [["temp", "hum", "day"]]})
    with pytest.raises(OrdersError, match="each of the 2 features once"):
        AsymmetricExplainer(**{**arguments, "orders": [["day"]]})
    with pytest.raises(CausalGraphError, match="'temp' -> 'day', 'day' -> 'hum'"):
        AsymmetricExplainer(**arguments).sensitivity(X[:2], [[("temp", "day"), ("day", "hum")]])


def test_players_spread_an_order():
    players = Players(("ab", "c"), np.array([0, 1, 0]))
    spread = players.spread(CausalOrder.from_edges([("ab", "c")]), ["a", "c", "b"])
    assert set(spread.edges) == {("a", "c"), ("b", "c")}
    assert nx.is_directed_acyclic_graph(nx.DiGraph(spread.edges))
