"""Values of weighted tables: sums over donors, written out."""

import numpy as np
import pandas as pd

from shap_asv import AsymmetricExplainer, ConditionalTable
from shap_asv.models.predictor import read_plain_model
from shap_asv.values.contract import ValueOptions
from shap_asv.values.monte_carlo import MonteCarlo
from shap_asv.values.weighted import WeightedValues

COALITIONS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]], dtype=bool)


def table(n=60):
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    b = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * a)), "yes", "no")
    return pd.DataFrame({"a": a, "b": b, "c": a + (b == "yes") + 0.3 * rng.normal(size=n)})


def jumps(frame):
    return (frame["c"] > 0.4).to_numpy() * (1.0 + 2.0 * (frame["b"] == "yes").to_numpy()) + frame["a"].to_numpy() ** 2


def predictor_of(background, data):
    return read_plain_model(jumps, probe=background.read(data[:2]), inputs=background.inputs)


def test_donors_are_what_very_many_draws_tend_to():
    data = table(200)
    background = ConditionalTable(data, seed=3)
    rows = background.read(data[:3])
    exact = WeightedValues(background, predictor_of(background, data), ValueOptions()).values(COALITIONS, rows)
    # evenly spaced numbers miss the inverse of a distribution function by one draw for each of the donors at most
    levels = (np.arange(40_000) + 0.5)[:, None] / 40_000
    for k, members in enumerate(COALITIONS[:-1]):
        draws = background.draws(np.where(members, rows, np.nan), levels)
        means = [jumps(background.inputs(drawn)).mean() for drawn in draws]
        np.testing.assert_allclose(exact[:, k, 0], means, atol=200 * 10 / 40_000)
    np.testing.assert_allclose(exact[:, -1, 0], jumps(data[:3]), rtol=1e-12)
    np.testing.assert_allclose(exact[:, 0, 0], jumps(data).mean(), rtol=1e-12)  # no evidence: the table itself
    sampled, error = MonteCarlo(background, predictor_of(background, data), ValueOptions(4096, 0)).estimate(
        COALITIONS, rows
    )
    assert (np.abs(sampled - exact) <= 5 * error + 1e-12).all()


def test_auto_sums_up_donors_where_that_is_cheap():
    data = table()
    graph = [("a", "b"), ("a", "c")]
    explainer = AsymmetricExplainer(jumps, ConditionalTable(data), graph, seed=0)
    explanation = explainer(data[:5], silent=True)
    assert explainer.plan(5).chosen.name == "ideals x weighted"
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), jumps(data[:5]), atol=1e-12)
    assert np.ptp(explanation.base_values) == 0
    many = AsymmetricExplainer(jumps, ConditionalTable(table(3000)), graph, seed=0, n_draws=64, budget=1e-3)
    assert many.plan(5000).chosen.name == "monte_carlo"
