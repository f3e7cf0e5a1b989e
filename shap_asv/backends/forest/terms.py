"""Terms of a model grouped by what they see of a causal forest.

A term that looks at the features F sees its *closure* A, F with all causal ancestors: features outside of A do not
change any expectation of the term, and take part in the order of A only through the sizes of subtrees. Terms with
the same closure share everything but their numbers, and rows that agree on A agree on all of them.

Of A, three parts behave differently (positions in preorder):

- the **top**, the path from a single root down to the first branching of A: it arrives in a fixed order;
- the **members**, the roots of what hangs below the top (the roots of A, when it has several): they run in parallel;
- below them, **inner** features whose part of A branches, and **chains**, whose part of A is a path.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backends.forest.layout import ForestLayout
from shap_asv.backgrounds.grouping import row_keys
from shap_asv.models.products import SumOfProducts


@dataclass(frozen=True, eq=False)
class TermGroups:
    """Distinct terms, sorted by closure; columns in preorder.

    Attributes
    ----------
    terms : int32 (T, n)
    coefficients : float64 (T, k)
    vectors : float64, flat; vector_offset : int64 (n,)
        Functions of each position, rows of card(v) numbers.
    scale : float64 (T,)
        Largest absolute value of each term: the product of those of its functions.
    start : int64 (G + 1,)
        Terms of each group.
    closure : bool (G, n)
    degree : int64 (G,)
        Sum of the subtree sizes of the members: the degree of the group's clock polynomials. 0 if all of A is top.
    largest : int64 (G,)
        Largest subtree size of a member.
    depth : int64 (G,)
        Longest path below the top, in features.
    """

    terms: np.ndarray
    coefficients: np.ndarray
    vectors: np.ndarray
    vector_offset: np.ndarray
    scale: np.ndarray
    start: np.ndarray
    closure: np.ndarray
    degree: np.ndarray
    largest: np.ndarray
    depth: np.ndarray

    @property
    def n_groups(self) -> int:
        return len(self.closure)


def group_forest_terms(layout: ForestLayout, products: SumOfProducts) -> TermGroups:
    """Merge equal terms, drop terms that see nothing, and sort the rest by closure. O(T n)."""
    terms, coefficients = _merge(np.ascontiguousarray(products.terms[:, layout.order], dtype=np.int32), products)
    by_feature = np.packbits((terms != 0).T, axis=1)  # bits over terms: the closure is taken for eight at a time
    for v in range(layout.n_features - 1, -1, -1):
        if layout.parent[v] >= 0:
            by_feature[layout.parent[v]] |= by_feature[v]
    closure = np.unpackbits(by_feature, axis=1, count=len(terms)).view(bool)
    packed = np.ascontiguousarray(np.packbits(closure, axis=0).T)
    if len(terms):
        _, first, group = np.unique(row_keys(packed), return_index=True, return_inverse=True)
    else:
        first, group = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    by_group = np.argsort(group, kind="stable")
    closure = np.ascontiguousarray(closure[:, first])
    degree, largest, depth = _measure(layout, closure)
    terms, coefficients = terms[by_group], coefficients[by_group]
    offsets = np.concatenate([[0], np.cumsum([vectors.size for vectors in _in_order(layout, products)])])
    return TermGroups(
        terms=terms,
        coefficients=coefficients,
        vectors=np.concatenate([vectors.ravel() for vectors in _in_order(layout, products)]).astype(np.float64),
        vector_offset=offsets[:-1].astype(np.int64),
        scale=_scale(layout, products, terms),
        start=np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(first)))]).astype(np.int64),
        closure=np.ascontiguousarray(closure.T),
        degree=degree,
        largest=largest,
        depth=depth,
    )


def _in_order(layout: ForestLayout, products: SumOfProducts) -> list[np.ndarray]:
    return [np.ascontiguousarray(products.vectors[i]) for i in layout.order]


def _merge(terms: np.ndarray, products: SumOfProducts) -> tuple[np.ndarray, np.ndarray]:
    """Equal terms added up; the constant term, which attributes nothing, left out."""
    coefficients = np.asarray(products.coefficients, dtype=np.float64)
    kept = (terms != 0).any(axis=1)
    terms, coefficients = terms[kept], coefficients[kept]
    if len(terms) == 0:
        return terms, coefficients
    _, first, back = np.unique(row_keys(terms), return_index=True, return_inverse=True)
    if len(first) == len(terms):
        return terms, coefficients
    total = np.zeros((len(first), coefficients.shape[1]))
    np.add.at(total, back.reshape(-1), coefficients)
    return terms[first], total


def _scale(layout: ForestLayout, products: SumOfProducts, terms: np.ndarray) -> np.ndarray:
    scale = np.ones(len(terms))
    for v, vectors in enumerate(_in_order(layout, products)):
        largest = np.abs(vectors).max(axis=1)
        if (largest != 1).any():
            scale *= largest[terms[:, v]]
    return np.where(scale > 0, scale, 1.0)


def _measure(layout: ForestLayout, closure: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(degree, largest, depth) of each group, from closures (n, G)."""
    n, n_groups = closure.shape
    children = np.zeros((n + 1, n_groups), dtype=np.int32)  # the last row stands above the roots
    for v in range(n):
        children[layout.parent[v]] += closure[v]
    degree, largest, deepest = (np.zeros(n_groups, dtype=np.int64) for _ in range(3))
    top = np.zeros((n + 1, n_groups), dtype=bool)
    top[-1] = True
    depth = np.zeros((n + 1, n_groups), dtype=np.int32)
    for v in range(n):
        above = layout.parent[v]
        top[v] = closure[v] & top[above] & (children[above] == 1)
        below = closure[v] & ~top[v]
        depth[v] = np.where(below, depth[above] + 1, 0)
        member = below & top[above]
        degree += np.where(member, layout.size[v], 0)
        largest = np.maximum(largest, np.where(member, layout.size[v], 0))
        deepest = np.maximum(deepest, depth[v])
    return degree, largest, deepest
