"""What an attack found: each case gave a wrong value, a crash or a broken promise once."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import MethodNotApplicableError
from tests.independent import IndependentColumns


def coins(n, latent_states=0):
    """Fair coins, all of them effects of one latent node if it has states."""
    coin = np.array([0.5, 0.5])
    names = tuple(f"x{i}" for i in range(n))
    if not latent_states:
        return DiscreteNetwork(names, ((0, 1),) * n, ((),) * n, (coin,) * n), list(names)
    table = np.linspace(0.2, 0.8, latent_states)
    cause = np.full(latent_states, 1 / latent_states)
    tables = (cause, *([np.stack([table, 1 - table])] * n))
    states = (tuple(range(latent_states)), *((0, 1),) * n)
    return DiscreteNetwork(("cause", *names), states, ((), *((0,),) * n), tables), list(names)


def total(rows):
    return np.asarray(rows, dtype=float).sum(axis=1)


def test_a_latent_node_that_cannot_be_summed_out_is_known_to_the_plan():
    network, names = coins(20, latent_states=40)
    explainer = AsymmetricExplainer(total, network, feature_names=names, n_orders=3, n_draws=2, seed=0)
    plan = explainer.plan(1)
    obstacles = {c.name: c.obstacle for c in plan.candidates}
    assert "summing the latent nodes out takes a table of 4.19e+07 entries" in obstacles["ideals x table"]


def test_positions_in_a_set_of_edges():
    table = np.random.default_rng(0).normal(size=(5, 2))
    explainer = AsymmetricExplainer(total, table, causal_graph={(0, 1)}, values="marginal")
    assert explainer.causal_order.edges == (("Feature 0", "Feature 1"),)


def test_one_row_needs_the_memory_of_one_process():
    network, names = coins(4)
    plans = [
        AsymmetricExplainer(total, network, feature_names=names, n_jobs=n_jobs).plan(1).memory for n_jobs in (1, 32)
    ]
    assert plans[0] == plans[1]


def test_an_output_taken_twice_is_there_twice():
    network, names = coins(2)
    explainer = AsymmetricExplainer(total, network, feature_names=names)
    row = np.array([[0, 1]])
    assert explainer(row, outputs=[0]).values.shape == (1, 2)
    assert explainer(row, outputs=[0, 0]).values.shape == (1, 2, 2)


def test_a_plan_for_more_states_than_doubles_can_count():
    network, names = coins(1100)
    options = {"algorithm": "sampling", "n_draws": 8}
    plan = AsymmetricExplainer(total, network, feature_names=names, **options).plan(1)
    obstacles = {c.name: c.obstacle for c in plan.candidates}
    assert "1e+331 joint states" in obstacles["orders x table"]


def test_the_expected_value_asks_the_model_no_more_than_the_call_does():
    """A table of all states was made for the expected value, thrown away, and made again for the rows."""
    names = [f"x{v}" for v in range(6)]
    coins = DiscreteNetwork(tuple(names), ((0, 1),) * 6, ((),) * 6, (np.array([0.4, 0.6]),) * 6)
    for algorithm in ("ideals x table",):
        asked = []

        def model(X, asked=asked):
            asked.append(len(X))
            return np.asarray(X, dtype=float).prod(axis=1)

        explainer = AsymmetricExplainer(model, coins, algorithm=algorithm, feature_names=names)
        explainer.plan(2)  # which times the model
        del asked[:]
        expected = explainer.expected_value
        rows = np.zeros((2, 6), dtype=int)
        explanation = explainer(rows)
        assert expected == pytest.approx(0.6**6)
        np.testing.assert_allclose(explanation.base_values, expected)
        assert sum(asked) == 2**6


def many_states(n_states):
    """A root of so many states, and a coin that knows which half of them it is in."""
    shares = np.linspace(1.0, 2.0, n_states)
    shares /= shares.sum()
    coin = np.where(np.arange(n_states) < n_states // 2, 0.2, 0.7)
    tables = (shares, np.stack([1 - coin, coin]))
    network = DiscreteNetwork(("x0", "x1"), (tuple(range(n_states)), (0, 1)), ((), (0,)), tables)
    return network, shares, coin


def test_seventy_thousand_states_of_a_linear_model():
    """Evidence was cast to 16 bits: state 65535 became -1, which stands for a free feature, and nobody noticed."""
    network, shares, coin = many_states(70_000)
    X = pd.DataFrame({"x0": [0, 69_999, 35_000, 1], "x1": [0, 1, 1, 0]})
    model = LinearRegression().fit(X, 0.001 * X["x0"] + 2.0 * X["x1"])
    rows = pd.DataFrame({"x0": [65_535, 32_767, 32_768, 69_999, 5], "x1": [1, 0, 1, 0, 1]})
    explainer = AsymmetricExplainer(model, network, algorithm="ideals x linear")
    explanation = explainer(rows)
    base = shares @ (0.001 * np.arange(70_000) + 2.0 * coin)
    given_root = 0.001 * rows["x0"] + 2.0 * coin[rows["x0"]]
    everything = 0.001 * rows["x0"] + 2.0 * rows["x1"]
    np.testing.assert_allclose(explanation.base_values, base, rtol=0, atol=1e-9)
    np.testing.assert_allclose(explanation.values[:, 0], given_root - base, rtol=0, atol=1e-9)
    np.testing.assert_allclose(explanation.values[:, 1], everything - given_root, rtol=0, atol=1e-9)


def test_forty_thousand_states_by_monte_carlo():
    """Codes past 32767 raised nonsense about negative codes."""
    network, shares, coin = many_states(40_000)

    def model(X):
        table = np.asarray(X, dtype=float)
        return np.sqrt(table[:, 0]) + 3.0 * table[:, 1]

    rows = pd.DataFrame({"x0": [39_999, 32_768, 7], "x1": [0, 1, 1]})
    explainer = AsymmetricExplainer(
        model, network, feature_names=["x0", "x1"], algorithm="monte_carlo", n_draws=2000, seed=0
    )
    explanation = explainer(rows, silent=True)
    given_root = np.sqrt(rows["x0"]) + 3.0 * coin[rows["x0"]]
    base = shares @ (np.sqrt(np.arange(40_000)) + 3.0 * coin)
    expected = np.stack([given_root - base, np.sqrt(rows["x0"]) + 3.0 * rows["x1"] - given_root], axis=1)
    assert (np.abs(explanation.values - expected) <= 5 * explanation.error_std + 1e-9).all()
    assert explanation.error_std.max() < 2.0


def peak_of(action):
    """Bytes that were held at most during the action, as Python and numpy count them."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "n_draws", "call"),
    [("network", 50_000, {}), ("columns", 20_000, {"batch_size": 600_000}), ("network", 40_000, {"batch_size": 5000})],
    ids=["draws", "batches", "small batches"],
)
def test_planned_memory_of_draws(kind, n_draws, call):
    """3.5 MiB were planned where 52 were taken: neither draws nor batches were looked at."""
    network, names = coins(5)
    given = network if kind == "network" else IndependentColumns(pd.DataFrame(np.eye(5), columns=names))
    options = {"feature_names": names, "n_draws": n_draws, "algorithm": "monte_carlo", "seed": 0}
    explainer = AsymmetricExplainer(total, given, **options)
    rows = pd.DataFrame([[0, 1, 0, 1, 1]], columns=names)
    AsymmetricExplainer(total, given, **{**options, "n_draws": 2})(rows, silent=True)  # what is loaded once
    problem = explainer._known_execution().problem
    settings = explainer._settings(problem, batch_size=call.get("batch_size", "auto"))
    planned = explainer._known_execution().plan(settings, 1).memory
    taken = peak_of(lambda: explainer(rows, silent=True, **call))
    assert taken / 2 <= planned, f"planned {planned / 2**20:.1f} MiB, taken {taken / 2**20:.1f}"
    assert planned <= 8 * taken + 2**23, f"planned {planned / 2**20:.1f} MiB, taken {taken / 2**20:.1f}"


