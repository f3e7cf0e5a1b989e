"""Saved here, read there, and the other way round: ``python -m tests.reliability.versions OTHER_PYTHON``.

``OTHER_PYTHON`` is the interpreter of another environment in which shap_asv is installed.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.reliability.jobs import JOBS
from tests.reliability.records import Figure, Record, keep

ROOT = Path(__file__).parents[2]
USAGE = """usage: make versions OTHER_PYTHON=PYTHON
       python -m tests.reliability.versions PYTHON

PYTHON is the interpreter of another environment in which shap_asv is installed, with another version of Python, of
shap, or both. make compatibility leaves some of them:
    build/compatibility/oldest/environment/bin/python
    build/compatibility/newest/1/environment/bin/python
or make one:
    python3.12 -m venv build/other && build/other/bin/python -m pip install ."""
# Functions that cannot be imported are stored as code of one Python: all jobs have models that can.
NAMES = (
    "forest",
    "ideals x closures",
    "orders x terms",
    "ideals x linear",
    "ideals x marginal",
    "orders x monte_carlo",
)


def describe(python: str) -> str:
    code = "import platform, shap; print(f'Python {platform.python_version()}, shap {shap.__version__}')"
    return subprocess.run(
        [python, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def travel(writer: str, reader: str) -> Figure:
    with TemporaryDirectory() as folder:
        for python, verb in ((writer, "save"), (reader, "load")):
            command = [python, "-W", "ignore", "-m", "tests.reliability.saved", verb, folder, *NAMES]
            subprocess.run(command, cwd=ROOT, check=True)
        same = largest = 0.0
        for name in NAMES:
            before, after = np.load(Path(folder) / f"{name}.saved.npz"), np.load(Path(folder) / f"{name}.npz")
            same += all(np.array_equal(before["ours"], after[way]) for way in ("ours", "shaps"))
            largest = max(largest, float(np.abs(before["ours"] - after["ours"]).max()))
    return Figure(
        f"written with {describe(writer)}, read with {describe(reader)}",
        f"{same:.0f} of {len(NAMES)} explainers give the same bits, largest difference {largest:.0e}",
        "within 1e-12",
        largest < 1e-12,
    )


def main(other: str) -> None:
    assert set(NAMES) <= set(JOBS)
    figures = [travel(sys.executable, other), travel(other, sys.executable)]
    notes = ["Each file is opened through AsymmetricExplainer.load and through shap.Explainer.load."]
    keep(Record("versions", "Saved explainers in other environments", "make versions", figures, notes))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(USAGE)
    main(sys.argv[1])
