"""woodelf on the two models of ``benchmarks/trees_alone.py``: Shapley values without a causal order.

A folder holds a model (``model.pkl``), rows and background rows (``rows.npz``); the answer is ``woodelf.npz``: CPU
seconds and values for each number of rows, with cover counts (0) and with the background rows. The model is parsed by
a first call that is not timed. Runs in an environment of its own, with the versions of the libraries that wrote the
model.
"""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path

import numpy as np


def run(folder: Path, counts: list[int]) -> None:
    import pandas as pd
    from woodelf import WoodelfExplainer

    model = pickle.loads((folder / "model.pkl").read_bytes())  # written a moment ago
    with np.load(folder / "rows.npz") as file:
        rows, ground = (pd.DataFrame(file[name]).add_prefix("f") for name in ("rows", "ground"))
    answer = {}
    for background in (None, ground):
        explainer = WoodelfExplainer(model, background)
        explainer.shap_values(rows[:2], verbose=False)
        for n_rows in counts:
            start = time.process_time()
            values = explainer.shap_values(rows[:n_rows], verbose=False)
            seconds = time.process_time() - start
            key = f"{n_rows}_{0 if background is None else len(ground)}"
            answer[f"seconds_{key}"], answer[f"values_{key}"] = np.array(seconds), np.asarray(values)
    np.savez(folder / "woodelf.npz", **answer)


if __name__ == "__main__":
    run(Path(sys.argv[1]), [int(count) for count in sys.argv[2:]])
