"""The score prefers the truth; the choice is made by it; mixtures are mixtures."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from benchmarks.levels import score_backgrounds
from shap_asv import errors
from shap_asv.backgrounds.choice.choosing import (
    CANDIDATES,
    _not_behind,
    _two_misses,
    choose_background,
    with_mechanisms,
)
from shap_asv.backgrounds.choice.mixture import MixtureModel
from shap_asv.backgrounds.choice.scoring import coalition_values
from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
from shap_asv.backgrounds.gaussian.copula import CopulaModel
from shap_asv.backgrounds.gaussian.model import GaussianModel
from tests.oracles import gaussians
from tests.oracles.level_models import KINDS, LevelModel, Marginal, Simulated, level_coalitions

nan = np.nan
COALITIONS, W = level_coalitions()
WEIGHTS = np.abs(W).sum(axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_scores_best(kind):
    world = LevelModel(kind, 5)
    data = world.frame(world.rows(300, seed=1))
    backgrounds = {"truth": Simulated(world), "marginal": Marginal(world)}
    if kind != "mixed":
        backgrounds["gaussian"] = GaussianModel.fit(data)
    losses = score_backgrounds(
        backgrounds, world.predict_frame, world.frame(world.rows(300, 2)), COALITIONS, WEIGHTS, 64
    )
    for name, factor in (("marginal", 3), ("gaussian", -2)):
        paired = losses.get(name, losses["truth"]) - losses["truth"]
        assert paired.mean() >= factor * paired.std() / len(paired) ** 0.5


def test_coalition_values_against_the_closed_form():
    rng = np.random.default_rng(0)
    mean, covariance = gaussians.random_gaussian(rng, 4)
    slopes = rng.normal(size=(4, 2)) / np.sqrt(np.diag(covariance))[:, None]
    rows = mean + np.sqrt(np.diag(covariance)) * rng.normal(size=(3, 4))
    subsets = gaussians.all_subsets(4)
    coalitions = np.array([[k in members for k in range(4)] for members in subsets])
    nu = coalition_values(GaussianModel(mean, covariance), lambda x: x @ slopes, rows, coalitions, n_draws=1024)
    assert nu.shape == (3, 16, 2)
    for r, row in enumerate(rows):
        for s, members in enumerate(subsets):
            want = gaussians.conditional(mean, covariance, row, members)[0] @ slopes
            assert np.allclose(nu[r, s], want, atol=0.01)


def test_score_by_hand():
    # X ~ N(0, I): nu(S) = x_S @ slopes_S, so the miss of coalition S is the sum of what is free
    background = GaussianModel(np.zeros(2), np.eye(2))
    rows = np.array([[1.0, 2.0], [3.0, -1.0]])
    coalitions = np.array([[True, False], [False, True]])
    losses = score_backgrounds({"it": background}, lambda x: x.sum(axis=1), rows, coalitions, [3.0, 1.0], n_draws=4096)
    assert np.allclose(losses["it"], [0.75 * 4 + 0.25 * 1, 0.75 * 1 + 0.25 * 9], atol=0.02)


def test_several_outputs_count_in_their_own_units():
    background = GaussianModel(np.zeros(2), np.eye(2))
    rows = np.random.default_rng(0).normal(size=(50, 2))
    coalitions, weights = np.array([[True, False]]), [1.0]
    small = score_backgrounds(
        {"it": background}, lambda x: np.column_stack([x[:, 1], x[:, 0]]), rows, coalitions, weights
    )
    large = score_backgrounds(
        {"it": background}, lambda x: np.column_stack([1e6 * x[:, 1], x[:, 0]]), rows, coalitions, weights
    )
    assert np.allclose(small["it"], large["it"])


# --- choosing -----------------------------------------------------------------------------------------------

HALVES = np.array([0.5, 0.5])
TWO = np.array([[True, False, False], [True, True, False]])


def linear_table(n_rows, rng):
    return rng.multivariate_normal(np.zeros(3), [[1, 0.6, 0.3], [0.6, 1, 0.5], [0.3, 0.5, 1]], n_rows)


def interaction(x):
    x = np.asarray(x)
    return (x[:, 0] > 0) * x[:, 2] + x[:, 1]


def test_gaussian_rows_need_nothing_more_than_a_gaussian():
    data = linear_table(600, np.random.default_rng(0))
    choice = choose_background(data, interaction, TWO, HALVES, seed=1)
    assert isinstance(choice.background, GaussianModel)
    assert choice.shares == {"gaussian": 1.0}
    assert set(choice.losses) == set(CANDIDATES)
    assert "background: Gaussian, 3 features; what is known of a row explains" in choice.sentence()


def test_only_what_is_clearly_behind_goes_no_further():
    rng = np.random.default_rng(0)
    best = rng.exponential(size=64)
    losses = np.stack([best, best + rng.normal(0.05, 0.5, 64), best + rng.normal(1.0, 0.5, 64)])
    assert losses.mean(axis=1).argmin() == 0
    assert _not_behind(losses, None) == [0, 1]


def test_the_noise_of_draws_is_not_part_of_a_loss():
    """Of M = x + y with x known the miss is y - 0, whatever a few draws of y are: their product has the mean y^2."""
    background = GaussianModel([0.0, 0.0], np.eye(2), ["x", "y"])
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 2)), columns=["x", "y"])
    misses = [
        _two_misses(background, lambda X: np.asarray(X["x"] + X["y"]), table, np.array([[True, False]]), 2, seed)
        for seed in range(400)
    ]
    products = np.prod(misses, axis=1).reshape(400, -1).mean(axis=1)
    assert abs(products.mean() - (table["y"] ** 2).mean()) < 5 * products.std() / np.sqrt(400)


def test_curved_rows_need_donors():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 600)
    data = np.column_stack([x, x**2 + 0.2 * rng.normal(size=600), np.sin(3 * x) + 0.2 * rng.normal(size=600)])
    choice = choose_background(data, interaction, TWO, HALVES, seed=1)
    assert choice.shares["donors"] > 0.8
    again = choose_background(data, interaction, TWO, HALVES, seed=1)
    assert all(np.array_equal(each, again.losses[name]) for name, each in choice.losses.items())
    assert choice.shares == again.shares


def test_categories_leave_donors_and_few_rows_leave_no_choice():
    table = pd.DataFrame({"sex": ["f", "m"] * 30, "age": np.arange(60.0)})
    coalitions = np.array([[True, False]])
    choice = choose_background(table, lambda frame: frame["age"].to_numpy(), coalitions, [1.0])
    assert isinstance(choice.background, ConditionalTable)
    assert not choice.losses
    few = choose_background(linear_table(10, np.random.default_rng(0)), interaction, TWO, HALVES)
    assert isinstance(few.background, ConditionalTable)


def rare_table(labels):
    """Two levels: a label and a number, then a number; some gaps."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=len(labels))
    late = np.where(np.arange(len(labels)) == 3, np.nan, x + rng.normal(size=len(labels)))
    return pd.DataFrame({"label": labels, "x": x, "late": late})


