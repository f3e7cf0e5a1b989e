"""Tables, long paths, samples and borders of trees alone; models of all libraries are in test_trees_alone.py."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
import shap
from sklearn import ensemble, tree

from shap_asv import AsymmetricExplainer
from shap_asv.backends.trees import attributor, cost
from shap_asv.backends.trees.attributor import prepare_trees
from shap_asv.backends.trees.cost import largest_walk, path_lengths, tree_cost
from shap_asv.errors import BudgetExceededError, MethodNotApplicableError, ModelError, OrdersError, RowsError
from shap_asv.models.trees.form import read_ensemble
from shap_asv.orders import CausalOrder
from shap_asv.orders.restricted import FOREST as FOREST_KIND
from shap_asv.orders.restricted import LATTICE, LEVELS, ORDERS

RNG = np.random.default_rng(0)
N = 7
X = RNG.normal(size=(240, N))  # no ties: shap and scikit-learn round differently at thresholds
SIGNAL = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3] * (X[:, 4] > 0) + 0.3 * X[:, 5]
ROWS, GROUND = X[:40], X[100:160]
SMALL = {"n_estimators": 8, "random_state": 0}


@pytest.fixture(scope="module")
def parsed():
    return read_ensemble(ensemble.RandomForestRegressor(max_depth=6, **SMALL).fit(X[:, :5], SIGNAL))


FOREST = CausalOrder.from_edges([(0, 1), (0, 2), (3, 4)], features=range(5))


@pytest.mark.parametrize("background", [None, GROUND[:, :5]], ids=["covers", "rows"])
@pytest.mark.parametrize("bits", [8, 3], ids=["tables", "long paths"])
def test_a_rows_bits_do_not_depend_on_its_company(parsed, background, bits, monkeypatch):
    monkeypatch.setattr(cost, "WIDE_TABLE_BITS", bits)
    monkeypatch.setattr(cost, "TABLE_BITS", bits)
    for order in (None, FOREST):
        made = prepare_trees(parsed, order, background)
        whole = made.attribute(X[:, :5]).phi
        monkeypatch.setattr(attributor, "ROW_BLOCK", 64)
        cut = pickle.loads(pickle.dumps(made)).attribute(X[:, :5]).phi
        assert (cut == whole).all()
        alone = np.concatenate([made.attribute(row[None, :5]).phi for row in X[:20]])
        assert (alone == whole[:20]).all()


def test_tables_that_are_not_kept_are_the_same(parsed, monkeypatch):
    kept = prepare_trees(parsed, FOREST)
    first = kept.attribute(X[:, :5]).phi
    assert kept._kept
    monkeypatch.setattr(attributor, "KEPT_BYTES", 0)
    monkeypatch.setattr("shap_asv.backends.trees.attributor.CHUNK", 200)
    fresh = prepare_trees(parsed, FOREST)
    assert (fresh.attribute(X[:, :5]).phi == first).all()
    assert not fresh._kept


def test_few_steps_at_a_time_are_the_same(parsed, monkeypatch):
    expected = prepare_trees(parsed, FOREST).attribute(X[:30, :5]).phi
    monkeypatch.setattr("shap_asv.orders.restricted.MOST_STEPS", 90)
    assert (prepare_trees(parsed, FOREST).attribute(X[:30, :5]).phi == expected).all()
    monkeypatch.setattr("shap_asv.orders.restricted.MOST_STEPS", 3)
    with pytest.raises(BudgetExceededError, match="sampled orders do without"):
        prepare_trees(parsed, FOREST).attribute(X[:30, :5])


@pytest.mark.parametrize("background", [None, GROUND[:, :5]], ids=["covers", "rows"])
def test_sampled_orders_know_their_error(parsed, background):
    exact = prepare_trees(parsed, FOREST, background).attribute(ROWS[:, :5])
    orders = FOREST.sample_topological_orders(2000, seed=3)
    made = prepare_trees(parsed, background=background, orders=orders, sampled=True)
    found = made.attribute(ROWS[:, :5])
    assert found.error is not None
    assert (found.error > 0).any()
    assert (np.abs(found.phi - exact.phi) <= 5 * found.error + 1e-12).all()
    # the error is neither far too large nor far too small: squared z-scores have mean 1
    sampled = found.error > 1e-12
    scores = ((found.phi - exact.phi)[sampled] / found.error[sampled]) ** 2
    assert 0.2 < scores.mean() < 5
    np.testing.assert_allclose(found.phi.sum(axis=1), exact.phi.sum(axis=1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.base, exact.base, rtol=0, atol=0)
    listed = prepare_trees(parsed, background=background, orders=orders).attribute(ROWS[:, :5])
    assert listed.error is None
    np.testing.assert_allclose(listed.phi, found.phi, rtol=0, atol=1e-12)


def test_rows_of_another_width_are_refused(parsed):
    with pytest.raises(RowsError, match="5 columns"):
        prepare_trees(parsed).attribute(X)
    with pytest.raises(RowsError, match="5 columns"):
        prepare_trees(parsed, background=X)
    with pytest.raises(RowsError, match="no background rows"):
        prepare_trees(parsed, background=np.zeros((0, 5)))


def test_missing_values_for_a_model_that_takes_none():
    rows = ROWS.copy()
    rows[3, 2] = np.nan
    refusing = read_ensemble(ensemble.GradientBoostingRegressor(**SMALL).fit(X, SIGNAL))
    with pytest.raises(RowsError, match="row 3 has a missing value in column 2"):
        prepare_trees(refusing).attribute(rows)
    with pytest.raises(RowsError, match="background rows: row 3"):
        prepare_trees(refusing, background=rows)
    model = ensemble.RandomForestRegressor(**SMALL).fit(rows, SIGNAL[: len(rows)])
    found = prepare_trees(read_ensemble(model)).attribute(rows)
    np.testing.assert_allclose(found.base + found.phi.sum(axis=1)[:, 0], model.predict(rows), atol=1e-12)


def test_orders_of_another_width_are_refused(parsed):
    with pytest.raises(OrdersError, match="has 3 features, the model has 5 columns"):
        prepare_trees(parsed, CausalOrder.from_levels([range(3)]))
    with pytest.raises(OrdersError, match="orders, 5"):
        prepare_trees(parsed, orders=np.array([[0, 1, 2]]))
    with pytest.raises(OrdersError, match="at least two"):
        prepare_trees(parsed, orders=np.array([[0, 1, 2, 3, 4]]), sampled=True)


def test_trees_without_covers_need_background_rows(parsed):
    bare = dataclasses.replace(parsed, cover=np.zeros_like(parsed.cover))
    with pytest.raises(ModelError, match=r"tree 0 of the model holds no cover counts.*give background rows"):
        prepare_trees(bare)
    expected = prepare_trees(parsed, FOREST, GROUND[:, :5]).attribute(ROWS[:, :5]).phi
    assert (prepare_trees(bare, FOREST, GROUND[:, :5]).attribute(ROWS[:, :5]).phi == expected).all()


def test_costs_are_of_the_right_size(parsed):
    """Seconds cannot be asserted on a busy machine; that they grow with the work can."""
    few = tree_cost(parsed, LEVELS, 100)
    assert tree_cost(parsed, LEVELS, 10_000).seconds > few.seconds
    assert tree_cost(parsed, FOREST_KIND, 100).seconds > few.seconds
    assert tree_cost(parsed, LATTICE, 100, n_ideals=10**6).seconds > 2 * few.seconds
    sampled = tree_cost(parsed, ORDERS, 10**6, n_orders=1000, n_groups=25)
    assert sampled.seconds > 5 * tree_cost(parsed, ORDERS, 10**6, n_orders=1000).seconds
    assert tree_cost(parsed, LEVELS, 100, 10**6).memory > few.memory + 10**7
    lengths = path_lengths(parsed)
    leaves = prepare_trees(parsed, background=GROUND[:, :5]).leaves
    assert lengths.leaves.tolist() == np.bincount(np.diff(leaves.start)).tolist()
    sets = {tuple(leaves.feature[a:b]) for a, b in itertools.pairwise(leaves.start)}
    assert lengths.sets.sum() == len(sets)


# --- deep trees -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep():
    """Two trees of depth 30 over 40 features, grown at random: paths with up to 20 different features."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(1500, 40))
    made = ensemble.ExtraTreesRegressor(2, max_depth=30, max_features=1, random_state=0)
    return made.fit(rows, rows.sum(axis=1)), rows


