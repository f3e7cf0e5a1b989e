"""woodelf as a participant on tables: Shapley values of XGBoost's trees, without a causal order.

``options["ground"]`` is the number of background rows (the last ones of the table); 0 stands for cover counts.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.table_work import TableAnswer, TableWork, serve, timed_values

LIBRARIES = ("woodelf", "treelite", "pandas", "xgboost")


def run(work: TableWork, options: dict[str, Any]) -> TableAnswer:
    from woodelf import WoodelfExplainer

    def explain(explainer: Any, rows: np.ndarray) -> Any:
        return explainer.shap_values(work.frame(rows), verbose=False)

    def make() -> Any:
        ground = work.background(options["ground"])
        return WoodelfExplainer(work.regressor(), None if ground is None else work.frame(ground))

    return timed_values(version("woodelf_explainer"), work, make, explain)


if __name__ == "__main__":
    serve(run, LIBRARIES)