def test_rows_that_only_they_can_explain_are_not_scored():
    """A label, or a gap, that one row alone has: wherever the split falls, it cannot be both learned and scored."""
    table = rare_table([f"rare {k}" if k < 20 else "ab"[k % 2] for k in range(120)])
    coalitions = np.array([[True, False, False], [True, True, False]])
    candidates = with_mechanisms(nx.DiGraph([("label", "late"), ("x", "late")]), "levels")
    for seed in range(3):
        choice = choose_background(
            table, lambda frame: frame["x"].to_numpy(), coalitions, HALVES, seed, candidates, n_draws=8
        )
        assert all(10 <= len(each) < 40 for each in choice.losses.values())
        assert len(choice.background.read(table)) == 120  # and all rows are known in the end


def test_a_column_of_names_leaves_nothing_to_score():
    table = rare_table([f"name {k}" for k in range(60)])
    candidates = with_mechanisms(nx.DiGraph([("label", "late"), ("x", "late")]), "levels")
    choice = choose_background(
        table, lambda frame: frame["x"].to_numpy(), np.eye(3, dtype=bool)[:1], [1.0], 0, candidates, n_draws=8
    )
    assert not choice.losses
    assert isinstance(choice.background, ConditionalTable)


def test_a_value_that_one_row_has_is_scored_but_not_believed_elsewhere():
    """Constant but for one row, which the split holds out at one seed or another; a third value is refused later."""
    data = linear_table(90, np.random.default_rng(0))
    data[:, 1] = 0.0
    coalitions = np.array([[False, True, False], [True, True, False]])
    for seed in range(4):
        table = data.copy()
        table[7, 1] = 1.0
        choose_background(table, interaction, coalitions, HALVES, seed, n_draws=8)
    choice = choose_background(
        data, interaction, coalitions, HALVES, candidates=dict.fromkeys(("one", "other"), CANDIDATES["gaussian"])
    )
    assert isinstance(choice.background, GaussianModel)
    with pytest.raises(errors.ImpossibleEvidenceError):
        choice.background.check(choice.background.read(table))


def test_many_coalitions_are_sampled():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 7))
    coalitions = np.array([[bool(s >> k & 1) for k in range(7)] for s in range(128)])
    candidates = {name: CANDIDATES[name] for name in ("gaussian", "copula")}
    seen = []

    def predict(rows):
        seen.append(len(rows))
        return rows[:, 0]

    choose_background(data, predict, coalitions, np.full(128, 1 / 128), candidates=candidates, n_draws=16)
    assert sum(seen) <= 2 * (16 * 20 * 16 + 40)


# --- mixtures -----------------------------------------------------------------------------------------------


