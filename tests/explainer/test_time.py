"""What a forecast rested on, against closed forms and simulation that import nothing of ours."""

import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel, StructuralModel, lagged, plots
from shap_asv.errors import TimeError
from shap_asv.times import Times
from tests.oracles.autoregressions import precedence, window_of_process
from tests.oracles.brute_force import over_orders, topological_orders
from tests.oracles.gaussians import conditional


def window(rng, n_variables, n_lags):
    """Names of features, their moments, and mean and covariance of a window of an autoregressive process."""
    moments, mean, covariance = window_of_process(rng, n_variables, n_lags)
    return [f"{variable}(t{time})" for variable, time in moments], moments, mean, covariance


def linear(weights, constant):
    model = LinearRegression()
    model.coef_, model.intercept_, model.n_features_in_ = weights, constant, len(weights)
    return model


@pytest.mark.parametrize("order", ["past first", "recent first"])
@pytest.mark.parametrize(("n_variables", "n_lags"), [(1, 6), (3, 4)])
def test_linear_forecasts_of_autoregressive_processes(order, n_variables, n_lags):
    rng = np.random.default_rng([n_variables, n_lags])
    names, moments, mean, covariance = window(rng, n_variables, n_lags)
    weights, row = rng.normal(size=len(names)), rng.normal(size=len(names)) * 3
    model = linear(weights, 0.5)
    explainer = AsymmetricExplainer(model, GaussianModel(mean, covariance, names), CausalOrder.from_time(names, order))
    orders = topological_orders(len(names), precedence(moments, order))
    expected = over_orders(lambda S: weights @ conditional(mean, covariance, row, sorted(S))[0], orders)
    explanation = explainer(pd.DataFrame([row], columns=names))
    assert explanation.error_std is None  # exact
    np.testing.assert_allclose(explanation.values[0], expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_past_first_telescopes_to_updates_of_the_conditional_mean():
    """A chain of times: one variable, and times as groups of several."""
    rng = np.random.default_rng(5)
    names, _, mean, covariance = window(rng, 2, 5)
    weights, row = rng.normal(size=10), rng.normal(size=10)
    model = linear(weights, -2.0)
    times = Times.read(names)
    forecast = [weights @ conditional(mean, covariance, row, list(range(2 * known)))[0] - 2.0 for known in range(6)]
    X, background = pd.DataFrame([row], columns=names), GaussianModel(mean, covariance, names)
    whole = AsymmetricExplainer(model, background, CausalOrder.from_time(times))(X)
    grouped = AsymmetricExplainer(model, background, CausalOrder.from_time(times), groups=times.groups("time"))(X)
    assert grouped.feature_names == ["t-5", "t-4", "t-3", "t-2", "t-1"]
    for found in (grouped, times.summed(whole)):
        walked = np.concatenate([found.base_values, found.base_values + np.cumsum(found.values[0])])
        np.testing.assert_allclose(walked, forecast, rtol=0, atol=1e-9)
    (ax,) = plots.forecast(whole, show=False)
    assert [label.get_text().split(",")[0] for label in ax.get_yticklabels()] == grouped.feature_names


def nonlinear(n, rng, start=None):
    """``n`` steps of two variables: rain, and temp that follows rain at once; from the state ``start`` on."""
    noise, found = rng.normal(size=(n, 2)), np.zeros((n, 2))
    rain, temp = start if start is not None else (0.0, 0.0)
    for t in range(n):
        rain = np.tanh(rain) + 0.7 * noise[t, 0]
        temp = 0.6 * temp + np.sin(2 * rain) + 0.3 * noise[t, 1]
        found[t] = rain, temp
    return found


def test_nonlinear_processes_against_simulation():
    """Known mechanisms, a model with jumps; nu by simulation of everything, S kept, under the user's own orders."""
    from scipy.special import ndtri

    n_lags, rng = 4, np.random.default_rng(2)
    names = [f"{v}(t-{lag})" for lag in range(n_lags, 0, -1) for v in ("rain", "temp")]
    times = Times.read(names)

    def rain(causes, u):
        return np.tanh(next(iter(causes.values()), 0.0)) + 0.7 * ndtri(u)

    def temp(causes, u):
        now = next(value for name, value in causes.items() if name.startswith("rain"))
        past = [value for name, value in causes.items() if name.startswith("temp")]
        return 0.6 * (past[0] if past else 0.0) + np.sin(2 * now) + 0.3 * ndtri(u)

    edges = [(f"{v}(t-{lag + 1})", f"{v}(t-{lag})") for lag in range(1, n_lags) for v in ("rain", "temp")]
    edges += [(f"rain(t-{lag})", f"temp(t-{lag})") for lag in range(1, n_lags + 1)]
    given = {name: rain if name.startswith("rain") else temp for name in names}
    background = StructuralModel(edges, given)

    def model(X):
        x = np.asarray(X[names] if hasattr(X, "columns") else X, dtype=float)
        return (x[:, -1] > 0.3) * 2.0 + x[:, -3] * x[:, -2] + (x[:, 0] > 0)

    row = nonlinear(n_lags, rng).ravel()

    def nu(k):
        """Given the first k of the features, in time and rain before temp: 200,000 simulations of the rest."""
        m, u = 200_000, np.random.default_rng(k).normal(size=(2 * n_lags, 200_000))
        x = np.tile(row[:, None], m)
        for j in range(k, 2 * n_lags):
            if j % 2 == 0:
                x[j] = np.tanh(x[j - 2] if j > 1 else 0.0) + 0.7 * u[j]
            else:
                x[j] = 0.6 * (x[j - 2] if j > 1 else 0.0) + np.sin(2 * x[j - 1]) + 0.3 * u[j]
        answers = model(x.T)
        return answers.mean(), answers.std() / np.sqrt(m)

    known = [nu(k) for k in range(2 * n_lags + 1)]
    expected = np.diff([mean for mean, _ in known])
    doubt = np.hypot([e for _, e in known[1:]], [e for _, e in known[:-1]])
    order = CausalOrder.from_time(times, graph=[("rain", "temp")])
    found = AsymmetricExplainer(model, background, order, feature_names=names, n_draws=2048, seed=0)(
        pd.DataFrame([row], columns=names)
    )
    off = np.abs(found.values[0] - expected) / np.hypot(found.error_std[0], doubt)
    assert off.max() < 5
    assert np.abs(found.values[0]).max() > 10 * found.error_std.max()


@pytest.fixture(scope="module")
def forecast():
    """A fitted background of shared mechanisms, a model of two horizons, and its windows."""
    series = pd.DataFrame(nonlinear(400, np.random.default_rng(0)), columns=["rain", "temp"])
    windows = lagged(series, "temp", 3, horizon=[1, 2])
    model = LinearRegression().fit(windows.X, windows.y)
    background = StructuralModel.fit(
        windows.X, windows.graph([("rain", "temp")]), seed=0, silent=True, shared=windows.times
    )
    return windows, model, background


def test_several_horizons_add_up(forecast):
    windows, model, background = forecast
    order = windows.order(graph=[("rain", "temp")])
    explainer = AsymmetricExplainer(model.predict, background, order, seed=0, n_draws=64)
    found = explainer(windows.X[:4])
    assert found.values.shape == (4, 6, 2)
    for by in ("time", "variable"):
        summed = windows.times.summed(found, by)
        assert summed.values.shape == (4, 3 if by == "time" else 2, 2)
        total = summed.base_values + summed.values.sum(axis=1)
        np.testing.assert_allclose(total, model.predict(windows.X[:4]), rtol=0, atol=1e-9)
        one = windows.times.summed(found[..., 0][1], by)
        np.testing.assert_allclose(one.values, summed.values[1, :, 0])


def test_importance_by_time(forecast):
    windows, model, background = forecast
    explain = {"seed": 0, "n_draws": 32}
    y = windows.y.iloc[:30, 0].to_numpy()
    explainer = AsymmetricExplainer(
        lambda X: model.predict(X)[:, 0], background, windows.order(), groups=windows.groups("time"), **explain
    )
    found = explainer.importance(windows.X[:30], y, silent=True)
    assert found.feature_names == ["t-3", "t-2", "t-1"]
    miss = np.mean((model.predict(windows.X[:30])[:, 0] - y) ** 2)
    np.testing.assert_allclose(found.base_values + found.values.sum(), -miss, rtol=0, atol=1e-9)
    ax = plots.by_lag(found, row=0, show=False)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), found.values)


