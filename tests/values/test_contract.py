"""What is promised of every value method, under each kind of background that has what it needs.

The pairs come from the declarations: ``needs`` against the capabilities of the kinds, and a model of the form that the
method ``reads``.
"""

from dataclasses import replace

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, planning
from shap_asv.backends.coalitionwise import coalitionwise_backend
from shap_asv.backends.registry import BACKENDS
from shap_asv.backends.workload import IDEALS, SAMPLED_ORDERS
from shap_asv.errors import BudgetExceededError
from shap_asv.models.predictor import BLACK_BOX
from shap_asv.values.contract import ValueOptions, Workload
from shap_asv.values.registry import VALUE_METHODS
from tests.declared import (
    BACKEND_PAIRS,
    BACKGROUNDS,
    FEATURES,
    PAIRS,
    any_form,
    backends_under,
    coalitions_of,
    example_background,
    example_problem,
    example_table,
    methods_under,
    model_for,
    pair_name,
    possible_rows,
)

MISSING = [(kind, method) for kind in BACKGROUNDS for method in VALUE_METHODS if (kind, method) not in PAIRS]
SAMPLED = [(kind, method) for kind, method in PAIRS if not method.exact]
OPTIONS = ValueOptions(n_draws=2000, seed=0)
#: Standard errors; seeded, and a false alarm of one in ten thousand for a few hundred values.
FAR = 5.0


@pytest.fixture
def problem(pair):
    kind, method = pair
    return example_problem(kind, method.reads)


@pytest.fixture
def values(pair, problem):
    return pair[1].build(problem.background, problem.predictor, OPTIONS)


@pytest.fixture
def coalitions(problem):
    return coalitions_of(problem.background)


@pytest.fixture
def rows(problem):
    return possible_rows(problem.background, 5)


def unseen(problem, *methods):
    """How far a few of the draws can move a mean: spread draws may all miss a jump by the same share, and no group of
    them differs from another.
    """
    if all(method.exact for method in methods):
        return 1e-9
    background = problem.background
    nothing = np.full((1, len(background.features)), background.free)
    uniforms = np.random.default_rng(0).random((200, background.n_uniforms))
    outputs = problem.predictor.predict(background.draws(nothing, uniforms)[0])
    return 1e-9 + 3 * np.ptp(outputs, axis=0).max() / OPTIONS.n_draws


def estimate(values, coalitions, rows):
    """Values and their standard errors (r, m, k), which are 0 where the values are exact."""
    found = values.values(coalitions, rows)
    if not hasattr(values, "groups"):
        return found, np.zeros_like(found)
    groups = values.groups(coalitions, rows)
    # the spread of few groups is a rough estimate, which the values know of
    return found, getattr(values, "widening", 1.0) * groups.std(axis=0, ddof=1) / np.sqrt(len(groups))


# --- what runs, and why the rest does not ----------------------------------------------------------------------------


def test_the_table_has_names_of_its_own():
    names = [method.name for method in VALUE_METHODS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("pair", PAIRS, ids=pair_name)
def test_what_is_declared_runs(pair, problem):
    kind, method = pair
    assert method.obstacle(problem.background, problem.predictor) is None
    running = {(k.name, backend.samples_orders) for k, backend in BACKEND_PAIRS if backend.method is method}
    assert {(kind.name, False), (kind.name, method.exact)} <= running


@pytest.mark.parametrize("pair", MISSING, ids=pair_name)
def test_the_obstacle_names_what_is_missing(pair):
    kind, method = pair
    background = example_background(kind)
    sentence = method.obstacle(background, example_problem(kind, any_form(kind)).predictor)
    assert sentence == f"needs a background with {method.needs.what}"
    backends = [backend for backend in BACKENDS if backend.method is method]
    assert backends
    model = model_for(any_form(kind), kind)
    plan = AsymmetricExplainer(model, kind.example(), feature_names=list(FEATURES)).plan()
    shown = {candidate.name: candidate.obstacle for candidate in plan.candidates}
    assert {shown[backend.name] for backend in backends} == {sentence}


@pytest.mark.parametrize(
    "pair", [(kind, method) for kind, method in PAIRS if method.reads is not BLACK_BOX], ids=pair_name
)
def test_the_obstacle_names_what_the_model_is_not(pair):
    kind, method = pair
    problem = example_problem(kind, BLACK_BOX)
    assert "black_box is a callable" in method.obstacle(problem.background, problem.predictor)


@pytest.mark.parametrize("kind", BACKGROUNDS, ids=lambda kind: kind.name)
def test_some_method_takes_any_model(kind):
    """A background under which a black box cannot be explained at all is of little use."""
    if any_form(kind) is BLACK_BOX:
        assert any(method.reads is BLACK_BOX for method in methods_under(kind))
    else:  # the model is the background
        assert backends_under(kind)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", PAIRS, ids=pair_name)
def test_shapes_and_the_two_ends(pair, problem, values, coalitions, rows):
    before = rows.copy()
    found = values.values(coalitions, rows)
    assert found.shape == (len(rows), len(coalitions), problem.predictor.n_outputs)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, -1], problem.predictor.predict(rows), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[:, 0], np.broadcast_to(found[0, 0], found[:, 0].shape), rtol=0, atol=1e-12)
    assert np.ptp(found, axis=0)[1:].max() > 1e-3, "the row does not matter"
    assert np.ptp(found, axis=1).max() > 1e-3, "the coalition does not matter"
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize("pair", PAIRS, ids=pair_name)
def test_batches_do_not_matter(pair, problem, coalitions, rows):
    """Fewer rows per call than there are draws or background rows of one value, too."""
    options = replace(OPTIONS, n_draws=50)
    whole = pair[1].build(problem.background, problem.predictor, options).values(coalitions, rows)
    small = pair[1].build(problem.background, problem.predictor, replace(options, batch_size=7))
    by_row = np.concatenate([small.values(coalitions, rows[r : r + 1]) for r in range(len(rows))])
    np.testing.assert_allclose(by_row, whole, rtol=0, atol=1e-11)
    halves = [small.values(part, rows[::-1]) for part in (coalitions[:3], coalitions[3:])]
    np.testing.assert_allclose(np.concatenate(halves, axis=1)[::-1], whole, rtol=0, atol=1e-11)


