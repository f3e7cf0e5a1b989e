"""A real table from end to end: bike rentals with integers, numbers and a category, a forest and XGBoost."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, StructuralModel
from shap_asv.errors import UnknownStateError

TABLE = Path(__file__).resolve().parents[2] / "examples" / "data" / "bike_daily.csv"
FEATURES = ["day", "season", "workingday", "temp", "windspeed"]
CAUSES = [("day", "season"), ("season", "temp"), ("day", "temp"), ("season", "windspeed"), ("day", "workingday")]
ROWS = [10, 647, 702]


@pytest.fixture(scope="module")
def bike():
    data = pd.read_csv(TABLE)
    return data.assign(season=data["season"].astype("category"), workingday=data["workingday"].astype(bool))


class Watching:
    """A regressor over typed columns that remembers the dtypes it was called with."""

    def __init__(self, kind, data):
        self.seen = set()
        self.kind = kind
        X = data[FEATURES]
        if kind == "xgboost":
            xgboost = pytest.importorskip("xgboost")
            self.model = xgboost.XGBRegressor(n_estimators=30, max_depth=3, enable_categorical=True, n_jobs=1)
            self.model.fit(X, data["count"])
        else:
            self.model = RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(self.coded(X), data["count"])

    @staticmethod
    def coded(X):
        return X.assign(season=X["season"].cat.codes)

    def __call__(self, X):
        self.seen.add(tuple(map(str, X.dtypes)))
        return self.model.predict(X if self.kind == "xgboost" else self.coded(X))


@pytest.mark.parametrize(("kind", "causes"), [("forest", "dag"), ("xgboost", "levels")])
def test_values_add_up_to_the_models_own_prediction(bike, kind, causes):
    graph = CAUSES if causes == "dag" else CausalOrder.from_levels([["day"], ["season", "workingday"], FEATURES[3:]])
    model, X = Watching(kind, bike), bike[FEATURES]
    explainer = AsymmetricExplainer(model, X[::2], graph, values="conditional", seed=0, silent=True, n_draws=64)
    rows = X.iloc[ROWS]
    explanation = explainer(rows, silent=True)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, np.asarray(model(rows), dtype=float), rtol=0, atol=1e-6)
    assert model.seen == {tuple(map(str, X.dtypes))}
    assert isinstance(explainer.masker, StructuralModel) == (causes == "dag")
    assert explanation.display_data[0].tolist()[:3] == [10, "spring", True]
    # rentals doubled from 2011 to 2012: the day is what tells the first row from the others
    assert explanation.values[0, 0] < -500 < explanation.values[1, 0]
    with pytest.raises(UnknownStateError, match="season"):
        explainer(rows.astype({"season": object}).assign(season="monsoon"))