def test_past_first_beside_recent_first_and_marginal(forecast):
    windows, model, _ = forecast
    names = list(windows.X)
    gaussian = GaussianModel.fit(windows.X)
    explainer = AsymmetricExplainer(
        lambda X: np.asarray(model.predict(X))[:, 0], gaussian, windows.order(), feature_names=names, seed=0, n_draws=64
    )
    recent = windows.order("recent first")
    result = explainer.compare(windows.X[:2], {"past first": "ASV", "recent first": recent, "symmetric": "SHAP"})
    assert list(result.explanations) == ["past first", "recent first", "symmetric"]
    alone = AsymmetricExplainer(explainer.model, gaussian, recent, feature_names=names, seed=0, n_draws=64)
    np.testing.assert_allclose(
        result.explanations["recent first"].values, alone(windows.X[:2]).values, rtol=0, atol=1e-9
    )
    ax = plots.by_lag(result, row=1, show=False)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(result.explanations)


def test_recent_first_of_a_structural_model_is_over_one_that_conditions_on_any_set(forecast):
    windows, model, background = forecast
    explainer = AsymmetricExplainer(
        lambda X: np.asarray(model.predict(X))[:, 0],
        background,
        windows.order(graph=[("rain", "temp")]),
        feature_names=list(windows.X),
        seed=0,
        n_draws=64,
        silent=True,
    )
    methods = {"past first": "ASV", "recent first": windows.order("recent first")}
    result = explainer.compare(windows.X[:2], methods, silent=True)
    assert "fitted to" in result.backgrounds["recent first"]
    assert "structural" in result.backgrounds["past first"]
    total = [e.base_values + e.values.sum(axis=1) for e in result.explanations.values()]
    np.testing.assert_allclose(*total, rtol=0, atol=1e-9)


