"""Saved explainers: other processes, truncated, damaged and foreign files, and what is refused."""

import io

import numpy as np
import pytest
import shap

from shap_asv import AsymmetricExplainer
from shap_asv.errors import PersistenceError
from shap_asv.explainer import persistence
from tests.reliability.apart import apart
from tests.reliability.damaged import flipped, foreign, load_all, make_explainer, read, save, truncated
from tests.reliability.jobs import network, rows_for
from tests.reliability.versions import save as save_job

SAVED = ("forest", "orders x terms", "ideals x marginal", "monte_carlo")


@pytest.fixture(scope="module")
def explainer():
    return make_explainer()


@pytest.fixture(scope="module")
def saved(explainer):
    return save(explainer)


def test_another_process_reads_the_same_values(tmp_path):
    """Through AsymmetricExplainer.load and through shap.Explainer.load; and a fresh process has no other numbers."""
    written = [save_job(tmp_path / name, name) for name in SAVED]
    read_there = apart("versions", "--load", str(tmp_path), *SAVED)
    for (before,), after in zip(written, read_there, strict=True):
        assert after == [before, before]


def test_every_truncation_is_noticed(saved):
    for content in truncated(saved, 90):
        with pytest.raises(PersistenceError, match=r"not a saved explainer|truncated or damaged"):
            read(content)


def test_every_flipped_bit_is_noticed_or_harmless(saved, explainer):
    """A changed byte is an error, or it changed nothing that is used; never another model."""
    outcome = load_all(flipped(saved, 90), explainer)
    assert not outcome.worse
    assert outcome.refused >= 85


def test_another_explainer_would_be_noticed(explainer):
    """The check itself: a file of an explainer with other values counts as the worst that can happen."""
    other = AsymmetricExplainer(lambda X: np.ones(len(X)), network("dag", 10), feature_names=explainer.feature_names)
    outcome = load_all([save(explainer), save(other)], explainer)
    assert outcome.harmless == 1
    assert outcome.worse == ["another explainer was loaded"]


@pytest.mark.parametrize(("kind", "content"), foreign().items(), ids=list(foreign()))
def test_foreign_files(kind, content):
    said = r"not a saved explainer|the file holds|truncated or damaged|does not hold"
    if kind == "another explainer of shap":
        said = r"the file holds .*Linear.*, not AsymmetricExplainer"
    with pytest.raises(PersistenceError, match=said):
        read(content)


def test_shaps_load_says_what_is_wrong(saved):
    with pytest.raises(PersistenceError, match="truncated or damaged"):
        shap.Explainer.load(io.BytesIO(saved[:-100]))


def test_a_file_of_the_future(saved, monkeypatch, explainer):
    monkeypatch.setattr(persistence, "VERSION", persistence.VERSION + 1)
    stream = io.BytesIO()
    explainer.save(stream)
    monkeypatch.undo()
    with pytest.raises(PersistenceError, match="install a newer shap_asv"):
        read(stream.getvalue())


def test_code_of_another_python_is_refused(monkeypatch):
    """A function that cannot be imported is stored with its bytecode, which is good for one version of Python."""
    names = list(network("dag", 10).names)
    lambda_model = AsymmetricExplainer(lambda X: np.ones(len(X)), network("dag", 10), feature_names=names)
    stream = io.BytesIO()
    lambda_model.save(stream)
    base = read(stream.getvalue())(rows_for(lambda_model, 2), silent=True).base_values[0]
    assert base == pytest.approx(1, abs=1e-12)
    monkeypatch.setattr(persistence.platform, "python_version", lambda: "2.7.18")
    with pytest.raises(PersistenceError, match=r"the code of Python 3.* this is Python 2\.7\.18"):
        read(stream.getvalue())


def test_links_of_shap_are_stored_by_name(saved):
    """They are compiled functions: by value they would bring the code of one version of Python along."""
    assert persistence._CODE_BY_VALUE not in saved
    assert read(saved).link is shap.links.identity
