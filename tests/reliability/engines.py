"""The same rows through one process, Dask, Ray and Spark: equal numbers?

``python -m tests.reliability.engines`` runs each engine that is installed (``dask[distributed]``, ``ray``, ``pyspark``
and Java) on this machine, loopback only. Names of engines behind it run these alone, and the record keeps what the
others gave. Engines are called as ``docs/howto/distributed.md`` shows, but the code is not taken from that page.
"""

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from tests.reliability.records import ROOT, Figure, Record, keep, kept

TARGET = "XrayReport"
N_ROWS = 6000
ALGORITHMS = ("auto", "orders x terms")


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


def with_processes(explainer: AsymmetricExplainer, X: pd.DataFrame) -> Found:
    with joblib.parallel_config(n_jobs=2):
        return Found(explainer(X, silent=True).values)


def kill_at_work(client, pause: float = 0.05) -> Callable[[], int]:
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


def with_dask(explainer: AsymmetricExplainer, X: pd.DataFrame, kill: bool = False) -> Found:
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50)
    with cluster, Client(cluster) as client, joblib.parallel_config(backend="dask"):
        if kill:
            explainer(X[:200], silent=True)  # everything is imported and compiled
            lost = kill_at_work(client)
        values = explainer(X, silent=True).values
        if not kill:
            return Found(values)
        n_lost = lost()
        assert n_lost, "no block was on the worker when it was killed"
        return Found(values, f"blocks lost with the worker and run again: {n_lost}")


def with_killed_worker(explainer: AsymmetricExplainer, X: pd.DataFrame) -> Found:
    return with_dask(explainer, X, kill=True)


def with_ray(explainer: AsymmetricExplainer, X: pd.DataFrame) -> Found:
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config(backend="ray", n_jobs=2):
            return Found(explainer(X, silent=True).values)
    finally:
        ray.shutdown()


def with_spark(explainer: AsymmetricExplainer, X: pd.DataFrame) -> Found:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    try:
        features = list(X.columns)
        shared = spark.sparkContext.broadcast(explainer)

        def explain(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            for batch in batches:
                asv = shared.value(batch[features], outputs=0, silent=True)
                yield pd.DataFrame(asv.values, columns=features).assign(row=batch["row"].to_numpy())

        schema = StructType([*(StructField(name, DoubleType()) for name in features), StructField("row", LongType())])
        table = spark.createDataFrame(X.astype(str).assign(row=np.arange(len(X)))).repartition(4)
        return Found(table.mapInPandas(explain, schema).toPandas().sort_values("row")[features].to_numpy())
    finally:
        spark.stop()


ENGINES: dict[str, tuple[str, Callable[[AsymmetricExplainer, pd.DataFrame], Found]]] = {
    "two processes": ("joblib", with_processes),
    "Dask": ("distributed", with_dask),
    "Dask, one of three workers killed": ("distributed", with_killed_worker),
    "Ray": ("ray", with_ray),
    "Spark": ("pyspark", with_spark),
}


def compare(name: str) -> list[Figure]:
    """The rows of one engine."""
    module, _ = ENGINES[name]
    try:
        importlib.import_module(module)
    except ImportError:
        return [Figure(f"{name} ({module})", "not installed")]
    return [compare_values(name, algorithm) for algorithm in ALGORITHMS]


def compare_values(name: str, algorithm: str) -> Figure:
    module, run = ENGINES[name]
    options = {"algorithm": algorithm, "n_orders": 200}
    explainer, X = make_explainer(**options)
    X = X if algorithm == "auto" else X[:600]
    expected = explainer(X, silent=True).values
    start = time.perf_counter()
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
        "Spark cuts rows into batches as it likes. A row of the exact forest and ancestral backends has the same bits "
        "whatever rows come with it; other backends may differ in the last digit then.",
    ]
    record = Record("engines", "Other processes, clusters", "make engines", figures, notes)
    keep(record, root)
    return 0 if record.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
