"""How wide fitted mechanisms draw: as wide as rows that the fit has not seen, and where the causes say so."""

import numpy as np
import pandas as pd
import pytest

from shap_asv.backgrounds.structural import StructuralModel

UNIFORMS = (np.arange(400) + 0.5) / 400


def deviation_at(model, cause):
    """Standard deviation of the draws of "effect" where "cause" is held."""
    background = model.background(["cause", "effect"])
    uniforms = np.full((400, background.n_uniforms), 0.5)
    uniforms[:, 1:] = UNIFORMS[:, None]
    return background.draws(np.array([[cause, np.nan]]), uniforms)[0, :, 1].std()


def test_noise_is_what_a_fit_misses_on_rows_that_it_has_not_seen():
    """Boosted trees follow pure noise in training; on other rows they miss by all of it, and by their own."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"cause": rng.normal(size=300), "effect": rng.normal(size=300)})
    for way, least, most in (("boosting", 1.02, 1.5), ("linear", 0.85, 1.15)):
        model = StructuralModel.fit(table, [("cause", "effect")], {"effect": f"{way} + residuals"}, seed=0, silent=True)
        assert least < deviation_at(model, 0.0) < most


@pytest.mark.parametrize("way", ["linear", "smooth"])
def test_spread_that_grows_with_the_cause(way):
    rng = np.random.default_rng(1)
    cause = rng.uniform(0.2, 2.0, 1500)
    table = pd.DataFrame({"cause": cause, "effect": 3 + cause + cause * rng.normal(size=1500)})
    model = StructuralModel.fit(table, [("cause", "effect")], {"effect": way}, seed=0, silent=True)
    narrow, wide = deviation_at(model, 0.3), deviation_at(model, 1.8)
    assert narrow == pytest.approx(0.3, rel=0.35)
    assert wide == pytest.approx(1.8, rel=0.25)
