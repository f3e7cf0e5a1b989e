"""Saved here, read there, and the other way round: ``python -m tests.reliability.versions OTHER_PYTHON``.

``OTHER_PYTHON`` is the interpreter of another environment in which shap_asv is installed, with another version of
Python, of shap, or both. ``make compatibility`` leaves some of them:

    build/compatibility/oldest/environment/bin/python
    build/compatibility/newest/1/environment/bin/python

``... versions --save FOLDER JOB ...`` saves explainers and prints a digest of what each gives, ``--load`` reads them,
through AsymmetricExplainer.load and shap.Explainer.load, and does the same.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import shap

from shap_asv import AsymmetricExplainer
from tests.reliability.apart import apart
from tests.reliability.jobs import JOBS, rows_for
from tests.reliability.records import Figure, Record, keep

# Functions that cannot be imported are stored as code of one Python: all jobs have models that can.
NAMES = (
    "forest",
    "ideals x closures",
    "orders x terms",
    "ideals x linear",
    "ideals x marginal",
    "monte_carlo",
)


def given(explainer: Any) -> list:
    """Values and base values of a few rows; numbers survive JSON to the last bit."""
    explanation = explainer(rows_for(explainer, 20), silent=True)
    return [explanation.values.tolist(), explanation.base_values.tolist()]


def save(path: Path, name: str) -> list:
    explainer = JOBS[name]()
    explainer.save(path)
    return [given(explainer)]


def load(path: Path, name: str) -> list:
    with open(path, "rb") as stream:
        return [given(AsymmetricExplainer.load(path)), given(shap.Explainer.load(stream))]


def describe(python: str) -> str:
    code = "import platform, shap; print(f'Python {platform.python_version()}, shap {shap.__version__}')"
    done = subprocess.run([python, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def travel(writer: str, reader: str) -> Figure:
    with TemporaryDirectory() as folder:
        before = apart("versions", "--save", folder, *NAMES, python=writer)
        after = apart("versions", "--load", folder, *NAMES, python=reader)
    same = sum(ours == theirs == written for (written,), (ours, theirs) in zip(before, after, strict=True))
    gaps = [np.abs(np.subtract(a[0], b[0][0])).max() for b, read in zip(before, after, strict=True) for a in read]
    return Figure(
        f"written with {describe(writer)}, read with {describe(reader)}",
        f"{same} of {len(NAMES)} explainers give the same bits, largest difference {max(gaps):.0e}",
        "within 1e-12",
        max(gaps) < 1e-12,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("python", nargs="?", help="the interpreter of another environment")
    parser.add_argument("--save", nargs="+", metavar="FOLDER JOB")
    parser.add_argument("--load", nargs="+", metavar="FOLDER JOB")
    options = parser.parse_args()
    for (folder, *names), verb in ((options.save or [""], save), (options.load or [""], load)):
        for name in names:
            print(json.dumps(verb(Path(folder) / name, name)))
    if options.save or options.load:
        return
    if options.python is None:
        parser.error("make versions OTHER_PYTHON=PYTHON: the interpreter of another environment is missing")
    figures = [travel(sys.executable, options.python), travel(options.python, sys.executable)]
    notes = ["Each file is opened through AsymmetricExplainer.load and through shap.Explainer.load."]
    keep(Record("versions", "Saved explainers in other environments", "make versions", figures, notes))


if __name__ == "__main__":
    main()
