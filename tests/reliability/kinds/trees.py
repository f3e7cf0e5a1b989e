"""Trees without a network: cover counts or background rows, by walking the trees that the libraries themselves write
down."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from tests.oracles import tree_games, tree_readers
from tests.reliability.kinds.asking import Kind, Question, ask, asked
from tests.reliability.kinds.causality import FORMS, known_causes

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 5, 1),
    "model": (
        "tree",
        "tree of two outputs",
        "forest",
        "forest of classes",
        "extra trees",
        "boosting",
        "xgboost",
        "xgboost of classes",
        "lightgbm",
        "lightgbm of classes",
    ),
    "depth": (1, 2, 4, 6),
    "missing": (False, False, True),
    "ground": ("covers", "covers", "rows", "one row"),
    "causes": FORMS,
    "also": ("nothing", "every backend", "symmetric", "groups", "importance", "sensitivity", "saved", "one row"),
}
KNOW_GAPS = ("tree", "forest", "xgboost", "xgboost of classes", "lightgbm", "lightgbm of classes")


def _fitted(case: SimpleNamespace, X: pd.DataFrame, rng: np.random.Generator) -> tuple[Any, list, np.ndarray]:
    """The model, its trees as nested dictionaries, and what is added to their sum."""
    filled = X.fillna(0.3).to_numpy()
    y = filled @ rng.normal(size=case.n) + 2.0 * (filled[:, 0] * filled[:, -1] > 0.5)
    seed, small = case.seed % 1000, {"max_depth": case.depth, "random_state": case.seed % 1000}
    if case.model == "tree":
        tree = DecisionTreeRegressor(**small).fit(X, y)
        return tree, [tree_readers.from_scikit_learn(tree)], np.zeros(1)
    if case.model == "tree of two outputs":
        tree = DecisionTreeRegressor(**small).fit(X, np.column_stack([y, filled[:, 0] ** 2]))
        return tree, [tree_readers.from_scikit_learn(tree)], np.zeros(2)
    if case.model in ("forest", "extra trees"):
        kind = RandomForestRegressor if case.model == "forest" else ExtraTreesRegressor
        forest = kind(3, **small).fit(X, y)
        return forest, [tree_readers.from_scikit_learn(tree, 1 / 3) for tree in forest.estimators_], np.zeros(1)
    if case.model == "forest of classes":
        classes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
        forest = RandomForestClassifier(3, **small).fit(X, classes)
        trees = [tree_readers.from_scikit_learn(tree, 1 / 3, shares=True) for tree in forest.estimators_]
        return forest, trees, np.zeros(len(forest.classes_))
    if case.model == "boosting":
        model = GradientBoostingRegressor(n_estimators=3, **small).fit(X, y)
        trees = [tree_readers.from_scikit_learn(tree, 0.1) for tree in model.estimators_[:, 0]]
        return model, trees, np.full(1, y.mean())
    target: Any = y > np.median(y) if case.model.endswith("classes") else y
    if case.model.startswith("xgboost"):
        import xgboost

        kind = xgboost.XGBClassifier if case.model.endswith("classes") else xgboost.XGBRegressor
        model = kind(n_estimators=3, max_depth=case.depth, n_jobs=1, base_score=0.5, random_state=seed).fit(X, target)
        offset = 0.0 if case.model.endswith("classes") else 0.5  # the logit of one half
        return model, tree_readers.from_xgboost(model, list(X.columns)), np.full(1, offset)
    import lightgbm

    kind = lightgbm.LGBMClassifier if case.model.endswith("classes") else lightgbm.LGBMRegressor
    options = {"n_estimators": 3, "max_depth": case.depth, "min_child_samples": 3, "verbose": -1, "n_jobs": 1}
    model = kind(**options, random_state=seed).fit(X, target)
    return model, tree_readers.from_lightgbm(model), np.zeros(1)


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 7])
    names = [f"x{k}" for k in range(case.n)]
    values = rng.integers(-6, 7, size=(70, case.n)) / 2.0  # rows sit on thresholds, and are the same in float32
    values[:2] = [[-3.0] * case.n, [3.0] * case.n]
    if case.missing and case.model in KNOW_GAPS:
        values[rng.random(values.shape) < 0.15] = np.nan
    table = pd.DataFrame(values, columns=names)
    model, trees, offset = _fitted(case, table, rng)
    X = table.iloc[rng.integers(70, size=3)].reset_index(drop=True)
    X += rng.integers(-1, 2, size=X.shape) / 4.0
    rows = X.to_numpy()
    ground = {"covers": None, "rows": values[10:17], "one row": values[10:11]}[case.ground]
    causes = known_causes(case.causes, names, rng)

    def nu(r: int, members: frozenset[int]) -> np.ndarray:
        return offset + tree_games.value(trees, rows[r], members, ground)

    masker = None if ground is None else pd.DataFrame(ground, columns=names)
    meant = {"feature_perturbation": "tree_path_dependent"} if ground is None else {"values": "marginal"}
    explainer = asked(model, masker, causes, names, case, **meant)
    whole = frozenset(range(case.n))
    scale = max(1.0, *(float(np.abs(nu(r, whole)).max()) for r in range(len(rows))))
    precision = 3e-6 if case.model.startswith("xgboost") else 1e-9
    has_games = ground is not None
    slack = precision * scale
    ask(Question(explainer, X, names, causes, nu, slack, slack, has_games=has_games), case.also)


TREES = Kind(
    "trees without a network",
    2,
    CHOICES,
    check,
    "one of 10 kinds of tree models of scikit-learn, XGBoost and LightGBM, gaps included, over its cover counts, over "
    "7 background rows or over one, causes as above; the oracle walks the trees as the libraries write them down, both "
    "ways at features that are not known. Agreement to 1e-9 of the scale, 3e-6 for XGBoost.",
)
