"""Structural models with noise of any kind, simulated forwards with a million draws. Imports nothing of ours."""

import numpy as np

N_DRAWS = 1_000_000


def simulate(order, parents, mechanisms, uniforms, clamped):
    """Values (nodes, draws): nodes in a topological order, ``clamped`` ones held; ``mechanisms[v](causes, u)``."""
    values = np.empty(uniforms.shape)
    for v in order:
        values[v] = clamped[v] if v in clamped else mechanisms[v]([values[p] for p in parents[v]], uniforms[v])
    return values


def mean_and_error(model, order, parents, mechanisms, uniforms, clamped):
    """``E[M | do(clamped)]`` by the mean of the draws, and its standard error."""
    outputs = model(simulate(order, parents, mechanisms, uniforms, clamped))
    return float(outputs.mean()), float(outputs.std() / np.sqrt(outputs.size))


def straight_line(causes, effect):
    """Least squares with a constant: (constant, slopes) of an effect (r,) on its causes (r, p)."""
    found, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(effect)), causes]), effect, rcond=None)
    return found[0], found[1:]