def test_bootstrap_shares_mechanisms_again(forecast):
    windows, model, background = forecast
    explainer = AsymmetricExplainer(
        lambda X: np.asarray(model.predict(X))[:, 0], background, feature_names=list(windows.X), seed=0, n_draws=32
    )
    spread = explainer.bootstrap(windows.X[:2], n=3, data=windows.X, silent=True)
    assert spread.replicas.shape == (3, 2, 6)
    assert (spread.standard_error > 0).all()


def test_sums_and_their_errors():
    names = ["b(t-1)", "age", "a(t-2)", "b(t-2)", "a(t-1)"]
    values, errors = np.array([[1.0, 2, 4, 8, 16]]), np.array([[0.1, 0.2, 0.4, 0.8, 1.6]])
    explanation = shap.Explanation(values, np.zeros(1), feature_names=names, error_std=errors)
    times = Times.read(names)
    by_time, by_variable = times.summed(explanation), times.summed(explanation, "variable")
    assert by_time.feature_names == ["static", "t-2", "t-1"]
    assert by_time.values.tolist() == [[2, 12, 17]]
    assert by_variable.feature_names == ["b", "age", "a"]
    assert by_variable.values.tolist() == [[9, 2, 20]]
    np.testing.assert_allclose(by_variable.error_std, [[0.9, 0.2, 2.0]])
    with pytest.raises(TimeError, match="by='lag' is unknown"):
        times.summed(explanation, "lag")
    with pytest.raises(TimeError, match=r"the time of 'c\(t-1\)' is not known"):
        times.summed(shap.Explanation(values[:, :1], np.zeros(1), feature_names=["c(t-1)"]))
    ax = plots.lag_heatmap(explanation, row=0, show=False)
    nan = np.nan
    cells = np.array([[nan, 8, 1], [2, nan, nan], [nan, 4, 16]])
    np.testing.assert_array_equal(np.ma.filled(ax.images[0].get_array(), nan), cells)
