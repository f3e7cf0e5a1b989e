"""Every backend under every kind of background that has what it needs, through the public interface.

The pairs come from the tables: a row there is enough.
"""

from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest

from shap_asv import AsymmetricExplainer
from shap_asv.backends.registry import BACKENDS
from shap_asv.explainer import blocks
from tests.declared import (
    BACKEND_PAIRS,
    BACKGROUNDS,
    FEATURES,
    PAIRS,
    example_background,
    example_table,
    explainer_for,
    form_of,
    model_for,
    pair_name,
)

of_pairs = pytest.mark.parametrize("pair", BACKEND_PAIRS, ids=pair_name)
FAR = 5.0


def assert_same_bits(one, other):
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.base_values, other.base_values)
    assert (one.error_std is None) == (other.error_std is None)
    if one.error_std is not None:
        np.testing.assert_array_equal(one.error_std, other.error_std)


def test_every_backend_runs_somewhere():
    possible = {method.name for _, method in PAIRS}
    expected = {backend.name for backend in BACKENDS if backend.method is None or backend.method.name in possible}
    assert {backend.name for _, backend in BACKEND_PAIRS} == expected


@of_pairs
def test_values_add_up_to_the_prediction(pair):
    kind, backend = pair
    table = example_table(kind, 6)
    explainer = explainer_for(*pair)
    assert explainer.plan(table).backend is backend
    explanation = explainer(table, silent=True)
    model = model_for(form_of(backend), kind)
    predicted = np.asarray(getattr(model, "predict", model)(table))
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, predicted, rtol=0, atol=1e-9)
    assert (explanation.error_std is None) == backend.exact
    np.testing.assert_allclose(
        np.broadcast_to(explainer.expected_value, explanation.base_values.shape), explanation.base_values, atol=1e-9
    )


@of_pairs
def test_rows_of_every_form(pair):
    kind, _ = pair
    table = example_table(kind, 3)
    explainer = explainer_for(*pair)
    expected = explainer(table, silent=True)
    assert explainer.plan(table).backend is pair[1]
    for rows in (table[["x2", "x0", "x1"]], table.to_dict("records"), table.to_dict("list")):
        assert_same_bits(explainer(rows, silent=True), expected)
    assert_same_bits(explainer(table.to_numpy(dtype=object), silent=True), expected)
    row = table.astype(object).iloc[1]
    for one in (row, row.to_dict(), list(row)):
        np.testing.assert_allclose(explainer.shap_values(one, silent=True), expected.values[1], rtol=0, atol=1e-12)


@of_pairs
def test_rows_come_back_in_their_order(pair):
    kind, _ = pair
    table = example_table(kind, 5)
    explainer = explainer_for(*pair)
    twice = pd.concat([table, table[::-1]], ignore_index=True)
    values = explainer(twice, silent=True).values
    np.testing.assert_array_equal(values[:5], values[:4:-1])
    np.testing.assert_allclose(values[:5], explainer(table, silent=True).values, rtol=0, atol=1e-12)


@of_pairs
def test_the_number_of_jobs_does_not_show(pair, monkeypatch):
    """Threads stand for processes here; real ones in ``python -m tests.reliability.reproducible``."""
    kind, _ = pair
    table = example_table(kind, 12)
    monkeypatch.setattr(blocks, "SMALLEST_BLOCK", 2)
    expected = explainer_for(*pair)(table, silent=True)
    with joblib.parallel_config(backend="threading"):
        assert_same_bits(explainer_for(*pair, n_jobs=2)(table, silent=True), expected)


@of_pairs
def test_seeds_decide_what_is_sampled_and_nothing_else(pair):
    kind, backend = pair
    table = example_table(kind, 4)
    one, again, other = (explainer_for(*pair, seed=seed, n_orders=7)(table, silent=True) for seed in (0, 0, 1))
    assert_same_bits(one, again)
    if backend.samples_orders and not backend.samples_values and one.error_std.max() <= 1e-12:
        # the one order of a chain, or values that no order changes
        np.testing.assert_allclose(one.values, other.values, rtol=0, atol=1e-12)
    else:
        assert np.array_equal(one.values, other.values) == backend.exact


@pytest.mark.parametrize("kind", BACKGROUNDS, ids=lambda kind: kind.name)
def test_backends_agree(kind):
    """Exact ones to the last digits, sampled ones within their errors, for each form of model."""
    table = example_table(kind, 4)
    options = {"feature_names": list(FEATURES), "n_orders": 400, "n_draws": 2000, "seed": 0}
    for form in {form_of(backend) for k, backend in BACKEND_PAIRS if k is kind}:
        explain = partial(AsymmetricExplainer, model_for(form, kind), kind.example(), **options)
        able = [candidate.name for candidate in explain().plan(table).candidates if candidate.runnable]
        seeds = (0,) if len(able) > 1 else (0, 1)  # where there is one way, it agrees with other draws
        calls = [explain(algorithm=name, seed=seed) for name in able for seed in seeds]
        explanations = [call(table, silent=True, error_bounds=True) for call in calls]
        found = [(explanation.values, explanation.error_std) for explanation in explanations]
        for values, error in found[1:]:
            distance = np.abs(values - found[0][0])
            assert (distance <= FAR * np.hypot(error, found[0][1]) + 1e-9).all()


@pytest.mark.parametrize("kind", BACKGROUNDS, ids=lambda kind: kind.name)
def test_the_plan_says_what_the_background_is(kind):
    backend = next(backend for k, backend in BACKEND_PAIRS if k is kind)
    plan = str(explainer_for(kind, backend).plan())
    assert example_background(kind).describe() in plan
