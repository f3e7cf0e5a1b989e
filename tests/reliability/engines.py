"""The same rows through one process, Dask, Ray and Spark: equal numbers?

``python -m tests.reliability.engines`` runs each engine that is installed (``dask[distributed]``, ``ray``, ``pyspark``
and Java) on this machine, loopback only. Names of engines behind it run these alone, and the record keeps what the
others gave. Engines are called as ``docs/howto/distributed.md`` shows, but the code is not taken from that page.

Beside a large job, an engine gets every pair of a newer background and a backend that the tables declare
(``DECLARED`` of :mod:`tests.reliability.jobs`), all in one session; where workers die, one of each background.
"""

import importlib
import itertools
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
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
from tests.reliability.jobs import DECLARED, depends_on_seed, rows_for
from tests.reliability.records import ROOT, Figure, Record, keep, kept

TARGET = "XrayReport"
N_ROWS = 6000
ALGORITHMS = ("auto", "orders x terms")
#: Jobs of newer backgrounds, their rows, and rows that are cut into a block.
NEWER, JOB_ROWS, JOB_BLOCK = tuple(DECLARED), 48, 8
#: Seconds between the first block of a worker and its end, one try after the other: a quick job may be done by then.
PAUSES = (0.05, 0.01, 0.0, 0.0, 0.0)
KILLED = "Dask, one of three workers killed"


@dataclass(frozen=True)
class Found:
    """The values that an engine gave, and what else is to be said."""

    values: np.ndarray
    remark: str = ""


def make_explainer(**options) -> tuple[AsymmetricExplainer, pd.DataFrame]:
    network = load_network("child")
    data = sample_rows(network, N_ROWS, seed=0)
    X, y = data.drop(columns=TARGET), data[TARGET]
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=6, random_state=0)).fit(X, y)
    return AsymmetricExplainer(model, network, seed=0, **options), X


Explain = Callable[[AsymmetricExplainer, pd.DataFrame], Found]


def explained(explainer: AsymmetricExplainer, X: pd.DataFrame) -> Found:
    return Found(explainer(X, silent=True).values)


@contextmanager
def processes() -> Iterator[Explain]:
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield explained


def kill_at_work(client, pause: float) -> Callable[[], int]:
    """Kill a worker of a local Dask cluster a moment after it was given blocks.

    What is returned counts the blocks that were on a worker when it died, since this call. A worker that dies before
    there is work, or when all is done, leaves it at zero.
    """
    scheduler = client.cluster.scheduler
    address, pid = next(iter(client.run(os.getpid).items()))
    worker = scheduler.workers[address]

    def count_lost() -> int:
        return sum(prefix.suspicious for prefix in list(scheduler.task_prefixes.values()))

    def kill() -> None:
        while not worker.processing:
            time.sleep(0.001)
        time.sleep(pause)
        os.kill(pid, signal.SIGKILL)

    before = count_lost()
    threading.Thread(target=kill, daemon=True).start()
    return lambda: count_lost() - before


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


@contextmanager
def dask_with_a_death() -> Iterator[Explain]:
    def explain_and_kill(explainer: AsymmetricExplainer, X: pd.DataFrame) -> Found:
        """A cluster of its own for each try: one that lost a worker does not always get it back."""
        for pause in PAUSES:
            with cluster() as client:
                explainer(X[:200], silent=True)  # everything is imported and compiled
                lost = kill_at_work(client, pause)
                values = explainer(X, silent=True).values
                n_lost = lost()
            if n_lost:
                return Found(values, f"blocks lost with the worker and run again: {n_lost}")
        raise AssertionError(f"no block was on a worker when it was killed, {len(PAUSES)} times")

    yield explain_and_kill


def die_first(marker: str, *block: Any) -> Any:
    """What a worker does with a block; the first that has finished one dies with it, before anybody hears of it."""
    found = blocks.attribute_parcel(*block)
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass
    return found


