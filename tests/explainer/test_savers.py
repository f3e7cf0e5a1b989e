"""``save(model_saver=..., masker_saver=...)`` takes what shap's own explainers take, and reads it back."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer
from shap_asv.errors import PersistenceError

TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc"))
ROWS = TABLE[:4] + 0.5


def make_model(named=True):
    table = TABLE if named else TABLE.to_numpy()
    return LinearRegression().fit(table, table @ [1.0, 2.0, 3.0])


def write_coefficients(model, stream):
    """A model in a format of its own; what follows in the file is not its business."""
    stream.write(np.append(model.coef_, model.intercept_).tobytes())


def read_coefficients(stream, named=True):
    numbers = np.frombuffer(stream.read())
    model = make_model(named)
    model.coef_, model.intercept_ = numbers[:-1], numbers[-1]
    return model


def write_masker(masker, stream):
    masker.save(stream)  # shap's own


def read_masker(stream):
    return shap.maskers.Masker.load(stream)


@pytest.mark.parametrize(
    ("explainer_class", "through"),
    [
        (AsymmetricExplainer, AsymmetricExplainer),
        (AsymmetricExplainer, shap.Explainer),
        (shap.ExactExplainer, shap.Explainer),
    ],
)
@pytest.mark.parametrize("background", [TABLE, TABLE.to_numpy()], ids=["frame", "matrix"])
def test_savers_of_shap(explainer_class, through, background):
    """The same callables for shap's explainer and for ours: they are called alike, and give the same values."""
    named = isinstance(background, pd.DataFrame)
    masker = shap.maskers.Independent(background)
    explainer = explainer_class(make_model(named).predict, masker)
    seen = []

    def write_model(model, stream):
        seen.append(model)
        write_coefficients(getattr(model, "inner_model", model).__self__, stream)

    def read_model(stream):
        # shap's own explainers hand over the whole rest of the file
        return read_coefficients(io.BytesIO(stream.read(4 * 8)), named).predict

    stream = io.BytesIO()
    explainer.save(stream, model_saver=write_model, masker_saver=write_masker)
    assert len(seen) == 1
    stream.seek(0)
    loaded = through.load(stream, model_loader=read_model, masker_loader=read_masker)
    assert type(loaded) is explainer_class
    rows = ROWS if named else ROWS.to_numpy()
    np.testing.assert_allclose(loaded(rows).values, explainer(rows).values, rtol=0, atol=1e-12)


def test_one_saver_alone(tmp_path):
    explainer = AsymmetricExplainer(
        make_model(), TABLE, causal_graph=[("a", "b"), ("b", "c")], seed=3, values="marginal"
    )
    expected = explainer(ROWS).values
    explainer.save(tmp_path / "model", model_saver=joblib.dump)
    explainer.save(tmp_path / "masker", masker_saver=joblib.dump)
    for name, loader in (("model", {"model_loader": joblib.load}), ("masker", {"masker_loader": joblib.load})):
        loaded = AsymmetricExplainer.load(tmp_path / name, **loader)
        np.testing.assert_array_equal(loaded(ROWS).values, expected)
        assert loaded.seed == 3


def test_a_model_that_cannot_be_pickled():
    """What savers are for: before, nothing but a pickle was possible."""

    class Handle:
        weights = np.array([1.0, 2.0, 3.0])

        def __call__(self, X):
            return np.asarray(X) @ self.weights

        def __reduce__(self):
            raise TypeError("a handle to something outside")

    explainer = AsymmetricExplainer(Handle(), TABLE)
    with pytest.raises(PersistenceError, match="cannot be pickled"):
        explainer.save(io.BytesIO())
    stream = io.BytesIO()
    explainer.save(stream, model_saver=lambda model, out: out.write(model.weights.tobytes()))
    stream.seek(0)
    loaded = AsymmetricExplainer.load(stream, model_loader=lambda written: Handle())
    np.testing.assert_array_equal(loaded(ROWS).values, explainer(ROWS).values)


def test_words_that_shap_knows_change_nothing():
    explainer = AsymmetricExplainer(make_model(), TABLE)
    files = []
    for words in ({}, {"model_saver": ".save", "masker_saver": ".save"}, {"model_saver": "auto"}):
        stream = io.BytesIO()
        explainer.save(stream, **words)
        files.append(AsymmetricExplainer.load(io.BytesIO(stream.getvalue()))(ROWS).values)
    np.testing.assert_array_equal(files[0], files[1])
    np.testing.assert_array_equal(files[0], files[2])


def test_a_changed_bit_of_what_a_saver_wrote_is_noticed():
    stream = io.BytesIO()
    AsymmetricExplainer(make_model(), TABLE).save(stream, model_saver=write_coefficients)
    content = stream.getvalue()
    place = content.index(np.float64(make_model().coef_[1]).tobytes()) + 3
    damaged = bytearray(content)
    damaged[place] ^= 1
    with pytest.raises(PersistenceError, match="its digest does not fit"):
        AsymmetricExplainer.load(io.BytesIO(bytes(damaged)), model_loader=read_coefficients)


def test_nothing_is_written_where_a_saver_fails():
    stream = io.BytesIO()
    with pytest.raises(PersistenceError, match="model_saver= raised PicklingError: no"):
        AsymmetricExplainer(make_model(), TABLE).save(stream, model_saver=_refuse)
    assert stream.getvalue() == b""


def _refuse(model, stream):
    stream.write(b"half")
    raise pickle.PicklingError("no")
