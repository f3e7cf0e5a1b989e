"""Donors: ``nu(S) = sum_k w_k M(x_S, donor_k)``, by levels the sum over donors of donors. The weights and what is lent
are those of ``tests/oracles/donors.py``, which takes from the package what is random alone: the fitted trees of
scikit-learn, the rows that they were grown from, and the landmarks of curves.

Where one label decides a whole row (``determined``), not even that: whoever agrees in anything agrees in everything,
and the rest of the row follows."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from shap_asv import ConditionalTable
from tests.oracles.donors import Donors
from tests.reliability.kinds.asking import ALSO, Kind, Question, ask, asked
from tests.reliability.kinds.causality import FORMS, known_causes, known_levels

CHOICES: dict[str, tuple] = {
    "n": (2, 3, 4, 1),
    "rows": (25, 60),
    "columns": ("numbers", "mixed", "gaps", "constant", "determined"),
    "meaning": ("conditional", "conditional", "causal"),
    "causes": FORMS,
    "also": ALSO,
}
CITIES = np.array(["Aachen", "Bonn", "Cologne"], dtype=object)


def _table(case: SimpleNamespace, rng: np.random.Generator) -> pd.DataFrame:
    if case.columns == "determined":  # three rows, sixty times each
        return pd.DataFrame({f"x{k}": np.tile(rng.permutation(3) + rng.normal(), 60) for k in range(case.n)})
    values = rng.normal(size=(case.rows, case.n)) @ rng.normal(size=(case.n, case.n))
    table = pd.DataFrame(values, columns=[f"x{k}" for k in range(case.n)])
    if case.columns == "mixed":
        table["x0"] = CITIES[np.clip(np.floor(values[:, 0] + 1.5), 0, 2).astype(int)]
        table["x0"] = table["x0"].astype("category").cat.set_categories(list(CITIES))
    elif case.columns == "constant":
        table["x0"] = 2.5
    elif case.columns == "gaps":
        table.loc[rng.random(case.rows) < 0.3, "x0"] = np.nan
    return table


def _coded(X: pd.DataFrame) -> np.ndarray:
    """Categories by their place, gaps as +inf."""
    columns = [
        X[name].cat.codes if isinstance(X[name].dtype, pd.CategoricalDtype) else X[name].fillna(np.inf) for name in X
    ]
    return np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)


def _n_codes(X: pd.DataFrame) -> list[int]:
    return [len(X[name].cat.categories) if isinstance(X[name].dtype, pd.CategoricalDtype) else 0 for name in X]


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 5])
    table = _table(case, rng)
    names = list(table.columns)
    # of eight trees, one row in 256 was in all halves, and tells nothing of them: forests would look a little worse
    n_trees = 24 if case.columns == "determined" else 8
    background = ConditionalTable(table, n_trees=n_trees, seed=case.seed % 97)
    slopes = rng.normal(size=case.n)
    X = table.iloc[rng.integers(case.rows, size=2)].reset_index(drop=True)
    causes, levels, confounded = known_causes(case.causes, names, rng), [], []
    if case.meaning == "causal":
        causes, levels, confounded = known_levels(names, rng, most=2)

    def of_numbers(x: np.ndarray) -> np.ndarray:
        x = np.where(np.isinf(x), -3.0, x)
        return x @ slopes + (x.sum(axis=1) > 0)

    def model(inputs: pd.DataFrame) -> np.ndarray:
        return of_numbers(_coded(inputs))

    def drawn(members: np.ndarray) -> tuple[list, list]:
        """What was drawn at random for a coalition: trees with the rows they were grown from, and landmarks."""
        lending = background._lending(members)
        forests = [(forest.trees, forest.grown_from) for forest in lending.weights.forests]
        return forests, [ridge.basis.landmarks for ridge in lending.smoother.ridges[1:]] if lending.smoother else []

    coded, lent = _coded(X), Donors(_coded(table), _n_codes(table), drawn).lent

    def given(r: int, members: frozenset[int]) -> tuple[np.ndarray, np.ndarray]:
        inside = np.isin(np.arange(case.n), list(members))
        return lent(np.where(inside, coded[r], np.nan))

    def under(r: int, members: frozenset[int]) -> tuple[np.ndarray, np.ndarray]:
        """Level after level: each row so far has donors of its own for what is free in the next."""
        rows, weights = np.full((1, case.n), np.nan), np.ones(1)
        for number, level in enumerate(levels):
            free, fixed = ([v for v in level if (v in members) is known] for known in (False, True))
            found, shares = [], []
            for row, weight in zip(rows, weights, strict=True):
                evidence = row.copy()
                if number not in confounded:
                    evidence[fixed] = coded[r, fixed]
                if not free:
                    drawn, of_donors = evidence[None].copy(), np.ones(1)
                else:
                    others, of_donors = lent(evidence)
                    drawn = np.repeat(row[None], len(others), axis=0)
                    drawn[:, free] = others[:, free]
                drawn[:, fixed] = coded[r, fixed]
                found.append(drawn)
                shares.append(weight * of_donors)
            rows, weights = np.concatenate(found), np.concatenate(shares)
        return rows, weights

    def nu(r: int, members: frozenset[int]) -> float:
        if len(members) == case.n or (case.columns == "determined" and members and case.meaning == "conditional"):
            return float(model(X.iloc[[r]])[0])
        if case.columns == "determined" and not members and case.meaning == "conditional":
            return float(model(table).mean())
        rows, weights = (given if case.meaning == "conditional" else under)(r, members)
        return float(weights @ of_numbers(rows))

    # by levels every draw is a question of its own
    n_draws, sampled = (8192, 0.02) if case.meaning == "conditional" else (1024, 0.05)

    scale = max(1.0, float(np.abs(model(table)).max()))
    explainer = asked(model, background, causes, names, case, values=case.meaning, n_draws=n_draws)
    by_levels = case.meaning == "causal"
    also = "groups" if by_levels and case.also == "sensitivity" else case.also
    ask(Question(explainer, X, names, causes, nu, 1e-9 * scale, sampled * scale, by_levels=by_levels), also)


DONORS = Kind(
    "donors",
    1,
    CHOICES,
    check,
    "a table of 25 or 60 rows (numbers, a category, gaps, a constant) as donors, causes as above, "
    "conditional values or causal ones by levels; the sum over all donors by weights and lent residuals that are "
    "computed again from the fitted trees and landmarks, or over donors of donors. Where one label decides a row, by "
    "hand. Draws within 2% of the scale (5% by levels), and to 1e-9 where the sum itself is taken.",
)
