"""What is asked of a background, checked: evidence as codes, terms as products of one-feature functions."""

from collections.abc import Sequence

import numpy as np

from shap_asv.errors import RowsError, ShapAsvError, UnknownStateError


def checked_evidence(evidence: np.ndarray, features: Sequence[str], cardinalities: Sequence[int]) -> np.ndarray:
    """Evidence (E, n) as signed integers, each -1 (free) or a code of its feature; an error names what is not."""
    evidence = np.asarray(evidence)
    if evidence.ndim != 2 or evidence.shape[1] != len(features) or evidence.dtype.kind not in "iu":
        raise RowsError(
            f"codes must be integers of shape (rows, {len(features)}), not {evidence.dtype} {evidence.shape}"
        )
    if evidence.dtype.kind == "u":
        evidence = evidence.astype(np.int64)
    if evidence.size and (evidence.min() < -1 or (evidence.max(axis=0) >= np.array(cardinalities)).any()):
        row, v = (int(i) for i in np.argwhere((evidence < -1) | (evidence >= np.array(cardinalities)))[0])
        raise UnknownStateError(
            f"row {row}: {evidence[row, v]} is not a state code of feature {features[v]!r}, which has "
            f"{cardinalities[v]} states"
        )
    return evidence


def checked_terms(
    vectors: Sequence[np.ndarray], terms: np.ndarray, features: Sequence[str], cardinalities: Sequence[int]
) -> tuple[list[np.ndarray | None], np.ndarray]:
    """Vectors per feature, None where every term uses a constant 1, and terms int64 (T, n).

    Constant functions of a feature are one and the same function afterwards.
    """
    terms = np.asarray(terms)
    if terms.ndim != 2 or terms.shape[1] != len(features) or len(vectors) != len(features):
        raise ShapAsvError(
            f"terms of shape {terms.shape} with {len(vectors)} vectors do not fit {len(features)} features"
        )
    looked_at: list[np.ndarray | None] = []
    used_terms = np.zeros(terms.shape, dtype=np.int64)
    for v, (name, card) in enumerate(zip(features, cardinalities, strict=True)):
        table = np.asarray(vectors[v], dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != card:
            raise ShapAsvError(
                f"vectors of feature {name!r} have shape {table.shape}; its {card} states ask for (number, {card})"
            )
        if not np.isfinite(table).all():
            raise ShapAsvError(f"vectors of feature {name!r} hold NaN or infinity; they must be finite")
        used = terms[:, v].astype(np.int64)
        if len(used) and not (used.min() >= 0 and used.max() < len(table)):
            raise ShapAsvError(f"terms name vectors of feature {name!r} outside of 0..{len(table) - 1}")
        constant = (table == 1).all(axis=1)
        looks = not constant[used].all()
        looked_at.append(table if looks else None)
        if looks:
            used_terms[:, v] = np.where(constant[used], np.argmax(constant), used)
    return looked_at, used_terms


def terms_on_nodes(
    tables: Sequence[np.ndarray | None], used: np.ndarray, nodes: np.ndarray, n_nodes: int
) -> tuple[list[np.ndarray | None], np.ndarray]:
    """Vectors per node (None where no term looks) and terms (T, nodes), of those per feature."""
    by_node: list[np.ndarray | None] = [None] * n_nodes
    node_terms = np.zeros((len(used), n_nodes), dtype=np.int64)
    for node, table, column in zip(nodes, tables, used.T, strict=True):
        by_node[node] = table
        node_terms[:, node] = column
    return by_node, node_terms


def evidence_on_nodes(evidence: np.ndarray, nodes: np.ndarray, n_nodes: int, free: np.signedinteger) -> np.ndarray:
    """Evidence (E, n) per node: (nodes, E), free on latent nodes."""
    codes = np.full((n_nodes, len(evidence)), free)
    if len(evidence):
        for v in np.flatnonzero(evidence.max(axis=0) >= 0):
            codes[nodes[v]] = evidence[:, v]
    return codes


def checked_coefficients(coefficients: np.ndarray, n_terms: int) -> np.ndarray:
    """Coefficients float64 (T, outputs) of so many terms."""
    coefficients = np.asarray(coefficients, dtype=np.float64)
    if coefficients.ndim != 2 or len(coefficients) != n_terms:
        raise ShapAsvError(
            f"coefficients of shape {coefficients.shape} do not fit {n_terms} terms; (T, outputs) is needed"
        )
    return coefficients
