"""What users of ``shap.TreeExplainer`` write: its words, its rows, its attributes, and shap itself as the oracle."""

import io
import re

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import shap
import xgboost
from sklearn.base import BaseEstimator
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel
from shap_asv.errors import CausalGraphWarning, ShapAsvError, ShapAsvWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)).round(2)
Y = X[:, 0] * X[:, 1] + X[:, 2]
NAMES = list("abcd")
FRAME = pd.DataFrame(X, columns=NAMES)
CAT = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
XGB = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}
LGB = {"n_estimators": 6, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
CLASSIFIERS = {
    "sklearn": lambda: GradientBoostingClassifier(n_estimators=6, random_state=0).fit(X, Y > 0),
    "XGBoost": lambda: xgboost.XGBClassifier(**XGB).fit(X, Y > 0),
    "LightGBM": lambda: lightgbm.LGBMClassifier(**LGB).fit(X, Y > 0),
}


@pytest.fixture(scope="module")
def forest():
    return RandomForestRegressor(4, max_depth=4, random_state=0).fit(FRAME, Y)


# --- calls -----------------------------------------------------------------------------------------------------------


def test_words_of_a_call(forest):
    explainer = AsymmetricExplainer(forest)
    plain = explainer(FRAME[:5])
    for words in (
        {"y": Y[:5]},
        {"interactions": False, "check_additivity": True, "approximate": False},
        {"tree_limit": None, "from_call": False},
        {"tree_limit": -1},
    ):
        np.testing.assert_allclose(explainer(FRAME[:5], **words).values, plain.values, rtol=0, atol=1e-12)
        np.testing.assert_allclose(explainer.shap_values(FRAME[:5], **words), plain.values)
    np.testing.assert_allclose(explainer(FRAME[:5], Y[:5]).values, plain.values)
    assert explainer.shap_values(FRAME[:5], Y[:5], None, False, True, False).shape == (5, 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"interactions": True}, "interaction values are defined where no order counts"),
        ({"approximate": True}, "Saabas"),
        ({"tree_limit": 3}, r"booster\[:n\]"),
        ({"y": 500}, "max_evals=500"),
    ],
)
def test_what_cannot_be_done_says_why(forest, words, said):
    with pytest.raises(ShapAsvError, match=said):
        AsymmetricExplainer(forest)(FRAME[:2], **words)


def test_interaction_values_say_why_they_are_not_there(forest):
    with pytest.raises(ShapAsvError, match="interaction values are defined where no order counts"):
        AsymmetricExplainer(forest).shap_interaction_values(FRAME[:2])


def test_the_third_argument_of_tree_explainer(forest):
    with pytest.raises(ShapAsvError, match="write model_output='raw'"):
        AsymmetricExplainer(forest, FRAME[:10], "raw")


# --- attributes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("background", [None, X[:20], FRAME[:20]], ids=["none", "array", "frame"])
def test_attributes_after_construction(forest, background):
    theirs = shap.TreeExplainer(forest, background)
    ours = AsymmetricExplainer(forest, data=background)
    assert ours.feature_perturbation == theirs.feature_perturbation
    assert ours.model_output == theirs.model_output == "raw"
    assert (ours.data is None) == (theirs.data is None)
    if background is not None:
        np.testing.assert_allclose(ours.data, theirs.data)
    assert ours.data_feature_names == NAMES
    assert ours.expected_value[0] == ours.expected_value == pytest.approx(np.ravel(theirs.expected_value)[0], rel=1e-6)
    stream = io.BytesIO()
    ours.save(stream)
    stream.seek(0)
    again = AsymmetricExplainer.load(stream)
    np.testing.assert_allclose(again(FRAME[:3]).values, ours(FRAME[:3]).values)
    assert again.model_output == "raw"