def test_mixture_has_the_mean_of_the_values():
    rng = np.random.default_rng(0)
    data = np.exp(linear_table(400, rng))
    parts = [GaussianModel.fit(data), CopulaModel(data), ConditionalTable(data)]
    mixture = MixtureModel(parts, [0.7, 0.2, 0.1])
    rows = mixture.read(data[:3])
    nu = [coalition_values(part, interaction, rows, TWO, 4096)[:, :, 0] for part in parts]
    got = coalition_values(mixture, interaction, rows, TWO, 1 << 15)[:, :, 0]
    assert np.allclose(got, 0.7 * nu[0] + 0.2 * nu[1] + 0.1 * nu[2], atol=0.01)
    drawn = mixture.draws(np.array([[1.5, nan, nan]]), rng.random((100, mixture.n_uniforms)))
    assert np.all(drawn[0, :, 0] == 1.5)
    assert mixture.n_uniforms == 4
    assert "70% Gaussian" in mixture.describe()


# --- levels -------------------------------------------------------------------------------------------------


def levels_table(n_rows, dependent, seed=0):
    """x -> (y, z); with ``dependent`` y and z also move together given x."""
    rng = np.random.default_rng(seed)
    x, shared = rng.normal(size=n_rows), rng.normal(size=n_rows)
    y = np.sin(2 * x) + 0.5 * (shared if dependent else rng.normal(size=n_rows))
    z = np.abs(x) + 0.5 * shared
    return pd.DataFrame({"x": x, "y": y, "z": z})


LEVEL_COALITIONS = np.array([[True, False, False], [True, True, False], [True, False, True]])


def product(frame):
    return (frame["y"] * frame["z"]).to_numpy()


def test_levels_are_a_candidate_that_the_score_judges():
    candidates = with_mechanisms(nx.DiGraph([("x", "y"), ("x", "z")]), "levels")
    right = choose_background(
        levels_table(500, False), product, LEVEL_COALITIONS, np.full(3, 1 / 3), candidates=candidates, n_draws=64
    )
    wrong = choose_background(
        levels_table(500, True), product, LEVEL_COALITIONS, np.full(3, 1 / 3), candidates=candidates, n_draws=64
    )
    above = []
    for losses in (right.losses, wrong.losses):
        paired = losses["levels"] - min(losses.values(), key=np.mean)
        above.append(paired.mean() - 2 * paired.std() / len(paired) ** 0.5)
    assert above[0] < 1e-12 < above[1]
    assert wrong.shares.get("levels", 0) < 0.3
    mixed = MixtureModel(
        [candidates["levels"][0](levels_table(100, False), 0), ConditionalTable(levels_table(100, False))], [1, 1]
    )
    assert mixed.conditions_on == "ancestral"


def test_mechanisms_of_levels_are_compared_once():
    """The fit to all rows takes over which mechanisms a part of them has settled on."""
    asked = []
    fit, numbers = with_mechanisms(nx.DiGraph([("x", "y"), ("x", "z")]), "levels")["levels"]

    def watched(data, seed, earlier=None):
        asked.append((len(data), earlier is not None))
        return fit(data, seed, earlier)

    for n_rows in (1800, 2400):
        candidates = {"gaussian": CANDIDATES["gaussian"], "levels": (watched, numbers)}
        table = levels_table(n_rows, False)
        table["y"] = table["x"] ** 2 + 0.3 * table["y"]
        choice = choose_background(
            table,
            lambda frame: frame["y"] * frame["x"],
            LEVEL_COALITIONS,
            np.full(3, 1 / 3),
            candidates=candidates,
            n_draws=16,
        )
        assert "levels" in choice.shares
    assert asked == [(1400, False), (1800, True), (1500, False), (2400, True)]


def test_mixture_with_a_structural_model_conditions_on_what_that_can():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(linear_table(200, rng), columns=["x0", "x1", "x2"])
    levels = with_mechanisms(nx.DiGraph([("x0", "x1"), ("x0", "x2")]), "levels")["levels"][0](table, 0)
    mixture = MixtureModel([GaussianModel.fit(table), levels], [0.5, 0.5])
    assert mixture.conditions_on == "ancestral"
    assert set(mixture.graph.edges) == {("x0", "x1"), ("x0", "x2")}
    assert mixture.latent == ()
    uniforms = rng.random((8, mixture.n_uniforms))
    assert np.all(mixture.draws(np.array([[0.5, nan, nan]]), uniforms)[0, :, 0] == 0.5)
    with pytest.raises(errors.NotAncestralError, match="'x1' is held while its cause 'x0' is free"):
        mixture.draws(np.array([[nan, 0.5, nan]]), uniforms)
    turned = levels.only(["x2", "x0"])
    assert turned.features == ("x2", "x0")
    assert turned.latent == ("x1",)
    plain = MixtureModel([GaussianModel.fit(table), ConditionalTable(table)], [0.5, 0.5])
    assert plain.graph is None
    assert plain.conditions_on == "any"
