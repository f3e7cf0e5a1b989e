"""Donors of a table by the definition: conditional means by fits without each row, weights by leaves that are shared.

Imports nothing of ours. What is random is taken as it was drawn, and cannot be had otherwise: the fitted trees of
scikit-learn with the rows that each was grown from, and the landmarks of the curves. Both are held to what they have to
be. Forests without a share are not kept, so that it is not seen whether another one deserved a share.

Rows are floats (r, n): codes of categories, and numbers, +inf where one is missing; in evidence NaN is what is free.
"""

from itertools import combinations

import numpy as np

PENALTIES = 10.0 ** np.arange(-4, 4)
WIDTHS = (0.2, 0.8)
N_QUANTILES = 16


class Donors:
    """``n_codes[k]`` is 0 for a number; ``drawn(members)``: [(trees, grown from (trees, r))] and [landmarks]."""

    def __init__(self, rows, n_codes, drawn):
        self.rows, self.n_codes, self.drawn = rows, n_codes, drawn
        self.tells = np.array([len(np.unique(column)) > 1 for column in rows.T])
        self.gaps = np.isinf(rows).any(axis=0)
        self.filling = [column[np.isfinite(column)].mean() for column in rows.T]
        counts = [np.unique(column, return_counts=True)[1] for column in rows.T]
        plain = [len(c) <= 5 or c.max() > max(2, 0.1 * len(rows)) for c in counts]
        self.movable = np.array([not (n_codes[k] or self.gaps[k] or plain[k]) for k in range(rows.shape[1])])
        self.known = {}

    def lent(self, evidence):
        """One line of evidence (n,) -> rows (r, n) and weights (r,)."""
        inside = ~np.isnan(evidence)
        members = inside & self.tells
        if members.tobytes() not in self.known:
            self.known[members.tobytes()] = self._fitted(members)
        moved, mean, residuals, shares, forests = self.known[members.tobytes()]
        rows = np.where(inside, evidence, self.rows)
        at = self._columns(evidence[None], members)
        if len(moved):
            rows[:, moved] = mean(at)[0] + residuals
        weights = np.full(len(rows), shares[0] / len(rows))
        for share, (trees, _) in zip(shares[1:], forests, strict=True):
            for tree in trees:
                alike = _leaves(tree, self._columns(self.rows, members)) == _leaves(tree, at)
                weights += share / len(trees) * alike / alike.sum()
        return rows, weights

    def _columns(self, rows, members):
        columns = []
        for k in np.flatnonzero(members):
            missing = np.isinf(rows[:, k])
            if self.n_codes[k]:
                columns += [rows[:, k] == code for code in range(self.n_codes[k])]
            else:
                columns += [np.where(missing, self.filling[k], rows[:, k])] + [missing] * bool(self.gaps[k])
        return np.array(columns, dtype=float).reshape(len(columns), len(rows)).T

    def _fitted(self, members):
        moved = np.flatnonzero(~members & self.movable) if members.any() else np.empty(0, dtype=int)
        matrix, (forests, landmarks) = self._columns(self.rows, members), self.drawn(members)
        mean, residuals = None, np.empty((len(self.rows), 0))
        if len(moved):
            mean, residuals = _conditional_mean(matrix, self.rows[:, moved], landmarks)
        if not members.any() or members[self.tells].all():
            assert not forests
            return moved, mean, residuals, np.ones(1), []
        lent_as_they_are = ~members & ~np.isin(np.arange(len(members)), moved)
        events = _below_quantiles(np.hstack([residuals, self._columns(self.rows, lent_as_they_are)]))
        guesses = [_without_each(np.ones((1, len(self.rows))), np.zeros((1, len(self.rows)), dtype=bool), events)]
        for trees, grown_from in forests:
            leaves = np.stack([_leaves(tree, matrix) for tree in trees])
            for tree, own, seen in zip(trees, leaves, grown_from, strict=True):
                np.testing.assert_array_equal(
                    np.bincount(own[seen], minlength=tree.node_count)[own], tree.n_node_samples[own]
                )
            guesses.append(_without_each(leaves, grown_from, events))
        misses = np.stack([(guess - events).ravel() for guess in guesses])
        return moved, mean, residuals, _best_shares(misses @ misses.T), forests


def _leaves(tree, matrix):
    return tree.apply(np.ascontiguousarray(matrix, dtype=np.float32))