@pytest.mark.parametrize("pair", PAIRS, ids=pair_name)
def test_methods_agree(pair, problem, values, coalitions, rows):
    """Whatever else can treat the same model under the same background gives the same numbers."""
    kind, method = pair
    found, error = estimate(values, coalitions, rows)
    others = [
        other
        for other in methods_under(kind)
        if other is not method and other.obstacle(problem.background, problem.predictor) is None
    ]
    for other in others:
        # not the same numbers behind the draws
        built = other.build(problem.background, problem.predictor, replace(OPTIONS, seed=1))
        theirs, their_error = estimate(built, coalitions, rows)
        assert (np.abs(found - theirs) <= FAR * np.hypot(error, their_error) + unseen(problem, method, other)).all(), (
            other.name
        )


@pytest.mark.parametrize("pair", SAMPLED, ids=pair_name)
def test_sampled_values_know_their_seed_and_their_error(pair, problem, values, coalitions, rows):
    method = pair[1]
    again, other = (
        method.build(problem.background, problem.predictor, replace(OPTIONS, seed=seed)) for seed in (OPTIONS.seed, 1)
    )
    found, error = estimate(values, coalitions, rows)
    np.testing.assert_array_equal(found, again.values(coalitions, rows))
    theirs, their_error = estimate(other, coalitions, rows)
    assert not np.array_equal(found, theirs)
    assert (np.abs(found - theirs) <= FAR * np.hypot(error, their_error) + 1e-9).all()
    assert error[:, :-1].max() > 0
    assert error[:, -1].max() <= 1e-12, "nothing is random where everything is held"
    groups = values.groups(coalitions, rows)
    assert len(groups) == values.n_groups > 1
    np.testing.assert_allclose(groups.mean(axis=0), found, rtol=0, atol=1e-12)
    larger = method.build(problem.background, problem.predictor, replace(OPTIONS, n_draws=9 * OPTIONS.n_draws))
    if method.grows_with == "n_draws":
        assert estimate(larger, coalitions, rows)[1][:, :-1].mean() < error[:, :-1].mean() / 2


@pytest.mark.parametrize("pair", PAIRS, ids=pair_name)
def test_costs_grow_with_the_work(pair, problem):
    def cost(**work):
        work = Workload(**{"n_rows": 10, "n_coalitions": 10, "n_features": 3, "n_draws": 100, **work})
        return pair[1].cost(problem.background, problem.predictor, work)

    def seconds(found):
        return found.seconds + 2e-5 * found.asked + 1e-3 * found.calls

    small = cost()
    assert 0 < seconds(small) < seconds(cost(n_rows=1000, n_coalitions=1000))
    assert seconds(small) <= seconds(cost(n_rows=1000))
    assert 0 < small.memory <= cost(n_rows=1000).memory
    assert small.memory <= cost(n_coalitions=1000).memory
    if not pair[1].exact:
        assert 100 <= small.draws < cost(n_draws=1000).draws
        assert small.asked < cost(n_draws=1000).asked
        assert small.memory < cost(n_draws=100_000).memory


# --- names mean nothing ----------------------------------------------------------------------------------------------


#: One kind of background for each sampled method.
METHODS = tuple({method.name: (kind, method) for kind, method in reversed(SAMPLED)}.values())


def renamed(pair, coalitions, monkeypatch, **changes):
    """An explainer of the pair through a backend whose method nobody knows by its name."""
    kind, method = pair
    backend = coalitionwise_backend(replace(method, name="renamed", **changes), coalitions)
    monkeypatch.setattr(planning, "BACKENDS", (*BACKENDS, backend))
    options = {"feature_names": list(FEATURES), "n_draws": 20, "n_orders": 20, "seed": 0}
    return AsymmetricExplainer(model_for(method.reads, kind), kind.example(), algorithm=backend.name, **options)


@pytest.mark.parametrize("pair", METHODS, ids=pair_name)
@pytest.mark.parametrize("coalitions", [IDEALS, SAMPLED_ORDERS], ids=["ideals", "orders"])
def test_a_method_of_another_name_meets_a_tolerance(pair, coalitions, monkeypatch):
    """The sample of a method that was not called as expected never grew, and the call never ended."""
    explainer, table = renamed(pair, coalitions, monkeypatch), example_table(pair[0], 2)
    first = explainer(table, silent=True).error_std.max()
    found = explainer(table, silent=True, tolerance=first / 2)
    assert 0 < found.error_std.max() <= first / 2


@pytest.mark.parametrize("pair", METHODS, ids=pair_name)
def test_a_sample_that_cannot_grow_ends_in_an_error(pair, monkeypatch):
    explainer, table = renamed(pair, IDEALS, monkeypatch, grows_with=None), example_table(pair[0], 2)
    first = explainer(table, silent=True).error_std.max()
    with pytest.raises(BudgetExceededError, match="ideals x renamed has no sample that could grow"):
        explainer(table, silent=True, tolerance=first / 2)
