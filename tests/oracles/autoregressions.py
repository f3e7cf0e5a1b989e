"""Windows of autoregressive processes, and of tables, written down from the definition. Imports nothing of ours."""

import numpy as np
from scipy.linalg import solve_discrete_lyapunov


def window_of_process(rng, n_variables, n_lags, with_static=False):
    """Moments (variable, time) of a window, and its mean and covariance, of ``x_t = A x_t-1 + e_t + c static``.

    The past comes first, and what has no time before it.
    """
    A = rng.normal(size=(n_variables, n_variables))
    A *= 0.8 / np.abs(np.linalg.eigvals(A)).max()
    B = rng.normal(size=(n_variables, n_variables))
    own = solve_discrete_lyapunov(A, B @ B.T + 0.1 * np.eye(n_variables))
    c = rng.normal(size=n_variables) if with_static else np.zeros(n_variables)
    n, first = n_variables * n_lags, int(with_static)
    covariance = np.ones((n + first, n + first))
    if with_static:
        covariance[0, 1:] = covariance[1:, 0] = np.tile(c, n_lags)
    for s in range(n_lags):
        for t in range(n_lags):
            power = np.linalg.matrix_power(A, abs(t - s))
            block = own @ power.T if s <= t else power @ own
            rows, columns = (slice(first + k * n_variables, first + (k + 1) * n_variables) for k in (s, t))
            covariance[rows, columns] = block + np.outer(c, c)
    moments = [("age", None)] * first + [(f"x{v}", s - n_lags) for s in range(n_lags) for v in range(n_variables)]
    mean = np.concatenate([rng.normal(size=first), np.tile(rng.normal(size=n_variables), n_lags)])
    return moments, mean, covariance


def precedence(moments, order, within=()):
    """Pairs (position of a cause, of an effect): all of a time before all of the next; ``within`` in their own time."""
    sign = -1 if order == "recent first" else 1
    key = [-np.inf if time is None else sign * time for _, time in moments]
    places = range(len(moments))
    edges = [(a, b) for a in places for b in places if key[a] < key[b]]
    return edges + [(a, b) for a, b in within if key[a] == key[b]]


def windows_by_hand(table, target, lags, horizons, known=()):
    """What each window holds, as a loop: row -> ({(column, time): cell}, targets).

    ``table`` is a list of dicts, with an "id" and a "date" (whole numbers) in each.
    """
    place = {(line["id"], line["date"]): row for row, line in enumerate(table)}
    asked = {(name, -lag) for name, own in lags.items() for lag in own}
    asked |= {(name, ahead - 1) for name in known for ahead in horizons}
    found = {}
    for row, line in enumerate(table):
        at = {moment: place.get((line["id"], line["date"] + moment[1])) for moment in asked}
        ends = [place.get((line["id"], line["date"] + ahead - 1)) for ahead in horizons]
        if None in (*at.values(), *ends):
            continue
        targets = [table[end][target] for end in ends]
        if not np.isnan(targets).any():
            found[row] = {(name, time): table[k][name] for (name, time), k in at.items()}, targets
    return found
