"""Marginal SHAP in a comparison states what a hundred background rows, and not all of the table, leave open."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, Comparison
from shap_asv.explainer.comparing import compare_methods

ORDERS = list(permutations(range(3)))


def black_box(X):
    X = np.asarray(X, dtype=float)
    return X[:, 0] + X[:, 1] * X[:, 2]


def over_all_rows(f, table, rows, orders):
    """By definition: the mean over orders of what a feature adds, hidden ones taken from every row of the table."""
    phi = np.zeros(rows.shape)
    for row, own in zip(rows, phi, strict=True):
        for order in orders:
            masked = table.copy()
            before = f(masked).mean()
            for j in order:
                masked[:, j] = row[j]
                own[j] += (f(masked).mean() - before) / len(orders)
                before = f(masked).mean()
    return phi


@pytest.mark.parametrize("method", ["SHAP", "ASV"])
def test_errors_are_those_of_a_hundred_rows_against_all(method):
    graph, orders = ([(0, 2), (1, 2)], [o for o in ORDERS if o[2] == 2]) if method == "ASV" else (None, ORDERS)
    z, of_credit = [], []
    for seed in range(25):
        table = np.random.default_rng(seed).normal(size=(400, 3))
        explainer = AsymmetricExplainer(black_box, table, graph, values="marginal", silent=True)
        found = explainer.compare(table[:12], [method], silent=True)
        mine = found.explanations[method]
        np.testing.assert_array_equal(mine.values, explainer(table[:12], silent=True).values)
        true = over_all_rows(black_box, table, table[:12], orders)
        z.append((mine.values - true) / mine.error_std)
        credit = np.abs(mine.values).mean(axis=0) - np.abs(true).mean(axis=0)
        of_credit.append(credit / found.credit_error[method])
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.3
    assert 0.4 < np.sqrt(np.mean(np.square(of_credit))) < 1.3
    assert np.abs(of_credit).max() < 5


def test_trees_that_are_read_have_the_errors_of_trees_that_are_called():
    table = np.random.default_rng(0).normal(size=(400, 3))
    tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(table, black_box(table))
    read, called = (
        AsymmetricExplainer(model, table).compare(table[:6], ["SHAP"], silent=True) for model in (tree, tree.predict)
    )
    np.testing.assert_allclose(read.shap.error_std, called.shap.error_std, rtol=1e-9, atol=1e-12)
    assert called.shap.error_std.max() > 0.01


def test_all_rows_of_a_table_leave_nothing_open():
    table = np.random.default_rng(0).normal(size=(100, 3))
    found = AsymmetricExplainer(black_box, table).compare(table[:2], silent=True)
    assert found.shap.error_std is None
    assert found.credit_error == {}


@pytest.mark.parametrize("n_rows", [100, 300])
def test_the_time_of_errors_is_announced(n_rows):
    heard = []
    table = np.random.default_rng(0).normal(size=(n_rows, 3))
    explainer = AsymmetricExplainer(DecisionTreeRegressor().fit(table, black_box(table)), table)
    compare_methods(explainer, table[:2], ["SHAP"], {}, lambda *said: heard.append(said))
    assert [name for name, *_ in heard] == ["ASV", "SHAP"]
    for _, plan, seconds in heard:
        assert seconds == plan.seconds * (2 if n_rows > 100 else 1) > 0


def test_errors_of_outputs_and_of_sampled_orders():
    """Two outputs, one of them chosen or both: the same errors. Sampled orders add to them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 7)), columns=list("abcdefg"))

    def both(X):
        X = np.asarray(X, dtype=float)
        return np.column_stack([X[:, 0] * X[:, 1], X.sum(axis=1) + X[:, 2] * X[:, 3]])

    explainer = AsymmetricExplainer(both, table, seed=0, silent=True)
    whole = explainer.compare(table[:4], ["SHAP"], silent=True)
    one = explainer.compare(table[:4], ["SHAP"], silent=True, outputs=1)
    np.testing.assert_allclose(one.shap.error_std, whole.output(1).shap.error_std)
    np.testing.assert_allclose(one.credit_error["SHAP"], whole.output(1).credit_error["SHAP"])
    assert "300 of the table" in whole.backgrounds["SHAP"]
    few = AsymmetricExplainer(both, table, seed=0, silent=True, algorithm="sampling", n_orders=20)
    sampled = few.compare(table[:4], ["SHAP"], silent=True)
    assert (sampled.shap.error_std > 0.99 * few(table[:4]).error_std).all()
    assert (sampled.credit_error["SHAP"] >= few(table[:4]).error_std.mean(axis=0)).all()


def test_errors_of_credit_are_saved(tmp_path):
    table = np.random.default_rng(0).normal(size=(200, 3))
    found = AsymmetricExplainer(black_box, table).compare(table[:3], silent=True)
    found.save(tmp_path / "file.json")
    again = Comparison.load(tmp_path / "file.json")
    assert set(again.credit_error) == {"SHAP", "ASV"}
    np.testing.assert_array_equal(again.credit_error["ASV"], found.credit_error["ASV"])
