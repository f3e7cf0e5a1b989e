"""Save explainers in one process, read them in another, perhaps with another Python and another shap.

``python -m tests.reliability.saved save FOLDER JOB ...`` writes explainers and the values they give;
``python -m tests.reliability.saved load FOLDER JOB ...`` reads the explainers and writes their values beside.
"""

import sys
from pathlib import Path

import numpy as np
import shap

from shap_asv import AsymmetricExplainer
from tests.reliability.jobs import JOBS, rows_for


def save(folder: Path, name: str) -> None:
    explainer = JOBS[name]()
    explainer.save(folder / name)
    explanation = explainer(rows_for(explainer, 20), silent=True)
    np.savez(folder / f"{name}.saved.npz", ours=explanation.values, base=explanation.base_values)


def load(folder: Path, name: str) -> None:
    ours = AsymmetricExplainer.load(folder / name)
    with open(folder / name, "rb") as stream:
        shaps = shap.Explainer.load(stream)
    explanation = ours(rows_for(ours, 20), silent=True)
    same = shaps(rows_for(shaps, 20), silent=True)
    np.savez(folder / f"{name}.npz", ours=explanation.values, shaps=same.values, base=explanation.base_values)


if __name__ == "__main__":
    for job in sys.argv[3:]:
        {"save": save, "load": load}[sys.argv[1]](Path(sys.argv[2]), job)
