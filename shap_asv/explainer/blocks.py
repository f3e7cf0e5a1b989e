"""Blocks of rows, one after the other or through joblib: bounded memory, and the same bits either way.

Where the cuts are is decided by the rows and the backend alone, or else by a backend whose rows do not see one
another (``rowwise``); so the number of processes shows in no bit of a result. What is ready for rows travels to
another process once, as bytes, and is unpacked there once, however many blocks follow. Where compiled code does nearly
all of the work, threads share what is ready: nothing has to start, and nothing to travel.
"""

import pickle
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from hashlib import blake2b
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from shap_asv.backends.contract import Attribution, Attributor
from shap_asv.backends.pace import look_up, stopped_by
from shap_asv.errors import ShapAsvError
from shap_asv.explainer.progress import ProgressBar

#: Fewer rows than this are not worth a process.
SMALLEST_BLOCK = 64
#: Numbers in the attributions of one block: 2**23 are 64 MiB.
BLOCK_LIMIT = 2**23
#: Seconds between two looks at how far threads are.
GLANCE = 0.1


def count_jobs(n_jobs: int | None) -> int:
    """Processes that ``n_jobs`` stands for: None is one, or what ``joblib.parallel_config`` says."""
    import joblib

    return int(joblib.effective_n_jobs(n_jobs))


def count_local_jobs(n_jobs: int | None) -> int:
    """Processes on this machine, which share its memory; those of a cluster have their own."""
    return count_jobs(n_jobs) if _is_local() else 1


def _is_local() -> bool:
    from joblib.parallel import get_active_backend

    return type(get_active_backend()[0]).__module__.startswith("joblib._parallel_backends")


def cut_rows(n_rows: int, largest: int, n_numbers: int, rowwise: bool, jobs: int) -> list[slice]:
    """Slices of rows, of at most ``largest`` rows each; a row has ``n_numbers`` attributions.

    Two blocks for each process where rows do not see one another. Where they do, at least four blocks whatever the
    number of processes.

    Examples
    --------
    >>> [block.stop for block in cut_rows(1000, 2048, 19, rowwise=True, jobs=1)]
    [1000]
    >>> [block.stop for block in cut_rows(1000, 2048, 19, rowwise=True, jobs=2)]
    [250, 500, 750, 1000]
    >>> cut_rows(1000, 2048, 19, rowwise=False, jobs=1) == cut_rows(1000, 2048, 19, rowwise=False, jobs=8)
    True
    """
    wanted = (2 * jobs if jobs > 1 else 1) if rowwise else 4
    size = min(largest, max(SMALLEST_BLOCK, -(-n_rows // wanted)), max(1, BLOCK_LIMIT // max(1, n_numbers)))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def run_blocks(
    attributor: Attributor,
    rows: np.ndarray,
    weights: np.ndarray,
    cuts: list[slice],
    n_jobs: int | None,
    bar: ProgressBar,
) -> Iterator[tuple[slice, Attribution]]:
    """Attributions block by block, in order. ``weights`` (r,): how many rows of the user a row stands for."""
    if len(cuts) == 1 or count_jobs(n_jobs) == 1:
        for block in cuts:
            count = int(weights[block].sum())
            part = attributor.attribute(rows[block], bar.within(count))
            bar.finish(count)
            yield block, part
        return
    if _threads_will_do(attributor):
        yield from _in_threads(attributor, rows, weights, cuts, count_jobs(n_jobs), bar)
        return
    try:
        for block, part in zip(cuts, _in_processes(pack(attributor), rows, cuts, n_jobs), strict=True):
            bar.finish(int(weights[block].sum()))
            yield block, part
    except BrokenProcessPool as error:
        raise ShapAsvError(
            "a process that explained rows was killed; out of memory? Use a smaller n_jobs=, or fewer rows at a time"
        ) from error


def _threads_will_do(attributor: Attributor) -> bool:
    """Whether compiled code does the work, and joblib was not told to use another engine than threads."""
    from joblib.parallel import ThreadingBackend, get_active_backend

    return attributor.compiled and isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend)


def _in_threads(
    attributor: Attributor, rows: np.ndarray, weights: np.ndarray, cuts: list[slice], jobs: int, bar: ProgressBar
) -> Iterator[tuple[slice, Attribution]]:
    """A caller that stops, by Ctrl-C or an error, waits only until the threads look up the next time."""
    counts = [int(weights[block].sum()) for block in cuts]
    shares, stopped = [0.0] * len(cuts), Event()

    def attribute(place: int) -> Attribution:
        def report(share: float) -> None:
            look_up()
            shares[place] = share

        with stopped_by(stopped):
            return attributor.attribute(rows[cuts[place]], report)

    waiting: deque[Future[Attribution]] = deque()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for place, block in enumerate(cuts):
                while len(waiting) < min(2 * jobs, len(cuts) - place):  # not all results at once
                    waiting.append(pool.submit(attribute, place + len(waiting)))
                first = waiting.popleft()
                while wait([first], GLANCE).not_done:
                    bar.reach(sum(share * count for share, count in zip(shares[place:], counts[place:], strict=True)))
                part = first.result()
                bar.finish(counts[place])
                yield block, part
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


def _in_processes(parcel: "Parcel", rows: np.ndarray, cuts: list[slice], n_jobs: int | None) -> Iterator[Attribution]:
    import joblib
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    if type(backend).__module__ == "joblib._dask":
        yield from _on_dask(backend, parcel, rows, cuts, count_jobs(n_jobs))
        return
    run = joblib.delayed(attribute_parcel)
    if _is_local():
        tasks = [run(*parcel, rows[block]) for block in cuts]
    else:  # whatever another engine does with arrays, bytes go along with their block
        content = parcel.content.tobytes()
        tasks = [run(parcel.name, content, pickle.dumps(rows[block])) for block in cuts]
    # one block per task: joblib would otherwise gather quick ones, and a bar would wait for them
    if backend.supports_return_generator:
        yield from joblib.Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)(tasks)
        return
    wave = 4 * count_jobs(n_jobs)  # not all results at once
    for first in range(0, len(tasks), wave):
        yield from joblib.Parallel(n_jobs=n_jobs, batch_size=1)(tasks[first : first + wave])


