"""The same rows through one process, Dask, Ray and Spark: equal numbers?

``python -m tests.reliability.engines`` runs each engine that is installed (``dask[distributed]``, ``ray``, ``pyspark``
and Java) on this machine, loopback only. Names of engines behind it run these alone, and the record keeps what the
others gave. Engines are called as ``docs/howto/distributed.md`` shows, but the code is not taken from that page.

An engine gets large jobs on child and every pair of a background and a backend that the tables declare (``DECLARED`` of
:mod:`tests.reliability.jobs`), all in one session; where workers die, one of each background.
"""

import importlib
import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from shap_asv.explainer import blocks
from tests.reliability.jobs import DECLARED, Job, depends_on_seed, rows_for
from tests.reliability.records import ROOT, Figure, Record, before, keep

TARGET = "XrayReport"
N_ROWS, N_SAMPLED, N_DECLARED = 6000, 600, 48
KILLED = "Dask, one of three workers killed"

Explain = Callable[[AsymmetricExplainer, pd.DataFrame], np.ndarray]


@cache
def child() -> tuple[Any, Any, pd.DataFrame]:
    network = load_network("child")
    data = sample_rows(network, N_ROWS, seed=0)
    X, y = data.drop(columns=TARGET), data[TARGET]
    return network, make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=6, random_state=0)).fit(X, y), X


def on_child(algorithm: str) -> AsymmetricExplainer:
    network, model, _ = child()
    return AsymmetricExplainer(model, network, seed=0, algorithm=algorithm, n_orders=200)


LARGE: dict[str, tuple[Job, int]] = {
    "child, auto": (partial(on_child, "auto"), N_ROWS),
    "child, orders x terms": (partial(on_child, "orders x terms"), N_SAMPLED),
}