# --- outputs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_and_losses(name):
    model = CLASSIFIERS[name]()
    labels = (Y > 0).astype(int)[:6]
    words = {"feature_perturbation": "interventional"}
    # shap's values of probabilities are off by what is between its background and the definition; sums are not
    ours = AsymmetricExplainer(model, X[100:120], model_output="probability")(X[:6])
    exact = shap.ExactExplainer(lambda rows: model.predict_proba(rows)[:, 1], X[100:120])(X[:6])
    assert ours.shape == shap.TreeExplainer(model, X[100:120], "probability", **words)(X[:6]).shape == (6, 4)
    np.testing.assert_allclose(ours.values, exact.values, rtol=0, atol=1e-6)
    both = AsymmetricExplainer(model, X[100:120], model_output="predict_proba")(X[:6])
    np.testing.assert_allclose(both.values[..., 1], exact.values, rtol=0, atol=1e-6)
    explainer = AsymmetricExplainer(model, X[100:120], model_output="log_loss")
    losses = explainer(X[:6], labels)
    for c in (0, 1):  # by the definition: shap's own values of losses are off by some percent
        exact = shap.ExactExplainer(lambda rows, c=c: -np.log(model.predict_proba(rows)[:, c]), X[100:120])(X[:6])
        np.testing.assert_allclose(losses.values[labels == c], exact.values[labels == c], rtol=0, atol=1e-5)
    own = -np.log(model.predict_proba(X[:6])[np.arange(6), labels])
    np.testing.assert_allclose(losses.base_values + losses.values.sum(axis=1), own, rtol=0, atol=1e-5)
    if name != "sklearn":  # whose losses shap does not know
        theirs = shap.TreeExplainer(model, X[100:120], model_output="log_loss", **words)
        assert explainer.expected_value(1) == pytest.approx(theirs.expected_value(1), rel=1e-4)
    with pytest.raises(ShapAsvError, match="needs the target of each row"):
        explainer(X[:6])
    with pytest.raises(ShapAsvError, match=f"the loss of {type(model).__name__} is not a sum over trees"):
        AsymmetricExplainer(model, model_output="log_loss")


