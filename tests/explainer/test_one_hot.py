"""Groups of dummies over fitted tables: one category, against the conditional means counted by hand."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from shap_asv import AsymmetricExplainer, CausalOrder
from shap_asv.errors import RowsError

SEASONS = ["spring", "summer", "winter"]


def seasons(n=1200, seed=0, base=False, dtype=int):
    """A table of seasons as dummies, a number that follows them, and one that follows that."""
    rng = np.random.default_rng(seed)
    season = rng.choice(4 if base else 3, size=n)
    table = pd.DataFrame({name: (season == k).astype(dtype) for k, name in enumerate(SEASONS)})
    table.insert(1, "temp", 5.0 * (season == 1) + rng.normal(size=n))
    table["rain"] = 0.5 * table["temp"] + rng.normal(size=n)
    return table


class Watched:
    """A model that remembers the dummies it was shown."""

    def __init__(self):
        self.forget()

    def forget(self):
        """To time a model, a plan asks it about columns that were shuffled, and does not look at the answers."""
        self.worst, self.least = 0, 1

    def __call__(self, X):
        ones = X[SEASONS].astype(float).sum(axis=1)
        self.worst, self.least = max(self.worst, ones.max()), min(self.least, ones.min())
        return X["temp"] * (1 + X["summer"].astype(float)) + 2.0 * X["winter"].astype(float) + X["rain"]


GROUPS = {"season": SEASONS}
LEVELS = CausalOrder.from_levels([["season"], ["temp", "rain"]])
GRAPHS = {
    "levels": LEVELS,
    "levels of members": CausalOrder.from_levels([SEASONS, ["temp", "rain"]]),
    "DAG of groups": [("season", "temp"), ("temp", "rain")],
    "DAG of members": [*((name, "temp") for name in SEASONS), ("temp", "rain")],
    "no graph": None,
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize(("dtype", "base"), [(int, False), (bool, True)])
@pytest.mark.parametrize("values", ["conditional", "causal"])
def test_the_model_never_sees_impossible_dummies(graph, dtype, base, values):
    if values == "causal" and graph is GRAPHS["no graph"]:
        pytest.skip("without a graph nobody says what interventions do")
    table, model = seasons(300, base=base, dtype=dtype), Watched()
    explainer = AsymmetricExplainer(
        model, table, graph, groups=GROUPS, values=values, seed=0, n_draws=64, algorithm="sampling", silent=True
    )
    explainer.plan(table.iloc[:4])
    model.forget()
    explanation = explainer(table.iloc[:4])
    assert model.worst == 1
    assert model.least == (0 if base else 1)
    assert explanation.feature_names == ["season", "temp", "rain"]
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model(table.iloc[:4]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("graph", [None, LEVELS], ids=["no graph", "levels"])
def test_values_are_those_of_the_table(graph):
    """Two columns, season and a label: conditional means are counted in the table, orders written down."""
    rng = np.random.default_rng(3)
    season = rng.choice(3, size=4000, p=[0.5, 0.3, 0.2])
    wet = rng.random(4000) < np.array([0.8, 0.5, 0.1])[season]
    table = pd.DataFrame({name: (season == k).astype(float) for k, name in enumerate(SEASONS)})
    table["wet"] = np.where(wet, "yes", "no")
    graph = None if graph is None else CausalOrder.from_levels([["season"], ["wet"]])

    def answers(X):
        return (X["wet"] == "yes") * (1.0 + 3 * X["winter"]) + X["summer"]

    explainer = AsymmetricExplainer(
        answers, table, graph, groups=GROUPS, values="conditional", seed=0, n_draws=8192, silent=True
    )
    rows = table.iloc[:6]
    explanation = explainer(rows)
    outputs = answers(table).to_numpy()
    for r, (_, row) in enumerate(rows.iterrows()):
        same = {"season": (table[SEASONS] == row[SEASONS]).all(axis=1), "wet": table["wet"] == row["wet"]}
        expected = dict.fromkeys(same, 0.0)
        orders = [("season", "wet")] if graph is not None else list(permutations(same))
        for order in orders:
            known, before = np.ones(len(table), dtype=bool), outputs.mean()
            for name in order:
                known &= same[name]
                expected[name] += (outputs[known].mean() - before) / len(orders)
                before = outputs[known].mean()
        np.testing.assert_allclose(explanation.values[r], list(expected.values()), rtol=0, atol=0.05)


def test_a_row_with_impossible_dummies_is_named():
    table = seasons(200)
    explainer = AsymmetricExplainer(Watched(), table, LEVELS, groups=GROUPS, seed=0, silent=True)
    rows = table.iloc[:3].copy()
    rows.loc[rows.index[1], SEASONS] = [1, 1, 0]
    with pytest.raises(RowsError, match="row 1 has spring=1, summer=1, winter=0; the group 'season' is drawn as one"):
        explainer(rows)
    rows.loc[rows.index[1], SEASONS] = [0, 0, 0]
    with pytest.raises(RowsError, match="exactly one of its members is 1 in every row of the table"):
        explainer(rows)


def test_it_is_said_once_at_the_fit(capsys):
    AsymmetricExplainer(Watched(), seasons(200), LEVELS, groups=GROUPS, seed=0)
    said = capsys.readouterr().err
    assert said.count("one-hot groups are drawn as one category: season (1 in exactly one of its columns)") == 1


@pytest.mark.parametrize("graph", ["levels", "DAG of groups"])
def test_questions(graph):
    """Other methods, other graphs and fits again keep the categories."""
    table = seasons(300)
    options = {"groups": GROUPS, "seed": 0, "n_draws": 32, "silent": True}
    explainer = AsymmetricExplainer(Watched(), table, GRAPHS[graph], values="conditional", **options)
    X = table.iloc[:3]
    methods = ["conditional SHAP", "ASV", "causal ASV"]
    assert list(explainer.compare(X, methods, silent=True).explanations) == methods
    assert explainer.sensitivity(X, silent=True).feature_names == ("season", "temp", "rain")
    replicas = explainer.bootstrap(X, n=2, silent=True)
    assert replicas.explanation.feature_names == ["season", "temp", "rain"]
    stand_in = explainer._any_set_background(explainer._known_execution().problem, True)
    background = explainer._known_execution().problem.background if stand_in is None else stand_in.background
    drawn = background.draws(np.full((1, 5), np.nan), np.random.default_rng(0).random((500, background.n_uniforms)))
    ones = drawn[0][:, [background.features.index(name) for name in SEASONS]].sum(axis=1)
    assert set(ones) == {1}


def test_columns_of_which_several_may_be_1_are_columns():
    table = seasons(200)
    table.loc[3, SEASONS] = [1, 1, 0]
    explainer = AsymmetricExplainer(Watched(), table, LEVELS, groups=GROUPS, seed=0, n_draws=64, silent=True)
    explainer(table.iloc[2:5])
    assert "one-hot" not in repr(explainer)


@pytest.mark.parametrize("graph", ["levels", "DAG of groups"])
def test_effects_add_up_to_causal_values(graph):
    table = seasons(300)
    options = {"groups": GROUPS, "values": "causal", "seed": 0, "n_draws": 4096, "silent": True}
    explainer = AsymmetricExplainer(Watched(), table, GRAPHS[graph], **options)
    direct, indirect = explainer.effects(table.iloc[:2])
    whole = explainer(table.iloc[:2])
    far = 5 * np.sqrt(direct.error_std**2 + indirect.error_std**2 + whole.error_std**2) + 1e-9
    assert (np.abs(direct.values + indirect.values - whole.values) < far).all()
    assert np.abs(indirect.values[:, 0]).min() > 0.1  # the season works through temperature
    if graph == "DAG of groups":  # rain has no effects
        assert (np.abs(indirect.values[:, 2]) < 5 * indirect.error_std[:, 2] + 1e-9).all()
