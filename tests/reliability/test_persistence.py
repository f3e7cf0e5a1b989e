"""Saved explainers: other processes, truncated, damaged and foreign files, and what is refused."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shap

from shap_asv import AsymmetricExplainer
from shap_asv.errors import PersistenceError
from shap_asv.explainer import persistence
from tests.reliability.damaged import flipped, foreign, load_all, make_explainer, read, save, truncated
from tests.reliability.jobs import JOBS, network, rows_for

ROOT = Path(__file__).parents[2]
SAVED = ("forest", "orders x terms", "ideals x marginal")


@pytest.fixture(scope="module")
def explainer():
    return make_explainer()


@pytest.fixture(scope="module")
def saved(explainer):
    return save(explainer)


def test_another_process_reads_the_same_values(tmp_path):
    expected = {}
    for name in SAVED:
        job = JOBS[name]()
        job.save(tmp_path / name)
        expected[name] = job(rows_for(job, 20), silent=True)
    run = subprocess.run(
        [sys.executable, "-m", "tests.reliability.saved", "load", str(tmp_path), *SAVED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    for name in SAVED:
        found = np.load(tmp_path / f"{name}.npz")
        for values in ("ours", "shaps"):  # through AsymmetricExplainer.load and through shap.Explainer.load
            np.testing.assert_array_equal(found[values], expected[name].values)
        np.testing.assert_array_equal(found["base"], expected[name].base_values)


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
    with pytest.raises(PersistenceError, match=said):
        read(content)


def test_a_file_of_another_explainer_of_shap():
    with pytest.raises(PersistenceError, match=r"the file holds .*Linear.*, not AsymmetricExplainer"):
        read(foreign()["another explainer of shap"])


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
    assert read(stream.getvalue())(rows_for(lambda_model, 2), silent=True).base_values[0] == 1
    monkeypatch.setattr(persistence.platform, "python_version", lambda: "2.7.18")
    with pytest.raises(PersistenceError, match=r"the code of Python 3.* this is Python 2\.7\.18"):
        read(stream.getvalue())


def test_links_of_shap_are_stored_by_name(saved):
    """They are compiled functions: by value they would bring the code of one version of Python along."""
    assert persistence._CODE_BY_VALUE not in saved
    assert read(saved).link is shap.links.identity


def test_what_cannot_be_pickled_leaves_no_file_behind():
    class Handle:
        def __init__(self):
            self.stream = open(os.devnull, "rb")  # noqa: SIM115

        def __call__(self, X):
            return np.ones(len(X))

    handle = Handle()
    names = list(network("dag", 10).names)
    stream = io.BytesIO()
    with pytest.raises(PersistenceError, match="cannot be pickled"):
        AsymmetricExplainer(handle, network("dag", 10), feature_names=names).save(stream)
    assert stream.getvalue() == b""
    handle.stream.close()
