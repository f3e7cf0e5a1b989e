"""The folder of a problem: reads it, calls its model, reads and writes tables of values. Needs numpy alone, and the
library of the model where that is a boosted ensemble.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
PROBLEMS = HERE / "problems"
KINDS = ("marginal", "conditional", "causal", "asymmetric")
Predict = Callable[[np.ndarray], np.ndarray]


class TruthError(ValueError):
    """Something that was handed over does not fit the problem; the message says what, and the way out."""


@dataclass(frozen=True)
class Problem:
    """A problem as its files tell it; tables are arrays with one column for each of ``features``."""

    folder: Path
    about: dict[str, Any]
    features: list[str]
    train: np.ndarray
    explain: np.ndarray
    graph: dict[str, Any]

    @property
    def distribution(self) -> dict[str, Any]:
        """The generating model: what a package that learns from the training rows must not look at."""
        return read_json(self.folder / "distribution.json")

    @property
    def model_file(self) -> Path:
        return self.folder / self.about["model"]["file"]

    @property
    def blocks(self) -> list[list[str]]:
        """Parts of the features that are independent of one another and that the model adds up; mostly all features."""
        return self.about["truth"].get("blocks", [self.features])

    def predict(self) -> Predict:
        return model_of(self.model_file, self.about["model"]["kind"])

    def truth(self, kind: str, what: str = "truth") -> np.ndarray:
        """The exact values of a kind, or (``what="error"``) their standard errors."""
        if kind not in self.about["kinds"]:
            reason = self.about["absent"].get(kind)
            known = ", ".join(self.about["kinds"])
            why = f": {reason}" if reason else ""
            raise TruthError(f"{self.about['name']} has no {kind!r} values{why}; it has {known}")
        return read_values(self.folder / f"{what}_{kind}.csv", self.features, len(self.explain))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def names(root: Path = PROBLEMS) -> list[str]:
    """All problems, by name."""
    return sorted(path.parent.name for path in root.glob("*/problem.json"))


def read(name: str, root: Path = PROBLEMS) -> Problem:
    """The problem of that name."""
    folder = root / name
    if not (folder / "problem.json").exists():
        raise TruthError(f"there is no problem {name!r}; there are: {', '.join(names(root))}")
    about = read_json(folder / "problem.json")
    features = [feature["name"] for feature in about["features"]]
    tables = {
        name: read_values(folder / f"{name}.csv", features, about[f"{name}_rows"]) for name in ("train", "explain")
    }
    return Problem(folder, about, features, tables["train"], tables["explain"], read_json(folder / "graph.json"))


def read_values(path: Path, features: Sequence[str], n_rows: int) -> np.ndarray:
    """A table with a column ``row`` and one for each feature, in any order, as an array (rows, features)."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise TruthError(f"{path} has no rows; it needs {n_rows}, with columns row, {', '.join(features)}")
    lacking = [name for name in ("row", *features) if name not in rows[0]]
    if lacking:
        raise TruthError(f"{path} has no column {', '.join(lacking)}; it needs row, {', '.join(features)}")
    found = np.full((n_rows, len(features)), np.nan)
    seen = set()
    for line in rows:
        try:
            row, numbers = int(line["row"]), [float(line[name]) for name in features]
        except (TypeError, ValueError):
            raise TruthError(f"{path}, row {line['row']!r}: not a number among {list(line.values())}") from None
        if not 0 <= row < n_rows or row in seen:
            raise TruthError(f"{path}: row {row} is not to be there (or twice); rows are 0 to {n_rows - 1}, once each")
        seen.add(row)
        found[row] = numbers
    if len(seen) < n_rows:
        missing = sorted(set(range(n_rows)) - seen)
        raise TruthError(f"{path} lacks the rows {missing[:5]}; every row of the problem is needed, once")
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0]
        raise TruthError(f"{path}, row {row}: {features[column]} is {found[row, column]}; values are finite numbers")
    return found


def write_values(path: Path, features: Sequence[str], values: np.ndarray, digits: int = 8) -> None:
    """The same table, written; numbers with so many significant digits."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", *features])
        writer.writerows([k, *(f"{x:.{digits}g}" for x in row)] for k, row in enumerate(values))


def model_of(path: Path, kind: str) -> Predict:
    """The model of a file, a function from rows (m, features) to m numbers."""
    if kind == "xgboost":
        import xgboost

        booster = xgboost.Booster({"nthread": 1}, model_file=str(path))
        return lambda X: booster.inplace_predict(np.asarray(X, dtype=np.float32)).astype(float)
    if kind == "lightgbm":
        import lightgbm

        trees = lightgbm.Booster(model_file=str(path))
        return lambda X: np.asarray(trees.predict(np.asarray(X, dtype=float), num_threads=1))
    told = read_json(path)
    made = {"linear": _linear, "neural network": _neural_network, "decision tree": _decision_tree}
    return made[kind]({key: np.array(x) for key, x in told.items() if key not in ("kind", "layers")}, told)


def _linear(arrays: dict[str, np.ndarray], told: dict) -> Predict:
    return lambda X: X @ arrays["coefficients"] + arrays["intercept"]


def _neural_network(arrays: dict[str, np.ndarray], told: dict) -> Predict:
    layers = [(np.array(layer["weights"]), np.array(layer["bias"])) for layer in told["layers"]]

    def predict(X: np.ndarray) -> np.ndarray:
        for weights, bias in layers[:-1]:
            X = np.tanh(X @ weights + bias)
        weights, bias = layers[-1]
        return (X @ weights + bias)[:, 0]

    return predict


def _decision_tree(arrays: dict[str, np.ndarray], told: dict) -> Predict:
    feature, threshold, left, right, value = (arrays[k] for k in ("feature", "threshold", "left", "right", "value"))

    def predict(X: np.ndarray) -> np.ndarray:
        at = np.zeros(len(X), dtype=int)
        while (inner := left[at] >= 0).any():
            down = X[np.arange(len(X)), feature[at]] <= threshold[at]
            at = np.where(inner, np.where(down, left[at], right[at]), at)
        return value[at]

    return predict
