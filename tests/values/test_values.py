"""Every exact value method against the full joint, for all coalitions."""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.models import predictor as models
from shap_asv.models.predictor import BLACK_BOX, read_model
from shap_asv.values.contract import ValueOptions
from tests.declared import NETWORKS, methods_under
from tests.oracles import brute_force
from tests.problems import make_problem, to_codes

EXACT = [method for method in methods_under(NETWORKS) if method.exact]


def fitted_model(kind, problem, rng):
    """A model of codes, and the encoder that turns the labels into codes."""
    codes = np.array(list(itertools.product(*(range(c) for c in problem.feature_cards))))
    y = rng.normal(size=len(codes))
    if kind == "linear":
        model = LinearRegression().fit(codes, y)
    elif kind == "tree":
        model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(codes, rng.integers(3, size=len(codes)))
    else:
        model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(codes, y)
    encoder = {
        name: {f"s{i}": i for i in range(card)}
        for name, card in zip(problem.features, problem.feature_cards, strict=True)
    }
    return model, encoder


def black_box(table):
    codes = to_codes(table)
    return np.stack([np.sin(codes @ np.arange(1, codes.shape[1] + 1)), (codes**2).sum(axis=1)], axis=1)


def predictor_for(method, problem, background, rng):
    if method.reads is BLACK_BOX:
        return read_model(black_box, problem.features, background.states)
    kind = "linear" if method.reads is models.LINEAR else rng.choice(["tree", "forest"])
    model, encoder = fitted_model(kind, problem, rng)
    return read_model(model, problem.features, background.states, encoder=encoder)


@pytest.mark.parametrize("method", EXACT, ids=lambda m: m.name)
@pytest.mark.parametrize("seed", range(8))
def test_exact_methods_match_the_full_joint(method, seed):
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=5, latent=seed % 3, zeros=0.2 * (seed % 2))
    background = DiscreteBackground(problem.network(), problem.features)
    predictor = predictor_for(method, problem, background, rng)
    assert method.obstacle(background, predictor) is None
    values = method.build(background, predictor, ValueOptions())
    n = len(problem.features)
    coalitions = np.array(list(itertools.product([False, True], repeat=n)))
    rows = problem.rows(rng, 4)
    found = values.values(coalitions, rows)
    joint, table = problem.joint(), brute_force.model_table(predictor.predict, problem.feature_cards)
    for r, row in enumerate(rows):
        for m, members in enumerate(coalitions):
            expected = brute_force.conditional_expectation(joint, table, row, set(np.flatnonzero(members)))
            np.testing.assert_allclose(found[r, m], expected, rtol=0, atol=1e-9)
