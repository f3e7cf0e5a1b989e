"""Nested trees of the oracle as the ensembles that the package takes."""

import numpy as np

from shap_asv.models.trees.ensembles import FloatEnsemble


def ensemble_of(trees, n, offset=0.0, dtype=np.float64):
    """Nested dictionaries (see tests/oracles/tree_games.py) -> FloatEnsemble."""
    fields = {name: [] for name in ("left", "right", "column", "threshold", "nan_left", "cover", "category_set")}
    values, sets, roots = [], [], []
    k = None

    def add(node):
        nonlocal k
        at = len(values)
        for name, empty in zip(fields, (-1, -1, -1, 0.0, False, node["cover"], -1), strict=True):
            fields[name].append(empty)
        values.append(node.get("value"))
        if "value" in node:
            k = len(node["value"])
            return at
        fields["column"][at], fields["nan_left"][at] = node["column"], node["nan_left"]
        if "categories" in node:
            fields["category_set"][at] = len(sets)
            sets.append(np.array(sorted(node["categories"]), dtype=np.int64))
        else:
            fields["threshold"][at] = node["threshold"]
        fields["left"][at] = add(node["left"])
        fields["right"][at] = add(node["right"])
        return at

    for tree in trees:
        roots.append(add(tree))
    arrays = {name: np.array(values) for name, values in fields.items()}
    return FloatEnsemble(
        values=np.array([[0.0] * k if value is None else value for value in values]),
        roots=np.array(roots),
        offset=np.full(k, offset),
        dtype=dtype,
        member_left=np.ones(len(values), dtype=bool),
        sets=tuple(sets),
        zero_missing=np.zeros(n, dtype=bool),
        labels=(None,) * n,
        **arrays,
    )
