"""Saved explainers: other processes, truncated, damaged and foreign files, and what is refused."""

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shap
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer
from shap_asv.errors import PersistenceError
from shap_asv.explainer import persistence
from tests.reliability.jobs import JOBS, ensemble, network, rows_for

ROOT = Path(__file__).parents[2]
SAVED = ("forest", "orders x terms", "ideals x marginal")


@pytest.fixture(scope="module")
def explainer():
    return AsymmetricExplainer(ensemble("dag", 10, 2), network("dag", 10), link=shap.links.identity, seed=1)


@pytest.fixture(scope="module")
def saved(explainer):
    stream = io.BytesIO()
    explainer.save(stream)
    return stream.getvalue()


def read(content):
    return AsymmetricExplainer.load(io.BytesIO(content))


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
    lengths = sorted({*range(0, 200, 7), *np.linspace(0, len(saved) - 1, 60).astype(int).tolist()})
    for length in lengths:
        with pytest.raises(PersistenceError, match=r"no saved explainer|truncated or damaged"):
            read(saved[:length])


def test_every_flipped_bit_is_noticed_or_harmless(saved, explainer):
    """A changed byte is an error, or it changed nothing that is used; never another model."""
    rows = rows_for(explainer, 3)
    expected = explainer(rows, silent=True).values
    start = len(pickle.dumps(AsymmetricExplainer))
    noticed = 0
    for place in np.random.default_rng(0).integers(start, len(saved), size=60):
        broken = bytearray(saved)
        broken[place] ^= 0x10
        try:
            again = read(bytes(broken))
        except PersistenceError:
            noticed += 1
            continue
        np.testing.assert_array_equal(again(rows, silent=True).values, expected)
    assert noticed >= 55


@pytest.mark.parametrize(
    "content",
    [b"", b"a,b\n1,2\n", bytes(range(256)) * 4, b"\x80\x04", pickle.dumps({"weights": [1, 2]}), pickle.dumps(int)],
    ids=["empty", "text", "bytes", "header", "dict", "class"],
)
def test_foreign_files(content):
    with pytest.raises(PersistenceError, match=r"no saved explainer|the file holds"):
        read(content)


def test_a_file_of_another_explainer_of_shap():
    matrix = np.random.default_rng(0).normal(size=(20, 3))
    model = LinearRegression().fit(matrix, matrix[:, 0])
    stream = io.BytesIO()
    shap.LinearExplainer(model, matrix).save(stream)
    with pytest.raises(PersistenceError, match=r"the file holds .*Linear.*, not AsymmetricExplainer"):
        read(stream.getvalue())


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
