"""How wide fitted mechanisms draw: as wide as rows that the fit has not seen, and where the causes say so."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shap_asv.backgrounds.structural import StructuralModel

UNIFORMS = (np.arange(400) + 0.5) / 400


def deviation_at(model, cause):
    """Standard deviation of the draws of "effect" where "cause" is held."""
    background = model.background(["cause", "effect"])
    uniforms = np.full((400, background.n_uniforms), 0.5)
    uniforms[:, 1:] = UNIFORMS[:, None]
    return background.draws(np.array([[cause, np.nan]]), uniforms)[0, :, 1].std()


def test_an_estimator_that_knows_its_rows_by_heart_is_not_taken_at_its_word():
    """A deep tree has no residuals in training; on rows that it has not seen it misses by its noise and its own."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"cause": rng.normal(size=300), "effect": rng.normal(size=300)})
    memory = StructuralModel.fit(
        table, [("cause", "effect")], {"effect": DecisionTreeRegressor(random_state=0)}, seed=0, silent=True
    )
    assert 1.2 < deviation_at(memory, 0.0) < 1.6  # sqrt(2): noise of the row, and of the neighbour it is predicted by
    straight = StructuralModel.fit(table, [("cause", "effect")], {"effect": LinearRegression()}, seed=0, silent=True)
    assert 0.85 < deviation_at(straight, 0.0) < 1.15


@pytest.mark.parametrize("way", ["linear", "smooth"])
def test_spread_that_grows_with_the_cause(way):
    rng = np.random.default_rng(1)
    cause = rng.uniform(0.2, 2.0, 1500)
    table = pd.DataFrame({"cause": cause, "effect": 3 + cause + cause * rng.normal(size=1500)})
    model = StructuralModel.fit(table, [("cause", "effect")], {"effect": way}, seed=0, silent=True)
    narrow, wide = deviation_at(model, 0.3), deviation_at(model, 1.8)
    assert narrow == pytest.approx(0.3, rel=0.35)
    assert wide == pytest.approx(1.8, rel=0.25)
