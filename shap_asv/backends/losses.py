"""What a loss makes of nu: the game of global importance, row by row.

A coalition is worth what it saves, ``v(S) = -loss(nu(S), y)``, and phi of that game is ``v @ W`` with the weights of
any other; a mean over rows is the global value (SAGE, with causes first). A loss is not a sum, so nu has to be written
down for every coalition, as for a link.

Where nu is a mean of draws, a curved loss of it is biased. Groups of draws know better (the jackknife): with ``L`` the
loss of the mean over all G groups and ``L_g`` that of the mean without group g, the pseudo-values
``G L - (G - 1) L_g`` have a mean whose bias falls with the square of G (none is left for a squared loss), and their
spread is its error.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shap_asv.backends.coalitionwise import DENSE_LIMIT, CoalitionwiseAttributor
from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backends.weight_columns import Columns, contract
from shap_asv.values.contract import SampledValues, blocks

#: Expected outputs (q, k) and positions of their targets (q,) -> losses (q,).
Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class LossAttributor:
    """Rows with the position of their target as last column -> what each player saves, once per group.

    ``phi`` has ``columns.matrix.shape[1]`` columns for the groups of orders, and after them ``n_players`` columns for
    each group of draws, where values are drawn. ``dtype`` is that of a row without its target.
    """

    inner: CoalitionwiseAttributor
    loss: Loss
    dtype: np.dtype

    @property
    def width(self) -> int:
        columns = self.inner.columns
        return int(columns.matrix.shape[1]) + self.n_draw_groups * columns.n_players

    @property
    def n_draw_groups(self) -> int:
        return self.inner.values.n_groups if isinstance(self.inner.values, SampledValues) else 0

    rowwise = compiled = False

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        targets = rows[:, -1].astype(np.intp)
        own = rows[:, :-1].astype(self.dtype)
        return Attribution(self._contracted(own, targets, report), np.zeros(1))

    def _contracted(self, rows: np.ndarray, targets: np.ndarray, report: Report) -> np.ndarray:
        columns, values, n_groups = self.inner.columns, self.inner.values, self.n_draw_groups
        matrix, mean_matrix = columns.matrix, columns.mean_matrix()
        out = np.zeros((len(rows), self.width, 1))
        width = int(matrix.shape[1])
        for block in blocks(
            len(columns.coalitions), DENSE_LIMIT // max(1, len(rows) * values.n_outputs * max(1, n_groups))
        ):
            coalitions = columns.coalitions[block]
            if not isinstance(values, SampledValues):
                saved = -self._losses(values.values(coalitions, rows), targets)
            else:
                pseudo = -self._pseudo_losses(values.groups_and_sample(coalitions, rows)[0], targets)
                saved = pseudo.mean(axis=0)
                for g, own in enumerate(pseudo):
                    here = slice(width + g * columns.n_players, width + (g + 1) * columns.n_players)
                    out[:, here] += contract(own[..., None], mean_matrix[block])
            out[:, :width] += contract(saved[..., None], matrix[block])
            report(block.stop / len(columns.coalitions))
        return out

    def _losses(self, nu: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """nu (r, m, k) -> losses (r, m)."""
        r, m, k = nu.shape
        return self.loss(nu.reshape(r * m, k), np.repeat(targets, m)).reshape(r, m)

    def _pseudo_losses(self, grouped: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """nu of each group of draws (G, r, m, k) -> pseudo-values of the loss (G, r, m)."""
        n_groups = len(grouped)
        mean = grouped.mean(axis=0)
        whole = self._losses(mean, targets)
        without = (n_groups * mean - grouped) / (n_groups - 1)
        return np.stack([n_groups * whole - (n_groups - 1) * self._losses(part, targets) for part in without])

    def base(self, row: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """``v({})`` (r,) for each target: nothing is known, so that any row (1, n) will do."""
        empty = np.zeros((1, self.inner.columns.n_features), dtype=bool)
        values = self.inner.values
        if not isinstance(values, SampledValues):
            nu = values.values(empty, row)
            return -self._losses(np.repeat(nu, len(targets), axis=0), targets)[:, 0]
        grouped = np.repeat(values.groups_and_sample(empty, row)[0], len(targets), axis=1)
        return -self._pseudo_losses(grouped, targets).mean(axis=0)[:, 0]


def combine_means(columns: Columns, means: np.ndarray, n_draw_groups: int, widening: float) -> np.ndarray:
    """Columns of a :class:`LossAttributor`, averaged over rows (width,) -> variance (n_players,) of the sampling."""
    width, players = int(columns.matrix.shape[1]), columns.n_players
    _, error = columns.combine(means[None, :width, None])
    variance = np.zeros(players) if error is None else error[0, :, 0] ** 2
    if n_draw_groups:
        drawn = means[width:].reshape(n_draw_groups, players)
        variance = variance + widening**2 * drawn.var(axis=0, ddof=1) / n_draw_groups
    return np.asarray(variance)
