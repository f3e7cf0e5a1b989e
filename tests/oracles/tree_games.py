"""Trees as nested dictionaries, and their asymmetric Shapley values straight from the definition.

A node is ``{"value": [..], "cover": c}`` or ``{"column": j, "threshold": t | "categories": {..}, "nan_left": bool,
"cover": c, "left": node, "right": node}``. Imports nothing of the package.
"""

import math

import numpy as np

from tests.oracles.brute_force import over_orders


def random_tree(rng, n, depth, k=1, categorical=(), zero_cover=False, grow=0.85, cover=64.0):
    """A random tree; thresholds are small whole numbers and halves, so that rows sit on them."""
    if depth == 0 or rng.random() > grow:
        return {"value": rng.normal(size=k).round(3).tolist(), "cover": cover}
    share = rng.choice([0.0, 0.25, 0.6, 1.0]) if zero_cover else rng.uniform(0.1, 0.9)
    column = int(rng.integers(n))
    node = {"column": column, "nan_left": bool(rng.random() < 0.5), "cover": cover}
    if column in categorical:
        node["categories"] = {int(c) for c in rng.choice(5, size=rng.integers(1, 4), replace=False)}
    else:
        node["threshold"] = float(rng.integers(-3, 4)) / 2
    rest = {"k": k, "categorical": categorical, "zero_cover": zero_cover, "grow": grow}
    node["left"] = random_tree(rng, n, depth - 1, cover=cover * share, **rest)
    node["right"] = random_tree(rng, n, depth - 1, cover=cover * (1 - share), **rest)
    return node


def random_rows(rng, n_rows, n, categorical=(), missing=0.1):
    rows = rng.integers(-4, 5, size=(n_rows, n)) / 2.0
    for j in categorical:
        rows[:, j] = rng.integers(0, 6, size=n_rows)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def goes_left(node, x):
    if math.isnan(x):
        return node["nan_left"]
    if "categories" in node:
        return int(x) in node["categories"]
    return x <= node["threshold"]


def cover_value(node, row, coalition):
    """E over the trees' own covers: members of the coalition follow the row, others both ways."""
    if "value" in node:
        return np.array(node["value"])
    if node["column"] in coalition:
        return cover_value(node["left" if goes_left(node, row[node["column"]]) else "right"], row, coalition)
    left = node["left"]["cover"] / node["cover"] if node["cover"] > 0 else 0.5
    right = node["right"]["cover"] / node["cover"] if node["cover"] > 0 else 0.5
    return left * cover_value(node["left"], row, coalition) + right * cover_value(node["right"], row, coalition)


def output(node, row):
    while "value" not in node:
        node = node["left" if goes_left(node, row[node["column"]]) else "right"]
    return np.array(node["value"])


def value(trees, row, coalition, background=None):
    """v(S) of an ensemble: covers, or the mean over background rows."""
    if background is None:
        return sum(cover_value(tree, row, coalition) for tree in trees)
    mixed = [np.where([j in coalition for j in range(len(row))], row, other) for other in background]
    return sum(output(tree, x) for tree in trees for x in mixed) / len(background)


def brute_force(trees, row, orders, weights=None, background=None):
    """phi (n, k): the mean over orders of what each feature adds."""
    return over_orders(lambda members: value(trees, row, members, background), orders, weights)


def over_ideals(nu, n, parents):
    """phi (n,) by counting orders over the ideals: for more features than all orders can be listed for."""
    layers = [{0: 1}]
    for _ in range(n):
        layer = {}
        for ideal, ways in layers[-1].items():
            for v in range(n):
                if not ideal >> v & 1 and all(ideal >> p & 1 for p in parents[v]):
                    layer[ideal | 1 << v] = layer.get(ideal | 1 << v, 0) + ways
        layers.append(layer)
    up = {ideal: ways for layer in layers for ideal, ways in layer.items()}
    down = {(1 << n) - 1: 1}
    for layer in reversed(layers[:-1]):
        for ideal in layer:
            down[ideal] = sum(
                down[ideal | 1 << v] for v in range(n) if not ideal >> v & 1 and all(ideal >> p & 1 for p in parents[v])
            )
    total = down[0]
    phi = np.zeros(n)
    for ideal, ways in up.items():
        for v in range(n):
            if not ideal >> v & 1 and all(ideal >> p & 1 for p in parents[v]):
                phi[v] += ways * down[ideal | 1 << v] / total * (nu(ideal | 1 << v) - nu(ideal))
    return phi
