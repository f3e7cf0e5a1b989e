"""Structural models with noise of any kind, simulated forwards with a million draws. Imports nothing of ours."""

import numpy as np

N_DRAWS = 1_000_000


def simulate(order, parents, mechanisms, uniforms, clamped):
    """Values (nodes, draws): nodes in a topological order, ``clamped`` ones held; ``mechanisms[v](causes, u)``."""
    values = np.empty(uniforms.shape)
    for v in order:
        values[v] = clamped[v] if v in clamped else mechanisms[v]([values[p] for p in parents[v]], uniforms[v])
    return values


def means_and_errors(draws):
    """Values (n, draws) of a game that was played draw by draw: their means (n,) and the errors of these (n,).

    The same numbers serve every set, so most of what one set has by chance the next one has too: the error of a
    difference is far smaller than those of its parts say.
    """
    return draws.mean(axis=1), draws.std(axis=1) / np.sqrt(draws.shape[1])


def straight_line(causes, effect):
    """Least squares with a constant: (constant, slopes) of an effect (r,) on its causes (r, p)."""
    found, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(effect)), causes]), effect, rcond=None)
    return found[0], found[1:]