def _without_each(leaves, grown_from, events):
    """What the others in its leaves say of each row (r, b), by groupings (t, r) that were not made with it."""
    n = len(events)
    guess = np.empty(events.shape)
    for i in range(n):
        others = np.arange(n) != i
        alike = [(own == own[i]) & others for own, seen in zip(leaves, grown_from, strict=True) if not seen[i]]
        alike = [one for one in alike if one.any()] or [others]
        guess[i] = np.mean([events[one].mean(axis=0) for one in alike], axis=0)
    return guess


def _best_shares(form):
    """The least ``w' form w`` over the simplex: of every support the stationary point, if it is inside."""
    best, least = None, np.inf
    for size in range(1, len(form) + 1):
        for support in map(list, combinations(range(len(form)), size)):
            raw = np.linalg.lstsq(form[np.ix_(support, support)], np.ones(size), rcond=None)[0]
            shares = np.zeros(len(form))
            shares[support] = raw / raw.sum() if size > 1 and raw.sum() > 0 else 1 / size
            if shares[support].min() > 0 and shares @ form @ shares < least * (1 - 1e-9):
                best, least = shares, shares @ form @ shares
    return best


def _below_quantiles(matrix):
    events = []
    for column in matrix.T:
        cuts = np.unique(np.quantile(column, (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES))
        events += [column <= cut for cut in cuts if cut < column.max()]
    return np.array(events, dtype=float).T


def _conditional_mean(matrix, targets, landmarks):
    """A function of points (m, p), and the residuals (r, q) of each row by a fit without it.

    A straight line, or a curve if its residuals are smaller by more than the standard error of the difference.
    """
    centre, scale = matrix.mean(axis=0), matrix.std(axis=0)
    varies = scale > 1e-12
    scale = np.where(varies, scale, np.inf)
    rows = (matrix - centre) / scale
    bases = [lambda z: z]
    for width, around in zip(WIDTHS, landmarks, strict=False):
        assert len(np.unique(around, axis=0)) == len(around) <= max(2, len(rows) // 5)
        assert max(np.abs(rows - one).max(axis=1).min() for one in around) < 1e-12  # each is a row of the table
        bases.append(_curved(around, width / max(1, varies.sum())))
    fits = [_ridge(basis(rows), targets) for basis in bases]
    squares = np.stack([residuals**2 for _, residuals in fits])
    chosen = np.zeros(targets.shape[1], dtype=int)
    for q in range(len(chosen) if len(fits) > 1 else 0):
        curve = 1 + int(squares[1:, :, q].mean(axis=1).argmin())
        gain = squares[0, :, q] - squares[curve, :, q]
        chosen[q] = curve if gain.mean() > gain.std() / np.sqrt(len(gain)) else 0

    def mean(points):
        z = (points - centre) / scale
        found = [np.column_stack([np.ones(len(z)), bases[k](z)]) @ fits[k][0][:, q] for q, k in enumerate(chosen)]
        low, high = targets.min(axis=0), targets.max(axis=0)  # a curve stays inside of what was met
        return np.stack([np.clip(one, low[q], high[q]) if chosen[q] else one for q, one in enumerate(found)], axis=1)

    return mean, np.stack([fits[k][1][:, q] for q, k in enumerate(chosen)], axis=1)


def _curved(landmarks, gamma):
    def bumps(z):
        return np.exp(-gamma * ((z[:, None] - landmarks[None]) ** 2).sum(axis=2))

    values, vectors = np.linalg.eigh(bumps(landmarks))
    kept = values > 1e-8 * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    return lambda z: np.hstack([z, bumps(z) @ root])


def _ridge(columns, targets):
    """Coefficients (1 + b, q), a constant first that no penalty holds, and residuals of fits without each row.

    Of every output by the penalty whose residuals are smallest.
    """
    columns = np.column_stack([np.ones(len(columns)), columns])
    each = columns[:, :, None] * columns[:, None, :]
    moments = columns[:, :, None] * targets[:, None, :]
    best, found, left = np.full(targets.shape[1], np.inf), np.zeros((columns.shape[1], targets.shape[1])), targets * 0.0
    for penalty in PENALTIES:
        system = each.sum(axis=0) + penalty * np.diag([0.0] + [1.0] * (columns.shape[1] - 1))
        without = np.linalg.solve(system - each, moments.sum(axis=0) - moments)
        residuals = targets - np.einsum("rb,rbq->rq", columns, without)
        errors = (residuals**2).mean(axis=0)
        better = errors < best
        best[better], left[:, better] = errors[better], residuals[:, better]
        found[:, better] = np.linalg.solve(system, moments.sum(axis=0))[:, better]
    return found, left
