"""Which background for this table, this model and these coalitions? Fit each on a part, score it on the rest.

The score of ``scoring`` ranks backgrounds, but on a few hundred held-out rows its noise is as
large as the differences between good ones, and the best of several noisy scores flatters itself. Three things help:

- **elimination**: candidates are compared on a few rows and coalitions first, by paired differences, and what is
  clearly behind is not looked at further. If one is left, it is taken.
- a **mixture** instead of a choice: nu of a mixture is linear in its shares, so the score is a quadratic form in them,
  and its least point on the simplex is found exactly. Where two backgrounds are equally good, both are used, and the
  mean of two estimates with different errors is better than either.
- **simplicity**: candidates stand in an order, the simplest first. Those in closed form (a Gaussian, a copula) have few
  parameters: the first of them whose score is above that of the mixture by no more than one standard error of the
  difference (paired, row by row) is used alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.backgrounds.choice.mixture import MixtureModel
from shap_asv.backgrounds.choice.scoring import (
    Predict,
    held_out_misses,
    scored_coalitions,
    total_variance,
)
from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
from shap_asv.backgrounds.donors.leaf_weights import least_on_simplex
from shap_asv.backgrounds.gaussian.copula import CopulaModel
from shap_asv.backgrounds.gaussian.model import GaussianModel
from shap_asv.backgrounds.structural.fitting import way_of
from shap_asv.backgrounds.structural.model import StructuralModel
from shap_asv.backgrounds.tables.codec import NamedArray, TableCodec
from shap_asv.backgrounds.tables.copies import error_of_mean, originals

#: ``fit(data, seed)``, or ``fit(data, seed, earlier)`` with what the same fit made of a part of the rows.
Fit = Callable[..., Any]

#: name -> (fit, whether it takes numbers only); the simplest first
CANDIDATES: Mapping[str, tuple[Fit, bool]] = {
    "gaussian": (lambda data, seed, earlier=None: GaussianModel.fit(data), True),
    "copula": (lambda data, seed, earlier=None: CopulaModel(data), True),
    "donors": (lambda data, seed, earlier=None: ConditionalTable(data, seed=seed), False),
}


def with_mechanisms(dag: nx.DiGraph, name: str = "graph", n_jobs: int | None = None) -> dict[str, tuple[Fit, bool]]:
    """:data:`CANDIDATES` and one more under the ``name``: a structural model of a DAG that may be right or not.

    Features that the DAG leaves out are nodes without edges. Where features depend on others than it says, the score on
    held-out rows says so. The model takes over the mechanisms of an earlier one.

    Examples
    --------
    >>> list(with_mechanisms(nx.DiGraph([("age", "income")])))
    ['gaussian', 'copula', 'graph', 'donors']
    """

    def fit(data: Any, seed: int, earlier: Any = None) -> Any:
        names = TableCodec.learn(data).names
        graph = nx.DiGraph()
        graph.add_nodes_from(names)
        graph.add_edges_from(dag.edges)
        mechanisms: Any = "auto"
        if earlier is not None:
            known = zip(earlier.dag.names, earlier.mechanisms, strict=True)
            mechanisms = {node: way_of(mechanism) for node, mechanism in known}
        return StructuralModel.fit(data, graph, mechanisms, seed, n_jobs, silent=True).background(names)

    found = dict(CANDIDATES)
    donors = found.pop("donors")
    return {**found, name: (fit, False), "donors": donors}


SHARE_HELD_OUT = 1 / 3
MOST_HELD_OUT = 400
#: Rows that candidates are fitted to for the comparison; the chosen ones are fitted to all.
MOST_KEPT = 1500
MOST_COALITIONS = 12
#: What all candidates are compared on first, and the standard errors by which one is clearly behind there.
SCREENED_ROWS, SCREENED_COALITIONS, CLEARLY = 64, 4, 3.0
LEAST_SHARE = 0.05
FEWEST_ROWS, FEWEST_SCORED = 30, 10


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen background, fitted to all rows; the losses of every candidate; the shares of the mixture.

    ``losses`` (r,) are those of the candidates that were left after the first comparison, or of all in that comparison
    if one was left, on held-out rows; empty where nothing was compared. ``loss`` is that of the chosen background,
    ``variance`` what it would be without any knowledge.
    """

    background: Any
    losses: dict[str, np.ndarray]
    shares: dict[str, float]
    loss: float = np.nan
    variance: float = np.nan

    def sentence(self) -> str:
        """What was chosen, by how much it is ahead, and how good it is."""
        words = f"background: {self.background.describe()}"
        if not self.losses:
            return f"{words} (nothing else to choose from)"
        explained = 1 - self.loss / self.variance if self.variance > 0 else 0.0
        words += f"; what is known of a row explains {explained:.0%} of the variance of the model under it"
        others = ((float(each.mean()), name) for name, each in self.losses.items() if name not in self.shares)
        score, rival = min(others, default=(0.0, ""))
        if score <= 0:
            return words
        below = "below" if self.loss < score else "above"
        return f"{words}, its squared error is {abs(1 - self.loss / score):.1%} {below} that of {rival}"