@contextmanager
def dask_that_loses_a_block() -> Iterator[Explain]:
    """For jobs that are done before a signal would reach anybody: a worker kills itself in the middle of each."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        client = stack.enter_context(cluster())
        attribute, count = blocks.attribute_parcel, itertools.count()

        def explain_and_lose(explainer: AsymmetricExplainer, X: pd.DataFrame) -> Found:
            nonlocal client
            try:
                client.wait_for_workers(2, timeout=120)  # one that may die and one that is left
            except TimeoutError:  # a worker that dies does not always come back
                stack.close()
                client = stack.enter_context(cluster())
            marker = Path(folder) / str(next(count))
            blocks.attribute_parcel = partial(die_first, str(marker))
            try:
                values = explainer(X, silent=True).values
            finally:
                blocks.attribute_parcel = attribute
            assert marker.exists(), "no block went to a worker"
            return Found(values)

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

    def explain(explainer: AsymmetricExplainer, X: pd.DataFrame) -> Found:
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
        return Found(table.mapInPandas(explain_batches, schema).toPandas().sort_values("row")[features].to_numpy())

    try:
        yield explain
    finally:
        session.stop()


ENGINES: dict[str, tuple[str, Callable[[], AbstractContextManager[Explain]]]] = {
    "two processes": ("joblib", processes),
    "Dask": ("distributed", dask),
    KILLED: ("distributed", dask_with_a_death),
    "Ray": ("ray", ray),
    "Spark": ("pyspark", spark),
}


def compare(name: str) -> list[Figure]:
    """The rows of one engine."""
    module, _ = ENGINES[name]
    try:
        importlib.import_module(module)
    except ImportError:
        return [Figure(f"{name} ({module})", "not installed")]
    return [*(compare_values(name, algorithm) for algorithm in ALGORITHMS), compare_jobs(name)]


def compare_values(name: str, algorithm: str) -> Figure:
    module, session = ENGINES[name]
    options = {"algorithm": algorithm, "n_orders": 200}
    explainer, X = make_explainer(**options)
    X = X if algorithm == "auto" else X[:600]
    expected = explainer(X, silent=True).values
    start = time.perf_counter()
    with session() as run:
        found = run(explainer, X)
    seconds = time.perf_counter() - start
    values = found.values
    expected = expected if values.ndim == 3 else expected[..., 0]
    same = bool(np.array_equal(values, expected))
    text = "same bits" if same else f"differ by {np.abs(values - expected).max():.0e}"
    text += f" ({seconds:.0f} s)" + (f"; {found.remark}" if found.remark else "")
    asked, holds = "same bits", same
    if name == "Spark" and algorithm != "auto":  # it cuts rows as it likes
        asked, holds = "within 1e-12", bool(np.allclose(values, expected, rtol=0, atol=1e-12))
    return Figure(f"{name} ({module} {version(module)}), {algorithm}", text, asked, holds)


def jobs_for(name: str) -> list[str]:
    """One of each background and meaning of its values where every job costs a worker, else all."""
    if name != KILLED:
        return list(NEWER)
    return list({job.split(", ", 1)[1]: job for job in NEWER if job.startswith("ideals") or "paths" in job}.values())


def compare_jobs(name: str) -> Figure:
    """Jobs of newer backgrounds, in one session, cut into small blocks."""
    module, session = ENGINES[name]
    session = dask_that_loses_a_block if name == KILLED else session
    usual, blocks.SMALLEST_BLOCK = blocks.SMALLEST_BLOCK, JOB_BLOCK
    differing, n_jobs = [], 0
    try:
        with session() as run:
            for job in jobs_for(name):
                explainer = DECLARED[job]()
                if name == "Spark" and depends_on_seed(explainer):  # it cuts rows as it likes, and samples go by block
                    continue
                n_jobs += 1
                X = rows_for(explainer, JOB_ROWS)
                found, expected = run(explainer, X).values, explainer(X, silent=True).values
                expected = expected if found.ndim == expected.ndim else expected[..., 0]
                gap = float(np.abs(found - expected).max())
                same = gap <= 1e-12 if name == "Spark" else np.array_equal(found, expected)
                differing += [] if same else [f"{job} differs by {gap:.0e}"]
    finally:
        blocks.SMALLEST_BLOCK = usual
    asked = "within 1e-12" if name == "Spark" else "same bits"
    return Figure(
        f"{name} ({module} {version(module)}), jobs of newer backgrounds and backends",
        f"{n_jobs - len(differing)} of {n_jobs} {asked}" + "".join(f"; {text}" for text in differing),
        f"all {asked}",
        not differing,
    )


def rows_before(name: str, root: Path) -> list[Figure]:
    """What the last record says of an engine, with the commit of that record."""
    found = []
    for record in kept(root):
        if record.name == "engines":
            at = f"; at {record.commit or 'an earlier commit'}"
            found += [
                figure if "; at " in figure.value else replace(figure, value=figure.value + at)
                for figure in record.figures
                if figure.what.startswith(f"{name} (")
            ]
    return found


def main(names: list[str], root: Path = ROOT) -> int:
    """All engines, or those that are named beside what the last record says of the others."""
    unknown = set(names) - set(ENGINES)
    if unknown:
        raise SystemExit(f"no engine is called {' or '.join(map(repr, sorted(unknown)))}; there are: {list(ENGINES)}")
    figures = []
    for name in ENGINES:
        if names and name not in names:
            figures += rows_before(name, root)
            continue
        print(f"{name} ...", flush=True)
        figures += compare(name)
    notes = [
        f"{N_ROWS:,} rows (600 where orders are sampled) of child, a decision tree with 5 outputs; every engine on one "
        "machine, loopback only. Seconds contain the start of the engine.",
        "Spark cuts rows into batches as it likes. A row of the exact forest and closures backends has the same bits "
        "whatever rows come with it; other backends may differ in the last digit then. Samples go by block and are "
        "others then: these newer jobs are left out for Spark.",
        f"Newer backgrounds: {JOB_ROWS} rows in blocks of {JOB_BLOCK}; where workers are killed, one job of each "
        "background and meaning of its values, and in each of them a worker that dies with its first block.",
    ]
    record = Record("engines", "Other processes, clusters", "make engines", figures, notes)
    keep(record, root)
    return 0 if record.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
