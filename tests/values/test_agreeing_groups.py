"""Groups of draws that agree by chance: the standard error knows what a group can tell at best."""

import numpy as np
import pytest
from scipy import stats

from shap_asv import AsymmetricExplainer, StructuralModel
from shap_asv.models.predictor import read_plain_model
from shap_asv.values.contract import ValueOptions
from shap_asv.values.monte_carlo import MonteCarlo

N_DRAWS, N_GROUPS, SIZE = 512, 8, 64


def coin(share):
    """One jump in one number, P(above) = 1 - share; and one more feature that tells nothing."""
    return StructuralModel(
        [("a", "b")], {"a": lambda causes, u: u, "b": lambda causes, u: u}
    ), lambda frame: 1.0 * (frame["b"].to_numpy() > share)


# the share of 1 / 64 by which all eight sets tend to miss: near 0 they always agree, near 1/2 they hardly do
@pytest.mark.parametrize("share", [0.5 + 0.1 / SIZE, 0.3, 0.4 + 0.25 / SIZE])
def test_intervals_of_one_jump_cover(share):
    model, explained = coin(share)
    row = model.sample(1, seed=0).assign(b=0.9)
    truth = np.array([0.0, share])  # nu({}) = nu({a}) = 1 - share, nu({a, b}) = 1
    inside = []
    for seed in range(80):
        explainer = AsymmetricExplainer(explained, model, n_draws=N_DRAWS, seed=seed, feature_names=["a", "b"])
        found = explainer(row, silent=True)
        inside.append(np.abs(found.values[0] - truth) <= 1.96 * found.error_std[0] + 1e-12)
    assert np.mean(inside, axis=0).min() > 0.9


def test_the_error_by_hand_where_sets_agree():
    model, explained = coin(0.5)  # every set of 64 has 32 on either side: no spread, and a fair coin's deviation
    background = model.background()
    predictor = read_plain_model(explained, probe=np.full((2, 2), 0.2), inputs=background.inputs)
    values = MonteCarlo(background, predictor, ValueOptions(N_DRAWS, seed=1))
    mean, error = values.estimate(np.array([[True, False]]), np.array([[0.2, 0.3]]))
    assert mean.item() == 0.5
    student = stats.t(N_GROUPS - 1).ppf(0.975) / 1.96
    assert error.item() == pytest.approx(student * np.sqrt(2 * (0.5 / SIZE) ** 2 / (N_GROUPS * (N_GROUPS - 1))))
    nothing, none = values.estimate(np.array([[True, True]]), np.array([[0.2, 0.3]]))
    assert (nothing.item(), none.item()) == (0.0, 0.0)
