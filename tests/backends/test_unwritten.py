"""Nothing is read before it is written: kernels in plain Python, with new memory full of what spoils every result."""

from types import FunctionType

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from shap_asv import AsymmetricExplainer
from shap_asv.backends.closures import kernels, on_demand
from tests.problems import make_problem


class Spoilt:
    """NumPy, but for ``empty``."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def empty(shape, dtype=np.float64):
        return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 1 << 30, dtype=dtype)


def in_plain_python(module, monkeypatch):
    """What the kernels of a module were compiled from, also in their place."""
    plain = {}
    names = {**vars(module), "np": Spoilt(), "count_bits": np.bitwise_count}
    for name, found in vars(module).items():
        if isinstance(found, Dispatcher) and found.py_func.__module__ == module.__name__:
            names[name] = plain[name] = FunctionType(found.py_func.__code__, names, name)
            monkeypatch.setattr(module, name, names[name])
    return plain


# several blocks of terms; fewer terms than a word has bits
@pytest.mark.parametrize(("n_trees", "least", "most"), [(9, 124, 248), (2, 1, 62)])
def test_values_on_demand(n_trees, least, most, monkeypatch):
    problem = make_problem(11, n=5, zeros=0.1)
    rng = np.random.default_rng(0)
    codes = problem.rows(rng, 200)
    forest = RandomForestRegressor(n_trees, max_depth=5, random_state=0)
    states = [[f"s{i}" for i in range(card)] for card in problem.feature_cards]
    target = rng.normal(size=200) + codes.sum(axis=1)
    model = make_pipeline(OrdinalEncoder(categories=states), forest).fit(problem.labels(codes), target)
    explainer = AsymmetricExplainer(
        model, problem.network(), algorithm="ideals x closures", feature_names=problem.features
    )
    rows = problem.labels(codes[:2])
    expected = explainer(rows, silent=True)
    assert least <= explainer._execution.problem.predictor.products.n_terms <= most
    for name, function in in_plain_python(kernels, monkeypatch).items():
        if name in vars(on_demand):
            monkeypatch.setattr(on_demand, name, function)
    monkeypatch.setattr(on_demand, "np", Spoilt())
    monkeypatch.setattr(on_demand, "_ROOM", 256)
    again = AsymmetricExplainer(model, problem.network(), algorithm="ideals x closures", feature_names=problem.features)
    with np.errstate(over="ignore"):  # hashes
        found = again(rows, silent=True)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.base_values, expected.base_values, rtol=0, atol=1e-12)
