"""The same rows through one process, Dask, Ray and Spark: equal numbers?

``python -m tests.reliability.engines [ENGINE ...]`` runs each engine that is installed (``dask[distributed]``,
``ray``, ``pyspark`` and Java) on this machine, loopback only. The code is that of ``docs/howto/distributed.md``.
"""

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version

import joblib
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from tests.reliability.records import Figure, Record, keep, kept

TARGET = "XrayReport"
N_ROWS = 6000


def make_explainer(**options) -> tuple[AsymmetricExplainer, pd.DataFrame]:
    network = load_network("child")
    data = sample_rows(network, N_ROWS, seed=0)
    X, y = data.drop(columns=TARGET), data[TARGET]
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=6, random_state=0)).fit(X, y)
    return AsymmetricExplainer(model, network, seed=0, **options), X


def with_processes(explainer: AsymmetricExplainer, X: pd.DataFrame) -> np.ndarray:
    with joblib.parallel_config(n_jobs=2):
        return explainer(X, silent=True).values


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


def with_dask(explainer: AsymmetricExplainer, X: pd.DataFrame, kill: bool = False) -> np.ndarray:
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50)
    with cluster, Client(cluster) as client, joblib.parallel_config(backend="dask"):
        if kill:
            explainer(X[:200], silent=True)  # everything is imported and compiled
            lost = kill_at_work(client)
        values = explainer(X, silent=True).values
        assert not kill or lost(), "no block was on the worker when it was killed"
        return values


def with_killed_worker(explainer: AsymmetricExplainer, X: pd.DataFrame) -> np.ndarray:
    return with_dask(explainer, X, kill=True)


def with_ray(explainer: AsymmetricExplainer, X: pd.DataFrame) -> np.ndarray:
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config(backend="ray", n_jobs=2):
            return explainer(X, silent=True).values
    finally:
        ray.shutdown()


def with_spark(explainer: AsymmetricExplainer, X: pd.DataFrame) -> np.ndarray:
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
        return table.mapInPandas(explain, schema).toPandas().sort_values("row")[features].to_numpy()
    finally:
        spark.stop()


ENGINES: dict[str, tuple[str, Callable[[AsymmetricExplainer, pd.DataFrame], np.ndarray]]] = {
    "two processes": ("joblib", with_processes),
    "Dask": ("distributed", with_dask),
    "Dask, one of three workers killed": ("distributed", with_killed_worker),
    "Ray": ("ray", with_ray),
    "Spark": ("pyspark", with_spark),
}


def compare(name: str, algorithm: str) -> Figure | None:
    module, run = ENGINES[name]
    try:
        importlib.import_module(module)
    except ImportError:
        print(f"{name}: {module} is not installed")
        return None
    options = {"algorithm": algorithm, "n_orders": 200}
    explainer, X = make_explainer(**options)
    X = X if algorithm == "auto" else X[:600]
    expected = explainer(X, silent=True).values
    start = time.perf_counter()
    found = run(explainer, X)
    seconds = time.perf_counter() - start
    expected = expected if found.ndim == 3 else expected[..., 0]
    same = bool(np.array_equal(found, expected))
    text = "same bits" if same else f"differ by {np.abs(found - expected).max():.0e}"
    asked, holds = "same bits", same
    if name == "Spark" and algorithm != "auto":  # it cuts rows as it likes
        asked, holds = "within 1e-12", bool(np.allclose(found, expected, rtol=0, atol=1e-12))
    return Figure(f"{name} ({module} {version(module)}), {algorithm}", f"{text} ({seconds:.0f} s)", asked, holds)


def main(names: list[str]) -> None:
    figures = []
    for name in names or list(ENGINES):
        for algorithm in ("auto", "orders x terms"):
            figure = compare(name, algorithm)
            if figure is not None:
                print(figure, flush=True)
                figures.append(figure)
    notes = [
        f"{N_ROWS:,} rows (600 where orders are sampled) of child, a decision tree with 5 outputs; every engine on one "
        "machine, loopback only. Seconds contain the start of the engine, on a machine that was busy otherwise.",
        "Spark cuts rows into batches as it likes. A row of the exact forest and ancestral backends has the same bits "
        "whatever rows come with it; other backends may differ in the last digit then.",
    ]
    # engines may be run one by one: what the others gave is kept
    news = {figure.what: figure for figure in figures}
    before = [figure for record in kept() if record.name == "engines" for figure in record.figures]
    figures = list(({figure.what: figure for figure in before} | news).values())
    keep(Record("engines", "Other processes, clusters", "make engines", figures, notes))


if __name__ == "__main__":
    main(sys.argv[1:])