def choose_background(
    data: Any,
    predict: Predict,
    coalitions: np.ndarray,
    weights: np.ndarray,
    seed: int = 0,
    candidates: Mapping[str, tuple[Fit, bool]] = CANDIDATES,
    n_draws: int = 64,
) -> Choice:
    """The background of a table for a model and the coalitions that it will be asked for.

    Parameters
    ----------
    data : DataFrame or array
    predict : callable
        ``inputs -> (q,)`` or ``(q, k)``, on tables with the dtypes of ``data``.
    coalitions : bool (m, n), weights : float (m,) of sum one
        At most 12 are looked at: a sample by weight if there are more.
    candidates : mapping
        name -> (fit, whether it takes numbers only), the simplest first; see :func:`with_mechanisms`.
    seed : int
        Decides the split, the draws and the forests; the same seed gives the same choice.

    Notes
    -----
    With categories or missing values, candidates that take numbers only are left out. With one candidate left, or with
    fewer than 30 rows, nothing is held out: there are no ``losses``, and donors are used (the last candidate if they
    are not one). Held-out rows with a category (or a gap) that no other row has are not scored: nobody can know them.
    If that leaves fewer than 10, as with a column of names, nothing is scored either.
    """
    codec = TableCodec.learn(data)
    numbers_only = not any(kind.category or kind.missing for kind in codec.kinds)
    fits = {name: fit for name, (fit, numbers) in candidates.items() if numbers_only or not numbers}
    n_rows = len(data)

    def unscored() -> Choice:
        name = next(name for name in ("donors", *reversed(fits)) if name in fits)
        return Choice(fits[name](data, seed), {}, {name: 1.0})

    if len(fits) == 1 or n_rows < FEWEST_ROWS:
        return unscored()
    rng = np.random.default_rng([seed, n_rows])
    order = rng.permutation(n_rows)
    copies = originals(data, codec.read(data))
    if copies is not None:  # one after the other
        order = order[np.argsort(rng.permutation(copies.max() + 1)[copies[order]], kind="stable")]
    n_held_out = min(int(n_rows * SHARE_HELD_OUT), MOST_HELD_OUT)
    held_out, kept = order[:n_held_out], np.sort(order[n_held_out : n_held_out + MOST_KEPT])
    if copies is not None:
        kept = kept[~np.isin(copies[kept], copies[held_out])]
    held_out = held_out[_can_be_read(codec.read(_rows(data, held_out)), codec.read(_rows(data, kept)), codec)]
    if len(held_out) < FEWEST_SCORED:
        return unscored()
    asked, counts = scored_coalitions(coalitions, weights, MOST_COALITIONS, rng)
    if not len(asked):  # of a single feature
        asked, counts = coalitions, weights
    earlier = {name: fit(_rows(data, kept), seed) for name, fit in fits.items()}

    stages = [(held_out, np.arange(len(asked)), n_draws)]
    if len(held_out) > 2 * SCREENED_ROWS and len(asked) > SCREENED_COALITIONS:
        few = rng.choice(len(asked), SCREENED_COALITIONS, replace=False, p=counts)
        # many draws: what all rows share of chance would not show in the standard error
        stages = [(held_out[:SCREENED_ROWS], few, 2 * n_draws), *stages]
    names = tuple(earlier)
    for rows, which, count in stages:
        part, own = _rows(data, rows), counts[which] / counts[which].sum()
        near = None if copies is None else copies[rows]
        misses = np.stack([_two_misses(earlier[name], predict, part, asked[which], count, seed) for name in names])
        losses = np.einsum("brmk,brmk,m->br", misses[:, 0], misses[:, 1], own)
        alive = _not_behind(losses, near) if len(rows) < len(held_out) else []
        if len(alive) == 1:
            break
        if alive:
            names = tuple(names[k] for k in alive)
    if len(alive) == 1:
        shares = np.eye(len(names))[alive[0]]
    else:
        shares = _mixed(misses, losses, own, [candidates[name][1] for name in names], near)
    used = {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0}
    loss = float(_mixed_loss(misses, shares, own).mean())
    first = earlier[names[0]]
    variance = total_variance(predict, first.inputs(first.read(part)))
    # what a part of the rows has settled is not asked of all of them again
    fitted = [fits[name](data, seed, earlier[name]) for name in used]
    background = fitted[0] if len(fitted) == 1 else MixtureModel(fitted, list(used.values()))
    return Choice(background, dict(zip(names, losses, strict=True)), used, loss, variance)