def test_the_loss_of_a_regressor(forest):
    explainer = AsymmetricExplainer(forest, FRAME[100:120], model_output="log_loss")
    ours = explainer(FRAME[:6], Y[:6])
    for row in range(6):
        theirs = shap.ExactExplainer(
            lambda rows, y=Y[row]: (forest.predict(pd.DataFrame(rows, columns=NAMES)) - y) ** 2, FRAME[100:120]
        )(FRAME[row : row + 1])
        np.testing.assert_allclose(ours.values[row], theirs.values[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.base_values[row], theirs.base_values[0], rtol=0, atol=1e-9)


def test_a_booster_has_probabilities():
    model = xgboost.XGBClassifier(**XGB).fit(X, Y > 0)
    expected = AsymmetricExplainer(model, X[:20], model_output="probability")(X[:3])
    for word in ("probability", "predict"):
        ours = AsymmetricExplainer(model.get_booster(), X[:20], model_output=word)(X[:3])
        np.testing.assert_allclose(ours.values, expected.values, rtol=0, atol=1e-6)


def test_a_function_that_returns_a_frame_names_the_outputs():
    def model(rows):
        return pd.DataFrame({"sum": rows.sum(axis=1), "first": rows[:, 0]})

    assert AsymmetricExplainer(model, X[:10])(X[:2]).output_names == ["sum", "first"]


# --- backgrounds -----------------------------------------------------------------------------------------------------


def test_words_about_the_background():
    # shallow: where no row comes along, shap's shares do not add up to one
    forest = RandomForestRegressor(4, max_depth=3, random_state=0).fit(FRAME, Y)
    theirs = shap.TreeExplainer(forest, FRAME[:100], feature_perturbation="tree_path_dependent")(FRAME[:5])
    explainer = AsymmetricExplainer(forest, FRAME[:100], feature_perturbation="tree_path_dependent")
    np.testing.assert_allclose(explainer(FRAME[:5]).values, theirs.values, rtol=0, atol=1e-6)
    np.testing.assert_allclose(explainer.symmetric()(FRAME[:5]).values, theirs.values, rtol=0, atol=1e-6)
    few = AsymmetricExplainer(forest, FRAME[:3], feature_perturbation="tree_path_dependent")(FRAME[:5])
    np.testing.assert_allclose(few.base_values, forest.predict(FRAME[:3]).mean(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(few.base_values + few.values.sum(axis=1), forest.predict(FRAME[:5]), rtol=0, atol=1e-9)
    with pytest.warns(ShapAsvWarning, match="cover counts of the trees are used, as in shap"):
        alone = AsymmetricExplainer(forest, feature_perturbation="interventional")
    np.testing.assert_allclose(alone(FRAME[:5]).values, AsymmetricExplainer(forest)(FRAME[:5]).values)


def test_sparse_and_imputing_backgrounds():
    holes = np.where(RNG.random(X.shape) < 0.5, 0.0, X)
    model = xgboost.XGBRegressor(**XGB).fit(sp.csr_matrix(holes), Y)
    ours = AsymmetricExplainer(model, sp.csr_matrix(holes[:30]))(sp.csr_matrix(holes[:5]))
    filled = np.where(holes == 0.0, np.nan, holes)
    np.testing.assert_allclose(ours.values, AsymmetricExplainer(model, filled[:30])(filled[:5]).values)
    linear = lambda rows: np.asarray(rows) @ [1.0, 2.0, 3.0, 4.0]  # noqa: E731
    imputed = AsymmetricExplainer(linear, shap.maskers.Impute(FRAME), seed=0)(FRAME[:3])
    fitted = AsymmetricExplainer(linear, GaussianModel.fit(FRAME), seed=0)(FRAME[:3])
    np.testing.assert_allclose(imputed.values, fitted.values)


# --- rows and names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True])
def test_rows_of_the_libraries_own_kinds(named):
    rows = FRAME if named else X
    boosted = xgboost.XGBRegressor(**XGB).fit(rows, Y)
    cat = catboost.CatBoostRegressor(**CAT).fit(rows, Y)
    for model, wrapped in ((boosted, xgboost.DMatrix(rows[:5])), (cat, catboost.Pool(rows[:5]))):
        explainer = AsymmetricExplainer(model)
        np.testing.assert_allclose(explainer(wrapped).values, explainer(rows[:5]).values, rtol=0, atol=1e-6)


def test_a_pool_does_not_hand_out_its_categories():
    frame = FRAME.assign(d=np.where(X[:, 3] > 0, "u", "v"))
    model = catboost.CatBoostRegressor(cat_features=["d"], **CAT).fit(frame, Y)
    with pytest.raises(ShapAsvError, match="pass the DataFrame that it was made of"):
        AsymmetricExplainer(model, frame[:20])(catboost.Pool(frame[:3], cat_features=["d"]))


@pytest.mark.parametrize("names", [["a b", "c", "d e f", "g"], ["a b", "c d", "e f", "g h"]])
def test_names_with_blanks_that_lightgbm_keeps_with_underscores(names):
    first, second, third, last = names
    frame = pd.DataFrame(X, columns=names)
    model = lightgbm.LGBMRegressor(**LGB).fit(frame, Y)
    expected = shap.TreeExplainer(model)(frame[:5]).values
    order = CausalOrder.from_levels([[first, second], [third, last]])
    turned = frame[names[::-1]]
    for words in ({}, {"feature_names": names}, {"masker": frame[:20], "feature_names": names}):
        explainer = AsymmetricExplainer(model, **words)
        found = explainer(turned[:5])
        assert found.feature_names == names
        if "masker" not in words:
            np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-9)
        total = found.base_values + found.values.sum(axis=1)
        np.testing.assert_allclose(total, model.predict(frame[:5]), rtol=0, atol=1e-9)
    for graph in (order, [(first, third), (second, last)]):
        explainer = AsymmetricExplainer(model, causal_graph=graph, feature_perturbation="tree_path_dependent")
        assert explainer(turned[:2]).feature_names == names
    with pytest.warns(CausalGraphWarning):
        explainer = AsymmetricExplainer(
            model, causal_graph=[(first, second)], feature_perturbation="tree_path_dependent"
        )
    some = explainer(turned[:5])  # whose graph does not spell the third
    np.testing.assert_allclose(some.base_values + some.values.sum(axis=1), model.predict(frame[:5]), rtol=0, atol=1e-9)


ON_ARRAYS = {
    "LightGBM": lambda: lightgbm.LGBMRegressor(**LGB).fit(X, Y),
    "CatBoost": lambda: catboost.CatBoostRegressor(**CAT).fit(X, Y),
    "sklearn": lambda: DecisionTreeRegressor(max_depth=4).fit(X, Y),
}


@pytest.mark.parametrize("library", ON_ARRAYS)
def test_fitted_on_arrays_explained_on_frames(library):
    model = ON_ARRAYS[library]()
    for background in (None, FRAME[:20]):
        found = AsymmetricExplainer(model, background)(FRAME[:5])
        assert found.feature_names == NAMES
        expected = AsymmetricExplainer(model, None if background is None else X[:20])(X[:5])
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)


def test_other_names_than_those_of_the_fit_go_by_position():
    booster = xgboost.XGBRegressor(**XGB).fit(FRAME, Y).get_booster()
    other = FRAME.set_axis(list("wxyz"), axis=1)
    with pytest.warns(ShapAsvWarning, match="by position, as in shap"):
        found = AsymmetricExplainer(booster)(other[:5])
    np.testing.assert_allclose(found.values, AsymmetricExplainer(booster)(FRAME[:5]).values, rtol=0, atol=1e-6)
    with pytest.warns(ShapAsvWarning, match="by position, as in shap"):
        over = AsymmetricExplainer(booster, other[:20])
    expected = AsymmetricExplainer(booster, FRAME[:20])(FRAME[:5]).values
    np.testing.assert_allclose(over(other[:5]).values, expected, rtol=0, atol=1e-6)


CATBOOSTS = {
    "ranker": lambda: catboost.CatBoostRanker(**CAT).fit(X, np.digitize(Y, [-1, 0, 1]), group_id=np.arange(200) // 10),
    "plain": lambda: catboost.CatBoost({**CAT, "loss_function": "Logloss"}).fit(X, Y > 0),
}


@pytest.mark.parametrize("name", CATBOOSTS)
def test_what_catboost_predicts_raw(name):
    """Rankers take no ``prediction_type``; a plain ``CatBoost`` has classes, and predicts the margin."""
    model = CATBOOSTS[name]()
    for background in (None, X[:20]):
        found = AsymmetricExplainer(model, background)(X[:5])
        total = found.base_values + found.values.sum(axis=1)
        np.testing.assert_allclose(total, model.predict(X[:5]), rtol=0, atol=1e-9)


def test_a_model_that_keeps_what_it_learned_elsewhere_is_fitted():
    """As NGBoost does: scikit-learn takes it for not fitted."""

    class Own(BaseEstimator):
        def predict(self, rows):
            return rows[:, 0] * 2.0

    for model in (Own(), Own().predict):
        assert AsymmetricExplainer(model, X[:10])(X[:2]).values.shape == (2, 4)


# --- files -----------------------------------------------------------------------------------------------------------


def test_what_was_not_saved_is_supplied(forest):
    explainer = AsymmetricExplainer(forest, FRAME[:30])
    stream = io.BytesIO()
    explainer.save(stream, model_saver=False, masker_saver=False)
    assert re.search(b"RandomForest", stream.getvalue()) is None
    stream.seek(0)
    again = AsymmetricExplainer.load(stream, model_loader=lambda _: forest, masker_loader=lambda _: FRAME[:30])
    np.testing.assert_allclose(again(FRAME[:3]).values, explainer(FRAME[:3]).values)


def test_outputs_of_a_forest_are_as_before():
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y > 0)
    assert AsymmetricExplainer(model, X[:20], model_output="probability")(X[:2]).shape == (2, 4, 2)