@pytest.mark.parametrize("background", [0, 20], ids=["covers", "rows"])
def test_depth_thirty(deep, background):
    model, rows = deep
    assert max(one.tree_.max_depth for one in model.estimators_) >= 20
    parsed = read_ensemble(model)
    assert len(path_lengths(parsed).leaves) - 1 > cost.WIDE_TABLE_BITS
    ground = rows[-background:] if background else None
    expected = shap.TreeExplainer(model, ground).shap_values(rows[:5], check_additivity=False)
    found = prepare_trees(parsed, background=ground).attribute(rows[:5])
    np.testing.assert_allclose(found.phi[..., 0], expected, rtol=0, atol=1e-9 if ground is None else 1e-4)
    levels = CausalOrder.from_levels([range(20), range(20, 40)])
    chain = CausalOrder.from_edges([(v, v + 1) for v in range(39)], features=range(40))
    for order in (levels, chain):
        found = prepare_trees(parsed, order, ground).attribute(rows[:5])
        total = found.base + found.phi.sum(axis=1)[:, 0]
        np.testing.assert_allclose(total, model.predict(rows[:5]), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::shap_asv.errors.CausalGraphWarning")
def test_a_causal_forest_with_too_many_ideals_is_sampled_and_the_plan_says_so(deep):
    model, rows = deep
    explainer = AsymmetricExplainer(model, None, [(0, 1), (0, 2)], seed=0, n_orders=3)
    plan = explainer.plan(3)
    assert plan.backend.name == "orders x paths"
    assert "under this causal forest, the limit is 131,072; levels have a closed form" in plan.table()
    found = explainer(rows[:3])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(rows[:3]), rtol=0, atol=1e-9)


def test_ideals_of_a_path_with_its_causes_are_counted(parsed):
    leaves = prepare_trees(parsed, FOREST).leaves
    order, counts = FOREST, []
    for a, b in itertools.pairwise(leaves.start):
        closure = set(leaves.feature[a:b].tolist())
        for v in reversed(order.topological_indices):
            closure |= set(order.parents[v]) if v in closure else set()
        subsets = itertools.product([0, 1], repeat=5)
        inside = [{v for v in range(5) if bits[v]} for bits in subsets]
        ideals = [s for s in inside if s <= closure and all(set(order.parents[v]) <= s for v in s)]
        counts.append((len(ideals), len(closure)))
    found = largest_walk(parsed, order)
    assert found == (max(c for c, _ in counts), max(size for _, size in counts))


def test_paths_with_more_features_than_bits_name_a_way_out():
    n = 60
    rows = np.eye(n + 1, n)  # one split after the other takes a row off
    model = tree.DecisionTreeRegressor(random_state=0).fit(rows, np.arange(n + 1.0))
    with pytest.raises(MethodNotApplicableError, match=r"60 different features, at most 57.*, or pass background"):
        AsymmetricExplainer(model)(rows[:2])
    with pytest.raises(BudgetExceededError, match="60 different features, at most 57"):
        prepare_trees(read_ensemble(model))
