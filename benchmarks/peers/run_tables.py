"""This package and shap as participants on tables.

``options["who"]``: "whole table" (attributions by ``AsymmetricExplainer(model, table, causes)``, what a user writes),
"conditional" (nu of the background that is fitted there), "gaussian" (``GaussianModel.fit``), "linear" and "shap
linear" (Shapley values of a linear model over Gaussian features: ours, and ``shap.LinearExplainer`` with the
covariance), "trees", "trees in levels" and "shap trees" (XGBoost with its cover counts, or with the last
``options["ground"]`` rows of the table: ours without and with levels, and ``shap.TreeExplainer``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.table_work import TableAnswer, TableWork, serve, timed_answer, timed_values

#: shap_asv imports its own modules when they are needed.
OWN = ("shap_asv.explainer.asymmetric", "shap_asv.backends.trees.attributor", "shap_asv.backgrounds.choice.scoring")
LIBRARIES = (
    *OWN,
    "shap",
    "pandas",
    "scipy.stats",
    "sklearn.linear_model",
    "tests.oracles.structural_models",
    "xgboost",
)


def causes(work: TableWork) -> Any:
    from shap_asv import CausalOrder

    if work.edges is not None:
        return [(cause, effect) for cause, effect in work.edges]
    return None if work.levels is None else CausalOrder.from_levels(work.levels)


def run(work: TableWork, options: dict[str, Any]) -> TableAnswer:
    who = options["who"]
    if who.startswith("shap "):
        return run_shap(work, who, options)
    import shap_asv
    from shap_asv import AsymmetricExplainer, GaussianModel
    from shap_asv.backgrounds.choice.scoring import coalition_values

    table = work.frame(work.table)
    if who == "linear":
        return timed_values(
            shap_asv.__version__,
            work,
            lambda: AsymmetricExplainer(linear_model(work), GaussianModel.fit(table), seed=0, silent=True),
            lambda explainer, rows: explainer(work.frame(rows), silent=True).values,
        )
    if who.startswith("trees"):
        order = causes(work) if who == "trees in levels" else None
        told: dict[str, Any] = {"causal_graph": order, "feature_names": work.names, "silent": True}
        if options["ground"]:
            told |= {"masker": work.frame(work.background(options["ground"])), "values": "marginal"}
        return timed_values(
            shap_asv.__version__,
            work,
            lambda: AsymmetricExplainer(work.regressor(), **told),
            lambda explainer, rows: explainer(work.frame(rows), silent=True).values,
        )

    if who == "whole table":
        return timed_answer(
            shap_asv.__version__,
            lambda: AsymmetricExplainer(work.regressor(), table, causes(work), seed=0, silent=True),
            lambda explainer: explainer(work.frame(work.rows), silent=True).values,
            "values",
        )

    def fit() -> Any:
        if who == "gaussian":
            return GaussianModel.fit(table)
        options = {"feature_names": work.names, "seed": 0, "silent": True}
        return AsymmetricExplainer(work.predict_frame, table, causes(work), values="conditional", **options).masker

    def values(background: Any) -> np.ndarray:
        # a structural model has a background of its features
        background = background.background(work.names) if hasattr(background, "background") else background
        rows = background.read(work.frame(work.rows))
        return coalition_values(background, work.predict_frame, rows, work.coalitions, work.n_draws)[:, :, 0]

    return timed_answer(shap_asv.__version__, fit, values)


def run_shap(work: TableWork, who: str, options: dict[str, Any]) -> TableAnswer:
    import shap

    if who == "shap linear":
        np.random.seed(0)  # noqa: NPY002 - it draws orders from numpy's global generator
        return timed_values(
            shap.__version__,
            work,
            lambda: shap.LinearExplainer(linear_model(work), shap.maskers.Impute(work.table)),
            lambda explainer, rows: explainer.shap_values(rows),
        )
    return timed_values(
        shap.__version__,
        work,
        lambda: shap.TreeExplainer(work.booster(), work.background(options["ground"])),
        lambda explainer, rows: explainer.shap_values(rows, check_additivity=False),
    )


def linear_model(work: TableWork) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(work.frame(work.table), work.predict(work.table))


if __name__ == "__main__":
    serve(run, LIBRARIES)