def _not_behind(losses: np.ndarray, copies: np.ndarray | None) -> list[int]:
    """The candidates whose losses (b, r) are not clearly above those of the best."""
    differences = losses - losses[int(losses.mean(axis=1).argmin())]
    return [k for k, one in enumerate(differences) if one.mean() <= CLEARLY * error_of_mean(one, copies, ddof=1)]


def _two_misses(
    background: Any, predict: Predict, data: Any, coalitions: np.ndarray, n_draws: int, seed: int
) -> np.ndarray:
    """``M(x) - nu_x(S)`` (2, r, m, k) by two sets of draws, each of half of them.

    The product of the two has the squared miss as its mean, without the variance of the draws: a background that needs
    more noise than another is not behind for it.
    """
    half = max(1, n_draws // 2)
    # unchecked: a constant column, say, may have another value in a row that was held out, which is no reason to stop
    rows = background.read(data)
    return np.stack([held_out_misses(background, predict, rows, coalitions, half, 2 * seed + k) for k in range(2)])


def _mixed_loss(misses: np.ndarray, shares: np.ndarray, counts: np.ndarray) -> np.ndarray:
    one, other = np.einsum("b,bhrmk->hrmk", shares, misses)
    return np.asarray(np.einsum("rmk,rmk,m->r", one, other, counts))


def _mixed(
    misses: np.ndarray, losses: np.ndarray, counts: np.ndarray, simple: Sequence[bool], copies: np.ndarray | None
) -> np.ndarray:
    """The shares (b,) of least loss; or all for the first simple candidate that is as good."""
    form = np.einsum("brmk,crmk,m->bc", misses[:, 0], misses[:, 1], counts) / misses.shape[2]
    shares = least_on_simplex((form + form.T) / 2)
    shares = np.where(shares >= LEAST_SHARE, shares, 0.0)
    shares /= shares.sum()
    mixed = _mixed_loss(misses, shares, counts)
    for k in np.flatnonzero(simple):
        difference = losses[k] - mixed
        if difference.mean() <= error_of_mean(difference, copies, ddof=1):
            return np.asarray(np.eye(len(losses))[k])
    return np.asarray(shares)


def _can_be_read(rows: np.ndarray, kept: np.ndarray, codec: TableCodec) -> np.ndarray:
    """Which of the rows (r, n) have only categories and gaps that are among those kept: bool (r,)."""
    readable = np.ones(len(rows), dtype=bool)
    for k, kind in enumerate(codec.kinds):
        theirs, known = (rows[:, k], kept[:, k]) if kind.category else (np.isinf(rows[:, k]), np.isinf(kept[:, k]))
        readable &= np.isin(theirs, known)
    return readable


def _rows(data: Any, places: np.ndarray) -> Any:
    if isinstance(data, NamedArray):
        return data[places]
    return data.iloc[places] if hasattr(data, "iloc") else np.asarray(data)[places]
