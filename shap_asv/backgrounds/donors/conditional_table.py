"""A table as a background, without a graph: for any coalition, the rest comes from *donors* that look alike.

``nu(S) = sum_k w_k(x_S) M(x_S, donor_k)``: training row k lends the features outside S, all of them together, so that
their dependence is kept whatever it is. Two things make donors good:

- **adjustment**. A donor is rarely just like x_S. What it lends is therefore not its value but its *residual*: with m
  the conditional mean of the rest given S (:mod:`~shap_asv.backgrounds.donors.smoothers`), the lent value is
  ``m(x_S) + (X^k - m(X^k_S))``, the residual being that of a fit without row k. For linear Gaussian tables this is all
  there is to it, and every row is as good a donor as any other.
- **weights**. Spread, shape and shares of categories depend on x_S as well; weights from forests of several leaf sizes
  (:mod:`~shap_asv.backgrounds.donors.leaf_weights`) prefer donors near x_S, as far as held-out rows ask for it.

Categories, numbers with gaps, and numbers with an atom or few values (at most five) are lent as they are. Whole numbers
are rounded and held inside of the range of the table. One mean and one set of forests per coalition, grown when it is
first asked for, from a seed that belongs to the coalition: results do not depend on the order of the questions.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shap_asv.arguments import check_count, check_seed
from shap_asv.backgrounds.donors.leaf_weights import N_TREES, LeafWeights
from shap_asv.backgrounds.donors.smoothers import Smoother
from shap_asv.backgrounds.tables.border import TableBorder, checked_evidence, checked_uniforms, patterns
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.costs import Cost
from shap_asv.errors import TableError

FEW_VALUES = 5
ATOM = 0.1
N_EVENTS = 16  # quantiles per number that the weights are judged by
KEPT_COALITIONS = 512
#: So few rows are not told apart any further where neighbours are put together.
ALIKE = 8


@dataclass(frozen=True, eq=False)
class Lending:
    """What one coalition needs: the features that are adjusted, their means with residuals, the weights of donors."""

    adjusted: np.ndarray
    smoother: Smoother | None
    weights: LeafWeights


class ConditionalTable(TableBorder):
    """The rows of a table as donors; any coalition, numbers and categories, no graph.

    Parameters
    ----------
    data : DataFrame or array (r, n)
        Numbers, categories, strings, bools, missing values.
    n_trees : int
        Per leaf size.
    n_donors : int
        More rows than this are thinned to so many at random: fits and draws cost in proportion.
    seed : int

    Notes
    -----
    A category that the table does not have is an error when rows are read, and so is a gap in a column without gaps.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 400)
    >>> table = pd.DataFrame({"sex": sex, "height": np.where(sex == "m", 178.0, 165.0) + 6 * rng.normal(size=400)})
    >>> background = ConditionalTable(table)
    >>> rows, weights = background.weighted(np.array([[1.0, np.nan]]))  # a man
    >>> rows.shape, weights.sum().round(12).item()
    ((1, 400, 2), 1.0)
    >>> round((weights[0] @ rows[0, :, 1]).item())
    178
    """

    n_uniforms: ClassVar[int] = 1

    def __init__(self, data: Any, n_trees: int = N_TREES, n_donors: int = 4000, seed: int = 0) -> None:
        n_trees = check_count(n_trees, "n_trees", "a number of trees")
        n_donors = check_count(n_donors, "n_donors", "a number of donors", least=2)
        seed = check_seed(seed)
        self.codec = TableCodec.learn(data)
        rows = self.codec.read(data)
        if len(rows) < 2:
            raise TableError(f"donors are needed: the table has {len(rows)} row(s), at least 2 make sense")
        if len(rows) > n_donors:
            kept = np.random.default_rng([seed, len(rows)]).permutation(len(rows))[:n_donors]
            rows = rows[np.sort(kept)]
        self.rows: np.ndarray = rows
        self.n_trees, self.seed = n_trees, seed
        self._lendings: dict[bytes, Lending] = {}
        self._filling = _column_means(rows)
        self._movable = np.array([self._can_move(k) for k in range(self.n_features)])
        self._tells = (rows != rows[0]).any(axis=0)  # a constant column tells nothing about the others

    def _keep(self, kept: list[int]) -> None:
        self.rows, self._lendings = self.rows[:, kept], {}
        self._filling, self._movable, self._tells = self._filling[kept], self._movable[kept], self._tells[kept]

    def describe(self) -> str:
        return f"adjusted donors, {self.n_features} features, {len(self.rows)} rows"

    # --- conditioning ---------------------------------------------------------------------------------------

    @property
    def n_weighted(self) -> int:
        return len(self.rows)

    def drawing_cost(self, n_coalitions: int, n_rows: int, n_draws: int, ancestral: bool) -> Cost:
        """A coalition is fitted when it is first asked for, and kept."""
        fits = n_coalitions * len(self.rows) * self.n_features
        operations = {"donor fit x feature": fits, "draw": n_coalitions * n_rows * n_draws}
        return Cost(operations, memory=1000 * len(self.rows) * min(n_coalitions, KEPT_COALITIONS))

    def weighted(self, evidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every donor at every evidence row: rows (E, K, n) and weights (E, K) that sum to one. O(E K (n + trees))."""
        evidence = checked_evidence(evidence, self.n_features)
        count = len(self.rows)
        rows, weights = np.empty((len(evidence), count, self.n_features)), np.empty((len(evidence), count))
        for members, chosen in patterns(evidence):
            lending, design = self._asked(evidence[chosen], members)
            weights[chosen] = lending.weights.at(design)
            everyone = np.broadcast_to(np.arange(count), (len(chosen), count))
            rows[chosen] = self._lent(evidence[chosen], members, lending, design, everyone)
        return rows, weights

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n): a uniform number picks the donor, by the inverse of the cumulated weights.

        Donors stand in an order in which neighbours lend much the same, so that uniform numbers that are spread evenly
        give donors that are. uniforms : (D, 1).
        """
        evidence = checked_evidence(evidence, self.n_features)
        levels = checked_uniforms(uniforms, self.n_uniforms)[:, 0]
        return self._drawn(evidence, np.broadcast_to(levels, (len(evidence), len(levels))))

    def paired_draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """One draw for each evidence row, by its own uniform numbers: (Q, n) and (Q, 1) -> rows (Q, n)."""
        evidence = checked_evidence(evidence, self.n_features)
        return self._drawn(evidence, checked_uniforms(uniforms, self.n_uniforms))[:, 0]

    def _drawn(self, evidence: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Evidence (E, n) and numbers (E, D) that pick donors for it -> rows (E, D, n)."""
        result = np.empty((*levels.shape, self.n_features))
        for members, chosen in patterns(evidence):
            lending, design = self._asked(evidence[chosen], members)
            picked = lending.weights.picked(design, levels[chosen])
            result[chosen] = self._lent(evidence[chosen], members, lending, design, picked)
        return result

    # --- the machinery --------------------------------------------------------------------------------------

    def _asked(self, evidence: np.ndarray, members: np.ndarray) -> tuple[Lending, np.ndarray]:
        """What the coalition needs, and the evidence (k, n) as columns of its regressions."""
        return self._lending(members), self._design(evidence, members & self._tells)

    def _lent(
        self, evidence: np.ndarray, members: np.ndarray, lending: Lending, design: np.ndarray, picked: np.ndarray
    ) -> np.ndarray:
        """Rows (k, K, n) that the picked donors (k, K) make for the evidence (k, n)."""
        moved = lending.adjusted
        rows = self.rows[picked]
        rows[:, :, members] = evidence[:, None, members]
        if lending.smoother is not None:
            means = lending.smoother.predict(design)
            for j, feature in enumerate(moved):
                values = means[:, j, None] + lending.smoother.held_out[picked, j]
                if self.codec.kinds[feature].whole:
                    known = self.rows[:, feature]
                    values = np.clip(np.rint(values), known.min(), known.max())
                rows[:, :, feature] = values
        return rows

    def _lending(self, members: np.ndarray) -> Lending:
        members = members & self._tells
        key = np.packbits(members).tobytes()
        found = self._lendings.get(key)
        if found is None:  # two threads that ask at the same time get the same one
            found = self._lendings[key] = self._fit(members, np.random.default_rng([self.seed, *key]))
            while len(self._lendings) > KEPT_COALITIONS:
                self._lendings.pop(next(iter(self._lendings)), None)
        return found

    def _fit(self, members: np.ndarray, rng: np.random.Generator) -> Lending:
        matrix = self._design(self.rows, members)
        moved = np.flatnonzero(~members & self._movable) if members.any() else np.empty(0, dtype=np.intp)
        kept = np.flatnonzero(~members & ~np.isin(np.arange(self.n_features), moved))
        smoother = Smoother.fit(matrix, self.rows[:, moved], rng) if len(moved) else None
        left = smoother.held_out if smoother else np.empty((len(self.rows), 0))
        spread = self.rows[:, moved].std(axis=0)
        left = left / np.where(spread > 0, spread, 1.0)
        plain = self._columns(self.rows, kept)
        targets = _standardised(np.hstack([left, plain]))
        order = _neighbour_order(targets)
        if not members.any() or members[self._tells].all():
            weights = LeafWeights.of((), np.ones(1), order)
        else:
            events = np.hstack([_half_lines(left), _half_lines(plain)])
            # sizes of residuals too, so that trees split where the spread changes and the mean does not
            splits = np.hstack([targets, _standardised(np.abs(left))])
            weights = LeafWeights.fit(matrix, splits, events, self.n_trees, rng, order)
        return Lending(moved, smoother, weights)

    def _can_move(self, feature: int) -> bool:
        """Whether a residual may be added to the feature: a number without gaps, without atoms, with many values."""
        kind = self.codec.kinds[feature]
        if kind.category or kind.missing:
            return False
        values, counts = np.unique(self.rows[:, feature], return_counts=True)
        return len(values) > FEW_VALUES and (kind.whole or counts.max() <= max(2, ATOM * len(self.rows)))

    def _design(self, rows: np.ndarray, members: np.ndarray) -> np.ndarray:
        """The features of the coalition as columns of a regression."""
        return self._columns(rows, np.flatnonzero(members))

    def _columns(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Numbers (gaps filled, and a column that says where they were), categories as one column per code."""
        columns = []
        for k in features:
            kind, values = self.codec.kinds[k], rows[:, k]
            if kind.category:
                columns += [(values == code).astype(float) for code in range(kind.n_codes)]
                continue
            columns.append(np.where(np.isinf(values), self._filling[k], values))
            if kind.missing:
                columns.append(np.isinf(values).astype(float))
        return np.stack(columns, axis=1) if columns else np.empty((len(rows), 0))


def _column_means(rows: np.ndarray) -> np.ndarray:
    known = np.isfinite(rows)
    return np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _standardised(matrix: np.ndarray) -> np.ndarray:
    spread = matrix.std(axis=0)
    varies = spread > 1e-12
    return (matrix[:, varies] - matrix[:, varies].mean(axis=0)) / spread[varies]


def _half_lines(matrix: np.ndarray) -> np.ndarray:
    """[x <= q] for quantiles q of every column, 0/1 (r, events); columns that never change have none."""
    events = []
    for column in matrix.T:
        cuts = np.unique(np.quantile(column, (np.arange(N_EVENTS) + 0.5) / N_EVENTS))
        events.append((column[:, None] <= cuts[cuts < column.max()]).astype(float))
    return np.hstack(events) if events else np.empty((len(matrix), 0))


def _neighbour_order(matrix: np.ndarray) -> np.ndarray:
    """Rows in an order in which neighbours are alike in many columns at once, intp (r,).

    The rows are halved along the column that varies most among them, each half again, and so on: uniform numbers that
    are spread evenly over such an order are spread over all columns, not over one. O(r p log r).
    """
    done: list[np.ndarray] = []
    waiting = [np.arange(len(matrix))]
    while waiting:
        block = waiting.pop()
        spread = np.ptp(matrix[block], axis=0) if len(block) > ALIKE and matrix.shape[1] else np.zeros(1)
        if spread.max() == 0:
            done.append(block)
            continue
        deviations = matrix[block].std(axis=0)
        block = block[np.argsort(matrix[block, int(deviations.argmax())], kind="stable")]
        waiting += [block[len(block) // 2 :], block[: len(block) // 2]]
    return np.concatenate(done)
