"""Rows on a cluster: a real one, of worker processes on this machine. The same bits, and no row lost with a worker.

``python -m tests.reliability.engines`` runs every newer job, and kills a worker in the middle of many.
"""

import os
import signal
import threading
import time

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from dask import distributed
from joblib._parallel_backends import ThreadingBackend

from shap_asv import AsymmetricExplainer, StructuralModel
from shap_asv.discovery import bootstrap_graphs
from shap_asv.errors import ShapAsvError
from shap_asv.explainer import blocks
from tests.reliability.jobs import JOBS, rows_for


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "SMALLEST_BLOCK", 8)


@pytest.mark.parametrize("name", ["orders x terms", "monte_carlo"])
def test_a_cluster_gives_the_same_bits(name, cluster, small_blocks):
    explainer = JOBS[name]()
    rows = rows_for(explainer, 64)
    expected = explainer(rows, silent=True)
    with joblib.parallel_config(backend="dask"):
        assert blocks.count_jobs(explainer.n_jobs) == 2
        found = explainer(rows, silent=True)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.base_values, expected.base_values)
    if expected.error_std is not None:
        np.testing.assert_array_equal(found.error_std, expected.error_std)


def test_a_model_travels_once(cluster, small_blocks):
    """What is ready for rows is unpacked once per process, however many blocks it explains there."""
    explainer = JOBS["orders x terms"]()
    with joblib.parallel_config(backend="dask"):
        explainer(rows_for(explainer, 64), silent=True)
    kept = cluster.run(lambda: len(blocks._UNPACKED))
    assert set(kept.values()) <= {0, 1}
    assert sum(kept.values()) >= 1


def kill_at_work(client, pause=0.2):
    """Kill a worker of a local cluster a moment after it was given blocks.

    What is returned counts the blocks that were on a worker when it died, since this call. A worker that dies before
    there is work, or when all is done, leaves it at zero.
    """
    scheduler = client.cluster.scheduler
    address, pid = next(iter(client.run(os.getpid).items()))
    worker = scheduler.workers[address]

    def count_lost():
        return sum(prefix.suspicious for prefix in list(scheduler.task_prefixes.values()))

    def kill():
        while not worker.processing:
            time.sleep(0.001)
        time.sleep(pause)
        os.kill(pid, signal.SIGKILL)

    before = count_lost()
    threading.Thread(target=kill, daemon=True).start()
    return lambda: count_lost() - before


class WithoutGenerators(ThreadingBackend):
    """An engine that gives all results at once, as Ray's does."""

    supports_return_generator = False


def test_fits_and_resamples_in_an_engine_that_gives_all_results_at_once():
    joblib.register_parallel_backend("without generators", WithoutGenerators)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60)}).assign(b=lambda t: t.a + rng.normal(size=60))
    graph = nx.DiGraph([("a", "b")])

    def results():
        fitted = StructuralModel.fit(table, graph, "linear", seed=0, silent=True)
        return fitted.sample(5, seed=0), bootstrap_graphs(table, lambda data: graph, n=3, seed=0, silent=True).graphs

    expected = results()
    with joblib.parallel_config(backend="without generators", n_jobs=2):
        found = results()
    pd.testing.assert_frame_equal(found[0], expected[0])
    assert found[1] == expected[1]


def slow_explainer(**options):
    """A model that can be watched: every call takes a while. A lambda travels with its code; workers import no test."""
    slow = lambda X: (time.sleep(0.2), np.asarray(X, dtype=float).sum(axis=1))[1]  # noqa: E731
    return AsymmetricExplainer(slow, np.zeros((1, 2)), algorithm="ideals x marginal", **options)


def slow_rows():
    return np.random.default_rng(0).normal(size=(8, 2))


def test_a_worker_killed_in_the_middle_costs_no_row(cluster, monkeypatch):
    """Eight rows, one by one, each of which takes most of a second; one of the two workers dies meanwhile."""
    monkeypatch.setattr(blocks, "BLOCK_LIMIT", 1)
    rows = slow_rows()
    expected = rows  # the model adds up its inputs, and the background is zero
    lost = kill_at_work(cluster)
    with joblib.parallel_config(backend="dask"):
        found = slow_explainer()(rows, silent=True).values
    assert lost(), "no block was on the worker when it was killed"
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_process_that_dies_is_an_error(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_LIMIT", 1)
    monkeypatch.setattr(blocks, "attribute_parcel", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(ShapAsvError, match="was killed; out of memory"):
        slow_explainer(n_jobs=2)(slow_rows(), silent=True)


def test_a_block_whose_workers_die_is_an_error_and_not_a_wait(cluster, monkeypatch):
    """One death is taken for one too many: what Dask then says about the block has to reach the caller."""
    monkeypatch.setattr(blocks, "BLOCK_LIMIT", 1)
    monkeypatch.setattr(cluster.cluster.scheduler, "allowed_failures", 0)
    cluster.wait_for_workers(2)
    kill_at_work(cluster)
    with joblib.parallel_config(backend="dask"), pytest.raises(ShapAsvError, match="died, one after the other"):
        slow_explainer()(slow_rows(), silent=True)