def _on_dask(backend: Any, parcel: "Parcel", rows: np.ndarray, cuts: list[slice], jobs: int) -> Iterator[Attribution]:
    """Blocks as tasks of Dask's own.

    Through joblib, an error that is Dask's and not the task's (its workers died too often, no worker is left) would
    not reach the caller, which would wait for ever. Arrays would be placed on a worker beforehand, and be lost with
    it; bytes go along with their block.
    """
    from distributed import KilledWorker

    content = parcel.content.tobytes()
    waiting: deque[Any] = deque()
    try:
        with backend.retrieval_context():  # a caller that is itself a task of Dask makes room meanwhile
            for block in cuts:
                waiting.append(
                    backend.client.submit(
                        attribute_parcel,
                        parcel.name,
                        content,
                        pickle.dumps(rows[block]),
                        pure=False,
                        **backend.submit_kwargs,
                    )
                )
                if len(waiting) >= 2 * jobs:  # not all results at once
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except KilledWorker as error:
        raise ShapAsvError(
            f"workers that explained the same rows died, one after the other; out of memory? Dask says: {error}"
        ) from error
    finally:
        if waiting:
            backend.client.cancel(list(waiting))


# --- travelling to other processes ----------------------------------------------------------------------------------


class Parcel(NamedTuple):
    """An attributor as bytes. An array, because joblib shares large arrays between processes instead of copying."""

    name: str
    content: np.ndarray


def pack(attributor: Attributor) -> Parcel:
    """Pickle by value what cannot be imported elsewhere, such as functions of a notebook."""
    import cloudpickle

    content = cloudpickle.dumps(attributor)
    return Parcel(blake2b(content, digest_size=16).hexdigest(), np.frombuffer(content, dtype=np.uint8))


_UNPACKED: dict[str, Attributor] = {}


def attribute_parcel(name: str, content: np.ndarray | bytes, rows: np.ndarray | bytes) -> Attribution:
    """Explain rows in another process; the attributor unpacked last is kept for the next block."""
    attributor = _UNPACKED.get(name)
    if attributor is None:
        attributor = pickle.loads(content if isinstance(content, bytes) else np.asarray(content).data)
        _UNPACKED.clear()
        _UNPACKED[name] = attributor
    return attributor.attribute(pickle.loads(rows) if isinstance(rows, bytes) else rows)