def explained(explainer: AsymmetricExplainer, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(explainer(X, silent=True).values)


@contextmanager
def processes() -> Iterator[Explain]:
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield explained


@contextmanager
def cluster() -> Iterator[Any]:
    """Three workers of Dask on this machine, as joblib's backend."""
    from dask.distributed import Client, LocalCluster

    local = LocalCluster(n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", silence_logs=50)
    with local, Client(local) as client, joblib.parallel_config(backend="dask"):
        yield client


@contextmanager
def dask() -> Iterator[Explain]:
    with cluster():
        yield explained


def die_first(marker: str, *block: Any) -> Any:
    """What a worker does with a block; the first that has finished one dies with it, before its result is known."""
    found = blocks.attribute_parcel(*block)
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass
    return found


@contextmanager
def dask_that_loses_a_block() -> Iterator[Explain]:
    """A worker kills itself in the middle of each job: jobs may be done before a signal would reach anything."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        client = stack.enter_context(cluster())
        attribute, count = blocks.attribute_parcel, itertools.count()

        def explain_and_lose(explainer: AsymmetricExplainer, X: pd.DataFrame) -> np.ndarray:
            nonlocal client
            try:
                client.wait_for_workers(2, timeout=120)  # one that may die and one that is left
            except TimeoutError:  # a worker that dies does not always come back
                stack.close()
                client = stack.enter_context(cluster())
            marker = Path(folder) / str(next(count))
            blocks.attribute_parcel = partial(die_first, str(marker))
            try:
                values = explained(explainer, X)
            finally:
                blocks.attribute_parcel = attribute
            assert marker.exists(), "no block went to a worker"
            return values

        yield explain_and_lose


@contextmanager
def ray() -> Iterator[Explain]:
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config(backend="ray", n_jobs=2):
            yield explained
    finally:
        ray.shutdown()


@contextmanager
def spark() -> Iterator[Explain]:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )

    def explain(explainer: AsymmetricExplainer, X: pd.DataFrame) -> np.ndarray:
        """The first output. Labels go round as rows; of other kinds of rows the numbers go round."""
        features = list(map(str, X.columns))
        labels = all(pd.api.types.is_string_dtype(dtype) for dtype in X.dtypes)
        shared = session.sparkContext.broadcast((explainer, None if labels else X))

        def explain_batches(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            explainer, kept_here = shared.value
            for batch in batches:
                places = batch["row"].to_numpy()
                rows = batch[features] if kept_here is None else kept_here.iloc[places]
                asv = explainer(rows, outputs=0, silent=True)
                yield pd.DataFrame(asv.values, columns=features).assign(row=places)

        schema = StructType([*(StructField(name, DoubleType()) for name in features), StructField("row", LongType())])
        sent = X.astype(str) if labels else pd.DataFrame(index=X.index)
        table = session.createDataFrame(sent.assign(row=np.arange(len(X)))).repartition(4)
        return table.mapInPandas(explain_batches, schema).toPandas().sort_values("row")[features].to_numpy()

    try:
        yield explain
    finally:
        session.stop()


ENGINES: dict[str, tuple[str, Callable[[], AbstractContextManager[Explain]]]] = {
    "two processes": ("joblib", processes),
    "Dask": ("distributed", dask),
    KILLED: ("distributed", dask_that_loses_a_block),
    "Ray": ("ray", ray),
    "Spark": ("pyspark", spark),
}


def jobs_for(name: str) -> dict[str, tuple[Job, int]]:
    """One of each background and meaning of its values where every job costs a worker, else all."""
    declared = list(DECLARED)
    if name == KILLED:
        kinds = {job.split(", ", 1)[1]: job for job in declared if job.startswith("ideals") or "paths" in job}
        declared = list(kinds.values())
    return {**LARGE, **{job: (DECLARED[job], N_DECLARED) for job in declared}}


def compare(name: str) -> Figure:
    """All jobs of one engine, in one session, each cut into several blocks."""
    module, session = ENGINES[name]
    try:
        importlib.import_module(module)
    except ImportError:
        return Figure(f"{name} ({module})", "not installed")
    usual, differing, n_jobs, start = blocks.SMALLEST_BLOCK, [], 0, time.perf_counter()
    exact = name != "Spark"  # which cuts rows as it likes: other last digits, and other samples, for these go by block
    try:
        with session() as run:
            for job, (make, n_rows) in jobs_for(name).items():
                explainer = make()
                if not exact and job in DECLARED and depends_on_seed(explainer):
                    continue
                n_jobs += 1
                X = child()[2][:n_rows] if job in LARGE else rows_for(explainer, n_rows)
                blocks.SMALLEST_BLOCK = min(usual, max(8, n_rows // 12))
                found, expected = run(explainer, X), explained(explainer, X)
                expected = expected if found.ndim == expected.ndim else expected[..., 0]
                gap = float(np.abs(found - expected).max())
                same = np.array_equal(found, expected) if exact else gap <= 1e-12
                differing += [] if same else [f"{job} differs by {gap:.0e}"]
    finally:
        blocks.SMALLEST_BLOCK = usual
    asked = "same bits" if exact else "within 1e-12"
    value = f"{n_jobs - len(differing)} of {n_jobs} {asked} ({time.perf_counter() - start:.0f} s)"
    return Figure(f"{name} ({module} {version(module)})", "; ".join([value, *differing]), f"all {asked}", not differing)


def main(names: list[str], root: Path = ROOT) -> int:
    """All engines, or those that are named beside what the last record says of the others."""
    unknown = set(names) - set(ENGINES)
    if unknown:
        raise SystemExit(f"no engine is called {' or '.join(map(repr, sorted(unknown)))}; there are: {list(ENGINES)}")
    figures = []
    for name in ENGINES:
        if names and name not in names:
            figures += [figure for figure in before("engines", root) if figure.what.startswith(f"{name} (")]
            continue
        print(f"{name} ...", flush=True)
        figures.append(compare(name))
    notes = [
        f"A decision tree with 5 outputs on child ({N_ROWS:,} rows, {N_SAMPLED} where orders are sampled), and a job "
        f"of {N_DECLARED} rows for every pair of a background and a backend; every engine on one machine, loopback "
        "only. Seconds contain the start of the engine.",
        "Spark cuts rows into batches as it likes. A row of the exact forest and closures backends has the same bits "
        "whatever rows come with it; other backends may differ in the last digit then. Samples go by block and are "
        "others then: these jobs are left out for Spark.",
        "Where workers are killed: one job of each background and meaning of its values, and in each of them a worker "
        "that dies with its first block.",
    ]
    record = Record("engines", "Other processes, clusters", "make engines", figures, notes)
    return keep(record, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