@pytest.mark.parametrize(("n_rows", "batch_size"), [(2000, "auto"), (60_000, 1_000_000)])
def test_planned_memory_of_background_rows(n_rows, batch_size):
    matrix = np.random.default_rng(0).normal(size=(n_rows, 4))
    explainer = AsymmetricExplainer(total, shap.maskers.Independent(matrix, max_samples=n_rows))
    explainer(matrix[:1])
    problem = explainer._known_execution().problem
    planned = explainer._known_execution().plan(explainer._settings(problem, batch_size=batch_size), 1)
    taken = peak_of(lambda: explainer(matrix[:1], batch_size=batch_size, silent=True))
    memory = planned.memory
    assert taken / 2 <= memory <= 8 * taken + 2**23, f"planned {memory / 2**20:.1f} MiB, taken {taken / 2**20:.1f}"


def test_batches_that_do_not_fit_are_refused():
    """``batch_size=20_000_000`` went past ``memory_limit``."""
    network, names = coins(6)
    options = {"feature_names": names, "algorithm": "monte_carlo", "n_draws": 10**6, "memory_limit": 2**28}
    explainer = AsymmetricExplainer(total, network, **options)
    with pytest.raises(MethodNotApplicableError, match=r"needs .* MiB, the limit is 256 MiB: raise memory_limit="):
        explainer(np.zeros((1, 6), dtype=int), batch_size=20_000_000)
    matrix = np.zeros((1000, 15))
    explainer = AsymmetricExplainer(total, matrix, algorithm="ideals x marginal", memory_limit=2**28)
    with pytest.raises(MethodNotApplicableError, match=r"needs .* GiB, the limit is 256 MiB: raise memory_limit="):
        explainer(matrix[:1], batch_size=20_000_000)
