"""shapiq as a participant: its imputers as value functions, and its explainer of trees.

``options["imputer"]``: "gaussian", "copula", "generative" (neighbours by an XGBoost embedding) or "marginal";
``options["rows"]``: as many are explained, and the time is multiplied. ``options["imputer"] = "trees"`` is its
``TreeExplainer`` with Shapley values and cover counts.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.table_work import TableAnswer, TableWork, serve, timed_answer, timed_values

LIBRARIES = ("shapiq", "pandas", "tests.oracles.structural_models", "xgboost")


def run(work: TableWork, options: dict[str, Any]) -> TableAnswer:
    import shapiq

    if options["imputer"] == "trees":
        return explain_trees(work)
    imputers: dict[str, Any] = {
        "gaussian": lambda: shapiq.imputer.GaussianImputer(
            work.predict, work.table, sample_size=work.n_draws, random_state=0
        ),
        "copula": lambda: shapiq.imputer.GaussianCopulaImputer(
            work.predict, work.table, sample_size=work.n_draws, random_state=0
        ),
        "generative": lambda: shapiq.imputer.GenerativeConditionalImputer(
            work.predict, work.table, sample_size=work.n_draws, normalize=False, random_state=0
        ),
        "marginal": lambda: shapiq.imputer.MarginalImputer(
            work.predict, work.table, sample_size=work.n_draws, normalize=False, random_state=0
        ),
    }

    def values(imputer: Any) -> np.ndarray:
        # what it calls normalisation takes the empty coalition off: attributions do not see it
        return np.array([np.ravel(imputer.fit(row).value_function(work.coalitions)) for row in rows])

    rows = work.rows[: options.get("rows")]
    return timed_answer(version("shapiq"), imputers[options["imputer"]], values).for_rows(len(work.rows), len(rows))


def explain_trees(work: TableWork) -> TableAnswer:
    import shapiq

    def values(explainer: Any, rows: np.ndarray) -> np.ndarray:
        found = [explainer.explain(row) for row in rows]
        return np.array([[one.dict_values.get((k,), 0.0) for k in range(len(work.names))] for one in found])

    def make() -> Any:
        model = work.regressor()
        # a model that was read back has a list here, which shapiq would divide
        model.base_score = float(np.ravel(model.base_score)[0])
        return shapiq.TreeExplainer(model, index="SV", max_order=1)

    return timed_values(version("shapiq"), work, make, values, only=10)


if __name__ == "__main__":
    serve(run, LIBRARIES)
